"""Build the operator's report on all groups of a log, in one pass.

Only live groups are kept in memory, and of each kind of row a limited number: always the same rows,
however the groups were interleaved.  The rows that are left out are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fencepost.model.messages.shapes import ShapeError
from fencepost.traces.audit.operations.group_analysis import GroupAnalysis
from fencepost.traces.audit.operations.operator_rows import (
    Cause,
    Deployment,
    FencingChain,
    LifeLine,
    NearTimeout,
    Rebalance,
    Remedy,
    Row,
    SelfFencing,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.logs.exchange import LoggedExchange

MOST_ROWS = 5_000
_HOUR_MS = 3_600_000
_SWEEP_EVERY = 50_000

_R = TypeVar("_R")


class LimitedRows(Generic[_R]):
    """The first rows in a given order, up to a limit, and the count of all."""

    def __init__(self, order: Callable[[_R], tuple[Any, ...]], most: int = MOST_ROWS) -> None:
        self.count = 0
        self._order = order
        self.most = most
        self._rows: list[_R] = []

    def add(self, row: _R) -> None:
        """Add a row."""
        self.count += 1
        self._rows.append(row)
        if len(self._rows) > 2 * self.most:
            self._rows = self.rows

    @property
    def rows(self) -> list[_R]:
        """Those that are kept, in order."""
        return sorted(self._rows, key=self._order)[: self.most]


@dataclass(slots=True)
class ShortSession:
    """A member that was removed while it was alive: how often, and its longest silence."""

    first: ThrownOut
    last: ThrownOut
    longest_ms: int
    count: int = 0

    def add(self, row: ThrownOut) -> None:
        """Add a row of this member; rows may come in any order."""
        self.count += 1
        self.longest_ms = max(self.longest_ms, row.silent_ms)
        self.first = min(self.first, row, key=_when)
        self.last = max(self.last, row, key=_when)


def _when(row: ThrownOut) -> tuple[int, str, str]:
    return row.at_ms, row.group, row.place


@dataclass(slots=True)
class OperatorReport:
    """The operator's report.  `from_ms` to `until_ms`: what the log covers."""

    from_ms: int | None = None
    until_ms: int | None = None
    groups: int = 0
    unreadable: int = 0
    """Lines of which no message can be made; the oracle names them."""
    life_lines: LimitedRows[LifeLine] = field(
        default_factory=lambda: LimitedRows(
            lambda r: (r.group, r.instance_id, r.from_ms, r.member_id)
        )
    )
    chains: LimitedRows[FencingChain] = field(
        default_factory=lambda: LimitedRows(
            lambda r: (not r.ping_pong, r.from_ms, r.group, r.instance_id)
        )
    )
    self_fencings: LimitedRows[SelfFencing] = field(
        default_factory=lambda: LimitedRows(lambda r: (not r.alive, r.at_ms, r.group, r.place))
    )
    static_leaves: LimitedRows[StaticLeave] = field(
        default_factory=lambda: LimitedRows(
            lambda r: (r.itself is False, r.at_ms, r.group, r.place)
        )
    )
    thrown_out: LimitedRows[ThrownOut] = field(default_factory=lambda: LimitedRows(_when))
    thrown_out_members: dict[tuple[str, str], ShortSession] = field(default_factory=dict)
    """All of them, by group and by instance or process, for a count of rows that were not kept."""
    near_timeouts: LimitedRows[NearTimeout] = field(
        default_factory=lambda: LimitedRows(
            lambda r: (-r.silent_ms / max(r.session_ms, 1), r.at_ms, r.group, r.place)
        )
    )
    rebalances: LimitedRows[Rebalance] = field(
        default_factory=lambda: LimitedRows(lambda r: (r.completed_ms, r.group, r.generation))
    )
    deployments: LimitedRows[Deployment] = field(
        default_factory=lambda: LimitedRows(lambda r: (r.from_ms, r.group))
    )
    causes: Counter[Cause] = field(default_factory=Counter)
    remedies: Counter[Remedy] = field(default_factory=Counter)
    by_hour: Counter[int] = field(default_factory=Counter)
    """Rebalances by the hour in which they began, in ms since 1970."""

    def add(self, row: Row) -> None:
        """Add a row."""
        match row:
            case LifeLine():
                self.life_lines.add(row)
            case FencingChain():
                self.chains.add(row)
            case SelfFencing():
                self.self_fencings.add(row)
            case StaticLeave():
                self.static_leaves.add(row)
            case ThrownOut():
                self.thrown_out.add(row)
                member = (row.group, row.instance_id or str(row.process))
                known = self.thrown_out_members.setdefault(member, ShortSession(row, row, 0))
                known.add(row)
            case NearTimeout():
                self.near_timeouts.add(row)
            case Deployment():
                self.deployments.add(row)
            case Rebalance():
                self.rebalances.add(row)
                self.causes[row.cause] += 1
                self.remedies[row.remedy] += 1
                self.by_hour[row.start_ms - row.start_ms % _HOUR_MS] += 1

    @property
    def short_sessions(self) -> list[ShortSession]:
        """The first members that were thrown out, by when they first were."""
        members = sorted(self.thrown_out_members.values(), key=lambda m: _when(m.first))
        return members[: self.thrown_out.most]


def _is_plain_commit(body: Mapping[str, Any]) -> bool:
    """Return whether an answer to a commit has its error codes."""
    try:
        rows = [p["errorCode"] for t in body["topics"] for p in t["partitions"]]
    except (KeyError, TypeError):
        return False
    return all(type(code) is int for code in rows)


def _is_whole(exchange: LoggedExchange) -> bool:
    """Return whether the bodies can be read, with a short check for successful heartbeats."""
    if exchange.api == "Heartbeat" and exchange.response_body.get("errorCode") == 0:
        return isinstance(exchange.request_body.get("memberId"), str)
    if exchange.api == "OffsetCommit" and _is_plain_commit(exchange.response_body):
        return isinstance(exchange.request_body.get("memberId", ""), str)
    try:
        _ = exchange.request, exchange.response
    except ShapeError:
        return False
    return True


class OperatorAudit:
    """A report in progress: `take` each exchange, in the order of the answers, then `finish`.

    `only`: the groups to look at; none for all.  `report`: where its rows go.
    """

    def __init__(
        self, only: frozenset[str] = frozenset(), report: OperatorReport | None = None
    ) -> None:
        self._only = only
        self._report = OperatorReport() if report is None else report
        self._stories: dict[str, GroupAnalysis] = {}
        self._seen = 0
        self._names: set[str] = set()

    def take(self, exchange: LoggedExchange) -> None:
        """Take one exchange."""
        report = self._report
        at_ms = exchange.answered_ms
        if report.from_ms is None or exchange.arrived_ms < report.from_ms:
            report.from_ms = exchange.arrived_ms
        if report.until_ms is None or at_ms > report.until_ms:
            report.until_ms = at_ms
        self._seen += 1
        if self._seen % _SWEEP_EVERY == 0:
            self._sweep(report.until_ms)
        group = exchange.request_body.get("groupId")
        if not isinstance(group, str) or (self._only and group not in self._only):
            return
        if not _is_whole(exchange):
            report.unreadable += 1
            return
        story = self._stories.get(group)
        if story is None:
            self._names.add(group)
            story = self._stories[group] = GroupAnalysis(group, report.add)
        story.take(exchange)

    def finish(self, until_ms: int | None = None) -> OperatorReport:
        """End the audit and return the report.

        `until_ms`: when the log ends, if these exchanges were only a part of it.
        """
        until_ms = until_ms or self._report.until_ms or 0
        self._report.groups = len(self._names)
        self._end(sorted(self._stories), until_ms)
        return self._report

    def _sweep(self, now_ms: int) -> None:
        over = [group for group, story in self._stories.items() if now_ms > story.over_ms]
        self._end(over, None)

    def _end(self, groups: Iterable[str], now_ms: int | None) -> None:
        for group in groups:
            story = self._stories.pop(group)
            story.end(story.over_ms if now_ms is None else min(now_ms, story.over_ms))
