"""Mutants of the consumer protocol with wrong timers, targets, assignments or offsets."""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.group import REBALANCE, SESSION, ConsumerGroup, Phase
from fencepost.model.messages.consumer_messages import ConsumerGroupHeartbeatResponse
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Twist
from fencepost.model.work import Effect
from fencepost.properties.mutants.consumer_mutant import (
    PAST,
    afterwards,
    but,
    consumer_mutant,
    of_caller,
    without,
)
from fencepost.properties.mutants.mutant import (
    ANSWER,
    EFFECT,
    GUARD,
    REPLACE,
    TIMER,
)

_MAKE, _BUMP = Do.RECOMPUTE_TARGET, Do.BUMP_EPOCH


def _change(work: ConsumerWork, **fields: object) -> None:
    work.group = replace(work.group, **fields)


def _drop_released(work: ConsumerWork) -> None:
    for member in work.group.members:
        if member.is_released:
            work.group = work.group.without_member(member.member_id)


# Timers and failover.

TIMERS = (
    consumer_mutant(
        "silent-member-stays",
        "a silent member stays for ever",
        EFFECT,
        but("CG-SESSION-EXPIRED", effect=()),
    ),
    consumer_mutant(
        "expiry-no-epoch",
        "the end of a session doesn't raise the epoch",
        EFFECT,
        without("CG-SESSION-EXPIRED", _BUMP),
    ),
    consumer_mutant(
        "released-member-stays",
        "a released member stays for ever",
        EFFECT,
        but("CG-SESSION-EXPIRED-RELEASED", effect=()),
    ),
    consumer_mutant(
        "released-expiry-no-epoch",
        "the end of a released member's session doesn't raise the epoch",
        EFFECT,
        without("CG-SESSION-EXPIRED-RELEASED", _BUMP),
    ),
    consumer_mutant(
        "slow-revocation-stays",
        "a member that never gives up its partitions stays",
        EFFECT,
        but("CG-REBALANCE-EXPIRED", effect=()),
    ),
    consumer_mutant(
        "failover-forgets-group",
        "a failover loses the group",
        EFFECT,
        but("CG-FAILOVER-GROUP", effect=(Do.FORGET,)),
    ),
    consumer_mutant(
        "failover-forgets-released",
        "a failover loses released members",
        EFFECT,
        twists={Do.RELOAD: afterwards(_drop_released)},
    ),
    consumer_mutant(
        "failover-forgets-map",
        "a failover loses the instances",
        EFFECT,
        twists={Do.RELOAD: afterwards(lambda work: _change(work, static=()))},
    ),
    consumer_mutant(
        "failover-forgets-sessions",
        "after a failover no session runs",
        TIMER,
        twists={Do.RELOAD: afterwards(lambda work: _change(work, timers=()))},
    ),
    consumer_mutant(
        "long-session",
        "a session lasts twice as long",
        TIMER,
        twists={
            Do.RESTART_SESSION: afterwards(
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

    return afterwards(change)


ASSIGNMENTS = (
    consumer_mutant(
        "target-incomplete",
        "a target leaves a partition out",
        EFFECT,
        twists={_MAKE: afterwards(_lose_a_partition)},
    ),
    consumer_mutant(
        "target-shared",
        "a target gives one partition to all",
        EFFECT,
        twists={_MAKE: afterwards(_share_a_partition)},
    ),
    consumer_mutant(
        "takes-what-others-have",
        "a member gets its whole target at once, also what others still have",
        EFFECT,
        twists={Do.RECONCILE: afterwards(_take_all)},
    ),
    consumer_mutant(
        "gives-up-at-once",
        "partitions are free before their owner has given them up",
        EFFECT,
        twists={Do.RECONCILE: afterwards(_give_up_at_once)},
    ),
    consumer_mutant(
        "nobody-is-hurried",
        "a member that must give up partitions has all the time in the world",
        TIMER,
        twists={Do.RECONCILE: afterwards(_hurry_nobody)},
    ),
    consumer_mutant(
        "reconciled-at-the-old-epoch",
        "a member gets its assignment and keeps epoch 0",
        EFFECT,
        twists={Do.RECONCILE: of_caller(epoch=0)},
    ),
    consumer_mutant(
        "epoch-beyond-the-target",
        "a member's epoch is above that of the target",
        EFFECT,
        twists={Do.RECONCILE: of_caller(epoch=1_000)},
    ),
    consumer_mutant(
        "epoch-falls",
        "the group's epoch falls where it should grow",
        EFFECT,
        twists={_BUMP: afterwards(lambda work: _change(work, epoch=max(work.group.epoch - 2, 0)))},
    ),
    consumer_mutant(
        "assignment-not-told",
        "an answer to a heartbeat never has an assignment",
        ANSWER,
        twists={Do.ANSWER_CHANGES: _answered(assignment=None)},
    ),
    consumer_mutant(
        "join-told-nothing",
        "an answer to a join has no assignment",
        ANSWER,
        twists={Do.ANSWER_ASSIGNMENT: _answered(assignment=None)},
    ),
    consumer_mutant(
        "another-epoch-told",
        "an answer to a heartbeat has a newer epoch than the member",
        ANSWER,
        twists={Do.ANSWER_CHANGES: _answered(member_epoch=1_000)},
    ),
    consumer_mutant(
        "release-frees-partitions",
        "a release gives up what the member is assigned",
        EFFECT,
        twists={Do.RELEASE: of_caller(assigned=())},
    ),
    consumer_mutant(
        "release-keeps-pending",
        "a released member keeps what it had to give up",
        EFFECT,
        twists={Do.RELEASE: _pending_kept},
    ),
    consumer_mutant(
        "release-keeps-time-to-revoke",
        "a released member is removed when its time to revoke is over",
        TIMER,
        twists={Do.RELEASE: _timer_kept},
    ),
    consumer_mutant(
        "replace-loses-assignment",
        "who returns finds no partitions",
        REPLACE,
        twists={Do.REPLACE_HOLDER: of_caller(assigned=())},
    ),
    consumer_mutant(
        "replace-keeps-the-old",
        "the replaced member stays beside its successor",
        REPLACE,
        twists={Do.REPLACE_HOLDER: _holder_kept},
    ),
    consumer_mutant(
        "replace-loses-target",
        "who returns has no part of the target",
        REPLACE,
        twists={
            Do.REPLACE_HOLDER: afterwards(
                lambda work: _change(work, target=work.group.with_target(work.caller, ()).target)
            )
        },
    ),
    consumer_mutant(
        "replace-unmaps",
        "who returns has an instance that isn't mapped to it",
        REPLACE,
        twists={
            Do.REPLACE_HOLDER: afterwards(
                lambda work: _change(
                    work, static=work.group.without_mapping(work.instance or "").static
                )
            )
        },
    ),
    consumer_mutant(
        "removal-keeps-mapping",
        "the instance of a removed member stays mapped to it",
        EFFECT,
        twists={Do.REMOVE_MEMBER: _mapping_kept, Do.REMOVE_HOLDER: _mapping_kept},
    ),
    consumer_mutant(
        "removal-keeps-target",
        "a removed member keeps its part of the target",
        EFFECT,
        twists={Do.REMOVE_MEMBER: _target_kept},
    ),
    consumer_mutant(
        "removal-keeps-timers",
        "the timers of a removed member go on",
        TIMER,
        twists={Do.REMOVE_MEMBER: _timers_kept},
        visible=False,  # they end, and there is nobody whom they concern
    ),
)

# Offsets and descriptions.

OFFSETS = (
    consumer_mutant(
        "stranger-commits",
        "an id that is no member commits",
        GUARD,
        but("CG-COMMIT-UNKNOWN-MEMBER", answer=Error.NONE, effect=(Do.STORE_OFFSETS,)),
    ),
    consumer_mutant(
        "commit-forgotten",
        "a commit is answered and not stored",
        EFFECT,
        without("CG-COMMIT-MEMBER", Do.STORE_OFFSETS),
    ),
    consumer_mutant(
        "commit-refused",
        "a member's commit with its epoch is refused",
        ANSWER,
        but("CG-COMMIT-MEMBER", effect=(), answer=Error.STALE_MEMBER_EPOCH),
    ),
    consumer_mutant(
        "others-partition-committed",
        "a commit with an older epoch passes for any partition",
        GUARD,
        but("CG-COMMIT-PARTITION-STALE", answer=Error.NONE, effect=(Do.STORE_OFFSETS,)),
    ),
    consumer_mutant(
        "description-hides-revocations",
        "a description leaves out what a member must give up (KAFKA-20431)",
        PAST,
        but("CG-DESCRIBE-GROUP", effect=(Do.ANSWER_DESCRIPTION_KEPT,)),
    ),
)
