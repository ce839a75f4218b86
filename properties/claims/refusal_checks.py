"""Checks of step properties: requests of strangers, of another generation, and commits are refused.

`fencepost.properties.claims.step_properties` names them.
"""

from __future__ import annotations

from fencepost.model.classic.work import Incoming
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.properties.claims.step_checks import NONE, own_answer
from fencepost.properties.worlds.views import StepView

Caller = HeartbeatRequest | SyncGroupRequest | OffsetCommitRequest


def _calling(view: StepView) -> Caller | None:
    """A request of a member, of a group that has some."""
    event, before = view.event, view.before
    if before is None or not before.members or not isinstance(event, Incoming):
        return None
    message = event.message
    if isinstance(message, HeartbeatRequest | SyncGroupRequest | OffsetCommitRequest):
        return message
    return None


def error(view: StepView) -> int | str | None:
    """Return the error that the step's request was answered, None if it wasn't or rows differ."""
    message = own_answer(view)
    if isinstance(message, OffsetCommitResponse):
        codes = {p.error_code for topic in message.topics for p in topic.partitions}
        return codes.pop() if len(codes) == 1 else None
    if isinstance(message, HeartbeatResponse | SyncGroupResponse):
        return message.error_code
    return None


def stranger(view: StepView) -> bool:
    """Return whether an id that is no member's asks, without an instance."""
    message = _calling(view)
    if message is None:
        return False
    before = view.before
    assert before is not None
    given = bool(message.member_id) and message.group_instance_id is None
    return given and before.member(message.member_id) is None


def stranger_told(view: StepView) -> str | None:
    """Check that a stranger is answered UNKNOWN_MEMBER_ID."""
    if not stranger(view):
        return None
    told = error(view)
    if told != Error.UNKNOWN_MEMBER_ID.value:
        return f"an id that is no member's was answered {told} instead of UNKNOWN_MEMBER_ID"
    return None


def late(view: StepView) -> bool:
    """Return whether a member asks in another generation."""
    message = _calling(view)
    if message is None:
        return False
    before = view.before
    assert before is not None
    instance = message.group_instance_id
    own = instance is None or before.holder(instance) == message.member_id
    member = before.member(message.member_id) is not None
    return member and own and message.generation_id != before.generation_id


def late_told(view: StepView) -> str | None:
    """Check that another generation is answered ILLEGAL_GENERATION, and nothing changes."""
    if not late(view):
        return None
    told = error(view)
    if told != Error.ILLEGAL_GENERATION.value:
        return f"another generation was answered {told} instead of ILLEGAL_GENERATION"
    if view.after != view.before:
        return "a request of another generation changed the group"
    return None


def refused_commit(view: StepView) -> bool:
    """Return whether a commit was refused."""
    event = view.event
    if not isinstance(event, Incoming) or not isinstance(event.message, OffsetCommitRequest):
        return False
    return error(view) not in {NONE, None}


def offsets(view: StepView) -> str | None:
    """Check that a refused commit stores nothing."""
    if not refused_commit(view):
        return None
    before = () if view.before is None else view.before.offsets
    after = () if view.after is None else view.after.offsets
    return None if before == after else "a commit was refused and its offset was stored"
