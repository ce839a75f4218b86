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
    "75950459cea8", "f21abc1a9e3a", "dafb9fdda350", "802ffde00175", "6e7c17636beb",
    "7b307efbf6b2", "8fdf9601631b", "557fd77fcf80", "95c43eef705a", "cebe9ab6e324",
    "cb29c2e875ec", "458a283ddcb0", "7704a29651fc", "97480e09b2ed", "c78dd8891b99",
    "b018dab3bd56", "d40b7d481b4a", "20f0368007dc", "863a5bfc06fd", "b7a8d112f77c",
)
SHRUNK = (
    (1, ("InjectFaults", "Crash"), 28, "f07569297fd9", "a7b92c9c711e"),
    (1, ("Commit", "Close"), 46, "795d3a7135ba", "019afeed145d"),
    (1, ("Unsubscribe",), 15, "acddfa4d1fc2", "41cac0004d91"),
    (2, ("InjectFaults", "Crash"), 26, "15834a4774d8", "4e6903802fb3"),
    (2, ("Commit", "Close"), 30, "111397033594", "35c47633d92f"),
    (2, ("Unsubscribe",), 17, "d5ecc7d125c5", "139a9aad3c84"),
    (3, ("InjectFaults", "Crash"), 28, "075012103c05", "e56019b87cd2"),
    (3, ("Commit", "Close"), 25, "07021083ea75", "d637d46fe9c6"),
    (3, ("Unsubscribe",), 15, "06afbfcf8b43", "024d61d0a4eb"),
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
