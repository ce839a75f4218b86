"""The sticky assignor for a group whose members all want the same topics.

Each member gets the same number of partitions, or one more.  It keeps what it has up to that, the
lowest numbers first; who has more than its share first gets the share that is one more.  What is
free then is dealt to the members that lack something.  So no more partitions move than must, unless
racks matter: then nobody keeps what is far away, and what is free goes to near members first, most
of all where few are near.

Source: Kafka's AbstractStickyAssignor, by what it decides.  Where its choice depends on the order
of a hash table, the order of members by place decides here.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence

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


def settle_alike(
    members: Sequence[Applicant], counts: Counts, racks: Racks, claims: Claims
) -> Mapping[str, Sequence[TopicPartition]]:
    """Who gets what, by member id; all members want the same topics."""
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
    taken = {partition for mine in shares.given.values() for partition in mine}
    free = [partition for partition in partitions if partition not in taken]
    shares.begin_dealing()
    if matter:
        free = shares.deal_near(free, racks)
    shares.deal(free)
    return shares.given


class _Shares:
    """What each member has so far, and who lacks something.

    `short`: members below the smaller share.  `level`: members with just that, which may still get
    one more; `more` members may.
    """

    def __init__(self, ordered: Sequence[Applicant], total: int) -> None:
        self.given: dict[str, list[TopicPartition]] = {}
        self._least, self._more = divmod(total, len(ordered))
        self._most = self._least + (self._more > 0)
        self._place = {member.member_id: place for place, member in enumerate(ordered)}
        self._members_in = Counter(member.rack for member in ordered)
        self._short: list[Applicant] = []
        self._level: list[Applicant] = []

    def keep(self, member: Applicant, mine: list[TopicPartition]) -> None:
        """Let a member keep what it has, up to its share."""
        if len(mine) < self._least:
            self._short.append(member)
            self.given[member.member_id] = mine
        elif len(mine) >= self._most and self._more:
            self.given[member.member_id] = mine[: self._most]
            self._one_more()
        else:
            self.given[member.member_id] = mine[: self._least]
            if self._more:
                self._level.append(member)

    def begin_dealing(self) -> None:
        """From now on, who lacks something comes in the order of members."""
        for waiting in (self._short, self._level):
            waiting.sort(key=lambda member: self._place[member.member_id])

    def deal_near(self, free: list[TopicPartition], racks: Racks) -> list[TopicPartition]:
        """Deal partitions to near members that lack something; what nobody took is returned."""
        left = []
        turn = 0
        for partition in sorted(free, key=lambda p: self._near_members(p, racks)):
            if (at := _next_near(self._short, partition, racks, turn)) is not None:
                member = self._short[at]
                self.given[member.member_id].append(partition)
                if len(self.given[member.member_id]) >= self._least:
                    del self._short[at]
                    if self._more:
                        self._level.append(member)
                    at -= 1
                turn = (at + 1) % max(len(self._short), 1)
            elif (at := _next_near(self._level, partition, racks, 0)) is not None:
                self.given[self._level.pop(at).member_id].append(partition)
                self._one_more()
            else:
                left.append(partition)
        return left

    def _near_members(self, partition: TopicPartition, racks: Racks) -> int:
        return sum(self._members_in[rack] for rack in racks.get(partition, ()))

    def deal(self, free: Sequence[TopicPartition]) -> None:
        """Deal partitions in turn to who is below the smaller share, then one each to the rest."""
        short, level = deque(self._short), deque(self._level)
        for partition in free:
            member = (short or level).popleft()
            mine = self.given[member.member_id]
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
    """The index of the next member, from `first` on and around, in a rack of the partition."""
    near = racks.get(partition, frozenset())
    for step in range(len(waiting)):
        index = (first + step) % len(waiting)
        if waiting[index].rack in near:
            return index
    return None
