"""Translate guards of the consumer protocol to formulas over the abstract group and request.

Subscriptions, assignors, versions and the like have no meaning here: each value may occur that
can occur beside the others (`fencepost.model.consumer.vocabulary.feasible`, as conditions).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from fencepost.model.consumer.vocabulary import (
    ASSIGNOR,
    CALLER,
    CHANGE,
    EPOCH,
    FIELDS,
    FIRST_EPOCH,
    HOLDER,
    INST,
    KIND,
    MEMBER_EPOCH,
    MID,
    OWNED,
    RECONCILED,
    STORED,
    SUBJECT,
    Assignor,
    Caller,
    Change,
    Epoch,
    Fields,
    Holder,
    Inst,
    Kind,
    MemberEpoch,
    Mid,
    Owned,
    Stored,
    Subject,
)
from fencepost.model.table import expr
from fencepost.model.table.expr import Expr, Feature
from fencepost.model.table.shared_features import GROUP_ID, ROOM, GroupId, Room
from fencepost.properties.logic import consumer_signature as sig
from fencepost.properties.logic.consumer_signature import SENT, ZERO, E, P, X
from fencepost.properties.logic.logic import (
    Formula,
    all_of,
    below,
    exists,
    for_all,
    iff,
    implies,
    is_now,
    negate,
)
from fencepost.properties.proofs.theory import Guards, exactly, never_beside

_SOMEBODY = sig.has_members()
_SIMPLE = all_of(sig.EXISTS.now(), negate(_SOMEBODY), sig.GROUP_AT.now(ZERO))
_MEMBER = all_of(sig.MID_GIVEN.now(), sig.MEMBER.now(sig.CALLER))
_RELEASED = sig.is_released(sig.CALLER)
_IS_HOLDER = sig.is_holder(X)
_HELD = exists(X, _IS_HOLDER)
_ENTERED = all_of(sig.INST_GIVEN.now(), exists(X, sig.HOLDS.now(sig.INST, X)))
_OWN = all_of(sig.INST_GIVEN.now(), _MEMBER, sig.HOLDS.now(sig.INST, sig.CALLER))
_RELEASED_HOLDER = exists(X, all_of(_IS_HOLDER, sig.is_released(X)))
_LIVE_HOLDER = all_of(_HELD, negate(_RELEASED_HOLDER))
_CURRENT = sig.AT.now(sig.CALLER, SENT)
_NEWER = exists(E, all_of(sig.AT.now(sig.CALLER, E), below(E, SENT)))
_OLDER = all_of(_MEMBER, negate(_CURRENT), negate(_NEWER))
_WITHIN = for_all(P, implies(sig.OWNED.now(P), all_of(_MEMBER, sig.ASSIGNED.now(sig.CALLER, P))))
_FIRST = all_of(
    _MEMBER,
    sig.PREVIOUS.now(sig.CALLER, ZERO),
    exists(E, all_of(sig.AT.now(sig.CALLER, E), below(ZERO, E))),
)
_RECONCILED = all_of(_MEMBER, sig.is_reconciled(sig.CALLER))

MEANINGS: Mapping[Feature, Mapping[Hashable, Formula]] = {
    KIND: {
        Kind.ABSENT: negate(sig.EXISTS.now()),
        Kind.SIMPLE: _SIMPLE,
        Kind.EMPTY: all_of(sig.EXISTS.now(), negate(_SOMEBODY), negate(sig.GROUP_AT.now(ZERO))),
        Kind.CONSUMER: all_of(sig.EXISTS.now(), _SOMEBODY),
    },
    MID: {
        Mid.EMPTY: negate(sig.MID_GIVEN.now()),
        Mid.MEMBER: _MEMBER,
        Mid.UNKNOWN: all_of(sig.MID_GIVEN.now(), negate(sig.MEMBER.now(sig.CALLER))),
    },
    INST: {
        Inst.NONE: negate(sig.INST_GIVEN.now()),
        Inst.UNMAPPED: all_of(sig.INST_GIVEN.now(), negate(_ENTERED)),
        Inst.OWN: _OWN,
        Inst.OTHER: all_of(_HELD, negate(_OWN)),
        Inst.DANGLING: all_of(_ENTERED, negate(_HELD)),
    },
    HOLDER: {
        Holder.NOBODY: negate(_HELD),
        Holder.LIVE: all_of(_LIVE_HOLDER, negate(sig.OF_CLASSIC.now())),
        Holder.RELEASED: _RELEASED_HOLDER,
        Holder.CLASSIC: all_of(_LIVE_HOLDER, sig.OF_CLASSIC.now()),
    },
    CALLER: {
        Caller.NOBODY: negate(_MEMBER),
        Caller.DYNAMIC: all_of(_MEMBER, negate(_RELEASED), negate(sig.is_static(sig.CALLER))),
        Caller.STATIC: all_of(_MEMBER, negate(_RELEASED), sig.is_static(sig.CALLER)),
        Caller.RELEASED: all_of(_MEMBER, _RELEASED),
    },
    RECONCILED: {True: _RECONCILED, False: negate(_RECONCILED)},
    EPOCH: {
        Epoch.MEANINGLESS: negate(_MEMBER),
        Epoch.CURRENT: all_of(_MEMBER, _CURRENT),
        Epoch.AFTER: all_of(_MEMBER, _NEWER),
        Epoch.PREVIOUS: all_of(_OLDER, sig.PREVIOUS.now(sig.CALLER, SENT)),
        Epoch.BEFORE: all_of(_OLDER, negate(sig.PREVIOUS.now(sig.CALLER, SENT))),
    },
    OWNED: {
        Owned.NULL: negate(sig.OWNED_GIVEN.now()),
        Owned.SUBSET: all_of(sig.OWNED_GIVEN.now(), _WITHIN),
        Owned.EXCESS: all_of(sig.OWNED_GIVEN.now(), negate(_WITHIN)),
    },
    SUBJECT: {Subject.LIVE: negate(_RELEASED), Subject.RELEASED: _RELEASED},
    STORED: {Stored.NOTHING: negate(sig.EXISTS.now()), Stored.GROUP: sig.EXISTS.now()},
    FIRST_EPOCH: {True: _FIRST, False: negate(_FIRST)},
}
"""The meaning of each value of these features; the others stay features."""

_MEMBERLESS = KIND.among(Kind.ABSENT, Kind.SIMPLE, Kind.EMPTY)
_IS_MEMBER = MID.among(Mid.MEMBER)
_ALONE = INST.among(Inst.NONE, Inst.UNMAPPED)
_MINE = expr.all_of(_IS_MEMBER, expr.any_of(_ALONE, INST.among(Inst.OWN)))
_THEIRS = expr.all_of(INST.among(Inst.OTHER), HOLDER.among(Holder.RELEASED, Holder.CLASSIC))
_IS_NEW = expr.all_of(MID.among(Mid.EMPTY, Mid.UNKNOWN), _ALONE)
_OF_NOBODY = MEMBER_EPOCH.among(MemberEpoch.NEGATIVE, MemberEpoch.BELOW, MemberEpoch.POSITIVE)

FEASIBLE: tuple[Expr, ...] = (
    never_beside(_MEMBERLESS, _IS_MEMBER),
    never_beside(_MEMBERLESS, INST.among(Inst.OWN, Inst.OTHER)),
    never_beside(_MEMBERLESS, ROOM.among(Room.FULL)),
    never_beside(KIND.among(Kind.ABSENT, Kind.SIMPLE), INST.among(Inst.DANGLING)),
    never_beside(INST.among(Inst.OWN), expr.negate(_IS_MEMBER)),
    exactly(CALLER.among(Caller.NOBODY), expr.negate(_IS_MEMBER)),
    exactly(HOLDER.among(Holder.NOBODY), expr.negate(INST.among(Inst.OWN, Inst.OTHER))),
    expr.any_of(
        expr.negate(INST.among(Inst.OWN)),
        exactly(HOLDER.among(Holder.RELEASED), CALLER.among(Caller.RELEASED)),
    ),
    never_beside(RECONCILED.among(True), CALLER.among(Caller.NOBODY, Caller.RELEASED)),
    exactly(_OF_NOBODY, expr.negate(_IS_MEMBER)),
    exactly(EPOCH.among(Epoch.MEANINGLESS), expr.negate(_IS_MEMBER)),
)
"""Values that can occur together; each applies to tables that have all its features."""


def _beside(known: frozenset[Feature]) -> Iterator[Formula]:
    if GROUP_ID in known:
        yield negate(is_now(GROUP_ID, GroupId.NULL))  # no version has room for it
    if FIELDS in known:
        owning = is_now(FIELDS, Fields.OWNING)
        owns_nothing = negate(exists(P, sig.OWNED.now(P)))
        yield implies(negate(owning), all_of(sig.OWNED_GIVEN.now(), owns_nothing))
    if EPOCH in known:
        yield below(ZERO, SENT)
    if CHANGE in known:
        yield from _of_change(is_join=HOLDER in known)


def _of_change(*, is_join: bool) -> Iterator[Formula]:
    """Yield when there is a subscription to compare with: the member's, or none of a new one."""
    compared = expr.any_of(_MINE, _THEIRS) if is_join else _MINE
    is_compared = GUARDS.formula(compared)
    either = GUARDS.formula(expr.any_of(compared, _IS_NEW)) if is_join else is_compared
    yield iff(is_now(CHANGE, Change.MEANINGLESS), negate(either))
    yield implies(is_now(ASSIGNOR, Assignor.ANOTHER), is_compared)


GUARDS = Guards(MEANINGS, FEASIBLE, _beside)
"""The guards of the consumer protocol as formulas."""
