"""Effects on the rebalance: begun, waited for, completed; assignments; storage; timers."""

from __future__ import annotations

from fencepost.model.machine.perform_members import elect
from fencepost.model.messages.messages import (
    JoinGroupResponse,
    JoinMember,
    OffsetCommitRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.state.fast_replace import replace
from fencepost.model.state.group import (
    JOIN,
    SESSION,
    SYNC,
    Group,
    InitialDelay,
    Member,
    Offset,
    ParkedRequest,
)
from fencepost.model.state.work import Work
from fencepost.model.table.errors import Error
from fencepost.model.table.vocabulary import GroupState


def rebalance(work: Work, initial_delay_ms: int) -> None:
    """PreparingRebalance, with its timer; from Empty the initial delay, else R.

    Parked syncs are answered, and their members' session timers restart.
    """
    group = work.group
    if group.state is GroupState.PREPARING:
        return
    if group.state is GroupState.COMPLETING:
        for member in group.members:
            if member.syncing is not None:
                error = Error.REBALANCE_IN_PROGRESS.value
                work.emit(member.syncing.request_id, SyncGroupResponse(error_code=error))
                work.set_timer(SESSION, member.member_id, member.session_timeout_ms)
        members = tuple(replace(m, assignment=b"", syncing=None) for m in group.members)
        work.group = replace(work.group, members=members)
    rebalance_ms = work.group.rebalance_timeout_ms()
    delay = None
    if group.state is GroupState.EMPTY:
        delay = InitialDelay(max(rebalance_ms - initial_delay_ms, 0), somebody_came=False)
        rebalance_ms = initial_delay_ms
    members = tuple(replace(m, owes_sync=False) for m in work.group.members)
    work.group = replace(
        work.group, state=GroupState.PREPARING, delay=delay, members=members
    ).without_timer(SYNC)
    work.set_timer(JOIN, "", rebalance_ms)


def extend_delay(work: Work, initial_delay_ms: int) -> None:
    """The initial delay runs once more."""
    assert work.group.delay is not None
    remaining = work.group.delay.remaining_ms
    left = max(remaining - initial_delay_ms, 0)
    work.group = replace(work.group, delay=InitialDelay(left, somebody_came=False))
    work.set_timer(JOIN, "", min(initial_delay_ms, remaining))


def postpone(work: Work) -> None:
    """Only absent static members are left: R once more.

    A ms at least: time has to pass, or it would be put off for ever at one instant.
    """
    work.group = replace(work.group, delay=None)
    work.set_timer(JOIN, "", max(work.group.rebalance_timeout_ms(), 1))


def join_members(group: Group) -> tuple[JoinMember, ...]:
    """The member list for the leader."""
    return tuple(
        JoinMember(
            member_id=m.member_id,
            group_instance_id=m.group_instance_id,
            metadata=m.metadata(group.protocol_name),
        )
        for m in group.members
    )


def complete_join(work: Work) -> list[Work]:
    """The next generation: one outcome for each leader and each protocol that may be chosen."""
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


def _begin_generation(work: Work, protocol_name: str | None) -> None:
    group = replace(
        work.group,
        state=GroupState.COMPLETING,
        generation_id=work.group.generation_id + 1,
        protocol_name=protocol_name,
        delay=None,
    ).without_timer(JOIN)
    work.group = group
    for member in group.members:
        if member.joining is not None:
            work.emit(member.joining.request_id, joined_answer(group, member.member_id))
        work.set_timer(SESSION, member.member_id, member.session_timeout_ms)
    members = tuple(
        replace(m, joining=None, new=False, owes_sync=m.joining is not None) for m in group.members
    )
    work.group = replace(work.group, members=members)


def joined_answer(group: Group, member_id: str) -> JoinGroupResponse:
    """NONE, with the group's current generation; the leader is given the members."""
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


def start_sync_timer(work: Work) -> None:
    """From now everybody has R to send SyncGroup."""
    work.set_timer(SYNC, "", work.group.rebalance_timeout_ms())


def become_empty(work: Work) -> None:
    """No members are left; the empty generation is stored."""
    group = replace(
        work.group,
        state=GroupState.EMPTY,
        generation_id=work.group.generation_id + 1,
        protocol_name=None,
        leader=None,
        delay=None,
    )
    work.group = group.without_timer(JOIN).without_timer(SYNC)
    persist(work)


def park_join(work: Work) -> None:
    """The caller's join waits; an earlier one of its own is superseded, its answer unspecified."""
    member = _caller(work)
    work.group = work.group.with_member(replace(member, joining=_parked(work, member.joining)))


def park_sync(work: Work) -> None:
    """The caller's sync waits; an earlier one of its own is superseded."""
    member = _caller(work)
    work.group = work.group.with_member(replace(member, syncing=_parked(work, member.syncing)))


def _parked(work: Work, earlier: ParkedRequest | None) -> ParkedRequest:
    if earlier is not None:
        work.emit(earlier.request_id, None)
    assert work.request is not None
    return ParkedRequest(work.request.id, work.request.version)


def answer_current(work: Work) -> None:
    """NONE at once, with the current generation."""
    assert work.request is not None
    work.emit(work.request.id, joined_answer(work.group, work.caller))


def answer_restarted(work: Work) -> None:
    """NONE at once, to the new process of an instance.

    From version 9 on the leader is told that it leads and skips the assignment; below, it is told
    the leader's id from before the replacement, so that it does not take itself for the leader.
    """
    assert work.request is not None
    answer = joined_answer(work.group, work.caller)
    if work.request.version < 9:
        assert work.previous_leader is not None
        answer = replace(answer, leader=work.previous_leader, members=())
    elif work.group.leader == work.caller:
        answer = replace(answer, skip_assignment=True)
    work.emit(work.request.id, answer)


def note_sync(work: Work) -> None:
    """The caller owes no sync any more; with the last one the wait for syncs ends."""
    group = work.group.with_member(replace(_caller(work), owes_sync=False))
    work.group = group.without_idle_sync_timer()


def assign(work: Work) -> None:
    """The leader's assignments are taken: unknown ids dropped, who is left out gets empty bytes."""
    assert work.request is not None
    assert isinstance(work.request.message, SyncGroupRequest)
    given = {a.member_id: a.assignment for a in work.request.message.assignments}
    members = tuple(replace(m, assignment=given.get(m.member_id, b"")) for m in work.group.members)
    work.group = replace(work.group, state=GroupState.STABLE, members=members)


def answer_syncs(work: Work) -> None:
    """Everybody who waits gets its assignment; their session timers restart."""
    for member in work.group.members:
        if member.syncing is not None:
            work.emit(member.syncing.request_id, synced_answer(work.group, member))
            work.set_timer(SESSION, member.member_id, member.session_timeout_ms)
    members = tuple(replace(m, syncing=None) for m in work.group.members)
    work.group = replace(work.group, members=members)


def synced_answer(group: Group, member: Member) -> SyncGroupResponse:
    """NONE with the stored assignment."""
    return SyncGroupResponse(
        error_code=Error.NONE.value,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def answer_assignment(work: Work) -> None:
    """The caller's stored assignment."""
    assert work.request is not None
    work.emit(work.request.id, synced_answer(work.group, _caller(work)))


def restart_session(work: Work) -> None:
    """The caller is alive for another S."""
    work.set_timer(SESSION, work.caller, _caller(work).session_timeout_ms)


def maybe_restart_session(work: Work) -> list[Work]:
    """Both are allowed: the timer restarts, or runs on."""
    restarted = work.fork()
    restart_session(restarted)
    return [restarted, work]


def store_offsets(work: Work) -> None:
    """The offsets are written at once: they survive a failover."""
    assert work.request is not None
    assert isinstance(work.request.message, OffsetCommitRequest)
    kept = {(o.topic, o.partition): o for o in work.group.offsets}
    for topic in work.request.message.topics:
        for part in topic.partitions:
            kept[topic.name, part.partition_index] = Offset(
                topic.name, part.partition_index, part.committed_offset, part.committed_metadata
            )
    work.group = replace(work.group, offsets=tuple(sorted(kept.values(), key=_place)))


def persist(work: Work) -> None:
    """The group is written as it is now."""
    work.group = replace(work.group, stored=work.group.as_stored())


def reload(work: Work) -> None:
    """A new coordinator has loaded the group: session timers restart, nothing else runs."""
    group = work.group
    stored = group.stored or Group()
    work.group = replace(stored, offsets=group.offsets, stored=group.stored)
    for member in stored.members:
        work.set_timer(SESSION, member.member_id, member.session_timeout_ms)


def _caller(work: Work) -> Member:
    member = work.group.member(work.caller)
    assert member is not None
    return member


def _place(offset: Offset) -> tuple[str, int]:
    return offset.topic, offset.partition
