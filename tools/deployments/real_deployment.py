"""A deployment of real consumers, each in a process of its own, on a Kafka that is recorded.

Steps are the simulator's own scripts.  What takes time (a close, the start of a process) goes on
beside them, as it does in a deployment; each consumer does one thing after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fencepost.conformance.clients.driver import Driver, Heard, Late, Reply
from fencepost.conformance.clients.driver_pool import DriverPool
from fencepost.conformance.simulate.deployment import Deployment, ProcessFailure
from fencepost.conformance.simulate.deployment_scenario import DeploymentScenario
from fencepost.conformance.simulate.notes import Told
from fencepost.conformance.simulate.rebalance_log import place_of
from fencepost.model.client import client_interface
from fencepost.model.client.consumer_settings import ClientSettings
from fencepost.model.messages.subscription import TopicPartition
from fencepost.properties.requirements.driver_messages import (
    Assigned,
    ConsumerSettings,
    Done,
    Error,
    Lost,
    Partition,
    Revoked,
)
from tools.deployments.group_on_wire import GroupOnWire
from tools.deployments.real_kafka import RealKafka

_CLOSE_MS = 30_000
_JAVA_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
"""The driver's protocol has one assignor; several are named as Java names them."""


class DeploymentError(Exception):
    """A consumer can't be started, or its driver failed: nothing can be said of the run."""


@dataclass(slots=True)
class _RealConsumer:
    """A consumer: its driver once it has one, what its user saw, what it owns.

    `since`: its driver's events before that index are of others; `read`: those up to it are known.
    """

    driver: Driver | None = None
    heard: list[Heard] = field(default_factory=list)
    owned: set[TopicPartition] = field(default_factory=set)
    read: int = 0
    errors: list[tuple[float, Error]] = field(default_factory=list)
    last: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Take note of what its user saw."""
        if self.driver is None:
            return
        new = self.driver.events[self.read :]
        self.read += len(new)
        for heard in new:
            match heard.event:
                case Assigned(partitions=given):
                    self.owned |= {TopicPartition(*one) for one in given}
                case Revoked(partitions=gone) | Lost(partitions=gone):
                    self.owned -= {TopicPartition(*one) for one in gone}
                case Error(fatal=True) as error:
                    self.errors.append((heard.heard_ms, error))
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

    # What is done.

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
        """An administrator removes static members."""
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
        """Raise what went wrong beside the steps: DeploymentError, DriverError and others."""
        done = [task for task in self._beside if task.done()]
        self._beside = [task for task in self._beside if not task.done()]
        for error in [task.exception() for task in done]:
            if error is not None:
                raise error
        for one in self._consumers.values():
            one.look()
        self.wire.read()

    async def _start(self, consumer: str, settings: ClientSettings) -> None:
        one = self._consumers[consumer]
        one.driver = await self._pool.take()
        one.read = len(one.driver.events)
        offered = settings.assignors
        settings_by_name: dict[str, str | int | float | bool] = {}
        if one.driver.introduction.language == "java" and len(offered) > 1:
            classes = ",".join(_JAVA_ASSIGNORS[name] for name in offered)
            settings_by_name["partition.assignment.strategy"] = classes
        given = ConsumerSettings(
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
        _refuse_undone(consumer, await one.driver.start_consumer(consumer, given))

    async def _close(self, consumer: str, *, is_over: bool = False) -> None:
        one = self._consumers[consumer]
        if one.driver is None:
            return
        reply = await one.driver.close(consumer, _CLOSE_MS)
        one.look()
        driver, one.driver = one.driver, None
        if not is_over and isinstance(reply, Done):
            await driver.bye()
        await self._pool.give_back(driver, clean=is_over and isinstance(reply, Done))

    async def _end(self, consumer: str) -> None:
        one = self._consumers[consumer]
        one.look()
        if one.driver is not None:
            driver, one.driver = one.driver, None
            await driver.crash()
            await self._pool.give_back(driver, clean=False)

    async def _remove(self, instance: str) -> None:
        await self._kafka.proxy.remove(self.name, instance)

    async def _bring_back(self) -> None:
        if self._broker is not None:
            await self._broker
        await self._kafka.broker.run_again()
        self._outages.append((self._down_ms, self._history.now_ms()))

    def _do(self, consumer: str, what: Callable[[], Awaitable[None]]) -> None:
        """Do something with a consumer, after what was done with it before."""
        one = self._consumers[consumer]
        before = one.last

        async def in_turn() -> None:
            if before is not None:
                await asyncio.wait({before})
            await what()

        one.last = self._run_beside(in_turn())

    def _run_beside(self, what: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(what)
        self._beside.append(task)
        return task

    # What came of it.

    def new_failures(self) -> Iterator[tuple[str, ProcessFailure]]:
        """The fatal errors that users were told of."""
        for consumer, one in self._consumers.items():
            told, one.errors = one.errors, []
            for heard_ms, error in told:
                at_ms = round(self._on_history(heard_ms))
                yield consumer, ProcessFailure(at_ms, place_of(consumer), error.code, error.where)

    def is_balanced(self) -> bool:
        """As the recorded answers, and the users, say."""
        running = self.consumers
        joining = self.wire.joining()
        given: list[TopicPartition] = []
        for consumer in running:
            synced = self.wire.synced.get(consumer)
            if synced is None or synced.generation_id != self.wire.generation_id:
                return False
            if consumer in joining or synced.partitions != self._consumers[consumer].owned:
                return False
            given += synced.partitions
        return len(given) == len(set(given)) == sum(self.scenario.counts.values())

    @property
    def told(self) -> list[Told]:
        """What users saw, in order: on the history's clock, of the scenario's topic."""
        (topic,) = self.scenario.counts
        found: list[Told] = []
        for consumer, one in self._consumers.items():
            for heard in one.heard:
                at_ms = round(self._on_history(heard.heard_ms))
                match heard.event:
                    case Assigned(partitions=given):
                        found.append(
                            Told(at_ms, consumer, client_interface.Assigned(_of(topic, given)))
                        )
                    case Revoked(partitions=gone):
                        found.append(
                            Told(at_ms, consumer, client_interface.Revoked(_of(topic, gone)))
                        )
                    case Lost(partitions=gone):
                        found.append(Told(at_ms, consumer, client_interface.Lost(_of(topic, gone))))
                    case _:
                        pass
        return sorted(found, key=lambda row: row.at_ms)

    @property
    def restarts_s(self) -> list[float]:
        """From each stop of a process to the first join of the host's next one.

        One that waited for the broker is left out.
        """
        found = []
        for consumer, stopped_ms in self._stopped.items():
            host, number = place_of(consumer), int(consumer.rpartition("#")[2])
            joined_ms = self.wire.first_join_ms.get(f"{host}#{number + 1}")
            if joined_ms is None or joined_ms < stopped_ms:
                continue
            if not any(down < joined_ms and stopped_ms < up for down, up in self._outages):
                found.append((joined_ms - stopped_ms) / 1000)
        return found

    @property
    def downs_s(self) -> list[float]:
        """For how long the broker was away, each time."""
        return [(up - down) / 1000 for down, up in self._outages]

    def worst_ms(self, began_ms: float, ended_ms: float) -> int:
        """How long the control client waited at most between two times."""
        return self._history.worst_ms(began_ms, ended_ms)

    def _on_history(self, heard_ms: float) -> float:
        return heard_ms - self._history.began_s * 1000


def _of(topic: str, partitions: Iterable[Partition]) -> tuple[TopicPartition, ...]:
    """The same partitions of another topic."""
    return tuple(TopicPartition(topic, number) for _, number in partitions)


def _refuse_undone(consumer: str, reply: Reply) -> None:
    """Raise DeploymentError unless it was done; late is well."""
    came = reply.reply if isinstance(reply, Late) else reply
    if not isinstance(came, Done):
        raise DeploymentError(f"{consumer} can't be started: {reply}")
