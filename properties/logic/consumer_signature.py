"""Define the relations by which formulas describe a group of the consumer protocol, and an event.

The abstraction keeps members, their instances and the static map, their epochs and phases, the
partitions that are theirs, the target, and which timers run.  It leaves out deadlines, topics and
subscriptions, so any member may be meant for any partition; since when a partition is a member's;
the assignment interval, so a target may always be made later; contents of offsets; and what a
classic member has that others don't.
"""

from __future__ import annotations

from fencepost.model.consumer.group import RELEASED_EPOCH
from fencepost.properties.logic.logic import (
    EVENT_FEATURES,
    Formula,
    Relation,
    Signature,
    Sort,
    Term,
    a_partition,
    all_of,
    an_epoch,
    an_id,
    an_instance,
    any_of,
    exists,
    for_all,
    implies,
    negate,
    same,
)

_ID = (Sort.ID,)
_EPOCH = (Sort.EPOCH,)
_PART = (Sort.ID, Sort.PARTITION)
_AT = (Sort.ID, Sort.EPOCH)

# Of a group.
EXISTS = Relation("exists", (), "the group exists")
MEMBER = Relation("member", _ID, "{0} is a member")
SEAT = Relation("seat", (Sort.ID, Sort.INSTANCE), "{0} has instance {1}")
HOLDS = Relation("holds", (Sort.INSTANCE, Sort.ID), "{0} is mapped to {1}")
ASSIGNED = Relation("assigned", _PART, "{0} is assigned {1}")
REVOKING = Relation("revoking", _PART, "{0} has {1} to give up")
TARGET = Relation("target", _PART, "the target gives {0} {1}")
UNREVOKED = Relation("unrevoked", _ID, "{0} has still to confirm that it gave partitions up")
UNRELEASED = Relation("unreleased", _ID, "{0} waits for partitions of others")
AT = Relation("at", _AT, "{0} has epoch {1}")
PREVIOUS = Relation("previous", _AT, "the previous epoch of {0} is {1}")
GROUP_AT = Relation("group_at", _EPOCH, "the group has epoch {0}")
TARGET_AT = Relation("target_at", _EPOCH, "the target has epoch {0}")
SESSION = Relation("session", _ID, "a session timer of {0} runs")
HURRIED = Relation("hurried", _ID, "a rebalance timer of {0} runs")
OFFSETS = Relation("offsets", (), "offsets are stored")

# Of a step in the making.
TAKEN = Relation("taken", (Sort.PARTITION,), "{0} was somebody's as the step began")
BUMPED = Relation("bumped", (), "the request raised the group's epoch")
REMADE = Relation("remade", (), "the request made the target anew")

# Of what happens.
NAMED = Relation("named", _ID, "{0} is named, by its id or by its instance", of_event=True)
MID_GIVEN = Relation("mid_given", (), "a member id is sent", of_event=True)
INST_GIVEN = Relation("inst_given", (), "an instance is sent", of_event=True)
OWNED_GIVEN = Relation("owned_given", (), "the caller says what it owns", of_event=True)
OWNED = Relation("owned", (Sort.PARTITION,), "the caller says that it owns {0}", of_event=True)
SUBSCRIBED = Relation(
    "subscribed", (Sort.PARTITION,), "the caller subscribes to the topic of {0}", of_event=True
)
OF_CLASSIC = Relation("of_classic", (), "the holder is of the classic protocol", of_event=True)

CALLER = Term("the caller", Sort.ID, fixed=True)
"""The id that is sent, or the fresh one; of a timer, its member."""
INST = Term("the instance sent", Sort.INSTANCE, fixed=True)
SENT = Term("the epoch sent", Sort.EPOCH, fixed=True)
RELEASED_AT = Term("epoch -2", Sort.EPOCH, fixed=True, constant=RELEASED_EPOCH)
ZERO = Term("epoch 0", Sort.EPOCH, fixed=True, constant=0)

EVENT, RULE, ANSWER = EVENT_FEATURES

CONSUMER_SIGNATURE = Signature(
    (
        EXISTS,
        MEMBER,
        SEAT,
        HOLDS,
        ASSIGNED,
        REVOKING,
        TARGET,
        UNREVOKED,
        UNRELEASED,
        AT,
        PREVIOUS,
        GROUP_AT,
        TARGET_AT,
        SESSION,
        HURRIED,
        OFFSETS,
    ),
    (),
    (CALLER, INST, SENT),
    (TAKEN, BUMPED, REMADE),
    (NAMED, MID_GIVEN, INST_GIVEN, OWNED_GIVEN, OWNED, SUBSCRIBED, OF_CLASSIC),
    constants=(RELEASED_AT, ZERO),
)

SESSION_END = "session timeout"
REBALANCE_END = "rebalance timeout"
FAILOVER = "failover"
CLEANUP = "cleanup"

X, Y = an_id("x"), an_id("y")
I, J = an_instance("i"), an_instance("j")  # noqa: E741  (an instance)
P = a_partition("p")
E, F = an_epoch("e"), an_epoch("f")
_VARIABLES = {term.sort: term for term in (X, I, P, E)}


def terms_of(relation: Relation) -> tuple[Term, ...]:
    """Return a variable for each term of a relation."""
    return tuple(_VARIABLES[sort] for sort in relation.sorts)


def of_member(relation: Relation, member: Term) -> Formula:
    """Return a formula: a relation of members holds of this one."""
    return relation.now(member, *terms_of(relation)[1:])


def is_caller(term: Term) -> Formula:
    """Return a formula: the term is the caller, whose id was sent."""
    return all_of(MID_GIVEN.now(), same(term, CALLER))


def is_released(term: Term) -> Formula:
    """Return a formula: the member left for a while."""
    return AT.now(term, RELEASED_AT)


def is_static(term: Term) -> Formula:
    """Return a formula: the member has an instance."""
    return exists(J, SEAT.now(term, J))


def owns(term: Term, partition: Term) -> Formula:
    """Return a formula: the partition is the member's, perhaps to be given up."""
    return any_of(ASSIGNED.now(term, partition), REVOKING.now(term, partition))


def has_members() -> Formula:
    """Return a formula: the group has members."""
    return exists(X, MEMBER.now(X))


def is_holder(term: Term) -> Formula:
    """Return a formula: the instance that is sent is mapped to the member."""
    return all_of(INST_GIVEN.now(), HOLDS.now(INST, term), MEMBER.now(term))


def is_target_legal() -> Formula:
    """Return a formula: each partition of the target is for one id at most, which is a member's."""
    return all_of(
        for_all(X, P, implies(TARGET.now(X, P), MEMBER.now(X))),
        for_all(X, Y, P, implies(all_of(TARGET.now(X, P), TARGET.now(Y, P)), same(X, Y))),
    )


def is_target_made() -> Formula:
    """Return a formula: the target is of the group's epoch."""
    return exists(E, all_of(GROUP_AT.now(E), TARGET_AT.now(E)))


def is_reconciled(term: Term) -> Formula:
    """Return a formula: the member has taken over its target."""
    return all_of(
        negate(UNREVOKED.now(term)),
        negate(UNRELEASED.now(term)),
        exists(E, all_of(AT.now(term, E), TARGET_AT.now(E))),
    )
