"""Open TCP connections to a broker, each with at most one open request; pool the idle ones.

A frame that comes while a request is open is its answer, under another correlation id, too (which
is a finding).  Any other frame is a stray.  A broker may hang up, announce a frame of a gigabyte,
or speak HTTP: all of that becomes an event with a reason, never an exception.  Times are taken when
the bytes are read.

A broker may answer twice, the second time a minute later, when another case uses the connection.
An answer to a request of an earlier case is left out, and the connection is given up as soon as
nothing is open on it.

A connection is opened with TCP, TLS and SASL. Nothing else is sent before the broker has accepted
the user.  Each refusal has a message with its remedy; none of them contains the password.

Source: Kafka's protocol guide, "Network": a broker handles one request of a connection at a time;
KIP-43, KIP-152 (SaslHandshake, then SaslAuthenticate until the mechanism is done); RFC 4616 (PLAIN)
and RFC 5802 (SCRAM), as kafka-python has them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

from kafka.net.sasl import get_sasl_mechanism

from fencepost.conformance.targets.target import UNSOLICITED
from fencepost.conformance.targets.tcp.security import (
    PLAINTEXT,
    Address,
    Sasl,
    Security,
    SecurityError,
    tls_problem,
)
from fencepost.conformance.wire.codec import (
    Decoded,
    decode_response,
    encode_message,
)
from fencepost.model.messages.errors import kafka_error
from fencepost.traces.files.bounded import LINE_LIMIT

_MOST_IDLE = 2000
"""The most idle connections at one broker; it closes them when it likes."""

MAX_FRAME = LINE_LIMIT
"""Bytes of one frame; a broker that announces more is hung up on."""

_QUOTED_BYTES = 32
"""The bytes of a stray frame that its finding quotes."""

_TLS_ALERT = b"\x15\x03"
"""The first bytes of a TLS answer to plain text: no frame is of such a length."""


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
    """A frame that no request asked for.  `start`: its first bytes."""

    finding: str
    at: float
    start: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a connection, by the peer or for invalid bytes.  `request`: the one open then.

    `inherited`: an earlier case may be the reason, since its request was answered just now.
    """

    request: Open | None
    reason: str
    at: float
    inherited: bool = False


Event = Reply | Stray | Ended


def is_readable(decoded: Decoded) -> bool:
    """Return True if an answer could be read to its end, and ended there."""
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
        """Give it to another case, which gets no events of earlier requests."""
        self._first_id = self._next_id
        self._last = None
        self.hand_over(on_event)

    @property
    def is_ended(self) -> bool:
        """Return True if nothing can be sent any more."""
        return self._ended

    @property
    def pending(self) -> Open | None:
        """The open request, if any."""
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
        """Keep the transport of an opened connection."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end of the connection."""
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
        """Take bytes, and report each complete frame."""
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
            detail = f": a second answer to {last.api} v{last.version}" if last and again else ""
            sentence = f"The broker sent {len(frame)} bytes {UNSOLICITED}{detail}."
            self._on_event(Stray(sentence, at, frame[:_QUOTED_BYTES]))
            return
        decoded = decode_response(request.api, request.version, frame)
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
    request, that ended, or on which anything came since it was laid aside is closed: a case must
    not get the answer to another case's request.  The one that was laid aside first is taken first,
    so that a late answer is lost.
    """

    def __init__(self) -> None:
        self._idle: dict[Address, deque[Connection]] = {}

    def take(self, broker: Address, on_event: Callable[[Event], None]) -> Connection | None:
        """Return an idle connection to the broker, if any; its events go to `on_event` now."""
        idle = self._idle.get(broker)
        while idle:
            connection = idle.popleft()
            if not connection.is_ended:
                connection.reuse(on_event)
                return connection
        return None

    def lay_aside(self, broker: Address, connection: Connection) -> None:
        """Keep an unused connection if nothing is open on it, else close it."""
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


_HANDSHAKE, _HANDSHAKE_VERSION = "SaslHandshake", 1
_AUTHENTICATE, _AUTHENTICATE_VERSION = "SaslAuthenticate", 0
_UNSUPPORTED_SASL_MECHANISM, _ILLEGAL_SASL_STATE, _SASL_AUTHENTICATION_FAILED = 33, 34, 58
_CLIENT = "fencepost"


@dataclass(frozen=True, slots=True)
class Door:
    """A broker by number; `name` is the host that its certificate must be for."""

    at: Address
    name: str
    security: Security = PLAINTEXT

    async def open(self, on_event: Callable[[Event], None], *, timeout_s: float) -> Connection:
        """Connect and sign in.  Raises OSError: SecurityError, TimeoutError after `timeout_s`."""
        events: asyncio.Queue[Event] = asyncio.Queue()
        tls, sasl = self.security.tls, self.security.sasl
        async with asyncio.timeout(timeout_s):
            try:
                connection = await Connection.open(
                    self.at.host,
                    self.at.port,
                    on_event if sasl is None else events.put_nowait,
                    timeout_s=timeout_s,
                    tls=tls,
                    server_name=self.name,
                )
            except (ssl.SSLError, ConnectionResetError, ConnectionAbortedError) as error:
                if tls is None:
                    raise
                raise SecurityError(f"{self.at}: {tls_problem(error)}") from error
            if sasl is not None:
                try:
                    await _SignIn(connection, events, self, sasl).run()
                except BaseException:
                    connection.close()
                    raise
                connection.hand_over(on_event)
                while not events.empty():
                    on_event(events.get_nowait())
            return connection


class _SignIn:
    """The dialogue of one connection."""

    def __init__(
        self, connection: Connection, events: asyncio.Queue[Event], door: Door, sasl: Sasl
    ) -> None:
        self._connection = connection
        self._events = events
        self._door = door
        self._sasl = sasl

    async def run(self) -> None:
        """Sign in.  Raises SecurityError."""
        sasl = self._sasl
        answer = await self._ask(_HANDSHAKE, _HANDSHAKE_VERSION, {"mechanism": sasl.mechanism})
        match answer["errorCode"]:
            case 0:
                pass
            case code if code == _UNSUPPORTED_SASL_MECHANISM:
                known = ", ".join(answer["mechanisms"]) or "none"
                raise self._error(f"it has no {sasl.mechanism}, only {known}: --sasl-mechanism")
            case code if code == _ILLEGAL_SASL_STATE:
                plain = "SSL" if self._door.security.tls else "PLAINTEXT"
                raise self._error(f"it wants no SASL here: pass --security-protocol {plain}")
            case code:
                raise self._error(f"it answered {_HANDSHAKE} with {kafka_error(code)}")
        await self._prove()

    async def _prove(self) -> None:
        mechanism = get_sasl_mechanism(self._sasl.mechanism)(
            sasl_mechanism=self._sasl.mechanism,
            sasl_plain_username=self._username(),
            sasl_plain_password=self._sasl.password,
        )
        while not mechanism.is_done():
            proof = base64.b64encode(mechanism.auth_bytes()).decode()
            answer = await self._ask(_AUTHENTICATE, _AUTHENTICATE_VERSION, {"authBytes": proof})
            if answer["errorCode"]:
                raise self._refused(answer["errorCode"], answer["errorMessage"])
            try:
                mechanism.receive(base64.b64decode(answer["authBytes"]))
            except (ValueError, KeyError, UnicodeDecodeError):
                raise self._error(
                    f"its answer is not {self._sasl.mechanism}, or it doesn't know the "
                    "password itself: check that this is the broker that you mean"
                ) from None
        if not mechanism.is_authenticated():
            raise self._error(f"its answer is not {self._sasl.mechanism}")

    def _username(self) -> str:
        """Return the name as the mechanism writes it; kafka-python leaves SCRAM's escapes to us."""
        name = self._sasl.username
        if self._sasl.mechanism == "PLAIN":
            return name
        return name.replace("=", "=3D").replace(",", "=2C")

    def _refused(self, code: int, message: str | None) -> SecurityError:
        text = (message or "").replace(self._sasl.password, "***").rstrip(".")
        why = f" ({text})" if text else ""
        if code == _SASL_AUTHENTICATION_FAILED:
            return self._error(
                f"it refused the user {self._sasl.username!r}{why}: check --sasl-username, the "
                "password in FENCEPOST_SASL_PASSWORD or --sasl-password-file, and --sasl-mechanism"
            )
        return self._error(
            f"it refused the user {self._sasl.username!r} with {kafka_error(code)}{why}"
        )

    async def _ask(self, api: str, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        event = await send_and_wait(self._connection, self._events, api, version, body)
        if isinstance(event, Reply) and event.decoded.body and is_readable(event.decoded):
            return event.decoded.body
        why = event.reason if isinstance(event, Ended) else " ".join(event.decoded.findings)
        raise self._error(
            f"it did not take part in {api} ({why.rstrip('.')}): pass the --security-protocol "
            f"that its listener has, which is hardly {self._door.security.protocol}"
        )

    def _error(self, words: str) -> SecurityError:
        return SecurityError(f"{self._door.at}: {words}")


async def send_and_wait(
    connection: Connection,
    events: asyncio.Queue[Event],
    api: str,
    version: int,
    body: Mapping[str, Any],
) -> Reply | Ended:
    """Send one request on a connection with events in a queue; return the answer or end."""
    connection.send(
        "ask",
        api,
        version,
        lambda i: encode_message(api, "Request", version, i, body, client_id=_CLIENT),
    )
    while isinstance(event := await events.get(), Stray):
        pass
    return event


async def ask(
    door: Door, api: str, version: int, body: Mapping[str, Any], *, timeout_s: float
) -> Reply | Ended:
    """Send one request on a connection of its own.  Raises OSError as `Door.open` does.

    `timeout_s` bounds it all; an answer that does not come by then is a TimeoutError.
    """
    events: asyncio.Queue[Event] = asyncio.Queue()
    async with asyncio.timeout(timeout_s):
        connection = await door.open(events.put_nowait, timeout_s=timeout_s)
        with contextlib.closing(connection):
            return await send_and_wait(connection, events, api, version, body)
