"""Turn the recording of a case into a trace file, and a trace file into a recording.

A trace keeps all that the judge saw, the plan, and the verdict with its reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model.coordinator import Provenance
from fencepost.model.plans.spelling import plan_json, read_plan
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.explain import explain
from fencepost.properties.judging.trace_verdict import TraceVerdict, nearest_first, record_verdict
from fencepost.traces.files.trace_file import TraceFile

if TYPE_CHECKING:
    from fencepost.properties.oracle.verdict import Verdict


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
    sentence = message or explain(verdict, recording, revision).sentence
    return record_verdict(verdict, revision, sentence, nearest_first)


def recording_of(trace: TraceFile, coordinator: str = "") -> Recording:
    """Return the recording, as far as a trace holds it.  `coordinator`: that answered, if known."""
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
        coordinator=coordinator,
    )
