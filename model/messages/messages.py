"""Define requests and answers: Kafka's field names, and the exact shape of every version.

Each class is one message.  Each field declares its name on the wire, its type, and the versions
that carry it; `to_body` and `from_body` are derived from that.  A value that a version can't carry
is refused, never dropped: without its `groupInstanceId` a static member would turn into a dynamic
one.

Bodies are the JSON objects of the adapter protocol: camelCase names as in Kafka's message
definitions, bytes as base64, a field present exactly when its version has it.

The order: DescribeGroups, ListGroups and DeleteGroups, of administration; JoinGroup, SyncGroup,
Heartbeat and LeaveGroup, of members; OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete.

Source: Kafka's message definitions up to 4.4, for the classic group protocol; the drafts' messages
are in `fencepost.model.classic.draft_translation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from msgspec.structs import replace

from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from fencepost.model.messages.shapes import (
    BOOL,
    BYTES,
    ERROR,
    INT16,
    INT32,
    INT64,
    NO_UUID,
    STRING,
    UUID,
    Api,
    ListOf,
    Message,
    Wire,
    wire,
    wire_fields,
)
from fencepost.model.messages.streams_messages import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)


class DescribeGroupsRequest(Message, frozen=True, kw_only=True):
    """A request to describe groups, several at once."""

    API: ClassVar[str] = "DescribeGroups"
    groups: Annotated[tuple[str, ...], wire("groups", ListOf(STRING), "0+")]
    include_authorized_operations: Annotated[
        bool, wire("includeAuthorizedOperations", BOOL, "3+")
    ] = False


class DescribedMember(Message, frozen=True, kw_only=True):
    """A member of a described group.  Metadata and assignment mean something in Stable only."""

    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    group_instance_id: Annotated[
        str | None, wire("groupInstanceId", STRING, "4+", nullable="4+", lossy=True)
    ] = None
    client_id: Annotated[str, wire("clientId", STRING, "0+")] = ""
    client_host: Annotated[str, wire("clientHost", STRING, "0+")] = ""
    member_metadata: Annotated[bytes, wire("memberMetadata", BYTES, "0+")] = b""
    member_assignment: Annotated[bytes, wire("memberAssignment", BYTES, "0+")] = b""


class DescribedGroup(Message, frozen=True, kw_only=True):
    """One group's row."""

    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    error_message: Annotated[
        str | None, wire("errorMessage", STRING, "6+", nullable="6+", lossy=True)
    ] = None
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    group_state: Annotated[str, wire("groupState", STRING, "0+")] = ""
    protocol_type: Annotated[str, wire("protocolType", STRING, "0+")] = ""
    protocol_data: Annotated[str, wire("protocolData", STRING, "0+")] = ""
    members: Annotated[
        tuple[DescribedMember, ...], wire("members", ListOf(DescribedMember), "0+")
    ] = ()
    authorized_operations: Annotated[int, wire("authorizedOperations", INT32, "3+")] = -(2**31)


class DescribeGroupsResponse(Message, frozen=True, kw_only=True):
    """The answer: a row for each group of the request."""

    API: ClassVar[str] = "DescribeGroups"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "1+", optional=True)] = 0
    groups: Annotated[tuple[DescribedGroup, ...], wire("groups", ListOf(DescribedGroup), "0+")] = ()


class ListGroupsRequest(Message, frozen=True, kw_only=True):
    """A request to list groups.  An empty filter lets all pass."""

    API: ClassVar[str] = "ListGroups"
    states_filter: Annotated[tuple[str, ...], wire("statesFilter", ListOf(STRING), "4+")] = ()
    types_filter: Annotated[tuple[str, ...], wire("typesFilter", ListOf(STRING), "5+")] = ()

    def asks_for(self, state: str, kind: str) -> bool:
        """Return True if groups of this state and type pass the filters, in whatever case."""
        return all(
            not names or value.casefold() in {name.casefold() for name in names}
            for names, value in ((self.states_filter, state), (self.types_filter, kind))
        )


class ListedGroup(Message, frozen=True, kw_only=True):
    """One group's row."""

    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    protocol_type: Annotated[str, wire("protocolType", STRING, "0+")]
    group_state: Annotated[str, wire("groupState", STRING, "4+", lossy=True)] = ""
    group_type: Annotated[str, wire("groupType", STRING, "5+", lossy=True)] = ""


class ListGroupsResponse(Message, frozen=True, kw_only=True):
    """The answer: all groups that the broker coordinates."""

    API: ClassVar[str] = "ListGroups"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "1+", optional=True)] = 0
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    groups: Annotated[tuple[ListedGroup, ...], wire("groups", ListOf(ListedGroup), "0+")] = ()


class DeleteGroupsRequest(Message, frozen=True, kw_only=True):
    """A request to delete groups, several at once, with their offsets."""

    API: ClassVar[str] = "DeleteGroups"
    groups_names: Annotated[tuple[str, ...], wire("groupsNames", ListOf(STRING), "0+")]


class DeletedGroup(Message, frozen=True, kw_only=True):
    """The outcome for one group."""

    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]


class DeleteGroupsResponse(Message, frozen=True, kw_only=True):
    """The answer: a row for each group of the request."""

    API: ClassVar[str] = "DeleteGroups"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "0+", optional=True)] = 0
    results: Annotated[tuple[DeletedGroup, ...], wire("results", ListOf(DeletedGroup), "0+")] = ()


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
    """A row of the leader's member list."""

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
    """An assignment of the leader, for one member id."""

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
    """A heartbeat: keeps a member alive; the answer reports a running rebalance."""

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


class CommitPartition(Message, frozen=True, kw_only=True):
    """One partition's offset to store."""

    partition_index: Annotated[int, wire("partitionIndex", INT32, "0+")]
    committed_offset: Annotated[int, wire("committedOffset", INT64, "0+")]
    committed_leader_epoch: Annotated[int, wire("committedLeaderEpoch", INT32, "6+")] = -1
    commit_timestamp: Annotated[int, wire("commitTimestamp", INT64, "1")] = -1
    committed_metadata: Annotated[
        str | None, wire("committedMetadata", STRING, "0+", nullable="0+")
    ] = ""


BY_ID_SINCE = 10
"""The first version of OffsetCommit, and of OffsetFetch, that names topics by ids."""


class TopicOfOffsets(Message, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A topic of a commit or fetch: it has a name, and from version 10 on an id in its place."""

    name: Annotated[str, wire("name", STRING, "0-9")] = ""
    topic_id: Annotated[str, wire("topicId", UUID, "10+")] = NO_UUID

    @property
    def called(self) -> str:
        """Return the name, or the id in its place."""
        return self.name if self.topic_id == NO_UUID else self.topic_id


class CommitTopic(TopicOfOffsets, frozen=True, kw_only=True):
    """One topic's partitions to commit."""

    partitions: Annotated[
        tuple[CommitPartition, ...], wire("partitions", ListOf(CommitPartition), "0+")
    ]


class OffsetCommitRequest(Message, frozen=True, kw_only=True):
    """A commit.  Kafka's definition calls the generation `generationIdOrMemberEpoch`."""

    API: ClassVar[str] = "OffsetCommit"
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    generation_id: Annotated[int, wire("generationIdOrMemberEpoch", INT32, "1+")] = -1
    member_id: Annotated[str, wire("memberId", STRING, "1+")] = ""
    group_instance_id: Annotated[
        str | None, wire("groupInstanceId", STRING, "7+", nullable="7+")
    ] = None
    retention_time_ms: Annotated[int, wire("retentionTimeMs", INT64, "2-4")] = -1
    topics: Annotated[tuple[CommitTopic, ...], wire("topics", ListOf(CommitTopic), "0+")]


class CommittedPartition(Message, frozen=True, kw_only=True):
    """The outcome for one partition."""

    partition_index: Annotated[int, wire("partitionIndex", INT32, "0+")]
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]


class CommittedTopic(TopicOfOffsets, frozen=True, kw_only=True):
    """The outcome for one topic."""

    partitions: Annotated[
        tuple[CommittedPartition, ...], wire("partitions", ListOf(CommittedPartition), "0+")
    ]


class OffsetCommitResponse(Message, frozen=True, kw_only=True):
    """The answer to a commit: a row for each partition; there is no error at top level."""

    API: ClassVar[str] = "OffsetCommit"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "3+", optional=True)] = 0
    topics: Annotated[tuple[CommittedTopic, ...], wire("topics", ListOf(CommittedTopic), "0+")] = ()


class TxnCommitPartition(Message, frozen=True, kw_only=True):
    """One partition's offset to store when the transaction ends."""

    partition_index: Annotated[int, wire("partitionIndex", INT32, "0+")]
    committed_offset: Annotated[int, wire("committedOffset", INT64, "0+")]
    committed_leader_epoch: Annotated[int, wire("committedLeaderEpoch", INT32, "2+")] = -1
    committed_metadata: Annotated[
        str | None, wire("committedMetadata", STRING, "0+", nullable="0+")
    ] = ""


class TxnCommitTopic(Message, frozen=True, kw_only=True):
    """One topic's partitions to commit in a transaction."""

    name: Annotated[str, wire("name", STRING, "0+")]
    partitions: Annotated[
        tuple[TxnCommitPartition, ...], wire("partitions", ListOf(TxnCommitPartition), "0+")
    ]


class TxnOffsetCommitRequest(Message, frozen=True, kw_only=True):
    """A commit in a transaction: it names the member only from version 3 on (KIP-447)."""

    API: ClassVar[str] = "TxnOffsetCommit"
    transactional_id: Annotated[str, wire("transactionalId", STRING, "0+")]
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    producer_id: Annotated[int, wire("producerId", INT64, "0+")] = 0
    producer_epoch: Annotated[int, wire("producerEpoch", INT16, "0+")] = 0
    generation_id: Annotated[int, wire("generationId", INT32, "3+")] = -1
    member_id: Annotated[str, wire("memberId", STRING, "3+")] = ""
    group_instance_id: Annotated[
        str | None, wire("groupInstanceId", STRING, "3+", nullable="3+")
    ] = None
    topics: Annotated[tuple[TxnCommitTopic, ...], wire("topics", ListOf(TxnCommitTopic), "0+")]


class TxnOffsetCommitResponse(Message, frozen=True, kw_only=True):
    """The answer to a commit in a transaction: a row for each partition."""

    API: ClassVar[str] = "TxnOffsetCommit"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "0+", optional=True)] = 0
    topics: Annotated[tuple[CommittedTopic, ...], wire("topics", ListOf(CommittedTopic), "0+")] = ()


CommitRequest = OffsetCommitRequest | TxnOffsetCommitRequest
"""A commit of offsets, in a transaction or not."""
CommitResponse = OffsetCommitResponse | TxnOffsetCommitResponse


class FetchTopic(TopicOfOffsets, frozen=True, kw_only=True):
    """One topic's partitions, to fetch their offsets."""

    partition_indexes: Annotated[tuple[int, ...], wire("partitionIndexes", ListOf(INT32), "0+")]


class FetchGroup(Message, frozen=True, kw_only=True):
    """One group of a fetch for several groups."""

    group_id: Annotated[str, wire("groupId", STRING, "8+")]
    member_id: Annotated[str | None, wire("memberId", STRING, "9+", nullable="9+")] = None
    member_epoch: Annotated[int, wire("memberEpoch", INT32, "9+")] = -1
    topics: Annotated[
        tuple[FetchTopic, ...] | None, wire("topics", ListOf(FetchTopic), "8+", nullable="8+")
    ]


class OffsetFetchRequest(Message, frozen=True, kw_only=True):
    """A fetch.  No version has an instance id: a zombie may read offsets, but not write them."""

    API: ClassVar[str] = "OffsetFetch"
    group_id: Annotated[str, wire("groupId", STRING, "0-7")] = ""
    topics: Annotated[
        tuple[FetchTopic, ...] | None, wire("topics", ListOf(FetchTopic), "0-7", nullable="2-7")
    ] = ()
    groups: Annotated[tuple[FetchGroup, ...], wire("groups", ListOf(FetchGroup), "8+")] = ()
    require_stable: Annotated[bool, wire("requireStable", BOOL, "7+")] = False


class FetchedPartition(Message, frozen=True, kw_only=True):
    """A stored offset; -1 where there is none."""

    partition_index: Annotated[int, wire("partitionIndex", INT32, "0+")]
    committed_offset: Annotated[int, wire("committedOffset", INT64, "0+")]
    committed_leader_epoch: Annotated[int, wire("committedLeaderEpoch", INT32, "5+")] = -1
    metadata: Annotated[str | None, wire("metadata", STRING, "0+", nullable="0+")] = ""
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")] = 0


class FetchedTopic(TopicOfOffsets, frozen=True, kw_only=True):
    """One topic's stored offsets."""

    partitions: Annotated[
        tuple[FetchedPartition, ...], wire("partitions", ListOf(FetchedPartition), "0+")
    ]


class FetchedGroup(Message, frozen=True, kw_only=True):
    """One group's stored offsets."""

    group_id: Annotated[str, wire("groupId", STRING, "8+")]
    topics: Annotated[tuple[FetchedTopic, ...], wire("topics", ListOf(FetchedTopic), "8+")]
    error_code: Annotated[int | str, wire("errorCode", ERROR, "8+")] = 0


class OffsetFetchResponse(Message, frozen=True, kw_only=True):
    """The answer to a fetch.  Versions 0-7 answer one group, from 8 on several."""

    API: ClassVar[str] = "OffsetFetch"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "3+", optional=True)] = 0
    topics: Annotated[tuple[FetchedTopic, ...], wire("topics", ListOf(FetchedTopic), "0-7")] = ()
    error_code: Annotated[int | str, wire("errorCode", ERROR, "2-7")] = 0
    groups: Annotated[tuple[FetchedGroup, ...], wire("groups", ListOf(FetchedGroup), "8+")] = ()


class DeletablePartition(Message, frozen=True, kw_only=True):
    """One partition whose offset is to be deleted."""

    partition_index: Annotated[int, wire("partitionIndex", INT32, "0+")]


class DeletableTopic(Message, frozen=True, kw_only=True):
    """One topic's partitions, to delete their offsets."""

    name: Annotated[str, wire("name", STRING, "0+")]
    partitions: Annotated[
        tuple[DeletablePartition, ...], wire("partitions", ListOf(DeletablePartition), "0+")
    ]


class OffsetDeleteRequest(Message, frozen=True, kw_only=True):
    """A request to delete stored offsets of a group (KIP-496)."""

    API: ClassVar[str] = "OffsetDelete"
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    topics: Annotated[tuple[DeletableTopic, ...], wire("topics", ListOf(DeletableTopic), "0+")]


class OffsetDeleteResponse(Message, frozen=True, kw_only=True):
    """The answer: an error of the whole request, or a row for each partition."""

    API: ClassVar[str] = "OffsetDelete"
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "0+", optional=True)] = 0
    topics: Annotated[tuple[CommittedTopic, ...], wire("topics", ListOf(CommittedTopic), "0+")] = ()


__all__ = [
    "APIS",
    "BY_ID_SINCE",
    "Api",
    "CommitPartition",
    "CommitRequest",
    "CommitResponse",
    "CommitTopic",
    "CommittedPartition",
    "CommittedTopic",
    "DeletablePartition",
    "DeletableTopic",
    "DeleteGroupsRequest",
    "DeleteGroupsResponse",
    "DeletedGroup",
    "DescribeGroupsRequest",
    "DescribeGroupsResponse",
    "DescribedGroup",
    "DescribedMember",
    "FetchGroup",
    "FetchTopic",
    "FetchedGroup",
    "FetchedPartition",
    "FetchedTopic",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "JoinGroupRequest",
    "JoinGroupResponse",
    "JoinMember",
    "JoinProtocol",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "LeavingMember",
    "LeftMember",
    "ListGroupsRequest",
    "ListGroupsResponse",
    "ListedGroup",
    "OffsetCommitRequest",
    "OffsetCommitResponse",
    "OffsetDeleteRequest",
    "OffsetDeleteResponse",
    "OffsetFetchRequest",
    "OffsetFetchResponse",
    "SyncAssignment",
    "SyncGroupRequest",
    "SyncGroupResponse",
    "TopicOfOffsets",
    "TxnCommitPartition",
    "TxnCommitTopic",
    "TxnOffsetCommitRequest",
    "TxnOffsetCommitResponse",
    "carried_fields",
    "groups_of",
]


APIS: dict[str, Api] = {
    api.name: api
    for api in (
        Api("JoinGroup", 11, 0, 9, 6, JoinGroupRequest, JoinGroupResponse),
        Api("SyncGroup", 14, 0, 5, 4, SyncGroupRequest, SyncGroupResponse),
        Api("Heartbeat", 12, 0, 4, 4, HeartbeatRequest, HeartbeatResponse),
        Api("LeaveGroup", 13, 0, 5, 4, LeaveGroupRequest, LeaveGroupResponse),
        Api("OffsetCommit", 8, 0, 10, 8, OffsetCommitRequest, OffsetCommitResponse),
        Api("OffsetFetch", 9, 0, 10, 6, OffsetFetchRequest, OffsetFetchResponse),
        Api("DescribeGroups", 15, 0, 6, 5, DescribeGroupsRequest, DescribeGroupsResponse),
        Api("ListGroups", 16, 0, 5, 3, ListGroupsRequest, ListGroupsResponse),
        Api("DeleteGroups", 42, 0, 2, 2, DeleteGroupsRequest, DeleteGroupsResponse),
        Api("TxnOffsetCommit", 28, 0, 5, 3, TxnOffsetCommitRequest, TxnOffsetCommitResponse),
        Api("OffsetDelete", 47, 0, 0, 1, OffsetDeleteRequest, OffsetDeleteResponse),
    )
}

_SEVERAL_SINCE = 8
"""From this version on OffsetFetch may name several groups."""


_CARRIED: dict[tuple[type[Message], int], frozenset[str]] = {}


def carried_fields(cls: type[Message], version: int) -> frozenset[str]:
    """Return the attributes of a message class that a version has."""
    names = _CARRIED.get((cls, version))
    if names is None:
        names = frozenset(name for name, form in wire_fields(cls) if form.carried_by(version))
        _CARRIED[cls, version] = names
    return names


def carried_forms(cls: type[Message], version: int) -> Iterator[tuple[str, Wire]]:
    """Yield the fields of a message class and of its rows at a version: attribute, form."""
    for name, form in wire_fields(cls):
        if form.carried_by(version):
            yield name, form
            if isinstance(form.type, ListOf) and isinstance(form.type.item, type):
                yield from carried_forms(form.type.item, version)


def groups_of(message: Message, version: int) -> list[str] | None:
    """List the groups that a request names, in its order; None: it is about all groups."""
    match message:
        case DescribeGroupsRequest():
            return list(dict.fromkeys(message.groups))
        case ConsumerGroupDescribeRequest() | StreamsGroupDescribeRequest():
            return list(dict.fromkeys(message.group_ids))
        case DeleteGroupsRequest():
            return list(dict.fromkeys(message.groups_names))
        case ListGroupsRequest():
            return None
        case OffsetFetchRequest() if version >= _SEVERAL_SINCE:
            return list(dict.fromkeys(g.group_id for g in message.groups))
        case _:
            return [getattr(message, "group_id", "")]


def about_nothing(request: Message) -> Message:
    """Make the answer to a request that names no group at all."""
    if isinstance(request, OffsetFetchRequest):
        return OffsetFetchResponse()
    if isinstance(request, DeleteGroupsRequest):
        return DeleteGroupsResponse()
    if isinstance(request, ConsumerGroupDescribeRequest):
        return ConsumerGroupDescribeResponse()
    if isinstance(request, StreamsGroupDescribeRequest):
        return StreamsGroupDescribeResponse()
    return DescribeGroupsResponse()


def merged(messages: list[Message]) -> Message:
    """Make one answer of several groups' answers: their rows together."""
    first = messages[0]
    match first:
        case (
            DescribeGroupsResponse()
            | ConsumerGroupDescribeResponse()
            | StreamsGroupDescribeResponse()
            | ListGroupsResponse()
            | OffsetFetchResponse()
        ):
            rows: Any = tuple(row for m in messages for row in getattr(m, "groups", ()))
            return replace(first, groups=rows)
        case DeleteGroupsResponse():
            deleted: Any = tuple(row for m in messages for row in getattr(m, "results", ()))
            return replace(first, results=deleted)
        case _:
            return first
