"""Traces: what was sent to a broker and what it answered, kept, judged, converted and shown.

What this page names is the public API of the floor; all else is private to its room.  Nothing is
imported before it is first used: the pipeline needs the extras `corpus` and `spark`.

    from pathlib import Path
    from fencepost.traces import TRACE_FORMATS, read_trace

    trace = read_trace(Path("traces/corpus/mutants/kafka-8715.json"))
    print(trace.judge().violation)
    print(TRACE_FORMATS["mermaid"](trace))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model._door import lazy

if TYPE_CHECKING:
    from fencepost.traces.audit.audit_settings import LogOptions
    from fencepost.traces.audit.log_audit import audit_log
    from fencepost.traces.audit.server_log_audit import audit_server_log
    from fencepost.traces.files.trace_file import TraceFile, TraceFileError
    from fencepost.traces.forms.formats import TRACE_FORMATS, read_trace
    from fencepost.traces.logs.log_files import LogFileError
    from fencepost.traces.logs.request_log import RequestLog
    from fencepost.traces.logs.server_log import ServerLog
    from fencepost.traces.operations.operator_words import operator_json

__all__ = [
    "TRACE_FORMATS",
    "LogFileError",
    "LogOptions",
    "RequestLog",
    "ServerLog",
    "TraceFile",
    "TraceFileError",
    "audit_log",
    "audit_server_log",
    "operator_json",
    "read_trace",
]

__getattr__, __dir__ = lazy(__name__)
