"""A leader at work: what it knows of the members and of racks comes into its assignment."""

from __future__ import annotations

import pytest
from support.client_scenarios import GROUP, TOPIC, group_of, owned, settings, simulation

from fencepost.model.assignors.memory import recalled
from fencepost.model.assignors.subscription import TopicPartition, decode_subscription
from fencepost.model.client.cluster_messages import TopicLeaders
from fencepost.model.client.conduct import RIGHT
from fencepost.model.messages.messages import JoinGroupRequest


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
    sim.remove(GROUP, "b")
    sim.run_for(12_000)
    joins = [each.request for each in sim.asked_by("b", "JoinGroup")]
    assert isinstance(joins[0], JoinGroupRequest)
    assert isinstance(joins[-1], JoinGroupRequest)
    first, last = (
        recalled(decode_subscription(join.protocols[0].metadata)) for join in (joins[0], joins[-1])
    )
    assert (first.owned, first.generation_id) == ((), -1)
    assert set(last.owned) == before
    assert last.generation_id > 0
    assert owned(sim, "b") == before


def test_members_get_what_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = simulation()
    places = ("rb", "ra", "rb", "ra", "rb", "ra")
    monkeypatch.setattr(
        sim.cluster,
        "_leaders",
        lambda topic: TopicLeaders(topic, 0, (1,) * 6, tuple(frozenset({p}) for p in places)),
    )
    for name, rack in (("a", "ra"), ("b", "rb")):
        sim.start(name, settings(name, rack_id=rack))
    sim.run_for(12_000)
    near = {TopicPartition(TOPIC, number) for number, place in enumerate(places) if place == "ra"}
    assert owned(sim, "a") == near
