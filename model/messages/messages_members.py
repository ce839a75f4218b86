"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: the messages of members.

Each class declares the shape of every version; see `fencepost.model.messages.messages`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from fencepost.model.messages.shapes import Message
from fencepost.model.messages.wire_form import BOOL, BYTES, ERROR, INT32, STRING, ListOf, wire


class JoinProtocol(Message, frozen=True, kw_only=True):
    """One protocol (assignor) that a member offers, with its subscription."""

    name: Annotated[str, wire("name", STRING, "0+")]
    metadata: Annotated[bytes, wire("metadata", BYTES, "0+")]


class JoinGroupRequest(Message, frozen=True, kw_only=True):
    """A join.  Timeouts in ms; version 0 has no `rebalance_timeout_ms`: -1, and R = S."""

    API: ClassVar[str] = "JoinGroup"
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    session_timeout_ms: Annotated[int, wire("sessionTimeoutMs", INT32, "0+")]
    rebalance_timeout_ms: Annotated[int, wire("rebalanceTimeoutMs", INT32, "1+")] = -1
    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    group_instance_id: Annotated[
        str | None, wire("groupInstanceId", STRING, "5+", nullable="5+")
    ] = None
    protocol_type: Annotated[str, wire("protocolType", STRING, "0+")]
    protocols: Annotated[tuple[JoinProtocol, ...], wire("protocols", ListOf(JoinProtocol), "0+")]
    reason: Annotated[str | None, wire("reason", STRING, "8+", nullable="8+")] = None


class JoinMember(Message, frozen=True, kw_only=True):
    """A row of the member list that the leader is given."""

    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    group_instance_id: Annotated[
        str | None, wire("groupInstanceId", STRING, "5+", nullable="5+", lossy=True)
    ] = None
    metadata: Annotated[bytes, wire("metadata", BYTES, "0+")]


class JoinGroupResponse(Message, frozen=True, kw_only=True):
    """The answer to a join.  `members` is filled for the leader alone."""

    API: ClassVar[str] = "JoinGroup"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "2+", optional=True)] = 0
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    generation_id: Annotated[int, wire("generationId", INT32, "0+")] = -1
    protocol_type: Annotated[
        str | None, wire("protocolType", STRING, "7+", nullable="7+", lossy=True)
    ] = None
    protocol_name: Annotated[
        str | None, wire("protocolName", STRING, "0+", nullable="7+", null_as="")
    ] = None
    leader: Annotated[str, wire("leader", STRING, "0+")] = ""
    skip_assignment: Annotated[bool, wire("skipAssignment", BOOL, "9+")] = False
    member_id: Annotated[str, wire("memberId", STRING, "0+")] = ""
    members: Annotated[tuple[JoinMember, ...], wire("members", ListOf(JoinMember), "0+")] = ()


class SyncAssignment(Message, frozen=True, kw_only=True):
    """What the leader assigns to one member id."""

    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    assignment: Annotated[bytes, wire("assignment", BYTES, "0+")]


class SyncGroupRequest(Message, frozen=True, kw_only=True):
    """A sync.  `assignments` is the leader's; a follower sends none."""

    API: ClassVar[str] = "SyncGroup"
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    generation_id: Annotated[int, wire("generationId", INT32, "0+")]
    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    group_instance_id: Annotated[
        str | None, wire("groupInstanceId", STRING, "3+", nullable="3+")
    ] = None
    protocol_type: Annotated[str | None, wire("protocolType", STRING, "5+", nullable="5+")] = None
    protocol_name: Annotated[str | None, wire("protocolName", STRING, "5+", nullable="5+")] = None
    assignments: Annotated[
        tuple[SyncAssignment, ...], wire("assignments", ListOf(SyncAssignment), "0+")
    ] = ()


class SyncGroupResponse(Message, frozen=True, kw_only=True):
    """The answer to a sync: the member's assignment, opaque bytes."""

    API: ClassVar[str] = "SyncGroup"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "1+", optional=True)] = 0
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    protocol_type: Annotated[
        str | None, wire("protocolType", STRING, "5+", nullable="5+", lossy=True)
    ] = None
    protocol_name: Annotated[
        str | None, wire("protocolName", STRING, "5+", nullable="5+", lossy=True)
    ] = None
    assignment: Annotated[bytes, wire("assignment", BYTES, "0+")] = b""


class HeartbeatRequest(Message, frozen=True, kw_only=True):
    """A heartbeat: keeps a member alive, and asks whether a rebalance runs."""

    API: ClassVar[str] = "Heartbeat"
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    generation_id: Annotated[int, wire("generationId", INT32, "0+")]
    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    group_instance_id: Annotated[
        str | None, wire("groupInstanceId", STRING, "3+", nullable="3+")
    ] = None


class HeartbeatResponse(Message, frozen=True, kw_only=True):
    """The answer to a heartbeat: an error code and nothing else."""

    API: ClassVar[str] = "Heartbeat"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "1+", optional=True)] = 0
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]


class LeavingMember(Message, frozen=True, kw_only=True):
    """A row of a batch leave: by member id, by instance id, or by both."""

    member_id: Annotated[str, wire("memberId", STRING, "3+")]
    group_instance_id: Annotated[
        str | None, wire("groupInstanceId", STRING, "3+", nullable="3+")
    ] = None
    reason: Annotated[str | None, wire("reason", STRING, "5+", nullable="5+")] = None


class LeaveGroupRequest(Message, frozen=True, kw_only=True):
    """A leave.  Versions 0-2 name one member id; from 3 on it is a list of rows."""

    API: ClassVar[str] = "LeaveGroup"
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    member_id: Annotated[str, wire("memberId", STRING, "0-2")] = ""
    members: Annotated[tuple[LeavingMember, ...], wire("members", ListOf(LeavingMember), "3+")] = ()

    def rows(self, version: int) -> tuple[LeavingMember, ...]:
        """Return the members to remove, in either form."""
        return self.members if version >= 3 else (LeavingMember(member_id=self.member_id),)


class LeftMember(Message, frozen=True, kw_only=True):
    """The outcome for one row of a batch leave, echoing the row."""

    member_id: Annotated[str, wire("memberId", STRING, "3+")]
    group_instance_id: Annotated[
        str | None, wire("groupInstanceId", STRING, "3+", nullable="3+")
    ] = None
    error_code: Annotated[int | str, wire("errorCode", ERROR, "3+")]


class LeaveGroupResponse(Message, frozen=True, kw_only=True):
    """The answer to a leave.  Versions 0-2: one error; from 3 on a row for each row sent."""

    API: ClassVar[str] = "LeaveGroup"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "1+", optional=True)] = 0
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    members: Annotated[tuple[LeftMember, ...], wire("members", ListOf(LeftMember), "3+")] = ()
