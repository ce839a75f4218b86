"""Rules that several APIs share: the checks of the state of the group, and of the sender.

Each function makes the rules of one API, with its prefix in their ids, so that guards and reasons
agree everywhere.
"""

from __future__ import annotations

from fencepost.model.classic.cells import (
    ABSENT,
    DEAD,
    EMPTY,
    OTHER,
    PENDING,
    UNKNOWN,
    UNMAPPED,
    when,
)
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import Generation
from fencepost.model.messages.errors import Error
from fencepost.model.table.table import Level, Rule


def absent(prefix: str) -> Rule:
    """Make the check of a group that doesn't exist."""
    return Rule(
        f"{prefix}-GROUP-ABSENT",
        when(state=ABSENT),
        answer=Error.UNKNOWN_MEMBER_ID,
        source=src.KAFKA_CHECKS,
        because="a group that doesn't exist has no members",
    )


def dead(prefix: str) -> Rule:
    """Make the check of a group that is being unloaded."""
    return Rule(
        f"{prefix}-GROUP-DEAD",
        when(state=DEAD),
        answer=Error.COORDINATOR_NOT_AVAILABLE,
        level=Level.SHOULD,
        source=src.KAFKA_CHECKS,
        because="the group is being unloaded",
        defensive=src.NEVER_DEAD,
    )


def validate(prefix: str) -> tuple[Rule, ...]:
    """Make the checks of the sender: fenced before unknown, the generation after both."""
    return (
        Rule(
            f"{prefix}-INSTANCE-UNMAPPED",
            when(inst=UNMAPPED),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=src.KAFKA_VALIDATE,
            because="the instance is unmapped, so no member has it",
        ),
        Rule(
            f"{prefix}-INSTANCE-FENCED",
            when(inst=OTHER),
            answer=Error.FENCED_INSTANCE_ID,
            source=src.KIP_JOIN,
            because="the instance is mapped to another member id, so the caller is a zombie",
        ),
        Rule(
            f"{prefix}-UNKNOWN-MEMBER",
            when(mid=(EMPTY, PENDING, UNKNOWN)),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=src.KAFKA_VALIDATE,
            because="no member has this id, and a pending id is not a member yet",
        ),
    )


def illegal_generation(prefix: str) -> Rule:
    """Make the check of the generation id."""
    return Rule(
        f"{prefix}-ILLEGAL-GENERATION",
        when(generation=(Generation.NEGATIVE, Generation.BEFORE, Generation.AFTER)),
        answer=Error.ILLEGAL_GENERATION,
        source=src.KAFKA_VALIDATE,
        because="the request names another generation than the group's",
    )
