"""The best assignment of a group that there is, by a minimum-cost flow.

Best is the evenest; of these, where racks matter, one with the fewest far partitions; of these, one
with the fewest moves.  Loads are as even as can be if the sum of their squares is least.

It takes milliseconds for twenty partitions, and grows fast: it is for small groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx

from fencepost.model.assignors.assignor_input import Applicant, Assignment, is_near, racks_matter
from fencepost.model.assignors.ownership_claims import claims_of
from fencepost.model.messages.subscription import TopicPartition
from fencepost.properties.assignors.assignor_groups import AssignorInput


@dataclass(frozen=True, slots=True, order=True)
class Quality:
    """How good an assignment is: the less the better, compared field by field.

    `unevenness`: the sum of the squares of all loads.  `far`: partitions without a replica in their
    member's rack; 0 where racks don't matter.  `moves`: partitions that an owner loses to another.
    """

    unevenness: int
    far: int
    moves: int


def quality_of(group: AssignorInput, found: Assignment) -> Quality:
    """How good an assignment of a group is."""
    owners = claims_of(group.members, group.counts).owners()
    member = {m.member_id: m for m in group.members}
    given = [(p, member[m]) for m, partitions in found.items() for p in partitions]
    matter = racks_matter(group.members, group.partitions(), group.racks)
    return Quality(
        unevenness=sum(len(partitions) ** 2 for partitions in found.values()),
        far=sum(matter and not is_near(m, p, group.racks) for p, m in given),
        moves=sum(p in owners and owners[p] != m for p, m in given),
    )


def best_assignment(group: AssignorInput, *, by_racks: bool = True) -> Assignment:
    """An assignment of the best quality; `by_racks` False: as if there were no racks."""
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
