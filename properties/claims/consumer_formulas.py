"""State properties of the consumer protocol as formulas, which are explored and proved.

Most are the invariants that KIP-848 and KIP-345 rest on: owners of partitions, holders of
instances, epochs, timers; who may go, and what a release keeps.

KEPT are invariants: what holds of a group holds after each step.  They are properties of steps, so
that the rule of the step that breaks one is known.  MOVES are about what a step does.
"""

from __future__ import annotations

from functools import partial

from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.vocabulary import (
    ASSIGNOR,
    BEAT_TABLE,
    CHANGE,
    JOIN_TABLE,
    LEAVE,
    LEAVE_TABLE,
    REMOVAL_TABLE,
    Assignor,
    Change,
    Leave,
)
from fencepost.model.messages.errors import Error
from fencepost.properties.claims.consumer_invariants import ALL_STEPS, INSIDE, UNSAID
from fencepost.properties.claims.invariants import formula_property
from fencepost.properties.logic.consumer_signature import (
    ANSWER,
    ASSIGNED,
    AT,
    BUMPED,
    CALLER,
    CONSUMER_SIGNATURE,
    EVENT,
    EXISTS,
    FAILOVER,
    GROUP_AT,
    HOLDS,
    HURRIED,
    INST,
    INST_GIVEN,
    MEMBER,
    NAMED,
    OF_CLASSIC,
    OWNED,
    OWNED_GIVEN,
    PREVIOUS,
    REBALANCE_END,
    RELEASED_AT,
    REVOKING,
    SEAT,
    SESSION,
    SESSION_END,
    SUBSCRIBED,
    TARGET,
    TARGET_AT,
    UNRELEASED,
    UNREVOKED,
    ZERO,
    E,
    F,
    I,
    J,
    P,
    X,
    Y,
    has_members,
    is_caller,
    is_holder,
    is_reconciled,
    is_released,
    is_target_legal,
    of_member,
    owns,
    terms_of,
)
from fencepost.properties.logic.logic import (
    Formula,
    Property,
    PropertyKind,
    Relation,
    Term,
    afterwards,
    all_of,
    any_of,
    below,
    exists,
    for_all,
    iff,
    implies,
    is_now,
    negate,
    same,
    up_to,
)

_ALL = "all groups"


_formula = partial(formula_property, PropertyKind.STEP)


def _kept(
    name: str,
    meaning: str,
    source: str,
    invariant: Formula,
    premise: Formula,
    scope: str = _ALL,
) -> Property:
    """Make the property that each step keeps an invariant.  `premise`: of a group, too."""
    kept = implies(invariant, afterwards(invariant))
    return _formula(
        name, meaning, source, scope, kept, premise, invariant=invariant, answers=INSIDE
    )


_SOMEBODY = has_members()
_STATIC = exists(X, I, SEAT.now(X, I))
_OF_MEMBERS = (SEAT, ASSIGNED, REVOKING, UNREVOKED, UNRELEASED, AT, PREVIOUS)


def _of_each(relation: Relation) -> Formula:
    """Return a formula: each member has exactly one epoch by this relation."""
    both = all_of(relation.now(X, E), relation.now(X, F))
    return all_of(
        for_all(X, E, F, implies(both, same(E, F))),
        for_all(X, implies(MEMBER.now(X), exists(E, relation.now(X, E)))),
    )


def _one_epoch(relation: Relation) -> Formula:
    """Return a formula: of a group that exists, there is exactly one epoch by this relation."""
    both = all_of(relation.now(E), relation.now(F))
    return all_of(
        for_all(E, F, implies(both, same(E, F))),
        iff(EXISTS.now(), exists(E, relation.now(E))),
    )


KEPT: tuple[Property, ...] = (
    _kept(
        "a-partition-has-one-owner",
        "A partition is assigned to one member at most, also while it is to be given up.",
        src.KIP_HEARTBEAT,
        all_of(
            *(
                for_all(X, Y, P, implies(all_of(left.now(X, P), right.now(Y, P)), same(X, Y)))
                for left, right in (
                    (ASSIGNED, ASSIGNED),
                    (ASSIGNED, REVOKING),
                    (REVOKING, REVOKING),
                )
            )
        ),
        exists(X, Y, P, all_of(ASSIGNED.now(X, P), MEMBER.now(Y), negate(same(X, Y)))),
    ),
    _kept(
        "to-give-up-is-a-phase",
        "A member has partitions to give up only while it is live and in the phase for that.",
        src.KIP_HEARTBEAT,
        for_all(
            X, P, implies(REVOKING.now(X, P), all_of(UNREVOKED.now(X), negate(is_released(X))))
        ),
        exists(X, P, REVOKING.now(X, P)),
    ),
    _kept(
        "epochs-are-in-order",
        "No member's epoch is above that of the target, which is not above that of the group.",
        src.KIP_HEARTBEAT,
        all_of(
            for_all(X, E, F, implies(all_of(AT.now(X, E), TARGET_AT.now(F)), up_to(E, F))),
            for_all(E, F, implies(all_of(TARGET_AT.now(E), GROUP_AT.now(F)), up_to(E, F))),
            for_all(E, implies(TARGET_AT.now(E), up_to(ZERO, E))),
        ),
        _SOMEBODY,
    ),
    _kept(
        "a-target-is-legal",
        "The target gives each partition to one member at most, and nothing to others.",
        src.KIP_HEARTBEAT,
        is_target_legal(),
        exists(X, Y, P, all_of(TARGET.now(X, P), MEMBER.now(Y), negate(same(X, Y)))),
    ),
    _kept(
        "an-entry-names-its-member",
        "Each instance is mapped to a member whose own instance it is.",
        src.KIP_STATIC,
        for_all(I, X, implies(HOLDS.now(I, X), SEAT.now(X, I))),
        exists(I, X, HOLDS.now(I, X)),
    ),
    _kept(
        "a-static-member-is-found",
        "The instance of each static member is mapped to it.",
        src.KIP_STATIC,
        for_all(X, I, implies(SEAT.now(X, I), HOLDS.now(I, X))),
        _STATIC,
    ),
    _kept(
        "a-member-is-watched",
        "A session timer runs for each member, released or not.",
        src.KIP_TIMERS,
        for_all(X, implies(MEMBER.now(X), SESSION.now(X))),
        _SOMEBODY,
    ),
    _kept(
        "who-must-give-up-is-hurried",
        "A rebalance timer runs for each live member that has partitions to give up.",
        src.KIP_TIMERS,
        for_all(X, implies(all_of(UNREVOKED.now(X), negate(is_released(X))), HURRIED.now(X))),
        exists(X, UNREVOKED.now(X)),
    ),
    _kept(
        "no-timer-of-the-removed",
        "A timer runs only for a member.",
        src.KIP_TIMERS,
        all_of(
            for_all(X, implies(SESSION.now(X), MEMBER.now(X))),
            for_all(X, implies(HURRIED.now(X), MEMBER.now(X))),
        ),
        _SOMEBODY,
    ),
    _kept(
        "there-is-one-of-each",
        "A group and its target have one epoch; a member has one epoch, one previous epoch and at "
        "most one instance; an instance has at most one entry.",
        src.KIP_HEARTBEAT,
        all_of(
            *map(_one_epoch, (GROUP_AT, TARGET_AT)),
            *map(_of_each, (AT, PREVIOUS)),
            for_all(X, I, J, implies(all_of(SEAT.now(X, I), SEAT.now(X, J)), same(I, J))),
            for_all(I, X, Y, implies(all_of(HOLDS.now(I, X), HOLDS.now(I, Y)), same(X, Y))),
        ),
        _SOMEBODY,
    ),
    _kept(
        "nothing-is-a-strangers",
        "Only a member has an instance, an epoch, a phase and partitions; only a group that exists "
        "has members and entries.",
        src.KIP_HEARTBEAT,
        all_of(
            *(
                for_all(*terms_of(relation), implies(of_member(relation, X), MEMBER.now(X)))
                for relation in _OF_MEMBERS
            ),
            for_all(X, implies(MEMBER.now(X), EXISTS.now())),
            for_all(I, X, implies(HOLDS.now(I, X), EXISTS.now())),
        ),
        _SOMEBODY,
    ),
    _kept(
        "epoch-zero-is-nobodys",
        "A group of epoch 0 has neither members nor entries.",
        src.KIP_HEARTBEAT,
        implies(
            GROUP_AT.now(ZERO),
            all_of(negate(_SOMEBODY), negate(exists(I, X, HOLDS.now(I, X)))),
        ),
        EXISTS.now(),
    ),
)

_HEARTBEAT = is_now(EVENT, JOIN_TABLE, BEAT_TABLE, LEAVE_TABLE)
_JOIN = is_now(EVENT, JOIN_TABLE)
_LATER = is_now(EVENT, BEAT_TABLE, LEAVE_TABLE)
_ACCEPTED = is_now(ANSWER, Error.NONE)
_TIME_IS_OVER = is_now(EVENT, SESSION_END, REBALANCE_END)
_EARLY = frozenset(
    {
        Error.INVALID_REQUEST,
        Error.INVALID_GROUP_ID,
        Error.UNSUPPORTED_ASSIGNOR,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
    }
)
"""Errors of checks before any look at the group."""
_LOOKED_AT = negate(is_now(ANSWER, None, *_EARLY))
_FULL = Error.GROUP_MAX_SIZE_REACHED


def _goes(term: Term) -> Formula:
    return all_of(MEMBER.now(term), negate(MEMBER.then(term)))


def _comes(term: Term) -> Formula:
    return all_of(MEMBER.then(term), negate(MEMBER.now(term)))


def _is_replaced(term: Term) -> Formula:
    """Return a formula: the step is a join with the instance of a member that it may replace."""
    return all_of(_JOIN, is_holder(term), any_of(is_released(term), OF_CLASSIC.now()))


_LOSES = tuple(
    all_of(of.now(X, P), MEMBER.then(X), negate(afterwards(owns(X, P))))
    for of in (ASSIGNED, REVOKING)
)
_SAYS_SO = all_of(
    _HEARTBEAT,
    is_caller(X),
    any_of(AT.then(X, RELEASED_AT), all_of(OWNED_GIVEN.now(), negate(OWNED.now(P)))),
)
_MEETS_LIVE_HOLDER = all_of(
    _JOIN,
    is_holder(X),
    negate(is_released(X)),
    negate(OF_CLASSIC.now()),
    negate(is_caller(X)),
)
_CHANGES_MEMBERS = all_of(
    any_of(exists(X, _goes(X)), exists(X, _comes(X))),
    negate(exists(X, _is_replaced(X))),
    negate(all_of(_JOIN, is_now(CHANGE, Change.UNCHANGED))),
    EXISTS.then(),
)
_RETURNS = all_of(
    _JOIN,
    _ACCEPTED,
    exists(
        X,
        all_of(
            MEMBER.now(X),
            is_released(X),
            any_of(is_holder(X), all_of(is_caller(X), negate(exists(Y, is_holder(Y))))),
        ),
    ),
    is_now(CHANGE, Change.UNCHANGED),
    is_now(ASSIGNOR, Assignor.KNOWN),
)
_BECOMES_RECONCILED = all_of(
    is_now(EVENT, JOIN_TABLE, BEAT_TABLE),
    _ACCEPTED,
    negate(is_reconciled(CALLER)),
    afterwards(is_reconciled(CALLER)),
    negate(TARGET_AT.then(ZERO)),
)
_RETURNS_TO_ITS_PLACE = all_of(
    _JOIN,
    _ACCEPTED,
    is_holder(X),
    SEAT.now(X, INST),
    is_released(X),
    any_of(is_caller(X), negate(MEMBER.now(CALLER))),
)
_RELEASES = all_of(is_now(EVENT, LEAVE_TABLE), is_now(LEAVE, Leave.RELEASE), _ACCEPTED)
_SAME_EPOCH = for_all(E, implies(GROUP_AT.now(E), GROUP_AT.then(E)))
_BUMPED = any_of(
    all_of(is_now(EVENT, REMOVAL_TABLE), BUMPED.then()),
    for_all(E, F, implies(all_of(GROUP_AT.now(E), GROUP_AT.then(F)), below(E, F))),
)
_LEFT = all_of(is_now(EVENT, LEAVE_TABLE), is_now(LEAVE, Leave.FOR_GOOD))
_NAMED = all_of(is_now(EVENT, REMOVAL_TABLE), _ACCEPTED, NAMED.now(X), MEMBER.now(X))
_BRINGS_ANOTHER = all_of(
    _JOIN, INST_GIVEN.now(), is_caller(X), MEMBER.now(X), negate(SEAT.now(X, INST))
)
_STRANGER = all_of(_LATER, _SOMEBODY, is_caller(X), negate(MEMBER.now(X)))
_NAMES_ANOTHERS = all_of(_LATER, _LOOKED_AT, exists(X, all_of(is_holder(X), negate(is_caller(X)))))
_TIMERS = {SESSION, HURRIED}


def _step(
    name: str,
    meaning: str,
    source: str,
    scope: str,
    premise: Formula,
    conclusion: Formula,
    *terms: Term,
    answers: str = INSIDE,
) -> Property:
    """Make the property that a step which meets a premise, for all terms, has a conclusion."""
    formula = implies(premise, conclusion)
    return _formula(
        name,
        meaning,
        source,
        scope,
        for_all(*terms, formula),
        exists(*terms, premise),
        answers=answers,
    )


MOVES: tuple[Property, ...] = (
    _step(
        "a-target-is-taken-over",
        "A member that becomes reconciled is assigned what the target gives to it of the topics to "
        "which it subscribes, and nothing else.",
        src.KIP_HEARTBEAT,
        "joins and heartbeats, in groups whose target was made once",
        _BECOMES_RECONCILED,
        all_of(
            for_all(P, implies(ASSIGNED.then(CALLER, P), TARGET.then(CALLER, P))),
            for_all(
                P,
                implies(
                    all_of(TARGET.then(CALLER, P), SUBSCRIBED.now(P)), ASSIGNED.then(CALLER, P)
                ),
            ),
        ),
    ),
    _formula(
        "a-partition-is-handed-on-when-it-is-free",
        "A partition leaves its owner only when that says so, is released, is replaced or goes.",
        src.KIP_HEARTBEAT,
        "owners that stay members; those that go take nothing with them",
        all_of(*(for_all(X, P, implies(loses, _SAYS_SO)) for loses in _LOSES)),
        any_of(*(exists(X, P, loses) for loses in _LOSES)),
        answers=INSIDE,
    ),
    _step(
        "a-member-goes-for-a-cause",
        "A member goes only by its own leave, by its timers, by an administrator, or replaced "
        "after its release.",
        src.KIP_TIMERS,
        ALL_STEPS,
        _goes(X),
        any_of(
            all_of(_LEFT, is_caller(X)),
            all_of(_TIME_IS_OVER, same(X, CALLER)),
            all_of(is_now(EVENT, REMOVAL_TABLE), NAMED.now(X)),
            _is_replaced(X),
        ),
        X,
    ),
    _step(
        "a-join-displaces-no-live-holder",
        "A join with the instance of a live member takes nothing from that member.",
        src.KIP_STATIC,
        "joins by ConsumerGroupHeartbeat; holders of this protocol",
        _MEETS_LIVE_HOLDER,
        all_of(MEMBER.then(X), negate(AT.then(X, RELEASED_AT)), HOLDS.then(INST, X)),
        X,
    ),
    _step(
        "who-is-out-of-time-goes",
        "A member whose session is over, or a live one whose time to revoke is over, is removed.",
        src.KIP_TIMERS,
        ALL_STEPS,
        any_of(
            is_now(EVENT, SESSION_END),
            all_of(is_now(EVENT, REBALANCE_END), negate(is_released(CALLER))),
        ),
        negate(MEMBER.then(CALLER)),
    ),
    _step(
        "a-heartbeat-leave-takes-effect",
        "After -1 that is answered NONE the sender is no member; after -2 it is released.",
        src.KIP_LEAVE,
        ALL_STEPS,
        all_of(is_now(EVENT, LEAVE_TABLE), _ACCEPTED),
        any_of(
            all_of(is_now(LEAVE, Leave.RELEASE), MEMBER.then(CALLER), AT.then(CALLER, RELEASED_AT)),
            all_of(negate(is_now(LEAVE, Leave.RELEASE)), negate(MEMBER.then(CALLER))),
        ),
    ),
    _step(
        "who-comes-or-goes-raises-the-epoch",
        "The group's epoch grows when a member comes or goes, but for a replacement, and for one "
        "that subscribes to nothing.",
        src.KIP_HEARTBEAT,
        ALL_STEPS,
        _CHANGES_MEMBERS,
        _BUMPED,
    ),
    _step(
        "group-epochs-never-fall",
        "The epochs of the group and of its target never fall.",
        src.KIP_HEARTBEAT,
        ALL_STEPS,
        EXISTS.now(),
        all_of(
            *(
                for_all(E, F, implies(all_of(of.now(E), of.then(F)), up_to(E, F)))
                for of in (GROUP_AT, TARGET_AT)
            )
        ),
    ),
    _step(
        "a-restart-costs-no-epoch",
        "A release, and a return with the subscription from before, leave the group's epoch.",
        src.KIP_LEAVE,
        "returns that change no preferred assignor",
        any_of(_RELEASES, _RETURNS),
        _SAME_EPOCH,
        answers=UNSAID,
    ),
    _step(
        "a-release-keeps-the-assignment",
        "A released member keeps what it is assigned, and gives up what it had to give up.",
        src.KIP_LEAVE,
        "until it returns or goes",
        all_of(MEMBER.now(X), AT.then(X, RELEASED_AT)),
        all_of(
            for_all(P, implies(ASSIGNED.now(X, P), ASSIGNED.then(X, P))),
            for_all(P, implies(ASSIGNED.then(X, P), ASSIGNED.now(X, P))),
            negate(exists(P, REVOKING.then(X, P))),
        ),
        X,
    ),
    _step(
        "a-return-finds-its-place",
        "A member that returns has at once the target's epoch and, of its assignment, all that the "
        "target still gives to it of the topics to which it subscribes.",
        src.KIP_STATIC,
        "returns with the released instance, under the same id or a new one",
        _RETURNS_TO_ITS_PLACE,
        all_of(
            for_all(E, implies(TARGET_AT.then(E), AT.then(CALLER, E))),
            for_all(
                P,
                implies(
                    all_of(ASSIGNED.now(X, P), TARGET.then(CALLER, P), SUBSCRIBED.now(P)),
                    ASSIGNED.then(CALLER, P),
                ),
            ),
        ),
        X,
    ),
    _step(
        "nobody-is-hurried-for-nothing",
        "A rebalance timer runs only for a member with partitions to give up.",
        src.KIP_TIMERS,
        "without failovers, which have a property of their own",
        all_of(HURRIED.then(X), negate(is_now(EVENT, FAILOVER))),
        any_of(
            exists(P, REVOKING.then(X, P)),
            all_of(HURRIED.now(X), negate(exists(P, REVOKING.now(X, P)))),
        ),
        X,
    ),
    _step(
        "a-failover-hurries-nobody",
        "A failover begins no time to revoke for a member that had none.",
        src.KAFKA_20641,
        ALL_STEPS,
        all_of(is_now(EVENT, FAILOVER), UNREVOKED.now(X)),
        implies(HURRIED.then(X), HURRIED.now(X)),
        X,
    ),
    _step(
        "a-failover-keeps-the-group",
        "A failover leaves the group as it was, but for its timers.",
        src.KAFKA_FAILOVER,
        "groups without classic members",
        all_of(is_now(EVENT, FAILOVER), EXISTS.now()),
        all_of(
            *(
                for_all(*terms, iff(relation.now(*terms), relation.then(*terms)))
                for relation in CONSUMER_SIGNATURE.relations
                if relation not in _TIMERS
                for terms in [terms_of(relation)]
            )
        ),
    ),
    _step(
        "who-is-named-for-removal-goes",
        "A member that an administrator removes, with the answer NONE, is removed.",
        src.KAFKA_REMOVAL,
        "LeaveGroup without errors",
        _NAMED,
        negate(MEMBER.then(X)),
        X,
    ),
    _step(
        "a-stranger-is-never-heard",
        "A heartbeat or leave under an id that is no member's is never answered NONE.",
        src.KIP_HEARTBEAT,
        "groups with members",
        _STRANGER,
        negate(_ACCEPTED),
        X,
        answers=UNSAID,
    ),
    _step(
        "the-replaced-hears-fenced",
        "A heartbeat or leave with another member's instance is answered FENCED_INSTANCE_ID.",
        src.KIP_STATIC,
        "groups with room; in a full one the size may be checked first",
        _NAMES_ANOTHERS,
        is_now(ANSWER, Error.FENCED_INSTANCE_ID, _FULL),
        answers=UNSAID,
    ),
    _step(
        "a-newcomer-hears-unreleased",
        "A join with the instance of another live member is answered UNRELEASED_INSTANCE_ID.",
        src.KIP_STATIC,
        "groups with room; in a full one the size may be checked first",
        all_of(_LOOKED_AT, exists(X, _MEETS_LIVE_HOLDER)),
        is_now(ANSWER, Error.UNRELEASED_INSTANCE_ID, _FULL),
        answers=UNSAID,
    ),
    _step(
        "an-id-keeps-its-instance",
        "A member id never gets another instance than it has, or has none.",
        "apache/kafka#23542",
        "joins under a member's id",
        all_of(_BRINGS_ANOTHER, MEMBER.then(X)),
        for_all(I, iff(SEAT.now(X, I), SEAT.then(X, I))),
        X,
    ),
    _step(
        "an-instance-is-its-bringers",
        "A join with an instance that is answered NONE gives that instance to its sender.",
        src.KIP_STATIC,
        ALL_STEPS,
        all_of(_JOIN, _ACCEPTED, INST_GIVEN.now()),
        SEAT.then(CALLER, INST),
    ),
)
