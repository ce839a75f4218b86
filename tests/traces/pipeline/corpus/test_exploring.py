from __future__ import annotations

from pathlib import Path

import pytest
from support.exploring import SCOPES, on_one_machine

from fencepost.model.revisions import revisions
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.world import Worlds
from fencepost.traces.pipeline.corpus.exploring import (
    ExplorationBounds,
    LocalFrontiers,
    explore_levels,
)
from fencepost.traces.pipeline.corpus.shard_jobs import LocalEngine
from fencepost.traces.pipeline.storage.location import CorpusError, Place
from fencepost.traces.pipeline.storage.trace_rows import world_of, world_text

KAFKA_4 = revisions.find("kafka-4")


@pytest.mark.parametrize("number", range(len(SCOPES)))
def test_levels_have_the_counts_of_the_explorer(number: int, tmp_path: Path) -> None:
    scope = SCOPES[number]
    place = Place(str(tmp_path))
    found = explore_levels(
        LocalEngine().frontiers(place), place, ExplorationBounds("kafka-4", scope)
    )
    known = on_one_machine(scope)
    assert (found.states, found.transitions) == (known.states, known.transitions)
    assert tuple(level.states for level in found.levels) == known.levels
    assert found.complete
    assert not found.broken()


class Killed(Exception):
    """Stands for the end of the process."""


class Mortal(LocalFrontiers):
    """Is killed when a level is written and not yet said to be whole."""

    def next(
        self, depth: int, states: int, bounds: ExplorationBounds
    ) -> tuple[int, int, tuple[str, ...]]:
        done = super().next(depth, states, bounds)
        if depth == 4:
            raise Killed
        return done


def test_who_was_killed_goes_on_after_the_last_whole_level(tmp_path: Path) -> None:
    bounds = ExplorationBounds("kafka-4", SCOPES[0])
    whole, halved = Place(str(tmp_path / "a")), Place(str(tmp_path / "b"))
    with pytest.raises(Killed):
        explore_levels(Mortal(halved), halved, bounds)
    found = explore_levels(LocalFrontiers(halved), halved, bounds)
    assert found.before == 5
    assert found.levels == explore_levels(LocalFrontiers(whole), whole, bounds).levels
    again = explore_levels(LocalFrontiers(halved), halved, bounds)
    assert again.levels == found.levels
    with pytest.raises(CorpusError, match="other bounds"):
        explore_levels(LocalFrontiers(whole), whole, ExplorationBounds("kafka-4", SCOPES[1]))


def test_a_depth_bounds_it_and_can_be_raised(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    bounds = ExplorationBounds("kafka-4", SCOPES[0])
    shallow = explore_levels(LocalFrontiers(place), place, bounds, 3)
    assert (len(shallow.levels), shallow.complete) == (4, False)
    assert explore_levels(LocalFrontiers(place), place, bounds).complete


def test_a_table_that_forgets_worlds_is_seen(tmp_path: Path) -> None:
    class Forgetful(LocalFrontiers):
        def next(
            self, depth: int, states: int, bounds: ExplorationBounds
        ) -> tuple[int, int, tuple[str, ...]]:
            self._known = set()
            return super().next(depth, states, bounds)

    place = Place(str(tmp_path))
    found = explore_levels(Forgetful(place), place, ExplorationBounds("kafka-4", SCOPES[0]), 6)
    known = explore(Worlds(KAFKA_4, SCOPES[0]), max_depth=6)
    assert found.states != known.states


def test_a_broken_property_is_told_with_its_level(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    bounds = ExplorationBounds("mutant:kafka-12890", SCOPES[0])
    found = explore_levels(LocalFrontiers(place), place, bounds, 3)
    assert found.broken() == {"wait-for-syncs-has-an-end": 1}


def test_a_world_comes_back_from_its_text() -> None:
    for scope in SCOPES:
        graph = explore(Worlds(find_revision("kafka-4"), scope), keep_graph=True).graph
        assert graph is not None
        assert [world_of(world_text(world)) for world in graph.states] == graph.states
        assert len({world_text(world) for world in graph.states}) == len(graph.states)
