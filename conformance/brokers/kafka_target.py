"""`kafka:VERSION`: Apache Kafka, started here.

Decides that a certificate needs two brokers at most: one that is never restarted, and one for the
cases with a failover, which share its restarts.  Both are thrown away in the end, with their data.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from fencepost.conformance.admin import DEADLINES, Deadlines
from fencepost.conformance.brokers.failovers import Failovers
from fencepost.conformance.brokers.kafka_broker import QUICK_FAILOVER, KafkaBroker
from fencepost.conformance.brokers.kafka_version import KafkaVersion
from fencepost.conformance.target import Hints, Provenance, Target, TargetUnavailableError
from fencepost.conformance.tcp import TcpTarget
from fencepost.model.coordinator import AsyncCoordinator, CoordinatorFailure

IMPLEMENTATION = "Apache Kafka"


class KafkaTarget(Target):
    """A Kafka of one node.

    `properties`: of the broker, beside ours; `logs`: a folder for the brokers' logs (None: they go
    with the data).
    """

    hints = Hints()

    def __init__(
        self,
        version: KafkaVersion,
        *,
        properties: Mapping[str, str] | None = None,
        logs: Path | None = None,
        capacity: int = 8,
        deadlines: Deadlines = DEADLINES,
    ) -> None:
        self.version = version
        self.name = f"kafka:{version}"
        self.capacity = capacity
        self._properties = dict(properties or {})
        self._logs = logs
        self._deadlines = deadlines
        self._stack = AsyncExitStack()
        self._folder = Path()
        self._tcp: TcpTarget | None = None
        self._failover: TcpTarget | None = None
        self._starting = asyncio.Lock()

    @property
    def tcp(self) -> TcpTarget:
        """The broker that is not restarted.  While open only."""
        if self._tcp is None:
            raise RuntimeError(f"{self.name} is not open: use it in `async with`")
        return self._tcp

    @property
    def address(self) -> str:
        """Where it listens, as `HOST:PORT`.  While open only."""
        return str(self.tcp.address)

    @property
    def settings_source(self) -> dict[str, str]:
        """Where each group setting is from."""
        return self.tcp.settings_source

    @property
    def advertised(self) -> dict[str, tuple[int, int]]:
        """The versions that it says it speaks."""
        return self.tcp.advertised

    @property
    def aliases(self) -> frozenset[str]:
        """What else it is called in lists of known failures: Kafka by its coordinator."""
        kind = "new" if self.version.has_new_coordinator else "old"
        return frozenset({f"kafka+{kind}"})

    async def __aenter__(self) -> Self:
        """Start it.  Raises TargetUnavailableError."""
        try:
            folder = tempfile.TemporaryDirectory(prefix="fencepost-", ignore_cleanup_errors=True)
            self._folder = Path(self._stack.enter_context(folder))
            self._tcp = await self._start("broker", self._properties, None)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the brokers; their data goes with them."""
        await self._stack.aclose()
        self._tcp = self._failover = None

    async def _start(
        self, role: str, properties: Mapping[str, str], settled: TcpTarget | None
    ) -> TcpTarget:
        """A broker of ours.  `settled`: one of the same kind, whose versions are known."""
        folder = self._folder / role
        folder.mkdir()
        log = (self._logs or folder) / f"{self.name.replace(':', '-')}-{role}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        broker = KafkaBroker(self.version, folder, log, properties)
        self._stack.push_async_callback(broker.end)
        await broker.start()
        failovers = None
        if settled is not None:
            failovers = Failovers(broker.restart)
            self._stack.push_async_callback(failovers.close)
        tcp = TcpTarget(
            broker.address,
            name=self.name,
            implementation=IMPLEMENTATION,
            version=str(self.version),
            deadlines=self._deadlines,
            probe=settled is None,
            working=None if settled is None else settled.working,
            capacity=self.capacity,
            failovers=failovers,
            features=frozenset({"disconnect", "restart"}),
            temporary=True,
        )
        return await self._stack.enter_async_context(tcp)

    def provenance(self) -> Provenance:
        """The release, and the coordinator where there is a choice."""
        return self.tcp.provenance()

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """A scope on the broker, or (`restarts`) on the one whose restarts are shared."""
        target = await self._for_failovers() if restarts else self.tcp
        async with target.scope(label, isolated=isolated, restarts=restarts) as scope:
            yield scope

    async def _for_failovers(self) -> TcpTarget:
        async with self._starting:
            if self._failover is None:
                quick = QUICK_FAILOVER | self._properties
                try:
                    self._failover = await self._start("failover", quick, self.tcp)
                except TargetUnavailableError as error:
                    raise CoordinatorFailure(f"the broker for failovers: {error}") from error
        return self._failover
