"""Keep a control beside the cases for each server that they run on.

A server may be late, or down, while the others are quick.  So each has a control beside the cases,
from the first case on it; a server that one case has for itself is control while that case runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from fencepost.conformance.run.control_group import control_group
from fencepost.conformance.run.latency_monitor import Control
from fencepost.conformance.runtime.event_loop import shared_task
from fencepost.conformance.runtime.lag_meter import LagMeter
from fencepost.conformance.targets.target import Place, Placed, Target
from fencepost.model.coordinator import AsyncCoordinator, Config, Hello
from fencepost.model.plans.times import LEAST_LAG_MS

Scope = Callable[[str], AbstractAsyncContextManager[AsyncCoordinator]]


@dataclass(frozen=True, slots=True)
class RunningControl:
    """A control that runs on a server.

    `round_s`: seconds that one try of its timers takes; `lag_ms`: the lag when it began.
    """

    meter: LagMeter
    round_s: float = 0.0
    lag_ms: int = LEAST_LAG_MS
    place: Place | None = None


class Controls:
    """The controls of a target with a real clock; `stack` ends them.

    Raises TargetUnavailableError for a target without the APIs that a control needs.
    """

    def __init__(self, hello: Hello, config: Config, stack: AsyncExitStack) -> None:
        self._group = control_group(hello, config)
        self._stack = stack
        self._shared: dict[Place, asyncio.Task[RunningControl]] = {}

    async def first(self, target: Target) -> RunningControl:
        """Watch the server on which the target has its scopes unless a case needs another."""
        control = await self._stack.enter_async_context(self._watching(target.scope))
        if control.place is not None:
            self._shared[control.place] = asyncio.create_task(_result(control))
        return control

    def meters(self) -> list[LagMeter]:
        """Return the meters of the servers that cases share."""
        tasks = (task for task in self._shared.values() if task.done() and not task.cancelled())
        return [task.result().meter for task in tasks if task.exception() is None]

    def worst_ms(self) -> int:
        """Return the present latency of the slowest server that cases share, in ms."""
        now = time.monotonic()
        return max((meter.worst_ms(now, now) for meter in self.meters()), default=0)

    @asynccontextmanager
    async def beside(
        self, scope: AsyncCoordinator, default: RunningControl
    ) -> AsyncIterator[RunningControl]:
        """Yield the control of a scope's server: one for all scopes that share the server."""
        if not isinstance(scope, Placed):
            yield default
            return
        place = scope.place
        if place.is_brief:
            async with self._watching(place.scope) as control:
                yield control
            return
        if place not in self._shared:
            entered = self._stack.enter_async_context(self._watching(place.scope))
            self._shared[place] = shared_task(entered)
        yield await asyncio.shield(self._shared[place])

    @asynccontextmanager
    async def _watching(self, scope: Scope) -> AsyncIterator[RunningControl]:
        async with scope("control") as quick, scope("control timers") as timed:
            place = quick.place if isinstance(quick, Placed) else None
            outages = () if place is None else place.outages
            control = Control(quick, timed, self._group, outages)
            lag_ms = await control.warm_up()
            measuring = asyncio.create_task(control.run())
            try:
                yield RunningControl(control.meter, control.round_s, lag_ms, place)
            finally:
                measuring.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await measuring


async def _result(control: RunningControl) -> RunningControl:
    return control
