"""Skip the oracle for calm lines of a stable group; find the first known state of a group.

In a Stable group whose state is known, a heartbeat that is answered NONE only restarts the member's
session timer.  It must have the group's generation and the member's own instance id.  So only the
last heartbeat of each member is kept, and applied when the oracle next needs the state.  A
description changes nothing, if it is just the model's answer in every explanation.

A group's state becomes known by a rebalance that completes inside the log.  The leader's answer
lists the members.  Each member's own join has its protocols and its timeouts.  From these the state
just before the completion is built, with every member's join waiting; the oracle then completes the
rebalance and checks all answers.  Some values stay unknown, and are marked so: the timeouts of a
static member that was absent, and of a member whose answer was lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fencepost.model.classic.group import JOIN, SESSION, Group, Member, ParkedRequest
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.machine import Machine
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    JoinProtocol,
    LeaveGroupRequest,
)
from fencepost.model.table.table import Level
from fencepost.model.work import Incoming, Span, Timer
from fencepost.properties.oracle.answer_match import matches
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.matcher import Match
from fencepost.properties.oracle.oracle_search import FOREVER
from fencepost.traces.audit.audit_settings import AuditSettings, commit_error
from fencepost.traces.audit.ordered_search import CLOCK_MS
from fencepost.traces.logs.request_log import LoggedExchange

UNKNOWN_MS = 10**10
"""A timeout that the log doesn't tell."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A known state of a group, from which judging can begin.

    `start`: the state just before the completion; `parked`: the joins that wait in it; `rest`: the
    exchanges from then on; `vague`: members whose timeouts are not known.
    """

    start: Candidate
    parked: tuple[LoggedExchange, ...]
    rest: tuple[LoggedExchange, ...]
    vague: frozenset[str]


@dataclass(frozen=True, slots=True)
class Joined:
    """A join that was answered NONE."""

    exchange: LoggedExchange
    request: JoinGroupRequest
    response: JoinGroupResponse


def joins(exchanges: Sequence[LoggedExchange], generation_id: int) -> list[Joined]:
    """Return the joins whose answers have this generation."""
    joined = []
    for exchange in exchanges:
        match exchange.request, exchange.answer:
            case JoinGroupRequest() as request, JoinGroupResponse() as response if (
                response.error_code == 0 and response.generation_id == generation_id
            ):
                joined.append(Joined(exchange, request, response))
    return joined


def completed_at(joined: Sequence[Joined]) -> Joined | None:
    """Return the leader's answer at the completion, the first that lists members."""
    lists = [j for j in joined if j.response.members and not j.response.skip_assignment]
    return min(lists, key=lambda j: j.exchange.answered_ms, default=None)


def find_anchor(
    group_id: str, exchanges: Sequence[LoggedExchange], generation_id: int, settings: AuditSettings
) -> Anchor | None:
    """Return the completion of this generation, if the exchanges show it."""
    answered = joins(exchanges, generation_id)
    leader = completed_at(answered)
    if leader is None:
        return None
    at_ms = leader.exchange.answered_ms
    early_ms = at_ms - settings.lag_ms
    by_id = {
        j.response.member_id: j
        for j in answered
        if early_ms <= j.exchange.answered_ms <= at_ms + settings.lag_ms
        and j.exchange.at_ms <= at_ms
        and (j is leader or not j.response.members)
    }
    members = []
    vague = set()
    for row in leader.response.members:
        joined = by_id.get(row.member_id)
        if joined is None:
            vague.add(row.member_id)
        members.append(_member(row, joined, leader))
    listed = {m.member_id for m in members}
    parked = tuple(j.exchange for m, j in sorted(by_id.items()) if m in listed)
    members.sort(key=lambda m: m.member_id)
    group = Group(
        state=GroupState.PREPARING,
        generation_id=generation_id - 1,
        protocol_type=leader.request.protocol_type,
        leader=leader.response.leader,
        members=tuple(members),
        static=tuple(
            sorted(
                (m.group_instance_id, m.member_id)
                for m in members
                if m.group_instance_id is not None
            )
        ),
    ).with_timer(JOIN, "", early_ms, at_ms)
    group = _with_pending(group, exchanges, listed, at_ms)
    places = {e.place for e in parked}
    rest = tuple(
        e
        for e in exchanges
        if e.place in places
        or e.answered_ms > at_ms
        or (e.answered_ms == at_ms and _speaks_of(e, generation_id))
    )
    start = Candidate(
        groups=((group_id, group),), now=early_ms, generations=((group_id, generation_id - 1),)
    )
    return Anchor(start, parked, rest, frozenset(vague))


def _speaks_of(exchange: LoggedExchange, generation_id: int) -> bool:
    """Return True if the sender knew the generation, so that the request followed the completion.

    A quick member's sync is answered in the same millisecond as its leader's join.
    """
    known = getattr(exchange.request, "generation_id", None)
    return known == generation_id


def _member(row: JoinMember, joined: Joined | None, leader: Joined) -> Member:
    if joined is None:
        name = leader.response.protocol_name or ""
        return Member(
            member_id=row.member_id,
            group_instance_id=row.group_instance_id,
            client_id="",
            session_timeout_ms=UNKNOWN_MS,
            rebalance_timeout_ms=leader.request.rebalance_timeout_ms,
            protocols=(JoinProtocol(name=name, metadata=row.metadata),),
            joining=None if row.group_instance_id is not None else ParkedRequest(row.member_id, 0),
            new=False,
        )
    request, exchange = joined.request, joined.exchange
    session_ms = request.session_timeout_ms
    return Member(
        member_id=row.member_id,
        group_instance_id=request.group_instance_id,
        client_id=exchange.client_id,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms if exchange.version else session_ms,
        protocols=request.protocols,
        joining=ParkedRequest(exchange.place, exchange.version),
        new=False,
    )


def _sender_ids(exchange: LoggedExchange) -> set[str]:
    """Return the member ids that a request speaks for."""
    request = exchange.request
    if isinstance(request, LeaveGroupRequest):
        return {row.member_id for row in request.rows(exchange.version)}
    return {exchange.request_body["memberId"]}


def _with_pending(
    group: Group, exchanges: Sequence[LoggedExchange], listed: set[str], at_ms: int
) -> Group:
    """Add the ids that were given out and have not joined or left yet."""
    pending = set()
    used = {
        member_id
        for e in exchanges
        if e.answered_ms <= at_ms and e.api in {"JoinGroup", "LeaveGroup"}
        for member_id in _sender_ids(e)
    }
    for exchange in exchanges:
        if exchange.api != "JoinGroup" or exchange.answered_ms > at_ms:
            continue
        match exchange.request, exchange.answer:
            case JoinGroupRequest(session_timeout_ms=session_ms), JoinGroupResponse(
                error_code=Error.MEMBER_ID_REQUIRED.value, member_id=new_id
            ) if new_id not in listed | used and exchange.answered_ms + session_ms > at_ms:
                pending.add(new_id)
                earliest, latest = exchange.at_ms, exchange.answered_ms
                group = group.with_timer(
                    SESSION, new_id, earliest + session_ms, latest + session_ms
                )
    return replace(group, pending=tuple(sorted(pending)))


@dataclass(slots=True)
class StableMember:
    """A member of a stable group: instance, session timeout, last heartbeat (ms; from, to)."""

    instance: str | None
    session_ms: int
    earliest: int
    latest: int
    moved: bool = False


class StableGroup:
    """A stable group: `seats`: its members by id; `taken`: how many lines were skipped."""

    __slots__ = ("_beat_ms", "_due_ms", "generation_id", "group_id", "seats", "taken")

    def __init__(self, group_id: str, generation_id: int, seats: dict[str, StableMember]) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.seats = seats
        self.taken = 0
        self._beat_ms = 0
        self._due_ms = self._next_due_ms()

    def takes(self, exchange: LoggedExchange) -> bool:
        """Take the line if it changes nothing but a session timer; return True if so."""
        body = exchange.request_body
        if exchange.api == "Heartbeat":
            if exchange.answer_body.get("errorCode") != 0:
                return False
            generation_id = body.get("generationId")
            beats = True
        elif exchange.api == "OffsetCommit":
            if commit_error(exchange) != 0:
                return False
            generation_id = body.get("generationIdOrMemberEpoch", body.get("generationId"))
            beats = False
        else:
            return False
        if generation_id != self.generation_id:
            return False
        seat = self.seats.get(body.get("memberId", ""))
        if seat is None:
            return False
        instance = body.get("groupInstanceId")
        if instance is not None and instance != seat.instance:
            return False
        answered_ms = exchange.answered_ms
        if answered_ms > self._due_ms:
            self._due_ms = self._next_due_ms()
            if answered_ms > self._due_ms:
                return False  # somebody's session may have ended: let the oracle say
        arrived_ms = exchange.at_ms
        if arrived_ms > seat.earliest:  # noqa: PLR1730 - a call of max is dearer, per line
            seat.earliest = arrived_ms
        if answered_ms > seat.latest:  # noqa: PLR1730
            seat.latest = answered_ms
        if beats:  # a commit is accepted during a rebalance, too, so it shows no rest
            self._beat_ms = arrived_ms
        seat.moved = True
        self.taken += 1
        return True

    def describes(
        self, exchange: LoggedExchange, machine: Machine, groups: Sequence[Group]
    ) -> bool:
        """Take a line that describes the group, as it is in each explanation; return True if so."""
        if exchange.api != "DescribeGroups" or exchange.answered_ms > self._due_ms:
            return False
        row = (exchange.place, exchange.client_id, exchange.api, exchange.version)
        incoming = Incoming(*row, exchange.request, exchange.place)
        span = Span(exchange.at_ms, exchange.answered_ms)
        for group in groups:
            for outcome in machine.handle(group, incoming, span, group_id=self.group_id):
                answers = [emission.message for emission in outcome.emissions]
                if outcome.group is not group or len(answers) != 1 or answers[0] is None:
                    return False
                expected = answers[0].as_carried(exchange.version)
                if matches(expected, exchange.answer, Level.MUST, frozenset()) != [Match()]:
                    return False
        self._beat_ms = max(self._beat_ms, exchange.at_ms - CLOCK_MS)
        return True

    def _next_due_ms(self) -> int:
        """Return the first time at which somebody's session may end."""
        return min((s.earliest + s.session_ms for s in self.seats.values()), default=FOREVER)

    def prolonged(self, candidate: Candidate) -> Candidate:
        """Return a candidate of before with sessions that may last until those of this rest."""
        group = candidate.group(self.group_id)
        if group is None:
            return candidate
        lasts = {i: seat.latest + seat.session_ms for i, seat in self.seats.items() if seat.moved}
        timers = tuple(
            t._replace(latest=max(t.latest, lasts.get(t.subject, 0))) if t.kind == SESSION else t
            for t in group.timers
        )
        changed = candidate.with_group(self.group_id, replace(group, timers=timers))
        return replace(candidate, groups=changed)

    def applied(self, candidate: Candidate) -> Candidate:
        """Return the candidate with the session timers that the lines taken have set."""
        group = candidate.group(self.group_id)
        if group is None:
            return candidate
        for member_id, seat in self.seats.items():
            if seat.moved and group.member(member_id) is not None:
                group = group.with_timer(
                    SESSION,
                    member_id,
                    seat.earliest + seat.session_ms,
                    seat.latest + seat.session_ms,
                )
        return replace(
            candidate,
            groups=candidate.with_group(self.group_id, group),
            now=max(candidate.now, self._beat_ms),
        )


def loosened(candidate: Candidate, late_ms: int) -> Candidate:
    """Return the candidate as it may have been if the lines before were dated late."""
    if not late_ms:
        return candidate
    groups = tuple(
        (name, replace(group, timers=tuple(_earlier(t, late_ms) for t in group.timers)))
        for name, group in candidate.groups
    )
    return replace(candidate, groups=groups, now=candidate.now - late_ms)


def _earlier(timer: Timer, by_ms: int) -> Timer:
    return timer._replace(earliest=timer.earliest - by_ms)


def settled(group_id: str, candidates: Sequence[Candidate]) -> StableGroup | None:
    """Return the group if all explanations agree that it is stable, and on its members."""
    seats: dict[str, StableMember] | None = None
    generation_id = -1
    for candidate in candidates:
        group = candidate.group(group_id)
        if (
            group is None
            or group.state is not GroupState.STABLE
            or candidate.unapplied
            or candidate.emitted
        ):
            return None
        mine: dict[str, StableMember] = {}
        timers = {t.subject: t for t in group.timers if t.kind == SESSION}
        for member in group.members:
            timer = timers.get(member.member_id)
            if timer is None:
                return None
            s = member.session_timeout_ms
            mine[member.member_id] = StableMember(
                member.group_instance_id, s, timer.earliest - s, timer.latest - s
            )
        if seats is None:
            seats, generation_id = mine, group.generation_id
            continue
        if generation_id != group.generation_id or seats.keys() != mine.keys():
            return None
        for member_id, seat in mine.items():
            other = seats[member_id]
            if (other.instance, other.session_ms) != (seat.instance, seat.session_ms):
                return None
            other.earliest = min(other.earliest, seat.earliest)
            other.latest = max(other.latest, seat.latest)
    return None if seats is None else StableGroup(group_id, generation_id, seats)


def is_vague(candidates: list[Candidate], group_id: str) -> bool:
    """Return True if some member is known from a list alone, and not by its own join."""
    return any(
        member.session_timeout_ms >= UNKNOWN_MS or not member.client_id
        for candidate in candidates
        if (group := candidate.group(group_id)) is not None
        for member in group.members
    )
