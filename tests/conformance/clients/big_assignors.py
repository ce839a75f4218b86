"""Our assignors beside Java's: 10,000 random groups, all small ones, and a thousand members.

`tox -e clients` has it: some minutes.  The figures are those of docs/clients/assignors.md.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from support.clients.java_sample import questions, read

from benchmarks.assignors import assignor_figures
from tools.assignors.assignor_figures import Parity, ask_java, measure
from tools.docs.assignors_page import EACH, FIGURES, SEED

pytestmark = pytest.mark.needs("java", "javac")
DOCS = Path(__file__).parents[3] / "docs"


async def test_the_figures_that_are_kept_are_found_again() -> None:
    figures = await measure(EACH, SEED)
    for row in figures["parity"]:
        print(f"{row['groups']:42} {row['assignor']:20} {row['found']}")  # noqa: T201
        assert Parity.DIFFERENT.value not in row["found"]
    kept = json.loads((DOCS / FIGURES).read_text("utf-8"))
    assert figures == kept, "make it anew: python -m tools.docs.assignors_page docs measure"


async def test_java_answers_the_sample_as_it_did() -> None:
    answers = await ask_java([question for _, question in questions()], 300)
    kept = [answer.results for *_, answer in read()]
    assert msgspec.json.encode([a.results for a in answers]) == msgspec.json.encode(kept)


def test_a_thousand_members_and_ten_thousand_partitions() -> None:
    rows = assignor_figures(1000, 10_000, java=True)
    for row in rows:
        print(row)  # noqa: T201
        assert row["parity"] == Parity.EQUAL.value
