"""Keeping the event loop on time, so that what is late is the target.

A case's judge takes the processor while answers come in.  It works in one thread, a piece at a
time: threads of Python take turns, so the loop waits for some milliseconds only.  What the loop
read late would count as the target's lateness.  For the same reason nothing new is begun while this
process is behind.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

_Found = TypeVar("_Found")

_THREAD = ThreadPoolExecutor(1, thread_name_prefix="judge")
_PAUSE_S = 0.001
_LATE_S = 0.005
_ON_TIME = 5
"""Nothing more is begun until this process was on time, to this many seconds, so often in a row."""

_PATIENCE_S = 5.0
_STAGGER_S = 0.01

_QUICK_MS = 100
"""What is answered within that leaves most of the lag that plans are written for."""

_FIRST, _LEAST, _SHRINKS = 32, 8, 0.95


async def aside(work: Callable[[], _Found]) -> tuple[_Found, float]:
    """Do work in the thread; its result, and the seconds of processor time that it took."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, partial(timed, work))


def timed(work: Callable[[], _Found]) -> tuple[_Found, float]:
    """Do work here and now; its result, and the seconds of processor time that it took."""
    begun = time.thread_time()
    return work(), time.thread_time() - begun


async def side_by_side(work: Iterable[Coroutine[Any, Any, _Found]]) -> list[_Found]:
    """Do all at once; the results, in order.  Raises ExceptionGroup of what the first raised."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
    return [task.result() for task in tasks]


class Turns:
    """Lets what runs side by side begin one after the other, and only while this process keeps up.

    What is begun sends its requests at once.  Hundreds that begin together would be late by it.
    """

    def __init__(self) -> None:
        self._next = asyncio.Lock()

    async def turn(self, *, at_once: bool = False) -> None:
        """Wait for the turn to begin; `at_once`: on a virtual clock nothing is late."""
        if at_once:
            return
        async with self._next:
            await asyncio.sleep(_STAGGER_S)
            await kept_up()


class Window:
    """How much may run side by side: more while the target is quick, less when it is late.

    It grows by one at a time and shrinks by a part, as the window of a connection does; `most`: it
    never grows beyond.  A few may run however late the target is: one far away is never quick.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = min(_FIRST, most)

    def heard(self, lag_ms: int, running: int) -> bool:
        """Take a sample of how late the target is; whether one more may begin."""
        if lag_ms > _QUICK_MS:
            least = min(_LEAST, self._most)
            self.size = max(least, int(self.size * _SHRINKS))
            return running < least
        if running < self.size:
            return True
        self.size = min(self._most, self.size + 1)
        return False


async def kept_up() -> None:
    """Wait until this process keeps up: until the loop wakes when it asked for, again and again.

    No longer than some seconds: on a machine with too much to do it never will.
    """
    on_time, end = 0, time.monotonic() + _PATIENCE_S
    while on_time < _ON_TIME and time.monotonic() < end:
        due = time.monotonic() + _PAUSE_S
        await asyncio.sleep(_PAUSE_S)
        late = time.monotonic() - due
        on_time = on_time + 1 if late <= _LATE_S else 0
