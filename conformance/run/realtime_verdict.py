"""Judge what was recorded on a real clock, with more and more allowance for lateness.

First the history is judged with the lag that was measured while it was recorded.  A violation that
remains with any larger lag counts: with one as long as the whole history, nothing is late.  One
that a larger lag explains counts only while the control group shows a quick target: as SHOULD at
most if the target's own patience explains it, and at its rule's level if that is not enough, for an
answer that is so late may as well never come.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.conformance.run.latency_monitor import LagMeter
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.judging.recording import Recording
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Verdict, Violation

GENEROUS_MS = 30_000
"""So much lag is allowed for at least where nothing is known of how late a target is."""


_UNPROVEN = (
    "the answer was late, and so was the control group, or it was not seen to be quick, or its "
    "timers did not fire"
)
_DISORDERED = (
    "a request was handled after one that was sent later, and the plan shows something only in "
    "its own order"
)
_HIDDEN = (
    "something was later than it is when the target is calm, and so was the control group, which "
    "could hide that the target is late by itself"
)


def lag_to_allow_ms(meter: LagMeter, began: float, ended: float) -> int:
    """The lag, in ms, by which a run may be late, for all that the control has shown."""
    lag_ms = meter.safe_lag_ms(began, ended)
    if meter.answers_throughout(began, ended, lag_ms):
        return lag_ms
    return max(lag_ms, GENEROUS_MS)


def verdict_of(recording: Recording, revision: Revision, meter: LagMeter) -> Verdict:
    """The oracle's verdict; the lag that it allowed for is noted in the recording.

    Where the measured lag gives a violation, the history is judged with more and more lag.  What is
    wrong even then does not depend on lateness, and is what is reported.
    """
    recording.measured_ms = meter.lag_ms(recording.began, recording.ended)
    lag = max(recording.written_for_ms, recording.measured_ms)
    tight = _judge(recording, revision, lag)
    if tight.violation is None:
        recording.lag_ms = lag
        hides = recording.calm_ms and lag > recording.calm_ms
        if hides and _judge(recording, revision, recording.calm_ms).violation is not None:
            return replace(tight, unknown=_HIDDEN, used=frozenset())
        if tight.unknown is None and recording.settled:
            ordered = judge(revision, recording.config, recording.in_order(), lag_ms=lag).verdict()
            if ordered.violation is not None or ordered.unknown is not None:
                return replace(tight, unknown=_DISORDERED, used=frozenset())
        return tight
    safe_lag = meter.safe_lag_ms(recording.began, recording.ended)
    patient_lag = max(recording.patience_ms, lag, safe_lag)
    any_lag = max(GENEROUS_MS, 10 * lag, 2 * patient_lag, _length_ms(recording))
    patient = _judge(recording, revision, patient_lag)
    if patient.violation is not None:
        recording.lag_ms = patient_lag
        violation = _sharpened(patient.violation, tight.violation)
        patient = replace(patient, violation=violation)
        if _judge(recording, revision, any_lag).violation is not None:
            return patient
        found, shown_by = replace(patient, violation=replace(violation, late=True)), patient_lag
    else:
        recording.lag_ms = shown_by = lag
        slow = max((tight.violation.level, Level.SHOULD), key=LEVELS.index)
        found = replace(tight, violation=replace(tight.violation, late=True, level=slow))
    if meter.trustworthy(recording.began, recording.ended, shown_by):
        return found
    recording.lag_ms = any_lag
    return replace(found, violation=None, unknown=_UNPROVEN, used=frozenset())


def rests_on_lateness(verdict: Verdict) -> bool:
    """Whether more evidence of how late the target is could change it."""
    late = verdict.violation is not None and verdict.violation.late
    return late or verdict.unknown == _UNPROVEN


def _judge(recording: Recording, revision: Revision, lag_ms: int) -> Verdict:
    return judge(revision, recording.config, recording.history, lag_ms=lag_ms).verdict()


def _length_ms(recording: Recording) -> int:
    """With so much lag, nothing in the recording is late."""
    return max((event.at_ms for event in recording.history), default=0) + 1


def _sharpened(violation: Violation, tight: Violation) -> Violation:
    """The violation at the larger lag, with the right answers that remain at the measured lag."""
    rules = {a.rule for a in tight.allowed} if violation.request_id == tight.request_id else set()
    allowed = tuple(a for a in violation.allowed if a.rule in rules)
    return replace(violation, allowed=allowed or violation.allowed)
