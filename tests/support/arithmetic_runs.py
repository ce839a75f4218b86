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


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: partition-seconds of an event by arithmetic, and simulated on average."""

    facts: dict[str, Any]
    form: str
    session_s: float
    scenario: str
    runs: int
    by_arithmetic_s: float
    simulated_s: float
    is_near: bool

    @property
    def is_dear(self) -> bool:
        """Several processes at a time, with slow polls: these are known to be counted too dear."""
        slow = self.facts.get("processing_s", 0) and self.facts.get("at_a_time", 1) > 1
        return bool(slow) and self.scenario == "rolling-bounce"


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """What big_arithmetic.py makes: the rows of the page's table, and settings that are drawn."""

    shown: list[Compared]
    drawn: list[Compared]


def page_lines(made: Agreement) -> list[str]:
    """What advise.md says of it, line by line."""
    rows = [
        f"| {group_words(each.facts)} | {each.form}, {each.session_s:g} s | {each.runs} "
        f"| {each.by_arithmetic_s:,.1f} | {each.simulated_s:,.1f} |"
        for each in made.shown
    ]
    outside = [each for each in made.drawn if not each.is_near]
    dear = [each for each in made.drawn if each.is_dear]
    others = [each for each in outside if not each.is_dear]
    runs = made.drawn[0].runs
    return [
        *rows,
        _sentence(
            f"Of {len(made.drawn)} events of groups that were drawn at random, {runs} runs each,",
            f"{len(made.drawn) - len(outside)} were as near as that;",
            f"{len(dear)} of them were rollouts of several processes at a time with slow polls, of",
            f"which {sum(each.is_near for each in dear)} were as near.",
            f"Others that were not: {len(others)}.",
        ),
        *(
            f"- {each.scenario}, {group_words(each.facts)}, {each.form}, {each.session_s:g} s: "
            f"{each.by_arithmetic_s:,.1f} by arithmetic, {each.simulated_s:,.1f} simulated"
            for each in others
        ),
    ]


def _sentence(*parts: str) -> str:
    return " ".join(parts)


def group_words(facts: dict[str, Any]) -> str:
    """A group as a row of the table names it."""
    restart = facts["restart_s"]
    if isinstance(restart, dict):
        times = f"{restart['median']:g} s, p95 {restart['p95']:g} s"
    else:
        times = f"{restart:g} s"
    words = [
        f"{facts['members']} members",
        f"{sum(facts['topics']):,} partitions",
        f"restarts {times}",
    ]
    if facts.get("processing_s"):
        words.append(f"polls {facts['processing_s']:g} s")
    if facts.get("at_a_time", 1) > 1:
        words.append(f"{facts['at_a_time']} at a time")
    return ", ".join(words)


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
