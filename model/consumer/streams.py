"""Handle streams groups (KIP-1071) by the tables of the consumer protocol.

A task is a partition of a subtopology, and a subtopology is like a topic: its name in a group is
its id, and it has as many tasks as the largest of its source topics has partitions.  A group has
tasks once all source topics exist.  What an assignor reads of a member (its process, rack and tags)
is its subscription: another one is a change.

The topology is the group's: it is that of its first join, and no join may bring another one.
"""

from __future__ import annotations

from enum import Enum
from functools import partial

import msgspec
from msgspec.structs import replace

from fencepost.model.consumer import features, handlers
from fencepost.model.consumer.cells import COLUMNS
from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effect_needs import STEPS
from fencepost.model.consumer.group import ConsumerGroup, GroupState
from fencepost.model.consumer.topics import partitions_in, rows_of
from fencepost.model.consumer.vocabulary import BEAT_TABLE, JOIN_TABLE
from fencepost.model.machine import Machine
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedAssignment,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedTopic,
)
from fencepost.model.messages.messages import ListGroupsRequest
from fencepost.model.messages.shapes import NO_UUID, Message
from fencepost.model.messages.streams_messages import (
    DescribedStreamsGroup,
    DescribedStreamsMember,
    DescribedSubtopology,
    DescribedTasks,
    DescribedTopology,
    KeyValue,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskIds,
    Topology,
)
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.protocol import Protocol
from fencepost.model.table.expr import Feature
from fencepost.model.table.shared_features import Availability
from fencepost.model.work import Incoming, Outcome, Span


class Tasks(Enum):
    """Check of the tasks that a heartbeat names.

    PARTIAL: it names tasks of some kinds and says nothing of the others, or brings a topology.
    FOREIGN: it names a task that the topology doesn't have.
    """

    COMPLETE = "complete"
    PARTIAL = "partial"
    FOREIGN = "foreign"


OTHER_TOPOLOGY = Feature(
    "other topology", (False, True), "whether the topology is another one than the group's"
)
TASKS = Feature("tasks", tuple(Tasks), "the tasks of the request")


class _Profile(msgspec.Struct, array_like=True):
    """The fields of a member that an assignor reads."""

    process_id: str = ""
    rack_id: str = ""
    tags: tuple[tuple[str, str], ...] = ()


def _profile(group: ConsumerGroup | None, message: StreamsGroupHeartbeatRequest) -> str | None:
    """Return the profile of a heartbeat's sender, as text; null fields are as before.

    None: it says nothing of it.
    """
    tags = message.client_tags
    if (message.process_id, message.rack_id, tags) == (None, None, None) and message.member_epoch:
        return None
    before = features.compared(group, message)
    old = msgspec.json.decode(before.regex, type=_Profile) if before is not None else _Profile()
    new = _Profile(
        old.process_id if message.process_id is None else message.process_id,
        old.rack_id if message.rack_id is None else message.rack_id,
        old.tags if tags is None else tuple(sorted((tag.key, tag.value) for tag in tags)),
    )
    return msgspec.json.encode(new).decode()


def _in_order(topology: Topology | None) -> Topology | None:
    """Return a topology with its parts in order of their ids, which means nothing."""
    if topology is None:
        return None
    parts = sorted(topology.subtopologies, key=lambda part: part.subtopology_id)
    return replace(topology, subtopologies=tuple(parts))


def _names(topology: Topology | None) -> tuple[str, ...]:
    return () if topology is None else tuple(p.subtopology_id for p in topology.subtopologies)


_KINDS = 3
"""The number of kinds of tasks: active ones, standbys and warm-ups."""


def _named_tasks(message: StreamsGroupHeartbeatRequest) -> list[tuple[TaskIds, ...]]:
    """Return the tasks of each kind that a heartbeat names."""
    kinds = message.active_tasks, message.standby_tasks, message.warmup_tasks
    return [tasks for tasks in kinds if tasks is not None]


def _owned(message: StreamsGroupHeartbeatRequest) -> tuple[TaskIds, ...] | None:
    """Return the tasks of which a heartbeat says that its sender owns them; None: it doesn't say.

    A join must say that it owns nothing of any kind, and give the topology.
    """
    if message.member_epoch != 0:
        return message.active_tasks
    named = _named_tasks(message)
    if message.topology is None or len(named) < _KINDS:
        return None
    return tuple(row for tasks in named for row in tasks)


def _as_consumer(
    group: ConsumerGroup | None, message: StreamsGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatRequest:
    """Return a heartbeat as one of the consumer protocol."""
    owned = _owned(message)
    return ConsumerGroupHeartbeatRequest(
        group_id=message.group_id,
        member_id=message.member_id,
        member_epoch=message.member_epoch,
        instance_id=message.instance_id,
        rack_id=message.rack_id,
        rebalance_timeout_ms=message.rebalance_timeout_ms,
        subscribed_topic_names=None if message.topology is None else _names(message.topology),
        subscribed_topic_regex=_profile(group, message),
        topic_partitions=None
        if owned is None
        else rows_of(
            TopicPartition(row.subtopology_id, number) for row in owned for number in row.partitions
        ),
    )


def _as_streams(topology: Topology | None, answer: Message | None) -> StreamsGroupHeartbeatResponse:
    """Return an answer as one of streams groups."""
    assert isinstance(answer, ConsumerGroupHeartbeatResponse)
    tasks, others = None, None
    if answer.assignment is not None:
        parts: dict[str, list[int]] = {}
        for part in partitions_in(answer.assignment.topic_partitions, _names(topology)):
            parts.setdefault(part.topic, []).append(part.partition)
        tasks = tuple(
            TaskIds(subtopology_id=name, partitions=tuple(sorted(numbers)))
            for name, numbers in sorted(parts.items())
        )
        others = ()
    return StreamsGroupHeartbeatResponse(
        error_code=answer.error_code,
        member_id=answer.member_id or "",
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        active_tasks=tasks,
        standby_tasks=others,
        warmup_tasks=others,
    )


def _task_count(machine: Machine, request: Incoming, topology: Topology | None, name: str) -> int:
    """Return the number of tasks of a subtopology; 0 while a source topic is missing."""
    counts: dict[str, int] = {}
    for part in () if topology is None else topology.subtopologies:
        sizes = [handlers.partition_count(machine, request, topic) for topic in part.source_topics]
        if 0 in sizes:
            return 0
        counts[part.subtopology_id] = max(sizes, default=0)
    return counts.get(name, 0)


def _tasks(
    machine: Machine,
    request: Incoming,
    topology: Topology | None,
    message: StreamsGroupHeartbeatRequest,
) -> Tasks:
    """Check the tasks of a heartbeat."""
    named = _named_tasks(message)
    if message.topology is not None or len(named) not in {0, _KINDS}:
        return Tasks.PARTIAL
    is_there = all(
        0 <= number < _task_count(machine, request, topology, row.subtopology_id)
        for tasks in named
        for row in tasks
        for number in row.partitions
    )
    return Tasks.COMPLETE if is_there else Tasks.FOREIGN


def heartbeat(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: StreamsGroupHeartbeatRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a StreamsGroupHeartbeat."""
    sent = _in_order(message.topology)
    known = None if group is None else group.topology
    topology = sent if known is None else known
    inner = _as_consumer(group, message)
    outcomes = handlers.decide_heartbeat(
        machine,
        group,
        replace(request, message=inner, version=1),
        inner,
        span,
        here,
        partial(_task_count, machine, request, topology),
        {
            JOIN_TABLE: (topology != sent,),
            BEAT_TABLE: (_tasks(machine, request, topology, message),),
        },
    )
    return tuple(
        replace(
            outcome,
            group=None if outcome.group is None else replace(outcome.group, topology=topology),
            emissions=tuple(
                replace(e, message=_as_streams(topology, e.message)) for e in outcome.emissions
            ),
        )
        for outcome in outcomes
    )


def _state(machine: Machine, request: Incoming, group: ConsumerGroup) -> GroupState:
    """Return the state of a group: without a source topic it is not ready."""
    parts = () if group.topology is None else group.topology.subtopologies
    topics = {topic for part in parts for topic in part.source_topics}
    is_ready = all(handlers.partition_count(machine, request, topic) for topic in topics)
    return group.state if is_ready or not group.members else GroupState.NOT_READY


def _described_tasks(assignment: DescribedAssignment) -> DescribedTasks:
    """Return described partitions as active tasks."""
    rows = sorted(assignment.topic_partitions, key=lambda row: row.topic_name)
    tasks = (TaskIds(subtopology_id=row.topic_name, partitions=row.partitions) for row in rows)
    return DescribedTasks(active_tasks=tuple(tasks))


def _described(
    row: DescribedConsumerGroup, group: ConsumerGroup | None, state: GroupState | None
) -> DescribedStreamsGroup:
    """Return the description of a group as one of a streams group."""
    if group is None or group.topology is None or state is None:
        return DescribedStreamsGroup(error_code=row.error_code, group_id=row.group_id)
    epoch = group.topology.epoch
    members = []
    for member in row.members:
        profile = msgspec.json.decode(member.subscribed_topic_regex or "[]", type=_Profile)
        members.append(
            DescribedStreamsMember(
                member_id=member.member_id,
                member_epoch=member.member_epoch,
                instance_id=member.instance_id,
                rack_id=profile.rack_id or None,
                client_id=member.client_id,
                topology_epoch=epoch,
                process_id=profile.process_id,
                client_tags=tuple(KeyValue(key=key, value=value) for key, value in profile.tags),
                assignment=_described_tasks(member.assignment),
                target_assignment=_described_tasks(member.target_assignment),
            )
        )
    parts = tuple(
        DescribedSubtopology(
            subtopology_id=part.subtopology_id,
            source_topics=part.source_topics,
            repartition_sink_topics=part.repartition_sink_topics,
            state_changelog_topics=part.state_changelog_topics,
            repartition_source_topics=part.repartition_source_topics,
        )
        for part in group.topology.subtopologies
    )
    return DescribedStreamsGroup(
        error_code=row.error_code,
        group_id=row.group_id,
        group_state=state.value,
        group_epoch=row.group_epoch,
        assignment_epoch=row.assignment_epoch,
        topology=DescribedTopology(epoch=epoch, subtopologies=parts),
        members=tuple(members),
    )


def _targets_in(answer: Message | None) -> Message | None:
    """Return the targets in a description, as one of the consumer protocol has them."""
    if not isinstance(answer, StreamsGroupDescribeResponse):
        return None
    groups = tuple(
        DescribedConsumerGroup(
            error_code=row.error_code,
            group_id=row.group_id,
            members=tuple(
                DescribedConsumer(
                    member_id=member.member_id,
                    member_epoch=member.member_epoch,
                    target_assignment=DescribedAssignment(
                        topic_partitions=tuple(
                            DescribedTopic(
                                topic_id=NO_UUID,
                                topic_name=tasks.subtopology_id,
                                partitions=tasks.partitions,
                            )
                            for tasks in member.target_assignment.active_tasks
                        )
                    ),
                )
                for member in row.members
            ),
        )
        for row in answer.groups
    )
    return ConsumerGroupDescribeResponse(groups=groups)


def describe(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: StreamsGroupDescribeRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a StreamsGroupDescribe for one of its groups."""
    inner = ConsumerGroupDescribeRequest(group_ids=message.group_ids)
    observed = _targets_in(request.observed)
    incoming = replace(request, message=inner, version=1, observed=observed)
    state = None if group is None else _state(machine, request, group)
    outcomes = []
    for outcome in handlers.describe(machine, group, incoming, inner, span, here, group_id):
        (emission,) = outcome.emissions
        assert isinstance(emission.message, ConsumerGroupDescribeResponse)
        rows = tuple(_described(row, outcome.group, state) for row in emission.message.groups)
        answer = StreamsGroupDescribeResponse(groups=rows)
        outcomes.append(replace(outcome, emissions=(replace(emission, message=answer),)))
    return tuple(outcomes)


def list_groups(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: ListGroupsRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a ListGroups for one group."""
    state = None if group is None else _state(machine, request, group)
    return handlers.list_groups(
        machine, group, request, message, span, here, group_id, "streams", state
    )


STREAMS: Protocol[ConsumerGroup, ConsumerWork] = Protocol(
    name="streams",
    apis=("StreamsGroupHeartbeat", "StreamsGroupDescribe", "ListGroups"),
    columns=COLUMNS,
    steps=STEPS,
    work=ConsumerWork,
    effects=CONSUMER.effects,
    open_effects=CONSUMER.open_effects,
    handlers={
        StreamsGroupHeartbeatRequest: heartbeat,
        StreamsGroupDescribeRequest: describe,
        ListGroupsRequest: list_groups,
    },
    timers=CONSUMER.timers,
    failover=CONSUMER.failover,
    operations={},
    is_unused=CONSUMER.is_unused,
    settings=CONSUMER.settings,
    takes_topics=True,
)
