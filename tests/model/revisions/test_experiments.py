"""The experiments: who is registered waits in its place, and who is spare stands by."""

from __future__ import annotations

import pytest
from support.world import PARKED, S, World

from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.revisions import revisions
from fencepost.model.revisions.experiments import with_target_size

NAMES = ("experiment-preregistered", "experiment-standby", "experiment-target-size")


def world_of(name: str, size: int) -> World:
    world = World(name)
    world.coordinator = ModelCoordinator(with_target_size(revisions.find(name), size))
    world.coordinator.reset({})
    return world


def assignment(world: World, who: str) -> bytes:
    member = world.group().member(world.group().holder(who) or "")
    assert member is not None
    return member.assignment


@pytest.mark.parametrize(("name", "size"), [(NAMES[0], 3), (NAMES[1], 1), (NAMES[2], 1)])
def test_a_newcomer_has_its_place_at_once_and_stops_nobody(name: str, size: int) -> None:
    world = world_of(name, size)
    seats = world.stable("A")
    reply = world.join("B")
    assert (reply.error, reply.gen, reply.members) == ("NONE", 1, [])
    assert world.sync("B", reply.mid, 1).error == "NONE"
    assert assignment(world, "B") == b""
    assert world.beat("A", seats["A"].mid, 1) == "NONE"
    assert world.beat("B", reply.mid, 1) == "NONE"


def test_the_last_registered_instance_begins_the_rebalance() -> None:
    world = world_of(NAMES[0], 3)
    seats = world.stable("A")
    waiting = world.join("B")
    last = world.join("C")
    assert (last.error, last.gen) == ("NONE", 1)
    assert world.state == "PreparingRebalance"
    for who, mid in (("A", seats["A"].mid), ("B", waiting.mid), ("C", last.mid)):
        assert world.beat(who, mid, 1) == "REBALANCE_IN_PROGRESS"
        assert world.join(who, mid).error in {PARKED, "NONE"}
    assert world.group().generation_id == 2


def test_of_more_than_are_registered_the_last_one_to_go_begins_the_rebalance() -> None:
    world = world_of(NAMES[0], 1)
    world.stable("A", "B", "C")
    world.leave(("", "C"))
    assert world.state == "Stable"
    world.leave(("", "B"))
    assert world.state == "PreparingRebalance"


def test_a_waiting_instance_survives_a_failover() -> None:
    world = world_of(NAMES[0], 3)
    world.stable("A")
    reply = world.join("B")
    world.restart()
    assert world.beat("B", reply.mid, 1) == "NONE"


def test_a_spare_takes_over_by_a_rebalance() -> None:
    world = world_of(NAMES[1], 1)
    world.stable("A")
    spare = world.join("B")
    world.leave(("", "A"))
    assert world.beat("B", spare.mid, 1) == "REBALANCE_IN_PROGRESS"


def test_a_dynamic_spare_disturbs_nobody() -> None:
    world = world_of(NAMES[1], 1)
    world.stable("A")
    assert world.admit("x").error == "NONE"
    assert world.state == "Stable"


def test_by_the_letter_the_spare_stays_idle_as_the_group_is_not_too_small() -> None:
    world = world_of(NAMES[2], 1)
    world.stable("A")
    spare = world.join("B")
    world.leave(("", "A"))
    assert world.beat("B", spare.mid, 1) == "NONE"
    assert world.sync("B", spare.mid, 1).error == "NONE"
    assert assignment(world, "B") == b""


def test_below_the_target_size_all_is_as_ever() -> None:
    world = world_of(NAMES[2], 2)
    world.stable("A")
    world.join("B")
    assert world.state == "PreparingRebalance"


def test_an_idle_member_that_is_silent_is_removed() -> None:
    world = world_of(NAMES[1], 1)
    seats = world.stable("A")
    spare = world.join("B")
    world.wait(S - 1)
    world.beat("A", seats["A"].mid, 1)
    world.wait(1)
    assert world.group().holder("B") is None
    assert world.beat("B", spare.mid, 1) == "UNKNOWN_MEMBER_ID"


@pytest.mark.parametrize("name", NAMES)
def test_without_a_target_size_every_change_is_one_to_rebalance_for(name: str) -> None:
    assert revisions.find(name).target_size is not None
    assert revisions.find("kafka-4").target_size is None
