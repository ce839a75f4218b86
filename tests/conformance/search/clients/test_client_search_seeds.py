"""Every seed draws the scenarios that it always drew, and they shrink by the same runs."""

from __future__ import annotations

import hashlib
import itertools
import json
from typing import Any

import pytest

from fencepost.conformance.cases.clients.scenario import Scenario
from fencepost.conformance.search.clients.client_search import drawn, shrinking_scenario
from fencepost.properties.checking.shrinking import Reproducer, shrink
from fencepost.properties.requirements.driver_messages import Introduction

LIBRARY = Introduction(
    1,
    1,
    "lib",
    "1",
    "c",
    ("static", "cooperative", "auto-commit", "manual-commit"),
    ("range", "cooperative-sticky"),
)
# fmt: off
SCENARIOS = (
    "34861380d28c", "437427a0144b", "c46a4066154a", "391ebbe83467", "a6b04994d5ba",
    "c5c49fba626d", "05fffdf8c211", "c381fb849988", "99530a485fde", "88e9cae06a95",
    "80d3d0b02743", "efad12e371df", "a3c7da90ee01", "3dc856d5c1d8", "58f67cc3d278",
    "02d3f84cc503", "321158b47a14", "37f4c0bdac76", "6824411d7b6e", "ceaaefe2865b",
)
SHRUNK = (
    (1, ("InjectFaults", "Crash"), 22, "ad16a802e421", "94f9981f8aab"),
    (1, ("Commit", "Close"), 23, "5e75fffc0eca", "a7d5bcafbf3a"),
    (1, ("Unsubscribe",), 17, "b844ed5eef6e", "13cec45eb330"),
    (2, ("InjectFaults", "Crash"), 32, "578f283d8400", "e3db7a1a4317"),
    (2, ("Commit", "Close"), 58, "fdf0fab4067c", "e633308ca249"),
    (2, ("Unsubscribe",), 16, "7ba90f66ebe5", "00f8cd714e05"),
    (3, ("InjectFaults", "Crash"), 23, "5e69f19c7c1c", "222591ba0a4f"),
    (3, ("Commit", "Close"), 25, "07021083ea75", "d637d46fe9c6"),
    (3, ("Unsubscribe",), 16, "0e3d979ac922", "1c2fd62f603a"),
)
# fmt: on


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


@pytest.mark.parametrize("seed", range(1, 21))
def test_a_seed_draws_the_scenarios_that_it_always_drew(seed: int) -> None:
    scenarios = [drawn(seed, number, LIBRARY).to_json() for number in range(20)]
    assert digest(scenarios) == SCENARIOS[seed - 1]


@pytest.mark.parametrize(("seed", "needed", "runs", "order", "smallest"), SHRUNK)
async def test_a_scenario_shrinks_by_the_same_runs(
    seed: int, needed: tuple[str, ...], runs: int, order: str, smallest: str
) -> None:
    def has_all(one: Scenario) -> bool:
        return {*needed} <= {type(act).__name__ for act in one.acts}

    tried = []

    async def shows(one: Scenario) -> str | None:
        tried.append(one.to_json()["acts"])
        return "shown" if has_all(one) else None

    numbered = (drawn(seed, number, LIBRARY) for number in itertools.count())
    first = Reproducer(next(filter(has_all, numbered)), "shown")
    minimal = await shrink(shrinking_scenario(first, tries=200), shows)
    assert (len(tried), digest(tried)) == (runs, order)
    assert digest(minimal.smallest.value.to_json()) == smallest
