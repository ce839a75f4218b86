"""Run a command's event loop: on time, until a signal ends it; measure processor time.

A case's judge takes the processor while answers come in.  It listens in one thread, a piece at a
time; ended cases are judged in a few others, so that one that takes half a minute holds up none.
What the loop reads late would count as the target's lateness.  So nothing new is begun while this
process is behind, and pauses are made short:

- Threads of Python take turns, and the loop gives its turn away at each write to a socket.  By
  default it waits for the next one for 5 ms: a tenth of a second for twenty writes.
- A full collection of garbage stops all that runs, and with hundreds of cases under way it took a
  quarter of a second, every few seconds.

`started_s`: all processes below this one belong to a target, but those that work for this command.
Only Linux reports processes that still run; elsewhere there is no figure.

SIGTERM is handled as Ctrl-C: what runs is cancelled, and what a target has on a cluster is removed
before the process ends.  A second signal ends it at once.  Where a command can end early with a
result, the first signal asks for that, and the second ends the process.

Source: proc(5), `stat` and `children`.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fencepost.properties.workers.processes import Stop, collect_seldom

_Result = TypeVar("_Result")

_LISTENER = ThreadPoolExecutor(1, thread_name_prefix="listener")
_JUDGES = ThreadPoolExecutor(3, thread_name_prefix="judge")
_PAUSE_S = 0.001
_LATE_S = 0.005
_ON_TIME = 5
"""Begin the next case only after this process was on time, to this many seconds, so often in a
row."""

_PATIENCE_S = 5.0
STAGGER_S = 0.01
"""Delay between the starts of two cases."""

_QUICK_MS = 100
"""An answer within this many ms leaves most of the lag that plans are written for."""

_FIRST, _LEAST = 32, 8
_SHRINKS, _SHRINKS_EACH_S = 0.8, 1.0
"""The factor by which a window shrinks, and how often at most: many samples cover one pause."""

_TURN_S = 0.0005
_COLLECTED = 5_000, 10, 50
"""Objects that make a collection of the youngest; all are looked through after millions."""


@contextmanager
def few_pauses() -> Iterator[None]:
    """Let threads take turns often, and collect all garbage seldom, while the body runs."""
    interval_s = sys.getswitchinterval()
    with collect_seldom(*_COLLECTED):
        sys.setswitchinterval(_TURN_S)
        try:
            yield
        finally:
            sys.setswitchinterval(interval_s)


async def aside(work: Callable[[], _Result]) -> tuple[_Result, float]:
    """Listen, or draw the next plan, in the thread; return the result and its CPU seconds."""
    return await asyncio.get_running_loop().run_in_executor(_LISTENER, partial(timed, work))


async def judged(work: Callable[[], _Result]) -> tuple[_Result, float]:
    """Judge an ended case, beside other such work; return the result and its CPU seconds."""
    return await asyncio.get_running_loop().run_in_executor(_JUDGES, partial(timed, work))


def timed(work: Callable[[], _Result]) -> tuple[_Result, float]:
    """Do work here and now; return its result and its seconds of processor time."""
    begun = time.thread_time()
    return work(), time.thread_time() - begun


async def side_by_side(work: Iterable[Coroutine[Any, Any, _Result]]) -> list[_Result]:
    """Run all at once; return the results, in order.

    Raises ExceptionGroup of the exceptions of the first.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(coroutine) for coroutine in work]
    return [task.result() for task in tasks]


def shared_task(work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
    """Run work for several that await it, each behind `asyncio.shield`.

    If all were cancelled before it fails, nobody reads its exception, and asyncio would print a
    traceback.
    """
    task = asyncio.create_task(work)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


async def cancel_all(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel the tasks that still run, and wait for the end of all."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Turns:
    """Turns to begin, one after the other, and only while this process keeps up.

    A case sends its requests at once when it begins.  Hundreds that begin together would be late by
    it.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._is_taken = False

    async def turn(self, *, urgency: int = 0, at_once: bool = False) -> None:
        """Wait for the turn to begin: the most urgent first, and the first that came of several.

        `at_once`: on a virtual clock nothing is late.  Even then a turn of the loop passes: cases
        that wait for nothing would leave no Ctrl-C in.
        """
        await self._take(urgency)
        try:
            if at_once:
                await asyncio.sleep(0)
                return
            await asyncio.sleep(STAGGER_S)
            await kept_up()
        finally:
            self._pass_on()

    async def _take(self, urgency: int) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (-urgency, next(self._numbers), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._is_taken = False


class Window:
    """The number of cases side by side: more while the target is quick, fewer when it is late.

    It grows by one at a time and shrinks by a part, as the window of a connection does; before the
    target was late for the first time it grows with each case.  `most`: its bound.  A few may run
    however late the target is: one far away is never quick.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._shrinks_next = -math.inf
        self.size = min(_FIRST, most)

    def heard(self, lag_ms: int, running: int, now: float) -> bool:
        """Take a sample of the target's lateness; return True if another case may begin.

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
    """Wait until this process keeps up: until the loop wakes on time, again and again.

    No longer than some seconds: on a machine with too much to do it never will.
    """
    on_time, end = 0, time.monotonic() + _PATIENCE_S
    while on_time < _ON_TIME and time.monotonic() < end:
        due = time.monotonic() + _PAUSE_S
        await asyncio.sleep(_PAUSE_S)
        late = time.monotonic() - due
        on_time = on_time + 1 if late <= _LATE_S else 0


_PROC = Path("/proc")
_TIMES = slice(11, 15)
"""Fields of `stat` behind the name: its own ticks, and those of its ended children."""


def started_s() -> float | None:
    """Return the processor seconds of all processes that were started here."""
    helpers = {process.pid for process in multiprocessing.active_children()}
    try:
        below = sum(_ticks(pid) for pid in _children(os.getpid()) if pid not in helpers)
    except (OSError, ValueError):
        return None
    return below / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        own = sum(map(int, text.rpartition(")")[2].split()[_TIMES]))
        return own + sum(map(_ticks, _children(pid)))
    except OSError:
        return 0  # it ended just now


def _children(pid: int) -> list[int]:
    tasks = _PROC / str(pid) / "task"
    files = [task / "children" for task in tasks.iterdir()]
    return [int(child) for file in files for child in file.read_text(encoding="ascii").split()]


_T = TypeVar("_T")


@contextmanager
def at_a_signal(act: Callable[[], object]) -> Iterator[None]:
    """Call `act` at SIGINT and SIGTERM, instead of ending the process, while the body runs."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@contextmanager
def term_is_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt at SIGTERM, too, where no event loop runs."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine and return its result.  Raises KeyboardInterrupt after SIGINT or SIGTERM."""
    terminated = False
    returned = list[_T]()  # see below

    async def watched() -> None:
        task = asyncio.current_task()

        def terminate() -> None:
            nonlocal terminated
            terminated = True
            if task is not None:
                task.cancel()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
        returned.append(await main)

    try:
        # Not as the task's result: at the end of asyncio.run, signal.signal makes a repr of it all.
        asyncio.run(watched())
    except asyncio.CancelledError:
        if terminated:
            raise KeyboardInterrupt from None
        raise
    return returned[0]


def run_until_signal(main: Callable[[Stop], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine that the first SIGINT or SIGTERM asks to end early; return its result.

    Raises KeyboardInterrupt after the second.
    """
    ended = False
    returned = list[_T]()  # as above

    async def watched() -> None:
        stop, task = Stop(), asyncio.current_task()

        def on_signal() -> None:
            nonlocal ended
            if not stop.requested:
                stop.ask()
            elif task is not None:
                ended = True
                task.cancel()

        with at_a_signal(on_signal):
            returned.append(await main(stop))

    try:
        asyncio.run(watched())
    except asyncio.CancelledError:
        if ended:
            raise KeyboardInterrupt from None
        raise
    return returned[0]
