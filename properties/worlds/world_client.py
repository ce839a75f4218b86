"""Model a client of a world: its knowledge, its possible requests, its use of answers.

The same clients drive the model everywhere: in exploration, by Hypothesis and in the traces made
from either.  A client remembers the member id, the generation and, if it leads, the members to
assign.  It sends any request that its state allows, in any order, also one that a good library
would not send.  Two clients of one instance are how zombies arise.

Odd acts are those of operators and of badly configured or written clients; few scopes need them.
Operators ask about the group without being in it.  The others send what no good library sends: an
instance that isn't the sender's, a protocol that wasn't selected, assignments that aren't the
sender's to make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec.structs import replace

from fencepost.model.coordinator import CONFIG_DEFAULTS
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
    BY_ID_SINCE,
    CommitPartition,
    CommitTopic,
    DeletablePartition,
    DeletableTopic,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FetchTopic,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnCommitPartition,
    TxnCommitTopic,
    TxnOffsetCommitRequest,
)
from fencepost.model.messages.shapes import Message
from fencepost.properties.worlds.protocol_worlds import GROUP, REBALANCE_MS, SESSION_MS, Ask, Seat

STRANGE = "strange"
"""The id of a join under an id that was never handed out."""
STRANGE_ID = "stranger"
"""A member id that was never handed out."""
_INSTANCE_SINCE = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3}
_INSTANCE_SINCE |= {"OffsetCommit": 7, "TxnOffsetCommit": 3}

OFFERS = (
    (JoinProtocol(name="range", metadata=b"a"),),
    (JoinProtocol(name="range", metadata=b"b"),),
    (JoinProtocol(name="sticky", metadata=b"a"), JoinProtocol(name="range", metadata=b"a")),
)
"""Subscriptions that a client may offer; the choice is part of its state."""


class Client(NamedTuple):
    """The knowledge of a client.

    `member_id`: "" before an answer has one.  `generation`: -1 before an answer has one.  `leads`:
    True if an answer made it the leader.  `roster`: the member ids that a leader must assign; ()
    after its SyncGroup.  `instances`: their instance ids, "" for a dynamic member.  `protocol`: the
    selected protocol.  `assignment`: the answer in this generation, None before it.  `waits`: the
    name (`fencepost.properties.worlds.canonical`) of its parked request, "" if there is none.
    `offers`: index into OFFERS.
    """

    member_id: str = ""
    generation: int = -1
    leads: bool = False
    roster: tuple[str, ...] = ()
    protocol: str | None = None
    assignment: bytes | None = None
    waits: str = ""
    offers: int = 0
    instances: tuple[str, ...] = ()


def _instance(seat: Seat, api: str, version: int) -> str | None:
    return seat.instance if version >= _INSTANCE_SINCE[api] else None


def join(seat: Seat, client: Client, member_id: str | None = None) -> Ask:
    """Make a JoinGroup under the id that it knows, or under another one."""
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
    """Make a SyncGroup; a leader assigns something else to each of its roster, in its own name."""
    version = seat.versions["SyncGroup"]
    message = SyncGroupRequest(
        **_member(seat, client, "SyncGroup"),
        protocol_type="consumer" if version >= 5 else None,
        protocol_name=client.protocol if version >= 5 else None,
        assignments=tuple(
            SyncAssignment(member_id=m, assignment=_share(seat, client, m, instance))
            for m, instance in zip(client.roster, client.instances, strict=True)
        ),
    )
    return Ask("SyncGroup", version, message)


def _share(seat: Seat, client: Client, member_id: str, instance: str) -> bytes:
    """Return the assignment of a member: the leader's name, and for whom unless it is its own.

    No member id is in it: ids are renamed in worlds, and an instance that restarts keeps its share.
    """
    own = member_id == client.member_id
    return (seat.name if own else f"{seat.name} for {instance or 'dynamic'}").encode()


def heartbeat(seat: Seat, client: Client) -> Ask:
    """Make a Heartbeat."""
    message = HeartbeatRequest(**_member(seat, client, "Heartbeat"))
    return Ask("Heartbeat", seat.versions["Heartbeat"], message)


def _member(seat: Seat, client: Client, api: str) -> dict[str, Any]:
    """Return the fields by which a member identifies itself."""
    return {
        "group_id": GROUP,
        "generation_id": client.generation,
        "member_id": client.member_id,
        "group_instance_id": _instance(seat, api, seat.versions[api]),
    }


def commit(seat: Seat, client: Client) -> Ask:
    """Make an OffsetCommit of one offset."""
    partition = CommitPartition(partition_index=0, committed_offset=1)
    topics = (CommitTopic(name="t", partitions=(partition,)),)
    message = OffsetCommitRequest(**_member(seat, client, "OffsetCommit"), topics=topics)
    return Ask("OffsetCommit", min(seat.versions["OffsetCommit"], BY_ID_SINCE - 1), message)


def leave(seat: Seat, client: Client, *, by_instance: bool = False) -> Ask:
    """Make a LeaveGroup: of itself, or (as an operator does) of the holder of its instance."""
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


def after_request(client: Client, answer: Message | None, waits: str) -> Client:
    """Return the client whose request was handled: it waits by this name, or was answered."""
    return client._replace(waits=waits) if waits else after_answer(client, answer)


def after_answer(client: Client, message: Message | None) -> Client:
    """Return a client after an answer; None: it will not be answered.

    MEMBER_ID_REQUIRED gives it an id, UNKNOWN_MEMBER_ID takes it away, as in client libraries; any
    other error changes nothing: a client that was fenced goes on under its old id, as a zombie
    does.  (A request that keeps an unknown id can be sent once before that error.)
    """
    if getattr(message, "error_code", None) == Error.UNKNOWN_MEMBER_ID.value:
        return Client(offers=client.offers)
    match message:
        case JoinGroupResponse(error_code=Error.NONE.value):
            leads = message.leader == message.member_id
            assigns = leads and not message.skip_assignment
            rows = [(m.member_id, m.group_instance_id or "") for m in message.members]
            roster = sorted(rows) if assigns else ()
            return client._replace(
                member_id=message.member_id,
                generation=message.generation_id,
                leads=leads,
                roster=tuple(member_id for member_id, _ in roster),
                protocol=message.protocol_name,
                assignment=None,
                waits="",
                instances=tuple(instance for _, instance in roster),
            )
        case JoinGroupResponse(error_code=Error.MEMBER_ID_REQUIRED.value):
            return client._replace(member_id=message.member_id, waits="")
        case SyncGroupResponse(error_code=Error.NONE.value):
            own = message.assignment
            return client._replace(assignment=own, roster=(), instances=(), waits="")
        case _:
            return client._replace(waits="")


NOBODYS_INSTANCE = "Z"
"""An instance that no client has."""

_ABOVE_ANY_MAXIMUM = 2 * (CONFIG_DEFAULTS["group.max.session.timeout.ms"] or 0)
_FETCH_VERSION = 7
"""The last version with one group at its top level."""


@dataclass(frozen=True, slots=True)
class OddAct:
    """An odd act: its description, its request, and the clients that can do it.

    `member`: only a client with a generation; else any.  `joins`: it is a join.  `since`: the
    API and the lowest version that can express its request.
    """

    about: str
    ask: Callable[[Seat, Client], Ask]
    member: bool = True
    joins: bool = False
    since: tuple[str, int] | None = None

    def can(self, seat: Seat, client: Client) -> bool:
        """Return True if a client that waits for nothing can do it."""
        if self.since is not None and seat.versions.get(self.since[0], -1) < self.since[1]:
            return False
        return not self.member or (bool(client.member_id) and client.generation >= 0)


def _pose(seat: Seat, client: Client) -> Ask:
    ask = join(seat, client)
    assert isinstance(ask.message, JoinGroupRequest)
    return ask._replace(message=replace(ask.message, group_instance_id=NOBODYS_INSTANCE))


def _claim(seat: Seat, client: Client) -> Ask:
    ask = heartbeat(seat, client)
    assert isinstance(ask.message, HeartbeatRequest)
    return ask._replace(message=replace(ask.message, group_instance_id=NOBODYS_INSTANCE))


def _overlong(seat: Seat, client: Client) -> Ask:
    ask = join(seat, client)
    assert isinstance(ask.message, JoinGroupRequest)
    return ask._replace(message=replace(ask.message, session_timeout_ms=_ABOVE_ANY_MAXIMUM))


def _synced(seat: Seat, client: Client, **changes: object) -> Ask:
    ask = sync(seat, client)
    assert isinstance(ask.message, SyncGroupRequest)
    return ask._replace(message=replace(ask.message, **changes))


def _mislead(seat: Seat, client: Client) -> Ask:
    return _synced(seat, client, protocol_name="nothing like it")


def _assign(seat: Seat, client: Client) -> Ask:
    own = SyncAssignment(member_id=client.member_id, assignment=b"everything")
    return _synced(seat, client, assignments=(own,))


def _save(seat: Seat, _: Client) -> Ask:
    version = min(seat.versions["OffsetCommit"], BY_ID_SINCE - 1)
    partition = CommitPartition(partition_index=0, committed_offset=2)
    topics = (CommitTopic(name="t", partitions=(partition,)),)
    message = OffsetCommitRequest(group_id=GROUP, generation_id=-1, member_id="", topics=topics)
    return Ask("OffsetCommit", version, message)


def _transact(seat: Seat, client: Client) -> Ask:
    partition = TxnCommitPartition(partition_index=0, committed_offset=3)
    topics = (TxnCommitTopic(name="t", partitions=(partition,)),)
    who = _member(seat, client, "TxnOffsetCommit")
    message = TxnOffsetCommitRequest(**who, transactional_id=seat.name, topics=topics)
    return Ask("TxnOffsetCommit", seat.versions["TxnOffsetCommit"], message)


def _produce(seat: Seat, _: Client) -> Ask:
    partition = TxnCommitPartition(partition_index=1, committed_offset=4)
    topics = (TxnCommitTopic(name="t", partitions=(partition,)),)
    message = TxnOffsetCommitRequest(group_id=GROUP, transactional_id=seat.name, topics=topics)
    return Ask("TxnOffsetCommit", seat.versions["TxnOffsetCommit"], message)


def _delete(seat: Seat, _: Client) -> Ask:
    message = DeleteGroupsRequest(groups_names=(GROUP,))
    return Ask("DeleteGroups", seat.versions["DeleteGroups"], message)


def _erase(seat: Seat, _: Client) -> Ask:
    topics = (DeletableTopic(name="t", partitions=(DeletablePartition(partition_index=0),)),)
    message = OffsetDeleteRequest(group_id=GROUP, topics=topics)
    return Ask("OffsetDelete", seat.versions["OffsetDelete"], message)


def _fetch(seat: Seat, _: Client) -> Ask:
    topics = (FetchTopic(name="t", partition_indexes=(0,)),)
    version = min(seat.versions["OffsetFetch"], _FETCH_VERSION)
    return Ask("OffsetFetch", version, OffsetFetchRequest(group_id=GROUP, topics=topics))


def _describe(seat: Seat, _: Client) -> Ask:
    version = seat.versions["DescribeGroups"]
    return Ask("DescribeGroups", version, DescribeGroupsRequest(groups=(GROUP,)))


def _list(seat: Seat, _: Client) -> Ask:
    return Ask("ListGroups", seat.versions["ListGroups"], ListGroupsRequest())


def _batch(seat: Seat, client: Client) -> Ask:
    rows = (
        LeavingMember(member_id=STRANGE_ID),
        LeavingMember(member_id=client.member_id, group_instance_id=seat.instance),
    )
    version = seat.versions["LeaveGroup"]
    return Ask("LeaveGroup", version, LeaveGroupRequest(group_id=GROUP, members=rows))


def _quit(seat: Seat, client: Client) -> Ask:
    rows = (LeavingMember(member_id=client.member_id),)
    version = seat.versions["LeaveGroup"]
    return Ask("LeaveGroup", version, LeaveGroupRequest(group_id=GROUP, members=rows))


ODD_ACTS: Mapping[str, OddAct] = {
    "pose": OddAct(
        "JoinGroup under its id, with a free instance",
        _pose,
        joins=True,
        since=("JoinGroup", 5),
    ),
    "claim": OddAct(
        "Heartbeat under its id, with a free instance",
        _claim,
        since=("Heartbeat", 3),
    ),
    "overlong": OddAct(
        "JoinGroup with a session timeout above the maximum",
        _overlong,
        member=False,
        joins=True,
        since=("JoinGroup", 5),
    ),
    "mislead": OddAct(
        "SyncGroup with a protocol that was not selected", _mislead, since=("SyncGroup", 5)
    ),
    "assign": OddAct(
        "SyncGroup that assigns everything to its sender, which may be a follower", _assign
    ),
    "batch": OddAct("LeaveGroup of a stranger and of itself", _batch, since=("LeaveGroup", 3)),
    "save": OddAct("OffsetCommit of an operator, without member and generation", _save, False),
    "transact": OddAct(
        "TxnOffsetCommit, in a transaction of its own",
        _transact,
        since=("TxnOffsetCommit", _INSTANCE_SINCE["TxnOffsetCommit"]),
    ),
    "produce": OddAct(
        "TxnOffsetCommit of a producer outside of the group, for another partition",
        _produce,
        member=False,
        since=("TxnOffsetCommit", 0),
    ),
    "delete": OddAct(
        "DeleteGroups of an operator", _delete, member=False, since=("DeleteGroups", 0)
    ),
    "erase": OddAct("OffsetDelete of an operator", _erase, member=False, since=("OffsetDelete", 0)),
    "fetch": OddAct("OffsetFetch of an operator", _fetch, member=False),
    "describe": OddAct("DescribeGroups", _describe, member=False),
    "list": OddAct("ListGroups", _list, member=False),
    "quit": OddAct(
        "LeaveGroup of itself by its member id alone, without its instance",
        _quit,
        since=("LeaveGroup", 3),
    ),
}
