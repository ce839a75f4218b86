"""A group as an assignor sees it: what members want and own, and where partitions are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fencepost.model.messages.subscription import Subscription, TopicPartition

Assignment = dict[str, tuple[TopicPartition, ...]]
"""By member id, each member's partitions, sorted; a member without any is there, too."""
Counts = Mapping[str, int]
"""How many partitions each topic has; a topic that is left out has none."""
Racks = Mapping[TopicPartition, frozenset[str]]
"""In which racks the replicas of a partition are; one that is left out is in none that is known."""
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
        """Sorts members: static ones by instance id, then dynamic ones by member id."""
        if self.group_instance_id is not None:
            return False, self.group_instance_id
        return True, self.member_id

    @property
    def rack(self) -> str | None:
        """Its rack; an empty name is none."""
        return self.subscription.rack_id or None


def in_order(members: Iterable[Applicant]) -> list[Applicant]:
    """The members by place, which a restart doesn't change."""
    return sorted(members, key=lambda member: member.place)


def takers_by_topic(members: Iterable[Applicant], counts: Counts) -> dict[str, list[Applicant]]:
    """For each topic with partitions that somebody wants, in order: who wants it, by place."""
    found: dict[str, list[Applicant]] = {}
    for member in in_order(members):
        for topic in dict.fromkeys(member.subscription.topics):
            if counts.get(topic, 0) > 0:
                found.setdefault(topic, []).append(member)
    return dict(sorted(found.items()))


def partitions_of(topics: Iterable[str], counts: Counts) -> list[TopicPartition]:
    """All partitions of these topics, topic by topic in the order given."""
    return [TopicPartition(topic, number) for topic in topics for number in range(counts[topic])]


def racks_matter(
    members: Iterable[Applicant], partitions: Sequence[TopicPartition], racks: Racks
) -> bool:
    """Whether it can make a difference to a member's rack who gets which of these partitions.

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
    """Whether a replica is in the member's rack; a member in no rack is near to everything."""
    return member.rack is None or member.rack in racks.get(partition, _NOWHERE)


def collected(
    members: Iterable[Applicant], given: Mapping[str, Iterable[TopicPartition]]
) -> Assignment:
    """An assignment of partitions by member id, which names every member."""
    return {m.member_id: tuple(sorted(given.get(m.member_id, ()))) for m in members}
