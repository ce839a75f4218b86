"""The experiments on the KIP's open ends, and what they are for, as a property.

`docs/designers/experiments.md` shows what `fencepost check` says of them.
"""

from fencepost.model import GroupState, Incoming, find_revision
from fencepost.properties import (
    Engine,
    Fair,
    NamedScope,
    Promise,
    Property,
    PropertyClass,
    PropertyKind,
    Scope,
    StepView,
    WorldView,
)

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
)

# The worlds of `check` have two members at most; a target size of three needs a third.
WORLDS = (
    NamedScope(
        "three instances",
        "three static members come, one after the other",
        Scope(clients=3, instances=3, members=3, acts=("join", "sync")),
    ),
)


def nobody_reads(world: WorldView) -> bool:
    """Return whether a group has members, and none an assignment: from here on it is owed."""
    group = world.group
    return group is not None and bool(group.members) and not somebody_reads(world)


def somebody_reads(world: WorldView) -> bool:
    """Return whether a member has an assignment: then it is kept."""
    return world.group is not None and any(member.assignment for member in world.group.members)


PROMISES = (
    Promise(
        id="somebody-reads-in-the-end",
        meaning="A group in which nobody has an assignment assigns the partitions.",
        source='KIP-345 "Future Works"',
        when=nobody_reads,
        until=somebody_reads,
        fair=Fair.CONDUCT,
        property_class=PropertyClass.SAFETY,
        harm="all partitions are nobody's, for ever",
    ),
)
