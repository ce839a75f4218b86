"""A deployment of consumers, without any: what is known of it from what was heard."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fencepost.conformance.clients.driver import DriverEvent, DriverPool
from fencepost.conformance.serve.broker_history import History
from fencepost.conformance.simulate.deployment import ProcessFailure
from fencepost.conformance.simulate.deployment_scenario import DeploymentScenario, MemberSettings
from fencepost.conformance.simulate.simulation import ClientEvent
from fencepost.model.client import client_interface
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.plans.steps import Close
from fencepost.properties.requirements.driver_messages import (
    AnyEvent,
    Assigned,
    ConsumerSettings,
    Done,
    Error,
    Partition,
    Revoked,
    Unsupported,
)
from tools.deployments.real_deployment import DeploymentError, RealDeployment, RealKafka, Synced

ONE, TWO = "app-1#1", "app-2#1"
P0: Partition = ("orders", 0)
P1: Partition = ("orders", 1)


class FakeDriver:
    """A driver that does nothing but note what it is asked, and reply what it was told to."""

    def __init__(self, reply: Any) -> None:
        self.events: list[DriverEvent] = []
        self.introduction = SimpleNamespace(language="java")
        self.request: list[str] = []
        self.settings: Any = None
        self.has_ended: bool | None = None
        self._reply = reply

    async def start_consumer(self, consumer: str, settings: ConsumerSettings) -> Any:
        self.request.append(f"start {consumer}")
        self.settings = settings
        return self._reply

    async def do(self, step: Close) -> Any:
        assert step.timeout_ms > 0
        self.request.append(f"close {step.consumer}")
        return self._reply

    async def bye(self) -> None:
        self.request.append("bye")

    async def crash(self) -> None:
        self.request.append("crash")


class Pool:
    """Fake drivers, in the order in which they were taken."""

    def __init__(self, reply: Any) -> None:
        self.drivers: list[FakeDriver] = []
        self._reply = reply

    async def take(self) -> FakeDriver:
        self.drivers.append(FakeDriver(self._reply))
        return self.drivers[-1]

    async def give_back(self, driver: FakeDriver, *, clean: bool) -> None:
        driver.has_ended = not clean


class Stage:
    """Two members of a group of two partitions, with drivers that are fake."""

    def __init__(self, reply: Any = None, **fields: Any) -> None:
        self.pool = Pool(reply or Done(1, True))
        self.history = History()
        proxy = SimpleNamespace(history=self.history, bootstrap="127.0.0.1:1")
        kafka = cast("RealKafka", SimpleNamespace(broker=None, proxy=proxy))
        scenario = DeploymentScenario(members=2, partitions=2, **fields)
        pool = cast("DriverPool", self.pool)
        self.deployment = RealDeployment(scenario, 0, kafka, pool, "orders")

    async def start(self) -> None:
        for host in self.deployment.hosts.values():
            self.deployment.start(host)
        await self.go_on()

    async def go_on(self) -> None:
        """Let all go on that waits for nothing."""
        for _ in range(20):
            await asyncio.sleep(0)
        self.deployment.check()

    def hear(self, number: int, at_ms: float, *events: AnyEvent) -> None:
        received_ms = self.history.began_s * 1000 + at_ms
        self.pool.drivers[number].events.extend(DriverEvent(event, received_ms) for event in events)
        self.deployment.check()

    def sync(self, consumer: str, generation: int, *given: Partition) -> None:
        wire = self.deployment.wire
        partitions = frozenset(TopicPartition(*partition) for partition in given)
        wire.synced[consumer] = Synced(generation, partitions)
        wire.generation_id = max(wire.generation_id, generation)


async def balanced() -> Stage:
    """Each member has a partition, and its user was told."""
    stage = Stage()
    await stage.start()
    for number, (consumer, partition) in enumerate(((ONE, P0), (TWO, P1))):
        stage.sync(consumer, 1, partition)
        stage.hear(number, 100, Assigned(consumer, 1.0, (partition,)))
    return stage


async def test_it_is_balanced_when_all_is_assigned_and_told() -> None:
    stage = await balanced()
    assert stage.deployment.is_balanced()
    assert stage.deployment.events == [
        ClientEvent(100, ONE, client_interface.Assigned((TopicPartition("topic", 0),))),
        ClientEvent(100, TWO, client_interface.Assigned((TopicPartition("topic", 1),))),
    ]


@pytest.mark.parametrize("what", ["a new generation", "revoked", "not told", "twice"])
async def test_it_is_not_balanced(what: str) -> None:
    stage = await balanced()
    match what:
        case "a new generation":
            stage.sync(ONE, 2, P0)
        case "revoked":
            stage.hear(0, 200, Revoked(ONE, 2.0, (P0,)))
        case "not told":
            stage.sync(ONE, 1, P0, P1)
        case _:
            stage.sync(ONE, 1, P0, P1)
            stage.hear(0, 200, Assigned(ONE, 2.0, (P1,)))
    assert not stage.deployment.is_balanced()


async def test_settings_are_the_scenarios() -> None:
    settings = MemberSettings(
        membership="static",
        assignors=("cooperative-sticky", "range"),
        session_timeout_ms=9000,
        heartbeat_interval_ms=700,
    )
    stage = Stage(settings=settings)
    await stage.start()
    given = stage.pool.drivers[1].settings
    assert (given.instance, given.client_id) == ("app-2", TWO)
    assert (given.session_timeout_ms, given.heartbeat_interval_ms) == (9000, 700)
    assert given.settings["partition.assignment.strategy"].count("org.apache.kafka") == 2


async def test_a_process_that_is_stopped_closes_and_ends() -> None:
    stage = await balanced()
    host = stage.deployment.hosts["app-1"]
    stage.deployment.stop(host)
    await stage.go_on()
    assert stage.pool.drivers[0].request == [f"start {ONE}", f"close {ONE}", "bye"]
    assert stage.pool.drivers[0].has_ended
    assert list(stage.deployment.ended) == [ONE]


async def test_a_process_that_is_killed_says_nothing() -> None:
    stage = await balanced()
    stage.deployment.kill(stage.deployment.hosts["app-1"])
    await stage.go_on()
    assert stage.pool.drivers[0].request == [f"start {ONE}", "crash"]


async def test_at_the_end_processes_are_left_for_others() -> None:
    stage = await balanced()
    await stage.deployment.close()
    assert [driver.request[-1] for driver in stage.pool.drivers] == [f"close {ONE}", f"close {TWO}"]
    assert [driver.has_ended for driver in stage.pool.drivers] == [False, False]


async def test_a_restart_lasts_until_the_next_process_joins() -> None:
    stage = await balanced()
    host = stage.deployment.hosts["app-1"]
    stage.deployment.stop(host)
    stage.deployment.start(host)
    await stage.go_on()
    assert stage.deployment.restarts_s == []
    stage.deployment.wire.first_join_ms["app-1#2"] = stage.history.now_ms() + 2000
    assert stage.deployment.restarts_s == [pytest.approx(2.0, abs=1.0)]


async def test_who_is_told_a_fatal_error_fails() -> None:
    stage = await balanced()
    stage.hear(1, 300, Error(TWO, 3.0, "poll", "FENCED_INSTANCE_ID", True, "fenced"))
    stage.hear(1, 310, Error(TWO, 3.1, "poll", "COORDINATOR_LOAD_IN_PROGRESS", False, "wait"))
    assert [host.name for host in stage.deployment.note_failures()] == ["app-2"]
    (failure,) = stage.deployment.failures
    assert failure == ProcessFailure(300, "app-2", "FENCED_INSTANCE_ID", "poll")
    assert stage.deployment.hosts["app-2"].running == []
    await stage.go_on()
    assert stage.pool.drivers[1].request[-1] == "crash"


async def test_a_consumer_that_can_not_be_started_ends_the_run() -> None:
    stage = Stage(Unsupported(1, "it has no static members"))
    with pytest.raises(DeploymentError, match="app-1#1 can't be started"):
        await stage.start()
