"""`seaweedfs`, `rivine`, `nafka`: brokers of others that speak the group protocol, started here.

Each is one fixed version, made once into the user's cache by the tools of its language:

- SeaweedFS's gateway for Kafka's clients, in Go: the server of its own tests, whose groups are
  those of the product and whose topics and offsets are kept in memory.
- rivine, in Rust, built by cargo with the versions that its authors locked.
- nafka, in Python, with the kafka-python that it needs; it runs on Python 3.12 or later, while
  ours may be older.

None of them reports its settings.  What they were found to do, asked over TCP, and what their
sources say at these versions:

- None has an initial rebalance delay, and none limits the members of a group.
- SeaweedFS takes sessions from 6 s to 5 minutes.  They end when a join comes, or within 30 s.
- rivine takes any session that isn't negative, and nafka any at all.  In rivine a session ends only
  when another join comes (its cleanup looks at a copy of the groups); in nafka none ends.
- rivine names 127.0.0.1:9092 as the coordinator, wherever it listens.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fencepost.conformance.runtime.toolchain.found_tools import (
    cached,
    find_python,
    find_tool,
    go_program,
    locked_go_version,
    run_tool,
)
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers.started import BrokerPlace, ProgramTarget
from fencepost.conformance.targets.tcp.security import Address

_UNLIMITED: Mapping[str, int | None] = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 0,
    "group.max.session.timeout.ms": 2**31 - 1,
    "group.max.size": None,
    "offsets.retention.check.interval.ms": None,
}
"""The behaviour of a broker that limits nothing and forgets nothing, in Kafka's settings."""

SEAWEEDFS = Path(__file__).with_name("seaweedfs_program")
RIVINE = "0.2.0"
NAFKA = "0.1"
_WHEELS = {
    f"nafka=={NAFKA}": "2158e953a213df6fa30fbda9ba34552ee962fe22fd978c39fedbbe52412e334c",
    "kafka-python==2.3.3": "9ab1c473f0bc72c8db82ec77137f30691de42e68807a1933c3200b8771235ce1",
}
NAFKA_PYTHON = (3, 12)
_CARGO = "install Rust 1.85 or later (https://rustup.rs), or fill the cache on another machine"
_BUILD_S = 1800.0
_FETCH_S = 300.0


def seaweedfs_version() -> str:
    """Return the version of SeaweedFS that is built."""
    return locked_go_version(SEAWEEDFS, "github.com/seaweedfs/seaweedfs")


class SeaweedTarget(ProgramTarget):
    """SeaweedFS's gateway, with its storage in memory."""

    def __init__(self, *, logs: Path | None = None, capacity: int = 8) -> None:
        super().__init__("seaweedfs", None, logs, capacity)

    async def command(self, place: BrokerPlace, port: int) -> Sequence[str]:
        """Return the command that starts it, built if need be; raises TargetUnavailableError."""
        del place
        return [str(await go_program("seaweedfs", SEAWEEDFS, seaweedfs_version())), str(port)]

    def known(self) -> Mapping[str, Any]:
        """Return what it doesn't tell."""
        sessions = {
            "group.min.session.timeout.ms": 6_000,
            "group.max.session.timeout.ms": 300_000,
        }
        return {
            "settings": {**_UNLIMITED, **sessions},
            "implementation": "SeaweedFS's Kafka gateway",
            "version": seaweedfs_version(),
        }


async def rivine_built() -> Path:
    """Return the program, from the cache.  Raises TargetUnavailableError."""

    async def build(folder: Path) -> None:
        cargo = find_tool("cargo", _CARGO)
        crate = ("rivine", "--version", RIVINE, "--locked", "--quiet")
        await run_tool([cargo, "install", *crate, "--root", str(folder)], _BUILD_S, folder)

    return await cached("rivine", RIVINE, build) / "bin" / "rivine-broker"


class RivineTarget(ProgramTarget):
    """rivine, one node."""

    named_as = Address("127.0.0.1", 9092)

    def __init__(self, *, logs: Path | None = None, capacity: int = 8) -> None:
        super().__init__("rivine", None, logs, capacity)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return what a certificate must say of the way to it."""
        where = "as the coordinator, even if it listens elsewhere; fencepost used its own address"
        return (f"rivine names {self.named_as} {where}",)

    async def command(self, place: BrokerPlace, port: int) -> Sequence[str]:
        """Return the command that starts it, built if need be; raises TargetUnavailableError."""
        program = await rivine_built()
        file = place.folder / "broker.toml"
        file.write_text(
            f'host = "127.0.0.1"\nport = {port}\nlog_dirs = ["{place.folder / "data"}"]\n', "utf-8"
        )
        return [str(program), "--config", str(file)]

    def known(self) -> Mapping[str, Any]:
        """Return what it doesn't tell."""
        return {"settings": _UNLIMITED, "implementation": "rivine", "version": RIVINE}


async def nafka_fetched() -> Path:
    """Return the folder of its modules, from the cache.  Raises TargetUnavailableError."""

    async def fetch(folder: Path) -> None:
        requirements = folder / "requirements.txt"
        lines = (f"{wheel} --hash=sha256:{digest}\n" for wheel, digest in _WHEELS.items())
        requirements.write_text("".join(lines), encoding="utf-8")
        options = ("--no-deps", "--only-binary=:all:", "--require-hashes", "--quiet")
        command = [sys.executable, "-m", "pip", "install", *options, "-r", str(requirements)]
        try:
            await run_tool([*command, "--target", str(folder / "lib")], _FETCH_S, folder)
        except TargetUnavailableError as error:
            raise TargetUnavailableError(
                f"nafka can't be fetched ({error}): pip needs a package index that has "
                f"{' and '.join(_WHEELS)}; or fill the cache on another machine"
            ) from error
        shutil.rmtree(folder / "lib" / "bin", ignore_errors=True)  # they name this folder's place

    return await cached("nafka", NAFKA, fetch) / "lib"


class NafkaTarget(ProgramTarget):
    """nafka, with its database in memory."""

    def __init__(self, *, logs: Path | None = None, capacity: int = 8) -> None:
        super().__init__("nafka", None, logs, capacity)

    async def command(self, place: BrokerPlace, port: int) -> Sequence[str]:
        """Return the command that starts it, fetched if need be; raises TargetUnavailableError."""
        del place
        python = await find_python(NAFKA_PYTHON)
        modules = await nafka_fetched()
        start = f"import sys; sys.path.insert(0, {str(modules)!r}); import nafka.__main__"
        return [python, "-I", "-c", start, "--port", str(port)]

    def known(self) -> Mapping[str, Any]:
        """Return what it doesn't tell."""
        return {"settings": _UNLIMITED, "implementation": "nafka", "version": NAFKA}


OTHERS: Mapping[str, Callable[..., ProgramTarget]] = {
    "seaweedfs": SeaweedTarget,
    "rivine": RivineTarget,
    "nafka": NafkaTarget,
}
"""The targets by name; each takes `logs` and `capacity`."""
