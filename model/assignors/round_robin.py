"""The round robin assignor: all partitions are dealt to the members in turn.

Source: Kafka's RoundRobinAssignor, by what it decides; it knows no racks.
"""

from __future__ import annotations

from fencepost.model.assignors.assignor_input import (
    NO_RACKS,
    Applicant,
    Assignment,
    Counts,
    Racks,
    collected,
    in_order,
    partitions_of,
    takers_by_topic,
)
from fencepost.model.messages.subscription import TopicPartition


def assign_round_robin(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    """Deal all partitions to the members in turn, passing over those that don't want the topic."""
    ordered = in_order(members)
    wanted = [frozenset(member.subscription.topics) for member in ordered]
    given: dict[str, list[TopicPartition]] = {member.member_id: [] for member in ordered}
    turn = 0
    for partition in partitions_of(takers_by_topic(members, counts), counts):
        while partition.topic not in wanted[turn]:
            turn = (turn + 1) % len(ordered)
        given[ordered[turn].member_id].append(partition)
        turn = (turn + 1) % len(ordered)
    return collected(members, given)
