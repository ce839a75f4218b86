"""Serve the model as a broker: on TCP ports of the loopback, on a real clock, for any client.

Requests of one connection are handled one after the other; those behind a parked one wait.  The
next request is read when the one before it is answered, and the client has read its answers.  Bytes
that come meanwhile wait, and beyond a frame's length they wait at the client.  An invalid request
ends its connection, as with any broker: garbage, a frame too long, an unknown API or version.  Only
a version too high of ApiVersions is answered.

With a history each request is noted as it comes, and its answer as it is written.  Provocations
come between a connection and the rest of the broker, which knows nothing of them.

Source: Kafka's protocol guide, "Network": a broker handles one request of a connection at a time;
KIP-511; KIP-219 (a client that is throttled is answered at once, and its next request read later).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, cast

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.serve.broker_apis import FIRST_NODE, BrokerApis
from fencepost.conformance.serve.broker_history import CONTROL, History, KeptBody, RecordedExchange
from fencepost.conformance.serve.group_coordinator import GroupCoordinator
from fencepost.conformance.serve.topic_log import ServedTopics, Topics
from fencepost.conformance.targets.tcp.broker_connection import MAX_FRAME
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.wire.codec import (
    API_KEYS,
    RequestFrame,
    decode_header,
    decode_request,
    encode_message,
)
from fencepost.conformance.wire.provocation import (
    CODES,
    Action,
    Provocation,
    Provocations,
    names_in,
)
from fencepost.conformance.wire.refusal import OF_FETCH_SESSIONS, recoded, refused_rows
from fencepost.model.coordinator import Config, Send
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.shapes import Message, ShapeError
from fencepost.model.revision import Revision


class Server(Protocol):
    """The interface between a connection and its broker."""

    max_frame: int

    def came(self, client: ClientConnection) -> str:
        """Note a new connection; return its name."""
        ...

    def receive(self, client: ClientConnection, frame: bytes) -> None:
        """Take a whole frame: answer it now or later, or end its connection."""
        ...

    def went(self, client: ClientConnection, *, by_client: bool) -> None:
        """Note the end of a connection; `by_client`: the client ended it."""
        ...


class ClientConnection(asyncio.Protocol):
    """One connection: frames in, answers out, at most one request at a time.

    `name` is the server's for it; `node`: the one of a broker that it was made to.
    """

    def __init__(self, broker: Server, node: int) -> None:
        self.name = ""
        self.node = node
        self._broker = broker
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._waits = False
        """True if a request is open."""
        self._is_full = False
        """True if too many answers are unread, so that no more are written."""
        self._reading = False
        self._number = 0
        """Number of the request that is open, or was last."""
        self._timers: list[asyncio.TimerHandle] = []
        self._drop: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection with the broker."""
        self._transport = cast("asyncio.Transport", transport)
        self.name = self._broker.came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the client has ended the connection."""
        del exc
        self._over(by_client=True)

    def pause_writing(self) -> None:
        """Stop answering: the client doesn't read its answers."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Answer again: the client reads."""
        self._is_full = False
        self._read()

    def data_received(self, data: bytes) -> None:
        """Keep the bytes, and read the next request."""
        self._buffer += data
        self._read()
        if self._transport is not None and len(self._buffer) > self._broker.max_frame + 4:
            self._transport.pause_reading()

    @property
    def is_open(self) -> bool:
        """Return True if an answer would be written."""
        return self._transport is not None

    def answer(self, frame: bytes, pause_ms: int = 0) -> None:
        """Write the open request's answer, if any; then, after a pause, read the next request."""
        self._drop = None
        if self._transport is not None and frame:
            self._transport.write(frame)
        if pause_ms:
            self.after(pause_ms, self._next)
        else:
            self._next()

    def park(self, drop: Callable[[], None]) -> None:
        """Let the open request wait; `drop` is called if its connection ends before its answer."""
        self._drop = drop

    def after(self, ms: int, do: Callable[[], None]) -> None:
        """Call `do` after this long, if the connection is still there."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._timers = [timer for timer in self._timers if timer.when() > now]
        self._timers.append(loop.call_later(ms / 1000, do))

    def cut_after(self, ms: int) -> None:
        """End the connection after this long, if the open request isn't answered by then."""
        number = self._number

        def cut() -> None:
            if self._waits and self._number == number:
                self.abort()

        self.after(ms, cut)

    def hang_up(self) -> None:
        """End the connection once all answers are written."""
        if self._transport is not None:
            self._transport.close()
        self._over(by_client=False)

    def abort(self) -> None:
        """End the connection now."""
        if self._transport is not None:
            self._transport.abort()
        self._over(by_client=False)

    def _next(self) -> None:
        self._waits = False
        if not self._reading:  # the event loop's own turn, so that nothing nests
            asyncio.get_running_loop().call_soon(self._read)

    def _over(self, *, by_client: bool) -> None:
        """End the connection, unless it has ended."""
        was_open, self._transport = self._transport is not None, None
        self._buffer.clear()
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        if self._drop is not None:
            self._drop()
            self._drop = None
        if was_open:
            self._broker.went(self, by_client=by_client)

    def _read(self) -> None:
        """Read frames until one waits for its answer."""
        self._reading = True
        while self._transport is not None and not self._waits and not self._is_full:
            frame = self._next_frame()
            if frame is None:
                break
            self._waits = True
            self._number += 1
            self._broker.receive(self, frame)
        self._reading = False
        if self._transport is not None and len(self._buffer) <= self._broker.max_frame:
            self._transport.resume_reading()

    def _next_frame(self) -> bytes | None:
        """Return the next frame, without the four bytes of its length, when it is complete."""
        if len(self._buffer) < 4:
            return None
        size = int.from_bytes(self._buffer[:4], signed=True)
        if not 0 <= size <= self._broker.max_frame:
            self.hang_up()
            return None
        if len(self._buffer) < 4 + size:
            return None
        frame = bytes(self._buffer[4 : 4 + size])
        del self._buffer[: 4 + size]
        return frame


HOST = "127.0.0.1"

_NOT_OPEN = "the broker is not open: use it in `async with`"
_NAMES = {key: name for name, key in API_KEYS.items()}


@dataclass(slots=True)
class OpenRequest:
    """A request that waits for its answer, and its provocation, if any."""

    client: ClientConnection
    request: RequestFrame
    exchange: RecordedExchange | None
    provocation: Provocation | None = None


@dataclass(slots=True, eq=False)
class HeldRequest:
    """A request that was received, and is handled later; `timer` None: when it is released."""

    open_request: OpenRequest
    message: Message | None
    timer: asyncio.TimerHandle | None = None


class ModelBroker:
    """A broker in this process, while it is open (`async with`).

    `settings`: the group settings that are not Kafka's defaults.  `port` 0: any that is free; of
    several nodes, the others have the next ones.  `advertised_port`: the one in answers to clients,
    if something stands between them and the (one) node.  `topics`: the first topics, and their
    numbers of partitions.  `release`: the Kafka that it passes for.  `history`: takes all requests
    and answers.  `provocations`: in force from the beginning.
    """

    def __init__(
        self,
        revision: Revision,
        settings: Config | None = None,
        *,
        seed: int = 0,
        port: int = 0,
        advertised_port: int | None = None,
        nodes: int = 1,
        topics: Mapping[str, int] | None = None,
        release: tuple[int, int] | None = None,
        history: History | None = None,
        provocations: Iterable[Provocation] = (),
        max_frame: int = MAX_FRAME,
    ) -> None:
        self.revision = revision
        self.max_frame = max_frame
        self._nodes = range(FIRST_NODE, FIRST_NODE + nodes)
        self.topics = Topics()
        for name, partitions in (topics or {}).items():
            self.topics.make(name, partitions)
        self.groups = GroupCoordinator(
            revision,
            settings,
            seed=seed,
            nodes=self._nodes,
            topics=ServedTopics(self.topics),
            fail=self._fail,
        )
        self.settings: Config = dict(self.groups.running.machine.config)
        """The group settings in force."""
        self._port = port
        self._advertised_port = advertised_port
        self._release = release
        self._history = history
        self.provocations = Provocations(provocations)
        self._servers: dict[int, asyncio.Server] = {}
        self._cluster: BrokerApis | None = None
        self._clients: set[ClientConnection] = set()
        self._connections = itertools.count(1)
        self._requests = itertools.count(1)
        self._failed: asyncio.Future[None] | None = None
        self._is_down = False
        self._held: list[HeldRequest] = []

    @property
    def cluster(self) -> BrokerApis:
        """The APIs beside the group protocol; while it is open."""
        if self._cluster is None:
            raise RuntimeError(_NOT_OPEN)
        return self._cluster

    @property
    def address(self) -> Address:
        """Listening address of the first node; while it is open."""
        return self.addresses[FIRST_NODE]

    @property
    def addresses(self) -> dict[int, Address]:
        """Listening addresses of the nodes; while it is open."""
        if not self._servers:
            raise RuntimeError(_NOT_OPEN)
        ports = {node: s.sockets[0].getsockname()[1] for node, s in self._servers.items()}
        return {node: Address(HOST, port) for node, port in ports.items()}

    async def __aenter__(self) -> Self:
        """Listen.  Raises TargetUnavailableError for a port that is not free."""
        loop = asyncio.get_running_loop()
        self._failed = loop.create_future()
        self.groups.start(loop.time())
        for node in self._nodes:
            await self._listen(node)
        advertised = self.addresses
        if self._advertised_port is not None:
            advertised[FIRST_NODE] = Address(HOST, self._advertised_port)
        self._cluster = BrokerApis(
            advertised,
            {name: bounds for name, bounds in self.revision.apis.items() if name in ALL_APIS},
            self.settings,
            self.groups,
            self.topics,
            self._release,
        )
        return self

    async def _listen(self, node: int) -> None:
        loop = asyncio.get_running_loop()
        port = self._port and self._port + node - FIRST_NODE
        try:
            self._servers[node] = await loop.create_server(
                lambda: ClientConnection(self, node), HOST, port
            )
        except OSError as error:
            await self._close()
            raise TargetUnavailableError(
                f"can't listen on port {port} ({error.strerror}); choose another port"
            ) from error

    async def __aexit__(self, *_: object) -> None:
        """Close the ports and all connections."""
        await self._close()

    async def _close(self) -> None:
        self.groups.close()
        for held in self._held:
            if held.timer is not None:
                held.timer.cancel()
        self._held.clear()
        if self._failed is not None:
            self._failed.cancel()
        for server in self._servers.values():
            server.close()
        self.hang_up_all()
        for server in self._servers.values():
            await server.wait_closed()

    async def serve(self) -> None:
        """Stay until cancelled.  Raises the exception of a failure in the model: our own fault."""
        if self._failed is None:
            raise RuntimeError(_NOT_OPEN)
        await self._failed

    def hang_up_all(self) -> None:
        """End all connections now."""
        for client in list(self._clients):
            client.abort()

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        """Be down: connections end, and new ones end at once."""
        self._is_down = True
        self.hang_up_all()
        try:
            yield
        finally:
            self._is_down = False

    def next_id(self) -> str:
        """Return a new name for a request."""
        return f"request-{next(self._requests)}"

    # What a connection calls.

    def came(self, client: ClientConnection) -> str:
        """Note a new connection; return its name."""
        self._clients.add(client)
        name = f"connection-{next(self._connections)}"
        if self._is_down:
            asyncio.get_running_loop().call_soon(client.abort)
        elif self._history is not None:
            self._history.opened(name, client.node)
        return name

    def went(self, client: ClientConnection, *, by_client: bool) -> None:
        """Note the end of a connection.  No group notices; its open requests lose their answers."""
        self._clients.discard(client)
        self.groups.drop(client.name)
        if self._history is not None:
            self._history.closed(client.name, by_client=by_client)

    def receive(self, client: ClientConnection, frame: bytes) -> None:
        """Take a whole frame: answer it now or later, or end its connection."""
        cluster = self.cluster
        exchange: RecordedExchange | None = None
        try:
            header = decode_header(frame)
            api = _NAMES.get(header.key, f"key {header.key}")
            if self._history is not None:
                exchange = self._history.receive(client.node, client.name, api, header)
            if not cluster.speaks(api, header.version):
                if api == "ApiVersions":
                    request = RequestFrame(api, 0, header.correlation_id, header.client_id, {})
                    self._answer(OpenRequest(client, request, exchange), 0, cluster.too_high())
                else:
                    client.hang_up()
                return
            request = decode_request(frame)
            if exchange is not None:
                exchange.request_body = KeptBody.of(request.body)
            message: Message | None = None
            if api in ALL_APIS:
                message = ALL_APIS[api].request.from_body(request.body, request.version)
        except ShapeError:
            client.hang_up()
            return
        try:
            self._handle(OpenRequest(client, request, exchange), message)
        except Exception as error:  # noqa: BLE001 - whoever serves is told, see `serve`
            client.hang_up()
            self._fail(error)

    def _handle(self, open_request: OpenRequest, message: Message | None) -> None:
        request = open_request.request
        if request.client_id != CONTROL:
            names = names_in(request.client_id, request.body)
            open_request.provocation = self.provocations.meet(request.api, names)
            if open_request.exchange is not None:
                open_request.exchange.provocation = open_request.provocation
        met = open_request.provocation
        if met is not None and met.action is Action.ERROR:
            self._answer(open_request, *self._refusal(open_request, message, CODES[met.code]))
        elif met is not None and met.action is Action.HOLD:
            self._hold(HeldRequest(open_request, message), met.ms)
        else:
            self._carry_out(open_request, message)

    def _hold(self, held: HeldRequest, ms: int) -> None:
        """Handle a request later: a broker's queue keeps it, whatever its connection does."""
        self._held.append(held)
        if ms:
            loop = asyncio.get_running_loop()
            held.timer = loop.call_later(ms / 1000, self._let_go, held)

    def _let_go(self, held: HeldRequest) -> None:
        self._held.remove(held)
        if held.timer is not None:
            held.timer.cancel()
        try:
            self._carry_out(held.open_request, held.message)
        except Exception as error:  # noqa: BLE001 - whoever serves is told, see `serve`
            held.open_request.client.hang_up()
            self._fail(error)

    def release_held(self) -> None:
        """Handle the requests that are held back, now and in order."""
        for held in list(self._held):
            self._let_go(held)

    def _carry_out(self, open_request: OpenRequest, message: Message | None) -> None:
        """Handle a request; where its connection is gone, its answer goes to nobody."""
        request, client, met = open_request.request, open_request.client, open_request.provocation
        cluster = self.cluster
        if message is not None:
            cluster.transactions.ask(
                self._sent(open_request),
                message,
                lambda version, body: self._answer(open_request, version, body),
                client.node,
            )
        elif request.api == "Fetch":
            parked = cluster.fetches[client.node].begin(
                request.body, lambda body: self._answer(open_request, request.version, body)
            )
            if parked is not None and client.is_open:
                client.park(parked.drop)
            elif parked is not None:
                parked.drop()
        else:
            self._answer(open_request, request.version, cluster.answer(request, client.node))
        if not client.is_open:
            self.groups.drop(client.name)
        if met is not None and met.action is Action.CUT:
            client.cut_after(met.ms)

    def _sent(self, open_request: OpenRequest) -> Send:
        request = open_request.request
        return Send(
            self.next_id(),
            open_request.client.name,
            request.client_id or "",
            request.api,
            request.version,
            request.body,
        )

    def _refusal(
        self, open_request: OpenRequest, message: Message | None, code: int
    ) -> tuple[int, dict[str, Any]]:
        request = open_request.request
        if message is not None:
            return self.groups.refusal(self._sent(open_request), message, code)
        node = open_request.client.node
        if request.api == "Fetch" and code not in OF_FETCH_SESSIONS:
            return request.version, self.cluster.fetches[node].refuse(request.body, code)
        body = refused_rows(request, code)
        if body is None:
            body = recoded(self.cluster.answer(request, node), code)
        return request.version, body

    def _answer(self, open_request: OpenRequest, version: int, body: dict[str, Any]) -> None:
        """Answer, changed by the provocation, if there is one."""
        match open_request.provocation:
            case Provocation(action=Action.LOSE):
                open_request.client.hang_up()
            case Provocation(action=Action.DELAY, ms=ms):
                open_request.client.after(ms, lambda: self._write(open_request, version, body))
            case Provocation(action=Action.THROTTLE, ms=ms):
                self._write(open_request, version, {**body, "throttleTimeMs": ms}, pause_ms=ms)
            case _:
                self._write(open_request, version, body)

    def _write(
        self, open_request: OpenRequest, version: int, body: Mapping[str, Any], *, pause_ms: int = 0
    ) -> None:
        request, client = open_request.request, open_request.client
        if request.api == "Produce" and not request.body["acks"]:
            client.answer(b"")
            return
        try:
            frame = encode_message(request.api, "Response", version, request.correlation_id, body)
        except ShapeError:  # an id that is too long for the wire with what was put before or after
            client.hang_up()
            return
        if open_request.exchange is not None and self._history is not None and client.is_open:
            self._history.answer(open_request.exchange, body)
        client.answer(frame, pause_ms)

    def _fail(self, error: Exception) -> None:
        if self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)
