"""Convert a classic group into a consumer group, and a consumer group into a classic group."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.classic.group import Group, ParkedRequest
from fencepost.model.classic.group import Member as ClassicMember
from fencepost.model.classic.group import Offset as ClassicOffset
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.consumer.group import (
    JOIN,
    SESSION,
    SYNC,
    ClassicSide,
    ConsumerGroup,
    Member,
    Offset,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import (
    PROTOCOL_TYPE,
    encode_assignment,
    readable_assignment,
    readable_subscription,
    version_of,
)
from fencepost.model.work import Span, Timer

OWED = {JOIN: "owed join", SYNC: "owed sync"}
"""Kind of a classic member's timer in a consumer group → its kind in a group that was downgraded.

There it is nothing, but a coordinator doesn't end it, and after an upgrade it removes the member.
"""
_OWED_AGAIN = {kind: known for known, kind in OWED.items()}


def parked_answers(group: Group, error: Error) -> Iterator[tuple[ParkedRequest, Message]]:
    """Yield each parked request of a classic group with its answer; that of a join has an id."""
    code = error.value
    for member in group.members:
        if member.joining is not None:
            answer = JoinGroupResponse(error_code=code, member_id=member.member_id)
            yield member.joining, answer
        if member.syncing is not None:
            yield member.syncing, SyncGroupResponse(error_code=code)


def kept_offsets(group: Group) -> tuple[Offset, ...]:
    """Return the offsets of a classic group for a consumer group."""
    return tuple(Offset(o.topic, o.partition, o.offset, o.metadata) for o in group.offsets)


def upgraded(group: Group, span: Span) -> ConsumerGroup:
    """Return a classic group as a consumer group: the generation is its epoch."""
    epoch = group.generation_id
    members, target = [], []
    timers = [
        timer._replace(kind=_OWED_AGAIN[timer.kind])
        for timer in group.timers
        if timer.kind in _OWED_AGAIN and group.member(timer.subject) is not None
    ]
    for m in group.members:
        metadata = m.metadata(group.protocol_name) or m.protocols[0].metadata
        partitions = tuple(sorted(readable_assignment(m.assignment)))
        members.append(
            Member(
                member_id=m.member_id,
                instance_id=m.group_instance_id,
                client_id=m.client_id,
                rebalance_timeout_ms=m.rebalance_timeout_ms,
                epoch=epoch,
                previous_epoch=epoch,
                assigned=tuple((partition, epoch) for partition in partitions),
                topics=tuple(sorted(set(readable_subscription(metadata).topics))),
                classic=ClassicSide(m.session_timeout_ms, m.protocols),
            )
        )
        if partitions:
            target.append((m.member_id, partitions))
        timers.append(_session(m.member_id, m.session_timeout_ms, span))
    return ConsumerGroup(
        epoch=epoch,
        target_epoch=epoch,
        target=tuple(sorted(target)),
        members=tuple(members),
        static=group.static,
        timers=tuple(sorted(timers)),
        offsets=kept_offsets(group),
    )


def _session(member_id: str, ms: int, span: Span) -> Timer:
    return Timer(SESSION, member_id, span.earliest + ms, span.latest + ms)


def downgraded(group: ConsumerGroup, span: Span, leader: str) -> Group:
    """Return a consumer group of classic members alone as a classic group, which is Stable.

    Its generation is the epoch, and the assignments are the target.
    """
    members = []
    timers = [t._replace(kind=OWED[t.kind]) for t in group.timers if t.kind in OWED]
    for m in group.members:
        assert m.classic is not None
        version = version_of(m.classic.protocols[0].metadata)
        members.append(
            ClassicMember(
                member_id=m.member_id,
                group_instance_id=m.instance_id,
                client_id=m.client_id,
                session_timeout_ms=m.classic.session_timeout_ms,
                rebalance_timeout_ms=m.rebalance_timeout_ms,
                protocols=m.classic.protocols,
                assignment=encode_assignment(group.target_of(m.member_id), version),
                new=False,
            )
        )
        timers.append(_session(m.member_id, m.classic.session_timeout_ms, span))
    first, *others = members
    names = [p.name for p in first.protocols if all(m.supports(p.name) for m in others)]
    ids = {m.member_id for m in members}
    return Group(
        state=GroupState.STABLE,
        generation_id=group.epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=names[0] if names else first.protocols[0].name,
        leader=leader,
        members=tuple(members),
        static=tuple(pair for pair in group.static if pair[1] in ids),
        timers=tuple(sorted(timers)),
        offsets=tuple(ClassicOffset(*offset) for offset in group.offsets),
    )


def emptied(group: ConsumerGroup) -> Group:
    """Return a consumer group without members as a classic group with its offsets."""
    return Group(offsets=tuple(ClassicOffset(*offset) for offset in group.offsets))
