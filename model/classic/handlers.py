"""Handle requests, timers, failovers and operations of a classic group, by the rules of tables.

A handler makes the points of a request, carries out the rule of each, and answers.  Where a change
in PreparingRebalance ends the join phase, the group settles: the next generation begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from msgspec.structs import replace

from fencepost.model.classic import answer_bodies, features, perform
from fencepost.model.classic.classic_work import ClassicWork
from fencepost.model.classic.draft_translation import translate
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import CREATION, JOIN, SESSION, SYNC, WRITE, Group
from fencepost.model.classic.vocabulary import GroupState, Trigger
from fencepost.model.coordinator import METADATA_LIMIT
from fencepost.model.history.events import Disturbance, TopicsDeleted
from fencepost.model.machine import Machine
from fencepost.model.messages.draft_messages import (
    MemberNameJoinGroupRequest,
    TupleListLeaveGroupRequest,
    TwoListLeaveGroupRequest,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommitRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.protocol import Write
from fencepost.model.table.expr import Point
from fencepost.model.table.shared_features import Availability
from fencepost.model.table.table import Rule
from fencepost.model.work import CLEANUP, RETENTION, Incoming, Outcome, Span, Timer, unchanged

# Requests.


def join(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: JoinGroupRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a JoinGroup; the group settles afterwards."""
    revision = machine.revision
    outcomes: list[Outcome] = []
    if message.group_instance_id == "" and revision.empty_instance_is_none:
        message = replace(message, group_instance_id=None)
    for point in features.join_points(
        group,
        message,
        request.version,
        machine.config,
        here,
        restart_needs_room=revision.restart_needs_room,
    ):
        ids = message.member_id, message.group_instance_id
        rule = machine.decide("JoinGroup", point, group, *ids)
        work = ClassicWork(group, span, request)
        work.caller, work.instance = message.member_id, message.group_instance_id
        for done in machine.perform(work, rule):
            if rule.answer is not None:
                done.emit(request.id, answer_bodies.join_error(message, rule, done))
            unchecked = rule.id in revision.unchecked
            outcomes += [
                w.outcome() for w in ([done] if unchecked else settle(machine, done, group))
            ]
    return tuple(outcomes)


def sync(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: SyncGroupRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a SyncGroup."""
    points = features.sync_points(group, message, request.version, machine.config, here)
    return _member_request(machine, "SyncGroup", points, group, request, message, span)


def heartbeat(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: HeartbeatRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a Heartbeat."""
    points = (features.member_point(group, message, here),)
    return _member_request(machine, "Heartbeat", points, group, request, message, span)


def _member_request(
    machine: Machine,
    api: str,
    points: Sequence[Point],
    group: Group | None,
    request: Incoming,
    message: SyncGroupRequest | HeartbeatRequest,
    span: Span,
) -> tuple[Outcome, ...]:
    outcomes: list[Outcome] = []
    for point in points:
        ids = message.member_id, message.group_instance_id
        rule = machine.decide(api, point, group, *ids)
        work = ClassicWork(group, span, request)
        work.caller, work.instance = message.member_id, message.group_instance_id
        for done in machine.perform(work, rule):
            if rule.answer is not None:
                done.emit(request.id, answer_bodies.error_alone(request, rule))
            outcomes.append(done.outcome())
    return tuple(outcomes)


def commit(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: CommitRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle an OffsetCommit, or a TxnOffsetCommit.

    The transaction of the latter holds nothing else, and is committed at once.
    """
    most = machine.config[METADATA_LIMIT]

    def is_missing(name: str, number: int) -> bool:
        return name in request.deleted or machine.is_missing_partition(name, number)

    kept, missing = answer_bodies.split_topics(message, is_missing, most)
    inner = Incoming(
        request.id, request.client_id, request.api, request.version, kept, request.fresh_id
    )
    outcomes: list[Outcome] = []
    for point in features.commit_points(
        group, request.version, message, kept, machine.config, here
    ):
        ids = message.member_id, message.group_instance_id
        rule = machine.decide(message.API, point, group, *ids)
        work = ClassicWork(group, span, inner)
        work.caller, work.instance = message.member_id, message.group_instance_id
        works = machine.perform(work, rule)
        stores = Do.STORE_OFFSETS in rule.effect and any(t.partitions for t in kept.topics)
        if rule.effect and not stores and (group is None or not message.topics):
            # A commit that stores nothing may create a group or not: Kafka does both.
            without_group = ClassicWork(group, span, inner)
            without_group.decided_by(rule.id)
            works = [*works, without_group]
        for done in works:
            done.emit(request.id, answer_bodies.commit_answer(message, rule, missing, most))
            outcomes.append(done.outcome())
    return tuple(outcomes)


def fetch(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: OffsetFetchRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle an OffsetFetch."""
    point = (request.version, features.group_id(group_id), here, features.state(group))
    rule = machine.decide("OffsetFetch", point)
    answer = answer_bodies.fetch_answer(group, message, request.version, group_id, rule)
    kept_by = _kept_by(machine, group, span) if Do.ANSWER_OFFSETS in rule.effect else ()
    outcome = unchanged(group, request, answer, kept_by[-1] if kept_by else rule.id)
    return (replace(outcome, rules=(rule.id, *kept_by)),)


def _kept_by(machine: Machine, group: Group | None, span: Span) -> tuple[str, ...]:
    """Return the rules that keep offsets whose retention is over, as it is for sure."""
    if group is None:
        return ()
    over = (
        timer.subject
        for timer in machine.cleaned(group)
        if timer.kind == RETENTION and timer.earliest <= span.earliest
    )
    points = (p for topic in dict.fromkeys(over) for p in features.retention_points(group, topic))
    rules = [machine.decide("offset retention", point) for point in points]
    return tuple(dict.fromkeys(rule.id for rule in rules if not rule.effect))


def describe(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: DescribeGroupsRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a DescribeGroups for one of its groups."""
    visible = _visible(group)
    rule = machine.decide("DescribeGroups", (request.version, here, features.state(visible)))
    row = answer_bodies.describe_answer(visible, group_id, rule)
    return (unchanged(group, request, row, rule.id),)


def list_groups(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: ListGroupsRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a ListGroups for one group."""
    visible = _visible(group)
    rule = machine.decide("ListGroups", (request.version, here, features.state(visible)))
    rows = answer_bodies.list_answer(visible, message, group_id, rule)
    return (unchanged(group, request, rows, rule.id),)


def delete_group(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: DeleteGroupsRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a DeleteGroups for one of its groups."""
    point = (features.group_id(group_id), here, features.state(group))
    rule = machine.decide("DeleteGroups", point)
    outcomes = []
    for done in machine.perform(ClassicWork(group, span, request), rule):
        done.emit(request.id, answer_bodies.delete_answer(group_id, rule))
        outcomes.append(done.outcome())
    return tuple(outcomes)


def delete_offsets(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: OffsetDeleteRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle an OffsetDelete, topic by topic: an error of the group is that of the whole."""
    absent = {
        t.name for t in message.topics if t.name in request.deleted or machine.missing(t.name)
    }
    named = frozenset(
        (t.name, p.partition_index)
        for t in message.topics
        for p in t.partitions
        if t.name not in absent
    )
    works: list[tuple[ClassicWork, dict[str, Rule]]] = [(ClassicWork(group, span, request), {})]
    for topic in dict.fromkeys(t.name for t in message.topics) or (None,):
        points = features.deletion_points(
            group, message, topic, here, missing=topic in absent, named=named
        )
        after = []
        for point in points:
            rule = machine.decide("OffsetDelete", point)
            for before, rules in works:
                work = before.fork() if len(points) > 1 else before
                work.named = frozenset(row for row in named if row[0] == topic)
                after += [(w, {**rules, topic or "": rule}) for w in machine.perform(work, rule)]
        works = after
    for work, rules in works:
        refusals = (rule.id for rule in rules.values() if rule.answer is not Error.NONE)
        work.rule = next(refusals, work.rule)
        work.emit(request.id, answer_bodies.deletion_answer(message, rules))
    return tuple(dict.fromkeys(work.outcome() for work, _ in works))


def leave(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: LeaveGroupRequest,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a LeaveGroup, row by row."""
    point = (request.version, features.group_id(message.group_id), here, features.state(group))
    rule = machine.decide("LeaveGroup", point)
    if group is None or Do.ANSWER_ROWS not in rule.effect:
        answer = answer_bodies.leave_error(message, rule)
        work = ClassicWork(group, span, request)
        work.decided_by(rule.id)
        work.emit(request.id, answer)
        return (work.outcome(),)
    orders = (False, True) if len(message.rows(request.version)) > 1 else (False,)
    outcomes: dict[Outcome, None] = {}
    for at_end in orders:
        for work in _leave_rows(machine, group, request, message, rule, span, at_end=at_end):
            outcomes.setdefault(work.outcome())
    return tuple(outcomes)


def _leave_rows(
    machine: Machine,
    group: Group,
    request: Incoming,
    message: LeaveGroupRequest,
    rule: Rule,
    span: Span,
    *,
    at_end: bool,
) -> list[ClassicWork]:
    """Handle the rows in order; rebalance after each that asks for it, or once at the end."""
    work = ClassicWork(group, span, request)
    work.decided_by(rule.id)  # where there are no rows, the request itself decides the answer
    states: list[tuple[ClassicWork, tuple[int | str, ...]]] = [(work, ())]
    wants_rebalance = False
    for row in message.rows(request.version):
        after: list[tuple[ClassicWork, tuple[int | str, ...]]] = []
        for before, errors in states:
            before.caller = row.member_id
            before.instance = row.group_instance_id
            row_rule = machine.decide(
                "LeaveGroup member",
                features.leaving_point(before.group, row.member_id, row.group_instance_id),
                before.group,
                row.member_id,
                row.group_instance_id,
            )
            assert row_rule.answer is not None
            wants_rebalance |= Do.REBALANCE in row_rule.effect
            start = before.group
            for w in machine.perform(before, row_rule, skip=Do.REBALANCE if at_end else None):
                codes = (*errors, row_rule.answer.value)
                after += [(s, codes) for s in ([w] if at_end else settle(machine, w, start))]
        if len(after) > 1:  # two leaders that leave one after the other, or the other way round
            after = list({(s.outcome(), codes): (s, codes) for s, codes in after}.values())
        states = after
    finished: list[ClassicWork] = []
    for w, errors in states:
        if at_end and wants_rebalance:
            machine.effects[Do.REBALANCE](w)
        w.rule = w.rules[1] if len(errors) == 1 else rule.id
        w.emit(request.id, answer_bodies.leave_answer(request, errors))
        finished += settle(machine, w, group) if at_end else [w]
    return finished


def draft(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    message: Message,
    span: Span,
    here: Availability,
    group_id: str,
) -> tuple[Outcome, ...]:
    """Handle a request of a draft that never shipped as the equivalent shipped request."""
    base, finish = translate(machine, group, request)
    if base is None:
        return finish(())
    handle = HANDLERS[type(base.message)]
    return finish(handle(machine, group, base, base.message, span, here, group_id))


Handler = Callable[
    [Machine, Group | None, Incoming, Any, Span, Availability, str], tuple[Outcome, ...]
]
HANDLERS: Mapping[type[Message], Handler] = {
    JoinGroupRequest: join,
    SyncGroupRequest: sync,
    HeartbeatRequest: heartbeat,
    LeaveGroupRequest: leave,
    OffsetCommitRequest: commit,
    TxnOffsetCommitRequest: commit,
    OffsetFetchRequest: fetch,
    DescribeGroupsRequest: describe,
    ListGroupsRequest: list_groups,
    DeleteGroupsRequest: delete_group,
    OffsetDeleteRequest: delete_offsets,
    MemberNameJoinGroupRequest: draft,
    TwoListLeaveGroupRequest: draft,
    TupleListLeaveGroupRequest: draft,
}


def _visible(group: Group | None) -> Group | None:
    """Return the group as requests that list or describe groups see it."""
    return None if group is not None and group.has_timer(CREATION) else group


# Timers.


def _end_session(
    machine: Machine, group: Group, work: ClassicWork, timer: Timer
) -> list[ClassicWork]:
    work.caller = timer.subject
    point = features.session_point(group, timer.subject)
    return _carry_out(machine, group, work, machine.decide("session timeout", point))


def _end_join(machine: Machine, group: Group, work: ClassicWork, timer: Timer) -> list[ClassicWork]:
    point = features.join_phase_point(group, Trigger.EXPIRY)
    return _carry_out(machine, group, work, machine.decide("join phase", point))


def _end_sync(machine: Machine, group: Group, work: ClassicWork, timer: Timer) -> list[ClassicWork]:
    rule = machine.decide("sync phase", features.sync_phase_point(group))
    return _carry_out(machine, group, work, rule)


def _clean(machine: Machine, group: Group, work: ClassicWork, timer: Timer) -> list[ClassicWork]:
    return _carry_out(machine, group, work, machine.decide("cleanup", ()))


def _end_retention(
    machine: Machine, group: Group, work: ClassicWork, timer: Timer
) -> list[ClassicWork]:
    """Remove a topic's expired offsets, or keep them; without any the group goes with them."""
    named = frozenset(
        (o.topic, o.partition)
        for o in group.offsets
        if o.topic == timer.subject
        and o.expires_ms is not None
        and o.expires_ms <= work.span.earliest
    )
    works: list[ClassicWork] = []
    for point in features.retention_points(group, timer.subject):
        fork = work.fork()
        fork.named = named
        works += machine.perform(fork, machine.decide("offset retention", point))
        if is_unused(works[-1].group):
            works += machine.perform(works[-1].fork(), machine.decide("cleanup", ()))
    return works


def _end_write(
    machine: Machine, group: Group, work: ClassicWork, timer: Timer
) -> list[ClassicWork]:
    """Complete a write: answer a replacement, or hand out the leader's assignments."""
    if timer.subject:
        if perform.end_restart(work, timer.subject):
            return machine.effects[Do.ANSWER_RESTARTED](work) or [work]
        return [work]
    rule = machine.decide("SyncGroup", features.LEADERS_SYNC, group, group.leader or "")
    rule = rule.but(effect=rule.effect[rule.effect.index(Do.ASSIGN) :])
    return _carry_out(machine, group, work, rule)


def _end_creation(
    machine: Machine, group: Group, work: ClassicWork, timer: Timer
) -> list[ClassicWork]:
    return [work]


TIMERS = {
    SESSION: _end_session,
    JOIN: _end_join,
    SYNC: _end_sync,
    WRITE: _end_write,
    CREATION: _end_creation,
    CLEANUP: _clean,
    RETENTION: _end_retention,
}


def _carry_out(machine: Machine, group: Group, work: ClassicWork, rule: Rule) -> list[ClassicWork]:
    works = machine.perform(work, rule)
    if rule.id in machine.revision.unchecked:
        return works
    return [w for done in works for w in settle(machine, done, group)]


def settle(machine: Machine, work: ClassicWork, before: Group | None) -> list[ClassicWork]:
    """Complete the join phase, if the change in PreparingRebalance ends it."""
    if work.group.state is not GroupState.PREPARING or work.group is before:
        return [work]
    point = features.join_phase_point(work.group, Trigger.CHECK)
    return machine.perform(work, machine.decide("join phase", point))


# Failover and operations.


def fail_over(machine: Machine, group: Group | None, work: ClassicWork) -> list[ClassicWork]:
    """Let another coordinator load the stored group; parked requests get NOT_COORDINATOR."""
    rule = machine.decide("failover", (features.stored(group),))
    if group is None:
        work.decided_by(rule.id)
        return [work]
    work.rule = rule.id
    answer_bodies.answer_not_coordinator(work)
    return machine.perform(work, rule)


def delete_topics(
    machine: Machine, group: Group | None, work: ClassicWork, event: TopicsDeleted
) -> list[ClassicWork]:
    """Remove the offsets of the topics that are deleted, and clean the group up, or not."""
    work.deleted = frozenset(event.topics)
    works = machine.perform(work, machine.decide("topics deleted", ()))
    if group is not None and is_unused(works[0].group):
        works += machine.perform(works[0].fork(), machine.decide("cleanup", ()))
    return works


OPERATIONS: Mapping[
    type[Disturbance],
    Callable[[Machine, Group | None, ClassicWork, Any], Iterable[ClassicWork]],
] = {TopicsDeleted: delete_topics}
"""The type of an event → its operation on a group."""


def is_unused(group: Group) -> bool:
    """Return True if a group has no member and no offsets."""
    return group.state is GroupState.EMPTY and not group.offsets


def retentions(group: Group) -> tuple[Timer, ...]:
    """Return the ends of the retentions of a group's offsets, by topic."""
    ends = {(o.topic, o.expires_ms) for o in group.offsets if o.expires_ms is not None}
    return tuple(Timer(RETENTION, topic, at_ms, at_ms) for topic, at_ms in sorted(ends))


def _writes_assignments(work: ClassicWork, rule: Rule) -> bool:
    return work.request is not None


def _writes_replacement(work: ClassicWork, rule: Rule) -> bool:
    return Do.PERSIST in rule.effect


WRITES: Mapping[Enum, Write[ClassicWork]] = {
    Do.ASSIGN: Write(_writes_assignments, perform.begin_write),
    Do.ANSWER_RESTARTED: Write(_writes_replacement, perform.begin_restart),
}
"""A leader's assignments, and a replacement in a stable group, are written first.

Until the assignments are, the group is CompletingRebalance.
"""
