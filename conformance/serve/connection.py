"""One client's connection, as a broker has it.

A request is read when the one before it is answered, and the client has read its answers.  What is
sent meanwhile waits, and beyond a frame's length it waits at the client.  A length that no frame
may have ends the connection.

Source: Kafka's protocol guide, "Network": a broker handles one request of a connection at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, cast


class Server(Protocol):
    """What a connection needs of its broker."""

    max_frame: int

    def came(self, client: ClientConnection) -> str:
        """A connection was made; its name."""
        ...

    def receive(self, client: ClientConnection, frame: bytes) -> None:
        """A whole frame: answered now or later, or the end of its connection."""
        ...

    def went(self, client: ClientConnection) -> None:
        """A connection is over."""
        ...


class ClientConnection(asyncio.Protocol):
    """One connection: frames in, answers out, at most one request at a time.

    `name` is the server's for it.
    """

    def __init__(self, broker: Server) -> None:
        self.name = ""
        self._broker = broker
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._waits = False
        """Whether a request is open."""
        self._is_full = False
        """Whether so many answers are unread that no more are written."""
        self._reading = False
        self._parked: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self._transport = cast("asyncio.Transport", transport)
        self.name = self._broker.came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        del exc
        self._over()

    def pause_writing(self) -> None:
        """Called by the event loop: the client doesn't read its answers."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Called by the event loop."""
        self._is_full = False
        self._read()

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        self._buffer += data
        self._read()
        if self._transport is not None and len(self._buffer) > self._broker.max_frame + 4:
            self._transport.pause_reading()

    def answer(self, frame: bytes) -> None:
        """The open request's answer; then the next one is read."""
        self._waits = False
        if self._transport is not None:
            self._transport.write(frame)
        if not self._reading:  # the event loop's own turn, so that nothing nests
            asyncio.get_running_loop().call_soon(self._read)

    def after(self, ms: int, answer: Callable[[], None]) -> None:
        """Answer after so long; at once if that is no time."""
        if ms:
            self._parked = asyncio.get_running_loop().call_later(ms / 1000, answer)
        else:
            answer()

    def hang_up(self) -> None:
        """End the connection once what was answered is written."""
        if self._transport is not None:
            self._transport.close()
        self._over()

    def abort(self) -> None:
        """End the connection now."""
        if self._transport is not None:
            self._transport.abort()
        self._over()

    def _over(self) -> None:
        self._transport = None
        self._buffer.clear()
        if self._parked is not None:
            self._parked.cancel()
        self._broker.went(self)

    def _read(self) -> None:
        """The frames that are there, until one waits for its answer."""
        self._reading = True
        while self._transport is not None and not self._waits and not self._is_full:
            frame = self._next_frame()
            if frame is None:
                break
            self._waits = True
            self._broker.receive(self, frame)
        self._reading = False
        if self._transport is not None and len(self._buffer) <= self._broker.max_frame:
            self._transport.resume_reading()

    def _next_frame(self) -> bytes | None:
        """What follows the four bytes of its length, when it is there to the end."""
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
