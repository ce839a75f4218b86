"""Report an audit of logs, for people and as files.

The verdict comes first, then each violated group with its line, then what is unknown and why, then
what was ignored, and last the operator's part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from fencepost.conformance.certify.report import write_texts
from fencepost.conformance.runtime.versions import own_version
from fencepost.traces.audit.judge.results import (
    EXPLAINED,
    UNKNOWN,
    VIOLATED,
    AuditViolation,
    GroupResult,
)
from fencepost.traces.audit.judge.window_trace import window_trace
from fencepost.traces.audit.operations.operator_words import operator_summary
from fencepost.traces.audit.run import ASSUMED, AuditRun
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.page.audit_page import Judged, audit_page
from fencepost.traces.page.trace_data import ShownTrace
from fencepost.traces.text.words import plural

_MOST = 20


def audit_lines(run: AuditRun) -> Iterator[str]:
    """The audit in lines of text."""
    counts = ", ".join(
        f"{run.count(o)} {o}" for o in (EXPLAINED, VIOLATED, UNKNOWN) if run.count(o)
    )
    yield f"{plural(len(run.groups), 'group')}: {counts}."
    yield (
        f"Judged by {run.settings.revision.name}: {plural(run.exchanges, 'request')} in "
        f"{plural(run.lines, 'line')} of {plural(len(run.files), 'file')}."
    )
    yield f"Assumed: {ASSUMED[run.settings.gaps]}"
    for group in _with(run, VIOLATED):
        yield ""
        yield f"{group.group_id}: violated"
        for found in group.found[:3]:
            yield from _found_lines(found, run)
        if group.violations > 3:
            yield f"  and {group.violations - 3} more"
    for group in _with(run, UNKNOWN):
        yield ""
        yield f"{group.group_id}: unknown. {group.reason}"
    yield from _passed_over(run)
    yield ""
    yield from operator_summary(run.report)


def _with(run: AuditRun, outcome: str) -> list[GroupResult]:
    return [group for group in run.groups.values() if group.outcome == outcome][:_MOST]


def _found_lines(found: AuditViolation, run: AuditRun) -> Iterator[str]:
    x = found.exchange
    who = x.request_body.get("groupInstanceId") or x.request_body.get("memberId") or x.client_id
    yield f"  {x.place}: {x.api} v{x.version} of {who} was answered {found.says}"
    if found.rule is not None:
        try:
            rule = run.settings.revision.rule(found.rule)
        except KeyError:
            return
        yield f"    {found.rule} ({found.level}): {rule.because or rule.source}"


def _passed_over(run: AuditRun) -> Iterator[str]:
    if not run.skipped:
        return
    yield ""
    yield "Passed over:"
    for reason, (count, first) in sorted(run.skipped.items()):
        yield f"  {plural(count, 'line')}: {reason} (the first is {first})"


def write_audit(run: AuditRun, folder: Path) -> None:
    """The files of `--report`."""
    traces = _traces(run)
    texts = {
        "audit.json": json.dumps(run.to_json(), indent=1) + "\n",
        "audit.txt": "\n".join(audit_lines(run)) + "\n",
        **{name: trace.text() for name, (_, trace) in traces.items()},
    }
    names = {group_id: name for name, (group_id, _) in traces.items()}
    judged = [
        Judged(g.group_id, g.outcome, g.reason, names.get(g.group_id)) for g in run.groups.values()
    ]
    shown = {
        name: ShownTrace(trace, f"{group_id}: around the violation", name)
        for name, (group_id, trace) in traces.items()
    }
    texts["index.html"] = audit_page(run.report, judged, shown)
    write_texts(texts, folder, "--report")


def _traces(run: AuditRun) -> dict[str, tuple[str, TraceFile]]:
    """A trace for each violated group, by file name."""
    found: dict[str, tuple[str, TraceFile]] = {}
    for group_id, (first, segment) in list(run.evidence.items())[:_MOST]:
        trace = window_trace(first, segment, run.settings, own_version())
        if trace is not None:
            name = re.sub(r"[^A-Za-z0-9_.-]", "_", group_id)
            file = f"{name}.trace.json"
            number = 2
            while file in found:
                file = f"{name}-{number}.trace.json"
                number += 1
            found[file] = (group_id, trace)
    return found
