"""Run a child process with a log of its own, which ends when this process does.

Its output goes to a file, which a report can keep.  It is the child of a keeper (keeper.py), which
kills it as soon as this process closes a pipe or is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from fencepost.traces.files.bounded import last_bytes

KEEPER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py")))
"""The command line of a keeper, before that of the child."""
PASSWORD, KEY_PASSWORD = "FENCEPOST_SASL_PASSWORD", "FENCEPOST_TLS_KEY_PASSWORD"
"""Variables with secrets of ours, which no child gets."""
_END_S = 10.0
_PORTS = range(10_000, 30_000)
"""Below the ports that systems give to outgoing connections, which would take one while a broker
restarts."""


class Server(Protocol):
    """A running server: a process (Child), or a part of one."""

    @property
    def ended(self) -> bool:
        """Return True if it is over."""

    def how_it_ended(self) -> str:
        """Return how it ended by itself, for a sentence; once it has."""

    def last_line(self, interesting: Callable[[str], bool] = ...) -> str:
        """Return the last interesting line of its log."""

    async def end(self) -> None:
        """End it now, unless others run in its process."""


class Child:
    """A running process; made by `start`."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self.log = log

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        log: Path,
        *,
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Self:
        """Start a command in a folder; its stdout and stderr are added to the log.

        `env`: variables beside those of this process.  Raises OSError.
        """
        with log.open("ab") as sink:
            process = await asyncio.create_subprocess_exec(
                *KEEPER,
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=sink,
                stderr=sink,
                cwd=folder,
                env=child_environment(env),
                start_new_session=True,
            )
        return cls(process, log)

    @property
    def ended(self) -> bool:
        """Return True if it is over."""
        return self._process.returncode is not None

    def how_it_ended(self) -> str:
        """Return how it ended by itself, for a sentence; once it has."""
        code = self._process.returncode or 0
        # Of a signal the keeper makes 128 and its number, as shells do.
        return how_it_ended(128 - code if code > 128 else code)

    async def wait(self, within_s: float) -> int:
        """Return its exit code.  Raises TimeoutError."""
        async with asyncio.timeout(within_s):
            return await self._process.wait()

    async def end(self) -> None:
        """End it now, and wait until it is gone; a cancellation waits, too.

        The keeper must not be killed while it can still act: it alone knows the child.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        waiting = asyncio.ensure_future(self._process.wait())
        cancelled = False
        end = time.monotonic() + _END_S
        while not waiting.done() and (left := end - time.monotonic()) > 0:
            try:
                await asyncio.wait({waiting}, timeout=left)
            except asyncio.CancelledError:
                cancelled = True
        if not waiting.done():
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await waiting
        if cancelled:
            raise asyncio.CancelledError

    def last_line(self, interesting: Callable[[str], bool] = lambda _: True) -> str:
        """Return the last interesting line of the log; "no output" where there is none."""
        text = last_bytes(self.log)
        lines = [line.strip() for line in text.splitlines() if line.strip() and interesting(line)]
        return lines[-1] if lines else "no output"


def child_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables of a child: those of this process but for secrets, and `more`."""
    mine = {k: v for k, v in os.environ.items() if k not in {PASSWORD, KEY_PASSWORD}}
    return mine | dict(more or {})


def how_it_ended(code: int) -> str:
    """Return `exited with code 3`; `was ended by SIGKILL`.  `code`: negative for a signal."""
    if code >= 0:
        return f"exited with code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"was ended by {names.get(-code, f'signal {-code}')}"


def free_ports(count: int) -> list[int]:
    """Find ports of the loopback that nobody listens at."""
    ports: list[int] = []
    for _ in _PORTS:
        port = random.choice(_PORTS)  # noqa: S311  (which one doesn't matter)
        if port in ports:
            continue
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise OSError("no free port on the loopback")
