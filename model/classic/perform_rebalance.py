"""Effects on the rebalance: its begin, waits and end; assignments and timers."""

from __future__ import annotations

import operator
from collections.abc import Callable

from msgspec.structs import replace

from fencepost.model.classic.counted_members import kinds
from fencepost.model.classic.group import (
    JOIN,
    SESSION,
    SYNC,
    WRITE,
    Group,
    InitialDelay,
    Member,
    ParkedRequest,
)
from fencepost.model.classic.perform_members import elect
from fencepost.model.classic.perform_storage import persist
from fencepost.model.classic.record_sizes import assigned
from fencepost.model.classic.work import Effect, Work
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    JoinGroupResponse,
    JoinMember,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.table.effects import Do
from fencepost.model.table.vocabulary import GroupState


def rebalance(work: Work, initial_delay_ms: int) -> None:
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


def rebalances(initial_delay_ms: int, target: int | None) -> dict[Do, Effect]:
    """Make the steps that begin a rebalance or wait again, by what the coordinator was told.

    `target`: the size that a group is meant to have, 1 or more.  Steps of experiments rebalance by
    it, else they store the group; where it is None they always rebalance.
    """

    def by_size(is_due: Callable[[int, int], bool]) -> Effect:
        def perform(work: Work) -> None:
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


def extend_delay(work: Work, initial_delay_ms: int) -> None:
    """Start the initial delay once more, with what remains of R."""
    assert work.group.delay is not None
    remaining = work.group.delay.remaining_ms
    left = max(remaining - initial_delay_ms, 0)
    work.group = replace(work.group, delay=InitialDelay(left, somebody_came=False))
    work.set_timer(JOIN, "", min(initial_delay_ms, remaining))


def postpone(work: Work) -> None:
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


def complete_join(work: Work) -> list[Work]:
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
    work.restart_sessions(group.members)
    members = tuple(
        replace(m, joining=None, restart=None, new=False, owes_sync=m.joining is not None)
        for m in group.members
    )
    timers = tuple(timer for timer in work.group.timers if timer.kind != WRITE)
    work.group = replace(work.group, members=members, timers=timers)


def joined_answer(group: Group, member_id: str) -> JoinGroupResponse:
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


def start_sync_timer(work: Work) -> None:
    """Start the wait for everybody's SyncGroup, R."""
    work.set_timer(SYNC, "", work.group.rebalance_timeout_ms())


def become_empty(work: Work) -> None:
    """Make the group Empty, in a new generation, and store it."""
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
    """Park the caller's join; what an earlier join of its own is answered is unspecified."""
    member = _caller(work)
    parked = _parked(work, member.joining)
    group = work.group.with_member(replace(member, joining=parked, restart=None))
    work.group = group.without_timer(WRITE, member.member_id)


def park_sync(work: Work) -> None:
    """Park the caller's sync; what an earlier sync of its own is answered is unspecified."""
    member = _caller(work)
    work.group = work.group.with_member(replace(member, syncing=_parked(work, member.syncing)))


def _parked(work: Work, earlier: ParkedRequest | None) -> ParkedRequest:
    if earlier is not None:
        work.emit(earlier.request_id, None)
    assert work.request is not None
    return ParkedRequest(work.request.id, work.request.version)


def answer_current(work: Work) -> None:
    """Answer NONE at once, with the current generation."""
    assert work.request is not None
    work.emit(work.request.id, joined_answer(work.group, work.caller))


def answer_restarted(work: Work) -> None:
    """Answer NONE at once, to the new process of an instance.

    From version 9 on a leader is told that it leads and skips the assignment.  Below, it is told
    the leader's id from before the replacement, so that it doesn't take itself for the leader.
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
    """Note that the caller has sent its SyncGroup; the wait for syncs ends with the last one."""
    group = work.group.with_member(replace(_caller(work), owes_sync=False))
    work.group = group.without_idle_sync_timer()


def assign(work: Work) -> None:
    """Store the leader's assignments; the group is Stable."""
    take_assignments(work)
    work.group = replace(work.group, state=GroupState.STABLE)


def take_assignments(work: Work) -> None:
    """Take the leader's assignments, empty for members that it leaves out; drop unknown ids.

    Not those of a second sync while the first one's are written, nor when that is done.
    """
    if work.request is None or work.group.has_timer(WRITE):
        return
    assert isinstance(work.request.message, SyncGroupRequest)
    work.group = assigned(work.group, work.request.message)


def begin_write(work: Work) -> None:
    """Begin to write the leader's assignments; CompletingRebalance until that is done.

    What is being written is stored whatever happens to the group meanwhile: a rebalance that cuts
    the write short doesn't take it back.  A second sync begins no second write.
    """
    if not work.group.has_timer(WRITE):
        take_assignments(work)
        written = replace(work.group, state=GroupState.STABLE).as_stored()
        work.group = replace(work.group, stored=written)
        work.set_timer(WRITE, "", 0)


def answer_syncs(work: Work) -> None:
    """Answer all parked syncs with their assignments; their members' session timers restart."""
    _answer_syncs(work, lambda member: synced_answer(work.group, member))


def _answer_syncs(work: Work, answer: Callable[[Member], SyncGroupResponse]) -> None:
    answered = [m for m in work.group.members if m.syncing is not None]
    for member in answered:
        assert member.syncing is not None
        work.emit(member.syncing.request_id, answer(member))
    work.restart_sessions(answered)
    members = tuple(
        replace(m, syncing=None) if m.syncing is not None else m for m in work.group.members
    )
    work.group = replace(work.group, members=members)


def refuse_syncs(work: Work) -> None:
    """Answer all parked syncs an error; their members' session timers restart."""
    refusal = SyncGroupResponse(error_code=Error.UNKNOWN_SERVER_ERROR.value)
    _answer_syncs(work, lambda _: refusal)


def synced_answer(group: Group, member: Member) -> SyncGroupResponse:
    """Make the answer NONE with the stored assignment."""
    return SyncGroupResponse(
        error_code=Error.NONE.value,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def answer_assignment(work: Work) -> None:
    """Answer the caller's stored assignment."""
    assert work.request is not None
    work.emit(work.request.id, synced_answer(work.group, _caller(work)))


def restart_session(work: Work) -> None:
    """Restart the caller's session timer."""
    work.set_timer(SESSION, work.caller, _caller(work).session_timeout_ms)


def maybe_restart_session(work: Work) -> list[Work]:
    """Restart the caller's session timer, or not: both are allowed, one outcome each."""
    restarted = work.fork()
    restart_session(restarted)
    return [restarted, work]


def _caller(work: Work) -> Member:
    member = work.group.member(work.caller)
    assert member is not None
    return member
