"""OffsetCommit and OffsetFetch: the messages about offsets.

Each class declares the shape of every version; see `fencepost.model.messages.messages`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fencepost.model.messages.shapes import Message
from fencepost.model.messages.wire_form import BOOL, ERROR, INT32, INT64, STRING, ListOf, wire


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
    """A commit.  Kafka's definition calls the generation `generationIdOrMemberEpoch`."""

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
    """The answer to a commit: a row for each partition; there is no error at top level."""

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
    """A fetch.  No version has an instance id: a zombie may read offsets, but not write them."""

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
    """The answer to a fetch.  Versions 0-7 answer one group, from 8 on several."""

    API: ClassVar[str] = "OffsetFetch"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "3+", default=0, optional=True)
    topics: tuple[FetchedTopic, ...] = wire("topics", ListOf(FetchedTopic), "0-7", default=())
    error_code: int | str = wire("errorCode", ERROR, "2-7", default=0)
    groups: tuple[FetchedGroup, ...] = wire("groups", ListOf(FetchedGroup), "8+", default=())
