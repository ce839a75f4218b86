"""Secure connections to brokers (TLS, SASL), and hold addresses to the loopback rule.

A password is in no `repr`, so in no message and no report.  Each way in which TLS fails has its own
message and remedy.  A refusal for lack of access says nothing about the protocol: a case that meets
one is unsupported, not failed.  That holds only for a broker that was not started here, where there
may be rules of access.  From one that was, such an answer is as wrong as any other.

A host is allowed only if all addresses of its name are on the loopback, or with `--remote`: the
cases kill members and provoke errors, which must not happen on a shared cluster by accident.  The
rule holds for the brokers that a broker names, too.  The address that was checked is used for the
connection, since a name may resolve differently the next time.

Source: Kafka's documentation, "Security" and "Authorization and ACLs"; KIP-290 (prefixed patterns);
Python's `ssl`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.model.bad_input import BadInputError
from fencepost.model.coordinator import codes_in

if TYPE_CHECKING:
    import ssl


PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_REFUSALS = {
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
}
_OTHER_NAME = {62, 64}
"""OpenSSL's verify codes for a certificate of another host name or address."""


class SecurityError(OSError):
    """A broker does not let us in, or isn't whom we trust.

    `str()` is a sentence without its full stop, with a remedy.
    """


class SecurityOptionError(ValueError):
    """Options that can't be meant (exit code 64).  `str()` names the option and the remedy."""


@dataclass(frozen=True, slots=True)
class Sasl:
    """A user.  `mechanism` is one of `MECHANISMS`."""

    mechanism: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Security:
    """The security of every connection to a cluster.  `tls`: None for plain text."""

    tls: ssl.SSLContext | None = None
    sasl: Sasl | None = None

    @property
    def protocol(self) -> str:
        """Kafka's name for it, one of `PROTOCOLS`."""
        transport = "SSL" if self.tls else "PLAINTEXT"
        if self.sasl is None:
            return transport
        return f"SASL_{transport}"

    @property
    def if_closed(self) -> str:
        """Advice for a broker that closes a connection without a word; may be empty."""
        hints = []
        if self.tls is not None:
            hints.append("If it wants a certificate, pass one with --tls-cert and --tls-key.")
        if self.sasl is None:
            protocol = "SASL_SSL" if self.tls else "another (SSL, SASL_PLAINTEXT, SASL_SSL)"
            hints.append(f"If its listener has {protocol}, pass that as --security-protocol.")
        return " ".join(hints)


PLAINTEXT = Security()


def tls_context(
    *,
    ca: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    key_password: str = "",
    any_name: bool = False,
) -> ssl.SSLContext:
    """Make a TLS context of a client; all files are PEM.

    `ca`: whom to trust instead of the system's authorities.  `cert` and `key`: who we are; the key
    may be in the same file.  `any_name`: trust a certificate that was made for another host.
    Raises SecurityOptionError.
    """
    context = _trusting(ca)
    context.check_hostname = not any_name
    if cert is not None:
        try:
            context.load_cert_chain(cert, key, password=key_password)
        except (OSError, ValueError) as error:
            files = f"--tls-cert {cert}" + (f" with --tls-key {key}" if key else "")
            raise SecurityOptionError(
                f"{files} can't be used ({_words(error)}): give a certificate and its key as PEM "
                "files; for a key that is encrypted set FENCEPOST_TLS_KEY_PASSWORD"
            ) from None
    elif key is not None:
        raise SecurityOptionError(f"--tls-key {key} needs --tls-cert with its certificate")
    return context


def _trusting(ca: Path | None) -> ssl.SSLContext:
    import ssl  # noqa: PLC0415  (only where TLS is used)

    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ValueError) as error:
        raise SecurityOptionError(
            f"--tls-ca {ca} can't be used ({_words(error)}): give a PEM file (from a Java key "
            "store: keytool -exportcert -rfc)"
        ) from None


def tls_problem(error: OSError) -> str:
    """Explain a failure of TLS, with a remedy.  No full stop."""
    import ssl  # noqa: PLC0415  (as above)

    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_NAME:
            return (
                f"its certificate is for another host ({error.verify_message.rstrip('.')}): use "
                "the name that it is for, or pass --tls-insecure-hostname"
            )
        return (
            f"its certificate is not trusted ({error.verify_message}): pass the certificate of "
            "its authority with --tls-ca"
        )
    words = _words(error)
    if "alert" in words:
        return (
            f"it refused our side of TLS ({words}): if it wants a certificate, pass one that it "
            "trusts with --tls-cert and --tls-key"
        )
    return (
        f"it doesn't speak TLS, it seems ({words}): pass --security-protocol "
        "PLAINTEXT or SASL_PLAINTEXT"
    )


def _words(error: Exception) -> str:
    """Return the error's message without OpenSSL's file and line."""
    import ssl  # noqa: PLC0415  (only where TLS is used)

    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    text = getattr(error, "strerror", None) or str(error)
    return text or type(error).__name__


def refusal(body: Mapping[str, Any]) -> str | None:
    """Return the error by which an answer refuses access to something, if it does."""
    codes = _REFUSALS.keys() & set(codes_in(body))
    return _REFUSALS[min(codes)] if codes else None


class AddressError(BadInputError):
    """An address that isn't valid, or that needs `--remote` (exit code 64); see `str()`."""


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """A host, by name or number, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return it as a user would write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Parse `tcp://HOST:PORT` or `HOST:PORT`, a host with colons in brackets.

    Raises AddressError.
    """
    host, _, port = text.removeprefix("tcp://").rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise AddressError(f"{text!r}: a host with colons needs brackets, as in tcp://[::1]:9092")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise AddressError(f"{text!r} is no address: write tcp://HOST:PORT, as in tcp://[::1]:9092")
    return Address(host, int(port))


async def resolve(address: Address, *, remote: bool, timeout_s: float) -> Address:
    """Return the address by number.

    Raises AddressError for one outside the loopback unless `remote`; OSError (TimeoutError) when
    the name can't be resolved (within `timeout_s`).
    """
    if not address.host or not 0 < address.port < 65536:
        raise OSError(f"{address} is no address")
    numbers = await _numbers(address, timeout_s)
    outside = [n for n in numbers if not ipaddress.ip_address(n.partition("%")[0]).is_loopback]
    if outside and not remote:
        raise AddressError(
            f"{address} is not on this machine (it resolves to {outside[0]}). The suite kills "
            "members and provokes faults: pass --remote if this broker is yours to test on"
        )
    return Address(numbers[0], address.port)


async def _numbers(address: Address, timeout_s: float) -> list[str]:
    try:
        ipaddress.ip_address(address.host)
    except ValueError:
        pass
    else:
        return [address.host]
    try:
        async with asyncio.timeout(timeout_s):
            rows = await asyncio.get_running_loop().getaddrinfo(
                address.host, address.port, type=socket.SOCK_STREAM
            )
    except UnicodeError as error:
        raise OSError(f"{address.host!r} is no host name") from error
    numbers = sorted({str(row[4][0]) for row in rows}, key=lambda n: (":" in n, n))
    if not numbers:
        raise OSError(f"{address.host} has no address")
    return numbers
