"""Compare real runs with simulated ones: equal counts, times within the jitter.

The simulator gets the real restart times, and the real outage of the broker; random times (the
begin of a step between two heartbeats) are simulated with several seeds.

The cases are scenarios in forms, with short times.  `resumes_s` takes from real bounces the time
from an assignment until the member reads: the wait of each partition in each eager rebalance,
beyond the time of messages, for members that answer late and for the library's own work.  A
simulation of the same bounce has the rest.

Each difference to the simulation has a reason in REASONS, which was examined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import msgspec

from fencepost.conformance.simulate.deployment_scenario import (
    BounceStep,
    DeploymentScenario,
    FailoverStep,
    MemberSettings,
    ScaleStep,
    Spread,
    Step,
    find_scenario,
)
from fencepost.conformance.simulate.simulate import Cost, SimulationRun, simulate
from fencepost.conformance.simulate.sweep import variants_of
from fencepost.traces.files.bounded import read_json
from fencepost.traces.operations.operator_rows import Cause
from tools.deployments.real_deployment import RealFigures, most_at_once

MEMBERS, PARTITIONS = 12, 60
BROKERS = ("4.3.0", "2.8.0")
CLIENTS = ("java:4.3.0", "confluent-kafka:2.16.1")
SESSION_S, BEAT_S = 10.0, 1.0
_QUICK = MemberSettings(
    session_timeout_ms=round(SESSION_S * 1000),
    heartbeat_interval_ms=round(BEAT_S * 1000),
    max_poll_interval_ms=60_000,
)
_RESTART_S = 2.0
_LATE_S = 15.0
"""Longer than a session."""
_SETTLE_S = 60.0


@dataclass(frozen=True, slots=True)
class DeploymentCase:
    """A scenario in a form.

    `name`: of the case; `form`: as `simulate --compare` names it, None: as in the scenario;
    `share`: of the members, where it takes long.
    """

    name: str
    scenario: str
    form: str | None = None
    restart_s: float = _RESTART_S
    share: int = 1

    def at(self, members: int = MEMBERS, partitions: int = PARTITIONS) -> DeploymentScenario:
        """Return the scenario, with this many members and partitions, and with short times.

        Members read at once: the comparison measures the extra time of a real rebalance.
        """
        scenario = find_scenario(self.scenario)
        members, partitions = members // self.share, partitions // self.share
        quick = msgspec.structs.replace(
            scenario,
            name=self.name,
            members=members,
            partitions=partitions,
            settings=_QUICK.over(scenario.settings),
            restart_s=self.restart_s,
            resume_s=0.0,
            settle_s=_SETTLE_S,
            step=tuple(_scaled(step, scenario.members, members) for step in scenario.step),
        )
        return variants_of(quick, self.form)[self.form] if self.form else quick

    def lacks(self, client: str) -> str:
        """Return the reason why a client can't take part; empty: it can."""
        if self.scenario.startswith("to-cooperative") and client.startswith("confluent-kafka"):
            return "librdkafka refuses to offer an eager and a cooperative assignor together"
        return ""


def _scaled(step: Step, before: int, members: int) -> Step:
    """Return a step that adds or takes away as many hosts as it does in the scenario."""
    if isinstance(step, ScaleStep):
        return msgspec.structs.replace(step, to=members + step.to - before)
    if isinstance(step, BounceStep) and step.set.session_timeout_ms:
        return msgspec.structs.replace(step, set=_with_short_session(step.set))
    return step


def _with_short_session(settings: MemberSettings) -> MemberSettings:
    return msgspec.structs.replace(settings, session_timeout_ms=_QUICK.session_timeout_ms)


CASES = (
    DeploymentCase("bounce-eager", "rolling-bounce", "eager"),
    DeploymentCase("bounce-cooperative", "rolling-bounce", "cooperative"),
    DeploymentCase("bounce-static", "rolling-bounce", "static"),
    DeploymentCase("bounce-static-cooperative", "rolling-bounce", "static+cooperative"),
    DeploymentCase("crash-eager", "crash", "eager"),
    DeploymentCase("crash-static", "crash", "static"),
    DeploymentCase("crash-static-late", "crash", "static", _LATE_S),
    DeploymentCase("scale-up-eager", "scale-up", "eager"),
    DeploymentCase("scale-up-cooperative", "scale-up", "cooperative"),
    DeploymentCase("scale-down-eager", "scale-down", "eager"),
    DeploymentCase("scale-down-static", "scale-down", "static"),
    DeploymentCase("scale-down-removed", "scale-down-removed", "static"),
    DeploymentCase("second-process", "second-process", "static"),
    DeploymentCase("to-static", "to-static", share=3),
    DeploymentCase("to-dynamic", "to-dynamic", share=3),
    DeploymentCase("to-cooperative", "to-cooperative", share=3),
    DeploymentCase("to-cooperative-at-once", "to-cooperative-at-once", share=3),
    DeploymentCase("failover", "failover", "static"),
)
CASES_BY_NAME = {case.name: case for case in CASES}


SEEDS = 10
COUNTS = ("rebalances", "partitions_moved", "partitions_stopped", "failed")
TIMES = ("longest_gap_s",)
CAUSE_COUNTS = {
    "leaves": (Cause.LEAVE,),
    "expiries": (Cause.EXPIRY,),
    "new_members": (Cause.NEW_MEMBER,),
    "rejoins": (Cause.MEMBER_REJOIN, Cause.LEADER_REJOIN, Cause.CHANGED_SUBSCRIPTION),
}
"""Counts of rebalances by cause.  Which of several members joins again first is chance."""
ALL_FIGURES = (
    *COUNTS,
    *TIMES,
    "stopped_at_once",
    "unavailable_partition_s",
    "twice_partition_s",
    "balanced_after_s",
)
LEAST_JITTER_S = 0.1
"""Interval of a health check, the best precision of a time."""
CALM_S = 0.5
"""The longest standstill of the machine, in s, at which times still describe the deployment."""
LATER = frozenset({"stopped_at_once", *CAUSE_COUNTS})
"""Figures that the oldest kept runs don't have."""
Range = tuple[float, float]


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """A case with a library on a broker: each real run, and the simulated figures.

    `simulated`: the range of each figure; a figure that not all runs have is left out.
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
        """Case, library and broker."""
        return self.case, self.broker, self.client

    @property
    def scenario(self) -> DeploymentScenario:
        """Return the scenario that was performed."""
        return CASES_BY_NAME[self.case].at(self.members, self.partitions)

    def happened(self, figure: str) -> Range | None:
        """Return the least and the most of a figure; None: a run has none."""
        values = [_happened(run, figure) for run in self.real]
        return range_of([v for v in values if v is not None] if figure in LATER else values)

    def resimulated(self) -> CaseResult:
        """Return a copy with new simulated figures."""
        return msgspec.structs.replace(self, simulated=simulated(self.scenario, self.real))


def simulated(
    scenario: DeploymentScenario, real: Sequence[RealFigures], seeds: int = SEEDS
) -> dict[str, Range]:
    """Return the figures' ranges over the seeds, with the real restart times and outages."""
    downs = [seconds for run in real for seconds in run.downs_s]
    restarts = tuple(seconds for run in real for seconds in run.restarts_s)
    as_performed = msgspec.structs.replace(
        scenario,
        restart_s=Spread(values=restarts) if restarts else scenario.restart_s,
        step=tuple(_as_it_was(step, downs) for step in scenario.step),
    )
    costs = [simulate(SimulationRun(as_performed, seed=seed)) for seed in range(seeds)]
    names = (*ALL_FIGURES, *CAUSE_COUNTS)
    ranges = {name: range_of([_figure(cost, name) for cost in costs]) for name in names}
    return {name: span for name, span in ranges.items() if span is not None}


def _as_it_was(step: Step, downs: list[float]) -> Step:
    if isinstance(step, FailoverStep) and downs:
        return msgspec.structs.replace(step, down_s=Spread(values=tuple(downs)))
    return step


def _happened(run: RealFigures, figure: str) -> float | None:
    """Return a figure of a real run; None: an old run that doesn't have it."""
    if figure not in CAUSE_COUNTS:
        value: float | None = getattr(run, figure)
        return value
    if run.rebalances and not run.causes:
        return None
    return sum(run.causes.get(cause.value, 0) for cause in CAUSE_COUNTS[figure])


def _figure(cost: Cost, name: str) -> float | None:
    if name in CAUSE_COUNTS:
        words = {cause.value for cause in CAUSE_COUNTS[name]}
        completed = (row for row in cost.each_rebalance if row.generation is not None)
        return sum(row.cause in words for row in completed)
    match name:
        case "partitions_stopped":
            return sum(row.unavailable_s > 0 for row in cost.each_partition)
        case "rebalances":
            return cost.generations
        case "stopped_at_once":
            return most_at_once((row.held for row in cost.each_partition), 0, cost.lasted_s)
        case "failed":
            return len(cost.failures)
    value: float | None = getattr(cost, name)
    return value


def range_of(values: Sequence[float | None]) -> Range | None:
    """Return the least and the most; None: there are none, or one is missing."""
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known and len(known) == len(values) else None


# Comparison.


def jitter_s(results: Iterable[CaseResult]) -> float:
    """Return the largest difference of the longest gaps of one case and library on one broker.

    Gaps that are as long as a restart or an outage of the broker say nothing about it, nor do those
    of a machine that stood still.
    """
    spreads = [LEAST_JITTER_S]
    for result in results:
        calm = [run for run in result.real if run.stood_still_s <= CALM_S]
        gaps = [run.longest_gap_s for run in calm if run.waited_for_nobody]
        spreads.append(max(gaps, default=0) - min(gaps, default=0))
    return max(spreads)


def differences(result: CaseResult, jitter: float) -> list[str]:
    """Return the figures that differ from the simulation.

    Counts must lie in the range of the seeds, which mostly is one number.  Times must lie in it, or
    differ by at most the jitter and the time that the machine stood still.
    """
    wrong = []
    for figure in (*COUNTS, *CAUSE_COUNTS, *TIMES):
        expected, happened = result.simulated.get(figure), result.happened(figure)
        if expected is None or happened is None:
            if figure not in LATER:
                wrong.append(figure)
            continue
        spare = jitter + max(run.stood_still_s for run in result.real) if figure in TIMES else 0
        if happened[0] < expected[0] - spare or happened[1] > expected[1] + spare:
            wrong.append(figure)
    return wrong


def beyond(result: CaseResult, figure: str) -> float:
    """Return the largest distance of a figure to its simulated range."""
    expected, happened = result.simulated.get(figure), result.happened(figure)
    if expected is None or happened is None:
        return float("inf")
    return max(expected[0] - happened[0], happened[1] - expected[1], 0.0)


# Files.


def read_results(path: Path) -> list[CaseResult]:
    """Return the results in a file, in the order of cases; none if there is no file."""
    if not path.exists():
        return []
    results = msgspec.convert(read_json(path), list[CaseResult])
    return sorted(results, key=_place)


def write_results(path: Path, results: Iterable[CaseResult]) -> None:
    """Write the results, a line for each run, so that changes can be read."""
    rows: list[Any] = [msgspec.to_builtins(result) for result in sorted(results, key=_place)]
    text = msgspec.json.format(msgspec.json.encode(rows), indent=1)
    path.write_bytes(text + b"\n")


def _place(result: CaseResult) -> tuple[int, str, str]:
    return list(CASES_BY_NAME).index(result.case), result.broker, result.client


CASE = "bounce-eager"
"""The case in which each rebalance assigns all partitions anew, without waits for sessions."""
_FIGURE = "unavailable_partition_s"


def resumes_s(results: Iterable[CaseResult]) -> list[float]:
    """Return the seconds per partition and rebalance, in order, for each run of the bounce."""
    return sorted(
        (real.unavailable_partition_s - mean(result.simulated[_FIGURE]))
        / (real.rebalances * result.partitions)
        for result in results
        if result.case == CASE and _FIGURE in result.simulated
        for real in result.real
    )


_WAITS = 3
"""The number of waits of a rebalance for each member: until it hears of it, joins, and syncs."""


@dataclass(frozen=True, slots=True)
class Reason:
    """The cause of a difference, and the known facts about it.

    `cases`, `figures`: of its observations; `client`: the library that does so, empty: all;
    `least_still_s`: only where the machine stood still for this long.  `beyond`: the tolerance
    outside of the simulated range, and `stalls` times as long as the machine stood still.
    """

    title: str
    text: str
    cases: tuple[str, ...]
    figures: tuple[str, ...]
    beyond: float
    stalls: int = 0
    client: str = ""
    least_still_s: float = 0.0

    def fits(self, result: CaseResult, figure: str) -> bool:
        """Return True if it explains why this figure differs."""
        still_s = max(run.stood_still_s for run in result.real)
        return (
            result.case in self.cases
            and figure in self.figures
            and result.client.startswith(self.client)
            and still_s >= self.least_still_s
            and beyond(result, figure) <= self.beyond + self.stalls * still_s
        )


REASONS = {
    "heartbeats-out-of-step": Reason(
        title="Heartbeats out of step (the simulator)",
        text="""\
In the simulator all members send their heartbeats at the same moment: the answers to a rebalance
start all timers together, and the first step comes within a heartbeat interval. So all members
notice the next rebalance together, and an eager group stops for some ms. Real clocks drift: after a
quiet minute the heartbeats of six Java consumers were spread over the whole second, and two new
members stopped all partitions for 1.2 s instead of the simulated 0.01 s (the machine caused up to
0.7 s of that). The first member that notices the rebalance gives its partitions back and waits for
the last one. So in a group that was stable for long expect a gap of up to a heartbeat interval (3 s
in the Java client).""",
        cases=("scale-up-eager",),
        figures=("longest_gap_s",),
        beyond=BEAT_S,
        stalls=1,
    ),
    "end-of-the-outage": Reason(
        title="When the outage ends (the measurement)",
        text="""\
The simulator gets the measured length of the outage, which ends when our own client sees that the
coordinator has read the group. A consumer may see it a little earlier.""",
        cases=("failover",),
        figures=("longest_gap_s",),
        beyond=1.0,
    ),
    "joins-again-later": Reason(
        title="Two seconds until the next join (librdkafka)",
        text="""\
A broker that has just started answers NOT_COORDINATOR until it has read the group. After this
answer to its JoinGroup librdkafka looked for the coordinator at once and got the same broker within
3 ms, but joined only 2.1 to 2.8 s later, as our proxy recorded (also with
`reconnect.backoff.max.ms` at 500). The group was ready long before. The simulator's client behaves
like Java's, which tries again after a tenth of a second.""",
        cases=("failover",),
        figures=("longest_gap_s",),
        beyond=3.0,
        client="confluent-kafka",
    ),
    "rebalance-after-the-outage": Reason(
        title="A rebalance after the outage (the Java consumer)",
        text="""\
In two of three runs the Java consumers on kafka:4.3.0 rebalanced once after the broker was back,
for about a second, and each kept its partitions. The leader had joined again because its cached
metadata had changed (the proxy recorded the reason in the third run). It compares the partitions of
the topic with those that it assigned, and a starting broker may report others for a moment. Chance
decides whether a leader asks in that moment. librdkafka's leader did not in any run.""",
        cases=("failover",),
        figures=("rebalances", "rejoins"),
        beyond=1,
        client="java",
    ),
    "order-of-members": Reason(
        title="The order of members (librdkafka)",
        text="""\
The assignor `range` assigns partitions to members in an order. In Java static members come before
dynamic ones, so in a mixed group nearly all partitions move. librdkafka compares a static member
with a dynamic one by their member ids, which begin with the instance id, or with the client id.
Both were the same here, so each dynamic process got the partitions of its static predecessor, and
none moved. With client ids in another order partitions can move with librdkafka, too.""",
        cases=("to-dynamic",),
        figures=("partitions_moved",),
        beyond=80,
        client="confluent-kafka",
    ),
    "machine": Reason(
        title="The machine",
        text="""\
A rebalance waits three times for the slowest of twelve processes: until it notices the rebalance,
joins, and syncs. This machine had two cores and other work. Where our own client waited for more
than half a second, a member may have waited as long each time, and no heartbeat shows it. A
difference of more than a heartbeat interval is not excused.""",
        cases=tuple(CASES_BY_NAME),
        figures=("longest_gap_s",),
        beyond=BEAT_S,
        stalls=_WAITS,
        least_still_s=CALM_S,
    ),
}


def reason(result: CaseResult, figure: str) -> str | None:
    """Return the name of the reason why a figure differs; None: it is unknown."""
    return next((name for name, entry in REASONS.items() if entry.fits(result, figure)), None)
