"""Explore level by level, keeping each level in files, so that it can be continued later.

A level is a table of the worlds that are first reached in this many steps.  When it is complete, a
small file is written with the number of its worlds and transitions.  A run that was killed
continues after the last level that has this file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import pyarrow as pa

from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, broken
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world import Worlds
from fencepost.traces.pipeline.storage.location import CorpusError, Place
from fencepost.traces.pipeline.storage.trace_rows import world_of, world_text

MANIFEST = "exploration.json"
WORLDS = pa.schema([("world", pa.string())])
REACHED = pa.schema([("world", pa.string()), ("ways", pa.int64()), ("broken", pa.string())])
"""A world and in how many ways it is reached; or "" and a property that is broken."""


@dataclass(frozen=True, slots=True)
class ExplorationBounds:
    """A revision and a scope to explore.  It is sent to the workers."""

    revision: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class ExplorationLevel:
    """The worlds of a level, the transitions from them, and the properties broken there."""

    states: int
    transitions: int
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExplorationLevels:
    """The result of an exploration; `before`: how many levels were there when it began."""

    levels: tuple[ExplorationLevel, ...]
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
        """Return property → the first level from which a step, or in which a world, breaks it."""
        broken: dict[str, int] = {}
        for depth, level in enumerate(self.levels):
            for name in level.broken:
                broken.setdefault(name, depth)
        return broken

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {
            "states": self.states,
            "transitions": self.transitions,
            "levels": [level.states for level in self.levels],
            "levels_before": self.before,
            "complete": self.complete,
            "broken": self.broken(),
        }


class Frontiers(Protocol):
    """Stores levels, and computes the next one."""

    def begin(self, worlds: Iterable[str]) -> int:
        """Write level 0, and return the number of its worlds."""
        ...

    def next(
        self, depth: int, states: int, bounds: ExplorationBounds
    ) -> tuple[int, int, tuple[str, ...]]:
        """Write the level after that of this depth, which has `states` states.

        How many the new one has, the transitions from the old one, and what is broken there.
        """
        ...


def explore_levels(
    frontiers: Frontiers, place: Place, bounds: ExplorationBounds, max_depth: int | None = None
) -> ExplorationLevels:
    """Explore, or continue.  Raises CorpusError if the place holds another exploration."""
    text = json.dumps(asdict(bounds), indent=1) + "\n"
    known = place.read_text(MANIFEST)
    if known is None:
        place.write_text(MANIFEST, text)
    elif known != text:
        raise CorpusError(f"{place} holds an exploration of other bounds; choose another folder")
    done = list(_kept(place))
    before = len(done)
    if not done:
        states = frontiers.begin(map(world_text, worlds_of(bounds)[0].initial()))
        done.append(_commit(place, 0, ExplorationLevel(states, 0, ())))
    while done[-1].states and (max_depth is None or len(done) <= max_depth):
        depth = len(done) - 1
        states, transitions, wrong = frontiers.next(depth, done[-1].states, bounds)
        last = replace(done[-1], transitions=transitions, broken=wrong)
        done[-1] = last
        done.append(_commit(place, depth + 1, ExplorationLevel(states, 0, ()), last))
    complete = not done[-1].states
    return ExplorationLevels(tuple(level for level in done if level.states), complete, before)


def level_name(depth: int) -> str:
    """Return the folder of a level."""
    return f"levels/{depth:06d}"


def _commit(
    place: Place, depth: int, level: ExplorationLevel, last: ExplorationLevel | None = None
) -> ExplorationLevel:
    """Mark a level as complete; `last`: the level before it, with its broken properties."""
    document = {"level": asdict(level), "before": None if last is None else asdict(last)}
    place.write_text(f"{level_name(depth)}.json", json.dumps(document, indent=1) + "\n")
    return level


def _kept(place: Place) -> Iterator[ExplorationLevel]:
    documents: list[Mapping[str, Any]] = []
    while (text := place.read_text(f"{level_name(len(documents))}.json")) is not None:
        documents.append(json.loads(text))
    for now, following in zip(documents, [*documents, None][1:], strict=True):
        fields = now["level"] if following is None else following["before"]
        yield ExplorationLevel(fields["states"], fields["transitions"], tuple(fields["broken"]))


@lru_cache(maxsize=2)
def worlds_of(bounds: ExplorationBounds) -> tuple[Worlds, Evaluator]:
    """Return the worlds within bounds, and their judge; cached, since both learn."""
    revision = find_revision(bounds.revision)
    judging = Evaluator(PROPERTIES.values(), revision)
    return Worlds(revision, bounds.scope, judging.judge), judging


def expanded(bounds: ExplorationBounds, texts: Iterable[str]) -> pa.RecordBatch:
    """Expand worlds by one step; return the worlds reached, as `REACHED` describes."""
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
    return pa.RecordBatch.from_pylist(rows, schema=REACHED)


_FILE = "part-0.parquet"


class LocalFrontiers:
    """Levels in a place, computed in one process."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._known: set[str] | None = None

    def begin(self, worlds: Iterable[str]) -> int:
        """See Frontiers."""
        return self._write(0, list(worlds))

    def next(
        self, depth: int, states: int, bounds: ExplorationBounds
    ) -> tuple[int, int, tuple[str, ...]]:
        """See Frontiers."""
        del states
        if self._known is None:
            self._known = {text for level in range(depth + 1) for text in self._read(level)}
        known = self._known
        batch = expanded(bounds, self._read(depth))
        reached = batch.column("world").to_pylist()
        wrong = tuple(name for name in batch.column("broken").to_pylist() if name is not None)
        fresh = [text for text in reached if text and text not in known]
        known.update(fresh)
        return self._write(depth + 1, fresh), sum(batch.column("ways").to_pylist()), wrong

    def _read(self, depth: int) -> list[str]:
        table = self.place.read(f"{level_name(depth)}/{_FILE}")
        texts: list[str] = table.column("world").to_pylist()
        return texts

    def _write(self, depth: int, worlds: list[str]) -> int:
        table = pa.table({"world": worlds}, schema=WORLDS)
        self.place.write(f"{level_name(depth)}/{_FILE}", table)
        return len(worlds)
