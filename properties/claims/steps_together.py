"""Step properties of groups with static and dynamic members, and of what may start a rebalance.

A step that is about one member changes no other, except at the ends of the two waits and at a
failover.  KIP-345 leaves it to be verified that static and dynamic members don't touch each other's
guarantees; it is verified here.
"""

from __future__ import annotations

from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.table.vocabulary import STATE, SUBSCRIPTION, Change, GroupState
from fencepost.properties.claims.step_formulas import (
    FAILS_OVER,
    GENERATION_STAYS,
    JOINS,
    ONE_BY_ONE,
    STARTS_ANEW,
    step_property,
)
from fencepost.properties.claims.steps_zombie import ZOMBIES
from fencepost.properties.logic.logic import (
    all_of,
    any_of,
    exists,
    for_all,
    iff,
    implies,
    is_now,
    is_then,
    negate,
    same,
)
from fencepost.properties.logic.signature import (
    DEFERRED,
    EVENT,
    FRESH,
    HOLDS,
    INST,
    INST_GIVEN,
    JOIN_PHASE,
    LEADS,
    MEMBER,
    MID,
    MID_GIVEN,
    NAMED,
    PARKED,
    PENDING,
    RULE,
    SEAT,
    SESSION_END,
    SUBJECT,
    SYNC_PHASE,
    I,
    X,
    Y,
    is_mid,
    is_static,
)

_GOES = all_of(MEMBER.now(X), negate(MEMBER.then(X)))
_COMES = all_of(MEMBER.then(X), negate(MEMBER.now(X)))
_STAYS_STATIC = implies(SEAT.now(X, I), all_of(MEMBER.then(X), SEAT.then(X, I)))
_STAYS_DYNAMIC = all_of(MEMBER.then(X), negate(exists(I, SEAT.then(X, I))))

ONLY_THE_NAMED_GO = step_property(
    "only-the-named-go",
    "A member goes only by a step that names it or its instance, or at the end of a wait.",
    for_all(
        X,
        implies(
            _GOES,
            any_of(NAMED.now(X), is_now(EVENT, JOIN_PHASE, SYNC_PHASE), FAILS_OVER),
        ),
    ),
    exists(X, all_of(_GOES, NAMED.now(X))),
    src.KIP_LEAVE,
)
ONLY_THE_INVITED_COME = step_property(
    "only-the-invited-come",
    "Whoever becomes a member does so under the fresh id or its own pending one.",
    for_all(
        X,
        implies(
            _COMES,
            any_of(same(X, FRESH), all_of(PENDING.now(X), is_mid(X), JOINS), FAILS_OVER),
        ),
    ),
    exists(X, _COMES),
    src.KIP_394,
)
SEATS_STAY = step_property(
    "seats-stay",
    "A member that stays keeps its instance: none becomes static, none dynamic, none another.",
    for_all(
        X,
        I,
        implies(
            all_of(MEMBER.now(X), MEMBER.then(X), negate(FAILS_OVER)),
            iff(SEAT.then(X, I), SEAT.now(X, I)),
        ),
    ),
    exists(X, I, all_of(SEAT.now(X, I), SEAT.then(X, I), JOINS)),
    src.KIP_SWITCH,
    "every step but a failover, which has a property of its own",
)
PENDING_STAYS = step_property(
    "pending-goes-only-by-its-own",
    "A pending id stays until it is used, given back or times out, or nobody uses its group.",
    for_all(
        X,
        implies(all_of(PENDING.now(X), negate(PENDING.then(X))), any_of(NAMED.now(X), STARTS_ANEW)),
    ),
    exists(X, all_of(PENDING.now(X), negate(PENDING.then(X)))),
    src.KIP_394,
)
LEAD_STAYS = step_property(
    "lead-changes-only-for-the-absent",
    "Who leads and stays a member leads on, unless a generation begins that it did not join.",
    for_all(
        X,
        implies(
            all_of(LEADS.now(X), MEMBER.then(X), negate(LEADS.then(X))),
            any_of(all_of(negate(PARKED.now(X)), negate(GENERATION_STAYS)), FAILS_OVER),
        ),
    ),
    exists(X, all_of(LEADS.now(X), negate(LEADS.then(X)))),
    src.KIP_BACKGROUND,
)

_DYNAMIC_REQUEST = all_of(
    MID_GIVEN.now(), negate(INST_GIVEN.now()), negate(exists(I, SEAT.now(MID, I)))
)
_DYNAMIC_SESSION = all_of(is_now(EVENT, SESSION_END), negate(exists(I, SEAT.now(SUBJECT, I))))
_OF_DYNAMIC = any_of(_DYNAMIC_REQUEST, _DYNAMIC_SESSION)
DYNAMIC_SPARES_STATIC = step_property(
    "dynamic-spares-static",
    "A step about a dynamic member or a pending id removes and replaces no static member.",
    implies(
        _OF_DYNAMIC,
        all_of(
            for_all(X, I, _STAYS_STATIC),
            for_all(I, X, implies(HOLDS.now(I, X), HOLDS.then(I, X))),
        ),
    ),
    all_of(_OF_DYNAMIC, exists(X, I, SEAT.now(X, I)), exists(X, _GOES)),
    src.KIP_BACKGROUND,
    "requests without an instance, sessions",
)
_STATIC_SESSION = all_of(is_now(EVENT, SESSION_END), exists(I, SEAT.now(SUBJECT, I)))
_STATIC_SENDER = all_of(MID_GIVEN.now(), exists(I, SEAT.now(MID, I)))
_OF_STATIC = any_of(INST_GIVEN.now(), _STATIC_SESSION, _STATIC_SENDER)
_OTHER_DYNAMIC = all_of(MEMBER.now(X), negate(is_static(X)), negate(NAMED.now(X)))
STATIC_SPARES_DYNAMIC = step_property(
    "static-spares-dynamic",
    "A step about a static member or an instance removes no dynamic member and no pending id that "
    "it does not name, and makes none static.",
    implies(
        _OF_STATIC,
        for_all(
            X,
            all_of(
                implies(_OTHER_DYNAMIC, _STAYS_DYNAMIC),
                implies(all_of(PENDING.now(X), negate(NAMED.now(X))), PENDING.then(X)),
            ),
        ),
    ),
    all_of(_OF_STATIC, exists(X, _OTHER_DYNAMIC), exists(X, _GOES)),
    src.KIP_BACKGROUND,
    "requests with an instance or of a static member, sessions",
)

_BEGINS = any_of(
    all_of(
        negate(is_now(STATE, GroupState.PREPARING)),
        negate(STARTS_ANEW),
        any_of(is_then(STATE, GroupState.PREPARING), negate(GENERATION_STAYS)),
    ),
    all_of(negate(DEFERRED.now()), DEFERRED.then()),
)
_HAD_A_HOLDER = exists(I, Y, all_of(SEAT.then(X, I), HOLDS.now(I, Y)))
_HAS_A_HOLDER = exists(I, Y, all_of(SEAT.now(X, I), HOLDS.then(I, Y)))
_NEWCOMER = exists(X, all_of(_COMES, negate(_HAD_A_HOLDER)))
_LEAVER = exists(X, all_of(_GOES, negate(_HAS_A_HOLDER)))
_LEADER_REJOINS = all_of(JOINS, MID_GIVEN.now(), LEADS.now(MID))
_DYNAMIC_CHANGES = all_of(
    JOINS,
    MID_GIVEN.now(),
    MEMBER.now(MID),
    negate(INST_GIVEN.now()),
    is_now(SUBSCRIPTION, Change.CHANGED),
)
_REPLACED_TOO_EARLY = all_of(
    is_now(STATE, GroupState.COMPLETING), JOINS, INST_GIVEN.now(), HOLDS.then(INST, FRESH)
)
_NOT_STORED = is_now(RULE, "SYNC-COMPLETING-LEADER-TOO-LARGE")
CAUSES = step_property(
    "rebalance-has-a-cause",
    "A rebalance begins only because somebody new comes, somebody goes for good, the leader "
    "rejoins, a member that names no instance changes what it subscribes to, an instance is "
    "replaced before the leader's assignment is in, or that can't be stored.",
    implies(
        _BEGINS,
        any_of(
            _NEWCOMER,
            _LEAVER,
            _LEADER_REJOINS,
            _DYNAMIC_CHANGES,
            _REPLACED_TOO_EARLY,
            _NOT_STORED,
            DEFERRED.now(),
        ),
    ),
    _BEGINS,
    f"{src.KIP_BACKGROUND}: the causes of a rebalance; {src.KAFKA_9801}",
)

STEPS = (
    *ONE_BY_ONE,
    *ZOMBIES,
    ONLY_THE_NAMED_GO,
    ONLY_THE_INVITED_COME,
    SEATS_STAY,
    PENDING_STAYS,
    LEAD_STAYS,
    DYNAMIC_SPARES_STATIC,
    STATIC_SPARES_DYNAMIC,
    CAUSES,
)
"""Every step property that is a formula."""
