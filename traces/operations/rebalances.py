"""Find the cause of every rebalance.

A broker parks the joins of a rebalance and answers them all at its end, so only then does the log
show what came first: a new member, a leave, an expired session, or a member that joined again by
itself.  What comes after a member was told REBALANCE_IN_PROGRESS is no cause.  The earliest
candidate is the cause; the others are listed beside it.  Then the module waits to see whether the
member came back, because that decides whether static membership, or a longer session timeout, would
have avoided the rebalance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from fencepost.traces.operations.operator_rows import Cause, Process, Rebalance, Remedy, Row
from fencepost.traces.operations.ownership import PATIENCE_MS, LogMember, Offers, subscription
from fencepost.traces.operations.restarts import Arrival, Departed, RestartMatcher, long_enough_ms


@dataclass(frozen=True, slots=True)
class Join:
    """A join of this generation.

    `fresh`: it asked without a member id, or with one that it had just been given.  `old`: who it
    was before, or whom it replaced; `offered`: what that one had offered.
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
    """A LeaveGroup that removed a member."""

    at_ms: int
    gone: Departed
    is_static: bool


@dataclass(slots=True)
class RebalanceEvidence:
    """What was seen since the last generation began.

    `sign_ms`: when somebody was first told that a rebalance runs; `told`: who was; `moved_ms`: when
    it was said that the group is at another broker; `lost`: who is no member any more, without
    having left.
    """

    sign_ms: int | None = None
    told: set[str] = field(default_factory=set)
    moved_ms: int | None = None
    departures: list[MemberLeave] = field(default_factory=list)
    lost: list[Departed] = field(default_factory=list)


@dataclass(slots=True)
class Round:
    """A generation, from its first join's answer on.

    `all_known`: whether all members before it were; `was_stable`: whether the generation before it
    had its assignment; `is_new`: it began in the log, so there was a rebalance.
    """

    generation: int
    completed_ms: int
    place: str
    evidence: RebalanceEvidence
    before: int
    all_known: bool
    was_stable: bool
    is_new: bool = True
    joins: dict[str, Join] = field(default_factory=dict)
    listed: int | None = None
    all_fresh: bool = False
    stable_ms: int | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    at_ms: int
    cause: Cause
    who: Process
    gone: Departed | None = None
    came: Arrival | None = None
    static_leave: bool = False
    was_told: bool = False
    """It came after somebody had been told of the rebalance, by one who may have been that."""


class Rebalances:
    """The rebalances of one group.  Rows go to `emit` when all that matters to them is known.

    `judged`: called then, too, with when it completed, and who went and thereby caused it.
    """

    def __init__(
        self,
        group: str,
        comings: RestartMatcher,
        emit: Callable[[Row], None],
        judged: Callable[[int, tuple[int, str] | None], None],
    ) -> None:
        self._group = group
        self._comings = comings
        self._emit = emit
        self._judged = judged
        self._evidence = RebalanceEvidence()
        self._rounds: deque[Round] = deque()

    @property
    def current(self) -> Round | None:
        """The latest generation that the log has shown the beginning of."""
        return self._rounds[-1] if self._rounds else None

    @property
    def unjudged_ms(self) -> int | None:
        """When the first rebalance completed whose row is still to come."""
        return self._rounds[0].completed_ms if self._rounds else None

    def unfinished_ms(self, expired_ms: Iterable[int]) -> int | None:
        """When the rebalance began that has no generation yet; None: there is none.

        `expired_ms`: when sessions ended of which nothing else tells.
        """
        evidence = self._evidence
        signs = [*expired_ms, *(leave.at_ms for leave in evidence.departures)]
        signs += [gone.at_ms for gone in evidence.lost]
        signs += [] if evidence.sign_ms is None else [evidence.sign_ms]
        return min(signs, default=None)

    def is_settled(self, member: LogMember) -> bool:
        """Return whether no join or sync of a member can wait."""
        current = self.current
        if current is None or member.synced == current.generation:
            return True
        return current.stable_ms is not None and member.member_id not in self._evidence.told

    @property
    def gone(self) -> int:
        """How many went since the last generation began."""
        return len(self._evidence.departures) + len(self._evidence.lost)

    def begin(
        self, generation: int, at_ms: int, place: str, before: int, *, known: bool, is_new: bool
    ) -> Round:
        """Begin a generation.

        `known`: whether `before` counts all members that there were; `is_new`: see Round.
        """
        last = self.current
        stable = last is None or last.stable_ms is not None
        evidence, self._evidence = self._evidence, RebalanceEvidence()
        round_ = Round(generation, at_ms, place, evidence, before, known, stable, is_new)
        round_.stable_ms = None if is_new else at_ms
        self._rounds.append(round_)
        return self._rounds[-1]

    def told(self, member_id: str, at_ms: int) -> None:
        """Note that a member was told that a rebalance is in progress."""
        evidence = self._at(at_ms)
        evidence.told.add(member_id)
        if evidence.sign_ms is None or at_ms < evidence.sign_ms:
            evidence.sign_ms = at_ms

    def moved(self, at_ms: int) -> None:
        """Note an answer that says that the group is at another broker."""
        evidence = self._at(at_ms)
        if evidence.moved_ms is None:
            evidence.moved_ms = at_ms

    def departed(self, departure: MemberLeave) -> None:
        """Note that a LeaveGroup removed a member."""
        self._at(departure.at_ms).departures.append(departure)

    def lost(self, gone: Departed, at_ms: int) -> None:
        """Note that a member's session expired, as its own request shows."""
        self._at(at_ms).lost.append(gone)

    def synced(self, generation: int, at_ms: int) -> None:
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
            self._judge(self._rounds.popleft())

    def close(self) -> None:
        """Emit all that is left, at the end."""
        while self._rounds:
            self._judge(self._rounds.popleft())

    def _judge(self, round_: Round) -> None:
        if not round_.is_new:
            return
        last_ms = _sign(round_)
        everything = sorted(self._candidates(round_), key=lambda c: (c.at_ms, c.cause.value, c.who))
        first = next((c for c in everything if c.at_ms <= last_ms and not c.was_told), None)
        others = {c.cause for c in everything}
        if first is not None:
            others.discard(first.cause)
        remedy, away_ms = self._remedy(first)
        unclear = self._unclear(first) if remedy in {Remedy.NOTHING, Remedy.UNKNOWN} else ""
        remedy = Remedy.UNKNOWN if unclear else remedy
        helps = remedy in {Remedy.STATIC, Remedy.LONGER_SESSION} and away_ms is not None
        session_ms = long_enough_ms(away_ms) if helps and away_ms is not None else None
        if helps and session_ms is None:
            remedy = Remedy.NOTHING
        gone = None if first is None or first.came is not None else first.gone
        self._judged(round_.completed_ms, None if gone is None else (gone.at_ms, gone.who))
        start_ms = first.at_ms if first is not None else last_ms
        self._emit(
            Rebalance(
                self._group,
                round_.generation,
                start_ms,
                round_.completed_ms,
                round_.stable_ms,
                first.cause if first is not None else Cause.UNKNOWN,
                str(first.who) if first is not None and first.who.client_id else "",
                tuple(sorted(others, key=lambda cause: cause.value)),
                round_.before if round_.all_known else None,
                round_.listed,
                remedy,
                away_ms,
                session_ms,
                unclear,
                round_.place,
                None if round_.stable_ms is None else round_.stable_ms - start_ms,
            )
        )

    def _candidates(self, round_: Round) -> Sequence[_Candidate]:
        found = [
            _Candidate(
                leave.at_ms,
                Cause.LEAVE,
                leave.gone.member.process,
                gone=leave.gone,
                static_leave=leave.is_static,
            )
            for leave in round_.evidence.departures
        ]
        found += [
            _Candidate(min(gone.at_ms, _sign(round_)), Cause.EXPIRY, gone.member.process, gone)
            for gone in round_.evidence.lost
            if gone.at_ms <= _sign(round_) + _LATE_MS
        ]
        if (moved_ms := round_.evidence.moved_ms) is not None:
            found.append(_Candidate(moved_ms, Cause.FAILOVER, Process("", "")))
        for join in round_.joins.values():
            cause = _cause(join, round_)
            told = join.old is not None and _was_told(join, round_)
            if cause is None or (cause in _AS_TOLD and told):
                continue
            member = join.member
            came = Arrival(member.process, member.instance_id, join.arrived_ms)
            gone = self._comings.before(came) if cause is Cause.NEW_MEMBER else None
            row = (join.arrived_ms, cause, member.process, gone, came)
            found.append(_Candidate(*row, was_told=told))
        return found

    def _remedy(self, first: _Candidate | None) -> tuple[Remedy, int | None]:
        if first is None:
            return Remedy.UNKNOWN, None
        came = first.came
        if came is None and first.gone is not None:
            came = self._comings.back(first.gone)
        return remedy_of(first.gone, came, is_static_leave=first.static_leave)

    def _unclear(self, first: _Candidate | None) -> str:
        """Return why nothing can be said of what would have avoided a rebalance, or ""."""
        if first is None:
            return CAUSE_UNSEEN
        came = first.came if first.gone is None and first.cause is Cause.NEW_MEMBER else None
        before = came is not None and self._comings.start.is_near(came.at_ms, PATIENCE_MS)
        return BEFORE_LOG if before else ""


CAUSE_UNSEEN = "the log doesn't show its cause"
BEFORE_LOG = "the log begins less than ten minutes before, and who had left then is not in it"
"""Why it may be unknown what would have avoided a rebalance."""


def remedy_of(
    gone: Departed | None, came: Arrival | None, *, is_static_leave: bool
) -> tuple[Remedy, int | None]:
    """Return what would have avoided that a member went and came, and how long it was away (ms)."""
    if gone is None:
        return Remedy.NOTHING, None
    if is_static_leave:
        return Remedy.NO_LEAVE, None if came is None else came.at_ms - gone.at_ms
    if came is None:
        return Remedy.NOTHING, None
    away_ms = came.at_ms - min(gone.member.heard_ms, gone.at_ms)
    is_dynamic = gone.member.instance_id is None
    alive = came.member_id is not None
    return (Remedy.STATIC if is_dynamic and not alive else Remedy.LONGER_SESSION), away_ms


_LATE_MS = 100
"""How late a broker may be to notice an expiry that a log shows by its answers only."""
_AS_TOLD = frozenset({Cause.LEADER_REJOIN, Cause.MEMBER_REJOIN})
"""A member that joins again during a rebalance does so because it was told to."""


def _was_told(join: Join, round_: Round) -> bool:
    """Return whether the member, or one before it, had been told of the rebalance."""
    sign_ms = round_.evidence.sign_ms
    if join.old is not None and join.old.member_id in round_.evidence.told:
        return True
    return sign_ms is not None and join.arrived_ms > sign_ms


def _sign(round_: Round) -> int:
    sign_ms = round_.evidence.sign_ms
    return round_.completed_ms if sign_ms is None else min(sign_ms, round_.completed_ms)


def _cause(join: Join, round_: Round) -> Cause | None:
    """Return the cause that a join would be; None if it only takes part."""
    if join.fresh and join.old is None:
        is_certain = round_.all_known or round_.all_fresh or join.member.instance_id is None
        return Cause.NEW_MEMBER if is_certain else None
    if join.old is None:
        return None  # a member that this log had not shown: what it did before is unknown
    if not join.offered:
        return Cause.LEADER_REJOIN if join.leads and not join.fresh else None
    if subscription(join.offers) != subscription(join.offered):
        return Cause.CHANGED_SUBSCRIPTION
    if join.offers != join.offered:
        return Cause.MEMBER_REJOIN
    if join.fresh:  # a static member that was restarted: a cause only where nothing was settled
        return None if round_.was_stable else Cause.MEMBER_REJOIN
    return Cause.LEADER_REJOIN if join.leads else None
