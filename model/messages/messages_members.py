"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: the messages of members.

Each class declares the shape of every version; see `fencepost.model.messages.messages`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fencepost.model.messages.shapes import Message
from fencepost.model.messages.wire_form import BOOL, BYTES, ERROR, INT32, STRING, ListOf, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinProtocol(Message):
    """One protocol (assignor) that a member offers, with its subscription."""

    name: str = wire("name", STRING, "0+")
    metadata: bytes = wire("metadata", BYTES, "0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest(Message):
    """A join.  Timeouts in ms; version 0 has no `rebalance_timeout_ms`: -1, and R = S."""

    API: ClassVar[str] = "JoinGroup"
    group_id: str = wire("groupId", STRING, "0+")
    session_timeout_ms: int = wire("sessionTimeoutMs", INT32, "0+")
    rebalance_timeout_ms: int = wire("rebalanceTimeoutMs", INT32, "1+", default=-1)
    member_id: str = wire("memberId", STRING, "0+")
    group_instance_id: str | None = wire(
        "groupInstanceId", STRING, "5+", nullable="5+", default=None
    )
    protocol_type: str = wire("protocolType", STRING, "0+")
    protocols: tuple[JoinProtocol, ...] = wire("protocols", ListOf(JoinProtocol), "0+")
    reason: str | None = wire("reason", STRING, "8+", nullable="8+", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinMember(Message):
    """A row of the member list that the leader is given."""

    member_id: str = wire("memberId", STRING, "0+")
    group_instance_id: str | None = wire(
        "groupInstanceId", STRING, "5+", nullable="5+", default=None, lossy=True
    )
    metadata: bytes = wire("metadata", BYTES, "0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse(Message):
    """The answer to a join.  `members` is filled for the leader alone."""

    API: ClassVar[str] = "JoinGroup"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "2+", default=0, optional=True)
    error_code: int | str = wire("errorCode", ERROR, "0+")
    generation_id: int = wire("generationId", INT32, "0+", default=-1)
    protocol_type: str | None = wire(
        "protocolType", STRING, "7+", nullable="7+", default=None, lossy=True
    )
    protocol_name: str | None = wire(
        "protocolName", STRING, "0+", nullable="7+", default=None, null_as=""
    )
    leader: str = wire("leader", STRING, "0+", default="")
    skip_assignment: bool = wire("skipAssignment", BOOL, "9+", default=False)
    member_id: str = wire("memberId", STRING, "0+", default="")
    members: tuple[JoinMember, ...] = wire("members", ListOf(JoinMember), "0+", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncAssignment(Message):
    """What the leader assigns to one member id."""

    member_id: str = wire("memberId", STRING, "0+")
    assignment: bytes = wire("assignment", BYTES, "0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest(Message):
    """A sync.  `assignments` is the leader's; a follower sends none."""

    API: ClassVar[str] = "SyncGroup"
    group_id: str = wire("groupId", STRING, "0+")
    generation_id: int = wire("generationId", INT32, "0+")
    member_id: str = wire("memberId", STRING, "0+")
    group_instance_id: str | None = wire(
        "groupInstanceId", STRING, "3+", nullable="3+", default=None
    )
    protocol_type: str | None = wire("protocolType", STRING, "5+", nullable="5+", default=None)
    protocol_name: str | None = wire("protocolName", STRING, "5+", nullable="5+", default=None)
    assignments: tuple[SyncAssignment, ...] = wire(
        "assignments", ListOf(SyncAssignment), "0+", default=()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse(Message):
    """The answer to a sync: the member's assignment, opaque bytes."""

    API: ClassVar[str] = "SyncGroup"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "1+", default=0, optional=True)
    error_code: int | str = wire("errorCode", ERROR, "0+")
    protocol_type: str | None = wire(
        "protocolType", STRING, "5+", nullable="5+", default=None, lossy=True
    )
    protocol_name: str | None = wire(
        "protocolName", STRING, "5+", nullable="5+", default=None, lossy=True
    )
    assignment: bytes = wire("assignment", BYTES, "0+", default=b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest(Message):
    """A heartbeat: keeps a member alive, and asks whether a rebalance runs."""

    API: ClassVar[str] = "Heartbeat"
    group_id: str = wire("groupId", STRING, "0+")
    generation_id: int = wire("generationId", INT32, "0+")
    member_id: str = wire("memberId", STRING, "0+")
    group_instance_id: str | None = wire(
        "groupInstanceId", STRING, "3+", nullable="3+", default=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse(Message):
    """The answer to a heartbeat: an error code and nothing else."""

    API: ClassVar[str] = "Heartbeat"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "1+", default=0, optional=True)
    error_code: int | str = wire("errorCode", ERROR, "0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingMember(Message):
    """A row of a batch leave: by member id, by instance id, or by both."""

    member_id: str = wire("memberId", STRING, "3+")
    group_instance_id: str | None = wire(
        "groupInstanceId", STRING, "3+", nullable="3+", default=None
    )
    reason: str | None = wire("reason", STRING, "5+", nullable="5+", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupRequest(Message):
    """A leave.  Versions 0-2 name one member id; from 3 on it is a list of rows."""

    API: ClassVar[str] = "LeaveGroup"
    group_id: str = wire("groupId", STRING, "0+")
    member_id: str = wire("memberId", STRING, "0-2", default="")
    members: tuple[LeavingMember, ...] = wire("members", ListOf(LeavingMember), "3+", default=())

    def rows(self, version: int) -> tuple[LeavingMember, ...]:
        """Return the members to remove, in either form."""
        return self.members if version >= 3 else (LeavingMember(member_id=self.member_id),)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftMember(Message):
    """The outcome for one row of a batch leave, echoing the row."""

    member_id: str = wire("memberId", STRING, "3+")
    group_instance_id: str | None = wire(
        "groupInstanceId", STRING, "3+", nullable="3+", default=None
    )
    error_code: int | str = wire("errorCode", ERROR, "3+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse(Message):
    """The answer to a leave.  Versions 0-2: one error; from 3 on a row for each row sent."""

    API: ClassVar[str] = "LeaveGroup"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "1+", default=0, optional=True)
    error_code: int | str = wire("errorCode", ERROR, "0+")
    members: tuple[LeftMember, ...] = wire("members", ListOf(LeftMember), "3+", default=())
