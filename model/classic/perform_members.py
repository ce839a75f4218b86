"""Effects on who is a member: added, replaced, updated, removed."""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.group import SESSION, InitialDelay, Member
from fencepost.model.classic.work import Work
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import JoinGroupRequest, JoinGroupResponse, SyncGroupResponse

NEW_MEMBER_TIMEOUT_MS = 300_000
"""How long a new member may wait for its first join to complete (Kafka, fixed)."""


def join_request(work: Work) -> JoinGroupRequest:
    """Return the join that is being handled."""
    assert work.request is not None
    assert isinstance(work.request.message, JoinGroupRequest)
    return work.request.message


def rebalance_timeout_ms(work: Work) -> int:
    """Return R of the join in ms; version 0 has no such field and means S."""
    join = join_request(work)
    assert work.request is not None
    return join.session_timeout_ms if work.request.version == 0 else join.rebalance_timeout_ms


def fresh_id(work: Work) -> str:
    """Return the member id to hand out for this request."""
    assert work.request is not None
    return work.request.fresh_id


def create_group(work: Work) -> None:
    """Create the group, even if what is asked for is refused after that."""
    work.create()


def hand_out_pending(work: Work) -> None:
    """Hand out a new pending id, and start its session timer."""
    new = fresh_id(work)
    work.group = replace(work.group, pending=tuple(sorted((*work.group.pending, new))))
    work.set_timer(SESSION, new, join_request(work).session_timeout_ms)
    work.caller = new


def hand_out_holder(work: Work) -> None:
    """Hand out the member id that the instance is mapped to, as a draft does.

    For the steps that follow, the caller is the member that holds the instance.
    """
    assert work.instance is not None
    work.caller = work.group.holder(work.instance) or ""


def _add(work: Work, member_id: str, group_instance_id: str | None) -> None:
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


def add_dynamic(work: Work) -> None:
    """Add a member without an instance."""
    _add(work, fresh_id(work), None)


def add_static(work: Work) -> None:
    """Add a member with an instance, and map the instance to it."""
    _add(work, fresh_id(work), work.instance)


def add_static_as_sent(work: Work) -> None:
    """Add a static member under the id that was sent, as a draft does."""
    _add(work, join_request(work).member_id, work.instance)


def admit_pending(work: Work) -> None:
    """Make a member of a pending id."""
    mid = join_request(work).member_id
    work.group = replace(work.group, pending=tuple(p for p in work.group.pending if p != mid))
    _add(work, mid, None)


def _replace_holder(work: Work, new: str) -> None:
    assert work.instance is not None
    old = work.group.holder(work.instance)
    assert old is not None
    holder = work.group.member(old)
    assert holder is not None
    fence(work, holder)
    join = join_request(work)
    group = work.group.without_member(old)
    member = replace(
        holder,
        member_id=new,
        session_timeout_ms=join.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms(work),
        protocols=join.protocols,
        joining=None,
        syncing=None,
        new=False,
        owes_sync=False,
    )
    work.previous_leader = work.group.leader
    group = group.with_member(member).with_mapping(work.instance, new)
    if work.group.leader == old:
        group = replace(group, leader=new)
    work.group = group.without_idle_sync_timer()
    work.set_timer(SESSION, new, member.session_timeout_ms)
    work.caller = new


def replace_holder(work: Work) -> None:
    """Map the instance to a new member id, and fence the old one."""
    _replace_holder(work, fresh_id(work))


def replace_holder_as_sent(work: Work) -> None:
    """Map the instance to the member id that was sent, as a draft does."""
    _replace_holder(work, join_request(work).member_id)


def keep_holder(work: Work) -> None:
    """Let the member that holds the instance keep its place; its session timer restarts."""
    assert work.instance is not None
    holder = work.group.holder(work.instance)
    assert holder is not None
    work.restart_sessions(m for m in work.group.members if m.member_id == holder)


def map_caller(work: Work) -> None:
    """Make the caller, a dynamic member, static, as a draft does."""
    member = work.group.member(work.caller)
    assert member is not None
    assert work.instance is not None
    upgraded = replace(member, group_instance_id=work.instance)
    work.group = work.group.with_member(upgraded).with_mapping(work.instance, work.caller)


def seat_idle(work: Work) -> None:
    """Take the caller, which was just added, for a member whose join is done.

    It has no assignment before the next rebalance, as experiments have it.
    """
    member = work.group.member(work.caller)
    assert member is not None
    work.group = work.group.with_member(replace(member, new=False))
    work.set_timer(SESSION, work.caller, member.session_timeout_ms)


def update_member(work: Work) -> None:
    """Take protocols and timeouts of the caller from its new join."""
    join = join_request(work)
    member = work.group.member(work.caller)
    assert member is not None
    work.group = work.group.with_member(
        replace(
            member,
            protocols=join.protocols,
            session_timeout_ms=join.session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms(work),
        )
    )


def fence(work: Work, member: Member) -> None:
    """A replaced member's parked requests are answered, with the old id."""
    fenced = Error.FENCED_INSTANCE_ID.value
    _dismiss(work, member, fenced, member.member_id)


def _dismiss(work: Work, member: Member, error: int | str, member_id: str) -> None:
    if member.joining is not None:
        work.emit(
            member.joining.request_id, JoinGroupResponse(error_code=error, member_id=member_id)
        )
    if member.syncing is not None:
        work.emit(member.syncing.request_id, SyncGroupResponse(error_code=error))


def remove(work: Work, *member_ids: str) -> list[Work] | None:
    """Remove members; if one of them led, one that stays leads: one outcome for each."""
    led = work.group.leader in member_ids
    for member_id in member_ids:
        member = work.group.member(member_id)
        assert member is not None
        _dismiss(work, member, Error.UNKNOWN_MEMBER_ID.value, "")
        work.group = work.group.without_member(member_id)
    return elect(work, [m.member_id for m in work.group.members]) if led else None


def elect(work: Work, electorate: list[str]) -> list[Work] | None:
    """Elect a leader among these: one outcome for each; None where there is nobody."""
    forks = []
    for member_id in electorate:
        fork = work.fork()
        fork.group = replace(fork.group, leader=member_id)
        forks.append(fork)
    return forks or None


def remove_member(work: Work) -> list[Work] | None:
    """Remove the caller, or the member whose timer fired."""
    return remove(work, work.caller)


def remove_caller(work: Work) -> list[Work] | None:
    """Remove the caller, if it is a member."""
    if work.group.member(work.caller) is None:
        return None
    return remove(work, work.caller)


def remove_holder(work: Work) -> list[Work] | None:
    """Remove the member that the instance is mapped to."""
    assert work.instance is not None
    holder = work.group.holder(work.instance)
    assert holder is not None
    return remove(work, holder)


def remove_pending(work: Work) -> None:
    """Drop a pending id with its timer."""
    group = work.group
    rest = tuple(p for p in group.pending if p != work.caller)
    work.group = replace(group, pending=rest).without_timer(SESSION, work.caller)


def remove_unsynced(work: Work) -> list[Work] | None:
    """Remove the members that were given the generation and have not sent SyncGroup."""
    return remove(work, *[m.member_id for m in work.group.members if m.owes_sync])


def remove_unsynced_dynamic(work: Work) -> list[Work] | None:
    """Remove the dynamic ones of them; static members stay."""
    late = [m.member_id for m in work.group.members if m.owes_sync and not m.is_static]
    return remove(work, *late)


def remove_absent_dynamic(work: Work) -> list[Work] | None:
    """Remove the dynamic members without a parked join; static members stay."""
    absent = [m.member_id for m in work.group.members if m.joining is None and not m.is_static]
    return remove(work, *absent)
