"""Break the consumer protocol on purpose, each mutant in one thing.

They are `consumer-4.4` with a difference: bugs of earlier releases, and systematic changes of
guards, answers and effects.  `CONSUMER_BREAKS` has the property that each violates first, as
measured; a mutant that isn't listed breaks none, and only comparison tells it from the right model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace as with_fields
from enum import Enum

from msgspec.structs import replace

from fencepost.model.consumer.cells import (
    MEMBER,
    NONE,
    OTHER,
    UNCHANGED,
    UNKNOWN,
    when,
)
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.group import REBALANCE, SESSION, ConsumerGroup, Phase
from fencepost.model.consumer.rules.join import REPLACED
from fencepost.model.consumer.vocabulary import Epoch, Leave, Owned
from fencepost.model.messages.consumer_messages import ConsumerGroupHeartbeatResponse
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Difference, DropRule, SetRule, Twist
from fencepost.model.revisions.consumer_releases import CONSUMER_4_4
from fencepost.model.table.expr import all_of, any_of
from fencepost.model.table.shared_features import Room
from fencepost.model.work import Effect
from fencepost.properties.mutants.mutant import (
    ADDED,
    ANSWER,
    EFFECT,
    GUARD,
    ORDER,
    REPLACE,
    TIMER,
    Mutant,
)

_RULES = {rule.id: rule for _, rule in CONSUMER_4_4.rules()}
_TABLES = {rule.id: table.name for table, rule in CONSUMER_4_4.rules()}
_WRONG = "broken on purpose"
_PAST = "a bug of an earlier release"


def _mutant(
    name: str,
    about: str,
    source: str,
    *differences: Difference,
    twists: Mapping[Enum, Twist] | None = None,
) -> Mutant:
    return Mutant(
        f"cg-{name}",
        about,
        source,
        differences=differences,
        twists=twists or {},
        base=CONSUMER_4_4,
    )


def _but(rule_id: str, **changes: object) -> SetRule:
    return SetRule(_TABLES[rule_id], _RULES[rule_id].but(**changes), _WRONG)


def _without(rule_id: str, *steps: Do) -> SetRule:
    return _but(rule_id, effect=tuple(do for do in _RULES[rule_id].effect if do not in steps))


def _with(rule_id: str, step: Do, before: Do) -> SetRule:
    """Return a rule with a step more, before another one."""
    effect: list[Enum] = []
    for do in _RULES[rule_id].effect:
        effect += [step, do] if do is before else [do]
    return _but(rule_id, effect=tuple(effect))


def _refused(rule_id: str, answer: Error) -> SetRule:
    return _but(rule_id, effect=(), answer=answer)


def _dropped(rule_id: str) -> DropRule:
    return DropRule(_TABLES[rule_id], rule_id, _WRONG)


def _also(rule_id: str, **cells: object) -> SetRule:
    """Return a rule that holds where these cells do, too."""
    return _but(rule_id, guard=any_of(_RULES[rule_id].guard, when(**cells)))  # type: ignore[arg-type]


def _afterwards(change: Callable[[ConsumerWork], None]) -> Twist:
    """Make the twist that changes the work after a step, in each of its outcomes."""

    def twist(effect: Effect) -> Effect:
        def twisted(work: ConsumerWork) -> list[ConsumerWork] | None:
            works = effect(work)
            for done in [work] if works is None else works:
                change(done)
            return works

        return twisted

    return twist


def _of_caller(**fields: object) -> Twist:
    """Make the twist that sets fields of the caller after a step."""

    def change(work: ConsumerWork) -> None:
        member = work.group.member(work.caller)
        if member is not None:
            work.group = work.group.with_member(replace(member, **fields))

    return _afterwards(change)


# Joins.

_BUMP, _MAKE = Do.BUMP_EPOCH, Do.RECOMPUTE_TARGET
JOINS = (
    _mutant(
        "join-takes-over",
        "a join displaces a live holder, as in the classic protocol",
        GUARD,
        _but("CG-JOIN-UNRELEASED", effect=REPLACED, answer=None),
    ),
    _mutant(
        "unreleased-told-fenced",
        "a newcomer with the instance of a live member hears FENCED_INSTANCE_ID",
        ANSWER,
        _but("CG-JOIN-UNRELEASED", answer=Error.FENCED_INSTANCE_ID),
    ),
    _mutant(
        "unreleased-told-unknown",
        "a newcomer with the instance of a live member hears UNKNOWN_MEMBER_ID",
        ANSWER,
        _but("CG-JOIN-UNRELEASED", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    _mutant(
        "return-refused",
        "a released instance is refused until the session ends",
        ANSWER,
        _refused("CG-JOIN-RETURN", Error.UNRELEASED_INSTANCE_ID),
    ),
    _mutant(
        "return-bumps",
        "each return of a released member raises the epoch",
        ADDED,
        _with("CG-JOIN-RETURN", _BUMP, _MAKE),
    ),
    _mutant(
        "return-self-bumps",
        "a return under the same id raises the epoch",
        ADDED,
        _with("CG-JOIN-RETURN-SELF", _BUMP, _MAKE),
    ),
    _mutant(
        "return-self-refused",
        "a released member can't return under its own id",
        ANSWER,
        _refused("CG-JOIN-RETURN-SELF", Error.UNRELEASED_INSTANCE_ID),
    ),
    _mutant(
        "return-without-session",
        "no session begins for who returns",
        TIMER,
        _without("CG-JOIN-RETURN", Do.RESTART_SESSION),
    ),
    _mutant(
        "return-stays-behind",
        "who returns stays at epoch 0 until its next heartbeat",
        EFFECT,
        _without("CG-JOIN-RETURN", Do.RECONCILE),
    ),
    _mutant(
        "static-join-no-epoch",
        "a new static member doesn't raise the epoch",
        EFFECT,
        _without("CG-JOIN-STATIC-NEW", _BUMP),
    ),
    _mutant(
        "dynamic-join-no-epoch",
        "a new dynamic member doesn't raise the epoch",
        EFFECT,
        _without("CG-JOIN-DYNAMIC-NEW", _BUMP),
    ),
    _mutant(
        "join-without-target",
        "a join makes no target, so it waits for a heartbeat",
        EFFECT,
        _without("CG-JOIN-STATIC-NEW", _MAKE),
    ),
    _mutant(
        "join-without-instance",
        "a new static member is added as a dynamic one",
        EFFECT,
        _but(
            "CG-JOIN-STATIC-NEW",
            effect=tuple(
                Do.ADD_DYNAMIC if do is Do.ADD_STATIC else do
                for do in _RULES["CG-JOIN-STATIC-NEW"].effect
            ),
        ),
    ),
    _mutant(
        "join-without-session",
        "no session begins for a new static member",
        TIMER,
        _without("CG-JOIN-STATIC-NEW", Do.RESTART_SESSION),
    ),
    _mutant(
        "dynamic-join-without-session",
        "no session begins for a new dynamic member",
        TIMER,
        _without("CG-JOIN-DYNAMIC-NEW", Do.RESTART_SESSION),
    ),
    _mutant(
        "join-stays-behind",
        "a new member stays at epoch 0",
        EFFECT,
        _without("CG-JOIN-STATIC-NEW", Do.RECONCILE),
    ),
    _mutant(
        "rejoin-bumps",
        "a member that joins again raises the epoch",
        ADDED,
        _with("CG-JOIN-REJOIN", _BUMP, _MAKE),
    ),
    _mutant(
        "rejoin-without-session",
        "a member that joins again keeps the end of its session",
        TIMER,
        _without("CG-JOIN-REJOIN", Do.RESTART_SESSION),
    ),
    _mutant(
        "resume-bumps",
        "a released member that joins by its id raises the epoch",
        ADDED,
        _with("CG-JOIN-RESUME", _BUMP, _MAKE),
    ),
    _mutant(
        "resume-without-session",
        "a released member that joins by its id keeps the end of its session",
        TIMER,
        _without("CG-JOIN-RESUME", Do.RESTART_SESSION),
    ),
    _mutant(
        "old-entry-stays",
        "the entry of an instance that a member had before stays (KAFKA-20747)",
        _PAST,
        _without("CG-JOIN-CHANGE-INSTANCE", Do.FREE_INSTANCE),
    ),
    _mutant(
        "copy-leaves-entry",
        "a member that takes a released one's place leaves the entry of its own (KAFKA-20747)",
        _PAST,
        _without("CG-JOIN-COPY", Do.FREE_INSTANCE),
    ),
    _mutant(
        "new-instance-ignored",
        "a dynamic member brings an instance and stays dynamic",
        EFFECT,
        _without("CG-JOIN-BECOME-STATIC", Do.MAP_CALLER),
    ),
    _mutant(
        "size-before-instance",
        "in a full group a released instance is refused (KAFKA-20601)",
        _PAST,
        _but("CG-JOIN-GROUP-FULL", guard=when(room=Room.FULL, mid=UNKNOWN)),
    ),
    _mutant(
        "size-unchecked",
        "a full group takes newcomers",
        GUARD,
        _dropped("CG-JOIN-GROUP-FULL"),
    ),
    _mutant(
        "dead-instance-free",
        "an unmapped instance is refused as another's",
        ANSWER,
        _refused("CG-JOIN-STATIC-NEW", Error.UNRELEASED_INSTANCE_ID),
    ),
)

# Heartbeats.

HEARTBEATS = (
    _mutant(
        "heartbeat-keeps-nobody-alive",
        "a heartbeat doesn't begin the session anew",
        TIMER,
        _without("CG-BEAT-ALIVE", Do.RESTART_SESSION),
    ),
    _mutant(
        "heartbeat-never-advances",
        "a heartbeat brings no member nearer to its target",
        EFFECT,
        _without("CG-BEAT-ALIVE", Do.RECONCILE),
    ),
    _mutant(
        "heartbeat-makes-no-target",
        "a heartbeat makes no target, so what a removed member had stays nobody's",
        EFFECT,
        _without("CG-BEAT-ALIVE", _MAKE),
    ),
    _mutant(
        "heartbeat-bumps",
        "each heartbeat raises the epoch",
        ADDED,
        _with("CG-BEAT-ALIVE", _BUMP, _MAKE),
    ),
    _mutant(
        "subscription-ignored",
        "a new subscription is not noted",
        EFFECT,
        _without("CG-BEAT-ALIVE-CHANGED", Do.UPDATE_MEMBER),
    ),
    _mutant(
        "subscription-without-epoch",
        "a new subscription is noted, and not assigned",
        EFFECT,
        _without("CG-BEAT-ALIVE-CHANGED", _BUMP),
    ),
    _mutant(
        "newer-epoch-heard",
        "a heartbeat with a newer epoch passes",
        GUARD,
        _dropped("CG-BEAT-EPOCH-NEWER"),
        _also("CG-BEAT-ALIVE", epoch=Epoch.AFTER, change=UNCHANGED),
    ),
    _mutant(
        "older-epoch-heard",
        "a heartbeat with an older epoch passes",
        GUARD,
        _dropped("CG-BEAT-EPOCH-OLDER"),
        _also("CG-BEAT-ALIVE", epoch=Epoch.BEFORE, change=UNCHANGED),
    ),
    _mutant(
        "previous-epoch-unchecked",
        "a repeated heartbeat passes whatever it owns",
        GUARD,
        _dropped("CG-BEAT-EPOCH-PREVIOUS"),
        _also(
            "CG-BEAT-REPEATED",
            epoch=Epoch.PREVIOUS,
            owned=(Owned.NULL, Owned.EXCESS),
            change=UNCHANGED,
        ),
    ),
    _mutant(
        "repeated-heartbeat-fenced",
        "a heartbeat whose answer was lost is fenced",
        ANSWER,
        _refused("CG-BEAT-REPEATED", Error.FENCED_MEMBER_EPOCH),
    ),
    _mutant(
        "replaced-told-unknown",
        "a replaced process hears UNKNOWN_MEMBER_ID, and takes its instance back",
        ANSWER,
        _but("CG-BEAT-INSTANCE-FENCED", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    _mutant(
        "id-before-instance",
        "the member id is looked up before the instance",
        ORDER,
        _but(
            "CG-BEAT-INSTANCE-FENCED",
            guard=all_of(_RULES["CG-BEAT-INSTANCE-FENCED"].guard, when(mid=MEMBER)),
        ),
    ),
    _mutant(
        "newer-epoch-told-unknown",
        "a heartbeat with a newer epoch hears UNKNOWN_MEMBER_ID",
        ANSWER,
        _but("CG-BEAT-EPOCH-NEWER", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    _mutant(
        "older-epoch-told-stale",
        "a heartbeat with an older epoch hears STALE_MEMBER_EPOCH",
        ANSWER,
        _but("CG-BEAT-EPOCH-OLDER", answer=Error.STALE_MEMBER_EPOCH),
    ),
    _mutant(
        "member-fenced",
        "each heartbeat of a member is fenced",
        ANSWER,
        _refused("CG-BEAT-ALIVE", Error.FENCED_MEMBER_EPOCH),
    ),
    _mutant(
        "stranger-heard",
        "an unknown id without an instance is answered NONE",
        ANSWER,
        _but("CG-BEAT-UNKNOWN-MEMBER", answer=Error.NONE),
    ),
)

# Leaves and removals.

LEAVES = (
    _mutant(
        "bare-release",
        "a release without an instance is taken (KAFKA-16147)",
        _PAST,
        _dropped("CG-LEAVE-RELEASE-BARE"),
        _also("CG-LEAVE-RELEASE", leave=Leave.RELEASE, inst=NONE, mid=MEMBER),
    ),
    _mutant(
        "release-removes",
        "a release removes the member",
        EFFECT,
        _but("CG-LEAVE-RELEASE", effect=(Do.REMOVE_MEMBER, _BUMP, Do.ANSWER_EPOCH)),
    ),
    _mutant(
        "release-bumps",
        "a release raises the epoch",
        ADDED,
        _with("CG-LEAVE-RELEASE", _BUMP, Do.ANSWER_EPOCH),
    ),
    _mutant(
        "release-ignored",
        "a release is answered, and the member stays live",
        EFFECT,
        _without("CG-LEAVE-RELEASE", Do.RELEASE),
    ),
    _mutant(
        "release-prolongs",
        "a release begins the session anew",
        TIMER,
        twists={Do.RELEASE: _afterwards(lambda work: work.set_timer(SESSION, work.caller, 6_000))},
    ),
    _mutant(
        "leave-ignored",
        "-1 is answered, and the member stays",
        EFFECT,
        _without("CG-LEAVE-FOR-GOOD", Do.REMOVE_MEMBER, _BUMP),
    ),
    _mutant(
        "leave-no-epoch",
        "-1 doesn't raise the epoch, so what the member had stays nobody's",
        EFFECT,
        _without("CG-LEAVE-FOR-GOOD", _BUMP),
    ),
    _mutant(
        "zombie-leave-told-unknown",
        "a replaced process that leaves hears UNKNOWN_MEMBER_ID",
        ANSWER,
        _but("CG-LEAVE-INSTANCE-FENCED", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    _mutant(
        "zombie-leave-evicts",
        "a replaced process that leaves removes its successor",
        EFFECT,
        _but(
            "CG-LEAVE-INSTANCE-FENCED",
            guard=when(inst=OTHER, leave=Leave.FOR_GOOD),
            effect=(Do.REMOVE_HOLDER, _BUMP, Do.ANSWER_EPOCH),
            answer=None,
        ),
    ),
    _mutant(
        "stranger-leaves",
        "a leave under an unknown id is answered NONE",
        ANSWER,
        _but("CG-LEAVE-UNKNOWN-MEMBER", answer=None, effect=(Do.ANSWER_EPOCH,)),
    ),
    _mutant(
        "removal-no-epoch",
        "an administrator's removal doesn't raise the epoch",
        EFFECT,
        _without("CG-REMOVE-BY-INSTANCE", _BUMP),
    ),
    _mutant(
        "removal-ignored",
        "an administrator's removal is answered, and the member stays",
        EFFECT,
        _but("CG-REMOVE-BY-INSTANCE", effect=()),
    ),
)


def _change(work: ConsumerWork, **fields: object) -> None:
    work.group = replace(work.group, **fields)


def _drop_released(work: ConsumerWork) -> None:
    for member in work.group.members:
        if member.is_released:
            work.group = work.group.without_member(member.member_id)


# Timers and failover.

TIMERS = (
    _mutant(
        "silent-member-stays",
        "a silent member stays for ever",
        EFFECT,
        _but("CG-SESSION-EXPIRED", effect=()),
    ),
    _mutant(
        "expiry-no-epoch",
        "the end of a session doesn't raise the epoch",
        EFFECT,
        _without("CG-SESSION-EXPIRED", _BUMP),
    ),
    _mutant(
        "released-member-stays",
        "a released member stays for ever",
        EFFECT,
        _but("CG-SESSION-EXPIRED-RELEASED", effect=()),
    ),
    _mutant(
        "released-expiry-no-epoch",
        "the end of a released member's session doesn't raise the epoch",
        EFFECT,
        _without("CG-SESSION-EXPIRED-RELEASED", _BUMP),
    ),
    _mutant(
        "slow-revocation-stays",
        "a member that never gives up its partitions stays",
        EFFECT,
        _but("CG-REBALANCE-EXPIRED", effect=()),
    ),
    _mutant(
        "failover-forgets-group",
        "a failover loses the group",
        EFFECT,
        _but("CG-FAILOVER-GROUP", effect=(Do.FORGET,)),
    ),
    _mutant(
        "failover-forgets-released",
        "a failover loses released members",
        EFFECT,
        twists={Do.RELOAD: _afterwards(_drop_released)},
    ),
    _mutant(
        "failover-forgets-map",
        "a failover loses the instances",
        EFFECT,
        twists={Do.RELOAD: _afterwards(lambda work: _change(work, static=()))},
    ),
    _mutant(
        "failover-forgets-sessions",
        "after a failover no session runs",
        TIMER,
        twists={Do.RELOAD: _afterwards(lambda work: _change(work, timers=()))},
    ),
    _mutant(
        "long-session",
        "a session lasts twice as long",
        TIMER,
        twists={
            Do.RESTART_SESSION: _afterwards(
                lambda work: work.set_timer(SESSION, work.caller, 12_000)
            )
        },
    ),
)

# Targets, assignments and replacements.


def _lose_a_partition(work: ConsumerWork) -> None:
    if work.has_new_target and work.group.target:
        member_id, partitions = work.group.target[0]
        work.group = work.group.with_target(member_id, partitions[1:])


def _share_a_partition(work: ConsumerWork) -> None:
    group = work.group
    if work.has_new_target and group.target:
        _, partitions = group.target[0]
        for member in group.members:
            own = group.target_of(member.member_id)
            shared = tuple(sorted({*own, partitions[0]}))
            work.group = work.group.with_target(member.member_id, shared)


def _take_all(work: ConsumerWork) -> None:
    """Assign the whole target at once, whoever has it."""
    group, member = work.group, work.group.member(work.caller)
    if member is not None and member.epoch == group.target_epoch:
        all_of_it = tuple((p, group.target_epoch) for p in group.target_of(work.caller))
        work.group = group.with_member(
            replace(member, assigned=all_of_it, phase=Phase.STABLE, revoking=())
        )


def _give_up_at_once(work: ConsumerWork) -> None:
    member = work.group.member(work.caller)
    if member is not None and member.revoking:
        changed = replace(member, revoking=(), phase=Phase.STABLE)
        work.group = work.group.with_member(changed).without_timer(REBALANCE, work.caller)


def _hurry_nobody(work: ConsumerWork) -> None:
    work.group = work.group.without_timer(REBALANCE, work.caller)


def _pending_kept(effect: Effect) -> Effect:
    def twisted(work: ConsumerWork) -> None:
        member = work.group.member(work.caller)
        effect(work)
        now = work.group.member(work.caller)
        if member is not None and now is not None:
            work.group = work.group.with_member(replace(now, revoking=member.revoking))

    return twisted


def _timer_kept(effect: Effect) -> Effect:
    def twisted(work: ConsumerWork) -> None:
        timer = work.group.timer(REBALANCE, work.caller)
        effect(work)
        if timer is not None:
            work.group = work.group.with_timer(*timer)

    return twisted


def _holder_kept(effect: Effect) -> Effect:
    def twisted(work: ConsumerWork) -> None:
        before: ConsumerGroup = work.group
        old = before.member(before.holder(work.instance or "") or "")
        effect(work)
        if old is not None and old.member_id != work.caller:
            work.group = work.group.with_member(old)

    return twisted


def _mapping_kept(effect: Effect) -> Effect:
    def twisted(work: ConsumerWork) -> None:
        before: ConsumerGroup = work.group
        effect(work)
        for instance, member_id in before.static:
            if work.group.holder(instance) is None:
                work.group = work.group.with_mapping(instance, member_id)

    return twisted


def _target_kept(effect: Effect) -> Effect:
    def twisted(work: ConsumerWork) -> None:
        before: ConsumerGroup = work.group
        effect(work)
        work.group = replace(work.group, target=before.target)

    return twisted


def _timers_kept(effect: Effect) -> Effect:
    def twisted(work: ConsumerWork) -> None:
        before: ConsumerGroup = work.group
        effect(work)
        work.group = replace(work.group, timers=before.timers)

    return twisted


def _answered(**fields: object) -> Twist:
    """Make the twist that changes the answer of a step."""

    def change(work: ConsumerWork) -> None:
        last = work.emissions[-1]
        assert isinstance(last.message, ConsumerGroupHeartbeatResponse)
        work.emissions[-1] = replace(last, message=replace(last.message, **fields))

    return _afterwards(change)


ASSIGNMENTS = (
    _mutant(
        "target-incomplete",
        "a target leaves a partition out",
        EFFECT,
        twists={_MAKE: _afterwards(_lose_a_partition)},
    ),
    _mutant(
        "target-shared",
        "a target gives one partition to all",
        EFFECT,
        twists={_MAKE: _afterwards(_share_a_partition)},
    ),
    _mutant(
        "takes-what-others-have",
        "a member gets its whole target at once, also what others still have",
        EFFECT,
        twists={Do.RECONCILE: _afterwards(_take_all)},
    ),
    _mutant(
        "gives-up-at-once",
        "partitions are free before their owner has given them up",
        EFFECT,
        twists={Do.RECONCILE: _afterwards(_give_up_at_once)},
    ),
    _mutant(
        "nobody-is-hurried",
        "a member that must give up partitions has all the time in the world",
        TIMER,
        twists={Do.RECONCILE: _afterwards(_hurry_nobody)},
    ),
    _mutant(
        "reconciled-at-the-old-epoch",
        "a member gets its assignment and keeps epoch 0",
        EFFECT,
        twists={Do.RECONCILE: _of_caller(epoch=0)},
    ),
    _mutant(
        "epoch-beyond-the-target",
        "a member's epoch is above that of the target",
        EFFECT,
        twists={Do.RECONCILE: _of_caller(epoch=1_000)},
    ),
    _mutant(
        "epoch-falls",
        "the group's epoch falls where it should grow",
        EFFECT,
        twists={_BUMP: _afterwards(lambda work: _change(work, epoch=max(work.group.epoch - 2, 0)))},
    ),
    _mutant(
        "assignment-not-told",
        "an answer to a heartbeat never has an assignment",
        ANSWER,
        twists={Do.ANSWER_CHANGES: _answered(assignment=None)},
    ),
    _mutant(
        "join-told-nothing",
        "an answer to a join has no assignment",
        ANSWER,
        twists={Do.ANSWER_ASSIGNMENT: _answered(assignment=None)},
    ),
    _mutant(
        "another-epoch-told",
        "an answer to a heartbeat has a newer epoch than the member",
        ANSWER,
        twists={Do.ANSWER_CHANGES: _answered(member_epoch=1_000)},
    ),
    _mutant(
        "release-frees-partitions",
        "a release gives up what the member is assigned",
        EFFECT,
        twists={Do.RELEASE: _of_caller(assigned=())},
    ),
    _mutant(
        "release-keeps-pending",
        "a released member keeps what it had to give up",
        EFFECT,
        twists={Do.RELEASE: _pending_kept},
    ),
    _mutant(
        "release-keeps-time-to-revoke",
        "a released member is removed when its time to revoke is over",
        TIMER,
        twists={Do.RELEASE: _timer_kept},
    ),
    _mutant(
        "replace-loses-assignment",
        "who returns finds no partitions",
        REPLACE,
        twists={Do.REPLACE_HOLDER: _of_caller(assigned=())},
    ),
    _mutant(
        "replace-keeps-the-old",
        "the replaced member stays beside its successor",
        REPLACE,
        twists={Do.REPLACE_HOLDER: _holder_kept},
    ),
    _mutant(
        "replace-loses-target",
        "who returns has no part of the target",
        REPLACE,
        twists={
            Do.REPLACE_HOLDER: _afterwards(
                lambda work: _change(work, target=work.group.with_target(work.caller, ()).target)
            )
        },
    ),
    _mutant(
        "replace-unmaps",
        "who returns has an instance that isn't mapped to it",
        REPLACE,
        twists={
            Do.REPLACE_HOLDER: _afterwards(
                lambda work: _change(
                    work, static=work.group.without_mapping(work.instance or "").static
                )
            )
        },
    ),
    _mutant(
        "removal-keeps-mapping",
        "the instance of a removed member stays mapped to it",
        EFFECT,
        twists={Do.REMOVE_MEMBER: _mapping_kept, Do.REMOVE_HOLDER: _mapping_kept},
    ),
    _mutant(
        "removal-keeps-target",
        "a removed member keeps its part of the target",
        EFFECT,
        twists={Do.REMOVE_MEMBER: _target_kept},
    ),
    _mutant(
        "removal-keeps-timers",
        "the timers of a removed member go on",
        TIMER,
        twists={Do.REMOVE_MEMBER: _timers_kept},
    ),
)

# Offsets and descriptions.

OFFSETS = (
    _mutant(
        "stranger-commits",
        "an id that is no member commits",
        GUARD,
        _but("CG-COMMIT-UNKNOWN-MEMBER", answer=Error.NONE, effect=(Do.STORE_OFFSETS,)),
    ),
    _mutant(
        "commit-forgotten",
        "a commit is answered and not stored",
        EFFECT,
        _without("CG-COMMIT-MEMBER", Do.STORE_OFFSETS),
    ),
    _mutant(
        "commit-refused",
        "a member's commit with its epoch is refused",
        ANSWER,
        _but("CG-COMMIT-MEMBER", effect=(), answer=Error.STALE_MEMBER_EPOCH),
    ),
    _mutant(
        "others-partition-committed",
        "a commit with an older epoch passes for any partition",
        GUARD,
        _but("CG-COMMIT-PARTITION-STALE", answer=Error.NONE, effect=(Do.STORE_OFFSETS,)),
    ),
    _mutant(
        "description-hides-revocations",
        "a description leaves out what a member must give up (KAFKA-20431)",
        _PAST,
        _but("CG-DESCRIBE-GROUP", effect=(Do.ANSWER_DESCRIPTION_KEPT,)),
    ),
)
_ALL = (*JOINS, *HEARTBEATS, *LEAVES, *TIMERS, *ASSIGNMENTS, *OFFSETS)

CONSUMER_BREAKS: Mapping[str, str] = {}
CONSUMER_MUTANTS: Mapping[str, Mutant] = {
    each.name: with_fields(
        each,
        breaks=(CONSUMER_BREAKS[each.name],) if each.name in CONSUMER_BREAKS else (),
    )
    for each in _ALL
}
"""The mutants of the consumer protocol, by name without `mutant:`."""
