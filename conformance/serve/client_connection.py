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

    def went(self, client: ClientConnection, *, by_client: bool) -> None:
        """A connection is over; whether its client ended it."""
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
        """Whether a request is open."""
        self._is_full = False
        """Whether so many answers are unread that no more are written."""
        self._reading = False
        self._number = 0
        """Of the request that is open, or was last."""
        self._timers: list[asyncio.TimerHandle] = []
        self._drop: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self._transport = cast("asyncio.Transport", transport)
        self.name = self._broker.came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        del exc
        self._over(by_client=True)

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

    @property
    def is_open(self) -> bool:
        """Whether an answer would be written."""
        return self._transport is not None

    def answer(self, frame: bytes, pause_ms: int = 0) -> None:
        """The open request's answer, if any; then, after a pause, the next one is read."""
        self._drop = None
        if self._transport is not None and frame:
            self._transport.write(frame)
        if pause_ms:
            self.after(pause_ms, self._next)
        else:
            self._next()

    def park(self, drop: Callable[[], None]) -> None:
        """The open request waits; `drop` is called if its connection ends before its answer."""
        self._drop = drop

    def after(self, ms: int, do: Callable[[], None]) -> None:
        """Do something after so long, if the connection is still there."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._timers = [timer for timer in self._timers if timer.when() > now]
        self._timers.append(loop.call_later(ms / 1000, do))

    def cut_after(self, ms: int) -> None:
        """End the connection after so long, if the open request isn't answered by then."""
        number = self._number

        def cut() -> None:
            if self._waits and self._number == number:
                self.abort()

        self.after(ms, cut)

    def hang_up(self) -> None:
        """End the connection once what was answered is written."""
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
        """What is over already is over as it was."""
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
        """The frames that are there, until one waits for its answer."""
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
