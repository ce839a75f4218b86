"""Audit `server.log`: report what consumers did, without a verdict on the broker."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from fencepost.model.history.words import sentence
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
    FencedLines,
    ServerLog,
    UnreadLines,
    coordinator_number,
)
from fencepost.traces.operations.group_analysis import GroupAnalysis
from fencepost.traces.operations.group_lines import GroupLines
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause
from fencepost.traces.operations.operator_words import operator_json
from fencepost.traces.operations.problem_words import times
from fencepost.traces.operations.server_events import ServerEvents

FORMAT: Final = "fencepost-server-log-audit"
VERSION: Final = 1
UNJUDGED = "unjudged"


def not_covered(report: OperatorReport) -> tuple[str, ...]:
    """Return the subjects that only a request log of the same time covers."""
    expirations = report.expirations.rows
    alive = any(row.instance_id is None and row.lived is None for row in expirations)
    is_guess = any(row.is_guess for row in expirations)
    is_guess = is_guess or any(row.is_guess for row in report.restarts.rows)
    kept = (report.restarts.rows, report.loops.rows, report.static_leaves.rows, expirations)
    has_host = any(row.process is not None and row.process.host for rows in kept for row in rows)
    is_again = report.causes[Cause.MEMBER_REJOIN] > 0
    subjects = (
        (True, "whether the broker's answers are right"),
        (alive, "whether the process of a dynamic member was alive when it expired"),
        (is_guess, "which process came back, where several have one client id"),
        (not has_host, "the hosts of processes"),
        (True, "how close members came to their session timeouts"),
        (is_again, "what a member changed when it joined again"),
    )
    return tuple(text for is_unknown, text in subjects if is_unknown)


class UnreadGroupLines(Document, frozen=True):
    """Lines about groups that fencepost could not read.

    `reason`: why; `lines`: their number; `first`: the first, as FILE:LINE; `example`: its text.
    """

    reason: str
    lines: Count
    first: str
    example: str


class OtherFencing(Document, frozen=True):
    """Lines about fenced members of a group that fencepost does not judge.

    `group`: its name; `says`: the text of a line; `lines`: their number; `members`: member ids;
    `first`: the first line, as FILE:LINE; `from_ms`, `until_ms`: times of the first and the
    last.
    """

    group: str
    says: str
    lines: Count
    members: tuple[str, ...]
    first: str
    from_ms: int | None
    until_ms: int | None


class ServerLogDocument(Document, frozen=True, kw_only=True):
    """The result of an audit of `server.log`.

    `format`, `version`: of this document; `files`, `lines`: files, and number of lines;
    `events`: of these, lines of a coordinator; `skipped`: lines that fencepost did not use;
    `unread`: lines about groups that it could not read, so that the figures lack them.
    `own_groups`: number of fencepost's own groups, which are left out; `other_groups`: names of
    groups that it does not judge, by protocol; `other_fenced`: lines about fenced members of
    these; `unplaced_fencings`: number of fenced requests of members whose group the log does
    not show; `not_shown`: facts that only a request log shows; `operator`: the activity of the
    consumers.
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
    other_fenced: tuple[OtherFencing, ...] = ()


SCHEMA = DocumentSchema(
    "server-log-audit-1",
    "The result of an audit of server.log",
    "Times end in _ms and are milliseconds since 1970. `operator` is as operator-report-1 says.",
    ServerLogDocument,
)


@dataclass(slots=True)
class ServerLogRun:
    """The result of auditing `server.log`.

    `skipped`: lines that were passed over, by reason, with the place of the first; `lines`: all;
    `events`: those that were read; `lost`: fencings of members whose group the log doesn't name;
    `unread`: lines about groups that were not understood; `other_groups`: the protocol of groups
    that are not classic, by name; `fenced`: lines about fenced members of these.
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
    fenced: tuple[FencedLines, ...] = ()

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
            not_shown=not_covered(self.report),
            skipped=SkippedLines.of(self.skipped),
            operator=operator_json(self.report),
            unread=tuple(
                UnreadGroupLines(each.reason, each.lines, each.first, each.example)
                for each in self.unread
            ),
            other_groups=by_protocol(self.other_groups),
            other_fenced=tuple(
                OtherFencing(
                    each.group,
                    each.says,
                    each.lines,
                    tuple(each.members),
                    each.first,
                    each.from_ms,
                    each.until_ms,
                )
                for each in self.fenced
            ),
        )


def unread_heading(lines: Sequence[UnreadLines]) -> str:
    """Return the sentence about lines that were not understood; "" if all were."""
    count = sum(each.lines for each in lines)
    return f"{times(count, 'line')} about groups could not be read" if count else ""


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
            "If lines are cut off, give whole lines. Otherwise please report one, with the version "
            "of your Kafka, so that fencepost can read it."
        )
    return sentence(why_unread(lines.example))


UNSEEN = frozenset({"ping-pong", "self-fencing", "short-session"})
UNSEEN_NEW = UNSEEN | {"fenced"}
"""The kinds of problems that the log of the old coordinator can't show, and of the new one."""


_LOADS = frozenset({MessageKind.LOADED, MessageKind.MEMBER_LOADED, MessageKind.PARTITION_LOADED})
_OF_PARTITIONS = frozenset({MessageKind.PARTITION_LOADED, MessageKind.PARTITION_UNLOADED})
_UNLOADS = frozenset({MessageKind.UNLOADED, MessageKind.PARTITION_UNLOADED})
_OF_NO_MEMBER = frozenset({MessageKind.ENDED, MessageKind.OFFSETS_DELETED})
_MOST_DELETIONS = 1000


def _deletes(deletion: CoordinatorEvent, group: str) -> bool:
    """Return True if a message tells that a group, or some of its offsets, was deleted."""
    if deletion.group:
        return deletion.group == group
    return f", {group}, " in f", {deletion.fields['groups']}, "


def _writer(event: CoordinatorEvent) -> tuple[str, str]:
    """Return the broker of a line: that of its file, and the number in the line."""
    return event.broker, coordinator_number(event.text)


class ServerGroups:
    """The groups of a log; `lost`: requests of members whose group it doesn't name.

    `since`: the beginning of each broker's log (ms), where not all of its messages are taken.
    """

    def __init__(
        self,
        only: frozenset[str],
        report: OperatorReport,
        since: Mapping[str, int] | None = None,
    ) -> None:
        self._only = only
        self._report = report
        self.analyses: dict[str, GroupAnalysis] = {}
        self._readers: dict[str, ServerEvents] = {}
        self._since = dict(since or {})
        self._partitions: dict[str, set[str]] = {}
        """The groups of each partition of __consumer_offsets, as far as lines name it."""
        self._partition_of: dict[str, str] = {}
        self._homes: dict[tuple[str, str], tuple[int, tuple[str, str]]] = {}
        """Time and broker of the last load of a group, or of a partition."""
        self._deletions: deque[CoordinatorEvent] = deque(maxlen=_MOST_DELETIONS)
        """The last deletions: the first other line about a group may come after its own."""
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
                self._homes["", partition] = event.at_ms, _writer(event)
            if event.kind is MessageKind.DELETED:
                self._deletions.append(event)
                for name in sorted(name for name in self.analyses if _deletes(event, name)):
                    self._analyse(name, event)
            if event.kind in _OF_PARTITIONS:
                for name in sorted(self._partitions.get(partition, ())):
                    self._analyse(name, event)
            return
        if not is_included(group, self._only):
            if not self._only:
                self.own.add(group)
            return
        analysis = self.analyses.get(group)
        if analysis is None and event.kind in _OF_NO_MEMBER:
            if event.kind is MessageKind.OFFSETS_DELETED:
                self._deletions.append(event)
            return  # the log shows nothing else of it
        if analysis is None:
            analysis = GroupAnalysis(group, self._report.add, hears=False, since_ms=since_ms)
            self.analyses[group], self._readers[group] = analysis, ServerEvents()
            for deletion in (each for each in self._deletions if _deletes(each, group)):
                self._analyse(group, deletion)
        if partition:
            self._partitions.setdefault(partition, set()).add(group)
            self._partition_of[group] = partition
        self._report.cannot_show(group, UNSEEN_NEW if event.is_new else UNSEEN)
        self._analyse(group, event)

    def _is_change(self, group: str, event: CoordinatorEvent) -> bool:
        """Return False where a broker gives up what another one has loaded before that."""
        if event.kind in _LOADS:
            self._homes[group, ""] = event.at_ms, _writer(event)
        if event.kind not in _UNLOADS:
            return True
        keys = (group, ""), ("", self._partition_of.get(group, ""))
        last = max((self._homes[key] for key in keys if key in self._homes), default=None)
        return last is None or last[1] == _writer(event)

    def _analyse(self, group: str, message: CoordinatorEvent) -> None:
        if not self._is_change(group, message):
            return
        analysis, lines = self.analyses[group], self._report.lines
        for event in self._readers[group].take(message):
            analysis.take(event)
        if lines is None:
            return
        ends = message.kind in {MessageKind.ASSIGNED, MessageKind.EMPTY}
        lines.add(group, message.at_ms, message.place, message.text, ends=ends)
        if message.kind is MessageKind.ASSIGNED:
            generation = message.generation or 0
            lines.add_members(group, generation, message.at_ms, analysis.members)

    def end(self, now_ms: int) -> None:
        """End the log."""
        for group in sorted(self.analyses):
            for event in self._readers[group].end():
                self.analyses[group].take(event)
            self.analyses[group].end(now_ms)


_BACK_MS = 5_000
"""Tolerance for dates that go back: threads that write, a clock that is set a little."""


def refuse_going_back(before: CoordinatorEvent | None, event: CoordinatorEvent) -> None:
    """Raise LogFileError where dates go back: causes and durations would be made up."""
    if before is not None and event.at_ms < before.at_ms - _BACK_MS:
        refuse_times(before.at_ms, before.place, event.at_ms, event.place)


def refuse_times(before_ms: int, before: str, at_ms: int, place: str) -> None:
    """Raise LogFileError where the date of a place is before that of the place before it."""
    if at_ms < before_ms - _BACK_MS:
        back = f"{(before_ms - at_ms) / 1000:,.0f} s"
        raise LogFileError(
            f"{place} is dated {back} before {before}, so nothing after it can be judged. If the "
            "file holds two logs, cut it there. If daylight saving time ended, give --timezone"
        )


def audit_server_log(
    log: ServerLog, only: frozenset[str] = frozenset(), lines: GroupLines | None = None
) -> ServerLogRun:
    """Audit `server.log` files; `lines`: gets those of groups.  Raises LogFileError."""
    report = OperatorReport(lines=lines)
    groups = ServerGroups(only, report)
    events = 0
    last: dict[str, CoordinatorEvent] = {}
    for event in log:
        events += 1
        refuse_going_back(last.get(event.broker), event)
        last[event.broker] = event
        report.from_ms = min(report.from_ms or event.at_ms, event.at_ms)
        report.until_ms = max(report.until_ms or event.at_ms, event.at_ms)
        groups.take(event)
    groups.end(report.until_ms or 0)
    report.groups, report.storage = len(groups.analyses), log.storage
    if log.others_from_ms is not None and log.others_until_ms is not None:
        report.from_ms = min(report.from_ms or log.others_from_ms, log.others_from_ms)
        report.until_ms = max(report.until_ms or log.others_until_ms, log.others_until_ms)
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
        tuple(each for each in log.fenced if is_included(each.group, only)),
    )
