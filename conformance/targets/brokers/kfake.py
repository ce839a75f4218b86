"""`kfake`: franz-go's coordinator in Go, built from its source and started here.

Its version is the one in the go.mod beside the program.  It is built once, into the user's cache.
Some of its settings it does not report: they are listed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fencepost.conformance.runtime.toolchain.found_tools import go_program, locked_go_version
from fencepost.conformance.targets.brokers.started import BrokerPlace, ProgramTarget
from fencepost.model.coordinator import CONFIG_DEFAULTS, METADATA_LIMIT, RECORD_LIMIT

SOURCE = Path(__file__).with_name("kfake_program")
_OURS = {
    "group.min.session.timeout.ms": "100",
    "offsets.retention.check.interval.ms": "2147483647",  # else it removes groups in a long run
}
_UNREPORTED: Mapping[str, int | None] = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.retention.check.interval.ms": None,
    METADATA_LIMIT: None,
    RECORD_LIMIT: None,
}
"""It has no initial delay, removes no unused groups as it is started here, and stores any commit,
whatever settings it reports."""


def locked_version() -> str:
    """Return the version of kfake that is built."""
    return locked_go_version(SOURCE, "github.com/twmb/franz-go/pkg/kfake")


async def built() -> Path:
    """Return the program, from the cache.  Raises TargetUnavailableError."""
    return await go_program("kfake", SOURCE, locked_version())


class KfakeTarget(ProgramTarget):
    """kfake, one broker; its state is gone with it."""

    settable = frozenset(CONFIG_DEFAULTS) - {
        "group.initial.rebalance.delay.ms",
        METADATA_LIMIT,
        RECORD_LIMIT,
    }

    def __init__(
        self,
        *,
        properties: Mapping[str, str] | None = None,
        logs: Path | None = None,
        capacity: int = 8,
    ) -> None:
        super().__init__("kfake", _OURS | dict(properties or {}), logs, capacity)

    async def command(self, place: BrokerPlace, port: int) -> Sequence[str]:
        """Return the command that starts it, built if need be; raises TargetUnavailableError."""
        properties = self._properties | place.kind.properties()
        configs = [f"{key}={value}" for key, value in properties.items()]
        return [str(await built()), str(port), *configs]

    def known(self) -> Mapping[str, Any]:
        """Return what it doesn't tell."""
        return {"settings": _UNREPORTED, "implementation": "kfake", "version": locked_version()}
