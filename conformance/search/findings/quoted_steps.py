"""The steps of a trace as the pages in `docs/findings/` quote them.

`python -m fencepost.conformance.search.findings.quoted_steps TRACE` prints the block that
the page must hold; a test compares the two.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fencepost.conformance.targets.target_registry import find_revision
from fencepost.properties.judging.explain import explain
from fencepost.properties.judging.outcome import graded
from fencepost.traces.files.recording_trace import recording_of
from fencepost.traces.files.trace_file import TraceFile


def block(trace: TraceFile) -> str:
    """The sentence and the steps of a trace, a line each, judged today."""
    recording, revision = recording_of(trace), find_revision(trace.revision)
    return explain(graded(trace.judge(), recording, revision), recording, revision).text


if __name__ == "__main__":
    sys.stdout.write(block(TraceFile.read(Path(sys.argv[1]))) + "\n")
