"""Say what a target does behind a deviation that is not the subject of a case.

A target that answers each second join wrongly fails most cases by that alone, and says nothing of
their own rules.  So such a case goes on, and is judged anew by an oracle that adopts the wrong
answer.  Behind the deviation a case passes if every explanation used its own rules after it, and
nothing of them was excused.  It fails if another answer is wrong, whatever the first deviation led
to.  Where neither can be shown, it fails by the last deviation that is certain.

A deviation has to be reported.  Some case fails by it, or the first case that went on behind it
does.

What known departures explain is followed by these, or listed, so no case goes on behind it here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.conformance.run.latency_monitor import verdict_of
from fencepost.conformance.runtime.lag_meter import LagMeter
from fencepost.model.history.events import Event
from fencepost.model.history.words import plural
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision
from fencepost.properties.judging.answer_diff import Recording, signature
from fencepost.properties.judging.explain import sentence
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.behind import judge_behind
from fencepost.properties.oracle.fingerprint import Fingerprint, broken_rule, fingerprint_of
from fencepost.properties.oracle.verdict import Beside, Verdict, Violation, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    Weigh = Callable[[Plan, Recording, Verdict, Revision], CaseResult]
    """Make the result of a case from its verdict, as `certify` does."""


def may_go_on(result: CaseResult, revision: Revision) -> bool:
    """Tell if the run of a failed case went on behind a deviation that no departure explains."""
    if result.outcome is not Outcome.FAIL or result.whole is None or result.violation is None:
        return False
    attribution = result.attribution(revision)
    return not attribution.cause and not attribution.behind


def onward(
    result: CaseResult, revision: Revision, meter: LagMeter | None, weigh: Weigh
) -> CaseResult:
    """Return a result that went on behind its deviation; the same where nothing more is shown."""
    recording, first = result.whole, result.violation
    if recording is None or first is None:
        return result
    whole = replace(recording)
    own = result.case.rules

    def judging(history: Sequence[Event], lag_ms: int) -> Verdict:
        return judge_behind(revision, whole.config, history, lag_ms=lag_ms, own=own).verdict()

    verdict = (
        judging(whole.history, 0) if meter is None else verdict_of(whole, revision, meter, judging)
    )
    excused = judge_behind(
        revision, whole.config, whole.history, lag_ms=whole.lag_ms, own=own
    ).excused
    if not excused or excused[0].request_id != first.request_id:
        return result
    kinds = tuple(dict.fromkeys(_kind(each, revision, whole) for each in excused))
    following = weigh(result.case, whole, verdict, revision)
    if following.outcome is Outcome.PASS:
        return replace(
            _like(result, following),
            notes=(*following.notes, *_notes(excused, revision, whole)),
            before=result,
            behind=kinds,
        )
    last = verdict.violation
    if following.outcome is Outcome.FAIL and last is not None and _is_certain(last):
        return _failing(result, last, excused, revision, whole)
    if len(kinds) > 1:
        return _failing(result, excused[-1], excused[:-1], revision, whole)
    return result


def reported(results: Iterable[CaseResult], revision: Revision) -> list[CaseResult]:
    """Return the results, with each deviation that was gone on behind in at least one failure."""
    results = list(results)
    failing = {kind for result in results for kind in _reported_by(result, revision)}
    complete: list[CaseResult] = []
    for result in results:
        hidden = [kind for kind in result.behind if kind not in failing]
        if hidden and result.outcome is Outcome.PASS and result.before is not None:
            failing.update(_reported_by(result.before, revision))
            complete.append(result.before)
        else:
            complete.append(result)
    return complete


def remark_of(results: Iterable[CaseResult]) -> tuple[str, ...]:
    """Say how many cases went on behind which deviations; () for none."""
    results = [result for result in results if result.behind]
    if not results:
        return ()
    counts = Counter(kind.rule or kind.api for result in results for kind in result.behind)
    named = ", ".join(f"{rule} ({count})" for rule, count in counts.most_common())
    passed = sum(result.outcome is Outcome.PASS for result in results)
    failed = len(results) - passed
    cases = [f"{plural(passed, 'case')} passed"] if passed else []
    cases += [f"{plural(failed, 'case')} failed later"] if failed else []
    return (f"{' and '.join(cases)} although another rule was broken: {named}",)


def _reported_by(result: CaseResult, revision: Revision) -> tuple[Fingerprint, ...]:
    """Return the kinds of the deviations that a failure reports: its own, and those before it."""
    if result.outcome is not Outcome.FAIL or result.violation is None or result.recording is None:
        return ()
    return _kind(result.violation, revision, result.recording), *result.behind


def _is_certain(violation: Violation) -> bool:
    """Tell if a violation can't come of what the deviation before it led to, or of lateness."""
    silent = violation.wrong in {Wrong.SILENCE, Wrong.CLOSED}
    return not violation.late and not silent


def _failing(
    result: CaseResult,
    violation: Violation,
    before: Sequence[Violation],
    revision: Revision,
    whole: Recording,
) -> CaseResult:
    """Return the failure by a later deviation, which names those before it."""
    recording = whole.until(violation)
    besides = tuple(_beside(each, revision) for each in before)
    ids = tuple(dict.fromkeys(each.request_id for each in before))
    verdict = Verdict(violation, None, frozenset(), (), 1, besides, behind=ids)
    return replace(
        result,
        level=violation.level,
        message=sentence(verdict, recording, revision),
        observed=signature(verdict, recording),
        verdict=verdict,
        recording=recording,
        notes=_notes(before, revision, whole),
        before=result,
        behind=tuple(dict.fromkeys(_kind(each, revision, whole) for each in before)),
    )


def _beside(violation: Violation, revision: Revision) -> Beside:
    rule = broken_rule(violation, revision)
    difference = next((a.difference for a in violation.allowed), violation.detail)
    rule_id = "" if rule is None else rule.id
    return Beside(violation.request_id, violation.level, rule_id, difference)


def _kind(violation: Violation, revision: Revision, recording: Recording) -> Fingerprint:
    return fingerprint_of(violation, revision, recording.history)


def _notes(
    violations: Sequence[Violation], revision: Revision, recording: Recording
) -> tuple[str, ...]:
    """Write a note for each kind of deviation behind which a case went on."""
    notes: dict[Fingerprint, str] = {}
    for violation in violations:
        rule = broken_rule(violation, revision)
        words = signature(Verdict(violation, None, frozenset(), (), 1), recording)
        named = "" if rule is None else f"{rule.id}: "
        notes.setdefault(
            _kind(violation, revision, recording), f"continued after a deviation: {named}{words}"
        )
    return tuple(notes.values())


def _like(result: CaseResult, following: CaseResult) -> CaseResult:
    """Return what follows with the figures of the run that it is from."""
    return replace(
        following, attempts=result.attempts, seconds=result.seconds, judged_s=result.judged_s
    )
