"""A leader at work: what it knows of the members and of racks comes into its assignment."""

from __future__ import annotations

import pytest
from support.client_scenarios import (
    GROUP,
    TOPIC,
    group_of,
    instance_of,
    owned,
    settings,
    simulation,
)

from fencepost.model.assignors.sticky import recalled
from fencepost.model.client.behaviour import RIGHT
from fencepost.model.messages.messages import JoinGroupRequest
from fencepost.model.messages.subscription import TopicPartition, decode_subscription


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_one_more_member_moves_no_more_than_must(assignor: str) -> None:
    sim = simulation()
    group_of(sim, RIGHT, "b", assignors=(assignor,))
    before = {name: owned(sim, name) for name in ("a", "b")}
    sim.start("c", settings("c", assignors=(assignor,)))
    sim.run_for(12_000)
    assert [len(before[name]) for name in ("a", "b")] == [3, 3]
    assert [len(owned(sim, name)) for name in ("a", "b", "c")] == [2, 2, 2]
    assert all(owned(sim, name) < before[name] for name in ("a", "b"))


def test_a_removed_member_of_a_sticky_group_still_says_what_it_had() -> None:
    sim = simulation()
    group_of(sim, RIGHT, "b", assignors=("sticky",))
    before = owned(sim, "b")
    sim.remove(GROUP, instance_of("b"))
    sim.run_for(12_000)
    joins = [each.request for each in sim.requests_of("b", "JoinGroup")]
    assert isinstance(joins[0], JoinGroupRequest)
    assert isinstance(joins[-1], JoinGroupRequest)
    first, last = (
        recalled(decode_subscription(join.protocols[0].metadata)) for join in (joins[0], joins[-1])
    )
    assert (first.owned, first.generation_id) == ((), -1)
    assert set(last.owned) == before
    assert last.generation_id > 0
    assert owned(sim, "b") == before


def in_racks(*places: str) -> dict[TopicPartition, frozenset[str]]:
    return {TopicPartition(TOPIC, n): frozenset({place}) for n, place in enumerate(places)}


NEAR_B_FIRST = in_racks("rb", "ra", "rb", "ra", "rb", "ra")
NEAR_A_FIRST = in_racks("ra", "rb", "ra", "rb", "ra", "rb")


def test_members_get_what_is_near() -> None:
    sim = simulation()
    sim.cluster.racks = NEAR_B_FIRST
    for name, rack in (("a", "ra"), ("b", "rb")):
        sim.start(name, settings(name, rack_id=rack))
    sim.run_for(12_000)
    assert owned(sim, "a") == {partition for partition, at in NEAR_B_FIRST.items() if "ra" in at}


@pytest.mark.parametrize("assignor", ["range", "sticky", "cooperative-sticky"])
def test_a_leader_in_a_rack_joins_again_when_replicas_are_elsewhere(assignor: str) -> None:
    sim = simulation()
    sim.cluster.racks = NEAR_B_FIRST
    for name, rack in (("a", "ra"), ("b", "rb")):
        own = settings(name, rack_id=rack, assignors=(assignor,), metadata_max_age_ms=3000)
        sim.start(name, own)
    sim.run_for(12_000)
    before = owned(sim, "a")
    sim.run_for(30_000)
    joins = len(sim.requests_of("a", "JoinGroup"))
    sim.cluster.racks = NEAR_A_FIRST
    sim.run_for(12_000)
    assert len(sim.requests_of("a", "JoinGroup")) > joins
    assert owned(sim, "a") == {partition for partition, at in NEAR_A_FIRST.items() if "ra" in at}
    assert owned(sim, "a").isdisjoint(before)


def test_a_leader_that_has_no_rack_does_not_care() -> None:
    sim = simulation()
    sim.cluster.racks = NEAR_B_FIRST
    group_of(sim, RIGHT, "b", metadata_max_age_ms=3000)
    joins = [len(sim.requests_of(name, "JoinGroup")) for name in "ab"]
    sim.cluster.racks = NEAR_A_FIRST
    sim.run_for(12_000)
    assert [len(sim.requests_of(name, "JoinGroup")) for name in "ab"] == joins
