"""Read a step of the consumer protocol: its request, its answer, and who is concerned."""

from __future__ import annotations

from typing import Any

from fencepost.model.consumer.features import owned_partitions
from fencepost.model.consumer.group import RELEASED_EPOCH, ConsumerGroup, Member
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.work import Incoming
from fencepost.properties.worlds.views import StepView

_NOBODY = ConsumerGroup()
"""In place of a group that doesn't exist."""


def group_before(view: StepView) -> ConsumerGroup:
    """Return the group before a step; an empty one if there was none."""
    return _NOBODY if view.before is None else view.before


def group_after(view: StepView) -> ConsumerGroup:
    """Return the group after a step; an empty one if there is none."""
    return _NOBODY if view.after is None else view.after


def heartbeat(view: StepView) -> ConsumerGroupHeartbeatRequest | None:
    """Return the ConsumerGroupHeartbeat of a step, of any epoch."""
    event = view.event
    if isinstance(event, Incoming) and isinstance(event.message, ConsumerGroupHeartbeatRequest):
        return event.message
    return None


def caller_id(view: StepView) -> str:
    """Return the member id of a heartbeat; where the coordinator makes it, that one."""
    request = heartbeat(view)
    if request is None or not isinstance(view.event, Incoming):
        return ""
    return request.member_id or view.event.fresh_id


def error(view: StepView) -> Error | None:
    """Return the error, or NONE, of the answer to a heartbeat; None: there is no such answer."""
    answer = view.own_answer
    if not isinstance(answer, ConsumerGroupHeartbeatResponse):
        return None
    return Error(answer.error_code)


def is_join(view: StepView) -> bool:
    """Return True if a step is a join: a heartbeat with epoch 0."""
    request = heartbeat(view)
    return request is not None and request.member_epoch == 0


def is_beat(view: StepView) -> bool:
    """Return True if a step is a heartbeat with an epoch above 0."""
    request = heartbeat(view)
    return request is not None and request.member_epoch > 0


def welcomed(view: StepView) -> Member | None:
    """Return the caller after a join or heartbeat that was answered NONE."""
    request = heartbeat(view)
    if request is None or request.member_epoch < 0 or error(view) is not Error.NONE:
        return None
    return group_after(view).member(caller_id(view))


def holder_before(view: StepView) -> Member | None:
    """Return the member to which the instance of a heartbeat was mapped before the step."""
    request, before = heartbeat(view), group_before(view)
    if request is None or request.instance_id is None:
        return None
    return before.member(before.holder(request.instance_id) or "")


def compared(view: StepView) -> Member | None:
    """Return the member in whose place the caller is after a join or heartbeat.

    That is the holder of its instance if the caller takes its place, else the caller itself.
    """
    request, holder = heartbeat(view), holder_before(view)
    if request is None or holder is not None:
        return holder
    return group_before(view).member(request.member_id)


def partitions(member: Member) -> frozenset[TopicPartition]:
    """Return all partitions that are a member's, those to revoke, too."""
    return frozenset(partition for partition, _ in (*member.assigned, *member.revoking))


def words_of(partition: TopicPartition) -> str:
    """Return a partition as Kafka writes it: `topic-0`."""
    return f"{partition.topic}-{partition.partition}"


def owned_by_caller(view: StepView) -> frozenset[TopicPartition] | None:
    """Return the partitions that the caller says it owns; None: it doesn't say."""
    request = heartbeat(view)
    return None if request is None else owned_partitions(view.before, request)


def is_release(view: StepView) -> bool:
    """Return True if a step is a release that was answered NONE."""
    request = heartbeat(view)
    is_meant = request is not None and request.member_epoch == RELEASED_EPOCH
    return is_meant and error(view) is Error.NONE


def has_same_wishes(view: StepView, member: Member) -> bool:
    """Return True if a heartbeat asks for what a member has: its subscription, no assignor."""
    request: Any = heartbeat(view)
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    return (
        (names is None or tuple(sorted(set(names))) == member.topics)
        and (regex is None or regex == member.regex)
        and request.server_assignor in {None, member.assignor}
    )
