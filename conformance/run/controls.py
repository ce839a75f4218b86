"""The controls of a target: one beside the cases on each of its servers, as they are used.

A server of its own may be late, or down, while the others are quick.  So each is watched, from the
first case on it; one that a case has for itself is watched as long as that case runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from fencepost.conformance.run.latency_monitor import CONTROL_APIS, Control, LagMeter
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.target import Place, Placed, Target
from fencepost.model.coordinator import AsyncCoordinator, Config, Hello
from fencepost.model.plans.plan import LEAST_LAG_MS, times_for

Scope = Callable[[str], AbstractAsyncContextManager[AsyncCoordinator]]


@dataclass(frozen=True, slots=True)
class Watched:
    """A control that runs: its meter, how long its timers take, the lag when it began; where."""

    meter: LagMeter
    round_s: float = 0.0
    lag_ms: int = LEAST_LAG_MS
    place: Place | None = None


class Controls:
    """The controls of a target with a real clock; `stack` ends them.

    Raises TargetUnavailableError for a target without the APIs that a control needs.
    """

    def __init__(self, hello: Hello, config: Config, stack: AsyncExitStack) -> None:
        if missing := [api for api in CONTROL_APIS if api not in hello.apis]:
            raise TargetUnavailableError(
                f"{hello.implementation} has a real clock and no {missing[0]}: how late such a "
                f"target is, is measured by {', '.join(CONTROL_APIS)}"
            )
        self._hello = hello
        self._session_ms = times_for(config, lag_ms=1).short_session
        self._stack = stack
        self._shared: dict[Place, asyncio.Task[Watched]] = {}

    async def first(self, target: Target) -> Watched:
        """Watch the server on which the target has its scopes unless a case needs another."""
        watched = await self._stack.enter_async_context(self._watching(target.scope))
        if watched.place is not None:
            self._shared[watched.place] = asyncio.create_task(_given(watched))
        return watched

    def worst_ms(self) -> int:
        """How long the servers that cases share take to answer just now, the slowest, in ms."""
        now = time.monotonic()
        tasks = (task for task in self._shared.values() if task.done() and not task.cancelled())
        running = (task.result() for task in tasks if task.exception() is None)
        return max((watched.meter.worst_ms(now, now) for watched in running), default=0)

    @asynccontextmanager
    async def beside(self, scope: AsyncCoordinator, otherwise: Watched) -> AsyncIterator[Watched]:
        """The control of the server that a scope is on: one for all scopes that share it."""
        if not isinstance(scope, Placed):
            yield otherwise
            return
        place = scope.place
        if place.is_brief:
            async with self._watching(place.scope) as watched:
                yield watched
            return
        if place not in self._shared:
            entered = self._stack.enter_async_context(self._watching(place.scope))
            self._shared[place] = asyncio.create_task(entered)
        yield await asyncio.shield(self._shared[place])

    @asynccontextmanager
    async def _watching(self, scope: Scope) -> AsyncIterator[Watched]:
        async with scope("control") as quick, scope("control timers") as timed:
            place = quick.place if isinstance(quick, Placed) else None
            outages = () if place is None else place.outages
            control = Control(quick, timed, self._hello, self._session_ms, outages)
            lag_ms = await control.warm_up()
            measuring = asyncio.create_task(control.run())
            try:
                yield Watched(control.meter, control.round_s, lag_ms, place)
            finally:
                measuring.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await measuring


async def _given(watched: Watched) -> Watched:
    return watched
