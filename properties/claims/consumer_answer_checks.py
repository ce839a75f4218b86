"""State what an answer of the consumer protocol must say, and that it is so.

Errors of joins, heartbeats and leaves; the contents of an answer NONE; commits and descriptions.
"""

from __future__ import annotations

from collections.abc import Callable

from fencepost.model.consumer.group import RELEASED_EPOCH, SESSION, Member
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.topics import rows_of
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatResponse,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import OffsetCommitRequest, OffsetCommitResponse
from fencepost.model.work import Incoming
from fencepost.properties.claims.consumer_invariants import ALL_STEPS, inside, visible
from fencepost.properties.claims.consumer_views import (
    caller_id,
    error,
    group_after,
    group_before,
    heartbeat,
    holder_before,
    is_beat,
    is_join,
    owned_by_caller,
    partitions,
    welcomed,
)
from fencepost.properties.logic.logic import Property
from fencepost.properties.worlds.protocol_worlds import SESSION_MS
from fencepost.properties.worlds.views import StepView

_FULL = Error.GROUP_MAX_SIZE_REACHED

# Joins, heartbeats and leaves.


def _changed_by_a_refusal(view: StepView) -> str | None:
    if view.before == view.after:
        return None
    return f"the answer is {_name(error(view))}, and the group is another one than before"


def _name(answer: Error | None) -> str:
    return "none" if answer is None else answer.name


def _is_refused(view: StepView) -> bool:
    return error(view) not in {None, Error.NONE}


def _misinformed(view: StepView) -> str | None:
    answer, member = view.own_answer, welcomed(view)
    assert isinstance(answer, ConsumerGroupHeartbeatResponse)
    if member is None:
        return f"{caller_id(view)} is answered NONE, and is no member"
    if (answer.member_id, answer.member_epoch) != (member.member_id, member.epoch):
        return f"the answer is for {answer.member_id} at epoch {answer.member_epoch}"
    assigned = None if answer.assignment is None else answer.assignment.topic_partitions
    if assigned is not None and assigned != rows_of(member.partitions()):
        return f"the answer assigns other partitions than {member.member_id} has"
    before = group_before(view).member(member.member_id)
    if assigned is None and (before is None or before.partitions() != member.partitions()):
        return f"the assignment of {member.member_id} changed, and the answer doesn't say so"
    if assigned is None and is_join(view):
        return f"{member.member_id} joined, and the answer has no assignment"
    return None


def _is_welcome(view: StepView) -> bool:
    return error(view) is Error.NONE and (is_join(view) or is_beat(view))


def _shorter_session(view: StepView) -> str | None:
    member = welcomed(view)
    assert member is not None
    timer = group_after(view).timer(SESSION, member.member_id)
    if timer is not None and timer.earliest == SESSION_MS:
        return None
    return f"{member.member_id} is alive, and its session didn't begin anew"


def _wrong_answer(expected: Callable[[StepView], Error]) -> Callable[[StepView], str | None]:
    """Return the check that an answer is this one, or that the group is full."""

    def judged(view: StepView) -> str | None:
        answer, due = error(view), expected(view)
        if answer in {due, None} or (answer is _FULL and due is not Error.NONE):
            return None
        return f"the answer is {_name(answer)} instead of {due.name}"

    return judged


def _is_complete(view: StepView) -> bool:
    """Return True for a heartbeat or join that passes the checks of its fields."""
    return error(view) not in {None, Error.INVALID_REQUEST, Error.UNSUPPORTED_ASSIGNOR}


def _joins_released_instance(view: StepView) -> bool:
    if not is_join(view) or not _is_complete(view):
        return False
    request, holder = heartbeat(view), holder_before(view)
    if request is None or holder is None or not holder.is_released:
        return False
    return group_before(view).member(request.member_id) is None


def _joins_again(view: StepView) -> bool:
    if not is_join(view):
        return False
    request, holder = heartbeat(view), holder_before(view)
    return request is not None and holder is not None and holder.member_id == request.member_id


def _is_without_instance(view: StepView) -> bool:
    request = heartbeat(view)
    return (
        request is not None
        and request.member_epoch == RELEASED_EPOCH
        and request.instance_id is None
    )


def _sender(view: StepView) -> Member | None:
    """Return the member that sends a heartbeat proper under its own instance or without one."""
    request, before = heartbeat(view), group_before(view)
    if request is None or request.member_epoch <= 0 or not _is_complete(view):
        return None
    member = before.member(request.member_id)
    if member is None or request.instance_id is None:
        return member
    return member if before.holder(request.instance_id) == member.member_id else None


def _has_another_epoch(view: StepView) -> bool:
    member, request = _sender(view), heartbeat(view)
    if member is None or request is None or request.member_epoch == member.epoch:
        return False
    return not _is_repeated(view)


def _is_repeated(view: StepView) -> bool:
    """Return True for a heartbeat whose answer before was lost, as far as its sender says so."""
    member, request, owned = _sender(view), heartbeat(view), owned_by_caller(view)
    return (
        member is not None
        and request is not None
        and request.member_epoch in {member.epoch, member.previous_epoch}
        and owned is not None
        and owned <= set(member.partitions())
    )


def _has_current_epoch(view: StepView) -> bool:
    member, request = _sender(view), heartbeat(view)
    return member is not None and request is not None and request.member_epoch == member.epoch


# Offsets and descriptions.


def _commit(view: StepView) -> OffsetCommitRequest | None:
    event = view.event
    if isinstance(event, Incoming) and isinstance(event.message, OffsetCommitRequest):
        return event.message
    return None


def _stores(view: StepView) -> bool:
    answer = view.own_answer
    return isinstance(answer, OffsetCommitResponse) and any(
        part.error_code == Error.NONE.value for topic in answer.topics for part in topic.partitions
    )


def _foreign_commit(view: StepView) -> str | None:
    commit, before = _commit(view), group_before(view)
    assert commit is not None
    member = before.member(commit.member_id)
    if member is None:
        return f"{commit.member_id} is no member, and commits"
    if member.epoch == commit.generation_id:
        return None
    if commit.generation_id > member.epoch and not member.is_released:
        return f"{commit.member_id} commits with a newer epoch than its own"
    since = {(p.topic, p.partition): epoch for p, epoch in member.assigned}
    for topic in commit.topics:
        for part in topic.partitions:
            epoch = since.get((topic.name, part.partition_index))
            if epoch is None or epoch > commit.generation_id:
                return (
                    f"{commit.member_id} commits for a partition that was not its own in the epoch"
                    " of the commit"
                )
    return None


def _commits_to_members(view: StepView) -> bool:
    return _commit(view) is not None and bool(group_before(view).members) and _stores(view)


def _refused_commit(view: StepView) -> str | None:
    return None if _stores(view) else "a member's commit with its epoch is refused"


def _commits_with_its_epoch(view: StepView) -> bool:
    commit = _commit(view)
    if commit is None:
        return False
    member = group_before(view).member(commit.member_id)
    if member is None or member.is_released or member.epoch != commit.generation_id:
        return False
    return commit.group_instance_id in {None, member.instance_id}


def _unkept_commit(view: StepView) -> str | None:
    stored = {(o.topic, o.partition): o.offset for o in group_after(view).offsets}
    before = {(o.topic, o.partition): o.offset for o in group_before(view).offsets}
    commit = _commit(view)
    assert commit is not None
    for topic in commit.topics:
        for part in topic.partitions:
            place = topic.name, part.partition_index
            if _stores(view) and stored.get(place) != part.committed_offset:
                return f"the commit for {topic.name}-{part.partition_index} is not stored"
            if not _stores(view) and stored.get(place) != before.get(place):
                return f"a refused commit for {topic.name}-{part.partition_index} is stored"
    return None


def _wrong_description(view: StepView) -> str | None:
    answer, group = view.own_answer, group_before(view)
    assert isinstance(answer, ConsumerGroupDescribeResponse)
    row = answer.groups[0]
    described = {m.member_id: (m.instance_id, m.member_epoch) for m in row.members}
    known = {m.member_id: (m.instance_id, m.epoch) for m in group.members}
    if described != known:
        return "the description has other members than the group"
    if (row.group_epoch, row.assignment_epoch) != (group.epoch, group.target_epoch):
        return "the description has other epochs than the group"
    return None


def _describes(view: StepView) -> bool:
    return isinstance(view.own_answer, ConsumerGroupDescribeResponse) and view.before is not None


def _uncounted(view: StepView) -> str | None:
    answer, group = view.own_answer, group_before(view)
    assert isinstance(answer, ConsumerGroupDescribeResponse)
    for row in answer.groups[0].members:
        member = group.member(row.member_id)
        if member is None:
            continue
        count = sum(len(part.partitions) for part in row.assignment.topic_partitions)
        if count != len(partitions(member)):
            return f"{row.member_id} owns {len(partitions(member))} partitions; {count} are shown"
    return None


def _describes_revocation(view: StepView) -> bool:
    return _describes(view) and any(m.revoking for m in group_before(view).members)


CONSUMER_ANSWERS: tuple[Property, ...] = (
    inside(
        "a-refused-heartbeat-changes-nothing",
        "A heartbeat, join or leave that is refused leaves the group as it was.",
        src.KIP_HEARTBEAT,
        ALL_STEPS,
        _changed_by_a_refusal,
        _is_refused,
    ),
    inside(
        "an-answer-says-what-is",
        "An answer NONE has the member's epoch, and its assignment where that changed or was "
        "asked for.",
        src.KIP_HEARTBEAT,
        "joins and heartbeats",
        _misinformed,
        _is_welcome,
    ),
    inside(
        "a-member-that-is-heard-stays",
        "A join or heartbeat that is answered NONE begins the session anew.",
        src.KIP_TIMERS,
        ALL_STEPS,
        _shorter_session,
        lambda view: welcomed(view) is not None,
    ),
    visible(
        "a-released-instance-is-free",
        "A newcomer with a released instance is answered NONE, also where the group is full.",
        src.KIP_STATIC,
        "member ids that are no member's",
        _wrong_answer(lambda _: Error.NONE),
        _joins_released_instance,
    ),
    visible(
        "a-join-can-be-sent-again",
        "A join of the holder of its instance is answered NONE: its first answer may be lost.",
        "KIP-848 (joining with epoch 0); apache/kafka#23542",
        "the holder's own id",
        _wrong_answer(lambda _: Error.NONE),
        _joins_again,
    ),
    visible(
        "a-release-names-its-instance",
        "A release without an instance is answered INVALID_REQUEST.",
        f"KAFKA-16147; {src.KIP_LEAVE}",
        ALL_STEPS,
        _wrong_answer(lambda _: Error.INVALID_REQUEST),
        _is_without_instance,
    ),
    visible(
        "another-epoch-is-fenced",
        "A heartbeat with another epoch than the member's is answered FENCED_MEMBER_EPOCH, unless "
        "it repeats the one before.",
        src.KIP_HEARTBEAT,
        "members, with their own instance or none",
        _wrong_answer(lambda _: Error.FENCED_MEMBER_EPOCH),
        _has_another_epoch,
    ),
    visible(
        "a-lost-answer-does-no-harm",
        "A heartbeat with the previous epoch is answered NONE if it owns no more than is assigned.",
        src.KIP_HEARTBEAT,
        "members, with their own instance or none",
        _wrong_answer(lambda _: Error.NONE),
        _is_repeated,
    ),
    visible(
        "a-member-is-heard",
        "A heartbeat with the member's epoch is answered NONE.",
        src.KIP_HEARTBEAT,
        "members, with their own instance or none",
        _wrong_answer(lambda _: Error.NONE),
        _has_current_epoch,
    ),
    visible(
        "only-owners-commit",
        "A commit is stored only for a member, with its epoch, or with an older one in which the "
        "partition was its own.",
        f"{src.KIP_OFFSETS}; {src.KIP_1251}",
        "OffsetCommit to groups with members; a released member may commit with -2",
        _foreign_commit,
        _commits_to_members,
    ),
    visible(
        "a-members-commit-is-stored",
        "A live member's commit with its epoch, and with its instance or none, is answered NONE.",
        src.KIP_OFFSETS,
        "OffsetCommit",
        _refused_commit,
        _commits_with_its_epoch,
    ),
    inside(
        "a-commit-does-what-it-says",
        "A commit that is answered NONE is stored, and a refused one is not.",
        src.KIP_OFFSETS,
        "OffsetCommit of one partition",
        _unkept_commit,
        lambda view: _commit(view) is not None,
    ),
    visible(
        "a-description-shows-the-group",
        "A description has the members, instances and epochs of the group.",
        src.KAFKA_ADMIN,
        "ConsumerGroupDescribe",
        _wrong_description,
        _describes,
    ),
    visible(
        "what-is-to-be-given-up-is-shown",
        "A description counts partitions that a member must give up among its own.",
        "KAFKA-20431, since 4.3",
        "ConsumerGroupDescribe",
        _uncounted,
        _describes_revocation,
    ),
)
