"""A client: what it was told, what it may ask, and what it makes of an answer.

The same clients drive the model everywhere: in exploration, by Hypothesis and in the traces made
from either.  A client remembers the member id, the generation and, if it leads, whom it has to
assign.  It sends any request that its state allows, in any order, also one that a good library
would not send.  Two clients of one instance are how zombies arise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fencepost.model.messages.draft_messages import (
    MEMBER_NAME,
    TUPLE_LIST,
    TWO_LIST,
    MemberIdentity,
    MemberNameJoinGroupRequest,
    TupleListLeaveGroupRequest,
    TwoListLeaveGroupRequest,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import Message

GROUP = "g"
TICK_MS = 3000
SESSION_MS = 2 * TICK_MS
REBALANCE_MS = 3 * TICK_MS
STRANGE_ID = "stranger"
"""A member id that was never handed out."""

_INSTANCE_SINCE = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3}
_INSTANCE_SINCE["OffsetCommit"] = 7

OFFERS = (
    (JoinProtocol(name="range", metadata=b"a"),),
    (JoinProtocol(name="range", metadata=b"b"),),
    (JoinProtocol(name="sticky", metadata=b"a"), JoinProtocol(name="range", metadata=b"a")),
)
"""What a client may offer; which of them is part of its state."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Who a client is: its instance (None: dynamic) and the version of each API that it speaks.

    `patience`: the factor by which its timeouts are longer than the usual ones.
    """

    instance: str | None
    versions: Mapping[str, int]
    patience: int = 1

    @property
    def name(self) -> str:
        """How traces call it."""
        return "dynamic" if self.instance is None else self.instance


class Client(NamedTuple):
    """What a client knows.

    `member_id`: "" before it was told one; `generation`: -1 before.  `leads`: whether it was told
    that it leads; `roster`: the ids that it has to assign, () once it has.  `assignment`: as told
    in this generation, None before. `waits`: the name (`fencepost.properties.worlds.canonical`) of
    its request that has no answer, "" if none. `offers`: index into OFFERS.
    """

    member_id: str = ""
    generation: int = -1
    leads: bool = False
    roster: tuple[str, ...] = ()
    protocol: str | None = None
    assignment: bytes | None = None
    waits: str = ""
    offers: int = 0


class Ask(NamedTuple):
    """A request about to be sent: the API, its version, what it says."""

    api: str
    version: int
    message: Message


def _instance(seat: Seat, api: str, version: int) -> str | None:
    return seat.instance if version >= _INSTANCE_SINCE[api] else None


def join(seat: Seat, client: Client, member_id: str | None = None) -> Ask:
    """JoinGroup under the id that it knows, or under another one."""
    mid = client.member_id if member_id is None else member_id
    if seat.instance is not None and MEMBER_NAME in seat.versions:
        message: Message = MemberNameJoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS * seat.patience,
            rebalance_timeout_ms=REBALANCE_MS * seat.patience,
            member_id=mid,
            member_name=seat.instance,
            protocol_type="consumer",
            protocols=OFFERS[client.offers],
        )
        return Ask(MEMBER_NAME, seat.versions[MEMBER_NAME], message)
    version = seat.versions["JoinGroup"]
    message = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=SESSION_MS * seat.patience,
        rebalance_timeout_ms=REBALANCE_MS * seat.patience,
        member_id=mid,
        group_instance_id=_instance(seat, "JoinGroup", version),
        protocol_type="consumer",
        protocols=OFFERS[client.offers],
    )
    return Ask("JoinGroup", version, message)


def sync(seat: Seat, client: Client) -> Ask:
    """SyncGroup; a leader assigns something to everybody of its roster, in its own name."""
    version = seat.versions["SyncGroup"]
    message = SyncGroupRequest(
        **_member(seat, client, "SyncGroup"),
        protocol_type="consumer" if version >= 5 else None,
        protocol_name=client.protocol if version >= 5 else None,
        assignments=tuple(
            SyncAssignment(member_id=m, assignment=seat.name.encode()) for m in client.roster
        ),
    )
    return Ask("SyncGroup", version, message)


def heartbeat(seat: Seat, client: Client) -> Ask:
    """Heartbeat."""
    message = HeartbeatRequest(**_member(seat, client, "Heartbeat"))
    return Ask("Heartbeat", seat.versions["Heartbeat"], message)


def _member(seat: Seat, client: Client, api: str) -> dict[str, Any]:
    """The fields by which a member says who it is."""
    return {
        "group_id": GROUP,
        "generation_id": client.generation,
        "member_id": client.member_id,
        "group_instance_id": _instance(seat, api, seat.versions[api]),
    }


def commit(seat: Seat, client: Client) -> Ask:
    """OffsetCommit of one offset."""
    partition = CommitPartition(partition_index=0, committed_offset=1)
    topics = (CommitTopic(name="t", partitions=(partition,)),)
    message = OffsetCommitRequest(**_member(seat, client, "OffsetCommit"), topics=topics)
    return Ask("OffsetCommit", seat.versions["OffsetCommit"], message)


def leave(seat: Seat, client: Client, *, by_instance: bool = False) -> Ask:
    """LeaveGroup: of itself, or (as an operator does) of whoever holds its instance."""
    mid = "" if by_instance else client.member_id
    version = seat.versions["LeaveGroup"]
    if TWO_LIST in seat.versions:
        lists = TwoListLeaveGroupRequest(
            group_id=GROUP,
            group_instance_id_list=(seat.instance or "",),
            member_id_list=(mid,),
        )
        return Ask(TWO_LIST, seat.versions[TWO_LIST], lists)
    if TUPLE_LIST in seat.versions:
        row = MemberIdentity(group_instance_id=seat.instance or "", member_id=mid)
        rows = TupleListLeaveGroupRequest(group_id=GROUP, member_identity_list=(row,))
        return Ask(TUPLE_LIST, seat.versions[TUPLE_LIST], rows)
    if version < _INSTANCE_SINCE["LeaveGroup"]:
        return Ask("LeaveGroup", version, LeaveGroupRequest(group_id=GROUP, member_id=mid))
    leaving = LeavingMember(member_id=mid, group_instance_id=seat.instance)
    return Ask("LeaveGroup", version, LeaveGroupRequest(group_id=GROUP, members=(leaving,)))


def told(client: Client, message: Message | None) -> Client:
    """Return what a client knows after an answer; None: it will not be answered.

    MEMBER_ID_REQUIRED gives it an id, UNKNOWN_MEMBER_ID takes it away, as in client libraries; any
    other error changes nothing: a client that was fenced goes on under its old id, as a zombie
    does.  (What a client may ask that keeps an unknown id it may ask once before it is told so.)
    """
    if getattr(message, "error_code", None) == Error.UNKNOWN_MEMBER_ID.value:
        return Client(offers=client.offers)
    match message:
        case JoinGroupResponse(error_code=Error.NONE.value):
            leads = message.leader == message.member_id
            assigns = leads and not message.skip_assignment
            return client._replace(
                member_id=message.member_id,
                generation=message.generation_id,
                leads=leads,
                roster=tuple(sorted(m.member_id for m in message.members)) if assigns else (),
                protocol=message.protocol_name,
                assignment=None,
                waits="",
            )
        case JoinGroupResponse(error_code=Error.MEMBER_ID_REQUIRED.value):
            return client._replace(member_id=message.member_id, waits="")
        case SyncGroupResponse(error_code=Error.NONE.value):
            return client._replace(assignment=message.assignment, roster=(), waits="")
        case _:
            return client._replace(waits="")
