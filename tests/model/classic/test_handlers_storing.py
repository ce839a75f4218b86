"""What can't be stored: assignments, replacements and offsets that are too large."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.world import PARKED, S, World, offers

from fencepost.model.classic.group import Group
from fencepost.model.coordinator import METADATA_LIMIT, RECORD_LIMIT
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    JoinGroupRequest,
    OffsetCommitRequest,
    SyncAssignment,
    SyncGroupRequest,
)
from fencepost.model.work import Incoming

LIMIT = 3000
LARGE = offers("range", metadata=bytes(LIMIT))
LIMITED = {RECORD_LIMIT: LIMIT}
REFUSED = "UNKNOWN_SERVER_ERROR"


def test_an_assignment_that_is_too_large_is_given_to_nobody() -> None:
    world = World(config=LIMITED)
    seats = world.completing("A", "B", "x")
    waits = world.sync("B", seats["B"].mid, 1)
    world.wait(S - 1)
    refused = world.sync("A", seats["A"].mid, 1, {seats["B"].mid: bytes(LIMIT)})
    assert (waits.error, refused.error, world.state) == (REFUSED, REFUSED, "PreparingRebalance")
    assert world.group().stored is None
    assert [world.timer("session", seats[who].mid) for who in "ABx"] == [S, S, 1]
    assert world.sync("x", seats["x"].mid, 1).error == "REBALANCE_IN_PROGRESS"
    assert world.beat("B", seats["B"].mid, 1) == "REBALANCE_IN_PROGRESS"


def test_after_that_a_smaller_one_is_given() -> None:
    world = World(config=LIMITED)
    seat = world.completing("A")["A"]
    assert world.sync("A", seat.mid, 1, {seat.mid: bytes(LIMIT)}).error == REFUSED
    again = world.join("A", seat.mid)
    assert (again.error, again.gen) == ("NONE", 2)
    assert world.sync("A", seat.mid, 2, {seat.mid: b"A"}).error == "NONE"
    world.restart()
    assert world.beat("A", seat.mid, 2) == "NONE"


def test_a_failover_finds_what_was_stored_before() -> None:
    world = World(config=LIMITED)
    seat = world.stable("A")["A"]
    world.join("A", seat.mid)
    world.sync("A", seat.mid, 2, {seat.mid: bytes(LIMIT)})
    world.restart()
    assert (world.state, world.group().generation_id) == ("Stable", 1)


@pytest.mark.parametrize("version", [6, 9])
def test_a_replacement_that_is_too_large_replaces_nobody(version: int) -> None:
    world = World(config=LIMITED)
    seats = world.stable("A", "B")
    world.wait(S - 1)
    before = world.group()
    refused = world.join("B", protocols=LARGE, version=version)
    assert (refused.error, refused.mid, refused.gen) == (REFUSED, "", 1)
    assert (refused.leader, refused.members) == (seats["A"].mid, [])
    assert replace(world.group(), timers=()) == replace(before, timers=())
    assert [world.timer("session", seats[who].mid) for who in "AB"] == [1, S]
    assert world.beat("B", seats["B"].mid, 1) == "NONE"
    assert world.join("B").error == "NONE"
    assert world.beat("B", seats["B"].mid, 1) == "FENCED_INSTANCE_ID"


@pytest.mark.parametrize("state", ["preparing", "completing"])
def test_a_replacement_that_is_not_stored_may_be_large(state: str) -> None:
    world = World(config=LIMITED)
    getattr(world, state)("A", "B")
    assert world.join("B", protocols=LARGE).error == PARKED


@pytest.mark.parametrize(("size", "stores"), [(900, {True}), (2000, {True, False})])
def test_where_the_size_is_not_known_both_is_allowed(size: int, stores: set[bool]) -> None:
    world = World(config=LIMITED)
    seat = world.completing("A")["A"]
    sync = SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id=seat.mid,
        protocol_type="consumer",
        protocol_name="range",
        assignments=(SyncAssignment(member_id=seat.mid, assignment=bytes(size)),),
    )
    outcomes = world.outcomes(sync, 5)
    assert {one.group is not None and one.group.stored is not None for one in outcomes} == stores
    world.stable("A")
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=S,
        rebalance_timeout_ms=S,
        member_id="",
        group_instance_id="A",
        protocol_type="consumer",
        protocols=offers("range", metadata=bytes(size)),
    )
    assert len(world.outcomes(join, 9)) == len(stores)


def kept(world: World) -> list[int]:
    return [o.partition for o in world.group().offsets] if world.exists() else []


@pytest.mark.parametrize("member", [True, False])
@pytest.mark.parametrize(
    ("metadata", "errors", "stored"),
    [
        (("é" * 10, None), ["NONE", "NONE"], [0, 1]),
        (("", "é" * 11), ["NONE", "OFFSET_METADATA_TOO_LARGE"], [0]),
        (("\N{GRINNING FACE}" * 6,), ["OFFSET_METADATA_TOO_LARGE"], []),
    ],
)
def test_metadata_that_are_too_long_refuse_their_own_offset(
    metadata: tuple[str | None, ...], errors: list[str], stored: list[int], member: bool
) -> None:
    world = World(config={METADATA_LIMIT: 10})
    mid = world.stable("A")["A"].mid if member else ""
    world.wait(S - 1)
    reply = world.commit(mid, 1 if member else -1, "A" if member else None, metadata=metadata)
    assert reply.partitions == errors
    assert kept(world) == stored
    if member:
        assert world.timer("session", mid) == S


def test_a_missing_topic_and_a_fenced_member_come_first() -> None:
    world = World(config={METADATA_LIMIT: 10, RECORD_LIMIT: LIMIT})
    old = world.stable("A")["A"].mid
    new = world.join("A").mid
    for size in (11, LIMIT):
        long = ("m" * size,)
        assert world.commit(old, 1, "A", metadata=long).partitions == ["FENCED_INSTANCE_ID"]
    errors = world.commit(new, 1, "A", topics=("missing", "t"), metadata=("m" * 11,)).partitions
    assert errors == ["UNKNOWN_TOPIC_OR_PARTITION", "OFFSET_METADATA_TOO_LARGE"]


@pytest.mark.parametrize(
    ("revision", "error", "others"),
    [
        ("kafka-4", REFUSED, REFUSED),
        ("kafka-3.9", "INVALID_COMMIT_OFFSET_SIZE", "OFFSET_METADATA_TOO_LARGE"),
    ],
)
@pytest.mark.parametrize("member", [True, False])
def test_offsets_that_are_too_large_are_refused(
    revision: str, error: str, others: str, member: bool
) -> None:
    world = World(revision, {RECORD_LIMIT: LIMIT, METADATA_LIMIT: LIMIT})
    mid, gen, inst = world.stable("A")["A"].mid if member else "", 1 if member else -1, None
    world.wait(S - 1)
    parts = ("m" * LIMIT, "m" * (LIMIT + 1))
    assert world.commit(mid, gen, inst, metadata=parts).partitions == [error, others]
    assert kept(world) == []
    if member:
        assert world.timer("session", mid) == S
    assert world.commit(mid, gen, inst).partitions == ["NONE"]


@pytest.mark.parametrize("size", [11, LIMIT])
def test_whether_a_commit_that_stores_nothing_makes_a_group_is_open(size: int) -> None:
    world = World(config={METADATA_LIMIT: 10 if size == 11 else None, RECORD_LIMIT: LIMIT})
    row = CommitPartition(partition_index=0, committed_offset=1, committed_metadata="m" * size)
    topics = (CommitTopic(name="t", partitions=(row,)),)
    commit = OffsetCommitRequest(group_id="g", topics=topics)
    incoming = Incoming("?", "c", "OffsetCommit", 9, commit, "?")
    groups = {one.group for one in world.machine.handle(None, incoming, world.span)}
    assert groups == {None, Group()}
    world.stable("A")
    assert len(world.outcomes(commit, 9)) == 1
