"""State what a step of the consumer protocol must do, and must not, where no formula says it.

Subscriptions, the end of sessions, what a return finds, times to revoke.
"""

from __future__ import annotations

from fencepost.model.consumer.group import REBALANCE, SESSION, Member, Phase
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.messages.errors import Error
from fencepost.properties.claims.consumer_invariants import ALL_STEPS, inside, visible
from fencepost.properties.claims.consumer_views import (
    caller_id,
    compared,
    error,
    group_after,
    group_before,
    has_same_wishes,
    heartbeat,
    is_beat,
    is_join,
    is_release,
    welcomed,
    words_of,
)
from fencepost.properties.logic.logic import Property
from fencepost.properties.worlds.views import Failover, StepView

# Epochs.


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


def _is_failover(view: StepView) -> bool:
    return isinstance(view.event, Failover) and view.before is not None


def _time_begun_by_failover(view: StepView) -> str | None:
    before = {t.subject for t in group_before(view).timers if t.kind == REBALANCE}
    for timer in group_after(view).timers:
        if timer.kind == REBALANCE and timer.subject not in before:
            return f"a failover begins a time to revoke for {timer.subject}, which had none"
    return None


CONSUMER_STEPS: tuple[Property, ...] = (
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
)
