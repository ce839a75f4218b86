"""OffsetCommit and OffsetFetch: the messages about offsets.

Each class declares the shape of every version; see `fencepost.model.messages.messages`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from fencepost.model.messages.shapes import Message
from fencepost.model.messages.wire_form import BOOL, ERROR, INT32, INT64, STRING, ListOf, wire


class CommitPartition(Message, frozen=True, kw_only=True):
    """One partition's offset to store."""

    partition_index: Annotated[int, wire("partitionIndex", INT32, "0+")]
    committed_offset: Annotated[int, wire("committedOffset", INT64, "0+")]
    committed_leader_epoch: Annotated[int, wire("committedLeaderEpoch", INT32, "6+")] = -1
    commit_timestamp: Annotated[int, wire("commitTimestamp", INT64, "1")] = -1
    committed_metadata: Annotated[
        str | None, wire("committedMetadata", STRING, "0+", nullable="0+")
    ] = ""


class CommitTopic(Message, frozen=True, kw_only=True):
    """One topic's partitions to commit."""

    name: Annotated[str, wire("name", STRING, "0+")]
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


class CommittedTopic(Message, frozen=True, kw_only=True):
    """The outcome for one topic."""

    name: Annotated[str, wire("name", STRING, "0+")]
    partitions: Annotated[
        tuple[CommittedPartition, ...], wire("partitions", ListOf(CommittedPartition), "0+")
    ]


class OffsetCommitResponse(Message, frozen=True, kw_only=True):
    """The answer to a commit: a row for each partition; there is no error at top level."""

    API: ClassVar[str] = "OffsetCommit"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "3+", optional=True)] = 0
    topics: Annotated[tuple[CommittedTopic, ...], wire("topics", ListOf(CommittedTopic), "0+")] = ()


class FetchTopic(Message, frozen=True, kw_only=True):
    """One topic's partitions whose offsets are asked for."""

    name: Annotated[str, wire("name", STRING, "0+")]
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


class FetchedTopic(Message, frozen=True, kw_only=True):
    """One topic's stored offsets."""

    name: Annotated[str, wire("name", STRING, "0+")]
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
