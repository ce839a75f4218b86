"""Check steps for properties about deletions: of groups (DeleteGroups), of offsets (OffsetDelete).

Each check returns None, or the violation in one sentence; its premise stands beside it.
`fencepost.properties.claims.step_answers` names them.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.classic.group import ALL_TOPICS, Group, Offset
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from fencepost.model.work import Incoming
from fencepost.properties.worlds.views import StepView

_NONE = Error.NONE.value
_OF_A_GENERATION = {GroupState.COMPLETING, GroupState.STABLE}


def deletes_members(view: StepView) -> bool:
    """Return True if somebody deletes a group with members."""
    return _deletes(view) and view.before is not None and bool(view.before.members)


def members_stay(view: StepView) -> str | None:
    """Check that a group with members is there after a deletion, with all of them."""
    before = view.before
    if not deletes_members(view) or before is None:
        return None
    for member in before.members:
        if view.after is None or view.after.member(member.member_id) is None:
            return f"the group was deleted, and {member.member_id} was a member of it"
    return None


def deletes_read_offsets(view: StepView) -> bool:
    """Return True if somebody deletes offsets of a topic that members read."""
    return any(True for _ in _read_offsets(view))


def read_offsets_stay(view: StepView) -> str | None:
    """Check that the offsets of topics that members read are there after a deletion."""
    kept = _offsets(view.after)
    for offset in _read_offsets(view):
        if offset not in kept:
            where = f"{offset.topic}-{offset.partition}"
            return f"the offset of {where} was deleted, and members read {offset.topic}"
    return None


def deletes(view: StepView) -> bool:
    """Return True if somebody deletes a group, or offsets."""
    return _deletes(view) or _offset_deletion(view) is not None


def deletion_is_done(view: StepView) -> str | None:
    """Check that what was told NONE is gone, and that a refused deletion changes nothing."""
    answer = view.own_answer
    if isinstance(answer, DeleteGroupsResponse) and _deletes(view):
        done = [row.error_code for row in answer.results] == [_NONE]
        if done and view.after is not None:
            return "the deletion of the group was answered NONE, and the group is there"
        if not done and view.after != view.before:
            return "the deletion of the group was refused, and changed it"
    if isinstance(answer, OffsetDeleteResponse) and (message := _offset_deletion(view)):
        gone = {
            (topic.name, row.partition_index)
            for topic in answer.topics
            for row in topic.partitions
            if row.error_code == _NONE
        }
        kept = set(map(_place, _offsets(view.after)))
        for offset in _named(view.before, message):
            there = _place(offset) in kept
            if there is (_place(offset) in gone):
                ending = "answered NONE, and it is there" if there else "refused, and it is gone"
                return f"the deletion of the offset of {offset.topic} was {ending}"
    return None


def _deletes(view: StepView) -> bool:
    return isinstance(view.event, Incoming) and isinstance(view.event.message, DeleteGroupsRequest)


def _offset_deletion(view: StepView) -> OffsetDeleteRequest | None:
    event = view.event
    if isinstance(event, Incoming) and isinstance(event.message, OffsetDeleteRequest):
        return event.message
    return None


def _read_offsets(view: StepView) -> Iterator[Offset]:
    """Yield the offsets that are to be deleted, and whose topics are read in the generation."""
    group, message = view.before, _offset_deletion(view)
    if group is None or message is None or group.state not in _OF_A_GENERATION:
        return
    topics = group.topics() if group.subscribed is None else group.subscribed
    for offset in _named(group, message):
        if topics == ALL_TOPICS or offset.topic in topics:
            yield offset


def _named(group: Group | None, message: OffsetDeleteRequest) -> Iterator[Offset]:
    """Yield the stored offsets that a deletion names."""
    named = {
        (topic.name, row.partition_index) for topic in message.topics for row in topic.partitions
    }
    yield from (offset for offset in _offsets(group) if _place(offset) in named)


def _offsets(group: Group | None) -> tuple[Offset, ...]:
    return () if group is None else group.offsets


def _place(offset: Offset) -> tuple[str, int]:
    return offset.topic, offset.partition
