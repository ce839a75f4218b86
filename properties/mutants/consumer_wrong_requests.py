"""Mutants of the consumer protocol that answer joins, heartbeats or leaves wrongly."""

from __future__ import annotations

from fencepost.model.consumer.cells import (
    CHANGED,
    EMPTY,
    MEMBER,
    NONE,
    UNCHANGED,
    UNKNOWN,
    when,
)
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.group import SESSION
from fencepost.model.consumer.rules.join import REPLACED
from fencepost.model.consumer.vocabulary import Epoch, Leave, Owned
from fencepost.model.messages.errors import Error
from fencepost.model.table.expr import all_of
from fencepost.model.table.shared_features import Room
from fencepost.properties.mutants.consumer_mutant import (
    PAST,
    RULES,
    afterwards,
    also,
    but,
    consumer_mutant,
    dropped,
    refused,
    with_step,
    without,
)
from fencepost.properties.mutants.mutant import (
    ADDED,
    ANSWER,
    EFFECT,
    GUARD,
    ORDER,
    TIMER,
)

# Joins.

_BUMP, _MAKE = Do.BUMP_EPOCH, Do.RECOMPUTE_TARGET
JOINS = (
    consumer_mutant(
        "join-takes-over",
        "a join displaces a live holder, as in the classic protocol",
        GUARD,
        but("CG-JOIN-UNRELEASED", effect=REPLACED, answer=None),
    ),
    consumer_mutant(
        "unreleased-told-fenced",
        "a newcomer with the instance of a live member hears FENCED_INSTANCE_ID",
        ANSWER,
        but("CG-JOIN-UNRELEASED", answer=Error.FENCED_INSTANCE_ID),
    ),
    consumer_mutant(
        "unreleased-told-unknown",
        "a newcomer with the instance of a live member hears UNKNOWN_MEMBER_ID",
        ANSWER,
        but("CG-JOIN-UNRELEASED", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    consumer_mutant(
        "return-refused",
        "a released instance is refused until the session ends",
        ANSWER,
        refused("CG-JOIN-RETURN", Error.UNRELEASED_INSTANCE_ID),
    ),
    consumer_mutant(
        "return-bumps",
        "each return of a released member raises the epoch",
        ADDED,
        with_step("CG-JOIN-RETURN", _BUMP, _MAKE),
    ),
    consumer_mutant(
        "return-self-bumps",
        "a return under the same id raises the epoch",
        ADDED,
        with_step("CG-JOIN-RETURN-SELF", _BUMP, _MAKE),
    ),
    consumer_mutant(
        "return-self-refused",
        "a released member can't return under its own id",
        ANSWER,
        refused("CG-JOIN-RETURN-SELF", Error.UNRELEASED_INSTANCE_ID),
    ),
    consumer_mutant(
        "return-without-session",
        "no session begins for who returns",
        TIMER,
        without("CG-JOIN-RETURN", Do.RESTART_SESSION),
    ),
    consumer_mutant(
        "return-stays-behind",
        "who returns stays at epoch 0 until its next heartbeat",
        EFFECT,
        without("CG-JOIN-RETURN", Do.RECONCILE),
    ),
    consumer_mutant(
        "static-join-no-epoch",
        "a new static member doesn't raise the epoch",
        EFFECT,
        without("CG-JOIN-STATIC-NEW", _BUMP),
    ),
    consumer_mutant(
        "dynamic-join-no-epoch",
        "a new dynamic member doesn't raise the epoch",
        EFFECT,
        without("CG-JOIN-DYNAMIC-NEW", _BUMP),
    ),
    consumer_mutant(
        "join-without-target",
        "a join makes no target, so it waits for a heartbeat",
        EFFECT,
        without("CG-JOIN-STATIC-NEW", _MAKE),
    ),
    consumer_mutant(
        "join-without-instance",
        "a new static member is added as a dynamic one",
        EFFECT,
        but(
            "CG-JOIN-STATIC-NEW",
            effect=tuple(
                Do.ADD_DYNAMIC if do is Do.ADD_STATIC else do
                for do in RULES["CG-JOIN-STATIC-NEW"].effect
            ),
        ),
    ),
    consumer_mutant(
        "join-without-session",
        "no session begins for a new static member",
        TIMER,
        without("CG-JOIN-STATIC-NEW", Do.RESTART_SESSION),
    ),
    consumer_mutant(
        "dynamic-join-without-session",
        "no session begins for a new dynamic member",
        TIMER,
        without("CG-JOIN-DYNAMIC-NEW", Do.RESTART_SESSION),
    ),
    consumer_mutant(
        "join-stays-behind",
        "a new member stays at epoch 0",
        EFFECT,
        without("CG-JOIN-STATIC-NEW", Do.RECONCILE),
    ),
    consumer_mutant(
        "rejoin-bumps",
        "a member that joins again raises the epoch",
        ADDED,
        with_step("CG-JOIN-REJOIN", _BUMP, _MAKE),
    ),
    consumer_mutant(
        "rejoin-without-session",
        "a member that joins again keeps the end of its session",
        TIMER,
        without("CG-JOIN-REJOIN", Do.RESTART_SESSION),
    ),
    consumer_mutant(
        "resume-bumps",
        "a released member that joins by its id raises the epoch",
        ADDED,
        with_step("CG-JOIN-RESUME", _BUMP, _MAKE),
    ),
    consumer_mutant(
        "resume-without-session",
        "a released member that joins by its id keeps the end of its session",
        TIMER,
        without("CG-JOIN-RESUME", Do.RESTART_SESSION),
    ),
    consumer_mutant(
        "old-entry-stays",
        "the entry of an instance that a member had before stays (KAFKA-20747)",
        PAST,
        without("CG-JOIN-CHANGE-INSTANCE", Do.FREE_INSTANCE),
    ),
    consumer_mutant(
        "copy-leaves-entry",
        "a member that takes a released one's place leaves the entry of its own (KAFKA-20747)",
        PAST,
        without("CG-JOIN-COPY", Do.FREE_INSTANCE),
    ),
    consumer_mutant(
        "new-instance-ignored",
        "a dynamic member brings an instance and stays dynamic",
        EFFECT,
        without("CG-JOIN-BECOME-STATIC", Do.MAP_CALLER),
    ),
    consumer_mutant(
        "size-before-instance",
        "in a full group a released instance is refused (KAFKA-20601)",
        PAST,
        but("CG-JOIN-GROUP-FULL", guard=when(room=Room.FULL, mid=UNKNOWN)),
    ),
    consumer_mutant(
        "size-unchecked",
        "a full group takes newcomers",
        GUARD,
        dropped("CG-JOIN-GROUP-FULL"),
    ),
    consumer_mutant(
        "dead-instance-free",
        "an unmapped instance is refused as another's",
        ANSWER,
        refused("CG-JOIN-STATIC-NEW", Error.UNRELEASED_INSTANCE_ID),
    ),
)

# Heartbeats.

HEARTBEATS = (
    consumer_mutant(
        "heartbeat-keeps-nobody-alive",
        "a heartbeat doesn't begin the session anew",
        TIMER,
        without("CG-BEAT-ALIVE", Do.RESTART_SESSION),
    ),
    consumer_mutant(
        "heartbeat-never-advances",
        "a heartbeat brings no member nearer to its target",
        EFFECT,
        without("CG-BEAT-ALIVE", Do.RECONCILE),
    ),
    consumer_mutant(
        "heartbeat-makes-no-target",
        "a heartbeat makes no target, so what a removed member had stays nobody's",
        EFFECT,
        without("CG-BEAT-ALIVE", _MAKE),
    ),
    consumer_mutant(
        "heartbeat-bumps",
        "each heartbeat raises the epoch",
        ADDED,
        with_step("CG-BEAT-ALIVE", _BUMP, _MAKE),
    ),
    consumer_mutant(
        "subscription-ignored",
        "a new subscription is not noted",
        EFFECT,
        without("CG-BEAT-ALIVE-CHANGED", Do.UPDATE_MEMBER),
    ),
    consumer_mutant(
        "subscription-without-epoch",
        "a new subscription is noted, and not assigned",
        EFFECT,
        without("CG-BEAT-ALIVE-CHANGED", _BUMP),
    ),
    consumer_mutant(
        "newer-epoch-heard",
        "a heartbeat with a newer epoch passes",
        GUARD,
        dropped("CG-BEAT-EPOCH-NEWER"),
        also("CG-BEAT-ALIVE", epoch=Epoch.AFTER, change=UNCHANGED),
        also("CG-BEAT-ALIVE-CHANGED", epoch=Epoch.AFTER, change=CHANGED),
    ),
    consumer_mutant(
        "older-epoch-heard",
        "a heartbeat with an older epoch passes",
        GUARD,
        dropped("CG-BEAT-EPOCH-OLDER"),
        also("CG-BEAT-ALIVE", epoch=Epoch.BEFORE, change=UNCHANGED),
        also("CG-BEAT-ALIVE-CHANGED", epoch=Epoch.BEFORE, change=CHANGED),
    ),
    consumer_mutant(
        "previous-epoch-unchecked",
        "a repeated heartbeat passes whatever it owns",
        GUARD,
        dropped("CG-BEAT-EPOCH-PREVIOUS"),
        also(
            "CG-BEAT-REPEATED",
            epoch=Epoch.PREVIOUS,
            owned=(Owned.NULL, Owned.EXCESS),
            change=UNCHANGED,
        ),
        also(
            "CG-BEAT-REPEATED-CHANGED",
            epoch=Epoch.PREVIOUS,
            owned=(Owned.NULL, Owned.EXCESS),
            change=CHANGED,
        ),
    ),
    consumer_mutant(
        "repeated-heartbeat-fenced",
        "a heartbeat whose answer was lost is fenced",
        ANSWER,
        refused("CG-BEAT-REPEATED", Error.FENCED_MEMBER_EPOCH),
    ),
    consumer_mutant(
        "replaced-told-unknown",
        "a replaced process hears UNKNOWN_MEMBER_ID, and takes its instance back",
        ANSWER,
        but("CG-BEAT-INSTANCE-FENCED", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    consumer_mutant(
        "id-before-instance",
        "the member id is looked up before the instance",
        ORDER,
        but(
            "CG-BEAT-INSTANCE-FENCED",
            guard=all_of(RULES["CG-BEAT-INSTANCE-FENCED"].guard, when(mid=MEMBER)),
        ),
    ),
    consumer_mutant(
        "newer-epoch-told-unknown",
        "a heartbeat with a newer epoch hears UNKNOWN_MEMBER_ID",
        ANSWER,
        but("CG-BEAT-EPOCH-NEWER", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    consumer_mutant(
        "older-epoch-told-stale",
        "a heartbeat with an older epoch hears STALE_MEMBER_EPOCH",
        ANSWER,
        but("CG-BEAT-EPOCH-OLDER", answer=Error.STALE_MEMBER_EPOCH),
    ),
    consumer_mutant(
        "member-fenced",
        "each heartbeat of a member is fenced",
        ANSWER,
        refused("CG-BEAT-ALIVE", Error.FENCED_MEMBER_EPOCH),
    ),
    consumer_mutant(
        "stranger-heard",
        "an unknown id without an instance is answered NONE",
        ANSWER,
        but("CG-BEAT-UNKNOWN-MEMBER", answer=Error.NONE),
    ),
)

# Leaves and removals.

LEAVES = (
    consumer_mutant(
        "bare-release",
        "a release without an instance is taken (KAFKA-16147)",
        PAST,
        but("CG-LEAVE-RELEASE-BARE", guard=when(leave=Leave.RELEASE, inst=NONE, mid=EMPTY)),
        also("CG-LEAVE-RELEASE", leave=Leave.RELEASE, inst=NONE, mid=MEMBER),
    ),
    consumer_mutant(
        "release-removes",
        "a release removes the member",
        EFFECT,
        but("CG-LEAVE-RELEASE", effect=(Do.REMOVE_MEMBER, _BUMP, Do.ANSWER_EPOCH)),
    ),
    consumer_mutant(
        "release-bumps",
        "a release raises the epoch",
        ADDED,
        with_step("CG-LEAVE-RELEASE", _BUMP, Do.ANSWER_EPOCH),
    ),
    consumer_mutant(
        "release-ignored",
        "a release is answered, and the member stays live",
        EFFECT,
        without("CG-LEAVE-RELEASE", Do.RELEASE),
    ),
    consumer_mutant(
        "release-prolongs",
        "a release begins the session anew",
        TIMER,
        twists={Do.RELEASE: afterwards(lambda work: work.set_timer(SESSION, work.caller, 6_000))},
    ),
    consumer_mutant(
        "leave-ignored",
        "-1 is answered, and the member stays",
        EFFECT,
        without("CG-LEAVE-FOR-GOOD", Do.REMOVE_MEMBER, _BUMP),
    ),
    consumer_mutant(
        "leave-no-epoch",
        "-1 doesn't raise the epoch, so what the member had stays nobody's",
        EFFECT,
        without("CG-LEAVE-FOR-GOOD", _BUMP),
    ),
    consumer_mutant(
        "zombie-leave-told-unknown",
        "a replaced process that leaves hears UNKNOWN_MEMBER_ID",
        ANSWER,
        but("CG-LEAVE-INSTANCE-FENCED", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    consumer_mutant(
        "zombie-leave-evicts",
        "a replaced process that leaves removes its successor",
        EFFECT,
        but(
            "CG-LEAVE-INSTANCE-FENCED",
            effect=(Do.REMOVE_HOLDER, _BUMP, Do.ANSWER_EPOCH),
            answer=None,
        ),
    ),
    consumer_mutant(
        "stranger-leaves",
        "a leave under an unknown id is answered NONE",
        ANSWER,
        but("CG-LEAVE-UNKNOWN-MEMBER", answer=None, effect=(Do.ANSWER_EPOCH,)),
    ),
    consumer_mutant(
        "removal-no-epoch",
        "an administrator's removal doesn't raise the epoch",
        EFFECT,
        without("CG-REMOVE-BY-INSTANCE", _BUMP),
    ),
    consumer_mutant(
        "removal-ignored",
        "an administrator's removal is answered, and the member stays",
        EFFECT,
        but("CG-REMOVE-BY-INSTANCE", effect=()),
    ),
)
