"""Keeping the event loop on time, so that what is late is the target.

A case's judge takes the processor while answers come in.  It listens in one thread, a piece at a
time; what has ended is judged in a few others, so that one that takes half a minute holds up none.
What the loop reads late would count as the target's lateness.  So nothing new is begun while this
process is behind, and pauses are made short:

- Threads of Python take turns, and the loop gives its turn away at each write to a socket.  By
  default it waits for the next one for 5 ms: a tenth of a second for twenty writes.
- A full collection of garbage stops all that runs, and with hundreds of cases under way it took a
  quarter of a second, every few seconds.
"""

from __future__ import annotations

import asyncio
import gc
import math
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

_Found = TypeVar("_Found")

_LISTENER = ThreadPoolExecutor(1, thread_name_prefix="listener")
_JUDGES = ThreadPoolExecutor(3, thread_name_prefix="judge")
_PAUSE_S = 0.001
_LATE_S = 0.005
_ON_TIME = 5
"""Nothing more is begun until this process was on time, to this many seconds, so often in a row."""

_PATIENCE_S = 5.0
STAGGER_S = 0.01
"""What begins begins so long after the one before."""

_QUICK_MS = 100
"""What is answered within that leaves most of the lag that plans are written for."""

_FIRST, _LEAST = 32, 8
_SHRINKS, _SHRINKS_EACH_S = 0.8, 1.0
"""To which part a window shrinks, and how often at most: a pause is seen by many samples."""

_TURN_S = 0.0005
_COLLECTED = 5_000, 10, 50
"""How many objects make a collection of the youngest; all are looked through after millions."""


@contextmanager
def few_pauses() -> Iterator[None]:
    """Let threads take turns often, and collect all garbage seldom, while the body runs.

    What was there before is not looked through at all.  Nearly all garbage is freed without: little
    is cyclic.
    """
    thresholds, interval_s = gc.get_threshold(), sys.getswitchinterval()
    gc.freeze()
    gc.set_threshold(*_COLLECTED)
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval_s)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


async def aside(work: Callable[[], _Found]) -> tuple[_Found, float]:
    """Listen, or draw what comes next, in the thread; the result, and the CPU seconds it took."""
    return await asyncio.get_running_loop().run_in_executor(_LISTENER, partial(timed, work))


async def judged(work: Callable[[], _Found]) -> tuple[_Found, float]:
    """Judge what has ended, beside other such work; the same."""
    return await asyncio.get_running_loop().run_in_executor(_JUDGES, partial(timed, work))


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
            await asyncio.sleep(STAGGER_S)
            await kept_up()


class Window:
    """How much may run side by side: more while the target is quick, less when it is late.

    It grows by one at a time and shrinks by a part, as the window of a connection does, and before
    the target was late for the first time with each that begins; `most`: it never grows beyond.  A
    few may run however late the target is: one far away is never quick.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._shrinks_next = -math.inf
        self.size = min(_FIRST, most)

    def heard(self, lag_ms: int, running: int, now: float) -> bool:
        """Take a sample of how late the target is; whether one more may begin.

        `now`: in seconds, of any clock.
        """
        if lag_ms > _QUICK_MS:
            least = min(_LEAST, self._most)
            if now >= self._shrinks_next:
                self.size = max(least, int(self.size * _SHRINKS))
                self._shrinks_next = now + _SHRINKS_EACH_S
            return running < least
        begins = running < self.size
        if not begins or self._shrinks_next == -math.inf:
            self.size = min(self._most, self.size + 1)
        return begins


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
