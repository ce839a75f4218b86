"""Addresses of brokers, and which of them may be reached.

A host is allowed only if all addresses of its name are on the loopback, or with `--remote`: the
cases kill members and provoke errors, which must not happen on a shared cluster by accident.  The
rule holds for the brokers that a broker names, too.  The address that was checked is the one that
is connected to, since a name may resolve differently the next time.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass

from fencepost.model.bad_input import BadInputError


class AddressError(BadInputError):
    """An address that can't be meant, or that needs `--remote` (exit code 64); `str()` tells."""


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """A host, by name or number, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        """As a user would write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`tcp://HOST:PORT` or `HOST:PORT`, a host with colons in brackets.  Raises AddressError."""
    host, _, port = text.removeprefix("tcp://").rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise AddressError(f"{text!r}: a host with colons needs brackets, as in tcp://[::1]:9092")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise AddressError(f"{text!r} is no address: write tcp://HOST:PORT, as in tcp://[::1]:9092")
    return Address(host, int(port))


async def resolve(address: Address, *, remote: bool, timeout_s: float) -> Address:
    """The address by number.

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
