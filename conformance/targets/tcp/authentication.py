"""Opening a connection to a broker: TCP, TLS and SASL.

On each connection nothing else is sent before the broker has accepted the user.  Each refusal has a
message with its remedy; none of them contains the password.

Source: KIP-43, KIP-152 (SaslHandshake, then SaslAuthenticate until the mechanism is done); RFC 4616
(PLAIN) and RFC 5802 (SCRAM), as kafka-python has them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka.net.sasl import get_sasl_mechanism

from fencepost.conformance.targets.tcp.address import Address
from fencepost.conformance.targets.tcp.broker_connection import (
    Connection,
    Ended,
    Event,
    Reply,
    Stray,
    is_readable,
)
from fencepost.conformance.targets.tcp.security import (
    PLAINTEXT,
    Sasl,
    Security,
    SecurityError,
    tls_problem,
)
from fencepost.conformance.wire.codec import encode_message

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
        """Raises SecurityError."""
        sasl = self._sasl
        told = await self._ask(_HANDSHAKE, _HANDSHAKE_VERSION, {"mechanism": sasl.mechanism})
        match told["errorCode"]:
            case 0:
                pass
            case code if code == _UNSUPPORTED_SASL_MECHANISM:
                known = ", ".join(told["mechanisms"]) or "none"
                raise self._error(f"it has no {sasl.mechanism}, only {known}: --sasl-mechanism")
            case code if code == _ILLEGAL_SASL_STATE:
                plain = "SSL" if self._door.security.tls else "PLAINTEXT"
                raise self._error(f"it wants no SASL here: pass --security-protocol {plain}")
            case code:
                raise self._error(f"it answered {_HANDSHAKE} with error {code}")
        await self._prove()

    async def _prove(self) -> None:
        mechanism = get_sasl_mechanism(self._sasl.mechanism)(
            sasl_mechanism=self._sasl.mechanism,
            sasl_plain_username=self._username(),
            sasl_plain_password=self._sasl.password,
        )
        while not mechanism.is_done():
            said = base64.b64encode(mechanism.auth_bytes()).decode()
            told = await self._ask(_AUTHENTICATE, _AUTHENTICATE_VERSION, {"authBytes": said})
            if told["errorCode"]:
                raise self._refused(told["errorCode"], told["errorMessage"])
            try:
                mechanism.receive(base64.b64decode(told["authBytes"]))
            except (ValueError, KeyError, UnicodeDecodeError):
                raise self._error(
                    f"what it answered is not {self._sasl.mechanism}, or it doesn't know the "
                    "password itself: check that this is the broker that you mean"
                ) from None
        if not mechanism.is_authenticated():
            raise self._error(f"what it answered is not {self._sasl.mechanism}")

    def _username(self) -> str:
        """As the mechanism writes it; kafka-python leaves SCRAM's escapes to us."""
        name = self._sasl.username
        if self._sasl.mechanism == "PLAIN":
            return name
        return name.replace("=", "=3D").replace(",", "=2C")

    def _refused(self, code: int, message: str | None) -> SecurityError:
        said = (message or "").replace(self._sasl.password, "***").rstrip(".")
        why = f" ({said})" if said else ""
        if code == _SASL_AUTHENTICATION_FAILED:
            return self._error(
                f"it refused the user {self._sasl.username!r}{why}: check --sasl-username, the "
                "password in FENCEPOST_SASL_PASSWORD or --sasl-password-file, and --sasl-mechanism"
            )
        return self._error(f"it refused the user {self._sasl.username!r} with error {code}{why}")

    async def _ask(self, api: str, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        event = await asked(self._connection, self._events, api, version, body)
        if isinstance(event, Reply) and event.decoded.body and is_readable(event.decoded):
            return event.decoded.body
        why = event.reason if isinstance(event, Ended) else " ".join(event.decoded.findings)
        raise self._error(
            f"it did not take part in {api} ({why.rstrip('.')}): pass the --security-protocol "
            f"that its listener has, which is hardly {self._door.security.protocol}"
        )

    def _error(self, words: str) -> SecurityError:
        return SecurityError(f"{self._door.at}: {words}")


async def asked(
    connection: Connection,
    events: asyncio.Queue[Event],
    api: str,
    version: int,
    body: Mapping[str, Any],
) -> Reply | Ended:
    """One request on a connection whose events go to the queue."""
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
    """One request on a connection of its own.  Raises OSError as `Door.open` does.

    `timeout_s` bounds it all; an answer that does not come by then is a TimeoutError.
    """
    events: asyncio.Queue[Event] = asyncio.Queue()
    async with asyncio.timeout(timeout_s):
        connection = await door.open(events.put_nowait, timeout_s=timeout_s)
        with contextlib.closing(connection):
            return await asked(connection, events, api, version, body)
