"""Abstract a group or an event of the consumer protocol to the structure that formulas speak of.

Of a request the abstraction keeps the id, instance, epoch and partitions that it names, the answer,
and how its subscription and assignor compare.  A LeaveGroup of several rows names several members
and no single one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from fencepost.model.consumer import features
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.group import REBALANCE, SESSION, ConsumerGroup, Held, Phase
from fencepost.model.consumer.vocabulary import (
    BEAT_TABLE,
    JOIN_TABLE,
    LEAVE_TABLE,
    REMOVAL_TABLE,
    Assignor,
    Change,
    Holder,
    Inst,
    Leave,
)
from fencepost.model.messages.consumer_messages import ConsumerGroupHeartbeatRequest
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import LeaveGroupRequest
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.work import CLEANUP as CLEANUP_TIMER
from fencepost.model.work import Incoming, Timer
from fencepost.properties.logic.consumer_signature import (
    CLEANUP,
    CONSUMER_SIGNATURE,
    FAILOVER,
    REBALANCE_END,
    SESSION_END,
)
from fencepost.properties.logic.structures import Abstraction
from fencepost.properties.worlds.abstraction import first_error
from fencepost.properties.worlds.views import StepView

Ids = frozenset[str]
Parts = frozenset[tuple[str, TopicPartition]]
Epochs = frozenset[int]
_NONE: frozenset[Any] = frozenset()


@dataclass(frozen=True, slots=True)
class AbstractConsumerGroup:
    """A group as formulas see it: one field for each relation."""

    exists: bool = False
    member: Ids = _NONE
    seat: frozenset[tuple[str, str]] = _NONE
    holds: frozenset[tuple[str, str]] = _NONE
    assigned: Parts = _NONE
    revoking: Parts = _NONE
    target: Parts = _NONE
    unrevoked: Ids = _NONE
    unreleased: Ids = _NONE
    at: frozenset[tuple[str, int]] = _NONE
    previous: frozenset[tuple[str, int]] = _NONE
    group_at: Epochs = _NONE
    target_at: Epochs = _NONE
    session: Ids = _NONE
    hurried: Ids = _NONE
    offsets: bool = False
    taken: frozenset[TopicPartition] = _NONE
    bumped: bool = False
    remade: bool = False

    def differences(self, other: AbstractConsumerGroup) -> tuple[str, ...]:
        """Return the names of the fields that differ, but for those of a step in the making."""
        passing = {relation.name for relation in CONSUMER_SIGNATURE.step_relations}
        names = (each.name for each in fields(self) if each.name not in passing)
        return tuple(name for name in names if getattr(self, name) != getattr(other, name))


NOTHING = AbstractConsumerGroup()


@dataclass(frozen=True, slots=True)
class AbstractConsumerEvent:
    """An event as formulas see it.  "" and None: absent."""

    event: str
    deciding_rule: str = ""
    answer: Error | None = None
    the_caller: str = ""
    the_instance_sent: str | None = None
    the_epoch_sent: int = 0
    named: Ids = _NONE
    mid_given: bool = False
    owned_given: bool = False
    owned: frozenset[TopicPartition] = _NONE
    subscribed: frozenset[TopicPartition] = _NONE
    of_classic: bool = False
    subscription: Hashable = Change.MEANINGLESS
    assignor: Hashable = Assignor.KNOWN
    epoch: Hashable = None

    @property
    def inst_given(self) -> bool:
        """True if an instance is sent."""
        return self.the_instance_sent is not None


def abstract_consumer_group(group: ConsumerGroup | None) -> AbstractConsumerGroup:
    """Return the group as formulas see it."""
    if group is None:
        return NOTHING
    members, timers = group.members, group.timers
    return AbstractConsumerGroup(
        exists=True,
        member=frozenset([m.member_id for m in members]),
        seat=frozenset(
            [(m.member_id, m.instance_id) for m in members if m.instance_id is not None]
        ),
        holds=frozenset(group.static),
        assigned=_parts((m.member_id, m.assigned) for m in members),
        revoking=_parts((m.member_id, m.revoking) for m in members),
        target=frozenset([(member_id, p) for member_id, row in group.target for p in row]),
        unrevoked=frozenset([m.member_id for m in members if m.phase is Phase.UNREVOKED]),
        unreleased=frozenset([m.member_id for m in members if m.phase is Phase.UNRELEASED]),
        at=frozenset([(m.member_id, m.epoch) for m in members]),
        previous=frozenset([(m.member_id, m.previous_epoch) for m in members]),
        group_at=frozenset([group.epoch]),
        target_at=frozenset([group.target_epoch]),
        session=frozenset([t.subject for t in timers if t.kind == SESSION]),
        hurried=frozenset([t.subject for t in timers if t.kind == REBALANCE]),
        offsets=bool(group.offsets),
    )


def _parts(rows: Iterable[tuple[str, Held]]) -> Parts:
    return frozenset([(member_id, p) for member_id, held in rows for p, _ in held])


_TIMERS = {SESSION: SESSION_END, REBALANCE: REBALANCE_END, CLEANUP_TIMER: CLEANUP}


def abstract_consumer_event(view: StepView) -> AbstractConsumerEvent:
    """Return the event of a step as formulas see it."""
    event = view.event
    rule = view.rules[0].id if view.rules else ""
    if isinstance(event, Timer):
        name = _TIMERS.get(event.kind, event.kind)
        named = frozenset([event.subject]) if event.subject else _NONE
        return AbstractConsumerEvent(name, rule, the_caller=event.subject, named=named)
    if not isinstance(event, Incoming):
        return AbstractConsumerEvent(FAILOVER, rule)
    answer = first_error(view, event)
    message = event.message
    if isinstance(message, ConsumerGroupHeartbeatRequest):
        return _heartbeat(view, event, message, rule, answer)
    if isinstance(message, LeaveGroupRequest):
        return _removal(view, event, message, answer)
    member_id = getattr(message, "member_id", "")
    return AbstractConsumerEvent(
        event.api.partition("/")[0],
        rule,
        answer,
        the_caller=member_id,
        the_instance_sent=getattr(message, "group_instance_id", None),
        named=frozenset([member_id]) if member_id else _NONE,
        mid_given=bool(member_id),
    )


def _heartbeat(
    view: StepView,
    event: Incoming,
    message: ConsumerGroupHeartbeatRequest,
    rule: str,
    answer: Error | None,
) -> AbstractConsumerEvent:
    group: ConsumerGroup | None = view.before
    sent, instance = message.member_id, message.instance_id
    value = message.member_epoch
    table = BEAT_TABLE if value > 0 else JOIN_TABLE if value == 0 else LEAVE_TABLE
    owned = features.owned_partitions(group, message)
    compared = features.compared(group, message)
    is_new = compared is None and features.inst(group, instance, sent) in _ALONE
    subscription = features.change(features.NEW if is_new else compared, message)
    is_idle = value == 0 and is_new and subscription is Change.UNCHANGED
    asking = features.NEW if is_idle else compared
    leaves = {-1: Leave.FOR_GOOD, -2: Leave.RELEASE}.get(value, Leave.BELOW)
    return AbstractConsumerEvent(
        table,
        rule,
        answer,
        the_caller=sent or event.fresh_id,
        the_instance_sent=instance,
        the_epoch_sent=value,
        named=_named(group, sent, instance),
        mid_given=bool(sent),
        owned_given=owned is not None,
        owned=owned or _NONE,
        subscribed=_subscribed(view, sent or event.fresh_id),
        of_classic=features.holder(group, instance) is Holder.CLASSIC,
        subscription=subscription,
        assignor=features.assignors(group, asking, message.server_assignor)[-1],
        epoch=leaves if value < 0 else None,
    )


def _subscribed(view: StepView, member_id: str) -> frozenset[TopicPartition]:
    """Return the partitions, as far as named, of topics to which a member subscribes then."""
    after: ConsumerGroup | None = view.after
    member = None if after is None else after.member(member_id)
    if member is None:
        return _NONE
    named = {
        partition
        for group in (view.before, after)
        if group is not None
        for row in (group.owned(), *(row for _, row in group.target))
        for partition in row
    }
    return frozenset(p for p in named if p.topic in member.topics)


_ALONE = frozenset({Inst.NONE, Inst.UNMAPPED})


def _removal(
    view: StepView, event: Incoming, message: LeaveGroupRequest, answer: Error | None
) -> AbstractConsumerEvent:
    group: ConsumerGroup | None = view.before
    rows = [(row.member_id, row.group_instance_id) for row in message.rows(event.version)]
    deciding = [rule.id for rule in view.rules if Do.ANSWER_ROWS not in rule.effect]
    is_by_row = len(deciding) < len(view.rules)
    member_id, instance = rows[0] if len(rows) == 1 else ("", None)
    return AbstractConsumerEvent(
        REMOVAL_TABLE if is_by_row else "LeaveGroup",
        (deciding or [rule.id for rule in view.rules] or [""])[0],
        answer,
        the_caller=member_id,
        the_instance_sent=instance,
        named=_NONE.union(*(_named(group, *row) for row in rows)),
        mid_given=bool(member_id),
    )


def _named(group: ConsumerGroup | None, member_id: str, instance: str | None) -> Ids:
    if member_id:
        return frozenset([member_id])
    holder = None if group is None or instance is None else group.holder(instance)
    return _NONE if holder is None else frozenset([holder])


CONSUMER = Abstraction(
    CONSUMER_SIGNATURE, NOTHING, abstract_consumer_group, abstract_consumer_event
)
"""The abstraction of the consumer protocol."""
