"""An instance belongs to the process that came first, as long as it is a member.

In KIP-345 the last one wins: a second process takes the instance over, and the first is fenced.
Here the second is refused until the first has left, or its session is over.  The property at the
end says what this is for; `check` holds it, and shows what is lost:

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
    "a process whose instance is taken is refused, and nobody is replaced",
    (
        # Rules are dropped, and one that applies in all their states is added.
        *(DropRule("JoinGroup", rule_id, IDEA) for rule_id in TAKEN_OVER),
        SetRule(
            "JoinGroup",
            Rule(
                "JOIN-STATIC-EMPTY-TAKEN",
                when(mid=Mid.EMPTY, inst=Inst.OTHER),
                answer=Error.FENCED_INSTANCE_ID,
                source=IDEA,
                because="the instance has a member, who is not known to be gone",
            ),
            IDEA,
        ),
    ),
)


def replaced(step: StepView) -> str | None:
    """Return what is wrong: an instance that is another member's after the step."""
    if step.before is None or step.after is None:
        return None
    for instance, holder in step.before.static:
        if step.after.holder(instance) not in {holder, None}:
            return f"{instance} was {holder}'s, and now it is {step.after.holder(instance)}'s"
    return None


def has_holder(step: StepView) -> bool:
    """Return whether there is an instance to take: without such a step nothing is tested."""
    return step.before is not None and bool(step.before.static)


PROPERTIES = (
    Property(
        id="nobody-is-replaced",
        meaning="An instance changes hands only when its member is gone.",
        source=IDEA,
        kind=PropertyKind.STEP,
        scope="every step of a group that has a static member",
        engines=frozenset({Engine.EXPLORATION, Engine.HYPOTHESIS}),
        holds=replaced,
        premise=has_holder,
        not_by={
            Engine.PROOF: "it is a function, and proofs take formulas",
            Engine.ANSWERS: "it looks into the group",
        },
    ),
)
