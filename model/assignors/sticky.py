"""Define the sticky assignor, and the cooperative one, which hands over in two rounds.

Balance comes first, then racks where they matter, then that partitions stay at their members.
Groups whose members all want the same are assigned in one way (`settle_alike`), others in another
(`settle_unlike`).

Claims: every member lists the partitions that it owns, and the generation.  The latest claim
counts; of two latest ones none does.  A claim to a partition that doesn't exist, or that nobody
wants, is none.

Alike: each member gets the same number of partitions, or one more.  It keeps its partitions up to
that, the lowest numbers first; a member with more than its share gets the share that is one more
first.  Free partitions are then dealt to the members that lack some.  So no more partitions move
than must, unless racks matter: then nobody keeps partitions that are far away, and free ones go to
near members first, most of all where few are near.

Unlike: every member keeps its partitions, unless it doesn't want them any more or, where racks
matter, they are far away.  Free partitions then go to the member with the least that wants them,
near ones first; topics that few members want come first.  After that, single partitions move to
members with less, as long as that makes the loads more even.  That ends where no single move helps,
which is not always the evenest result: a chain of moves, each of which leaves the loads as uneven
as before, is never tried.

Source: Kafka's StickyAssignor, CooperativeStickyAssignor and AbstractStickyAssignor, by their
results; KIP-54, KIP-429 (cooperative handover), KIP-792 (generations), KIP-881 (racks).  Where its
choice depends on the order of a hash table, the order of members or partitions by place decides
here.

A member of the eager assignor owns nothing when it joins, so it sends its last assignment, and the
generation of that, in the part of the metadata that is the assignor's own (`Memory`).  Source:
StickyAssignor, versions 0 and 1 of its user data; the first has no generation.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
from fencepost.model.messages.subscription import (
    ProtocolReader,
    Subscription,
    TopicPartition,
    encode_partitions,
)


@dataclass(frozen=True, slots=True)
class Memory:
    """The last assignment, and its generation; -1: there never was one."""

    partitions: tuple[TopicPartition, ...] = ()
    generation_id: int = -1


NO_MEMORY = Memory()


def encode_memory(memory: Memory) -> bytes | None:
    """Encode the user data of a member; None without an assignment."""
    if memory == NO_MEMORY:
        return None
    return encode_partitions(memory.partitions) + struct.pack(">i", memory.generation_id)


def decode_memory(user_data: bytes | None) -> Memory:
    """Decode a member's last assignment; none from unreadable bytes."""
    if not user_data:
        return NO_MEMORY
    reader = ProtocolReader(user_data)
    try:
        partitions = reader.partitions()
    except ValueError:
        return NO_MEMORY
    try:
        return Memory(partitions, reader.number(">i"))
    except ValueError:
        return Memory(partitions)


def recalled(subscription: Subscription) -> Subscription:
    """Return a subscription that owns the member's last partitions."""
    memory = decode_memory(subscription.user_data)
    return replace(subscription, owned=memory.partitions, generation_id=memory.generation_id)


@dataclass(frozen=True, slots=True)
class Claims:
    """The members that claim each partition, by place."""

    claimants: Mapping[TopicPartition, tuple[Applicant, ...]]

    def owners(self) -> dict[TopicPartition, Applicant]:
        """Return the owner of each partition: the only member with the latest claim."""
        owners = {}
        for partition, members in self.claimants.items():
            latest = max(member.subscription.generation_id for member in members)
            last = [m for m in members if m.subscription.generation_id == latest]
            if len(last) == 1:
                owners[partition] = last[0]
        return owners

    def earlier(self) -> dict[TopicPartition, Applicant]:
        """Return the last owners before the group's latest generation, as far as members know."""
        everybody = [m for members in self.claimants.values() for m in members]
        newest = max((m.subscription.generation_id for m in everybody), default=-1)
        owners = {}
        for partition, members in self.claimants.items():
            older = [m for m in members if m.subscription.generation_id < newest]
            if older:
                owners[partition] = max(older, key=lambda m: m.subscription.generation_id)
        return owners


def claims_of(members: Iterable[Applicant], counts: Counts) -> Claims:
    """Return the members' claims, of partitions that exist and somebody wants."""
    ordered = in_order(members)
    topics = {topic for member in ordered for topic in member.subscription.topics}
    claims: dict[TopicPartition, tuple[Applicant, ...]] = {}
    for member in ordered:
        for partition in dict.fromkeys(member.subscription.owned):
            topic, number = partition
            if topic in topics and 0 <= number < counts.get(topic, 0):
                claims[partition] = (*claims.get(partition, ()), member)
    return Claims(claims)


def settle_alike(
    members: Sequence[Applicant], counts: Counts, racks: Racks, claims: Claims
) -> Mapping[str, Sequence[TopicPartition]]:
    """Assign partitions, by member id; all members want the same topics."""
    ordered = in_order(members)
    partitions = partitions_of(takers_by_topic(members, counts), counts)
    matter = racks_matter(ordered, partitions, racks)
    shares = _Shares(ordered, len(partitions))
    kept: dict[str, list[TopicPartition]] = {}
    for partition, owner in claims.owners().items():
        if not matter or is_near(owner, partition, racks):
            kept.setdefault(owner.member_id, []).append(partition)
    for member in ordered:
        mine = sorted(kept.get(member.member_id, ()), key=lambda p: (p.partition, p.topic))
        shares.keep(member, mine)
    taken = {partition for mine in shares.dealt.values() for partition in mine}
    free = [partition for partition in partitions if partition not in taken]
    shares.begin_dealing()
    if matter:
        free = shares.deal_near(free, racks)
    shares.deal(free)
    return shares.dealt


class _Shares:
    """The partitions of each member so far, and the members that lack some.

    `short`: members below the smaller share.  `level`: members with just that, which may still get
    one more; `more` members may.
    """

    def __init__(self, ordered: Sequence[Applicant], total: int) -> None:
        self.dealt: dict[str, list[TopicPartition]] = {}
        self._least, self._more = divmod(total, len(ordered))
        self._most = self._least + (self._more > 0)
        self._place = {member.member_id: place for place, member in enumerate(ordered)}
        self._members_in = Counter(member.rack for member in ordered)
        self._short: list[Applicant] = []
        self._level: list[Applicant] = []

    def keep(self, member: Applicant, mine: list[TopicPartition]) -> None:
        """Let a member keep its partitions, up to its share."""
        if len(mine) < self._least:
            self._short.append(member)
            self.dealt[member.member_id] = mine
        elif len(mine) >= self._most and self._more:
            self.dealt[member.member_id] = mine[: self._most]
            self._one_more()
        else:
            self.dealt[member.member_id] = mine[: self._least]
            if self._more:
                self._level.append(member)

    def begin_dealing(self) -> None:
        """Sort the members that lack some in the order of members."""
        for waiting in (self._short, self._level):
            waiting.sort(key=lambda member: self._place[member.member_id])

    def deal_near(self, free: list[TopicPartition], racks: Racks) -> list[TopicPartition]:
        """Deal partitions to near members that lack some; return those that nobody took."""
        left = []
        turn = 0
        for partition in sorted(free, key=lambda p: self._near_members(p, racks)):
            if (at := _next_near(self._short, partition, racks, turn)) is not None:
                member = self._short[at]
                self.dealt[member.member_id].append(partition)
                if len(self.dealt[member.member_id]) >= self._least:
                    del self._short[at]
                    if self._more:
                        self._level.append(member)
                    at -= 1
                turn = (at + 1) % max(len(self._short), 1)
            elif (at := _next_near(self._level, partition, racks, 0)) is not None:
                self.dealt[self._level.pop(at).member_id].append(partition)
                self._one_more()
            else:
                left.append(partition)
        return left

    def _near_members(self, partition: TopicPartition, racks: Racks) -> int:
        return sum(self._members_in[rack] for rack in racks.get(partition, ()))

    def deal(self, free: Sequence[TopicPartition]) -> None:
        """Deal partitions in turn to members below the smaller share, then one each to the rest."""
        short, level = deque(self._short), deque(self._level)
        for partition in free:
            member = (short or level).popleft()
            mine = self.dealt[member.member_id]
            mine.append(partition)
            if len(mine) < self._least:
                short.append(member)
            elif len(mine) == self._least:
                level.append(member)

    def _one_more(self) -> None:
        self._more -= 1
        if not self._more:
            self._level.clear()


def _next_near(
    waiting: Sequence[Applicant], partition: TopicPartition, racks: Racks, first: int
) -> int | None:
    """Return the index of the next member, from `first` on and around, near the partition."""
    near = racks.get(partition, frozenset())
    for step in range(len(waiting)):
        index = (first + step) % len(waiting)
        if waiting[index].rack in near:
            return index
    return None


def settle_unlike(
    members: Sequence[Applicant], counts: Counts, racks: Racks, claims: Claims
) -> Mapping[str, Iterable[TopicPartition]]:
    """Assign partitions, by member id; members want different topics."""
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
    """The partitions of each member; members and takers of topics by their place."""

    def __init__(self, members: int, takers: Mapping[str, frozenset[int]]) -> None:
        self.mine: list[set[TopicPartition]] = [set() for _ in range(members)]
        self.owner: dict[TopicPartition, int] = {}
        self.takers = takers
        self._order = [(0, index) for index in range(members)]

    def load(self, index: int) -> int:
        """Return the number of partitions of a member."""
        return len(self.mine[index])

    def give(self, partition: TopicPartition, to: int) -> None:
        """Give a partition to a member; its owner before loses it."""
        if (giver := self.owner.get(partition)) is not None:
            self._change(giver, self.mine[giver].remove, partition)
        self._change(to, self.mine[to].add, partition)
        self.owner[partition] = to

    def from_least(self, topic: str) -> Iterator[int]:
        """Yield the members that want a topic, from the least loaded on."""
        wanting = self.takers[topic]
        return (index for _, index in self._order if index in wanting)

    def _change(
        self, index: int, change: Callable[[TopicPartition], None], partition: TopicPartition
    ) -> None:
        del self._order[bisect_left(self._order, (self.load(index), index))]
        change(partition)
        insort(self._order, (self.load(index), index))


class _Levelling:
    """Moves of single partitions to members with less, and the partitions moved so far.

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
        """Return the partition to move: one that came from there, if there is one; or this one."""
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


def assign_sticky(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    """Level the loads, and leave partitions where they are as far as that allows."""
    return _settled(members, counts, racks, claims_of(members, counts))


def assign_cooperatively(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    """Assign as sticky, but leave out partitions that another member still claims."""
    claims = claims_of(members, counts)
    owners = {p: owner.member_id for p, owner in claims.owners().items()}
    return {
        member_id: tuple(
            p
            for p in partitions
            if owners.get(p) == member_id
            or all(m.member_id == member_id for m in claims.claimants.get(p, ()))
        )
        for member_id, partitions in _settled(members, counts, racks, claims).items()
    }


def _settled(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks, claims: Claims
) -> Assignment:
    wishes = {frozenset(member.subscription.topics) for member in members}
    settle = settle_alike if len(wishes) == 1 else settle_unlike
    return collected(members, settle(members, counts, racks, claims))
