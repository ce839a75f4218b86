"""Holds what happened for real to what was simulated: equal counts, times within the jitter.

The simulator is given the restart times, and the time that the broker was away, as they were; what
chance decides (when, between two heartbeats, a step begins) is simulated with several seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fencepost.conformance.simulate.cost import Cost
from fencepost.conformance.simulate.deployment_scenario import DeploymentScenario
from fencepost.conformance.simulate.deployment_steps import FailoverStep, Step
from fencepost.conformance.simulate.durations import Spread
from fencepost.conformance.simulate.simulate import SimulationRun, simulate
from fencepost.traces.files.bounded import read_json
from tools.deployments.measured_deployments import CASES_BY_NAME
from tools.deployments.real_run import RealFigures
from tools.deployments.stops import most_at_once

SEEDS = 10
COUNTS = ("rebalances", "partitions_moved", "partitions_stopped", "failed")
TIMES = ("longest_gap_s",)
SHOWN = (
    *COUNTS,
    *TIMES,
    "stopped_at_once",
    "unavailable_partition_s",
    "twice_partition_s",
    "balanced_after_s",
)
LEAST_JITTER_S = 0.1
"""How often a health check looks: no time is known better."""
CALM_S = 0.5
"""Where the machine stood still for longer, times tell more of it than of the deployment."""
LATER = frozenset({"stopped_at_once"})
"""Figures that runs which were kept before they were known don't have."""
Range = tuple[float, float]


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """A case with a library on a broker: what happened, each time, and what was simulated.

    `simulated`: of each figure the least and the most; a figure that not all runs have is left out.
    """

    case: str
    broker: str
    client: str
    members: int
    partitions: int
    real: tuple[RealFigures, ...]
    simulated: dict[str, Range]

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is about."""
        return self.case, self.broker, self.client

    @property
    def scenario(self) -> DeploymentScenario:
        """What was performed."""
        return CASES_BY_NAME[self.case].at(self.members, self.partitions)

    def happened(self, figure: str) -> Range | None:
        """The least and the most of a figure; None: a run has none."""
        values = [getattr(one, figure) for one in self.real]
        return range_of([v for v in values if v is not None] if figure in LATER else values)

    def resimulated(self) -> CaseResult:
        """The same, simulated anew."""
        return msgspec.structs.replace(self, simulated=simulated(self.scenario, self.real))


def simulated(
    scenario: DeploymentScenario, real: Sequence[RealFigures], seeds: int = SEEDS
) -> dict[str, Range]:
    """The figures' ranges over the seeds, with the restart times and outages that were real."""
    downs = [seconds for one in real for seconds in one.downs_s]
    restarts = tuple(seconds for one in real for seconds in one.restarts_s)
    given = msgspec.structs.replace(
        scenario,
        restart_s=Spread(values=restarts) if restarts else scenario.restart_s,
        step=tuple(_as_it_was(step, downs) for step in scenario.step),
    )
    costs = [simulate(SimulationRun(given, seed=seed)) for seed in range(seeds)]
    ranges = {name: range_of([_figure(cost, name) for cost in costs]) for name in SHOWN}
    return {name: found for name, found in ranges.items() if found is not None}


def _as_it_was(step: Step, downs: list[float]) -> Step:
    if isinstance(step, FailoverStep) and downs:
        return msgspec.structs.replace(step, down_s=Spread(values=tuple(downs)))
    return step


def _figure(cost: Cost, name: str) -> float | None:
    match name:
        case "partitions_stopped":
            return sum(row.unavailable_s > 0 for row in cost.each_partition)
        case "rebalances":
            return cost.generations
        case "stopped_at_once":
            return most_at_once((row.held for row in cost.each_partition), 0, cost.lasted_s)
        case "failed":
            return len(cost.failures)
    found: float | None = getattr(cost, name)
    return found


def range_of(values: Sequence[float | None]) -> Range | None:
    """The least and the most; None: there are none, or one is missing."""
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known and len(known) == len(values) else None


# What is compared.


def jitter_s(results: Iterable[CaseResult]) -> float:
    """How far the longest gaps of one case, with one library on one broker, lie apart at most.

    Those that are as long as a restart, or the broker was away, tell nothing of that, nor do those
    of a machine that stood still.
    """
    spreads = [LEAST_JITTER_S]
    for result in results:
        calm = [one for one in result.real if one.stood_still_s <= CALM_S]
        gaps = [one.longest_gap_s for one in calm if one.waited_for_nobody]
        spreads.append(max(gaps, default=0) - min(gaps, default=0))
    return max(spreads)


def differences(result: CaseResult, jitter: float) -> list[str]:
    """The figures that are not as simulated.

    Counts must lie in the range of the seeds, which mostly is one number; times too, or as near to
    it as the jitter, and as long as the machine stood still.
    """
    found = []
    for figure in (*COUNTS, *TIMES):
        expected, happened = result.simulated.get(figure), result.happened(figure)
        if expected is None or happened is None:
            found.append(figure)
            continue
        spare = jitter + max(one.stood_still_s for one in result.real) if figure in TIMES else 0
        if happened[0] < expected[0] - spare or happened[1] > expected[1] + spare:
            found.append(figure)
    return found


def beyond(result: CaseResult, figure: str) -> float:
    """How far outside of the range that was simulated a figure is at most."""
    expected, happened = result.simulated.get(figure), result.happened(figure)
    if expected is None or happened is None:
        return float("inf")
    return max(expected[0] - happened[0], happened[1] - expected[1], 0.0)


# What is kept.


def read_results(path: Path) -> list[CaseResult]:
    """The results in a file, in the order of cases; none if there is no file."""
    if not path.exists():
        return []
    found = msgspec.convert(read_json(path), list[CaseResult])
    return sorted(found, key=_place)


def write_results(path: Path, results: Iterable[CaseResult]) -> None:
    """Write them: a line for each run, so that changes can be read."""
    rows: list[Any] = [msgspec.to_builtins(result) for result in sorted(results, key=_place)]
    text = msgspec.json.format(msgspec.json.encode(rows), indent=1)
    path.write_bytes(text + b"\n")


def _place(result: CaseResult) -> tuple[int, str, str]:
    return list(CASES_BY_NAME).index(result.case), result.broker, result.client
