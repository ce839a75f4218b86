"""Define the effects of mutants on an abstract group, so that proofs can find them.

An effect that isn't listed for its mutant is not covered, and the proof says so.  Several change
nothing here: they get bytes, answers or deadlines wrong, which the abstraction leaves out.  The
bridge compares each entry with the mutant's own steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import STATE, GroupState
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import MUTANT
from fencepost.properties.logic.classic_signature import (
    CALLER,
    DELAYED,
    EVENT,
    FRESH,
    GENERATION,
    HOLDS,
    INST,
    JOIN_TIMER,
    LEADS,
    MEMBER,
    NEW,
    OFFSETS,
    PARKED,
    PENDING,
    SEAT,
    SESSION,
    SESSION_END,
    STORED_GENERATION,
    STORED_HOLDS,
    STORED_LEADS,
    STORED_MEMBER,
    STORED_SEAT,
    STORED_STATE,
    SYNC_TIMER,
    I,
    X,
    is_static,
)
from fencepost.properties.logic.logic import (
    FALSE,
    TRUE,
    Formula,
    Term,
    all_of,
    any_of,
    exists,
    is_now,
    negate,
    same,
)
from fencepost.properties.mutants.consumer_abstract_mutants import KNOWN as OF_CONSUMERS
from fencepost.properties.proofs.abstract_effects import CHOSEN, EFFECTS, MAYBE, W, removed
from fencepost.properties.proofs.theory import (
    AbstractEffect,
    Becomes,
    Choice,
    Counts,
    Effects,
    Moves,
    becomes,
)

_CANDIDATE = all_of(MEMBER.now(X), PARKED.now(X))
_SOMEBODY_JOINED = exists(W, all_of(MEMBER.now(W), PARKED.now(W)))
_STORED_NAMES = (
    STORED_STATE.name,
    STORED_GENERATION.name,
    *(r.name for r in (STORED_MEMBER, STORED_SEAT, STORED_HOLDS, STORED_LEADS)),
)


def _as_ever(*verbs: Do) -> Effects:
    """Keep the abstract effect: the abstraction leaves the error out."""
    return {do: EFFECTS[do] for do in verbs}


def _but(do: Do, *changes: Becomes | Counts | Moves) -> Effects:
    """Take the own abstract effect, with these changes in place of its own."""
    names = frozenset().union(*(AbstractEffect((change,)).touched() for change in changes))
    kept = EFFECTS[do].without(*names)
    return {do: replace(kept, changes=(*kept.changes, *changes))}


def _without(do: Do, *names: str) -> Effects:
    return {do: EFFECTS[do].without(*names)}


def _gone_caller(term: Term) -> Formula:
    return CALLER.now(term)


def _gone_holder(term: Term) -> Formula:
    return HOLDS.now(INST, term)


def _absent(term: Term) -> Formula:
    return all_of(MEMBER.now(term), negate(PARKED.now(term)))


_GONE = ((Do.REMOVE_MEMBER, _gone_caller(X)), (Do.REMOVE_HOLDER, _gone_holder(X)))
_NOBODY_LEADS: Effects = {
    do: effect
    for do, gone in _GONE
    for effect in _but(do, becomes(LEADS, X, all_of(LEADS.now(X), negate(gone)))).values()
}
_MAPPED_STILL: Effects = {
    do: replace(effect, choices=(*effect.choices, Choice(MAYBE, TRUE)))
    for do, gone in _GONE
    for effect in _but(
        do,
        becomes(HOLDS, I, X, all_of(HOLDS.now(I, X), any_of(negate(gone), same(MAYBE, FRESH)))),
    ).values()
}
_SPARED = all_of(
    is_now(EVENT, SESSION_END), exists(X, all_of(CALLER.now(X), MEMBER.now(X), is_static(X)))
)
_REPLACED = EFFECTS[Do.REPLACE_HOLDER].without(
    *(r.name for r in (MEMBER, SEAT, HOLDS, LEADS, CALLER, SESSION))
)
_OLD = HOLDS.now(INST, X)

KNOWN: Mapping[str, Effects] = {
    "kafka-9752": _but(
        Do.COMPLETE_JOIN,
        becomes(SESSION, X, all_of(any_of(SESSION.now(X), MEMBER.now(X)), negate(NEW.now(X)))),
    ),
    "kafka-13435": _as_ever(Do.ANSWER_RESTARTED),
    "kfake-everybody-leads": {**_NOBODY_LEADS, **_as_ever(Do.COMPLETE_JOIN)},
    "newcomer-leads": _NOBODY_LEADS,
    "tansu-same-id": {
        Do.REPLACE_HOLDER: replace(
            _REPLACED,
            changes=(
                *_REPLACED.changes,
                becomes(CALLER, X, _OLD),
                becomes(SESSION, X, any_of(SESSION.now(X), _OLD)),
            ),
        )
    },
    "crabka-static-never-expires": {
        do: replace(EFFECTS[do], condition=all_of(EFFECTS[do].condition, negate(_SPARED)))
        for do in (Do.REMOVE_MEMBER, Do.REBALANCE)
    },
    "redpanda-keeps-timeouts": _as_ever(Do.REPLACE_HOLDER),
    "seaweedfs-evicted-entry": {**_MAPPED_STILL, **_as_ever(Do.REPLACE_HOLDER, Do.REMOVE_HOLDER)},
    "leave-keeps-mapping": {**_MAPPED_STILL, **_as_ever(Do.REPLACE_HOLDER)},
    "replace-keeps-old-mapping": {
        **_without(Do.REPLACE_HOLDER, HOLDS.name),
        **_as_ever(Do.REMOVE_HOLDER),
    },
    "leaver-waits-for-ever": _as_ever(Do.REMOVE_MEMBER, Do.REMOVE_HOLDER),
    "absent-static-removed": {Do.REMOVE_ABSENT_DYNAMIC: removed(_absent(X), _absent(W))},
    "no-initial-delay": _but(Do.REBALANCE, becomes(DELAYED, FALSE)),
    "initial-delay-without-end": _as_ever(Do.EXTEND_DELAY),
    "join-timer-lost": _but(Do.REBALANCE, becomes(JOIN_TIMER, is_now(STATE, GroupState.EMPTY))),
    "least-rebalance-timeout": _as_ever(Do.REBALANCE),
    "generation-not-counted": _but(Do.COMPLETE_JOIN, Counts(GENERATION, GENERATION)),
    "leader-not-kept": _but(
        Do.COMPLETE_JOIN,
        becomes(
            LEADS,
            X,
            any_of(
                all_of(_CANDIDATE, same(X, CHOSEN)),
                all_of(negate(_SOMEBODY_JOINED), LEADS.now(X)),
            ),
        ),
    ),
    "leader-without-members": _as_ever(Do.COMPLETE_JOIN),
    "members-told-to-all": _as_ever(Do.COMPLETE_JOIN),
    "vote-by-name": _as_ever(Do.COMPLETE_JOIN),
    "waiting-syncs-forgotten": _as_ever(Do.REBALANCE),
    "left-out-keep-assignment": _as_ever(Do.ASSIGN),
    "late-sync-empty": _as_ever(Do.ANSWER_ASSIGNMENT),
    "waiting-followers-forgotten": _as_ever(Do.ANSWER_SYNCS),
    "sync-keeps-no-session": _as_ever(Do.ANSWER_SYNCS),
    "new-member-expires-early": _as_ever(Do.ADD_STATIC, Do.ADD_DYNAMIC, Do.ADMIT_PENDING),
    "emptiness-not-stored": _without(Do.BECOME_EMPTY, *_STORED_NAMES),
    "failover-forgets-sessions": _but(Do.RELOAD, becomes(SESSION, X, FALSE)),
    "failover-forgets-map": _but(Do.RELOAD, becomes(HOLDS, I, X, FALSE)),
    "failover-forgets-offsets": _but(Do.RELOAD, becomes(OFFSETS, FALSE)),
    "failover-forgets-generation": _but(Do.RELOAD, Counts(GENERATION, None)),
    "unload-answers-nobody": _as_ever(Do.RELOAD, Do.FORGET),
    "unload-keeps-phases": _without(Do.RELOAD, JOIN_TIMER.name, SYNC_TIMER.name),
    "unload-keeps-sessions": _as_ever(Do.RELOAD),
    "unload-keeps-pending": _without(Do.RELOAD, PENDING.name),
    "deletion-removes-all-offsets": _but(Do.REMOVE_OFFSETS, becomes(OFFSETS, FALSE)),
    "restart-never-skips-assignment": _as_ever(Do.ANSWER_RESTARTED),
    "restart-leads-below-9": _as_ever(Do.ANSWER_RESTARTED),
    "replace-loses-assignment": _as_ever(Do.REPLACE_HOLDER),
    "replaced-still-votes": _as_ever(Do.REPLACE_HOLDER),
    "replace-keeps-session-timer": _as_ever(Do.REPLACE_HOLDER),
    "replace-starts-no-timer": _but(
        Do.REPLACE_HOLDER,
        becomes(SESSION, X, all_of(SESSION.now(X), negate(_OLD), negate(same(X, FRESH)))),
    ),
    "replace-keeps-protocols": _as_ever(Do.REPLACE_HOLDER),
    "replace-forgets-leader": _without(Do.REPLACE_HOLDER, LEADS.name),
    "replaced-told-unknown": _as_ever(Do.REPLACE_HOLDER),
    "replaced-told-nothing": _as_ever(Do.REPLACE_HOLDER),
    "replaced-told-new-id": _as_ever(Do.REPLACE_HOLDER),
    "pending-not-used-up": _without(Do.ADMIT_PENDING, "pending"),
    "pending-without-timer": _without(Do.HAND_OUT_PENDING, SESSION.name),
}


def abstract_twists(revision: Revision) -> Effects:
    """Return the abstract effects that this revision changes, as far as they are known."""
    name = revision.name.removeprefix(MUTANT)
    return KNOWN.get(name) or OF_CONSUMERS.get(name, {})
