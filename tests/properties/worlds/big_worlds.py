"""More than a million worlds of the real model, visited one and all: `tox -e explore`."""

from __future__ import annotations

import pytest

from fencepost.model.revisions.revisions import find
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.scope import BOUNDS, MILLION_STATES
from fencepost.properties.worlds.world import Worlds


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_property_holds_in_each_of_more_than_a_million_worlds(jobs: int) -> None:
    revision = find("kafka-4")
    judging = Evaluator(PROPERTIES.values(), revision)
    worlds = Worlds(revision, BOUNDS["million"].scope, judging.judge)
    result = explore(worlds, judging.checks(worlds), jobs=jobs, quiet=is_quiet)
    assert result.complete
    assert result.states == MILLION_STATES
    assert [name for name in result.violations if not name.startswith(EXCUSED)] == []
