"""TCP connections to a broker, each with at most one open request, and a pool of idle ones.

A frame that comes while a request is open is its answer, under another correlation id, too (which
is a finding).  Any other frame is a stray.  A broker may hang up, announce a frame of a gigabyte,
or speak HTTP: all of that becomes an event with a reason, never an exception.  Times are taken when
the bytes are read.

A broker may answer twice, the second time a minute later, when another case uses the connection.
What answers a request of an earlier case is nothing of this one: it is left out, and the connection
is given up as soon as nothing is open on it.

Source: Kafka's protocol guide, "Network": a broker handles one request of a connection at a time.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, cast

from fencepost.conformance.targets.target import UNASKED
from fencepost.conformance.targets.tcp.address import Address
from fencepost.conformance.targets.tcp.security import tls_problem
from fencepost.conformance.wire.codec import Decoded, decode_message, decode_response
from fencepost.model.messages.messages import APIS
from fencepost.traces.files.bounded import LINE_LIMIT

_MOST_IDLE = 2000
"""So many lie idle at one broker; it closes them when it likes."""

MAX_FRAME = LINE_LIMIT
"""Bytes of one frame; a broker that announces more is hung up on."""

_SHOWN_BYTES = 32
"""So many bytes of a frame that nobody had asked for are shown."""

_TLS_ALERT = b"\x15\x03"
"""How an answer in TLS begins, to whoever speaks plain text: no frame is of such a length."""


@dataclass(frozen=True, slots=True)
class Open:
    """A request that waits for its answer.  `id` is the caller's own name for it."""

    id: str
    api: str
    version: int
    correlation_id: int


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request; `at` on the monotonic clock, in seconds."""

    request: Open
    decoded: Decoded
    at: float


@dataclass(frozen=True, slots=True)
class Stray:
    """A frame that nobody had asked for.  `start`: its first bytes."""

    finding: str
    at: float
    start: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """The connection ended, by the peer or for what it sent.  `request`: what was open then.

    `inherited`: an earlier case may be the reason, since what it had asked was answered just now.
    """

    request: Open | None
    reason: str
    at: float
    inherited: bool = False


Event = Reply | Stray | Ended


def is_readable(decoded: Decoded) -> bool:
    """Whether an answer could be read to its end, and ended there."""
    return decoded.body is not None and not decoded.leftover


class Connection(asyncio.Protocol):
    """Opened with `open`.  Events go to `on_event`, from within the event loop."""

    def __init__(
        self,
        on_event: Callable[[Event], None],
        *,
        max_frame: int = MAX_FRAME,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_event = on_event
        self._max_frame = max_frame
        self._clock = clock
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._open: Open | None = None
        self._next_id = 1
        self._first_id = 1
        self._last: Open | None = None
        self._is_worn = False
        self._ended = False

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        on_event: Callable[[Event], None],
        *,
        timeout_s: float,
        max_frame: int = MAX_FRAME,
        tls: ssl.SSLContext | None = None,
        server_name: str | None = None,
    ) -> Self:
        """Connect; with `tls`, to a broker whose certificate is for `server_name`.

        Raises OSError (TimeoutError after `timeout_s`).
        """
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(timeout_s):
            _, protocol = await loop.create_connection(
                lambda: cls(on_event, max_frame=max_frame),
                host,
                port,
                ssl=tls,
                server_hostname=None if tls is None else server_name,
            )
        return protocol

    def hand_over(self, on_event: Callable[[Event], None]) -> None:
        """Give the events to somebody else from now on."""
        self._on_event = on_event

    def reuse(self, on_event: Callable[[Event], None]) -> None:
        """Give it to another case, which is told nothing of what was asked before."""
        self._first_id = self._next_id
        self._last = None
        self.hand_over(on_event)

    @property
    def is_ended(self) -> bool:
        """Whether nothing can be sent any more."""
        return self._ended

    @property
    def pending(self) -> Open | None:
        """The open request."""
        return self._open

    def send(self, request_id: str, api: str, version: int, write: Callable[[int], bytes]) -> Open:
        """Send a request that `write` encodes under a correlation id.

        Raises RuntimeError if one is open, and whatever `write` raises; nothing is sent then.
        """
        if self._open is not None:
            raise RuntimeError(f"{self._open.id} is open on this connection: wait for its answer")
        frame = write(self._next_id)
        request = Open(request_id, api, version, self._next_id)
        self._open = self._last = request
        self._next_id += 1
        if self._transport is None or self._ended:
            self._end("The connection had ended before the request was sent")
        else:
            self._transport.write(frame)
        return request

    def close(self) -> Open | None:
        """Hang up, now.  No event follows; the request that was open is returned."""
        self._ended = True
        request, self._open = self._open, None
        self._buffer.clear()
        if self._transport is not None:
            self._transport.abort()
        return request

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        if self._ended:
            return
        how = "closed the connection"
        if isinstance(exc, ssl.SSLError):
            how = f"ended TLS: {tls_problem(exc)}"
        elif exc is not None:
            how = f"broke the connection ({exc})"
        cut = f", {len(self._buffer)} bytes into a frame" if self._buffer else ""
        self._end(f"The broker {how}{cut}")

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        if self._ended:
            return
        at = self._clock()
        self._buffer += data
        if self._buffer.startswith(_TLS_ALERT):
            self._end("The broker answered in TLS: pass --security-protocol SSL or SASL_SSL")
            return
        while len(self._buffer) >= 4 and not self._ended:
            size = int.from_bytes(self._buffer[:4], signed=True)
            if not 0 <= size <= self._max_frame:
                start = bytes(self._buffer[:16])
                self._end(
                    f"The broker announced a frame of {size} bytes, of {self._max_frame} allowed; "
                    f"it began with {start!r}"
                )
                return
            if len(self._buffer) < 4 + size:
                return
            frame = bytes(self._buffer[4 : 4 + size])
            del self._buffer[: 4 + size]
            self._take(frame, at)

    def _take(self, frame: bytes, at: float) -> None:
        if 0 < (answered := int.from_bytes(frame[:4])) < self._first_id:
            self._is_worn = True
            self._give_up_worn()
            return
        request, self._open = self._open, None
        if request is None:
            last = self._last
            again = last is not None and answered == last.correlation_id
            what = f": a second answer to {last.api} v{last.version}" if last and again else ""
            sentence = f"The broker sent {len(frame)} bytes {UNASKED}{what}."
            self._on_event(Stray(sentence, at, frame[:_SHOWN_BYTES]))
            return
        decode = decode_response if request.api in APIS else decode_message
        decoded = decode(request.api, request.version, frame)
        if decoded.correlation_id not in {None, request.correlation_id}:
            sentence = (
                f"The answer has the correlation id {decoded.correlation_id}, "
                f"its request had {request.correlation_id}."
            )
            decoded = Decoded(
                decoded.correlation_id,
                decoded.body,
                (*decoded.findings, sentence),
                decoded.leftover,
            )
        self._on_event(Reply(request, decoded, at))
        self._give_up_worn()

    def _give_up_worn(self) -> None:
        if self._is_worn and self._open is None and not self._ended:
            self._end("The broker had answered a request of an earlier case again")

    def _end(self, reason: str) -> None:
        self._ended = True
        request, self._open = self._open, None
        self._buffer.clear()
        if self._transport is not None:
            self._transport.abort()
        self._on_event(Ended(request, f"{reason}.", self._clock(), self._is_worn))


class ConnectionPool:
    """The idle connections of one target: one whose case ended well serves another case.

    A new connection costs us and the broker more than a request does.  One that has an open
    request, that ended, or on which anything came since it was laid aside is closed: what was asked
    by one case must not be answered in another.  The one that was laid aside first is taken first,
    so that a late answer finds nobody.
    """

    def __init__(self) -> None:
        self._idle: dict[Address, deque[Connection]] = {}

    def take(self, broker: Address, on_event: Callable[[Event], None]) -> Connection | None:
        """An idle connection to the broker, if there is one; its events go to `on_event` now."""
        idle = self._idle.get(broker)
        while idle:
            connection = idle.popleft()
            if not connection.is_ended:
                connection.reuse(on_event)
                return connection
        return None

    def lay_aside(self, broker: Address, connection: Connection) -> None:
        """Somebody needs it no more; it is kept if nothing is open on it, else closed."""
        idle = self._idle.setdefault(broker, deque())
        if connection.is_ended or connection.pending is not None or len(idle) >= _MOST_IDLE:
            connection.close()
            return

        def spoil(event: Event) -> None:
            del event
            connection.close()

        connection.hand_over(spoil)
        idle.append(connection)

    def close(self) -> None:
        """Hang up all; those that are laid aside later are kept until the next time."""
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()
