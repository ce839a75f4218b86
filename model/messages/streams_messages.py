"""Define the messages of streams groups: StreamsGroupHeartbeat and StreamsGroupDescribe.

Tasks take the place of partitions: a subtopology, and a partition of its source topics.  The rules
read the topology, the active tasks, the process, its rack and its tags; the other fields are of
Kafka Streams, for its state and its interactive queries.

Source: Kafka's message definitions, version 0 of 4.4.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from fencepost.model.messages.shapes import (
    BOOL,
    ERROR,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    Api,
    ListOf,
    Message,
    wire,
)


class KeyValue(Message, frozen=True, kw_only=True):
    """A tag of a client, or a setting of a topic."""

    key: Annotated[str, wire("key", STRING, "0+")]
    value: Annotated[str, wire("value", STRING, "0+")]


class TopicInfo(Message, frozen=True, kw_only=True):
    """A topic that the coordinator asks the client to make."""

    name: Annotated[str, wire("name", STRING, "0+")]
    partitions: Annotated[int, wire("partitions", INT32, "0+")] = 0
    replication_factor: Annotated[int, wire("replicationFactor", INT16, "0+")] = 0
    topic_configs: Annotated[
        tuple[KeyValue, ...], wire("topicConfigs", ListOf(KeyValue), "0+")
    ] = ()


class CopartitionGroup(Message, frozen=True, kw_only=True):
    """Source topics that need equally many partitions, by their places in the subtopology."""

    source_topics: Annotated[tuple[int, ...], wire("sourceTopics", ListOf(INT16), "0+")] = ()
    source_topic_regex: Annotated[
        tuple[int, ...], wire("sourceTopicRegex", ListOf(INT16), "0+")
    ] = ()
    repartition_source_topics: Annotated[
        tuple[int, ...], wire("repartitionSourceTopics", ListOf(INT16), "0+")
    ] = ()


class Subtopology(Message, frozen=True, kw_only=True):
    """A part of the topology, and the topics that it reads and writes."""

    subtopology_id: Annotated[str, wire("subtopologyId", STRING, "0+")]
    source_topics: Annotated[tuple[str, ...], wire("sourceTopics", ListOf(STRING), "0+")] = ()
    source_topic_regex: Annotated[
        tuple[str, ...], wire("sourceTopicRegex", ListOf(STRING), "0+")
    ] = ()
    state_changelog_topics: Annotated[
        tuple[TopicInfo, ...], wire("stateChangelogTopics", ListOf(TopicInfo), "0+")
    ] = ()
    repartition_sink_topics: Annotated[
        tuple[str, ...], wire("repartitionSinkTopics", ListOf(STRING), "0+")
    ] = ()
    repartition_source_topics: Annotated[
        tuple[TopicInfo, ...], wire("repartitionSourceTopics", ListOf(TopicInfo), "0+")
    ] = ()
    copartition_groups: Annotated[
        tuple[CopartitionGroup, ...], wire("copartitionGroups", ListOf(CopartitionGroup), "0+")
    ] = ()


class Topology(Message, frozen=True, kw_only=True):
    """The topology of an application."""

    epoch: Annotated[int, wire("epoch", INT32, "0+")] = 0
    subtopologies: Annotated[
        tuple[Subtopology, ...], wire("subtopologies", ListOf(Subtopology), "0+")
    ] = ()


class TaskIds(Message, frozen=True, kw_only=True):
    """Some tasks of one subtopology."""

    subtopology_id: Annotated[str, wire("subtopologyId", STRING, "0+")]
    partitions: Annotated[tuple[int, ...], wire("partitions", ListOf(INT32), "0+")] = ()


class TaskOffset(Message, frozen=True, kw_only=True):
    """The offset that a task has reached in its changelogs."""

    subtopology_id: Annotated[str, wire("subtopologyId", STRING, "0+")]
    partition: Annotated[int, wire("partition", INT32, "0+")]
    offset: Annotated[int, wire("offset", INT64, "0+")]


class Endpoint(Message, frozen=True, kw_only=True):
    """An address for interactive queries."""

    host: Annotated[str, wire("host", STRING, "0+")]
    port: Annotated[int, wire("port", UINT16, "0+")]


_TASKS = ListOf(TaskIds)


class StreamsGroupHeartbeatRequest(Message, frozen=True, kw_only=True):
    """A heartbeat of a streams member; the epochs mean what they mean in the consumer protocol."""

    API: ClassVar[str] = "StreamsGroupHeartbeat"
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    member_epoch: Annotated[int, wire("memberEpoch", INT32, "0+")]
    endpoint_information_epoch: Annotated[int, wire("endpointInformationEpoch", INT32, "0+")] = 0
    instance_id: Annotated[str | None, wire("instanceId", STRING, "0+", nullable="0+")] = None
    rack_id: Annotated[str | None, wire("rackId", STRING, "0+", nullable="0+")] = None
    rebalance_timeout_ms: Annotated[int, wire("rebalanceTimeoutMs", INT32, "0+")] = -1
    topology: Annotated[Topology | None, wire("topology", Topology, "0+", nullable="0+")] = None
    active_tasks: Annotated[
        tuple[TaskIds, ...] | None, wire("activeTasks", _TASKS, "0+", nullable="0+")
    ] = None
    standby_tasks: Annotated[
        tuple[TaskIds, ...] | None, wire("standbyTasks", _TASKS, "0+", nullable="0+")
    ] = None
    warmup_tasks: Annotated[
        tuple[TaskIds, ...] | None, wire("warmupTasks", _TASKS, "0+", nullable="0+")
    ] = None
    process_id: Annotated[str | None, wire("processId", STRING, "0+", nullable="0+")] = None
    user_endpoint: Annotated[
        Endpoint | None, wire("userEndpoint", Endpoint, "0+", nullable="0+")
    ] = None
    client_tags: Annotated[
        tuple[KeyValue, ...] | None, wire("clientTags", ListOf(KeyValue), "0+", nullable="0+")
    ] = None
    task_offsets: Annotated[
        tuple[TaskOffset, ...] | None, wire("taskOffsets", ListOf(TaskOffset), "0+", nullable="0+")
    ] = None
    task_end_offsets: Annotated[
        tuple[TaskOffset, ...] | None,
        wire("taskEndOffsets", ListOf(TaskOffset), "0+", nullable="0+"),
    ] = None
    shutdown_application: Annotated[bool, wire("shutdownApplication", BOOL, "0+")] = False


class Status(Message, frozen=True, kw_only=True):
    """A hindrance of the group, such as a source topic that is missing."""

    status_code: Annotated[int, wire("statusCode", INT8, "0+")]
    status_detail: Annotated[str, wire("statusDetail", STRING, "0+")]


class QueriedPartitions(Message, frozen=True, kw_only=True):
    """Some partitions of one topic."""

    topic: Annotated[str, wire("topic", STRING, "0+")]
    partitions: Annotated[tuple[int, ...], wire("partitions", ListOf(INT32), "0+")] = ()


class EndpointToPartitions(Message, frozen=True, kw_only=True):
    """The partitions that one endpoint can be asked about."""

    user_endpoint: Annotated[Endpoint, wire("userEndpoint", Endpoint, "0+")]
    active_partitions: Annotated[
        tuple[QueriedPartitions, ...], wire("activePartitions", ListOf(QueriedPartitions), "0+")
    ] = ()
    standby_partitions: Annotated[
        tuple[QueriedPartitions, ...], wire("standbyPartitions", ListOf(QueriedPartitions), "0+")
    ] = ()


class StreamsGroupHeartbeatResponse(Message, frozen=True, kw_only=True):
    """The answer to a heartbeat.  Tasks null: as before."""

    API: ClassVar[str] = "StreamsGroupHeartbeat"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "0+", optional=True)] = 0
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    error_message: Annotated[
        str | None, wire("errorMessage", STRING, "0+", nullable="0+", optional=True)
    ] = None
    member_id: Annotated[str, wire("memberId", STRING, "0+")] = ""
    member_epoch: Annotated[int, wire("memberEpoch", INT32, "0+")] = 0
    heartbeat_interval_ms: Annotated[int, wire("heartbeatIntervalMs", INT32, "0+")] = 0
    acceptable_recovery_lag: Annotated[int, wire("acceptableRecoveryLag", INT32, "0+")] = 0
    task_offset_interval_ms: Annotated[int, wire("taskOffsetIntervalMs", INT32, "0+")] = 0
    status: Annotated[
        tuple[Status, ...] | None, wire("status", ListOf(Status), "0+", nullable="0+")
    ] = ()
    active_tasks: Annotated[
        tuple[TaskIds, ...] | None, wire("activeTasks", _TASKS, "0+", nullable="0+")
    ] = None
    standby_tasks: Annotated[
        tuple[TaskIds, ...] | None, wire("standbyTasks", _TASKS, "0+", nullable="0+")
    ] = None
    warmup_tasks: Annotated[
        tuple[TaskIds, ...] | None, wire("warmupTasks", _TASKS, "0+", nullable="0+")
    ] = None
    endpoint_information_epoch: Annotated[int, wire("endpointInformationEpoch", INT32, "0+")] = 0
    partitions_by_user_endpoint: Annotated[
        tuple[EndpointToPartitions, ...] | None,
        wire("partitionsByUserEndpoint", ListOf(EndpointToPartitions), "0+", nullable="0+"),
    ] = None


class StreamsGroupDescribeRequest(Message, frozen=True, kw_only=True):
    """A request to describe streams groups, several at once."""

    API: ClassVar[str] = "StreamsGroupDescribe"
    group_ids: Annotated[tuple[str, ...], wire("groupIds", ListOf(STRING), "0+")]
    include_authorized_operations: Annotated[
        bool, wire("includeAuthorizedOperations", BOOL, "0+")
    ] = False


class DescribedSubtopology(Message, frozen=True, kw_only=True):
    """A part of the topology of a described group."""

    subtopology_id: Annotated[str, wire("subtopologyId", STRING, "0+")]
    source_topics: Annotated[tuple[str, ...], wire("sourceTopics", ListOf(STRING), "0+")] = ()
    repartition_sink_topics: Annotated[
        tuple[str, ...], wire("repartitionSinkTopics", ListOf(STRING), "0+")
    ] = ()
    state_changelog_topics: Annotated[
        tuple[TopicInfo, ...], wire("stateChangelogTopics", ListOf(TopicInfo), "0+")
    ] = ()
    repartition_source_topics: Annotated[
        tuple[TopicInfo, ...], wire("repartitionSourceTopics", ListOf(TopicInfo), "0+")
    ] = ()


class DescribedTopology(Message, frozen=True, kw_only=True):
    """The topology of a described group; its parts are null while a source topic is missing."""

    epoch: Annotated[int, wire("epoch", INT32, "0+")] = 0
    subtopologies: Annotated[
        tuple[DescribedSubtopology, ...] | None,
        wire("subtopologies", ListOf(DescribedSubtopology), "0+", nullable="0+"),
    ] = None


class DescribedTasks(Message, frozen=True, kw_only=True):
    """The tasks of a member, of each kind."""

    active_tasks: Annotated[tuple[TaskIds, ...], wire("activeTasks", _TASKS, "0+")] = ()
    standby_tasks: Annotated[tuple[TaskIds, ...], wire("standbyTasks", _TASKS, "0+")] = ()
    warmup_tasks: Annotated[tuple[TaskIds, ...], wire("warmupTasks", _TASKS, "0+")] = ()


class DescribedStreamsMember(Message, frozen=True, kw_only=True):
    """A member of a described group."""

    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    member_epoch: Annotated[int, wire("memberEpoch", INT32, "0+")]
    instance_id: Annotated[str | None, wire("instanceId", STRING, "0+", nullable="0+")] = None
    rack_id: Annotated[str | None, wire("rackId", STRING, "0+", nullable="0+")] = None
    client_id: Annotated[str, wire("clientId", STRING, "0+")] = ""
    client_host: Annotated[str, wire("clientHost", STRING, "0+")] = ""
    topology_epoch: Annotated[int, wire("topologyEpoch", INT32, "0+")] = 0
    process_id: Annotated[str, wire("processId", STRING, "0+")] = ""
    user_endpoint: Annotated[
        Endpoint | None, wire("userEndpoint", Endpoint, "0+", nullable="0+")
    ] = None
    client_tags: Annotated[tuple[KeyValue, ...], wire("clientTags", ListOf(KeyValue), "0+")] = ()
    task_offsets: Annotated[
        tuple[TaskOffset, ...], wire("taskOffsets", ListOf(TaskOffset), "0+")
    ] = ()
    task_end_offsets: Annotated[
        tuple[TaskOffset, ...], wire("taskEndOffsets", ListOf(TaskOffset), "0+")
    ] = ()
    assignment: Annotated[DescribedTasks, wire("assignment", DescribedTasks, "0+")] = (
        DescribedTasks()
    )
    target_assignment: Annotated[DescribedTasks, wire("targetAssignment", DescribedTasks, "0+")] = (
        DescribedTasks()
    )
    is_classic: Annotated[bool, wire("isClassic", BOOL, "0+")] = False


class DescribedStreamsGroup(Message, frozen=True, kw_only=True):
    """One group's row; the topology is null beside an error."""

    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    error_message: Annotated[
        str | None, wire("errorMessage", STRING, "0+", nullable="0+", optional=True)
    ] = None
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    group_state: Annotated[str, wire("groupState", STRING, "0+")] = ""
    group_epoch: Annotated[int, wire("groupEpoch", INT32, "0+")] = 0
    assignment_epoch: Annotated[int, wire("assignmentEpoch", INT32, "0+")] = 0
    topology: Annotated[
        DescribedTopology | None, wire("topology", DescribedTopology, "0+", nullable="0+")
    ] = None
    members: Annotated[
        tuple[DescribedStreamsMember, ...], wire("members", ListOf(DescribedStreamsMember), "0+")
    ] = ()
    authorized_operations: Annotated[int, wire("authorizedOperations", INT32, "0+")] = -(2**31)


class StreamsGroupDescribeResponse(Message, frozen=True, kw_only=True):
    """The answer: a row for each group of the request."""

    API: ClassVar[str] = "StreamsGroupDescribe"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "0+", optional=True)] = 0
    groups: Annotated[
        tuple[DescribedStreamsGroup, ...], wire("groups", ListOf(DescribedStreamsGroup), "0+")
    ] = ()


STREAMS_APIS: dict[str, Api] = {
    api.name: api
    for api in (
        Api(
            "StreamsGroupHeartbeat",
            88,
            0,
            0,
            0,
            StreamsGroupHeartbeatRequest,
            StreamsGroupHeartbeatResponse,
        ),
        Api(
            "StreamsGroupDescribe",
            89,
            0,
            0,
            0,
            StreamsGroupDescribeRequest,
            StreamsGroupDescribeResponse,
        ),
    )
}
"""The APIs of streams groups alone."""
