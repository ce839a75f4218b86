"""A served model for tests: its settings, how long an answer may take, and a client of bytes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.serve.broker_apis import FIRST_NODE
from fencepost.conformance.wire.codec import Decoded, decode_message, encode_message

QUICK = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}


PATIENCE_S = 60


class Client:
    """One connection, as bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, api: str, version: int, body: dict[str, Any], number: int = 1) -> None:
        self.writer.write(encode_message(api, "Request", version, number, body, client_id="client"))
        await self.writer.drain()

    async def frame(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            size = int.from_bytes(await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def read(self, api: str, version: int) -> Decoded:
        decoded = decode_message(api, version, await self.frame())
        assert decoded.findings == ()
        return decoded

    async def ask(self, api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        await self.send(api, version, body)
        answer = (await self.read(api, version)).body
        assert answer is not None
        return answer

    async def join(self, member: str = "", instance: str | None = None, **more: Any) -> None:
        body = {
            "groupId": "g",
            "sessionTimeoutMs": 30_000,
            "rebalanceTimeoutMs": 30_000,
            "memberId": member,
            "groupInstanceId": instance,
            "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": "AAE="}],
        }
        await self.send("JoinGroup", 5, body | more)

    async def joined(self) -> dict[str, Any]:
        answer = (await self.read("JoinGroup", 5)).body
        assert answer is not None
        return answer

    async def is_closed(self) -> bool:
        """Waits for the end; whether nothing came before it."""
        async with asyncio.timeout(PATIENCE_S):
            with contextlib.suppress(ConnectionResetError):
                return await self.reader.read() == b""
            return True


@asynccontextmanager
async def client(broker: ModelBroker, node: int = FIRST_NODE) -> AsyncIterator[Client]:
    at = broker.addresses[node]
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


async def until(holds: Callable[[], object]) -> None:
    """Give the others their turns until this holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110  (what is waited for tells nobody)
            await asyncio.sleep(0.001)
