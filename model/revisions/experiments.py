"""Define experiments on the KIP's open ends: registered instances, a target size.

Nobody ships these.  Both need the number of members that a group is meant to have
(`Revision.target_size`); the sizes here are small enough for exhaustive search, and
`with_target_size` gives others.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.classic.cells import EMPTY, NONE, PENDING, STABLE, UNMAPPED, when
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.table.expr import Expr, all_of, negate
from fencepost.model.table.table import Rule

_J = "JoinGroup"
_LEAVES = ("session timeout", "LeaveGroup member", "LeaveGroup member")
_LEFT = ("SESSION-EXPIRED", "LEAVE-MEMBER", "LEAVE-MEMBER-BY-INSTANCE")


def with_target_size(revision: Revision, size: int) -> Revision:
    """Return the revision for groups that are meant to have `size` members, 1 or more."""
    return replace(revision, target_size=size)


def _new(
    rule_id: str, seat: Do, guard: Expr, due: Do, passage: str, why: str
) -> tuple[SetRule, ...]:
    """Split a newcomer's rule in two: in a stable group it is seated idle, else as before."""
    base = RULES[rule_id]
    seated = Rule(
        f"{rule_id}-STABLE",
        all_of(guard, when(state=STABLE)),
        (seat, Do.SEAT_IDLE, Do.ANSWER_CURRENT, due),
        source=passage,
        because=why,
    )
    return (_unless_stable(_J, base, passage), SetRule(_J, seated, passage))


def _gone(due: Do, passage: str, why: str) -> tuple[SetRule, ...]:
    """Split the rules by which members leave in two: from a stable group, and else as before."""
    rules = []
    for table, rule_id in zip(_LEAVES, _LEFT, strict=True):
        base = RULES[rule_id]
        removed = base.but(
            id=f"{rule_id}-STABLE",
            guard=all_of(base.guard, when(state=STABLE)),
            effect=tuple(due if do is Do.REBALANCE else do for do in base.effect),
            source=passage,
            because=why,
        )
        rules += [_unless_stable(table, base, passage), SetRule(table, removed, passage)]
    return tuple(rules)


def _unless_stable(table: str, base: Rule, passage: str) -> SetRule:
    return SetRule(table, base.but(guard=all_of(base.guard, negate(when(state=STABLE)))), passage)


_STATIC = (Do.ADD_STATIC, when(mid=EMPTY, inst=UNMAPPED))
_DYNAMIC = (Do.ADMIT_PENDING, when(mid=PENDING, inst=NONE))

_REGISTERED = f"{src.KIP_FUTURE}, 1: pre-registration"
PREREGISTERED = with_target_size(
    derive(
        KAFKA_4,
        "experiment-preregistered",
        "the coordinator knows how many instances will be there, and rebalances when all have come",
        (
            *_new(
                "JOIN-STATIC-EMPTY-NEW",
                *_STATIC,
                Do.REBALANCE_FROM_TARGET,
                _REGISTERED,
                "a registered instance waits in its place until all have joined",
            ),
            *_gone(
                Do.REBALANCE_UP_TO_TARGET,
                _REGISTERED,
                "while the group has more members than are registered, others will leave, too",
            ),
        ),
    ),
    3,
)

_STANDBY = f"{src.KIP_FUTURE}, 2: hot standbys by target.group.size"
_SPARE = "a member beyond the target size stands by, and causes no rebalance"
STANDBY = with_target_size(
    derive(
        KAFKA_4,
        "experiment-standby",
        "members beyond target.group.size come without a rebalance and stand by",
        (
            *_new("JOIN-STATIC-EMPTY-NEW", *_STATIC, Do.REBALANCE_UP_TO_TARGET, _STANDBY, _SPARE),
            *_new("JOIN-PENDING", *_DYNAMIC, Do.REBALANCE_UP_TO_TARGET, _STANDBY, _SPARE),
        ),
    ),
    1,
)
TARGET_SIZE = with_target_size(
    derive(
        KAFKA_4,
        "experiment-target-size",
        "standbys, and by the KIP's words a swap only in a group smaller than target.group.size",
        (
            *STANDBY.differences,
            *_gone(
                Do.REBALANCE_BELOW_TARGET,
                _STANDBY,
                "the swap is due when the group is smaller than its target size",
            ),
        ),
    ),
    1,
)
