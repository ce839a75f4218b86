"""The symbolic plan of a case: who sends what, in which order, with which waits.

A plan names members ("A1", the first process of instance "A") instead of ids, and times by name
instead of in ms.  So the same plan runs on a model with a virtual clock and on a broker whose
settings nobody can change.  References are resolved from the answers as they come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.model.table.table import Level

LEAST_LAG_MS = 300
"""A real clock is never trusted to show less."""

_LONG_MS = 30_000
_LONG_DELAY_MS = 2000
_TICK_MS = 500
_SPACE = 8
"""Times that a case holds against each other differ by so many times the lag."""

_LONGEST_MS = 110_000
"""A case that had to wait for longer would not be worth it."""


def instance_of(who: str) -> str | None:
    """The instance id that a member of this name has."""
    return who.rstrip("0123456789") if who[0].isupper() else None


@dataclass(frozen=True, slots=True)
class IdOf:
    """The member id that a member was told last; `back` 1: the one before, and so on.

    Resolves to "" for a member that was told none yet.
    """

    who: str
    back: int = 0


@dataclass(frozen=True, slots=True)
class GenerationOf:
    """The generation that a member was told last, plus `plus`; -1 before any."""

    who: str
    plus: int = 0


@dataclass(frozen=True, slots=True)
class Ms:
    """A time by name: `session`, `short session`, `rebalance`, `short rebalance`, `formation`.

    Where time passes in ticks: `tick of time`, `two ticks`, `three ticks`, see `Times`.
    `formation` is the rebalance timeout of members that form a group.  On a real clock it is no
    longer than the initial delay, if that is long, so that a member that joins does not prolong the
    delay.
    """

    name: str


@dataclass(frozen=True, slots=True)
class AssignmentsIfLeader:
    """The assignments of a sync: bytes by member, if the sender was told that it is the leader."""

    who: str
    by_member: tuple[tuple[Any, bytes], ...]


@dataclass(frozen=True, slots=True)
class AssignmentsToAll:
    """The same assignment for each member that the sender's last join listed; none if it didn't."""

    who: str
    assignment: bytes


@dataclass(frozen=True, slots=True)
class ProtocolOf:
    """The protocol that a member was told last; `part` is `type` or `name`."""

    who: str
    part: str


@dataclass(frozen=True, slots=True)
class RequestStep:
    """Send a request.

    `fields`: the message's attributes, values or references.  `version` None: the highest that the
    target has, but not above `at_most`.
    """

    label: str
    who: str
    api: str
    fields: Mapping[str, Any]
    version: int | None = None
    at_most: int | None = None
    connection: str | None = None
    group_ids: tuple[str, ...] = ("g",)


@dataclass(frozen=True, slots=True)
class Await:
    """Wait until these requests are answered."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pause:
    """Let time pass: the sum of these times, and some margins that the clock can show.

    `minus`: the margins are subtracted; `parts`: only this part of the sum, e.g. a third.
    """

    times: tuple[Ms, ...] = ()
    margins: int = 1
    minus: bool = False
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Settle:
    """Give requests a moment to be handled, so that their order is certain."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """A member's connection drops."""

    who: str


@dataclass(frozen=True, slots=True)
class Restart:
    """The coordinator fails over."""


@dataclass(frozen=True, slots=True)
class DeleteTopics:
    """Topics are deleted, and are never made again."""

    topics: tuple[str, ...]


Step = RequestStep | Await | Pause | Settle | Disconnect | Restart | DeleteTopics


@dataclass(frozen=True, slots=True)
class Needs:
    """What a target must have for a case: API versions, features, settings."""

    apis: tuple[tuple[str, int], ...] = ()
    features: frozenset[str] = frozenset()
    config: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """One case of the catalogue.

    `rules`: what it is about; it passes only if every explanation used all of them.  `isolated`: it
    may kill its target, so it gets a process of its own.
    """

    id: str
    about: str
    rules: tuple[str, ...]
    level: Level
    steps: tuple[Step, ...]
    needs: Needs = Needs()
    isolated: bool = False

    @property
    def restarts(self) -> bool:
        """Whether the coordinator fails over in it."""
        return any(isinstance(step, Restart) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Times:
    """The named times, in ms, for a target's settings and clock.

    `margin`: more than the differences that the clock can't show; `tick`: how coarse the target's
    timers are; `settle`: how long a request may take to be handled when nothing else runs.

    `tick_of_time`: a timeout of `two_ticks` or `three_ticks` ends within the second or third of
    them: at its end exactly on a virtual clock, clearly before it on a real one.
    """

    session: int
    short_session: int
    rebalance: int
    short_rebalance: int
    formation: int
    delay: int
    margin: int
    tick: int
    settle: int
    tick_of_time: int
    two_ticks: int
    three_ticks: int

    def of(self, time: Ms) -> int:
        """A named time in ms."""
        value: int = getattr(self, time.name.replace(" ", "_"))
        return value


def times_for(
    config: Mapping[str, int | None], *, lag_ms: int, session_ms: int = 60_000, tick_ms: int = 0
) -> Times:
    """Times that a target's settings allow and its clock can show (`lag_ms` 0: a virtual clock).

    A short rebalance always ends before a short session that began with it, and that before what is
    long: as far as the settings allow, the long times grow with the lag, too; see `blurred`.
    `session_ms`: the long session timeout that is wanted on a real clock; `tick_ms`: how coarse the
    target's timers are.
    """
    least = config.get("group.min.session.timeout.ms") or 0
    most = config.get("group.max.session.timeout.ms") or 2**31 - 1
    delay = config.get("group.initial.rebalance.delay.ms") or 0
    if lag_ms == 0:
        short = max(least, 1000)
        session, long = min(20 * short + 4 * delay, most), 10 * short
        quick = min(2000, short // 2)
        return Times(session, short, long, quick, long, delay, 1, 0, 0, *_ticks(least, most, 0))
    space = _SPACE * lag_ms
    quick = max(1000, 5 * lag_ms)
    short = max(least, quick + space, delay + 3 * lag_ms)
    margin = 2 * lag_ms
    least_long = short + space
    long = max(_LONG_MS, min(least_long, _LONGEST_MS))
    if session_ms > _LONG_MS:
        session_ms = max(session_ms, long + space)
    elif session_ms < short + 3 * lag_ms + margin:  # no contrast would be left
        session_ms = least_long if least_long + space <= long else long + space
    session = max(min(most, session_ms), short)
    settle = max(20, lag_ms // 8)
    formation = delay if delay >= _LONG_DELAY_MS else long
    ticks = _ticks(least, most, 3 * lag_ms + tick_ms)
    return Times(session, short, long, quick, formation, delay, margin, tick_ms, settle, *ticks)


def _ticks(least: int, most: int, spare: int) -> tuple[int, int, int]:
    """A tick, and two and three ticks less `spare`, so that their end falls within a tick."""
    tick = max(-(-(least + spare) // 2), 5 * spare, _TICK_MS)
    return tick, min(2 * tick - spare, most), 3 * tick - spare
