"""Turn the recording of a case into a trace file, and a trace file into a recording.

A trace keeps all that the judge saw, the plan, and the verdict with its reasons.
"""

from __future__ import annotations

from fencepost.model.coordinator import Provenance
from fencepost.model.plans.spelling import plan_json, read_plan
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.explain import explain
from fencepost.properties.oracle.fingerprint import broken_rule
from fencepost.properties.oracle.verdict import Verdict, nearest
from fencepost.traces.files.trace_file import Expected, TraceFile, TraceVerdict, besides_of


def trace_of(
    recording: Recording,
    verdict: Verdict | None,
    revision: Revision,
    provenance: Provenance,
    *,
    seed: int,
    tool_version: str,
    message: str = "",
) -> TraceFile:
    """Return the trace of a run.  `message`: instead of the explanation's sentence, if given."""
    return TraceFile(
        revision=revision.name,
        case=recording.case.id,
        clock=recording.clock,
        lag_ms=recording.lag_ms,
        config=dict(recording.config),
        plan=plan_json(recording.case),
        events=tuple(recording.history),
        senders=dict(recording.senders),
        names=recording.read().names,
        verdict=verdict_of(recording, verdict, revision, message),
        provenance={
            "tool": tool_version,
            "target": provenance.target,
            "implementation": provenance.implementation,
            "implementation_version": provenance.version,
            "seed": seed,
        },
    )


def verdict_of(
    recording: Recording, verdict: Verdict | None, revision: Revision, message: str = ""
) -> TraceVerdict:
    """Return a verdict in the form that a trace file holds."""
    said = message or explain(verdict, recording, revision).sentence
    if verdict is None or verdict.violation is None:
        holds = verdict is not None and verdict.unknown is None
        return TraceVerdict("holds" if holds else "unknown", message=said)
    violation = verdict.violation
    rule = broken_rule(violation, revision)
    best = nearest(violation.allowed)
    allowed = sorted(violation.allowed, key=lambda a: a is not best)
    return TraceVerdict(
        outcome="violated",
        level=violation.level.value,
        wrong=violation.wrong.name,
        rule=rule.id if rule is not None else None,
        rules=violation.decided_by,
        request=violation.request_id,
        expected=tuple(Expected(a.body, a.rule, a.difference) for a in allowed),
        observed=violation.observed,
        because=rule.because if rule is not None else "",
        message=said,
        besides=besides_of(verdict),
    )


def recording_of(trace: TraceFile) -> Recording:
    """Return the recording, as far as a trace holds it."""
    if trace.plan is not None:
        case = read_plan(dict(trace.plan))
    else:
        case = Plan(trace.case or "", "", (), Level.MUST, ())
    return Recording(
        case=case,
        config=trace.config,
        clock=trace.clock,
        lag_ms=trace.lag_ms,
        patience_ms=trace.lag_ms,
        history=list(trace.events),
        senders=dict(trace.senders),
        names=dict(trace.names),
        coordinator=trace.coordinator,
    )
