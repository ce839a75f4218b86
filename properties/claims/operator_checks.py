"""Checks of step properties about offsets, and about what operators are shown of a group.

`fencepost.properties.claims.step_answers` names them.
"""

from __future__ import annotations

from fencepost.model.classic.group import SESSION
from fencepost.model.classic.work import Incoming
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
)
from fencepost.model.table.vocabulary import GroupState
from fencepost.properties.claims.refusal_checks import error
from fencepost.properties.claims.step_checks import NONE, own_answer
from fencepost.properties.claims.wait_checks import present
from fencepost.properties.worlds.views import StepView


def _commit(view: StepView) -> tuple[OffsetCommitRequest, int | str] | None:
    """The commit that the step is about, and the error that all its rows were told."""
    event = view.event
    if not isinstance(event, Incoming) or not isinstance(event.message, OffsetCommitRequest):
        return None
    told = error(view)
    return None if told is None else (event.message, told)


def accepted(view: StepView) -> bool:
    """Return whether a commit was accepted."""
    found = _commit(view)
    return found is not None and found[1] == NONE


def stored(view: StepView) -> str | None:
    """Check that an accepted commit is what will be read."""
    found = _commit(view)
    if found is None or not accepted(view):
        return None
    offsets = () if view.after is None else view.after.offsets
    held = {(o.topic, o.partition): o.offset for o in offsets}
    for topic in found[0].topics:
        for part in topic.partitions:
            if held.get((topic.name, part.partition_index)) != part.committed_offset:
                return f"the commit of {topic.name}-{part.partition_index} was told NONE and lost"
    return None


def commits(view: StepView) -> bool:
    """Return whether somebody commits, to a group whose members would do so."""
    return _commit(view) is not None and view.before is not None


def commit_told(view: StepView) -> str | None:
    """Check that members commit unless they wait for an assignment, and others where none are."""
    found, group = _commit(view), view.before
    if found is None or group is None:
        return None
    message, told = found
    if group.state is GroupState.EMPTY:
        may = True if message.generation_id < 0 else None
    elif group.state is GroupState.COMPLETING:
        may = False
    else:
        may = present(group, message)
    if may is None or may is (told == NONE):
        return None
    who = f"{message.member_id or 'somebody who is no member'} in generation"
    verb = "was refused with" if may else "was answered"
    return f"in {group.state.value} a commit of {who} {message.generation_id} {verb} " + error_name(
        told
    )


def member_commits(view: StepView) -> bool:
    """Return whether a member's commit was accepted."""
    found = _commit(view)
    return found is not None and accepted(view) and present(view.before, found[0])


def commit_kept_alive(view: StepView) -> str | None:
    """Check that an accepted commit restarts the session of the member that sent it."""
    found = _commit(view)
    if found is None or not member_commits(view) or view.after is None:
        return None
    member = view.after.member(found[0].member_id)
    if member is None:
        return f"{found[0].member_id} committed and is no member any more"
    due = (SESSION, member.member_id, view.now_ms + member.session_timeout_ms)
    if any((t.kind, t.subject, t.latest) == due for t in view.after.timers):
        return None
    return f"the commit of {member.member_id} did not restart its session"


def looks(view: StepView) -> bool:
    """Return whether an operator asks about a group that there is."""
    event = view.event
    asks = DescribeGroupsRequest | ListGroupsRequest
    return (
        view.before is not None and isinstance(event, Incoming) and isinstance(event.message, asks)
    )


def shown(view: StepView) -> str | None:
    """Check that a description has the group's members with their instances, a list the group."""
    group = view.before
    if group is None or not looks(view):
        return None
    told = own_answer(view)
    here = {(m.member_id, m.group_instance_id) for m in group.members}
    match told:
        case DescribeGroupsResponse(groups=(row,)):
            said = {(m.member_id, m.group_instance_id) for m in row.members}
            if (row.error_code, row.group_state, said) != (NONE, group.state.value, here):
                return f"the group is described as {row.group_state} with {sorted(map(str, said))}"
        case ListGroupsResponse(error_code=Error.NONE.value, groups=rows):
            if [row.group_state for row in rows] != [group.state.value]:
                return f"a group that is {group.state.value} is listed as {[*rows] or 'nothing'}"
        case _:
            return "an operator who asked about a group was told nothing of it"
    return None
