"""Check steps for properties about rebalances, refusals, offsets and descriptions.

The checks are about rebalances: the members to wait for, the length of the wait, the leader's
assignments; about requests of strangers and of another generation, and commits, which are refused;
about offsets, and the descriptions of a group for operators.

Each check returns None, or the violation in one sentence; its premise stands beside it.
`fencepost.properties.claims.step_answers` names them.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.classic.group import JOIN, SESSION, Group, Member
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    CommitRequest,
    CommitResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
)
from fencepost.model.work import Incoming, Timer
from fencepost.properties.claims.step_checks import (
    NONE,
    answer_name,
    joined,
    members,
    names,
    short_session,
)
from fencepost.properties.worlds.views import Failover, StepView

_MOVING = Error.REBALANCE_IN_PROGRESS.value


def _due(group: Group, kind: str, subject: str = "") -> int | None:
    """Return the latest moment at which a timer ends; None if it doesn't run."""
    return next((t.latest for t in group.timers if t[:2] == (kind, subject)), None)


def _state(group: Group | None) -> GroupState:
    return GroupState.ABSENT if group is None else group.state


def completed_early(view: StepView) -> bool:
    """Return True if the wait for joins ended before its time was over."""
    if isinstance(view.event, Timer) and view.event.kind == JOIN:
        return False
    return (
        view.after is not None
        and view.after.state is GroupState.COMPLETING
        and view.after.generation_id != (0 if view.before is None else view.before.generation_id)
    )


def all_joined(view: StepView) -> str | None:
    """Check that a wait for joins ends early only when everybody has joined."""
    if not completed_early(view):
        return None
    group = view.after
    assert group is not None
    if group.pending:
        return f"a generation began although the id {group.pending[0]} was not used yet"
    absent = {m.member_id for m in group.members} - {m.member_id for m in joined(view)}
    if absent:
        return f"a generation began without {min(absent)}, whose time was not over"
    return None


def _settled_group(view: StepView) -> bool:
    return _state(view.before) in {GroupState.COMPLETING, GroupState.STABLE}


def waits_for_joins(view: StepView) -> bool:
    """Return True if a rebalance of a group with members begins, or goes on as nobody is late."""
    group = view.after
    if group is None or group.state is not GroupState.PREPARING or not group.members:
        return False
    if isinstance(view.event, Timer) and view.event.kind == JOIN:
        return False
    return _settled_group(view) or _state(view.before) is GroupState.PREPARING


def wait_lasts(view: StepView) -> str | None:
    """Check that a wait for joins lasts the longest rebalance timeout, from its begin."""
    if not waits_for_joins(view):
        return None
    group, before = view.after, view.before
    assert group is not None
    assert before is not None
    end = _due(group, JOIN)
    if end is None:
        return "a rebalance is prepared and no timer ends the wait for joins"
    if _settled_group(view):
        longest = group.rebalance_timeout_ms()
        if end != view.now_ms + longest:
            return f"the wait for joins lasts {end - view.now_ms} ms, and the members ask {longest}"
    elif end != _due(before, JOIN):
        return "the end of the wait for joins was moved while it lasted"
    return None


def assigned(view: StepView) -> bool:
    """Return True if assignments came in; a failover has those of before."""
    if isinstance(view.event, Failover):
        return False
    return _state(view.before) is GroupState.COMPLETING and _state(view.after) is GroupState.STABLE


def leader_assigned(view: StepView) -> str | None:
    """Check that the assignments are those of the leader's SyncGroup alone."""
    before, after, event = view.before, view.after, view.event
    if not assigned(view) or before is None or after is None:
        return None
    message = event.message if isinstance(event, Incoming) else None
    if not isinstance(message, SyncGroupRequest) or message.member_id != before.leader:
        return "assignments were taken from somebody who doesn't lead"
    sent = {a.member_id: a.assignment for a in message.assignments}
    for member in after.members:
        if member.assignment != sent.get(member.member_id, b""):
            return f"{member.member_id} has another assignment than the leader gave it"
    return None


def becomes_stable(view: StepView) -> bool:
    """Return True if the group is stable in a generation in which it was not; by no failover."""
    after, before = view.after, view.before
    if after is None or after.state is not GroupState.STABLE or isinstance(view.event, Failover):
        return False
    if before is None or before.state is not GroupState.STABLE:
        return True
    return bool(before.generation_id != after.generation_id)


def somebody_assigned(view: StepView) -> str | None:
    """Check that a group becomes stable by the SyncGroup of the generation's leader."""
    before, after, event = view.before, view.after, view.event
    if not becomes_stable(view) or after is None:
        return None
    message = event.message if isinstance(event, Incoming) else None
    if (
        before is not None
        and before.state is GroupState.COMPLETING
        and before.generation_id == after.generation_id
        and isinstance(message, SyncGroupRequest)
        and message.member_id == before.leader
    ):
        return None
    return "the group is stable, and its leader has not assigned anything in this generation"


def _leaders_join(view: StepView) -> JoinGroupResponse | None:
    """Return the answer to the leader's join, if the group awaits assignments after it."""
    after = view.after
    if after is None or after.state is not GroupState.COMPLETING:
        return None
    return next((answer for answer in joined(view) if answer.member_id == after.leader), None)


def leader_or_skipper_answered(view: StepView) -> bool:
    """Return True if the leader's join is answered, or another that is told to skip."""
    return _leaders_join(view) is not None or any(m.skip_assignment for m in joined(view))


def leader_assigns(view: StepView) -> str | None:
    """Check that a leader is told to assign, unless the generation has its assignments."""
    for answer in joined(view):
        if answer.skip_assignment and _state(view.after) is not GroupState.STABLE:
            return f"{answer.member_id} got skipAssignment, and nobody else assigns"
    leaders = _leaders_join(view)
    if leaders is None or (leaders.leader == leaders.member_id and leaders.members):
        return None
    return f"{leaders.member_id} leads, got skipAssignment, and nobody else assigns"


def _kept(view: StepView) -> Iterator[tuple[Member, Member]]:
    """Yield the members of a stable group before and after a step in which its generation stays.

    An instance's new process is its member, too.
    """
    before, after = view.before, view.after
    if before is None or after is None or before.generation_id != after.generation_id:
        return
    if {before.state, after.state} != {GroupState.STABLE}:
        return
    for member in before.members:
        instance = member.group_instance_id
        heir = member.member_id if instance is None else after.holder(instance)
        still = after.member(heir or "")
        if still is not None:
            yield member, still


def stays_stable(view: StepView) -> bool:
    """Return True if a group with a member is stable before and after the step, in a generation."""
    return any(True for _ in _kept(view))


def assignment_lasts(view: StepView) -> str | None:
    """Check that a member's assignment stays as it is while the generation does."""
    for member, still in _kept(view):
        if still.assignment != member.assignment:
            who = member.group_instance_id or member.member_id
            return f"within one generation {who} was assigned two things"
    return None


def assignments_in_answers(view: StepView) -> list[tuple[str, bytes]]:
    """Return the assignments in the answers of this step: (member id, assignment)."""
    askers = {m.syncing.request_id: m.member_id for m in members(view.before) if m.syncing}
    event = view.event
    if isinstance(event, Incoming) and isinstance(event.message, SyncGroupRequest):
        askers[event.id] = event.message.member_id
    return [
        (askers[request_id], message.assignment)
        for request_id, message in view.answered
        if isinstance(message, SyncGroupResponse)
        and message.error_code == NONE
        and request_id in askers
    ]


def assignment_is_there(view: StepView) -> str | None:
    """Check that an assignment in an answer is the member's own, in a stable group."""
    for member_id, assignment in assignments_in_answers(view):
        member = None if view.after is None else view.after.member(member_id)
        if member is None or _state(view.after) is not GroupState.STABLE:
            return f"{member_id} got an assignment before the leader made one"
        if member.assignment != assignment:
            return f"{member_id} got another assignment than the group has for it"
    return None


def _released(view: StepView) -> Iterator[Member]:
    """Yield the members whose waiting requests were answered, and which are members still."""
    by_request = dict(view.answered)
    for member in members(view.before):
        for parked in (member.joining, member.syncing):
            message = None if parked is None else by_request.get(parked.request_id)
            if isinstance(message, JoinGroupResponse | SyncGroupResponse):
                still = None if view.after is None else view.after.member(member.member_id)
                if message.error_code in {NONE, _MOVING} and still is not None:
                    yield still


def somebody_released(view: StepView) -> bool:
    """Return True if a waiting request was answered, and its sender stays a member."""
    return any(True for _ in _released(view))


def released_alive(view: StepView) -> str | None:
    """Check that a member whose request waited has its whole session ahead when it is answered."""
    for member in _released(view):
        if short := short_session(view, member):
            return f"{member.member_id} waited and was answered, and {short}"
    return None


def sync_waits_at_timer(view: StepView) -> bool:
    """Return True if a timer ends while a member's SyncGroup waits."""
    return isinstance(view.event, Timer) and any(m.syncing for m in members(view.before))


def sync_outlasts(view: StepView) -> str | None:
    """Check that no timer removes a member whose SyncGroup waits."""
    if not sync_waits_at_timer(view):
        return None
    for member in members(view.before):
        gone = view.after is None or view.after.member(member.member_id) is None
        if member.syncing is not None and gone:
            return f"{member.member_id} had sent its SyncGroup, and a timer removed it"
    return None


Sender = HeartbeatRequest | SyncGroupRequest | CommitRequest


def present(group: Group | None, message: Sender) -> bool:
    """Return True if a member speaks of the group's generation, and under its own instance."""
    if group is None or group.member(message.member_id) is None:
        return False
    instance = message.group_instance_id
    own = instance is None or group.holder(instance) == message.member_id
    return own and message.generation_id == group.generation_id


def beats(view: StepView) -> bool:
    """Return True if a member of the generation sends a heartbeat."""
    event = view.event
    if not isinstance(event, Incoming) or not isinstance(event.message, HeartbeatRequest):
        return False
    return present(view.before, event.message)


def rebalance_in_answer(view: StepView) -> str | None:
    """Check that a heartbeat is answered with a rebalance if one is prepared, and only then."""
    if not beats(view):
        return None
    answer = view.own_answer
    state = _state(view.before)
    right = _MOVING if state is GroupState.PREPARING else NONE
    if isinstance(answer, HeartbeatResponse) and answer.error_code == right:
        return None
    got = answer_name(view)
    return f"in {state.value} a member's heartbeat got {got} instead of {error_name(right)}"


def other_protocol(view: StepView) -> bool:
    """Return True if a member's SyncGroup names another protocol than the selected one."""
    event, before = view.event, view.before
    if not isinstance(event, Incoming) or not isinstance(event.message, SyncGroupRequest):
        return False
    message = event.message
    if before is None or not present(before, message):
        return False
    pairs = (
        (message.protocol_type, before.protocol_type),
        (message.protocol_name, before.protocol_name),
    )
    return any(sent is not None and sent != selected for sent, selected in pairs)


def other_protocol_refused(view: StepView) -> str | None:
    """Check that such a SyncGroup is refused, and changes nothing."""
    if not other_protocol(view):
        return None
    answer = view.own_answer
    refused = Error.INCONSISTENT_GROUP_PROTOCOL.value
    if not isinstance(answer, SyncGroupResponse) or answer.error_code != refused:
        got = answer_name(view)
        return f"a SyncGroup with a protocol that was not selected got {got}, and no refusal"
    return None if view.after == view.before else "a SyncGroup that was refused changed the group"


def _calling(view: StepView) -> Sender | None:
    """Return a request of a member, of a group that has some."""
    event, before = view.event, view.before
    if before is None or not before.members or not isinstance(event, Incoming):
        return None
    message = event.message
    if isinstance(message, Sender):
        return message
    return None


def error(view: StepView) -> int | str | None:
    """Return the error in the answer to the step's request; None: no answer, or rows differ."""
    message = view.own_answer
    if isinstance(message, CommitResponse):
        codes = {p.error_code for topic in message.topics for p in topic.partitions}
        return codes.pop() if len(codes) == 1 else None
    if isinstance(message, HeartbeatResponse | SyncGroupResponse):
        return message.error_code
    return None


def stranger(view: StepView) -> bool:
    """Return True if an id that is no member's sends a request, without an instance."""
    message = _calling(view)
    if message is None:
        return False
    before = view.before
    assert before is not None
    has_id = bool(message.member_id) and message.group_instance_id is None
    return has_id and before.member(message.member_id) is None


def stranger_refused(view: StepView) -> str | None:
    """Check that a stranger is answered UNKNOWN_MEMBER_ID."""
    if not stranger(view):
        return None
    if error(view) != Error.UNKNOWN_MEMBER_ID.value:
        return f"an id that is no member's got {answer_name(view)} instead of UNKNOWN_MEMBER_ID"
    return None


def late(view: StepView) -> bool:
    """Return True if a member sends a request in another generation."""
    message = _calling(view)
    if message is None:
        return False
    before = view.before
    assert before is not None
    instance = message.group_instance_id
    own = instance is None or before.holder(instance) == message.member_id
    member = before.member(message.member_id) is not None
    return member and own and message.generation_id != before.generation_id


def late_refused(view: StepView) -> str | None:
    """Check that another generation is answered ILLEGAL_GENERATION, and nothing changes."""
    if not late(view):
        return None
    if error(view) != Error.ILLEGAL_GENERATION.value:
        return f"another generation got {answer_name(view)} instead of ILLEGAL_GENERATION"
    if view.after != view.before:
        return "a request of another generation changed the group"
    return None


def must_stop(view: StepView) -> bool:
    """Return True if who isn't a member of the generation beats, syncs or commits.

    So does a member whose heartbeat comes while joins are waited for.
    """
    message, before = _calling(view), view.before
    if message is None or before is None or not message.member_id:
        return False
    member = before.member(message.member_id) is not None
    current = member and message.generation_id == before.generation_id
    if isinstance(message, HeartbeatRequest):
        return not current or before.state is GroupState.PREPARING
    return not current


def stopped(view: StepView) -> str | None:
    """Check that who must stop isn't told NONE."""
    if not must_stop(view) or error(view) != NONE:
        return None
    message = _calling(view)
    assert message is not None
    return (
        f"{message.member_id} in generation {message.generation_id} must stop, and its "
        f"{message.API} was answered NONE"
    )


def refused_commit(view: StepView) -> bool:
    """Return True if a commit was refused."""
    commit = _commit(view)
    return commit is not None and commit[1] != NONE


def offsets(view: StepView) -> str | None:
    """Check that a refused commit stores nothing."""
    if not refused_commit(view):
        return None
    before = () if view.before is None else view.before.offsets
    after = () if view.after is None else view.after.offsets
    return None if before == after else "a commit was refused and its offset was stored"


def _commit(view: StepView) -> tuple[CommitRequest, int | str] | None:
    """Return the commit of the step, and the error of all its rows."""
    event = view.event
    if not isinstance(event, Incoming) or not isinstance(event.message, CommitRequest):
        return None
    code = error(view)
    return None if code is None else (event.message, code)


def accepted(view: StepView) -> bool:
    """Return True if a commit was accepted."""
    commit = _commit(view)
    return commit is not None and commit[1] == NONE


def stored(view: StepView) -> str | None:
    """Check that an accepted commit is stored."""
    commit = _commit(view)
    if commit is None or not accepted(view):
        return None
    offsets = () if view.after is None else view.after.offsets
    held = {(o.topic, o.partition): o.offset for o in offsets}
    for topic in commit[0].topics:
        for part in topic.partitions:
            if held.get((topic.name, part.partition_index)) != part.committed_offset:
                place = f"{topic.name}-{part.partition_index}"
                return f"the commit of {place} was answered NONE and lost"
    return None


def commits(view: StepView) -> bool:
    """Return True if somebody commits, to a group whose members would do so."""
    return _commit(view) is not None and view.before is not None


def commit_answered(view: StepView) -> str | None:
    """Check that members commit unless they wait for an assignment, and others where none are."""
    commit, group = _commit(view), view.before
    if commit is None or group is None:
        return None
    message, code = commit
    may = _may_commit(group, message)
    if may is None or may is (code == NONE):
        return None
    who = f"{message.member_id or 'somebody who is no member'} in generation"
    verb = "was refused with" if may else "was answered"
    return f"in {group.state.value} a commit of {who} {message.generation_id} {verb} " + error_name(
        code
    )


def _may_commit(group: Group, message: CommitRequest) -> bool | None:
    """Return True if a commit must be accepted, False if it must be refused; None: either."""
    if group.state is GroupState.EMPTY:
        return True if message.generation_id < 0 else None
    if isinstance(message, TxnOffsetCommitRequest):
        named = bool(message.member_id) or message.group_instance_id is not None
        return present(group, message) or (message.generation_id < 0 and not named)
    return group.state is not GroupState.COMPLETING and present(group, message)


def member_commits(view: StepView) -> bool:
    """Return True if a member's commit was accepted, outside of a transaction."""
    commit = _commit(view)
    if commit is None or isinstance(commit[0], TxnOffsetCommitRequest):
        return False
    return accepted(view) and present(view.before, commit[0])


def commit_kept_alive(view: StepView) -> str | None:
    """Check that an accepted commit restarts the session of the member that sent it."""
    commit = _commit(view)
    if commit is None or not member_commits(view) or view.after is None:
        return None
    member = view.after.member(commit[0].member_id)
    if member is None:
        return f"{commit[0].member_id} committed and is no member any more"
    due = (SESSION, member.member_id, view.now_ms + member.session_timeout_ms)
    if any((t.kind, t.subject, t.latest) == due for t in view.after.timers):
        return None
    return f"the commit of {member.member_id} did not restart its session"


def looks(view: StepView) -> bool:
    """Return True if an operator asks about a group that exists."""
    event = view.event
    asks = DescribeGroupsRequest | ListGroupsRequest
    return (
        view.before is not None and isinstance(event, Incoming) and isinstance(event.message, asks)
    )


def described(view: StepView) -> str | None:
    """Check that a description has the group's members with their instances, a list the group."""
    group = view.before
    if group is None or not looks(view):
        return None
    answer = view.own_answer
    here = {(m.member_id, m.group_instance_id) for m in group.members}
    match answer:
        case DescribeGroupsResponse(groups=(row,)):
            ids = {(m.member_id, m.group_instance_id) for m in row.members}
            if row.error_code != NONE:
                return f"a description of a group got {error_name(row.error_code)}"
            if (row.group_state, ids) != (group.state.value, here):
                who = names(sorted(ids, key=str))
                return f"the group is described as {row.group_state} with {who}"
        case ListGroupsResponse(error_code=Error.NONE.value, groups=rows):
            if [row.group_state for row in rows] != [group.state.value]:
                listed = ", ".join(str(row.group_state) for row in rows)
                return f"a group that is {group.state.value} is listed as {listed or 'nothing'}"
        case _:
            got = answer_name(view)
            return f"an operator's request about a group got {got}, and nothing of the group"
    return None
