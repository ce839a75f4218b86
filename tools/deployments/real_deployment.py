"""Perform a scenario on a real, recorded Kafka with real consumers, each in a process of its own.

Steps are the simulator's own scripts.  Slow actions (a close, the start of a process) run beside
them, as in a deployment; each consumer does one thing after the other.  A proxy records the
requests of the clients; `GroupOnWire` reads from them if the group is balanced.

The figures are the simulator's: the same functions compute them, from the events of users and the
answers of the broker.  What was recorded is read as a request log: its rebalances and their causes
are those of an audit.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

import msgspec

from fencepost.conformance.clients.driver import (
    Driver,
    DriverError,
    DriverEvent,
    DriverPool,
    Late,
    Reply,
)
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.serve.broker_history import Act, History, RecordedExchange
from fencepost.conformance.serve.recording_proxy import RecordedKafka
from fencepost.conformance.simulate.consumption import consumption, place_of
from fencepost.conformance.simulate.deployment import (
    Deployment,
    Performer,
    ProcessFailure,
    all_steps,
    perform,
    until,
)
from fencepost.conformance.simulate.deployment_scenario import (
    BEAT_MS,
    BounceStep,
    CrashLoopStep,
    DeploymentScenario,
    ScaleStep,
    Spread,
    draw_ms,
)
from fencepost.conformance.simulate.simulation import ClientEvent
from fencepost.conformance.targets.brokers.kafka import QUICK_FAILOVER, KafkaBroker
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version
from fencepost.conformance.targets.tcp.cluster_admin import AdminError
from fencepost.conformance.targets.tcp.security import Address
from fencepost.model.client import client_interface
from fencepost.model.client.behaviour import ClientSettings
from fencepost.model.messages.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.subscription import TopicPartition, decode_assignment
from fencepost.model.plans.steps import Close
from fencepost.properties.requirements.driver_messages import (
    Assigned,
    ConsumerSettings,
    Done,
    Error,
    Lost,
    Partition,
    Revoked,
)
from fencepost.traces.logs.request_log import LoggedExchange
from fencepost.traces.operations.operator_report import OperatorAudit
from fencepost.traces.operations.operator_rows import Rebalance


@dataclass(frozen=True, slots=True)
class RealKafka:
    """A broker, and the proxy that records it."""

    broker: KafkaBroker
    proxy: RecordedKafka


@asynccontextmanager
async def started_kafka(
    version: str, folder: Path, initial_delay_ms: int
) -> AsyncIterator[RealKafka]:
    """Start a Kafka with its data and its log in a folder; it ends with this.

    Raises TargetUnavailableError.
    """
    properties = QUICK_FAILOVER | {"group.initial.rebalance.delay.ms": str(initial_delay_ms)}
    release = parse_kafka_version(version)
    broker = KafkaBroker(release, folder, folder / "server.log", properties)
    try:
        await broker.start()
        host, _, port = broker.address.rpartition(":")
        async with RecordedKafka(Address(host, int(port))) as proxy:
            yield RealKafka(broker, proxy)
    finally:
        await broker.end()


_DETAILS = re.compile(r"[:(]")
"""The beginning of the names and numbers in a reason of the Java client."""


class Synced(NamedTuple):
    """The result of a consumer's last sync."""

    generation_id: int
    partitions: frozenset[TopicPartition]


class GroupOnWire:
    """State of a group by the history so far; consumers are known by their client ids.

    `generation_id`: the newest in a join's answer.  `synced`: by consumer.  `first_join_ms`: the
    time of each consumer's first join, in ms of the history.  `reasons`: times and reasons of
    joins, without names and numbers (KIP-800; librdkafka sends none).  `beats_ms`: from each
    heartbeat of a consumer to its next, where it sent no other request of the group between them.
    """

    def __init__(self, history: History, group_id: str) -> None:
        self.generation_id = 0
        self.synced: dict[str, Synced] = {}
        self.first_join_ms: dict[str, float] = {}
        self.reasons: list[tuple[float, str]] = []
        self.beats_ms: list[float] = []
        self._beat_ms: dict[str, float] = {}
        self._history = history
        self._group_id = group_id
        self._read = len(history.exchanges)
        self._open: list[RecordedExchange] = []

    def read(self) -> None:
        """Read the part of the history that is new since the last time."""
        exchanges = self._history.exchanges
        new, self._read = exchanges[self._read :], len(exchanges)
        for exchange in new:
            if not self._is_ours(exchange):
                continue
            self._note_beat(exchange)
            if exchange.api == "JoinGroup":
                self.first_join_ms.setdefault(_consumer(exchange), exchange.at_ms)
                body = exchange.request_body
                if reason := body and body.get("reason"):
                    words = _DETAILS.split(reason, maxsplit=1)[0].strip()
                    self.reasons.append((exchange.at_ms, words))
            if exchange.api != "Heartbeat":
                self._open.append(exchange)
        still = []
        for exchange in self._open:
            if exchange.answered_ms is not None:
                self._take(exchange)
            elif self._history.connections[exchange.connection].closed_ms is None:
                still.append(exchange)
        self._open = still

    def joining(self) -> set[str]:
        """Return the consumers that wait for an answer to a join or a sync."""
        return {_consumer(exchange) for exchange in self._open}

    def _is_ours(self, exchange: RecordedExchange) -> bool:
        if exchange.api not in {"JoinGroup", "SyncGroup", "Heartbeat"}:
            return False
        body = exchange.request_body
        return body is not None and body.get("groupId") == self._group_id

    def _note_beat(self, exchange: RecordedExchange) -> None:
        consumer, at_ms = _consumer(exchange), exchange.at_ms
        before_ms = self._beat_ms.pop(consumer, None)
        if exchange.api == "Heartbeat":
            if before_ms is not None:
                self.beats_ms.append(at_ms - before_ms)
            self._beat_ms[consumer] = at_ms

    def _take(self, exchange: RecordedExchange) -> None:
        match exchange.request, exchange.answer:
            case JoinGroupRequest(), JoinGroupResponse(error_code=0) as joined:
                self.generation_id = max(self.generation_id, joined.generation_id)
            case SyncGroupRequest() as request, SyncGroupResponse(error_code=0) as response:
                partitions = frozenset(decode_assignment(response.assignment))
                self.synced[_consumer(exchange)] = Synced(request.generation_id, partitions)
            case _:
                pass


def _consumer(exchange: RecordedExchange) -> str:
    return exchange.client_id or ""


_OF_GROUPS = frozenset({"JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "LeaveGroup"})


def recorded_rebalances(history: History, group_id: str) -> list[Rebalance]:
    """Return the rebalances of a group, by the analysis of its recorded exchanges.

    A host's processes have one client id then, as in most deployments.
    """
    lines = [
        _logged(exchange)
        for exchange in history.exchanges
        if exchange.api in _OF_GROUPS
        and exchange.answered_ms is not None
        and exchange.request_body is not None
        and exchange.answer_body is not None
    ]
    lines += [_removal(act) for act in history.acts if act.name == "remove"]
    audit = OperatorAudit(frozenset({group_id}))
    for line in sorted(lines, key=lambda line: line.answered_ms):
        audit.take(line)
    return audit.finish().rebalances.rows


def _logged(exchange: RecordedExchange) -> LoggedExchange:
    """Return an exchange as a request log has it."""
    return LoggedExchange(
        exchange.api,
        exchange.version,
        int(exchange.at_ms),
        int(exchange.answered_ms or 0),
        dict(exchange.request_body or {}),
        dict(exchange.answer_body or {}),
        place_of(_consumer(exchange)),
        exchange.connection,
        source=f"node {exchange.node}",
        line=exchange.correlation_id,
    )


def _removal(act: Act) -> LoggedExchange:
    """Return the LeaveGroup of an administrator, which the proxy sends by itself."""
    row = {"memberId": "", "groupInstanceId": act.about["instance"]}
    at_ms = int(act.at_ms)
    return LoggedExchange(
        "LeaveGroup",
        4,
        at_ms,
        at_ms,
        {"groupId": act.about["group"], "members": [row]},
        {"errorCode": 0, "members": [{**row, "errorCode": act.about["code"]}]},
        "administrator",
        "",
    )


_CLOSE_MS = 30_000
_JAVA_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
"""The driver's protocol has one assignor; several are named as Java names them."""


_EVENTS: Mapping[type[Any], Callable[[tuple[TopicPartition, ...]], client_interface.UserEvent]] = {
    Assigned: client_interface.Assigned,
    Revoked: client_interface.Revoked,
    Lost: client_interface.Lost,
}
"""A driver's event → the event of the reference client."""


class DeploymentError(Exception):
    """A consumer can't be started, or its driver failed: the run has no result."""


@dataclass(slots=True)
class _RealConsumer:
    """A consumer: its driver once it has one, the events of its user, its partitions.

    `since`: its driver's events before that index are of others; `read`: those up to it are known.
    """

    driver: Driver | None = None
    heard: list[DriverEvent] = field(default_factory=list)
    owned: set[TopicPartition] = field(default_factory=set)
    read: int = 0
    errors: list[tuple[float, Error]] = field(default_factory=list)
    last: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Take note of its user's events."""
        if self.driver is None:
            return
        new = self.driver.events[self.read :]
        self.read += len(new)
        for heard in new:
            match heard.event:
                case Assigned(partitions=partitions):
                    self.owned |= {TopicPartition(*row) for row in partitions}
                case Revoked(partitions=gone) | Lost(partitions=gone):
                    self.owned -= {TopicPartition(*row) for row in gone}
                case Error(fatal=True) as error:
                    self.errors.append((heard.received_ms, error))
        self.heard += new


class RealDeployment(Deployment):
    """A scenario's hosts, of consumers of a client library.

    `name`: of the group and its topic, used once; `pool`: of the library's drivers.
    """

    def __init__(
        self,
        scenario: DeploymentScenario,
        seed: int,
        kafka: RealKafka,
        pool: DriverPool,
        name: str,
    ) -> None:
        super().__init__(scenario, seed)
        self.name = name
        self.wire = GroupOnWire(kafka.proxy.history, name)
        self._outages: list[tuple[float, float]] = []
        self._kafka = kafka
        self._pool = pool
        self._history = kafka.proxy.history
        self._consumers: dict[str, _RealConsumer] = {}
        self._stopped: dict[str, float] = {}
        self._beside: list[asyncio.Task[None]] = []
        self._down_ms = 0.0
        self._broker: asyncio.Task[None] | None = None

    @property
    def now_ms(self) -> int:
        """The history's clock."""
        return round(self._history.now_ms())

    # Actions.

    def start_consumer(self, consumer: str, settings: ClientSettings) -> None:
        """Start a consumer in a process of its own, as soon as one is ready."""
        self._consumers[consumer] = _RealConsumer()
        self._do(consumer, partial(self._start, consumer, settings))

    def close_consumer(self, consumer: str) -> None:
        """Close a consumer, and end its process."""
        self.ended.setdefault(consumer, self.now_ms)
        self._stopped[consumer] = self._history.now_ms()
        self._do(consumer, partial(self._close, consumer))

    def kill_consumer(self, consumer: str) -> None:
        """Kill its process."""
        self._stopped[consumer] = self._history.now_ms()
        self._do(consumer, partial(self._end, consumer))

    def remove(self, instances: Iterable[str]) -> None:
        """Remove static members, as an administrator does."""
        for instance in instances:
            self._run_beside(self._remove(instance))

    def take_down(self) -> None:
        """Kill the broker."""
        self._down_ms = self._history.now_ms()
        self._broker = self._run_beside(self._kafka.broker.kill())

    def bring_back(self) -> None:
        """Start the broker again on the same data: it loads the group as another one would."""
        self._run_beside(self._bring_back())

    def move_replicas(self) -> None:
        """Raise DeploymentError: a Kafka of one node has nowhere to move them."""
        raise DeploymentError("replicas can't be moved: the Kafka has one node")

    async def close(self) -> None:
        """Close all consumers that run, and take back their processes for others."""
        for consumer in self.consumers:
            self.ended.setdefault(consumer, self.now_ms)
            self._do(consumer, partial(self._close, consumer, is_over=True))
        await asyncio.gather(*self._beside, return_exceptions=True)

    def check(self) -> None:
        """Raise the errors of actions beside the steps: DeploymentError, DriverError and others."""
        done = [task for task in self._beside if task.done()]
        self._beside = [task for task in self._beside if not task.done()]
        for error in [task.exception() for task in done]:
            if error is not None:
                raise error
        for state in self._consumers.values():
            state.look()
        self.wire.read()

    async def _start(self, consumer: str, settings: ClientSettings) -> None:
        state = self._consumers[consumer]
        state.driver = await self._pool.take()
        state.read = len(state.driver.events)
        offered = settings.assignors
        settings_by_name: dict[str, str | int | float | bool] = {}
        if state.driver.introduction.language == "java" and len(offered) > 1:
            classes = ",".join(_JAVA_ASSIGNORS[name] for name in offered)
            settings_by_name["partition.assignment.strategy"] = classes
        consumer_settings = ConsumerSettings(
            bootstrap=self._kafka.proxy.bootstrap,
            group=self.name,
            topics=(self.name,),
            instance=settings.group_instance_id,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            max_poll_interval_ms=settings.max_poll_interval_ms,
            assignor=offered[0],
            client_id=consumer,
            rack=settings.rack_id,
            settings=settings_by_name,
        )
        _refuse_undone(consumer, await state.driver.start_consumer(consumer, consumer_settings))

    async def _close(self, consumer: str, *, is_over: bool = False) -> None:
        state = self._consumers[consumer]
        if state.driver is None:
            return
        reply = await state.driver.do(Close(consumer, _CLOSE_MS))
        state.look()
        driver, state.driver = state.driver, None
        if not is_over and isinstance(reply, Done):
            await driver.bye()
        await self._pool.give_back(driver, clean=is_over and isinstance(reply, Done))

    async def _end(self, consumer: str) -> None:
        state = self._consumers[consumer]
        state.look()
        if state.driver is not None:
            driver, state.driver = state.driver, None
            await driver.crash()
            await self._pool.give_back(driver, clean=False)

    async def _remove(self, instance: str) -> None:
        await self._kafka.proxy.remove(self.name, instance)

    async def _bring_back(self) -> None:
        if self._broker is not None:
            await self._broker
        await self._kafka.broker.run_again()
        self._outages.append((self._down_ms, self._history.now_ms()))

    def _do(self, consumer: str, action: Callable[[], Awaitable[None]]) -> None:
        """Start an action of a consumer, after its action before."""
        state = self._consumers[consumer]
        before = state.last

        async def in_turn() -> None:
            if before is not None:
                await asyncio.wait({before})
            await action()

        state.last = self._run_beside(in_turn())

    def _run_beside(self, action: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(action)
        self._beside.append(task)
        return task

    # Results.

    def new_failures(self) -> Iterator[tuple[str, ProcessFailure]]:
        """Yield the fatal errors of users."""
        for consumer, state in self._consumers.items():
            events, state.errors = state.errors, []
            for heard_ms, error in events:
                at_ms = round(self._on_history(heard_ms))
                yield consumer, ProcessFailure(at_ms, place_of(consumer), error.code, error.where)

    def is_balanced(self) -> bool:
        """Return True if, by the recorded answers and the users, each partition has one owner."""
        running = self.consumers
        joining = self.wire.joining()
        partitions: list[TopicPartition] = []
        for consumer in running:
            synced = self.wire.synced.get(consumer)
            if synced is None or synced.generation_id != self.wire.generation_id:
                return False
            if consumer in joining or synced.partitions != self._consumers[consumer].owned:
                return False
            partitions += synced.partitions
        return len(partitions) == len(set(partitions)) == sum(self.scenario.counts.values())

    @property
    def events(self) -> list[ClientEvent]:
        """Return the events of users, in order: on the history's clock, of the scenario's topic."""
        (topic,) = self.scenario.counts
        events: list[ClientEvent] = []
        for consumer, state in self._consumers.items():
            for heard in state.heard:
                match heard.event:
                    case (
                        Assigned(partitions=rows) | Revoked(partitions=rows) | Lost(partitions=rows)
                    ):
                        at_ms = round(self._on_history(heard.received_ms))
                        event = _EVENTS[type(heard.event)](_of(topic, rows))
                        events.append(ClientEvent(at_ms, consumer, event))
                    case _:
                        pass
        return sorted(events, key=lambda row: row.at_ms)

    @property
    def rebalances(self) -> list[Rebalance]:
        """Return the rebalances of the group, on the history's clock, from its formation on."""
        return recorded_rebalances(self._history, self.name)

    @property
    def restarts_s(self) -> list[float]:
        """Seconds from each stop of a process to the first join of the host's next process.

        Restarts during an outage of the broker are left out.
        """
        seconds = []
        for consumer, stopped_ms in self._stopped.items():
            host, number = place_of(consumer), int(consumer.rpartition("#")[2])
            joined_ms = self.wire.first_join_ms.get(f"{host}#{number + 1}")
            if joined_ms is None or joined_ms < stopped_ms:
                continue
            if not any(down < joined_ms and stopped_ms < up for down, up in self._outages):
                seconds.append((joined_ms - stopped_ms) / 1000)
        return seconds

    @property
    def downs_s(self) -> list[float]:
        """Seconds of each outage of the broker."""
        return [(up - down) / 1000 for down, up in self._outages]

    def worst_ms(self, began_ms: float, ended_ms: float) -> int:
        """Return the longest wait of the control client between two times."""
        return self._history.worst_ms(began_ms, ended_ms)

    def _on_history(self, heard_ms: float) -> float:
        return heard_ms - self._history.began_s * 1000


def _of(topic: str, partitions: Iterable[Partition]) -> tuple[TopicPartition, ...]:
    """Return partitions of these numbers, of another topic."""
    return tuple(TopicPartition(topic, number) for _, number in partitions)


def _refuse_undone(consumer: str, reply: Reply) -> None:
    """Raise DeploymentError unless the reply, perhaps a late one, is Done."""
    last = reply.reply if isinstance(reply, Late) else reply
    if not isinstance(last, Done):
        raise DeploymentError(f"{consumer} can't be started: {reply}")


Held = Sequence[tuple[float, float, str]]
"""Begin, end and consumer of each time that a partition was consumed, in order."""


def most_at_once(partitions: Iterable[Held], from_: float, until: float) -> int:
    """Return the greatest number of partitions without a consumer at one time, in a window."""
    changes: list[tuple[float, int]] = []
    for held in partitions:
        end = from_
        for begins, ends, _ in held:
            if begins > end:
                changes += [(end, 1), (begins, -1)]
            end = max(end, ends)
        if until > end:
            changes += [(end, 1), (until, -1)]
    now = most = 0
    for _, change in sorted(changes):  # at one time ends come first
        now += change
        most = max(most, now)
    return most


_FORMS_S = 180.0
"""Seconds for a group to form, where processes start on a busy machine."""

_ENOUGH = 20
_DISTURBED_MS = 1500
"""Answer time that only the machine causes, not a broker; a session is not yet in danger."""


class RealFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a scenario on a real Kafka.

    `restarts_s`, `downs_s`: times of hosts without a process that joined, and outages of the
    broker; the simulation to compare with uses these.  `control_ms`: the longest wait of a client
    of our own for an answer of the broker: more than a few ms is the machine.  `beats_ms`: the 5th,
    50th and 95th percentile of the times between heartbeats; `late_ms`: the longest delay of a
    heartbeat beyond its due time, so the time that a member stood still.  `reasons`: the number of
    times that members sent each reason to join again.  `causes`: of the rebalances, in the words of
    `audit`; empty in older runs.
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
    causes: dict[str, int] = {}

    @property
    def failed(self) -> int:
        """Return the number of processes with a fatal error."""
        return len(self.failures)

    @property
    def stood_still_s(self) -> float:
        """Seconds that the machine stood still, by a member or our own client; not the broker."""
        return 0.0 if self.downs_s else max(self.control_ms, self.late_ms) / 1000

    @property
    def waited_for_nobody(self) -> bool:
        """Return True if its longest gap is shorter than each restart, and there was no outage."""
        return not self.downs_s and all(self.longest_gap_s < seconds for seconds in self.restarts_s)

    @property
    def was_disturbed(self) -> bool:
        """Return True if the machine stood still; a broker that is away delays our client, too."""
        return self.control_ms > _DISTURBED_MS and not self.downs_s


async def perform_for_real(
    scenario: DeploymentScenario, seed: int, kafka: RealKafka, pool: DriverPool, name: str
) -> RealFigures:
    """Perform a scenario in a new group of this name.

    Raises DeploymentError where there is no result: the group doesn't form, a driver fails.
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
    """Return the number of all processes, to start them in advance."""
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
    """Form the group; return the begin of the first step, and the generation then."""
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
    """Perform all steps, each when it is due."""
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
    times = consumption(deployment.events, deployment.ended, partitions, begin_ms, end_ms)
    rebalances = [row for row in deployment.rebalances if row.generation > formed]
    completed = [row.completed_ms for row in rebalances]
    starts = [held.from_ms for each in times for held in each.held]
    is_balanced = deployment.is_balanced()
    beat_ms = deployment.scenario.settings.heartbeat_interval_ms or BEAT_MS
    return RealFigures(
        rebalances=len(rebalances),
        partitions_moved=sum(each.moves for each in times),
        partitions_stopped=sum(each.unavailable_ms > 0 for each in times),
        unavailable_partition_s=_s(sum(each.unavailable_ms for each in times)),
        longest_gap_s=_s(max(each.longest_gap_ms for each in times)),
        twice_partition_s=_s(sum(each.twice_ms for each in times)),
        balanced_after_s=_s(max([begin_ms, *completed, *starts]) - begin_ms)
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
        causes=dict(Counter(row.cause.value for row in rebalances).most_common()),
    )


def _percentiles(values: list[float]) -> tuple[int, ...]:
    if len(values) < _ENOUGH:
        return ()
    cuts = quantiles(values, n=20)
    return tuple(round(cuts[place]) for place in (0, 9, 18))


def _s(ms: float) -> float:
    return round(ms / 1000, 3)
