"""Gaps, overlaps and moves of a partition, from what users were told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.deployments import SCENARIOS
from support.recount import Recount, recount

from fencepost.conformance.simulate import simulate as simulating
from fencepost.conformance.simulate.consumption import Held, PartitionTimes, consumption, far_ms
from fencepost.conformance.simulate.deployment_scenario import (
    DeploymentScenario,
    checked_scenario,
    find_scenario,
    scenario_names,
)
from fencepost.conformance.simulate.simulate import SimulationRun, simulate
from fencepost.conformance.simulate.simulation import ClientEvent
from fencepost.model.client.client_interface import Assigned, Lost, Revoked
from fencepost.model.messages.subscription import TopicPartition

ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_partition_is_consumed_from_when_it_is_assigned_until_it_is_given_back() -> None:
    told = [
        ClientEvent(0, "a#1", Assigned((ONE, OTHER))),
        ClientEvent(300, "a#1", Revoked((ONE,))),
        ClientEvent(500, "b#1", Assigned((ONE,))),
        ClientEvent(600, "b#1", Lost((ONE,))),
    ]
    one, other = consumption(told, {}, [ONE, OTHER], 100, 1000)
    assert one.held == (Held(100, 300, "a"), Held(500, 600, "b"))
    assert (one.unavailable_ms, one.longest_gap_ms, one.twice_ms, one.moves) == (600, 400, 0, 1)
    assert other.held == (Held(100, 1000, "a"),)
    assert (other.unavailable_ms, other.moves) == (0, 0)


def test_a_partition_is_consumed_once_its_member_has_resumed_unless_it_goes_before() -> None:
    told = [
        ClientEvent(100, "a#1", Assigned((ONE, OTHER))),  # in time: it reads when the window begins
        ClientEvent(300, "a#1", Revoked((ONE,))),
        ClientEvent(400, "b#1", Assigned((ONE,))),
        ClientEvent(450, "b#1", Revoked((ONE,))),
        ClientEvent(500, "a#1", Assigned((ONE,))),
    ]
    one, other = consumption(told, {}, [ONE, OTHER], 100, 1000, 150)
    assert one.held == (Held(100, 300, "a"), Held(450, 450, "b"), Held(650, 1000, "a"))
    assert (one.unavailable_ms, one.longest_gap_ms, one.moves) == (350, 200, 2)
    assert other.unavailable_ms == 0


def test_who_has_it_until_the_window_begins_or_from_its_end_on_is_known_to_the_moves() -> None:
    told = [
        ClientEvent(0, "a#1", Assigned((ONE,))),
        ClientEvent(100, "a#1", Revoked((ONE,))),
        ClientEvent(300, "b#1", Assigned((ONE,))),
        ClientEvent(600, "b#1", Revoked((ONE,))),
        ClientEvent(1000, "c#1", Assigned((ONE,))),
    ]
    (one,) = consumption(told, {}, [ONE], 100, 1000)
    assert one.held == (Held(100, 100, "a"), Held(300, 600, "b"), Held(1000, 1000, "c"))
    assert (one.moves, one.unavailable_ms, one.longest_gap_ms) == (2, 600, 400)


def test_two_processes_that_have_it_at_once_are_counted_and_one_member_is_no_move() -> None:
    told = [ClientEvent(0, "a#1", Assigned((ONE,))), ClientEvent(400, "a#2", Assigned((ONE,)))]
    (one,) = consumption(told, {"a#1": 700}, [ONE], 0, 1000)
    assert one.held == (Held(0, 700, "a"), Held(400, 1000, "a"))
    assert (one.unavailable_ms, one.twice_ms, one.moves) == (0, 300, 0)


def test_a_partition_is_far_while_its_rack_has_no_replica() -> None:
    told = [ClientEvent(0, "a#1", Assigned((ONE, OTHER)))]
    times = consumption(told, {"a#1": 900}, [ONE, OTHER], 0, 1000)
    here, there = frozenset({"ra"}), frozenset({"rb", "rc"})
    placements = [(0, {ONE: here, OTHER: there}), (200, {ONE: there, OTHER: there})]
    assert far_ms(times, {"a": "ra"}.get, placements) == 700 + 900
    assert far_ms(times, {"a": "rc"}.get, placements) == 200


def test_what_nobody_ever_has_is_away_all_the_time() -> None:
    (one,) = consumption([], {}, [ONE], 10, 30)
    assert (one.held, one.unavailable_ms, one.longest_gap_ms) == ((), 20, 20)


def counted_twice(
    scenario: DeploymentScenario, seed: int, count: Any = consumption
) -> tuple[Recount, Recount]:
    """What a run comes to as it is counted, and counted again, where members read at once."""
    found: list[Recount] = []

    def counts(
        told: Iterable[ClientEvent],
        ended: Mapping[str, int],
        partitions: Iterable[TopicPartition],
        from_ms: int,
        until_ms: int,
        resume_ms: int,
    ) -> list[PartitionTimes]:
        assert resume_ms == 0
        rows: list[PartitionTimes] = count(told, ended, partitions, from_ms, until_ms)
        columns = ((row.moves, row.unavailable_ms, row.twice_ms) for row in rows)
        found.append(Recount(*map(sum, zip(*columns, strict=True))))
        found.append(recount(told, ended, partitions, from_ms, until_ms))
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulating, "consumption", counts)
        at_once = msgspec.structs.replace(scenario, resume_s=0.0)
        simulate(SimulationRun(at_once, seed=seed, is_brief=True))
    return found[0], found[1]


def small(name: str, strategy: str, membership: str) -> DeploymentScenario:
    """A scenario with few members, so set where it leaves that open."""
    document = msgspec.to_builtins(find_scenario(name)) | {"members": 3, "settle_s": 60}
    own = document.get("settings", {})
    chosen = {"membership": membership} | ({} if "assignors" in own else {"strategy": strategy})
    return checked_scenario(document | {"settings": chosen | own}, "a test")


@pytest.mark.slow
@pytest.mark.parametrize("name", scenario_names())
def test_counted_in_another_way_it_is_the_same(name: str) -> None:
    for strategy, membership in product(("eager", "cooperative"), ("static", "dynamic")):
        for seed in range(2):
            counted, again = counted_twice(small(name, strategy, membership), seed)
            assert counted == again


@settings(max_examples=10)
@given(scenario=SCENARIOS, seed=st.integers(0, 99))
def test_so_it_is_whatever_is_done(scenario: DeploymentScenario, seed: int) -> None:
    counted, again = counted_twice(scenario, seed)
    assert counted == again


def without_former_owners(*arguments: Any) -> list[PartitionTimes]:
    """Leave out who had a partition just until the window began."""
    from_ms = arguments[3]
    return [
        row._replace(moves=row.moves - 1) if row.held[0].until_ms == from_ms else row
        for row in consumption(*arguments)
    ]


@pytest.mark.parametrize("strategy", ["eager", "cooperative"])
def test_a_count_that_forgets_who_had_it_is_caught(strategy: str) -> None:
    scenario = small("crash-for-good", strategy, "dynamic")
    counted, again = counted_twice(scenario, 0, without_former_owners)
    assert again.moves - counted.moves == 8  # what one of three had of 24
    assert counted._replace(moves=again.moves) == again
