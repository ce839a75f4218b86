"""Attribute a history that is wrong: which known departures explain it, and what they leave.

A history has a known cause if the revision can't explain it, and the revision with departures can
explain all of it: with one, or with several of those that one coordinator has all at once.  Where
something wrong remains, there is no known cause, and what remains is the failure: the departures
explain what was wrong before it.  So a fault that nobody has listed is not put down to a listed one
that it looks like, or that came first.

Where several would do, those of the coordinator that was tested come first: what it is not known to
do is the less likely cause.

A departure that changes nothing of what the revision did on its way to the violation explains no
more than the revision, so it isn't tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from fencepost.model.coordinator import Config
from fencepost.model.history.events import Answered, Event
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level
from fencepost.properties.departures.departure import Departure, departed
from fencepost.properties.departures.footprint import Footprint
from fencepost.properties.departures.known_departures import DEPARTURES, families
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.oracle import Oracle
from fencepost.properties.oracle.verdict import Verdict, Wrong

_AND = " + "
_LIMIT = 20_000
"""The most states for one event, as the oracle's; a history that needs more has no known cause."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """What is known of a failure.

    `cause`: the departures that explain all of the history, `NAME` or `NAME + NAME`; "" if none do.
    Then `behind` are the departures that explain it up to `verdict`'s violation, "" if none help.
    """

    cause: str
    behind: str
    verdict: Verdict


class _Followed:
    """How far a revision with departures explains a history; it is followed as far as is asked."""

    def __init__(
        self, together: tuple[Departure, ...], oracle: Oracle, history: Sequence[Event]
    ) -> None:
        self.together = together
        self._oracle = oracle
        self._history = history
        self._place = 0

    @property
    def names(self) -> str:
        return _AND.join(name for name in DEPARTURES if name in {d.name for d in self.together})

    @cached_property
    def holds(self) -> bool:
        """Whether it explains all; it isn't followed further than it does."""
        self._go_on(self._oracle.holds)
        return self._oracle.holds()

    @property
    def is_unknown(self) -> bool:
        """Whether there was too much to follow."""
        return self._oracle.unknown is not None

    @cached_property
    def verdict(self) -> Verdict:
        self._go_on(self._oracle.open)
        return self._oracle.verdict()

    @cached_property
    def reach(self) -> int:
        """How many events it explains."""
        violation = self.verdict.violation
        reach = self._place if self._oracle.open() else self._place - 1
        if violation is not None and violation.wrong is Wrong.DEVIATION:
            return _answered_at(self._history, violation.request_id, reach)
        return reach

    @property
    def tolerated(self) -> frozenset[str]:
        """The requests before the violation whose answers differ in a field."""
        self._go_on(self._oracle.open)
        best = min(self._oracle.explanations(), key=Candidate.strain)
        return frozenset(r for r, d in best.deviations if d.level is not Level.MAY)

    def _go_on(self, goes_on: Callable[[], bool]) -> None:
        while goes_on() and self._place < len(self._history):
            self._oracle.observe(self._history[self._place])
            self._place += 1


def departures_in(cause: str) -> tuple[str, ...]:
    """Return the names of the departures that a cause is made of."""
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

    `lag_ms`: as the oracle's; `coordinator`: which one was tested, as in a departure's `of`.
    """
    footprint = Footprint(base)
    alone = {name: departed(base, (departure,)) for name, departure in DEPARTURES.items()}

    def is_strange(together: tuple[Departure, ...]) -> bool:
        return any(coordinator and d.of and coordinator not in d.of for d in together)

    @cache
    def followed(together: tuple[Departure, ...]) -> _Followed:
        revision = departed(base, together) if together else footprint.revision
        oracle = Oracle(revision, config, lag_ms=lag_ms, limit=_LIMIT)
        return _Followed(together, oracle, history)

    def tried() -> Iterator[_Followed]:
        """Yield what may explain more: departures alone, then all those of a coordinator."""
        idle = set(footprint.untouched(alone, config))
        ones = [(d,) for name, d in DEPARTURES.items() if name not in idle]
        several = [f for f in families() if not idle.issuperset(d.name for d in f)]
        yield from map(followed, sorted(ones, key=is_strange))
        yield from map(followed, sorted(several, key=is_strange))

    plain = followed(())
    if plain.holds or plain.is_unknown:
        return Attribution("", "", plain.verdict)
    for one in tried():
        if one.holds:
            least = _needed(one, followed)
            return Attribution(least.names, "", least.verdict)
    first = plain.verdict.violation
    if first is None:
        return Attribution("", "", plain.verdict)
    # A departure that makes another answer wrong hides a wrong field before it, but explains none.
    hidden = first.request_id if first.wrong is Wrong.DEVIATION else ""
    known = (
        one for one in tried() if one.verdict.violation is not None and hidden not in one.tolerated
    )
    best = max(known, key=lambda one: one.reach, default=plain)
    if best.reach <= plain.reach:
        return Attribution("", "", plain.verdict)
    best = _needed(best, followed)
    return Attribution("", best.names, best.verdict)


def _needed(whole: _Followed, followed: Callable[[tuple[Departure, ...]], _Followed]) -> _Followed:
    """Leave out the departures without which as much is explained."""
    for departure in whole.together:
        less = followed(tuple(d for d in whole.together if d is not departure))
        if less.holds or (not whole.holds and less.reach >= whole.reach):
            whole = less
    return whole


def _answered_at(history: Sequence[Event], request_id: str, otherwise: int) -> int:
    places = (
        place
        for place, event in enumerate(history)
        if isinstance(event, Answered) and event.answer.id == request_id
    )
    return next(places, otherwise)
