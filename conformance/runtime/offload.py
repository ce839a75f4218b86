"""Work beside the event loop, so that a long search doesn't make this process late.

Decides where what takes the processor is done while answers come in: in one thread, a piece at a
time.  Threads of Python take turns, so the loop waits some milliseconds for its own, and not until
the search is over; what it would have read late would count as the target's lateness, and the more
of that is allowed, the longer the next search takes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

_Found = TypeVar("_Found")

_THREAD = ThreadPoolExecutor(1, thread_name_prefix="judge")


async def aside(work: Callable[[], _Found]) -> tuple[_Found, float]:
    """What the work comes to, and the seconds of processor time that it took."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, partial(timed, work))


def timed(work: Callable[[], _Found]) -> tuple[_Found, float]:
    """The same, here and now."""
    begun = time.thread_time()
    return work(), time.thread_time() - begun
