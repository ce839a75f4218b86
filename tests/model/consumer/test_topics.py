"""Topics have ids, and a group has as many legal targets as there are choices."""

from __future__ import annotations

import pytest

from fencepost.model.consumer.group import ConsumerGroup, Member
from fencepost.model.consumer.topics import (
    MOST_TARGETS,
    TooManyTargetsError,
    legal_targets,
    partitions_in,
    rows_of,
    topic_id,
)
from fencepost.model.messages.consumer_messages import TopicPartitions
from fencepost.model.messages.subscription import TopicPartition


def group_of(*subscriptions: tuple[str, ...]) -> ConsumerGroup:
    group = ConsumerGroup()
    for number, topics in enumerate(subscriptions, start=1):
        group = group.with_member(Member(f"m{number}", None, "c", 1_000, topics=topics))
    return group


def two(_: str) -> int:
    return 2


def test_an_id_is_a_uuid_and_names_one_topic() -> None:
    assert topic_id("t") == topic_id("t") != topic_id("u")
    rows = TopicPartitions.from_body({"topicId": topic_id("t"), "partitions": []}, 0)
    assert rows.topic_id == topic_id("t")


def test_partitions_are_written_by_topic_and_read_by_known_names() -> None:
    partitions = [TopicPartition("u", 1), TopicPartition("t", 1), TopicPartition("t", 0)]
    rows = rows_of(partitions)
    assert [(row.topic_id, row.partitions) for row in rows] == [
        (topic_id("t"), (0, 1)),
        (topic_id("u"), (1,)),
    ]
    assert sorted(partitions_in(rows, ["t", "u"])) == sorted(partitions)
    unknown = rows_of([TopicPartition("v", 1)])
    assert list(partitions_in(unknown, ["t"])) == [TopicPartition(topic_id("v"), 1)]


@pytest.mark.parametrize(
    ("subscriptions", "number"),
    [
        ((), 1),
        (((),), 1),
        ((("t",),), 1),
        ((("t",), ("t",)), 4),
        ((("t",), ("t",), ("t",)), 9),
        ((("t",), ("t", "u")), 4),
        ((("t", "u"), ("t", "u")), 16),
        ((("t",), ("u",)), 1),
    ],
)
def test_a_target_gives_each_partition_to_one_of_its_readers(
    subscriptions: tuple[tuple[str, ...], ...], number: int
) -> None:
    group = group_of(*subscriptions)
    targets = list(legal_targets(group, two))
    assert len(set(targets)) == len(targets) == number
    named = {topic for topics in subscriptions for topic in topics}
    for target in targets:
        given = sorted(partition for _, part in target for partition in part)
        assert given == sorted(TopicPartition(topic, n) for topic in named for n in range(2))
        for member_id, part in target:
            member = group.member(member_id)
            assert member is not None
            assert {partition.topic for partition in part} <= set(member.topics)


def test_a_topic_without_partitions_needs_no_owner() -> None:
    assert list(legal_targets(group_of(("t",), ("t",)), lambda _: 0)) == [()]


def test_too_many_targets_are_refused() -> None:
    sentence = f"8,192 legal targets, more than {MOST_TARGETS:,}"
    with pytest.raises(TooManyTargetsError, match=sentence):
        list(legal_targets(group_of(("t",), ("t",)), lambda _: 13))
