"""A command's event loop, and its end by a signal.

SIGTERM is handled as Ctrl-C: what runs is cancelled, and what a target has on a cluster is removed
before the process ends.  A second signal ends it at once.  Where a command can end early with a
result, the first signal asks for that, and the second ends the process.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from fencepost.properties.workers.cancellation import Stop

_T = TypeVar("_T")


@contextmanager
def at_a_signal(act: Callable[[], object]) -> Iterator[None]:
    """While the body runs, SIGINT and SIGTERM call this instead of ending the process."""
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
    """Without an event loop: SIGTERM raises KeyboardInterrupt, as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """What the coroutine returns.  Raises KeyboardInterrupt after SIGINT or SIGTERM."""
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


def run_until_told(main: Callable[[Stop], Coroutine[Any, Any, _T]]) -> _T:
    """What the coroutine returns, which the first SIGINT or SIGTERM asks to end early.

    Raises KeyboardInterrupt after the second.
    """
    ended = False
    returned = list[_T]()  # as above

    async def watched() -> None:
        stop, task = Stop(), asyncio.current_task()

        def told() -> None:
            nonlocal ended
            if not stop.asked:
                stop.ask()
            elif task is not None:
                ended = True
                task.cancel()

        with at_a_signal(told):
            returned.append(await main(stop))

    try:
        asyncio.run(watched())
    except asyncio.CancelledError:
        if ended:
            raise KeyboardInterrupt from None
        raise
    return returned[0]
