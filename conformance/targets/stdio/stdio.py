"""`exec:COMMAND`: any program that speaks adapter protocol 1 on its stdin and stdout, as a target.

`reset` is for a whole process, so cases in parallel need processes in parallel: at most `jobs`.
Each process serves one case at a time and is reset for the next.  It is not used again if it
failed, was closed, or if the case asked for a process of its own.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Self

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.stdio.line_process import LineProcess
from fencepost.conformance.targets.stdio.stdio_coordinator import StdioCoordinator
from fencepost.conformance.targets.target import Hints
from fencepost.model.coordinator import (
    AsyncCoordinator,
    CoordinatorFailure,
    Hello,
    Provenance,
    UnsupportedError,
)
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import Api

GRACE_S = 10.0
"""What a command may take beside the time that it is told to let pass."""


class ExecTarget:
    """A program, started without a shell.  `apis`: the messages whose answers are checked."""

    hints = Hints()

    def __init__(
        self,
        command: str,
        *,
        jobs: int = 2,
        grace_s: float = GRACE_S,
        apis: Mapping[str, Api] = ALL_APIS,
    ) -> None:
        if jobs < 1:
            raise ValueError(f"jobs is {jobs}; a target needs at least one process")
        self.name = f"exec:{command}"
        self.capacity = jobs
        self._command = command
        self._grace_s = grace_s
        self._apis = apis
        self._slots = asyncio.Semaphore(jobs)
        self._live: list[StdioCoordinator] = []
        self._idle: list[StdioCoordinator] = []
        self._hello: Hello | None = None

    async def __aenter__(self) -> Self:
        """Start the first process.  Raises TargetUnavailableError if it doesn't say hello."""
        try:
            coordinator = await self._start()
        except (CoordinatorFailure, UnsupportedError) as error:
            refusal = isinstance(error, UnsupportedError)
            said = f"{self.name} answers unsupported to `hello`: {error}" if refusal else error
            raise TargetUnavailableError(
                f"{said}\nAn adapter must answer `hello` in protocol 1 first; "
                f"run `{self._command}` by hand to see what it does. "
                "One that starts slowly can be given more time: --adapter-timeout SECONDS."
            ) from error
        self._hello = await coordinator.hello()
        self._idle.append(coordinator)
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all processes, and whatever they started."""
        self._hello = None
        self._idle.clear()
        await asyncio.gather(*(self._end(c) for c in list(self._live)))

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """A process, reset; `isolated`: a fresh one that nobody uses afterwards.

        Waits while `capacity` scopes are open.  Raises CoordinatorFailure where the adapter fails,
        TargetUnavailableError where no process can be started.
        """
        del restarts
        self.hello()
        async with self._slots:
            coordinator = await self._taken(isolated=isolated)
            try:
                await coordinator.reset({})
                yield coordinator
            except CoordinatorFailure as error:
                error.add_note(f"in the scope {label!r}")
                raise
            finally:
                if isolated or coordinator.is_spent:
                    await self._end(coordinator)
                else:
                    self._idle.append(coordinator)

    def hello(self) -> Hello:
        """What the program said of itself.  Raises RuntimeError unless the target is open."""
        if self._hello is None:
            raise RuntimeError(f"{self.name} is not open; use it with `async with`")
        return self._hello

    def provenance(self) -> Provenance:
        """What a certificate says of the program.  Raises RuntimeError unless it is open."""
        hello = self.hello()
        return Provenance(self.name, hello.implementation, hello.version)

    def pids(self) -> tuple[int, ...]:
        """The processes that are running for this target."""
        return tuple(coordinator.pid for coordinator in self._live)

    async def _taken(self, *, isolated: bool) -> StdioCoordinator:
        if self._idle and not isolated:
            return self._idle.pop()
        while self._idle and len(self._live) >= self.capacity:
            await self._end(self._idle.pop())
        return await self._start()

    async def _start(self) -> StdioCoordinator:
        try:
            process = await LineProcess.start(self._argv())
        except OSError as error:
            raise TargetUnavailableError(
                f"can't start `{self._command}`: {error.strerror or error}. Name a program that is "
                "on PATH or give its path; no shell is used, so write `sh -c '…'` for its syntax."
            ) from error
        coordinator = StdioCoordinator(process, self.name, self._apis, self._grace_s)
        self._live.append(coordinator)
        try:
            await coordinator.hello()
        except BaseException:
            await self._end(coordinator)
            raise
        return coordinator

    async def _end(self, coordinator: StdioCoordinator) -> None:
        try:
            await coordinator.close()
        finally:
            if coordinator in self._live:
                self._live.remove(coordinator)

    def _argv(self) -> list[str]:
        try:
            argv = shlex.split(self._command)
        except ValueError as error:
            raise TargetUnavailableError(
                f"can't read `{self._command}` as a command: {error}. Close its quotes."
            ) from error
        if not argv:
            raise TargetUnavailableError("exec: names no program; write exec:COMMAND")
        return argv
