"""Measure how late a target is right now, by a control group beside the cases.

One member of a group of our own sends heartbeats all the time, and another one falls silent again
and again.  This shows how long a request takes, how late our own event loop is, and whether session
timers fire.  A missing answer counts as a violation only where this is *shown*: in the whole time
of the case the control's requests were answered, and quickly, and its timers fired.  A control that
fails, or is silent itself, shows nothing, so nothing late is held against the target then.

A coordinator that moves by itself, on a busy machine, forgets what it hasn't stored.  A case that
sends nothing meanwhile doesn't notice, but the control does.

A history that was recorded on a real clock is judged first with the lag that was measured
meanwhile.  A violation that remains with any larger lag counts: with a lag as long as the whole
history, nothing is late.  A violation that a larger lag explains counts only while the control
group shows a quick target: as SHOULD at most if the target's own patience explains it, and at its
rule's level if that is not enough, for then the answer may as well never come.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from fencepost.conformance.run.control_group import NOBODY, ControlGroup, Probe
from fencepost.conformance.runtime.lag_meter import BEAT_S, LagMeter, TimerRound
from fencepost.conformance.targets.target import Located
from fencepost.model.coordinator import (
    AsyncCoordinator,
    CoordinatorFailure,
    UnsupportedError,
)
from fencepost.model.history.events import Event
from fencepost.model.messages.errors import GONE, MOVING, Error
from fencepost.model.plans.times import LEAST_LAG_MS
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Verdict, Violation

_LONGEST_REST_S = 1.0
_ANSWER_CAP_S = 30.0
_LONGEST_LAG_S = 15.0


class Control:
    """The control groups: one scope for requests that are answered at once, one for timers.

    `outages`: times at which the broker is down on purpose; the list may grow meanwhile.
    """

    def __init__(
        self,
        quick: AsyncCoordinator,
        timed: AsyncCoordinator,
        group: ControlGroup,
        outages: Sequence[tuple[float, float]] = (),
    ) -> None:
        self._scope = quick
        self._quick = Probe(quick, "control", _ANSWER_CAP_S)
        self._timed = Probe(timed, "control", _ANSWER_CAP_S)
        self._group = group
        self._rounds = itertools.count(1)
        self._usual: object = None
        self.meter = LagMeter(outages=outages)

    @property
    def round_s(self) -> float:
        """Return the seconds that one try of its timers takes on a quick target."""
        return (self._group.session_ms + LEAST_LAG_MS) / 1000

    async def run(self) -> None:
        """Measure until cancelled.  Note failures, and try again."""
        await asyncio.gather(self._watch_loop(), self._beat(), self._expire())

    async def warm_up(self, rounds: int = 10) -> int:
        """Take some first samples; return the lag to allow, in ms."""
        began = time.monotonic()
        for _ in range(rounds):
            await self._measured_beat()
            await asyncio.sleep(0.01)
        return self.meter.lag_ms(began, time.monotonic())

    async def _watch_loop(self) -> None:
        while True:
            begun = time.monotonic()
            await asyncio.sleep(BEAT_S)
            self.meter.note(max(0.0, time.monotonic() - begun - BEAT_S))

    async def _beat(self) -> None:
        rest_s = BEAT_S
        while True:
            rest_s = BEAT_S if await self._measured_beat() else min(2 * rest_s, _LONGEST_REST_S)
            await asyncio.sleep(rest_s)

    async def _measured_beat(self) -> bool:
        """Send a heartbeat; return True if it was answered."""
        try:
            with self.meter.measured():
                code = await self._group.heartbeat(self._quick, "control", NOBODY, 1)
        except (CoordinatorFailure, UnsupportedError):
            await self._quick.hang_up()
            return False
        await self._look_for_a_move(code)
        return True

    async def _look_for_a_move(self, code: object) -> None:
        """Note an answer of a coordinator that moves; one that loads takes nobody for a member."""
        moves = code in MOVING and not await self._is_usual(code)
        if moves or (code == Error.NONE.value and self._usual not in {None, code}):
            self.meter.moves.append(time.monotonic())
        else:
            self._usual = code

    async def _is_usual(self, code: object) -> bool:
        """Return True if the only broker says from the start that it is not the coordinator."""
        if code != Error.NOT_COORDINATOR.value or self._usual not in {None, code}:
            return False
        if self._usual == code:
            return True
        return isinstance(self._scope, Located) and await self._scope.stays()

    async def _expire(self) -> None:
        """Let a member join, fall silent, and check if it was removed; again and again."""
        rest_s = BEAT_S
        while True:
            try:
                self.meter.rounds.append(await self._timer_round(f"silent-{next(self._rounds)}"))
            except (CoordinatorFailure, UnsupportedError):
                self.meter.failed_rounds += 1
                await self._timed.hang_up()
                rest_s = min(2 * rest_s, _LONGEST_REST_S)
                await asyncio.sleep(rest_s)
            else:
                rest_s = BEAT_S

    async def _timer_round(self, group: str) -> TimerRound:
        """Try a timer once.  Raises CoordinatorFailure, UnsupportedError."""
        began = time.monotonic()
        member_id, epoch = await self._group.join(self._timed, group)
        await asyncio.sleep(self._group.session_ms / 1000)
        lag_ms = self.meter.lag_ms(began, time.monotonic())
        await asyncio.sleep(min(lag_ms / 1000, _LONGEST_LAG_S))
        code = await self._group.heartbeat(self._timed, group, member_id, epoch)
        return TimerRound(began, time.monotonic(), code in GONE)


GENEROUS_MS = 30_000
"""Least lag, in ms, that is allowed for where the latency of a target is unknown."""


_UNPROVEN = (
    "the answer was late; the control group was late, too, was not measured, or its timers did "
    "not fire"
)
_DISORDERED = "the target handled a request before an earlier one, and the plan needs its own order"
_HIDDEN = (
    "the target was slower than usual, and so was the control group, which could hide a late "
    "answer of the target"
)


def lag_to_allow_ms(meter: LagMeter, began: float, ended: float) -> int:
    """Return the lag, in ms, by which a run may be late by the evidence of the control."""
    lag_ms = meter.safe_lag_ms(began, ended)
    if meter.answers_throughout(began, ended, lag_ms):
        return lag_ms
    return max(lag_ms, GENEROUS_MS)


Judging = Callable[[Sequence[Event], int], Verdict]
"""Judge a history with a lag, in ms."""


def verdict_of(
    recording: Recording, revision: Revision, meter: LagMeter, judging: Judging | None = None
) -> Verdict:
    """Return the oracle's verdict; note the lag that it allowed for in the recording.

    Where the measured lag gives a violation, the history is judged with more and more lag.  A
    violation that remains does not depend on lateness, and is reported.  `judging`: judges instead
    of the oracle for the revision.
    """

    def judged(history: Sequence[Event], lag_ms: int) -> Verdict:
        return judge(revision, recording.config, list(history), lag_ms=lag_ms).verdict()

    judging = judging or judged
    recording.measured_ms = meter.lag_ms(recording.began, recording.ended)
    lag = max(recording.written_for_ms, recording.measured_ms)
    tight = judging(recording.history, lag)
    if tight.violation is None:
        recording.lag_ms = lag
        hides = recording.calm_ms and lag > recording.calm_ms
        if hides and judging(recording.history, recording.calm_ms).violation is not None:
            return replace(tight, unknown=_HIDDEN, used=frozenset())
        if tight.unknown is None and recording.settled:
            ordered = judging(recording.in_order(), lag)
            if ordered.violation is not None or ordered.unknown is not None:
                return replace(tight, unknown=_DISORDERED, used=frozenset())
        return tight
    safe_lag = meter.safe_lag_ms(recording.began, recording.ended)
    patient_lag = max(recording.patience_ms, lag, safe_lag)
    any_lag = max(GENEROUS_MS, 10 * lag, 2 * patient_lag, _length_ms(recording))
    patient = judging(recording.history, patient_lag)
    if patient.violation is not None:
        recording.lag_ms = patient_lag
        violation = _sharpen(patient.violation, tight.violation)
        patient = replace(patient, violation=violation)
        if judging(recording.history, any_lag).violation is not None:
            return patient
        late = replace(patient, violation=replace(violation, late=True))
    else:
        recording.lag_ms = lag
        slow = max((tight.violation.level, Level.SHOULD), key=LEVELS.index)
        late = replace(tight, violation=replace(tight.violation, late=True, level=slow))
    if meter.trustworthy(recording.began, recording.ended, recording.lag_ms):
        return late
    recording.lag_ms = any_lag
    return replace(late, violation=None, unknown=_UNPROVEN, used=frozenset())


def rests_on_lateness(verdict: Verdict) -> bool:
    """Return True if more evidence of the target's latency could change the verdict."""
    late = verdict.violation is not None and verdict.violation.late
    return late or verdict.unknown == _UNPROVEN


def _length_ms(recording: Recording) -> int:
    """Return the lag, in ms, with which nothing in the recording is late."""
    return max((event.at_ms for event in recording.history), default=0) + 1


def _sharpen(violation: Violation, tight: Violation) -> Violation:
    """Return the violation at the larger lag with the right answers at the measured lag."""
    rules = {a.rule for a in tight.allowed} if violation.request_id == tight.request_id else set()
    allowed = tuple(a for a in violation.allowed if a.rule in rules)
    return replace(violation, allowed=allowed or violation.allowed)
