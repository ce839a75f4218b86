"""What lag can blur: the differences in time on which a plan rests.

A plan shows a fault by times that it holds against each other: who is silent for a short session
is removed while one with a long session stays; what is due after a short rebalance comes before
the rebalance timeout of the others; a pause ends a margin after a timeout.  With much lag, either
side may come first, and a target with the fault looks like one without it.  Then a run proves
nothing.

A time and a pause are each up to the lag late: the request that starts the timer, the timer, and
the answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.model.plans.plan import Case, Ms, Pause, RequestStep, Times

_LATE = 3
"""A timer that a request starts shows itself in an answer: three things that may be late."""

_AT_ONCE = 2
"""What happens at once rather than after a time: the request and its answer may be late."""

_DESIGNED_ALIKE = Ms("formation")
"""It may equal the initial delay, or the rebalance timeout."""

_TICKS = {Ms("tick of time"), Ms("two ticks"), Ms("three ticks")}
_LONG = {Ms("session"), Ms("rebalance")}
"""They are for what shouldn't end at all; ticks are counted, and held against each other."""

_RANKS = {Ms("short rebalance"): 0, Ms("short session"): 1} | dict.fromkeys(_LONG, 2)
"""A time of a higher rank is meant to be longer."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two named times that a plan holds against each other; `one` None: no time at all.

    `paused`: the plan lets time pass by a clock, so a margin, too, must fit between them.
    """

    one: Ms | None
    other: Ms
    paused: bool = False

    def holds(self, times: Times, lag_ms: int) -> bool:
        """Whether a target that takes the one for the other can be told from one that doesn't."""
        if self.one is None:
            return times.of(self.other) >= _AT_ONCE * lag_ms
        needed = _LATE * lag_ms + (times.margin if self.paused else 0)
        longer = times.of(self.other) - times.of(self.one)
        ranks = _RANKS.get(self.one), _RANKS.get(self.other)
        if None in ranks or ranks[0] == ranks[1]:
            return abs(longer) >= needed
        return (longer if ranks < ranks[::-1] else -longer) >= needed

    def __str__(self) -> str:
        """The two of them, in words."""
        return f"{'no time' if self.one is None else self.one.name} and {self.other.name}"


def contrasts_of(case: Case, times: Times) -> Iterator[Contrast]:
    """The contrasts of a plan; a time that the target's settings make 0 has none."""
    pauses = [step for step in case.steps if isinstance(step, Pause)]
    fields = [step.fields.values() for step in case.steps if isinstance(step, RequestStep)]
    named = {value for values in fields for value in values if isinstance(value, Ms)}
    named |= {time for step in pauses for time in step.times}
    paused = any(step.times for step in pauses)
    ordered = sorted(named - {_DESIGNED_ALIKE}, key=lambda time: time.name)
    ordered = [time for time in ordered if times.of(time) > 0]
    yield from (Contrast(None, time) for time in ordered)
    for one, other in itertools.combinations(ordered, 2):
        if not {one, other} & _TICKS or not {one, other} & _LONG:
            yield Contrast(one, other, paused)


def blurred(case: Case, times: Times, lag_ms: int) -> str | None:
    """Why a run of the plan with these times proves nothing if so much lag had to be allowed."""
    has_margin = any(isinstance(step, Pause) and step.margins for step in case.steps)
    if has_margin and times.margin < lag_ms:
        return f"{lag_ms} ms of lag had to be allowed, more than its margin of {times.margin} ms"
    for contrast in contrasts_of(case, times):
        if not contrast.holds(times, lag_ms):
            return f"{lag_ms} ms of lag had to be allowed, which blurs {contrast}"
    return None
