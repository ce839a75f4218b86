"""Handle streams groups (KIP-1071) by the tables of the consumer protocol.

A task is a partition of a subtopology, and a subtopology is like a topic: its name in a group is
its id with its source topics, `0:orders,prices`, and it has as many tasks as the largest of these
has partitions.  The process id is a part of the subscription: another one is a change.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from fencepost.model.consumer import handlers
from fencepost.model.consumer.cells import COLUMNS
from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effect_needs import STEPS
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.consumer.topics import partitions_in, rows_of
from fencepost.model.machine import Machine
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.streams_messages import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskIds,
)
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.protocol import Protocol
from fencepost.model.table.shared_features import Availability
from fencepost.model.work import Incoming, Outcome, Span

_SOURCES = ":"


def _names(group: ConsumerGroup | None) -> Mapping[str, str]:
    """Return the names of the subtopologies of a group, by their ids."""
    members = () if group is None else group.members
    return {name.partition(_SOURCES)[0]: name for m in members for name in m.topics}


def _as_consumer(
    group: ConsumerGroup | None, message: StreamsGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatRequest:
    """Return a heartbeat as one of the consumer protocol."""
    names, topology = _names(group), message.topology
    subscription = None
    if topology is not None:
        subscription = tuple(
            f"{part.subtopology_id}{_SOURCES}{','.join(sorted(part.source_topics))}"
            for part in topology.subtopologies
        )
    owned = None
    if message.active_tasks is not None:
        owned = rows_of(
            TopicPartition(names.get(row.subtopology_id, row.subtopology_id), number)
            for row in message.active_tasks
            for number in row.partitions
        )
    return ConsumerGroupHeartbeatRequest(
        group_id=message.group_id,
        member_id=message.member_id,
        member_epoch=message.member_epoch,
        instance_id=message.instance_id,
        rack_id=message.rack_id,
        rebalance_timeout_ms=message.rebalance_timeout_ms,
        subscribed_topic_names=subscription,
        subscribed_topic_regex=message.process_id,
        topic_partitions=owned,
    )


def _as_streams(
    group: ConsumerGroup | None, answer: Message | None
) -> StreamsGroupHeartbeatResponse:
    """Return an answer as one of streams groups."""
    assert isinstance(answer, ConsumerGroupHeartbeatResponse)
    tasks = None
    if answer.assignment is not None:
        parts: dict[str, list[int]] = {}
        for part in partitions_in(answer.assignment.topic_partitions, _names(group).values()):
            parts.setdefault(part.topic.partition(_SOURCES)[0], []).append(part.partition)
        tasks = tuple(
            TaskIds(subtopology_id=name, partitions=tuple(sorted(numbers)))
            for name, numbers in sorted(parts.items())
        )
    return StreamsGroupHeartbeatResponse(
        error_code=answer.error_code,
        member_id=answer.member_id or "",
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        active_tasks=tasks,
    )


def _task_count(machine: Machine, request: Incoming, name: str) -> int:
    """Return the number of tasks of a subtopology."""
    sources = name.partition(_SOURCES)[2].split(",")
    return max(handlers.partition_count(machine, request, source) for source in sources)


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
    inner = _as_consumer(group, message)
    restated = replace(request, message=inner, version=1)
    count = partial(_task_count, machine, request)
    outcomes = handlers.decide_heartbeat(machine, group, restated, inner, span, here, count)
    return tuple(
        replace(
            outcome,
            emissions=tuple(
                replace(e, message=_as_streams(outcome.group, e.message)) for e in outcome.emissions
            ),
        )
        for outcome in outcomes
    )


STREAMS: Protocol[ConsumerGroup, ConsumerWork] = Protocol(
    name="streams",
    apis=("StreamsGroupHeartbeat",),
    columns=COLUMNS,
    steps=STEPS,
    work=ConsumerWork,
    effects=CONSUMER.effects,
    open_effects=CONSUMER.open_effects,
    handlers={StreamsGroupHeartbeatRequest: heartbeat},
    timers=CONSUMER.timers,
    failover=CONSUMER.failover,
    operations={},
    is_unused=CONSUMER.is_unused,
    settings=CONSUMER.settings,
    takes_topics=True,
)
