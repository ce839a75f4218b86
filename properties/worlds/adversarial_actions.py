"""Acts that no good client does: those of operators and of badly configured or written clients.

Few scopes need them.  Operators ask about the group without being in it.  The others say what no
good library says: an instance that isn't the sender's, a protocol that wasn't selected, assignments
that aren't the sender's to make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from fencepost.model.coordinator import CONFIG_DEFAULTS
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    DescribeGroupsRequest,
    FetchTopic,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncAssignment,
    SyncGroupRequest,
)
from fencepost.properties.worlds import world_client as asks
from fencepost.properties.worlds.world_client import GROUP, STRANGE_ID, Ask, Client, Seat

NOBODYS_INSTANCE = "Z"
"""An instance that no client has."""

_ABOVE_ANY_MAXIMUM = 2 * (CONFIG_DEFAULTS["group.max.session.timeout.ms"] or 0)
_FETCH_VERSION = 7
"""The last version that asks about one group at its top level."""


@dataclass(frozen=True, slots=True)
class OddAct:
    """An odd act: what it is, the request, who can do it, and whether it is a join.

    `member`: only a client that was given a generation; else anybody.  `since`: the API and the
    version from which its request can be said.
    """

    about: str
    ask: Callable[[Seat, Client], Ask]
    member: bool = True
    joins: bool = False
    since: tuple[str, int] | None = None

    def can(self, seat: Seat, client: Client) -> bool:
        """Return whether a client that waits for nothing can do it."""
        if self.since is not None and seat.versions[self.since[0]] < self.since[1]:
            return False
        return not self.member or (bool(client.member_id) and client.generation >= 0)


def _pose(seat: Seat, client: Client) -> Ask:
    ask = asks.join(seat, client)
    assert isinstance(ask.message, JoinGroupRequest)
    return ask._replace(message=replace(ask.message, group_instance_id=NOBODYS_INSTANCE))


def _claim(seat: Seat, client: Client) -> Ask:
    ask = asks.heartbeat(seat, client)
    assert isinstance(ask.message, HeartbeatRequest)
    return ask._replace(message=replace(ask.message, group_instance_id=NOBODYS_INSTANCE))


def _overlong(seat: Seat, client: Client) -> Ask:
    ask = asks.join(seat, client)
    assert isinstance(ask.message, JoinGroupRequest)
    return ask._replace(message=replace(ask.message, session_timeout_ms=_ABOVE_ANY_MAXIMUM))


def _synced(seat: Seat, client: Client, **changes: object) -> Ask:
    ask = asks.sync(seat, client)
    assert isinstance(ask.message, SyncGroupRequest)
    return ask._replace(message=replace(ask.message, **changes))


def _mislead(seat: Seat, client: Client) -> Ask:
    return _synced(seat, client, protocol_name="nothing like it")


def _assign(seat: Seat, client: Client) -> Ask:
    own = SyncAssignment(member_id=client.member_id, assignment=b"everything")
    return _synced(seat, client, assignments=(own,))


def _save(seat: Seat, _: Client) -> Ask:
    version = seat.versions["OffsetCommit"]
    partition = CommitPartition(partition_index=0, committed_offset=2)
    topics = (CommitTopic(name="t", partitions=(partition,)),)
    message = OffsetCommitRequest(group_id=GROUP, generation_id=-1, member_id="", topics=topics)
    return Ask("OffsetCommit", version, message)


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
        "JoinGroup under its id, with an instance that nobody has",
        _pose,
        joins=True,
        since=("JoinGroup", 5),
    ),
    "claim": OddAct(
        "Heartbeat under its id, with an instance that nobody has",
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
    "mislead": OddAct("SyncGroup with a protocol that was not selected", _mislead),
    "assign": OddAct("SyncGroup that assigns everything to its sender, who may not lead", _assign),
    "batch": OddAct("LeaveGroup of a stranger and of itself", _batch, since=("LeaveGroup", 3)),
    "save": OddAct("OffsetCommit of an operator, without member and generation", _save, False),
    "fetch": OddAct("OffsetFetch of an operator", _fetch, member=False),
    "describe": OddAct("DescribeGroups", _describe, member=False),
    "list": OddAct("ListGroups", _list, member=False),
    "quit": OddAct(
        "LeaveGroup of itself by its member id alone: a static one leaves its instance out",
        _quit,
        since=("LeaveGroup", 3),
    ),
}
