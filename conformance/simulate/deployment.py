"""Perform the steps of a scenario on a deployment: its hosts, their processes, their health.

A host runs one process, with a consumer or more; each start of it is a new process, called
`app-1#2`.  Restart times are drawn by host and number, so that the same seed gives the same ones
whatever else is compared.  Steps that work on a simulation work on real processes.

A step is a generator that yields the ms until it goes on; steps run one after the other or side by
side.
"""

from __future__ import annotations

import heapq
import itertools
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fencepost.conformance.simulate.consumption import place_of
from fencepost.conformance.simulate.deployment_scenario import (
    A_YEAR_MS,
    DEFAULTS,
    GROUP_ID,
    METADATA_MS,
    BounceStep,
    CrashLoopStep,
    CrashStep,
    DeploymentScenario,
    DuplicateStep,
    Duration,
    FailoverStep,
    MemberSettings,
    MoveReplicasStep,
    RemoveStep,
    ReplaceStep,
    ScaleStep,
    ScenarioError,
    Step,
    WaitStep,
    draw_ms,
)
from fencepost.conformance.simulate.quiet_simulation import QuietSimulation
from fencepost.conformance.simulate.simulated_events import SimulatedStory
from fencepost.conformance.simulate.simulation import SimulatedExchange, Simulation
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.client.behaviour import ClientSettings
from fencepost.model.client.client_interface import ErrorReported
from fencepost.model.client.client_state import Phase
from fencepost.model.messages.errors import Error
from fencepost.model.revisions.revisions import rows_of_its_own

_THREAD = "-thread-"


@dataclass(slots=True)
class HostProcess:
    """A process of a host: its consumers, and the instance ids that they have."""

    consumers: tuple[str, ...]
    instances: tuple[str, ...]


@dataclass(slots=True)
class Host:
    """A place for a process; `running`: the process, or two, the older first.

    `failed`: the number of its processes that ended with a fatal error; `is_awaited`: the last one
    did, and the next will be started.
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
    """A process that got a fatal error, and ended."""

    at_ms: int
    member: str
    code: str
    where: str


class Deployment(ABC):
    """A scenario's hosts, on a simulation or on real processes.

    `ended`: the end of each killed process, by consumer; `halted`: deployments that stopped.
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
        """Time of the deployment's clock."""

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
        """Remove static members, as an administrator does."""

    @abstractmethod
    def take_down(self) -> None:
        """Make all brokers unreachable from now on."""

    @abstractmethod
    def bring_back(self) -> None:
        """Make brokers reachable again; another one coordinates the group."""

    @abstractmethod
    def move_replicas(self) -> None:
        """Let the replicas of each partition be in the next racks."""

    @abstractmethod
    def new_failures(self) -> Iterable[tuple[str, ProcessFailure]]:
        """Return the fatal errors since the last call, each with its consumer."""

    @abstractmethod
    def is_balanced(self) -> bool:
        """Return True if exactly the running consumers are members, and all is consumed."""

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
        """Return the ms until the next process of a host polls."""
        return draw_ms(self.scenario.restart_s, f"{self.seed}/{host.name}/{host.started}")

    def note_failures(self) -> Iterator[Host]:
        """Yield the hosts whose process got a fatal error since the last call; it ends."""
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
        """Return the wait of a host whose process failed again: 10 s, twice that, up to 5 min."""
        return min(10_000 << min(host.failed - 2, 9), 300_000) if host.failed > 1 else 0

    @property
    def consumers(self) -> list[str]:
        """Return all consumers that run."""
        running = (process for host in self.hosts.values() for process in host.running)
        return [consumer for process in running for consumer in process.consumers]

    @property
    def is_awaited(self) -> bool:
        """Return True if a process that failed will be started again."""
        return any(host.is_awaited for host in self.hosts.values())


class RunningDeployment(Deployment):
    """A scenario's hosts on a simulation.

    `skips` False: no heartbeat is skipped, and neither with a user's own rules for heartbeats.
    """

    def __init__(self, scenario: DeploymentScenario, seed: int, *, skips: bool = True) -> None:
        super().__init__(scenario, seed)
        revision = scenario.coordinator
        is_usual = all(table.name != "Heartbeat" for table, _ in rows_of_its_own(revision))
        kind = QuietSimulation if skips and is_usual else Simulation
        self.sim = kind(
            scenario.counts,
            revision=revision,
            config={"group.initial.rebalance.delay.ms": scenario.initial_delay_ms},
            nodes=2,
            seed=seed,
            latency_ms=scenario.latency_ms,
            busy=self._busy_ms if scenario.processing_s else None,
        )
        self.placements = [(0, scenario.partition_racks(0))]
        """The racks of the partitions' replicas, each from a time on."""
        self.sim.cluster.racks = self.placements[0][1]
        self.story = SimulatedStory(self.sim.cluster.model.groups)
        self.sim.watch, self.sim.on_answer = self.story.watch, self.story.note_answer
        self._events_read = 0

    @property
    def now_ms(self) -> int:
        """Time of the simulation's clock."""
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
        """Remove static members, as an administrator does."""
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
        """Yield the fatal errors of clients since the last call."""
        events, self._events_read = self.sim.events[self._events_read :], len(self.sim.events)
        for row in events:
            if isinstance(row.event, ErrorReported) and row.event.fatal:
                where = place_of(row.client)
                yield (
                    row.client,
                    ProcessFailure(row.at_ms, where, row.event.code, row.event.where),
                )

    def _busy_ms(self, consumer: str, exchange: SimulatedExchange) -> int:
        """Return the rest of the work on the last poll's records, when a rebalance is announced."""
        code = getattr(exchange.answer, "error_code", None)
        if exchange.api != "Heartbeat" or code != Error.REBALANCE_IN_PROGRESS.value:
            return 0
        if not self.sim.state_of(consumer).is_polling:
            return 0
        of = f"{self.seed}/{consumer}/{exchange.at_ms}"
        left = zlib.crc32(of.encode()) / 2**32
        return round(draw_ms(self.scenario.processing_s, of) * left)

    def is_balanced(self) -> bool:
        """Return True if coordinator and clients agree that the group is balanced."""
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
    """Return the host of a member: `app-1` of `app-1-thread-2`."""
    return member.partition(_THREAD)[0]


Script = Generator[int, None, None]
_CHECK_MS = 100
"""Interval of a health check."""
_HEARS_MS = 3000


class Performer:
    """Runs scripts on a deployment's clock."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._due: list[tuple[int, int, Script, bool]] = []
        self._order = itertools.count()
        self._awaited = 0

    def add(self, script: Script, in_ms: int = 0, *, is_awaited: bool = True) -> None:
        """Let a script begin after `in_ms`.  Unless it `is_awaited`, all may end before it."""
        at_ms = self._deployment.now_ms + in_ms
        self._awaited += is_awaited
        heapq.heappush(self._due, (at_ms, next(self._order), script, is_awaited))

    @property
    def next_ms(self) -> int | None:
        """Return the time of the next due script; None: all awaited scripts have ended."""
        return self._due[0][0] if self._awaited else None

    def go_on(self) -> None:
        """Run the due script up to its next pause."""
        deployment = self._deployment
        _, _, script, is_awaited = heapq.heappop(self._due)
        for host in deployment.note_failures():
            if host.is_awaited:
                again = _start_later(deployment, host)
                self.add(again, deployment.pause_ms(host), is_awaited=False)
        wait_ms = next(script, None)
        self._awaited -= is_awaited
        if wait_ms is not None:
            self.add(script, wait_ms, is_awaited=is_awaited)

    def run(self, run_for: Callable[[int], object]) -> None:
        """Run all scripts; `run_for` lets this many ms pass."""
        while (next_ms := self.next_ms) is not None:
            run_for(next_ms - self._deployment.now_ms)
            self.go_on()


def all_steps(deployment: Deployment, steps: Iterable[Step]) -> Script:
    """Yield the steps that follow each other, and then the wait until all is well."""
    for step in steps:
        yield from perform(deployment, step)


def until(deployment: Deployment, check: Callable[[], bool], limit_s: float) -> Script:
    """Wait until a check holds, at most `limit_s`."""
    end = deployment.now_ms + round(limit_s * 1000)
    while not check() and deployment.now_ms < end:
        yield _CHECK_MS


def perform(deployment: Deployment, step: Step) -> Script:
    """Yield a step's script."""
    match step:
        case BounceStep():
            yield from _bounce(deployment, step)
        case CrashStep():
            hosts = _chosen(deployment, step.who, step.count)
            for host in hosts:
                _kill_all(deployment, host)
            if step.restart:
                yield from _start_again(deployment, hosts)
        case CrashLoopStep():
            hosts = _chosen(deployment, step.who, step.count)
            for number in range(step.times):
                for host in hosts:
                    _kill_all(deployment, host)
                yield from _start_again(deployment, hosts)
                yield _drawn(deployment, step.alive_s, f"alive/{number}")
        case ScaleStep():
            yield from _scale(deployment, step)
        case ReplaceStep():
            yield from _replace(deployment, step)
        case DuplicateStep():
            yield from _duplicate(deployment, step)
        case FailoverStep():
            yield from _fail_over(deployment, step)
        case RemoveStep():
            for host in _chosen(deployment, step.who, step.count):
                for process in host.running:
                    deployment.remove(process.instances)
        case MoveReplicasStep():
            deployment.move_replicas()
            yield METADATA_MS + _HEARS_MS  # the leader knows, and has begun what follows
        case WaitStep():
            if step.s is None:
                yield from until(deployment, deployment.is_balanced, deployment.scenario.settle_s)
            else:
                yield _drawn(deployment, step.s, "wait")


def _chosen(deployment: Deployment, who: Sequence[str], count: int) -> list[Host]:
    """Return the hosts that are named, or the last ones.

    Raises ScenarioError for a name of none.
    """
    for name in who:
        if name not in deployment.hosts:
            raise ScenarioError(
                f"no host is called {name!r}; there is {', '.join(list(deployment.hosts)[:12])}"
            )
    running = [host for host in deployment.hosts.values() if host.running]
    return [deployment.hosts[name] for name in who] or running[-count:]


def _drawn(deployment: Deployment, duration: Duration, of: str) -> int:
    return draw_ms(duration, f"{deployment.seed}/{deployment.now_ms}/{of}")


def _kill_all(deployment: Deployment, host: Host) -> None:
    for process in list(host.running):
        deployment.kill(host, process)


def _start_later(deployment: Deployment, host: Host) -> Script:
    yield from _start_again(deployment, [host], beside=True)


def _start_again(deployment: Deployment, hosts: Iterable[Host], *, beside: bool = False) -> Script:
    """Start each host's next process when it is ready; all get ready side by side.

    Where another step has started one meanwhile, that is enough, unless it shall run `beside` it.
    """
    begun_ms = deployment.now_ms
    ready = sorted(
        ((deployment.restart_ms(host), host.name, host) for host in hosts), key=lambda r: r[:2]
    )
    for restart_ms, _, host in ready:
        yield begun_ms + restart_ms - deployment.now_ms
        if beside or not host.running:
            deployment.start(host)


# Steps of more than a few lines.


def _bounce(deployment: Deployment, step: BounceStep) -> Script:
    running = [host for host in deployment.hosts.values() if host.running][: step.at_most]
    for first in range(0, len(running), step.at_a_time):
        wave = running[first : first + step.at_a_time]
        failed = len(deployment.failures)
        old = [(host, process) for host in wave for process in host.running]
        for host in wave:
            host.settings = step.set.over(host.settings)
        if step.overlap_s is None:
            _stop(deployment, old)
        yield from _start_again(deployment, wave, beside=step.overlap_s is not None)
        if step.overlap_s is not None:
            yield _drawn(deployment, step.overlap_s, "overlap")
            _stop(deployment, old)
        if step.health == "balanced":
            yield _CHECK_MS
            yield from until(deployment, lambda: _is_decided(deployment, running), step.limit_s)
            if not (deployment.is_balanced() and all(host.running for host in running)):
                deployment.halted.append(_why_halted(deployment, wave, failed, step))
                return
        yield _drawn(deployment, step.pause_s, "pause")


def _stop(deployment: Deployment, processes: Iterable[tuple[Host, HostProcess]]) -> None:
    for host, process in processes:
        if process in host.running:
            deployment.stop(host, process)


def _is_decided(deployment: Deployment, hosts: Iterable[Host]) -> bool:
    """Return True if all is well, or a process is gone for good."""
    if not all(host.running for host in hosts):
        return not deployment.scenario.restart_failed
    return deployment.is_balanced()


def _why_halted(deployment: Deployment, wave: Iterable[Host], failed: int, step: BounceStep) -> str:
    where = f"the deployment stopped at {', '.join(host.name for host in wave)}"
    for failure in deployment.failures[failed:]:
        return f"{where}: {failure.member} got {failure.code} ({failure.where})"
    return f"{where}: the group was not balanced within {step.limit_s:g} s"


def _scale(deployment: Deployment, step: ScaleStep) -> Script:
    running = [host for host in deployment.hosts.values() if host.running]
    if step.to > len(running):
        last = running[-1].settings if running else deployment.scenario.settings
        for host in deployment.add_hosts(step.to - len(running), step.set.over(last)):
            deployment.start(host)
        return
    for host in running[step.to :]:
        for process in list(host.running):
            deployment.stop(host, process)
            if step.remove:
                deployment.remove(process.instances)
    yield 0


def _replace(deployment: Deployment, step: ReplaceStep) -> Script:
    hosts = _chosen(deployment, step.who, step.count)
    died_ms = deployment.now_ms
    instances = [i for host in hosts for process in host.running for i in process.instances]
    for host in hosts:
        _kill_all(deployment, host)
    new = [deployment.add_hosts(1, host.settings)[0] for host in hosts]
    remove_ms = _drawn(deployment, step.remove_after_s, "remove") if step.remove else None
    for restart_ms, host in sorted(
        ((deployment.restart_ms(host), host) for host in new), key=lambda row: row[0]
    ):
        if remove_ms is not None and remove_ms <= restart_ms:
            yield died_ms + remove_ms - deployment.now_ms
            deployment.remove(instances)
            remove_ms = None
        yield died_ms + restart_ms - deployment.now_ms
        deployment.start(host)
    if remove_ms is not None:
        yield died_ms + remove_ms - deployment.now_ms
        deployment.remove(instances)


def _duplicate(deployment: Deployment, step: DuplicateStep) -> Script:
    hosts = _chosen(deployment, step.who, step.count)
    for host in hosts:
        deployment.start(host)
    if step.for_s is None:
        return
    second = [(host, host.running[-1]) for host in hosts]
    yield _drawn(deployment, step.for_s, "duplicate")
    _stop(deployment, second)


def _fail_over(deployment: Deployment, step: FailoverStep) -> Script:
    deployment.take_down()
    yield _drawn(deployment, step.down_s, "down")
    deployment.bring_back()
