"""Record a real Kafka behind a proxy: the history is the same as of a served model.

Clients connect to the proxy, one port for each broker.  Where an answer names a broker, it gets the
proxy's port instead, so that every connection goes through it.  What can't be decoded is passed on
as it is, and known by its header.

Source: Kafka's message definitions; KIP-951 (Produce and Fetch may name other leaders).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from fencepost.conformance.runtime.lag_meter import LagMeter
from fencepost.conformance.serve.broker_apis import VERSIONS
from fencepost.conformance.serve.broker_history import History, KeptBody, RecordedExchange, controls
from fencepost.conformance.targets.tcp.cluster_admin import DEADLINES, Admin, AdminError
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.wire.codec import (
    API_KEYS,
    RequestHeader,
    decode_header,
    decode_message,
    decode_request,
    encode_message,
)
from fencepost.conformance.wire.record_batches import batch_of
from fencepost.model.messages.errors import error_name
from fencepost.model.messages.shapes import ShapeError

Json = dict[str, Any]

HOST = "127.0.0.1"

_NAMES = {key: name for name, key in API_KEYS.items()}
_MAX_FRAME = 64 << 20
_LINGER_S = 5.0
_NAMING = ("Metadata", "FindCoordinator", "DescribeCluster")
"""The APIs whose every answer names brokers."""
_LISTS = ("brokers", "coordinators", "nodeEndpoints")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request that was passed on; `exchange` None: our own."""

    api: str
    header: RequestHeader
    exchange: RecordedExchange | None


class RecordedKafka:
    """A Kafka at an address, recorded while this is open (`async with`); without TLS or SASL.

    Raises AdminError, AddressError when the Kafka can't be reached.
    """

    def __init__(self, kafka: Address, *, remote: bool = False) -> None:
        self.history = History()
        self._admin = Admin(kafka, remote=remote, deadlines=DEADLINES)
        self._brokers: dict[int, Address] = {}
        self._servers: dict[int, asyncio.Server] = {}
        self._tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        """Tasks of the connections, each with the client's side."""
        self._is_over = False
        self._failed: asyncio.Future[None] | None = None
        self._first = -1
        self._numbers = 0
        self._stack = contextlib.AsyncExitStack()

    @property
    def bootstrap(self) -> str:
        """`HOST:PORT` of the first broker, through the proxy."""
        return str(self._address(self._first))

    async def __aenter__(self) -> Self:
        """Find the brokers, and listen for each."""
        self._failed = asyncio.get_running_loop().create_future()
        await self._admin.open()
        for node, address in (await self._admin.brokers()).items():
            if node >= 0:
                await self._listen(node, address)
        self._first = min(self._servers)
        for node in self._servers:
            self.history.meters[node] = LagMeter()
        measured = [(self._address(node), meter) for node, meter in self.history.meters.items()]
        await self._stack.enter_async_context(controls(measured))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all ports and connections."""
        await self._stack.aclose()
        self._is_over = True
        if self._failed is not None:
            self._failed.cancel()
        for server in self._servers.values():
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in self._servers.values():
            await server.wait_closed()

    async def serve(self) -> None:
        """Stay until cancelled.  Raises the exception of a failure in the proxy: our own fault."""
        if self._failed is None:
            raise RuntimeError("the proxy is not open: use it in `async with`")
        await self._failed

    async def create_topics(self, topics: Mapping[str, int]) -> None:
        """Make topics, by name and number of partitions; those that exist stay as they are."""
        controller = (await self._admin.brokers()).get(-1)
        there = await self._admin.call("Metadata", {"topics": None})
        known = {row["name"] for row in there["topics"]}
        for name, partitions in topics.items():
            if name not in known:
                await self._admin.create_topic(name, controller, partitions)

    async def produce(self, topic: str, partition: int, count: int) -> None:
        """Append this many small records of our own, in one batch.  Raises AdminError."""
        answer = await self._admin.call("Metadata", {"topics": [{"name": topic}]})
        rows = {p["partitionIndex"]: p["leaderId"] for p in answer["topics"][0]["partitions"]}
        records = base64.b64encode(batch_of([str(n).encode() for n in range(count)])).decode()
        part = {"index": partition, "records": records}
        body = {
            "transactionalId": None,
            "acks": -1,
            "timeoutMs": 5000,
            "topicData": [{"name": topic, "partitionData": [part]}],
        }
        answer = await self._admin.call("Produce", body, self._brokers[rows[partition]])
        code = answer["responses"][0]["partitionResponses"][0]["errorCode"]
        if code:
            raise AdminError(
                f"Produce to {topic} {partition} failed: the broker answered {error_name(code)}"
            )

    async def remove(self, group: str, instance: str | None, member_id: str = "") -> int:
        """Remove a member, as an administrator does; return the error code, 0: removed.

        A static member is named by its instance id alone, a dynamic one by its member id.
        """
        at = await self._admin.find_coordinator(group)
        rows = [{"memberId": member_id, "groupInstanceId": instance}]
        answer = await self._admin.call("LeaveGroup", {"groupId": group, "members": rows}, at)
        code = next((row["errorCode"] for row in answer["members"]), answer["errorCode"])
        self.history.act("remove", group=group, instance=instance, member=member_id, code=code)
        return int(code)

    # Connections.

    def _address(self, node: int) -> Address:
        return Address(HOST, self._servers[node].sockets[0].getsockname()[1])

    async def _listen(self, node: int, broker: Address) -> None:
        self._brokers[node] = broker

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if self._is_over:
                writer.transport.abort()
                return
            task = asyncio.create_task(self._connection(node, reader, writer))
            self._tasks[task] = writer
            task.add_done_callback(self._ended)

        if node not in self._servers:
            self._servers[node] = await asyncio.start_server(accept, HOST, 0, limit=1 << 20)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Note the end of a connection's task; `serve` raises its exception, a fault of ours."""
        self._tasks.pop(task).transport.abort()
        error = None if task.cancelled() else task.exception()
        if error is not None and self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)

    async def _connection(
        self, node: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Pass frames on, both ways, until one side ends."""
        self._numbers += 1
        name = f"connection-{self._numbers}"
        self.history.opened(name, node)
        broker = self._brokers[node]
        try:
            async with asyncio.timeout(DEADLINES.connect_s):
                upstream, onward = await asyncio.open_connection(broker.host, broker.port)
            waiting: deque[_Waiting] = deque()
            asks = asyncio.create_task(self._requests(node, name, reader, onward, waiting))
            answers = asyncio.create_task(self._answers(upstream, writer, waiting))
            try:
                done, _ = await asyncio.wait({asks, answers}, return_when=asyncio.FIRST_COMPLETED)
                by_client = answers not in done
                self.history.closed(name, by_client=by_client)
                for task in done:
                    task.result()
                if by_client:  # what it sent last is handled, as it would be without the proxy
                    onward.write_eof()
                    await asyncio.wait({answers}, timeout=_LINGER_S)
            finally:
                onward.transport.abort()
                asks.cancel()
                answers.cancel()
                await asyncio.gather(asks, answers, return_exceptions=True)
        except (OSError, ShapeError):  # the broker is gone, or the client sent what is no request
            self.history.closed(name, by_client=False)

    async def _requests(
        self,
        node: int,
        name: str,
        reader: asyncio.StreamReader,
        onward: asyncio.StreamWriter,
        waiting: deque[_Waiting],
    ) -> None:
        while (frame := await _frame(reader)) is not None:
            header = decode_header(frame)
            api = _NAMES.get(header.key, f"key {header.key}")
            exchange = self.history.receive(node, name, api, header)
            body = _body_of(frame)
            if exchange is not None and body is not None:
                exchange.request_body = KeptBody.of(body)
            if not (api == "Produce" and body is not None and not body["acks"]):
                waiting.append(_Waiting(api, header, exchange))
            onward.write(len(frame).to_bytes(4) + frame)
            await onward.drain()

    async def _answers(
        self,
        upstream: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        waiting: deque[_Waiting],
    ) -> None:
        while (frame := await _frame(upstream)) is not None and waiting:
            request = waiting.popleft()
            body: Json | None = None
            if request.api in API_KEYS and _speaks(request.api, request.header.version):
                body = decode_message(request.api, request.header.version, frame).body
            rewritten = None if body is None else await self._rewritten(request.api, body)
            framed = len(frame).to_bytes(4) + frame
            if rewritten is not None and rewritten != body:
                version = request.header.version
                number = request.header.correlation_id
                framed = _written(request.api, version, number, rewritten)
            if request.exchange is not None:
                self.history.answer(request.exchange, rewritten)
            with contextlib.suppress(OSError):  # a client that went
                writer.write(framed)
                await writer.drain()

    async def _rewritten(self, api: str, body: Json) -> Json:
        """Return an answer for clients: with our addresses, and no version unknown here."""
        if api == "ApiVersions" and not body["errorCode"]:
            return {**body, "apiKeys": [_capped(row) for row in body["apiKeys"]]}
        rewritten = dict(body)
        if "port" in rewritten:
            rewritten = await self._here(rewritten)
        for name in _LISTS:
            if name in rewritten:
                rewritten[name] = [await self._here(row) for row in rewritten[name]]
        return rewritten

    async def _here(self, row: Json) -> Json:
        """Return a broker's row, with the proxy's address; a broker that is new gets a port."""
        node: int = row["nodeId"] if "nodeId" in row else row["brokerId"]
        if node < 0:
            return row
        await self._listen(node, Address(row["host"], row["port"]))
        here = self._address(node)
        return {**row, "host": here.host, "port": here.port}


def _capped(row: Json) -> Json:
    """Return the versions of an API; if it names brokers, only those that are readable here."""
    api = _NAMES.get(row["apiKey"])
    if api not in _NAMING:
        return row
    return {**row, "maxVersion": min(row["maxVersion"], VERSIONS[api][1])}


def _speaks(api: str, version: int) -> bool:
    low, high = VERSIONS.get(api, (0, 99))
    return low <= version <= high or api == "ApiVersions"


def _body_of(frame: bytes) -> Json | None:
    """Return a request's body, None where it can't be read."""
    with contextlib.suppress(ShapeError):
        request = decode_request(frame)
        if _speaks(request.api, request.version):
            return request.body
    return None


def _written(api: str, version: int, number: int, body: Json) -> bytes:
    """Encode an answer.

    Raises ValueError if it was read and can't be written: a fault of the codec.
    """
    try:
        return encode_message(api, "Response", version, number, body)
    except ShapeError as error:
        raise ValueError(f"{api} version {version}: {error}") from error


async def _frame(reader: asyncio.StreamReader) -> bytes | None:
    """Read a frame, without its length; None at the end, or for bytes that are no frame."""
    try:
        size = int.from_bytes(await reader.readexactly(4), signed=True)
        return await reader.readexactly(size) if 0 <= size <= _MAX_FRAME else None
    except (asyncio.IncompleteReadError, OSError):
        return None
