"""Define the messages of the consumer protocol: ConsumerGroupHeartbeat and ConsumerGroupDescribe.

Topics have ids here.  A null field of a heartbeat means: as before.

Source: Kafka's message definitions up to 4.4.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from fencepost.model.messages.shapes import (
    BOOL,
    ERROR,
    INT8,
    INT32,
    STRING,
    UUID,
    Api,
    ListOf,
    Message,
    wire,
)


class TopicPartitions(Message, frozen=True, kw_only=True):
    """Some partitions of one topic."""

    topic_id: Annotated[str, wire("topicId", UUID, "0+")]
    partitions: Annotated[tuple[int, ...], wire("partitions", ListOf(INT32), "0+")]


class ConsumerGroupHeartbeatRequest(Message, frozen=True, kw_only=True):
    """A heartbeat.  Epoch 0 joins, -1 leaves for good, -2 leaves for a while.

    `rebalance_timeout_ms`: -1 means as before.  `topic_partitions`: those that the member owns.
    """

    API: ClassVar[str] = "ConsumerGroupHeartbeat"
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    member_epoch: Annotated[int, wire("memberEpoch", INT32, "0+")]
    instance_id: Annotated[str | None, wire("instanceId", STRING, "0+", nullable="0+")] = None
    rack_id: Annotated[str | None, wire("rackId", STRING, "0+", nullable="0+")] = None
    rebalance_timeout_ms: Annotated[int, wire("rebalanceTimeoutMs", INT32, "0+")] = -1
    subscribed_topic_names: Annotated[
        tuple[str, ...] | None,
        wire("subscribedTopicNames", ListOf(STRING), "0+", nullable="0+"),
    ] = None
    subscribed_topic_regex: Annotated[
        str | None, wire("subscribedTopicRegex", STRING, "1+", nullable="1+")
    ] = None
    server_assignor: Annotated[str | None, wire("serverAssignor", STRING, "0+", nullable="0+")] = (
        None
    )
    topic_partitions: Annotated[
        tuple[TopicPartitions, ...] | None,
        wire("topicPartitions", ListOf(TopicPartitions), "0+", nullable="0+"),
    ] = None


_LONE_MEMBER = "ZmVuY2Vwb3N0LW1lbWJlcg"


def lone_join(group_id: str, version: int) -> ConsumerGroupHeartbeatRequest:
    """Return the join of the only member of a group, to which nothing can be assigned.

    Its topic doesn't exist, so that a timer alone ends its membership.  In version 0 the
    coordinator makes its id.
    """
    return ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id=_LONE_MEMBER if version > 0 else "",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=("no-topic",),
        topic_partitions=(),
    )


class ConsumerAssignment(Message, frozen=True, kw_only=True):
    """The partitions that a member may own."""

    topic_partitions: Annotated[
        tuple[TopicPartitions, ...], wire("topicPartitions", ListOf(TopicPartitions), "0+")
    ] = ()


class ConsumerGroupHeartbeatResponse(Message, frozen=True, kw_only=True):
    """The answer to a heartbeat.  `assignment` null: as before."""

    API: ClassVar[str] = "ConsumerGroupHeartbeat"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "0+", optional=True)] = 0
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    error_message: Annotated[
        str | None, wire("errorMessage", STRING, "0+", nullable="0+", optional=True)
    ] = None
    member_id: Annotated[str | None, wire("memberId", STRING, "0+", nullable="0+")] = None
    member_epoch: Annotated[int, wire("memberEpoch", INT32, "0+")] = 0
    heartbeat_interval_ms: Annotated[int, wire("heartbeatIntervalMs", INT32, "0+")] = 0
    assignment: Annotated[
        ConsumerAssignment | None, wire("assignment", ConsumerAssignment, "0+", nullable="0+")
    ] = None


class ConsumerGroupDescribeRequest(Message, frozen=True, kw_only=True):
    """A request to describe groups of this protocol, several at once."""

    API: ClassVar[str] = "ConsumerGroupDescribe"
    group_ids: Annotated[tuple[str, ...], wire("groupIds", ListOf(STRING), "0+")]
    include_authorized_operations: Annotated[
        bool, wire("includeAuthorizedOperations", BOOL, "0+")
    ] = False


class DescribedTopic(Message, frozen=True, kw_only=True):
    """Some partitions of one topic, with its name."""

    topic_id: Annotated[str, wire("topicId", UUID, "0+")]
    topic_name: Annotated[str, wire("topicName", STRING, "0+")]
    partitions: Annotated[tuple[int, ...], wire("partitions", ListOf(INT32), "0+")]


class DescribedAssignment(Message, frozen=True, kw_only=True):
    """An assignment, with the names of topics."""

    topic_partitions: Annotated[
        tuple[DescribedTopic, ...], wire("topicPartitions", ListOf(DescribedTopic), "0+")
    ] = ()


class DescribedConsumer(Message, frozen=True, kw_only=True):
    """A member of a described group.  `member_type`: 0 classic, 1 of this protocol."""

    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    instance_id: Annotated[str | None, wire("instanceId", STRING, "0+", nullable="0+")] = None
    rack_id: Annotated[str | None, wire("rackId", STRING, "0+", nullable="0+")] = None
    member_epoch: Annotated[int, wire("memberEpoch", INT32, "0+")]
    client_id: Annotated[str, wire("clientId", STRING, "0+")] = ""
    client_host: Annotated[str, wire("clientHost", STRING, "0+")] = ""
    subscribed_topic_names: Annotated[
        tuple[str, ...], wire("subscribedTopicNames", ListOf(STRING), "0+")
    ] = ()
    subscribed_topic_regex: Annotated[
        str | None, wire("subscribedTopicRegex", STRING, "0+", nullable="0+")
    ] = None
    assignment: Annotated[DescribedAssignment, wire("assignment", DescribedAssignment, "0+")] = (
        DescribedAssignment()
    )
    target_assignment: Annotated[
        DescribedAssignment, wire("targetAssignment", DescribedAssignment, "0+")
    ] = DescribedAssignment()
    member_type: Annotated[int, wire("memberType", INT8, "1+", lossy=True)] = -1


class DescribedConsumerGroup(Message, frozen=True, kw_only=True):
    """One group's row."""

    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    error_message: Annotated[
        str | None, wire("errorMessage", STRING, "0+", nullable="0+", optional=True)
    ] = None
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    group_state: Annotated[str, wire("groupState", STRING, "0+")] = ""
    group_epoch: Annotated[int, wire("groupEpoch", INT32, "0+")] = 0
    assignment_epoch: Annotated[int, wire("assignmentEpoch", INT32, "0+")] = 0
    assignor_name: Annotated[str, wire("assignorName", STRING, "0+")] = ""
    members: Annotated[
        tuple[DescribedConsumer, ...], wire("members", ListOf(DescribedConsumer), "0+")
    ] = ()
    authorized_operations: Annotated[int, wire("authorizedOperations", INT32, "0+")] = -(2**31)


class ConsumerGroupDescribeResponse(Message, frozen=True, kw_only=True):
    """The answer: a row for each group of the request."""

    API: ClassVar[str] = "ConsumerGroupDescribe"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "0+", optional=True)] = 0
    groups: Annotated[
        tuple[DescribedConsumerGroup, ...], wire("groups", ListOf(DescribedConsumerGroup), "0+")
    ] = ()


CONSUMER_APIS: dict[str, Api] = {
    api.name: api
    for api in (
        Api(
            "ConsumerGroupHeartbeat",
            68,
            0,
            1,
            0,
            ConsumerGroupHeartbeatRequest,
            ConsumerGroupHeartbeatResponse,
        ),
        Api(
            "ConsumerGroupDescribe",
            69,
            0,
            1,
            0,
            ConsumerGroupDescribeRequest,
            ConsumerGroupDescribeResponse,
        ),
    )
}
"""The APIs that only this protocol has."""
