"""Step properties about zombies: clients that name an instance with an id that is not its holder's.

They say what fencing promises, and which checks answer before the instance's holder is looked up.
"""

from __future__ import annotations

from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.messages.errors import Error
from fencepost.model.table.vocabulary import STATE, GroupState
from fencepost.properties.claims.step_formulas import GENERATION_STAYS, MAPPED, step_property
from fencepost.properties.logic.logic import (
    all_of,
    any_of,
    for_all,
    iff,
    implies,
    is_now,
    is_then,
    negate,
)
from fencepost.properties.logic.signature import (
    ANSWER,
    HOLDS,
    INST,
    INST_GIVEN,
    LEADS,
    MEMBER,
    MID,
    MID_GIVEN,
    PARKED,
    PENDING,
    RULE,
    SEAT,
    I,
    X,
)

_ZOMBIE = all_of(
    negate(is_now(STATE, GroupState.ABSENT)),
    MID_GIVEN.now(),
    INST_GIVEN.now(),
    negate(HOLDS.now(INST, MID)),
)
_NOTHING_CHANGES = all_of(
    for_all(X, iff(MEMBER.then(X), MEMBER.now(X))),
    for_all(X, iff(PENDING.then(X), PENDING.now(X))),
    for_all(X, I, iff(SEAT.then(X, I), SEAT.now(X, I))),
    for_all(I, X, iff(HOLDS.then(I, X), HOLDS.now(I, X))),
    for_all(X, iff(LEADS.then(X), LEADS.now(X))),
    for_all(X, iff(PARKED.then(X), PARKED.now(X))),
    *(implies(is_now(STATE, state), is_then(STATE, state)) for state in GroupState),
    GENERATION_STAYS,
)
ZOMBIE_CHANGES_NOTHING = step_property(
    "zombie-changes-nothing",
    "A request with an instance and a member id that is not its holder's leaves members, pending "
    "ids, the map, the leader, parked joins, state and generation as they are.",
    implies(_ZOMBIE, _NOTHING_CHANGES),
    all_of(_ZOMBIE, MAPPED),
    src.KIP_JOIN,
    "requests to a group that exists; offsets are set by an administrator where nobody is a member",
)

_BEFORE_FENCING = (
    "GROUP-ID-INVALID",
    "COORDINATOR-LOADING",
    "COORDINATOR-ELSEWHERE",
    "GROUP-DEAD",
)
ANSWERED_BEFORE_FENCING = frozenset(
    {
        *(
            f"{api}-{check}"
            for api in ("JOIN", "SYNC", "HEARTBEAT", "LEAVE", "COMMIT")
            for check in _BEFORE_FENCING
        ),
        "JOIN-SESSION-TIMEOUT-INVALID",
        "JOIN-GROUP-FULL",
        "JOIN-GROUP-FULL-PENDING",
        "JOIN-PROTOCOLS-INCONSISTENT",
        "SYNC-PROTOCOL-NULL",
        "COMMIT-TOPICS-UNKNOWN",
        "COMMIT-EMPTY-GROUP",
        "COMMIT-OUTSIDE-METADATA",
        "COMMIT-OUTSIDE-TOO-LARGE",
    }
)
"""The rules that answer a zombie before anybody asks whose instance it names."""
ZOMBIE_IS_TOLD = step_property(
    "zombie-is-told",
    "Such a request is answered FENCED_INSTANCE_ID where the instance has a holder and "
    "UNKNOWN_MEMBER_ID where it has none, unless a check that comes first answers.",
    implies(
        all_of(_ZOMBIE, negate(is_now(RULE, *ANSWERED_BEFORE_FENCING))),
        any_of(
            all_of(MAPPED, is_now(ANSWER, Error.FENCED_INSTANCE_ID)),
            all_of(negate(MAPPED), is_now(ANSWER, Error.UNKNOWN_MEMBER_ID)),
        ),
    ),
    all_of(_ZOMBIE, MAPPED, is_now(ANSWER, Error.FENCED_INSTANCE_ID)),
    src.KAFKA_VALIDATE,
    "requests to a group that exists; first come the checks of group id, coordinator, session "
    "timeout, size, protocols, topics, and commits by hand to a group without members",
)

ZOMBIES = (ZOMBIE_CHANGES_NOTHING, ZOMBIE_IS_TOLD)
