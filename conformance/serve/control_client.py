"""A control client: it shows how quick a broker and this machine are, beside the clients.

It asks a node for its versions ten times a second, on a connection of its own.  Nothing late is
held against a client while the control is late itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable

from fencepost.conformance.run.latency_monitor import LagMeter
from fencepost.conformance.targets.tcp.address import Address
from fencepost.conformance.wire.codec import decode_message, encode_message
from fencepost.model.coordinator import CoordinatorFailure

CONTROL = "fencepost-control"
"""Its client id; its requests are neither noted in a history nor provoked."""

_BEAT_S = 0.1
_WORTH_NOTING_S = 0.01
_PATIENCE_S = 30.0
_API, _VERSION = "ApiVersions", 0


@contextlib.asynccontextmanager
async def controls(nodes: Iterable[tuple[Address, LagMeter]]) -> AsyncIterator[None]:
    """Measure each of these while the body runs."""
    tasks = [asyncio.create_task(_measure(address, meter)) for address, meter in nodes]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _measure(address: Address, meter: LagMeter) -> None:
    while True:
        with contextlib.suppress(CoordinatorFailure):
            with meter.measured():
                reader, writer = await _connected(address)
            try:
                await _beat(reader, writer, meter)
            finally:
                writer.transport.abort()
        await asyncio.sleep(_BEAT_S)


async def _connected(address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return await asyncio.open_connection(address.host, address.port)
    except OSError as error:
        raise CoordinatorFailure(f"no connection: {error}") from error


async def _beat(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, meter: LagMeter
) -> None:
    """Ask until the connection ends.  Raises CoordinatorFailure."""
    number = 0
    while True:
        number += 1
        with meter.measured():
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    frame = encode_message(_API, "Request", _VERSION, number, {}, client_id=CONTROL)
                    writer.write(frame)
                    answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
            except (OSError, EOFError) as error:
                raise CoordinatorFailure(f"the connection ended: {error}") from error
            if decode_message(_API, _VERSION, answer).correlation_id != number:
                raise CoordinatorFailure("the answer is another request's")
        due = time.monotonic() + _BEAT_S
        await asyncio.sleep(_BEAT_S)
        if (late_s := time.monotonic() - due) > _WORTH_NOTING_S:
            meter.note(late_s)
