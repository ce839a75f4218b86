"""Tell what a target's end in the middle of a run shows, and what it doesn't.

A broker that panics refuses whatever comes later, which shows nothing of any rule: a case that
began later is undecided, and is not tried again.  The cases that were under way when the broker
ended fail, since a request of theirs may have ended it.  But so may a timer that an earlier case
left behind, so none is said to break a rule.  Where no other case began before, what was seen in it
stays.

The target is gone when the control beside the cases was answered no more for `GONE_S`: longer than
a failure takes that a bad link makes and that must be repeated (link_faults.py).  Until then
nothing is decided, and where the control is answered again the case is tried as after any cut.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from fencepost.conformance.run.link_faults import is_cut_off
from fencepost.conformance.runtime.lag_meter import LagMeter
from fencepost.conformance.targets.target import HelperFailedError, SpoiledRunError
from fencepost.model.coordinator import CoordinatorFailure
from fencepost.model.history.words import first_names, plural
from fencepost.model.plans.steps import Plan
from fencepost.properties.judging.outcome import CaseResult, Outcome

TARGET_FAILED = "the target failed"
"""Signature of a failure that is no answer."""

GONE_S = 20.0
"""Seconds without any answer after which a target is gone."""

_BEGINS_S = 0.2
"""Seconds after the last answer in which a case may still have reached the target."""

_HEARS_S = 3.0
"""Seconds in which the control asks something, even after failures."""

_NAMED = 20


def unsupported(case: Plan, lacks: str) -> CaseResult:
    """Return the result of a case for which the target lacks something."""
    return CaseResult(case, Outcome.UNSUPPORTED, case.level, f"the target lacks {lacks}")


def failed(case: Plan, error: CoordinatorFailure) -> CaseResult:
    """Return the result of a case in which the target failed, or that shows nothing of it."""
    if isinstance(error, SpoiledRunError):
        return CaseResult(case, Outcome.UNKNOWN, case.level, str(error))
    if isinstance(error, HelperFailedError):
        message = f"{error}; that is no request of the group protocol, so no rule is judged by it"
        return CaseResult(case, Outcome.UNKNOWN, case.level, message)
    message = f"the target failed: {error}"
    return CaseResult(case, Outcome.FAIL, case.level, message, TARGET_FAILED)


@dataclass(slots=True)
class _Attempt:
    case: str
    began: float
    ended: float | None = None

    def ran_at(self, moment: float) -> bool:
        """Tell if it was under way at a time, or began just after it."""
        still = self.ended is None or self.ended >= moment
        return still and self.began <= moment + _BEGINS_S


class EndOfTarget:
    """The attempts of a run, and what they show once the target is gone.

    `meters`: returns those of the servers that cases share.
    """

    def __init__(self, meters: Callable[[], Sequence[LagMeter]]) -> None:
        self._meters = meters
        self._began = time.monotonic()
        self._attempts: list[_Attempt] = []
        self._suspects: dict[float, tuple[str, ...]] = {}
        self._later = 0

    @contextmanager
    def under_way(self, case: str) -> Iterator[None]:
        """Note that an attempt of a case runs while the body does."""
        attempt = _Attempt(case, time.monotonic())
        self._attempts.append(attempt)
        try:
            yield
        finally:
            attempt.ended = time.monotonic()

    async def judged(self, result: CaseResult) -> CaseResult | None:
        """Return the result of a case that the target's end cut off; None: it is not gone."""
        undecided = result.outcome is Outcome.UNKNOWN and result.recording is None
        if not (is_cut_off(result) or undecided):
            return None
        if (since := await self._gone_since()) is None:
            return None
        suspects = self._suspects.setdefault(since, self._under_way_at(since))
        if result.case.id not in suspects:
            self._later += 1
            why = f"the target was gone before this case began: {result.message}"
            return replace(
                result, outcome=Outcome.UNKNOWN, level=result.case.level, message=why, observed=""
            )
        if {attempt.case for attempt in self._attempts} == set(suspects[:1]):
            message = f"{result.message}; the target was gone from then on"
            return replace(result, outcome=Outcome.FAIL, message=message)
        others = f" and {plural(len(suspects) - 1, 'other case')}" if suspects[1:] else ""
        verb = "were" if others else "was"
        message = f"the target ended while this case{others} {verb} under way: {result.message}"
        return CaseResult(
            result.case,
            Outcome.FAIL,
            result.case.level,
            message,
            TARGET_FAILED,
            attempts=result.attempts,
            seconds=result.seconds,
        )

    def remark(self) -> tuple[str, ...]:
        """Say that the target ended, with the cases that may have ended it; () if it didn't."""
        remarks = []
        for since, suspects in self._suspects.items():
            named = first_names(suspects, _NAMED)
            after_s = max(0.0, since - self._began)
            remarks.append(
                f"the target ended {after_s:.0f} s after the first case and did not come back, "
                f"while {plural(len(suspects), 'case')} ran: {named}. A request of these "
                "cases ended it, or a leftover of an earlier case. Read its log, and run each "
                "alone (--case) on a new target"
            )
        if remarks and self._later:
            remarks.append(f"{plural(self._later, 'case')} that began after that are undecided")
        return tuple(remarks)

    async def _gone_since(self) -> float | None:
        """Return the time of a server's last answer, once it is gone; None: none is."""
        for meter in self._meters():
            await meter.hears(_HEARS_S)  # the control may not have noticed yet
            since = meter.gone_since()
            if since is None:
                continue
            left = since + GONE_S - time.monotonic()
            if left <= 0 or not await meter.recovers(left):
                return since
        return None

    def _under_way_at(self, moment: float) -> tuple[str, ...]:
        return tuple(dict.fromkeys(a.case for a in self._attempts if a.ran_at(moment)))
