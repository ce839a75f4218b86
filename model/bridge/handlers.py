"""Handle requests, timers and failovers of groups of either protocol, and convert groups.

A classic group, and an absent one, is handled by the machine of the classic protocol, a consumer
group by that of the consumer protocol.  Here are the requests of classic members in a consumer
group, and the conversions: a join of the consumer protocol upgrades a classic group, and a consumer
group without members of its own protocol is downgraded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from fencepost.model.bridge import conversion, features
from fencepost.model.bridge.effects import (
    COMMIT_TABLE,
    DOWNGRADE_TABLE,
    FETCH_TABLE,
    HEARTBEAT_TABLE,
    JOIN_TABLE,
    JOIN_TIMEOUT_TABLE,
    SYNC_TABLE,
    SYNC_TIMEOUT_TABLE,
    UPGRADE_TABLE,
    Do,
)
from fencepost.model.bridge.mixed_work import MixedWork
from fencepost.model.bridge.vocabulary import Cause
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.classic.classic_work import ClassicWork
from fencepost.model.classic.effects import Do as ClassicDo
from fencepost.model.classic.group import Group
from fencepost.model.consumer import answer_bodies
from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.group import JOIN, SYNC, ConsumerGroup, Partitions
from fencepost.model.consumer.handlers import named_partitions, partition_count
from fencepost.model.consumer.offsets_by_id import by_names
from fencepost.model.consumer.open_targets import decided
from fencepost.model.consumer.topics import TopicIds, rows_of
from fencepost.model.machine import Machine
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommitRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.table.shared_features import Availability
from fencepost.model.table.table import Echo, Rule
from fencepost.model.work import Emission, Incoming, Outcome, Span, Timer, unchanged

AnyGroup = Group | ConsumerGroup


def classic_part(machine: Machine) -> Machine:
    """Return the machine of classic groups."""
    return machine.parts[0]


def consumer_part(machine: Machine) -> Machine:
    """Return the machine of consumer groups."""
    return machine.parts[1]


# Conversions.


def _upgrade(
    machine: Machine,
    group: Group,
    request: Incoming,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a join of the consumer protocol to a classic group.

    The join's own checks come first; where it is refused, the group stays as it is.
    """
    consumer = consumer_part(machine)
    alone = consumer.handle(None, request, span, here, group_id)
    if all(map(_is_refused, alone)):
        return tuple(replace(outcome, group=group) for outcome in alone)
    rule = machine.decide(UPGRADE_TABLE, features.upgrade_point(group, machine.config))
    if rule.answer is not None:
        answer = ConsumerGroupHeartbeatResponse(error_code=rule.answer.value)
        return (unchanged(group, request, answer, rule.id),)
    if Do.START_ANEW in rule.effect:
        return tuple(_with_offsets(outcome, group, rule) for outcome in alone)
    converted = conversion.upgraded(group, span)
    outcomes = consumer.handle(converted, request, span, here, group_id)
    return tuple(_converted(outcome, group, rule) for outcome in outcomes)


def _is_refused(outcome: Outcome) -> bool:
    """Return True if a heartbeat is answered by an error."""
    return any(
        isinstance(e.message, ConsumerGroupHeartbeatResponse) and e.message.error_code != 0
        for e in outcome.emissions
    )


def _with_offsets(outcome: Outcome, group: Group, rule: Rule) -> Outcome:
    changed = replace(outcome.group, offsets=conversion.kept_offsets(group))
    return replace(outcome, group=changed, rules=(rule.id, *outcome.rules))


def _converted(outcome: Outcome, group: Group, rule: Rule) -> Outcome:
    """Return the outcome of a join with the answers to the requests that were parked."""
    if _is_refused(outcome):
        return replace(outcome, group=group)
    released = tuple(
        Emission(parked.request_id, answer, rule.id)
        for parked, answer in conversion.parked_answers(group, Error.REBALANCE_IN_PROGRESS)
    )
    return replace(
        outcome, emissions=(*released, *outcome.emissions), rules=(rule.id, *outcome.rules)
    )


def _downgraded(
    machine: Machine, before: ConsumerGroup, group: AnyGroup | None, span: Span, cause: Cause
) -> Iterator[tuple[AnyGroup | None, Rule | None]]:
    """Yield the group after a downgrade with its rule, if one is due; one for each leader.

    `before`: the group before the step, whose epoch is the generation.
    """
    is_due = (
        isinstance(group, ConsumerGroup)
        and group.members
        and all(m.classic is not None for m in group.members)
    )
    if not is_due:
        yield group, None
        return
    assert isinstance(group, ConsumerGroup)
    point = features.downgrade_point(group, cause, machine.config)
    rule = machine.decide(DOWNGRADE_TABLE, point)
    if Do.DOWNGRADE not in rule.effect:
        yield group, rule
        return
    effects = classic_part(machine).effects
    steps = [ClassicDo.PERSIST, *([ClassicDo.REBALANCE] if Do.REBALANCE in rule.effect else [])]
    group = replace(group, epoch=before.epoch)
    if cause is Cause.CHANGED:
        group = replace(group, target=_kept_target(before, group), open=())
    for each in decided(group, None):
        for member in group.members:
            work = ClassicWork(conversion.downgraded(each, span, member.member_id), span)
            for step in steps:
                effects[step](work)
            yield work.group, rule


def _kept_target(before: ConsumerGroup, group: ConsumerGroup) -> tuple[tuple[str, Partitions], ...]:
    """Return the target before a join, with the id that it brought."""
    new = {before.holder(instance): member_id for instance, member_id in group.static}
    rows = ((new.get(member_id, member_id), part) for member_id, part in before.target)
    return tuple(sorted(row for row in rows if group.has_id(row[0])))


def _settled(
    machine: Machine,
    before: ConsumerGroup,
    outcomes: Iterable[Outcome],
    span: Span,
    cause: Cause = Cause.LEFT,
) -> tuple[Outcome, ...]:
    """Return the outcomes of a step on a group, each with its downgrades."""
    settled: dict[Outcome, None] = {}
    for outcome in outcomes:
        after = outcome.group
        is_changed = isinstance(after, ConsumerGroup) and after.epoch != before.epoch
        of_this = Cause.CHANGED if cause is Cause.REPLACED and is_changed else cause
        for group, rule in _downgraded(machine, before, after, span, of_this):
            settled.setdefault(outcome if rule is None else _after_downgrade(outcome, group, rule))
    return tuple(settled)


def _after_downgrade(outcome: Outcome, group: AnyGroup | None, rule: Rule) -> Outcome:
    emissions = outcome.emissions
    if Do.ANSWER_AT_ZERO in rule.effect:
        emissions = tuple(
            replace(e, message=replace(e.message, generation_id=0))
            if isinstance(e.message, JoinGroupResponse)
            else e
            for e in emissions
        )
    return replace(outcome, group=group, emissions=emissions, rules=(*outcome.rules, rule.id))


def _after_step(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a request by the machine of consumer groups; a downgrade may follow."""
    outcomes = consumer_part(machine).handle(group, request, span, here, group_id)
    return outcomes if group is None else _settled(machine, group, outcomes, span)


# Requests that both protocols know, and those of the consumer protocol.


def shared(
    machine: Machine,
    group: AnyGroup | None,
    request: Incoming,
    message: Message,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a request by the machine of the group's protocol."""
    if not isinstance(group, ConsumerGroup):
        return classic_part(machine).handle(group, request, span, here, group_id)
    return _after_step(machine, group, request, span, here, group_id)


def consumer_heartbeat(
    machine: Machine,
    group: AnyGroup | None,
    request: Incoming,
    message: ConsumerGroupHeartbeatRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a ConsumerGroupHeartbeat; a classic group is absent for all but a join."""
    if isinstance(group, Group):
        if message.member_epoch == 0:
            return _upgrade(machine, group, request, span, here, group_id)
        return _of_absent(machine, group, request, span, here, group_id)
    return _after_step(machine, group, request, span, here, group_id)


def _of_absent(
    machine: Machine,
    group: Group,
    request: Incoming,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Answer as if the group were absent; it stays."""
    outcomes = consumer_part(machine).handle(None, request, span, here, group_id)
    return tuple(replace(outcome, group=group) for outcome in outcomes)


def describe(
    machine: Machine,
    group: AnyGroup | None,
    request: Incoming,
    message: ConsumerGroupDescribeRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a ConsumerGroupDescribe: for it a classic group is absent."""
    if isinstance(group, Group):
        return _of_absent(machine, group, request, span, here, group_id)
    return consumer_part(machine).handle(group, request, span, here, group_id)


# Requests of classic members in a consumer group.


def join(
    machine: Machine,
    group: AnyGroup | None,
    request: Incoming,
    message: JoinGroupRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a JoinGroup; a consumer group without members is a classic one from then on."""
    if isinstance(group, ConsumerGroup) and not group.members:
        group = conversion.emptied(group)
    if not isinstance(group, ConsumerGroup):
        return classic_part(machine).handle(group, request, span, here, group_id)
    point = features.join_point(group, message, request.version, machine.config, here)
    rule = machine.decide(JOIN_TABLE, point)
    work = _join_work(machine, group, request, message, span)
    outcomes = []
    for done in machine.perform(work, rule):
        if rule.answer is not None:
            echo = done.caller if rule.echo is Echo.NEW else ""
            done.emit(request.id, JoinGroupResponse(error_code=rule.answer.value, member_id=echo))
        outcomes.append(done.outcome())
    return _settled(machine, group, outcomes, span, Cause.REPLACED)


def _join_work(
    machine: Machine,
    group: ConsumerGroup,
    request: Incoming,
    message: JoinGroupRequest,
    span: Span,
) -> MixedWork:
    """Make the work of a join, which the steps of the consumer protocol read as a heartbeat.

    A join owns what its subscription says of topics that it names, but for that of another
    generation.
    """
    read = features.subscription(message)
    member = group.member(message.member_id)
    ids = TopicIds(machine.topics)
    is_current = read is not None and (
        read.generation_id < 0 or (member is not None and read.generation_id == member.epoch)
    )
    owned = [p for p in read.owned if p.topic in read.topics] if read and is_current else []
    beat = ConsumerGroupHeartbeatRequest(
        group_id=message.group_id,
        member_id=message.member_id,
        member_epoch=0,
        instance_id=message.group_instance_id,
        rebalance_timeout_ms=message.rebalance_timeout_ms,
        subscribed_topic_names=() if read is None else read.topics,
        topic_partitions=rows_of(owned, ids),
    )
    work = MixedWork(group, span, replace(request, message=beat))
    work.join = message
    work.caller, work.instance = message.member_id, message.group_instance_id
    work.ids, work.assign = ids, machine.assign
    work.owned = frozenset(owned)
    work.count = lambda name: partition_count(machine, request, name)
    return work


def member_request(
    machine: Machine,
    group: AnyGroup | None,
    request: Incoming,
    message: SyncGroupRequest | HeartbeatRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a SyncGroup or Heartbeat."""
    if not isinstance(group, ConsumerGroup):
        return classic_part(machine).handle(group, request, span, here, group_id)
    is_sync = isinstance(message, SyncGroupRequest)
    answer = SyncGroupResponse if is_sync else HeartbeatResponse
    point = features.sender_point(group, message, request.version, here)
    rule = machine.decide(SYNC_TABLE if is_sync else HEARTBEAT_TABLE, point)
    work = MixedWork(group, span, request)
    work.caller, work.instance = message.member_id, message.group_instance_id
    (done,) = machine.perform(work, rule)
    if rule.answer is not None:
        done.emit(request.id, answer(error_code=rule.answer.value))
    return (done.outcome(),)


def commit(
    machine: Machine,
    group: AnyGroup | None,
    request: Incoming,
    message: CommitRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a commit: that of a classic member in a consumer group by its generation."""
    if not isinstance(group, ConsumerGroup) or here is not Availability.HERE:
        return shared(machine, group, request, message, span, here, group_id)
    member = group.member(message.member_id)
    if member is None or member.classic is None:
        return shared(machine, group, request, message, span, here, group_id)
    rule = machine.decide(COMMIT_TABLE, (member.epoch == message.generation_id,))
    assert rule.answer is not None
    codes: dict[tuple[str, int], int | str] = {
        place: (rule.answer if exists else Error.UNKNOWN_TOPIC_OR_PARTITION).value
        for place, exists in named_partitions(machine, request, message)
    }
    work = MixedWork(group, span, request)
    work.caller = message.member_id
    work.named = frozenset(place for place, code in codes.items() if code == 0)
    (done,) = machine.perform(work, rule)
    done.emit(request.id, answer_bodies.rows_answer(message, codes))
    return (done.outcome(),)


def fetch(
    machine: Machine,
    group: AnyGroup | None,
    request: Incoming,
    message: OffsetFetchRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle an OffsetFetch: that of a classic member in a consumer group by its generation."""
    row = next((row for row in message.groups if row.group_id == group_id), None)
    if isinstance(group, ConsumerGroup) and row is not None and here is Availability.HERE:
        member = group.member(row.member_id or "")
        if member is not None and member.classic is not None:
            rule = machine.decide(FETCH_TABLE, (member.epoch == row.member_epoch,))
            answer = answer_bodies.fetch_answer(group, row.topics, group_id, request.version, rule)
            return (unchanged(group, request, answer, rule.id),)
    return shared(machine, group, request, message, span, here, group_id)


Handler = Callable[[Machine, Any, Incoming, Any, Span, Availability, str], tuple[Outcome, ...]]
HANDLERS: Mapping[type[Message], Handler] = {
    OffsetFetchRequest: by_names(fetch, consumer_part),
    JoinGroupRequest: join,
    SyncGroupRequest: member_request,
    HeartbeatRequest: member_request,
    OffsetCommitRequest: by_names(commit, consumer_part),
    TxnOffsetCommitRequest: commit,
    ConsumerGroupHeartbeatRequest: consumer_heartbeat,
    ConsumerGroupDescribeRequest: describe,
    **dict.fromkeys(
        (
            LeaveGroupRequest,
            DescribeGroupsRequest,
            ListGroupsRequest,
            DeleteGroupsRequest,
            OffsetDeleteRequest,
        ),
        shared,
    ),
}

# Timers and failover.

AnyWork = ClassicWork | ConsumerWork
_TIMEOUTS = {JOIN: JOIN_TIMEOUT_TABLE, SYNC: SYNC_TIMEOUT_TABLE}


def work_on(group: AnyGroup | None, span: Span, request: Incoming | None = None) -> AnyWork:
    """Make the work of a step on a group."""
    if isinstance(group, ConsumerGroup):
        return MixedWork(group, span, request)
    return ClassicWork(group, span, request)


def expire(machine: Machine, group: AnyGroup, work: Any, timer: Timer) -> list[Any]:
    """Let a timer expire, by the machine of the group's protocol."""
    if timer.kind in conversion.OWED.values():
        return [work]
    if not isinstance(group, ConsumerGroup):
        return list(CLASSIC.timers[timer.kind](classic_part(machine), group, work, timer))
    if timer.kind in _TIMEOUTS:
        work.caller = timer.subject
        works = machine.perform(work, machine.decide(_TIMEOUTS[timer.kind], ()))
    else:
        works = list(CONSUMER.timers[timer.kind](consumer_part(machine), group, work, timer))
    return [fork for done in works for fork in _converted_works(machine, group, done)]


def _converted_works(machine: Machine, before: ConsumerGroup, work: Any) -> Iterator[Any]:
    """Yield the works of a timer, with the group of each downgrade."""
    after = work.outcome().group
    for group, rule in _downgraded(machine, before, after, work.span, Cause.LEFT):
        fork = work if rule is None else work.fork()
        if rule is not None:
            fork.group = group
            fork.rules.append(rule.id)
        yield fork


def fail_over(machine: Machine, group: AnyGroup | None, work: Any) -> list[Any]:
    """Let another coordinator load the stored group."""
    if isinstance(group, ConsumerGroup):
        return list(CONSUMER.failover(consumer_part(machine), group, work))
    return list(CLASSIC.failover(classic_part(machine), group, work))


def is_unused(group: AnyGroup) -> bool:
    """Return True if a group has no member and no offsets."""
    if isinstance(group, ConsumerGroup):
        return CONSUMER.is_unused(group)
    return CLASSIC.is_unused(group)


def retentions(group: AnyGroup) -> tuple[Timer, ...]:
    """Return the ends of the retentions of what a classic group stores."""
    return CLASSIC.retentions(group) if isinstance(group, Group) else ()
