"""Find the cause of every rebalance.

A source may state it: a coordinator writes its reason in server.log.  Else it is inferred.  A
broker parks the joins of a rebalance and answers them all at its end, so only then does a request
log show the first event: a new member, a leave, an expired session, or a member that joined again
by itself.  An event after the first REBALANCE_IN_PROGRESS is no cause.  The earliest candidate is
the cause; the others are listed beside it.  Then the module waits for the member's return, which
decides if static membership, or a longer session timeout, would have avoided the rebalance.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from fencepost.traces.operations.client_libraries import library_of
from fencepost.traces.operations.group_events import Prepared
from fencepost.traces.operations.operator_rows import (
    OF_SESSIONS,
    Cause,
    End,
    Process,
    Rebalance,
    Remedy,
)
from fencepost.traces.operations.ownership import PATIENCE_MS, LogMember, Offers, subscription
from fencepost.traces.operations.restarts import Arrival, Departure, RestartMatcher, long_enough_ms


@dataclass(frozen=True, slots=True)
class Join:
    """A join of this generation.

    `fresh`: the request had no member id, or one that was handed out just before.  `old`: the same
    member before, or the member that it replaced; `offered`: the protocols that `old` offered.
    """

    arrived_ms: int
    fresh: bool
    leads: bool
    member: LogMember
    old: LogMember | None
    offered: Offers
    offers: Offers


@dataclass(frozen=True, slots=True)
class MemberLeave:
    """A LeaveGroup that removed a member.  `itself`: its own; None where that is not known."""

    at_ms: int
    gone: Departure
    itself: bool | None

    @property
    def is_static(self) -> bool:
        """True if a static member sent it, as far as is known."""
        return self.gone.member.instance_id is not None and self.itself is not False


@dataclass(slots=True)
class RebalanceEvidence:
    """Events since the last generation began.

    `sign_ms`: time of the first REBALANCE_IN_PROGRESS; `notified`: members that got it; `moved_ms`:
    time of the first answer that the group is at another broker; `expired`: members that are gone
    without a leave; `stated`: the cause, where the source states it; `arrivals`: members that it
    names beside that.
    """

    stated: Prepared | None = None
    arrivals: list[Arrival] = field(default_factory=list)
    sign_ms: int | None = None
    notified: set[str] = field(default_factory=set)
    moved_ms: int | None = None
    departures: list[MemberLeave] = field(default_factory=list)
    expired: list[Departure] = field(default_factory=list)


@dataclass(slots=True)
class Round:
    """A generation, from its first join's answer on.

    `all_known`: all members before it were known; `was_stable`: the generation before it had its
    assignment; `is_new`: it began in the log, so there was a rebalance; `is_first`: the log may
    begin in the middle of its rebalance; `is_open`: the log ends before it begins.
    """

    generation: int
    completed_ms: int
    place: str
    evidence: RebalanceEvidence
    before: int
    all_known: bool
    was_stable: bool
    is_new: bool = True
    is_first: bool = False
    is_open: bool = False
    joins: dict[str, Join] = field(default_factory=dict)
    listed: int | None = None
    all_fresh: bool = False
    stable_ms: int | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    at_ms: int
    cause: Cause
    who: Process
    gone: Departure | None = None
    came: Arrival | None = None
    leave: MemberLeave | None = None
    is_reaction: bool = False
    """It came after the first REBALANCE_IN_PROGRESS, from a member that may have got that."""


@dataclass(frozen=True, slots=True)
class JudgedRebalance:
    """A rebalance that no later event can change.

    `who`: the process that caused it; `gone`, `came`: the departure and the arrival that its remedy
    is about; `before_ms`: time of the assignment before it, None where it is not known; `others`:
    processes that would have caused it, too, before it was over, in order.
    """

    row: Rebalance
    who: Process
    gone: Departure | None
    came: Arrival | None
    before_ms: int | None
    others: tuple[Process, ...] = ()

    @property
    def start_ms(self) -> int:
        """Time of its cause."""
        return self.row.start_ms

    @property
    def lost(self) -> Departure | None:
        """The departure that caused it."""
        return self.gone if self.row.cause in {Cause.LEAVE, Cause.EXPIRY} else None


@dataclass(frozen=True, slots=True)
class CutOffRebalance:
    """A rebalance that led to no generation, of a source that states causes.

    The group was loaded by another broker, all members went, or the source ends.  `who`, `gone`,
    `others`, `reason`: as in JudgedRebalance and its row.
    """

    start_ms: int
    cause: Cause
    who: Process
    gone: Departure | None
    others: tuple[Process, ...]
    reason: str


class Rebalances:
    """The rebalances of one group: each goes to `on_row` as soon as no later event can change it.

    Those that lead to no generation go to `on_cut_off`.  `can_be_static`: False for members that
    can't be static, such as Connect workers, or those of a library without static members.
    """

    def __init__(
        self,
        group: str,
        matcher: RestartMatcher,
        on_row: Callable[[JudgedRebalance], None],
        on_cut_off: Callable[[CutOffRebalance], object] | None = None,
    ) -> None:
        self._group = group
        self._matcher = matcher
        self._on_row = on_row
        self._on_cut_off = on_cut_off
        self.can_be_static = True
        self.began_before = False
        """True if the log begins in the middle of a rebalance, which isn't counted."""
        self._before_ms: int | None = None
        self._evidence = RebalanceEvidence()
        self._rounds: deque[Round] = deque()
        self.unnamed: deque[int] = deque(maxlen=_REMEMBERED)
        """Times in ms at which dynamic members may have joined that the source doesn't name."""
        self.names_joins = False
        """True if the source names each dynamic member that joins."""
        self._stayed: list[tuple[int, int | None]] = []
        """Completion in ms of past rebalances, and how many members stayed."""
        self._has_forgotten = False
        """True if the first of these are gone."""

    @property
    def current(self) -> Round | None:
        """The latest generation whose beginning is in the log."""
        return self._rounds[-1] if self._rounds else None

    @property
    def first_open_ms(self) -> int | None:
        """Time of completion of the first rebalance without a row; None: there is none."""
        return self._rounds[0].completed_ms if self._rounds else None

    def unfinished_ms(self) -> int | None:
        """Return the start of the rebalance that has no generation yet; None: there is none."""
        evidence = self._evidence
        signs = [leave.at_ms for leave in evidence.departures]
        signs += [gone.at_ms for gone in evidence.expired]
        signs += [] if evidence.sign_ms is None else [evidence.sign_ms]
        return min(signs, default=None)

    @property
    def open_ms(self) -> int | None:
        """Start of the rebalance that the source states, and that has no generation yet."""
        return None if self.open is None else self.open.at_ms

    def stayed_after(self, at_ms: int) -> int | None:
        """Return how many stayed members in the first rebalance since; None: unknown."""
        place = bisect_left(self._stayed, at_ms, key=itemgetter(0))
        if place < len(self._stayed):
            return None if place == 0 and self._has_forgotten else self._stayed[place][1]
        open_ = (round_ for round_ in self._rounds if round_.completed_ms >= at_ms)
        round_ = next(open_, None)
        return None if round_ is None else self._stayed_in(round_)

    def _stayed_in(self, round_: Round) -> int | None:
        if round_.is_open or round_.listed is None:
            return None
        if round_.joins:
            new = sum(join.fresh and join.old is None for join in round_.joins.values())
        elif self.names_joins or not round_.listed:
            new = len(round_.evidence.arrivals)
        else:
            return None
        return max(round_.listed - new, 0)

    def is_settled(self, member: LogMember) -> bool:
        """Return True if no join or sync of a member can be parked."""
        current = self.current
        if current is None or member.synced == current.generation:
            return True
        return current.stable_ms is not None and member.member_id not in self._evidence.notified

    @property
    def gone(self) -> int:
        """Number of members that went since the last generation began."""
        return len(self._evidence.departures) + len(self._evidence.expired)

    @property
    def generation(self) -> int | None:
        """The current generation; None: none is known."""
        before = self.current if self.open is None else self.open
        return None if before is None else before.generation

    @property
    def next_generation(self) -> int:
        """The generation after the current one; 0: none is known."""
        return 0 if self.generation is None else self.generation + 1

    @property
    def last_gone(self) -> Departure | None:
        """The last member that went since the last generation began."""
        evidence = self._evidence
        goers = [*evidence.expired, *(leave.gone for leave in evidence.departures)]
        return max(goers, key=lambda gone: gone.at_ms, default=None)

    def begin(
        self, generation: int, at_ms: int, place: str, before: int, *, known: bool, is_new: bool
    ) -> Round:
        """Begin a generation.

        `known`: True if `before` counts all members; `is_new`: see Round.
        """
        last = self.current
        stable = last is None or last.stable_ms is not None
        evidence, self._evidence = self._evidence, RebalanceEvidence()
        place = place if evidence.stated is None else evidence.stated.place
        round_ = Round(generation, at_ms, place, evidence, before, known, stable, is_new)
        round_.stable_ms = None if is_new else at_ms
        round_.is_first = last is None and self._matcher.start.at_ms is not None
        self._rounds.append(round_)
        return round_

    def empty(self, at_ms: int, place: str, before: int, *, known: bool) -> None:
        """End a rebalance in an empty group, if the log shows that one had begun."""
        if self.is_begun:
            row = (self.next_generation, at_ms, place, before)
            self.begin(*row, known=known, is_new=True).listed = 0

    def cut(self, now_ms: int, place: str, before: int, *, known: bool) -> None:
        """End the log while a rebalance is open."""
        row = (self.next_generation, now_ms, place, before)
        self.begin(*row, known=known, is_new=True).is_open = True

    @property
    def is_begun(self) -> bool:
        """True if the cause of a rebalance is known that has no generation yet."""
        return self._evidence.stated is not None or self.gone > 0

    def note_stated(self, prepared: Prepared) -> None:
        """Note the cause of a rebalance that begins, as the source states it."""
        self._cut_off()
        self._evidence.stated = prepared

    def note_arrival(self, came: Arrival) -> None:
        """Note a member that came, in a source that states causes."""
        self._evidence.arrivals.append(came)

    def forget(self) -> None:
        """Forget the events since the last generation: the group is empty, or was loaded."""
        self._cut_off()
        self._evidence = RebalanceEvidence()

    def _cut_off(self) -> None:
        """Report the open rebalance, if there is one: it leads to no generation."""
        evidence = self._evidence
        if self._on_cut_off is None or (stated := evidence.stated) is None:
            return
        first, beside = self._stated(stated, evidence)
        row = (stated.at_ms, stated.cause, first.who, first.gone, _others(first, beside))
        self._on_cut_off(CutOffRebalance(*row, stated.reason))

    @property
    def open(self) -> Prepared | None:
        """The cause of a rebalance that has no generation yet, where the source states it."""
        return self._evidence.stated

    def note_notice(self, member_id: str, came_ms: int, at_ms: int) -> None:
        """Note that a member got REBALANCE_IN_PROGRESS.

        A request from before a generation is about that one, even if its answer was late.
        """
        evidence = self._at(came_ms)
        evidence.notified.add(member_id)
        if evidence.sign_ms is None or at_ms < evidence.sign_ms:
            evidence.sign_ms = at_ms

    def note_move(self, at_ms: int) -> None:
        """Note an answer with an error that the group is at another broker."""
        evidence = self._at(at_ms)
        if evidence.moved_ms is None:
            evidence.moved_ms = at_ms

    def note_leave(self, departure: MemberLeave) -> None:
        """Note that a LeaveGroup removed a member."""
        self._at(departure.at_ms).departures.append(departure)

    def note_expiry(self, gone: Departure, at_ms: int) -> None:
        """Note that a member's session expired, as its own request shows."""
        self._at(at_ms).expired.append(gone)

    def take_back(self, gone: Departure) -> None:
        """Forget that a member expired: it had left."""
        for evidence in (self._evidence, *(round_.evidence for round_ in self._rounds)):
            if gone in evidence.expired:
                evidence.expired.remove(gone)

    def note_assignment(self, generation: int, at_ms: int) -> None:
        """Note the first assignment of a generation."""
        current = self.current
        if current is not None and current.generation == generation and current.stable_ms is None:
            current.stable_ms = at_ms

    def _at(self, at_ms: int) -> RebalanceEvidence:
        """Return the evidence of the rebalance at a time; lines of one ms may be in any order."""
        current = self.current
        early = current is not None and at_ms <= current.completed_ms
        return current.evidence if early and current is not None else self._evidence

    def purge(self, now_ms: int) -> None:
        """Emit the rebalances that no later line can change."""
        while len(self._rounds) > 1 and now_ms - self._rounds[0].completed_ms > 2 * PATIENCE_MS:
            self._judge(self._rounds.popleft(), is_last=False)

    def close(self) -> None:
        """Emit all remaining rebalances, at the end."""
        while self._rounds:
            round_ = self._rounds.popleft()
            self._judge(round_, is_last=not self._rounds)
        self._cut_off()

    def _judge(self, round_: Round, *, is_last: bool) -> None:
        if not round_.is_new:
            return
        self._stayed.append((round_.completed_ms, self._stayed_in(round_)))
        if len(self._stayed) > 2 * _MOST_STAYED:
            del self._stayed[:_MOST_STAYED]
            self._has_forgotten = True
        stated = round_.evidence.stated
        first: _Candidate | None
        if stated is not None:
            start_ms, (first, beside) = stated.at_ms, self._stated(stated, round_.evidence)
        else:
            first, beside = self._inferred(round_)
            start_ms = first.at_ms if first is not None else _sign(round_)
        if first is None and round_.is_first:
            self.began_before, self._before_ms = True, round_.stable_ms
            return
        causes = {each.cause for each in beside}
        causes.discard(Cause.UNKNOWN if first is None else first.cause)
        saved = self._remedy(first)
        gone, came = saved.pair
        expired_ms = None
        if gone is not None and came is not None and _expired(gone):
            expired_ms = max(came.at_ms - gone.at_ms, 0)
        row = Rebalance(
            self._group,
            round_.generation,
            start_ms,
            round_.completed_ms,
            round_.stable_ms,
            first.cause if first is not None else Cause.UNKNOWN,
            str(first.who) if first is not None and first.who.client_id else "",
            tuple(sorted(causes, key=lambda cause: cause.value)),
            round_.before if round_.all_known else None,
            round_.listed,
            saved.remedy,
            saved.away_ms,
            saved.session_ms,
            saved.unclear,
            round_.place,
            None if round_.stable_ms is None else round_.stable_ms - start_ms,
            "" if stated is None else stated.reason,
            "" if stated is None else stated.client_reason,
            expired_ms,
            round_.is_open or (is_last and round_.stable_ms is None and round_.listed != 0),
        )
        who = Process("", "") if first is None else first.who
        before_ms, self._before_ms = self._before_ms, round_.stable_ms
        others = _others(first, beside)
        self._on_row(JudgedRebalance(row, who, gone, came, before_ms, others))

    def _inferred(self, round_: Round) -> tuple[_Candidate | None, list[_Candidate]]:
        """Find the earliest candidate for the cause, and all candidates.

        A group that is at rest stays so in a failover: if the next event is that a member comes or
        goes, that is the cause; a member that joins again does so because of the failover.
        """
        last_ms = _sign(round_)
        candidates = sorted(self._candidates(round_), key=lambda c: (c.at_ms, c.cause.value, c.who))
        causes = [c for c in candidates if c.at_ms <= last_ms and not c.is_reaction]
        if not causes:  # lines may be written late, and then their requests seem to be late
            causes = [c for c in candidates if c.at_ms <= last_ms + _LATE_MS and not c.is_reaction]
        first = causes[0] if causes else None
        if first is not None and first.cause is Cause.FAILOVER:
            after = next((c for c in causes if c.cause is not Cause.FAILOVER), first)
            first = after if after.cause in _MEMBERS_CHANGE else first
        return first, candidates

    def _stated(
        self, stated: Prepared, evidence: RebalanceEvidence
    ) -> tuple[_Candidate, list[_Candidate]]:
        """Find the event of the cause that the source states, and all that came or went."""
        beside = [
            _Candidate(came.at_ms, Cause.NEW_MEMBER, came.process) for came in evidence.arrivals
        ]
        beside += [
            _Candidate(leave.at_ms, Cause.LEAVE, leave.gone.member.process)
            for leave in evidence.departures
        ]
        beside += [
            _Candidate(gone.at_ms, Cause.EXPIRY, gone.member.process) for gone in evidence.expired
        ]
        who = stated.process or Process("", "")
        first = _Candidate(stated.at_ms, stated.cause, who)
        match stated.cause:
            case Cause.NEW_MEMBER:
                row = (who, stated.instance_id, stated.at_ms)
                named = (c for c in evidence.arrivals if c.new_id == stated.member_id)
                came = next(named, Arrival(*row, new_id=stated.member_id))
                gone = self._matcher.departure_before(came)
                first = _Candidate(stated.at_ms, stated.cause, came.process, gone, came)
            case Cause.LEAVE if evidence.departures:
                leave = evidence.departures[0]
                gone, who = leave.gone, leave.gone.member.process
                first = _Candidate(stated.at_ms, stated.cause, who, gone, leave=leave)
            case Cause.EXPIRY if evidence.expired:
                same = (g for g in evidence.expired if g.member.member_id == stated.member_id)
                gone = next(same, evidence.expired[0])
                first = _Candidate(stated.at_ms, stated.cause, gone.member.process, gone)
            case Cause.LEAVE | Cause.EXPIRY:
                first = _Candidate(stated.at_ms, stated.cause, Process("", ""))
            case Cause.UNKNOWN:
                first = _gone_before(stated, evidence) or first
        return first, beside

    def _candidates(self, round_: Round) -> Sequence[_Candidate]:
        candidates = [
            _Candidate(
                leave.at_ms,
                Cause.LEAVE,
                leave.gone.member.process,
                gone=leave.gone,
                leave=leave,
            )
            for leave in round_.evidence.departures
        ]
        candidates += [
            _Candidate(min(gone.at_ms, _sign(round_)), Cause.EXPIRY, gone.member.process, gone)
            for gone in round_.evidence.expired
            if gone.at_ms <= _sign(round_) + _LATE_MS
        ]
        if (moved_ms := round_.evidence.moved_ms) is not None:
            candidates.append(_Candidate(moved_ms, Cause.FAILOVER, Process("", "")))
        for join in round_.joins.values():
            cause = _cause(join, round_)
            is_reaction = join.old is not None and _may_be_reaction(join, round_)
            if cause is None or (cause in _REACTIONS and is_reaction):
                continue
            member = join.member
            row = (member.process, member.instance_id, join.arrived_ms)
            came = Arrival(*row, new_id=member.member_id)
            gone = self._matcher.departure_before(came) if cause is Cause.NEW_MEMBER else None
            event = (join.arrived_ms, cause, member.process, gone, came)
            candidates.append(_Candidate(*event, is_reaction=is_reaction))
        return candidates

    def _remedy(self, first: _Candidate | None) -> _Saved:
        """Find what would have avoided a rebalance, or why that is unknown."""
        if first is None:
            return _Saved(Remedy.UNKNOWN, unclear=CAUSE_UNSEEN)
        gone, came = first.gone, first.came
        if came is None and gone is not None:
            came = self._matcher.return_of(gone)
        is_static_leave = first.leave is not None and first.leave.is_static
        remedy, away_ms = remedy_of(gone, came, is_static_leave=is_static_leave)
        had_session = gone is not None and gone.end is End.EXPIRED
        if remedy is Remedy.STATIC and had_session and self._matcher.has_lived(came):
            remedy = Remedy.LONGER_SESSION
        saved = _Saved(remedy, away_ms, pair=(gone, came))
        if gone is not None and gone.is_poll_timeout:
            return replace(saved, remedy=Remedy.LONGER_POLL)
        if gone is not None and gone.is_stale:
            return replace(saved, remedy=Remedy.UNKNOWN, unclear=STALE)
        if remedy is Remedy.NOTHING:
            unclear = self._unclear(first, came)
            return replace(saved, remedy=Remedy.UNKNOWN, unclear=unclear) if unclear else saved
        if remedy is Remedy.NO_LEAVE and first.leave is not None and first.leave.itself is None:
            return replace(saved, remedy=Remedy.UNKNOWN, unclear=SENDER_UNSEEN)
        if remedy is Remedy.STATIC and not (self.can_be_static and _has_static(gone)):
            return replace(saved, remedy=Remedy.NOTHING)
        if away_ms is None or remedy not in OF_SESSIONS:
            return saved
        session_ms = long_enough_ms(away_ms)
        if session_ms is None:
            return replace(saved, remedy=Remedy.NOTHING)
        return replace(saved, session_ms=session_ms)

    def _unclear(self, first: _Candidate, came: Arrival | None) -> str:
        """Return the reason why the remedy of a rebalance is unknown, or ""."""
        gone = first.gone
        if first.cause is Cause.UNKNOWN:
            return CAUSE_UNSEEN
        if first.cause is Cause.OTHER:
            return OTHER_REASON
        start = self._matcher.start
        if gone is not None and start.lacks(gone.at_ms, gone.at_ms + PATIENCE_MS):
            return AWAY
        if gone is None and first.cause in {Cause.LEAVE, Cause.EXPIRY}:
            return GOER_UNSEEN
        if gone is None and came is not None and self._matcher.is_after_stale(came):
            return STALE
        if self._matcher.is_unclear(gone, came):
            return SAME_NAME
        if gone is None and came is not None and first.cause is Cause.NEW_MEMBER:
            near = start.is_near(came.at_ms, PATIENCE_MS)
            return "" if not near else AWAY if start.gaps else BEFORE_LOG
        if gone is None or gone.member.instance_id is not None:
            return ""
        later = (ms for ms in self.unnamed if 0 <= ms - gone.at_ms <= PATIENCE_MS)
        return UNNAMED if any(later) else ""


def _others(first: _Candidate | None, beside: Iterable[_Candidate]) -> tuple[Process, ...]:
    """Return the processes of candidates but that of the first, in order of time, each once."""
    mine = None if first is None else first.who
    ordered = sorted((each.at_ms, each.who) for each in beside if each.who != mine)
    return tuple(dict.fromkeys(who for _, who in ordered))


def _gone_before(stated: Prepared, evidence: RebalanceEvidence) -> _Candidate | None:
    """Return the first departure before a rebalance that has no reason, as up to Kafka 2.0."""
    goers: list[tuple[Departure, Cause, MemberLeave | None]] = [
        (gone, Cause.EXPIRY, None) for gone in evidence.expired
    ]
    goers += [(leave.gone, Cause.LEAVE, leave) for leave in evidence.departures]
    before = (each for each in goers if each[0].at_ms <= stated.at_ms)
    first = min(before, key=lambda each: each[0].at_ms, default=None)
    if first is None:
        return None
    gone, cause, leave = first
    return _Candidate(stated.at_ms, cause, gone.member.process, gone, leave=leave)


def _expired(gone: Departure | None) -> bool:
    return gone is not None and gone.end in {End.EXPIRED, End.DROPPED}


def _has_static(gone: Departure | None) -> bool:
    """Return True unless the client library of a member has no static members."""
    library = None if gone is None else library_of(gone.member.process.client_id)
    return library is None or library.has_static


@dataclass(frozen=True, slots=True)
class _Saved:
    """A remedy against a rebalance, for a `pair`; `unclear`: why it is unknown, else ""."""

    remedy: Remedy
    away_ms: int | None = None
    session_ms: int | None = None
    unclear: str = ""
    pair: tuple[Departure | None, Arrival | None] = (None, None)


CAUSE_UNSEEN = "the log doesn't show its cause"
BEFORE_LOG = "the log begins less than ten minutes before, and who had left then is not in it"
AWAY = "the group was at another coordinator, whose log is not here"
STALE = "the members did not go on after their coordinator had changed, or started again"
SAME_NAME = "several processes have its client id, and server.log names no hosts"
UNNAMED = "this coordinator doesn't log a dynamic member that joins while a rebalance runs"
OTHER_REASON = "fencepost doesn't know the broker's reason; it is shown as it stands"
GOER_UNSEEN = "the log doesn't show who went"
SENDER_UNSEEN = "the log doesn't show whether the static member or an administrator sent LeaveGroup"
"""Reasons why the remedy of a rebalance may be unknown."""


def remedy_of(
    gone: Departure | None, came: Arrival | None, *, is_static_leave: bool
) -> tuple[Remedy, int | None]:
    """Return the remedy against a member's departure and return, and its absence in ms."""
    if gone is None:
        return Remedy.NOTHING, None
    if is_static_leave:
        return Remedy.NO_LEAVE, None if came is None else came.at_ms - gone.at_ms
    if came is None:
        return Remedy.NOTHING, None
    away_ms = came.at_ms - gone.heard_ms if gone.is_exact else None
    is_dynamic = gone.member.instance_id is None
    alive = came.member_id is not None
    return (Remedy.STATIC if is_dynamic and not alive else Remedy.LONGER_SESSION), away_ms


_REMEMBERED = 1000
_MOST_STAYED = 1000
_LATE_MS = 100
"""Delay with which a broker may notice an expiry that a log shows by its answers only."""
_MEMBERS_CHANGE = frozenset({Cause.NEW_MEMBER, Cause.LEAVE, Cause.EXPIRY})
_REACTIONS = frozenset({Cause.LEADER_REJOIN, Cause.MEMBER_REJOIN})
"""Joins that are no cause after REBALANCE_IN_PROGRESS, which requests them."""


def _may_be_reaction(join: Join, round_: Round) -> bool:
    """Return True if the member, or another before it, had got REBALANCE_IN_PROGRESS."""
    sign_ms = round_.evidence.sign_ms
    if join.old is not None and join.old.member_id in round_.evidence.notified:
        return True
    return sign_ms is not None and join.arrived_ms > sign_ms + _LATE_MS


def _sign(round_: Round) -> int:
    sign_ms = round_.evidence.sign_ms
    return round_.completed_ms if sign_ms is None else min(sign_ms, round_.completed_ms)


def _cause(join: Join, round_: Round) -> Cause | None:
    """Return the cause of a rebalance that a join is; None if it only takes part."""
    if join.fresh and join.old is None:
        is_certain = round_.all_known or round_.all_fresh or join.member.instance_id is None
        return Cause.NEW_MEMBER if is_certain else None
    if join.old is None:
        return None  # the log doesn't have the member's earlier joins to compare with
    if not join.offered:
        return Cause.LEADER_REJOIN if join.leads and not join.fresh else None
    if subscription(join.offers) != subscription(join.offered):
        return Cause.CHANGED_SUBSCRIPTION
    if join.offers != join.offered:
        return Cause.LEADER_REJOIN if join.leads and not join.fresh else Cause.MEMBER_REJOIN
    if join.fresh:  # a static member that was restarted: a cause only where nothing was settled
        return None if round_.was_stable else Cause.MEMBER_REJOIN
    return Cause.LEADER_REJOIN if join.leads else None
