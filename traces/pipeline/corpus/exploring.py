"""Exploration in levels that are kept: what outgrows one machine, or one evening.

Decides when a level is whole.  Each is a table of the worlds that are first reached in so many
steps, written by whichever engine runs; then one small file says how many worlds and transitions it
has.  Who is killed goes on after the last level that has that file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import pyarrow as pa

from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, broken
from fencepost.properties.claims.registry import PROPERTIES
from fencepost.properties.mutants.catalogue import find_revision
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world import Worlds
from fencepost.traces.pipeline.storage.location import Place
from fencepost.traces.pipeline.storage.manifest import CorpusError
from fencepost.traces.pipeline.storage.world_text import world_of, world_text

MANIFEST = "exploration.json"
WORLDS = pa.schema([("world", pa.string())])
FOUND = pa.schema([("world", pa.string()), ("ways", pa.int64()), ("broken", pa.string())])
"""A world and in how many ways it is reached; or "" and a property that is broken."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A revision within a scope: what is explored.  It is sent to whoever expands worlds."""

    revision: str
    scope: Scope

    def to_json(self) -> dict[str, Any]:
        """As `exploration.json` says it."""
        return {"revision": self.revision, "scope": json.loads(json.dumps(asdict(self.scope)))}


@dataclass(frozen=True, slots=True)
class Level:
    """The worlds of a level, the transitions from them, and the properties broken there."""

    states: int
    transitions: int
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Levels:
    """All that was explored; `before`: so many levels were there when it began."""

    levels: tuple[Level, ...]
    complete: bool
    before: int

    @property
    def states(self) -> int:
        """Worlds, each once."""
        return sum(level.states for level in self.levels)

    @property
    def transitions(self) -> int:
        """Transitions between them."""
        return sum(level.transitions for level in self.levels)

    def broken(self) -> dict[str, int]:
        """Property → the first level from which a step, or in which a world, breaks it."""
        found: dict[str, int] = {}
        for depth, level in enumerate(self.levels):
            for name in level.broken:
                found.setdefault(name, depth)
        return found

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "states": self.states,
            "transitions": self.transitions,
            "levels": [level.states for level in self.levels],
            "levels_before": self.before,
            "complete": self.complete,
            "broken": self.broken(),
        }


class Frontiers(Protocol):
    """Keeps levels, and finds the next one."""

    def begin(self, worlds: Iterable[str]) -> int:
        """Write the level 0; how many worlds it has."""
        ...

    def next(self, depth: int, states: int, bounds: Bounds) -> tuple[int, int, tuple[str, ...]]:
        """Write the level after that of this depth, which has so many states.

        How many the new one has, the transitions from the old one, and what is broken there.
        """
        ...


def explore_levels(
    frontiers: Frontiers, place: Place, bounds: Bounds, max_depth: int | None = None
) -> Levels:
    """Explore, or go on.  Raises CorpusError where another exploration is kept."""
    text = json.dumps(bounds.to_json(), indent=1) + "\n"
    known = place.read_text(MANIFEST)
    if known is None:
        place.write_text(MANIFEST, text)
    elif known != text:
        raise CorpusError(f"{place} holds an exploration of other bounds; choose another folder")
    done = list(_kept(place))
    before = len(done)
    if not done:
        states = frontiers.begin(map(world_text, worlds_of(bounds)[0].initial()))
        done.append(_commit(place, 0, Level(states, 0, ())))
    while done[-1].states and (max_depth is None or len(done) <= max_depth):
        depth = len(done) - 1
        states, transitions, wrong = frontiers.next(depth, done[-1].states, bounds)
        last = replace(done[-1], transitions=transitions, broken=wrong)
        done[-1] = last
        done.append(_commit(place, depth + 1, Level(states, 0, ()), last))
    complete = not done[-1].states
    return Levels(tuple(level for level in done if level.states), complete, before)


def level_name(depth: int) -> str:
    """The folder of a level."""
    return f"levels/{depth:06d}"


def _commit(place: Place, depth: int, level: Level, last: Level | None = None) -> Level:
    """From here on the level is whole; `last`: what its making told of the one before."""
    told = {"level": asdict(level), "before": None if last is None else asdict(last)}
    place.write_text(f"{level_name(depth)}.json", json.dumps(told, indent=1) + "\n")
    return level


def _kept(place: Place) -> Iterator[Level]:
    told: list[Mapping[str, Any]] = []
    while (text := place.read_text(f"{level_name(len(told))}.json")) is not None:
        told.append(json.loads(text))
    for now, following in zip(told, [*told, None][1:], strict=True):
        found = now["level"] if following is None else following["before"]
        yield Level(found["states"], found["transitions"], tuple(found["broken"]))


@lru_cache(maxsize=2)
def worlds_of(bounds: Bounds) -> tuple[Worlds, Evaluator]:
    """The worlds within bounds, and who judges them; remembered, since both learn."""
    revision = find_revision(bounds.revision)
    judging = Evaluator(PROPERTIES.values(), revision)
    return Worlds(revision, bounds.scope, judging.judge), judging


def expanded(bounds: Bounds, texts: Iterable[str]) -> pa.RecordBatch:
    """What is reached from some worlds in one step, each once, as `FOUND` says."""
    worlds, judging = worlds_of(bounds)
    ways: dict[str, int] = {}
    wrong: set[str] = set()
    for text in texts:
        world = world_of(text)
        view = worlds.look(world)
        wrong.update(p.id for p in judging.of_worlds if broken(p, view) is not None)
        for act, after in worlds.successors(world):
            reached = world_text(after)
            ways[reached] = ways.get(reached, 0) + 1
            wrong.update(f.partition(": ")[0] for f in act.faults if not f.startswith(EXCUSED))
    rows = [{"world": world, "ways": count, "broken": None} for world, count in ways.items()]
    rows += [{"world": "", "ways": 0, "broken": name} for name in sorted(wrong)]
    return pa.RecordBatch.from_pylist(rows, schema=FOUND)
