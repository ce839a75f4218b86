"""LeaveGroup: rows by who is named, batches in order, and what a leave leads to."""

from __future__ import annotations

import pytest
from support.world import PARKED, Seat, World, offers

from fencepost.model.classic.group import Group
from fencepost.model.messages.messages import LeaveGroupRequest, LeaveGroupResponse, LeavingMember


def world_with_pending() -> tuple[World, dict[str, Seat]]:
    world = World()
    seats = world.stable("A", "B", "x")
    seats["pending"] = Seat(world.join("y").mid, 1)
    return world, seats


ROWS = [
    ("", None, "UNKNOWN_MEMBER_ID", None),
    ("", "C", "UNKNOWN_MEMBER_ID", None),
    ("", "B", "NONE", "B"),
    ("pending", None, "NONE", "pending"),
    ("pending", "B", "NONE", "pending"),
    ("stranger", None, "UNKNOWN_MEMBER_ID", None),
    ("stranger", "C", "UNKNOWN_MEMBER_ID", None),
    ("stranger", "B", "FENCED_INSTANCE_ID", None),
    ("A", "C", "UNKNOWN_MEMBER_ID", None),
    ("A", "B", "FENCED_INSTANCE_ID", None),
    ("x", "B", "FENCED_INSTANCE_ID", None),
    ("B", "B", "NONE", "B"),
    ("B", None, "NONE", "B"),
    ("x", None, "NONE", "x"),
]


@pytest.mark.parametrize(("who", "instance", "error", "gone"), ROWS)
def test_a_row_is_echoed_with_its_outcome(
    who: str, instance: str | None, error: str, gone: str | None
) -> None:
    world, seats = world_with_pending()
    mid = seats[who].mid if who in seats else who
    before = world.group()
    reply = world.leave((mid, instance))
    assert (reply.error, reply.rows) == ("NONE", [error])
    (row,) = reply.body["members"]
    assert (row["memberId"], row["groupInstanceId"]) == (mid, instance)
    left = {m.member_id for m in world.group().members} | set(world.group().pending)
    assert left == {seat.mid for name, seat in seats.items() if name != gone}
    if gone is None:
        assert world.group() == before


@pytest.mark.parametrize(
    ("state", "after"),
    [
        ("preparing", "PreparingRebalance"),
        ("completing", "PreparingRebalance"),
        ("stable", "PreparingRebalance"),
    ],
)
@pytest.mark.parametrize("row", [("B", "B"), ("", "B"), ("x", None)])
def test_whoever_leaves_starts_a_rebalance_and_its_instance_is_free(
    state: str, after: str, row: tuple[str, str | None]
) -> None:
    world = World()
    seats = getattr(world, state)("A", "B", "x")
    who, instance = row
    world.leave((seats[who].mid if who else "", instance))
    assert world.state == after
    if instance:
        assert world.group().holder("B") is None
        assert world.timer("session", seats["B"].mid) is None


def test_a_pending_id_that_is_given_back_starts_no_rebalance() -> None:
    world, seats = world_with_pending()
    world.leave((seats["pending"].mid, None))
    assert world.state == "Stable"
    assert world.timer("session", seats["pending"].mid) is None


def test_a_pending_id_that_is_given_back_may_complete_the_join() -> None:
    world = World()
    seats = world.preparing("A")
    mid = world.join("x").mid
    rejoin = world.join("A", seats["A"].mid)
    assert rejoin.error == PARKED
    world.leave((mid, None))
    assert rejoin.error == "NONE"


def test_a_parked_join_of_who_leaves_is_answered_without_an_id() -> None:
    world = World()
    seats = world.preparing("A", "B")
    parked = world.join("B", seats["B"].mid)
    world.leave((seats["B"].mid, "B"))
    assert (parked.error, parked.mid) == ("UNKNOWN_MEMBER_ID", "")


def test_a_parked_sync_of_who_leaves_is_answered() -> None:
    world = World()
    seats = world.completing("A", "B", "C")
    own, other = (world.sync(who, seats[who].mid, 1) for who in "BC")
    world.leave(("", "B"))
    assert (own.error, other.error) == ("UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS")


def test_a_leave_in_preparing_may_complete_the_join() -> None:
    world = World()
    seats = world.preparing("A", "B")
    rejoin = world.join("A", seats["A"].mid)
    world.leave(("", "B"))
    assert (rejoin.error, world.newcomer.error) == ("NONE", "NONE")


def test_the_last_one_to_leave_empties_the_group_and_counts_the_generation() -> None:
    world = World()
    world.stable("A")
    assert world.leave(("", "A")).rows == ["NONE"]
    assert (world.state, world.group().generation_id) == ("Empty", 2)
    assert world.group().timers == ()


def test_rows_are_handled_in_order_so_a_duplicate_is_unknown() -> None:
    world = World()
    seats = world.stable("A", "B", "x")
    mid = seats["B"].mid
    reply = world.leave((mid, "B"), ("", "B"), (mid, None), ("", "nobody"), (seats["x"].mid, None))
    unknown = "UNKNOWN_MEMBER_ID"
    assert reply.rows == ["NONE", unknown, unknown, unknown, "NONE"]
    assert [m.member_id for m in world.group().members] == [seats["A"].mid]


def test_a_batch_without_rows_changes_nothing() -> None:
    world = World()
    world.stable("A")
    before = world.group()
    reply = world.leave()
    assert (reply.error, reply.rows) == ("NONE", [])
    assert world.group() == before


def test_a_batch_may_rebalance_after_each_row_or_once_at_its_end() -> None:
    world = World()
    world.completing("A", "B")
    both = tuple(LeavingMember(member_id="", group_instance_id=i) for i in "AB")
    outcomes = world.outcomes(LeaveGroupRequest(group_id="g", members=both), 5)
    for outcome in outcomes:
        assert isinstance(outcome.group, Group)
        assert outcome.group.members == ()
        answers = [e.message for e in outcome.emissions if e.request_id == "?"]
        assert isinstance(answers[0], LeaveGroupResponse)
        assert [row.error_code for row in answers[0].members] == [0, 0]


def test_whoever_remains_may_lead_after_the_leader_left() -> None:
    world = World()
    seats = world.stable("A", "B", "x")
    row = LeavingMember(member_id="", group_instance_id="A")
    outcomes = world.outcomes(LeaveGroupRequest(group_id="g", members=(row,)), 5)
    leaders = {o.group.leader for o in outcomes if o.group}
    assert leaders == {seats["B"].mid, seats["x"].mid}


def test_an_answer_names_the_rule_of_its_row() -> None:
    world = World()
    seats = world.preparing("A", "B")
    world.join("A", seats["A"].mid)
    row = LeavingMember(member_id="", group_instance_id="B")
    for outcome in world.outcomes(LeaveGroupRequest(group_id="g", members=(row,)), 5):
        rules = {e.rule for e in outcome.emissions if e.request_id == "?"}
        assert rules == {"LEAVE-MEMBER-BY-INSTANCE-PREPARING"}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_up_to_version_2_the_one_outcome_is_at_top_level(version: int) -> None:
    world = World()
    seats = world.stable("A", "x")
    assert world.leave_alone("stranger", version=version).error == "UNKNOWN_MEMBER_ID"
    assert world.leave_alone("", version=version).error == "UNKNOWN_MEMBER_ID"
    assert world.leave_alone(seats["x"].mid, version=version).error == "NONE"
    assert world.leave_alone(seats["A"].mid, version=version).error == "NONE"
    assert world.group().holder("A") is None


def test_an_absent_group_refuses_each_row_and_up_to_version_2_the_request() -> None:
    world = World()
    reply = world.leave(("m", None), ("", "A"))
    assert (reply.error, reply.rows) == ("NONE", ["UNKNOWN_MEMBER_ID"] * 2)
    assert world.leave_alone("m").error == "UNKNOWN_MEMBER_ID"
    assert not world.exists()


def test_an_empty_group_refuses_each_row() -> None:
    world = World()
    world.join("x")
    assert world.leave(("m", None), ("", "A")).rows == ["UNKNOWN_MEMBER_ID"] * 2


def test_an_empty_group_id_is_refused_at_top_level_without_rows() -> None:
    reply = World().leave(("m", None), group="")
    assert (reply.error, reply.rows) == ("INVALID_GROUP_ID", [])


def test_a_left_instance_that_comes_back_is_a_new_member() -> None:
    world = World()
    seats = world.stable("A", "B")
    world.leave(("", "B"))
    assert world.join("B", seats["B"].mid).error == "UNKNOWN_MEMBER_ID"
    assert world.join("B", protocols=offers("range")).error == PARKED
