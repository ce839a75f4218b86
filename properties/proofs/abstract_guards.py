"""Translate guards of the decision table to formulas over the abstract group and request.

A feature with a meaning (the holder of an id, the waiting members) is translated, so the values
that can occur together follow from the proved invariants.  A feature without one (a version, an
offer, a limit) may have any value that `FEASIBLE` allows beside the others:
`fencepost.model.classic.vocabulary.feasible`, as conditions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from fencepost.model.classic.vocabulary import (
    CONSUMERS,
    DELAY,
    GENERATION,
    LATE,
    LEFT,
    MEMBERSHIP,
    MID,
    OFFER,
    PARKED,
    REMAINING,
    ROLE,
    SELECTION,
    STATE,
    STORED,
    SUBJECT,
    SUBSCRIBED,
    SUBSCRIPTION,
    SYNCING_STATE,
    TRIGGER,
    Change,
    Delay,
    Generation,
    GroupState,
    Late,
    Left,
    Membership,
    Mid,
    Offer,
    Parked,
    Role,
    Stored,
    Subject,
    Trigger,
)
from fencepost.model.table import expr
from fencepost.model.table.expr import Expr, Feature
from fencepost.model.table.shared_features import (
    GROUP_ID,
    INST,
    RECORD,
    ROOM,
    GroupId,
    Inst,
    Record,
    Room,
)
from fencepost.properties.logic import classic_signature as sig
from fencepost.properties.logic.classic_signature import X
from fencepost.properties.logic.logic import (
    Formula,
    all_of,
    any_of,
    exists,
    for_all,
    implies,
    is_now,
    negate,
)
from fencepost.properties.proofs.theory import Guards, exactly, never_beside, partly

_PENDING = all_of(sig.MID_GIVEN.now(), sig.PENDING.now(sig.MID))
_MEMBER = all_of(sig.MID_GIVEN.now(), negate(sig.PENDING.now(sig.MID)), sig.MEMBER.now(sig.MID))
_MAPPED = all_of(sig.INST_GIVEN.now(), exists(X, sig.HOLDS.now(sig.INST, X)))
_OWN = all_of(sig.INST_GIVEN.now(), sig.MID_GIVEN.now(), sig.HOLDS.now(sig.INST, sig.MID))
_TAKES_OVER = all_of(negate(sig.MID_GIVEN.now()), _MAPPED)
_LEADER = any_of(
    all_of(_MEMBER, sig.LEADS.now(sig.MID)),
    all_of(_TAKES_OVER, exists(X, all_of(sig.HOLDS.now(sig.INST, X), sig.LEADS.now(X)))),
)
_SEATED = any_of(_MEMBER, _TAKES_OVER)
_ALL_PARKED = all_of(
    for_all(X, implies(sig.MEMBER.now(X), sig.PARKED.now(X))),
    negate(exists(X, sig.PENDING.now(X))),
)
_SOME_PARKED = exists(X, all_of(sig.PARKED.now(X), sig.MEMBER.now(X)))
_STAYS = exists(X, all_of(sig.MEMBER.now(X), any_of(sig.PARKED.now(X), sig.is_static(X))))
_CHECK_OF_SOMEBODY = all_of(is_now(TRIGGER, Trigger.CHECK), exists(X, sig.MEMBER.now(X)))
_SOMEBODY_LEFT = any_of(_STAYS, _CHECK_OF_SOMEBODY)
_PENDING_SUBJECT = sig.PENDING.now(sig.SUBJECT)
_NEW_SUBJECT = all_of(negate(_PENDING_SUBJECT), sig.NEW.now(sig.SUBJECT))
_OLD_SUBJECT = all_of(negate(_PENDING_SUBJECT), negate(sig.NEW.now(sig.SUBJECT)))
_SUBJECT_WAITS = any_of(sig.PARKED.now(sig.SUBJECT), sig.SYNCING.now(sig.SUBJECT))
_LATE_DYNAMIC = exists(X, all_of(sig.OWES.now(X), negate(sig.is_static(X))))
_NOT_STORED = is_now(sig.STORED_STATE, GroupState.ABSENT)
_STORED_STABLE = is_now(sig.STORED_STATE, GroupState.STABLE)

MEANINGS: Mapping[Feature, Mapping[Hashable, Formula]] = {
    MID: {
        Mid.EMPTY: negate(sig.MID_GIVEN.now()),
        Mid.PENDING: _PENDING,
        Mid.MEMBER: _MEMBER,
        Mid.UNKNOWN: all_of(sig.MID_GIVEN.now(), negate(_PENDING), negate(_MEMBER)),
    },
    INST: {
        Inst.NONE: negate(sig.INST_GIVEN.now()),
        Inst.UNMAPPED: all_of(sig.INST_GIVEN.now(), negate(_MAPPED)),
        Inst.OWN: _OWN,
        Inst.OTHER: all_of(_MAPPED, negate(_OWN)),
    },
    ROLE: {
        Role.NOBODY: negate(_SEATED),
        Role.FOLLOWER: all_of(_SEATED, negate(_LEADER)),
        Role.LEADER: _LEADER,
    },
    PARKED: {
        Parked.ALL: _ALL_PARKED,
        Parked.SOME: all_of(negate(_ALL_PARKED), _SOME_PARKED),
        Parked.NOBODY: all_of(negate(_ALL_PARKED), negate(_SOME_PARKED)),
    },
    LEFT: {Left.SOMEBODY: _SOMEBODY_LEFT, Left.NOBODY: negate(_SOMEBODY_LEFT)},
    SUBJECT: {
        Subject.PENDING: _PENDING_SUBJECT,
        Subject.NEW: _NEW_SUBJECT,
        Subject.WAITING: all_of(_OLD_SUBJECT, _SUBJECT_WAITS),
        Subject.IDLE: all_of(_OLD_SUBJECT, negate(_SUBJECT_WAITS)),
    },
    LATE: {Late.DYNAMIC: _LATE_DYNAMIC, Late.STATIC: negate(_LATE_DYNAMIC)},
    STORED: {
        Stored.NOTHING: all_of(_NOT_STORED, negate(sig.OFFSETS.now())),
        Stored.OFFSETS: all_of(_NOT_STORED, sig.OFFSETS.now()),
        Stored.STABLE: _STORED_STABLE,
        Stored.EMPTY: all_of(negate(_NOT_STORED), negate(_STORED_STABLE)),
    },
    MEMBERSHIP: {
        Membership.NONE: negate(_MEMBER),
        Membership.DYNAMIC: all_of(_MEMBER, negate(sig.is_static(sig.MID))),
        Membership.STATIC: all_of(_MEMBER, sig.is_static(sig.MID)),
    },
    SYNCING_STATE: {state: is_now(STATE, state) for state in SYNCING_STATE.domain},
}
"""The meaning of each value of these features; the others, STATE among them, stay features."""

_WITHOUT_MEMBERS = STATE.among(GroupState.ABSENT, GroupState.EMPTY, GroupState.DEAD)
_WITHOUT_ANYONE = STATE.among(GroupState.ABSENT, GroupState.DEAD)
_IS_MEMBER = MID.among(Mid.MEMBER)
_IN_SEAT = expr.any_of(_IS_MEMBER, expr.all_of(MID.among(Mid.EMPTY), INST.among(Inst.OTHER)))
_VOTES = expr.all_of(
    MID.among(Mid.EMPTY),
    INST.among(Inst.OTHER),
    STATE.among(GroupState.STABLE),
    OFFER.among(Offer.SUPPORTED),
)

FEASIBLE: tuple[Expr, ...] = (
    never_beside(_WITHOUT_MEMBERS, _IS_MEMBER),
    never_beside(_WITHOUT_MEMBERS, INST.among(Inst.OWN, Inst.OTHER)),
    never_beside(_WITHOUT_ANYONE, MID.among(Mid.PENDING)),
    never_beside(INST.among(Inst.OWN), expr.negate(_IS_MEMBER)),
    exactly(ROLE.among(Role.NOBODY), expr.negate(_IN_SEAT)),
    exactly(SUBSCRIPTION.among(Change.MEANINGLESS), expr.negate(_IS_MEMBER)),
    exactly(SELECTION.among(Change.MEANINGLESS), expr.negate(_VOTES)),
    never_beside(_WITHOUT_ANYONE, SUBJECT.among(Subject.PENDING)),
    never_beside(SUBJECT.among(Subject.NEW), expr.negate(STATE.among(GroupState.PREPARING))),
    never_beside(_WITHOUT_MEMBERS, SUBJECT.among(Subject.WAITING, Subject.IDLE)),
    never_beside(_WITHOUT_MEMBERS, ROOM.among(Room.FULL)),
    never_beside(RECORD.among(Record.TOO_LARGE), ROLE.among(Role.NOBODY)),
    never_beside(RECORD.among(Record.TOO_LARGE), expr.negate(SELECTION.among(Change.UNCHANGED))),
    never_beside(
        STATE.among(GroupState.ABSENT), GENERATION.among(Generation.BEFORE, Generation.EQUAL)
    ),
    never_beside(LEFT.among(Left.NOBODY), PARKED.among(Parked.SOME)),
    never_beside(_WITHOUT_MEMBERS, CONSUMERS.among(False)),
    never_beside(_WITHOUT_MEMBERS, SUBSCRIBED.among(True)),
    never_beside(SUBSCRIBED.among(True), CONSUMERS.among(False)),
    never_beside(REMAINING.among(True), expr.negate(STATE.among(GroupState.EMPTY))),
)
"""Values that can occur together; each applies to tables that have all its features."""

ROOM_MEANS = implies(
    all_of(is_now(ROOM, Room.FULL), is_now(STATE, GroupState.COMPLETING, GroupState.STABLE)),
    negate(_SEATED),
)
"""A full group accepts its own members: no member is refused for a seat that it has."""

DELAY_MEANS = all_of(
    implies(sig.DELAYED.now(), is_now(DELAY, Delay.EXTENDABLE, Delay.LAST)),
    implies(negate(sig.DELAYED.now()), is_now(DELAY, Delay.NONE)),
)


def can_trigger(guard: Expr, trigger: Trigger) -> bool:
    """Return True if a check of the join phase for this reason can meet the guard."""
    return partly(guard, lambda f, values: trigger in values if f is TRIGGER else None) is not False


def _beside(known: frozenset[Feature]) -> Iterator[Formula]:
    if GROUP_ID in known:
        yield negate(is_now(GROUP_ID, GroupId.NULL))  # no version has room for it
    if ROOM in known:
        yield ROOM_MEANS
    if DELAY in known:
        yield DELAY_MEANS


GUARDS = Guards(MEANINGS, FEASIBLE, _beside, frozenset({STATE}))
"""The guards of the classic protocol as formulas."""
