"""Effects on what is stored or being written: the group, its offsets, a replacement."""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.group import WRITE, Group, Offset, ParkedRequest, Restart
from fencepost.model.classic.work import Incoming, Work
from fencepost.model.messages.messages import OffsetCommitRequest


def persist(work: Work) -> None:
    """Store the group as it is now."""
    work.group = replace(work.group, stored=work.group.as_stored())


def begin_restart(work: Work) -> None:
    """Begin to write that the caller replaced another; it is answered when that is done.

    A generation that begins before that answers it, and who removes or replaces it, too.
    """
    member = work.group.member(work.caller)
    assert member is not None
    assert work.request is not None
    joining = ParkedRequest(work.request.id, work.request.version)
    restart = Restart(work.request, work.previous_leader, work.rule)
    work.group = work.group.with_member(replace(member, joining=joining, restart=restart))
    work.set_timer(WRITE, member.member_id, 0)


def end_restart(work: Work, member_id: str) -> bool:
    """End that write; tell whether the answer is left to do.

    Where nobody leads, as in a departure, the protocol doesn't say what it is.
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


def store_offsets(work: Work) -> None:
    """Store the offsets at once: they survive a failover."""
    assert work.request is not None
    assert isinstance(work.request.message, OffsetCommitRequest)
    kept = {(o.topic, o.partition): o for o in work.group.offsets}
    for topic in work.request.message.topics:
        for part in topic.partitions:
            kept[topic.name, part.partition_index] = Offset(
                topic.name, part.partition_index, part.committed_offset, part.committed_metadata
            )
    work.group = replace(work.group, offsets=tuple(sorted(kept.values(), key=_place)))


def remove_offsets(work: Work) -> None:
    """Remove the offsets of the deleted topics; without any, the group stays the same object."""
    kept = tuple(o for o in work.group.offsets if o.topic not in work.deleted)
    if kept != work.group.offsets:
        work.group = replace(work.group, offsets=kept)


def forget(work: Work) -> None:
    """Take the group away, with its offsets."""
    work.forget()


def reload(work: Work) -> None:
    """Load the stored group: session timers restart, no other timer runs."""
    group = work.group
    stored = group.stored or Group()
    work.group = replace(stored, offsets=group.offsets, stored=group.stored)
    work.restart_sessions(stored.members)


def _place(offset: Offset) -> tuple[str, int]:
    return offset.topic, offset.partition
