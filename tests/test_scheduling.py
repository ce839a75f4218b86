"""Tests are shared among workers so that what belongs together stays together."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.scheduling import DOCUMENTS, LONGEST, rank, scope

ROOT = Path(__file__).resolve().parent.parent


def test_the_blocks_of_a_document_stay_together_and_documents_apart() -> None:
    one, other = f"{DOCUMENTS}docs/a.md:7]", f"{DOCUMENTS}docs/a.md:12]"
    assert scope(one) == scope(other) != scope(f"{DOCUMENTS}docs/b.md:7]")
    assert scope("tests/a/test_b.py::test_c[x::y]") == "tests/a/test_b.py"


@pytest.mark.parametrize("place", range(len(LONGEST)))
def test_what_begins_first_is_there(place: int) -> None:
    path, _, block = LONGEST[place].partition("::")
    assert (ROOT / path).is_file()
    if block:
        assert (ROOT / block.partition("[")[2].rstrip(":")).is_file()
    assert rank(LONGEST[place]) == place < rank("tests/test_scheduling.py::test_x")
