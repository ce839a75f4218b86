"""Brokers that lie, hang or are none: small servers, each answering as its script says.

Everything ends with the context; nothing waits for a clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fencepost.conformance.wire.codec import API_KEYS, RequestFrame, decode_request, encode_message
from fencepost.model.messages.messages import APIS

PARK = b"park"
"""A reply of the script: say nothing."""

HANG_UP = b"hang up"
"""A reply of the script: close the connection."""

CODES: dict[str, Any] = {"errorCode": 25}


@dataclass
class Broker:
    """What a running server tells a test."""

    port: int = 0
    requests: list[RequestFrame] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    got: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"


Script = Callable[[Broker, RequestFrame], bytes | None]
"""The bytes to send (framed), PARK or HANG_UP; None for the honest answer."""


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4) + payload


def answer(request: RequestFrame, body: Mapping[str, Any], version: int | None = None) -> bytes:
    return encode_message(
        request.api,
        "Response",
        request.version if version is None else version,
        request.correlation_id,
        body,
    )


def honest(broker: Broker, request: RequestFrame) -> bytes:
    """A broker whose groups are always absent."""
    at = {"nodeId": 1, "host": "127.0.0.1", "port": broker.port}
    match request.api:
        case "ApiVersions":
            bounds = {"Metadata": (0, 8), "FindCoordinator": (0, 4), "ApiVersions": (0, 3)}
            bounds |= {name: (api.lowest, api.highest) for name, api in APIS.items()}
            del bounds["DeleteGroups"]  # or the clean-up would ask for it
            rows = [
                {"apiKey": API_KEYS[name], "minVersion": low, "maxVersion": high}
                for name, (low, high) in bounds.items()
            ]
            return answer(request, {"errorCode": 0, "apiKeys": rows})
        case "FindCoordinator" if request.version >= 4:
            row = {"key": request.body["coordinatorKeys"][0], **at, "errorCode": 0}
            return answer(request, {"coordinators": [row]})
        case "FindCoordinator":
            return answer(request, {**at, "errorCode": 0})
        case "Metadata":
            partition = {"errorCode": 0, "partitionIndex": 0, "leaderId": 1}
            topics = [
                {"errorCode": 0, "name": topic["name"], "partitions": [partition]}
                for topic in request.body["topics"]
            ]
            return answer(request, {"brokers": [at], "topics": topics})
        case "OffsetCommit" | "OffsetFetch" | "DescribeGroups":
            return answer(request, {})
        case _:
            return answer(request, CODES)


@asynccontextmanager
async def serve(script: Script = honest) -> AsyncIterator[Broker]:
    """A broker that reads requests properly and answers as the script says."""

    async def handle(
        broker: Broker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while size := await reader.readexactly(4):
            request = decode_request(await reader.readexactly(int.from_bytes(size)))
            broker.requests.append(request)
            broker.got.set()
            reply = script(broker, request)
            if reply is None:
                reply = honest(broker, request)
            if reply == HANG_UP:
                return
            if reply != PARK:
                writer.write(reply)

    async with raw(handle) as broker:
        yield broker


Handler = Callable[[Broker, asyncio.StreamReader, asyncio.StreamWriter], Any]


@asynccontextmanager
async def raw(handle: Handler, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Broker]:
    """Any server; its connections are closed when `handle` returns and at the end."""
    broker = Broker()
    tasks: set[asyncio.Task[Any]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        broker.writers.append(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handle(broker, reader, writer)
        writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    broker.port = server.sockets[0].getsockname()[1]
    try:
        yield broker
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in broker.writers:
            writer.transport.abort()
        await server.wait_closed()


def saying(data: bytes) -> Handler:
    """A server that reads something, says this and closes."""

    async def handle(
        _broker: Broker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.read(1)
        writer.write(data)
        await writer.drain()

    return handle


async def hanging(
    _broker: Broker, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter
) -> None:
    """Read all there is, say nothing."""
    while await reader.read(65536):
        pass


async def closing(
    _broker: Broker, _reader: asyncio.StreamReader, _writer: asyncio.StreamWriter
) -> None:
    """Close at once."""
