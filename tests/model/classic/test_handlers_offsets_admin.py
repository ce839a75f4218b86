"""OffsetCommit by group, member and state; DescribeGroups by state."""

from __future__ import annotations

import pytest
from support.world import S, Seat, World, offers

from fencepost.model.messages.messages import (
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
)
from fencepost.model.table.shared_features import Availability
from fencepost.model.work import Incoming, Span


def offset(world: World, group: str = "g") -> int | None:
    offsets = world.group(group).offsets if world.exists(group) else ()
    return offsets[0].offset if offsets else None


@pytest.mark.parametrize(
    ("gen", "version", "error"),
    [
        (-1, 8, "NONE"),
        (-1, 9, "NONE"),
        (0, 8, "ILLEGAL_GENERATION"),
        (0, 9, "GROUP_ID_NOT_FOUND"),
    ],
)
@pytest.mark.parametrize("group", ["g", ""], ids=["a group", "the empty name"])
def test_an_absent_group_takes_offsets_without_a_generation(
    group: str, gen: int, version: int, error: str
) -> None:
    world = World()
    assert world.commit("m", gen, "A", group=group, version=version).partitions == [error]
    assert offset(world, group) == (5 if error == "NONE" else None)


@pytest.mark.parametrize(
    ("mid", "gen", "instance", "error"),
    [
        ("", -1, None, "NONE"),
        ("m", -1, "A", "NONE"),
        ("m", 0, None, "UNKNOWN_MEMBER_ID"),
        ("", 0, None, "UNKNOWN_MEMBER_ID"),
        ("", 0, "A", "UNKNOWN_MEMBER_ID"),
    ],
)
def test_an_empty_group_takes_offsets_from_nobody_in_particular(
    mid: str, gen: int, instance: str | None, error: str
) -> None:
    world = World()
    world.join("x")
    assert world.commit(mid, gen, instance).partitions == [error]


@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
@pytest.mark.parametrize(
    ("who", "gen", "instance", "error"),
    [
        ("", -1, None, "UNKNOWN_MEMBER_ID"),
        ("", 1, None, "UNKNOWN_MEMBER_ID"),
        ("", -1, "A", "FENCED_INSTANCE_ID"),
        ("", -1, "C", "UNKNOWN_MEMBER_ID"),
        ("stranger", 1, None, "UNKNOWN_MEMBER_ID"),
        ("B", 7, "A", "FENCED_INSTANCE_ID"),
        ("A", 1, "C", "UNKNOWN_MEMBER_ID"),
        ("A", 0, "A", "ILLEGAL_GENERATION"),
        ("A", 2, None, "ILLEGAL_GENERATION"),
        ("A", -1, "A", "ILLEGAL_GENERATION"),
    ],
)
def test_a_group_with_members_takes_offsets_from_its_members_of_this_generation_only(
    state: str, who: str, gen: int, instance: str | None, error: str
) -> None:
    world = World()
    seats: dict[str, Seat] = getattr(world, state)("A", "B")
    before = world.group()
    mid = seats[who].mid if who in seats else who
    assert world.commit(mid, gen, instance).partitions == [error]
    assert world.group() == before


@pytest.mark.parametrize(
    ("state", "error", "left"),
    [
        ("preparing", "NONE", S),
        ("completing", "REBALANCE_IN_PROGRESS", S - 100),
        ("stable", "NONE", S),
    ],
)
def test_a_members_commit_by_state_and_its_session(state: str, error: str, left: int) -> None:
    world = World()
    seat = getattr(world, state)("A", "B")["A"]
    world.wait(100)
    assert world.commit(seat.mid, 1, "A").partitions == [error]
    assert offset(world) == (5 if error == "NONE" else None)
    assert world.timer("session", seat.mid) == left


def test_a_topic_that_doesnt_exist_is_refused_for_its_partitions_alone() -> None:
    world = World()
    world.stable("A")
    both = world.commit("stranger", 9, topics=("missing", "t"))
    assert both.partitions == ["UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_MEMBER_ID"]
    only = world.commit("stranger", 9, topics=("missing",))
    assert only.partitions == ["UNKNOWN_TOPIC_OR_PARTITION"]


def test_a_commit_for_a_missing_topic_creates_no_group() -> None:
    world = World()
    world.commit(topics=("missing",))
    assert not world.exists()


@pytest.mark.parametrize(("version", "error"), [(0, 0), (5, 0), (6, 69)])
def test_an_absent_group_is_described_as_dead(version: int, error: int) -> None:
    row = World().describe(version=version)
    assert (row["errorCode"], row["groupState"], row["members"]) == (error, "Dead", [])


def test_stable_shows_each_members_instance_metadata_and_assignment() -> None:
    world = World()
    world.stable("A", "x", protocols=offers("range", metadata=b"m"))
    row = world.describe()
    assert (row["groupState"], row["protocolType"], row["protocolData"]) == (
        "Stable",
        "consumer",
        "range",
    )
    shown = {
        (m["groupInstanceId"], m["clientId"], m["memberMetadata"], m["memberAssignment"])
        for m in row["members"]
    }
    assert shown == {("A", "A", "bQ==", "QQ=="), (None, "x", "bQ==", "eA==")}


@pytest.mark.parametrize("state", ["preparing", "completing"])
def test_other_states_show_who_is_a_member(state: str) -> None:
    world = World()
    seats = getattr(world, state)("A", "x")
    row = world.describe()
    assert {seat.mid for seat in seats.values()} <= {m["memberId"] for m in row["members"]}
    assert row["groupState"] == world.state


def test_a_pending_id_is_not_described() -> None:
    world = World()
    world.join("x")
    row = world.describe()
    assert (row["errorCode"], row["groupState"], row["members"]) == (0, "Empty", [])


@pytest.mark.parametrize(
    ("here", "code"), [(Availability.LOADING, 14), (Availability.ELSEWHERE, 16)]
)
def test_a_broker_that_doesnt_coordinate_says_so(here: Availability, code: int) -> None:
    machine = World().machine

    def answer(message: DescribeGroupsRequest | OffsetCommitRequest) -> object:
        incoming = Incoming("1", "c", message.API, 5, message, "new")
        (outcome,) = machine.handle(None, incoming, Span(0, 0), here, "g")
        return outcome.emissions[0].message

    described = answer(DescribeGroupsRequest(groups=("g",)))
    assert described.groups[0].error_code == code  # type: ignore[attr-defined]


def test_groups_are_listed_and_filtered_by_state() -> None:
    world = World()
    world.stable("A")
    world.join("x", group="h")

    def listed(*states: str) -> list[str]:
        reply = world.ask("admin", ListGroupsRequest(states_filter=states), 4)
        return [row["groupId"] for row in reply.body["groups"]]

    assert listed() == ["g", "h"]
    assert listed("stable") == ["g"]
    assert listed("Dead") == []


def test_several_groups_are_described_at_once() -> None:
    world = World()
    world.stable("A")
    reply = world.ask("admin", DescribeGroupsRequest(groups=("g", "h")), 5)
    rows = [(row["groupId"], row["groupState"]) for row in reply.body["groups"]]
    assert rows == [("g", "Stable"), ("h", "Dead")]


def test_groups_know_nothing_of_each_other() -> None:
    world = World()
    seat = world.stable("A")["A"]
    before = world.group()
    other = world.join("A", group="h")
    assert other.error == "parked"
    assert world.beat("A", seat.mid, 1, group="h") == "FENCED_INSTANCE_ID"
    assert world.leave(("", "A"), group="h").rows == ["NONE"]
    assert world.group() == before
    assert world.group("g").holder("A") == seat.mid
