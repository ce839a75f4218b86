"""Loops: one cause of rebalances again and again, with its rhythm."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from fencepost.traces.operations.loops import Loops
from fencepost.traces.operations.operator_rows import (
    Cause,
    End,
    Loop,
    Process,
    Rebalance,
    Remedy,
    Row,
)
from fencepost.traces.operations.ownership import LogMember
from fencepost.traces.operations.rebalances import JudgedRebalance
from fencepost.traces.operations.restarts import Arrival, Departure

POD = Process("pod-1", "")


def rebalance(at_ms: int, cause: Cause, members: int | None = 3) -> Rebalance:
    return Rebalance(
        "g",
        1,
        at_ms,
        at_ms + 50,
        at_ms + 60,
        cause,
        "pod-1",
        (),
        members,
        members,
        Remedy.NOTHING,
        None,
        None,
        "",
        f"l:{at_ms}",
        60,
    )


def judged(at_ms: int, cause: Cause, who: Process = POD) -> JudgedRebalance:
    return JudgedRebalance(rebalance(at_ms, cause), who, None, None, None)


def leave(at_ms: int, joined_ms: int, member_id: str) -> JudgedRebalance:
    """A member that leaves, and that had joined at a time."""
    member = LogMember(member_id, None, POD, joined_ms, begins=True, heard_ms=at_ms, place="")
    gone = Departure(member, at_ms, End.LEFT, at_ms, is_exact=True, alone=False)
    came = Arrival(POD, None, at_ms + 2_000)
    return replace(judged(at_ms, Cause.LEAVE), gone=gone, came=came)


def loops(*turns: JudgedRebalance) -> list[Loop]:
    rows: list[Row] = []
    found = Loops("g", rows.append)
    for turn in turns:
        found.add(turn)
    found.close()
    assert all(isinstance(row, Loop) for row in rows)
    return [row for row in rows if isinstance(row, Loop)]


def test_five_turns_with_a_steady_rhythm_are_a_loop() -> None:
    turns = [judged(1_000 * n, Cause.LEADER_REJOIN) for n in range(5)]
    (loop,) = loops(*turns)
    assert (loop.cause, loop.count, loop.every_ms) == (Cause.LEADER_REJOIN, 5, 1_000)
    assert (loop.from_ms, loop.until_ms, loop.place) == (0, 4_000, "l:0")
    assert loops(*turns[:4]) == []


def test_turns_of_many_lengths_are_none() -> None:
    times = (0, 1_000, 61_000, 61_500, 300_000, 305_000, 600_000)
    assert loops(*(judged(ms, Cause.LEADER_REJOIN) for ms in times)) == []


def test_a_loop_ends_where_its_rhythm_does() -> None:
    times = [1_000 * n for n in range(6)] + [900_000 + 1_000 * n for n in range(6)]
    assert [loop.count for loop in loops(*(judged(ms, Cause.OTHER) for ms in times))] == [6, 6]


def test_what_follows_from_a_rebalance_of_another_cause_is_no_loop() -> None:
    turns = []
    for n in range(8):
        pod = Process(f"pod-{n}", "")
        turns += [judged(60_000 * n, Cause.LEAVE, pod)]
        turns += [judged(60_000 * n + 5_000, Cause.LEADER_REJOIN)]
    assert loops(*turns) == []


def test_a_process_that_goes_and_comes_is_a_loop_with_how_long_it_stays_and_is_away() -> None:
    turns = [leave(10_000 * n, 10_000 * (n - 1) + 2_000, f"m-{n}") for n in range(1, 7)]
    (loop,) = loops(*turns)
    assert (loop.count, loop.stayed_ms, loop.away_ms) == (6, 8_000, 2_000)


def test_processes_of_one_client_id_that_had_been_there_before_are_a_deployment() -> None:
    assert loops(*(leave(10_000 * n, -1_000, f"m-{n}") for n in range(1, 9))) == []


def test_new_members_are_a_loop_only_of_a_group_without_another_member() -> None:
    grows = [judged(5_000 * n, Cause.NEW_MEMBER) for n in range(8)]
    assert loops(*grows) == []
    single = [
        replace(turn, row=msgspec.structs.replace(turn.row, members_after=1)) for turn in grows
    ]
    (loop,) = loops(*single)
    assert (loop.cause, loop.members) == (Cause.NEW_MEMBER, 1)


def test_two_in_turn_are_two_rows_of_one_time() -> None:
    pods = (Process("a", ""), Process("b", ""))
    turns = [judged(500 * n, Cause.MEMBER_REJOIN, pods[n % 2]) for n in range(10)]
    assert [loop.every_ms for loop in loops(*turns)] == [1_000, 1_000]


def test_leaves_of_members_that_nobody_knows_are_no_loop() -> None:
    assert loops(*(judged(10_000 * n, Cause.LEAVE, Process("", "")) for n in range(9))) == []
