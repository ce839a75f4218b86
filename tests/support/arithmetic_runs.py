"""The arithmetic of `advise` beside runs of the simulator, and how near they are."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean
from typing import Any

import msgspec
from support.places import ROOT

from fencepost.conformance.advise.arithmetic import EventCost, crash, death, deployment
from fencepost.conformance.advise.known_facts import Form, KnownGroup, known_group
from fencepost.conformance.simulate.deployment_scenario import checked_scenario, find_scenario
from fencepost.conformance.simulate.simulate import Cost, SimulationRun, simulate

AGREEMENT = ROOT / "docs" / "deployments" / "advise-agreement.json"


Arithmetic = Callable[[KnownGroup, Form, float], EventCost]
EVENTS: dict[str, tuple[Arithmetic, int]] = {
    "rolling-bounce": (deployment, 2),
    "crash": (crash, 4),
    "crash-for-good": (death, 4),
}
"""By the scenario that plays it: the arithmetic of an event, and how many runs it is held to."""


def known(facts: dict[str, Any]) -> KnownGroup:
    return known_group(dict(facts))


def simulated(known: KnownGroup, form: Form, session_s: float, name: str, seeds: int) -> list[Cost]:
    document = msgspec.to_builtins(find_scenario(name)) | {
        "members": known.members,
        "topics": {f"topic-{number}": count for number, count in enumerate(known.topics)},
        "restart_s": msgspec.to_builtins(known.restart_s),
        "processing_s": known.processing_s,
        "resume_s": known.resume_s,
        "settings": {
            "membership": "static" if form.is_static else "dynamic",
            "strategy": form.strategy,
            "session_timeout_ms": round(session_s * 1000),
        },
    }
    if name == "rolling-bounce":
        document["step"] = [{"do": "bounce", "at_a_time": known.at_a_time}]
    scenario = checked_scenario(document, "a test")
    return [simulate(SimulationRun(scenario, seed=seed, is_brief=True)) for seed in range(seeds)]


def is_near(known: KnownGroup, found: EventCost, costs: list[Cost], events: int) -> bool:
    """Within a tenth, and half a heartbeat interval of one member's partitions for each event."""
    seen_s = mean(cost.unavailable_partition_s for cost in costs)
    at_once = known.at_a_time if events > 1 else 1
    chance_s = known.partition_share * at_once * known.heartbeat_s / 2 * events
    return abs(found.unavailable_s - seen_s) <= 0.1 * seen_s + chance_s
