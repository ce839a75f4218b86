"""Check steps for properties about members, joins and leaves.

The checks are about members: the answers to them, their coming and going; about joins: the answers
to welcomed, refused and replaced members; about leaves: exactly the named members go, and each row
says so.

Each check returns None, or the violation in one sentence.  Beside it stands its premise: true if
the step is of that kind at all.  `fencepost.properties.claims.step_answers` names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fencepost.model.classic.group import SESSION, Group, Member
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.coordinator import CONFIG_DEFAULTS
from fencepost.model.messages.draft_messages import DraftLeaveGroupResponse
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    CommitResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import ShapeError
from fencepost.model.work import Incoming, Timer
from fencepost.properties.worlds.views import StepView

NONE = Error.NONE.value
_SHORTEST = CONFIG_DEFAULTS["group.min.session.timeout.ms"] or 0
_LONGEST = CONFIG_DEFAULTS["group.max.session.timeout.ms"] or 0


def members(group: Group | None) -> tuple[Member, ...]:
    """Return the members of a group, none if there is no group."""
    return () if group is None else group.members


def joined(view: StepView) -> list[JoinGroupResponse]:
    """Return the joins that this step answered with a generation."""
    return [
        message
        for _, message in view.answered
        if isinstance(message, JoinGroupResponse) and message.error_code == NONE
    ]


def shape(view: StepView) -> str | None:
    """Check that every answer has the shape of its version, and belongs to a request."""
    versions = view.versions
    for request_id, message in view.answered:
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
    """Check that joins that complete together get the same answer, and that one of them leads."""
    all_joined = joined(view)
    for field in ("generation_id", "protocol_name", "protocol_type", "leader"):
        if len({getattr(message, field) for message in all_joined}) > 1:
            return f"the members of one generation got different values of {field}"
    leading = [message for message in all_joined if message.leader == message.member_id]
    if len(leading) > 1:
        return "several members of one generation got the leader's answer"
    for message in all_joined:
        if message.members and message not in leading:
            return "a member that doesn't lead was given the members"
    return None


def generation_in_answer(view: StepView) -> str | None:
    """Check that the generation in the answer is the group's."""
    for message in joined(view):
        if view.after is None or message.generation_id != view.after.generation_id:
            return f"{message.member_id} got a generation that is not the group's"
    return None


def leader_in_answer(view: StepView) -> str | None:
    """Check that the leader in the answer is a member."""
    versions = view.versions
    ids = {member.member_id for member in members(view.after)}
    for request_id, message in view.answered:
        if not isinstance(message, JoinGroupResponse) or message.error_code != NONE:
            continue
        restarted = message.member_id not in {m.member_id for m in members(view.before)}
        if restarted and versions.get(request_id, 0) < 9:
            continue
        if message.leader not in ids:
            return f"an answer names {message.leader} as the leader, which is no member"
    return None


def speaks_of_leader(view: StepView) -> bool:
    """Return True if a join was answered NONE."""
    return bool(joined(view))


def unanswered(view: StepView) -> str | None:
    """Check that each request is either answered or parked, never both."""
    waiting = set(view.versions)
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
    """Return True if a request was open."""
    return bool(view.versions)


def answer_name(view: StepView) -> str:
    """Return the errors in the answer to the step's own request; `no answer` if it waits."""
    message = view.own_answer
    if isinstance(message, CommitResponse):
        codes = [part.error_code for topic in message.topics for part in topic.partitions]
    else:
        codes = [] if message is None else [getattr(message, "error_code", NONE)]
    return " and ".join(sorted(set(map(error_name, codes)))) or "no answer"


def short_session(view: StepView, member: Member) -> str:
    """Return how a member has less than its whole session before it after a step; "" if it has."""
    timers = () if view.after is None else view.after.timers
    whole = member.session_timeout_ms
    for timer in timers:
        if timer[:2] == (SESSION, member.member_id):
            left = timer.latest - view.now_ms
            ends = f"its session ends in {left:,} ms; its timeout is {whole:,} ms"
            return "" if left >= whole else ends
    return "no session timer runs for it"


def _is_new_process(view: StepView, join: JoinGroupRequest) -> bool:
    """Return True if a join without an id names an instance, or takes it over under a pending id.

    Some revisions tell a new process of an instance its id first.
    """
    if not join.member_id:
        return join.group_instance_id is not None
    was_pending = view.before is not None and join.member_id in view.before.pending
    holder = None if view.after is None else view.after.holder(join.group_instance_id or "")
    return was_pending and holder == join.member_id


def restarted(view: StepView) -> tuple[Member, JoinGroupRequest] | None:
    """Return the seat that a new process of a static member takes over in a stable group."""
    event, before = view.event, view.before
    if before is None or not isinstance(event, Incoming):
        return None
    message = event.message
    if not isinstance(message, JoinGroupRequest) or before.state is not GroupState.STABLE:
        return None
    if message.group_instance_id is None or not _is_new_process(view, message):
        return None
    if not _SHORTEST <= message.session_timeout_ms <= _LONGEST:
        return None  # refused before anything else is looked at
    holder = before.member(before.holder(message.group_instance_id) or "")
    if holder is None or holder.protocols != message.protocols:
        return None
    return holder, message


def quiet_restart(view: StepView) -> str | None:
    """Check that a restart in a stable group changes nothing else."""
    restart = restarted(view)
    if restart is None:
        return None
    holder, message = restart
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
    answer = view.own_answer
    if not isinstance(answer, JoinGroupResponse) or answer.error_code != NONE:
        return f"a static member restarted in a stable group, and its join got {answer_name(view)}"
    return None


def _accepted_join(view: StepView) -> Member | None:
    """Return the member of an accepted join, answered or parked."""
    event = view.event
    if not isinstance(event, Incoming) or not isinstance(event.message, JoinGroupRequest):
        return None
    answer = view.own_answer
    for member in members(view.after):
        parked = member.joining is not None and member.joining.request_id == event.id
        if parked:
            return member
        if (
            isinstance(answer, JoinGroupResponse)
            and answer.error_code == NONE
            and answer.member_id == member.member_id
        ):
            return member
    return None


def moved_in(view: StepView) -> Member | None:
    """Return the member of an accepted join that changes its subscription."""
    member = _accepted_join(view)
    if member is None or view.before is None:
        return member
    known = view.before.member(member.member_id)
    answer = view.own_answer
    unchanged = known is not None and isinstance(answer, JoinGroupResponse)
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
    for kind, has, requested in (
        ("session", member.session_timeout_ms, join.session_timeout_ms),
        ("rebalance", member.rebalance_timeout_ms, rebalance),
    ):
        if has != requested:
            asks = f"{member.member_id} joined with a {kind} timeout of {requested:,} ms"
            return f"{asks}, and the group has {has:,} ms for it"
    if member.protocols != join.protocols:
        return f"{member.member_id} joined with other protocols and has its old ones"
    short = "" if member.joining is not None else short_session(view, member)
    return f"{member.member_id} joined and was answered, and {short}" if short else None


_BEFORE_BOUNDS = {
    Error.INVALID_GROUP_ID.value,
    Error.COORDINATOR_LOAD_IN_PROGRESS.value,
    Error.NOT_COORDINATOR.value,
}


def out_of_bounds(view: StepView) -> bool:
    """Return True if a join's session timeout is out of bounds, and no earlier check answers."""
    join, answer = own_join(view), _own_join_answer(view)
    if join is None or (answer is not None and answer.error_code in _BEFORE_BOUNDS):
        return False
    return not _SHORTEST <= join[1].session_timeout_ms <= _LONGEST


def bounds_kept(view: StepView) -> str | None:
    """Check that a join with a session timeout out of the broker's bounds is refused for it."""
    join, answer = own_join(view), _own_join_answer(view)
    if join is None or not out_of_bounds(view):
        return None
    if answer is not None and answer.error_code == Error.INVALID_SESSION_TIMEOUT.value:
        return None
    asks = f"a join with a session timeout of {join[1].session_timeout_ms:,} ms"
    return f"{asks} got {answer_name(view)}; the broker takes {_SHORTEST:,} to {_LONGEST:,} ms"


def heard(view: StepView) -> Member | None:
    """Return the member whose heartbeat was answered NONE or REBALANCE_IN_PROGRESS."""
    event = view.event
    if not isinstance(event, Incoming) or not isinstance(event.message, HeartbeatRequest):
        return None
    answer = view.own_answer
    alive = {NONE, Error.REBALANCE_IN_PROGRESS.value}
    if not isinstance(answer, HeartbeatResponse) or answer.error_code not in alive:
        return None
    return None if view.after is None else view.after.member(event.message.member_id)


def kept_alive(view: StepView) -> str | None:
    """Check that the member of such a heartbeat has its whole session before it."""
    member = heard(view)
    if member is None:
        return None
    short = short_session(view, member)
    got = f"the heartbeat of {member.member_id} got {answer_name(view)}"
    return f"{got}, and {short}" if short else None


def silent(view: StepView) -> Member | None:
    """Return the member whose session ended while it waited for nothing."""
    event, before = view.event, view.before
    if before is None or not isinstance(event, Timer) or event.kind != SESSION:
        return None
    member: Member | None = before.member(event.subject)
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


def without_heir(view: StepView) -> list[Member]:
    """Return the members that left a stable group with an assignment, and without a successor."""
    before = view.before
    if before is None or before.state is not GroupState.STABLE:
        return []
    ids = {member.member_id for member in members(view.after)}
    held = {member.group_instance_id for member in members(view.after)} - {None}
    return [
        member
        for member in before.members
        if member.assignment and member.member_id not in ids
        if member.group_instance_id not in held
    ]


def handed_on(view: StepView) -> str | None:
    """Check that a rebalance begins when the partitions of a member are nobody's."""
    gone = without_heir(view)
    if gone and view.after is not None and view.after.state is GroupState.STABLE:
        who = gone[0].group_instance_id or gone[0].member_id
        return f"the partitions of {who} are nobody's: it is gone, and no rebalance begins"
    return None


_ID_REQUIRED = Error.MEMBER_ID_REQUIRED.value
_REPEATED = {Error.FENCED_INSTANCE_ID.value, Error.UNKNOWN_MEMBER_ID.value}
_ID_FIRST_SINCE = 4
_SKIPS_SINCE = 9


def own_join(view: StepView) -> tuple[Incoming, JoinGroupRequest] | None:
    """Return the join of the step."""
    event = view.event
    if isinstance(event, Incoming) and isinstance(event.message, JoinGroupRequest):
        return event, event.message
    return None


def _own_join_answer(view: StepView) -> JoinGroupResponse | None:
    """Return the answer to the step's own join, if it was answered at once."""
    answer = view.own_answer
    return answer if isinstance(answer, JoinGroupResponse) else None


def nameless(view: StepView) -> bool:
    """Return True if a join without member and instance was accepted, or got an id."""
    join = own_join(view)
    if join is None or join[1].member_id or join[1].group_instance_id is not None:
        return False
    answer = _own_join_answer(view)
    return answer is None or answer.error_code in {NONE, _ID_REQUIRED}


def id_first(view: StepView) -> str | None:
    """Check that from version 4 on a newcomer gets a pending id, and never below."""
    join = own_join(view)
    if join is None or not nameless(view):
        return None
    answer = _own_join_answer(view)
    required = answer is not None and answer.error_code == _ID_REQUIRED
    if join[0].version < _ID_FIRST_SINCE:
        return "below version 4 MEMBER_ID_REQUIRED was answered" if required else None
    if answer is None or not required:
        return "a join without any id was let in before its client had an id"
    if view.after is None or answer.member_id not in view.after.pending:
        return f"MEMBER_ID_REQUIRED has the id {answer.member_id!r}, which is not pending"
    if len(members(view.after)) > len(members(view.before)):
        return "a member was added before its client had the id"
    return None


def _refused(view: StepView) -> Iterator[tuple[JoinGroupResponse, str, bool]]:
    """Yield each refused join: the answer, the id in the request, true for the step's own."""
    parked = {
        member.joining.request_id: member.member_id
        for member in members(view.before)
        if member.joining is not None
    }
    own = own_join(view)
    for request_id, message in view.answered:
        if not isinstance(message, JoinGroupResponse):
            continue
        if message.error_code in {NONE, _ID_REQUIRED}:
            continue
        if own is not None and request_id == own[0].id:
            yield message, own[1].member_id, True
        elif request_id in parked:
            yield message, parked[request_id], False


def somebody_refused(view: StepView) -> bool:
    """Return True if a join was refused."""
    return any(True for _ in _refused(view))


def refusal_tells_nothing(view: StepView) -> str | None:
    """Check that the answer to a refused join has its error and nothing that it doesn't know."""
    for message, sent, own in _refused(view):
        error = error_name(message.error_code)
        if message.member_id not in {"", sent}:
            who = sent or "nobody"
            return f"a join of {who} was answered {error} with the id {message.member_id}"
        if own and message.error_code in _REPEATED and message.member_id != sent:
            return f"{error} doesn't repeat the id {sent} that the join was sent under"
        if message.generation_id >= 0 or message.leader or message.members:
            return f"a join that was answered {error} got a generation, a leader or members, too"
    return None


def _replaced(view: StepView) -> Iterator[Member]:
    """Yield the members whose instance this step maps to another member."""
    before, after = view.before, view.after
    if before is None or after is None or not isinstance(view.event, Incoming):
        return
    for instance, old in before.static:
        new = after.holder(instance)
        holder = before.member(old)
        if holder is not None and new is not None and new != old and after.member(old) is None:
            yield holder


def waiting_replaced(view: StepView) -> bool:
    """Return True if a member with a waiting request was replaced."""
    return any(m.joining is not None or m.syncing is not None for m in _replaced(view))


def replaced_fenced(view: StepView) -> str | None:
    """Check that the waiting request of a replaced member is answered FENCED_INSTANCE_ID."""
    by_request = dict(view.answered)
    for member in _replaced(view):
        for parked in (member.joining, member.syncing):
            message = None if parked is None else by_request.get(parked.request_id)
            if isinstance(message, JoinGroupResponse | SyncGroupResponse):
                error = message.error_code
                if error != Error.FENCED_INSTANCE_ID.value:
                    return f"{member.member_id} was replaced and answered {error_name(error)}"
    return None


def welcome(view: StepView) -> str | None:
    """Check that welcomed members get the group's protocol, and a leader who is a member."""
    group = view.after
    for message in joined(view):
        if group is None:
            return f"{message.member_id} was welcomed by a group that is gone"
        if (message.protocol_type, message.protocol_name) != (
            group.protocol_type,
            group.protocol_name,
        ):
            return f"{message.member_id} got another protocol than the group's"
        if message.members and {
            (m.member_id, m.group_instance_id, m.metadata) for m in message.members
        } != {
            (m.member_id, m.group_instance_id, m.metadata(group.protocol_name))
            for m in group.members
        }:
            return f"the leader {message.member_id} got other members than the group has"
    return None


def leader_restarted(view: StepView) -> bool:
    """Return True if the leader of a stable group restarts, and is welcomed at once."""
    join, answer, group = own_join(view), _own_join_answer(view), view.before
    if join is None or group is None or group.state is not GroupState.STABLE:
        return False
    instance = join[1].group_instance_id
    if answer is None or answer.error_code != NONE or answer.generation_id != group.generation_id:
        return False  # refused, or a vote for another protocol began a generation
    anew = _is_new_process(view, join[1])
    return anew and group.leader is not None and group.holder(instance or "") == group.leader


def leader_rejoins(view: StepView) -> bool:
    """Return True if the leader of a stable group joins again under its id, and isn't refused."""
    join, answer, group = own_join(view), _own_join_answer(view), view.before
    if join is None or group is None or group.state is not GroupState.STABLE:
        return False
    message = join[1]
    instance = message.group_instance_id
    own = instance is None or group.holder(instance) == message.member_id
    refused = answer is not None and answer.error_code != NONE
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
            return f"{message.member_id} got skipAssignment, and is no such leader"
    answer, join = _own_join_answer(view), own_join(view)
    if not again or answer is None or join is None:
        return None
    leads = answer.leader == answer.member_id
    if join[0].version >= _SKIPS_SINCE and not (leads and answer.skip_assignment):
        return "a restarted leader's answer lacks the leader or skipAssignment"
    if join[0].version < _SKIPS_SINCE and leads:
        return "below version 9 a restarted leader got the leader's answer, so it assigns anew"
    return None


_UNKNOWN = Error.UNKNOWN_MEMBER_ID.value
_FENCED = Error.FENCED_INSTANCE_ID.value
_ROWS_SINCE = 3


def _leave(view: StepView) -> tuple[LeaveGroupRequest, int, LeaveGroupResponse] | None:
    """Return the leave of the step, its version, and its answer."""
    event = view.event
    if not isinstance(event, Incoming) or not isinstance(event.message, LeaveGroupRequest):
        return None
    answer = view.own_answer
    if not isinstance(answer, LeaveGroupResponse):
        return None
    return event.message, event.version, answer


def left(view: StepView) -> bool:
    """Return True if a leave was answered; a draft's is one, though not looked at."""
    draft = any(isinstance(m, DraftLeaveGroupResponse) for _, m in view.answered)
    return draft or _leave(view) is not None


def rows_answered(view: StepView) -> str | None:
    """Check that each row is answered by one that repeats its ids, under no error for all."""
    leave = _leave(view)
    if leave is None:
        return None
    message, version, answer = leave
    if version < _ROWS_SINCE:
        return "below version 3 a leave was answered in rows" if answer.members else None
    if answer.error_code != NONE:
        return f"a leave was refused as a whole, with {error_name(answer.error_code)}"
    sent = [(row.member_id, row.group_instance_id) for row in message.members]
    answered = [(row.member_id, row.group_instance_id) for row in answer.members]
    if sent == answered:
        return None
    return f"a leave of {names(sent)} was answered with rows for {names(answered)}"


def names(rows: Iterable[tuple[str, str | None]]) -> str:
    """Return (member id, instance) pairs in words: "A.1 (A), instance B"; "nobody" for none."""
    words = [
        (f"{mid} ({instance})" if instance else mid) if mid else f"instance {instance or 'null'}"
        for mid, instance in rows
    ]
    return ", ".join(words) or "nobody"


def named_exist(view: StepView) -> bool:
    """Return True if somebody leaves a group that exists."""
    if view.before is None:
        return False
    return left(view)


def _row(group: Group, gone: set[str], row: LeavingMember) -> tuple[int | str, str]:
    """Return the right error of a row, and the member that it removes; "" for none."""
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
    """Check that a row is answered NONE if it names a member, and that exactly those leave."""
    leave = _leave(view)
    if leave is None or view.before is None:
        return None
    message, version, answer = leave
    gone: set[str] = set()
    errors = (
        [row.error_code for row in answer.members]
        if version >= _ROWS_SINCE
        else [answer.error_code]
    )
    for row, error in zip(message.rows(version), errors, strict=False):
        right, leaver = _row(view.before, gone, row)
        gone |= {leaver} - {""}
        if error != right:
            who = names([(row.member_id, row.group_instance_id)])
            return f"a leave of {who} was answered {error_name(error)}, not {error_name(right)}"
    there = {m.member_id for m in members(view.after)}
    for member in members(view.before):
        if (member.member_id in gone) is (member.member_id in there):
            verb = "stayed" if member.member_id in gone else "was removed"
            named = ", ".join(sorted(gone)) or "nobody"
            return f"{member.member_id} {verb} in a leave that names {named}"
    return None
