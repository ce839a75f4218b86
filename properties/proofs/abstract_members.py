"""Abstract effects on who is a member: added, replaced, mapped, removed."""

from __future__ import annotations

from fencepost.model.table.effects import Do
from fencepost.model.table.vocabulary import STATE, GroupState
from fencepost.properties.logic.logic import (
    TRUE,
    Formula,
    Term,
    all_of,
    an_id,
    any_of,
    exists,
    implies,
    is_now,
    negate,
    same,
)
from fencepost.properties.logic.signature import (
    CALLER,
    FRESH,
    HOLDS,
    INST,
    LEADS,
    MEMBER,
    MID,
    NEW,
    OWES,
    PARKED,
    PENDING,
    SEAT,
    SESSION,
    SYNC_TIMER,
    SYNCING,
    I,
    X,
    Y,
    is_static,
)
from fencepost.properties.proofs.abstract_effect import (
    AbstractEffect,
    Becomes,
    Choice,
    Moves,
    becomes,
)

CHOSEN = Term("the elected id", X.sort, fixed=True)
W = an_id("w")
_OF_MEMBERS = (PARKED, SYNCING, NEW, OWES)


def awake(condition: Formula) -> Moves:
    """Where the condition holds, make a group that is absent exist, Empty."""
    return Moves(STATE, ((GroupState.EMPTY, all_of(is_now(STATE, GroupState.ABSENT), condition)),))


AWAKE = awake(TRUE)
"""Whatever is done to a group that is absent makes it exist, Empty."""


def _caller(who: Formula) -> Becomes:
    return becomes(CALLER, X, who)


def _added(new: Term, *, static: bool) -> AbstractEffect:
    """Adds a member under this id; one with the same id is replaced."""
    is_new = same(X, new)
    seat = all_of(SEAT.now(X, I), negate(is_new))
    holds = HOLDS.now(I, X)
    if static:
        seat = any_of(seat, all_of(is_new, same(I, INST)))
        holds = any_of(all_of(holds, negate(same(I, INST))), all_of(same(I, INST), is_new))
    waiting = tuple(
        becomes(relation, X, all_of(relation.now(X), negate(is_new)))
        for relation in (PARKED, SYNCING, OWES)
    )
    return AbstractEffect(
        (
            AWAKE,
            becomes(MEMBER, X, any_of(MEMBER.now(X), is_new)),
            becomes(SEAT, X, I, seat),
            becomes(HOLDS, I, X, holds),
            becomes(
                LEADS, X, any_of(LEADS.now(X), all_of(is_new, negate(exists(Y, LEADS.now(Y)))))
            ),
            becomes(NEW, X, any_of(NEW.now(X), is_new)),
            becomes(SESSION, X, any_of(SESSION.now(X), is_new)),
            *waiting,
            _caller(is_new),
        ),
        leaves_out="client id, timeouts, protocols; that somebody came during the initial delay",
    )


def _replaced(new: Term) -> AbstractEffect:
    """The holder of the instance is removed; the new id gets its seat and lead, nothing parked."""
    is_new = same(X, new)
    old = HOLDS.now(INST, X)
    taken_over = exists(Y, all_of(HOLDS.now(INST, Y), LEADS.now(Y)))
    old_seat = exists(Y, all_of(HOLDS.now(INST, Y), SEAT.now(Y, I)))
    waiting = tuple(
        becomes(relation, X, all_of(relation.now(X), negate(old), negate(is_new)))
        for relation in _OF_MEMBERS
    )
    debtor = exists(Y, all_of(OWES.now(Y), negate(HOLDS.now(INST, Y)), negate(same(Y, new))))
    return AbstractEffect(
        (
            becomes(MEMBER, X, any_of(all_of(MEMBER.now(X), negate(old)), is_new)),
            becomes(
                SEAT,
                X,
                I,
                any_of(
                    all_of(SEAT.now(X, I), negate(old), negate(is_new)), all_of(is_new, old_seat)
                ),
            ),
            becomes(
                HOLDS,
                I,
                X,
                any_of(
                    all_of(HOLDS.now(I, X), negate(old), negate(same(I, INST))),
                    all_of(same(I, INST), is_new),
                ),
            ),
            becomes(
                LEADS, X, any_of(all_of(LEADS.now(X), negate(old)), all_of(is_new, taken_over))
            ),
            becomes(SESSION, X, any_of(all_of(SESSION.now(X), negate(old)), is_new)),
            becomes(SYNC_TIMER, all_of(SYNC_TIMER.now(), debtor)),
            *waiting,
            _caller(is_new),
        ),
        leaves_out="protocols and timeouts of the new process; the assignment, which is kept",
    )


def removed(gone: Formula, gone_w: Formula) -> AbstractEffect:
    """Removes every member that is `gone` (said of X, and again of W); another leads if needed."""
    stays = all_of(MEMBER.now(X), negate(gone))
    somebody_stays = exists(W, all_of(MEMBER.now(W), negate(gone_w)))
    bereft = exists(W, all_of(LEADS.now(W), gone_w))
    kept = tuple(
        becomes(relation, X, all_of(relation.now(X), negate(gone)))
        for relation in (MEMBER, SESSION, *_OF_MEMBERS)
    )
    chosen_stays = exists(X, all_of(same(X, CHOSEN), stays))
    return AbstractEffect(
        (
            *kept,
            becomes(SEAT, X, I, all_of(SEAT.now(X, I), negate(gone))),
            becomes(HOLDS, I, X, all_of(HOLDS.now(I, X), negate(gone))),
            becomes(
                LEADS,
                X,
                any_of(all_of(LEADS.now(X), negate(gone)), all_of(bereft, stays, same(X, CHOSEN))),
            ),
        ),
        choices=(Choice(CHOSEN, implies(somebody_stays, chosen_stays)),),
        leaves_out="the answers to parked requests of who goes",
    )


def _caller_is_member(term: Term) -> Formula:
    return all_of(CALLER.now(term), MEMBER.now(term))


def _absent_dynamic(term: Term) -> Formula:
    return all_of(MEMBER.now(term), negate(PARKED.now(term)), negate(is_static(term)))


def _late_dynamic(term: Term) -> Formula:
    return all_of(OWES.now(term), negate(is_static(term)))


_WITHOUT_CALLER_PENDING = (
    becomes(PENDING, X, all_of(PENDING.now(X), negate(CALLER.now(X)))),
    becomes(SESSION, X, all_of(SESSION.now(X), negate(CALLER.now(X)))),
)
_ADMITTED = _added(MID, static=False)

MEMBER_EFFECTS: dict[Do, AbstractEffect] = {
    Do.HAND_OUT_PENDING: AbstractEffect(
        (
            AWAKE,
            becomes(PENDING, X, any_of(PENDING.now(X), same(X, FRESH))),
            becomes(SESSION, X, any_of(SESSION.now(X), same(X, FRESH))),
            _caller(same(X, FRESH)),
        )
    ),
    Do.HAND_OUT_HOLDER: AbstractEffect((_caller(HOLDS.now(INST, X)),)),
    Do.ADD_DYNAMIC: _added(FRESH, static=False),
    Do.ADMIT_PENDING: AbstractEffect(
        (
            *_ADMITTED.changes,
            becomes(PENDING, X, all_of(PENDING.now(X), negate(same(X, MID)))),
        ),
        leaves_out=_ADMITTED.leaves_out,
    ),
    Do.ADD_STATIC: _added(FRESH, static=True),
    Do.ADD_STATIC_AS_SENT: _added(MID, static=True),
    Do.REPLACE_HOLDER: _replaced(FRESH),
    Do.REPLACE_HOLDER_AS_SENT: _replaced(MID),
    Do.KEEP_HOLDER: AbstractEffect(
        (becomes(SESSION, X, any_of(SESSION.now(X), HOLDS.now(INST, X))),)
    ),
    Do.MAP_CALLER: AbstractEffect(
        (
            becomes(
                SEAT,
                X,
                I,
                any_of(
                    all_of(SEAT.now(X, I), negate(CALLER.now(X))),
                    all_of(CALLER.now(X), same(I, INST)),
                ),
            ),
            becomes(
                HOLDS,
                I,
                X,
                any_of(
                    all_of(HOLDS.now(I, X), negate(same(I, INST))),
                    all_of(same(I, INST), CALLER.now(X)),
                ),
            ),
        )
    ),
    Do.SEAT_IDLE: AbstractEffect((becomes(NEW, X, all_of(NEW.now(X), negate(CALLER.now(X)))),)),
    Do.UPDATE_MEMBER: AbstractEffect(leaves_out="protocols and timeouts"),
    Do.REMOVE_CALLER: removed(_caller_is_member(X), _caller_is_member(W)),
    Do.REMOVE_HOLDER: removed(HOLDS.now(INST, X), HOLDS.now(INST, W)),
    Do.REMOVE_MEMBER: removed(CALLER.now(X), CALLER.now(W)),
    Do.REMOVE_PENDING: AbstractEffect(_WITHOUT_CALLER_PENDING),
    Do.REMOVE_UNSYNCED: removed(OWES.now(X), OWES.now(W)),
    Do.REMOVE_UNSYNCED_DYNAMIC: removed(_late_dynamic(X), _late_dynamic(W)),
    Do.REMOVE_ABSENT_DYNAMIC: removed(_absent_dynamic(X), _absent_dynamic(W)),
}
