"""Measure lateness: samples of how long requests took, and whether a control's timers fired.

A control group beside the cases, or in an application's broker, fills the meter; a verdict reads
from it how much lag to allow, and whether the control is evidence of a quick target.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from dataclasses import dataclass, field

from fencepost.model.coordinator import CoordinatorFailure, UnsupportedError
from fencepost.model.plans.times import LEAST_LAG_MS

_FACTOR = 3
_SPARE_MS = 2000
"""Spare ms beside a delay of more than a second, instead of `_FACTOR` times the delay."""

BEAT_S = 0.05
"""Delay between two requests of a control, in seconds."""

_GAP_S = 1.0
"""A control that is silent for longer, and longer than its requests take, shows nothing."""

_NEAR_S = 1.0
"""Margin around a case, in seconds."""

_POLL_S = 0.1
_CALM_S = 2.0
"""Seconds of low latency after which a target is calm."""

CALM_WITHIN_S = 20.0
"""Begin when latency is normal, or after this many seconds."""

_SPIKE_S = 5.0
"""Seconds before a plan whose lag may recur in it."""

_TRIES = 3
"""Tries of a timer after which one that never fired counts as one that never will."""

_SETTLED_S = 5.0
"""Seconds after an intended restart in which a coordinator may say that it loads."""


@dataclass(frozen=True, slots=True)
class TimerRound:
    """One try of a session timer: a member of the control joined, and fell silent.

    `began`, `ended`: times of its join and of the check; `fired`: it had been removed by then.
    """

    began: float
    ended: float
    fired: bool


class Samples:
    """End and duration of each sample, in s: 16 bytes each, for a search takes millions.

    One thread adds, another may read meanwhile.
    """

    def __init__(self, samples: Iterable[tuple[float, float]] = ()) -> None:
        self._ended = array("d")
        self._took = array("d")
        for ended, took in samples:
            self.add(ended, took)

    def add(self, ended: float, took: float) -> None:
        """Add the latest one."""
        self._took.append(took)
        self._ended.append(ended)  # from now on there is one more

    def since(self, moment: float) -> Iterator[tuple[float, float]]:
        """Yield those that ended then or later."""
        count = len(self)
        first = bisect_left(self._ended, moment, hi=count)
        return zip(self._ended[first:count], self._took[first:count], strict=True)

    def __len__(self) -> int:
        """Count them."""
        return len(self._ended)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        """Yield all of them."""
        return self.since(-math.inf)


@dataclass(slots=True)
class LagMeter:
    """The observations of a control, with their times, in seconds of the monotonic clock.

    `samples`: end and duration of each request and of each turn of the event loop; `answered`:
    times of answers to the control; `lost`: begin and end of its requests that failed; `rounds`: of
    its timers, and `failed_rounds`: the number of those without a result; `waiting`: begin of each
    request without an answer yet, which says as much about a target that stalls.  `moves`: times of
    answers by which the coordinator had moved or was loading; `outages`: times at which the broker
    was down on purpose, which is no evidence of anything.

    A verdict is made beside the event loop, so it reads this while the control goes on.
    """

    samples: Samples = field(default_factory=Samples)
    answered: MutableSequence[float] = field(default_factory=lambda: array("d"))
    rounds: list[TimerRound] = field(default_factory=list)
    waiting: list[float] = field(default_factory=list)
    lost: list[tuple[float, float]] = field(default_factory=list)
    failed_rounds: int = 0
    moves: list[float] = field(default_factory=list)
    outages: Sequence[tuple[float, float]] = ()

    def note(self, seconds: float) -> None:
        """Add a sample of this many seconds, which ends now."""
        self.samples.add(time.monotonic(), seconds)

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Add a sample of the time that the body takes, and note a failure."""
        begun = time.monotonic()
        self.waiting.append(begun)
        try:
            yield
        except (CoordinatorFailure, UnsupportedError):
            self.lost.append((begun, time.monotonic()))
            raise
        else:
            self.answered.append(time.monotonic())
        finally:
            self.note(time.monotonic() - begun)
            self.waiting.remove(begun)

    def worst_ms(self, began: float, ended: float) -> int:
        """Return the longest sample between two times, or just before and after, in ms."""
        waiting = list(self.waiting)  # first: what ends meanwhile is a sample then
        near = [
            s
            for at, s in self.samples.since(began - _NEAR_S)
            if at - s <= ended + _NEAR_S and not self._was_down(at - s, at)
        ]
        now = time.monotonic()
        near += [
            now - begun
            for begun in waiting
            if begun <= ended + _NEAR_S and not self._was_down(begun, now)
        ]
        return int(max(near, default=0.0) * 1000)

    def lag_ms(self, began: float, ended: float) -> int:
        """Return the lag, in ms, to allow for what happened between two times."""
        worst = self.worst_ms(began, ended)
        return max(LEAST_LAG_MS, min(_FACTOR * worst, worst + _SPARE_MS))

    def safe_lag_ms(self, began: float, ended: float) -> int:
        """Return the lag, in ms, beyond which something counts as late, on a quick target."""
        return max(LEAST_LAG_MS, _FACTOR * self.worst_ms(began, ended))

    def trustworthy(self, began: float, ended: float, lag_ms: int) -> bool:
        """Tell if the control was quick all the time, and its timers fired, or never fire."""
        shows = self.never_fires() or self._timers_fired(began, ended)
        return shows and self.answers_throughout(began, ended, lag_ms)

    def never_fires(self) -> bool:
        """Tell if no timer fired in `_TRIES` tries or more: that is no lateness of a moment."""
        return len(self.rounds) >= _TRIES and not any(each.fired for each in self.rounds)

    def answers_throughout(self, began: float, ended: float, lag_ms: int) -> bool:
        """Tell if the control's requests were answered all the time, well within this lag."""
        if lag_ms < _FACTOR * self.worst_ms(began, ended) or self.was_cut(began, ended):
            return False
        count = len(self.answered)
        first = bisect_right(self.answered, began, hi=count) - 1
        if first < 0:
            return False
        after = bisect_left(self.answered, ended, hi=count)
        marks = [*self.answered[first : min(after + 1, count)]]
        if after == count:
            marks.append(ended)
        longest = max(_GAP_S, lag_ms / 1000 / _FACTOR + 2 * BEAT_S)
        return all(
            until - since <= longest or self._was_down(since, until)
            for since, until in itertools.pairwise(marks)
        )

    def was_cut(self, began: float, ended: float) -> bool:
        """Tell if requests of the control failed between two times, or just before and after."""
        return any(
            begun <= ended + _NEAR_S and at >= began - _NEAR_S and not self._was_down(begun, at)
            for begun, at in self.lost
        )

    def gone_since(self) -> float | None:
        """Return the time of the last answer, if the requests after it failed; else None."""
        last = self.answered[-1] if self.answered else -math.inf
        is_cut = bool(self.lost) and self.lost[-1][1] > last and not self._was_down(*self.lost[-1])
        return last if is_cut else None

    def has_moved(self, began: float, ended: float) -> bool:
        """Tell if the coordinator moved by itself between two times, or just before and after."""
        return any(
            began - _NEAR_S <= at <= ended + _NEAR_S and not self._was_down(at - _SETTLED_S, at)
            for at in self.moves
        )

    def has_answered_since(self, moment: float) -> bool:
        """Tell if a request of the control was answered after a time."""
        return bool(self.answered) and self.answered[-1] > moment

    def _timers_fired(self, began: float, ended: float) -> bool:
        """Tell if all timers of the control fired that ran then, and some did.

        Where they never could be tried, because the target refuses, they show nothing, and the
        other requests must be enough.
        """
        if not self.rounds:
            return self.failed_rounds > 0
        then = [
            r.fired
            for r in self.rounds
            if r.began <= ended + _NEAR_S
            and r.ended >= began
            and not self._was_down(r.began, r.ended)
        ]
        return bool(then) and all(then)

    async def timers_tried(self, ended: float, within_s: float) -> None:
        """Wait until timers were tried that ran at a time, but no longer than this many seconds."""
        failed = self.failed_rounds

        def were_tried() -> bool:
            tried = any(r.ended >= ended for r in self.rounds[-2:])
            return tried or (not self.rounds and self.failed_rounds > failed)

        await _comes_true(were_tried, within_s)

    async def recovers(self, within_s: float) -> bool:
        """Wait until a request is answered; False: none was, in this many seconds."""
        begun = time.monotonic()
        return await _comes_true(lambda: self.has_answered_since(begun), within_s)

    async def hears(self, within_s: float) -> None:
        """Wait until a request is answered or fails, but no longer than this many seconds."""
        begun = time.monotonic()

        def was_heard() -> bool:
            has_failed = bool(self.lost) and self.lost[-1][1] > begun
            return has_failed or self.has_answered_since(begun)

        await _comes_true(was_heard, within_s)

    async def calms_down(self, lag_ms: int, within_s: float, for_s: float = _CALM_S) -> bool:
        """Wait until the lag was at most `lag_ms` for `for_s`; False: not within `within_s`."""

        def was_calm() -> bool:
            now = time.monotonic()
            return self.lag_ms(now - for_s, now) <= lag_ms

        return await _comes_true(was_calm, within_s)

    async def lag_to_plan_ms(
        self, least_ms: int, most_ms: int, pauses_ms: Callable[[int], int]
    ) -> int:
        """Return the lag that a plan allows for: that of the last seconds, in these bounds.

        `pauses_ms`: the sum of a plan's pauses by lag.  It grows with the lag, to minutes, so wait
        for calm first, at most for as long as the pauses would grow.
        """

        def lag_ms() -> int:
            now = time.monotonic()
            return min(most_ms, max(least_ms, self.lag_ms(now - _SPIKE_S, now)))

        if (lag := lag_ms()) == least_ms:
            return lag
        longer_s = (pauses_ms(lag) - pauses_ms(least_ms)) / 1000
        if longer_s > 0:
            await self.calms_down(least_ms, min(longer_s, CALM_WITHIN_S), _SPIKE_S)
        return lag_ms()

    def _was_down(self, began: float, ended: float) -> bool:
        return any(down <= ended and up >= began for down, up in self.outages)


async def _comes_true(holds: Callable[[], bool], within_s: float) -> bool:
    """Wait until this holds; False: it didn't in this many seconds."""
    limit = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > limit:
            return False
        await asyncio.sleep(_POLL_S)
    return True
