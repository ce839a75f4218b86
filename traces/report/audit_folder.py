"""Report an audit of logs, for people and as files.

The answer comes first: how many problems with clients, and the verdict.  Then the operator's part,
each violated group with its line, what is unknown and why, and what was passed over.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from fencepost.model.history.words import plural
from fencepost.traces.audit.audit_results import (
    EXPLAINED,
    UNKNOWN,
    VIOLATED,
    AuditViolation,
    GroupResult,
)
from fencepost.traces.audit.log_audit import ASSUMED, AuditRun, by_protocol
from fencepost.traces.audit.server_log_audit import (
    ServerLogRun,
    not_covered,
    unread_heading,
    unread_words,
)
from fencepost.traces.audit.window_trace import window_trace
from fencepost.traces.files.bounded import own_version
from fencepost.traces.files.text_files import write_text, write_texts
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.logs.server_log import UNDATED, UNREAD
from fencepost.traces.operations.interruption_words import some
from fencepost.traces.operations.open_metrics import metrics_text
from fencepost.traces.operations.operator_words import operator_summary, verdict
from fencepost.traces.operations.problem_words import at, often, quoted
from fencepost.traces.pages.trace_page import PageTrace
from fencepost.traces.report.audit_page import Judged, audit_page

_MOST = 20
_NAMED = 5
"""Greatest number of member ids in a line."""
LogRun = AuditRun | ServerLogRun
"""The audit of request logs, or of server logs."""


def audit_lines(run: LogRun) -> Iterator[str]:
    """Yield the audit in lines of text."""
    if isinstance(run, ServerLogRun):
        yield from _server_lines(run)
    else:
        yield from _request_lines(run)
    for block in _rest(run):
        yield from block


def about_lines(run: LogRun) -> list[str]:
    """Return the lines about the log, and about what is not judged."""
    read = _lines_read(run)
    return [line for block in (read, *_rest(run)) for line in block if line]


def _rest(run: LogRun) -> Iterator[list[str]]:
    yield list(_other_groups(run))
    yield list(_passed_over(run.skipped))
    if run.own_groups:
        own = plural(run.own_groups, "group")
        yield [f"Left out: {own} of fencepost itself (--group NAME)."]


def _lines_read(run: LogRun) -> list[str]:
    """Return lines about the lines that were read, and about assumptions."""
    of_all = f"{plural(run.lines, 'line')} of {plural(len(run.files), 'file')}"
    if isinstance(run, ServerLogRun):
        lost = (
            f"{plural(run.lost, 'more line')} about static members that were fenced or replaced: "
            "the log doesn't show their group."
        )
        read = f"Read: {plural(run.events, 'line')} of a group coordinator, of {of_all}."
        return [*([lost] if run.lost else []), "", read]
    return [
        "",
        (
            f"Judged by {run.settings.revision.name}: {plural(run.exchanges, 'request')} in "
            f"{of_all}."
        ),
        f"Assumed: {ASSUMED[run.settings.gaps]}",
    ]


def _server_lines(run: ServerLogRun) -> Iterator[str]:
    yield from verdict(run.report, len(run.groups), None, run.other_groups, _fenced(run))
    if run.unread:
        yield f"{unread_heading(run.unread)}, so this is not all:"
        for line in unread_words(run.unread):
            yield f"  {line}"
    yield ""
    yield from operator_summary(run.report)
    yield from _lines_read(run)
    yield f"Only a request log shows: {'; '.join(not_covered(run.report))}."


def _request_lines(run: AuditRun) -> Iterator[str]:
    counts = ", ".join(
        f"{run.count(o)} {o}" for o in (EXPLAINED, VIOLATED, UNKNOWN) if run.count(o)
    )
    yield from verdict(run.report, len(run.groups), counts, run.other_groups)
    yield ""
    yield from operator_summary(run.report)
    yield from _lines_read(run)
    for group in _with(run, VIOLATED):
        yield ""
        yield f"{quoted(group.group_id)}: violated"
        for line in _violations(group, run):
            yield f"  {line}"
    for group in _with(run, UNKNOWN):
        yield ""
        yield f"{quoted(group.group_id)}: unknown. {group.reason}"


def _violations(group: GroupResult, run: AuditRun) -> Iterator[str]:
    """Yield lines about a group's first violations."""
    for violation in group.first_violations[:3]:
        yield from _violation_lines(violation, run)
    if group.violations > 3:
        yield f"and {group.violations - 3} more"


def _with(run: AuditRun, outcome: str) -> list[GroupResult]:
    return [group for group in run.groups.values() if group.outcome == outcome][:_MOST]


def _violation_lines(violation: AuditViolation, run: AuditRun) -> Iterator[str]:
    x = violation.exchange
    who = x.request_body.get("groupInstanceId") or x.request_body.get("memberId") or x.client_id
    yield f"{x.place}: {x.api} v{x.version} of {who} was answered {violation.says}"
    if violation.rule is not None:
        try:
            rule = run.settings.revision.rule(violation.rule)
        except KeyError:
            return
        yield f"  {violation.rule} ({violation.level}): {rule.because or rule.source}"


def _fenced(run: LogRun) -> int:
    """Return how often a member of a group that is not judged was fenced, as far as is shown."""
    return sum(each.lines for each in run.fenced) if isinstance(run, ServerLogRun) else 0


def _other_groups(run: LogRun) -> Iterator[str]:
    """Yield the groups that are not classic, by protocol, and what the log says of their members.

    Each of its lines counts: nothing is told of its cause, or of what followed.
    """
    for protocol, names in by_protocol(run.other_groups).items():
        few = some(list(map(quoted, names)), _MOST)
        yield (
            f"Not judged: {plural(len(names), 'group')} of another protocol ({protocol}): {few}. "
            "An audit reads groups of the classic protocol; kafka-consumer-groups.sh --describe "
            "(of share groups kafka-share-groups.sh) shows the members and the lag of such a group."
        )
    fenced = run.fenced if isinstance(run, ServerLogRun) else ()
    if fenced:
        yield "Lines of these groups about fenced members, which are only counted:"
    for each in fenced[:_MOST]:
        who = some(list(each.members), _NAMED)
        when = ""
        if each.from_ms is not None and each.until_ms is not None:
            when = f", at {at(each.from_ms)}"
            if each.lines > 1:
                when = f", from {at(each.from_ms)} to {at(each.until_ms)}"
        yield (
            f'  {quoted(each.group)}: "{each.says}" {often(each.lines)} ({who}{when}) '
            f"[{each.first}]"
        )
    if (more := len(fenced) - _MOST) > 0:
        yield f"  and {more:,} more; the JSON has them."


def _passed_over(skipped: Mapping[str, tuple[int, str]]) -> Iterator[str]:
    passed = sorted(each for each in skipped.items() if each[0] not in {UNREAD, UNDATED})
    if not passed:
        return
    yield ""
    yield "Skipped:"
    for reason, (count, first) in passed:
        yield f"  {plural(count, 'line')}: {reason} (the first is {first})"


def write_audit(run: LogRun, folder: Path) -> None:
    """Write the files of `--report`.  Raises ReportError."""
    about, others = about_lines(run), run.other_groups
    traces: dict[str, tuple[str, TraceFile]] = {}
    if isinstance(run, ServerLogRun):
        page = audit_page(
            run.report,
            not_covered=not_covered(run.report),
            unread=run.unread,
            about=about,
            other_groups=others,
            fenced=_fenced(run),
        )
    else:
        traces = _traces(run)
        pages = {
            name: PageTrace(trace, f"{group_id}: around the violation", name)
            for name, (group_id, trace) in traces.items()
        }
        judged = _judged(run, {group_id: name for name, (group_id, _) in traces.items()})
        page = audit_page(run.report, judged, pages, about=about, other_groups=others)
    texts = {
        "audit.json": json.dumps(run.document().plain(), indent=1) + "\n",
        "audit.txt": "\n".join(audit_lines(run)) + "\n",
        **{name: trace.text() for name, (_, trace) in traces.items()},
        "index.html": page,
    }
    write_texts(texts, folder, "--report")


def _judged(run: AuditRun, names: Mapping[str, str]) -> list[Judged]:
    """Return the result of each group; `names`: of their traces, by group."""
    return [
        Judged(g.group_id, g.outcome, g.reason, names.get(g.group_id), tuple(_violations(g, run)))
        for g in run.groups.values()
    ]


def write_metrics(run: LogRun, path: Path) -> None:
    """Write the file of `--prometheus`, whole or not at all, since a collector may read it.

    Raises ReportError, OutputError.
    """
    unread = run.unread_count if isinstance(run, ServerLogRun) else None
    counts = Counter(run.other_groups.values())
    text = metrics_text(run.report, is_open=path.suffix == ".om", unread=unread, others=counts)
    write_text(path, text, "give --prometheus another file")


def _traces(run: AuditRun) -> dict[str, tuple[str, TraceFile]]:
    """Make a trace for each violated group, by file name."""
    traces: dict[str, tuple[str, TraceFile]] = {}
    for group_id, (first, segment) in list(run.evidence.items())[:_MOST]:
        trace = window_trace(first, segment, run.settings, own_version())
        if trace is not None:
            name = re.sub(r"[^A-Za-z0-9_.-]", "_", group_id)
            file = f"{name}.trace.json"
            number = 2
            while file in traces:
                file = f"{name}-{number}.trace.json"
                number += 1
            traces[file] = (group_id, trace)
    return traces
