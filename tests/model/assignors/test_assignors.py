from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.model.assignors.assignors import (
    ASSIGNORS,
    Applicant,
    Assignment,
    Assignor,
    assign_sticky,
)
from fencepost.model.assignors.subscription import Subscription, TopicPartition

TOPICS = ("t", "u", "v")
Counted = dict[str, int]


@st.composite
def groups(draw: st.DrawFn) -> tuple[tuple[Applicant, ...], Counted]:
    counts = {topic: draw(st.integers(0, 6)) for topic in TOPICS}
    partitions = [TopicPartition(t, n) for t, count in counts.items() for n in range(count)]
    members = []
    for number in range(draw(st.integers(1, 5))):
        topics = draw(st.sets(st.sampled_from(TOPICS), min_size=1))
        can_own = st.sampled_from(partitions) if partitions else st.nothing()
        subscription = Subscription(
            tuple(sorted(topics)),
            tuple(sorted(draw(st.sets(can_own)))),
            draw(st.integers(-1, 3)),
        )
        instance = draw(st.none() | st.just(f"i{number}"))
        members.append(Applicant(f"m{number}", instance, subscription))
    return tuple(members), counts


def wanted(members: tuple[Applicant, ...], counts: Counted) -> set[TopicPartition]:
    topics = {topic for member in members for topic in member.subscription.topics}
    return {TopicPartition(topic, n) for topic in topics for n in range(counts[topic])}


def given_out(found: Assignment) -> list[TopicPartition]:
    return [partition for partitions in found.values() for partition in partitions]


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=lambda assignor: assignor.name)
@settings(max_examples=40)
@given(group=groups())
def test_members_get_what_they_want_and_nothing_twice(
    assignor: Assignor, group: tuple[tuple[Applicant, ...], Counted]
) -> None:
    members, counts = group
    found = assignor.assign(members, counts)
    assert set(found) == {member.member_id for member in members}
    assert len(given_out(found)) == len(set(given_out(found)))
    for member in members:
        assert {p.topic for p in found[member.member_id]} <= set(member.subscription.topics)
    if not assignor.is_cooperative:
        assert set(given_out(found)) == wanted(members, counts)


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=lambda assignor: assignor.name)
@settings(max_examples=40)
@given(group=groups())
def test_the_order_of_members_means_nothing(
    assignor: Assignor, group: tuple[tuple[Applicant, ...], Counted]
) -> None:
    members, counts = group
    assert assignor.assign(members, counts) == assignor.assign(members[::-1], counts)


@settings(max_examples=40)
@given(groups())
def test_cooperation_ends_with_everything_assigned(
    group: tuple[tuple[Applicant, ...], Counted],
) -> None:
    """Who has less than before joins again; after a few rounds nothing is held back."""
    members, counts = group
    found: Assignment = {}
    for generation in range(4, 9):
        found = ASSIGNORS["cooperative-sticky"].assign(members, counts)
        members = tuple(
            Applicant(
                m.member_id,
                m.group_instance_id,
                Subscription(m.subscription.topics, found[m.member_id], generation),
            )
            for m in members
        )
    assert set(given_out(found)) == wanted(members, counts)


@settings(max_examples=40)
@given(groups())
def test_what_another_owns_is_not_given_away(
    group: tuple[tuple[Applicant, ...], Counted],
) -> None:
    members, counts = group
    claims = Counter(p for m in members for p in m.subscription.owned)
    found = ASSIGNORS["cooperative-sticky"].assign(members, counts)
    for owner in members:
        for partition in owner.subscription.owned:
            others = [m for m in members if m is not owner]
            if claims[partition] == 1:
                assert all(partition not in found[other.member_id] for other in others)


def alike(*owned: tuple[int, ...]) -> tuple[Applicant, ...]:
    """Static members `i0`, `i1`, … of one topic, that own these partitions."""
    return tuple(
        Applicant(
            f"m{9 - n}", f"i{n}", Subscription(("t",), tuple(TopicPartition("t", p) for p in ps), 1)
        )
        for n, ps in enumerate(owned)
    )


def numbers(found: Assignment) -> dict[str, tuple[int, ...]]:
    return {member: tuple(p.partition for p in partitions) for member, partitions in found.items()}


def test_ranges_go_by_instance_id_not_by_member_id() -> None:
    found = ASSIGNORS["range"].assign(alike((), (), ()), {"t": 7})
    assert numbers(found) == {"m9": (0, 1, 2), "m8": (3, 4), "m7": (5, 6)}


def test_round_robin_deals_in_turn() -> None:
    found = ASSIGNORS["roundrobin"].assign(alike((), (), ()), {"t": 7})
    assert numbers(found) == {"m9": (0, 3, 6), "m8": (1, 4), "m7": (2, 5)}


def test_sticky_moves_no_more_than_it_must() -> None:
    found = assign_sticky(alike((0, 1, 2, 3), (4, 5), ()), {"t": 6})
    assert numbers(found) == {"m9": (0, 1), "m8": (4, 5), "m7": (2, 3)}


def test_a_handover_takes_two_rounds() -> None:
    cooperative = ASSIGNORS["cooperative-sticky"]
    first = cooperative.assign(alike((0, 1, 2, 3), ()), {"t": 4})
    assert numbers(first) == {"m9": (0, 1), "m8": ()}
    second = cooperative.assign(alike((0, 1), ()), {"t": 4})
    assert numbers(second) == {"m9": (0, 1), "m8": (2, 3)}


def test_who_speaks_of_a_later_generation_owns_it() -> None:
    old = Applicant("m1", None, Subscription(("t",), (TopicPartition("t", 0),), 1))
    new = Applicant("m2", None, Subscription(("t",), (TopicPartition("t", 0),), 2))
    found = ASSIGNORS["cooperative-sticky"].assign((old, new), {"t": 1})
    assert numbers(found) == {"m1": (), "m2": (0,)}
