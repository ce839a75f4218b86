"""State what a step of the consumer protocol must do, and must not.

Who may go, what a release keeps, what raises an epoch, what a failover loses.
"""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.consumer.group import REBALANCE, RELEASED_EPOCH, SESSION, Member, Phase
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import LeaveGroupResponse
from fencepost.model.work import Timer
from fencepost.properties.claims.consumer_invariants import ALL_STEPS, inside, visible
from fencepost.properties.claims.consumer_views import (
    caller_id,
    came,
    compared,
    error,
    gone,
    group_after,
    group_before,
    has_same_wishes,
    heartbeat,
    holder_before,
    is_beat,
    is_join,
    is_leave_of,
    is_named_by_administrator,
    is_release,
    is_timer_of,
    meets_live_holder,
    owned_by_caller,
    partitions,
    replaces,
    welcomed,
    words_of,
)
from fencepost.properties.logic.logic import Property
from fencepost.properties.worlds.views import Failover, StepView

# Who goes, and what becomes of partitions.


def _taken_away(view: StepView) -> str | None:
    after = group_after(view)
    request, owned = heartbeat(view), owned_by_caller(view)
    for member in group_before(view).members:
        now = after.member(member.member_id)
        if now is None:
            continue
        for partition in sorted(partitions(member) - partitions(now)):
            is_its_own = request is not None and request.member_id == member.member_id
            if is_its_own and (now.is_released or (owned is not None and partition not in owned)):
                continue
            taken = f"{words_of(partition)} was taken from {member.member_id}"
            return f"{taken}, which has not given it up"
    return None


def _owners_change(view: StepView) -> bool:
    after = group_after(view)
    return any(
        (now := after.member(m.member_id)) is not None and partitions(m) - partitions(now)
        for m in group_before(view).members
    )


def _went_without_a_cause(view: StepView) -> str | None:
    for member in gone(view):
        is_caused = (
            is_leave_of(view, member)
            or is_timer_of(view, member)
            or is_named_by_administrator(view, member)
            or replaces(view, member)
        )
        if not is_caused:
            return f"{member.member_id} was removed, and nobody named it and no time was over"
    return None


def _displaced(view: StepView) -> str | None:
    request, after, holder = heartbeat(view), group_after(view), holder_before(view)
    assert request is not None
    if holder is None or holder.is_released or holder.member_id == request.member_id:
        return None
    now = after.member(holder.member_id)
    if now is None or now.is_released or after.holder(request.instance_id or "") != now.member_id:
        return f"{holder.member_id} was live and had instance {request.instance_id}; it lost it"
    return None


def _stayed_after_its_time(view: StepView) -> str | None:
    assert isinstance(view.event, Timer)
    member = group_after(view).member(view.event.subject)
    if member is None:
        return None
    return f"the {view.event.kind} timeout of {member.member_id} is over, and it is still a member"


def _is_end_of_time(view: StepView) -> bool:
    return isinstance(view.event, Timer) and view.event.kind in {SESSION, REBALANCE}


def _without_effect(view: StepView) -> str | None:
    request = heartbeat(view)
    assert request is not None
    member = group_after(view).member(request.member_id)
    if request.member_epoch == RELEASED_EPOCH:
        if member is None or not member.is_released:
            return f"{request.member_id} left for a while, and is not released"
    elif member is not None:
        return f"{request.member_id} left for good, and is still a member"
    return None


def _is_accepted_leave(view: StepView) -> bool:
    request = heartbeat(view)
    return request is not None and request.member_epoch < 0 and error(view) is Error.NONE


# Epochs.


def _no_new_epoch(view: StepView) -> str | None:
    before, after = group_before(view), group_after(view)
    if after.epoch > before.epoch or view.after is None:
        return None
    names = [m.member_id for m in (*gone(view), *came(view))]
    return f"the group's epoch stays {before.epoch}, though members changed: {', '.join(names)}"


def _members_change(view: StepView) -> bool:
    if any(replaces(view, member) for member in group_before(view).members):
        return False
    return any(True for _ in gone(view)) or any(True for _ in came(view))


def _fallen_epoch(view: StepView) -> str | None:
    before, after = group_before(view), group_after(view)
    if view.after is not None and after.epoch < before.epoch:
        return f"the group's epoch fell from {before.epoch} to {after.epoch}"
    if view.after is not None and after.target_epoch < before.target_epoch:
        return f"the target's epoch fell from {before.target_epoch} to {after.target_epoch}"
    return None


def _cost_of_a_return(view: StepView) -> str | None:
    before, after = group_before(view), group_after(view)
    if after.epoch == before.epoch:
        return None
    return f"the group's epoch grew from {before.epoch} to {after.epoch}"


def _goes_or_returns_unchanged(view: StepView) -> bool:
    """Return True for a release, and for a return with the subscription from before."""
    if is_release(view):
        return True
    member = _released_before(view)
    return member is not None and has_same_wishes(view, member)


def _released_before(view: StepView) -> Member | None:
    """Return the released member in whose place the caller is after a join with the answer NONE."""
    member = compared(view)
    if member is None or not is_join(view) or error(view) is not Error.NONE:
        return None
    return member if member.is_released else None


def _needless_epoch(view: StepView) -> str | None:
    member = compared(view)
    assert member is not None
    before, after = group_before(view), group_after(view)
    if after.epoch == before.epoch:
        return None
    return f"{member.member_id} asks for nothing new, and the group's epoch grew to {after.epoch}"


def _asks_for_nothing_new(view: StepView) -> bool:
    member = compared(view)
    if member is None or member.is_released or error(view) is not Error.NONE:
        return False
    return (is_join(view) or is_beat(view)) and has_same_wishes(view, member)


def _ignored_wish(view: StepView) -> str | None:
    member, now = compared(view), welcomed(view)
    request = heartbeat(view)
    assert member is not None
    assert request is not None
    if now is None:
        return None
    names = request.subscribed_topic_names
    if names is not None and now.topics != tuple(sorted(set(names))):
        return f"{now.member_id} subscribes to {', '.join(names)}, and the group doesn't know"
    if group_after(view).epoch == group_before(view).epoch:
        return f"{now.member_id} changed its subscription, and the group's epoch stays"
    return None


def _changes_its_wish(view: StepView) -> bool:
    member, request = compared(view), heartbeat(view)
    if member is None or request is None or welcomed(view) is None:
        return False
    names = request.subscribed_topic_names
    return names is not None and tuple(sorted(set(names))) != member.topics


# Release and return.


def _lost_while_released(view: StepView) -> str | None:
    after = group_after(view)
    for member in group_before(view).members:
        now = after.member(member.member_id)
        if now is None or not now.is_released:
            continue
        if now.partitions() != member.partitions():
            return f"{member.member_id} is released, and its assignment changed"
        if now.revoking:
            return f"{member.member_id} is released, and still has partitions to give up"
    return None


def _somebody_is_released(view: StepView) -> bool:
    return any(m.is_released for m in group_after(view).members)


def _prolonged(view: StepView) -> str | None:
    request = heartbeat(view)
    assert request is not None
    before = group_before(view).timer(SESSION, request.member_id)
    after = group_after(view).timer(SESSION, request.member_id)
    if before == after:
        return None
    return f"the session of {request.member_id} ends at another time than before its release"


def _other_partitions(view: StepView) -> str | None:
    before, now = compared(view), welcomed(view)
    assert before is not None
    if now is None:
        return None
    target = group_after(view).target_of(now.member_id)
    expected = tuple(p for p in before.partitions() if p in target)
    lost = [p for p in expected if p not in now.partitions()]
    if lost:
        return f"{now.member_id} returned, and {words_of(lost[0])} is not its own"
    if now.epoch != group_after(view).target_epoch:
        return f"{now.member_id} returned, and its epoch is {now.epoch}, not the target's"
    return None


def _returns(view: StepView) -> bool:
    member, request = _released_before(view), heartbeat(view)
    if member is None or request is None or request.instance_id != member.instance_id:
        return False
    return group_before(view).member(caller_id(view)) in {None, member}


def _hurried(view: StepView) -> str | None:
    before, after = group_before(view), group_after(view)
    for timer in after.timers:
        member, was = after.member(timer.subject), before.member(timer.subject)
        if timer.kind != REBALANCE or (member is not None and member.revoking):
            continue
        if timer in before.timers and was is not None and not was.revoking:
            continue  # it is from before this step
        return f"a rebalance timer runs for {timer.subject}, which has nothing to give up"
    return None


def _is_hurried(view: StepView) -> bool:
    """Return True if a rebalance timer runs, but for those that a failover began."""
    return not isinstance(view.event, Failover) and any(
        timer.kind == REBALANCE for timer in group_after(view).timers
    )


def _lost_by_failover(view: StepView) -> str | None:
    before, after = group_before(view), group_after(view)
    if view.after is None:
        return "the group is gone after a failover"
    if replace(before, timers=()) != replace(after, timers=()):
        return "the group is another one after a failover"
    return None


def _is_failover(view: StepView) -> bool:
    return isinstance(view.event, Failover) and view.before is not None


def _time_begun_by_failover(view: StepView) -> str | None:
    before = {t.subject for t in group_before(view).timers if t.kind == REBALANCE}
    for timer in group_after(view).timers:
        if timer.kind == REBALANCE and timer.subject not in before:
            return f"a failover begins a time to revoke for {timer.subject}, which had none"
    return None


def _stayed_though_named(view: StepView) -> str | None:
    for member in _named(view):
        if group_after(view).member(member.member_id) is not None:
            return f"an administrator removed {member.member_id}, and it is still a member"
    return None


def _named(view: StepView) -> list[Member]:
    """Return the members that an administrator names in a removal that is answered NONE."""
    answer = view.own_answer
    if not isinstance(answer, LeaveGroupResponse):
        return []
    if any(row.error_code != Error.NONE.value for row in answer.members):
        return []
    return [m for m in group_before(view).members if is_named_by_administrator(view, m)]


CONSUMER_STEPS: tuple[Property, ...] = (
    inside(
        "a-partition-is-handed-on-when-it-is-free",
        "A partition leaves its owner only when that says so, is released, is replaced or goes.",
        src.KIP_HEARTBEAT,
        "owners that stay members; those that go take nothing with them",
        _taken_away,
        _owners_change,
    ),
    inside(
        "a-member-goes-for-a-cause",
        "A member goes only by its own leave, by its timers, by an administrator, or replaced "
        "after its release.",
        src.KIP_TIMERS,
        ALL_STEPS,
        _went_without_a_cause,
        lambda view: any(True for _ in gone(view)),
    ),
    inside(
        "a-join-displaces-no-live-holder",
        "A join with the instance of a live member takes nothing from that member.",
        src.KIP_STATIC,
        "joins by ConsumerGroupHeartbeat",
        _displaced,
        meets_live_holder,
    ),
    inside(
        "who-is-out-of-time-goes",
        "A member whose session or time to revoke is over is removed.",
        src.KIP_TIMERS,
        ALL_STEPS,
        _stayed_after_its_time,
        _is_end_of_time,
    ),
    inside(
        "a-heartbeat-leave-takes-effect",
        "After -1 that is answered NONE the sender is no member; after -2 it is released.",
        src.KIP_LEAVE,
        ALL_STEPS,
        _without_effect,
        _is_accepted_leave,
    ),
    inside(
        "who-comes-or-goes-raises-the-epoch",
        "The group's epoch grows when a member comes or goes, but for a replacement.",
        src.KIP_HEARTBEAT,
        ALL_STEPS,
        _no_new_epoch,
        _members_change,
    ),
    inside(
        "group-epochs-never-fall",
        "The epochs of the group and of its target never fall.",
        src.KIP_HEARTBEAT,
        ALL_STEPS,
        _fallen_epoch,
        lambda view: view.before is not None,
    ),
    visible(
        "a-restart-costs-no-epoch",
        "A release, and a return with the subscription from before, leave the group's epoch.",
        src.KIP_LEAVE,
        "returns that ask for no other assignor",
        _cost_of_a_return,
        _goes_or_returns_unchanged,
    ),
    visible(
        "an-epoch-has-a-cause",
        "A member that asks for nothing new leaves the group's epoch.",
        src.KIP_HEARTBEAT,
        "heartbeats and joins of members",
        _needless_epoch,
        _asks_for_nothing_new,
    ),
    inside(
        "a-new-subscription-is-assigned",
        "A member's new subscription is known, and the group's epoch grows.",
        src.KIP_HEARTBEAT,
        "subscriptions by names",
        _ignored_wish,
        _changes_its_wish,
    ),
    inside(
        "a-release-keeps-the-assignment",
        "A released member keeps what it is assigned, and gives up what it had to give up.",
        src.KIP_LEAVE,
        "until it returns or goes",
        _lost_while_released,
        _somebody_is_released,
    ),
    inside(
        "a-release-prolongs-nothing",
        "A release leaves the end of the session as it was.",
        src.KIP_TIMERS,
        ALL_STEPS,
        _prolonged,
        is_release,
    ),
    inside(
        "a-return-finds-its-place",
        "A member that returns has at once the target's epoch and, of its assignment, all that the "
        "target still gives to it.",
        src.KIP_STATIC,
        "returns with the released instance, under the same id or a new one",
        _other_partitions,
        _returns,
    ),
    inside(
        "nobody-is-hurried-for-nothing",
        "A rebalance timer runs only for a member with partitions to give up.",
        src.KIP_TIMERS,
        "without failovers, which have a property of their own",
        _hurried,
        _is_hurried,
    ),
    inside(
        "a-failover-keeps-the-group",
        "A failover leaves the group as it was, but for its timers.",
        src.KAFKA_FAILOVER,
        "groups without classic members",
        _lost_by_failover,
        _is_failover,
    ),
    inside(
        "a-failover-hurries-nobody",
        "A failover begins no time to revoke for a member that had none.",
        src.KAFKA_20641,
        ALL_STEPS,
        _time_begun_by_failover,
        lambda view: (
            _is_failover(view)
            and any(m.phase is Phase.UNREVOKED for m in group_before(view).members)
        ),
    ),
    inside(
        "who-is-named-for-removal-goes",
        "A member that an administrator removes, with the answer NONE, is removed.",
        src.KAFKA_REMOVAL,
        "LeaveGroup without errors",
        _stayed_though_named,
        lambda view: bool(_named(view)),
    ),
)
