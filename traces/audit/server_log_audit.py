"""Audit `server.log`: what consumers did, without a verdict on the broker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.traces.audit.log_audit import skipped_json
from fencepost.traces.logs.logged_exchange import is_wanted
from fencepost.traces.logs.server_log import CoordinatorEvent, Said, ServerLog
from fencepost.traces.operations.operator_json import operator_json
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.server_analysis import ServerAnalysis

FORMAT = "fencepost-server-log-audit"
VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("server-log-audit-1.schema.json")
UNJUDGED = "unjudged"
_MOST_IDS = 100_000

NOT_SHOWN = (
    "whether the broker's answers are right",
    (
        "on which host a process runs, and the client id of a static member (old coordinator since "
        "3.2: it tells both of a member that leaves)"
    ),
    "whether a process was alive when its session expired, or (new coordinator) its id was taken",
    "how near members came to their timeouts, and how long they were away",
    "of a member that joined again with other data: whether it was another subscription",
)
"""What only a request log can show."""


@dataclass(slots=True)
class ServerLogRun:
    """The result of auditing `server.log`.

    `skipped`: lines that were passed over, by reason, with the place of the first; `lines`: all;
    `events`: those that were read; `lost`: fencings of members whose group the log doesn't show.
    """

    files: tuple[str, ...]
    lines: int
    events: int
    skipped: dict[str, tuple[int, str]]
    groups: frozenset[str]
    report: OperatorReport
    own_groups: int
    lost: int
    outcome: str = UNJUDGED

    def to_json(self) -> dict[str, Any]:
        """Return the report, as server-log-audit-1.schema.json describes it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "files": list(self.files),
            "lines": self.lines,
            "events": self.events,
            "own_groups": self.own_groups,
            "unplaced_fencings": self.lost,
            "not_shown": list(NOT_SHOWN),
            "skipped": skipped_json(self.skipped),
            "operator": operator_json(self.report),
        }


UNSEEN = frozenset({"ping-pong", "self-fencing", "short-session"})
UNSEEN_NEW = UNSEEN | {"fenced"}
"""The kinds of problems that the log of the old coordinator can't show, and of the new one."""


class _Groups:
    """The groups of a log, and whose member ids were replaced."""

    def __init__(self, only: frozenset[str], report: OperatorReport) -> None:
        self._only = only
        self._report = report
        self.analyses: dict[str, ServerAnalysis] = {}
        self._since: dict[str, int] = {}
        """When the log of each broker begins (ms)."""
        self.own: set[str] = set()
        self.lost = 0
        self._replaced: dict[str, str] = {}

    def take(self, event: CoordinatorEvent) -> None:
        """Take the next line."""
        group = event.group
        since_ms = self._since.setdefault(event.broker, event.at_ms)
        if event.said is Said.FENCED and not group:
            group = self._replaced.get(event.member_id, "")
            if not group:
                self.lost += 1
                return
        if event.said is Said.REPLACED:
            self._replaced[event.fields["old"]] = group
            if len(self._replaced) > _MOST_IDS:
                del self._replaced[next(iter(self._replaced))]
        if not is_wanted(group, self._only):
            if not self._only:
                self.own.add(group)
            return
        analysis = self.analyses.get(group)
        if analysis is None:
            analysis = ServerAnalysis(group, self._report.add, since_ms)
            self.analyses[group] = analysis
        self._report.cannot_show(group, UNSEEN_NEW if event.is_new else UNSEEN)
        analysis.take(event)


def audit_server_log(log: ServerLog, only: frozenset[str] = frozenset()) -> ServerLogRun:
    """Audit `server.log` files to their end."""
    report = OperatorReport()
    groups = _Groups(only, report)
    events = 0
    for event in log:
        events += 1
        report.from_ms = min(report.from_ms or event.at_ms, event.at_ms)
        report.until_ms = max(report.until_ms or event.at_ms, event.at_ms)
        groups.take(event)
    for name in sorted(groups.analyses):
        groups.analyses[name].end(report.until_ms or 0)
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
    )
