"""Define the accepted KIP-345, strictly: its text holds where Kafka has more causes or errors."""

from __future__ import annotations

from fencepost.model.classic.cells import (
    CHANGED,
    COMPLETING,
    FOLLOWER,
    MEMBER,
    NONE,
    OTHER,
    OWN,
    PENDING,
    STABLE,
    UNMAPPED,
    when,
)
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import Late
from fencepost.model.messages.errors import Error
from fencepost.model.revision import SetRule, derive
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.table.expr import all_of, any_of
from fencepost.model.table.table import Level, Rule

_J = "JoinGroup"


def _only_dynamic(rule_id: str) -> Rule:
    rule = RULES[rule_id]
    return rule.but(guard=all_of(rule.guard, when(inst=NONE)))


_CAUSES = f'{src.KIP_BACKGROUND}: the four causes of a rebalance under "Static Membership"'
KIP_345 = derive(
    KAFKA_4,
    "kip-345",
    "the accepted text, strictly: where Kafka knows a further cause or error, the KIP rules",
    (
        SetRule(
            _J,
            RULES["JOIN-STATIC-EMPTY-STABLE-SELECTION"].but(
                effect=RULES["JOIN-STATIC-EMPTY-STABLE"].effect,
                level=Level.MUST,
                because="a static member that restarts in a stable group causes no rebalance",
            ),
            f"{src.KIP_JOIN}: the reply is immediate when the group is stable",
        ),
        SetRule(_J, _only_dynamic("JOIN-MEMBER-COMPLETING-CHANGED"), _CAUSES),
        SetRule(_J, _only_dynamic("JOIN-FOLLOWER-STABLE-CHANGED"), _CAUSES),
        SetRule(
            _J,
            Rule(
                "JOIN-STATIC-CHANGED",
                all_of(
                    when(mid=MEMBER, inst=OWN, subscription=CHANGED, state=(COMPLETING, STABLE)),
                    any_of(when(role=FOLLOWER), when(state=COMPLETING)),
                ),
                (Do.UPDATE_MEMBER, Do.ANSWER_CURRENT),
                source=_CAUSES,
                because="a known static member that rejoins keeps what it has, without a rebalance",
            ),
            _CAUSES,
        ),
        SetRule(
            _J,
            Rule(
                "JOIN-PENDING-INSTANCE",
                when(mid=PENDING, inst=OTHER),
                answer=Error.FENCED_INSTANCE_ID,
                source=src.KIP_JOIN,
                because="a member id must be the one that its instance is mapped to",
            ),
            f"{src.KIP_JOIN}: the member id must match the stored one",
        ),
        SetRule(
            _J,
            Rule(
                "JOIN-PENDING-INSTANCE-UNMAPPED",
                when(mid=PENDING, inst=UNMAPPED),
                answer=Error.UNKNOWN_MEMBER_ID,
                source=src.KIP_JOIN,
                because="a static member is never pending, and the instance is unmapped",
            ),
            f"{src.KIP_JOIN}: static members are never pending",
        ),
        SetRule(
            _J,
            RULES["JOIN-GROUP-FULL"].but(effect=()),
            f"{src.KIP_ROLLING}: a member is removed only by its session timeout",
        ),
        SetRule(
            "LeaveGroup",
            RULES["LEAVE-GROUP-ABSENT"].but(
                effect=(),
                answer=Error.INVALID_GROUP_ID,
                level=Level.MUST,
                source=src.KIP_COMMAND,
                because="the consumer group does not exist",
            ),
            f"{src.KIP_COMMAND}: error 2",
        ),
        SetRule(
            "sync phase",
            RULES["SYNC-PHASE-EXPIRED"].but(
                guard=when(late=Late.DYNAMIC),
                effect=(Do.REMOVE_UNSYNCED_DYNAMIC, Do.REBALANCE),
                because="a missing sync removes only dynamic members",
            ),
            f"{src.KIP_ROLLING}: a member is removed only by its session timeout",
        ),
        SetRule(
            "sync phase",
            Rule(
                "SYNC-PHASE-STATIC",
                when(late=Late.STATIC),
                source=src.KIP_ROLLING,
                because="a static member that never syncs stays until its session expires",
            ),
            f"{src.KIP_ROLLING}: a member is removed only by its session timeout",
        ),
    ),
)
