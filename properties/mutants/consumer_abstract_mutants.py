"""Define the effects of the consumer protocol's mutants on an abstract group, for proofs.

Several change nothing here: they get times, answers or complete targets wrong, which the
abstraction leaves out.  A test compares each entry with the mutant's own steps.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.consumer.effects import Do
from fencepost.properties.logic.consumer_signature import (
    ASSIGNED,
    AT,
    BUMPED,
    CALLER,
    GROUP_AT,
    HOLDS,
    HURRIED,
    INST,
    MEMBER,
    PREVIOUS,
    RELEASED_AT,
    REVOKING,
    SEAT,
    SESSION,
    TARGET,
    UNRELEASED,
    UNREVOKED,
    ZERO,
    E,
    I,
    P,
    X,
    is_released,
    of_member,
    terms_of,
)
from fencepost.properties.logic.logic import (
    FALSE,
    TRUE,
    all_of,
    any_of,
    below,
    for_all,
    implies,
    negate,
    same,
)
from fencepost.properties.proofs.consumer_effects import (
    EFFECTS,
    HOLDER,
    NEXT,
    OF_MEMBERS,
    clear,
    in_place_of_holder,
    of_caller,
)
from fencepost.properties.proofs.theory import (
    NOTHING,
    AbstractEffect,
    AnyThat,
    Becomes,
    Choice,
    Effects,
    becomes,
)

_ME = same(X, CALLER)
_RECONCILE, _RELEASE = EFFECTS[Do.RECONCILE], EFFECTS[Do.RELEASE]
_REPLACE, _MAKE = EFFECTS[Do.REPLACE_HOLDER], EFFECTS[Do.RECOMPUTE_TARGET]
_RELOAD = EFFECTS[Do.RELOAD]


def _but(effect: AbstractEffect, *changes: Becomes | AnyThat) -> AbstractEffect:
    """Return an effect with other changes of these relations."""
    names = AbstractEffect(changes).touched()
    rest = effect.without(*names)
    return AbstractEffect((*rest.changes, *changes), rest.condition, rest.choices)


_KEEPS_THE_OLD = _but(
    _REPLACE,
    of_caller(MEMBER, TRUE),
    of_caller(SEAT, same(I, INST)),
    *(
        of_caller(relation, of_member(relation, HOLDER))
        for relation in (ASSIGNED, REVOKING, UNREVOKED, UNRELEASED)
    ),
    *(of_caller(relation, same(E, ZERO)) for relation in (AT, PREVIOUS)),
)
_FORGETS_RELEASED = AbstractEffect(
    (
        *(
            becomes(
                relation,
                *terms_of(relation),
                all_of(relation.now(*terms_of(relation)), negate(is_released(X))),
            )
            for relation in OF_MEMBERS
            if relation not in {SESSION, HURRIED}
        ),
        becomes(
            HOLDS, I, X, all_of(HOLDS.now(I, X), negate(all_of(is_released(X), SEAT.now(X, I))))
        ),
        becomes(SESSION, X, all_of(MEMBER.now(X), negate(is_released(X)))),
        becomes(HURRIED, X, all_of(MEMBER.now(X), UNREVOKED.now(X), negate(is_released(X)))),
    )
)
_UNMAPS = becomes(
    HOLDS,
    I,
    X,
    all_of(
        negate(same(I, INST)),
        any_of(
            all_of(SEAT.now(HOLDER, I), _ME),
            all_of(negate(SEAT.now(HOLDER, I)), HOLDS.now(I, X)),
        ),
    ),
)
_FALLS = AbstractEffect(
    (becomes(GROUP_AT, E, same(E, NEXT)), becomes(BUMPED, TRUE)),
    condition=negate(BUMPED.now()),
    choices=(
        Choice(
            NEXT,
            all_of(
                for_all(E, implies(all_of(GROUP_AT.now(E), below(ZERO, E)), below(NEXT, E))),
                negate(same(NEXT, RELEASED_AT)),
            ),
        ),
    ),
)

KNOWN: Mapping[str, Effects] = {
    "cg-failover-forgets-released": {Do.RELOAD: _FORGETS_RELEASED},
    "cg-failover-forgets-map": {Do.RELOAD: _but(_RELOAD, becomes(HOLDS, I, X, FALSE))},
    "cg-failover-forgets-sessions": {
        Do.RELOAD: AbstractEffect(
            tuple(becomes(relation, X, FALSE) for relation in (SESSION, HURRIED))
        )
    },
    "cg-long-session": {Do.RESTART_SESSION: EFFECTS[Do.RESTART_SESSION]},
    "cg-release-prolongs": {Do.RELEASE: _RELEASE},
    "cg-target-incomplete": {Do.RECOMPUTE_TARGET: _MAKE},
    "cg-target-shared": {
        Do.RECOMPUTE_TARGET: _but(
            _MAKE, AnyThat(TARGET, for_all(X, P, implies(TARGET.now(X, P), MEMBER.now(X))))
        )
    },
    "cg-nobody-is-hurried": {Do.RECONCILE: _but(_RECONCILE, *clear(HURRIED))},
    "cg-gives-up-at-once": {Do.RECONCILE: _but(_RECONCILE, *clear(REVOKING, UNREVOKED, HURRIED))},
    "cg-reconciled-at-the-old-epoch": {
        Do.RECONCILE: _but(_RECONCILE, of_caller(AT, same(E, ZERO)))
    },
    "cg-epoch-beyond-the-target": {
        Do.RECONCILE: AbstractEffect(
            _but(_RECONCILE, of_caller(AT, same(E, NEXT))).changes,
            choices=(Choice(NEXT, for_all(E, implies(GROUP_AT.now(E), below(E, NEXT)))),),
        )
    },
    "cg-epoch-falls": {Do.BUMP_EPOCH: _FALLS},
    "cg-assignment-not-told": {Do.ANSWER_CHANGES: NOTHING},
    "cg-another-epoch-told": {Do.ANSWER_CHANGES: NOTHING},
    "cg-join-told-nothing": {Do.ANSWER_ASSIGNMENT: NOTHING},
    "cg-release-frees-partitions": {Do.RELEASE: _but(_RELEASE, *clear(ASSIGNED))},
    "cg-release-keeps-pending": {Do.RELEASE: _RELEASE.without(REVOKING.name)},
    "cg-release-keeps-time-to-revoke": {Do.RELEASE: _RELEASE.without(HURRIED.name)},
    "cg-replace-loses-assignment": {
        Do.REPLACE_HOLDER: _but(_REPLACE, in_place_of_holder(ASSIGNED, FALSE))
    },
    "cg-replace-loses-target": {
        Do.REPLACE_HOLDER: _but(_REPLACE, in_place_of_holder(TARGET, FALSE))
    },
    "cg-replace-keeps-the-old": {Do.REPLACE_HOLDER: _KEEPS_THE_OLD},
    "cg-replace-unmaps": {Do.REPLACE_HOLDER: _but(_REPLACE, _UNMAPS)},
    "cg-removal-keeps-mapping": {
        do: EFFECTS[do].without(HOLDS.name) for do in (Do.REMOVE_MEMBER, Do.REMOVE_HOLDER)
    },
    "cg-removal-keeps-target": {Do.REMOVE_MEMBER: EFFECTS[Do.REMOVE_MEMBER].without(TARGET.name)},
    "cg-removal-keeps-timers": {
        Do.REMOVE_MEMBER: EFFECTS[Do.REMOVE_MEMBER].without(SESSION.name, HURRIED.name)
    },
}
"""Name of a mutant → the effects that it performs differently; `takes-what-others-have` isn't here,
since what it does depends on the group after the effect."""
