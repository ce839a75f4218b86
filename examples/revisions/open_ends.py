"""The experiments on the KIP's open questions, with a property, a world and a promise for them.

`docs/designers/experiments.md` shows the results of `fencepost check`.
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
    """Return the violation: all other members must join again because of a newcomer."""
    new = newcomers(step)
    if new and step.after is not None and step.after.state is not GroupState.STABLE:
        return f"{min(new)} joined, and the group is {step.after.state.value}"
    return None


_BY = frozenset({Engine.EXPLORATION, Engine.HYPOTHESIS})
_NOT_BY = {
    Engine.PROOF: "proofs need a formula, and this is a function",
    Engine.ANSWERS: "answers don't show the group",
}
PROPERTIES = (
    Property(
        id="a-newcomer-stops-nobody",
        meaning="A new static member that has to wait in a stable group doesn't stop the others.",
        source='KIP-345 "Future Works"',
        kind=PropertyKind.STEP,
        scope="joins of a new instance in a stable group",
        engines=_BY,
        holds=stops_others,
        premise=lambda step: isinstance(step.event, Incoming) and bool(newcomers(step)),
        not_by=_NOT_BY,
        property_class=PropertyClass.COST,
        harm="all members stop and join again because of one newcomer",
    ),
)

# The worlds of `check` have at most two members; a target size of three needs a third.
WORLDS = (
    NamedScope(
        "three instances",
        "three static members join, one after the other",
        Scope(clients=3, instances=3, members=3, acts=("join", "sync")),
    ),
)


def nobody_reads(world: WorldView) -> bool:
    """Return True if no member of the group has an assignment: the promise becomes due."""
    group = world.group
    return group is not None and bool(group.members) and not somebody_reads(world)


def somebody_reads(world: WorldView) -> bool:
    """Return True if a member has an assignment: the promise is kept."""
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
        harm="no member ever reads a partition",
    ),
)
