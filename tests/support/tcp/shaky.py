"""A bad link: a TCP proxy that delays, stalls and cuts, the same way for the same seed.

A connection's bytes stay in order; each lump of them waits for the link's delay and some jitter,
now and then for a stall; and now and then the connection is cut instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self

from fencepost.conformance.targets.tcp.tcp import TcpTarget

LUMP = 65536


@dataclass(slots=True)
class Link:
    """How bad it is, and what it did.  Times in ms, of each lump in each direction.

    `upstream`: the port behind it.  `stalls` and `cuts` are probabilities of each lump, once the
    link is `shaky`.
    """

    seed: int
    delay_ms: float = 2
    jitter_ms: float = 0
    stalls: float = 0
    stall_ms: float = 1500
    cuts: float = 0
    upstream: int = 0
    port: int = 0
    shaky: bool = True
    lumps: int = 0
    stalled: int = 0
    cut: int = 0
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        chance = random.Random(f"{self.seed}-{next(self._numbers)}")
        try:
            there, on = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:
            writer.transport.abort()
            return
        ways = [
            asyncio.create_task(self._lumps(source, sink, chance))
            for source, sink in ((reader, on), (there, writer))
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for end in (writer, on):
                end.transport.abort()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _lumps(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, chance: random.Random
    ) -> None:
        """Until one side ends, or the link cuts them off."""
        while data := await source.read(LUMP):
            self.lumps += 1
            wait_ms = self.delay_ms + chance.uniform(0, self.jitter_ms)
            if self.shaky and chance.random() < self.cuts:
                self.cut += 1
                return
            if self.shaky and chance.random() < self.stalls:
                self.stalled += 1
                wait_ms += chance.uniform(0, self.stall_ms)
            await asyncio.sleep(wait_ms / 1000)
            sink.write(data)
            await sink.drain()


@asynccontextmanager
async def linked(link: Link) -> AsyncIterator[Link]:
    """The link, listening on `port`; all its connections end with it."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await link.carry(reader, writer)
        tasks.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    link.port = server.sockets[0].getsockname()[1]
    try:
        yield link
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


class Reached(TcpTarget):
    """A broker behind a link that is good until the broker has been reached."""

    link: Link

    async def __aenter__(self) -> Self:
        self.link.shaky = False
        await super().__aenter__()
        self.link.shaky = True
        return self
