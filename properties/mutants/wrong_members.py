"""Broken checks of members: what zombies may do, how they leave, what they may commit."""

from __future__ import annotations

from fencepost.model.messages.errors import Error
from fencepost.model.revisions.base import RULES
from fencepost.model.table.effects import Do
from fencepost.model.table.expr import all_of, negate
from fencepost.model.table.table import Rule
from fencepost.model.table.vocabulary import INST, MID, STATE, GroupState, Inst, Mid
from fencepost.properties.departures.mutation_operators import retold, unanswered
from fencepost.properties.mutants.mutant import (
    ANSWER,
    EFFECT,
    GUARD,
    ORDER,
    TIMER,
    Mutant,
    added,
    behind,
    but,
    dropped,
    mutant,
    only,
    without,
)

_STORED = (Do.STORE_OFFSETS,)
_OWN = INST.among(Inst.OWN)
_LEAVING = ("LEAVE-MEMBER", "LEAVE-MEMBER-PREPARING")
_BY_INSTANCE = ("LEAVE-MEMBER-BY-INSTANCE", "LEAVE-MEMBER-BY-INSTANCE-PREPARING")


HEARTBEATS: tuple[Mutant, ...] = (
    mutant(
        "unknown-before-fenced",
        "an id of no member is UNKNOWN_MEMBER_ID, also where its instance has a new holder: a "
        "zombie joins anew and evicts its successor",
        ORDER,
        *(
            behind(f"{api}-INSTANCE-FENCED", f"{api}-UNKNOWN-MEMBER")
            for api in ("HEARTBEAT", "SYNC", "COMMIT")
        ),
    ),
    mutant(
        "generation-before-identity",
        "a request of another generation is ILLEGAL_GENERATION, whoever sends it, zombies too",
        ORDER,
        *(
            behind(f"{api}-{check}", f"{api}-ILLEGAL-GENERATION")
            for api in ("HEARTBEAT", "SYNC", "COMMIT")
            for check in ("INSTANCE-UNMAPPED", "INSTANCE-FENCED", "UNKNOWN-MEMBER")
        ),
    ),
    mutant(
        "zombie-heartbeats",
        "a replaced process is told that all is well, and goes on",
        ANSWER,
        but("HEARTBEAT-INSTANCE-FENCED", answer=Error.NONE),
    ),
    mutant(
        "heartbeat-hides-rebalance",
        "a heartbeat doesn't tell that a rebalance is being prepared, so nobody joins again",
        ANSWER,
        but("HEARTBEAT-PREPARING", answer=Error.NONE),
    ),
    mutant(
        "heartbeat-completing-refused",
        "in CompletingRebalance a heartbeat is answered REBALANCE_IN_PROGRESS: members join again",
        ANSWER,
        but("HEARTBEAT-COMPLETING", answer=Error.REBALANCE_IN_PROGRESS),
    ),
    mutant(
        "heartbeat-keeps-nobody-alive",
        "heartbeats in Stable don't restart the session timer",
        TIMER,
        without("HEARTBEAT-STABLE", Do.RESTART_SESSION),
    ),
    mutant(
        "heartbeat-generation-unchecked",
        "a member may heartbeat in any generation, and never learns that it missed one",
        GUARD,
        dropped("HEARTBEAT-ILLEGAL-GENERATION"),
    ),
    mutant(
        "sync-generation-unchecked",
        "a sync of another generation is taken for one of this",
        GUARD,
        dropped("SYNC-ILLEGAL-GENERATION"),
    ),
    mutant(
        "sync-protocol-unchecked",
        "a sync may name another protocol than was selected",
        GUARD,
        dropped("SYNC-PROTOCOL-MISMATCH"),
    ),
)

LEAVES: tuple[Mutant, ...] = (
    mutant(
        "leave-by-instance-refused",
        "an administrator can't remove a static member by its instance alone",
        ANSWER,
        *(but(rule_id, effect=(), answer=Error.UNKNOWN_MEMBER_ID) for rule_id in _BY_INSTANCE),
    ),
    mutant(
        "leave-without-rebalance",
        "a member leaves and nobody is given its partitions",
        EFFECT,
        without("LEAVE-MEMBER", Do.REBALANCE),
    ),
    mutant(
        "static-leave-ignored",
        "a static member that leaves under its own id is told NONE and stays",
        GUARD,
        *(only(rule_id, negate(_OWN)) for rule_id in _LEAVING),
        added(
            "LEAVE-MEMBER",
            Rule(
                "LEAVE-STATIC-IGNORED",
                all_of(MID.among(Mid.MEMBER), _OWN),
                answer=Error.NONE,
            ),
        ),
    ),
    mutant(
        "leave-keeps-pending",
        "an id that its client gives back stays pending",
        EFFECT,
        without("LEAVE-MEMBER-PENDING", Do.REMOVE_PENDING),
    ),
    mutant(
        "zombie-leave-unknown",
        "a leave with a replaced id is told UNKNOWN_MEMBER_ID, not FENCED_INSTANCE_ID",
        ANSWER,
        but("LEAVE-MEMBER-INSTANCE-FENCED", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    mutant(
        "leaver-waits-for-ever",
        "the waiting requests of a member that is removed are never answered",
        EFFECT,
        twists={
            Do.REMOVE_MEMBER: retold(unanswered),
            Do.REMOVE_HOLDER: retold(unanswered),
        },
    ),
    mutant(
        "leave-absent-refused",
        "a leave for a group that doesn't exist is refused as a whole, without an answer per row",
        ANSWER,
        but("LEAVE-GROUP-ABSENT", effect=(), answer=Error.UNKNOWN_MEMBER_ID),
    ),
)

COMMITS: tuple[Mutant, ...] = (
    mutant(
        "zombie-commits",
        "a replaced process may still commit: it overwrites what its successor reads",
        ANSWER,
        but("COMMIT-INSTANCE-FENCED", effect=_STORED, answer=Error.NONE),
    ),
    mutant(
        "stranger-commits",
        "an id that is of no member may commit",
        ANSWER,
        but("COMMIT-UNKNOWN-MEMBER", effect=_STORED, answer=Error.NONE),
    ),
    mutant(
        "anybody-commits",
        "offsets without member and generation are stored while the group has members",
        ANSWER,
        but("COMMIT-ANONYMOUS", effect=_STORED, answer=Error.NONE),
    ),
    mutant(
        "commit-generation-unchecked",
        "a member may commit for a generation that is over",
        GUARD,
        dropped("COMMIT-ILLEGAL-GENERATION"),
    ),
    mutant(
        "commit-completing-accepted",
        "a commit is taken in CompletingRebalance, before the member knows its partitions",
        ANSWER,
        but(
            "COMMIT-COMPLETING",
            effect=RULES["COMMIT-STABLE"].effect,
            answer=Error.NONE,
        ),
    ),
    mutant(
        "commit-preparing-refused",
        "a member can't save its progress before it gives partitions away",
        ANSWER,
        but("COMMIT-PREPARING", effect=(), answer=Error.REBALANCE_IN_PROGRESS),
    ),
    mutant(
        "commit-forgotten",
        "a commit in Stable is told NONE and not stored",
        EFFECT,
        without("COMMIT-STABLE", Do.STORE_OFFSETS),
    ),
    mutant(
        "commit-keeps-nobody-alive",
        "a commit doesn't restart the session timer",
        TIMER,
        without("COMMIT-STABLE", Do.RESTART_SESSION),
        without("COMMIT-PREPARING", Do.RESTART_SESSION),
    ),
    mutant(
        "empty-group-refuses-commits",
        "an administrator can't set the offsets of a group without members",
        GUARD,
        only("COMMIT-EMPTY-GROUP", negate(STATE.among(GroupState.EMPTY))),
    ),
)
