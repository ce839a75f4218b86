"""The wish that something should end early, and keep what it has.

Decides what is left of work that is cut off: nothing, so it keeps what it came to somewhere else.
Whoever starts work and whoever ends it share one of these.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Coroutine
from multiprocessing.connection import Connection
from typing import Any, TypeVar

_T = TypeVar("_T")

STOP = "stop"
"""What is sent to a process that is to end early."""


class Stop:
    """Asked for once; there is no way back."""

    def __init__(self) -> None:
        self.asked = False
        """Whether somebody wants an end."""
        self._waiting: set[asyncio.Future[None]] = set()

    def ask(self) -> None:
        """Let everything end that runs under this."""
        self.asked = True
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self) -> None:
        """Until an end is asked for."""
        if self.asked:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    async def cut(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """What the work returns; None where an end was asked for first, and it was cancelled."""
        if self.asked:
            work.close()
            return None
        running, stopping = asyncio.create_task(work), asyncio.create_task(self.wait())
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return running.result() if running.done() else None
        finally:
            for task in (running, stopping):
                task.cancel()
            await asyncio.gather(running, stopping, return_exceptions=True)


def watch(pipe: Connection, loop: asyncio.AbstractEventLoop, stop: Stop) -> None:
    """For a thread: what is sent this way asks for a stop; the end of the pipe is the end."""
    with contextlib.suppress(EOFError, OSError):
        while pipe.recv() == STOP:
            with contextlib.suppress(RuntimeError):  # the work is done
                loop.call_soon_threadsafe(stop.ask)
    os._exit(os.EX_SOFTWARE)
