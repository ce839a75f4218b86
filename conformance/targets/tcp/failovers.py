"""Failovers that many cases share: one restart of a broker for all that wait for one.

A shared broker is restarted when every open scope waits for it.  The restart waits for a case that
has not come to its failover yet, or has gone on after one.  A case that begins while the broker is
down waits until it is up.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fencepost.conformance.runtime.event_loop import STAGGER_S

HangUp = Callable[[], None]
_QUIET_S = 0.5
"""Cases begin one after the other; a failover waits for those that are just about to."""


class Failovers:
    """Counts the scopes of a broker.

    `end`: ends it, or makes it resign; `start`: starts it again, or waits for the next one.  What
    they raise, all get; a scope that begins later waits for `start` once more, so that none meets a
    broker that isn't ready.  `keeps_connections`: the old coordinator lives, and still answers what
    it had parked.
    """

    def __init__(
        self,
        end: Callable[[], Awaitable[None]],
        start: Callable[[], Awaitable[None]],
        quiet_s: float = _QUIET_S,
        *,
        keeps_connections: bool = False,
    ) -> None:
        self.keeps_connections = keeps_connections
        self._end_broker = end
        self._start_broker = start
        self._quiet_s = quiet_s
        self._open = 0
        self._waiting: list[tuple[HangUp, asyncio.Future[float]]] = []
        self._up = asyncio.Event()
        self._up.set()
        self._changed = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._mending = asyncio.Lock()
        self._is_lost = False
        self._gone: Exception | None = None
        self.count = 0
        self.outages: list[tuple[float, float]] = []
        """When the broker was down, in s of the monotonic clock; one that lasts has no end."""

    @asynccontextmanager
    async def taking_part(self) -> AsyncIterator[None]:
        """A scope, from its first request to its last.  Raises what `start` raises."""
        await self._up.wait()
        await self._mend()
        self._open += 1
        self._look_soon()
        try:
            yield
        finally:
            self._open -= 1
            self._look_soon()

    async def wait(self, hang_up: HangUp) -> float:
        """Take part in the next failover; `hang_up` is called when it begins.

        When the broker had ended, in seconds of the monotonic clock.
        """
        done: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        entry = (hang_up, done)
        self._waiting.append(entry)
        self._look_soon()
        try:
            return await done
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)

    async def close(self) -> None:
        """Give up; who waits is cancelled."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for _, done in self._waiting:
            done.cancel()

    async def _mend(self) -> None:
        """Wait once more for a broker that did not come back; after that, it is gone."""
        async with self._mending:
            if self._gone is not None:
                raise self._gone
            if not self._is_lost:
                return
            try:
                await self._start_broker()
            except Exception as error:
                self._gone = error
                raise
            self._is_lost = False

    def _look_soon(self) -> None:
        self._changed += 1
        task = asyncio.create_task(self._look(self._changed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self, changed: int) -> None:
        """Restart if all wait and nothing changed for a while."""
        await asyncio.sleep(self._quiet_s)
        if changed != self._changed or not self._up.is_set():
            return
        if not self._waiting or len(self._waiting) < self._open:
            return
        batch, self._waiting = self._waiting, []
        self._up.clear()
        for hang_up, _ in batch:
            hang_up()
        result: float | Exception
        down = time.monotonic()
        self.outages.append((down, math.inf))
        try:
            await self._end_broker()
            result = time.monotonic()
            await self._start_broker()
        except Exception as error:  # noqa: BLE001  (each of those that wait gets it)
            result = error
        self.outages[-1] = (down, time.monotonic())
        self._is_lost = isinstance(result, Exception)
        self.count += 1
        self._up.set()
        try:
            for _, done in batch:
                if done.done():
                    continue
                if isinstance(result, Exception):
                    done.set_exception(result)
                else:
                    done.set_result(result)
                    await asyncio.sleep(STAGGER_S)
        finally:
            for _, done in batch:
                done.cancel()
