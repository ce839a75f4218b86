"""Check the promises of assignors: a function from an assignor and a group to faults for each.

A fault is a sentence.  No faults: the promise is kept, or there is no promise about such a group.
`ASSIGNOR_PROMISES` has them by name; `broken_promises` checks all of them.

Groups to check with: all small ones, random ones, and a Hypothesis strategy.  Names of one kind are
equally long, so that their order is that of their numbers.

The best assignment of a group comes from a minimum-cost flow.  Best is the evenest; of these, where
racks matter, one with the fewest far partitions; of these, one with the fewest moves. Loads are as
even as can be if the sum of their squares is least.  It takes milliseconds for twenty partitions,
and grows fast: it is for small groups.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product

import networkx as nx
from hypothesis import strategies as st

from fencepost.model.assignors.assignor_input import (
    NO_RACKS,
    Applicant,
    Assignment,
    Counts,
    Racks,
    is_near,
    racks_matter,
)
from fencepost.model.assignors.assignors import Assignor
from fencepost.model.assignors.sticky import claims_of
from fencepost.model.messages.subscription import Subscription, TopicPartition

RACKS = ("ra", "rb", "rc")
TOPICS = ("ta", "tb", "tc", "td")


@dataclass(frozen=True, slots=True)
class AssignorInput:
    """The input of an assignor."""

    members: tuple[Applicant, ...]
    counts: Counts
    racks: Racks = field(default_factory=lambda: NO_RACKS)

    def assigned(self, assignor: Assignor) -> Assignment:
        """Return the assignment that the assignor makes."""
        return assignor.assign(self.members, self.counts, self.racks)

    def partitions(self) -> list[TopicPartition]:
        """Return each partition of the topics of some member."""
        topics = {topic for member in self.members for topic in member.subscription.topics}
        return [
            TopicPartition(topic, number)
            for topic in sorted(topics)
            for number in range(self.counts.get(topic, 0))
        ]

    def owning(self, assignment: Assignment, generation: int) -> AssignorInput:
        """Return this group, each member of which owns its partitions of an assignment."""
        return replace(
            self,
            members=tuple(
                _with(m, owned=assignment[m.member_id], generation_id=generation)
                for m in self.members
            ),
        )


def _with(member: Applicant, **changes: object) -> Applicant:
    subscription = replace(member.subscription, **changes)  # type: ignore[arg-type]
    return replace(member, subscription=subscription)


def applicant(
    number: int,
    topics: tuple[str, ...],
    owned: tuple[TopicPartition, ...] = (),
    *,
    generation_id: int = -1,
    rack: str | None = None,
    is_static: bool = False,
) -> Applicant:
    """Return the member of this number; a static one's member id begins with its instance id."""
    instance = f"i{number:04}" if is_static else None
    member_id = f"{instance}u" if instance else f"m{number:04}u"
    return Applicant(member_id, instance, Subscription(topics, owned, generation_id, rack))


def small_groups(members: int, partitions: int) -> Iterator[AssignorInput]:
    """Yield each way for members to own partitions of two topics, up to these numbers.

    Members want one topic or both, at least one of them everything; no partition has two owners.
    """
    for size in range(1, members + 1):
        for first in range(1, partitions + 1):
            counts = {"ta": first, "tb": partitions - first}
            everything = [TopicPartition(t, n) for t, count in counts.items() for n in range(count)]
            for wishes in product((("ta", "tb"), ("ta",)), repeat=size - 1):
                for owners in product(range(-1, size), repeat=len(everything)):
                    yield _owned_group((("ta", "tb"), *wishes), everything, owners, counts)


def _owned_group(
    wishes: tuple[tuple[str, ...], ...],
    partitions: list[TopicPartition],
    owners: tuple[int, ...],
    counts: Counts,
) -> AssignorInput:
    owned = [
        tuple(p for p, owner in zip(partitions, owners, strict=True) if owner == index)
        for index in range(len(wishes))
    ]
    return AssignorInput(
        tuple(
            applicant(index, topics, owned[index], generation_id=1 if owned[index] else -1)
            for index, topics in enumerate(wishes)
        ),
        counts,
    )


def small_racked_groups(members: int, partitions: int) -> Iterator[AssignorInput]:
    """Yield each way to put the members and partitions of a topic into two racks, or none.

    Nobody owns anything, or the first member everything.
    """
    places = [None, *RACKS[:2]]
    some = [frozenset(racks) for racks in chain(*(combinations(RACKS[:2], n) for n in (1, 2)))]
    everything = tuple(TopicPartition("ta", number) for number in range(partitions))
    for where in product(places, repeat=members):
        for replicas in product(some, repeat=partitions):
            for owned in ((), everything):
                yield AssignorInput(
                    tuple(
                        applicant(
                            index, ("ta",), owned if index == 0 else (), generation_id=1, rack=rack
                        )
                        for index, rack in enumerate(where)
                    ),
                    {"ta": partitions},
                    dict(zip(everything, replicas, strict=True)),
                )


@dataclass(frozen=True, slots=True)
class GroupKind:
    """The properties of random groups.

    `is_uniform`: all members want the same; `has_racks`; `has_conflicts`: two members may claim one
    partition, in the same or in different generations.
    """

    is_uniform: bool = True
    has_racks: bool = False
    has_conflicts: bool = False

    def __str__(self) -> str:
        """Return it in words."""
        wants = "same topics" if self.is_uniform else "different topics"
        racks = ", racks" if self.has_racks else ""
        return wants + racks + (", claims overlap" if self.has_conflicts else "")


KINDS = tuple(
    GroupKind(uniform, racks, conflicts)
    for conflicts in (False, True)
    for racks in (False, True)
    for uniform in (True, False)
)


@st.composite
def groups(draw: st.DrawFn, kind: GroupKind | None = None) -> AssignorInput:
    """Draw groups of a kind, or of any; simpler ones have fewer members, partitions and owners."""
    chosen = kind or draw(st.sampled_from(KINDS))
    return _made(chosen, lambda least, most: draw(st.integers(least, most)))


def random_group(kind: GroupKind, rng: random.Random) -> AssignorInput:
    """Return a random group of a kind."""
    return _made(kind, rng.randint)


def _made(kind: GroupKind, number: Callable[[int, int], int]) -> AssignorInput:
    """Make a group; `number` chooses a number between two, the first being the simplest."""
    names = TOPICS[: number(1, 3)]
    counts = {topic: number(0, 6) for topic in names}
    everything = [TopicPartition(t, n) for t, count in counts.items() for n in range(count)]
    size = number(1, 6)
    owned: list[list[TopicPartition]] = [[] for _ in range(size)]
    for partition in everything:
        owners = [number(-1, size - 1)]
        if kind.has_conflicts and number(0, 3) == 3:
            owners.append(number(0, size - 1))
        for owner in sorted(set(owners) - {-1}):
            owned[owner].append(partition)
    shared = _some(names, number)
    members = tuple(
        applicant(
            index,
            shared if kind.is_uniform else _some(names, number),
            tuple(owned[index]),
            generation_id=5 - number(0, 2) if owned[index] else -1,
            rack=(None, *RACKS)[number(0, 3)] if kind.has_racks else None,
            is_static=number(0, 1) == 1,
        )
        for index in range(size)
    )
    racks = {
        partition: frozenset(RACKS[number(0, 2)] for _ in range(number(1, 2)))
        for partition in everything
        if kind.has_racks
    }
    return AssignorInput(members, counts, racks)


def _some(names: tuple[str, ...], number: Callable[[int, int], int]) -> tuple[str, ...]:
    """Return one or more of these, in their order."""
    bits = number(1, 2 ** len(names) - 1)
    return tuple(name for index, name in enumerate(names) if bits >> index & 1)


@dataclass(frozen=True, slots=True, order=True)
class Quality:
    """The quality of an assignment: the less the better, compared field by field.

    `unevenness`: the sum of the squares of all loads.  `far`: partitions without a replica in their
    member's rack; 0 where racks don't matter.  `moves`: partitions that an owner loses to another.
    """

    unevenness: int
    far: int
    moves: int


def quality_of(group: AssignorInput, assignment: Assignment) -> Quality:
    """Return the quality of an assignment of a group."""
    owners = claims_of(group.members, group.counts).owners()
    member = {m.member_id: m for m in group.members}
    pairs = [(p, member[m]) for m, partitions in assignment.items() for p in partitions]
    matter = racks_matter(group.members, group.partitions(), group.racks)
    return Quality(
        unevenness=sum(len(partitions) ** 2 for partitions in assignment.values()),
        far=sum(matter and not is_near(m, p, group.racks) for p, m in pairs),
        moves=sum(p in owners and owners[p] != m for p, m in pairs),
    )


def best_assignment(group: AssignorInput, *, by_racks: bool = True) -> Assignment:
    """Return an assignment of the best quality; `by_racks` False: as if there were no racks."""
    partitions = group.partitions()
    matter = by_racks and racks_matter(group.members, partitions, group.racks)
    owners = claims_of(group.members, group.counts).owners()
    move, far, more = 1, len(partitions) + 1, (len(partitions) + 1) ** 2

    def cost(partition: TopicPartition, taker: Applicant) -> int:
        is_far = matter and not is_near(taker, partition, group.racks)
        moves = partition in owners and owners[partition] != taker
        return far * is_far + move * moves

    flow = nx.DiGraph()
    flow.add_node("sink", demand=len(partitions))
    for partition in partitions:
        flow.add_node(partition, demand=-1)
        for member in group.members:
            if partition.topic in member.subscription.topics:
                flow.add_edge(
                    partition, member.member_id, capacity=1, weight=cost(partition, member)
                )
    for member in group.members:
        for load in range(len(partitions)):
            seat = member.member_id, load
            flow.add_edge(member.member_id, seat, capacity=1, weight=more * (2 * load + 1))
            flow.add_edge(seat, "sink", capacity=1)
    _, carried = nx.network_simplex(flow)
    return {
        member.member_id: tuple(p for p in partitions if carried[p].get(member.member_id))
        for member in group.members
    }


AssignorPromise = Callable[[Assignor, AssignorInput], Iterator[str]]
HANDOVER = 2
"""Rounds until a cooperative assignor comes to its end, where all members want the same."""
LONGEST = 8
"""Rounds until it does in any case; with racks, or different wishes, 5 were measured."""


def settled(assignor: Assignor, group: AssignorInput) -> Assignment:
    """Return the final assignment: at once, or, if cooperative, when nothing moves any more."""
    return rounds(assignor, group)[-1][1]


def rounds(assignor: Assignor, group: AssignorInput) -> list[tuple[AssignorInput, Assignment]]:
    """Return each round with moves: the group with its owners, and the assignment.

    An assignor that isn't cooperative does everything in the first round; there are at most
    LONGEST.
    """
    generation = max(m.subscription.generation_id for m in group.members)
    results = [(group, group.assigned(assignor))]
    while assignor.is_cooperative and len(results) < LONGEST:
        generation += 1
        group = group.owning(results[-1][1], generation)
        again = group.assigned(assignor)
        if again == results[-1][1]:
            break
        results.append((group, again))
    return results


def every_partition_once(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """Check that every partition goes to one member, which wants it; never, in between, to two."""
    topics = {m.member_id: set(m.subscription.topics) for m in group.members}
    assignment: Assignment = {}
    for _, assignment in rounds(assignor, group):
        if assignment.keys() != topics.keys():
            yield f"members {sorted(assignment)} instead of {sorted(topics)}"
            return
        count = Counter(p for partitions in assignment.values() for p in partitions)
        yield from (f"{p.topic}-{p.partition} twice" for p, n in count.items() if n > 1)
        for member_id, partitions in assignment.items():
            strange = sorted(p for p in partitions if p.topic not in topics[member_id])
            yield from (f"{member_id} doesn't want {p.topic}-{p.partition}" for p in strange)
    assigned = {p for partitions in assignment.values() for p in partitions}
    if missing := set(group.partitions()) - assigned:
        yield f"{len(missing)} partitions to nobody, {min(missing)} first"
    if more := assigned - set(group.partitions()):
        yield f"{len(more)} partitions that don't exist, {min(more)} first"


def balance(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """Check that no partition could go to a member with two fewer: of its topic (range), or in all.

    Round robin promises it where all members want the same.
    """
    if assignor.name == "roundrobin" and not wants_are_alike(group):
        return
    assignment = settled(assignor, group)
    for topic in sorted({p.topic for p in group.partitions()}):
        load = {
            m.member_id: sum(
                assignor.name != "range" or p.topic == topic for p in assignment[m.member_id]
            )
            for m in group.members
            if topic in m.subscription.topics
        }
        givers = [m for m in load if any(p.topic == topic for p in assignment[m])]
        most = max(givers, key=lambda m: load[m], default=None)
        least = min(load, key=lambda m: load[m])
        if most is not None and load[most] > load[least] + 1:
            yield f"{most} has {load[most]}, and {least}, which wants {topic}, has {load[least]}"


def stickiness(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """Check for needless moves; promised where all want the same and racks don't matter."""
    if not assignor.is_sticky or not wants_are_alike(group) or _by_racks(assignor, group):
        return
    moves = quality_of(group, settled(assignor, group)).moves
    must = quality_of(group, best_assignment(group, by_racks=False)).moves
    if moves > must:
        yield f"{moves} partitions move, where {must} must"


def restart(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """Check that static members that return under other ids, in another order, change nothing."""
    new = {
        m.member_id: f"{len(group.members) - index:04}{m.member_id}"
        for index, m in enumerate(group.members)
        if m.group_instance_id is not None
    }
    again = replace(
        group,
        members=tuple(
            replace(m, member_id=new.get(m.member_id, m.member_id)) for m in group.members[::-1]
        ),
    )
    before, after = group.assigned(assignor), again.assigned(assignor)
    for member_id, partitions in before.items():
        now = after.get(new.get(member_id, member_id))
        if now is None or set(now) != set(partitions):
            yield f"{member_id} had {len(partitions)} partitions, and others after a restart"


def calm(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """Check that a rebalance without a change moves nothing; not promised where racks matter."""
    if assignor.is_sticky and _by_racks(assignor, group):
        return
    assignment = settled(assignor, group)
    generation = max(m.subscription.generation_id for m in group.members) + LONGEST
    again = settled(assignor, group.owning(assignment, generation))
    for member_id, partitions in assignment.items():
        if set(again[member_id]) != set(partitions):
            yield f"{member_id} got {len(partitions)} partitions, and others the next time"


def handover(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """Check that a cooperative member gets nothing that another still has, and comes to an end.

    That is after two rounds, where all want the same and racks don't matter.  Promised where no two
    members claim one partition.
    """
    claims = claims_of(group.members, group.counts)
    if not assignor.is_cooperative or any(len(of) > 1 for of in claims.claimants.values()):
        return
    passed = rounds(assignor, group)
    for number, (before, assignment) in enumerate(passed, 1):
        holders = {p: m.member_id for m in before.members for p in m.subscription.owned}
        for member_id, partitions in assignment.items():
            for p in partitions:
                if holders.get(p, member_id) != member_id:
                    yield (
                        f"{p.topic}-{p.partition} goes to {member_id} in round {number}, "
                        f"while {holders[p]} has it"
                    )
    is_plain = wants_are_alike(group) and not _by_racks(assignor, group)
    if len(passed) > (HANDOVER if is_plain else LONGEST - 1):
        yield f"something moves in round {len(passed)}"


def racks_cost_no_balance(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """Check that loads with racks are as even as without; promised where all want the same."""
    if not wants_are_alike(group):
        return
    with_racks, without = (
        _loads(assignor, variant) for variant in (group, replace(group, racks=NO_RACKS))
    )
    if with_racks != without:
        yield f"loads {with_racks} with racks, {without} without"


def _loads(assignor: Assignor, group: AssignorInput) -> list[list[int]]:
    """Return the members' loads, sorted; of each topic, for range."""
    partitions_of = settled(assignor, group).values()
    if assignor.name != "range":
        return [sorted(map(len, partitions_of))]
    return [
        sorted(sum(p.topic == topic for p in partitions) for partitions in partitions_of)
        for topic in sorted(group.counts)
    ]


ASSIGNOR_PROMISES: Mapping[str, AssignorPromise] = {
    "every-partition-once": every_partition_once,
    "balance": balance,
    "stickiness": stickiness,
    "restart": restart,
    "calm": calm,
    "handover": handover,
    "racks-cost-no-balance": racks_cost_no_balance,
}
"""The promises by name."""


def broken_promises(assignor: Assignor, group: AssignorInput) -> list[str]:
    """Return each fault of an assignor on a group, with the name of the promise."""
    return [
        f"{name}: {fault}"
        for name, promise in ASSIGNOR_PROMISES.items()
        for fault in promise(assignor, group)
    ]


def wants_are_alike(group: AssignorInput) -> bool:
    """Return True if all members want the same topics."""
    return len({frozenset(m.subscription.topics) for m in group.members}) == 1


def _by_racks(assignor: Assignor, group: AssignorInput) -> bool:
    return assignor.knows_racks and racks_matter(group.members, group.partitions(), group.racks)
