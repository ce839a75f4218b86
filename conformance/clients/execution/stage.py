"""Where scenarios run: a broker for each, with a topic, and groups of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from fencepost.conformance.clients.scenarios.scenario import PARTITIONS, TOPIC, Scenario
from fencepost.conformance.serve.application_broker import ApplicationBroker, Recorded
from fencepost.model.revision import Revision

Versions = Mapping[str, tuple[int, int]]

_LEAST_SESSION_MS = 500


class Stage(Protocol):
    """A kind of broker that scenarios run on."""

    @property
    def name(self) -> str:
        """As `--broker` names it."""
        ...

    @property
    def provokes(self) -> bool:
        """Whether it does wrong when it is told to."""
        ...

    def open(self, scenario: Scenario) -> AbstractAsyncContextManager[Place]:
        """Open a broker for a run of a scenario, for the time of a `with`."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """A broker that a scenario runs on; `served` None: it can't be provoked."""

    broker: Recorded
    group: str
    topic: str
    served: ApplicationBroker | None

    def versions(self) -> Versions | None:
        """The versions that it has now; None: only what clients are answered tells."""
        return None if self.served is None else dict(self.served.cluster.versions)


@dataclass(frozen=True, slots=True)
class ServedStage:
    """A served model, a new one for each run."""

    revision: Revision
    name: str = "serve"
    provokes: bool = True

    @asynccontextmanager
    async def open(self, scenario: Scenario) -> AsyncIterator[Place]:
        """Serve a model as the scenario wants it."""
        wanted = scenario.broker
        settings = {
            "group.initial.rebalance.delay.ms": wanted.delay_ms,
            "group.min.session.timeout.ms": _LEAST_SESSION_MS,
        }
        async with ApplicationBroker(
            self.revision,
            settings,
            nodes=wanted.nodes,
            as_of=wanted.as_of,
            topics={TOPIC: PARTITIONS},
        ) as broker:
            yield Place(broker, "g", TOPIC, broker)
