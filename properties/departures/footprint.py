"""What a run of a revision touches: the decisions of its tables, and the answers that it gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace

from fencepost.model.classic.work import Effect, Work
from fencepost.model.coordinator import Config
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision, Twist
from fencepost.model.table.effects import Do
from fencepost.model.table.expr import Point
from fencepost.model.table.table import Rule, Table
from fencepost.properties.departures.departure import Departure
from fencepost.properties.departures.known_departures import DEPARTURES

_SIZE = "group.max.size"
_SLOTS = tuple(name for name in Work.__slots__ if not name.startswith("_"))
_TWISTED = frozenset(do for departure in DEPARTURES.values() for do in departure.twists)


class Footprint:
    """Watches a revision: whatever runs `revision` here leaves what it touched.

    `decided`: (table, point) → the rule that was given.  Each step, and each answer, is also done
    as each departure would do it, as long as that makes no difference.
    """

    def __init__(self, revision: Revision) -> None:
        self.decided: dict[tuple[str, Point], Rule] = {}
        self._base = revision
        self._distorted: set[str] = set()
        self._twisted: set[str] = set()
        self._distorting = {d.name: d.distort for d in DEPARTURES.values() if d.distort is not None}
        self.revision = replace(
            revision,
            tables={name: _watched(table, self.decided) for name, table in revision.tables.items()},
            twists={**revision.twists, **{do: self._compared(do) for do in _TWISTED}},
            distort=self._distort,
        )

    def untouched(self, departures: Mapping[str, Revision], config: Config) -> Iterator[str]:
        """Yield the departures that would have changed nothing of the run.

        `departures`: name → the revision with this departure.
        """
        rules = {rule.id for rule in self.decided.values()}
        for name, revision in departures.items():
            if not self._touches(DEPARTURES[name], revision, rules, config):
                yield name

    def _touches(
        self,
        departure: Departure,
        revision: Revision,
        rules: set[str],
        config: Config,
    ) -> bool:
        return (
            departure.name in self._twisted
            or not rules.isdisjoint(departure.unchecked)
            or (departure.restart_needs_room and config.get(_SIZE) is not None)
            or departure.name in self._distorted
            or any(
                name in departure.tables and revision.tables[name].decide(point) != rule
                for (name, point), rule in self.decided.items()
            )
        )

    def _compared(self, do: Do) -> Twist:
        """Perform a step as the revision does, and note whose twists would do something else."""
        inner = self._base.twists.get(do)
        twists = {d.name: d.twists[do] for d in DEPARTURES.values() if do in d.twists}

        def twist(own: Effect) -> Effect:
            base = own if inner is None else inner(own)
            others = {name: other(base) for name, other in twists.items()}

            def effect(work: Work) -> list[Work] | None:
                forks = [(name, work.fork()) for name in others if name not in self._twisted]
                works = base(work)
                done = _state_of(works or [work])
                for name, fork in forks:
                    if _state_of(others[name](fork) or [fork]) != done:
                        self._twisted.add(name)
                return works

            return effect

        return twist

    def _distort(self, message: Message) -> Message:
        for name, distort in self._distorting.items():
            if name not in self._distorted and distort(message) != message:
                self._distorted.add(name)
        return message if self._base.distort is None else self._base.distort(message)


def _state_of(works: list[Work]) -> list[tuple[object, ...]]:
    """Return all that the rest of a step can depend on."""
    return [(*(getattr(w, name) for name in _SLOTS), w.outcome().group is None) for w in works]


class _WatchedTable(Table):
    """A table that notes which rule it gave for which point."""

    noted: dict[tuple[str, Point], Rule]

    def decide(self, point: Point) -> Rule:
        """Return the one rule, and note it.  Raises as a table does."""
        rule = super().decide(point)
        self.noted[self.name, point] = rule
        return rule


def _watched(table: Table, noted: dict[tuple[str, Point], Rule]) -> Table:
    """Return the same table, with what it knows, and nothing compiled anew."""
    watched = object.__new__(_WatchedTable)
    for one in fields(Table):
        object.__setattr__(watched, one.name, getattr(table, one.name))
    object.__setattr__(watched, "noted", noted)
    return watched
