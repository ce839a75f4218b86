"""Define the assignors by name: plain functions from members to their partitions.

Each has one signature: members, the partitions that topics have, and the racks of their replicas.
The result names every member.  Members are ordered by instance id where they have one, so that a
restart, which gives a static member another member id, changes nothing.

Range: each topic is cut into ranges, one for each member.  Topics with equally many partitions and
the same takers are cut at the same places, so that a member has the same numbers of all of them.
Racks come first where they matter: members, in their order, take near partitions up to their share,
of such topics only numbers that are near in all of them; the rest is cut as if there were no racks.

Round robin: all partitions are dealt to the members in turn; it knows no racks.

Source: Kafka's RangeAssignor and RoundRobinAssignor, by their results; KIP-881.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fencepost.model.assignors.assignor_input import (
    NO_RACKS,
    Applicant,
    Assignment,
    Counts,
    Racks,
    collected,
    in_order,
    is_near,
    partitions_of,
    racks_matter,
    takers_by_topic,
)
from fencepost.model.assignors.sticky import assign_cooperatively, assign_sticky
from fencepost.model.messages.subscription import TopicPartition


def assign_range(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    """Cut each topic into ranges, one for each member; the first ones get one more."""
    takers = takers_by_topic(members, counts)
    by_racks = any(
        racks_matter(wanting, partitions_of([topic], counts), racks)
        for topic, wanting in takers.items()
    )
    alike: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for topic, wanting in takers.items():
        key = counts[topic], tuple(member.member_id for member in wanting)
        alike.setdefault(key, []).append(topic)
    assigned: dict[str, list[TopicPartition]] = {}
    for topics in alike.values():
        cut = _Cut(takers[topics[0]], counts[topics[0]])
        if by_racks and len(topics) > 1:
            cut.take_together(topics, racks)
        elif by_racks and racks_matter(cut.takers, partitions_of(topics, counts), racks):
            cut.take_near(topics[0], racks)
        cut.take_rest()
        for taker, numbers in zip(cut.takers, cut.numbers, strict=True):
            mine = assigned.setdefault(taker.member_id, [])
            mine += [TopicPartition(topic, number) for topic in topics for number in numbers]
    return collected(members, assigned)


class _Cut:
    """The numbers `0..count-1`, and those that each taker has so far."""

    def __init__(self, takers: Sequence[Applicant], count: int) -> None:
        self.takers = takers
        self.numbers: list[list[int]] = [[] for _ in takers]
        self._count = count
        self._each, self._more = divmod(count, len(takers))
        self._taken: set[int] = set()

    def take_near(self, topic: str, racks: Racks) -> None:
        """Let each taker have its share of the partitions that are near."""
        of_rack: dict[str | None, Iterator[int]] = {}
        for index, taker in enumerate(self.takers):
            if taker.rack not in of_rack:
                near = [
                    n for n in range(self._count) if is_near(taker, TopicPartition(topic, n), racks)
                ]
                of_rack[taker.rack] = iter(near)
            self._take(index, of_rack[taker.rack])

    def take_together(self, topics: Iterable[str], racks: Racks) -> None:
        """Give each number that is near in all topics to the first taker with a share left."""
        waiting = list(range(len(self.takers)))
        of_rack = {taker.rack: taker for taker in self.takers}
        for number in range(self._count):
            near = {
                rack
                for rack, taker in of_rack.items()
                if all(is_near(taker, TopicPartition(topic, number), racks) for topic in topics)
            }
            for index in waiting:
                if self.takers[index].rack in near and self._share_left(index):
                    self._take(index, iter([number]))
                    if not self._share_left(index):
                        waiting.remove(index)
                    break

    def take_rest(self) -> None:
        """Let each taker have its share of the rest, from the front."""
        left = iter(range(self._count))
        for index in range(len(self.takers)):
            self._take(index, left)

    def _share_left(self, index: int) -> int:
        return max(self._each + (self._more > 0) - len(self.numbers[index]), 0)

    def _take(self, index: int, numbers: Iterator[int]) -> None:
        mine = self.numbers[index]
        before = len(mine)
        for _ in range(self._share_left(index)):
            number = next((n for n in numbers if n not in self._taken), None)
            if number is None:
                break
            self._taken.add(number)
            mine.append(number)
        if before <= self._each < len(mine):
            self._more -= 1


def assign_round_robin(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    """Deal all partitions to the members in turn, passing over those that don't want the topic."""
    ordered = in_order(members)
    topics_of = [frozenset(member.subscription.topics) for member in ordered]
    assigned: dict[str, list[TopicPartition]] = {member.member_id: [] for member in ordered}
    turn = 0
    for partition in partitions_of(takers_by_topic(members, counts), counts):
        while partition.topic not in topics_of[turn]:
            turn = (turn + 1) % len(ordered)
        assigned[ordered[turn].member_id].append(partition)
        turn = (turn + 1) % len(ordered)
    return collected(members, assigned)


class Assign(Protocol):
    """An assignor's function.  It depends on nothing but its arguments."""

    def __call__(
        self, members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
    ) -> Assignment:
        """Return each member's partitions, by member id."""


@dataclass(frozen=True, slots=True)
class Assignor:
    """An assignor by its name in the protocol.

    `is_cooperative`: members keep what they own while they join again.  `is_sticky`: it looks at
    what members own, or owned last.  `knows_racks`: it looks at racks.
    """

    name: str
    assign: Assign
    is_cooperative: bool = False
    is_sticky: bool = False
    knows_racks: bool = True

    @property
    def needs_memory(self) -> bool:
        """True if members must remember their last partitions: they own nothing when they join."""
        return self.is_sticky and not self.is_cooperative


ASSIGNORS: Mapping[str, Assignor] = {
    assignor.name: assignor
    for assignor in (
        Assignor("range", assign_range),
        Assignor("roundrobin", assign_round_robin, knows_racks=False),
        Assignor("sticky", assign_sticky, is_sticky=True),
        Assignor("cooperative-sticky", assign_cooperatively, is_cooperative=True, is_sticky=True),
    )
}
"""The assignors by name."""
