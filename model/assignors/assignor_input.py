"""Define the input of assignors: the members' topics and partitions, and the racks of replicas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fencepost.model.messages.subscription import Subscription, TopicPartition

Assignment = dict[str, tuple[TopicPartition, ...]]
"""By member id, each member's partitions, sorted; a member without any is there, too."""
Counts = Mapping[str, int]
"""Number of partitions of each topic; a topic that is left out has none."""
Racks = Mapping[TopicPartition, frozenset[str]]
"""Racks of the replicas of each partition; one that is left out has no known rack."""
NO_RACKS: Racks = MappingProxyType({})
_NOWHERE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Applicant:
    """A member as the leader sees it."""

    member_id: str
    group_instance_id: str | None
    subscription: Subscription

    @property
    def place(self) -> tuple[bool, str]:
        """Sort key of members: static ones by instance id, then dynamic ones by member id."""
        if self.group_instance_id is not None:
            return False, self.group_instance_id
        return True, self.member_id

    @property
    def rack(self) -> str | None:
        """Its rack; an empty name is none."""
        return self.subscription.rack_id or None


def in_order(members: Iterable[Applicant]) -> list[Applicant]:
    """Return the members by place, which a restart doesn't change."""
    return sorted(members, key=lambda member: member.place)


def takers_by_topic(members: Iterable[Applicant], counts: Counts) -> dict[str, list[Applicant]]:
    """Return the members that want each topic, by place; only topics that have partitions."""
    takers: dict[str, list[Applicant]] = {}
    for member in in_order(members):
        for topic in dict.fromkeys(member.subscription.topics):
            if counts.get(topic, 0) > 0:
                takers.setdefault(topic, []).append(member)
    return dict(sorted(takers.items()))


def partitions_of(topics: Iterable[str], counts: Counts) -> list[TopicPartition]:
    """Return all partitions of these topics, in the order of the topics."""
    return [TopicPartition(topic, number) for topic in topics for number in range(counts[topic])]


def racks_matter(
    members: Iterable[Applicant], partitions: Sequence[TopicPartition], racks: Racks
) -> bool:
    """Return True if the assignment of these partitions can make a difference to a member's rack.

    It can't if no member is in a rack with a replica, or if all partitions are in the same racks.
    """
    here = {member.rack for member in members} - {None}
    if not here:
        return False
    everywhere = frozenset[str]().union(*(racks.get(p, _NOWHERE) for p in partitions))
    return not here.isdisjoint(everywhere) and any(
        racks.get(p, _NOWHERE) != everywhere for p in partitions
    )


def is_near(member: Applicant, partition: TopicPartition, racks: Racks) -> bool:
    """Return True if a replica is in the member's rack; a member in no rack is near to all."""
    return member.rack is None or member.rack in racks.get(partition, _NOWHERE)


def collected(
    members: Iterable[Applicant], partitions: Mapping[str, Iterable[TopicPartition]]
) -> Assignment:
    """Return an assignment of partitions by member id, which names every member."""
    return {m.member_id: tuple(sorted(partitions.get(m.member_id, ()))) for m in members}
