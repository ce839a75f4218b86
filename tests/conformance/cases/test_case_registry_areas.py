"""Each case of the catalogue has an area."""

from __future__ import annotations

import pytest

from fencepost.conformance.cases import ALL_ENTRIES
from fencepost.conformance.cases.case_registry import AREAS, area


def test_each_case_has_an_area() -> None:
    areas = {area(entry.id) for entry in ALL_ENTRIES}
    assert areas == set(AREAS)
    with pytest.raises(KeyError):
        area("NOTHING/like-it")
