"""Define the effect of each verb of the consumer protocol on an abstract group, as data.

The caller is a term, not a relation, and so is the holder that an effect picks: what happens to one
member is then said without a quantifier.
"""

from __future__ import annotations

from fencepost.model.consumer.effects import Do
from fencepost.properties.logic.consumer_signature import (
    ASSIGNED,
    AT,
    BUMPED,
    CALLER,
    CONSUMER_SIGNATURE,
    EXISTS,
    GROUP_AT,
    HOLDS,
    HURRIED,
    INST,
    INST_GIVEN,
    MEMBER,
    OFFSETS,
    OWNED,
    OWNED_GIVEN,
    PREVIOUS,
    RELEASED_AT,
    REMADE,
    REVOKING,
    SEAT,
    SESSION,
    SUBSCRIBED,
    TAKEN,
    TARGET,
    TARGET_AT,
    UNRELEASED,
    UNREVOKED,
    ZERO,
    E,
    I,
    P,
    X,
    has_members,
    is_reconciled,
    is_target_legal,
    is_target_made,
    of_member,
    owns,
    terms_of,
)
from fencepost.properties.logic.logic import (
    FALSE,
    TRUE,
    Formula,
    Relation,
    Sort,
    Term,
    all_of,
    any_of,
    below,
    exists,
    for_all,
    implies,
    negate,
    same,
    up_to,
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

HOLDER = Term("the holder", Sort.ID, fixed=True)
NEXT = Term("the next epoch", Sort.EPOCH, fixed=True)
OWN_NEXT = Term("the caller's next epoch", Sort.EPOCH, fixed=True)
LATER = Term("a coin", Sort.ID, fixed=True)
"""An id that stands for yes or no: yes if it is the caller's."""

_ME = same(X, CALLER)
OF_MEMBERS = (
    MEMBER,
    SEAT,
    ASSIGNED,
    REVOKING,
    TARGET,
    UNREVOKED,
    UNRELEASED,
    AT,
    PREVIOUS,
    SESSION,
    HURRIED,
)
"""Relations whose first term is a member: all that goes with it but its entry."""


def of_caller(relation: Relation, formula: Formula) -> Becomes:
    """Set a relation of members for the caller; it stays for all others."""
    terms = terms_of(relation)
    stays = all_of(negate(_ME), relation.now(*terms))
    return becomes(relation, *terms, any_of(all_of(_ME, formula), stays))


def clear(*relations: Relation) -> tuple[Becomes, ...]:
    """Clear relations of members for the caller."""
    return tuple(of_caller(relation, FALSE) for relation in relations)


def in_place_of_holder(relation: Relation, formula: Formula) -> Becomes:
    """Set a relation of members for the caller; the holder is gone, and it stays for others."""
    terms = terms_of(relation)
    stays = all_of(negate(_ME), negate(same(X, HOLDER)), relation.now(*terms))
    return becomes(relation, *terms, any_of(all_of(_ME, formula), stays))


def _is_own_entry(term: Term) -> Formula:
    """Return a formula: the entry of instance i and id x is the member's for its own instance."""
    return all_of(same(X, term), SEAT.now(term, I))


def _without(gone: Term) -> tuple[Becomes, ...]:
    """Remove a member, all that is its, and the entry of its instance."""
    kept = tuple(
        becomes(relation, *terms, all_of(relation.now(*terms), negate(same(X, gone))))
        for relation in OF_MEMBERS
        for terms in (terms_of(relation),)
    )
    return (*kept, becomes(HOLDS, I, X, all_of(HOLDS.now(I, X), negate(_is_own_entry(gone)))))


_BY_REQUEST = all_of(INST_GIVEN.now(), same(I, INST))
_MAPPED_TO_CALLER = becomes(
    HOLDS,
    I,
    X,
    any_of(all_of(same(I, INST), _ME), all_of(negate(same(I, INST)), HOLDS.now(I, X))),
)
_FRESH_MEMBER = (
    of_caller(MEMBER, TRUE),
    of_caller(SEAT, _BY_REQUEST),
    *clear(ASSIGNED, REVOKING, UNREVOKED, UNRELEASED),
    of_caller(AT, same(E, ZERO)),
    of_caller(PREVIOUS, same(E, ZERO)),
)
_SUBSCRIPTION = "client id, subscription, timeouts, assignor, rack"


def _created(epoch: Choice | None) -> AbstractEffect:
    """Create a group at epoch 0, or at one above it: also one that has offsets alone."""
    at = ZERO if epoch is None else epoch.term
    is_simple = all_of(GROUP_AT.now(ZERO), negate(has_members()))
    return AbstractEffect(
        (
            becomes(EXISTS, TRUE),
            becomes(GROUP_AT, E, same(E, at)),
            becomes(TARGET_AT, E, same(E, ZERO)),
        ),
        condition=negate(EXISTS.now())
        if epoch is None
        else any_of(negate(EXISTS.now()), is_simple),
        choices=() if epoch is None else (epoch,),
        leaves_out="the number of the first epoch",
    )


_IS_HOLDER = Choice(HOLDER, all_of(HOLDS.now(INST, HOLDER), MEMBER.now(HOLDER)))
_IS_REMAPPED = any_of(same(I, INST), SEAT.now(HOLDER, I))
_NOT_HOLDER = negate(same(X, HOLDER))
_REPLACED = AbstractEffect(
    (
        becomes(MEMBER, X, any_of(_ME, all_of(_NOT_HOLDER, MEMBER.now(X)))),
        in_place_of_holder(SEAT, same(I, INST)),
        becomes(
            HOLDS,
            I,
            X,
            any_of(all_of(_IS_REMAPPED, _ME), all_of(negate(_IS_REMAPPED), HOLDS.now(I, X))),
        ),
        *(
            in_place_of_holder(relation, of_member(relation, HOLDER))
            for relation in (ASSIGNED, REVOKING, TARGET, UNREVOKED, UNRELEASED)
        ),
        *(in_place_of_holder(relation, same(E, ZERO)) for relation in (AT, PREVIOUS)),
        becomes(SESSION, X, all_of(_NOT_HOLDER, SESSION.now(X))),
        becomes(HURRIED, X, all_of(_NOT_HOLDER, negate(_ME), HURRIED.now(X))),
    ),
    choices=(_IS_HOLDER,),
    leaves_out="subscription and settings, which are the holder's",
)
_RELEASED = AbstractEffect(
    (
        of_caller(AT, same(E, RELEASED_AT)),
        of_caller(PREVIOUS, same(E, ZERO)),
        *clear(REVOKING, HURRIED),
    ),
    leaves_out="that its partitions count from epoch 0",
)
_REMADE = AbstractEffect(
    (
        AnyThat(TARGET, is_target_legal()),  # each assignor makes a legal one
        becomes(TARGET_AT, E, GROUP_AT.now(E)),
        becomes(REMADE, TRUE),
    ),
    condition=negate(is_target_made()),
    leaves_out="subscriptions: it may give anything to any member",
)
_REMADE_PERHAPS = AbstractEffect(
    _REMADE.changes,
    condition=all_of(_REMADE.condition, negate(same(LATER, CALLER))),
    choices=(Choice(LATER, TRUE),),
    leaves_out="when the assignment interval is over: a target may always be made later",
)


def _says_it_owns(row: Formula) -> Formula:
    """Return a formula: the caller may own such a partition p; it does unless it says otherwise."""
    return any_of(negate(OWNED_GIVEN.now()), exists(P, all_of(row, OWNED.now(P))))


def _reconciled(
    *, is_free_at_once: bool, is_heeding: bool = True, is_unmapped: bool = False
) -> AbstractEffect:
    """Bring the caller nearer to its target.

    `is_heeding`: as far as it subscribes to the topics; otherwise its epoch grows where it gave up
    and has more to give up.  `is_unmapped`: the target is found only if it was made anew with this
    request.
    """
    subscribed = SUBSCRIBED.now(P) if is_heeding else TRUE
    target = all_of(of_member(TARGET, CALLER), subscribed)
    if is_unmapped:
        target = all_of(target, REMADE.now())
    assigned, revoking = (of_member(relation, CALLER) for relation in (ASSIGNED, REVOKING))
    lost = all_of(assigned, negate(target))
    waits = any_of(is_reconciled(CALLER), all_of(UNREVOKED.now(CALLER), _says_it_owns(revoking)))
    stray = all_of(assigned, negate(subscribed))
    drops = all_of(waits, exists(P, stray))
    gives_up = all_of(drops, _says_it_owns(any_of(revoking, stray)))
    revokes = all_of(negate(waits), exists(P, lost), _says_it_owns(lost))
    advances = all_of(negate(waits), negate(revokes))
    taken = all_of(TAKEN.now(P), negate(revoking)) if is_free_at_once else TAKEN.now(P)
    missing = all_of(target, negate(assigned))
    grows = FALSE if is_heeding else all_of(revokes, UNREVOKED.now(CALLER))
    grown = FALSE if is_heeding else all_of(grows, same(E, OWN_NEXT))
    epochs = (AT.now(CALLER, E), up_to(E, OWN_NEXT)), (TARGET_AT.now(E), up_to(OWN_NEXT, E))
    between = all_of(*(for_all(E, implies(row, order)) for row, order in epochs))
    return AbstractEffect(
        (
            of_caller(
                ASSIGNED,
                any_of(
                    all_of(waits, assigned, subscribed),
                    all_of(negate(waits), assigned, target),
                    all_of(advances, missing, negate(taken)),
                ),
            ),
            of_caller(
                REVOKING,
                any_of(all_of(waits, revoking), all_of(revokes, lost), all_of(gives_up, stray)),
            ),
            of_caller(UNREVOKED, any_of(all_of(waits, UNREVOKED.now(CALLER)), revokes, gives_up)),
            of_caller(
                UNRELEASED,
                any_of(
                    all_of(waits, UNRELEASED.now(CALLER)),
                    all_of(advances, exists(P, all_of(missing, taken))),
                ),
            ),
            of_caller(
                AT,
                any_of(
                    all_of(negate(advances), negate(grows), AT.now(CALLER, E)),
                    grown,
                    all_of(advances, TARGET_AT.now(E)),
                ),
            ),
            of_caller(
                PREVIOUS,
                any_of(
                    all_of(waits, negate(drops), PREVIOUS.now(CALLER, E)),
                    all_of(any_of(negate(waits), drops), AT.now(CALLER, E)),
                ),
            ),
            of_caller(
                HURRIED,
                any_of(all_of(waits, negate(drops), HURRIED.now(CALLER)), revokes, gives_up),
            ),
        ),
        choices=() if is_heeding else (Choice(OWN_NEXT, between),),
        leaves_out="since when its partitions are its own",
    )


_NOBODY = (
    *(becomes(relation, *terms_of(relation), FALSE) for relation in CONSUMER_SIGNATURE.relations),
)

EFFECTS: Effects = {
    **dict.fromkeys(Do, NOTHING),
    Do.CREATE_GROUP: _created(Choice(NEXT, below(ZERO, NEXT))),
    Do.CREATE_GROUP_AT_ZERO: _created(None),
    Do.ADD_DYNAMIC: AbstractEffect(_FRESH_MEMBER, leaves_out=_SUBSCRIPTION),
    Do.ADD_STATIC: AbstractEffect((*_FRESH_MEMBER, _MAPPED_TO_CALLER), leaves_out=_SUBSCRIPTION),
    Do.REPLACE_HOLDER: _REPLACED,
    Do.FREE_INSTANCE: AbstractEffect(
        (
            becomes(
                HOLDS,
                I,
                X,
                all_of(
                    HOLDS.now(I, X),
                    negate(all_of(_is_own_entry(CALLER), negate(_BY_REQUEST))),
                ),
            ),
        )
    ),
    Do.MAP_CALLER: AbstractEffect((of_caller(SEAT, same(I, INST)), _MAPPED_TO_CALLER)),
    Do.UPDATE_MEMBER: AbstractEffect(
        (
            of_caller(
                SEAT,
                any_of(_BY_REQUEST, all_of(negate(INST_GIVEN.now()), SEAT.now(CALLER, I))),
            ),
        ),
        leaves_out=_SUBSCRIPTION,
    ),
    Do.RELEASE: _RELEASED,
    Do.RELEASE_SETTLED: AbstractEffect((*_RELEASED.changes, *clear(UNREVOKED, UNRELEASED))),
    Do.REMOVE_MEMBER: AbstractEffect(_without(CALLER)),
    Do.REMOVE_HOLDER: AbstractEffect(_without(HOLDER), choices=(_IS_HOLDER,)),
    Do.BUMP_EPOCH: AbstractEffect(
        (becomes(GROUP_AT, E, same(E, NEXT)), becomes(BUMPED, TRUE)),
        condition=negate(BUMPED.now()),
        choices=(Choice(NEXT, for_all(E, implies(GROUP_AT.now(E), below(E, NEXT)))),),
        leaves_out="that it grows by 1",
    ),
    Do.SETTLE_EMPTY: AbstractEffect(
        (
            becomes(TARGET, X, P, FALSE),
            becomes(TARGET_AT, E, GROUP_AT.now(E)),
        ),
        condition=negate(has_members()),
    ),
    Do.RECOMPUTE_TARGET: _REMADE_PERHAPS,
    Do.RECOMPUTE_TARGET_AT_ONCE: _REMADE,
    Do.RECONCILE: _reconciled(is_free_at_once=True),
    Do.RECONCILE_UNHEEDING: _reconciled(is_free_at_once=True, is_heeding=False),
    Do.RECONCILE_LATER: _reconciled(is_free_at_once=False, is_heeding=False),
    Do.RECONCILE_UNMAPPED: _reconciled(is_free_at_once=True, is_unmapped=True),
    Do.RECONCILE_UNMAPPED_LATER: _reconciled(is_free_at_once=False, is_unmapped=True),
    Do.RESTART_SESSION: AbstractEffect((of_caller(SESSION, TRUE),), leaves_out="how long it runs"),
    Do.STORE_OFFSETS: AbstractEffect(
        (becomes(OFFSETS, TRUE),), leaves_out="the offsets themselves"
    ),
    Do.REMOVE_NAMED_OFFSETS: AbstractEffect(
        (becomes(OFFSETS, negate(TRUE)),), leaves_out="the offsets themselves"
    ),
    Do.FORGET: AbstractEffect(_NOBODY),
    Do.RELOAD: AbstractEffect(
        (
            becomes(SESSION, X, MEMBER.now(X)),
            becomes(HURRIED, X, all_of(MEMBER.now(X), UNREVOKED.now(X))),
        ),
        leaves_out="how long the timers run",
    ),
}
"""The effect of every verb; those that aren't listed by name answer, and change nothing here."""

BEGINS = AbstractEffect(
    (
        becomes(TAKEN, P, exists(X, owns(X, P))),
        becomes(BUMPED, FALSE),
        becomes(REMADE, FALSE),
    )
)
"""The knowledge of a step about itself as it begins."""
SESSION_FIRES = AbstractEffect(clear(SESSION))
REBALANCE_TIMER_FIRES = AbstractEffect(clear(HURRIED))
