"""Audit trace files: judge each as a whole, since it begins with its groups.

A trace is judged by the revision that it names, unless another one is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.conformance.run.replay import rejudge
from fencepost.model.history.events import Sent
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import groups_of
from fencepost.traces.audit.audit_results import EXPLAINED, UNKNOWN, VIOLATED
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.pages.trace_data import ShownTrace
from fencepost.traces.pages.trace_page import trace_page
from fencepost.traces.report.report_folder import write_texts

_OUTCOMES = {"holds": EXPLAINED, "violated": VIOLATED, "unknown": UNKNOWN}


@dataclass(frozen=True, slots=True)
class AuditedTrace:
    """A trace and its verdict."""

    path: Path
    trace: TraceFile

    @property
    def outcome(self) -> str:
        """`explained`, `violated` or `unknown`."""
        return _OUTCOMES[self.trace.verdict.outcome]

    def to_json(self) -> dict[str, Any]:
        """As the report has it."""
        verdict = self.trace.verdict
        return {
            "file": self.path.name,
            "revision": self.trace.revision,
            "outcome": self.outcome,
            "request": verdict.request,
            "rule": verdict.rule,
            "message": verdict.message,
        }

    def line(self) -> str:
        """In a line of text."""
        said = f"{self.path.name}: {self.outcome} by {self.trace.revision}"
        return f"{said}. {self.trace.verdict.message}".rstrip(" .") + "."


def audit_traces(
    paths: Iterable[Path], revision: str | None, groups: frozenset[str]
) -> list[AuditedTrace]:
    """The traces that name one of the groups (any, if there are none), judged today.

    `revision`: judges instead of the one that the file names.  Raises TraceFileError.
    """
    found = []
    for path in paths:
        trace = TraceFile.read(path)
        if groups and not groups & _groups(trace):
            continue
        if revision is not None:
            trace = replace(trace, revision=revision)
        found.append(AuditedTrace(path, replace(trace, verdict=rejudge(trace).today)))
    return found


def worst(audited: Sequence[AuditedTrace]) -> str:
    """The worst outcome of some."""
    outcomes = {row.outcome for row in audited}
    return next((o for o in (VIOLATED, UNKNOWN) if o in outcomes), EXPLAINED)


def traces_json(audited: Sequence[AuditedTrace]) -> str:
    """All rows."""
    return json.dumps({"traces": [row.to_json() for row in audited]}, indent=1)


def write_traces(audited: Sequence[AuditedTrace], folder: Path) -> None:
    """The files of `--report`."""
    shown = [ShownTrace(row.trace, row.path.stem, str(row.path)) for row in audited]
    texts = {
        "audit.json": traces_json(audited) + "\n",
        "audit.txt": "".join(row.line() + "\n" for row in audited),
        "index.html": trace_page(shown),
    }
    write_texts(texts, folder, "--report")


def _groups(trace: TraceFile) -> set[str]:
    found: set[str] = set()
    for event in trace.events:
        if isinstance(event, Sent):
            request = event.request
            message = ALL_APIS[request.api].request.from_body(dict(request.body), request.version)
            found.update(groups_of(message, request.version) or ())
    return found
