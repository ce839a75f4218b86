"""Broken joins, restarts aside: who comes in, under which id, and who is disturbed by it."""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.group import SESSION, Group
from fencepost.model.classic.work import Work
from fencepost.model.messages.errors import Error
from fencepost.model.revisions.base import RULES
from fencepost.model.table.effects import Do, Echo
from fencepost.model.table.expr import all_of, negate
from fencepost.model.table.table import Rule
from fencepost.model.table.vocabulary import INST, MID, Inst, Mid
from fencepost.properties.departures.mutation_operators import afterwards
from fencepost.properties.mutants.mutant import (
    ADDED,
    ANSWER,
    ECHO,
    EFFECT,
    GUARD,
    SHAPE,
    TIMER,
    Mutant,
    added,
    but,
    dropped,
    mutant,
    only,
    without,
)

_COME_IN = (Do.REBALANCE, Do.PARK_JOIN)
_REJOIN = (Do.UPDATE_MEMBER, *_COME_IN)
TAKE_OVER = (Do.REPLACE_HOLDER, *_COME_IN)
_AS_STATIC = (Do.REMOVE_PENDING, Do.ADD_STATIC_AS_SENT, *_COME_IN)
_ZOMBIE = all_of(MID.among(Mid.UNKNOWN), INST.among(Inst.OTHER))
_UPGRADE = all_of(MID.among(Mid.MEMBER), INST.among(Inst.UNMAPPED))
_PENDING_STATIC = all_of(MID.among(Mid.PENDING), INST.among(Inst.UNMAPPED))


def starts_no_timer(_: Group, work: Work) -> None:
    """For `afterwards`: the caller has no session timer."""
    work.group = work.group.without_timer(SESSION, work.caller)


def _still_pending(before: Group, work: Work) -> None:
    work.group = replace(work.group, pending=before.pending)


JOIN: tuple[Mutant, ...] = (
    mutant(
        "static-asked-for-id",
        "a new static member is sent back with MEMBER_ID_REQUIRED, as a dynamic one is",
        ANSWER,
        but(
            "JOIN-STATIC-EMPTY-NEW",
            effect=(Do.HAND_OUT_PENDING,),
            answer=Error.MEMBER_ID_REQUIRED,
            echo=Echo.NEW,
        ),
        only("JOIN-PENDING-INSTANCE", negate(_PENDING_STATIC)),
        added("JOIN-PENDING", Rule("JOIN-PENDING-STATIC", _PENDING_STATIC, _AS_STATIC)),
    ),
    mutant(
        "zombie-join-takes-over",
        "a join with a replaced id takes its instance back: two processes fence each other",
        GUARD,
        only("JOIN-INSTANCE-FENCED", negate(_ZOMBIE)),
        added("JOIN-STATIC-EMPTY-NEW", Rule("JOIN-ZOMBIE", _ZOMBIE, TAKE_OVER)),
    ),
    mutant(
        "zombie-join-unknown",
        "a join with a replaced id is told UNKNOWN_MEMBER_ID, so that its client starts afresh",
        ANSWER,
        but("JOIN-INSTANCE-FENCED", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    mutant(
        "dynamic-becomes-static",
        "a dynamic member that names an unmapped instance gets it",
        GUARD,
        only("JOIN-INSTANCE-UNMAPPED", negate(_UPGRADE)),
        added("JOIN-STATIC-EMPTY-NEW", Rule("JOIN-UPGRADE", _UPGRADE, (Do.MAP_CALLER, *_REJOIN))),
    ),
    mutant(
        "unknown-id-joins",
        "a dynamic member that was removed comes in again under its old id",
        GUARD,
        but("JOIN-UNKNOWN-MEMBER", effect=(Do.ADD_STATIC_AS_SENT, *_COME_IN), answer=None),
    ),
    mutant(
        "no-id-required",
        "a dynamic member is added at its first join, also from version 4 on",
        GUARD,
        but(
            "JOIN-DYNAMIC-EMPTY",
            effect=RULES["JOIN-DYNAMIC-EMPTY-LEGACY"].effect,
            answer=None,
        ),
    ),
    mutant(
        "id-required-of-old-clients",
        "MEMBER_ID_REQUIRED is answered below version 4, where clients don't know it",
        SHAPE,
        but(
            "JOIN-DYNAMIC-EMPTY-LEGACY",
            effect=(Do.HAND_OUT_PENDING,),
            answer=Error.MEMBER_ID_REQUIRED,
            echo=Echo.NEW,
        ),
    ),
    mutant(
        "id-required-without-id",
        "MEMBER_ID_REQUIRED doesn't carry the new id, so the client asks again for ever",
        ECHO,
        but("JOIN-DYNAMIC-EMPTY", echo=Echo.SENT),
    ),
    mutant(
        "refused-join-without-id",
        "a refused join doesn't echo the member id that was sent",
        ECHO,
        but("JOIN-INSTANCE-FENCED", echo=Echo.EMPTY),
        but("JOIN-INSTANCE-UNMAPPED", echo=Echo.EMPTY),
        but("JOIN-UNKNOWN-MEMBER", echo=Echo.EMPTY),
    ),
    mutant(
        "unchanged-follower-rebalances",
        "a follower that joins again with nothing changed disturbs the whole group",
        ADDED,
        but("JOIN-FOLLOWER-STABLE-SAME", effect=_REJOIN),
    ),
    mutant(
        "changed-follower-ignored",
        "a follower's changed subscription is taken, but nobody assigns anew",
        EFFECT,
        but("JOIN-FOLLOWER-STABLE-CHANGED", effect=(Do.UPDATE_MEMBER, Do.ANSWER_CURRENT)),
    ),
    mutant(
        "changed-follower-answered",
        "a follower that changes its subscription is told what it has, as if nothing had changed",
        EFFECT,
        but("JOIN-FOLLOWER-STABLE-CHANGED", effect=(Do.ANSWER_CURRENT,)),
    ),
    mutant(
        "leader-rejoin-ignored",
        "a leader that joins again in Stable, having seen new topics, starts no rebalance",
        EFFECT,
        but("JOIN-LEADER-STABLE", effect=(Do.UPDATE_MEMBER, Do.ANSWER_CURRENT)),
    ),
    mutant(
        "repeated-join-rebalances",
        "a join that is sent again in CompletingRebalance starts the rebalance over",
        ADDED,
        but("JOIN-MEMBER-COMPLETING-SAME", effect=_REJOIN),
    ),
    mutant(
        "rejoin-keeps-subscription",
        "a member that joins again in PreparingRebalance keeps its old protocols and timeouts",
        EFFECT,
        without("JOIN-MEMBER-PREPARING", Do.UPDATE_MEMBER),
    ),
    mutant(
        "session-bounds-unchecked",
        "any session timeout is taken, whatever the broker's bounds are",
        GUARD,
        dropped("JOIN-SESSION-TIMEOUT-INVALID"),
    ),
    mutant(
        "group-size-unchecked",
        "group.max.size is not looked at",
        GUARD,
        dropped("JOIN-GROUP-FULL"),
        dropped("JOIN-GROUP-FULL-PENDING"),
    ),
    mutant(
        "refused-by-size-stays",
        "a member that is refused because the group is full stays a member",
        EFFECT,
        without("JOIN-GROUP-FULL", Do.REMOVE_CALLER),
    ),
    mutant(
        "refused-by-size-stays-pending",
        "an id that is refused because the group is full stays pending, and blocks the join phase",
        EFFECT,
        without("JOIN-GROUP-FULL-PENDING", Do.REMOVE_PENDING),
    ),
    mutant(
        "member-protocols-unchecked",
        "a member may change to protocols that nobody else supports: none can be selected",
        GUARD,
        only("JOIN-PROTOCOLS-INCONSISTENT", negate(MID.among(Mid.MEMBER))),
    ),
    mutant(
        "pending-not-used-up",
        "an id that became a member stays pending, too: it is refused and blocks the join phase",
        EFFECT,
        twists={Do.ADMIT_PENDING: afterwards(_still_pending)},
    ),
    mutant(
        "pending-without-timer",
        "an id that was handed out and never used is never taken back",
        TIMER,
        twists={Do.HAND_OUT_PENDING: afterwards(starts_no_timer)},
    ),
)
