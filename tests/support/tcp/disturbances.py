"""What makes a target late, or its links bad, while it is judged: the same way for the same seed.

Busy processors, a target that is stopped now and then, and links that jitter, stall and cut.  Every
connection of this process to a broker goes through a link, once the links are `shaky`.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from support.tcp.shaky import Link, linked

from fencepost.conformance.targets.tcp.broker_connection import Connection

MARKS = (b"kafka.Kafka", b"QuorumPeerMain", b"\0serve\0")
"""Words in the command lines of the brokers that are stopped."""


@dataclass(frozen=True)
class Disturbance:
    """Which of them; `link`: how bad the links are, None: they are good."""

    name: str
    busy: int = 0
    stops: bool = False
    link: Mapping[str, float] | None = None


_CORES = os.cpu_count() or 1
_JITTER = {"jitter_ms": 200}
_STALLS = {"stalls": 0.004, "stall_ms": 3000}
_CUTS = {"cuts": 0.002}
CALM = Disturbance("nothing")
DISTURBANCES = (
    Disturbance("busy processors", busy=_CORES),
    Disturbance("stops", stops=True),
    Disturbance("jitter", link=_JITTER),
    Disturbance("stalls", link=_STALLS),
    Disturbance("cuts", link=_CUTS),
    Disturbance("all at once", busy=_CORES, stops=True, link={**_JITTER, **_STALLS, **_CUTS}),
)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that compute all the time."""
    started = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def brokers() -> list[int]:
    """Processes that this one started, itself or by others, and that are brokers."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rsplit(")")[-1].split()[1]
            )
    mine = []
    for pid in parents:
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if above == os.getpid() != pid and any(mark in words for mark in MARKS):
                mine.append(pid)
    return mine


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def stopping(
    seed: int,
    which: Callable[[], list[int]] = brokers,
    every_s: tuple[float, float] = (7, 18),
    for_s: tuple[float, float] = (2, 3),
) -> Iterator[None]:
    """Stop the brokers now and then, for some seconds.  None is left stopped."""
    chance, over = random.Random(seed), threading.Event()

    def stop_now_and_then() -> None:
        while not over.wait(chance.uniform(*every_s)):
            pids = which()
            try:
                _send(pids, signal.SIGSTOP)
                over.wait(chance.uniform(*for_s))
            finally:
                _send(pids, signal.SIGCONT)

    thread = threading.Thread(target=stop_now_and_then)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@dataclass
class Links:
    """One link to each port, made when it is needed; good until `shaky`."""

    model: Link
    shaky: bool = False
    links: dict[int, Link] = field(default_factory=dict)

    async def port(self, upstream: int, stack: AsyncExitStack) -> int:
        if upstream not in self.links:
            link = replace(self.model, seed=self.model.seed + len(self.links), upstream=upstream)
            self.links[upstream] = await stack.enter_async_context(linked(link))
        return self.links[upstream].port


@asynccontextmanager
async def bad_links(seed: int, how: Mapping[str, float]) -> AsyncIterator[Links]:
    """All connections to brokers lead over links that are as bad as this, once they are shaky."""
    links, directly = Links(Link(seed, **how)), Connection.open.__func__  # type: ignore[arg-type, attr-defined]

    async with AsyncExitStack() as stack:

        async def over_a_link(
            cls: type[Connection], host: str, port: int, *options: Any, **more: Any
        ) -> Connection:
            if links.shaky:
                port = await links.port(port, stack)
            connection: Connection = await directly(cls, host, port, *options, **more)
            return connection

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Connection, "open", classmethod(over_a_link))
            yield links


@asynccontextmanager
async def disturbed(how: Disturbance, seed: int) -> AsyncIterator[Callable[[], None]]:
    """Disturb this machine and the brokers, from when the function is called that this gives."""
    async with AsyncExitStack() as stack:
        links = None
        if how.link is not None:
            links = await stack.enter_async_context(bad_links(seed, how.link))
        begun = False

        def begin() -> None:
            nonlocal begun
            if begun:
                return
            begun = True
            stack.enter_context(busy(how.busy))
            if how.stops:
                stack.enter_context(stopping(seed))
            if links is not None:
                links.shaky = True

        yield begin
