"""Build the operator's report on all groups of a log, in one pass.

Only live groups are kept in memory, and of each kind of row a limited number: always the same rows,
in any interleaving of groups.  The rows that are left out are counted, and so are the figures that
operators watch: rebalances and their durations, fencings, members by kind.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from fencepost.model.messages.shapes import ShapeError
from fencepost.traces.logs.request_log import LoggedExchange, is_included
from fencepost.traces.logs.server_log import StorageLines
from fencepost.traces.operations.group_analysis import GroupAnalysis
from fencepost.traces.operations.group_events import Joined, Moved
from fencepost.traces.operations.group_lines import GroupLines
from fencepost.traces.operations.operator_rows import (
    AVOIDING,
    Cause,
    Deployment,
    EmptySpan,
    End,
    Expiration,
    ExpiredTogether,
    Failover,
    FencingChain,
    GroupKind,
    LifeLine,
    Loop,
    MembersLeft,
    NearTimeout,
    OffsetsRemoved,
    PendingId,
    PollTimeout,
    Process,
    Rebalance,
    Remedy,
    Restart,
    Row,
    SelfFencing,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.operations.request_events import request_events, request_line

BUCKETS_MS = (100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000)
"""Upper bounds of the buckets of durations; Kafka waits 300 s at most by default."""


@dataclass(slots=True)
class GroupFigures:
    """The figures of one group.

    `late`: rebalances that only a session of unknown length would have avoided, by remedy;
    `cut`: those that were not over when the log ended;
    `durations`: rebalances by the first of `BUCKETS_MS` that isn't less (None: longer than all);
    `failed`: those that another one followed before a member had its assignment; `fenced`: living
    processes that lost their instance id; `thrown_out`: living processes whose session expired;
    `replaced`: instance ids that went on to another member id; `expired`: holders whose session
    expired, alive or not; `restarts`, `cost`: the restarts of `deployments`, and the rebalances
    that they cost; `static`, `dynamic`: members at the end of the log, None where it doesn't show
    all; `rebalancing_ms`: start of a rebalance that wasn't over then; `session_ms`, `assignors`: of
    these members, as far as the log shows them; `expirations`: members that the coordinator
    removed, `never_back`: of these, those that surely did not come back; `came_back`: all restarts
    with a rebalance; `pending`: member ids that were handed out and not used; `empty`: the time
    without a member that lasts until the end; `emptied`, `empty_ms`: the number of those that ended
    before, and how long they were together; `began_rebalancing`: the log begins in a rebalance;
    `library`: of its clients, "" where it is unknown; `most_members`: the most in a generation,
    None where it isn't certain.
    """

    causes: Counter[Cause] = field(default_factory=Counter)
    remedies: Counter[Remedy] = field(default_factory=Counter)
    late: Counter[Remedy] = field(default_factory=Counter)
    cut: int = 0
    durations: Counter[int | None] = field(default_factory=Counter)
    total_ms: int = 0
    failed: int = 0
    fenced: int = 0
    thrown_out: int = 0
    replaced: int = 0
    expired: int = 0
    deployments: int = 0
    restarts: int = 0
    cost: int = 0
    static: int | None = None
    dynamic: int | None = None
    rebalancing_ms: int | None = None
    session_ms: int | None = None
    assignors: tuple[str, ...] = ()
    expirations: int = 0
    never_back: int = 0
    came_back: int = 0
    pending: int = 0
    loops: int = 0
    failovers: int = 0
    kind: GroupKind = GroupKind.CONSUMER
    empty: EmptySpan | None = None
    emptied: int = 0
    empty_ms: int = 0
    began_rebalancing: bool = False
    library: str = ""
    most_members: int | None = None

    @property
    def known_ms(self) -> int | None:
        """Sum of the durations of its rebalances; None where it is known of none of them."""
        return self.total_ms if self.durations or not self.causes else None

    @property
    def lost(self) -> EmptySpan | None:
        """The time without a member that lasts until the end, if nobody stopped the last one."""
        return self.empty if self.empty is not None and self.empty.is_lost else None

    @property
    def timed(self) -> int:
        """Number of the rebalances whose duration is known."""
        return self.durations.total()

    @property
    def is_empty(self) -> bool:
        """True if the group had no member at the end of the log."""
        return self.static == 0 and self.dynamic == 0

    def add(self, row: Row) -> None:
        """Count a row of this group."""
        match row:
            case Rebalance():
                self.causes[row.cause] += 1
                self.remedies[row.remedy] += 1
                self.late[row.remedy] += row.is_late
                self.cut += row.is_cut
                if row.duration_ms is None:
                    self.failed += not (row.is_cut or row.is_emptying)
                    return
                self.total_ms += row.duration_ms
                fits = (bound for bound in BUCKETS_MS if row.duration_ms <= bound)
                self.durations[next(fits, None)] += 1
            case FencingChain():
                self.fenced += row.fenced
            case SelfFencing():
                self.fenced += row.alive
            case ThrownOut():
                self.thrown_out += 1
            case LifeLine():
                self.replaced += row.end is End.REPLACED
                self.expired += row.end is End.EXPIRED
            case Deployment():
                self.deployments += 1
                self.restarts += row.restarts
                self.cost += row.rebalances
            case MembersLeft():
                self.static, self.dynamic = row.static, row.dynamic
                self.rebalancing_ms = row.rebalancing_ms
                self.session_ms, self.assignors = row.session_ms, row.assignors
                self.kind, self.empty, self.library = row.kind, row.empty, row.library
                self.began_rebalancing = self.began_rebalancing or row.began_rebalancing
                self.most_members = max(self.most_members or 0, row.most_members or 0) or None
            case EmptySpan():
                self.emptied += 1
                self.empty_ms += row.lasted_ms
            case Expiration():
                self.expirations += 1
                self.never_back += row.back_ms is None and not row.is_unclear
            case Restart():
                self.came_back += 1
            case PendingId():
                self.pending += 1
            case Loop():
                self.loops += 1
            case Failover():
                self.failovers += 1
            case _:
                pass


MOST_ROWS = 5_000
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_SWEEP_EVERY = 50_000

_R = TypeVar("_R")


class LimitedRows(Generic[_R]):
    """The first rows in an order, up to a limit, and the count of all."""

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
        """The rows that are kept, in order."""
        return sorted(self._rows, key=self._order)[: self.most]


ProblemRow = FencingChain | SelfFencing | StaticLeave | ThrownOut | PollTimeout | Loop | PendingId


@dataclass(slots=True)
class Recurring:
    """A problem with all its occurrences: of one kind, group, and instance id or process.

    `count`: takeovers, fencings, leaves or removals; `days`: of these, in days since 1970;
    `longest_ms`: the longest silence of a member that was removed, or the longest time without
    poll(), or the longest wait for an id that was not used, or the longest time until a fenced
    process got the error; `shortest_ms`: the shortest time from
    an assignment to the next rebalance of a loop.
    """

    kind: str
    first: ProblemRow
    last: ProblemRow
    count: int = 0
    longest_ms: int = 0
    shortest_ms: int | None = None
    days: set[int] = field(default_factory=set)
    names: set[Process] = field(default_factory=set)
    causes: set[Cause | None] = field(default_factory=set)
    """Of loops: several members may cause one in turn, each in its way."""

    def add(self, row: ProblemRow) -> None:
        """Add a row; rows may come in any order."""
        self.first = min(self.first, row, key=_order)
        self.last = max(self.last, row, key=_order)
        self.days |= {_began_ms(row) // _DAY_MS, _ended_ms(row) // _DAY_MS}
        match row:
            case FencingChain():
                self.count += row.count if row.ping_pong else row.fenced
                self.names.update(row.processes)
            case StaticLeave():
                self.count += 1
                self.names.add(row.process or row.by)
            case Loop():
                self.count += row.count
                self.names.add(row.process)
                self.causes.add(row.cause)
            case ThrownOut() | SelfFencing() | PollTimeout() | PendingId():
                self.count += 1
                self.names.add(row.process)
        match row:
            case FencingChain():
                for turn in row.handovers:
                    late_ms = 0 if turn.told_ms is None else turn.told_ms - turn.at_ms
                    self.longest_ms = max(self.longest_ms, late_ms)
            case ThrownOut():
                self.longest_ms = max(self.longest_ms, row.silent_ms)
            case PendingId():
                self.longest_ms = max(self.longest_ms, row.held_ms)
            case Loop() if row.lasted_ms is not None:
                self.shortest_ms = min(self.shortest_ms or row.lasted_ms, row.lasted_ms)
            case PollTimeout() if row.late_ms is not None and row.interval_ms is not None:
                self.longest_ms = max(self.longest_ms, row.interval_ms + row.late_ms)

    @property
    def is_of_broker(self) -> bool:
        """True if no client caused it, nor can mend it."""
        return isinstance(self.first, Loop) and self.causes <= _OF_BROKERS

    @property
    def from_ms(self) -> int:
        """Time of its begin."""
        return _began_ms(self.first)

    @property
    def place(self) -> str:
        """The line that shows it, as `FILE:LINE`: for removals the last, as in their sentence."""
        return _place(self.last if isinstance(self.last, ThrownOut) else self.first)

    @property
    def until_ms(self) -> int:
        """Time of its last occurrence."""
        return _ended_ms(self.last)


KINDS = (
    "ping-pong",
    "fenced",
    "loop",
    "pending-id",
    "self-fencing",
    "static-leave",
    "short-session",
    "poll-timeout",
)
"""The kinds of problems, the worst first."""


_OF_BROKERS = frozenset({Cause.NOT_STORED, Cause.FAILOVER, Cause.NEW_MEMBER})
"""Causes of loops that are no client's: a member that joins again and again, and never goes, was
dropped."""


def _kind(row: ProblemRow) -> str | None:
    """Return the kind of a problem; None if the row is no problem."""
    match row:
        case FencingChain():
            return "ping-pong" if row.ping_pong else "fenced" if row.fenced else None
        case SelfFencing():
            return ("fenced" if row.second else "self-fencing") if row.alive else None
        case StaticLeave():
            return None if row.itself is False else "static-leave"
        case ThrownOut():
            return "short-session"
        case PollTimeout():
            return "poll-timeout"
        case Loop():
            return "loop"
        case PendingId():
            return "pending-id"


def _began_ms(row: ProblemRow) -> int:
    return row.from_ms if isinstance(row, _SPANS) else row.at_ms


def _ended_ms(row: ProblemRow) -> int:
    return row.until_ms if isinstance(row, _SPANS) else row.at_ms


_SPANS = (FencingChain, Loop)


def _place(row: ProblemRow) -> str:
    return row.decisive.place if isinstance(row, FencingChain) else row.place


def _order(row: ProblemRow) -> tuple[int, str, str]:
    return _began_ms(row), row.group, _place(row)


@dataclass(slots=True)
class OperatorReport:
    """The operator's report.  `from_ms`, `until_ms`: begin and end of the log."""

    from_ms: int | None = None
    until_ms: int | None = None
    groups: int = 0
    unreadable: int = 0
    """Lines whose bodies are no messages; the oracle names them."""
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
    thrown_out: LimitedRows[ThrownOut] = field(default_factory=lambda: LimitedRows(_order))
    recurring: dict[tuple[str, str, str], Recurring] = field(default_factory=dict)
    """All problems, by kind, group, and instance id or process, also of rows not kept."""
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
    restarts: LimitedRows[Restart] = field(
        default_factory=lambda: LimitedRows(lambda r: (r.at_ms, r.group, r.back_ms, r.place))
    )
    expirations: LimitedRows[Expiration] = field(
        default_factory=lambda: LimitedRows(lambda r: (r.at_ms, r.group, r.member_id, r.place))
    )
    pending_ids: LimitedRows[PendingId] = field(
        default_factory=lambda: LimitedRows(lambda r: (r.at_ms, r.group, r.member_id))
    )
    loops: LimitedRows[Loop] = field(
        default_factory=lambda: LimitedRows(
            lambda r: (-r.count, r.from_ms, r.group, str(r.process), r.place)
        )
    )
    failovers: LimitedRows[Failover] = field(
        default_factory=lambda: LimitedRows(lambda r: (r.at_ms, r.group, r.place))
    )
    ended_spans: LimitedRows[EmptySpan] = field(
        default_factory=lambda: LimitedRows(lambda r: (r.from_ms, r.group, r.place))
    )
    """Times without a member that ended; those that last are in the figures."""
    removed_offsets: LimitedRows[OffsetsRemoved] = field(
        default_factory=lambda: LimitedRows(lambda r: (r.at_ms, r.group, r.place))
    )
    figures: dict[str, GroupFigures] = field(default_factory=lambda: defaultdict(GroupFigures))
    """Figures by group."""
    causes: Counter[Cause] = field(default_factory=Counter)
    remedies: Counter[Remedy] = field(default_factory=Counter)
    unclear: Counter[str] = field(default_factory=Counter)
    """Rebalances whose remedy is unknown, by the reason."""
    emptying: int = 0
    """Rebalances after which the group had no member."""
    by_hour: Counter[int] = field(default_factory=Counter)
    """Rebalances by the hour of their start, in ms since 1970."""

    storage: tuple[StorageLines, ...] = ()
    """Lines of brokers about trouble with the partitions in which groups are stored."""
    lines: GroupLines | None = None
    """Lines of the log about its groups, where somebody wants them."""
    unshown: dict[str, frozenset[str]] = field(default_factory=dict)
    """The kinds of problems that the log can't show, by group."""

    def cannot_show(self, group: str, kinds: frozenset[str]) -> None:
        """Record kinds of problems of a group that the log can't show."""
        self.unshown[group] = self.unshown.get(group, frozenset()) | kinds

    def shows(self, group: str, kind: str) -> bool:
        """Return True if the log would show this kind of problem of a group."""
        return kind not in self.unshown.get(group, ())

    @property
    def avoidable(self) -> int:
        """Number of rebalances that another setting would have avoided."""
        return sum(self.remedies[remedy] for remedy in AVOIDING)

    @property
    def late(self) -> Counter[Remedy]:
        """The numbers of rebalances that only a session of unknown length would have avoided."""
        return sum((figures.late for figures in self.figures.values()), Counter[Remedy]())

    def note(self, row: Row) -> None:
        """Count a row in the figures and the problems, without keeping it."""
        if isinstance(row, ProblemRow):
            self._recur(row)
        if isinstance(row, MembersLeft):
            self._end_span(row)
        self.figures[row.group].add(row)

    def add(self, row: Row) -> None:
        """Add a row."""
        self.note(row)
        match row:
            case EmptySpan():
                self.ended_spans.add(row)
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
            case NearTimeout():
                self.near_timeouts.add(row)
            case Deployment():
                self.deployments.add(row)
            case Restart():
                self.restarts.add(row)
            case Expiration():
                self.expirations.add(row)
            case PendingId():
                self.pending_ids.add(row)
            case Loop():
                self.loops.add(row)
            case Failover():
                self.failovers.add(row)
            case OffsetsRemoved():
                self.removed_offsets.add(row)
            case Rebalance():
                self.rebalances.add(row)
                self.causes[row.cause] += 1
                self.remedies[row.remedy] += 1
                self.emptying += row.is_emptying
                if row.unclear:
                    self.unclear[row.unclear] += 1
                self.by_hour[row.start_ms - row.start_ms % _HOUR_MS] += 1

    def _end_span(self, row: MembersLeft) -> None:
        """End the time without a member that lasted when the log showed the group before."""
        span = self.figures[row.group].empty
        if span is not None and row.began_ms is not None:
            self.add(msgspec.structs.replace(span, until_ms=row.began_ms))

    @property
    def empty_count(self) -> int:
        """The number of all times without a member."""
        return self.ended_spans.count + sum(f.empty is not None for f in self.figures.values())

    @property
    def empty_spans(self) -> list[EmptySpan]:
        """The times without a member that are kept, and those that last until the end."""
        lasting = (figures.empty for figures in self.figures.values() if figures.empty is not None)
        return sorted([*self.ended_spans.rows, *lasting], key=lambda row: (row.from_ms, row.group))

    def _recur(self, row: ProblemRow) -> None:
        kind = _kind(row)
        if kind is not None:
            who = row.instance_id or str(getattr(row, "process", ""))
            if isinstance(row, Loop) and row.cause is not None:
                # Several processes in turn are one loop.
                who = "rejoin" if row.cause in _REJOINS else row.cause.value
            self.recurring.setdefault((kind, row.group, who), Recurring(kind, row, row)).add(row)

    @property
    def problems(self) -> list[Recurring]:
        """The problems: the worst kind first, then the most frequent, then by begin."""
        problems = [p for p in self.recurring.values() if not self._is_repeated(p)]
        return sorted(problems, key=lambda p: (KINDS.index(p.kind), -p.count, *_order(p.first)))

    @property
    def together(self) -> list[ExpiredTogether]:
        """The members of any groups that expired at nearly the same time."""
        return list(expired_together(self.expirations.rows, self.failovers.rows))

    def _is_repeated(self, problem: Recurring) -> bool:
        """Return True if another problem is about the same events as a loop."""
        if not isinstance(problem.first, Loop) or problem.first.cause not in _OF_OTHER_KINDS:
            return False
        return any(
            other.kind in _MORE_EXACT
            and other.first.group == problem.first.group
            and problem.names <= other.names
            for other in self.recurring.values()
        )


_REJOINS = frozenset({Cause.LEADER_REJOIN, Cause.MEMBER_REJOIN, Cause.CHANGED_SUBSCRIPTION})
_OF_OTHER_KINDS = frozenset({Cause.LEAVE, Cause.EXPIRY})
_MORE_EXACT = frozenset({"static-leave", "short-session", "poll-timeout"})
_TOGETHER_MS = 1_000
_SEVERAL = 3


def expired_together(
    expirations: Iterable[Expiration], failovers: Iterable[Failover]
) -> Iterator[ExpiredTogether]:
    """Find members of any groups that expired at nearly the same time: several are no chance.

    Those of before a failover are its consequence, and are not among them.
    """
    spans = [(row.group, row.at_ms, row.until_ms or 0) for row in failovers if row.expired]
    series: list[Expiration] = []
    for row in expirations:
        if row.end is End.DROPPED:
            continue
        if any(group == row.group and at <= row.at_ms <= until for group, at, until in spans):
            continue
        if series and row.at_ms - series[-1].at_ms > _TOGETHER_MS:
            yield from _together(series)
            series = []
        series.append(row)
    yield from _together(series)


def _together(series: list[Expiration]) -> Iterator[ExpiredTogether]:
    if len(series) < _SEVERAL:
        return
    returns = [row.back_ms - row.at_ms for row in series if row.back_ms is not None]
    yield ExpiredTogether(
        tuple(sorted({row.group for row in series})),
        series[0].at_ms,
        series[-1].at_ms,
        len(series),
        len(returns),
        sum(row.is_unclear for row in series),
        sum(row.instance_id is not None for row in series),
        max(returns, default=None),
        tuple(sorted({row.process for row in series})),
        series[0].place,
        _stayed_in(series),
    )


def _stayed_in(series: Sequence[Expiration]) -> int | None:
    """Count the groups in which others stayed; None where that is unknown of one."""
    stayed: dict[str, int] = {}
    for row in series:
        if row.stayed is None:
            return None
        stayed[row.group] = min(row.stayed, stayed.get(row.group, row.stayed))
    return sum(count > 0 for count in stayed.values())


def _is_plain_commit(body: Mapping[str, Any]) -> bool:
    """Return True if an answer to a commit has its error codes."""
    try:
        rows = [p["errorCode"] for t in body["topics"] for p in t["partitions"]]
    except (KeyError, TypeError):
        return False
    return all(type(code) is int for code in rows)


def _is_whole(exchange: LoggedExchange) -> bool:
    """Return True if the bodies can be read, with a short check for successful heartbeats."""
    if exchange.api == "Heartbeat" and exchange.answer_body.get("errorCode") == 0:
        return isinstance(exchange.request_body.get("memberId"), str)
    if exchange.api == "OffsetCommit" and _is_plain_commit(exchange.answer_body):
        return isinstance(exchange.request_body.get("memberId", ""), str)
    try:
        _ = exchange.request, exchange.answer
    except ShapeError:
        return False
    return True


class OperatorAudit:
    """A report in progress: `take` each exchange, in the order of the answers, then `finish`.

    `only`: the groups to take; empty for all but fencepost's own.  `report`: gets the rows.
    """

    def __init__(
        self, only: frozenset[str] = frozenset(), report: OperatorReport | None = None
    ) -> None:
        self._only = only
        self._report = OperatorReport() if report is None else report
        self._stories: dict[str, GroupAnalysis] = {}
        self._leaders: dict[str, str] = {}
        """The broker that answered for a group last."""
        self._taken = 0
        self._names: set[str] = set()

    def take(self, exchange: LoggedExchange) -> None:
        """Take one exchange."""
        report = self._report
        at_ms = exchange.answered_ms
        if report.from_ms is None or exchange.at_ms < report.from_ms:
            report.from_ms = exchange.at_ms
        if report.until_ms is None or at_ms > report.until_ms:
            report.until_ms = at_ms
        self._taken += 1
        if self._taken % _SWEEP_EVERY == 0:
            self._sweep(report.until_ms)
        group = exchange.request_body.get("groupId")
        if not isinstance(group, str) or not is_included(group, self._only):
            return
        if not _is_whole(exchange):
            report.unreadable += 1
            return
        story = self._stories.get(group)
        if story is None:
            since_ms = None if group in self._names else exchange.at_ms
            self._names.add(group)
            story = GroupAnalysis(group, report.add, hears=True, since_ms=since_ms)
            self._stories[group] = story
        if exchange.broker != self._leaders.setdefault(group, exchange.broker):
            self._note_leader(group, story, exchange)
        for event in request_events(exchange):
            story.take(event)
            if report.lines is not None and isinstance(event, Joined):
                member = (event.instance_id or event.member_id, event.name)
                report.lines.add_members(group, event.generation or 0, event.done_ms, [member])
        if report.lines is not None and (says := request_line(exchange)):
            ends = exchange.api == "SyncGroup"
            report.lines.add(group, at_ms, exchange.place, says, ends=ends)

    def _note_leader(self, group: str, story: GroupAnalysis, exchange: LoggedExchange) -> None:
        """Note that another broker answers for a group, unless it refuses to."""
        if not any(isinstance(event, Moved) for event in request_events(exchange)):
            self._leaders[group] = exchange.broker
            story.take(Moved(exchange.at_ms, exchange.at_ms, exchange.place))

    def finish(self, until_ms: int | None = None) -> OperatorReport:
        """End the audit and return the report.

        `until_ms`: end of the log, if these exchanges are only a part of it.
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
