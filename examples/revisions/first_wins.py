"""An instance id belongs to the first process that uses it, as long as that process is a member.

In KIP-345 the last process wins: it takes the instance over, and the coordinator fences the first
process.  Here the coordinator refuses the second process until the first one has left the group or
its session has ended.  The property at the end states the aim.

    fencepost check examples/revisions/first_wins.py:FIRST_WINS
"""

from fencepost.model import KAFKA_4, DropRule, Error, Inst, Mid, Rule, SetRule, derive, when
from fencepost.properties import Engine, Property, PropertyKind, StepView

IDEA = "our design note, section 2"
TAKEN_OVER = (
    "JOIN-STATIC-EMPTY-PREPARING",
    "JOIN-STATIC-EMPTY-COMPLETING",
    "JOIN-STATIC-EMPTY-STABLE",
    "JOIN-STATIC-EMPTY-STABLE-SELECTION",
)

FIRST_WINS = derive(
    KAFKA_4,
    "first-wins",
    "the coordinator refuses a second process of an instance",
    (
        # Remove four rules, and add one that applies in all their states.
        *(DropRule("JoinGroup", rule_id, IDEA) for rule_id in TAKEN_OVER),
        SetRule(
            "JoinGroup",
            Rule(
                "JOIN-STATIC-EMPTY-TAKEN",
                when(mid=Mid.EMPTY, inst=Inst.OTHER),
                answer=Error.FENCED_INSTANCE_ID,
                source=IDEA,
                because="the instance has a member, which may still be alive",
            ),
            IDEA,
        ),
    ),
)


def replaced(step: StepView) -> str | None:
    """Return the violation: the instance of a member that another member holds after the step."""
    if step.before is None or step.after is None:
        return None
    for instance, holder in step.before.static:
        if step.after.holder(instance) not in {holder, None}:
            return f"{instance} moved from {holder} to {step.after.holder(instance)}"
    return None


def has_holder(step: StepView) -> bool:
    """Return True if the group has an instance that another process could take."""
    return step.before is not None and bool(step.before.static)


PROPERTIES = (
    Property(
        id="nobody-is-replaced",
        meaning="An instance gets another member only after its member is gone.",
        source=IDEA,
        kind=PropertyKind.STEP,
        scope="each step of a group that has a static member",
        engines=frozenset({Engine.EXPLORATION, Engine.HYPOTHESIS}),
        holds=replaced,
        premise=has_holder,
        not_by={
            Engine.PROOF: "proofs need a formula, and this is a function",
            Engine.ANSWERS: "answers don't show the group",
        },
    ),
)
