"""JoinGroup, row by row, by member id, instance and state."""

from __future__ import annotations

import pytest
from support.world import PARKED, R, S, Seat, World, offers

STATES = ["preparing", "completing", "stable"]


def world_in(state: str, *whos: str) -> tuple[World, dict[str, Seat]]:
    world = World()
    return world, getattr(world, state)(*whos)


@pytest.mark.parametrize("state", STATES)
def test_a_dynamic_newcomer_is_told_an_id_and_nothing_else_changes(state: str) -> None:
    world, _ = world_in(state, "A", "B")
    before = world.group()
    reply = world.join("x")
    assert reply.error == "MEMBER_ID_REQUIRED"
    assert reply.gen == -1
    after = world.group()
    assert reply.mid in after.pending
    assert (after.state, after.generation_id) == (before.state, before.generation_id)
    assert (after.members, after.leader) == (before.members, before.leader)
    assert world.timer("session", reply.mid) == S


def test_the_new_id_is_that_of_the_client_and_never_the_same_twice() -> None:
    world = World()
    ids = [world.join("x").mid for _ in range(3)]
    assert len(set(ids)) == 3
    assert all(mid.startswith("x-") for mid in ids)


def test_below_version_4_a_dynamic_newcomer_is_added_at_once() -> None:
    world, _ = world_in("stable", "A")
    assert world.join("x", version=3).error == PARKED
    assert world.state == "PreparingRebalance"
    assert not world.group().pending


def test_version_0_takes_the_session_timeout_for_the_rebalance_timeout() -> None:
    world = World()
    world.join("x", version=0, s=20_000)
    assert world.group().rebalance_timeout_ms() == 20_000


@pytest.mark.parametrize("state", STATES)
def test_an_unmapped_instance_is_a_new_member_at_once_and_starts_a_rebalance(state: str) -> None:
    world, _ = world_in(state, "A")
    reply = world.join("C")
    assert reply.error == PARKED
    assert world.state == "PreparingRebalance"
    holder = world.group().holder("C")
    assert holder is not None
    assert holder.startswith("C-")
    assert not world.group().pending


@pytest.mark.parametrize("state", STATES)
def test_a_pending_id_becomes_a_member_and_starts_a_rebalance(state: str) -> None:
    world, _ = world_in(state, "A")
    mid = world.join("x").mid
    assert world.join("x", mid).error == PARKED
    assert world.group().member(mid) is not None
    assert mid not in world.group().pending
    assert world.state == "PreparingRebalance"


@pytest.mark.parametrize("instance", ["A", "C"])
def test_a_pending_id_with_an_instance_is_an_internal_error_and_stays_pending(
    instance: str,
) -> None:
    world, _ = world_in("stable", "A")
    mid = world.join("x").mid
    reply = world.join("x", mid, inst=instance)
    assert (reply.error, reply.mid) == ("UNKNOWN_SERVER_ERROR", "")
    assert mid in world.group().pending


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("who", "instance", "error"),
    [
        ("stranger", None, "UNKNOWN_MEMBER_ID"),
        ("stranger", "A", "FENCED_INSTANCE_ID"),
        ("stranger", "C", "UNKNOWN_MEMBER_ID"),
        ("B", "A", "FENCED_INSTANCE_ID"),
        ("B", "C", "UNKNOWN_MEMBER_ID"),
        ("x", "A", "FENCED_INSTANCE_ID"),
        ("x", "C", "UNKNOWN_MEMBER_ID"),
    ],
)
def test_who_fails_validation_gets_its_id_back_and_changes_nothing(
    state: str, who: str, instance: str | None, error: str
) -> None:
    world, seats = world_in(state, "A", "B", "x")
    mid = seats[who].mid if who in seats else who
    before = world.group()
    reply = world.join("q", mid, inst=instance)
    assert (reply.error, reply.mid) == (error, mid)
    assert world.group() == before


@pytest.mark.parametrize("instance", ["A", None], ids=["with its instance", "without"])
def test_a_member_that_rejoins_in_preparing_is_parked_with_what_it_now_says(
    instance: str | None,
) -> None:
    world, seats = world_in("preparing", "A", "B")
    reply = world.join("A", seats["A"].mid, inst=instance, s=S + 1, r=R + 1)
    assert reply.error == PARKED
    member = world.group().member(seats["A"].mid)
    assert member is not None
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (S + 1, R + 1)
    assert member.group_instance_id == "A"


def test_the_last_rejoin_completes_the_join() -> None:
    world, seats = world_in("preparing", "A", "B")
    first, last = (world.join(who, seats[who].mid) for who in "AB")
    assert {first.error, last.error, world.newcomer.error} == {"NONE"}
    assert first.gen == last.gen == world.newcomer.gen == 2
    assert world.state == "CompletingRebalance"


def test_an_earlier_parked_join_of_the_same_member_is_superseded() -> None:
    world, seats = world_in("preparing", "A", "B")
    earlier = world.join("A", seats["A"].mid)
    later = world.join("A", seats["A"].mid)
    world.join("B", seats["B"].mid)
    assert (earlier.error, later.error) == (PARKED, "NONE")


@pytest.mark.parametrize("who", ["A", "B"])
def test_an_identical_rejoin_in_completing_is_told_the_generation_again(who: str) -> None:
    world, seats = world_in("completing", "A", "B")
    parked = world.sync("B", seats["B"].mid, 1)
    reply = world.join(who, seats[who].mid)
    assert (reply.error, reply.gen, reply.leader) == ("NONE", 1, seats["A"].mid)
    everybody = sorted(seat.mid for seat in seats.values())
    assert reply.members == (everybody if who == "A" else [])
    assert world.state == "CompletingRebalance"
    assert parked.error == PARKED


@pytest.mark.parametrize(
    "changed",
    [
        offers("sticky", "range"),
        offers("range", "sticky", "other"),
        offers("range", "sticky", metadata=b"!"),
    ],
    ids=["order", "names", "metadata"],
)
@pytest.mark.parametrize("state", ["completing", "stable"])
def test_any_change_of_a_followers_protocols_starts_a_rebalance(
    state: str, changed: tuple[object, ...]
) -> None:
    world = World()
    seats = getattr(world, state)("A", "B", protocols=offers("range", "sticky"))
    parked = world.sync("A", seats["A"].mid, 2 if state == "stable" else 1)
    reply = world.join("B", seats["B"].mid, protocols=changed)  # type: ignore[arg-type]
    assert reply.error == PARKED
    assert world.state == "PreparingRebalance"
    assert parked.error != PARKED
    assert world.timer("join") == R


def test_parked_syncs_are_told_of_the_rebalance() -> None:
    world, seats = world_in("completing", "A", "B", "C")
    parked = [world.sync(who, seats[who].mid, 1) for who in "BC"]
    world.join("B", seats["B"].mid, protocols=offers("range", "sticky"))
    assert [p.error for p in parked] == ["REBALANCE_IN_PROGRESS"] * 2


@pytest.mark.parametrize("leader", ["A", "x"])
@pytest.mark.parametrize("protocols", [offers("range"), offers("range", "sticky")])
def test_a_leader_that_rejoins_in_stable_starts_a_rebalance(
    leader: str, protocols: tuple[object, ...]
) -> None:
    world, seats = world_in("stable", leader, "B")
    reply = world.join(leader, seats[leader].mid, protocols=protocols)  # type: ignore[arg-type]
    assert reply.error == PARKED
    assert world.state == "PreparingRebalance"


@pytest.mark.parametrize("follower", ["B", "x"])
def test_a_follower_that_rejoins_unchanged_in_stable_disturbs_nobody(follower: str) -> None:
    world, seats = world_in("stable", "A", follower)
    reply = world.join(follower, seats[follower].mid)
    assert (reply.error, reply.gen, reply.members) == ("NONE", 1, [])
    assert reply.leader == seats["A"].mid
    assert reply.body["skipAssignment"] is False
    assert world.state == "Stable"


def test_a_rebalance_asked_for_during_one_changes_nothing_about_its_end() -> None:
    world, _ = world_in("preparing", "A", "B")
    world.wait(1_000)
    before = world.timer("join")
    world.join("C")
    assert world.timer("join") == before == R - 1_000


def test_a_pending_id_blocks_the_early_completion_until_it_joins() -> None:
    world, seats = world_in("preparing", "A")
    mid = world.join("x").mid
    rejoin = world.join("A", seats["A"].mid)
    assert rejoin.error == PARKED
    world.join("x", mid)
    assert rejoin.error == "NONE"


def test_the_leader_is_given_every_members_instance_and_metadata() -> None:
    world = World()
    replies = [
        world.admit(who, protocols=offers("range", metadata=who.encode())) for who in ("A", "x")
    ]
    world.wait(6_000)
    rows = replies[0].body["members"]
    assert {(r["groupInstanceId"], r["metadata"]) for r in rows} == {("A", "QQ=="), (None, "eA==")}
    assert replies[1].members == []
