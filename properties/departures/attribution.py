"""Attribute a wrong history: find the known departures that explain it, and the rest.

A history has a known cause if the revision can't explain it, and the revision with departures can
explain all of it: with one, or with several of those that one coordinator has all at once.  If
something wrong remains, there is no known cause, and the rest is the failure: the departures
explain the violations before it.  So a new fault is not attributed to a listed one that it looks
like, or that came first.

Where several would do, those of the tested coordinator come first: a departure that it isn't known
for is the less likely cause.

A departure that changes nothing of the revision's run up to the violation explains no more than the
revision, so it isn't tried.  For this the run is watched: the decisions of the tables, and the
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cache, cached_property
from typing import Any

from fencepost.model.coordinator import Config
from fencepost.model.history.events import Answered, Event
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision, Twist
from fencepost.model.table.expr import Point
from fencepost.model.table.table import Level, Rule, Table, TableError
from fencepost.model.work import Effect, Work
from fencepost.properties.departures.known_departures import (
    DEPARTURES,
    Departure,
    departed,
    families,
)
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.oracle import Oracle
from fencepost.properties.oracle.verdict import Verdict, Wrong

_SIZE = "group.max.size"


class Footprint:
    """Watches a revision: records all that a run of `revision` uses.

    `decided`: (table, point) → the rule that was given.  Each step, and each answer, is also done
    as each departure would do it, as long as that makes no difference.
    """

    def __init__(self, revision: Revision) -> None:
        self.decided: dict[tuple[str, Point], Rule] = {}
        self._base = revision
        self._distorted: set[str] = set()
        self._twisted: set[str] = set()
        self._departures = departures_of(revision)
        own = self._departures.values()
        self._distorting = {d.name: d.distort for d in own if d.distort is not None}
        twisted = dict.fromkeys(do for departure in own for do in departure.twists)
        self.revision = replace(
            revision,
            tables={name: _watched(table, self.decided) for name, table in revision.tables.items()},
            twists={**revision.twists, **{do: self._compared(do) for do in twisted}},
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
                name in departure.tables and self._is_other(revision.tables[name], point, rule)
                for (name, point), rule in self.decided.items()
            )
        )

    def _is_other(self, table: Table, point: Point, rule: Rule) -> bool:
        """Tell if another table may decide otherwise; with a column of its own it may always."""
        has_more = len(table.features) > len(self._base.tables[table.name].features)
        return has_more or table.decide(point) != rule

    def _compared(self, do: Enum) -> Twist:
        """Perform a step as the revision does, and note the twists that would do something else."""
        inner = self._base.twists.get(do)
        twists = {d.name: d.twists[do] for d in self._departures.values() if do in d.twists}

        def twist(own: Effect) -> Effect:
            base = own if inner is None else inner(own)
            others = {name: other(base) for name, other in twists.items()}

            def effect(work: Work[Any]) -> list[Work[Any]] | None:
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


def _state_of(works: list[Work[Any]]) -> list[tuple[object, ...]]:
    """Return all that the rest of a step can depend on."""
    kinds: list[type] = [type(work) for work in works]
    return [
        (*(getattr(w, name) for name in _slots(kind)), w.outcome().group is None)
        for kind, w in zip(kinds, works, strict=True)
    ]


@cache
def _slots(work: type) -> tuple[str, ...]:
    slots = (name for base in work.__mro__ for name in getattr(base, "__slots__", ()))
    return tuple(name for name in slots if name != "blank")


class _WatchedTable(Table):
    """A table that notes the rule that it gave for each point."""

    noted: dict[tuple[str, Point], Rule]

    def decide(self, point: Point) -> Rule:
        """Return the one rule, and note it.  Raises as a table does."""
        rule = super().decide(point)
        self.noted[self.name, point] = rule
        return rule


def _watched(table: Table, noted: dict[tuple[str, Point], Rule]) -> Table:
    """Return a watched copy of the table, without compiling it anew."""
    watched = object.__new__(_WatchedTable)
    for each in fields(Table):
        object.__setattr__(watched, each.name, getattr(table, each.name))
    object.__setattr__(watched, "noted", noted)
    return watched


_AND = " + "


@dataclass(frozen=True, slots=True)
class Attribution:
    """The known causes of a failure.

    `cause`: the departures that explain all of the history, `NAME` or `NAME + NAME`; "" if none do.
    Then `behind` are the departures that explain it up to `verdict`'s violation, "" if none help.
    """

    cause: str
    behind: str
    verdict: Verdict


class _Followed:
    """The part of a history that a revision with departures explains; followed on demand.

    Departures that contradict each other may leave a step undone: they explain no more then.
    """

    def __init__(
        self, together: tuple[Departure, ...], oracle: Oracle, history: Sequence[Event]
    ) -> None:
        self.together = together
        self._oracle = oracle
        self._history = history
        self._place = 0
        self._has_stopped = False

    @property
    def names(self) -> str:
        return _AND.join(name for name in DEPARTURES if name in {d.name for d in self.together})

    @cached_property
    def holds(self) -> bool:
        """True if it explains all; it isn't followed further than it does."""
        self._go_on(self._oracle.holds)
        return self._oracle.holds() and not self._has_stopped

    @property
    def is_unknown(self) -> bool:
        """True if there was too much to follow."""
        return self._oracle.unknown is not None

    @cached_property
    def verdict(self) -> Verdict:
        self._go_on(self._oracle.open)
        return self._oracle.verdict()

    @cached_property
    def reach(self) -> int:
        """Number of events that it explains."""
        violation = self.verdict.violation
        reach = self._place if self._oracle.open() else self._place - 1
        if violation is not None and violation.wrong is Wrong.DEVIATION:
            return _answered_at(self._history, violation.request_id, reach)
        return reach

    @property
    def tolerated(self) -> frozenset[str]:
        """Requests before the violation whose answers differ in a field."""
        self._go_on(self._oracle.open)
        best = min(self._oracle.explanations(), key=Candidate.strain)
        return frozenset(r for r, d in best.deviations if d.level is not Level.MAY)

    def _go_on(self, goes_on: Callable[[], bool]) -> None:
        while goes_on() and self._place < len(self._history) and not self._has_stopped:
            try:
                self._oracle.observe(self._history[self._place])
            except TableError:
                if not self.together:
                    raise
                self._has_stopped = True
            else:
                self._place += 1


def departures_of(revision: Revision) -> dict[str, Departure]:
    """Return the departures that a revision can have: those of its protocol, by name."""
    own = (d for d in DEPARTURES.values() if d.protocol is revision.protocol)
    return {departure.name: departure for departure in own}


def departures_in(cause: str) -> tuple[str, ...]:
    """Return the names of the departures in a cause."""
    return tuple(cause.split(_AND)) if cause else ()


def departed_by(base: Revision, cause: str) -> Revision:
    """Return the revision with the departures of a cause; raises KeyError for an unknown one."""
    return departed(base, [DEPARTURES[name] for name in departures_in(cause)])


def attributed(
    base: Revision,
    config: Config,
    history: Sequence[Event],
    *,
    lag_ms: int,
    coordinator: str = "",
) -> Attribution:
    """Attribute a history under a group's settings.

    A history that needs more states than an oracle follows has no known cause.  `lag_ms`: as the
    oracle's; `coordinator`: the tested one, as in a departure's `of`.
    """
    footprint = Footprint(base)
    own = departures_of(base)
    alone = {name: departed(base, (departure,)) for name, departure in own.items()}

    def is_strange(together: tuple[Departure, ...]) -> bool:
        return any(coordinator and d.of and coordinator not in d.of for d in together)

    @cache
    def followed(together: tuple[Departure, ...]) -> _Followed:
        revision = departed(base, together) if together else footprint.revision
        oracle = Oracle(revision, config, lag_ms=lag_ms)
        return _Followed(together, oracle, history)

    def attempts() -> list[tuple[Departure, ...]]:
        """List what may explain more: departures alone, then all those of a coordinator.

        Those that it has only now and then are also left out.
        """
        idle = set(footprint.untouched(alone, config))
        single = [(d,) for name, d in own.items() if name not in idle]
        whole = families(base.protocol)
        always = (tuple(d for d in family if not d.is_occasional) for family in whole)
        together = dict.fromkeys((*whole, *always))
        several = [f for f in together if not idle.issuperset(d.name for d in f)]
        return [*sorted(single, key=is_strange), *sorted(several, key=is_strange)]

    plain = followed(())
    if plain.holds or plain.is_unknown:
        return Attribution("", "", plain.verdict)
    tried = attempts()
    for attempt in map(followed, tried):
        if attempt.holds:
            least = _needed(attempt, followed)
            return Attribution(least.names, "", least.verdict)
    first = plain.verdict.violation
    if first is None:
        return Attribution("", "", plain.verdict)
    # A departure that makes another answer wrong hides a wrong field before it, but explains none.
    hidden = first.request_id if first.wrong is Wrong.DEVIATION else ""

    def counts(attempt: _Followed) -> bool:
        goes_wrong = attempt.verdict.violation is not None
        return attempt.holds or (goes_wrong and hidden not in attempt.tolerated)

    known = filter(counts, map(followed, tried))
    best = max(known, key=lambda attempt: attempt.reach, default=plain)
    grown = _grown(best, [d for d in own.values() if coordinator in d.of], followed)
    best = grown if counts(grown) else best
    if best.reach <= plain.reach:
        return Attribution("", "", plain.verdict)
    best = _needed(best, followed)
    cause, behind = (best.names, "") if best.holds else ("", best.names)
    return Attribution(cause, behind, best.verdict)


def _grown(
    best: _Followed,
    more: Sequence[Departure],
    followed: Callable[[tuple[Departure, ...]], _Followed],
) -> _Followed:
    """Add departures one by one, as long as each explains more.

    All of a coordinator's departures at once may explain less than some of them: one may say more
    than the coordinator does.
    """
    while not best.holds:
        wider = [followed((*best.together, d)) for d in more if d not in best.together]
        furthest = max(wider, key=lambda attempt: attempt.reach, default=best)
        if furthest.reach <= best.reach:
            break
        best = furthest
    return best


def _needed(whole: _Followed, followed: Callable[[tuple[Departure, ...]], _Followed]) -> _Followed:
    """Leave out the departures without which as much is explained, as many at a time as possible.

    Most of a coordinator's departures have nothing to do with one history, so halves are tried
    before single ones.  Those listed first are left out first.
    """

    def without(left_out: tuple[Departure, ...]) -> _Followed | None:
        less = followed(tuple(d for d in whole.together if d not in left_out))
        does = less.holds or (not whole.holds and less.reach >= whole.reach)
        return less if does else None

    parts = [whole.together]
    while parts:
        part = parts.pop()
        if (less := without(part)) is not None:
            whole = less
        elif len(part) > 1:
            half = len(part) // 2
            parts += [part[half:], part[:half]]
    return whole


def _answered_at(history: Sequence[Event], request_id: str, otherwise: int) -> int:
    places = (
        place
        for place, event in enumerate(history)
        if isinstance(event, Answered) and event.answer.id == request_id
    )
    return next(places, otherwise)
