"""Timers: sessions, the initial delay, the end of the join phase, the wait for syncs."""

from __future__ import annotations

import pytest
from support.world import DELAY, PARKED, D, R, S, World

FIVE_MINUTES = 300_000


@pytest.mark.parametrize("who", ["A", "x"])
def test_a_new_member_has_five_minutes_until_its_join_completes(who: str) -> None:
    world = World(config={DELAY: FIVE_MINUTES * 2})
    reply = world.admit(who, r=FIVE_MINUTES * 3)
    subject = world.group().members[0].member_id
    assert world.timer("session", subject) == FIVE_MINUTES
    world.wait(FIVE_MINUTES - 1)
    assert reply.error == PARKED
    world.wait(1)
    assert (reply.error, reply.mid) == ("UNKNOWN_MEMBER_ID", "")
    assert world.group().members == ()


def test_every_members_session_starts_when_the_join_completes() -> None:
    world = World()
    seats = world.preparing("A", "B")
    world.wait(2_000)
    for who in "AB":
        world.join(who, seats[who].mid)
    assert {world.timer("session", m.member_id) for m in world.group().members} == {S}


def test_a_pending_id_is_dropped_after_its_session_and_may_complete_the_join() -> None:
    world = World()
    seats = world.preparing("A")
    mid = world.join("x").mid
    rejoin = world.join("A", seats["A"].mid)
    world.wait(S - 1)
    assert rejoin.error == PARKED
    world.wait(1)
    assert rejoin.error == "NONE"
    assert world.join("x", mid).error == "UNKNOWN_MEMBER_ID"


@pytest.mark.parametrize("who", ["B", "x"], ids=["static", "dynamic"])
@pytest.mark.parametrize("state", ["completing", "stable"])
def test_a_silent_member_is_removed_and_a_rebalance_begins(state: str, who: str) -> None:
    world = World()
    seats = getattr(world, state)("A", who)
    world.wait(S - 1)
    assert world.beat("A", seats["A"].mid, 1) == "NONE"
    assert world.group().member(seats[who].mid) is not None
    world.wait(1)
    assert world.group().member(seats[who].mid) is None
    assert world.group().holder(who) is None
    assert world.beat("A", seats["A"].mid, 1) == "REBALANCE_IN_PROGRESS"


def test_a_silent_member_in_preparing_is_removed_and_may_complete_the_join() -> None:
    world = World()
    seats = world.preparing("A", "B")
    rejoin = world.join("A", seats["A"].mid)
    world.wait(S)
    assert rejoin.error == "NONE"
    assert len(rejoin.members) == 2
    assert world.group().holder("B") is None


def test_a_parked_join_counts_as_alive() -> None:
    world = World()
    seats = world.preparing("A", "B")
    rejoin = world.join("A", seats["A"].mid)
    while world.now < 3 * S:
        world.wait(S - 1)
        world.beat("B", seats["B"].mid, 1)
    assert rejoin.error == PARKED
    assert world.group().holder("A") == seats["A"].mid


def test_a_parked_sync_counts_as_alive() -> None:
    world = World()
    seats = world.completing("A", "B")
    parked = world.sync("B", seats["B"].mid, 1)
    world.wait(S - 1)
    world.beat("A", seats["A"].mid, 1)
    world.wait(S - 1)
    assert parked.error == PARKED
    assert world.group().holder("B") == seats["B"].mid


def test_a_rebalance_from_empty_waits_for_the_delay_though_all_have_joined() -> None:
    world = World()
    reply = world.join("A")
    world.wait(D - 1)
    assert reply.error == PARKED
    world.wait(1)
    assert (reply.error, reply.at_ms) == ("NONE", D)


def test_newcomers_extend_the_delay_by_itself() -> None:
    world = World()
    first = world.join("A")
    world.wait(D - 1)
    world.join("B")
    world.wait(1)
    assert world.timer("join") == D
    world.wait(D)
    assert first.at_ms == 2 * D


def test_the_delay_and_its_extensions_are_the_rebalance_timeout_in_all() -> None:
    world = World()
    first = world.join("A", r=7_000)
    for who in "BCDEFG":
        world.wait(1_100)
        world.join(who, r=7_000)
    world.wait(3_000)
    assert first.at_ms == 7_000


def test_without_a_delay_the_first_joiner_completes_alone() -> None:
    world = World(config={DELAY: 0})
    reply = world.join("A")
    world.wait(0)
    assert (reply.error, reply.gen, len(reply.members)) == ("NONE", 1, 1)


def test_at_the_end_of_the_wait_dynamic_absentees_go_and_static_ones_stay() -> None:
    world = World()
    seats = world.stable("A", "B", "x", s=2 * R)
    rejoin = world.join("A", seats["A"].mid, s=2 * R)
    world.wait(R - 1)
    assert rejoin.error == PARKED
    world.wait(1)
    assert (rejoin.error, rejoin.gen) == ("NONE", 2)
    assert sorted(rejoin.members) == sorted([seats["A"].mid, seats["B"].mid])
    assert world.group().holder("B") == seats["B"].mid
    metadata = {r["memberId"]: r["metadata"] for r in rejoin.body["members"]}
    assert metadata[seats["B"].mid] == "cmFuZ2U="  # "range": what it sent before


def test_pending_ids_outlive_the_end_of_the_wait() -> None:
    world = World()
    seats = world.stable("A", s=2 * R)
    mid = world.join("x", s=2 * R).mid
    rejoin = world.join("A", seats["A"].mid, s=2 * R)
    world.wait(R)
    assert rejoin.error == "NONE"
    assert mid in world.group().pending


def test_with_static_absentees_alone_the_wait_goes_on_in_the_same_generation() -> None:
    world = World()
    seats = world.stable("A", "B", "x", s=5 * R)
    world.leave((seats["x"].mid, None))
    world.wait(R)
    assert (world.state, world.group().generation_id) == ("PreparingRebalance", 1)
    assert world.timer("join") == R
    assert {m.group_instance_id for m in world.group().members} == {"A", "B"}
    replies = [world.join(who, seats[who].mid, s=5 * R) for who in "AB"]
    assert {(r.error, r.gen) for r in replies} == {("NONE", 2)}


def test_with_nobody_left_at_the_end_the_group_is_empty() -> None:
    world = World()
    seats = world.stable("x", "y", "z", s=5 * R)
    world.leave((seats["z"].mid, None))
    world.wait(R)
    assert (world.state, world.group().generation_id) == ("Empty", 2)
    assert world.group().members == ()


def test_the_groups_rebalance_timeout_is_the_largest_of_its_members() -> None:
    world = World()
    world.join("A", r=20_000)
    world.join("B", r=90_000)
    world.wait(2 * D)
    world.join("C", r=30_000)
    assert world.timer("join") == 90_000


@pytest.mark.parametrize("who", ["B", "x"], ids=["static", "dynamic"])
@pytest.mark.parametrize("synced", [False, True], ids=["Completing", "Stable"])
def test_a_member_that_never_syncs_is_removed_after_the_rebalance_timeout(
    who: str, synced: bool
) -> None:
    world = World()
    seats = world.completing("A", who, s=5 * R)
    leader = world.sync("A", seats["A"].mid, 1) if synced else None
    world.wait(R - 1)
    assert world.group().member(seats[who].mid) is not None
    world.wait(1)
    assert world.group().member(seats[who].mid) is None
    assert world.group().state.value == ("PreparingRebalance" if synced else "Empty")
    assert leader is None or leader.error == "NONE"


def test_a_follower_that_waits_with_its_sync_is_spared() -> None:
    world = World()
    seats = world.completing("A", "B", s=5 * R)
    parked = world.sync("B", seats["B"].mid, 1)
    world.wait(R)
    assert parked.error == "REBALANCE_IN_PROGRESS"
    assert [m.member_id for m in world.group().members] == [seats["B"].mid]


def test_a_static_member_that_was_absent_owes_no_sync() -> None:
    world = World()
    seats = world.stable("A", "B", s=5 * R)
    rejoin = world.join("A", seats["A"].mid, s=5 * R)
    world.wait(R)
    world.sync("A", seats["A"].mid, rejoin.gen)
    world.wait(R)
    assert world.state == "Stable"
    assert world.group().holder("B") == seats["B"].mid


def test_a_new_rebalance_ends_the_wait_for_syncs() -> None:
    world = World()
    world.completing("A", "B")
    world.join("C")
    assert world.timer("sync") is None
