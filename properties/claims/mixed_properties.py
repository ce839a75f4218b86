"""State what must hold of mixed groups: of classic members, of conversions, and of both protocols.

The properties of the consumer protocol hold here, too, as far as they speak of what mixed groups
have.  A classic group is seen as the consumer group that an upgrade would make of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from fencepost.model.bridge.conversion import OWED
from fencepost.model.bridge.rules import rule_sources as src
from fencepost.model.classic.group import Group
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.consumer.group import (
    JOIN,
    SESSION,
    SYNC,
    ConsumerGroup,
    Member,
    Phase,
)
from fencepost.model.messages.consumer_messages import ConsumerGroupHeartbeatRequest
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.subscription import (
    TopicPartition,
    readable_assignment,
    readable_subscription,
)
from fencepost.model.work import Incoming, Timer
from fencepost.properties.claims.consumer_answer_checks import CONSUMER_ANSWERS
from fencepost.properties.claims.consumer_formulas import KEPT, MOVES
from fencepost.properties.claims.consumer_invariants import CONSUMER_INVARIANTS, INSIDE, UNSAID
from fencepost.properties.claims.consumer_steps import CONSUMER_STEPS
from fencepost.properties.claims.consumer_views import partitions, words_of
from fencepost.properties.claims.function_property import run_property
from fencepost.properties.claims.world_properties import DECIDED
from fencepost.properties.logic.logic import Engine, Property, PropertyKind
from fencepost.properties.worlds.consumer_abstraction import abstract_consumer_event
from fencepost.properties.worlds.mixed_abstraction import (
    as_consumer_group,
    as_consumer_step,
    stays_classic,
)
from fencepost.properties.worlds.protocol_worlds import REBALANCE_MS, SESSION_MS
from fencepost.properties.worlds.views import StepView, WorldView

_NO_PROOF = "proofs have no theory of mixed groups yet"
_inside = partial(run_property, PropertyKind.STEP, proof=_NO_PROOF, answers=INSIDE)
_visible = partial(run_property, PropertyKind.STEP, proof=_NO_PROOF, answers=UNSAID)
_ALL = "groups that are consumer groups before or after the step"
_CLASSIC_MEMBERS = "classic members of consumer groups"
_ClassicRequest = JoinGroupRequest | SyncGroupRequest | HeartbeatRequest

# Steps.


def _in_consumer_group(view: StepView) -> bool:
    """Return True if a group has members, and is a consumer group."""
    return isinstance(view.before, ConsumerGroup) and bool(view.before.members)


def _message(view: StepView) -> Any:
    return view.event.message if isinstance(view.event, Incoming) else None


def _classic_request(view: StepView) -> _ClassicRequest | None:
    """Return the request of a classic member to a consumer group."""
    message = _message(view)
    if _in_consumer_group(view) and isinstance(message, _ClassicRequest):
        return message
    return None


def _error(view: StepView) -> Error | None:
    code = getattr(view.own_answer, "error_code", None)
    return None if code is None else Error(code)


def _seat(view: StepView) -> str | None:
    message = _message(view)
    if isinstance(message, ConsumerGroupHeartbeatRequest):
        return message.instance_id
    return getattr(message, "group_instance_id", None)


def _holder(view: StepView) -> Member | None:
    """Return the member of the instance that a request names."""
    before, instance = as_consumer_group(view.before), _seat(view)
    if before is None or instance is None:
        return None
    return before.member(before.holder(instance) or "")


def _sender(view: StepView) -> Member | None:
    """Return the classic member that sends a SyncGroup or Heartbeat under its own instance."""
    request = _classic_request(view)
    if request is None or isinstance(request, JoinGroupRequest):
        return None
    member, holder = view.before.member(request.member_id), _holder(view)
    if member is None or member.classic is None or holder is not member:
        return None
    return member


def _joined(view: StepView) -> Member | None:
    """Return the member that a JoinGroup made or kept, in a group that stays a consumer group."""
    answer = view.own_answer
    if _classic_request(view) is None or not isinstance(answer, JoinGroupResponse):
        return None
    if answer.error_code != Error.NONE.value or not isinstance(view.after, ConsumerGroup):
        return None
    return view.after.member(answer.member_id)


def _conversion(view: StepView, kind: type[Group | ConsumerGroup]) -> bool:
    """Return True if a step turns a group with members into one of this kind."""
    before, after = view.before, view.after
    if not isinstance(after, kind) or before is None or isinstance(before, kind):
        return False
    return bool(before.members) and bool(after.members)


# Who is a member.


def _gone(view: StepView) -> Iterator[Member]:
    before, after = as_consumer_group(view.before), as_consumer_group(view.after)
    for member in () if before is None else before.members:
        if after is None or not after.has_id(member.member_id):
            yield member


def _goes_by_itself(view: StepView, member: Member) -> bool:
    """Return True if a member is removed by its own leave, a timer of its own or by name."""
    event, message = view.event, _message(view)
    if isinstance(event, Timer):
        return event.subject == member.member_id
    if isinstance(message, LeaveGroupRequest) and isinstance(event, Incoming):
        rows = message.rows(event.version)
        named = {(row.member_id, row.group_instance_id) for row in rows}
        ids = {member.member_id, ""}
        return any(i in ids and seat in {None, member.instance_id} for i, seat in named)
    if isinstance(message, ConsumerGroupHeartbeatRequest):
        return message.member_epoch == -1 and message.member_id == member.member_id
    return False


def _is_replaced(view: StepView, member: Member) -> bool:
    """Return True if a step is a join by whose instance a member is replaced, as it may be."""
    if member.instance_id is None or _seat(view) != member.instance_id:
        return False
    message = _message(view)
    if isinstance(message, JoinGroupRequest):
        return message.member_id == ""
    is_join = isinstance(message, ConsumerGroupHeartbeatRequest) and message.member_epoch == 0
    return is_join and (member.is_released or member.classic is not None)


def _goes_without_cause(view: StepView) -> str | None:
    for member in _gone(view):
        if not _goes_by_itself(view, member) and not _is_replaced(view, member):
            return f"{member.member_id} is no member any more, without a cause"
    return None


def _somebody_goes(view: StepView) -> bool:
    return not stays_classic(view) and any(True for _ in _gone(view))


def _displaces(view: StepView) -> str | None:
    holder = _holder(view)
    assert holder is not None
    after = as_consumer_group(view.after)
    if after is not None and after.has_id(holder.member_id):
        return None
    return f"{holder.member_id} is live and of the consumer protocol, and a classic join removes it"


def _meets_live_holder(view: StepView) -> bool:
    request, holder = _classic_request(view), _holder(view)
    if not isinstance(request, JoinGroupRequest) or holder is None:
        return False
    return holder.classic is None and not holder.is_released and not request.member_id


# Conversions.


def _kept(member: Member) -> tuple[object, ...]:
    """Return what an upgrade keeps of a member."""
    return member.instance_id, partitions(member), member.epoch, member.rebalance_timeout_ms


def _changed_by_an_upgrade(view: StepView) -> str | None:
    before, after = as_consumer_group(view.before), view.after
    assert before is not None
    mine = {_message(view).member_id, getattr(_holder(view), "member_id", "")}
    for member in before.members:
        now = after.member(member.member_id)
        if member.member_id in mine:
            continue
        if now is None or _kept(now) != _kept(member):
            return f"{member.member_id} is another after the upgrade"
    return None


def _unanswered(view: StepView) -> str | None:
    parked = {r.request_id for m in view.before.members for r in (m.joining, m.syncing) if r}
    missing = sorted(parked - {request for request, _ in view.answered})
    return f"{missing[0]} is not answered" if missing else None


def _changed_by_a_downgrade(view: StepView) -> str | None:
    before, after = view.before, as_consumer_group(view.after)
    assert after is not None
    for member in after.members:
        old = before.member(member.member_id)
        if old is not None and old.instance_id != member.instance_id:
            return f"{member.member_id} has another instance than before the downgrade"
        if old is None and not isinstance(_message(view), JoinGroupRequest):
            return f"{member.member_id} comes with the downgrade"
        if member.instance_id is not None and after.holder(member.instance_id) is None:
            return f"the instance of {member.member_id} is lost"
    if view.after.generation_id < before.epoch:
        return f"the generation falls to {view.after.generation_id} from epoch {before.epoch}"
    return None


def _not_downgraded(view: StepView) -> str | None:
    if isinstance(view.after, Group):
        return None
    return "all members are classic, and the group is a consumer group"


def _is_without_consumers(view: StepView) -> bool:
    """Return True if a consumer group has members before a step, and then only classic ones."""
    after = view.after
    if not _in_consumer_group(view) or after is None or not after.members:
        return False
    return isinstance(after, Group) or all(m.classic is not None for m in after.members)


# Partitions.


def _owned_by_sender(view: StepView) -> frozenset[TopicPartition] | None:
    """Return the partitions that a request says its sender owns; None: it doesn't say."""
    message = _message(view)
    if isinstance(message, JoinGroupRequest):
        read = readable_subscription(message.protocols[0].metadata)
        return frozenset(read.owned)
    if isinstance(message, ConsumerGroupHeartbeatRequest):
        return abstract_consumer_event(as_consumer_step(view)).owned if _says(message) else None
    return None


def _says(beat: ConsumerGroupHeartbeatRequest) -> bool:
    return beat.topic_partitions is not None


def _handed_on(view: StepView) -> str | None:
    before, after = as_consumer_group(view.before), as_consumer_group(view.after)
    assert before is not None
    assert after is not None
    message = _message(view)
    for member in before.members:
        now = after.member(member.member_id)
        lost = frozenset() if now is None else partitions(member) - partitions(now)
        if now is None or not lost:
            continue
        is_own = getattr(message, "member_id", None) == member.member_id
        owned = _owned_by_sender(view)
        if is_own and (now.is_released or (owned is not None and not lost & owned)):
            continue
        lost_one = words_of(min(lost))
        return f"{member.member_id} may still own {lost_one}, and it is its own no more"
    return None


def _loses_partitions(view: StepView) -> bool:
    """Return True if members may lose partitions; where all must rejoin, nobody has any."""
    if isinstance(view.after, Group) and view.after.state is not GroupState.STABLE:
        return False
    before, after = as_consumer_group(view.before), as_consumer_group(view.after)
    if stays_classic(view) or before is None or after is None:
        return False
    return any(
        (now := after.member(m.member_id)) is not None and partitions(m) - partitions(now)
        for m in before.members
    )


# Answers to classic members.


def _unrefused(view: StepView) -> str | None:
    answer, holder = _error(view), _holder(view)
    due = Error.UNKNOWN_MEMBER_ID if holder is None else Error.FENCED_INSTANCE_ID
    if answer is due:
        return None
    return f"the answer is {'none' if answer is None else answer.name} instead of {due.name}"


def _comes_from_a_stranger(view: StepView) -> bool:
    request = _classic_request(view)
    if request is None or not request.member_id or _error(view) is Error.GROUP_MAX_SIZE_REACHED:
        return False
    return request.group_instance_id is not None and not view.before.has_id(request.member_id)


def _wrong_welcome(view: StepView) -> str | None:
    answer, group = view.own_answer, view.after
    if isinstance(answer, JoinGroupResponse):
        member = group.member(answer.member_id)
        if member is None or member.classic is None:
            return f"{answer.member_id} joined, and is no classic member"
        if answer.generation_id != member.epoch:
            return f"{answer.member_id} gets another generation than its epoch"
        return None
    assert isinstance(answer, SyncGroupResponse)
    member = group.member(_message(view).member_id)
    if member is None or readable_assignment(answer.assignment) != member.partitions():
        return "the answer assigns other partitions than the member has"
    return None


def _is_welcome(view: StepView) -> bool:
    request = _classic_request(view)
    if request is None or isinstance(request, HeartbeatRequest):
        return False
    return _error(view) is Error.NONE and isinstance(view.after, ConsumerGroup)


def _changed_by_a_refusal(view: StepView) -> str | None:
    return None if view.before == view.after else "the request is refused, and the group changes"


def _is_refused(view: StepView) -> bool:
    heard = {None, Error.NONE, Error.REBALANCE_IN_PROGRESS}
    return _classic_request(view) is not None and _error(view) not in heard


def _wrong_generation(view: StepView) -> str | None:
    answer = _error(view)
    if answer is Error.ILLEGAL_GENERATION:
        return None
    return f"the answer is {'none' if answer is None else answer.name}, and not ILLEGAL_GENERATION"


def _has_another_generation(view: StepView) -> bool:
    member = _sender(view)
    return member is not None and _message(view).generation_id != member.epoch


def _in_generation(view: StepView, *kinds: type[Any]) -> Member | None:
    """Return the classic member that sends a request of these kinds with its generation."""
    member, message = _sender(view), _message(view)
    if member is None or not isinstance(message, kinds):
        return None
    return member if message.generation_id == member.epoch else None


def _beats(view: StepView) -> Member | None:
    return _in_generation(view, HeartbeatRequest)


def _uncalled(view: StepView) -> str | None:
    if _error(view) is Error.REBALANCE_IN_PROGRESS:
        return None
    return f"{_message(view).member_id} must join again, and hears nothing of it"


def _must_rejoin(view: StepView) -> bool:
    member = _in_generation(view, HeartbeatRequest, SyncGroupRequest)
    if member is None:
        return False
    gives_up = member.phase is Phase.UNREVOKED and _beats(view) is not None
    return gives_up or member.epoch < view.before.target_epoch


def _called_for_nothing(view: StepView) -> str | None:
    member, answer = _beats(view), _error(view)
    assert member is not None
    return None if answer is Error.NONE else f"{member.member_id} is called, and has its target"


def _has_its_target(view: StepView) -> bool:
    member, group = _beats(view), view.before
    return member is not None and group.is_reconciled(member) and group.epoch == member.epoch


# Timers.


def _untimed(view: StepView) -> str | None:
    member = _joined(view)
    kind, who = (SYNC, member) if member is not None else (JOIN, _sender(view))
    assert who is not None
    group: ConsumerGroup = view.after
    timer = group.timer(kind, who.member_id)
    if timer is None or timer.latest > REBALANCE_MS:
        return f"{who.member_id} owes a request, and has no time for it that ends within its R"
    if kind == SYNC and group.timer(JOIN, who.member_id) is not None:
        return f"{who.member_id} has joined, and its time to join runs on"
    return None


def _owes(view: StepView) -> bool:
    if _joined(view) is not None:
        return True
    return _sender(view) is not None and _error(view) is Error.REBALANCE_IN_PROGRESS


def _owing(group: Group | ConsumerGroup | None) -> frozenset[str]:
    """Return the ids with a time for a request that they owe no more."""
    if isinstance(group, Group):
        return frozenset(t.subject for t in group.timers if t.kind in OWED.values())
    if group is None:
        return frozenset()
    there = {m.member_id: m for m in group.members}
    return frozenset(
        t.subject
        for t in group.timers
        if t.kind in {JOIN, SYNC} and (t.subject not in there or there[t.subject].classic is None)
    )


def _owes_nothing(view: StepView) -> str | None:
    new = _owing(view.after) - _owing(view.before)
    if isinstance(_message(view), SyncGroupRequest) and _error(view) is Error.NONE:
        new |= {t.subject for t in view.after.timers if t.kind == SYNC} & {_message(view).member_id}
    if not new:
        return None
    return f"{min(new)} owes no JoinGroup or SyncGroup, and its time for one runs"


def _has_owing(view: StepView) -> bool:
    group = view.before
    return isinstance(group, ConsumerGroup) and any(t.kind in {JOIN, SYNC} for t in group.timers)


def _stays(view: StepView) -> str | None:
    assert isinstance(view.event, Timer)
    after = as_consumer_group(view.after)
    if after is None or not after.has_id(view.event.subject):
        return None
    return f"the time of {view.event.subject} is over, and it stays"


def _is_over(view: StepView) -> bool:
    event = view.event
    return _in_consumer_group(view) and isinstance(event, Timer) and event.kind in {JOIN, SYNC}


def _shorter_session(view: StepView) -> str | None:
    member = _heard(view)
    assert member is not None
    timer = view.after.timer(SESSION, member.member_id)
    if timer is not None and timer.earliest == SESSION_MS:
        return None
    return f"{member.member_id} is alive, and its session didn't begin anew"


def _heard(view: StepView) -> Member | None:
    """Return the classic member whose request was heard."""
    if (member := _joined(view)) is not None:
        return member
    if not isinstance(view.after, ConsumerGroup):
        return None
    if _beats(view) is not None:
        return _beats(view)
    is_sync = isinstance(_message(view), SyncGroupRequest) and _error(view) is Error.NONE
    return _sender(view) if is_sync else None


# Clients.


def _owners(view: WorldView) -> Iterator[tuple[int, Any, Member]]:
    """Yield clients of consumer groups with an assignment of their epoch, and their members."""
    if not isinstance(view.group, ConsumerGroup):
        return
    for index, client in enumerate(view.clients, start=1):
        member = view.group.member(client.member_id)
        knows = client.assigned and (client.has_synced or not client.is_classic)
        if member is not None and knows and client.epoch == member.epoch:
            yield index, client, member


def _owns_more(view: WorldView) -> str | None:
    for index, client, member in _owners(view):
        more = sorted(set(client.assigned) - partitions(member))
        if more:
            return (
                f"c{index} was assigned {words_of(more[0])} in its last answer, and "
                f"{member.member_id} has it no more"
            )
    return None


def _of_mixed(claim: Property) -> Property:
    """Return a property of steps of consumer groups, for mixed groups.

    It speaks of steps after which the group is a consumer group.
    """
    holds, premise = claim.holds, claim.premise
    assert holds is not None
    assert callable(premise)

    def applies(view: StepView) -> bool:
        return isinstance(view.after, ConsumerGroup) and _classic_request(view) is None

    def judged(view: StepView) -> str | None:
        return holds(as_consumer_step(view)) if applies(view) else None

    def reached(view: StepView) -> bool:
        return applies(view) and bool(premise(as_consumer_step(view)))

    return replace(claim, holds=judged, premise=reached)


def _unproved(claim: Property) -> Property:
    """Return a formula as a property that only exploration and Hypothesis check."""
    engines = claim.engines - {Engine.PROOF}
    return replace(claim, engines=engines, not_by={**claim.not_by, Engine.PROOF: _NO_PROOF})


_KEPT_HERE = tuple(_unproved(claim) for claim in KEPT if claim.id != "epoch-zero-is-nobodys")
"""A classic group has members before its first generation."""
_MOVES_HERE = tuple(
    _unproved(claim)
    for claim in MOVES
    if claim.id
    in {
        "a-target-is-taken-over",
        "a-join-displaces-no-live-holder",
        "who-is-out-of-time-goes",
        "a-heartbeat-leave-takes-effect",
        "a-restart-costs-no-epoch",
        "a-release-keeps-the-assignment",
        "a-return-finds-its-place",
        "nobody-is-hurried-for-nothing",
        "who-is-named-for-removal-goes",
        "a-stranger-is-never-heard",
        "the-replaced-hears-fenced",
        "a-newcomer-hears-unreleased",
        "an-instance-is-its-bringers",
    }
)
_STEPS_HERE = tuple(
    _of_mixed(claim)
    for claim in (*CONSUMER_INVARIANTS, *CONSUMER_STEPS, *CONSUMER_ANSWERS)
    if claim.id
    in {
        "a-session-has-its-length",
        "an-epoch-has-a-cause",
        "a-release-prolongs-nothing",
        "a-refused-heartbeat-changes-nothing",
        "an-answer-says-what-is",
        "a-member-that-is-heard-stays",
        "a-released-instance-is-free",
        "another-epoch-is-fenced",
        "a-lost-answer-does-no-harm",
        "a-member-is-heard",
    }
)

OF_MIXED_ALONE: tuple[Property, ...] = (
    _inside(
        "a-member-of-a-mixed-group-goes-for-a-cause",
        "A member goes only by its own leave, by its timers, by an administrator, or replaced: by "
        "a join of the consumer protocol if it is released or classic, else by a classic join.",
        src.KIP_MIGRATION,
        _ALL,
        _goes_without_cause,
        _somebody_goes,
    ),
    _visible(
        "a-classic-join-displaces-no-live-member",
        "A classic join with the instance of a live member of the consumer protocol takes nothing "
        "from that member.",
        src.KIP_MIGRATION,
        "JoinGroup without a member id",
        _displaces,
        _meets_live_holder,
    ),
    _inside(
        "an-upgrade-keeps-the-members",
        "After an upgrade all members but the one that joins have their id, instance and "
        "partitions, and their generation is their epoch.",
        src.KIP_MIGRATION,
        "classic groups with members",
        _changed_by_an_upgrade,
        partial(_conversion, kind=ConsumerGroup),
    ),
    _visible(
        "an-upgrade-answers-who-waits",
        "An upgrade answers each request that waits in the classic group.",
        src.KIP_MIGRATION,
        "classic groups with members",
        _unanswered,
        partial(_conversion, kind=ConsumerGroup),
    ),
    _inside(
        "a-downgrade-keeps-the-members",
        "After a downgrade all members have their id and instance, and the generation is not below "
        "the epoch.",
        src.KIP_MIGRATION,
        "consumer groups that become classic ones",
        _changed_by_a_downgrade,
        partial(_conversion, kind=Group),
    ),
    _inside(
        "a-group-of-classic-members-is-classic",
        "A consumer group whose members are all classic becomes a classic group.",
        src.KIP_MIGRATION,
        "where the migration policy allows downgrades",
        _not_downgraded,
        _is_without_consumers,
    ),
    _inside(
        "a-partition-of-a-mixed-group-is-handed-on-when-it-is-free",
        "A partition leaves its owner only when that says so, is released, is replaced or goes, or "
        "where a downgrade makes all members join again.",
        src.KIP_MIGRATION,
        _ALL,
        _handed_on,
        _loses_partitions,
    ),
    _visible(
        "a-replaced-classic-member-is-refused",
        "A request of a classic process under an id that is no member's is answered "
        "FENCED_INSTANCE_ID if its instance is mapped, else UNKNOWN_MEMBER_ID.",
        src.KAFKA_MIXED,
        "consumer groups with room; requests with an instance",
        _unrefused,
        _comes_from_a_stranger,
    ),
    _inside(
        "a-classic-answer-says-what-is",
        "The generation of a JoinGroup that is answered NONE is the member's epoch, and the "
        "assignment of a SyncGroup is what the member has.",
        src.KAFKA_MIXED,
        _CLASSIC_MEMBERS,
        _wrong_welcome,
        _is_welcome,
    ),
    _inside(
        "a-refused-classic-request-changes-nothing",
        "A JoinGroup, SyncGroup or Heartbeat that is refused leaves the group as it was.",
        src.KAFKA_MIXED,
        "consumer groups; REBALANCE_IN_PROGRESS is no refusal",
        _changed_by_a_refusal,
        _is_refused,
    ),
    _visible(
        "another-generation-is-illegal",
        "A SyncGroup or Heartbeat with another generation than the member's epoch is answered "
        "ILLEGAL_GENERATION.",
        src.KAFKA_MIXED,
        _CLASSIC_MEMBERS,
        _wrong_generation,
        _has_another_generation,
    ),
    _visible(
        "who-must-join-again-is-called",
        "A Heartbeat of a classic member with partitions to give up, and a Heartbeat or SyncGroup "
        "of one with an older epoch than the target, is answered REBALANCE_IN_PROGRESS.",
        src.KAFKA_MIXED,
        _CLASSIC_MEMBERS,
        _uncalled,
        _must_rejoin,
    ),
    _visible(
        "nobody-is-called-for-nothing",
        "A Heartbeat of a classic member that has its target of the group's epoch is answered "
        "NONE.",
        src.KAFKA_MIXED,
        _CLASSIC_MEMBERS,
        _called_for_nothing,
        _has_its_target,
    ),
    _inside(
        "who-owes-a-request-has-a-time-for-it",
        "A classic member that is called has a time to join again, and one that joined a time to "
        "sync; both are its rebalance timeout.",
        src.KAFKA_MIXED,
        _CLASSIC_MEMBERS,
        _untimed,
        _owes,
    ),
    _inside(
        "who-owes-nothing-is-left-alone",
        "A time to join again or to sync runs only for a classic member of a consumer group; a "
        "SyncGroup that is answered NONE ends the time for it.",
        src.KAFKA_MIXED,
        "all groups",
        _owes_nothing,
        _has_owing,
    ),
    _inside(
        "a-debtor-out-of-time-goes",
        "A member whose time to join again or to sync is over is removed.",
        src.KAFKA_MIXED,
        "consumer groups",
        _stays,
        _is_over,
    ),
    _inside(
        "a-classic-member-that-is-heard-stays",
        "A JoinGroup, SyncGroup or Heartbeat that is not refused begins the session anew.",
        src.KAFKA_MIXED,
        "consumer groups",
        _shorter_session,
        lambda view: _heard(view) is not None,
    ),
    run_property(
        PropertyKind.STATE,
        "a-client-of-a-mixed-group-owns-what-is-its",
        "A client's last assignment is its own while it has the epoch of that assignment.",
        src.KIP_MIGRATION,
        "consumer groups; clients whose id is a member's",
        _owns_more,
        lambda view: any(True for _ in _owners(view)),
        proof=_NO_PROOF,
        answers=INSIDE,
    ),
)
"""Those of mixed groups alone."""
MIXED_PROPERTIES: tuple[Property, ...] = (
    *_KEPT_HERE,
    *_MOVES_HERE,
    *_STEPS_HERE,
    *OF_MIXED_ALONE,
    DECIDED,
)
"""All that must hold of mixed groups."""
