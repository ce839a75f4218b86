"""The reference client does what a client owes; each lying client fails what it breaks."""

from __future__ import annotations

from typing import Any

import pytest
from support.all_client_scenarios import SCENARIOS
from support.client_scenarios import (
    Scenario,
    group_of,
    instance_of,
    joins,
    nth,
    owned,
    produce,
    run_until_joining,
    seen,
    settings,
    shared,
    simulation,
)

from fencepost.conformance.simulate.simulation import Fault, Interference, Simulation
from fencepost.model.client.behaviour import RIGHT
from fencepost.model.client.client_interface import (
    Assigned,
    Closed,
    Committed,
    ErrorReported,
    Lost,
    Records,
    Revoked,
)
from fencepost.model.plans.steps import Commit, Subscribe
from fencepost.properties.mutants.client_mutants import CLIENT_MUTANTS, ClientMutant

RUNS = sorted({run for runs in SCENARIOS.values() for run in runs}, key=lambda run: run.__name__)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_the_reference_client_does_what_it_owes(run: Scenario) -> None:
    run(RIGHT)


@pytest.mark.parametrize("mutant", CLIENT_MUTANTS.values(), ids=lambda mutant: mutant.name)
def test_a_lying_client_fails_what_it_breaks(mutant: ClientMutant) -> None:
    failed = []
    for run in dict.fromkeys(run for name in mutant.breaks for run in SCENARIOS[name]):
        try:
            run(mutant.conduct)
        except AssertionError:
            failed.append(run.__name__)
    assert failed


# What no requirement says by itself.


@pytest.mark.parametrize("phase_ms", [50, 3500])
def test_of_two_processes_on_one_instance_exactly_one_survives(phase_ms: int) -> None:
    sim = simulation()
    sim.start("first", settings("a"))
    sim.run_for(phase_ms)
    sim.start("second", settings("a"))
    sim.run_for(60_000)
    fenced = [name for name in ("first", "second") if seen(sim, name, ErrorReported)]
    assert len(fenced) == 1
    survivor = {"first", "second"} - set(fenced)
    shared(sim, *survivor)


def test_a_static_member_that_crashes_comes_back_to_its_place() -> None:
    sim = simulation()
    group_of(sim, RIGHT, "b")
    generation = sim.cluster.model.groups["g"].generation_id
    before = owned(sim, "b")
    sim.kill("b")
    sim.run_for(5000)
    sim.start("b", settings("b"))
    sim.run_for(5000)
    assert sim.cluster.model.groups["g"].generation_id == generation
    assert owned(sim, "b") == before
    assert not seen(sim, "a", Revoked)


def test_a_lost_heartbeat_answer_costs_no_session() -> None:
    sim = simulation(nth("Heartbeat", Interference(Fault.LOSE_REQUEST), 3))
    group_of(sim, RIGHT)
    sim.run_for(10_000)
    assert len(joins(sim, "a")) == 1
    shared(sim, "a")


def test_brokers_that_restart_are_found_again() -> None:
    sim = simulation()
    group_of(sim, RIGHT, "b")
    sim.is_down = True
    sim.cut_all()
    sim.run_for(5000)
    sim.is_down = False
    sim.run_for(5000)
    produce(sim)
    before = len(seen(sim, "a", Records))
    sim.run_for(5000)
    assert len(seen(sim, "a", Records)) > before
    assert len(joins(sim, "a")) == 1
    shared(sim, "a", "b")


def test_while_no_broker_is_there_attempts_are_few_and_close_ends() -> None:
    sim = simulation()
    group_of(sim, RIGHT)
    asked = sim.state_of("a").next_id
    sim.is_down = True
    sim.cut_all()
    sim.run_for(10_000)
    assert sim.state_of("a").next_id - asked < 40
    sim.close("a", 3000)
    sim.run_for(3000)
    assert isinstance(sim.events_of("a")[-1], Closed)


def test_a_broker_of_an_older_release_after_a_restart_is_told() -> None:
    sim = simulation()
    group_of(sim, RIGHT)
    sim.cluster.highest |= {"JoinGroup": 4, "SyncGroup": 2, "Heartbeat": 2, "OffsetCommit": 6}
    sim.cut_all()
    sim.run_for(5000)
    (told,) = seen(sim, "a", ErrorReported)
    assert (told.code, told.fatal) == ("UNSUPPORTED_VERSION", True)


def test_what_is_committed_is_not_read_again() -> None:
    sim = simulation()
    group_of(sim, RIGHT)
    sim.close("a")
    sim.run_for(1000)
    sim.start("a", settings("a"))
    produce(sim)
    sim.run_for(5000)
    firsts = [event.first for event in seen(sim, "a", Records)]
    assert firsts == [0] * 6 + [10] * 6


def test_a_user_commits() -> None:
    sim = simulation()
    group_of(sim, RIGHT, auto_commit_ms=None)
    sim.give("a", Commit("a"))
    sim.run_for(100)
    assert seen(sim, "a", Committed) == [Committed("NONE")]
    assert len(sim.requests_of("a", "OffsetCommit")) == 1


def test_a_commit_in_a_rebalance_is_refused_here() -> None:
    sim = simulation()
    group_of(sim, RIGHT)
    sim.start("b", settings("b"))
    run_until_joining(sim, "a")
    sim.give("a", Commit("a"))
    assert seen(sim, "a", Committed) == [Committed("REBALANCE_IN_PROGRESS")]


def test_another_subscription_is_joined_with() -> None:
    sim = Simulation({"t": 2, "u": 3})
    sim.start("a", settings("a"))
    sim.run_for(5000)
    sim.give("a", Subscribe("a", ("t", "u")))
    sim.run_for(5000)
    assert len(joins(sim, "a")) == 2
    assert len(owned(sim, "a")) == 5


def test_a_leader_sees_new_partitions() -> None:
    sim = simulation()
    group_of(sim, RIGHT, "b", metadata_max_age_ms=3000)
    sim.cluster.topics["t"] = 8
    sim.run_for(10_000)
    assert len(owned(sim, "a")) + len(owned(sim, "b")) == 8


def test_a_dynamic_member_is_closed_while_its_join_is_parked() -> None:
    sim = simulation()
    sim.start("a", settings(None))
    while sim.state_of("a").membership.phase.value != "joining" or len(joins(sim, "a")) < 2:
        sim.run_for(1)
    sim.close("a")
    sim.run_for(1000)
    assert isinstance(sim.events_of("a")[-1], Closed)
    assert len(sim.requests_of("a", "LeaveGroup")) == 1
    assert not sim.cluster.model.groups["g"].members


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_many_static_members_are_all_restarted_without_a_rebalance(assignor: str) -> None:
    """Twenty processes, four at a time; the generation stays, and each partition has one owner."""
    sim = Simulation({"t": 40}, seed=7)
    names = [f"app-{number}" for number in range(20)]
    more: dict[str, Any] = {"assignors": (assignor,), "fetch_max_wait_ms": 5000}
    for name in names:
        sim.start(name, settings(name, **more))
    sim.run_for(15_000)
    before = {name: owned(sim, name) for name in names}
    generation = sim.cluster.model.groups["g"].generation_id
    asked = len(sim.history)
    for at in range(0, len(names), 4):
        for name in names[at : at + 4]:
            sim.close(name)
        sim.run_for(1000)
        for name in names[at : at + 4]:
            sim.start(name, settings(name, **more))
        sim.run_for(1000)
    assert sim.cluster.model.groups["g"].generation_id == generation
    assert {name: owned(sim, name) for name in names} == before
    assert sum(each.api == "JoinGroup" for each in sim.history[asked:]) == len(names)


def test_the_same_seed_gives_the_same_history() -> None:
    def run(seed: int) -> tuple[str, str]:
        sim = Simulation({"t": 6}, seed=seed, nodes=2)
        for name in "abc":
            sim.start(name, settings(name))
        sim.run_for(8000)
        sim.kill("b")
        sim.run_for(20_000)
        return repr(sim.history), repr(sim.events)

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_a_process_can_not_be_started_twice() -> None:
    sim = simulation()
    sim.start("a", settings("a"))
    with pytest.raises(ValueError, match="a runs: close or kill it first"):
        sim.start("a", settings("a"))


def test_partitions_of_a_lost_generation_are_lost_before_they_are_given_anew() -> None:
    sim = simulation()
    group_of(sim, RIGHT)
    sim.remove("g", instance_of("a"))
    sim.run_for(8000)
    kinds = [type(event) for event in sim.events_of("a") if not isinstance(event, Records)]
    assert kinds == [Assigned, Lost, Assigned]
