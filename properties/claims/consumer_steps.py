"""State what a step of the consumer protocol must do, and must not, where no formula says it.

Causes of an epoch, subscriptions, the end of a session.
"""

from __future__ import annotations

from fencepost.model.consumer.group import SESSION
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.messages.errors import Error
from fencepost.properties.claims.consumer_invariants import ALL_STEPS, inside, visible
from fencepost.properties.claims.consumer_views import (
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
)
from fencepost.properties.logic.logic import Property
from fencepost.properties.worlds.views import StepView

# Epochs.


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
)
