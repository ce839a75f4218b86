"""Gaps, overlaps and moves of a partition, from what users were told."""

from __future__ import annotations

from fencepost.conformance.simulator.consumption import Held, consumption
from fencepost.conformance.simulator.notes import Told
from fencepost.model.assignors.subscription import TopicPartition
from fencepost.model.client.interface import Assigned, Lost, Revoked

ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_partition_is_consumed_from_when_it_is_assigned_until_it_is_given_back() -> None:
    told = [
        Told(0, "a#1", Assigned((ONE, OTHER))),
        Told(300, "a#1", Revoked((ONE,))),
        Told(500, "b#1", Assigned((ONE,))),
        Told(600, "b#1", Lost((ONE,))),
    ]
    one, other = consumption(told, {}, [ONE, OTHER], 100, 1000)
    assert one.held == (Held(100, 300, "a"), Held(500, 600, "b"))
    assert (one.unavailable_ms, one.longest_gap_ms, one.twice_ms, one.moves) == (600, 400, 0, 1)
    assert other.held == (Held(100, 1000, "a"),)
    assert (other.unavailable_ms, other.moves) == (0, 0)


def test_two_processes_that_have_it_at_once_are_counted_and_one_member_is_no_move() -> None:
    told = [Told(0, "a#1", Assigned((ONE,))), Told(400, "a#2", Assigned((ONE,)))]
    (one,) = consumption(told, {"a#1": 700}, [ONE], 0, 1000)
    assert one.held == (Held(0, 700, "a"), Held(400, 1000, "a"))
    assert (one.unavailable_ms, one.twice_ms, one.moves) == (0, 300, 0)


def test_what_nobody_ever_has_is_away_all_the_time() -> None:
    (one,) = consumption([], {}, [ONE], 10, 30)
    assert (one.held, one.unavailable_ms, one.longest_gap_ms) == ((), 20, 20)
