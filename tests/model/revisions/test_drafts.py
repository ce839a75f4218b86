"""The drafts with messages of their own: MEMBER_NAME in JoinGroup, and two forms of LeaveGroup."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.world import PARKED, R, World

from fencepost.model.machine import Machine
from fencepost.model.messages.draft_messages import ALL_APIS, DraftLeaveGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions import revisions
from fencepost.model.work import Incoming, Span

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


@DRAFTS
def test_a_distortion_changes_the_answer_that_a_draft_sends(revision: str) -> None:
    """Not the shipped answer that it is made of, and also one that refuses the whole batch."""

    def distort(message: Message) -> Message:
        assert isinstance(message, DraftLeaveGroupResponse)
        return DraftLeaveGroupResponse(error_code=99)

    world = World(revision)
    world.stable("A", "B")
    machine = Machine(replace(revisions.find(revision), distort=distort))
    for row, error in (("B", "NONE"), ("C", "GROUP_INSTANCE_ID_NOT_FOUND")):
        reply = LEAVES[revision](world, (row, ""))
        assert reply == error
        sent = list(world.requests.values())[-1]
        message = ALL_APIS[sent.api].request.from_body(dict(sent.body), sent.version)
        incoming = Incoming("r", "admin", sent.api, sent.version, message, "fresh")
        group = world.group()
        for outcome in machine.handle(group, incoming, Span(world.now, world.now), group_id="g"):
            assert [e.message for e in outcome.emissions] == [
                DraftLeaveGroupResponse(error_code=99)
            ]
