"""Define the messages of streams groups: StreamsGroupHeartbeat, as far as a rule reads them.

Tasks take the place of partitions: a subtopology, and a partition of its source topics.  Fields of
interactive queries, offsets of tasks, tags and statuses are left out, since no rule reads them; so
these messages don't go over the wire.

Source: Kafka's message definitions, version 0 of 4.4.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from fencepost.model.messages.shapes import ERROR, INT32, STRING, ListOf, Message, wire


class TaskIds(Message, frozen=True, kw_only=True):
    """Some tasks of one subtopology."""

    subtopology_id: Annotated[str, wire("subtopologyId", STRING, "0+")]
    partitions: Annotated[tuple[int, ...], wire("partitions", ListOf(INT32), "0+")] = ()


class Subtopology(Message, frozen=True, kw_only=True):
    """A part of the topology, and the topics that it reads."""

    subtopology_id: Annotated[str, wire("subtopologyId", STRING, "0+")]
    source_topics: Annotated[tuple[str, ...], wire("sourceTopics", ListOf(STRING), "0+")] = ()


class Topology(Message, frozen=True, kw_only=True):
    """The topology of an application."""

    epoch: Annotated[int, wire("epoch", INT32, "0+")]
    subtopologies: Annotated[
        tuple[Subtopology, ...], wire("subtopologies", ListOf(Subtopology), "0+")
    ] = ()


_TASKS = ListOf(TaskIds)


class StreamsGroupHeartbeatRequest(Message, frozen=True, kw_only=True):
    """A heartbeat of a streams member; the epochs mean what they mean in the consumer protocol."""

    API: ClassVar[str] = "StreamsGroupHeartbeat"
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    member_epoch: Annotated[int, wire("memberEpoch", INT32, "0+")]
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
    active_tasks: Annotated[
        tuple[TaskIds, ...] | None, wire("activeTasks", _TASKS, "0+", nullable="0+")
    ] = None
