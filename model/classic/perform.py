"""Perform each step of a rule.

The steps change members (add, replace, update, remove), storage (the group, its offsets, writes in
progress) and the rebalance (its begin, waits and end; assignments and timers).  The docstrings of
steps are printed in `docs/designers/steps.md`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import Enum

from msgspec.structs import replace

from fencepost.model.classic import answer_bodies
from fencepost.model.classic.classic_work import ClassicWork, Effect
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import (
    JOIN,
    SESSION,
    SYNC,
    WRITE,
    Group,
    InitialDelay,
    Member,
    Offset,
    ParkedRequest,
    Restart,
    kinds,
)
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.coordinator import Config
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommitRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    OffsetCommitRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.work import Incoming

NEW_MEMBER_TIMEOUT_MS = 300_000
"""Time until a new member's first join must complete (Kafka, fixed)."""


def join_request(work: ClassicWork) -> JoinGroupRequest:
    """Return the join in progress."""
    assert work.request is not None
    assert isinstance(work.request.message, JoinGroupRequest)
    return work.request.message


def rebalance_timeout_ms(work: ClassicWork) -> int:
    """Return R of the join in ms; version 0 has no such field and means S."""
    join = join_request(work)
    assert work.request is not None
    return join.session_timeout_ms if work.request.version == 0 else join.rebalance_timeout_ms


def fresh_id(work: ClassicWork) -> str:
    """Return the member id to hand out for this request."""
    assert work.request is not None
    return work.request.fresh_id


def create_group(work: ClassicWork) -> None:
    """Create the group, even if the request is refused after that."""
    work.create()


def hand_out_pending(work: ClassicWork) -> None:
    """Hand out a new pending id, and start its session timer."""
    new = fresh_id(work)
    work.group = replace(work.group, pending=tuple(sorted((*work.group.pending, new))))
    work.set_timer(SESSION, new, join_request(work).session_timeout_ms)
    work.caller = new


def hand_out_holder(work: ClassicWork) -> None:
    """Hand out the member id that the instance is mapped to, as a draft does.

    For the steps that follow, the caller is the member that holds the instance.
    """
    assert work.instance is not None
    work.caller = work.group.holder(work.instance) or ""


def _add(work: ClassicWork, member_id: str, group_instance_id: str | None) -> None:
    join = join_request(work)
    assert work.request is not None
    group = work.group
    member = Member(
        member_id=member_id,
        group_instance_id=group_instance_id,
        client_id=work.request.client_id,
        session_timeout_ms=join.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms(work),
        protocols=join.protocols,
    )
    if not group.members:
        group = replace(group, protocol_type=join.protocol_type)
    group = group.with_member(member)
    if group_instance_id is not None:
        group = group.with_mapping(group_instance_id, member_id)
    if group.leader is None:
        group = replace(group, leader=member_id)
    if group.delay is not None:
        group = replace(group, delay=InitialDelay(group.delay.remaining_ms, somebody_came=True))
    work.group = group
    work.set_timer(SESSION, member_id, NEW_MEMBER_TIMEOUT_MS)
    work.caller = member_id


def add_dynamic(work: ClassicWork) -> None:
    """Add a member without an instance."""
    _add(work, fresh_id(work), None)


def add_static(work: ClassicWork) -> None:
    """Add a member with an instance, and map the instance to it."""
    _add(work, fresh_id(work), work.instance)


def add_static_as_sent(work: ClassicWork) -> None:
    """Add a static member under the id that was sent, as a draft does."""
    _add(work, join_request(work).member_id, work.instance)


def admit_pending(work: ClassicWork) -> None:
    """Make a member of a pending id."""
    mid = join_request(work).member_id
    work.group = replace(work.group, pending=tuple(p for p in work.group.pending if p != mid))
    _add(work, mid, None)


def _replace_holder(work: ClassicWork, new: str, *, updates: bool = True) -> None:
    assert work.instance is not None
    old = work.group.holder(work.instance)
    assert old is not None
    holder = work.group.member(old)
    assert holder is not None
    fence(work, holder)
    group = work.group.without_member(old)
    member = replace(
        _updated(work, holder) if updates else holder,
        member_id=new,
        joining=None,
        syncing=None,
        new=False,
        owes_sync=False,
    )
    work.previous_leader = work.group.leader
    group = group.with_member(member).with_mapping(work.instance, new)
    group = replace(group, subscribed=_subscribed(work.group, group))
    if work.group.leader == old:
        group = replace(group, leader=new)
    work.group = group.without_idle_sync_timer()
    work.set_timer(SESSION, new, member.session_timeout_ms)
    work.caller = new


def _subscribed(before: Group, after: Group) -> tuple[str, ...] | None:
    """Return the topics of the generation, where a replacement changed what its members say."""
    name = before.protocol_name
    if before.subscribed is not None or before.state is not GroupState.STABLE:
        return before.subscribed
    if {m.metadata(name) for m in before.members} == {m.metadata(name) for m in after.members}:
        return None
    topics = before.topics()
    return None if after.topics() == topics else topics


def replace_holder(work: ClassicWork) -> None:
    """Map the instance to a new member id, and fence the old one."""
    _replace_holder(work, fresh_id(work))


def replace_holder_as_sent(work: ClassicWork) -> None:
    """Map the instance to the member id that was sent, as a draft does.

    It doesn't end that an id is pending: `Do.REMOVE_PENDING`, before this step, does.
    """
    _replace_holder(work, join_request(work).member_id)


def replace_id(work: ClassicWork) -> None:
    """Map the instance to a new member id, fence the old one, and take nothing of the join."""
    _replace_holder(work, fresh_id(work), updates=False)


def keep_holder(work: ClassicWork) -> None:
    """Let the member that holds the instance keep its place; its session timer restarts."""
    assert work.instance is not None
    holder = work.group.holder(work.instance)
    assert holder is not None
    work.restart_sessions(m for m in work.group.members if m.member_id == holder)


def map_caller(work: ClassicWork) -> None:
    """Make the caller, a dynamic member, static, as a draft does."""
    member = work.group.member(work.caller)
    assert member is not None
    assert work.instance is not None
    upgraded = replace(member, group_instance_id=work.instance)
    work.group = work.group.with_member(upgraded).with_mapping(work.instance, work.caller)


def seat_idle(work: ClassicWork) -> None:
    """Take the caller, which was just added, for a member whose join is done.

    It has no assignment before the next rebalance, as experiments have it.
    """
    member = work.group.member(work.caller)
    assert member is not None
    work.group = work.group.with_member(replace(member, new=False))
    work.set_timer(SESSION, work.caller, member.session_timeout_ms)


def update_member(work: ClassicWork) -> None:
    """Take protocols and timeouts of the caller from its new join."""
    member = work.group.member(work.caller)
    assert member is not None
    work.group = work.group.with_member(_updated(work, member))


def _updated(work: ClassicWork, member: Member) -> Member:
    """Return a member with the protocols and timeouts of the join."""
    join = join_request(work)
    return replace(
        member,
        protocols=join.protocols,
        session_timeout_ms=join.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms(work),
    )


def fence(work: ClassicWork, member: Member) -> None:
    """Answer a replaced member's parked requests FENCED_INSTANCE_ID, with the old id."""
    fenced = Error.FENCED_INSTANCE_ID.value
    _dismiss(work, member, fenced, member.member_id)


def _dismiss(work: ClassicWork, member: Member, error: int | str, member_id: str) -> None:
    if member.joining is not None:
        work.emit(
            member.joining.request_id, JoinGroupResponse(error_code=error, member_id=member_id)
        )
    if member.syncing is not None:
        work.emit(member.syncing.request_id, SyncGroupResponse(error_code=error))


def remove(work: ClassicWork, *member_ids: str) -> list[ClassicWork] | None:
    """Remove members; if the leader is among them, return one outcome for each new leader."""
    led = work.group.leader in member_ids
    for member_id in member_ids:
        member = work.group.member(member_id)
        assert member is not None
        _dismiss(work, member, Error.UNKNOWN_MEMBER_ID.value, "")
        work.group = work.group.without_member(member_id)
    return elect(work, [m.member_id for m in work.group.members]) if led else None


def elect(work: ClassicWork, electorate: list[str]) -> list[ClassicWork] | None:
    """Elect a leader among these: one outcome for each; None if there are none."""
    forks = []
    for member_id in electorate:
        fork = work.fork()
        fork.group = replace(fork.group, leader=member_id)
        forks.append(fork)
    return forks or None


def remove_member(work: ClassicWork) -> list[ClassicWork] | None:
    """Remove the caller, or the member whose timer fired."""
    return remove(work, work.caller)


def remove_caller(work: ClassicWork) -> list[ClassicWork] | None:
    """Remove the caller, if it is a member."""
    if work.group.member(work.caller) is None:
        return None
    return remove(work, work.caller)


def remove_holder(work: ClassicWork) -> list[ClassicWork] | None:
    """Remove the member that the instance is mapped to."""
    assert work.instance is not None
    holder = work.group.holder(work.instance)
    assert holder is not None
    return remove(work, holder)


def remove_pending(work: ClassicWork) -> None:
    """Drop a pending id with its timer."""
    group = work.group
    rest = tuple(p for p in group.pending if p != work.caller)
    work.group = replace(group, pending=rest).without_timer(SESSION, work.caller)


def remove_unsynced(work: ClassicWork) -> list[ClassicWork] | None:
    """Remove the members that were given the generation and have not sent SyncGroup."""
    return remove(work, *[m.member_id for m in work.group.members if m.owes_sync])


def remove_unsynced_dynamic(work: ClassicWork) -> list[ClassicWork] | None:
    """Remove the dynamic ones of them; static members stay."""
    late = [m.member_id for m in work.group.members if m.owes_sync and not m.is_static]
    return remove(work, *late)


def remove_absent_dynamic(work: ClassicWork) -> list[ClassicWork] | None:
    """Remove the dynamic members without a parked join; static members stay."""
    absent = [m.member_id for m in work.group.members if m.joining is None and not m.is_static]
    return remove(work, *absent)


def persist(work: ClassicWork) -> None:
    """Store the group as it is now."""
    work.group = replace(work.group, stored=work.group.as_stored())


def begin_restart(work: ClassicWork) -> None:
    """Begin to write that the caller replaced another; its answer comes when the write ends.

    A generation that begins before answers it, too, and so do its removal and replacement.
    """
    member = work.group.member(work.caller)
    assert member is not None
    assert work.request is not None
    joining = ParkedRequest(work.request.id, work.request.version)
    restart = Restart(work.request, work.previous_leader, work.rule)
    work.group = work.group.with_member(replace(member, joining=joining, restart=restart))
    work.set_timer(WRITE, member.member_id, 0)


def end_restart(work: ClassicWork, member_id: str) -> bool:
    """End the write of `begin_restart`; return True if the caller must still be answered.

    Where there is no leader, as in a departure, the protocol leaves the answer open.
    """
    member = work.group.member(member_id)
    assert member is not None
    assert member.restart is not None
    request, previous_leader, rule = member.restart
    assert isinstance(request, Incoming)
    work.request, work.caller, work.instance = request, member_id, member.group_instance_id
    work.previous_leader = previous_leader
    work.decided_by(rule)
    work.group = work.group.with_member(replace(member, joining=None, restart=None))
    if work.group.leader is None:
        work.emit(request.id, None)
    return work.group.leader is not None


def store_offsets(work: ClassicWork) -> None:
    """Store the offsets at once: they survive a failover."""
    assert work.request is not None
    assert isinstance(work.request.message, CommitRequest)
    expires = _expiry_ms(work, work.request.message)
    kept = {(o.topic, o.partition): o for o in work.group.offsets}
    for topic in work.request.message.topics:
        for part in topic.partitions:
            kept[topic.name, part.partition_index] = Offset(
                topic.name,
                part.partition_index,
                part.committed_offset,
                part.committed_metadata,
                expires,
            )
    work.group = replace(work.group, offsets=tuple(sorted(kept.values(), key=_place)))


def _expiry_ms(work: ClassicWork, commit: CommitRequest) -> int | None:
    """Return the end of the retention that a commit asks for; -1 asks for the broker's own."""
    if not isinstance(commit, OffsetCommitRequest) or commit.retention_time_ms == -1:
        return None
    return work.span.earliest + commit.retention_time_ms


def remove_offsets(work: ClassicWork) -> None:
    """Remove the offsets of the deleted topics; without any, the group stays the same object."""
    _remove(work, lambda o: o.topic in work.deleted)


def remove_named_offsets(work: ClassicWork) -> None:
    """Remove the offsets that are named; without any, the group stays the same object."""
    _remove(work, lambda o: (o.topic, o.partition) in work.named)


def _remove(work: ClassicWork, is_gone: Callable[[Offset], bool]) -> None:
    kept = tuple(o for o in work.group.offsets if not is_gone(o))
    if kept != work.group.offsets:
        work.group = replace(work.group, offsets=kept)


def forget(work: ClassicWork) -> None:
    """Take the group away, with its offsets."""
    work.forget()


def reload(work: ClassicWork) -> None:
    """Load the stored group: session timers restart, no other timer runs."""
    group = work.group
    stored = group.stored or Group()
    work.group = replace(stored, offsets=group.offsets, stored=group.stored)
    work.restart_sessions(stored.members)


def _place(offset: Offset) -> tuple[str, int]:
    return offset.topic, offset.partition


def rebalance(work: ClassicWork, initial_delay_ms: int) -> None:
    """Begin a rebalance: PreparingRebalance for R, or from Empty for the initial delay.

    Parked syncs get REBALANCE_IN_PROGRESS, and their members' session timers restart.
    """
    group = work.group
    if group.state is GroupState.PREPARING:
        return
    if group.state is GroupState.COMPLETING:
        error = Error.REBALANCE_IN_PROGRESS.value
        for member in group.members:
            if member.syncing is not None:
                work.emit(member.syncing.request_id, SyncGroupResponse(error_code=error))
        work.restart_sessions(m for m in group.members if m.syncing is not None)
        members = tuple(replace(m, assignment=b"", syncing=None) for m in group.members)
        work.group = replace(work.group, members=members)
    rebalance_ms = work.group.rebalance_timeout_ms()
    delay = None
    if group.state is GroupState.EMPTY:
        delay = InitialDelay(max(rebalance_ms - initial_delay_ms, 0), somebody_came=False)
        rebalance_ms = initial_delay_ms
    members = work.group.members
    if any(m.owes_sync for m in kinds(members)):
        members = tuple(replace(m, owes_sync=False) if m.owes_sync else m for m in members)
    work.group = replace(
        work.group,
        state=GroupState.PREPARING,
        delay=delay,
        members=members,
        awaits_replaced=False,
    ).without_timer(SYNC)
    work.group = work.group.without_timer(WRITE)
    work.set_timer(JOIN, "", rebalance_ms)


def rebalances(initial_delay_ms: int, target: int | None) -> dict[Enum, Effect]:
    """Make the steps that depend on the coordinator's settings: to rebalance, and to wait again.

    `target`: the target size of groups, 1 or more.  Steps of experiments compare the group with it,
    and rebalance or only store the group; where it is None they always rebalance.
    """

    def by_size(is_due: Callable[[int, int], bool]) -> Effect:
        def perform(work: ClassicWork) -> None:
            if target is None or is_due(len(work.group.members), target):
                rebalance(work, initial_delay_ms)
            else:
                work.group = work.group.without_idle_sync_timer()
                persist(work)

        return perform

    return {
        Do.REBALANCE: lambda work: rebalance(work, initial_delay_ms),
        Do.EXTEND_DELAY: lambda work: extend_delay(work, initial_delay_ms),
        Do.REBALANCE_FROM_TARGET: by_size(operator.ge),
        Do.REBALANCE_UP_TO_TARGET: by_size(operator.le),
        Do.REBALANCE_BELOW_TARGET: by_size(operator.lt),
    }


def extend_delay(work: ClassicWork, initial_delay_ms: int) -> None:
    """Start the initial delay once more, with what remains of R."""
    assert work.group.delay is not None
    remaining = work.group.delay.remaining_ms
    rest = max(remaining - initial_delay_ms, 0)
    work.group = replace(work.group, delay=InitialDelay(rest, somebody_came=False))
    work.set_timer(JOIN, "", min(initial_delay_ms, remaining))


def postpone(work: ClassicWork) -> None:
    """Wait R once more, since only absent static members are left.

    At least 1 ms, so that time passes: with R = 0 it would be postponed forever at one instant.
    """
    work.group = replace(work.group, delay=None)
    work.set_timer(JOIN, "", max(work.group.rebalance_timeout_ms(), 1))


def join_members(group: Group) -> tuple[JoinMember, ...]:
    """List the members, for the leader."""
    return tuple(
        JoinMember(
            member_id=m.member_id,
            group_instance_id=m.group_instance_id,
            metadata=m.metadata(group.protocol_name),
        )
        for m in group.members
    )


def complete_join(work: ClassicWork) -> list[ClassicWork]:
    """Begin the next generation: one outcome for each leader and protocol that may be chosen."""
    joined = [m.member_id for m in work.group.members if m.joining is not None]
    works = [work]
    if work.group.leader not in joined:
        works = elect(work, joined) or works
    finished = []
    for elected in works:
        names: list[str | None] = [*elected.group.votes()] or [None]
        for name in names:
            fork = elected.fork()
            _begin_generation(fork, name)
            finished.append(fork)
    return finished


def _begin_generation(work: ClassicWork, protocol_name: str | None) -> None:
    group = replace(
        work.group,
        state=GroupState.COMPLETING,
        generation_id=work.group.generation_id + 1,
        protocol_name=protocol_name,
        delay=None,
        subscribed=None,
    ).without_timer(JOIN)
    work.group = group
    for member in group.members:
        if member.joining is not None:
            work.emit(member.joining.request_id, join_answer(group, member.member_id))
    work.restart_sessions(group.members)
    members = tuple(
        replace(m, joining=None, restart=None, new=False, owes_sync=m.joining is not None)
        for m in group.members
    )
    timers = tuple(timer for timer in work.group.timers if timer.kind != WRITE)
    work.group = replace(work.group, members=members, timers=timers)


def join_answer(group: Group, member_id: str) -> JoinGroupResponse:
    """Make the answer NONE with the current generation; the leader gets the list of members."""
    assert group.leader is not None
    return JoinGroupResponse(
        error_code=Error.NONE.value,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader,
        member_id=member_id,
        members=join_members(group) if group.leader == member_id else (),
    )


def start_sync_timer(work: ClassicWork) -> None:
    """Start the wait for everybody's SyncGroup, R."""
    work.set_timer(SYNC, "", work.group.rebalance_timeout_ms())


def become_empty(work: ClassicWork) -> None:
    """Make the group Empty, in a new generation, and store it."""
    group = replace(
        work.group,
        state=GroupState.EMPTY,
        generation_id=work.group.generation_id + 1,
        protocol_name=None,
        leader=None,
        delay=None,
        subscribed=None,
    )
    work.group = group.without_timer(JOIN).without_timer(SYNC)
    persist(work)


def park_join(work: ClassicWork) -> None:
    """Park the caller's join; what an earlier join of its own is answered is unspecified."""
    member = _caller(work)
    parked = _park(work, member.joining)
    group = work.group.with_member(replace(member, joining=parked, restart=None))
    work.group = group.without_timer(WRITE, member.member_id)


def park_sync(work: ClassicWork) -> None:
    """Park the caller's sync; what an earlier sync of its own is answered is unspecified."""
    member = _caller(work)
    work.group = work.group.with_member(replace(member, syncing=_park(work, member.syncing)))


def _park(work: ClassicWork, earlier: ParkedRequest | None) -> ParkedRequest:
    if earlier is not None:
        work.emit(earlier.request_id, None)
    assert work.request is not None
    return ParkedRequest(work.request.id, work.request.version)


def answer_current(work: ClassicWork) -> None:
    """Answer NONE at once, with the current generation."""
    assert work.request is not None
    work.emit(work.request.id, join_answer(work.group, work.caller))


def answer_restarted(work: ClassicWork) -> None:
    """Answer NONE at once, to the new process of an instance.

    From version 9 on a leader gets its own id and skipAssignment.  Below, it gets
    the leader's id from before the replacement, so that it doesn't take itself for the leader.
    """
    assert work.request is not None
    answer = join_answer(work.group, work.caller)
    if work.request.version < 9:
        assert work.previous_leader is not None
        answer = replace(answer, leader=work.previous_leader, members=())
    elif work.group.leader == work.caller:
        answer = replace(answer, skip_assignment=True)
    work.emit(work.request.id, answer)


def note_sync(work: ClassicWork) -> None:
    """Note that the caller has sent its SyncGroup; the wait for syncs ends with the last one."""
    group = work.group.with_member(replace(_caller(work), owes_sync=False))
    work.group = group.without_idle_sync_timer()


def assign(work: ClassicWork) -> None:
    """Store the leader's assignments; the group is Stable."""
    take_assignments(work)
    work.group = replace(work.group, state=GroupState.STABLE)


def take_assignments(work: ClassicWork) -> None:
    """Take the leader's assignments, empty for members without one; drop unknown ids.

    Ignore those of a second sync while the first sync's are written, and when they are.
    """
    if work.request is None or work.group.has_timer(WRITE):
        return
    assert isinstance(work.request.message, SyncGroupRequest)
    work.group = answer_bodies.assign(work.group, work.request.message)


def begin_write(work: ClassicWork) -> None:
    """Begin to write the leader's assignments; the group is CompletingRebalance until the end.

    They are stored even if the group changes meanwhile: a rebalance that interrupts the write
    doesn't undo it.  A second sync begins no second write.
    """
    if not work.group.has_timer(WRITE):
        take_assignments(work)
        written = replace(work.group, state=GroupState.STABLE).as_stored()
        work.group = replace(work.group, stored=written)
        work.set_timer(WRITE, "", 0)


def answer_syncs(work: ClassicWork) -> None:
    """Answer all parked syncs with their assignments; their members' session timers restart."""
    _answer_syncs(work, lambda member: sync_answer(work.group, member))


def _answer_syncs(work: ClassicWork, answer: Callable[[Member], SyncGroupResponse]) -> None:
    answered = [m for m in work.group.members if m.syncing is not None]
    for member in answered:
        assert member.syncing is not None
        work.emit(member.syncing.request_id, answer(member))
    work.restart_sessions(answered)
    members = tuple(
        replace(m, syncing=None) if m.syncing is not None else m for m in work.group.members
    )
    work.group = replace(work.group, members=members)


def refuse_syncs(work: ClassicWork) -> None:
    """Answer all parked syncs with an error; their members' session timers restart."""
    refusal = SyncGroupResponse(error_code=Error.UNKNOWN_SERVER_ERROR.value)
    _answer_syncs(work, lambda _: refusal)


def sync_answer(group: Group, member: Member) -> SyncGroupResponse:
    """Make the answer NONE with the stored assignment."""
    return SyncGroupResponse(
        error_code=Error.NONE.value,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def answer_assignment(work: ClassicWork) -> None:
    """Answer with the caller's stored assignment."""
    assert work.request is not None
    work.emit(work.request.id, sync_answer(work.group, _caller(work)))


def restart_session(work: ClassicWork) -> None:
    """Restart the caller's session timer."""
    work.set_timer(SESSION, work.caller, _caller(work).session_timeout_ms)


def maybe_restart_session(work: ClassicWork) -> list[ClassicWork]:
    """Restart the caller's session timer, or not: both are allowed, one outcome each."""
    restarted = work.fork()
    restart_session(restarted)
    return [restarted, work]


def _caller(work: ClassicWork) -> Member:
    member = work.group.member(work.caller)
    assert member is not None
    return member


_EFFECTS: dict[Enum, Effect] = {
    Do.CREATE_GROUP: create_group,
    Do.HAND_OUT_PENDING: hand_out_pending,
    Do.HAND_OUT_HOLDER: hand_out_holder,
    Do.ADD_DYNAMIC: add_dynamic,
    Do.ADMIT_PENDING: admit_pending,
    Do.ADD_STATIC: add_static,
    Do.ADD_STATIC_AS_SENT: add_static_as_sent,
    Do.REPLACE_HOLDER: replace_holder,
    Do.REPLACE_ID: replace_id,
    Do.REPLACE_HOLDER_AS_SENT: replace_holder_as_sent,
    Do.KEEP_HOLDER: keep_holder,
    Do.MAP_CALLER: map_caller,
    Do.SEAT_IDLE: seat_idle,
    Do.UPDATE_MEMBER: update_member,
    Do.REMOVE_CALLER: remove_caller,
    Do.REMOVE_HOLDER: remove_holder,
    Do.REMOVE_MEMBER: remove_member,
    Do.REMOVE_PENDING: remove_pending,
    Do.REMOVE_UNSYNCED: remove_unsynced,
    Do.REMOVE_UNSYNCED_DYNAMIC: remove_unsynced_dynamic,
    Do.REMOVE_ABSENT_DYNAMIC: remove_absent_dynamic,
    Do.POSTPONE: postpone,
    Do.COMPLETE_JOIN: complete_join,
    Do.START_SYNC_TIMER: start_sync_timer,
    Do.BECOME_EMPTY: become_empty,
    Do.PARK_JOIN: park_join,
    Do.ANSWER_CURRENT: answer_current,
    Do.ANSWER_RESTARTED: answer_restarted,
    Do.PARK_SYNC: park_sync,
    Do.NOTE_SYNC: note_sync,
    Do.ASSIGN: assign,
    Do.ANSWER_SYNCS: answer_syncs,
    Do.REFUSE_SYNCS: refuse_syncs,
    Do.ANSWER_ASSIGNMENT: answer_assignment,
    Do.RESTART_SESSION: restart_session,
    Do.MAYBE_RESTART_SESSION: maybe_restart_session,
    Do.STORE_OFFSETS: store_offsets,
    Do.REMOVE_NAMED_OFFSETS: remove_named_offsets,
    Do.REMOVE_OFFSETS: remove_offsets,
    Do.REMOVE_EXPIRED_OFFSETS: remove_named_offsets,
    Do.PERSIST: persist,
    Do.FORGET: forget,
    Do.RELOAD: reload,
}


def effects_with(config: Config, target_size: int | None) -> dict[Enum, Effect]:
    """Return step → effect under a broker's settings.  `target_size`: like the revision's."""
    return {**_EFFECTS, **rebalances(config["group.initial.rebalance.delay.ms"] or 0, target_size)}
