"""Define the effect of each verb of the classic protocol on an abstract group, as data.

The first part is about membership: members are added, replaced, mapped, removed; the second about
the rebalance and the stored group.  EFFECTS has the effects of all verbs.
"""

from __future__ import annotations

from enum import Enum

from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import STATE, GroupState
from fencepost.properties.logic.classic_signature import (
    CALLER,
    DEFERRED,
    DELAYED,
    FRESH,
    GENERATION,
    HOLDS,
    INST,
    JOIN_TIMER,
    LEADS,
    MEMBER,
    MID,
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
    SUBJECT,
    SYNC_TIMER,
    SYNCING,
    I,
    X,
    Y,
    is_static,
)
from fencepost.properties.logic.logic import (
    FALSE,
    TRUE,
    Formula,
    Relation,
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
from fencepost.properties.proofs.theory import (
    NOTHING,
    AbstractEffect,
    Becomes,
    Choice,
    Counts,
    Effects,
    Moves,
    becomes,
)

CHOSEN = Term("the elected id", X.sort, fixed=True)
W = an_id("w")
_OF_MEMBERS = (PARKED, SYNCING, NEW, OWES)


def awake(condition: Formula) -> Moves:
    """Make a group that is absent exist, Empty, where the condition holds."""
    return Moves(STATE, ((GroupState.EMPTY, all_of(is_now(STATE, GroupState.ABSENT), condition)),))


AWAKE = awake(TRUE)
"""Any change of a group that is absent makes it exist, Empty."""


def _caller(who: Formula) -> Becomes:
    return becomes(CALLER, X, who)


def _added(new: Term, *, static: bool) -> AbstractEffect:
    """Add a member under this id; one with the same id is replaced."""
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
    """Remove the holder of the instance; the new id gets its seat and lead, nothing parked."""
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
    """Remove every member that is `gone` (of X, and again of W); another leads if needed."""
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

MEMBER_EFFECTS: dict[Enum, AbstractEffect] = {
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
    Do.REPLACE_ID: _replaced(FRESH),
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


_COMPLETING = is_now(STATE, GroupState.COMPLETING)
_STORED = (
    (STORED_MEMBER, MEMBER, (X,)),
    (STORED_SEAT, SEAT, (X, I)),
    (STORED_HOLDS, HOLDS, (I, X)),
    (STORED_LEADS, LEADS, (X,)),
)
_PASSING = (PENDING, PARKED, SYNCING, NEW, OWES)
_TIMERS = (JOIN_TIMER, SYNC_TIMER, DELAYED)
MAYBE = Term("a coin", X.sort, fixed=True)
"""An id that stands for yes or no: yes if it is the fresh one."""
_WAKES = Term("another coin", X.sort, fixed=True)


def _to(state: GroupState) -> Moves:
    return Moves(STATE, ((state, TRUE),))


def _off(*relations: Relation) -> tuple[Becomes, ...]:
    return tuple(becomes(relation, FALSE) for relation in relations)


def _nobody(*relations: Relation) -> tuple[Becomes, ...]:
    return tuple(becomes(relation, X, FALSE) for relation in relations)


def _copied(source: Relation, target: Relation, terms: tuple[Term, ...]) -> Becomes:
    return becomes(target, *terms, source.now(*terms))


_CALLER_ALIVE = becomes(SESSION, X, any_of(SESSION.now(X), CALLER.now(X)))
_PERSIST = AbstractEffect(
    (
        *(_copied(live, stored, terms) for stored, live, terms in _STORED),
        Moves(STORED_STATE, tuple((state, is_now(STATE, state)) for state in GroupState)),
        Counts(STORED_GENERATION, GENERATION),
    )
)
_BECOME_EMPTY = AbstractEffect(
    (
        _to(GroupState.EMPTY),
        *_off(*_TIMERS),
        Counts(GENERATION, GENERATION, 1),
        *_nobody(LEADS, STORED_LEADS),
        *(_copied(live, stored, terms) for stored, live, terms in _STORED if live is not LEADS),
        Moves(STORED_STATE, ((GroupState.EMPTY, TRUE),)),
        Counts(STORED_GENERATION, GENERATION, 1),
    )
)
_CANDIDATE = all_of(MEMBER.now(X), PARKED.now(X))
_LEADER_JOINED = exists(W, all_of(LEADS.now(W), MEMBER.now(W), PARKED.now(W)))
_SOMEBODY_JOINED = exists(W, all_of(MEMBER.now(W), PARKED.now(W)))
_COMPLETE_JOIN = AbstractEffect(
    (
        _to(GroupState.COMPLETING),
        Counts(GENERATION, GENERATION, 1),
        becomes(
            LEADS,
            X,
            any_of(
                all_of(LEADS.now(X), any_of(_LEADER_JOINED, negate(_SOMEBODY_JOINED))),
                all_of(negate(_LEADER_JOINED), _CANDIDATE, same(X, CHOSEN)),
            ),
        ),
        becomes(OWES, X, _CANDIDATE),
        becomes(SESSION, X, any_of(SESSION.now(X), MEMBER.now(X))),
        *_nobody(PARKED, NEW),
        *_off(DELAYED, JOIN_TIMER),
    ),
    choices=(
        Choice(CHOSEN, implies(_SOMEBODY_JOINED, exists(X, all_of(same(X, CHOSEN), _CANDIDATE)))),
    ),
    leaves_out="the vote on the protocol, the answers to parked joins",
)
_REBALANCE = AbstractEffect(
    (
        _to(GroupState.PREPARING),
        becomes(SYNCING, X, all_of(SYNCING.now(X), negate(_COMPLETING))),
        becomes(SESSION, X, any_of(SESSION.now(X), all_of(_COMPLETING, SYNCING.now(X)))),
        *_nobody(OWES),
        becomes(SYNC_TIMER, FALSE),
        becomes(JOIN_TIMER, TRUE),
        becomes(DELAYED, is_now(STATE, GroupState.EMPTY)),
    ),
    condition=negate(is_now(STATE, GroupState.PREPARING)),
    leaves_out="the answers to parked syncs, assignments, how long the timer runs",
)
_IS_DUE = same(MAYBE, FRESH)
_BY_SIZE = AbstractEffect(
    (
        Moves(STATE, ((GroupState.PREPARING, _IS_DUE),)),
        becomes(JOIN_TIMER, any_of(JOIN_TIMER.now(), _IS_DUE)),
        becomes(SYNC_TIMER, all_of(SYNC_TIMER.now(), negate(_IS_DUE), exists(Y, OWES.now(Y)))),
        becomes(OWES, X, all_of(OWES.now(X), negate(_IS_DUE))),
        Moves(STORED_STATE, ((GroupState.STABLE, negate(_IS_DUE)),)),
        *(
            becomes(
                stored,
                *terms,
                any_of(
                    all_of(_IS_DUE, stored.now(*terms)), all_of(negate(_IS_DUE), live.now(*terms))
                ),
            )
            for stored, live, terms in _STORED
        ),
    ),
    choices=(Choice(MAYBE, any_of(exists(X, MEMBER.now(X)), _IS_DUE)),),
    leaves_out="the sizes: it rebalances or stores; what a stable group stores has its generation",
)
_NOTE_SYNC = AbstractEffect(
    (
        becomes(OWES, X, all_of(OWES.now(X), negate(CALLER.now(X)))),
        becomes(
            SYNC_TIMER,
            all_of(SYNC_TIMER.now(), exists(Y, all_of(OWES.now(Y), negate(CALLER.now(Y))))),
        ),
    )
)
_FORGET = AbstractEffect(
    (
        _to(GroupState.ABSENT),
        *_nobody(MEMBER, LEADS, SESSION, STORED_MEMBER, STORED_LEADS, *_PASSING),
        becomes(SEAT, X, I, FALSE),
        becomes(HOLDS, I, X, FALSE),
        becomes(STORED_SEAT, X, I, FALSE),
        becomes(STORED_HOLDS, I, X, FALSE),
        Moves(STORED_STATE, ((GroupState.ABSENT, TRUE),)),
        Counts(GENERATION, None),
        Counts(STORED_GENERATION, None),
        *_off(OFFSETS, *_TIMERS),
    )
)
_RELOAD = AbstractEffect(
    (
        Moves(
            STATE,
            (
                (GroupState.EMPTY, is_now(STORED_STATE, GroupState.ABSENT)),
                *((state, is_now(STORED_STATE, state)) for state in GroupState),
            ),
        ),
        Counts(GENERATION, STORED_GENERATION),
        *(_copied(stored, live, terms) for stored, live, terms in _STORED),
        becomes(SESSION, X, STORED_MEMBER.now(X)),
        *_nobody(*_PASSING),
        *_off(*_TIMERS),
    ),
    leaves_out="protocols but the selected one, how long the timers run",
)

EFFECTS: Effects = {
    **dict.fromkeys(Do, NOTHING),
    **MEMBER_EFFECTS,
    Do.REBALANCE: _REBALANCE,
    Do.REBALANCE_FROM_TARGET: _BY_SIZE,
    Do.REBALANCE_UP_TO_TARGET: _BY_SIZE,
    Do.REBALANCE_BELOW_TARGET: _BY_SIZE,
    Do.EXTEND_DELAY: AbstractEffect((becomes(JOIN_TIMER, TRUE),), leaves_out="how long it runs"),
    Do.POSTPONE: AbstractEffect((becomes(DELAYED, FALSE), becomes(JOIN_TIMER, TRUE))),
    Do.COMPLETE_JOIN: _COMPLETE_JOIN,
    Do.START_SYNC_TIMER: AbstractEffect((becomes(SYNC_TIMER, TRUE),)),
    Do.BECOME_EMPTY: _BECOME_EMPTY,
    Do.PARK_JOIN: AbstractEffect((becomes(PARKED, X, any_of(PARKED.now(X), CALLER.now(X))),)),
    Do.PARK_SYNC: AbstractEffect((becomes(SYNCING, X, any_of(SYNCING.now(X), CALLER.now(X))),)),
    Do.NOTE_SYNC: _NOTE_SYNC,
    Do.ASSIGN: AbstractEffect((_to(GroupState.STABLE),), leaves_out="the assignments"),
    **dict.fromkeys(
        (Do.ANSWER_SYNCS, Do.REFUSE_SYNCS),
        AbstractEffect(
            (becomes(SESSION, X, any_of(SESSION.now(X), SYNCING.now(X))), *_nobody(SYNCING))
        ),
    ),
    Do.RESTART_SESSION: AbstractEffect((_CALLER_ALIVE,)),
    Do.MAYBE_RESTART_SESSION: AbstractEffect(
        (becomes(SESSION, X, any_of(SESSION.now(X), all_of(CALLER.now(X), same(MAYBE, FRESH)))),),
        choices=(Choice(MAYBE, TRUE),),
    ),
    Do.CREATE_GROUP: AbstractEffect(
        (awake(same(MAYBE, FRESH)),),
        choices=(Choice(MAYBE, TRUE),),
        leaves_out="a join that is refused always makes the group, a commit may",
    ),
    Do.STORE_OFFSETS: AbstractEffect(
        (
            awake(any_of(same(MAYBE, FRESH), same(_WAKES, FRESH))),
            becomes(OFFSETS, any_of(OFFSETS.now(), same(MAYBE, FRESH))),
        ),
        choices=(Choice(MAYBE, TRUE), Choice(_WAKES, TRUE)),
        leaves_out="the offsets themselves; a commit of nothing stores none, and may make a group",
    ),
    **dict.fromkeys(
        (Do.REMOVE_OFFSETS, Do.REMOVE_NAMED_OFFSETS, Do.REMOVE_EXPIRED_OFFSETS),
        AbstractEffect(
            (becomes(OFFSETS, all_of(OFFSETS.now(), same(MAYBE, FRESH))),),
            choices=(Choice(MAYBE, TRUE),),
            leaves_out="the offsets themselves; those of other topics are left",
        ),
    ),
    Do.PERSIST: _PERSIST,
    Do.FORGET: _FORGET,
    Do.RELOAD: _RELOAD,
}
"""The effect of every verb; those that aren't listed by name answer, and change nothing here."""

SESSION_FIRES = AbstractEffect(
    (becomes(SESSION, X, all_of(SESSION.now(X), negate(same(X, SUBJECT)))),)
)
JOIN_TIMER_FIRES = AbstractEffect(_off(JOIN_TIMER))
SYNC_TIMER_FIRES = AbstractEffect(_off(SYNC_TIMER))
DEFER = AbstractEffect((becomes(DEFERRED, TRUE),))
CATCH_UP = AbstractEffect((becomes(DEFERRED, FALSE),))
