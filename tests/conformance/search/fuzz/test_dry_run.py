"""A rehearsal knows what a plan comes to: checked against plans that were played by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from fencepost.conformance.search.fuzz.dry_run import (
    DryRun,
    PlanCoverage,
    PlannedStep,
    acts_of,
    group_shape,
)
from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.machine import Machine
from fencepost.model.messages.messages import JoinProtocol
from fencepost.model.plans.steps import (
    Await,
    Disconnect,
    Failover,
    GenerationOf,
    IdOf,
    Ms,
    Pause,
    Plan,
    Request,
    Settle,
)
from fencepost.model.plans.times import times_for
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level
from fencepost.properties.departures.known_departures import DEPARTURES, departed

_SHORT = Ms("short rebalance")


def dry_run(**settings: Any) -> DryRun:
    config = Machine(KAFKA_4, {"group.initial.rebalance.delay.ms": 0, **settings}).config
    hello = ModelCoordinator(KAFKA_4).hello()
    return DryRun(KAFKA_4, hello, config, times_for(config, lag_ms=0))


def ask(who: str, api: str, *, version: int | None = None, **fields: Any) -> Request:
    said = {"group_id": "g", "member_id": IdOf(who), **fields}
    return Request("", who, api, said, version)


def join(
    who: str,
    instance: str | None = None,
    *,
    version: int | None = None,
    rebalance: Ms | int = _SHORT,
) -> PlannedStep:
    return PlannedStep(
        ask(
            who,
            "JoinGroup",
            group_instance_id=instance,
            session_timeout_ms=Ms("short session"),
            rebalance_timeout_ms=rebalance,
            protocol_type="consumer",
            protocols=(JoinProtocol(name="range", metadata=b""),),
            version=version,
        )
    )


def sync(who: str) -> PlannedStep:
    return PlannedStep(ask(who, "SyncGroup", version=4, generation_id=GenerationOf(who)))


def beat(who: str) -> PlannedStep:
    return PlannedStep(ask(who, "Heartbeat", generation_id=GenerationOf(who)))


def test_rules_pairs_and_states_are_those_of_the_run() -> None:
    made = dry_run()
    for act in (join("A1", "A"), sync("A1"), beat("A1")):
        assert made.play(act)
    fired = [
        "JOIN-STATIC-EMPTY-NEW",
        "JOIN-PHASE-WAIT",  # the initial delay is 0, but it is a delay
        "JOIN-PHASE-DELAY-OVER",
        "SYNC-COMPLETING-LEADER",
        "HEARTBEAT-STABLE",
    ]
    assert made.reached.rules == set(fired)
    assert made.reached.pairs == set(pairwise(fired))
    states = {state[0] for state in made.reached.states}
    assert states == {"PreparingRebalance", "CompletingRebalance", "Stable"}
    assert made.requests == 3


def test_what_is_answered_is_waited_for_and_what_is_parked_settles() -> None:
    made = dry_run()
    made.play(join("A1", "A"))
    made.play(join("B1", "B"))  # waits for A1 to join again
    assert made.waits("B1")
    assert not made.play(beat("B1"))  # its connection is taken
    made.play(join("A1", "A"))
    kinds = [type(step) for step in made.end()]
    assert kinds == [Request, Await, Request, Settle, Request, Await]
    both = made.end()[-1]
    assert isinstance(both, Await)
    assert {label.split()[0] for label in both.labels} == {"A1", "B1"}


def test_a_hurry_is_not_waited_for_until_it_must_be() -> None:
    made = dry_run()
    first = join("A1", "A")
    made.play(PlannedStep(first.step, hurry=True))
    made.play(join("B1", "B"))
    made.play(beat("A1"))
    assert [type(step) for step in made.end()] == [
        Request,
        Request,
        Await,
        Request,
        Await,
    ]


def test_a_dropped_connection_is_not_waited_for() -> None:
    made = dry_run()
    made.play(PlannedStep(join("A1", "A").step, hurry=True))
    made.play(PlannedStep(Disconnect("A1")))
    assert [type(step) for step in made.end()] == [Request, Disconnect]


def test_time_passes_and_timers_fire() -> None:
    made = dry_run()
    made.play(join("A1", "A"))
    made.play(PlannedStep(Pause((Ms("short session"),))))
    assert "SYNC-PHASE-EXPIRED" in made.reached.rules
    assert group_shape(made.group("g"))[0] == "Empty"


def test_no_failover_where_the_target_has_none() -> None:
    made = dry_run()
    made.hello = replace(made.hello, features=frozenset())
    assert not made.play(PlannedStep(Failover()))


def test_on_a_real_clock_a_plan_fails_over_twice_at_most() -> None:
    made = dry_run()
    assert all(made.play(PlannedStep(Failover())) for _ in range(5))
    made = dry_run()
    made.hello = replace(made.hello, clock="real")
    assert [made.play(PlannedStep(Failover())) for _ in range(4)] == [True, True, False, False]


def test_acts_of_a_case_make_the_same_case() -> None:
    made = dry_run()
    for act in (
        join("A1", "A"),
        PlannedStep(sync("A1").step, hurry=True),
        beat("A1"),
        join("B1", "B"),
    ):
        made.play(act)
    case = Plan("c", "", (), Level.MUST, made.end())
    again = dry_run()
    for act in acts_of(case):
        assert again.play(act)
    assert again.end() == made.end()


@pytest.mark.parametrize(("more", "size"), [({"a"}, 0), ({"b"}, 1)])
def test_only_what_is_new_counts(more: set[str], size: int) -> None:
    seen = PlanCoverage(rules={"a"})
    assert seen.add(PlanCoverage(rules=more)) == size


def test_the_shape_of_a_group_forgets_names_and_numbers() -> None:
    def shape(act: PlannedStep, times: int = 1) -> object:
        made = dry_run()
        for _ in range(times):
            made.play(act)
        return group_shape(made.group("g"))

    assert shape(join("A1", "A")) == shape(join("B1", "B"))
    assert shape(join("A1", "A"), 1) == shape(join("A1", "A"), 3)  # in another generation
    assert shape(join("A1", "A")) != shape(join("a", version=3))
    assert group_shape(None) == ("absent",)


@pytest.mark.parametrize("rebalance", [0, -1, -(2**31)])
def test_a_rebalance_of_no_time_is_not_put_off_for_ever_at_one_instant(rebalance: int) -> None:
    made = dry_run()
    for act in (join("A1", "A", rebalance=rebalance), sync("A1"), join("a", version=3)):
        made.play(act)
    made.play(PlannedStep(ask("a", "LeaveGroup", version=2)))
    made.play(PlannedStep(Pause((Ms("short session"),))))
    assert group_shape(made.group("g"))[0] == "Empty"


def test_a_step_is_known_to_lead_into_a_departure() -> None:
    config = Machine(KAFKA_4, {"group.initial.rebalance.delay.ms": 0}).config
    hello = ModelCoordinator(KAFKA_4).hello()
    leaves = departed(KAFKA_4, [DEPARTURES["pending-leave"]])
    ahead = DryRun(KAFKA_4, hello, config, times_for(config, lag_ms=0), leaves)
    plain = DryRun(KAFKA_4, hello, config, times_for(config, lag_ms=0))
    leave = PlannedStep(ask("b", "LeaveGroup", version=2))
    beat = PlannedStep(ask("A1", "Heartbeat", generation_id=GenerationOf("A1")))
    sync = ask("A1", "SyncGroup", version=3, generation_id=GenerationOf("A1"))
    for run in (ahead, plain):
        assert run.play(join("A1", "A"))
        assert run.play(PlannedStep(sync))
        assert run.play(join("b", version=4))
    assert ahead.departs(leave)
    assert not ahead.departs(beat)
    assert not plain.departs(leave)
    assert len(ahead.acts) == 3, "a step that is asked about is not played"
    # Behind it the plan is played as the target will answer it.
    assert ahead.play(leave)
    assert plain.play(leave)
    states = [run.group("g") for run in (ahead, plain)]
    assert [group and group.state.value for group in states] == ["PreparingRebalance", "Stable"]
