"""Plans of the consumer protocol: the same for a seed, of every kind, and they find faults."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from fencepost.conformance.run.replay import replay_trace
from fencepost.conformance.search.fuzz import consumer_generator as generator
from fencepost.conformance.search.fuzz.drawn_plans import DrawnPlan, PlanContext, Planner
from fencepost.conformance.search.fuzz.fuzz import FuzzOptions, FuzzResult, fuzz
from fencepost.conformance.search.fuzz.fuzz_report import write_fuzz
from fencepost.conformance.search.fuzz.tally import Budget
from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.conformance.targets.target import Hints
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.model.coordinator import Hello
from fencepost.model.machine import Machine
from fencepost.model.plans.spelling import plan_json, read_plan
from fencepost.model.plans.steps import Failover, MoveCoordinator, Pause, Request
from fencepost.model.revisions import revisions
from fencepost.properties.judging.outcome import Outcome
from fencepost.traces.files.trace_file import TraceFile

BASE = revisions.find("consumer-4.4")
HELLO = ModelCoordinator(BASE).hello()


def planner(seed: int = 1, hello: Hello = HELLO) -> Planner:
    is_virtual = hello.clock == "virtual"
    settings = generator.SETTINGS if is_virtual else generator.REAL_SETTINGS
    configs = [(s, Machine(BASE, {"num.partitions": 4, **s}).config) for s in settings]
    return Planner(PlanContext(BASE, hello, Hints(), 0 if is_virtual else 300, configs), seed)


def test_the_same_seed_draws_the_same_plans_which_survive_json() -> None:
    def drawn(seed: int) -> list[object]:
        made = planner(seed)
        return [plan_json(made.next().case) for _ in range(12)]

    plans = drawn(1)
    assert drawn(1) == plans
    assert drawn(2) != plans
    assert [plan_json(read_plan(plan)) for plan in plans] == plans


def test_requests_of_every_kind_are_drawn() -> None:
    made = planner(3)
    words: Counter[str] = Counter()
    epochs: set[object] = set()
    for _ in range(160):
        plan = made.next()
        words.update(plan.words)
        epochs |= {s.fields.get("member_epoch") for s in plan.case.steps if isinstance(s, Request)}
    boundaries = {boundary.id for boundary in generator.BOUNDARY_VALUES}
    missing = {b for b in boundaries if not any(word.endswith(f" {b}") for word in words)}
    assert len(missing) < len(boundaries) // 6
    assert {word.split()[0] for word in words} == set(BASE.apis)
    assert epochs >= {0, -1, -2, -3}
    assert any(word.endswith("as before") for word in words)


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_time_passes_and_coordinators_fail_over_as_far_as_the_target_can(
    clock: Literal["virtual", "real"],
) -> None:
    steps = [s for plan in _some(replace(HELLO, clock=clock)) for s in plan.case.steps]
    times = {time.name for s in steps if isinstance(s, Pause) for time in s.times}
    assert {"group session", "short rebalance"} <= times
    assert ("rebalance" in times) is (clock == "virtual")
    assert clock == "real" or any(isinstance(s, Failover) for s in steps)
    lacking = replace(HELLO, clock=clock, features=frozenset({"disconnect"}))
    steps = [s for plan in _some(lacking) for s in plan.case.steps]
    assert not any(isinstance(s, Failover | MoveCoordinator) for s in steps)


def _some(hello: Hello) -> list[DrawnPlan]:
    made = planner(5, hello)
    return [made.next() for _ in range(40)]


def searched(target: str, requests: int) -> FuzzResult:
    wanted = FuzzOptions(BASE, Budget(requests), 1)
    return asyncio.run(fuzz(lambda: find_target(target, TargetOptions()), wanted))


def test_the_model_holds() -> None:
    fuzzed = searched("model:consumer-4.4", 400)
    assert fuzzed.exit_code() == 0
    assert set(fuzzed.tally.outcomes) == {Outcome.PASS}
    assert len(fuzzed.tally.covered.rules) > 50


@pytest.mark.parametrize(
    "name", ["cg-unreleased-told-fenced", "cg-release-ignored", "cg-target-incomplete"]
)
def test_a_mutant_is_found_and_its_trace_is_short_and_replays(name: str, tmp_path: Path) -> None:
    found = searched(f"mutant:{name}", 150)
    assert found.exit_code() == 1
    shown = min(found.findings.findings, key=lambda finding: len(finding.steps(BASE)))
    assert len(shown.steps(BASE)) <= 4
    write_fuzz(found, tmp_path)
    path = tmp_path / "traces" / f"{shown.case.id.replace('/', '__')}.json"
    for target, is_same in ((f"mutant:{name}", True), ("model:consumer-4.4", False)):
        again = replay_trace(TraceFile.read(path), find_target(target, TargetOptions()))
        assert asyncio.run(again).same is is_same
