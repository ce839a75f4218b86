"""One reference client with real sockets: it carries out what the pure client says.

Connections are made when they are asked on.  The client is given one input after the other, in the
order in which they came; between two there is nothing it could miss.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from functools import partial

from fencepost.conformance.targets.tcp.address import Address
from fencepost.conformance.targets.tcp.broker_connection import (
    Connection,
    Event,
    Reply,
    Stray,
    is_readable,
)
from fencepost.conformance.wire.cluster_bodies import request_body, response
from fencepost.conformance.wire.codec import encode_message, encode_request
from fencepost.model.client.client import step
from fencepost.model.client.client_interface import (
    AnswerRead,
    Asked,
    ConnectionLost,
    Endpoint,
    HangUp,
    Input,
    Role,
    UserEvent,
    Woken,
)
from fencepost.model.client.client_state import ClientState
from fencepost.model.client.consumer_settings import ClientSettings
from fencepost.model.messages.cluster_messages import ClusterResponse
from fencepost.model.messages.messages import APIS
from fencepost.model.messages.shapes import Message

_CONNECT_S = 10.0


def now_ms() -> int:
    """The monotonic clock."""
    return time.monotonic_ns() // 1_000_000


class _Line:
    """A connection to an endpoint: being made, or there.  `waiting`: what was asked meanwhile."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.opening: asyncio.Task[None] | None = None
        self.waiting: Asked | None = None

    def close(self) -> None:
        if self.opening is not None:
            self.opening.cancel()
        if self.connection is not None:
            self.connection.close()


class ReferenceConsumer:
    """A consumer in this event loop.  `tell` is called with each event of its user, in order."""

    def __init__(
        self, settings: ClientSettings, bootstrap: Address, tell: Callable[[UserEvent], None]
    ) -> None:
        self._settings = settings
        self._bootstrap = bootstrap
        self._tell = tell
        self._state = ClientState()
        self._lines: dict[Endpoint, _Line] = {}
        self._inputs: deque[Input] = deque()
        self._is_stepping = False
        self._timer: asyncio.TimerHandle | None = None

    def give(self, given: Input) -> None:
        """Give the client an input; what follows from it is done before this returns."""
        self._inputs.append(given)
        if self._is_stepping:
            return
        self._is_stepping = True
        try:
            while self._inputs:
                self._step(self._inputs.popleft())
        finally:
            self._is_stepping = False

    def kill(self) -> None:
        """End all connections and timers; the client does nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
        for line in self._lines.values():
            line.close()
        self._lines.clear()

    def _step(self, given: Input) -> None:
        done = step(self._settings, self._state, given, now_ms())
        self._state = done.state
        for request in done.requests:
            if isinstance(request, HangUp):
                if line := self._lines.pop(request.to, None):
                    line.close()
            else:
                self._ask(request)
        for event in done.events:
            self._tell(event)
        self._set_timer(done.wake_at_ms)

    def _set_timer(self, at_ms: int | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if at_ms is not None:
            loop = asyncio.get_running_loop()
            delay = max(at_ms - now_ms(), 1) / 1000
            self._timer = loop.call_later(delay, self.give, Woken())

    def _ask(self, asked: Asked) -> None:
        line = self._lines.get(asked.to)
        if line is None:
            line = self._lines[asked.to] = _Line()
            line.waiting = asked
            line.opening = asyncio.ensure_future(self._open(asked.to, line))
        elif line.connection is None:
            line.waiting = asked
        else:
            self._send(line.connection, asked)

    async def _open(self, endpoint: Endpoint, line: _Line) -> None:
        at = self._bootstrap
        if endpoint.role is not Role.BOOTSTRAP:
            at = Address(endpoint.host, endpoint.port)
        hear = partial(self._hear, endpoint, line)
        try:
            connection = await Connection.open(at.host, at.port, hear, timeout_s=_CONNECT_S)
        except OSError:
            self._lose(endpoint, line)
            return
        line.connection, asked, line.waiting = connection, line.waiting, None
        if asked is not None:
            self._send(connection, asked)

    def _send(self, connection: Connection, asked: Asked) -> None:
        api, version, message = asked.api, asked.version, asked.message

        def write(correlation_id: int) -> bytes:
            client_id = self._settings.client_id
            if isinstance(message, Message):
                body = message.to_body(version)
                return encode_request(api, version, correlation_id, client_id, body)
            body = request_body(version, message)
            return encode_message(
                api, "Request", version, correlation_id, body, client_id=client_id
            )

        connection.send(str(asked.correlation_id), api, version, write)

    def _hear(self, endpoint: Endpoint, line: _Line, event: Event) -> None:
        if self._lines.get(endpoint) is not line or isinstance(event, Stray):
            return
        if isinstance(event, Reply) and is_readable(event.decoded):
            self.give(AnswerRead(int(event.request.id), _message(event)))
        else:
            self._lose(endpoint, line)

    def _lose(self, endpoint: Endpoint, line: _Line) -> None:
        if self._lines.get(endpoint) is line:
            del self._lines[endpoint]
            line.close()
            self.give(ConnectionLost(endpoint))


def _message(reply: Reply) -> Message | ClusterResponse:
    body, request = reply.decoded.body or {}, reply.request
    if request.api in APIS:
        return APIS[request.api].response.from_body(body, request.version)
    return response(request.api, body)
