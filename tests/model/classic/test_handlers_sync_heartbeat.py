"""SyncGroup and Heartbeat: their checks in order, then by state."""

from __future__ import annotations

import pytest
from support.world import PARKED, R, S, Seat, World

from fencepost.model.messages.messages import HeartbeatRequest, HeartbeatResponse, SyncGroupRequest
from fencepost.model.table.shared_features import Availability
from fencepost.model.work import Incoming, Span

# Who asks, with which instance: what VALIDATE says.
VALIDATE = [
    ("stranger", None, "UNKNOWN_MEMBER_ID"),
    ("", None, "UNKNOWN_MEMBER_ID"),
    ("pending", None, "UNKNOWN_MEMBER_ID"),
    ("A", "C", "UNKNOWN_MEMBER_ID"),
    ("A", "B", "FENCED_INSTANCE_ID"),
    ("x", "B", "FENCED_INSTANCE_ID"),
    ("stranger", "B", "FENCED_INSTANCE_ID"),
    ("", "B", "FENCED_INSTANCE_ID"),
    ("pending", "B", "FENCED_INSTANCE_ID"),
]


def world_with_pending() -> tuple[World, dict[str, Seat]]:
    world = World()
    seats = world.stable("A", "B", "x")
    seats["pending"] = Seat(world.join("y").mid, 1)
    return world, seats


@pytest.mark.parametrize("gen", [1, 0, 2, -1])
@pytest.mark.parametrize(("who", "instance", "error"), VALIDATE)
def test_fenced_beats_unknown_and_both_beat_the_generation(
    who: str, instance: str | None, error: str, gen: int
) -> None:
    world, seats = world_with_pending()
    mid = seats[who].mid if who in seats else who
    before = world.group()
    assert world.beat("q", mid, gen, inst=instance) == error
    assert world.sync("q", mid, gen, inst=instance, name="other").error == error
    assert world.group() == before


@pytest.mark.parametrize("gen", [0, 2, -1])
def test_another_generation_is_refused_before_another_protocol(gen: int) -> None:
    world = World()
    seat = world.stable("A")["A"]
    assert world.beat("A", seat.mid, gen) == "ILLEGAL_GENERATION"
    assert world.sync("A", seat.mid, gen, name="other").error == "ILLEGAL_GENERATION"


@pytest.mark.parametrize("null", [{"kind": None}, {"name": None}])
def test_since_version_5_a_sync_without_protocol_is_refused_before_anything(
    null: dict[str, None],
) -> None:
    assert World().sync("A", "m", 1, group="", **null).error == "INCONSISTENT_GROUP_PROTOCOL"  # type: ignore[arg-type]


def test_below_version_5_a_sync_names_no_protocol() -> None:
    world = World()
    seat = world.stable("A")["A"]
    assert world.sync("A", seat.mid, 1, version=4).error == "NONE"


@pytest.mark.parametrize("other", [{"kind": "connect"}, {"name": "sticky"}])
@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
def test_another_protocol_is_refused_in_every_state(state: str, other: dict[str, str]) -> None:
    world = World()
    seat = getattr(world, state)("A")["A"]
    reply = world.sync("A", seat.mid, 1, **other)  # type: ignore[arg-type]
    assert reply.error == "INCONSISTENT_GROUP_PROTOCOL"


def test_no_group_has_no_members() -> None:
    world = World()
    assert world.beat("A", "m", 1) == "UNKNOWN_MEMBER_ID"
    assert world.sync("A", "m", 1).error == "UNKNOWN_MEMBER_ID"
    assert world.beat("A", "m", 1, group="") == "INVALID_GROUP_ID"
    assert world.sync("A", "m", 1, group="").error == "INVALID_GROUP_ID"
    assert not world.exists()


def test_an_empty_group_has_no_members_either() -> None:
    world = World()
    mid = world.join("x").mid
    assert world.beat("x", mid, 0) == "UNKNOWN_MEMBER_ID"
    assert world.sync("x", mid, 0).error == "UNKNOWN_MEMBER_ID"


def test_while_the_coordinator_loads_a_heartbeat_is_fine_and_a_sync_is_not() -> None:
    machine = World().machine
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id="m")

    def error(message: HeartbeatRequest | SyncGroupRequest, here: Availability) -> object:
        incoming = Incoming("1", "c", message.API, 3, message, "new")
        (outcome,) = machine.handle(None, incoming, Span(0, 0), here)
        return outcome.emissions[0].message.error_code  # type: ignore[union-attr]

    assert error(beat, Availability.LOADING) == HeartbeatResponse(error_code=0).error_code
    assert error(sync, Availability.LOADING) == 14
    assert error(beat, Availability.ELSEWHERE) == 16
    assert error(sync, Availability.ELSEWHERE) == 16


@pytest.mark.parametrize(
    ("state", "error"),
    [("preparing", "REBALANCE_IN_PROGRESS"), ("completing", "NONE"), ("stable", "NONE")],
)
def test_a_heartbeat_restarts_the_session_in_every_state(state: str, error: str) -> None:
    world = World()
    seat = getattr(world, state)("A", "B")["B"]
    world.wait(S - 1)
    assert world.timer("session", seat.mid) == 1
    assert world.beat("B", seat.mid, 1) == error
    assert world.timer("session", seat.mid) == S


def test_a_static_member_may_leave_its_instance_out_and_stays_static() -> None:
    world = World()
    seat = world.stable("A")["A"]
    assert world.beat("A", seat.mid, 1, inst=None) == "NONE"
    assert world.sync("A", seat.mid, 1, inst=None).error == "NONE"
    assert world.group().holder("A") == seat.mid


def test_a_sync_in_preparing_is_told_to_join_again() -> None:
    world = World()
    seat = world.preparing("A")["A"]
    assert world.sync("A", seat.mid, 1).error == "REBALANCE_IN_PROGRESS"


def test_a_follower_waits_for_the_leader_also_with_an_assignment_of_its_own() -> None:
    world = World()
    seats = world.completing("A", "B")
    follower = world.sync("B", seats["B"].mid, 1, {seats["B"].mid: b"mine"})
    assert follower.error == PARKED
    leader = world.sync("A", seats["A"].mid, 1, {seats["B"].mid: b"b"})
    assert (follower.error, follower.body["assignment"]) == ("NONE", "Yg==")
    assert (leader.error, leader.body["assignment"]) == ("NONE", "")
    assert world.state == "Stable"


def test_unknown_members_in_the_assignments_are_dropped() -> None:
    world = World()
    seats = world.completing("A")
    world.sync("A", seats["A"].mid, 1, {"nobody": b"n", seats["A"].mid: b"a"})
    assert [(m.member_id, m.assignment) for m in world.group().members] == [(seats["A"].mid, b"a")]


def test_a_sync_answered_at_the_end_restarts_the_session_of_all_who_waited() -> None:
    world = World()
    seats = world.completing("A", "B", "C")
    world.sync("B", seats["B"].mid, 1)
    world.wait(S - 1)
    world.sync("A", seats["A"].mid, 1)
    left = {who: world.timer("session", seats[who].mid) for who in "ABC"}
    assert left == {"A": S, "B": S, "C": 1}


def test_the_leaders_assignment_is_stored() -> None:
    world = World()
    seats = world.completing("A")
    world.sync("A", seats["A"].mid, 1, {seats["A"].mid: b"a"})
    stored = world.group().stored
    assert stored is not None
    assert stored.members[0].assignment == b"a"


def test_a_sync_in_stable_gets_what_is_stored_and_what_it_brings_is_ignored() -> None:
    world = World()
    seats = world.stable("A", "B")
    again = world.sync("A", seats["A"].mid, 1, {seats["B"].mid: b"other"})
    assert again.body["assignment"] == "QQ=="
    assert world.sync("B", seats["B"].mid, 1).body["assignment"] == "Qg=="


def test_a_sync_in_stable_may_restart_the_session_or_not() -> None:
    world = World()
    seat = world.stable("A")["A"]
    world.wait(1_000)
    request = SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id=seat.mid,
        protocol_type="consumer",
        protocol_name="range",
    )
    groups = [o.group for o in world.outcomes(request, 5)]
    sessions = {
        t.earliest - world.now for g in groups if g for t in g.timers if t.kind == "session"
    }
    assert sessions == {S, S - 1_000}


def test_an_earlier_parked_sync_of_the_same_member_is_superseded() -> None:
    world = World()
    seats = world.completing("A", "B")
    earlier, later = (world.sync("B", seats["B"].mid, 1) for _ in range(2))
    world.sync("A", seats["A"].mid, 1)
    assert (earlier.error, later.error) == (PARKED, "NONE")


def test_the_wait_for_syncs_ends_with_the_last_one() -> None:
    world = World()
    seats = world.completing("A", "B")
    assert world.timer("sync") == R
    world.sync("A", seats["A"].mid, 1)
    assert world.timer("sync") == R
    world.sync("B", seats["B"].mid, 1)
    assert world.timer("sync") is None
