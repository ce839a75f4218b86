"""Requests and answers: Kafka's field names, and the exact shape of every version.

Decides what a message can say.  Each class is one message; each field names its wire name, its
type, and the versions that carry it, so that `to_body` and `from_body` are derived and nobody
writes a shape twice.  A value that a version can't carry is refused, never dropped: a silently
dropped `groupInstanceId` turns a static member into a dynamic one.

Bodies are the JSON objects of the adapter protocol: camelCase names as in Kafka's message
definitions, bytes as base64, a field present exactly when its version has it.

Source: Kafka's message definitions up to 4.3, for the classic group protocol; the drafts' messages
are in `fencepost.model.drafts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fencepost.model.shapes import (
    BOOL,
    BYTES,
    ERROR,
    INT32,
    INT64,
    STRING,
    ListOf,
    Message,
    wire,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinProtocol(Message):
    """One protocol (assignor) that a member offers, with its subscription."""

    name: str = wire("name", STRING, "0+")
    metadata: bytes = wire("metadata", BYTES, "0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest(Message):
    """Timeouts in ms; `rebalance_timeout_ms` is -1 where version 0 can't say it (R = S there)."""

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
    """`members` is filled for the leader alone."""

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
    """`assignments` is the leader's; a follower sends none."""

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
    """The member's assignment, opaque bytes."""

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
    """Keeps a member alive and asks whether a rebalance runs."""

    API: ClassVar[str] = "Heartbeat"
    group_id: str = wire("groupId", STRING, "0+")
    generation_id: int = wire("generationId", INT32, "0+")
    member_id: str = wire("memberId", STRING, "0+")
    group_instance_id: str | None = wire(
        "groupInstanceId", STRING, "3+", nullable="3+", default=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse(Message):
    """An error code and nothing else."""

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
    """Versions 0-2 name one member id; from 3 on a list of rows."""

    API: ClassVar[str] = "LeaveGroup"
    group_id: str = wire("groupId", STRING, "0+")
    member_id: str = wire("memberId", STRING, "0-2", default="")
    members: tuple[LeavingMember, ...] = wire("members", ListOf(LeavingMember), "3+", default=())

    def rows(self, version: int) -> tuple[LeavingMember, ...]:
        """The members to remove, whichever way the version says it."""
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
    """Versions 0-2: the single error; from 3 on one row for each row asked."""

    API: ClassVar[str] = "LeaveGroup"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "1+", default=0, optional=True)
    error_code: int | str = wire("errorCode", ERROR, "0+")
    members: tuple[LeftMember, ...] = wire("members", ListOf(LeftMember), "3+", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPartition(Message):
    """One partition's offset to store."""

    partition_index: int = wire("partitionIndex", INT32, "0+")
    committed_offset: int = wire("committedOffset", INT64, "0+")
    committed_leader_epoch: int = wire("committedLeaderEpoch", INT32, "6+", default=-1)
    commit_timestamp: int = wire("commitTimestamp", INT64, "1", default=-1)
    committed_metadata: str | None = wire(
        "committedMetadata", STRING, "0+", nullable="0+", default=""
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitTopic(Message):
    """One topic's partitions to commit."""

    name: str = wire("name", STRING, "0+")
    partitions: tuple[CommitPartition, ...] = wire("partitions", ListOf(CommitPartition), "0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest(Message):
    """From version 9 on Kafka names the generation `generationIdOrMemberEpoch`, as it does in all."""

    API: ClassVar[str] = "OffsetCommit"
    group_id: str = wire("groupId", STRING, "0+")
    generation_id: int = wire("generationIdOrMemberEpoch", INT32, "1+", default=-1)
    member_id: str = wire("memberId", STRING, "1+", default="")
    group_instance_id: str | None = wire(
        "groupInstanceId", STRING, "7+", nullable="7+", default=None
    )
    retention_time_ms: int = wire("retentionTimeMs", INT64, "2-4", default=-1)
    topics: tuple[CommitTopic, ...] = wire("topics", ListOf(CommitTopic), "0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedPartition(Message):
    """The outcome for one partition."""

    partition_index: int = wire("partitionIndex", INT32, "0+")
    error_code: int | str = wire("errorCode", ERROR, "0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedTopic(Message):
    """The outcome for one topic."""

    name: str = wire("name", STRING, "0+")
    partitions: tuple[CommittedPartition, ...] = wire(
        "partitions", ListOf(CommittedPartition), "0+"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse(Message):
    """A row for each partition that was asked for; there is no error at top level."""

    API: ClassVar[str] = "OffsetCommit"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "3+", default=0, optional=True)
    topics: tuple[CommittedTopic, ...] = wire("topics", ListOf(CommittedTopic), "0+", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTopic(Message):
    """One topic's partitions whose offsets are asked for."""

    name: str = wire("name", STRING, "0+")
    partition_indexes: tuple[int, ...] = wire("partitionIndexes", ListOf(INT32), "0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchGroup(Message):
    """One group of a fetch for several groups."""

    group_id: str = wire("groupId", STRING, "8+")
    member_id: str | None = wire("memberId", STRING, "9+", nullable="9+", default=None)
    member_epoch: int = wire("memberEpoch", INT32, "9+", default=-1)
    topics: tuple[FetchTopic, ...] | None = wire("topics", ListOf(FetchTopic), "8+", nullable="8+")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest(Message):
    """Carries no instance id in any version: a zombie may read, it may not write."""

    API: ClassVar[str] = "OffsetFetch"
    group_id: str = wire("groupId", STRING, "0-7", default="")
    topics: tuple[FetchTopic, ...] | None = wire(
        "topics", ListOf(FetchTopic), "0-7", nullable="2-7", default=()
    )
    groups: tuple[FetchGroup, ...] = wire("groups", ListOf(FetchGroup), "8+", default=())
    require_stable: bool = wire("requireStable", BOOL, "7+", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPartition(Message):
    """A stored offset; -1 where there is none."""

    partition_index: int = wire("partitionIndex", INT32, "0+")
    committed_offset: int = wire("committedOffset", INT64, "0+")
    committed_leader_epoch: int = wire("committedLeaderEpoch", INT32, "5+", default=-1)
    metadata: str | None = wire("metadata", STRING, "0+", nullable="0+", default="")
    error_code: int | str = wire("errorCode", ERROR, "0+", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedTopic(Message):
    """One topic's stored offsets."""

    name: str = wire("name", STRING, "0+")
    partitions: tuple[FetchedPartition, ...] = wire("partitions", ListOf(FetchedPartition), "0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedGroup(Message):
    """One group's stored offsets."""

    group_id: str = wire("groupId", STRING, "8+")
    topics: tuple[FetchedTopic, ...] = wire("topics", ListOf(FetchedTopic), "8+")
    error_code: int | str = wire("errorCode", ERROR, "8+", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse(Message):
    """Versions 0-7 answer one group, from 8 on several."""

    API: ClassVar[str] = "OffsetFetch"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "3+", default=0, optional=True)
    topics: tuple[FetchedTopic, ...] = wire("topics", ListOf(FetchedTopic), "0-7", default=())
    error_code: int | str = wire("errorCode", ERROR, "2-7", default=0)
    groups: tuple[FetchedGroup, ...] = wire("groups", ListOf(FetchedGroup), "8+", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsRequest(Message):
    """Several groups may be described at once."""

    API: ClassVar[str] = "DescribeGroups"
    groups: tuple[str, ...] = wire("groups", ListOf(STRING), "0+")
    include_authorized_operations: bool = wire(
        "includeAuthorizedOperations", BOOL, "3+", default=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember(Message):
    """Metadata and assignment mean something in Stable only."""

    member_id: str = wire("memberId", STRING, "0+")
    group_instance_id: str | None = wire(
        "groupInstanceId", STRING, "4+", nullable="4+", default=None, lossy=True
    )
    client_id: str = wire("clientId", STRING, "0+", default="")
    client_host: str = wire("clientHost", STRING, "0+", default="")
    member_metadata: bytes = wire("memberMetadata", BYTES, "0+", default=b"")
    member_assignment: bytes = wire("memberAssignment", BYTES, "0+", default=b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup(Message):
    """One group's row."""

    error_code: int | str = wire("errorCode", ERROR, "0+")
    error_message: str | None = wire(
        "errorMessage", STRING, "6+", nullable="6+", default=None, lossy=True
    )
    group_id: str = wire("groupId", STRING, "0+")
    group_state: str = wire("groupState", STRING, "0+", default="")
    protocol_type: str = wire("protocolType", STRING, "0+", default="")
    protocol_data: str = wire("protocolData", STRING, "0+", default="")
    members: tuple[DescribedMember, ...] = wire("members", ListOf(DescribedMember), "0+", default=())
    authorized_operations: int = wire("authorizedOperations", INT32, "3+", default=-(2**31))


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsResponse(Message):
    """A row for each group that was asked for."""

    API: ClassVar[str] = "DescribeGroups"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "1+", default=0, optional=True)
    groups: tuple[DescribedGroup, ...] = wire("groups", ListOf(DescribedGroup), "0+", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsRequest(Message):
    """Filters are empty for no filter."""

    API: ClassVar[str] = "ListGroups"
    states_filter: tuple[str, ...] = wire("statesFilter", ListOf(STRING), "4+", default=())
    types_filter: tuple[str, ...] = wire("typesFilter", ListOf(STRING), "5+", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup(Message):
    """One group's row."""

    group_id: str = wire("groupId", STRING, "0+")
    protocol_type: str = wire("protocolType", STRING, "0+")
    group_state: str = wire("groupState", STRING, "4+", default="", lossy=True)
    group_type: str = wire("groupType", STRING, "5+", default="", lossy=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsResponse(Message):
    """All groups of the broker that was asked."""

    API: ClassVar[str] = "ListGroups"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "1+", default=0, optional=True)
    error_code: int | str = wire("errorCode", ERROR, "0+")
    groups: tuple[ListedGroup, ...] = wire("groups", ListOf(ListedGroup), "0+", default=())


@dataclass(frozen=True, slots=True)
class Api:
    """An API: its name, Kafka's key (None for a draft), lowest and highest version, first flexible."""

    name: str
    key: int | None
    lowest: int
    highest: int
    flexible: int
    request: type[Message]
    response: type[Message]


APIS: dict[str, Api] = {
    api.name: api
    for api in (
        Api("JoinGroup", 11, 0, 9, 6, JoinGroupRequest, JoinGroupResponse),
        Api("SyncGroup", 14, 0, 5, 4, SyncGroupRequest, SyncGroupResponse),
        Api("Heartbeat", 12, 0, 4, 4, HeartbeatRequest, HeartbeatResponse),
        Api("LeaveGroup", 13, 0, 5, 4, LeaveGroupRequest, LeaveGroupResponse),
        Api("OffsetCommit", 8, 0, 9, 8, OffsetCommitRequest, OffsetCommitResponse),
        Api("OffsetFetch", 9, 0, 9, 6, OffsetFetchRequest, OffsetFetchResponse),
        Api("DescribeGroups", 15, 0, 6, 5, DescribeGroupsRequest, DescribeGroupsResponse),
        Api("ListGroups", 16, 0, 5, 3, ListGroupsRequest, ListGroupsResponse),
    )
}
