"""A group of the consumer protocol: sorted, equal by content, renamed as a whole."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.consumer_world import ConsumerWorld

from fencepost.model.consumer.group import ConsumerGroup, GroupState, Member, Phase
from fencepost.model.messages.subscription import TopicPartition


def member(member_id: str, instance_id: str | None = None) -> Member:
    return Member(member_id, instance_id, "c", 1_000)


def test_equal_groups_have_the_same_content_in_any_order() -> None:
    first, other = ConsumerGroup(), ConsumerGroup()
    for name in ("a", "b", "c"):
        first = first.with_member(member(name)).with_timer("session", name, 1, 2)
        first = first.with_mapping(name.upper(), name)
    for name in ("c", "b", "a"):
        other = other.with_mapping(name.upper(), name).with_timer("session", name, 1, 2)
        other = other.with_member(member(name))
    assert first == other
    assert hash(first) == hash(other)
    assert first.without_timer("session", "b") != other
    assert first.shifted(3).timer("session", "a") == ("session", "a", 4, 5)


def test_a_removal_takes_the_entry_of_the_members_own_instance_alone() -> None:
    group = ConsumerGroup().with_member(member("a", "B"))
    group = group.with_mapping("A", "a").with_mapping("B", "a").with_timer("session", "a", 1, 1)
    group = group.with_target("a", (TopicPartition("t", 0),))
    gone = group.without_member("a")
    assert gone == ConsumerGroup(static=(("A", "a"),))
    assert gone.without_mapping("A") == ConsumerGroup()


def test_a_renamed_group_is_that_of_other_ids() -> None:
    first, other = ConsumerWorld(), ConsumerWorld()
    script = "join {0} A; join {1} B; settle; release {0} A"
    first.play(script.format("m1", "m2"))
    other.play(script.format("z1", "k2"))
    assert first.there().renamed({"m1": "z1", "m2": "k2"}) != first.there()
    renamed = first.there().renamed({"m1": "z1", "m2": "k2"})
    assert {m.member_id for m in renamed.members} == {m.member_id for m in other.there().members}
    assert renamed.static == other.there().static
    assert renamed.timers == other.there().timers


@pytest.mark.parametrize(
    ("script", "state"),
    [
        ("join m1; leave m1", GroupState.EMPTY),
        ("join m1; join m2; leave m1", GroupState.ASSIGNING),
        ("join m1; join m2", GroupState.RECONCILING),
        ("join m1 A; release m1 A", GroupState.RECONCILING),
        ("join m1; join m2; settle", GroupState.STABLE),
    ],
)
def test_the_state_of_a_group(script: str, state: GroupState) -> None:
    world = ConsumerWorld()
    world.play(script)
    assert world.there().state is state


def test_phases_on_the_way_to_a_target() -> None:
    world = ConsumerWorld()
    world.play("join m1; join m2")
    assert world.member("m2").phase is Phase.UNRELEASED
    assert world.member("m2").epoch == 3
    world.play("beat m1")
    assert world.member("m1").phase is Phase.UNREVOKED
    assert world.member("m1").epoch == 2
    assert len(list(world.there().owned())) == 4
    world.play("beat m2")
    assert world.numbers("m2") == set()
    world.play("beat m1")
    assert (world.member("m1").phase, world.member("m1").epoch) == (Phase.STABLE, 3)
    world.play("beat m2")
    assert world.numbers("m2") == {2, 3}
    assert replace(world.member("m2"), epoch=-2).is_released
