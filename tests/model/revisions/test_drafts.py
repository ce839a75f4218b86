"""The drafts with messages of their own: MEMBER_NAME in JoinGroup, and two forms of LeaveGroup."""

from __future__ import annotations

from typing import Any

import pytest
from support.world import PARKED, R, World

from fencepost.model.revisions import revisions

# The early draft with MEMBER_NAME.


def named_join(world: World, name: str, mid: str = "") -> Any:
    body = {
        "groupId": "g",
        "sessionTimeoutMs": 10_000,
        "rebalanceTimeoutMs": R,
        "memberId": mid,
        "memberName": name,
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": ""}],
    }
    return world.send(name, "JoinGroup/member-name", 4, body)


def test_in_the_early_draft_an_empty_name_is_a_dynamic_member() -> None:
    world = World("member-name-draft")
    assert named_join(world, "").error == "MEMBER_ID_REQUIRED"
    assert named_join(world, "A").error == PARKED


def test_in_the_early_draft_a_leaders_restart_causes_a_rebalance_and_a_followers_does_not() -> None:
    world = World("member-name-draft")
    leader, follower = named_join(world, "A"), named_join(world, "B")
    world.wait(6_000)
    for who, reply in (("B", follower), ("A", leader)):
        world.sync(who, reply.mid, 1, inst=None, version=2)
    again = named_join(world, "B")
    assert (again.error, again.gen) == ("NONE", 1)
    assert world.state == "Stable"
    assert named_join(world, "A").error == PARKED
    assert world.state == "PreparingRebalance"


def test_in_the_early_draft_nothing_else_carries_the_name() -> None:
    apis = revisions.find("member-name-draft").apis
    assert (apis["JoinGroup"], apis["SyncGroup"], apis["LeaveGroup"]) == ((0, 3), (0, 2), (0, 2))
    assert (apis["Heartbeat"], apis["OffsetCommit"]) == ((0, 2), (2, 6))


# The drafts' LeaveGroup.

Row = tuple[str, str]


def leave_by_lists(world: World, *rows: Row) -> str:
    body = {
        "groupId": "g",
        "groupInstanceIdList": [inst for inst, _ in rows],
        "memberIdList": [mid for _, mid in rows],
    }
    return world.send("admin", "LeaveGroup/two-list", 3, body).error


def leave_by_tuples(world: World, *rows: Row) -> str:
    identities = [{"groupInstanceId": inst, "memberId": mid} for inst, mid in rows]
    body = {"groupId": "g", "memberIdentityList": identities}
    return world.send("admin", "LeaveGroup/tuple-list", 3, body).error


LEAVES = {"two-list-leave-draft": leave_by_lists, "tuple-list-leave-draft": leave_by_tuples}
DRAFTS = pytest.mark.parametrize("revision", LEAVES)


@DRAFTS
@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([("B", "")], "NONE"),
        ([("B", "B")], "NONE"),
        ([("", "x")], "NONE"),
        ([("A", ""), ("B", "B"), ("", "x")], "NONE"),
        ([("", ""), ("B", "")], "NONE"),
        ([("B", ""), ("C", "")], "GROUP_INSTANCE_ID_NOT_FOUND"),
        ([("B", ""), ("A", "x")], "MEMBER_ID_MISMATCH"),
        ([("B", "stranger")], "MEMBER_ID_MISMATCH"),
        ([("B", ""), ("", "stranger")], "UNKNOWN_MEMBER_ID"),
        ([("", ""), ("", "")], "UNKNOWN_MEMBER_ID"),
        ([], "UNKNOWN_MEMBER_ID"),
    ],
)
def test_a_drafts_batch_is_done_as_a_whole_or_not_at_all(
    revision: str, rows: list[Row], error: str
) -> None:
    world = World(revision)
    seats = world.stable("A", "B", "x", version=9)
    before = world.group()
    told = [(inst, seats[who].mid if who in seats else who) for inst, who in rows]
    assert LEAVES[revision](world, *told) == error
    if error != "NONE":
        assert world.group() == before
        return
    named = {inst or who for inst, who in rows} - {""}
    left = {m.member_id for m in world.group().members}
    assert left == {seat.mid for who, seat in seats.items() if who not in named}


def test_two_lists_have_to_be_of_one_length() -> None:
    world = World("two-list-leave-draft")
    world.stable("A", "B")
    body = {"groupId": "g", "groupInstanceIdList": ["A", "B"], "memberIdList": [""]}
    reply = world.send("admin", "LeaveGroup/two-list", 3, body)
    assert reply.error == "MEMBER_ID_MISMATCH"
    assert len(world.group().members) == 2


@DRAFTS
def test_a_drafts_leave_of_an_absent_group_finds_nobody(revision: str) -> None:
    assert LEAVES[revision](World(revision), ("A", "")) == "GROUP_INSTANCE_ID_NOT_FOUND"
    assert LEAVES[revision](World(revision), ("", "m")) == "UNKNOWN_MEMBER_ID"
