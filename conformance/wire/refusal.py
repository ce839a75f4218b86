"""Make the answer to a request that is refused with any error code.

Where an API has a code for the whole answer, that one is used, else one in each row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from fencepost.conformance.wire.codec import RequestFrame
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from fencepost.model.messages.messages import (
    CommittedPartition,
    CommittedTopic,
    CommitTopic,
    DeletedGroup,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    FetchTopic,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnCommitTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.streams_messages import (
    DescribedStreamsGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

Json = dict[str, Any]


class Rows(NamedTuple):
    """Places of the topics and partitions in a request, and in its answer."""

    topics: str
    partitions: str
    number: str
    answered_topics: str
    answered_partitions: str
    answered_number: str


_ROWS = {
    "Produce": Rows(
        "topicData", "partitionData", "index", "responses", "partitionResponses", "index"
    ),
    "Fetch": Rows("topics", "partitions", "partition", "responses", "partitions", "partitionIndex"),
    "ListOffsets": Rows(
        "topics", "partitions", "partitionIndex", "topics", "partitions", "partitionIndex"
    ),
    "OffsetForLeaderEpoch": Rows(
        "topics", "partitions", "partition", "topics", "partitions", "partition"
    ),
}
_FETCH_WHOLE_SINCE = 7
_FETCH_CODE_SINCE, _SEVERAL_SINCE = 2, 8
"""OffsetFetch has a code of its own, and may name several groups."""
_OF_OFFSETS = frozenset({3, 88})
"""UNKNOWN_TOPIC_OR_PARTITION, UNSTABLE_OFFSET_COMMIT: in OffsetFetch they are of a partition."""
_NAMES = ("name", "topic", "topicId")
_DEFAULTS: Mapping[str, Json] = {
    "Produce": {"baseOffset": -1},
    "Fetch": {"highWatermark": -1, "abortedTransactions": None, "records": ""},
}

REFUSABLE = frozenset({*_ROWS, "ApiVersions", "FindCoordinator", "InitProducerId", "Metadata"})
"""The APIs besides the groups' that can be refused."""


def refused_rows(request: RequestFrame, code: int) -> Json | None:
    """Return the refusal of a request about partitions; None for one about something else."""
    rows = _ROWS.get(request.api)
    if rows is None:
        return None
    if request.api == "Fetch" and request.version >= _FETCH_WHOLE_SINCE:
        return {"errorCode": code, "sessionId": 0, rows.answered_topics: []}
    default = _DEFAULTS.get(request.api, {})

    def topic(row: Mapping[str, Any]) -> Json:
        named = {key: row[key] for key in _NAMES if key in row}
        parts = [
            {rows.answered_number: part[rows.number], "errorCode": code, **default}
            for part in row[rows.partitions]
        ]
        return {**named, rows.answered_partitions: parts}

    return {rows.answered_topics: [topic(row) for row in request.body[rows.topics]]}


def recoded(body: Any, code: int) -> Any:
    """Return the body with this code wherever there is one."""
    if isinstance(body, list):
        return [recoded(row, code) for row in body]
    if not isinstance(body, dict):
        return body
    inner = {key: recoded(value, code) for key, value in body.items()}
    return {**inner, "errorCode": code} if "errorCode" in inner else inner


def refused_message(message: Message, version: int, code: int) -> Message:
    """Return the answer to a request about groups.  Raises TypeError for one of another API."""
    match message:
        case JoinGroupRequest():
            return JoinGroupResponse(error_code=code, member_id=message.member_id)
        case SyncGroupRequest():
            return SyncGroupResponse(error_code=code)
        case HeartbeatRequest():
            return HeartbeatResponse(error_code=code)
        case LeaveGroupRequest():
            return LeaveGroupResponse(error_code=code)
        case OffsetCommitRequest():
            return OffsetCommitResponse(topics=tuple(_committed(t, code) for t in message.topics))
        case TxnOffsetCommitRequest():
            rows = tuple(_committed(t, code) for t in message.topics)
            return TxnOffsetCommitResponse(topics=rows)
        case OffsetFetchRequest() if version >= _SEVERAL_SINCE:
            groups = (
                FetchedGroup(group_id=g.group_id, topics=(), error_code=code)
                if code not in _OF_OFFSETS
                else FetchedGroup(group_id=g.group_id, topics=_fetched_rows(g.topics, code))
                for g in message.groups
            )
            return OffsetFetchResponse(groups=tuple(groups))
        case OffsetFetchRequest() if version >= _FETCH_CODE_SINCE and code not in _OF_OFFSETS:
            return OffsetFetchResponse(error_code=code)
        case OffsetFetchRequest():
            return OffsetFetchResponse(topics=_fetched_rows(message.topics, code))
        case DescribeGroupsRequest():
            described = (DescribedGroup(group_id=g, error_code=code) for g in message.groups)
            return DescribeGroupsResponse(groups=tuple(described))
        case OffsetDeleteRequest():
            return OffsetDeleteResponse(error_code=code)
        case ConsumerGroupHeartbeatRequest():
            return ConsumerGroupHeartbeatResponse(error_code=code)
        case ConsumerGroupDescribeRequest():
            consumers = (
                DescribedConsumerGroup(group_id=g, error_code=code) for g in message.group_ids
            )
            return ConsumerGroupDescribeResponse(groups=tuple(consumers))
        case StreamsGroupDescribeRequest():
            streams = (
                DescribedStreamsGroup(group_id=g, error_code=code) for g in message.group_ids
            )
            return StreamsGroupDescribeResponse(groups=tuple(streams))
        case DeleteGroupsRequest():
            deleted = (DeletedGroup(group_id=g, error_code=code) for g in message.groups_names)
            return DeleteGroupsResponse(results=tuple(deleted))
        case ListGroupsRequest():
            return ListGroupsResponse(error_code=code)
        case _:
            raise TypeError(f"{message.API} is no API of groups")


def _committed(topic: CommitTopic | TxnCommitTopic, code: int) -> CommittedTopic:
    rows = (
        CommittedPartition(partition_index=p.partition_index, error_code=code)
        for p in topic.partitions
    )
    if isinstance(topic, TxnCommitTopic):
        return CommittedTopic(name=topic.name, partitions=tuple(rows))
    return CommittedTopic(name=topic.name, topic_id=topic.topic_id, partitions=tuple(rows))


def _fetched_rows(topics: Sequence[FetchTopic] | None, code: int) -> tuple[FetchedTopic, ...]:
    return tuple(_fetched(topic, code) for topic in topics or ())


def _fetched(topic: FetchTopic, code: int) -> FetchedTopic:
    rows = (
        FetchedPartition(partition_index=number, committed_offset=-1, error_code=code)
        for number in topic.partition_indexes
    )
    return FetchedTopic(name=topic.name, topic_id=topic.topic_id, partitions=tuple(rows))


class Code(IntEnum):
    """A code of Kafka's protocol."""

    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    INVALID_GROUP_ID = 24
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    UNSTABLE_OFFSET_COMMIT = 88
    PRODUCER_FENCED = 90
    UNKNOWN_TOPIC_ID = 100


OF_FETCH_SESSIONS = frozenset({Code.FETCH_SESSION_ID_NOT_FOUND, Code.INVALID_FETCH_SESSION_EPOCH})
"""Errors of a whole Fetch; all others are of its partitions."""
