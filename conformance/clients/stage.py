"""Run a broker for each scenario, with a topic and groups of its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast

from fencepost.conformance.cases.clients.scenario import PARTITIONS, TOPIC, Scenario
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.serve.application_broker import ApplicationBroker, Recorded
from fencepost.conformance.serve.recording_proxy import RecordedKafka
from fencepost.conformance.targets.target_registry import (
    TargetOptions,
    UnknownTargetError,
    find_target,
)
from fencepost.conformance.targets.tcp.cluster_admin import AdminError
from fencepost.conformance.targets.tcp.security import Address, parse_address
from fencepost.model.revision import Revision

Versions = Mapping[str, tuple[int, int]]

SERVE = "serve"
"""The broker that scenarios run on by default: a served model."""

_TCP = "tcp://"
_GROUP_SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
}
"""Settings of a broker that is started here, so that a scenario takes some seconds."""


class Stage(Protocol):
    """A kind of broker that scenarios run on."""

    @property
    def name(self) -> str:
        """Name it as `--broker` does."""
        ...

    @property
    def provokes(self) -> bool:
        """Tell if faults can be injected."""
        ...

    def open(self, scenario: Scenario) -> AbstractAsyncContextManager[Place]:
        """Open a broker for a run of a scenario, for the time of a `with`."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """A broker that a scenario runs on; `served` None: it injects no faults."""

    broker: Recorded
    group: str
    topic: str
    served: ApplicationBroker | None

    def versions(self) -> Versions | None:
        """Return the versions that it has now; None: only its answers to clients have them."""
        return None if self.served is None else dict(self.served.cluster.versions)


@dataclass(frozen=True, slots=True)
class ServedStage:
    """A served model, a new one for each run."""

    revision: Revision
    name: str = SERVE
    provokes: bool = True

    @asynccontextmanager
    async def open(self, scenario: Scenario) -> AsyncIterator[Place]:
        """Serve a model as the scenario wants it."""
        setting = scenario.broker
        settings = {**_GROUP_SETTINGS, "group.initial.rebalance.delay.ms": setting.delay_ms}
        async with ApplicationBroker(
            self.revision,
            settings,
            nodes=setting.nodes,
            as_of=setting.as_of,
            topics={TOPIC: setting.partitions},
        ) as broker:
            yield Place(broker, "g", TOPIC, broker)


class RealStage:
    """A real Kafka behind a recording proxy; each run has a topic and a group of its own."""

    provokes = False

    def __init__(self, name: str, address: Address) -> None:
        self.name = name
        self._address = address
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def open(self, scenario: Scenario) -> AsyncIterator[Place]:
        """Record the traffic, with a new topic.  Raises TargetUnavailableError."""
        name = f"{TOPIC}-{scenario.id}-{os.getpid()}-{next(self._numbers)}"
        async with AsyncExitStack() as stack:
            try:
                broker = await stack.enter_async_context(RecordedKafka(self._address))
                await broker.create_topics({name: PARTITIONS})
            except (AdminError, OSError) as error:
                raise TargetUnavailableError(f"{self.name}: {error}") from error
            yield Place(broker, f"g-{name}", name, None)


@asynccontextmanager
async def open_stage(broker: str, revision: Revision) -> AsyncIterator[Stage]:
    """Start the stage that `--broker` names, where it has to be started.

    Raises UnknownTargetError, TargetUnavailableError.
    """
    if broker == SERVE:
        yield ServedStage(revision)
        return
    if broker.startswith(_TCP):
        yield RealStage(broker, parse_address(broker.removeprefix(_TCP)))
        return
    if not hasattr(type(find_target(broker, TargetOptions())), "address"):
        raise UnknownTargetError(
            f"can't test a client against {broker}; give {SERVE}, kafka:VERSION or tcp://HOST:PORT"
        )
    target = find_target(broker, TargetOptions(settings=_GROUP_SETTINGS))
    async with target:
        yield RealStage(broker, parse_address(cast("Any", target).address))
