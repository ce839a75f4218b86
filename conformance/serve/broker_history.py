"""Record the history of a broker: requests, answers, and what was done to them.

Times are ms since the broker began, on its own monotonic clock.  Bodies are kept as JSON text,
which takes a fraction of the memory; of records only their number, size and offsets are kept.

A control client measures the latency of a broker and this machine, beside the clients: it asks a
node for its versions ten times a second, on a connection of its own.  Nothing late is held against
a client while the control is late itself.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from fencepost.conformance.runtime.lag_meter import LagMeter
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.wire.codec import RequestHeader, decode_message, encode_message
from fencepost.conformance.wire.provocation import Provocation
from fencepost.conformance.wire.record_batches import summary
from fencepost.model.bad_input import BadInputError
from fencepost.model.coordinator import Body, CoordinatorFailure
from fencepost.model.history.history import Exchange
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import Api
from fencepost.model.messages.shapes import Message
from fencepost.traces.files.text_files import opened_to_append

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
                raise CoordinatorFailure("the answer belongs to another request")
        due = time.monotonic() + _BEAT_S
        await asyncio.sleep(_BEAT_S)
        if (late_s := time.monotonic() - due) > _WORTH_NOTING_S:
            meter.note(late_s)


Json = dict[str, Any]


class KeptBody(Mapping[str, Any]):
    """A body as JSON text, which is decoded at each look-up."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text

    @classmethod
    def of(cls, body: Body) -> KeptBody:
        """Return a body as it is kept: records are replaced by their `summary`."""
        return cls(msgspec.json.encode(_without_records(body)))

    def __getitem__(self, name: str) -> Any:
        return msgspec.json.decode(self.text)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(msgspec.json.decode(self.text))

    def __len__(self) -> int:
        return len(msgspec.json.decode(self.text))


def _without_records(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_records(row) for row in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: summary(base64.b64decode(inner))
        if key == "records" and isinstance(inner, str)
        else _without_records(inner)
        for key, inner in value.items()
    }


@dataclass(slots=True)
class RecordedExchange(Exchange[Message | None, Message | None]):
    """An exchange as a broker saw it; `at_ms`: when it received the request.

    `node`: the broker's; `connection`: its name, used once.  `api`: its name, `key N` if this
    project doesn't speak it.  Bodies are None where they can't be read.
    """

    node: int = field(kw_only=True)
    correlation_id: int = field(kw_only=True)
    provocation: Provocation | None = None
    request_body: KeptBody | None = None
    answer_body: KeptBody | None = None

    def line(self) -> bytes:
        """Return it as a line of JSON."""
        line = {
            "node": self.node,
            "connection": self.connection,
            "client_id": self.client_id,
            "api": self.api,
            "version": self.version,
            "correlation_id": self.correlation_id,
            "received_ms": self.at_ms,
            "answered_ms": self.answered_ms,
            "provocation": self.provocation,
        }
        for name, body in (("request", self.request_body), ("answer", self.answer_body)):
            if body is not None:
                line[name] = msgspec.Raw(body.text)
        return msgspec.json.encode(line) + b"\n"

    def _known_api(self) -> Api | None:
        api = ALL_APIS.get(self.api)
        return api if api is not None and api.lowest <= self.version <= api.highest else None


@dataclass(frozen=True, slots=True)
class Act:
    """An administrator's action or an event of the broker: `remove`, `restart` and so on."""

    at_ms: float
    name: str
    about: Json


@dataclass(slots=True)
class ConnectionSpan:
    """The time of a connection, and the side that ended it."""

    node: int
    opened_ms: float
    closed_ms: float | None = None
    closed_by_client: bool = False


@dataclass(slots=True)
class History:
    """All exchanges and acts, in order of receipt.

    `meters`: the latency of each node, as a control client on a connection of its own measured it;
    in seconds of the monotonic clock.  `sink`: takes complete exchanges, a line of JSON each, and
    nothing is kept.
    """

    began_s: float = field(default_factory=time.monotonic)
    exchanges: list[RecordedExchange] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    connections: dict[str, ConnectionSpan] = field(default_factory=dict)
    meters: dict[int, LagMeter] = field(default_factory=dict)
    sink: Callable[[bytes], object] | None = None
    _open: dict[str, RecordedExchange] = field(default_factory=dict)
    """For a sink: the last request of each connection, until it is over."""

    # What a broker notes.

    def opened(self, connection: str, node: int) -> None:
        """Note a new connection."""
        self.connections[connection] = ConnectionSpan(node, self.now_ms())

    def closed(self, connection: str, *, by_client: bool) -> None:
        """Note the end of a connection."""
        span = self.connections.get(connection)
        if span is not None:
            span.closed_ms, span.closed_by_client = self.now_ms(), by_client
        if self.sink is not None:
            self.connections.pop(connection, None)
            self._pass_on(connection)

    def receive(
        self, node: int, connection: str, api: str, header: RequestHeader
    ) -> RecordedExchange | None:
        """Note a request; its body and its answer are added when they are known.

        None for the control's: neither it nor its connection is part of the history.
        """
        if header.client_id == CONTROL:
            self.connections.pop(connection, None)
            return None
        exchange = RecordedExchange(
            api,
            header.version,
            self.now_ms(),
            client_id=header.client_id,
            connection=connection,
            node=node,
            correlation_id=header.correlation_id,
        )
        if self.sink is None:
            self.exchanges.append(exchange)
        else:
            self._pass_on(connection)  # one that got no answer
            self._open[connection] = exchange
        return exchange

    def answer(self, exchange: RecordedExchange, body: Mapping[str, Any] | None) -> None:
        """Note an answer; None: it can't be read."""
        exchange.answered_ms = self.now_ms()
        exchange.answer_body = None if body is None else KeptBody.of(body)
        self._pass_on(exchange.connection)

    def act(self, name: str, **about: Any) -> None:
        """Note an act on the broker, or on a group."""
        self.acts.append(Act(self.now_ms(), name, about))

    def _pass_on(self, connection: str) -> None:
        exchange = self._open.pop(connection, None)
        if exchange is not None and self.sink is not None:
            self.sink(exchange.line())

    # What a judge reads.

    def now_ms(self) -> float:
        """Return the broker's time."""
        return (time.monotonic() - self.began_s) * 1000

    def worst_ms(self, began_ms: float, ended_ms: float) -> int:
        """Return the longest wait of the control between two times, on any node."""
        began, ended = self._seconds(began_ms), self._seconds(ended_ms)
        return max((meter.worst_ms(began, ended) for meter in self.meters.values()), default=0)

    def was_quick(self, began_ms: float, ended_ms: float, lag_ms: int) -> bool:
        """Return True if the control got all its answers on all nodes, well within this lag."""
        began, ended = self._seconds(began_ms), self._seconds(ended_ms)
        return all(m.answers_throughout(began, ended, lag_ms) for m in self.meters.values())

    def _seconds(self, ms: float) -> float:
        return self.began_s + ms / 1000


class HistoryFileError(BadInputError):
    """A file can't be written.  `str()` says why."""


@contextlib.contextmanager
def appending(path: Path) -> Iterator[Callable[[bytes], object]]:
    """Yield a sink that appends to a file, each line at once.  Raises HistoryFileError."""
    try:
        file = opened_to_append(path)
    except OSError as error:
        raise HistoryFileError(f"{path}: can't be written ({error.strerror})") from None
    with file:
        yield file.write
