"""A deployment while its steps are performed: hosts, their processes, and whether all is well.

A host runs one process, with a consumer or more; each start of it is a new process, called
`app-1#2`.  Restart times are drawn by host and number, so that the same seed gives the same ones
whatever else is compared.  What is performed on a simulation can be performed on real processes.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fencepost.conformance.simulate.deployment_scenario import DeploymentScenario
from fencepost.conformance.simulate.deployment_steps import MoveReplicasStep, ScaleStep
from fencepost.conformance.simulate.durations import draw_ms
from fencepost.conformance.simulate.member_settings import (
    A_YEAR_MS,
    DEFAULTS,
    GROUP_ID,
    METADATA_MS,
    MemberSettings,
)
from fencepost.conformance.simulate.quiet_simulation import QuietSimulation
from fencepost.conformance.simulate.rebalance_log import RebalanceLog, place_of
from fencepost.conformance.simulate.simulation import Exchange, Simulation
from fencepost.model.client.client_interface import ErrorTold
from fencepost.model.client.client_state import Phase
from fencepost.model.client.consumer_settings import ClientSettings
from fencepost.model.messages.errors import Error
from fencepost.model.table.vocabulary import GroupState

_THREAD = "-thread-"


@dataclass(slots=True)
class HostProcess:
    """A process of a host: its consumers, and the instance ids that they have."""

    consumers: tuple[str, ...]
    instances: tuple[str, ...]


@dataclass(slots=True)
class Host:
    """A place for a process; `running`: the process, or two, the older first.

    `failed`: how many processes of it were told a fatal error; `is_awaited`: the last one did, and
    the next will be started.
    """

    name: str
    rack: str | None
    settings: MemberSettings
    running: list[HostProcess] = field(default_factory=list)
    started: int = 0
    failed: int = 0
    is_awaited: bool = False


@dataclass(frozen=True, slots=True)
class ProcessFailure:
    """A process that was told a fatal error, and ended."""

    at_ms: int
    member: str
    code: str
    where: str


class Deployment(ABC):
    """A scenario's hosts, whatever they run on.

    `ended`: when each process that was killed was, by consumer; `halted`: rollouts that stopped.
    """

    def __init__(self, scenario: DeploymentScenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        self.hosts: dict[str, Host] = {}
        self.failures: list[ProcessFailure] = []
        self.halted: list[str] = []
        self.ended: dict[str, int] = {}
        moves = any(isinstance(step, MoveReplicasStep) for step in scenario.step)
        self._metadata_ms = METADATA_MS if moves else A_YEAR_MS
        sizes = [step.to for step in scenario.step if isinstance(step, ScaleStep)]
        self._digits = len(str(max([scenario.members, *sizes])))
        self.add_hosts(scenario.members, scenario.settings.over(DEFAULTS))

    # What it runs on.

    @property
    @abstractmethod
    def now_ms(self) -> int:
        """The clock."""

    @abstractmethod
    def start_consumer(self, consumer: str, settings: ClientSettings) -> None:
        """Start a consumer in a process of its own."""

    @abstractmethod
    def close_consumer(self, consumer: str) -> None:
        """Let a consumer end in good order."""

    @abstractmethod
    def kill_consumer(self, consumer: str) -> None:
        """Let its process end at once."""

    @abstractmethod
    def remove(self, instances: Iterable[str]) -> None:
        """An administrator removes static members."""

    @abstractmethod
    def take_down(self) -> None:
        """From now on nobody reaches a broker."""

    @abstractmethod
    def bring_back(self) -> None:
        """Brokers are reached again, and another one coordinates the group."""

    @abstractmethod
    def move_replicas(self) -> None:
        """Let the replicas of each partition be in the next racks."""

    @abstractmethod
    def new_failures(self) -> Iterable[tuple[str, ProcessFailure]]:
        """The fatal errors since the last call, with the consumers that were told them."""

    @abstractmethod
    def is_balanced(self) -> bool:
        """Whether every consumer that runs is a member, nobody else is, and all is consumed."""

    # Hosts and processes.

    def add_hosts(self, count: int, settings: MemberSettings) -> list[Host]:
        """Add hosts, on which nothing runs yet."""
        added = []
        for _ in range(count):
            number = len(self.hosts) + 1
            racks = self.scenario.racks
            rack = racks[(number - 1) % len(racks)] if racks else None
            host = Host(f"app-{number:0{self._digits}}", rack, settings)
            self.hosts[host.name] = host
            added.append(host)
        return added

    def start(self, host: Host) -> None:
        """Start a process of a host."""
        host.started += 1
        host.is_awaited = False
        names = [host.name]
        if self.scenario.threads > 1:
            threads = range(1, self.scenario.threads + 1)
            names = [f"{host.name}{_THREAD}{number}" for number in threads]
        consumers = tuple(f"{name}#{host.started}" for name in names)
        instances = [host.settings.instance_of(name) for name in names]
        host.running.append(HostProcess(consumers, tuple(i for i in instances if i is not None)))
        topics = tuple(self.scenario.counts)
        for name, consumer in zip(names, consumers, strict=True):
            settings = host.settings.client(name, topics, host.rack, self._metadata_ms)
            self.start_consumer(consumer, settings)

    def stop(self, host: Host, process: HostProcess | None = None) -> HostProcess:
        """Stop a process of a host, the oldest, in good order."""
        process = process or host.running[0]
        host.running.remove(process)
        for consumer in process.consumers:
            self.close_consumer(consumer)
        return process

    def kill(self, host: Host, process: HostProcess | None = None) -> HostProcess:
        """Let a process end at once."""
        process = process or host.running[0]
        host.running.remove(process)
        for consumer in process.consumers:
            self.kill_consumer(consumer)
            self.ended[consumer] = self.now_ms
        return process

    def restart_ms(self, host: Host) -> int:
        """How long it takes until the next process of a host polls."""
        return draw_ms(self.scenario.restart_s, f"{self.seed}/{host.name}/{host.started}")

    def note_failures(self) -> Iterator[Host]:
        """Yield the hosts whose process was told a fatal error since the last call; it ends."""
        for consumer, failed in self.new_failures():
            self.failures.append(failed)
            for host in self.hosts.values():
                for process in host.running:
                    if consumer in process.consumers:
                        self.kill(host, process)
                        host.failed += 1
                        host.is_awaited = self.scenario.restart_failed
                        yield host
                        break

    def pause_ms(self, host: Host) -> int:
        """How long a host whose process failed again waits: 10 s, twice that, up to 5 min."""
        return min(10_000 << min(host.failed - 2, 9), 300_000) if host.failed > 1 else 0

    @property
    def consumers(self) -> list[str]:
        """All consumers that run."""
        running = (process for host in self.hosts.values() for process in host.running)
        return [consumer for process in running for consumer in process.consumers]

    @property
    def is_awaited(self) -> bool:
        """Whether a process that failed will be started again."""
        return any(host.is_awaited for host in self.hosts.values())


class RunningDeployment(Deployment):
    """A scenario's hosts on a simulation.  `skips` False: no heartbeat is skipped."""

    def __init__(self, scenario: DeploymentScenario, seed: int, *, skips: bool = True) -> None:
        super().__init__(scenario, seed)
        kind = QuietSimulation if skips else Simulation
        self.sim = kind(
            scenario.counts,
            revision=scenario.coordinator,
            config={"group.initial.rebalance.delay.ms": scenario.initial_delay_ms},
            nodes=2,
            seed=seed,
            latency_ms=scenario.latency_ms,
            busy=self._busy_ms if scenario.processing_s else None,
        )
        self.placements = [(0, scenario.partition_racks(0))]
        """Where the replicas of partitions are, from when on."""
        self.sim.cluster.racks = self.placements[0][1]
        self.log = self.sim.watch = RebalanceLog(self.sim.cluster.model.groups)
        self._told = 0

    @property
    def now_ms(self) -> int:
        """The simulation's clock."""
        return self.sim.now_ms

    def start_consumer(self, consumer: str, settings: ClientSettings) -> None:
        """Start a client of the model."""
        self.sim.start(consumer, settings)

    def close_consumer(self, consumer: str) -> None:
        """Let a client close."""
        self.sim.close(consumer)

    def kill_consumer(self, consumer: str) -> None:
        """End a client at once."""
        self.sim.kill(consumer)

    def remove(self, instances: Iterable[str]) -> None:
        """An administrator removes static members."""
        for instance in instances:
            self.sim.remove(GROUP_ID, instance)

    def take_down(self) -> None:
        """Cut all connections; no new ones are accepted."""
        self.sim.is_down = True
        self.sim.cut_all()

    def bring_back(self) -> None:
        """Let the other broker coordinate the group."""
        self.sim.is_down = False
        other = 3 - self.sim.cluster.coordinator_of(GROUP_ID).node
        self.sim.move_coordinator(GROUP_ID, other)

    def move_replicas(self) -> None:
        """Let the replicas of each partition be in the next racks."""
        racks = self.scenario.partition_racks(len(self.placements))
        self.placements.append((self.sim.now_ms, racks))
        self.sim.cluster.racks = racks

    def new_failures(self) -> Iterator[tuple[str, ProcessFailure]]:
        """Of what clients told their users since the last call."""
        told, self._told = self.sim.told[self._told :], len(self.sim.told)
        for row in told:
            if isinstance(row.event, ErrorTold) and row.event.fatal:
                where = place_of(row.client)
                yield (
                    row.client,
                    ProcessFailure(row.at_ms, where, row.event.code, row.event.where),
                )

    def _busy_ms(self, consumer: str, exchange: Exchange) -> int:
        """What is left of the work on what the last poll returned, when a rebalance is told."""
        code = getattr(exchange.answer, "error_code", None)
        if exchange.api != "Heartbeat" or code != Error.REBALANCE_IN_PROGRESS.value:
            return 0
        if not self.sim.state_of(consumer).is_polling:
            return 0
        of = f"{self.seed}/{consumer}/{exchange.at_ms}"
        left = zlib.crc32(of.encode()) / 2**32
        return round(draw_ms(self.scenario.processing_s, of) * left)

    def is_balanced(self) -> bool:
        """As the coordinator and the clients know it."""
        group = self.sim.cluster.model.groups.get(GROUP_ID)
        consumers = self.consumers
        if group is None or group.state is not GroupState.STABLE or not consumers:
            return False
        if len(group.members) != len(consumers) or self.is_awaited:
            return False
        ids = {member.member_id for member in group.members}
        owned = 0
        for consumer in consumers:
            state = self.sim.state_of(consumer)
            member = state.membership
            if (
                member.member_id not in ids
                or member.phase is not Phase.STABLE
                or member.generation_id != group.generation_id
                or member.needs_join
                or not member.is_handed_out
            ):
                return False
            owned += len(state.reading.positions)
        return owned == sum(self.scenario.counts.values())


def host_of(member: str) -> str:
    """The host of a member: `app-1` of `app-1-thread-2`."""
    return member.partition(_THREAD)[0]
