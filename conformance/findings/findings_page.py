"""The findings in `docs/findings/`: what a trace file says, as its page quotes it.

Decides that a page about a finding shows the steps of its trace and nothing made up:
`python -m fencepost.conformance.findings.findings_page TRACE` prints the block that the page must
hold.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fencepost.conformance.execution.explain import explain
from fencepost.conformance.execution.runner import Recording
from fencepost.conformance.plans.json_form import case_from_json
from fencepost.conformance.plans.plan import Case
from fencepost.conformance.targets.registry import find_revision
from fencepost.model.table.table import Level
from fencepost.traces.files.trace_file import TraceFile


def block(trace: TraceFile) -> str:
    """The sentence and the steps of a trace, a line each, judged today."""
    recording = recording_of(trace)
    return explain(trace.judge(), recording, find_revision(trace.revision)).text


def recording_of(trace: TraceFile) -> Recording:
    """What was recorded, as far as a trace keeps it."""
    if trace.plan is not None:
        case = case_from_json(dict(trace.plan))
    else:
        case = Case(trace.case or "", "", (), Level.MUST, ())
    return Recording(
        case=case,
        config=trace.config,
        clock=trace.clock,
        lag_ms=trace.lag_ms,
        patience_ms=trace.lag_ms,
        history=list(trace.events),
        senders=dict(trace.senders),
        names=dict(trace.names),
    )


if __name__ == "__main__":
    sys.stdout.write(block(TraceFile.read(Path(sys.argv[1]))) + "\n")
