"""What a failure is worth that a bad link makes as well as a bad broker.

Decides when lateness and the end of a connection count.  No control group shows what happens to one
connection alone: a packet lost, a stall, a cut.  But a broker does wrong at the same request each
time, and a link anywhere; so such a failure counts if every attempt has it at the same request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.conformance.outcome import CaseResult, Outcome
from fencepost.properties.verdict import Wrong


def may_be_the_link(result: CaseResult) -> bool:
    """Whether a failure is such as a bad link makes, too: something late, or cut off."""
    if result.outcome is not Outcome.FAIL:
        return False
    violation = result.verdict and result.verdict.violation
    return not violation or violation.late or violation.wrong is Wrong.CLOSED


def weighed(result: CaseResult, suspicions: Sequence[CaseResult]) -> CaseResult:
    """The last attempt's result, in the light of those that a bad link may have spoiled.

    A broker does wrong at the same request each time; a link does so anywhere.
    """
    if not suspicions:
        return result
    if result is not suspicions[-1]:
        notes = (*result.notes, *(f"not seen again: {s.message}" for s in suspicions))
        return replace(result, notes=notes)
    if len(suspicions) == result.attempts and len({_where(s) for s in suspicions}) == 1:
        return result
    why = f"not seen each time, so it may be the link: {result.message}"
    return replace(result, outcome=Outcome.UNKNOWN, message=why, level=result.case.level)


def _where(result: CaseResult) -> tuple[object, ...]:
    """What was wrong with the answer to which step."""
    violation = result.verdict and result.verdict.violation
    if not violation or result.recording is None:
        return (result.message,)
    return (violation.wrong, result.recording.labels.get(violation.request_id))
