"""Checks of step properties about members: whom a step answers, adds and removes.

Each check returns None, or what is wrong in one sentence.  Beside it stands its premise: whether
the step is of that kind at all.  `fencepost.properties.claims.step_properties` names them.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.classic.group import SESSION, Group, Member, Timer
from fencepost.model.classic.work import Incoming
from fencepost.model.coordinator import CONFIG_DEFAULTS
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.wire_form import ShapeError
from fencepost.model.table.vocabulary import GroupState
from fencepost.properties.worlds.views import StepView

NONE = Error.NONE.value
_SHORTEST = CONFIG_DEFAULTS["group.min.session.timeout.ms"] or 0
_LONGEST = CONFIG_DEFAULTS["group.max.session.timeout.ms"] or 0


def members(group: Group | None) -> tuple[Member, ...]:
    """Return the members of a group, none if there is no group."""
    return () if group is None else group.members


def _versions(view: StepView) -> dict[str, int]:
    """Version of each request that may be answered in this step."""
    versions = {
        parked.request_id: parked.version
        for member in members(view.before)
        for parked in (member.joining, member.syncing)
        if parked is not None
    }
    if isinstance(view.event, Incoming):
        versions[view.event.id] = view.event.version
    return versions


def answers(view: StepView) -> Iterator[tuple[str, Message]]:
    """Yield each answered request's id with its answer."""
    for emission in view.emissions:
        if emission.message is not None:
            yield emission.request_id, emission.message


def own_answer(view: StepView) -> Message | None:
    """Return the answer to the step's own request, None if it waits or nobody asked."""
    asked = view.event.id if isinstance(view.event, Incoming) else None
    return next((message for request_id, message in answers(view) if request_id == asked), None)


def joined(view: StepView) -> list[JoinGroupResponse]:
    """Return the joins that this step answered with a generation."""
    return [
        message
        for _, message in answers(view)
        if isinstance(message, JoinGroupResponse) and message.error_code == NONE
    ]


def shape(view: StepView) -> str | None:
    """Check that every answer has the shape of its version, and belongs to a request."""
    versions = _versions(view)
    for request_id, message in answers(view):
        version = versions.get(request_id)
        if version is None:
            return f"{request_id} is answered and nobody waits for it"
        try:
            body = message.to_body(version)
            type(message).from_body(body, version)
        except ShapeError as error:
            return f"{message.API} v{version} is answered in a shape that it doesn't have: {error}"
    return None


def agreement(view: StepView) -> str | None:
    """Check that joins that complete together are told the same, and that one of them leads."""
    all_joined = joined(view)
    for field in ("generation_id", "protocol_name", "protocol_type", "leader"):
        if len({getattr(message, field) for message in all_joined}) > 1:
            return f"the members of one generation were told different {field}"
    leading = [message for message in all_joined if message.leader == message.member_id]
    if len(leading) > 1:
        return "several members of one generation were told that they lead"
    for message in all_joined:
        if message.members and message not in leading:
            return "a member that doesn't lead was given the members"
    return None


def told_generation(view: StepView) -> str | None:
    """Check that the generation told is the group's."""
    for message in joined(view):
        if view.after is None or message.generation_id != view.after.generation_id:
            return f"{message.member_id} was told a generation that is not the group's"
    return None


def leader_told(view: StepView) -> str | None:
    """Check that the leader told is a member."""
    versions = _versions(view)
    ids = {member.member_id for member in members(view.after)}
    for request_id, message in answers(view):
        if not isinstance(message, JoinGroupResponse) or message.error_code != NONE:
            continue
        restarted = message.member_id not in {m.member_id for m in members(view.before)}
        if restarted and versions.get(request_id, 0) < 9:
            continue
        if message.leader not in ids:
            return f"{message.leader} was told as the leader and is no member"
    return None


def speaks_of_leader(view: StepView) -> bool:
    """Return whether a join was answered NONE."""
    return bool(joined(view))


def unanswered(view: StepView) -> str | None:
    """Check that each request is either answered or parked, never both."""
    waiting = set(_versions(view))
    parked = {
        request.request_id
        for member in members(view.after)
        for request in (member.joining, member.syncing)
        if request is not None
    }
    done = {emission.request_id for emission in view.emissions}
    for request_id in sorted(waiting - parked - done):
        return f"the request {request_id} is neither answered nor parked any more"
    for request_id in sorted(parked & done & waiting):
        superseded = {e.request_id for e in view.emissions if e.message is None}
        if request_id not in superseded:
            return f"the request {request_id} was answered and is still parked"
    return None


def had_parked(view: StepView) -> bool:
    """Return whether a request was open."""
    return bool(_versions(view))


def restarted(view: StepView) -> tuple[Member, JoinGroupRequest] | None:
    """Return the seat that a new process of a static member takes over in a stable group."""
    event, before = view.event, view.before
    if before is None or not isinstance(event, Incoming):
        return None
    message = event.message
    if not isinstance(message, JoinGroupRequest) or before.state is not GroupState.STABLE:
        return None
    if message.member_id or message.group_instance_id is None:
        return None
    if not _SHORTEST <= message.session_timeout_ms <= _LONGEST:
        return None  # refused before anything else is looked at
    holder = before.member(before.holder(message.group_instance_id) or "")
    if holder is None or holder.protocols != message.protocols:
        return None
    return holder, message


def quiet_restart(view: StepView) -> str | None:
    """Check that a restart in a stable group changes nothing else."""
    found = restarted(view)
    if found is None:
        return None
    holder, message = found
    before, after = view.before, view.after
    assert before is not None
    if after is None or after.state is not GroupState.STABLE:
        return "a static member restarted in a stable group and the group is not stable any more"
    if after.generation_id != before.generation_id:
        return "a static member restarted in a stable group and the generation changed"
    kept = {m.member_id: m.assignment for m in before.members if m is not holder}
    for member in after.members:
        if member.group_instance_id == message.group_instance_id:
            if member.assignment != holder.assignment:
                return "a static member restarted in a stable group and lost its assignment"
        elif kept.get(member.member_id) != member.assignment:
            return f"a static member restarted and the assignment of {member.member_id} changed"
    if len(after.members) != len(before.members):
        return "a static member restarted and the number of members changed"
    answer = own_answer(view)
    if not isinstance(answer, JoinGroupResponse) or answer.error_code != NONE:
        return "a static member restarted in a stable group and was not welcomed at once"
    return None


def _accepted_join(view: StepView) -> Member | None:
    """The member under which a join was taken in, answered or parked."""
    event = view.event
    if not isinstance(event, Incoming) or not isinstance(event.message, JoinGroupRequest):
        return None
    told = own_answer(view)
    for member in members(view.after):
        parked = member.joining is not None and member.joining.request_id == event.id
        if parked:
            return member
        if (
            isinstance(told, JoinGroupResponse)
            and told.error_code == NONE
            and told.member_id == member.member_id
        ):
            return member
    return None


def moved_in(view: StepView) -> Member | None:
    """Return the member of an accepted join that changes what it offers."""
    member = _accepted_join(view)
    if member is None or view.before is None:
        return member
    known = view.before.member(member.member_id)
    told = own_answer(view)
    unchanged = known is not None and isinstance(told, JoinGroupResponse)
    return None if unchanged and member.joining is None else member


def timeouts(view: StepView) -> str | None:
    """Check that a member has the timeouts that it joined with."""
    member = moved_in(view)
    if member is None:
        return None
    assert isinstance(view.event, Incoming)
    join = view.event.message
    assert isinstance(join, JoinGroupRequest)
    rebalance = join.session_timeout_ms if view.event.version == 0 else join.rebalance_timeout_ms
    if member.session_timeout_ms != join.session_timeout_ms:
        return f"{member.member_id} joined with another session timeout and has its old one"
    if member.rebalance_timeout_ms != rebalance:
        return f"{member.member_id} joined with another rebalance timeout and has its old one"
    if member.protocols != join.protocols:
        return f"{member.member_id} joined with other protocols and has its old ones"
    return None


def heard(view: StepView) -> Member | None:
    """Return the member whose heartbeat was accepted."""
    event = view.event
    if not isinstance(event, Incoming) or not isinstance(event.message, HeartbeatRequest):
        return None
    told = own_answer(view)
    alive = {NONE, Error.REBALANCE_IN_PROGRESS.value}
    if not isinstance(told, HeartbeatResponse) or told.error_code not in alive:
        return None
    return None if view.after is None else view.after.member(event.message.member_id)


def kept_alive(view: StepView) -> str | None:
    """Check that an accepted heartbeat restarts the session."""
    member = heard(view)
    if member is None:
        return None
    assert view.after is not None
    due = view.now_ms + member.session_timeout_ms
    for timer in view.after.timers:
        if timer[:2] == (SESSION, member.member_id):
            late = timer.latest == due
            return (
                None if late else f"the heartbeat of {member.member_id} did not restart its timer"
            )
    return f"no session timer runs after the heartbeat of {member.member_id}"


def silent(view: StepView) -> Member | None:
    """Return the member whose session ended while it waited for nothing."""
    event, before = view.event, view.before
    if before is None or not isinstance(event, Timer) or event.kind != SESSION:
        return None
    member = before.member(event.subject)
    if member is None or member.joining is not None or member.syncing is not None:
        return None
    return member


def expired(view: StepView) -> str | None:
    """Check that the member whose session ended was removed."""
    member = silent(view)
    if member is None or view.after is None:
        return None
    if view.after.member(member.member_id) is not None:
        return f"the session of {member.member_id} ended and it is still a member"
    return None
