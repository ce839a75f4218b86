"""The experiments on the KIP's open ends, and what they are for, as properties.

`docs/designers/experiments.md` shows what `fencepost check` says of them.
"""

from fencepost.model import GroupState, Incoming, find_revision
from fencepost.properties import Engine, Property, PropertyClass, PropertyKind, StepView

TODAY = find_revision("kafka-4")
PREREGISTERED = find_revision("experiment-preregistered")
STANDBY = find_revision("experiment-standby")
TARGET_SIZE = find_revision("experiment-target-size")


def newcomers(step: StepView) -> set[str]:
    """Return the instances that came to a stable group in this step."""
    if step.before is None or step.after is None or step.before.state is not GroupState.STABLE:
        return set()
    return {instance for instance, _ in step.after.static} - {i for i, _ in step.before.static}


def stops_others(step: StepView) -> str | None:
    """Return what is wrong: a newcomer for whom all others have to join again."""
    new = newcomers(step)
    if new and step.after is not None and step.after.state is not GroupState.STABLE:
        return f"{min(new)} came, and the group is {step.after.state.value}"
    return None


def bereft(step: StepView) -> list[str]:
    """Return who left a stable group in this step with an assignment, without a successor."""
    if step.before is None or step.before.state is not GroupState.STABLE:
        return []
    ids, held = set(), set()
    if step.after is not None:
        ids = {member.member_id for member in step.after.members}
        held = {instance for instance, _ in step.after.static}
    return [
        member.member_id
        for member in step.before.members
        if member.assignment and member.member_id not in ids
        if member.group_instance_id not in held
    ]


def is_left_lying(step: StepView) -> str | None:
    """Return what is wrong: an assignment that is nobody's, and no rebalance."""
    gone = bereft(step)
    if gone and step.after is not None and step.after.state is GroupState.STABLE:
        return f"{gone[0]} is gone, and nobody is given what it had"
    return None


_BY = frozenset({Engine.EXPLORATION, Engine.HYPOTHESIS})
_NOT_BY = {
    Engine.PROOF: "it is a function, and proofs take formulas",
    Engine.ANSWERS: "it looks into the group",
}
PROPERTIES = (
    Property(
        id="a-newcomer-stops-nobody",
        meaning="A static member that comes to a stable group, and has to wait, stops nobody.",
        source='KIP-345 "Future Works"',
        kind=PropertyKind.STEP,
        scope="joins in a stable group by which an instance becomes a member's",
        engines=_BY,
        holds=stops_others,
        premise=lambda step: isinstance(step.event, Incoming) and bool(newcomers(step)),
        not_by=_NOT_BY,
        property_class=PropertyClass.COST,
        harm="all others stop, and join again, for one that comes",
    ),
    Property(
        id="what-a-member-had-is-handed-on",
        meaning="When a member with an assignment is gone from a stable group, a rebalance begins.",
        source='KIP-345 "Background of Consumer Rebalance"',
        kind=PropertyKind.STEP,
        scope="steps by which a member with an assignment goes, and nobody takes its place",
        engines=_BY,
        holds=is_left_lying,
        premise=lambda step: bool(bereft(step)),
        not_by=_NOT_BY,
    ),
)
