"""The assignors of the broker: level, few moves, and ranges where most members ask for them."""

from __future__ import annotations

from fencepost.model.assignors.server_assignors import assign_at_broker
from fencepost.model.consumer.group import ConsumerGroup, Member
from fencepost.model.consumer.topics import MOST_TARGETS, Target
from fencepost.model.messages.subscription import TopicPartition


def member(name: str, *topics: str, assignor: str = "") -> Member:
    return Member(
        member_id=name,
        instance_id=None,
        client_id="c",
        rebalance_timeout_ms=1,
        topics=topics or ("t",),
        assignor=assignor,
    )


def target(*members: Member, before: Target = (), partitions: int = 4) -> dict[str, list[int]]:
    group = ConsumerGroup(members=members, target=before)
    made = assign_at_broker(group, lambda name: 0 if name == "gone" else partitions)
    assert [owner for owner, _ in made] == sorted(owner for owner, _ in made)
    return {owner: [p.partition for p in part] for owner, part in made}


def part(*numbers: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition("t", number) for number in numbers)


def test_one_member_gets_all_and_two_share() -> None:
    assert target(member("m1")) == {"m1": [0, 1, 2, 3]}
    assert target(member("m1"), member("m2"), before=(("m1", part(0, 1, 2, 3)),)) == {
        "m1": [0, 1],
        "m2": [2, 3],
    }


def test_no_more_partitions_move_than_must() -> None:
    before = (("m1", part(0, 2)), ("m2", part(1, 3)))
    after = target(member("m1"), member("m2"), member("m3"), before=before)
    assert after["m1"][0] == 0
    assert set(after["m1"]) <= {0, 2}
    assert set(after["m2"]) <= {1, 3}
    assert sorted(map(len, after.values())) == [1, 1, 2]
    assert target(member("m2"), before=before) == {"m2": [0, 1, 2, 3]}


def test_the_assignor_that_most_members_ask_for_assigns() -> None:
    before = (("m1", part(1, 3)), ("m2", part(0, 2)))
    sticky = {"m1": [1, 3], "m2": [0, 2]}
    ranges = {"m1": [0, 1], "m2": [2, 3]}
    for first, second, wanted in (
        ("", "", sticky),
        ("uniform", "", sticky),
        ("range", "", ranges),
        ("range", "uniform", sticky),
    ):
        members = member("m1", assignor=first), member("m2", assignor=second)
        assert target(*members, before=before) == wanted


def test_only_subscribers_get_partitions_and_missing_topics_have_none() -> None:
    assert target(member("m1", "t", "gone"), member("m2", "gone")) == {"m1": [0, 1, 2, 3]}
    assert target(member("m1", "gone")) == {}


def test_the_number_of_legal_targets_does_not_matter() -> None:
    made = target(*(member(f"m{n}") for n in range(9)), partitions=MOST_TARGETS)
    assert sum(map(len, made.values())) == MOST_TARGETS
