"""Conversions: a classic group becomes a consumer group, and the reverse.

The first join of the consumer protocol upgrades a classic group; where it can't, the group doesn't
exist for that protocol.  A group whose members are all of the classic protocol is downgraded.
"""

from __future__ import annotations

from fencepost.model.bridge.effects import DOWNGRADE_TABLE, UPGRADE_TABLE, Do
from fencepost.model.bridge.rules import rule_sources as src
from fencepost.model.bridge.vocabulary import (
    CAUSE,
    FITS,
    HAS_MEMBERS,
    IS_CONSUMER,
    PLAIN,
    POLICY,
    Cause,
    when,
)
from fencepost.model.messages.errors import Error
from fencepost.model.table.expr import Expr
from fencepost.model.table.table import Level, Rule, Table


def _refusal(rule_id: str, guard: Expr, because: str) -> Rule:
    return Rule(
        f"MG-UPGRADE-{rule_id}",
        guard,
        answer=Error.GROUP_ID_NOT_FOUND,
        level=Level.SHOULD,
        source=src.KIP_MIGRATION,
        because=because,
    )


UPGRADE = Table(
    UPGRADE_TABLE,
    (HAS_MEMBERS, POLICY, IS_CONSUMER, FITS, PLAIN),
    (
        Rule(
            "MG-UPGRADE-EMPTY",
            when(has_members=False),
            (Do.START_ANEW,),
            level=Level.SHOULD,
            source=src.KIP_MIGRATION,
            because="a classic group without members gives way to a consumer group",
        ),
        _refusal("POLICY", when(policy=False), "the migration policy does not allow upgrades"),
        _refusal(
            "PROTOCOL-TYPE", when(is_consumer=False), "the members of the group are no consumers"
        ),
        _refusal("SIZE", when(fits=False), "the group has more members than consumer groups may"),
        _refusal(
            "ASSIGNOR",
            when(plain=False),
            "an assignment has data that only the assignor of the group understands",
        ),
    ),
    (
        Rule(
            "MG-UPGRADE",
            when(policy=True, is_consumer=True, fits=True, plain=True),
            (Do.UPGRADE,),
            level=Level.SHOULD,
            source=src.KIP_MIGRATION,
            because="the first member of the consumer protocol joins the group",
        ),
    ),
)

DOWNGRADE = Table(
    DOWNGRADE_TABLE,
    (CAUSE, POLICY, FITS),
    (
        Rule(
            "MG-DOWNGRADE-POLICY",
            when(policy=False),
            level=Level.SHOULD,
            source=src.KIP_MIGRATION,
            because="the migration policy does not allow downgrades",
        ),
        Rule(
            "MG-DOWNGRADE-SIZE",
            when(fits=False),
            level=Level.SHOULD,
            source=src.KIP_MIGRATION,
            because="the group has more members than group.max.size",
        ),
    ),
    (
        Rule(
            "MG-DOWNGRADE-REPLACED",
            when(cause=Cause.REPLACED, policy=True, fits=True),
            (Do.DOWNGRADE,),
            level=Level.SHOULD,
            source=src.KIP_MIGRATION,
            because="a classic member replaced the last one of the consumer protocol",
        ),
        Rule(
            "MG-DOWNGRADE-CHANGED",
            when(cause=Cause.CHANGED, policy=True, fits=True),
            (Do.DOWNGRADE, Do.REBALANCE, Do.ANSWER_AT_ZERO),
            level=Level.SHOULD,
            source="KAFKA-19546, since 4.1.1; seen on 4.1.1 to 4.4.0",
            because=(
                "a classic member with another subscription replaced the last one of the consumer "
                "protocol, so it must join again"
            ),
        ),
        Rule(
            "MG-DOWNGRADE-LEFT",
            when(cause=Cause.LEFT, policy=True, fits=True),
            (Do.DOWNGRADE, Do.REBALANCE),
            level=Level.SHOULD,
            source=src.KIP_MIGRATION,
            because="the last member of the consumer protocol is gone, so the others share anew",
        ),
    ),
)
