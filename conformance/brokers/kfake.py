"""`kfake`: franz-go's coordinator in Go, built from its source and started here.

Decides which version is meant (the one that the go.mod beside the program locks), how it is built
(once, into the user's cache) and which settings it has that it doesn't tell.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from fencepost.conformance.address import Address
from fencepost.conformance.admin import DEADLINES, Admin, AdminError, Deadlines
from fencepost.conformance.brokers.cache import cached
from fencepost.conformance.brokers.child import Child, free_ports
from fencepost.conformance.brokers.tools import find_tool, run_tool
from fencepost.conformance.target import Hints, Provenance, Target, TargetUnavailableError
from fencepost.conformance.tcp import TcpTarget
from fencepost.model.coordinator import AsyncCoordinator

SOURCE = Path(__file__).with_name("kfake_program")
_HOST = "127.0.0.1"
_BUILD_S = 600.0
_READY_S = 15.0
_PAUSE_S = 0.02
_REMEDY = "install Go 1.26 or later (Debian: golang), or fill the cache on another machine"
_OURS = {"group.min.session.timeout.ms": "100"}
_UNTOLD: Mapping[str, int | None] = {"group.initial.rebalance.delay.ms": 0}
"""It has no initial delay, and no setting for one."""


def locked_version() -> str:
    """The version of kfake that is built."""
    text = (SOURCE / "go.mod").read_text(encoding="utf-8")
    found = re.search(r"/pkg/kfake (v\S+)", text)
    if found is None:
        raise RuntimeError(f"{SOURCE / 'go.mod'} names no version of kfake")
    return found[1]


async def built() -> Path:
    """The program, from the cache.  Raises TargetUnavailableError."""

    async def build(folder: Path) -> None:
        go = find_tool("go", _REMEDY)
        for name in ("main.go", "go.mod", "go.sum"):
            shutil.copy(SOURCE / name, folder / name)
        command = [go, "build", "-mod=readonly", "-o", "kfake", "."]
        await run_tool(command, _BUILD_S, folder, {"GOTOOLCHAIN": "local"})

    return await cached("kfake", locked_version(), build) / "kfake"


class KfakeTarget(Target):
    """kfake, one broker; everything is gone with it.

    `properties`: broker configurations; `logs`: a folder for its output (None: thrown away).
    """

    name = "kfake"
    hints = Hints()

    def __init__(
        self,
        *,
        properties: Mapping[str, str] | None = None,
        logs: Path | None = None,
        capacity: int = 8,
        deadlines: Deadlines = DEADLINES,
    ) -> None:
        self.capacity = capacity
        self._properties = _OURS | dict(properties or {})
        self._logs = logs
        self._deadlines = deadlines
        self._stack = AsyncExitStack()
        self._tcp: TcpTarget | None = None

    @property
    def tcp(self) -> TcpTarget:
        """The broker.  While open only."""
        if self._tcp is None:
            raise RuntimeError("kfake is not open: use it in `async with`")
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

    async def __aenter__(self) -> Self:
        """Build it if need be, and start it.  Raises TargetUnavailableError."""
        try:
            self._tcp = await self._start(self._stack, None)
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
        """End it."""
        await self._stack.aclose()
        self._tcp = None

    async def _start(self, stack: AsyncExitStack, settled: TcpTarget | None) -> TcpTarget:
        program = await built()
        folder = tempfile.TemporaryDirectory(prefix="fencepost-", ignore_cleanup_errors=True)
        log = (self._logs or Path(stack.enter_context(folder))) / "kfake.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        port = free_ports(1)[0]
        configs = [f"{key}={value}" for key, value in self._properties.items()]
        child = await Child.start([str(program), str(port), *configs], log)
        stack.push_async_callback(child.end)
        await _ready(child, Address(_HOST, port))
        tcp = TcpTarget(
            f"{_HOST}:{port}",
            name=self.name,
            settings=_UNTOLD,
            implementation="kfake",
            version=locked_version(),
            deadlines=self._deadlines,
            probe=settled is None,
            working=None if settled is None else settled.working,
            capacity=self.capacity,
            temporary=True,
        )
        return await stack.enter_async_context(tcp)

    def provenance(self) -> Provenance:
        """The version that is locked."""
        return self.tcp.provenance()

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """A scope on the common broker, or (`isolated`) on one that ends with the scope."""
        async with AsyncExitStack() as stack:
            target = await self._start(stack, self.tcp) if isolated else self.tcp
            scope = target.scope(label, isolated=isolated, restarts=restarts)
            yield await stack.enter_async_context(scope)


async def _ready(child: Child, address: Address) -> None:
    """Wait until it answers.  Raises TargetUnavailableError."""
    end = time.monotonic() + _READY_S
    patience = Deadlines(connect_s=1.0, answer_s=2.0)
    problem = "it did not open its port"
    while time.monotonic() < end:
        if child.ended:
            raise TargetUnavailableError(f"kfake ended while it started: {child.last_line()}")
        try:
            await Admin(address, remote=False, deadlines=patience).open()
        except AdminError as error:
            problem = str(error)
            await asyncio.sleep(_PAUSE_S)
        else:
            return
    raise TargetUnavailableError(f"kfake was not ready within {_READY_S:g} s: {problem}")
