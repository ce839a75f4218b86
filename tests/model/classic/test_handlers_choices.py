"""What the protocol leaves open gives every allowed outcome; purity; group.max.size; failover."""

from __future__ import annotations

import pytest
from support.world import MAX_SIZE, PARKED, R, S, World, offers

from fencepost.model.messages.messages import (
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
)
from fencepost.model.work import Incoming, Span


def test_the_first_to_be_added_leads_and_keeps_leading() -> None:
    world = World()
    seats = world.preparing("B", "A")
    replies = [world.join(who, seats[who].mid) for who in "AB"]
    assert {r.leader for r in replies} == {seats["B"].mid}


def test_if_the_leader_is_absent_any_parked_member_may_lead() -> None:
    world = World()
    seats = world.stable("A", "B", "C", "E", s=5 * R)
    world.join("z", inst="Z")
    parked = {seats[who].mid for who in "BC"}
    for who in "BC":
        world.join(who, seats[who].mid, s=5 * R)
    newcomer = world.group().holder("Z")
    leaders = {o.group.leader for o in world.expiries("join") if o.group}
    assert leaders == parked | {newcomer}


def test_a_removed_leader_is_followed_by_any_who_remain() -> None:
    world = World()
    seats = world.stable("A", "B", "x")
    leaders = {o.group.leader for o in world.expiries("session", seats["A"].mid) if o.group}
    assert leaders == {seats["B"].mid, seats["x"].mid}


MANY = [f"c{number:02}" for number in range(40)]
"""So many that a count of the orders in which they may have led would never end."""


def test_of_many_that_owe_a_sync_each_who_stays_leads_once() -> None:
    world = World()
    seats = world.completing(*MANY)
    stays = [seats[who] for who in MANY[-2:]]
    for who, seat in zip(MANY[-2:], stays, strict=True):
        world.sync(who, seat.mid, seat.gen)
    leaders = [o.group.leader for o in world.expiries("sync") if o.group]
    assert leaders == sorted(seat.mid for seat in stays)


def test_of_many_that_leave_together_each_who_stays_leads_once() -> None:
    world = World()
    seats = world.stable(*MANY)
    rows = tuple(LeavingMember(member_id=seats[who].mid) for who in MANY[:-2])
    outcomes = world.outcomes(LeaveGroupRequest(group_id="g", members=rows), 5)
    leaders = [o.group.leader for o in outcomes if o.group]
    stays = sorted(seats[who].mid for who in MANY[-2:])
    assert leaders == [*stays, *stays]  # it rebalances after each row, or once at the end


@pytest.mark.parametrize(
    ("votes", "selected"),
    [
        ([("range", "sticky"), ("sticky", "range"), ("range", "sticky")], {"range"}),
        ([("range", "sticky"), ("sticky", "range")], {"range", "sticky"}),
        ([("own", "sticky", "range"), ("sticky", "range"), ("range", "sticky")], {"sticky"}),
        ([("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")], {"a", "b", "c"}),
        ([("range",), ("sticky", "range")], {"range"}),
    ],
)
def test_the_vote_counts_first_candidates_and_a_tie_goes_any_way(
    votes: list[tuple[str, ...]], selected: set[str]
) -> None:
    world = World()
    for who, vote in zip("ABC", votes, strict=False):
        world.join(who, protocols=offers(*vote))
    world.wait(3_000)
    outcomes = world.expiries("join")
    assert {o.group.protocol_name for o in outcomes if o.group} == selected


def test_a_tied_vote_in_stable_may_or_may_not_start_a_rebalance() -> None:
    world = World()
    world.stable("A", "B", protocols=offers("range", "sticky"))
    again = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=S,
        rebalance_timeout_ms=R,
        member_id="",
        group_instance_id="B",
        protocol_type="consumer",
        protocols=offers("sticky", "range"),
    )
    states = {o.group.state.value for o in world.outcomes(again, 9) if o.group}
    assert states == {"Stable", "PreparingRebalance"}


def test_the_same_arguments_give_the_same_outcomes_and_leave_the_group_alone() -> None:
    world = World()
    seats = world.preparing("A", "B")
    world.join("A", seats["A"].mid)
    before = world.group()
    fingerprint, text = hash(before), repr(before)
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=S,
        rebalance_timeout_ms=R,
        member_id=seats["B"].mid,
        protocol_type="consumer",
        protocols=offers("range"),
    )
    incoming = Incoming("1", "c", "JoinGroup", 9, join, "new")
    once, twice = (world.machine.handle(before, incoming, Span(5, 9)) for _ in range(2))
    assert once == twice
    assert len({*once, *twice}) == len(once)
    for _ in range(2):
        timers = [world.machine.expire(before, t, Span(5, 9)) for t in before.timers]
        assert timers == [world.machine.expire(before, t, Span(5, 9)) for t in before.timers]
        assert world.machine.failover(before, Span(5, 9)) == world.machine.failover(
            before, Span(5, 9)
        )
    assert (hash(before), repr(before)) == (fingerprint, text)


def test_a_timer_that_is_set_some_time_in_a_span_ends_some_time_in_one() -> None:
    world = World()
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=S,
        rebalance_timeout_ms=R,
        member_id="",
        protocol_type="consumer",
        protocols=offers("range"),
    )
    incoming = Incoming("1", "c", "JoinGroup", 9, join, "new")
    (outcome,) = world.machine.handle(None, incoming, Span(100, 250))
    assert outcome.group is not None
    (timer,) = outcome.group.timers
    assert timer == ("session", "new", 100 + S, 250 + S)


# group.max.size


def test_an_empty_group_takes_anyone_and_pending_ids_are_not_counted() -> None:
    world = World(config={MAX_SIZE: 1})
    ids = [world.join("x").mid for _ in range(3)]
    assert world.join("x", ids[0]).error == PARKED


def test_in_preparing_parked_joins_are_counted() -> None:
    world = World(config={MAX_SIZE: 2})
    world.join("A")
    parked = world.join("B")
    refused = world.join("C")
    assert (refused.error, refused.mid) == ("GROUP_MAX_SIZE_REACHED", "")
    again = world.join("B", world.group().holder("B") or "")
    assert again.error == PARKED
    replaced = world.join("B")
    assert (replaced.error, again.error) == (PARKED, "FENCED_INSTANCE_ID")
    assert parked.error == PARKED  # superseded by its own member


@pytest.mark.parametrize("state", ["completing", "stable"])
def test_later_members_are_counted_and_members_themselves_are_let_in(state: str) -> None:
    world = World(config={MAX_SIZE: 2})
    seats = getattr(world, state)("A", "B")
    assert world.join("C").error == "GROUP_MAX_SIZE_REACHED"
    assert world.join("x").error == "GROUP_MAX_SIZE_REACHED"
    assert world.join("x", "stranger").error == "GROUP_MAX_SIZE_REACHED"
    assert world.join("B", seats["B"].mid).error == "NONE"
    assert world.join("B").error == ("NONE" if state == "stable" else PARKED)


def test_a_member_that_finds_the_group_full_is_removed_and_may_complete_the_join() -> None:
    world = World(config={MAX_SIZE: 2})
    seats = world.stable("A", "B")
    leader = world.join("A", seats["A"].mid)
    newcomer = world.join("C")
    refused = world.join("B", seats["B"].mid)
    assert (refused.error, refused.mid) == ("GROUP_MAX_SIZE_REACHED", "")
    assert (leader.error, newcomer.error) == ("NONE", "NONE")
    assert world.group().holder("B") is None


# The coordinator fails over.


def test_parked_requests_are_sent_away() -> None:
    world = World()
    seats = world.completing("A", "B")
    sync = world.sync("B", seats["B"].mid, 1)
    join = world.join("C", group="h")
    world.restart()
    assert (sync.error, join.error) == ("NOT_COORDINATOR", "NOT_COORDINATOR")


def test_what_was_never_stored_is_gone() -> None:
    world = World()
    world.completing("A")
    world.join("x", group="h")
    world.restart()
    assert not world.exists("g")
    assert not world.exists("h")


def test_a_stable_group_is_as_stored_with_sessions_started_anew() -> None:
    world = World()
    seats = world.stable("A", "B", protocols=offers("range", "sticky"))
    pending = world.join("x").mid
    world.wait(S - 1)
    world.restart()
    group = world.group()
    assert (group.state.value, group.generation_id) == ("Stable", 1)
    assert group.leader == seats["A"].mid
    assert pending not in group.pending
    assert [world.timer("session", seats[who].mid) for who in "AB"] == [S, S]
    assert world.sync("B", seats["B"].mid, 1).body["assignment"] == "Qg=="
    assert world.beat("A", seats["A"].mid, 1) == "NONE"


def test_of_the_protocols_only_the_selected_one_is_stored() -> None:
    world = World()
    world.stable("A", protocols=offers("range", "sticky"))
    world.restart()
    assert [p.name for p in world.group().members[0].protocols] == ["range"]
    assert world.join("B", protocols=offers("sticky")).error == "INCONSISTENT_GROUP_PROTOCOL"


def test_an_unfinished_rebalance_is_undone() -> None:
    world = World()
    seats = world.preparing("A", "B")
    world.join("A", seats["A"].mid)
    world.restart()
    assert (world.state, world.group().generation_id) == ("Stable", 1)
    assert world.timer("join") is None
    assert world.group().holder("B") == seats["B"].mid


def test_an_empty_group_is_as_stored_and_offsets_survive() -> None:
    world = World()
    seat = world.stable("A")["A"]
    world.commit(seat.mid, 1, "A")
    world.leave((seat.mid, "A"))
    world.restart()
    group = world.group()
    assert (group.state.value, group.generation_id, group.members) == ("Empty", 2, ())
    assert group.offsets[0].offset == 5


def test_a_commit_of_nothing_may_restart_the_session_or_not() -> None:
    world = World()
    seat = world.stable("A")["A"]
    world.wait(100)
    nothing = OffsetCommitRequest(
        group_id="g", generation_id=1, member_id=seat.mid, group_instance_id="A", topics=()
    )
    ends = {
        timer.earliest - world.now
        for outcome in world.outcomes(nothing, 9)
        if outcome.group is not None
        for timer in outcome.group.timers
        if timer.subject == seat.mid
    }
    assert ends == {S, S - 100}
