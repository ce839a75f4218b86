"""A departure: a small change that any revision can have, and revisions that have some."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from fencepost.model.revision import Distortion, Revision, Twist
from fencepost.model.table.effects import Do
from fencepost.model.table.table import Level, Table
from fencepost.properties.departures.mutation_operators import in_turn

OLD, NEW, KFAKE = "kafka+old", "kafka+new", "kfake"
_KAFKA = re.compile(r"kafka:(?P<major>\d+)[^+]*(?P<choice>\+old|\+new)?")
_KFAKE_SOURCE = "https://github.com/twmb/franz-go/blob/01f206a7e32c/pkg/kfake/groups.go"

ADDING = (Do.ADD_DYNAMIC, Do.ADMIT_PENDING, Do.ADD_STATIC)
"""The effects that add a member under a new id."""

_KEPT = 256
"""So many revisions with departures are kept: each failure is attributed with the same ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Departure:
    """A known departure.

    `about`: its title; `of`: the coordinators that have it; `twists`: the effects that it changes;
    `level`: how grave it is at most, whichever rule it is met at; `tables`: makes another table of
    a revision's table, by name; the others as a revision's.
    """

    name: str
    about: str
    of: frozenset[str] = frozenset()
    twists: Mapping[Do, Twist] = field(default_factory=dict)
    level: Level = Level.MUST
    tables: Mapping[str, Callable[[Table], Table]] = field(default_factory=dict)
    distort: Distortion | None = None
    restart_needs_room: bool = False
    unchecked: frozenset[str] = frozenset()

    @property
    def described(self) -> str:
        """Where it is described: a page of this project, or an address."""
        return _KFAKE_SOURCE if self.of == {KFAKE} else f"docs/findings/{self.name}.md"


def coordinator_of(target: str) -> str:
    """Return which coordinator a target has, by its name, such as `kafka:3.9.1+old`; "": unknown.

    Kafka has the new one from 4.0 on, and the old one before, unless the name chooses.
    """
    if found := _KAFKA.match(target):
        is_new = found["choice"] == "+new" or int(found["major"]) >= 4
        return NEW if is_new else OLD
    return KFAKE if target.startswith(KFAKE) else ""


def departed(base: Revision, departures: Iterable[Departure]) -> Revision:
    """Return a revision with these differences, called `BASE + NAME + …`."""
    return _departed(base, tuple(departures))


@lru_cache(_KEPT)
def _departed(base: Revision, departures: tuple[Departure, ...]) -> Revision:
    twists, tables = dict(base.twists), dict(base.tables)
    distort = base.distort
    for one in departures:
        for do, twist in one.twists.items():
            twists[do] = in_turn(twists[do], twist) if do in twists else twist
        tables |= {name: change(tables[name]) for name, change in one.tables.items()}
        if one.distort is not None:
            distort = one.distort if distort is None else _both(distort, one.distort)
    return dataclasses.replace(
        base,
        name=" + ".join([base.name, *(one.name for one in departures)]),
        twists=twists,
        tables=tables,
        distort=distort,
        restart_needs_room=base.restart_needs_room or any(d.restart_needs_room for d in departures),
        unchecked=base.unchecked.union(*(d.unchecked for d in departures)),
    )


def _both(first: Distortion, second: Distortion) -> Distortion:
    return lambda message: second(first(message))
