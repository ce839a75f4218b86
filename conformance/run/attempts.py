"""Begin further attempts of a case while one runs, so that repeats of a failure cost less time.

A failure that the network link may cause must repeat (link_faults.py).  The repeats run side by
side, each in groups of its own, and begin some seconds apart: a stall of the link or the target
meets them at different requests.  After a failure all that are missing begin.  A case of which a
list has failures begins them while its first attempt runs, if that takes long.

An attempt that is not needed is cancelled.  But one that shows a violation which no link explains
counts, whatever came before it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Self

from fencepost.conformance.runtime.event_loop import cancel_all
from fencepost.model.history.words import plural
from fencepost.properties.judging.outcome import CaseResult

APART_S = 4.0
"""Seconds between the beginnings of two attempts: longer than a spike of the lag is."""


class RunningAttempts:
    """The attempts that run at this moment, and for how long their plans still wait."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._brokers = 0
        self._ends = dict[object, float]()

    @contextmanager
    def until_broker(self) -> Iterator[Callable[[], None]]:
        """Count an attempt that waits for its broker, until it calls what this yields."""
        self._brokers += 1
        waits = True

        def begins() -> None:
            nonlocal waits
            self._brokers -= waits
            waits = False

        try:
            yield begins
        finally:
            begins()

    @contextmanager
    def for_s(self, seconds: float) -> Iterator[None]:
        """Count an attempt whose pauses take `seconds`, while the body runs."""
        attempt = object()
        self._ends[attempt] = self._clock() + seconds
        try:
            yield
        finally:
            del self._ends[attempt]

    def words(self) -> str:
        """Return what is being waited for, such as `5 cases wait for timeouts, about 20 s`."""
        now = self._clock()
        left = [end - now for end in self._ends.values() if end > now]
        timeouts = f"{_cases_wait(len(left))} for timeouts, about {max(left, default=0):.0f} s"
        brokers = f"{_cases_wait(self._brokers)} for the target to start"
        return ", ".join([*([timeouts] if left else []), *([brokers] if self._brokers else [])])


def _cases_wait(count: int) -> str:
    return f"{plural(count, 'case')} wait{'s' if count == 1 else ''}"


class FurtherAttempts:
    """Attempts of one case that began before their turn.

    `begin`: runs one; `places`: limits the number of attempts of all cases.
    """

    def __init__(
        self, begin: Callable[[], Awaitable[CaseResult]], places: asyncio.Semaphore
    ) -> None:
        self._begin = begin
        self._places = places
        self._tasks: deque[asyncio.Task[CaseResult | None]] = deque()

    async def __aenter__(self) -> Self:
        """Return itself; nothing began yet."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel the attempts that are not needed."""
        await self.drop()

    def begin(self, count: int) -> None:
        """See that `count` of them run or wait, each begun `APART_S` after the one before."""
        for number in range(1, count - len(self._tasks) + 1):
            self._tasks.append(asyncio.create_task(self._later(number * APART_S)))

    async def next(self) -> CaseResult | None:
        """Return the result of the next one; None: there is none, or no place for it."""
        return await self._tasks.popleft() if self._tasks else None

    def contradiction(self, holds: Callable[[CaseResult], bool]) -> CaseResult | None:
        """Return the result of an ended one that holds, or None."""
        ended = [t for t in self._tasks if t.done() and not t.cancelled() and not t.exception()]
        results = (task.result() for task in ended)
        return next((r for r in results if r is not None and holds(r)), None)

    async def drop(self) -> None:
        """Cancel those that are left."""
        tasks = list(self._tasks)
        self._tasks.clear()
        await cancel_all(tasks)

    async def _later(self, seconds: float) -> CaseResult | None:
        await asyncio.sleep(seconds)
        if self._places.locked():
            return None
        async with self._places:
            return await self._begin()
