"""Brokers behind TLS and SASL, for tests: certificates, and a listener that lets nobody in unasked.

The certificates are made anew for each run; the broker is one of `support.tcp.liars`.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trustme
from support.tcp.liars import Broker, Script, answer, honest, raw

from fencepost.conformance.wire.codec import RequestFrame, decode_request

USER, PASSWORD = "ann=a,b", "correct horse"
HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
FAILED = 58


@dataclass(frozen=True)
class Authority:
    """Files of an authority, and of a server and a client that it knows."""

    folder: Path
    authority: trustme.CA = field(default_factory=trustme.CA)

    @property
    def ca(self) -> Path:
        path = self.folder / "ca.pem"
        self.authority.cert_pem.write_to_path(path)
        return path

    def server(self, *names: str) -> tuple[Path, Path]:
        """Certificate and key of a server of these names."""
        return self._issue("server", names or ("localhost", "127.0.0.1"))

    def client(self) -> tuple[Path, Path]:
        return self._issue("client", ("somebody.invalid",))

    def _issue(self, role: str, names: tuple[str, ...]) -> tuple[Path, Path]:
        cert, key = self.folder / f"{role}.pem", self.folder / f"{role}.key"
        issued = self.authority.issue_cert(*names)
        issued.private_key_pem.write_to_path(key)
        cert.unlink(missing_ok=True)
        for blob in issued.cert_chain_pems:
            blob.write_to_path(cert, append=True)
        return cert, key

    def listener(self, *names: str, wants_client: bool = False) -> ssl.SSLContext:
        """The server's side of TLS."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.ca)
        context.load_cert_chain(*self.server(*names))
        if wants_client:
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@dataclass
class Guard:
    """Signs users in, as RFC 4616 and RFC 5802 have it; `lie` replaces its last word to SCRAM.

    `refusal`: what is said to the wrong password.
    """

    mechanisms: tuple[str, ...] = ("PLAIN", *HASHES)
    users: Mapping[str, str] = field(default_factory=lambda: {USER: PASSWORD})
    lie: bytes | None = None
    refusal: str = "Authentication failed"
    chosen: str = ""
    first: bytes = b""
    nonce: bytes = b""
    is_in: bool = False

    def answer(self, request: RequestFrame) -> bytes | None:
        """The answer while nobody is signed in; None hangs up."""
        match request.api:
            case "ApiVersions":
                return honest(Broker(), request)
            case "SaslHandshake":
                self.chosen = request.body["mechanism"]
                code = 0 if self.chosen in self.mechanisms else 33
                return answer(request, {"errorCode": code, "mechanisms": list(self.mechanisms)})
            case "SaslAuthenticate":
                said = base64.b64decode(request.body["authBytes"])
                told = self._plain(said) if self.chosen == "PLAIN" else self._scram(said)
                if told is None:
                    refused = {"errorCode": FAILED, "errorMessage": self.refusal, "authBytes": ""}
                    return answer(request, refused)
                body = {"errorCode": 0, "authBytes": base64.b64encode(told).decode()}
                return answer(request, body)
            case _:
                return None

    def _plain(self, said: bytes) -> bytes | None:
        _, user, password = said.decode().split("\0")
        self.is_in = self.users.get(user) == password
        return b"" if self.is_in else None

    def _scram(self, said: bytes) -> bytes | None:
        name = HASHES[self.chosen]
        if not self.first:
            bare = said.removeprefix(b"n,,")
            self.nonce = bare.split(b",r=")[1] + b"more"
            told = b"r=" + self.nonce + b",s=" + base64.b64encode(b"salt") + b",i=4096"
            self.first = bare + b"," + told
            return told
        user = self.first.split(b",")[0].removeprefix(b"n=").decode()
        user = user.replace("=2C", ",").replace("=3D", "=")
        known = self.users.get(user, "")
        salted = hashlib.pbkdf2_hmac(name, known.encode(), b"salt", 4096)
        bare, proof = said.rsplit(b",p=", 1)
        message = self.first + b"," + bare
        client_key = hmac.digest(salted, b"Client Key", name)
        stored = hashlib.new(name, client_key).digest()
        signature = hmac.digest(stored, message, name)
        right = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self.is_in = bool(known) and base64.b64decode(proof) == right
        if not self.is_in:
            return None
        server_key = hmac.digest(salted, b"Server Key", name)
        return self.lie or b"v=" + base64.b64encode(hmac.digest(server_key, message, name))


@asynccontextmanager
async def secured(
    *,
    tls: ssl.SSLContext | None = None,
    guard: Guard | None = None,
    script: Script = honest,
) -> AsyncIterator[Broker]:
    """A broker that answers as the script says, once a connection is let in.

    `guard`: a copy of it stands at each connection.
    """

    async def handle(
        broker: Broker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        watch = None
        if guard is not None:
            watch = Guard(guard.mechanisms, guard.users, guard.lie, guard.refusal)
        while True:
            size = int.from_bytes(await reader.readexactly(4))
            if size > 1 << 20:
                return  # TLS where none is spoken
            request = decode_request(await reader.readexactly(size))
            broker.requests.append(request)
            reply: bytes | None
            if watch is not None and not watch.is_in:
                reply = watch.answer(request)
            else:
                reply = script(broker, request) or honest(broker, request)
            if reply is None:
                return
            writer.write(reply)

    async with raw(handle, tls=tls) as broker:
        yield broker
