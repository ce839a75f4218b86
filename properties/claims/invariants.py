"""Define the state properties that are formulas: they hold of every reachable group.

PROMISED are the promises of a protocol author.  BOOKS define how a coordinator keeps its data
consistent; the proofs of the others need them.
"""

from __future__ import annotations

from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import STATE, GroupState
from fencepost.properties.claims import waivers
from fencepost.properties.claims.property_classes import class_of, harm_of
from fencepost.properties.logic.classic_signature import (
    DELAYED,
    GENERATION,
    HOLDS,
    JOIN_TIMER,
    LEADS,
    MEMBER,
    NEW,
    OFFSETS,
    OWES,
    PARKED,
    PENDING,
    SEAT,
    SESSION,
    STORED_GENERATION,
    STORED_HOLDS,
    STORED_LEADS,
    STORED_MEMBER,
    STORED_SEAT,
    STORED_STATE,
    SYNC_TIMER,
    SYNCING,
    I,
    J,
    X,
    Y,
)
from fencepost.properties.logic.logic import (
    AtMost,
    Engine,
    Formula,
    Property,
    PropertyKind,
    When,
    all_of,
    any_of,
    exists,
    for_all,
    iff,
    implies,
    is_now,
    negate,
    same,
)

_FORMULA_ENGINES = frozenset({Engine.EXPLORATION, Engine.HYPOTHESIS, Engine.PROOF})
_UNSEEN = "it is about the coordinator's state; answers show only part of it"
_EVERY_GROUP = "every group, at any time, on the coordinator that has it"

_PREPARING = is_now(STATE, GroupState.PREPARING)
_COMPLETING = is_now(STATE, GroupState.COMPLETING)
_SETTLED = is_now(STATE, GroupState.COMPLETING, GroupState.STABLE)
_ABSENT = is_now(STATE, GroupState.ABSENT)
_SOMEBODY = exists(X, MEMBER.now(X))
_SEATED = exists(X, I, SEAT.now(X, I))
_STORED = negate(is_now(STORED_STATE, GroupState.ABSENT))


def formula_property(
    kind: PropertyKind,
    name: str,
    meaning: str,
    source: str,
    scope: str,
    formula: Formula,
    premise: Formula,
    *,
    invariant: Formula | None = None,
    answers: str = _UNSEEN,
) -> Property:
    """Make a property of this kind.  `answers`: why histories don't check it."""
    return Property(
        name,
        meaning,
        source,
        kind,
        scope,
        _FORMULA_ENGINES,
        formula=formula,
        premise=premise,
        invariant=invariant,
        not_by={Engine.ANSWERS: answers},
        expected=waivers.reasons(name),
        expected_rules=waivers.rules(name),
        property_class=class_of(name),
        harm=harm_of(name),
    )


def state_property(
    name: str, meaning: str, formula: Formula, premise: Formula, source: str = src.KAFKA_JOIN
) -> Property:
    """Make a property of every group."""
    return formula_property(
        PropertyKind.STATE, name, meaning, source, _EVERY_GROUP, formula, premise
    )


PROMISED = (
    state_property(
        "one-live-member-per-instance",
        "No two members have the same instance id.",
        for_all(X, Y, I, implies(all_of(SEAT.now(X, I), SEAT.now(Y, I)), same(X, Y))),
        _SEATED,
        src.KIP_JOIN,
    ),
    state_property(
        "mapped-instance-has-holder",
        "Each mapped instance is mapped to one member id, that of a member with this instance.",
        all_of(
            for_all(I, X, implies(HOLDS.now(I, X), all_of(MEMBER.now(X), SEAT.now(X, I)))),
            for_all(I, X, Y, implies(all_of(HOLDS.now(I, X), HOLDS.now(I, Y)), same(X, Y))),
        ),
        exists(I, X, HOLDS.now(I, X)),
        src.KIP_JOIN,
    ),
    state_property(
        "static-member-is-mapped",
        "Each static member has one instance id, which is mapped to it.",
        all_of(
            for_all(X, I, implies(SEAT.now(X, I), all_of(MEMBER.now(X), HOLDS.now(I, X)))),
            for_all(X, I, J, implies(all_of(SEAT.now(X, I), SEAT.now(X, J)), same(I, J))),
        ),
        _SEATED,
        src.KIP_JOIN,
    ),
    state_property(
        "pending-is-no-member",
        "A pending id belongs to no member.",
        for_all(X, negate(all_of(PENDING.now(X), MEMBER.now(X)))),
        exists(X, PENDING.now(X)),
        src.KIP_394,
    ),
    state_property(
        "leader-is-member",
        "A group with members has exactly one leader, which is a member; a group without "
        "members has none.",
        all_of(
            for_all(X, implies(LEADS.now(X), MEMBER.now(X))),
            for_all(X, Y, implies(all_of(LEADS.now(X), LEADS.now(Y)), same(X, Y))),
            implies(_SOMEBODY, exists(X, LEADS.now(X))),
        ),
        _SOMEBODY,
        src.KIP_BACKGROUND,
    ),
    state_property(
        "settled-has-members",
        "An absent or Empty group has no members; a CompletingRebalance or Stable group has some.",
        all_of(
            implies(is_now(STATE, GroupState.ABSENT, GroupState.EMPTY), negate(_SOMEBODY)),
            implies(_SETTLED, _SOMEBODY),
        ),
        _SETTLED,
        src.KAFKA_TIMERS,
    ),
    state_property(
        "parked-only-while-preparing",
        "A join is parked only in PreparingRebalance, and only for a member.",
        for_all(X, implies(PARKED.now(X), all_of(MEMBER.now(X), _PREPARING))),
        exists(X, PARKED.now(X)),
        src.KIP_BACKGROUND,
    ),
    state_property(
        "syncing-only-while-completing",
        "A sync is parked only in CompletingRebalance, and only for a member.",
        for_all(X, implies(SYNCING.now(X), all_of(MEMBER.now(X), _COMPLETING))),
        exists(X, SYNCING.now(X)),
        src.KAFKA_SYNC,
    ),
)
"""The promises of a protocol author."""

BOOKS = (
    state_property(
        "never-dead",
        "No request of these APIs leaves a group Dead: the group is removed at once.",
        negate(is_now(STATE, GroupState.DEAD)),
        negate(_ABSENT),
        src.KAFKA_CHECKS,
    ),
    state_property(
        "absent-knows-nothing",
        "A group that doesn't exist has no pending ids, no offsets, nothing stored, and "
        "generation 0.",
        implies(
            _ABSENT,
            all_of(
                negate(exists(X, PENDING.now(X))),
                negate(OFFSETS.now()),
                negate(_STORED),
                AtMost(GENERATION, When.NOW, 0, None, When.NOW),
            ),
        ),
        _ABSENT,
        src.KAFKA_CHECKS,
    ),
    state_property(
        "new-member-waits",
        "A member that never completed a join has a parked join.",
        for_all(X, implies(NEW.now(X), PARKED.now(X))),
        exists(X, NEW.now(X)),
        src.KAFKA_TIMERS,
    ),
    state_property(
        "debt-is-of-this-generation",
        "Only members have a sync outstanding, and only after a join phase has completed.",
        for_all(X, implies(OWES.now(X), all_of(MEMBER.now(X), _SETTLED))),
        exists(X, OWES.now(X)),
        src.KAFKA_12890,
    ),
    state_property(
        "session-is-of-somebody",
        "A session timer runs for members and pending ids alone, and for every pending id.",
        for_all(
            X,
            all_of(
                implies(SESSION.now(X), any_of(MEMBER.now(X), PENDING.now(X))),
                implies(PENDING.now(X), SESSION.now(X)),
            ),
        ),
        exists(X, SESSION.now(X)),
        src.KAFKA_TIMERS,
    ),
    state_property(
        "everybody-is-watched",
        "Each member has a session timer, or a parked request whose answer starts one.",
        for_all(
            X,
            implies(MEMBER.now(X), any_of(SESSION.now(X), PARKED.now(X), SYNCING.now(X))),
        ),
        _SOMEBODY,
        src.KAFKA_TIMERS,
    ),
    state_property(
        "join-phase-has-a-timer",
        "The join phase has a timer exactly in PreparingRebalance, and an initial delay only then.",
        all_of(iff(JOIN_TIMER.now(), _PREPARING), implies(DELAYED.now(), _PREPARING)),
        _PREPARING,
        src.KAFKA_TIMERS,
    ),
    state_property(
        "sync-timer-has-a-debtor",
        "The sync timer runs only while a member has a sync outstanding.",
        implies(SYNC_TIMER.now(), all_of(_SETTLED, exists(X, OWES.now(X)))),
        SYNC_TIMER.now(),
        src.KAFKA_12890,
    ),
    state_property(
        "stored-is-consistent",
        "A stored group is Empty without members, or Stable with a leader among its members, "
        "and its mapping agrees with its members.",
        all_of(
            is_now(STORED_STATE, GroupState.ABSENT, GroupState.EMPTY, GroupState.STABLE),
            any_of(_STORED, AtMost(STORED_GENERATION, When.NOW, 0, None, When.NOW)),
            implies(is_now(STORED_STATE, GroupState.STABLE), exists(X, STORED_MEMBER.now(X))),
            for_all(X, implies(STORED_MEMBER.now(X), is_now(STORED_STATE, GroupState.STABLE))),
            for_all(X, implies(STORED_LEADS.now(X), STORED_MEMBER.now(X))),
            for_all(X, Y, implies(all_of(STORED_LEADS.now(X), STORED_LEADS.now(Y)), same(X, Y))),
            implies(exists(X, STORED_MEMBER.now(X)), exists(X, STORED_LEADS.now(X))),
            for_all(
                X,
                I,
                implies(
                    STORED_SEAT.now(X, I), all_of(STORED_MEMBER.now(X), STORED_HOLDS.now(I, X))
                ),
            ),
            for_all(I, X, implies(STORED_HOLDS.now(I, X), STORED_SEAT.now(X, I))),
            for_all(
                X, I, J, implies(all_of(STORED_SEAT.now(X, I), STORED_SEAT.now(X, J)), same(I, J))
            ),
            for_all(
                X, Y, I, implies(all_of(STORED_SEAT.now(X, I), STORED_SEAT.now(Y, I)), same(X, Y))
            ),
        ),
        _STORED,
        src.KIP_FAULT,
    ),
    state_property(
        "stored-generation-is-past",
        "The stored generation is not above the group's generation.",
        all_of(
            AtMost(None, When.NOW, 0, STORED_GENERATION, When.NOW),
            AtMost(STORED_GENERATION, When.NOW, 0, GENERATION, When.NOW),
        ),
        _STORED,
        src.KIP_FAULT,
    ),
)
"""The consistency of a coordinator's data: needed by the proofs, and worth knowing."""

INVARIANTS: tuple[Property, ...] = (*PROMISED, *BOOKS)

_STABLE = is_now(STATE, GroupState.STABLE)
_EMPTY = is_now(STATE, GroupState.EMPTY)

STORED = (
    state_property(
        "stable-is-stored",
        "In a stable group the members, their instances and the mapping are stored as they are.",
        implies(
            _STABLE,
            all_of(
                is_now(STORED_STATE, GroupState.STABLE),
                for_all(X, iff(STORED_MEMBER.now(X), MEMBER.now(X))),
                for_all(X, I, iff(STORED_SEAT.now(X, I), SEAT.now(X, I))),
                for_all(I, X, iff(STORED_HOLDS.now(I, X), HOLDS.now(I, X))),
            ),
        ),
        all_of(_STABLE, exists(I, X, HOLDS.now(I, X))),
        src.KIP_FAULT,
    ),
    state_property(
        "emptiness-is-stored",
        "In an Empty group no member is stored.",
        implies(_EMPTY, negate(exists(X, STORED_MEMBER.now(X)))),
        all_of(_EMPTY, is_now(STORED_STATE, GroupState.EMPTY)),
        src.KAFKA_FAILOVER,
    ),
)
"""The duties of a group to the next coordinator: state is stored while it matters.

They can be violated only where the stored record is kept: in proofs of one group, and in worlds
with failovers.
"""

WITHIN_A_BATCH = frozenset({"settled-has-members", "sync-timer-has-a-debtor", "stable-is-stored"})
"""Invariants that may fail between the rows of a leave that rebalances once, at its end."""
