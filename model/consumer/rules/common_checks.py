"""Make the checks that all heartbeats share, in their order, and pairs of rules with a bump.

Each function makes the rules of one table, with its prefix in their ids.
"""

from __future__ import annotations

from fencepost.model.consumer.cells import (
    CHANGED,
    DANGLING,
    OTHER,
    UNCHANGED,
    UNKNOWN,
    UNMAPPED,
    UNREADABLE,
    when,
)
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.vocabulary import Assignor, Kind
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import coordinator_checks
from fencepost.model.table.expr import Expr, all_of
from fencepost.model.table.shared_features import GroupId
from fencepost.model.table.table import Level, Rule, replace_steps


def ids(prefix: str) -> tuple[Rule, ...]:
    """Make the checks of the group id, and of the instance and rack id."""
    return (
        Rule(
            f"{prefix}-GROUP-ID-INVALID",
            when(group_id=(GroupId.NULL, GroupId.EMPTY)),
            answer=Error.INVALID_REQUEST,
            level=Level.SHOULD,
            source=src.KAFKA_VALIDATE,
            because="a request must name a group",
        ),
        Rule(
            f"{prefix}-ID-BLANK",
            when(blank=True),
            answer=Error.INVALID_REQUEST,
            level=Level.SHOULD,
            source=src.KAFKA_VALIDATE,
            because="an instance id or rack id is either null or not empty",
        ),
    )


def before_group(prefix: str) -> tuple[Rule, ...]:
    """Make the checks of the assignor and of the coordinator, before any look at the group."""
    return (
        Rule(
            f"{prefix}-ASSIGNOR-UNKNOWN",
            when(assignor=Assignor.UNKNOWN),
            answer=Error.UNSUPPORTED_ASSIGNOR,
            level=Level.SHOULD,
            source=src.KAFKA_VALIDATE,
            because="the broker has no assignor of this name",
        ),
        *coordinator_checks(prefix),
    )


def absent(prefix: str) -> Rule:
    """Make the check of a group that doesn't exist."""
    return Rule(
        f"{prefix}-GROUP-ABSENT",
        when(kind=(Kind.ABSENT, Kind.SIMPLE)),
        answer=Error.GROUP_ID_NOT_FOUND,
        level=Level.SHOULD,
        source=src.KAFKA_VALIDATE,
        because="only a join makes a group come to exist",
    )


def full(prefix: str, guard: Expr) -> Rule:
    """Make the check of the group's size."""
    return Rule(
        f"{prefix}-GROUP-FULL",
        guard,
        answer=Error.GROUP_MAX_SIZE_REACHED,
        level=Level.SHOULD,
        source=src.KAFKA_SIZE,
        because="the group has its largest size, and the member id is none of its members",
    )


def sender(prefix: str) -> tuple[Rule, ...]:
    """Make the checks of the sender: instance first, then the member id alone."""
    return (
        Rule(
            f"{prefix}-INSTANCE-UNMAPPED",
            when(inst=UNMAPPED),
            answer=Error.UNKNOWN_MEMBER_ID,
            level=Level.SHOULD,
            source=src.KIP_STATIC,
            because="no member has the instance: nobody joined with it, or that member is gone",
        ),
        Rule(
            f"{prefix}-INSTANCE-DANGLING",
            when(inst=DANGLING),
            answer=Error.UNKNOWN_MEMBER_ID,
            level=Level.SHOULD,
            source=src.KAFKA_DANGLING,
            because="the instance is mapped to an id that is gone",
        ),
        Rule(
            f"{prefix}-INSTANCE-FENCED",
            when(inst=OTHER),
            answer=Error.FENCED_INSTANCE_ID,
            source=src.KIP_STATIC,
            because="the instance is mapped to another member id, so the caller is a zombie",
        ),
        Rule(
            f"{prefix}-UNKNOWN-MEMBER",
            when(mid=UNKNOWN),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=src.KIP_HEARTBEAT,
            because="no member has the id: nobody joined with it, or that member is gone",
        ),
    )


def expression(prefix: str) -> Rule:
    """Make the check of the expression: the last one, when the member is known."""
    return Rule(
        f"{prefix}-EXPRESSION-INVALID",
        when(change=UNREADABLE),
        answer=Error.INVALID_REGULAR_EXPRESSION,
        level=Level.SHOULD,
        source=src.KAFKA_EXPRESSION,
        because="the subscription has an expression that can't be read",
    )


_BUMP_BEFORE_TARGET = {
    do: (Do.BUMP_EPOCH, do) for do in (Do.RECOMPUTE_TARGET, Do.RECOMPUTE_TARGET_AT_ONCE)
}


def with_bump(rule: Rule) -> tuple[Rule, Rule]:
    """Split a rule in two: an equal subscription, and another one, for which the epoch grows.

    The epoch grows before the target is looked at.
    """
    return (
        rule.but(guard=all_of(rule.guard, when(change=UNCHANGED))),
        replace_steps(rule, _BUMP_BEFORE_TARGET).but(
            id=f"{rule.id}-CHANGED",
            guard=all_of(rule.guard, when(change=CHANGED)),
            because=f"{rule.because}; its subscription is another one, so the target is made anew",
        ),
    )
