"""Abstract effects on the rebalance and on what is stored; and the effects of all verbs."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.table.effects import Do
from fencepost.model.table.vocabulary import STATE, GroupState
from fencepost.properties.logic.logic import (
    FALSE,
    TRUE,
    Relation,
    Term,
    all_of,
    any_of,
    exists,
    implies,
    is_now,
    negate,
    same,
)
from fencepost.properties.logic.signature import (
    CALLER,
    DEFERRED,
    DELAYED,
    FRESH,
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
    SUBJECT,
    SYNC_TIMER,
    SYNCING,
    I,
    X,
    Y,
)
from fencepost.properties.proofs.abstract_effect import (
    NOTHING,
    AbstractEffect,
    Becomes,
    Choice,
    Counts,
    Moves,
    becomes,
)
from fencepost.properties.proofs.abstract_members import CHOSEN, MEMBER_EFFECTS, W, awake

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

EFFECTS: Mapping[Do, AbstractEffect] = {
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
    Do.REMOVE_OFFSETS: AbstractEffect(
        (becomes(OFFSETS, all_of(OFFSETS.now(), same(MAYBE, FRESH))),),
        choices=(Choice(MAYBE, TRUE),),
        leaves_out="the offsets themselves; those of other topics are left",
    ),
    Do.PERSIST: _PERSIST,
    Do.FORGET: _FORGET,
    Do.RELOAD: _RELOAD,
}
"""What every verb does; those that aren't listed by name answer, and change nothing here."""

SESSION_FIRES = AbstractEffect(
    (becomes(SESSION, X, all_of(SESSION.now(X), negate(same(X, SUBJECT)))),)
)
JOIN_TIMER_FIRES = AbstractEffect(_off(JOIN_TIMER))
SYNC_TIMER_FIRES = AbstractEffect(_off(SYNC_TIMER))
DEFER = AbstractEffect((becomes(DEFERRED, TRUE),))
CATCH_UP = AbstractEffect((becomes(DEFERRED, FALSE),))
