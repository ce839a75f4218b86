"""Measure the simulation of large deployments, in one process."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from fencepost.conformance.simulate.deployment_scenario import checked_scenario, find_scenario
from fencepost.conformance.simulate.simulate import SimulationRun, simulate

LARGE: dict[str, dict[str, Any]] = {
    "static, 50 at a time": {
        "members": 1000,
        "partitions": 10_000,
        "settings": {"membership": "static"},
        "step": [{"do": "bounce", "at_a_time": 50}],
    },
    "dynamic, one by one": {"members": 100, "partitions": 1000},
}
"""Rolling bounces, by name."""


def simulator_figures(names: tuple[str, ...]) -> dict[str, dict[str, float | None]]:
    """Return CPU seconds of each, with its size and its result."""
    figures: dict[str, dict[str, float | None]] = {}
    for name in names:
        document = msgspec.to_builtins(find_scenario("rolling-bounce")) | LARGE[name]
        scenario = checked_scenario(document, name)
        begun = time.process_time()
        cost = simulate(SimulationRun(scenario, name))
        figures[name] = {
            "cpu_s": round(time.process_time() - begun, 1),
            "members": cost.members,
            "partitions": cost.partitions,
            "simulated_s": cost.lasted_s,
            "rebalances": cost.rebalances,
            "requests": cost.requests,
        }
    return figures
