"""Who owns a partition, by what the members of a group say.

Every member says what it owns since which generation.  The latest claim counts; of two latest ones
none does.  A claim to a partition that doesn't exist, or that nobody wants, is none.

Source: KIP-792.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fencepost.model.assignors.assignor_input import Applicant, Counts, in_order
from fencepost.model.messages.subscription import TopicPartition


@dataclass(frozen=True, slots=True)
class Claims:
    """The members that claim each partition, by place."""

    claimants: Mapping[TopicPartition, tuple[Applicant, ...]]

    def owners(self) -> dict[TopicPartition, Applicant]:
        """The owner of each partition that has one: who alone has the latest claim."""
        found = {}
        for partition, members in self.claimants.items():
            latest = max(member.subscription.generation_id for member in members)
            last = [m for m in members if m.subscription.generation_id == latest]
            if len(last) == 1:
                found[partition] = last[0]
        return found

    def earlier(self) -> dict[TopicPartition, Applicant]:
        """Who had a partition last before the group's latest generation, as far as anybody says."""
        everybody = [m for members in self.claimants.values() for m in members]
        newest = max((m.subscription.generation_id for m in everybody), default=-1)
        found = {}
        for partition, members in self.claimants.items():
            older = [m for m in members if m.subscription.generation_id < newest]
            if older:
                found[partition] = max(older, key=lambda m: m.subscription.generation_id)
        return found


def claims_of(members: Iterable[Applicant], counts: Counts) -> Claims:
    """What the members say that they own, of partitions that exist and somebody wants."""
    ordered = in_order(members)
    wanted = {topic for member in ordered for topic in member.subscription.topics}
    found: dict[TopicPartition, tuple[Applicant, ...]] = {}
    for member in ordered:
        for partition in dict.fromkeys(member.subscription.owned):
            topic, number = partition
            if topic in wanted and 0 <= number < counts.get(topic, 0):
                found[partition] = (*found.get(partition, ()), member)
    return Claims(found)
