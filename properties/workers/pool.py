"""Errands: work in a process of its own, which tells what it has as it goes.

Decides that no errand outlives its time or us.  At the end of its time it is asked to stop, and may
tell what it has; a little later it is killed.  It ends at once when the pipe to us closes, whatever
ended us; and a terminal's Ctrl-C is ours alone to act on.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import signal
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fencepost.properties.workers.cancellation import STOP, Stop, watch
from fencepost.properties.workers.processes import end_all

_SPAWN = multiprocessing.get_context("spawn")
GRACE_S = 45.0
"""So long an errand may take to tell what it has, once it was asked to stop."""

Tell = Callable[[Any], None]
Work = Callable[[Any, Stop, Tell], Coroutine[Any, Any, None]]
"""What is given, who wishes an end, and whom to tell (what is told must fit through a pipe)."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What to do: a function that a new process can import, and what it is given.

    `seconds`: when it is asked to stop.
    """

    name: str
    work: Work
    given: Any
    seconds: float


class ErrandError(Exception):
    """An errand did not come to its end.  `str()` says why."""


async def run_errand(
    errand: Errand, told: Tell, stop: Stop, *, grace_s: float = GRACE_S
) -> ErrandError | None:
    """Run an errand; `told` hears what it tells.  Why it did not come to its end, or None."""
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_work, args=(theirs, errand), daemon=True)
    process.start()
    theirs.close()
    asking = asyncio.create_task(_asked(stop, ours, errand.seconds))
    last = asyncio.create_task(_heard(ours, told))
    try:
        await asyncio.wait({asking, last}, return_when=asyncio.FIRST_COMPLETED)
        async with asyncio.timeout(grace_s):
            return await last
    except TimeoutError:
        late = f"it did not end within {grace_s:g} s of being asked to, and was killed"
        return ErrandError(late)
    finally:
        for task in (asking, last):
            task.cancel()
        await asyncio.gather(asking, last, return_exceptions=True)
        end_all([process])
        ours.close()


async def run_errands(
    errands: Iterable[Errand], told: Tell, stop: Stop, *, jobs: int
) -> dict[str, ErrandError]:
    """Run errands, so many side by side; those that did not come to their end, by name."""
    places = asyncio.Semaphore(jobs)
    lost: dict[str, ErrandError] = {}

    async def one(errand: Errand) -> None:
        async with places:
            if stop.asked:
                return
            wrong = await run_errand(errand, told, stop)
        if wrong is not None:
            lost[errand.name] = wrong

    async with asyncio.TaskGroup() as group:
        for errand in errands:
            group.create_task(one(errand))
    return lost


async def _asked(stop: Stop, pipe: Connection, seconds: float) -> None:
    """Ask it to stop, when its time is over or somebody wishes so."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
    with contextlib.suppress(OSError):
        pipe.send(STOP)


async def _heard(pipe: Connection, told: Tell) -> ErrandError | None:
    """Pass on what is told, up to the end."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(pipe.fileno(), ready.set)
    try:
        while True:
            await ready.wait()
            ready.clear()
            while pipe.poll():
                said = pipe.recv()
                if said is None or isinstance(said, ErrandError):
                    return said
                told(said)
    except (EOFError, OSError):
        return ErrandError("its process ended before its work did; was there too little memory?")
    finally:
        loop.remove_reader(pipe.fileno())


def _work(pipe: Connection, errand: Errand) -> None:
    """In a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end: ErrandError | None = None
    try:
        asyncio.run(_listening(pipe, errand))
    except Exception as error:  # noqa: BLE001  (whatever it is, it is told)
        end = ErrandError(_told_of(error))
    with contextlib.suppress(OSError):
        pipe.send(end)


def _told_of(error: Exception) -> str:
    """What went wrong in the end, and where."""
    last: BaseException = error
    while isinstance(last, BaseExceptionGroup):
        last = last.exceptions[0]
    frames = traceback.extract_tb(last.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(last).__name__}: {last}{where}"


async def _listening(pipe: Connection, errand: Errand) -> None:
    stop = Stop()
    loop = asyncio.get_running_loop()
    threading.Thread(target=watch, args=(pipe, loop, stop), daemon=True).start()
    await errand.work(errand.given, stop, pipe.send)
