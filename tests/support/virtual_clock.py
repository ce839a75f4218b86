"""An event loop that never waits: where nothing is ready, its clock jumps to the next timer.

`time.monotonic` is its clock, too, as long as it runs.  So what takes seconds of a clock that runs
is tested at once, and a busy machine makes nobody late.  For what happens in this process alone: a
loop with sockets to another would jump ahead of it.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

import pytest

from fencepost.conformance.runtime import event_loop

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Clock(selectors.DefaultSelector):
    """Jumps over the time for which the loop would wait."""

    def __init__(self) -> None:
        super().__init__()
        self._now_s = time.monotonic()

    def monotonic(self) -> float:
        return self._now_s

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "it waits for ever"
            self._now_s += timeout
        return ready


class _Here(Executor):
    """Does the work at once, as no time passes meanwhile."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        done: Future[_T] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def run_at_once(main: Coroutine[Any, Any, _T]) -> _T:
    """What the coroutine returns."""
    clock = _Clock()
    with (
        pytest.MonkeyPatch.context() as patch,
        asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(clock)) as runner,
    ):
        patch.setattr(time, "monotonic", clock.monotonic)
        for threads in ("_LISTENER", "_JUDGES"):
            patch.setattr(event_loop, threads, _Here())
        return runner.run(main)


def at_once(test: Callable[_P, Coroutine[Any, Any, None]]) -> Callable[_P, None]:
    """The test, on such a loop."""

    @functools.wraps(test)
    def run_it(*args: _P.args, **kwargs: _P.kwargs) -> None:
        run_at_once(test(*args, **kwargs))

    return run_it
