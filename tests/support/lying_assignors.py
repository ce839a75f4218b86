"""Lying assignors: each breaks one promise, to test what checks them (`properties/assignors`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fencepost.model.assignors.assignor_input import NO_RACKS, Applicant, Assignment, Counts, Racks
from fencepost.model.assignors.assignors import ASSIGNORS, Assign, Assignor
from fencepost.model.assignors.sticky import assign_cooperatively, assign_sticky
from fencepost.model.messages.subscription import TopicPartition


def _gives_twice(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    found = assign_sticky(members, counts, racks)
    return {m: partitions * 2 for m, partitions in found.items()}


def _leaves_out(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    found = assign_sticky(members, counts, racks)
    last = max((p for partitions in found.values() for p in partitions), default=None)
    return {m: tuple(p for p in partitions if p != last) for m, partitions in found.items()}


def _minds_no_wish(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    topics = tuple(sorted({t for m in members for t in m.subscription.topics}))
    return assign_sticky(
        tuple(replace(m, subscription=replace(m.subscription, topics=topics)) for m in members),
        counts,
        racks,
    )


def _gives_all_to_first(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    del racks
    found: dict[str, list[TopicPartition]] = {m.member_id: [] for m in members}
    for topic in {t for m in members for t in m.subscription.topics}:
        first = min((m for m in members if topic in m.subscription.topics), key=lambda m: m.place)
        mine = (TopicPartition(topic, number) for number in range(counts.get(topic, 0)))
        found[first.member_id] += mine
    return {m: tuple(sorted(partitions)) for m, partitions in found.items()}


def _forgets(members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS) -> Assignment:
    return assign_sticky(tuple(_without_memory(m) for m in members), counts, racks)


def _rotates(members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS) -> Assignment:
    """Where nothing must move, everybody gets what another had."""
    found = assign_sticky(members, counts, racks)
    if any(set(found[m.member_id]) != set(m.subscription.owned) for m in members):
        return found
    return dict(zip(found, [*list(found.values())[1:], *list(found.values())[:1]], strict=True))


def _goes_by_member_id(assign: Assign) -> Assign:
    def wrong(
        members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
    ) -> Assignment:
        return assign(tuple(replace(m, group_instance_id=None) for m in members), counts, racks)

    return wrong


def _never_hands_over(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    """What a member has it keeps, whoever lacks something."""
    owned = {p: m for m in members for p in m.subscription.owned}
    found = assign_cooperatively(members, counts, racks)
    return {
        m.member_id: tuple(
            sorted(
                {p for p in found[m.member_id] if owned.get(p, m) == m}
                | {p for p, owner in owned.items() if owner == m and _exists(p, m, counts)}
            )
        )
        for m in members
    }


def _swaps_in_each_round(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    """Whoever has something gives some of it back, for ever."""
    found = assign_cooperatively(members, counts, racks)
    owned = {m.member_id: set(m.subscription.owned) for m in members}
    return {
        member: partitions[1:] if owned[member] >= set(partitions) else partitions
        for member, partitions in found.items()
    }


def _puts_racks_first(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    """Each partition goes to the first member that is near, however much that has."""
    found: dict[str, list[TopicPartition]] = {m.member_id: [] for m in members}
    for topic in {t for m in members for t in m.subscription.topics}:
        takers = sorted(
            (m for m in members if topic in m.subscription.topics), key=lambda m: m.place
        )
        for number in range(counts.get(topic, 0)):
            partition = TopicPartition(topic, number)
            near = [m for m in takers if m.rack in racks.get(partition, ())]
            chosen = near or sorted(takers, key=lambda m: len(found[m.member_id]))
            found[chosen[0].member_id].append(partition)
    return {m: tuple(sorted(partitions)) for m, partitions in found.items()}


def _exists(partition: TopicPartition, member: Applicant, counts: Counts) -> bool:
    topic, number = partition
    return topic in member.subscription.topics and number < counts.get(topic, 0)


def _without_memory(member: Applicant) -> Applicant:
    return replace(member, subscription=replace(member.subscription, owned=(), generation_id=-1))


_STICKY, _COOPERATIVE = ASSIGNORS["sticky"], ASSIGNORS["cooperative-sticky"]
LYING_ASSIGNORS: Mapping[str, tuple[Assignor, str]] = {
    "gives-twice": (replace(_STICKY, assign=_gives_twice), "every-partition-once"),
    "leaves-out": (replace(_STICKY, assign=_leaves_out), "every-partition-once"),
    "minds-no-wish": (replace(_STICKY, assign=_minds_no_wish), "every-partition-once"),
    "gives-all-to-first": (replace(_STICKY, assign=_gives_all_to_first), "balance"),
    "forgets": (replace(_STICKY, assign=_forgets), "stickiness"),
    "goes-by-member-id": (
        replace(ASSIGNORS["range"], assign=_goes_by_member_id(ASSIGNORS["range"].assign)),
        "restart",
    ),
    "sticky-by-member-id": (
        replace(_STICKY, assign=_goes_by_member_id(assign_sticky)),
        "restart",
    ),
    "rotates": (replace(_STICKY, assign=_rotates), "calm"),
    "hands-over-early": (replace(_COOPERATIVE, assign=assign_sticky), "handover"),
    "never-hands-over": (replace(_COOPERATIVE, assign=_never_hands_over), "balance"),
    "swaps-in-each-round": (replace(_COOPERATIVE, assign=_swaps_in_each_round), "handover"),
    "puts-racks-first": (replace(_STICKY, assign=_puts_racks_first), "racks-cost-no-balance"),
}
"""By name: an assignor that is wrong, and the promise that it breaks."""
