"""The published counts that take too long for every run: `tox -e explore`."""

from __future__ import annotations

import pytest

from benchmarks.kip345_frontier import SmallFrontierSystem, frontier_invariants
from benchmarks.kip345_packed import PackedSystem, packed_invariants
from benchmarks.kip345_small import CONFIGURATIONS
from fencepost.properties.explorer.explorer import explore


@pytest.mark.parametrize("name", ["C", "E", "F", "G"])
def test_counts_by_frontiers_are_those_published(name: str) -> None:
    published = CONFIGURATIONS[name]
    system = SmallFrontierSystem(published)
    result = explore(system, frontier_invariants(system), jobs=2)
    assert (result.states, result.transitions) == (published.states, published.transitions)
    assert len(result.levels) == published.levels
    assert result.violations == {}


@pytest.mark.parametrize("name", ["C", "E"])
def test_counts_of_integers_are_those_published(name: str) -> None:
    published = CONFIGURATIONS[name]
    system = PackedSystem(published)
    result = explore(system, packed_invariants(system.packing))
    assert (result.states, result.transitions) == (published.states, published.transitions)
    assert len(result.levels) == published.levels
    assert result.violations == {}
