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
    from fencepost.traces.audit.audit_results import AuditViolation, GroupResult
    from fencepost.traces.audit.audit_settings import AuditSettings, Gaps, LogOptions
    from fencepost.traces.audit.log_audit import Audit, AuditRun, audit_log
    from fencepost.traces.audit.server_log_audit import ServerLogRun, audit_page, audit_server_log
    from fencepost.traces.audit.window_trace import window_trace
    from fencepost.traces.files.model_states import ModelState, model_states
    from fencepost.traces.files.run_trace import run_lines, run_trace
    from fencepost.traces.files.trace_causes import CorpusFolder, known_cause
    from fencepost.traces.files.trace_file import Expected, TraceFile, TraceFileError, TraceVerdict
    from fencepost.traces.forms.formats import TRACE_FORMATS, read_trace, to_adapter, to_csv
    from fencepost.traces.forms.itf import from_itf_json, to_itf_json, to_itf_text
    from fencepost.traces.forms.mermaid import to_mermaid
    from fencepost.traces.forms.pytest_form import to_pytest
    from fencepost.traces.logs.log_files import DatePatternError, LogDates, LogFileError
    from fencepost.traces.logs.request_log import LoggedExchange, RequestLog, read_request_log
    from fencepost.traces.logs.server_log import ServerLog
    from fencepost.traces.operations.open_metrics import metrics_text
    from fencepost.traces.operations.operator_report import OperatorAudit, OperatorReport
    from fencepost.traces.operations.operator_words import (
        OperatorProblem,
        operator_json,
        operator_problems,
        operator_summary,
    )
    from fencepost.traces.pages.trace_data import ShownTrace
    from fencepost.traces.pages.trace_page import trace_page
    from fencepost.traces.pipeline.corpus.corpus import Recipe, corpus_recipe
    from fencepost.traces.pipeline.corpus.exploring import (
        ExplorationBounds,
        ExplorationLevels,
        explore_levels,
    )
    from fencepost.traces.pipeline.corpus.job_engine import JobEngine, LocalEngine
    from fencepost.traces.pipeline.corpus.shard_jobs import Corpus
    from fencepost.traces.pipeline.corpus.triage import (
        check_corpus,
        count_outcomes,
        cover_corpus,
        generate_corpus,
        minimise_corpus,
        open_corpus,
        triage_corpus,
    )
    from fencepost.traces.pipeline.logs.metrics import Metrics, measure_logs, metrics_page
    from fencepost.traces.pipeline.logs.part_audit import (
        LogAudit,
        LogAuditTotals,
        audit_logs,
        recorded_totals,
    )
    from fencepost.traces.pipeline.spark.spark import (
        SparkEngine,
        SparkUnavailableError,
        spark_session,
    )
    from fencepost.traces.pipeline.spark.stream import LogWatch, StreamSource, watch_logs
    from fencepost.traces.pipeline.storage.location import CorpusError, Place
    from fencepost.traces.report.certificate_page import certificate_page, findings_page

__all__ = [
    "TRACE_FORMATS",
    "Audit",
    "AuditRun",
    "AuditSettings",
    "AuditViolation",
    "Corpus",
    "CorpusError",
    "CorpusFolder",
    "DatePatternError",
    "Expected",
    "ExplorationBounds",
    "ExplorationLevels",
    "Gaps",
    "GroupResult",
    "JobEngine",
    "LocalEngine",
    "LogAudit",
    "LogAuditTotals",
    "LogDates",
    "LogFileError",
    "LogOptions",
    "LogWatch",
    "LoggedExchange",
    "Metrics",
    "ModelState",
    "OperatorAudit",
    "OperatorProblem",
    "OperatorReport",
    "Place",
    "Recipe",
    "RequestLog",
    "ServerLog",
    "ServerLogRun",
    "ShownTrace",
    "SparkEngine",
    "SparkUnavailableError",
    "StreamSource",
    "TraceFile",
    "TraceFileError",
    "TraceVerdict",
    "audit_log",
    "audit_logs",
    "audit_page",
    "audit_server_log",
    "certificate_page",
    "check_corpus",
    "corpus_recipe",
    "count_outcomes",
    "cover_corpus",
    "explore_levels",
    "findings_page",
    "from_itf_json",
    "generate_corpus",
    "known_cause",
    "measure_logs",
    "metrics_page",
    "metrics_text",
    "minimise_corpus",
    "model_states",
    "open_corpus",
    "operator_json",
    "operator_problems",
    "operator_summary",
    "read_request_log",
    "read_trace",
    "recorded_totals",
    "run_lines",
    "run_trace",
    "spark_session",
    "to_adapter",
    "to_csv",
    "to_itf_json",
    "to_itf_text",
    "to_mermaid",
    "to_pytest",
    "trace_page",
    "triage_corpus",
    "watch_logs",
    "window_trace",
]

__getattr__, __dir__ = lazy(__name__)
