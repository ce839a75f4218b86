"""Runs a scenario: `simulate`, of plain values that can be sent to other processes and machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from fencepost.conformance.simulate.consumption import PartitionTimes, consumption, far_ms
from fencepost.conformance.simulate.cost import Cost, FailureRow, PartitionRow, RebalanceRow
from fencepost.conformance.simulate.deployment import RunningDeployment, host_of
from fencepost.conformance.simulate.deployment_scenario import DeploymentScenario, ScenarioError
from fencepost.conformance.simulate.durations import Spread, draw_ms
from fencepost.conformance.simulate.member_settings import BEAT_MS
from fencepost.conformance.simulate.perform_steps import Performer, all_steps, perform, until
from fencepost.conformance.simulate.rebalance_log import SimulatedRebalance
from fencepost.conformance.simulate.traffic import traffic_of

_FORMS_S = 3600.0
"""How long a group may take to form."""


class SimulationRun(msgspec.Struct, frozen=True):
    """What `simulate` takes: a scenario, what it is called, a seed, and how much to keep.

    `is_brief`: without the rows of rebalances and partitions.  `skips`: heartbeats that change
    nothing are skipped; the results are the same.
    """

    scenario: DeploymentScenario
    variant: str = ""
    seed: int = 0
    is_brief: bool = False
    skips: bool = True


def simulate(run: SimulationRun) -> Cost:
    """Run a scenario.  Raises ScenarioError where the group doesn't even form."""
    deployment = RunningDeployment(run.scenario, run.seed, skips=run.skips)
    begin_ms = _form(deployment)
    performer, limit_s = Performer(deployment), run.scenario.settle_s
    performer.add(all_steps(deployment, [s for s in run.scenario.step if s.at_s is None]))
    for step in run.scenario.step:
        if step.at_s is not None:
            performer.add(perform(deployment, step), round(step.at_s * 1000))
    performer.run(deployment.sim.run_for)
    if deployment.consumers or deployment.is_awaited:
        performer.add(until(deployment, deployment.is_balanced, limit_s))
        performer.run(deployment.sim.run_for)
    deployment.sim.run_for(_resume_ms(run.scenario))
    return _cost(run, deployment, begin_ms)


def _form(deployment: RunningDeployment) -> int:
    """Start all processes, and wait for the group; returns when the first step begins.

    That is within a heartbeat interval from then, by the seed.
    """
    sim = deployment.sim
    for host in deployment.hosts.values():
        deployment.start(host)
    performer = Performer(deployment)
    performer.add(
        until(deployment, lambda: deployment.is_balanced() or bool(deployment.failures), _FORMS_S)
    )
    performer.run(deployment.sim.run_for)
    if not deployment.is_balanced():
        why = "it is not balanced within an hour"
        if deployment.failures:
            failure = deployment.failures[0]
            why = f"{failure.member} is told {failure.code} ({failure.where})"
        raise ScenarioError(f"the group does not form: {why}; change the scenario's settings")
    beat_s = (deployment.scenario.settings.heartbeat_interval_ms or BEAT_MS) / 1000
    sim.run_for(draw_ms(Spread(least=0, most=beat_s), f"{deployment.seed}/begin"))
    sim.rest_no_more()
    sim.history.clear()
    sim.skipped.clear()
    deployment.log.rebalances.clear()
    return sim.now_ms


def _cost(run: SimulationRun, deployment: RunningDeployment, begin_ms: int) -> Cost:
    sim, scenario = deployment.sim, run.scenario
    sim.rest_no_more()
    partitions = scenario.all_partitions
    window = begin_ms, sim.now_ms, _resume_ms(scenario)
    times = consumption(sim.told, deployment.ended, partitions, *window)
    rebalances = deployment.log.rebalances
    apis = traffic_of(sim.history, sim.skipped)
    return Cost(
        scenario=scenario.name,
        variant=run.variant,
        seed=run.seed,
        members=scenario.members * scenario.threads,
        partitions=len(partitions),
        rebalances=len(rebalances),
        generations=sum(rebalance.completed_ms is not None for rebalance in rebalances),
        partitions_moved=sum(each.moves for each in times),
        unavailable_partition_s=_s(sum(each.unavailable_ms for each in times)),
        longest_gap_s=_s(max(each.longest_gap_ms for each in times)),
        twice_partition_s=_s(sum(each.twice_ms for each in times)),
        far_partition_s=_far_s(deployment, times),
        balanced_after_s=_balanced_after_s(deployment, times, begin_ms),
        lasted_s=_s(sim.now_ms - begin_ms),
        requests=sum(each.requests for each in apis.values()),
        bytes=sum(each.bytes_in + each.bytes_out for each in apis.values()),
        causes=dict(Counter(rebalance.cause.value for rebalance in rebalances).most_common()),
        halted=tuple(deployment.halted),
        failures=tuple(
            FailureRow(_s(each.at_ms - begin_ms), each.member, each.code, each.where)
            for each in deployment.failures
        ),
        apis=apis,
        each_rebalance=() if run.is_brief else tuple(_row(r, begin_ms) for r in rebalances),
        each_partition=() if run.is_brief else tuple(_times(each, begin_ms) for each in times),
    )


def _far_s(deployment: RunningDeployment, times: Sequence[PartitionTimes]) -> float | None:
    if deployment.scenario.replicas is None:
        return None
    host_racks = {host.name: host.rack for host in deployment.hosts.values()}
    return _s(far_ms(times, lambda member: host_racks[host_of(member)], deployment.placements))


def _balanced_after_s(
    deployment: RunningDeployment, times: Sequence[PartitionTimes], begin_ms: int
) -> float | None:
    """When the last rebalance was over, and the last partition found its owner."""
    if not deployment.is_balanced():
        return None
    ends = [each.stable_ms or 0 for each in deployment.log.rebalances]
    given = [held.from_ms for each in times for held in each.held]
    return _s(max([begin_ms, *ends, *given]) - begin_ms)


def _resume_ms(scenario: DeploymentScenario) -> int:
    return round(scenario.resume_s * 1000)


def _s(ms: int) -> float:
    return round(ms / 1000, 3)


def _row(rebalance: SimulatedRebalance, begin_ms: int) -> RebalanceRow:
    stable_ms = rebalance.stable_ms
    return RebalanceRow(
        at_s=_s(rebalance.at_ms - begin_ms),
        cause=rebalance.cause.value,
        who=rebalance.who,
        note=rebalance.note,
        also=tuple(rebalance.also),
        generation=rebalance.generation,
        members=rebalance.members,
        took_s=None if stable_ms is None else _s(stable_ms - rebalance.at_ms),
    )


def _times(each: PartitionTimes, begin_ms: int) -> PartitionRow:
    return PartitionRow(
        topic=each.partition.topic,
        partition=each.partition.partition,
        unavailable_s=_s(each.unavailable_ms),
        longest_gap_s=_s(each.longest_gap_ms),
        twice_s=_s(each.twice_ms),
        moves=each.moves,
        held=tuple(
            (_s(row.from_ms - begin_ms), _s(row.until_ms - begin_ms), row.member)
            for row in each.held
        ),
    )
