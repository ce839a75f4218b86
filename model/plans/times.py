"""Define named times for a target's settings and clock, and find those that lag can blur.

A plan finds a fault by contrasts of times: a member that is silent for a short session is removed
while one with a long session stays; a short rebalance ends before the rebalance timeout of the
others; a pause ends a margin after a timeout.  With much lag, either side may come first, and a
target with the fault looks like one without it.  Then a run proves nothing.

A time and a pause are each up to the lag late: the request that starts the timer, the timer, and
the answer.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencepost.model.plans.steps import Ms, Pause, Plan, Request

LEAST_LAG_MS = 300
"""The least lag of a real clock, ms."""

_LONG_MS = 30_000
_LONG_DELAY_MS = 2000
_TICK_MS = 500
_SPACE = 8
"""The least difference between the times of a contrast, as a multiple of the lag."""

_LONGEST_MS = 110_000
"""The longest wait of a case, ms."""


@dataclass(frozen=True, slots=True)
class Times:
    """The named times, in ms, for a target's settings and clock.

    `margin`: more than the differences that the clock can't show; `tick`: the resolution of the
    target's timers; `settle`: the time for a request to be handled when nothing else runs.

    `group_session`: the session timeout of the consumer protocol, which is the broker's; it ends
    within the second `group_tick`, and a timeout of `three_group_ticks` within the third.

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
    group_session: int = 0
    group_tick: int = 0
    three_group_ticks: int = 0

    def of(self, time: Ms) -> int:
        """Return a named time in ms."""
        value: int = getattr(self, time.name.replace(" ", "_"))
        return value


TIME_NAMES = {f.name.replace("_", " ") for f in dataclasses.fields(Times)} - {"margin", "settle"}
"""The names of times in a plan."""


def times_for(
    config: Mapping[str, int | None], *, lag_ms: int, session_ms: int = 60_000, tick_ms: int = 0
) -> Times:
    """Return times that a target's settings allow and its clock can show (`lag_ms` 0: virtual).

    A short rebalance always ends before a short session that began with it, and that before the
    long times: as far as the settings allow, these grow with the lag, too; see `blurred`.
    `session_ms`: the long session timeout on a real clock; `tick_ms`: the resolution of the
    target's timers.
    """
    group_session = config.get("group.consumer.session.timeout.ms") or 0
    least = config.get("group.min.session.timeout.ms") or 0
    most = config.get("group.max.session.timeout.ms") or 2**31 - 1
    delay = config.get("group.initial.rebalance.delay.ms") or 0
    if lag_ms == 0:
        short = max(least, 1000)
        session, long = min(20 * short + 4 * delay, most), 10 * short
        quick = min(2000, short // 2)
        ticks = _ticks(least, most, 0)
        return Times(
            session, short, long, quick, long, delay, 1, 0, 0, *ticks, *_group_ticks(group_session)
        )
    space = _SPACE * lag_ms
    quick = max(1000, 5 * lag_ms)
    short = max(least, quick + space, delay + 3 * lag_ms)
    margin = 2 * lag_ms
    least_long = short + space
    long = max(_LONG_MS, min(least_long, _LONGEST_MS))
    if group_session and abs(long - group_session) < space:
        long = group_session + space
    if session_ms > _LONG_MS:
        session_ms = max(session_ms, long + space)
    elif session_ms < short + 3 * lag_ms + margin:  # no contrast would be left
        session_ms = least_long if least_long + space <= long else long + space
    if group_session and abs(session_ms - group_session) < space:
        session_ms = group_session + space
    session = max(min(most, session_ms), short)
    settle = max(20, lag_ms // 8)
    formation = delay if delay >= _LONG_DELAY_MS else long
    ticks = _ticks(least, most, 3 * lag_ms + tick_ms)
    return Times(
        session,
        short,
        long,
        quick,
        formation,
        delay,
        margin,
        tick_ms,
        settle,
        *ticks,
        *_group_ticks(group_session, 3 * lag_ms + tick_ms),
    )


def _ticks(least: int, most: int, spare: int) -> tuple[int, int, int]:
    """Return a tick, and two and three ticks less `spare`: their end falls within a tick."""
    tick = max(-(-(least + spare) // 2), 5 * spare, _TICK_MS)
    return tick, min(2 * tick - spare, most), 3 * tick - spare


def _group_ticks(session: int, spare: int = 0) -> tuple[int, int, int]:
    """Return a session, and a tick and three less `spare`: their end falls within a tick."""
    tick = -(-(session + spare) // 2)
    return session, tick, 3 * tick - spare


_LATE = 3
"""Possible delays of a timer that a request starts: of the request, the timer, the answer."""

_AT_ONCE = 2
"""Possible delays of an immediate effect: of the request and its answer."""

_DESIGNED_ALIKE = Ms("formation")
"""It may equal the initial delay, or the rebalance timeout."""

_TICKS = {
    *(Ms("tick of time"), Ms("two ticks"), Ms("three ticks")),
    *(Ms("group tick"), Ms("three group ticks")),
}
_LONG = {Ms("session"), Ms("rebalance")}
"""Times for waits that shouldn't end at all; ticks are counted, and contrasted."""

_RANKS = {Ms("short rebalance"): 0, Ms("short session"): 1} | dict.fromkeys(_LONG, 2)
"""A time of a higher rank is meant to be longer."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two named times that a plan contrasts; `first` None: no time at all.

    `paused`: the plan lets time pass by a clock, so a margin, too, must fit between them.
    """

    first: Ms | None
    other: Ms
    paused: bool = False

    def holds(self, times: Times, lag_ms: int) -> bool:
        """Return True if a target that confuses the times can be distinguished from a right one."""
        if self.first is None:
            return times.of(self.other) >= _AT_ONCE * lag_ms
        needed = _LATE * lag_ms + (times.margin if self.paused else 0)
        longer = times.of(self.other) - times.of(self.first)
        ranks = _RANKS.get(self.first), _RANKS.get(self.other)
        if None in ranks or ranks[0] == ranks[1]:
            return abs(longer) >= needed
        return (longer if ranks < ranks[::-1] else -longer) >= needed

    def __str__(self) -> str:
        """Return both in words."""
        return f"{'no time' if self.first is None else self.first.name} and {self.other.name}"


def times_in(plan: Plan) -> list[Ms]:
    """Return the named times of a plan, in order of their names."""
    fields = [step.fields.values() for step in plan.steps if isinstance(step, Request)]
    named = {value for values in fields for value in values if isinstance(value, Ms)}
    named |= {time for step in plan.steps if isinstance(step, Pause) for time in step.times}
    return sorted(named, key=lambda time: time.name)


def contrasts_of(plan: Plan, times: Times) -> Iterator[Contrast]:
    """Yield the contrasts of a plan; a time that the target's settings make 0 has none."""
    paused = any(step.times for step in plan.steps if isinstance(step, Pause))
    ordered = [t for t in times_in(plan) if t != _DESIGNED_ALIKE and times.of(t) > 0]
    yield from (Contrast(None, time) for time in ordered)
    for first, other in itertools.combinations(ordered, 2):
        if not {first, other} & _TICKS or not {first, other} & _LONG:
            yield Contrast(first, other, paused)


def blurred(plan: Plan, times: Times, lag_ms: int) -> str | None:
    """Return why a run of the plan with these times proves nothing with this much lag, or None."""
    has_margin = any(isinstance(step, Pause) and step.margins for step in plan.steps)
    if has_margin and times.margin < lag_ms:
        return f"{lag_ms} ms of lag had to be allowed, more than its margin of {times.margin} ms"
    for contrast in contrasts_of(plan, times):
        if not contrast.holds(times, lag_ms):
            return f"{lag_ms} ms of lag had to be allowed, which blurs {contrast}"
    return None
