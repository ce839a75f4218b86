"""`kfake`: franz-go's coordinator in Go, built from its source and started here.

Its version is the one in the go.mod beside the program.  It is built once, into the user's cache.
Some of its settings it does not report: they are listed here.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from fencepost.conformance.runtime.toolchain.child import Child, free_ports
from fencepost.conformance.runtime.toolchain.found_tools import cached, find_tool, run_tool
from fencepost.conformance.targets.brokers.started import BrokerPlace, StartedTarget, until_ready
from fencepost.conformance.targets.tcp.cluster_admin import Admin, Deadlines
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.model.coordinator import CONFIG_DEFAULTS, METADATA_LIMIT, RECORD_LIMIT

SOURCE = Path(__file__).with_name("kfake_program")
_HOST = "127.0.0.1"
_BUILD_S = 600.0
_READY_S = 15.0
_REMEDY = "install Go 1.26 or later (Debian: golang), or fill the cache on another machine"
_OURS = {"group.min.session.timeout.ms": "100"}
_UNREPORTED: Mapping[str, int | None] = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.retention.check.interval.ms": None,
    METADATA_LIMIT: None,
    RECORD_LIMIT: None,
}
"""It has no initial delay, removes no unused groups and stores any commit, whatever settings it
reports."""


def locked_version() -> str:
    """Return the version of kfake that is built."""
    text = (SOURCE / "go.mod").read_text(encoding="utf-8")
    match = re.search(r"/pkg/kfake (v\S+)", text)
    if match is None:
        raise RuntimeError(f"{SOURCE / 'go.mod'} names no version of kfake")
    return match[1]


async def built() -> Path:
    """Return the program, from the cache.  Raises TargetUnavailableError."""

    async def build(folder: Path) -> None:
        go = find_tool("go", _REMEDY)
        for name in ("main.go", "go.mod", "go.sum"):
            shutil.copy(SOURCE / name, folder / name)
        command = [go, "build", "-mod=readonly", "-o", "kfake", "."]
        await run_tool(command, _BUILD_S, folder, {"GOTOOLCHAIN": "local"})

    return await cached("kfake", locked_version(), build) / "kfake"


class KfakeTarget(StartedTarget):
    """kfake, one broker; its state is gone with it."""

    settable = frozenset(CONFIG_DEFAULTS) - {
        "group.initial.rebalance.delay.ms",
        METADATA_LIMIT,
        RECORD_LIMIT,
    }
    fragile = True

    def __init__(
        self,
        *,
        properties: Mapping[str, str] | None = None,
        logs: Path | None = None,
        capacity: int = 8,
    ) -> None:
        super().__init__("kfake", _OURS | dict(properties or {}), logs, capacity)

    async def start_broker(self, place: BrokerPlace) -> TcpTarget:
        """Build it if need be, and start it.  Raises TargetUnavailableError."""
        program = await built()
        port = free_ports(1)[0]
        properties = self._properties | place.kind.properties()
        configs = [f"{key}={value}" for key, value in properties.items()]
        command = [str(program), str(port), *configs]
        child = await Child.start(command, place.log, folder=place.folder)
        place.stack.push_async_callback(child.end)
        patience = Deadlines(connect_s=1.0, answer_s=2.0)
        admin = Admin(Address(_HOST, port), remote=False, deadlines=patience)
        await until_ready(child, admin.open, self.name, _READY_S)
        known = {"settings": _UNREPORTED, "implementation": "kfake", "version": locked_version()}
        return await self.connected(place, f"{_HOST}:{port}", **known)
