"""Start the brokers of a target: one for most cases, others as cases need them.

A case that needs other settings than those of the first broker gets a broker that has them, if the
implementation supports such settings.  Cases with a failover get one that is restarted for all of
them at once.  The versions that work are tried on the first broker alone: the others are the same
program.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import abstractmethod
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fencepost.conformance.runtime.event_loop import cancel_all, shared_task
from fencepost.conformance.runtime.toolchain.child import Child, Server, free_ports
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.target import NO_LIMIT, Hints, ScopeNeeds, Target
from fencepost.conformance.targets.tcp.cluster_admin import (
    DEADLINES,
    Admin,
    AdminError,
    Deadlines,
)
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.model.coordinator import (
    RECORD_LIMIT,
    AsyncCoordinator,
    CoordinatorFailure,
    Provenance,
    named,
)
from fencepost.model.plans.plan_order import DELAY
from fencepost.traces.files.text_files import temporary_folder

_LONGEST_DELAY_MS = 10_000
"""A case that waits for minutes is for virtual clocks."""

_PAUSE_S = 0.05
_AT_ONCE = 2
"""Brokers that start side by side: each keeps a processor busy for seconds."""


@dataclass(frozen=True, slots=True)
class BrokerVariant:
    """Differences between brokers of one target: settings beside the first's, and restarts."""

    settings: tuple[tuple[str, int | None], ...] = ()
    restarts: bool = False

    def __str__(self) -> str:
        """Return a word for file names."""
        words = [f"{key.replace('group.', '')}-{value}" for key, value in self.settings]
        return "-".join(["failover" if self.restarts else "broker", *words])

    def properties(self) -> dict[str, str]:
        """Return the settings as a broker's configuration has them."""
        values = named(dict(self.settings))
        return {key: str(NO_LIMIT if v is None else v) for key, v in values.items()}


FIRST = BrokerVariant()


@dataclass(frozen=True, slots=True)
class BrokerPlace:
    """Place of a broker's start: its kind, its exit stack, the folder for its data, its log.

    `working`: the versions that work; None: they are to be tried.  `case`: the case that it is for
    alone, and ends with; "" where cases share it.
    """

    kind: BrokerVariant
    stack: AsyncExitStack
    folder: Path
    log: Path
    working: Mapping[str, tuple[int, int]] | None
    case: str = ""


_MOST_PATIENCE = 4.0


async def until_ready(
    child: Server,
    ask: Callable[[], Awaitable[None]],
    name: str,
    within_s: float,
    *,
    interesting: Callable[[str], bool] = lambda _: True,
    hint: str = "",
) -> None:
    """Ask a broker of ours until it answers.  Raises TargetUnavailableError.

    `within_s`: on a machine with a processor for each process that runs; on a busier one, up to
    `_MOST_PATIENCE` times as long, since the broker isn't slow then, but the machine.
    `interesting`: selects the lines of its log that may explain its end; `hint`: an end for the
    sentence.
    """
    problem = "it did not open its port"
    within_s *= min(_MOST_PATIENCE, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if child.ended:
            last = child.last_line(interesting)
            how = child.how_it_ended()
            raise TargetUnavailableError(f"{name} {how} while it started: {last}{hint}")
        try:
            async with asyncio.timeout_at(end):
                await ask()
        except (AdminError, OSError, TimeoutError) as error:
            problem = str(error) or problem
            await asyncio.sleep(_PAUSE_S)
        else:
            return
    raise TargetUnavailableError(
        f"{name} was not ready within {round(within_s, 1):g} s: {problem}{hint}"
    )


class StartedTarget(Target):
    """A base of all brokers that are started here; see `KafkaTarget`, `MockTarget`.

    `properties`: what the user set; `logs`: a folder for the brokers' logs (None: thrown away).
    """

    hints = Hints()
    settable: frozenset[str]
    """The group settings that such a broker can take."""
    fragile = False
    """True if a case that may kill it gets one of its own."""

    def __init__(
        self,
        name: str,
        properties: Mapping[str, str] | None,
        logs: Path | None,
        capacity: int,
        deadlines: Deadlines = DEADLINES,
    ) -> None:
        self.name = name
        self.capacity = capacity
        self.deadlines = deadlines
        self._properties = dict(properties or {})
        self._logs = logs
        self._stack = AsyncExitStack()
        self._folder = Path()
        self._tcp: TcpTarget | None = None
        self._brokers: dict[BrokerVariant, asyncio.Task[TcpTarget]] = {}
        self._starting = asyncio.Semaphore(_AT_ONCE)
        self._turns: defaultdict[BrokerVariant, asyncio.Lock] = defaultdict(asyncio.Lock)

    @abstractmethod
    async def start_broker(self, place: BrokerPlace) -> TcpTarget:
        """Start a broker with its data in a folder.  Raises TargetUnavailableError."""

    async def connected(self, place: BrokerPlace, address: str, **options: Any) -> TcpTarget:
        """Reach a broker that was started; `options`: further ones of TcpTarget."""
        tcp = TcpTarget(
            address,
            name=self.name,
            deadlines=self.deadlines,
            probe=place.working is None,
            working=place.working,
            capacity=self.capacity,
            temporary=True,
            is_brief=bool(place.case),
            **options,
        )
        return await place.stack.enter_async_context(tcp)

    @property
    def tcp(self) -> TcpTarget:
        """The first broker.  While open only."""
        if self._tcp is None:
            raise RuntimeError(f"{self.name} is not open: use it in `async with`")
        return self._tcp

    @property
    def address(self) -> str:
        """Listening address of the first broker, as `HOST:PORT`.  While open only."""
        return str(self.tcp.address)

    @property
    def settings_source(self) -> dict[str, str]:
        """The source of each group setting."""
        return self.tcp.settings_source

    @property
    def advertised(self) -> dict[str, tuple[int, int]]:
        """The versions that it advertises."""
        return self.tcp.advertised

    async def __aenter__(self) -> Self:
        """Start the first broker.  Raises TargetUnavailableError."""
        try:
            self._tcp = await self._broker(FIRST, self._stack)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all brokers; their data goes with them."""
        starting = list(self._brokers.values())
        self._brokers.clear()
        await cancel_all(starting)
        await self._stack.aclose()
        self._tcp = None

    async def _broker(
        self, kind: BrokerVariant, stack: AsyncExitStack, case: str = ""
    ) -> TcpTarget:
        """Start a broker in a folder of its own."""
        folder = stack.enter_context(temporary_folder())
        name = self.name.replace(":", "-").replace("*", "x")
        log = (self._logs or folder) / f"{name}-{kind}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        working = None if self._tcp is None else self._tcp.working
        return await self.start_broker(BrokerPlace(kind, stack, folder, log, working, case))

    def provenance(self) -> Provenance:
        """Return the implementation and its version."""
        return self.tcp.provenance()

    async def prepare(self, needs: Collection[ScopeNeeds]) -> None:
        """Start the brokers that these cases need, before any of them runs.

        Raises TargetUnavailableError.
        """
        kinds = {self._kind(needed) for needed in needs} - {FIRST}
        await asyncio.gather(*(self._started(k) for k in sorted(kinds, key=str)))

    def _kind(self, needed: ScopeNeeds) -> BrokerVariant:
        has = self.tcp.settings | self.tcp.consumer_settings
        differs = {k: v for k, v in needed.settings.items() if has.get(k) != v}
        delay = differs.get(DELAY) or 0
        if not differs.keys() <= self.settable or delay > _LONGEST_DELAY_MS:
            differs = {}
        return BrokerVariant(tuple(sorted(differs.items())), needed.restarts)

    async def _started(self, kind: BrokerVariant) -> TcpTarget:
        """Return the common broker of a kind.  Raises TargetUnavailableError."""
        if kind == FIRST:
            return self.tcp
        if kind not in self._brokers:

            async def start() -> TcpTarget:
                async with self._starting:
                    return await self._broker(kind, self._stack)

            self._brokers[kind] = shared_task(start())
        return await asyncio.shield(self._brokers[kind])

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """Yield a scope on the first broker, or on the one for failovers."""
        async with self.scope_with(label, ScopeNeeds(isolated, restarts)) as scope:
            yield scope

    @asynccontextmanager
    async def scope_with(self, label: str, needed: ScopeNeeds) -> AsyncIterator[AsyncCoordinator]:
        """Yield a scope on a broker with the settings needed, or (`isolated`) on one of its own.

        Where records may be too large, scopes have the broker in turns: a request that can't be
        stored may fail those of other groups (docs/findings/empty-batch.md).
        Raises CoordinatorFailure where that can't be started.
        """
        kind = self._kind(needed)
        async with AsyncExitStack() as stack:
            if RECORD_LIMIT in dict(kind.settings):
                await stack.enter_async_context(self._turns[kind])
            try:
                broker = await (
                    self._broker(kind, stack, label)
                    if needed.isolated and self.fragile
                    else self._started(kind)
                )
            except TargetUnavailableError as error:
                raise CoordinatorFailure(f"{self.name}, {kind}: {error}") from error
            scope = broker.scope(label, restarts=needed.restarts)
            yield await stack.enter_async_context(scope)


_HOST = "127.0.0.1"
READY_S = 15.0


class ProgramTarget(StartedTarget):
    """A base of brokers that are one program each, with one broker; their state is gone with it."""

    fragile = True
    settable: frozenset[str] = frozenset()
    environment: Mapping[str, str] = {}
    """The variables of the program beside ours."""
    named_as: Address | None = None
    """The address that it names as its own, wherever it listens; None: where it listens."""

    @abstractmethod
    async def command(self, place: BrokerPlace, port: int) -> Sequence[str]:
        """Return the command that starts it at a port of the loopback; fetch it if need be.

        Raises TargetUnavailableError.
        """

    @abstractmethod
    def known(self) -> Mapping[str, Any]:
        """Return what it doesn't tell: the options of TcpTarget for its settings and version."""

    async def start_broker(self, place: BrokerPlace) -> TcpTarget:
        """Fetch it if need be, and start it.  Raises TargetUnavailableError."""
        port = free_ports(1)[0]
        command = await self.command(place, port)
        child = await Child.start(command, place.log, folder=place.folder, env=self.environment)
        place.stack.push_async_callback(child.end)
        patience = Deadlines(connect_s=1.0, answer_s=2.0)
        admin = Admin(Address(_HOST, port), remote=False, deadlines=patience)
        await until_ready(child, admin.open, self.name, READY_S)
        options = {**self.known(), "named_as": self.named_as}
        return await self.connected(place, f"{_HOST}:{port}", **options)
