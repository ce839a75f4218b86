"""The sticky assignor for a group whose members want different topics.

Every member keeps what it has, unless it doesn't want it any more or, where racks matter, it is far
away.  What is free then goes to the member with the least that wants it, near ones first; topics
that few members want come first.  After that, single partitions move to members with less, as long
as that makes the loads more even.

That ends where no single move helps, which is not always the evenest that there is: a chain of
moves, each of which leaves things as uneven as before, is never tried.

Source: Kafka's AbstractStickyAssignor, by what it decides.  Where its choice depends on the order
of a hash table, the order of members or partitions decides here.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fencepost.model.assignors.assignor_input import (
    Applicant,
    Counts,
    Racks,
    in_order,
    is_near,
    partitions_of,
    racks_matter,
    takers_by_topic,
)
from fencepost.model.assignors.ownership_claims import Claims
from fencepost.model.messages.subscription import TopicPartition


def settle_unlike(
    members: Sequence[Applicant], counts: Counts, racks: Racks, claims: Claims
) -> Mapping[str, Iterable[TopicPartition]]:
    """Who gets what, by member id."""
    ordered = in_order(members)
    place = {member.member_id: index for index, member in enumerate(ordered)}
    takers = {
        topic: frozenset(place[taker.member_id] for taker in wanting)
        for topic, wanting in takers_by_topic(members, counts).items()
    }
    partitions = partitions_of(sorted(takers, key=lambda t: (len(takers[t]), t)), counts)
    matter = racks_matter(ordered, partitions, racks)

    def is_good(index: int, partition: TopicPartition) -> bool:
        return not matter or is_near(ordered[index], partition, racks)

    loads = _Loads(len(ordered), takers)
    owned = {p: place[owner.member_id] for p, owner in claims.owners().items()}
    for partition, index in owned.items():
        if index in takers[partition.topic] and is_good(index, partition):
            loads.give(partition, index)
    gives_up = len(loads.owner) < len(owned)
    free = [partition for partition in partitions if partition not in loads.owner]
    if matter:
        for partition in free:
            near = (m for m in loads.from_least(partition.topic) if is_good(m, partition))
            if (index := next(near, -1)) >= 0:
                loads.give(partition, index)
    for partition in free:
        if partition not in loads.owner:
            loads.give(partition, next(loads.from_least(partition.topic)))
    earlier = {p: place[owner.member_id] for p, owner in claims.earlier().items()}
    levelling = _Levelling(loads, earlier)
    if not gives_up:
        levelling.run(free)
    levelling.run(partitions)
    return {member.member_id: loads.mine[index] for index, member in enumerate(ordered)}


class _Loads:
    """What each member has; members and takers of topics by their place."""

    def __init__(self, members: int, takers: Mapping[str, frozenset[int]]) -> None:
        self.mine: list[set[TopicPartition]] = [set() for _ in range(members)]
        self.owner: dict[TopicPartition, int] = {}
        self.takers = takers
        self._order = [(0, index) for index in range(members)]

    def load(self, index: int) -> int:
        """How many partitions a member has."""
        return len(self.mine[index])

    def give(self, partition: TopicPartition, to: int) -> None:
        """Give a partition to a member; whoever had it has it no more."""
        if (giver := self.owner.get(partition)) is not None:
            self._change(giver, self.mine[giver].remove, partition)
        self._change(to, self.mine[to].add, partition)
        self.owner[partition] = to

    def from_least(self, topic: str) -> Iterator[int]:
        """Who wants a topic, from the least loaded member on."""
        wanting = self.takers[topic]
        return (index for _, index in self._order if index in wanting)

    def _change(
        self, index: int, change: Callable[[TopicPartition], None], partition: TopicPartition
    ) -> None:
        del self._order[bisect_left(self._order, (self.load(index), index))]
        change(partition)
        insort(self._order, (self.load(index), index))


class _Levelling:
    """Moves of single partitions from members to such with less, and what was moved so far.

    A partition that would move against an earlier one of its topic stays: the other goes back.
    """

    def __init__(self, loads: _Loads, earlier: Mapping[TopicPartition, int]) -> None:
        self._loads = loads
        self._earlier = earlier
        self._moved: dict[TopicPartition, tuple[int, int]] = {}
        self._between: dict[tuple[str, int, int], set[TopicPartition]] = {}

    def run(self, partitions: Sequence[TopicPartition]) -> None:
        """Move partitions, turn by turn, until no move helps.

        Each makes the sum of the squares of all loads less, so there is an end.
        """
        shared = [p for p in partitions if len(self._loads.takers[p.topic]) > 1]
        while sum(self._improve(partition) for partition in shared):
            pass

    def _improve(self, partition: TopicPartition) -> bool:
        loads = self._loads
        giver = loads.owner[partition]
        to = self._earlier.get(partition, giver)
        if to not in loads.takers[partition.topic] or not self._helps(giver, to):
            to = next(loads.from_least(partition.topic))
            if not self._helps(giver, to):
                return False
        self._move(self._instead(partition, giver, to), to)
        return True

    def _helps(self, giver: int, to: int) -> bool:
        return self._loads.load(giver) > self._loads.load(to) + 1

    def _instead(self, partition: TopicPartition, giver: int, to: int) -> TopicPartition:
        """The partition to move: one that came from there, if there is one; or this one."""
        origin = self._moved.get(partition, (giver, to))[0]
        back = self._between.get((partition.topic, to, origin))
        return min(back) if back and self._helps(origin, to) else partition

    def _move(self, partition: TopicPartition, to: int) -> None:
        giver = self._loads.owner[partition]
        origin, _ = was = self._moved.pop(partition, (giver, giver))
        self._between.get((partition.topic, *was), set()).discard(partition)
        if origin != to:
            self._moved[partition] = origin, to
            self._between.setdefault((partition.topic, origin, to), set()).add(partition)
        self._loads.give(partition, to)
