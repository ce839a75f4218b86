"""Checks of step properties about joins: what the welcomed, the refused and the replaced are told.

Each check returns None, or what is wrong in one sentence; its premise stands beside it.
`fencepost.properties.claims.step_answers` names them.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.classic.group import Member
from fencepost.model.classic.work import Incoming
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import JoinGroupRequest, JoinGroupResponse, SyncGroupResponse
from fencepost.model.table.vocabulary import GroupState
from fencepost.properties.claims.step_checks import NONE, answers, joined, members, own_answer
from fencepost.properties.worlds.views import StepView

_ID_REQUIRED = Error.MEMBER_ID_REQUIRED.value
_REPEATED = {Error.FENCED_INSTANCE_ID.value, Error.UNKNOWN_MEMBER_ID.value}
_ID_FIRST_SINCE = 4
_SKIPS_SINCE = 9


def asked(view: StepView) -> tuple[Incoming, JoinGroupRequest] | None:
    """Return the join that the step is about."""
    event = view.event
    if isinstance(event, Incoming) and isinstance(event.message, JoinGroupRequest):
        return event, event.message
    return None


def _told(view: StepView) -> JoinGroupResponse | None:
    """The answer to the step's own join, if it was answered at once."""
    found = own_answer(view)
    return found if isinstance(found, JoinGroupResponse) else None


def nameless(view: StepView) -> bool:
    """Return whether a join names neither member nor instance, and was let in or given an id."""
    found = asked(view)
    if found is None or found[1].member_id or found[1].group_instance_id is not None:
        return False
    told = _told(view)
    return told is None or told.error_code in {NONE, _ID_REQUIRED}


def id_first(view: StepView) -> str | None:
    """Check that from version 4 on a newcomer is told a pending id, and below never asked to."""
    found = asked(view)
    if found is None or not nameless(view):
        return None
    told = _told(view)
    required = told is not None and told.error_code == _ID_REQUIRED
    if found[0].version < _ID_FIRST_SINCE:
        return "below version 4 MEMBER_ID_REQUIRED was answered" if required else None
    if told is None or not required:
        return "a join without any id was let in before its client was told an id"
    if view.after is None or told.member_id not in view.after.pending:
        return f"MEMBER_ID_REQUIRED tells the id {told.member_id!r}, which is not pending"
    if len(members(view.after)) > len(members(view.before)):
        return "somebody became a member before its client was told its id"
    return None


def _refused(view: StepView) -> Iterator[tuple[JoinGroupResponse, str, bool]]:
    """Each refused join: the answer, the id that it was sent under, whether it is the step's."""
    parked = {
        member.joining.request_id: member.member_id
        for member in members(view.before)
        if member.joining is not None
    }
    own = asked(view)
    for request_id, message in answers(view):
        if not isinstance(message, JoinGroupResponse):
            continue
        if message.error_code in {NONE, _ID_REQUIRED}:
            continue
        if own is not None and request_id == own[0].id:
            yield message, own[1].member_id, True
        elif request_id in parked:
            yield message, parked[request_id], False


def somebody_refused(view: StepView) -> bool:
    """Return whether a join was refused."""
    return any(True for _ in _refused(view))


def refusal_tells_nothing(view: StepView) -> str | None:
    """Check that a refused join is told its error and nothing that it doesn't know."""
    for message, sent, own in _refused(view):
        error = error_name(message.error_code)
        if message.member_id not in {"", sent}:
            return f"a join of {sent or 'nobody'} was told {error} with the id {message.member_id}"
        if own and message.error_code in _REPEATED and message.member_id != sent:
            return f"{error} doesn't repeat the id {sent} that the join was sent under"
        if message.generation_id >= 0 or message.leader or message.members:
            return f"a join that was told {error} was given a generation, a leader or members, too"
    return None


def _replaced(view: StepView) -> Iterator[Member]:
    """The members whose instance this step maps to another member."""
    before, after = view.before, view.after
    if before is None or after is None or not isinstance(view.event, Incoming):
        return
    for instance, old in before.static:
        new = after.holder(instance)
        holder = before.member(old)
        if holder is not None and new is not None and new != old and after.member(old) is None:
            yield holder


def waiting_replaced(view: StepView) -> bool:
    """Return whether a member was replaced whose request waits."""
    return any(m.joining is not None or m.syncing is not None for m in _replaced(view))


def replaced_fenced(view: StepView) -> str | None:
    """Check that what a replaced member waits for is answered FENCED_INSTANCE_ID."""
    told = dict(answers(view))
    for member in _replaced(view):
        for parked in (member.joining, member.syncing):
            message = None if parked is None else told.get(parked.request_id)
            if isinstance(message, JoinGroupResponse | SyncGroupResponse):
                error = message.error_code
                if error != Error.FENCED_INSTANCE_ID.value:
                    return f"{member.member_id} was replaced and told {error_name(error)}"
    return None


def welcome(view: StepView) -> str | None:
    """Check that the welcomed are told the group's protocol, and their leader who is there."""
    group = view.after
    for message in joined(view):
        if group is None:
            return f"{message.member_id} was welcomed by a group that is gone"
        if (message.protocol_type, message.protocol_name) != (
            group.protocol_type,
            group.protocol_name,
        ):
            return f"{message.member_id} was told another protocol than the group's"
        if message.members and {
            (m.member_id, m.group_instance_id, m.metadata) for m in message.members
        } != {
            (m.member_id, m.group_instance_id, m.metadata(group.protocol_name))
            for m in group.members
        }:
            return f"the leader {message.member_id} was told other members than there are"
    return None


def leader_restarted(view: StepView) -> bool:
    """Return whether the leader of a stable group restarts, and is welcomed at once."""
    found, told, group = asked(view), _told(view), view.before
    if found is None or group is None or group.state is not GroupState.STABLE:
        return False
    instance = found[1].group_instance_id
    if told is None or told.error_code != NONE or told.generation_id != group.generation_id:
        return False  # refused, or a vote for another protocol began a generation
    anew = not found[1].member_id and instance is not None
    return anew and group.leader is not None and group.holder(instance or "") == group.leader


def leader_rejoins(view: StepView) -> bool:
    """Return whether the leader of a stable group joins again under its id, and isn't refused."""
    found, told, group = asked(view), _told(view), view.before
    if found is None or group is None or group.state is not GroupState.STABLE:
        return False
    message = found[1]
    instance = message.group_instance_id
    own = instance is None or group.holder(instance) == message.member_id
    refused = told is not None and told.error_code != NONE
    return own and bool(message.member_id) and message.member_id == group.leader and not refused


def leader_heard(view: StepView) -> str | None:
    """Check that a rebalance begins when the leader joins again."""
    if not leader_rejoins(view) or view.before is None:
        return None
    after = view.after
    if after is not None and after.state is GroupState.PREPARING:
        return None
    if after is not None and after.generation_id > view.before.generation_id:
        return None  # nobody else is there to wait for
    return f"the leader {view.before.leader} joined again, and no rebalance began"


def skips_assignment(view: StepView) -> str | None:
    """Check that the leader of a stable group that restarts doesn't assign anew, and only it."""
    again = leader_restarted(view)
    for message in joined(view):
        if message.skip_assignment and not again:
            return f"{message.member_id} was told to skip the assignment, and nobody else makes it"
    told, found = _told(view), asked(view)
    if not again or told is None or found is None:
        return None
    leads = told.leader == told.member_id
    if found[0].version >= _SKIPS_SINCE and not (leads and told.skip_assignment):
        return "a restarted leader was not told that it leads and skips the assignment"
    if found[0].version < _SKIPS_SINCE and leads:
        return "below version 9 a restarted leader was told that it leads, so it assigns anew"
    return None
