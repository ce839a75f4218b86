"""Handle requests, timers and failovers of a consumer group, by the rules of tables.

A handler makes the points of a request, carries out the rule of each, and answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

from fencepost.model.consumer import answer_bodies, features
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.expressions import ExpressionFollowedError
from fencepost.model.consumer.group import (
    ASSIGNMENT,
    REBALANCE,
    SESSION,
    ConsumerGroup,
    GroupState,
)
from fencepost.model.consumer.offsets_by_id import by_names
from fencepost.model.consumer.open_targets import decided
from fencepost.model.consumer.topics import PartitionCount, TopicIds
from fencepost.model.consumer.vocabulary import BEAT_TABLE, JOIN_TABLE, LEAVE_TABLE, REMOVAL_TABLE
from fencepost.model.machine import Machine
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommitRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.table.expr import Point
from fencepost.model.table.shared_features import Availability
from fencepost.model.table.table import Rule
from fencepost.model.work import CLEANUP, Incoming, Outcome, Span, Timer, unchanged

# Requests.


def heartbeat(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: ConsumerGroupHeartbeatRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a ConsumerGroupHeartbeat: a join, a heartbeat proper, or a leave, by its epoch.

    Raises ExpressionFollowedError where a member subscribes by an expression, unless the
    coordinator assigns: to that, an expression has no topics.
    """
    count = partial(partition_count, machine, request)
    outcomes = decide_heartbeat(machine, group, request, message, span, here, count)
    if machine.assign is None and any(map(_follows_expression, outcomes)):
        raise ExpressionFollowedError(
            "a member subscribes by an expression, and which topics its group has, and since when, "
            "isn't modelled; name the topics instead"
        )
    return outcomes


def _follows_expression(outcome: Outcome) -> bool:
    return outcome.group is not None and any(member.regex for member in outcome.group.members)


def decide_heartbeat(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: ConsumerGroupHeartbeatRequest,
    span: Span,
    here: Availability,
    count: PartitionCount,
    more: Mapping[str, Point] = {},
) -> tuple[Outcome, ...]:
    """Handle a heartbeat.

    `count`: returns the partitions of a topic.  `more`: the values of features that tables of
    another protocol have besides, by table.
    """
    table, points = _points(machine, group, request, message, here)
    outcomes: dict[Outcome, None] = {}
    for shared in points:
        point = shared + more.get(table, ())
        rule = machine.decide(table, point, group, message.member_id, message.instance_id)
        work = ConsumerWork(group, span, request)
        work.caller, work.instance = message.member_id, message.instance_id
        work.ids, work.assign = TopicIds(machine.topics), machine.assign
        work.owned = features.owned_partitions(group, message, work.ids)
        work.count = count
        for done in machine.perform(work, rule):
            if rule.answer is not None:
                done.emit(request.id, answer_bodies.heartbeat_error(rule))
            outcomes.setdefault(done.outcome())
    return tuple(outcomes)


def _points(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: ConsumerGroupHeartbeatRequest,
    here: Availability,
) -> tuple[str, tuple[Point, ...]]:
    """Return the table of a heartbeat and its points."""
    config, version = machine.config, request.version
    if message.member_epoch == 0:
        return JOIN_TABLE, features.join_points(group, message, version, config, here)
    if message.member_epoch > 0:
        ids = TopicIds(machine.topics)
        return BEAT_TABLE, features.beat_points(group, message, config, here, ids)
    return LEAVE_TABLE, (features.leave_point(group, message, version, here),)


def partition_count(machine: Machine, request: Incoming, name: str) -> int:
    """Return the number of partitions of a topic."""
    return 0 if name in request.deleted else machine.partitions_of(name) or 0


def named_partitions(
    machine: Machine, request: Incoming, message: CommitRequest | OffsetDeleteRequest
) -> Iterator[tuple[TopicPartition, bool]]:
    """Yield each partition of a commit, or of a deletion of offsets, with True if it exists."""
    for topic in message.topics:
        count = partition_count(machine, request, topic.name)
        for part in topic.partitions:
            number = part.partition_index
            yield TopicPartition(topic.name, number), 0 <= number < count


def remove(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: LeaveGroupRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a LeaveGroup, with which an administrator removes members.

    Each row is judged by the group as it was before the request.
    """
    point = (
        request.version,
        features.group_id(message.group_id),
        here,
        features.kind(group),
    )
    rule = machine.decide("LeaveGroup", point)
    if group is None or Do.ANSWER_ROWS not in rule.effect:
        if Do.ANSWER_ROWS_UNKNOWN in rule.effect:
            unknown = machine.decide(REMOVAL_TABLE, _NOBODY).answer
            assert unknown is not None
            rows = [
                answer_bodies.removal_row(row.member_id, row.group_instance_id, unknown)
                for row in message.rows(request.version)
            ]
            answer = answer_bodies.removal_answer(rows, request.version)
        else:
            answer = answer_bodies.removal_error(rule)
        return (unchanged(group, request, answer, rule.id),)
    work = ConsumerWork(group, span, request)
    work.decided_by(rule.id)
    rows = []
    for row in message.rows(request.version):
        ids = row.member_id, row.group_instance_id
        row_rule = machine.decide(REMOVAL_TABLE, features.removal_point(group, *ids), group, *ids)
        assert row_rule.answer is not None
        work.caller, work.instance = ids
        member_id = ids[0] if ids[1] is None else group.holder(ids[1]) or ids[0]
        if group.member(member_id) is not None and work.group.member(member_id) is None:
            work.decided_by(row_rule.id)  # an earlier row removed it
        else:
            (work,) = machine.perform(work, row_rule)
        rows.append(answer_bodies.removal_row(work.caller, ids[1], row_rule.answer))
    work.rule = work.rules[1] if len(rows) == 1 else rule.id
    answer = answer_bodies.removal_answer(rows, request.version)
    work.emit(request.id, answer)
    return (work.outcome(),)


def describe(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: ConsumerGroupDescribeRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a ConsumerGroupDescribe for one of its groups.

    There is an outcome for each assignor that may be named, and for each target, if it is open.
    """
    point = (features.group_id(group_id), here, features.kind(group))
    rule = machine.decide("ConsumerGroupDescribe", point)
    votes = [] if group is None else [m.assignor for m in group.members]
    names = features.preferred(votes)
    if machine.assign is not None:
        names = names[:1]  # a coordinator that assigns has chosen
    ids = TopicIds(machine.topics)
    topics = set() if group is None else {partition.topic for partition, _ in group.open}
    observed = answer_bodies.observed_target(request.observed, group_id, ids.names(topics))
    groups: list[ConsumerGroup | None] = [None] if group is None else [*decided(group, observed)]
    return tuple(
        unchanged(
            each,
            request,
            answer_bodies.describe_answer(each, group_id, rule, name, ids),
            rule.id,
        )
        for each, name in product(groups, names)
    )


def describe_as_classic(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: DescribeGroupsRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a DescribeGroups for one of its groups."""
    rule = machine.decide("DescribeGroups", (request.version, here, features.kind(group)))
    (work,) = machine.perform(ConsumerWork(group, span, request), rule)
    described = None if group is None else work.group
    answer = answer_bodies.classic_describe_answer(described, group_id, rule)
    return (unchanged(group, request, answer, rule.id),)


def list_groups(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: ListGroupsRequest,
    span: Span,
    here: Availability,
    group_id: str,
    kind: str = "consumer",
    state: GroupState | None = None,
) -> tuple[Outcome, ...]:
    """Handle a ListGroups for one group; `kind`, `state`: as for `list_answer`."""
    rule = machine.decide("ListGroups", (here, features.kind(group)))
    (work,) = machine.perform(ConsumerWork(group, span, request), rule)
    listed = None if group is None else work.group
    answer = answer_bodies.list_answer(listed, message, group_id, rule, kind, state)
    return (unchanged(group, request, answer, rule.id),)


def delete_group(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: DeleteGroupsRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a DeleteGroups for one of its groups."""
    point = (features.group_id(group_id), here, features.kind(group))
    rule = machine.decide("DeleteGroups", point, group)
    outcomes = []
    for done in machine.perform(ConsumerWork(group, span, request), rule):
        done.emit(request.id, answer_bodies.delete_answer(group_id, rule))
        outcomes.append(done.outcome())
    return tuple(outcomes)


def commit(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: CommitRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle an OffsetCommit, or a TxnOffsetCommit, whose transaction is committed at once."""
    codes: dict[tuple[str, int], int | str] = {}
    known: list[TopicPartition] = []
    for place, exists in named_partitions(machine, request, message):
        if exists:
            known.append(place)
        else:
            codes[place] = Error.UNKNOWN_TOPIC_OR_PARTITION.value
    missing = not known and bool(codes)
    point = features.commit_point(group, message, request.version, here, missing=missing)
    ids = message.member_id, message.group_instance_id
    rule = machine.decide(message.API, point, group, *ids)
    work = ConsumerWork(group, span, request)
    work.caller, work.instance = ids
    work.decided_by(rule.id)
    rules: dict[tuple[str, int], Rule] = dict.fromkeys(known or codes, rule)
    if Do.ANSWER_PARTITIONS in rule.effect:
        member = None if group is None else group.member(message.member_id)
        for place in known:
            since = features.since(member, place, message.generation_id)
            rules[place] = machine.decide(f"{message.API} partition", (since,))
            work.rules.append(rules[place].id)
        if refused := [own for own in rules.values() if Do.REFUSE_ALL in own.effect]:
            rules = dict.fromkeys(known, refused[0])
    for where, own in rules.items():
        assert own.answer is not None
        codes[where] = own.answer.value
    work.named = frozenset(p for p, own in rules.items() if Do.STORE_OFFSETS in own.effect)
    if work.named:
        if Do.CREATE_GROUP_AT_ZERO in rule.effect:
            machine.effects[Do.CREATE_GROUP_AT_ZERO](work)
        machine.effects[Do.STORE_OFFSETS](work)
    work.emit(request.id, answer_bodies.rows_answer(message, codes))
    return (work.outcome(),)


def delete_offsets(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: OffsetDeleteRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle an OffsetDelete, topic by topic: an error of the group is that of the whole."""
    codes: dict[tuple[str, int], int | str] = {}
    places = dict(named_partitions(machine, request, message))
    work = ConsumerWork(group, span, request)
    refused: Rule | None = None
    for topic in dict.fromkeys(t.name for t in message.topics) or (None,):
        missing = topic is not None and partition_count(machine, request, topic) == 0
        point = features.deletion_point(group, message, topic, here, missing=missing)
        rule = machine.decide("OffsetDelete", point, group)
        assert rule.answer is not None
        if rule.answer not in _DELETION_ROWS:
            answer = answer_bodies.deletion_error(rule)
            return (unchanged(group, request, answer, rule.id),)
        if refused is None and rule.answer is not Error.NONE:
            refused = rule
        here_named = {place for place in places if place.topic == topic}
        for place in here_named:
            known = rule.answer if places[place] else Error.UNKNOWN_TOPIC_OR_PARTITION
            codes[place] = known.value
        work.named = frozenset(place for place in here_named if places[place])
        (work,) = machine.perform(work, rule)
    if refused is not None:
        work.rule = refused.id
    work.emit(request.id, answer_bodies.rows_answer(message, codes))
    return (work.outcome(),)


_DELETION_ROWS = frozenset(
    {Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.GROUP_SUBSCRIBED_TO_TOPIC}
)
"""Errors of single partitions of a deletion; other errors are of the whole."""


def fetch(
    machine: Machine,
    group: ConsumerGroup | None,
    request: Incoming,
    message: OffsetFetchRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle an OffsetFetch for one of its groups."""
    topics, member_id, epoch = message.topics, None, -1
    for row in message.groups:
        if row.group_id == group_id:
            topics, member_id, epoch = row.topics, row.member_id, row.member_epoch
    rule = machine.decide("OffsetFetch", features.fetch_point(group, member_id, epoch, here))
    answer = answer_bodies.fetch_answer(group, topics, group_id, request.version, rule)
    return (unchanged(group, request, answer, rule.id),)


Handler = Callable[
    [Machine, ConsumerGroup | None, Incoming, Any, Span, Availability, str], tuple[Outcome, ...]
]
HANDLERS: Mapping[type[Message], Handler] = {
    ConsumerGroupHeartbeatRequest: heartbeat,
    ConsumerGroupDescribeRequest: describe,
    LeaveGroupRequest: remove,
    DescribeGroupsRequest: describe_as_classic,
    ListGroupsRequest: list_groups,
    DeleteGroupsRequest: delete_group,
    OffsetCommitRequest: by_names(commit),
    TxnOffsetCommitRequest: commit,
    OffsetFetchRequest: by_names(fetch),
    OffsetDeleteRequest: delete_offsets,
}

_NOBODY = features.removal_point(ConsumerGroup(), "", None)
"""The point of a row that names nobody."""

# Timers.


_TIMEOUTS = {SESSION: "session timeout", REBALANCE: "rebalance timeout"}
"""Kind of a member's timer → the table of its end."""


def _end_member(
    machine: Machine, group: ConsumerGroup, work: ConsumerWork, timer: Timer
) -> list[ConsumerWork]:
    work.caller = timer.subject
    work.count = lambda name: machine.partitions_of(name) or 0
    point = features.subject_point(group, timer.subject)
    return machine.perform(work, machine.decide(_TIMEOUTS[timer.kind], point))


def _end_assignment(
    machine: Machine, group: ConsumerGroup, work: ConsumerWork, timer: Timer
) -> list[ConsumerWork]:
    return [work]


def _clean(
    machine: Machine, group: ConsumerGroup, work: ConsumerWork, timer: Timer
) -> list[ConsumerWork]:
    return machine.perform(work, machine.decide("cleanup", ()))


TIMERS = {
    **dict.fromkeys(_TIMEOUTS, _end_member),
    ASSIGNMENT: _end_assignment,
    CLEANUP: _clean,
}

# Failover.


def fail_over(
    machine: Machine, group: ConsumerGroup | None, work: ConsumerWork
) -> list[ConsumerWork]:
    """Let another coordinator load the stored group."""
    rule = machine.decide("failover", (features.stored(group),))
    if group is None:
        work.decided_by(rule.id)
        return [work]
    return machine.perform(work, rule)


def is_unused(group: ConsumerGroup) -> bool:
    """Return True if a group has no member and no offsets."""
    return not group.members and not group.offsets
