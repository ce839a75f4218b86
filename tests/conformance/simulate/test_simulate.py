"""What deployments cost, by the claims of KIP-345 and what is known of Kafka."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.deployments import SCENARIOS

from fencepost.conformance.simulate.deployment_scenario import (
    RESUME_S,
    DeploymentScenario,
    ScenarioError,
    checked_scenario,
    find_scenario,
    scenario_names,
)
from fencepost.conformance.simulate.simulate import (
    SCHEMA as SIMULATION,
)
from fencepost.conformance.simulate.simulate import (
    Cost,
    SimulationRun,
    Variant,
    percentiles,
    simulate,
)

SCHEMA = Draft202012Validator(SIMULATION.schema())


def changed(name: str, **changes: Any) -> DeploymentScenario:
    return checked_scenario(msgspec.to_builtins(find_scenario(name)) | changes, "a test")


def cost(name: str, **changes: Any) -> Cost:
    return simulate(SimulationRun(changed(name, **changes)))


@pytest.mark.parametrize("members", [3, 6])
def test_a_rolling_bounce_of_dynamic_members_costs_two_rebalances_each(members: int) -> None:
    found = cost("rolling-bounce", members=members)
    assert found.rebalances == found.generations == 2 * members
    assert found.causes == {"leave": members, "new member": members}
    assert found.partitions_moved > 0
    # What a member had is missed until the others' heartbeats, and until they have resumed.
    assert found.longest_gap_s <= 3.1 + RESUME_S


def test_a_rolling_bounce_of_static_members_costs_none() -> None:
    found = cost("rolling-bounce", settings={"membership": "static"})
    assert (found.rebalances, found.partitions_moved, found.twice_partition_s) == (0, 0, 0)
    assert 5.0 <= found.longest_gap_s - RESUME_S < 5.1  # the restart itself


def test_a_partition_that_is_given_costs_the_time_until_its_member_has_resumed() -> None:
    """Eager: all of them in each rebalance; static within the session: what was restarted."""
    for membership, times in (("dynamic", 12 * 24), ("static", 24)):
        settings = {"membership": membership}
        at_once, slow = (
            cost("rolling-bounce", settings=settings, resume_s=seconds) for seconds in (0, 0.5)
        )
        added_s = slow.unavailable_partition_s - at_once.unavailable_partition_s
        # Who is stopped before it reads adds less.
        assert added_s == pytest.approx(0.5 * times, rel=0.1)
        assert (slow.rebalances, slow.partitions_moved) == (
            at_once.rebalances,
            at_once.partitions_moved,
        )


def test_three_at_a_time_cost_fewer() -> None:
    steps = [{"do": "bounce", "at_a_time": 3}]
    assert cost("rolling-bounce", step=steps).rebalances == 4


def test_cooperative_members_move_less_and_never_have_a_partition_twice() -> None:
    eager, cooperative = (
        cost("rolling-bounce", settings={"strategy": strategy})
        for strategy in ("eager", "cooperative")
    )
    assert cooperative.partitions_moved < eager.partitions_moved
    assert cooperative.twice_partition_s == 0
    assert any("gave partitions back" in row.note for row in cooperative.each_rebalance)


@pytest.mark.parametrize("membership", ["dynamic", "static"])
def test_a_restart_is_free_while_it_is_shorter_than_the_session(membership: str) -> None:
    settings = {"membership": membership, "session_timeout_ms": 20_000}
    short, long = (cost("crash", settings=settings, restart_s=seconds) for seconds in (10, 40))
    assert short.rebalances == (0 if membership == "static" else 1)
    assert long.rebalances == 2
    assert long.causes["expiry"] == 1


def test_a_dead_dynamic_member_stops_all_who_wait_for_it_in_an_eager_rebalance() -> None:
    """The new process asks for a rebalance, which waits until the dead one's session ends."""
    found = cost("crash")
    assert all(row.longest_gap_s > 30 for row in found.each_partition)


def test_a_static_member_that_is_stopped_for_good_is_missed_until_it_is_removed() -> None:
    waits, removed = cost("scale-down"), cost("scale-down-removed")
    assert waits.longest_gap_s > 40
    assert removed.longest_gap_s < 4
    assert removed.each_rebalance[0].note == "removed by an administrator"


def test_a_replaced_host_is_free_of_the_old_one_by_removal() -> None:
    waits, removed = cost("host-replacement"), cost("host-replacement-removed")
    assert waits.longest_gap_s > 40
    assert removed.longest_gap_s < 10


def test_of_two_processes_on_one_id_the_older_is_fenced_and_both_consume_until_then() -> None:
    found = cost("second-process")
    assert [row.code for row in found.failures] == ["FENCED_INSTANCE_ID"]
    assert found.rebalances == 0
    assert 0 < found.twice_partition_s < 4 * 3.1


def test_fenced_processes_that_are_started_again_fence_each_other_without_end() -> None:
    found = cost("second-process", restart_failed=True, restart_s=2, settle_s=300)
    assert 5 < len(found.failures) < 20
    assert found.rebalances == 0


def test_processes_that_can_never_join_do_not_keep_a_simulation_from_its_end() -> None:
    found = cost("to-cooperative-at-once", restart_failed=True, settle_s=60)
    assert found.balanced_after_s is None
    assert 600 < found.lasted_s < 700  # the limit of the bounce, and the time to settle
    assert {row.code for row in found.failures} == {"INCONSISTENT_GROUP_PROTOCOL"}


def test_no_session_ends_while_no_broker_is_there() -> None:
    scenario = checked_scenario(
        {
            "members": 3,
            "settings": {"membership": "static", "session_timeout_ms": 10_000},
            "step": [{"do": "failover", "down_s": 40}],
        },
        "here",
    )
    found = simulate(SimulationRun(scenario))
    assert (found.rebalances, found.partitions_moved, found.failures) == (0, 0, ())


def test_a_failover_in_the_middle_cuts_a_rebalance_off_and_the_bounce_goes_on() -> None:
    found = cost("failover")
    assert found.rebalances == found.generations + 1 == 13
    assert None in [row.took_s for row in found.each_rebalance]


def test_migration_to_cooperative_takes_two_bounces() -> None:
    assert cost("to-cooperative").halted == ()
    found = cost("to-cooperative-at-once")
    assert found.halted == (
        "the deployment stopped at app-1: app-1 got INCONSISTENT_GROUP_PROTOCOL (JoinGroup)",
    )


def test_migration_to_static_needs_ids_of_their_own_and_a_session_longer_than_a_restart() -> None:
    right, short, same = (
        cost(name) for name in ("to-static", "to-static-short-session", "to-static-same-id")
    )
    assert right.rebalances == 12  # those of the first bounce
    assert short.rebalances == 24
    assert "FENCED_INSTANCE_ID" in same.halted[0]


def test_migration_back_to_dynamic_stops_all_for_a_session_at_each_restart() -> None:
    found = cost("to-dynamic", settings={"membership": "static", "session_timeout_ms": 30_000})
    assert found.causes == {"new member": 6}
    assert found.halted == ()
    assert all(24 < (row.took_s or 0) < 30 for row in found.each_rebalance[1:])
    short = cost("to-dynamic", settings={"membership": "static", "session_timeout_ms": 6000})
    assert short.unavailable_partition_s < found.unavailable_partition_s / 10


def test_threads_have_ids_of_their_own_and_a_process_restarts_with_all() -> None:
    found = cost("streams")
    assert found.members == 12
    assert found.rebalances == 0
    assert {held[2] for row in found.each_partition for held in row.held} == {
        f"app-{host}-thread-{thread}" for host in (1, 2, 3) for thread in (1, 2, 3, 4)
    }


@pytest.mark.parametrize("assignor", ["range", "sticky", "cooperative-sticky"])
def test_members_consume_what_is_in_their_rack(assignor: str) -> None:
    racks = {"racks": ["a", "b", "c"], "replicas": 1, "settings": {"assignors": [assignor]}}
    racks["resume_s"] = 0
    idle = cost("crash", step=[{"do": "wait", "s": 100}], **racks)
    assert idle.far_partition_s == 0
    moved = cost("replicas-move", **racks)
    assert moved.partitions_moved == 24
    assert moved.balanced_after_s is not None
    assert 0 < moved.balanced_after_s <= 300.1
    assert moved.far_partition_s == pytest.approx(24 * moved.balanced_after_s, abs=1)


def test_an_assignor_that_knows_no_racks_lets_members_consume_from_afar() -> None:
    racks = {"racks": ["a", "b", "c"], "replicas": 1, "settings": {"assignors": ["roundrobin"]}}
    found = cost("crash", members=5, step=[{"do": "wait", "s": 100}], **racks)
    assert (found.far_partition_s or 0) > 1000


def test_replicas_in_all_racks_are_never_far_and_none_known_is_no_figure() -> None:
    racks = {"racks": ["a", "b"], "members": 3}
    assert cost("crash", replicas=2, **racks).far_partition_s == 0
    assert cost("crash", **racks).far_partition_s is None


def test_an_eager_rebalance_waits_for_the_slowest_user() -> None:
    quick, slow = (cost("scale-up", processing_s=seconds) for seconds in (0, 30))
    assert (slow.each_rebalance[0].took_s or 0) > (quick.each_rebalance[0].took_s or 0) + 10


@pytest.mark.parametrize("name", scenario_names())
def test_skipped_heartbeats_change_no_figure(name: str) -> None:
    scenario = changed(name, members=3, settle_s=60)
    both = [simulate(SimulationRun(scenario, seed=1, skips=skips)) for skips in (True, False)]
    assert both[0] == both[1]


@settings(max_examples=10)
@given(scenario=SCENARIOS, seed=st.integers(0, 99))
def test_whatever_is_done_the_figures_hold_together(
    scenario: DeploymentScenario, seed: int
) -> None:
    found, whole = (
        simulate(SimulationRun(scenario, seed=seed, skips=skips)) for skips in (True, False)
    )
    assert found == whole
    assert found.generations <= found.rebalances == sum(found.causes.values())
    assert found.partitions_moved == sum(row.moves for row in found.each_partition)
    for row in found.each_partition:
        held = sum(until_s - from_s for from_s, until_s, _ in row.held)
        assert held + row.unavailable_s - row.twice_s <= found.lasted_s + 0.01
        assert row.longest_gap_s <= row.unavailable_s <= found.lasted_s
    if found.balanced_after_s is not None:
        assert found.balanced_after_s <= found.lasted_s
    SCHEMA.validate(Variant((found,)).document().plain())


def test_percentiles_count_a_run_without_end_as_the_longest() -> None:
    one = cost("crash", members=2, partitions=2)
    runs = [msgspec.structs.replace(one, requests=n, balanced_after_s=n or None) for n in range(5)]
    found = percentiles(runs)
    assert found["requests"].plain() == {"p5": 0, "p50": 2, "p95": 4, "p100": 4, "mean": 2}
    assert found["balanced_after_s"].plain() == {
        "p5": 1,
        "p50": 3,
        "p95": None,
        "p100": None,
        "mean": None,
    }
    SCHEMA.validate(Variant(tuple(runs)).document().plain())


def test_a_group_that_can_not_form_is_told() -> None:
    settings = {"membership": "static", "instance_id": "all"}
    with pytest.raises(ScenarioError, match=r"does not form: app-\d got FENCED_INSTANCE_ID"):
        cost("crash", settings=settings)


def test_a_host_that_is_not_there_is_told() -> None:
    with pytest.raises(ScenarioError, match="no host is called 'app-9'; there is app-1, app-2"):
        cost("crash", step=[{"do": "crash", "who": ["app-9"]}])


def test_all_that_can_be_done_at_once_is_done() -> None:
    steps = [
        {"do": "wait", "s": {"least": 1, "most": 2}},
        {"do": "bounce", "overlap_s": 1, "at_most": 2, "set": {"session_timeout_ms": 10_000}},
        {"do": "remove", "who": ["app-2"]},
        {"do": "wait"},
        {"do": "duplicate", "for_s": 2},
        {"do": "crash-loop", "times": 2, "alive_s": 1, "at_s": 20},
        {"do": "scale", "to": 8},
    ]
    found = cost("crash", settings={"membership": "static"}, racks=["x", "y"], step=steps)
    assert found.balanced_after_s is not None
    assert "leave" in found.causes
    SCHEMA.validate(Variant((found,)).document().plain())
