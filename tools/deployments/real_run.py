"""Performs a scenario on a real Kafka with real consumers, and says what it came to.

The figures are the simulator's: the same functions count them, from what users saw and what the
broker answered.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from statistics import quantiles

import msgspec

from fencepost.conformance.clients.driver import DriverError
from fencepost.conformance.clients.driver_pool import DriverPool
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.simulate.consumption import consumption
from fencepost.conformance.simulate.deployment_scenario import DeploymentScenario
from fencepost.conformance.simulate.deployment_steps import BounceStep, CrashLoopStep, ScaleStep
from fencepost.conformance.simulate.durations import Spread, draw_ms
from fencepost.conformance.simulate.member_settings import BEAT_MS
from fencepost.conformance.simulate.perform_steps import Performer, all_steps, perform, until
from fencepost.conformance.targets.tcp.cluster_admin import AdminError
from fencepost.model.messages.subscription import TopicPartition
from tools.deployments.real_deployment import DeploymentError, RealDeployment
from tools.deployments.real_kafka import RealKafka
from tools.deployments.stops import most_at_once

_FORMS_S = 180.0
"""How long a group may take to form, where processes start on a busy machine."""

_ENOUGH = 20
_DISTURBED_MS = 1500
"""No broker answers so late by itself; a session is not yet in danger."""


class RealFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a scenario came to on a real Kafka.

    `restarts_s`, `downs_s`: how long hosts had no process that asked to join, and the broker was
    away; what they are compared with is simulated with these.  `control_ms`: how long a client of
    our own waited at most for an answer of the broker: more than a few ms is the machine.
    `beats_ms`: the 5th, 50th and 95th percentile of the times between heartbeats; `late_ms`: how
    much later than it was due one came at most, so for how long a member stood still.  `reasons`:
    how often members told each reason to join again.
    """

    rebalances: int
    partitions_moved: int
    partitions_stopped: int
    unavailable_partition_s: float
    longest_gap_s: float
    twice_partition_s: float
    balanced_after_s: float | None
    lasted_s: float
    restarts_s: tuple[float, ...]
    downs_s: tuple[float, ...]
    control_ms: int
    beats_ms: tuple[int, ...]
    late_ms: int = 0
    stopped_at_once: int | None = None
    halted: tuple[str, ...]
    failures: tuple[str, ...]
    reasons: dict[str, int] = {}

    @property
    def failed(self) -> int:
        """How many processes were told a fatal error."""
        return len(self.failures)

    @property
    def stood_still_s(self) -> float:
        """For how long the machine did, as a member or our own client knows; not the broker."""
        return 0.0 if self.downs_s else max(self.control_ms, self.late_ms) / 1000

    @property
    def waited_for_nobody(self) -> bool:
        """Whether its longest gap was no restart's, and no outage's."""
        return not self.downs_s and all(self.longest_gap_s < one for one in self.restarts_s)

    @property
    def was_disturbed(self) -> bool:
        """Whether the machine stood still; a broker that is away keeps our client waiting, too."""
        return self.control_ms > _DISTURBED_MS and not self.downs_s


async def perform_for_real(
    scenario: DeploymentScenario, seed: int, kafka: RealKafka, pool: DriverPool, name: str
) -> RealFigures:
    """Perform a scenario in a group of this name, which was never used.

    Raises DeploymentError where nothing can be said: the group doesn't form, a driver fails.
    """
    kafka.proxy.history.exchanges.clear()
    deployment = RealDeployment(scenario, seed, kafka, pool, name)
    try:
        await pool.warm(_processes(scenario))
        await kafka.proxy.create_topics({name: sum(scenario.counts.values())})
        begin_ms, formed = await _form(deployment)
        performer = Performer(deployment)
        performer.add(all_steps(deployment, [s for s in scenario.step if s.at_s is None]))
        for step in scenario.step:
            if step.at_s is not None:
                performer.add(perform(deployment, step), round(step.at_s * 1000))
        await _run(deployment, performer)
        performer.add(until(deployment, deployment.is_balanced, scenario.settle_s))
        await _run(deployment, performer)
        return _figures(deployment, begin_ms, formed)
    except (AdminError, DriverError, TargetUnavailableError) as error:
        raise DeploymentError(str(error)) from error
    finally:
        await deployment.close()


def _processes(scenario: DeploymentScenario) -> int:
    """How many processes are started in all, so that nobody waits for one."""
    count = scenario.members
    for step in scenario.step:
        match step:
            case BounceStep():
                count += step.at_most or scenario.members
            case CrashLoopStep():
                count += step.times * step.count
            case ScaleStep():
                count += max(step.to - scenario.members, 0)
            case _:
                count += 1
    return count


async def _form(deployment: RealDeployment) -> tuple[int, int]:
    """Start all, and wait for the group: when the first step begins, and the generation then."""
    for host in deployment.hosts.values():
        deployment.start(host)
    performer = Performer(deployment)
    performer.add(until(deployment, deployment.is_balanced, _FORMS_S))
    await _run(deployment, performer)
    if not deployment.is_balanced():
        raise DeploymentError(f"the group {deployment.name} is not balanced within {_FORMS_S:g} s")
    beat_s = (deployment.scenario.settings.heartbeat_interval_ms or BEAT_MS) / 1000
    await asyncio.sleep(draw_ms(Spread(least=0, most=beat_s), f"{deployment.seed}/begin") / 1000)
    deployment.check()
    return deployment.now_ms, deployment.wire.generation_id


async def _run(deployment: RealDeployment, performer: Performer) -> None:
    """Do what is due when it is due."""
    while (next_ms := performer.next_ms) is not None:
        await asyncio.sleep(max(next_ms - deployment.now_ms, 0) / 1000)
        deployment.check()
        performer.go_on()


def _figures(deployment: RealDeployment, begin_ms: int, formed: int) -> RealFigures:
    deployment.check()
    end_ms = deployment.now_ms
    partitions = [
        TopicPartition(topic, number)
        for topic, count in deployment.scenario.counts.items()
        for number in range(count)
    ]
    times = consumption(deployment.told, deployment.ended, partitions, begin_ms, end_ms)
    completed = [at for generation, at in deployment.wire.completed.items() if generation > formed]
    given = [held.from_ms for each in times for held in each.held]
    is_balanced = deployment.is_balanced()
    beat_ms = deployment.scenario.settings.heartbeat_interval_ms or BEAT_MS
    return RealFigures(
        rebalances=len(completed),
        partitions_moved=sum(each.moves for each in times),
        partitions_stopped=sum(each.unavailable_ms > 0 for each in times),
        unavailable_partition_s=_s(sum(each.unavailable_ms for each in times)),
        longest_gap_s=_s(max(each.longest_gap_ms for each in times)),
        twice_partition_s=_s(sum(each.twice_ms for each in times)),
        balanced_after_s=_s(max([begin_ms, *completed, *given]) - begin_ms)
        if is_balanced
        else None,
        lasted_s=_s(end_ms - begin_ms),
        restarts_s=tuple(round(seconds, 3) for seconds in deployment.restarts_s),
        downs_s=tuple(round(seconds, 3) for seconds in deployment.downs_s),
        control_ms=deployment.worst_ms(begin_ms, end_ms),
        stopped_at_once=most_at_once((each.held for each in times), begin_ms, end_ms),
        beats_ms=_percentiles(deployment.wire.beats_ms),
        late_ms=round(max([beat_ms, *deployment.wire.beats_ms]) - beat_ms),
        halted=tuple(deployment.halted),
        failures=tuple(f"{f.member}: {f.code} ({f.where})" for f in deployment.failures),
        reasons=dict(Counter(why for at, why in deployment.wire.reasons if at >= begin_ms)),
    )


def _percentiles(values: list[float]) -> tuple[int, ...]:
    if len(values) < _ENOUGH:
        return ()
    cuts = quantiles(values, n=20)
    return tuple(round(cuts[place]) for place in (0, 9, 18))


def _s(ms: float) -> float:
    return round(ms / 1000, 3)
