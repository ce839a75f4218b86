"""Checks of step properties about leaves: exactly those go who are named, each row says so.

`fencepost.properties.claims.step_answers` names them.
"""

from __future__ import annotations

from fencepost.model.classic.group import Group
from fencepost.model.classic.work import Incoming
from fencepost.model.messages.draft_messages import DraftLeaveGroupResponse
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import LeaveGroupRequest, LeaveGroupResponse, LeavingMember
from fencepost.properties.claims.step_checks import NONE, answers, members, own_answer
from fencepost.properties.worlds.views import StepView

_UNKNOWN = Error.UNKNOWN_MEMBER_ID.value
_FENCED = Error.FENCED_INSTANCE_ID.value
_ROWS_SINCE = 3


def _leave(view: StepView) -> tuple[LeaveGroupRequest, int, LeaveGroupResponse] | None:
    """The leave that the step is about, its version, and its answer."""
    event = view.event
    if not isinstance(event, Incoming) or not isinstance(event.message, LeaveGroupRequest):
        return None
    told = own_answer(view)
    if not isinstance(told, LeaveGroupResponse):
        return None
    return event.message, event.version, told


def left(view: StepView) -> bool:
    """Return whether a leave was answered; a draft's is one, though not looked at."""
    draft = any(isinstance(m, DraftLeaveGroupResponse) for _, m in answers(view))
    return draft or _leave(view) is not None


def rows_answered(view: StepView) -> str | None:
    """Check that each row is answered by one that repeats its ids, under no error for all."""
    found = _leave(view)
    if found is None:
        return None
    asked, version, told = found
    if version < _ROWS_SINCE:
        return "below version 3 a leave was answered in rows" if told.members else None
    if told.error_code != NONE:
        return f"a leave was refused as a whole, with {error_name(told.error_code)}"
    sent = [(row.member_id, row.group_instance_id) for row in asked.members]
    said = [(row.member_id, row.group_instance_id) for row in told.members]
    return None if sent == said else f"a leave of {sent} was answered about {said}"


def named_exist(view: StepView) -> bool:
    """Return whether somebody leaves a group that there is."""
    if view.before is None:
        return False
    return left(view)


def _row(group: Group, gone: set[str], row: LeavingMember) -> tuple[int | str, str]:
    """What a row is to be answered, and whom it removes; "" for nobody."""
    instance = row.group_instance_id
    holder = None if instance is None else group.holder(instance)
    holder = None if holder in gone else holder
    mid = row.member_id
    if mid in group.pending and mid not in gone:
        return NONE, mid
    if not mid:
        return (NONE, holder) if holder is not None else (_UNKNOWN, "")
    if instance is not None and holder is not None and holder != mid:
        return _FENCED, ""
    known = group.member(mid) is not None and mid not in gone
    return (NONE, mid) if known and (instance is None or holder == mid) else (_UNKNOWN, "")


def exactly_the_named(view: StepView) -> str | None:
    """Check that a row is told NONE if it names a member, and that exactly those are gone."""
    found = _leave(view)
    if found is None or view.before is None:
        return None
    asked, version, told = found
    gone: set[str] = set()
    said = [row.error_code for row in told.members] if version >= _ROWS_SINCE else [told.error_code]
    for row, error in zip(asked.rows(version), said, strict=False):
        right, leaver = _row(view.before, gone, row)
        gone |= {leaver} - {""}
        if error != right:
            who = f"member {row.member_id or 'not given'}, instance {row.group_instance_id}"
            return f"a leave ({who}) was told {error_name(error)}, not {error_name(right)}"
    there = {m.member_id for m in members(view.after)}
    for member in members(view.before):
        if (member.member_id in gone) is (member.member_id in there):
            verb = "stayed" if member.member_id in gone else "was removed"
            named = ", ".join(sorted(gone)) or "nobody"
            return f"{member.member_id} {verb} in a leave that names {named}"
    return None
