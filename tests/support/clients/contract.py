"""What a driver owes by client driver protocol 1, tried against a real broker, step by step.

Each step is a row: the command, and what the library did.  A driver that breaks the protocol raises
DriverError; what the library does wrong is told in the rows, and judged elsewhere.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kafka import KafkaAdminClient, KafkaProducer

from fencepost.conformance.clients.driver import Driver, DriverEvent
from fencepost.conformance.clients.driver_programs import Client
from fencepost.model.plans.steps import (
    Close,
    Commit,
    ResumePolling,
    StopPolling,
    Subscribe,
    Unsubscribe,
)
from fencepost.properties.requirements.driver_messages import (
    Assigned,
    ConsumerSettings,
    Error,
    Lost,
    Records,
    Revoked,
)

PARTITIONS = 6
EACH = 10
"""Records that are put to each partition, each time."""
PATIENCE_S = 30.0


@dataclass
class Broker:
    """A broker with a topic of its own for each driver."""

    bootstrap: str
    topic: str = field(default_factory=lambda: f"drivers-{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        with self._admin() as admin:
            new = {self.topic: {"num_partitions": PARTITIONS, "replication_factor": 1}}
            admin.create_topics(new)

    @contextmanager
    def _admin(self) -> Iterator[KafkaAdminClient]:
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            yield admin
        finally:
            admin.close()

    def produce(self) -> None:
        """Put records to all partitions."""
        producer = KafkaProducer(bootstrap_servers=self.bootstrap)
        for partition in range(PARTITIONS):
            for number in range(EACH):
                producer.send(self.topic, b"%d" % number, partition=partition)
        producer.flush()
        producer.close()


@dataclass
class Contract:
    """One client tried on one broker; `rows`: what was done, and what came of it."""

    client: Client
    broker: Broker
    assignor: str
    rows: list[tuple[str, str]] = field(default_factory=list)

    def settings(self, instance: str | None, name: str = "a") -> ConsumerSettings:
        """Of a consumer in the group of this topic."""
        return ConsumerSettings(
            bootstrap=self.broker.bootstrap,
            group=self.broker.topic,
            topics=(self.broker.topic,),
            instance=instance,
            assignor=self.assignor,
            client_id=name,
        )

    def note(self, step: str, result: object) -> None:
        """Add a row."""
        self.rows.append((step, str(result)))


def of(kind: type | tuple[type, ...], consumer: str = "a") -> Callable[[DriverEvent], bool]:
    """Whether an event is of a kind and a consumer."""
    return lambda heard: heard.event.consumer == consumer and isinstance(heard.event, kind)


class Reading:
    """Counts the records that a driver's consumers got, by partition."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def count(self, consumer: str = "a", since: int = 0) -> int:
        """Records of a consumer in the events from `since` on."""
        return sum(
            heard.event.count
            for heard in self._driver.events[since:]
            if isinstance(heard.event, Records) and heard.event.consumer == consumer
        )

    async def until(self, count: int, consumer: str = "a", since: int = 0) -> int:
        """Wait until so many have come, or for as long as patience lasts; how many did."""
        await self._driver.wait_for(
            lambda _: self.count(consumer, since) >= count, PATIENCE_S, since=since
        )
        return self.count(consumer, since)


def told(heard: DriverEvent | None) -> str:
    """An event in a few words."""
    match heard.event if heard else None:
        case None:
            return "nothing"
        case Error(where=where, code=code, fatal=fatal, message=message):
            return f"{code}{' fatal' if fatal else ''} from {where}: {message[:90]}"
        case Assigned(partitions=partitions) | Revoked(partitions=partitions):
            return f"{len(partitions)} partitions"
        case other:
            return str(other)


async def try_out(contract: Contract) -> None:
    """All steps.  Raises DriverError, AssertionError where the driver breaks the protocol."""
    static = True
    async with Driver.start(contract.client) as driver:
        said = driver.introduction
        contract.note("hello", f"{said.client} {said.version} ({said.language})")
        contract.note("features", ", ".join(said.features))
        contract.note("assignors", ", ".join(said.assignors))
        static = "static" in said.features
        if contract.assignor not in said.assignors:
            contract.assignor = said.assignors[0]
        await asyncio.to_thread(contract.broker.produce)
        await _one_consumer(contract, driver, static=static)
        await _two_consumers(contract, driver, static=static)
        if static:
            await _fenced(contract, driver)
        await driver.bye()
        contract.note("bye", "exit 0")
    async with Driver.start(contract.client) as driver:
        await driver.crash()
        contract.note("killed", "gone")


async def _one_consumer(contract: Contract, driver: Driver, *, static: bool) -> None:
    note, reading, events = contract.note, Reading(driver), driver.events
    settings = contract.settings("i1" if static else None)
    note("start", await driver.start_consumer("a", settings))
    note("assigned", told(await driver.wait_for(of(Assigned), PATIENCE_S)))
    note("records", await reading.until(PARTITIONS * EACH))
    note("commit", await driver.do(Commit("a")))
    note("stop-polling", await driver.do(StopPolling("a")))
    await asyncio.to_thread(contract.broker.produce)
    note("poll-on", await driver.do(ResumePolling("a")))
    note("records after poll-on", await reading.until(2 * PARTITIONS * EACH))
    note("commit again", await driver.do(Commit("a")))
    at = len(events)
    note("unsubscribe", await driver.do(Unsubscribe("a")))
    note("revoked", told(await driver.wait_for(of((Revoked, Lost)), 3.0, at)))
    note("subscribe", await driver.do(Subscribe("a", (contract.broker.topic,))))
    note("assigned again", told(await driver.wait_for(of(Assigned), PATIENCE_S, at)))
    note("close", await driver.do(Close("a", 10_000)))
    at = len(events)
    await asyncio.to_thread(contract.broker.produce)
    note("start again", await driver.start_consumer("a", settings))
    note("records after restart", await reading.until(PARTITIONS * EACH, since=at))


async def _two_consumers(contract: Contract, driver: Driver, *, static: bool) -> None:
    note, at = contract.note, len(driver.events)
    settings = contract.settings("i2" if static else None, "b")
    note("start a second", await driver.start_consumer("b", settings))
    note("its assignment", told(await driver.wait_for(of(Assigned, "b"), PATIENCE_S, at)))
    note("close the second", await driver.do(Close("b", 10_000)))


async def _fenced(contract: Contract, driver: Driver) -> None:
    note, at = contract.note, len(driver.events)
    async with Driver.start(contract.client) as other:
        note("another takes i1", await other.start_consumer("x", contract.settings("i1", "x")))
        note("the other is assigned", told(await other.wait_for(of(Assigned, "x"), PATIENCE_S)))
        note("the first is told", told(await driver.wait_for(of(Error), 20.0, at)))
        note("commit, fenced", await driver.do(Commit("a")))
        at = len(driver.events)
        note("poll-on, fenced", await driver.do(ResumePolling("a")))
        note("and is told", told(await driver.wait_for(of(Error), 5.0, at)))
        note("close, fenced", await driver.do(Close("a", 10_000)))
        note("the other is told", told(await other.wait_for(of(Error, "x"), 0.1)))
        note("close the other", await other.do(Close("x", 10_000)))
