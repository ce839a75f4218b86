"""Define the step properties that are formulas: they hold of every step of a group.

They limit the effect of a step on members that it is not about, on retired ids, and on the
generation.  Where Kafka does more than the KIP says, the property follows the KIP, and the rules
that break it are named as an expected violation.

Zombies: clients that name an instance with an id that is not its holder's.  These properties state
the promise of fencing, and name the checks that answer before the instance's holder is looked up.

Mixed groups: a step that is about one member changes no other, except at the ends of the two waits
and at a failover.  KIP-345 leaves it to be verified that static and dynamic members don't touch
each other's guarantees; it is verified here, as is which steps may start a rebalance.
"""

from __future__ import annotations

from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import SELECTION, STATE, SUBSCRIPTION, Change, GroupState
from fencepost.model.messages.errors import Error
from fencepost.properties.claims.invariants import formula_property
from fencepost.properties.logic.classic_signature import (
    ANSWER,
    CALLER,
    CLEANUP,
    DEFERRED,
    DELETE_GROUPS,
    DELETE_OFFSETS,
    EVENT,
    FAILOVER,
    FRESH,
    GENERATION,
    HOLDS,
    INST,
    INST_GIVEN,
    JOIN_GROUP,
    JOIN_PHASE,
    LEADS,
    LEAVE_ROW,
    MEMBER,
    MID,
    MID_GIVEN,
    NAMED,
    NEW,
    OFFSETS,
    PARKED,
    PENDING,
    RETENTION,
    RULE,
    SEAT,
    SESSION_END,
    STORED_GENERATION,
    STORED_MEMBER,
    STORED_SEAT,
    SUBJECT,
    SYNC_PHASE,
    SYNCING,
    I,
    X,
    Y,
    is_inst,
    is_mid,
    is_static,
    is_valid,
    is_valid_then,
)
from fencepost.properties.logic.logic import (
    AtMost,
    Formula,
    Property,
    PropertyKind,
    When,
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

_EVERY_STEP = "every request, row of a leave, timer, failover and cleanup, on every group"
FAILS_OVER = is_now(EVENT, FAILOVER)
STARTS_ANEW = is_now(EVENT, FAILOVER, CLEANUP, DELETE_GROUPS, DELETE_OFFSETS, RETENTION)
JOINS = is_now(EVENT, JOIN_GROUP)
_LEAVES = is_now(EVENT, LEAVE_ROW, "LeaveGroup")
_JOIN_PHASE = is_now(EVENT, JOIN_PHASE)
MAPPED = all_of(INST_GIVEN.now(), exists(X, HOLDS.now(INST, X)))
GENERATION_STAYS = all_of(
    AtMost(GENERATION, When.NOW, 0, GENERATION, When.THEN),
    AtMost(GENERATION, When.THEN, 0, GENERATION, When.NOW),
)


def step_property(
    name: str,
    meaning: str,
    formula: Formula,
    premise: Formula,
    source: str,
    scope: str = _EVERY_STEP,
) -> Property:
    """Make a property of every step."""
    return formula_property(PropertyKind.STEP, name, meaning, source, scope, formula, premise)


_REVIVED = all_of(FAILS_OVER, STORED_MEMBER.now(X))
RETIRED_ID = step_property(
    "retired-id-stays-invalid",
    "A retired id becomes valid only when this step hands it out, or when a failover restores "
    "its member.",
    for_all(
        X,
        implies(all_of(is_valid_then(X), negate(is_valid(X))), any_of(same(X, FRESH), _REVIVED)),
    ),
    exists(X, all_of(is_valid_then(X), negate(is_valid(X)))),
    src.KIP_JOIN,
    f"{_EVERY_STEP}; a failover forgets what was not stored since: an id that was removed or "
    "replaced after the last write comes back, none that never was written does",
)
FAILOVER_AS_STORED = step_property(
    "failover-finds-what-was-stored",
    "After a failover the group has exactly the members and offsets that were stored.",
    implies(
        FAILS_OVER,
        all_of(
            for_all(X, iff(MEMBER.then(X), STORED_MEMBER.now(X))),
            for_all(X, I, iff(SEAT.then(X, I), STORED_SEAT.now(X, I))),
            for_all(X, negate(PENDING.then(X))),
            implies(OFFSETS.now(), OFFSETS.then()),
        ),
    ),
    all_of(FAILS_OVER, exists(X, STORED_MEMBER.now(X))),
    src.KIP_FAULT,
    "failovers",
)
FRESH_ID_FOR_ONE = step_property(
    "fresh-id-for-one",
    "The answer to a join names either a new id or the id that the client sent.",
    implies(JOINS, for_all(X, implies(CALLER.then(X), any_of(same(X, FRESH), is_mid(X))))),
    all_of(JOINS, CALLER.then(FRESH)),
    src.KIP_JOIN,
    "JoinGroup; that fresh ids never repeat is assumed",
)

_TAKEN_OVER = all_of(
    JOINS,
    MID_GIVEN.now(),
    INST_GIVEN.now(),
    PENDING.now(MID),
    HOLDS.now(INST, X),
    HOLDS.then(INST, MID),
)
"""A new process that was given an id first takes over its instance."""
_REPLACED = any_of(
    all_of(JOINS, negate(MID_GIVEN.now()), is_inst(I), HOLDS.then(I, FRESH)), _TAKEN_OVER
)
STATIC_GOES_ONLY = step_property(
    "static-goes-only-by-session-leave-replacement",
    "A static member is removed only when its session expires, when a leave names it, or when a "
    "process of its instance replaces it.",
    for_all(
        X,
        I,
        implies(
            all_of(SEAT.now(X, I), MEMBER.now(X), negate(MEMBER.then(X))),
            any_of(
                all_of(is_now(EVENT, SESSION_END), same(X, SUBJECT)),
                all_of(_LEAVES, NAMED.now(X)),
                _REPLACED,
                all_of(FAILS_OVER, negate(STORED_MEMBER.now(X))),
            ),
        ),
    ),
    exists(X, I, all_of(SEAT.now(X, I), negate(MEMBER.then(X)))),
    src.KIP_ROLLING,
    f"{_EVERY_STEP}; a failover loses every member that was not stored",
)
_PHASE_ENDS = all_of(_JOIN_PHASE, negate(is_now(RULE, "JOIN-PHASE-DELAY-EXTENDED")))
_ABSENT = all_of(MEMBER.now(X), negate(PARKED.now(X)))
DYNAMIC_GOES = step_property(
    "dynamic-goes-at-rebalance-timeout",
    "At the rebalance timeout, dynamic members that did not rejoin are removed.",
    implies(
        _PHASE_ENDS,
        for_all(X, implies(all_of(_ABSENT, negate(is_static(X))), negate(MEMBER.then(X)))),
    ),
    all_of(_PHASE_ENDS, exists(X, all_of(_ABSENT, negate(is_static(X))))),
    src.KIP_ROLLING,
    "the end of the wait for joins",
)
STATIC_STAYS = step_property(
    "static-stays-at-rebalance-timeout",
    "At the rebalance timeout, static members that did not rejoin stay.",
    implies(
        _PHASE_ENDS,
        for_all(X, I, implies(SEAT.now(X, I), all_of(MEMBER.then(X), SEAT.then(X, I)))),
    ),
    all_of(_PHASE_ENDS, exists(X, all_of(_ABSENT, is_static(X)))),
    src.KIP_ROLLING,
    "the end of the wait for joins",
)
_RESTART = all_of(
    JOINS,
    negate(MID_GIVEN.now()),
    MAPPED,
    is_now(STATE, GroupState.STABLE),
    is_now(SELECTION, Change.UNCHANGED),
)
RESTART = step_property(
    "restart-in-stable-causes-nothing",
    "A static member that restarts in a stable group, with the same selected protocol, changes "
    "neither state nor generation nor another member; if it led, it still leads.",
    implies(
        _RESTART,
        all_of(
            is_then(STATE, GroupState.STABLE),
            GENERATION_STAYS,
            for_all(
                X,
                implies(
                    negate(any_of(HOLDS.now(INST, X), same(X, FRESH))),
                    all_of(iff(MEMBER.then(X), MEMBER.now(X)), iff(LEADS.then(X), LEADS.now(X))),
                ),
            ),
        ),
    ),
    _RESTART,
    f"{src.KIP_JOIN}; {src.KIP_NON_GOAL}",
    "joins without a member id; that assignments stay is for the runs to see: they are bytes",
)
GENERATION_NEVER_FALLS = step_property(
    "generation-never-falls",
    "The generation never falls while a group exists; after a failover it is the stored one, or 0.",
    all_of(
        implies(negate(STARTS_ANEW), AtMost(GENERATION, When.NOW, 0, GENERATION, When.THEN)),
        implies(
            FAILS_OVER,
            all_of(
                AtMost(GENERATION, When.THEN, 0, STORED_GENERATION, When.NOW),
                AtMost(STORED_GENERATION, When.NOW, 0, GENERATION, When.THEN),
            ),
        ),
    ),
    negate(GENERATION_STAYS),
    src.KIP_BACKGROUND,
)

_LEAVE_ANSWERED = all_of(is_now(EVENT, LEAVE_ROW), is_now(ANSWER, Error.NONE))
LEAVE_TAKES_EFFECT = step_property(
    "leave-takes-effect",
    "A client whose leave is answered NONE is neither a member nor pending.",
    implies(_LEAVE_ANSWERED, for_all(X, implies(NAMED.now(X), negate(is_valid_then(X))))),
    all_of(_LEAVE_ANSWERED, exists(X, NAMED.now(X))),
    src.KIP_LEAVE,
    "rows of a leave that are answered NONE",
)
_SESSION_ENDS = is_now(EVENT, SESSION_END)
_WAITS = all_of(any_of(PARKED.now(SUBJECT), SYNCING.now(SUBJECT)), negate(NEW.now(SUBJECT)))
SESSION_TAKES_THE_SILENT = step_property(
    "session-end-takes-the-silent",
    "When a session expires, its pending id or member is removed, unless the member has a "
    "parked request.",
    implies(
        _SESSION_ENDS,
        all_of(
            negate(PENDING.then(SUBJECT)),
            implies(MEMBER.now(SUBJECT), iff(MEMBER.then(SUBJECT), _WAITS)),
        ),
    ),
    all_of(_SESSION_ENDS, _WAITS),
    src.KIP_ROLLING,
    "the ends of sessions; a member that never completed a join goes even if its join waits",
)

ONE_BY_ONE = (
    RETIRED_ID,
    FAILOVER_AS_STORED,
    FRESH_ID_FOR_ONE,
    STATIC_GOES_ONLY,
    DYNAMIC_GOES,
    STATIC_STAYS,
    RESTART,
    GENERATION_NEVER_FALLS,
    LEAVE_TAKES_EFFECT,
    SESSION_TAKES_THE_SILENT,
)
"""Properties of ids, of static members and of the generation."""


_USES_WHAT_IT_WAS_GIVEN = all_of(PENDING.now(MID), any_of(JOINS, _LEAVES))
_ZOMBIE = all_of(
    negate(is_now(STATE, GroupState.ABSENT)),
    MID_GIVEN.now(),
    INST_GIVEN.now(),
    negate(HOLDS.now(INST, MID)),
    negate(_USES_WHAT_IT_WAS_GIVEN),
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
    any_of(is_now(STATE, GroupState.EMPTY), implies(OFFSETS.then(), OFFSETS.now())),
)
ZOMBIE_CHANGES_NOTHING = step_property(
    "zombie-changes-nothing",
    "A zombie's request changes no member, pending id, mapping, leader, parked join, state or "
    "generation, and stores no offset in a group with members.",
    implies(_ZOMBIE, _NOTHING_CHANGES),
    all_of(_ZOMBIE, MAPPED),
    src.KIP_JOIN,
    "requests to a group that exists; a client that joins under an id that it was just given, or "
    "gives it back, is no zombie; offsets are set by an administrator where nobody is a member",
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
            for api in ("JOIN", "SYNC", "HEARTBEAT", "LEAVE", "COMMIT", "TXN-COMMIT")
            for check in _BEFORE_FENCING
        ),
        "JOIN-SESSION-TIMEOUT-INVALID",
        "JOIN-GROUP-FULL",
        "JOIN-PROTOCOLS-INCONSISTENT",
        "SYNC-PROTOCOL-NULL",
        "COMMIT-TOPICS-UNKNOWN",
        "COMMIT-EMPTY-GROUP",
        "COMMIT-OUTSIDE-METADATA",
        "COMMIT-OUTSIDE-TOO-LARGE",
        "TXN-COMMIT-TOPICS-UNKNOWN",
        "TXN-COMMIT-NO-MEMBERS",
        "TXN-COMMIT-OUTSIDE-METADATA",
        "TXN-COMMIT-OUTSIDE-TOO-LARGE",
    }
)
"""The rules that answer a zombie before the holder of the instance is looked up."""
ZOMBIE_IS_FENCED = step_property(
    "zombie-is-told",
    "A zombie is answered FENCED_INSTANCE_ID if its instance is mapped, and UNKNOWN_MEMBER_ID "
    "if it is unmapped, unless an earlier check answers.",
    implies(
        all_of(_ZOMBIE, negate(is_now(RULE, *ANSWERED_BEFORE_FENCING))),
        any_of(
            all_of(MAPPED, is_now(ANSWER, Error.FENCED_INSTANCE_ID)),
            all_of(negate(MAPPED), is_now(ANSWER, Error.UNKNOWN_MEMBER_ID)),
        ),
    ),
    all_of(_ZOMBIE, MAPPED, is_now(ANSWER, Error.FENCED_INSTANCE_ID)),
    src.KAFKA_VALIDATE,
    "requests to a group that exists, but joins and leaves under a pending id; first come the "
    "checks of group id, coordinator, session "
    "timeout, size, protocols, topics, and commits by hand to a group without members",
)

ZOMBIES = (ZOMBIE_CHANGES_NOTHING, ZOMBIE_IS_FENCED)


_GOES = all_of(MEMBER.now(X), negate(MEMBER.then(X)))
_COMES = all_of(MEMBER.then(X), negate(MEMBER.now(X)))
_STAYS_STATIC = implies(SEAT.now(X, I), all_of(MEMBER.then(X), SEAT.then(X, I)))
_STAYS_DYNAMIC = all_of(MEMBER.then(X), negate(exists(I, SEAT.then(X, I))))

ONLY_THE_NAMED_GO = step_property(
    "only-the-named-go",
    "A member is removed only by a step that names it or its instance, or at the end of a wait.",
    for_all(
        X,
        implies(
            _GOES,
            any_of(NAMED.now(X), _TAKEN_OVER, is_now(EVENT, JOIN_PHASE, SYNC_PHASE), FAILS_OVER),
        ),
    ),
    exists(X, all_of(_GOES, NAMED.now(X))),
    src.KIP_LEAVE,
)
ONLY_THE_INVITED_COME = step_property(
    "only-the-invited-come",
    "A new member has either an id that this step hands out or its own pending id.",
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
    "A member that stays keeps its instance: a static member stays static, a dynamic member "
    "dynamic.",
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
    "A pending id stays until it joins, leaves or expires, or until its unused group is removed.",
    for_all(
        X,
        implies(all_of(PENDING.now(X), negate(PENDING.then(X))), any_of(NAMED.now(X), STARTS_ANEW)),
    ),
    exists(X, all_of(PENDING.now(X), negate(PENDING.then(X)))),
    src.KIP_394,
)
LEAD_STAYS = step_property(
    "lead-changes-only-for-the-absent",
    "A leader that stays a member stays leader, unless a generation begins that it did not join.",
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
    "A step of a dynamic member or a pending id removes and replaces no static member.",
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
    "A step of a static member or an instance removes no dynamic member and no pending id that "
    "it does not name, and makes no member static.",
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
    is_now(STATE, GroupState.COMPLETING),
    any_of(all_of(JOINS, INST_GIVEN.now(), HOLDS.then(INST, FRESH)), exists(X, _TAKEN_OVER)),
)
_NOT_STORED = is_now(RULE, "SYNC-COMPLETING-LEADER-TOO-LARGE")
CAUSES = step_property(
    "rebalance-has-a-cause",
    "A rebalance starts only for one of these causes: a new member joins, a member leaves or "
    "expires, the leader rejoins, a member changes its subscription, an instance is replaced "
    "before the leader's sync, or an assignment can't be stored.",
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

_NAMES_AN_INSTANCE = all_of(JOINS, INST_GIVEN.now())
NO_ID_FIRST = step_property(
    "a-static-member-needs-no-id-first",
    "A join with an instance id is never answered MEMBER_ID_REQUIRED.",
    implies(_NAMES_AN_INSTANCE, negate(is_now(ANSWER, Error.MEMBER_ID_REQUIRED))),
    all_of(_NAMES_AN_INSTANCE, negate(MID_GIVEN.now())),
    src.KIP_JOIN,
    "joins that name an instance, in every version",
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
    NO_ID_FIRST,
)
"""Every step property that is a formula."""
