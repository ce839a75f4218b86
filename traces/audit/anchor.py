"""Find where a group's state becomes known: a rebalance that completes inside the log.

The leader's answer lists the members.  Each member's own join says which protocols it offers and
its timeouts.  From these the state just before the completion is built, with every member's join
waiting; the oracle then completes the rebalance and checks all answers.

Some values stay unknown, and are marked so: the timeouts of a static member that was absent, and of
a member whose answer was lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fencepost.model.classic.group import JOIN, SESSION, Group, Member, ParkedRequest
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    JoinProtocol,
    LeaveGroupRequest,
)
from fencepost.model.table.vocabulary import GroupState
from fencepost.properties.oracle.candidate import Candidate
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.logs.logged_exchange import LoggedExchange

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
    """Return the joins that were given this generation."""
    found = []
    for exchange in exchanges:
        match exchange.request, exchange.response:
            case JoinGroupRequest() as request, JoinGroupResponse() as response if (
                response.error_code == 0 and response.generation_id == generation_id
            ):
                found.append(Joined(exchange, request, response))
    return found


def completed_at(found: Sequence[Joined]) -> Joined | None:
    """Return the leader's answer at the completion, the first that lists members."""
    lists = [j for j in found if j.response.members and not j.response.skip_assignment]
    return min(lists, key=lambda j: j.exchange.answered_ms, default=None)


def find_anchor(
    group_id: str, exchanges: Sequence[LoggedExchange], generation_id: int, settings: AuditSettings
) -> Anchor | None:
    """Return the completion of this generation, if the exchanges show it."""
    found = joins(exchanges, generation_id)
    leader = completed_at(found)
    if leader is None:
        return None
    at_ms = leader.exchange.answered_ms
    early_ms = at_ms - settings.lag_ms
    by_id = {
        j.response.member_id: j
        for j in found
        if early_ms <= j.exchange.answered_ms <= at_ms + settings.lag_ms
        and j.exchange.arrived_ms <= at_ms
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
        groups=((group_id, group),), now=early_ms, told=((group_id, generation_id - 1),)
    )
    return Anchor(start, parked, rest, frozenset(vague))


def _speaks_of(exchange: LoggedExchange, generation_id: int) -> bool:
    """Return whether the sender knew the generation, so that it asked after the completion.

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


def _asked_as(exchange: LoggedExchange) -> set[str]:
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
        for member_id in _asked_as(e)
    }
    for exchange in exchanges:
        if exchange.api != "JoinGroup" or exchange.answered_ms > at_ms:
            continue
        match exchange.request, exchange.response:
            case JoinGroupRequest(session_timeout_ms=session_ms), JoinGroupResponse(
                error_code=Error.MEMBER_ID_REQUIRED.value, member_id=told
            ) if told not in listed | used and exchange.answered_ms + session_ms > at_ms:
                pending.add(told)
                earliest, latest = exchange.arrived_ms, exchange.answered_ms
                group = group.with_timer(SESSION, told, earliest + session_ms, latest + session_ms)
    return replace(group, pending=tuple(sorted(pending)))
