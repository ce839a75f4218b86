"""`Stop`: asks running work to end early.

Whoever starts work and whoever may end it share one `Stop`.  Work that is cut off returns nothing,
so it must keep its results somewhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

_T = TypeVar("_T")


class Stop:
    """A request to end early; once made, it can't be taken back."""

    def __init__(self) -> None:
        self.asked = False
        """Whether the end was asked for."""
        self._waiting: set[asyncio.Future[None]] = set()

    def ask(self) -> None:
        """Ask everything that shares this to end."""
        self.asked = True
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until the end is asked for, or so long."""
        if self.asked:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await future
        finally:
            self._waiting.discard(future)

    @asynccontextmanager
    async def following(self, other: Stop, seconds: float | None = None) -> AsyncIterator[None]:
        """While the body runs, ask for the end when the other does, or when the time is over."""

        async def follow() -> None:
            await other.wait(seconds)
            self.ask()

        if other.asked:
            self.ask()
        waiting = asyncio.create_task(follow())
        try:
            yield
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    async def cut(self, work: Coroutine[Any, Any, _T], *, grace_s: float = 0) -> _T | None:
        """Run work and return its result; None if the end was asked for first: it is cancelled.

        `grace_s`: how long it may go on then, since it may have a result all the same.
        """
        if self.asked and not grace_s:
            work.close()
            return None
        running, stopping = asyncio.create_task(work), asyncio.create_task(self.wait())
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if grace_s:
                await asyncio.wait({running}, timeout=grace_s)
            return running.result() if running.done() else None
        finally:
            for task in (running, stopping):
                task.cancel()
            await asyncio.gather(running, stopping, return_exceptions=True)
