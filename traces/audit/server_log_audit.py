"""Audit `server.log`: report what consumers did, without a verdict on the broker; make the page.

The page of an audit has wrong answers first, then problems with the clients, then rebalances,
deployments and life lines.  Of long tables it has the first rows, with their count; the JSON has
the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from fencepost.traces.audit.audit_results import UNKNOWN
from fencepost.traces.audit.log_audit import SkippedLines, by_protocol
from fencepost.traces.files.document_schema import Count, Document, DocumentSchema
from fencepost.traces.logs.coordinator_messages import MessageKind
from fencepost.traces.logs.log_dates import why_unread
from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.request_log import is_included
from fencepost.traces.logs.server_log import (
    UNREAD,
    CoordinatorEvent,
    ServerLog,
    UnreadLines,
)
from fencepost.traces.operations.group_analysis import GroupAnalysis
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, Rebalance, Remedy
from fencepost.traces.operations.operator_words import (
    at_end,
    causes_by_group,
    cut,
    expirations,
    notes,
    operator_json,
    problems_text,
    unshown,
)
from fencepost.traces.operations.ownership_picture import life_picture
from fencepost.traces.operations.problem_words import (
    at,
    operator_problems,
    seconds,
    short,
    times,
)
from fencepost.traces.operations.server_events import ServerEvents
from fencepost.traces.operations.time_line import LEGEND, time_line
from fencepost.traces.pages.trace_page import PageTrace, page_with_traces

FORMAT: Final = "fencepost-server-log-audit"
VERSION: Final = 1
UNJUDGED = "unjudged"

NOT_COVERED = (
    "whether the broker's answers are right",
    (
        "on which host a process runs, and the client id of a static member (old coordinator since "
        "3.2: it tells both of a member that leaves)"
    ),
    "whether a process was alive when its session expired, or (new coordinator) its id was taken",
    "how near members came to their timeouts, and how long they were away",
    "of a member that joined again with other data: whether it was another subscription",
)
"""The subjects that only a request log covers."""


class UnreadGroupLines(Document, frozen=True):
    """Lines about groups that were not understood: `first`, the place of the first; its text."""

    reason: str
    lines: Count
    first: str
    example: str


class ServerLogDocument(Document, frozen=True, kw_only=True):
    """The result of an audit of `server.log`.

    `events`: number of lines; `own_groups`: groups of fencepost itself, which are left out;
    `unplaced_fencings`: fenced requests of members whose group the log does not show; `not_shown`:
    facts that only a request log can show; `unread`: lines that the figures lack; `other_groups`:
    groups that are not judged, by their protocol.
    """

    format: Literal["fencepost-server-log-audit"] = FORMAT
    version: Literal[1] = VERSION
    files: tuple[str, ...]
    lines: Count
    events: Count
    own_groups: Count
    unplaced_fencings: Count
    not_shown: tuple[str, ...]
    skipped: tuple[SkippedLines, ...]
    operator: dict[str, Any]
    unread: tuple[UnreadGroupLines, ...] = ()
    other_groups: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


SCHEMA = DocumentSchema(
    "server-log-audit-1",
    "What an audit of server.log came to",
    "Times end in _ms and are milliseconds since 1970. `operator` is as operator-report-1 says.",
    ServerLogDocument,
)


@dataclass(slots=True)
class ServerLogRun:
    """The result of auditing `server.log`.

    `skipped`: lines that were passed over, by reason, with the place of the first; `lines`: all;
    `events`: those that were read; `lost`: fencings of members whose group the log doesn't name;
    `unread`: lines about groups that were not understood; `other_groups`: the protocol of groups
    that are not classic, by name.
    """

    files: tuple[str, ...]
    lines: int
    events: int
    skipped: dict[str, tuple[int, str]]
    groups: frozenset[str]
    report: OperatorReport
    own_groups: int
    lost: int
    unread: tuple[UnreadLines, ...] = ()
    other_groups: dict[str, str] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """Unknown where lines about groups were not understood; else the broker is unjudged."""
        return UNKNOWN if self.unread else UNJUDGED

    @property
    def unread_count(self) -> int:
        """The number of lines about groups that were not understood."""
        return sum(each.lines for each in self.unread)

    def document(self) -> ServerLogDocument:
        """Return the report, as `server-log-audit-1` describes it."""
        return ServerLogDocument(
            files=self.files,
            lines=self.lines,
            events=self.events,
            own_groups=self.own_groups,
            unplaced_fencings=self.lost,
            not_shown=NOT_COVERED,
            skipped=SkippedLines.of(self.skipped),
            operator=operator_json(self.report),
            unread=tuple(
                UnreadGroupLines(each.reason, each.lines, each.first, each.example)
                for each in self.unread
            ),
            other_groups=by_protocol(self.other_groups),
        )


def unread_words(lines: Sequence[UnreadLines]) -> Iterator[str]:
    """Yield what was not understood, with an example and the remedy."""
    for each in lines:
        yield f"{times(each.lines, 'line')} {each.reason} (the first is {each.first}):"
        yield f"  {each.example}"
        yield f"  {remedy_of_unread(each)}"


def remedy_of_unread(lines: UnreadLines) -> str:
    """Return the sentence that says what to do about lines that were not understood."""
    if lines.reason == UNREAD:
        return (
            "Give whole lines where they are cut off; else report one with the version of your "
            "Kafka, so that it is read."
        )
    why = why_unread(lines.example)
    return f"{why[0].upper()}{why[1:]}."


UNSEEN = frozenset({"ping-pong", "self-fencing", "short-session"})
UNSEEN_NEW = UNSEEN | {"fenced"}
"""The kinds of problems that the log of the old coordinator can't show, and of the new one."""


class _Groups:
    """The groups of a log; `lost`: requests of members whose group it doesn't name."""

    def __init__(self, only: frozenset[str], report: OperatorReport) -> None:
        self._only = only
        self._report = report
        self.analyses: dict[str, GroupAnalysis] = {}
        self._readers: dict[str, ServerEvents] = {}
        self._since: dict[str, int] = {}
        """The beginning of each broker's log (ms)."""
        self._partitions: dict[str, set[str]] = {}
        """The groups of each partition of __consumer_offsets, as far as lines name it."""
        self.own: set[str] = set()
        self.lost = 0

    def take(self, event: CoordinatorEvent) -> None:
        """Take the next line."""
        group = event.group
        since_ms = self._since.setdefault(event.broker, event.at_ms)
        partition = event.fields.get("partition", "")
        if not group:
            self.lost += event.kind in {MessageKind.FENCED, MessageKind.REPLACED}
            if event.kind is MessageKind.PARTITION_LOADED:
                for name in sorted(self._partitions.get(partition, ())):
                    self._analyse(name, event)
            return
        if not is_included(group, self._only):
            if not self._only:
                self.own.add(group)
            return
        analysis = self.analyses.get(group)
        if analysis is None:
            analysis = GroupAnalysis(group, self._report.add, hears=False, since_ms=since_ms)
            self.analyses[group], self._readers[group] = analysis, ServerEvents()
        if partition:
            self._partitions.setdefault(partition, set()).add(group)
        self._report.cannot_show(group, UNSEEN_NEW if event.is_new else UNSEEN)
        self._analyse(group, event)

    def _analyse(self, group: str, message: CoordinatorEvent) -> None:
        for event in self._readers[group].take(message):
            self.analyses[group].take(event)

    def end(self, now_ms: int) -> None:
        """End the log."""
        for group in sorted(self.analyses):
            for event in self._readers[group].end():
                self.analyses[group].take(event)
            self.analyses[group].end(now_ms)


_BACK_MS = 5_000
"""Tolerance for dates that go back: threads that write, a clock that is set a little."""


def _refuse_going_back(before: CoordinatorEvent | None, event: CoordinatorEvent) -> None:
    """Raise LogFileError where dates go back: causes and durations would be made up."""
    if before is None or event.at_ms >= before.at_ms - _BACK_MS:
        return
    back = f"{(before.at_ms - event.at_ms) / 1000:,.0f} s"
    raise LogFileError(
        f"{event.place} is dated {back} before {before.place}, so nothing after it can be judged: "
        "if the file holds two logs, cut it there; if summer time ended, give --timezone"
    )


def audit_server_log(log: ServerLog, only: frozenset[str] = frozenset()) -> ServerLogRun:
    """Audit `server.log` files to their end.  Raises LogFileError."""
    report = OperatorReport()
    groups = _Groups(only, report)
    events = 0
    last: dict[str, CoordinatorEvent] = {}
    for event in log:
        events += 1
        _refuse_going_back(last.get(event.broker), event)
        last[event.broker] = event
        report.from_ms = min(report.from_ms or event.at_ms, event.at_ms)
        report.until_ms = max(report.until_ms or event.at_ms, event.at_ms)
        groups.take(event)
    groups.end(report.until_ms or 0)
    report.groups = len(groups.analyses)
    skipped = log.skipped
    return ServerLogRun(
        log.files,
        skipped.lines,
        events,
        skipped.by_reason(),
        frozenset(groups.analyses),
        report,
        len(groups.own),
        groups.lost,
        log.unread,
        {name: protocol for name, protocol in log.other_groups.items() if is_included(name, only)},
    )


_ROWS = 200
_REBALANCES = 500
"""Greatest number of rebalances in the page."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A group's result: `outcome` explained, violated or unknown; its trace's name, if any."""

    group: str
    outcome: str
    reason: str
    trace: str | None = None


def audit_page(
    report: OperatorReport,
    judged: Sequence[Judged] = (),
    traces: Mapping[str, PageTrace] | None = None,
    not_covered: Sequence[str] = (),
    unread: Sequence[UnreadLines] = (),
) -> str:
    """Make the page.

    `judged`: every group; `traces`: of violated ones, by name; `not_covered`: subjects that the log
    lacks; `unread`: lines about groups that were not understood.
    """
    counts = {word: sum(1 for g in judged if g.outcome == word) for word in _OUTCOMES}
    problems_ = operator_problems(report)
    rebalances = report.rebalances.rows[:_REBALANCES]
    links = {row.place: f"rebalance-{number}" for number, row in enumerate(rebalances, 1)}
    (day, moments), (file, lines) = _moments(rebalances), _lines(rebalances)
    return page_with_traces(
        "audit.html",
        _heading(report, counts, unread),
        traces or {},
        outcome="unknown" if unread else _worst(counts, len(problems_)),
        unread=list(unread_words(unread)),
        facts=_facts(report, counts if judged else {}),
        judged=[g for g in judged if g.outcome != "explained"][:_ROWS],
        unexplained=counts["violated"] + counts["unknown"],
        problems=problems_[:_ROWS],
        unshown=list(unshown(report)),
        at_end=list(at_end(report)),
        told=any(line.fenced_ms is not None for line in report.life_lines.rows),
        groups=causes_by_group(report)[:_ROWS],
        unclear=sorted(report.unclear.items()),
        cut=cut,
        causes=[(c.value, report.causes[c]) for c in Cause if report.causes[c]],
        remedies=[
            (_REMEDIES.get(r, r.value), report.remedies[r]) for r in Remedy if report.remedies[r]
        ],
        hours=[(at(hour), count) for hour, count in sorted(report.by_hour.items())][-_ROWS:],
        most=max(report.by_hour.values(), default=0),
        deployments=report.deployments.rows[:_ROWS],
        rebalances=rebalances,
        day=day,
        moments=moments,
        file=file,
        lines=lines,
        expired=list(expirations(report)),
        expirations=report.expirations.rows[:_ROWS],
        notes=list(notes(report)),
        near=report.near_timeouts.rows[:_ROWS],
        life_lines=report.life_lines.rows[:_ROWS],
        picture=life_picture(report),
        line=time_line(report, links),
        legend=LEGEND,
        links_of=links,
        report=report,
        not_shown=not_covered,
        at=at,
        seconds=seconds,
        short=short,
        times=times,
        saved=_saved,
    )


_OUTCOMES = {"violated": "violated", "unknown": "unknown", "explained": "holds"}
"""The outcomes of a group, the worst first, and the word that colours each."""

_REMEDIES = {Remedy.NOTHING: "none of these"}


def _worst(counts: Mapping[str, int], problem_count: int) -> str:
    """Return the colour of the page: that of the worst result."""
    bad = next((word for word in ("violated", "unknown") if counts[word]), "")
    return bad or (
        "known-failure" if problem_count else "holds" if counts["explained"] else "index"
    )


def unread_heading(lines: Sequence[UnreadLines]) -> str:
    """Return the sentence about lines that were not understood; "" if all were."""
    count = sum(each.lines for each in lines)
    be = "was" if count == 1 else "were"
    return f"{times(count, 'line')} about groups {be} not understood" if count else ""


def _heading(
    report: OperatorReport, counts: Mapping[str, int], unread: Sequence[UnreadLines]
) -> str:
    counts_text = ", ".join(f"{counts[w]:,} {w}" for w in reversed(_OUTCOMES) if counts[w])
    groups = times(sum(counts.values()) or report.groups, "group")
    problems = problems_text(report)
    beside = f"; {unread_heading(unread)}" if unread else ""
    return (
        f"{problems[0].upper()}{problems[1:]}; {groups}{': ' if counts_text else ''}{counts_text}"
        f"{beside}"
    )


def _facts(report: OperatorReport, counts: Mapping[str, int]) -> list[tuple[str, str]]:
    expired = report.expirations.count
    if report.from_ms is None or report.until_ms is None:
        return [("the log", "holds no request of a group")]
    return [
        ("from", at(report.from_ms)),
        ("to", at(report.until_ms)),
        ("rebalances", f"{report.rebalances.count:,}"),
        *([("members that expired", f"{expired:,}")] if expired else []),
        *((word, f"{count:,}") for word, count in counts.items()),
    ]


def _saved(row: Rebalance) -> str:
    """Return the setting that would have avoided a rebalance, with the timeout that it needs."""
    if row.session_ms is None:
        return _REMEDIES.get(row.remedy, row.remedy.value)
    return f"{row.remedy.value}, session.timeout.ms {row.session_ms}"


def _moments(rows: Sequence[Rebalance]) -> tuple[str, dict[int, str]]:
    """Return the common day of all rows ("" if several), and the text of each time."""
    texts = {row.start_ms: at(row.start_ms) for row in rows}
    days = {text.partition(" ")[0] for text in texts.values()}
    if len(days) != 1:
        return "", texts
    return days.pop(), {ms: text.split()[1] for ms, text in texts.items()}


def _lines(rows: Sequence[Rebalance]) -> tuple[str, dict[str, str]]:
    """Return the common file of all rows ("" if several), and the text of each place."""
    parts = {row.place: row.place.rpartition(":") for row in rows}
    files = {file for file, _, _ in parts.values()}
    if len(files) != 1:
        return "", {place: place for place in parts}
    return files.pop(), {place: number for place, (_, _, number) in parts.items()}
