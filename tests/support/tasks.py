"""Tasks for worker processes, which can import this module."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from fencepost.properties.workers.processes import Stop, Tell, listen


async def counts(given: int, stop: Stop, tell: Tell) -> None:
    """Tell so many numbers, or up to the wish of an end."""
    for number in range(given):
        tell(number)
        if stop.requested:
            return


async def waits(given: str, stop: Stop, tell: Tell) -> None:
    """Tell a process id, wait for the wish of an end, and tell that it came."""
    tell(os.getpid())
    await stop.wait()
    tell(given)


async def hangs(given: object, stop: Stop, tell: Tell) -> None:
    """Tell a process id, and never end."""
    del given, stop
    tell(os.getpid())
    await asyncio.get_running_loop().create_future()


async def dies(given: int, stop: Stop, tell: Tell) -> None:
    """Tell one thing, and end the process."""
    del stop
    tell("alive")
    sys.stdout.flush()
    os._exit(given)


async def fails(given: str, stop: Stop, tell: Tell) -> None:
    """Raise, within a group."""
    del stop, tell
    async with asyncio.TaskGroup() as group:
        group.create_task(_raises(given))


async def _raises(given: str) -> None:
    raise ValueError(given)


def halves(number: int) -> int:
    """Half of an even number."""
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def holds(pipe: Connection) -> None:
    """Tell a process id, and never end."""
    listen(pipe)
    pipe.send(os.getpid())
    threading.Event().wait()


def is_running(process: int) -> bool:
    """Whether there is such a process, other than as a zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
