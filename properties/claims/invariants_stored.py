"""What a group owes to whoever takes it over: that what matters is stored while it matters.

Decides when the stored group must agree with the live one: where a failover would otherwise revive
an id that was replaced, or members of a group that has emptied.
"""

from __future__ import annotations

from fencepost.model.rules import sources as src
from fencepost.model.table.vocabulary import STATE, GroupState
from fencepost.properties.claims.invariants import state_property
from fencepost.properties.logic.logic import all_of, exists, for_all, iff, implies, is_now, negate
from fencepost.properties.logic.signature import (
    HOLDS,
    MEMBER,
    SEAT,
    STORED_HOLDS,
    STORED_MEMBER,
    STORED_SEAT,
    STORED_STATE,
    I,
    X,
)

_STABLE = is_now(STATE, GroupState.STABLE)
_EMPTY = is_now(STATE, GroupState.EMPTY)

STORED = (
    state_property(
        "stable-is-stored",
        "In a stable group the members, their instances and the map are stored as they are.",
        implies(
            _STABLE,
            all_of(
                is_now(STORED_STATE, GroupState.STABLE),
                for_all(X, iff(STORED_MEMBER.now(X), MEMBER.now(X))),
                for_all(X, I, iff(STORED_SEAT.now(X, I), SEAT.now(X, I))),
                for_all(I, X, iff(STORED_HOLDS.now(I, X), HOLDS.now(I, X))),
            ),
        ),
        all_of(_STABLE, exists(I, X, HOLDS.now(I, X))),
        src.KIP_FAULT,
    ),
    state_property(
        "emptiness-is-stored",
        "In an Empty group nobody is stored as a member.",
        implies(_EMPTY, negate(exists(X, STORED_MEMBER.now(X)))),
        all_of(_EMPTY, is_now(STORED_STATE, GroupState.EMPTY)),
        src.KAFKA_FAILOVER,
    ),
)
"""What a failover may rely on."""
