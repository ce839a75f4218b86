"""The step properties that are formulas: what holds of every step of a group.

They say what a step may do to members that it is not about, to ids that were retired, and to the
generation.  Where Kafka does more than the KIP says, the property follows the KIP, and the rules
that break it are named as an expected violation.
"""

from __future__ import annotations

from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.messages.errors import Error
from fencepost.model.table.vocabulary import SELECTION, STATE, Change, GroupState
from fencepost.properties.claims import waivers
from fencepost.properties.claims.invariants import FORMULA_ENGINES, UNSEEN
from fencepost.properties.logic.logic import (
    AtMost,
    Formula,
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
from fencepost.properties.logic.property import Property, PropertyKind
from fencepost.properties.logic.signature import (
    ANSWER,
    CALLER,
    CLEANUP,
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
    MID_GIVEN,
    NAMED,
    NEW,
    OFFSETS,
    PARKED,
    PENDING,
    RULE,
    SEAT,
    SESSION_END,
    STORED_GENERATION,
    STORED_MEMBER,
    STORED_SEAT,
    SUBJECT,
    SYNCING,
    I,
    X,
    is_inst,
    is_mid,
    is_static,
    is_valid,
    is_valid_then,
)

_EVERY_STEP = "every request, row of a leave, timer, failover and cleanup, on every group"
FAILS_OVER = is_now(EVENT, FAILOVER)
STARTS_ANEW = is_now(EVENT, FAILOVER, CLEANUP)
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
    return Property(
        name,
        meaning,
        source,
        PropertyKind.STEP,
        scope,
        FORMULA_ENGINES,
        formula=formula,
        premise=premise,
        not_by=UNSEEN,
        expected=waivers.reasons(name),
        expected_rules=waivers.rules(name),
    )


_REVIVED = all_of(FAILS_OVER, STORED_MEMBER.now(X))
RETIRED_ID = step_property(
    "retired-id-stays-invalid",
    "An id that is neither a member's nor pending becomes so only as the fresh id of this step, or "
    "by a failover that finds it stored as a member's.",
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
    "After a failover exactly the stored members are there, as they were stored, and the offsets.",
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
    "The id that an answer to a join tells is the fresh one or the one that the client sent.",
    implies(JOINS, for_all(X, implies(CALLER.then(X), any_of(same(X, FRESH), is_mid(X))))),
    all_of(JOINS, CALLER.then(FRESH)),
    src.KIP_JOIN,
    "JoinGroup; that fresh ids never repeat is assumed",
)

_REPLACED = all_of(JOINS, negate(MID_GIVEN.now()), is_inst(I), HOLDS.then(I, FRESH))
STATIC_GOES_ONLY = step_property(
    "static-goes-only-by-session-leave-replacement",
    "A static member goes only by its session timeout, by a leave that names it, or by a join that "
    "replaces it under its own instance.",
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
    f"{_EVERY_STEP}; a failover loses whoever was not stored",
)
_PHASE_ENDS = all_of(_JOIN_PHASE, negate(is_now(RULE, "JOIN-PHASE-DELAY-EXTENDED")))
_ABSENT = all_of(MEMBER.now(X), negate(PARKED.now(X)))
DYNAMIC_GOES = step_property(
    "dynamic-goes-at-rebalance-timeout",
    "When the rebalance timeout ends the wait, dynamic members that did not rejoin go.",
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
    "When the rebalance timeout ends the wait, static members that did not rejoin stay.",
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
    "A static member that restarts in a stable group, the selected protocol unchanged, changes "
    "neither state nor generation, nobody's lead but its own, and no other member.",
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
    "The generation never falls while a group exists; after a failover it is the stored one, 0 if "
    "none was stored.",
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

_TOLD_TO_HAVE_LEFT = all_of(is_now(EVENT, LEAVE_ROW), is_now(ANSWER, Error.NONE))
LEAVE_TAKES_EFFECT = step_property(
    "leave-takes-effect",
    "Whoever is told that it has left is neither a member nor pending any more.",
    implies(_TOLD_TO_HAVE_LEFT, for_all(X, implies(NAMED.now(X), negate(is_valid_then(X))))),
    all_of(_TOLD_TO_HAVE_LEFT, exists(X, NAMED.now(X))),
    src.KIP_LEAVE,
    "rows of a leave that are answered NONE",
)
_SESSION_ENDS = is_now(EVENT, SESSION_END)
_WAITS = all_of(any_of(PARKED.now(SUBJECT), SYNCING.now(SUBJECT)), negate(NEW.now(SUBJECT)))
SESSION_TAKES_THE_SILENT = step_property(
    "session-end-takes-the-silent",
    "When a session ends, a pending id goes, and so does a member, unless an answer is owed to it.",
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
"""What becomes of ids, of static members and of the generation."""
