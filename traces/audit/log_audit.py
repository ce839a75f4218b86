"""Audit a whole log in one pass: judge every answer, and build the operator's report.

Audit a log: pass every line to its group, and collect the results.

Only live groups are kept in memory.  Of a group that was silent for longer than any session timeout
only the result is kept; at its next line its state is unknown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal, Self

import msgspec
from msgspec import Meta

from fencepost.properties.oracle.oracle_search import FOREVER
from fencepost.traces.audit.audit_results import (
    EXPLAINED,
    UNKNOWN,
    VIOLATED,
    AuditViolation,
    FileLine,
    GroupEntry,
    GroupResult,
    Outcome,
)
from fencepost.traces.audit.audit_settings import AuditSettings, Gaps
from fencepost.traces.audit.group_audit import IDLE_MS, GroupAudit
from fencepost.traces.audit.possible_errors import PossibleAnswers
from fencepost.traces.audit.segment import Segment
from fencepost.traces.files.document_schema import Count, Document, DocumentSchema
from fencepost.traces.logs.log_files import BROKEN_FILE
from fencepost.traces.logs.request_log import (
    BAD_JSON,
    NO_REQUEST,
    TOO_LONG,
    LoggedExchange,
    RequestLog,
    is_included,
)
from fencepost.traces.operations.group_lines import GroupLines
from fencepost.traces.operations.operator_report import OperatorAudit, OperatorReport
from fencepost.traces.operations.operator_words import operator_json

_LOOK_EVERY = 50_000
_MOST_CONNECTIONS = 20_000
_KEEP_MS = 60 * 60_000
_PAUSE_MS = 3_000
_MOST_PAUSES = IDLE_MS // _PAUSE_MS


class BrokerActivity:
    """The connections of a broker, and the pauses in its log: times in which it wrote nothing."""

    __slots__ = ("connections", "last_ms", "pauses")

    def __init__(self) -> None:
        self.connections: dict[str, list[int]] = {}
        self.last_ms = FOREVER
        self.pauses: deque[tuple[int, int]] = deque(maxlen=_MOST_PAUSES)

    def wrote(self, at_ms: int) -> None:
        """Note that the broker wrote a line."""
        if at_ms > self.last_ms + _PAUSE_MS:
            self.pauses.append((self.last_ms, at_ms))
        self.last_ms = at_ms

    def paused_ms(self, from_ms: int, to_ms: int) -> int:
        """Return the longest pause that reaches into this time; 0 for none over three seconds."""
        return longest(self.pauses, from_ms, to_ms)

    def runs_through(self, from_ms: int, to_ms: int) -> bool:
        """Return True if a connection was in use at each time, so that no restart happened."""
        until_ms = from_ms
        for first, last in sorted((first, last) for first, last in self.connections.values()):
            if first > until_ms or until_ms >= to_ms:
                break
            if first < until_ms or first == from_ms:
                until_ms = max(until_ms, last)
        return until_ms >= to_ms

    def prune(self, now_ms: int) -> None:
        """Forget connections that were not used for long."""
        self.connections = {
            name: used for name, used in self.connections.items() if used[1] > now_ms - _KEEP_MS
        }


class Audit:
    """An audit in progress: `feed` it each exchange, in the order of the answers, then `finish`.

    `only`: the groups to look at; none for all but fencepost's own.  `evidence`: for each violated
    group the first violation, with the segment that it is in where there is one.  `own`:
    fencepost's own groups, which were left out.
    """

    def __init__(
        self, settings: AuditSettings | None = None, only: frozenset[str] = frozenset()
    ) -> None:
        self.settings = settings or AuditSettings()
        self.only = only
        self.evidence: dict[str, tuple[AuditViolation, Segment | None]] = {}
        self.own: set[str] = set()
        self._legal = PossibleAnswers(self.settings.revision)
        self._groups: dict[str, GroupAudit] = {}
        self._brokers: dict[str, BrokerActivity] = {}
        self._damage: list[tuple[str, int, str]] = []
        self._fed = 0

    def feed(self, exchange: LoggedExchange) -> None:
        """Take one exchange."""
        broker = self._brokers.get(exchange.broker)
        if broker is None:
            broker = self._brokers[exchange.broker] = BrokerActivity()
        used = broker.connections.get(exchange.connection)
        if used is None:
            broker.connections[exchange.connection] = [exchange.at_ms, exchange.answered_ms]
        else:
            used[1] = exchange.answered_ms
        broker.wrote(exchange.answered_ms)
        self._fed += 1
        if self._fed % _LOOK_EVERY == 0:
            self._put_down_idle(exchange.answered_ms)
        group_id = exchange.request_body.get("groupId")
        if group_id is None:
            for part in parts(exchange):
                self._to_group(part.request_body["groups"][0], part)
        else:
            self._to_group(group_id, exchange)

    def _to_group(self, group_id: str, exchange: LoggedExchange) -> None:
        group = self._groups.get(group_id)
        if group is None:
            if not is_included(group_id, self.only):
                if not self.only:
                    self.own.add(group_id)
                return
            group = self._groups[group_id] = GroupAudit(
                group_id, self.settings, self._legal, self, self._note
            )
        group.take(exchange)

    @property
    def held(self) -> int:
        """The number of exchanges that are held back at the moment."""
        return sum(group.held for group in self._groups.values())

    def damage(self, broker: str, at_ms: int, place: str) -> None:
        """Note a damaged line, which may have been evidence."""
        self._damage.append((broker, at_ms, place))

    def finish(self) -> dict[str, GroupResult]:
        """End the audit and return the results of all groups, by name."""
        for group in self._groups.values():
            group.finish()
        return {name: self._groups[name].result for name in sorted(self._groups)}

    # Facts about brokers, for the groups.

    def runs_through(self, broker: str, from_ms: int, to_ms: int) -> bool:
        """Return True if connections show that the broker was not restarted meanwhile."""
        return self._brokers[broker].runs_through(from_ms, to_ms)

    def damaged(self, broker: str, from_ms: int, to_ms: int) -> str | None:
        """Return the place of a damaged line of that time, or None."""
        for of, at_ms, place in self._damage:
            if of == broker and from_ms <= at_ms <= to_ms:
                return place
        return None

    def paused_ms(self, broker: str, from_ms: int, to_ms: int) -> int:
        """Return the longest time in which the broker logged nothing: it may have stood still."""
        return self._brokers[broker].paused_ms(from_ms, to_ms)

    def _note(self, violation: AuditViolation, segment: Segment | None) -> None:
        group_id = violation.exchange.group_ids[0]
        self.evidence.setdefault(group_id, (violation, segment))

    def _put_down_idle(self, now_ms: int) -> None:
        for broker in self._brokers.values():
            if len(broker.connections) > _MOST_CONNECTIONS:
                broker.prune(now_ms)
        for group in self._groups.values():
            if group.result.last_ms < now_ms - IDLE_MS:
                group.finish()


def longest(pauses: Iterable[tuple[int, int]], from_ms: int, to_ms: int) -> int:
    """Return the length of the longest pause that reaches into a time, 0 for none."""
    return max((until - at for at, until in pauses if at < to_ms and until > from_ms), default=0)


def parts(exchange: LoggedExchange) -> Iterator[LoggedExchange]:
    """Split an exchange about several groups into one for each; none if it names no group."""
    if exchange.api != "DescribeGroups":
        return
    rows: Iterable[Any] = exchange.answer_body.get("groups") or ()
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("groupId"), str):
            yield replace(
                exchange,
                request_body={**exchange.request_body, "groups": [row["groupId"]]},
                answer_body={**exchange.answer_body, "groups": [row]},
            )


FORMAT: Final = "fencepost-audit"
VERSION: Final = 1
DAMAGE = frozenset({BAD_JSON, BROKEN_FILE, NO_REQUEST, TOO_LONG})
OUTCOMES: tuple[Outcome, ...] = (VIOLATED, UNKNOWN, EXPLAINED)

ASSUMED = {
    Gaps.NONE: "Every request has a line in the log.",
    Gaps.DEFAULT: (
        "A join or sync that was never answered, because its connection closed or the log ends, "
        "has no line; every other request has one."
    ),
    Gaps.ANY: "Any join or leave may be missing from the log, if that explains the answers.",
}
"""The assumptions about a log, in sentences."""


class SkippedLines(Document, frozen=True):
    """Lines that were passed over for a reason: their number, and the place of the first."""

    reason: str
    lines: Count
    first: str

    @classmethod
    def of(cls, skipped: Mapping[str, tuple[int, str]]) -> tuple[Self, ...]:
        """Make one for each reason; `skipped`: their number, place of the first."""
        return tuple(
            cls(reason=reason, lines=lines, first=first)
            for reason, (lines, first) in sorted(skipped.items())
        )


class SkippedRequests(SkippedLines, frozen=True):
    """Lines of a request log that fencepost did not use.

    `reason`: why; `lines`: their number; `first`: the first, as FILE:LINE.
    """

    first: FileLine


def by_protocol(groups: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the names of groups, in order, by their protocol."""
    protocols = sorted(set(groups.values()))
    return {
        protocol: tuple(sorted(name for name, of in groups.items() if of == protocol))
        for protocol in protocols
    }


class OutcomeCounts(Document, frozen=True):
    """The number of groups with each outcome: `violated`, `unknown`, `explained`."""

    violated: Count
    unknown: Count
    explained: Count


class AuditDocument(Document, frozen=True, kw_only=True):
    """The result of an audit of request logs.

    `format`, `version`: of this document; `revision`: of the model that judges; `gaps`,
    `lag_ms`, `config`: the options `--gaps`, `--lag` and `--config`; `assumed`: the assumption
    that follows from `gaps`, as a sentence.  `files`, `lines`: files, and number of lines;
    `exchanges`: number of requests with their answers; `skipped`: lines that fencepost did not
    use; `own_groups`: number of fencepost's own groups, which are left out; `other_groups`:
    names of groups that fencepost does not judge, by protocol.  `outcome`: the worst of all
    groups; `counts`: number of groups by outcome; `groups`: the result for each; `operator`:
    the activity of the consumers.
    """

    format: Literal["fencepost-audit"] = FORMAT
    version: Literal[1] = VERSION
    revision: str
    gaps: Gaps
    assumed: str
    lag_ms: Annotated[int, Meta(ge=1)]
    config: dict[str, int | None]
    files: tuple[str, ...]
    lines: Count
    exchanges: Count
    own_groups: Count
    skipped: tuple[SkippedRequests, ...]
    outcome: Outcome
    counts: OutcomeCounts
    groups: tuple[GroupEntry, ...]
    operator: dict[str, Any]
    other_groups: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


SCHEMA = DocumentSchema(
    "audit-1",
    "The result of an audit of request logs",
    "Times end in _ms and are milliseconds since 1970. `operator` is as operator-report-1 says.",
    AuditDocument,
    {"GroupEntry": "group", "ViolationEntry": "found"},
)


@dataclass(slots=True)
class AuditRun:
    """The result of auditing a log.

    `skipped`: lines that were passed over, by reason, with the place of the first; `lines`: all;
    `own_groups`: how many groups of fencepost itself were left out; `other_groups`: the protocol of
    groups that are not classic, by name.
    """

    settings: AuditSettings
    files: tuple[str, ...]
    lines: int
    exchanges: int
    skipped: dict[str, tuple[int, str]]
    groups: dict[str, GroupResult]
    evidence: dict[str, tuple[AuditViolation, Segment | None]]
    report: OperatorReport
    own_groups: int = 0
    other_groups: dict[str, str] = field(default_factory=dict)

    def count(self, outcome: str) -> int:
        """Return how many groups have this outcome."""
        return sum(group.outcome == outcome for group in self.groups.values())

    @property
    def outcome(self) -> Outcome:
        """The worst of the groups'."""
        return next((o for o in OUTCOMES if self.count(o)), EXPLAINED)

    def document(self) -> AuditDocument:
        """Return the report, as `audit-1` describes it."""
        return AuditDocument(
            revision=self.settings.revision.name,
            gaps=self.settings.gaps,
            assumed=ASSUMED[self.settings.gaps],
            lag_ms=self.settings.lag_ms,
            config=dict(self.settings.config),
            files=self.files,
            lines=self.lines,
            exchanges=self.exchanges,
            own_groups=self.own_groups,
            other_groups=by_protocol(self.other_groups),
            skipped=SkippedRequests.of(self.skipped),
            outcome=self.outcome,
            counts=OutcomeCounts(
                violated=self.count(VIOLATED),
                unknown=self.count(UNKNOWN),
                explained=self.count(EXPLAINED),
            ),
            groups=tuple(group.entry() for group in self.groups.values()),
            operator=operator_json(self.report),
        )


def audit_log(
    log: RequestLog,
    settings: AuditSettings,
    only: frozenset[str] = frozenset(),
    lines: GroupLines | None = None,
) -> AuditRun:
    """Audit a log to its end; `lines`: gets those of groups."""
    skipped = log.skipped
    audit = Audit(settings, only)
    operator = OperatorAudit(only, OperatorReport(lines=lines))
    exchanges = 0

    def damaged(broker: str, place: str, reason: str, at_ms: int) -> None:
        if reason in DAMAGE:
            audit.damage(broker, at_ms, place)

    skipped.listeners.append(damaged)
    for exchange in log:
        exchanges += 1
        audit.feed(exchange)
        operator.take(exchange)
    groups = audit.finish()
    return AuditRun(
        settings,
        log.files,
        skipped.lines,
        exchanges,
        skipped.by_reason(),
        groups,
        audit.evidence,
        operator.finish(),
        len(audit.own),
        {name: protocol for name, protocol in log.other_groups.items() if is_included(name, only)},
    )
