"""Assignors: plain functions from what members want to who reads which partition.

Each has one signature: members by id, and the partitions that topics have.  The result names every
member.  Members are ordered by instance id where they have one, so that a restart, which gives a
static member another member id, changes nothing.

Source: Kafka's RangeAssignor, RoundRobinAssignor and CooperativeStickyAssignor, by what they
promise; KIP-345 (order by instance id), KIP-429 (cooperative handover), KIP-792 (generations).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fencepost.model.assignors.subscription import Subscription, TopicPartition

Assignment = dict[str, tuple[TopicPartition, ...]]
Counts = Mapping[str, int]
"""How many partitions each topic has; a topic that is left out has none."""


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


Assign = Callable[[tuple[Applicant, ...], Counts], Assignment]


@dataclass(frozen=True, slots=True)
class Assignor:
    """An assignor by its name in the protocol.

    `is_cooperative`: members keep what they own while they join again.
    """

    name: str
    assign: Assign
    is_cooperative: bool = False


def _wanting(members: tuple[Applicant, ...], topic: str) -> list[Applicant]:
    found = (m for m in members if topic in m.subscription.topics)
    return sorted(found, key=lambda member: member.place)


def _topics(members: tuple[Applicant, ...]) -> list[str]:
    return sorted({topic for member in members for topic in member.subscription.topics})


def _partitions(members: tuple[Applicant, ...], counts: Counts) -> list[TopicPartition]:
    return [
        TopicPartition(topic, number)
        for topic in _topics(members)
        for number in range(counts.get(topic, 0))
    ]


def _collected(
    members: tuple[Applicant, ...], owners: Mapping[TopicPartition, Applicant]
) -> Assignment:
    found: dict[str, list[TopicPartition]] = {m.member_id: [] for m in members}
    for partition in sorted(owners):
        found[owners[partition].member_id].append(partition)
    return {member_id: tuple(partitions) for member_id, partitions in found.items()}


def assign_range(members: tuple[Applicant, ...], counts: Counts) -> Assignment:
    """Cut each topic into ranges, one for each member; the first ones get one more."""
    owners: dict[TopicPartition, Applicant] = {}
    for topic in _topics(members):
        takers = _wanting(members, topic)
        each, more = divmod(counts.get(topic, 0), len(takers))
        number = 0
        for index, taker in enumerate(takers):
            for _ in range(each + (index < more)):
                owners[TopicPartition(topic, number)] = taker
                number += 1
    return _collected(members, owners)


def assign_round_robin(members: tuple[Applicant, ...], counts: Counts) -> Assignment:
    """Deal all partitions to the members in turn, passing over those that don't want the topic."""
    ordered = sorted(members, key=lambda member: member.place)
    owners: dict[TopicPartition, Applicant] = {}
    turn = 0
    for partition in _partitions(members, counts):
        while partition.topic not in ordered[turn % len(ordered)].subscription.topics:
            turn += 1
        owners[partition] = ordered[turn % len(ordered)]
        turn += 1
    return _collected(members, owners)


def _owners(members: tuple[Applicant, ...]) -> dict[TopicPartition, Applicant]:
    """Who owns a partition: whoever says so of the latest generation; two of one: nobody."""
    claims: dict[TopicPartition, list[Applicant]] = {}
    for member in members:
        for partition in member.subscription.owned:
            claims.setdefault(partition, []).append(member)
    owners = {}
    for partition, claimants in claims.items():
        latest = max(member.subscription.generation_id for member in claimants)
        last = [m for m in claimants if m.subscription.generation_id == latest]
        if len(last) == 1:
            owners[partition] = last[0]
    return owners


def assign_sticky(members: tuple[Applicant, ...], counts: Counts) -> Assignment:
    """Leave partitions where they are as far as the loads differ by one at most."""
    before = _owners(members)
    ordered = sorted(members, key=lambda member: member.place)
    load: dict[str, list[TopicPartition]] = {m.member_id: [] for m in ordered}
    free = []
    for partition in _partitions(members, counts):
        owner = before.get(partition)
        if owner is None or partition.topic not in owner.subscription.topics:
            free.append(partition)
        else:
            load[owner.member_id].append(partition)

    def lightest(topic: str) -> str:
        takers = (m for m in ordered if topic in m.subscription.topics)
        return min(takers, key=lambda member: len(load[member.member_id])).member_id

    for partition in free:
        load[lightest(partition.topic)].append(partition)
    while (move := _levelling_move(load, lightest, before)) is not None:
        giver, taker, partition = move
        load[giver].remove(partition)
        load[taker].append(partition)
    return {member_id: tuple(sorted(partitions)) for member_id, partitions in load.items()}


def _levelling_move(
    load: Mapping[str, list[TopicPartition]],
    lightest: Callable[[str], str],
    before: Mapping[TopicPartition, Applicant],
) -> tuple[str, str, TopicPartition] | None:
    """A partition whose move makes loads more even: from whom, to whom, which; None: no more.

    One that nobody owned is taken first, then one of the fullest member's last.
    """
    topics = {p.topic for partitions in load.values() for p in partitions}
    takers = {topic: lightest(topic) for topic in topics}
    moves = [
        (partition in before, -len(partitions), giver, -partition.partition, partition)
        for giver, partitions in load.items()
        for partition in partitions
        if len(partitions) > len(load[takers[partition.topic]]) + 1
    ]
    if not moves:
        return None
    _, _, giver, _, partition = min(moves)
    return giver, takers[partition.topic], partition


def assign_cooperatively(members: tuple[Applicant, ...], counts: Counts) -> Assignment:
    """As sticky, but what another member still owns goes to nobody until it was given back."""
    before = _owners(members)
    wished = assign_sticky(members, counts)
    return {
        member_id: tuple(
            p for p in partitions if p not in before or before[p].member_id == member_id
        )
        for member_id, partitions in wished.items()
    }


ASSIGNORS: Mapping[str, Assignor] = {
    assignor.name: assignor
    for assignor in (
        Assignor("range", assign_range),
        Assignor("roundrobin", assign_round_robin),
        Assignor("cooperative-sticky", assign_cooperatively, is_cooperative=True),
    )
}
"""The assignors by name."""
