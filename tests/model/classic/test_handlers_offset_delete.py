"""OffsetDelete: what a group reads, as of its generation, keeps its offsets."""

from __future__ import annotations

import struct

import pytest
from support.world import World

from fencepost.model.messages.errors import error_name
from fencepost.model.messages.messages import (
    DeletablePartition,
    DeletableTopic,
    JoinProtocol,
    OffsetDeleteRequest,
)
from fencepost.model.work import Outcome


def reads(*topics: str) -> tuple[JoinProtocol, ...]:
    names = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    head, tail = struct.pack(">hi", 0, len(topics)), struct.pack(">i", -1)
    return (JoinProtocol(name="range", metadata=head + names + tail),)


def deletion(*topics: str) -> OffsetDeleteRequest:
    rows = (DeletablePartition(partition_index=0),)
    return OffsetDeleteRequest(
        group_id="g", topics=tuple(DeletableTopic(name=t, partitions=rows) for t in topics)
    )


def answers(outcome: Outcome) -> list[str]:
    (emission,) = outcome.emissions
    assert emission.message is not None
    body = emission.message.to_body(0)
    rows = [p["errorCode"] for t in body["topics"] for p in t["partitions"]]
    return [error_name(code) for code in rows or [body["errorCode"]]]


def codes(world: World, *topics: str) -> list[list[str]]:
    return [answers(outcome) for outcome in world.outcomes(deletion(*topics), 0)]


READ, NOT_READ = "GROUP_SUBSCRIBED_TO_TOPIC", "NONE"


def test_while_a_first_generation_is_awaited_every_topic_counts_as_read() -> None:
    world = World()
    world.join("A", protocols=reads("t"))
    assert world.state == "PreparingRebalance"
    assert codes(world, "t", "u") == [[READ, READ]]


def test_after_a_generation_without_members_no_topic_is_read_until_the_next_one() -> None:
    world = World()
    seat = world.stable("A", protocols=reads("t"))["A"]
    world.leave((seat.mid, "A"))
    world.join("B", protocols=reads("t"))
    assert world.state == "PreparingRebalance"
    assert codes(world, "t") == [[NOT_READ]]


@pytest.mark.parametrize("metadata", [b"\0", b"\xff\xff\0\0\0\0\xff\xff\xff\xff"])
def test_what_is_no_subscription_may_read_every_topic(metadata: bytes) -> None:
    world = World()
    world.stable("A", protocols=(JoinProtocol(name="range", metadata=metadata),))
    assert codes(world, "t") == [[READ]]


def test_a_rebalance_from_stable_counts_what_the_generation_read() -> None:
    world = World()
    seats = world.stable("A", "C", protocols=reads("t"))
    world.join("B", protocols=reads("u"))
    world.join("C", seats["C"].mid, protocols=reads("u"))
    assert world.state == "PreparingRebalance"
    assert codes(world, "t", "u") == [[READ, NOT_READ]]


def test_a_generation_that_was_not_stored_is_known_from_who_has_not_joined_again() -> None:
    world = World()
    seats = world.completing("A", "B", protocols=reads("t"))
    world.join("C", protocols=reads("u"))
    assert world.state == "PreparingRebalance"
    assert codes(world, "t") == [[READ]]
    world.join("A", seats["A"].mid, protocols=reads("v"))
    world.leave((seats["B"].mid, "B"))
    world.join("D", protocols=reads("t"))
    assert sorted(codes(world, "t")) == [[READ], [NOT_READ]]


@pytest.mark.parametrize("again", [False, True])
def test_a_restart_counts_from_the_next_generation_on(again: bool) -> None:
    world = World()
    world.stable("A", protocols=reads("t"))
    restarted = world.join("A", protocols=reads("u"))
    assert codes(world, "t", "u") == [[READ, NOT_READ]]
    if again:
        restarted = world.join("A", protocols=reads("w"))
        assert codes(world, "t", "u", "w") == [[READ, NOT_READ, NOT_READ]]
    now = "w" if again else "u"
    world.join("A", restarted.mid, protocols=reads(now))
    assert world.state == "CompletingRebalance"
    assert codes(world, "t", now) == [[NOT_READ, READ]]


def test_another_coordinator_knows_it_from_the_stored_members() -> None:
    world = World()
    world.stable("A", protocols=reads("t"))
    world.join("A", protocols=reads("u"))
    world.restart()
    assert codes(world, "t", "u") == [[NOT_READ, READ]]


@pytest.mark.parametrize(("revision", "stays"), [("kafka-4", True), ("kafka-3.9", False)])
def test_with_its_last_offset_a_group_goes_before_kafka_4(revision: str, *, stays: bool) -> None:
    world = World(revision)
    world.commit(topics=("t", "u"))
    world.ask("admin", deletion("t"), 0)
    assert [o.topic for o in world.group().offsets] == ["u"]
    world.ask("admin", deletion("u", "missing"), 0)
    assert world.exists() is stays
