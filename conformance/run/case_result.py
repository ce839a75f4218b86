"""From a recording and its verdict to the result of a case: what a pass takes.

A pass is never the lack of a failure.  The whole plan was run, the oracle explained all of it, each
explanation used the rules that the case is about, and no lag that had to be allowed blurs what the
plan holds against each other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fencepost.conformance.targets.target import SpoiledRunError
from fencepost.model.coordinator import CoordinatorFailure
from fencepost.model.plans.contrasts import blurred
from fencepost.model.plans.plan import Case
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import is_shipped, shipped_base
from fencepost.properties.judging.explain import sentence, signature
from fencepost.properties.judging.outcome import CaseResult, Outcome, graded
from fencepost.properties.judging.recording import Recording
from fencepost.properties.oracle.verdict import Verdict


def case_result(
    case: Case, recording: Recording, verdict: Verdict, revision: Revision
) -> CaseResult:
    """The result of one run of a case."""
    common: dict[str, Any] = {
        "case": case,
        "verdict": verdict,
        "recording": recording,
        "notes": verdict.notes,
    }
    violation = verdict.violation
    if violation is not None and not recording.moved:
        return CaseResult(
            outcome=Outcome.FAIL,
            level=violation.level,
            message=sentence(verdict, recording, revision),
            observed=signature(verdict, recording),
            **common,
        )
    if verdict.unknown is None and (gap := recording.gap() or _blur(case, recording)) is not None:
        verdict = replace(verdict, unknown=gap, used=frozenset())
        common["verdict"] = verdict
    why = _no_proof(case, recording, verdict, revision)
    outcome = Outcome.PASS if why is None else Outcome.UNKNOWN
    return CaseResult(outcome=outcome, level=case.level, message=why or "", **common)


def at_level(result: CaseResult, revision: Revision) -> CaseResult:
    """A result with a failure at the level of its fault, which may take long to be found."""
    recording, verdict = result.recording, result.verdict
    if result.outcome is not Outcome.FAIL or recording is None or verdict is None:
        return result
    verdict = graded(verdict, recording, revision)
    level = result.level if verdict.violation is None else verdict.violation.level
    message = sentence(verdict, recording, revision)
    return replace(result, verdict=verdict, level=level, message=message)


def _no_proof(case: Case, recording: Recording, verdict: Verdict, revision: Revision) -> str | None:
    """Why a run without a violation is no pass, if it isn't."""
    if recording.moved:
        return "the coordinator moved or was loading meanwhile"
    if verdict.unknown is not None:
        return verdict.unknown
    if missing := sorted(set(case.rules) - verdict.used):
        said = f"the history can also be explained without {', '.join(missing)}"
        return said + _not_applying(case, revision)
    return None


def _not_applying(case: Case, revision: Revision) -> str:
    """Say that a case is about rules that a user's own revision changes or drops; else ""."""
    if is_shipped(revision):
        return ""
    there = {rule.id: rule for _, rule in revision.rules()}
    theirs = {rule.id: rule for _, rule in shipped_base(revision).rules()}
    changed = [one for one in case.rules if there.get(one) is not theirs.get(one)]
    if not changed:
        return ""
    what = ", ".join(changed)
    return f"; {revision.name} changes or drops {what}, so the case may not apply to it"


def _blur(case: Case, recording: Recording) -> str | None:
    if not recording.lag_ms or recording.times is None:
        return None
    return blurred(case, recording.times, recording.lag_ms)


def unsupported(case: Case, lacks: str) -> CaseResult:
    """The result of a case that the target lacks something for."""
    return CaseResult(case, Outcome.UNSUPPORTED, case.level, f"the target lacks {lacks}")


def failed(case: Case, error: CoordinatorFailure) -> CaseResult:
    """The result of a case in which the target itself failed, or an earlier case spoiled it."""
    if isinstance(error, SpoiledRunError):
        return CaseResult(case, Outcome.UNKNOWN, case.level, str(error))
    said = f"the target failed: {error}"
    return CaseResult(case, Outcome.FAIL, case.level, said, "the target failed")
