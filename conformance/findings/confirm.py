"""Failures under examination: plans tried again against the target, smaller and smaller.

Decides how long a try may take, and how many run side by side.  A violation ends its plan where it
is seen, so a smaller plan that shows it takes hardly longer than the one before; what takes much
longer is given up, and run to its end only where nothing else is left to try.  On a real clock a
smaller plan leaves no more to chance than the one that failed did.  All of it ends when
the time is up, with what there is by then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from fencepost.conformance.certify.certify import Suite
from fencepost.conformance.execution.outcome import CaseResult
from fencepost.conformance.execution.shape import Shape, shape_of
from fencepost.conformance.findings.prefix import beginnings
from fencepost.conformance.plans.normalise import races
from fencepost.conformance.plans.order import DELAY, asks_of
from fencepost.conformance.plans.plan import Case
from fencepost.conformance.plans.shrink.shrink import (
    AT_ONCE,
    TRIES,
    GivenUpError,
    Minimal,
    Shown,
    smallest,
)
from fencepost.conformance.runtime.event_loop import kept_up
from fencepost.properties.workers.cancellation import Stop

CONFIRMATIONS = 3
_FLAKY_RUNS = 9
"""What doesn't fail each time is run so often in all, so that its rate says something."""

_FAILURES_AT_ONCE = 24
_TRIES_AT_ONCE = 600
_BEGIN_AT_ONCE = 6
_LEAST_S = 2.0
_SLOW_S = 5.0
_SLOW_AT_ONCE = 64
"""So many plans side by side that take so long, for most of it is waiting."""

_LAST_S = 5.0
"""So long, and two runs more, what was found may be confirmed once the time is up."""


class Examination:
    """The failures of one target under examination.

    `tries`: so many plans for one failure at most; `seconds`: for all of it, on a real clock, None:
    as long as it takes; `stop`: ends it earlier.
    """

    def __init__(
        self,
        suite: Suite,
        *,
        tries: int = TRIES,
        seconds: float | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.suite = suite
        self.revision = suite.revision
        self._virtual = suite.hello.clock == "virtual"
        self._eager = suite.with_options(replace(suite.options, eager=True))
        self._tries = tries
        self._seconds = None if self._virtual else seconds
        self._stop = Stop()
        self._wish = stop or self._stop
        self._failures = asyncio.Semaphore(1 if self._virtual else _FAILURES_AT_ONCE)
        self._places = asyncio.Semaphore(min(_TRIES_AT_ONCE, suite.places))
        self._next = asyncio.Lock()
        self._begins = 0

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """While the body runs, its time does, and it is listened to who wishes its end."""

        async def listen() -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await self._wish.wait()
            self._stop.ask()

        if self._wish.asked:
            self._stop.ask()
        listening = asyncio.create_task(listen())
        try:
            yield
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[bool]:
        """The body's turn to examine one failure; whether there is time for it."""
        async with self._failures:
            yield not self._stop.asked

    async def minimised(self, failure: CaseResult, *, times: int = 1) -> Minimal[CaseResult]:
        """A failed case made as small as it gets.

        `times`: how often a smaller one must fail to be taken.  Raises ValueError for no failure.
        """
        shape = shape_of(failure, self.revision)
        if shape is None:
            raise ValueError(f"{failure.case.id} did not fail, so nothing can be minimised")
        most = max(_LEAST_S, 2 * _seen_after(failure))
        whole = self_contained(failure, self.suite)
        loose = races(whole.steps)

        async def judge(case: Case, most_s: float | None) -> CaseResult | None:
            if not self._virtual and not races(case.steps) <= loose:
                return None  # what it shows would hang on luck
            return await self._shows(case, shape, times, most_s)

        async def quick(case: Case) -> CaseResult | None:
            nonlocal most
            shown = await judge(case, None if self._virtual else most)
            if shown is not None:
                most = max(_LEAST_S, 2 * shown.seconds)
            return shown

        async def patient(case: Case) -> CaseResult | None:
            return await judge(case, None)

        begin = beginnings(whole, failure)
        return await smallest(
            Shown(whole, failure),
            self.suite.hello.apis,
            quick,
            patient=patient,
            begin=begin[:1] if self._virtual else begin,
            at_once=self._side_by_side(most),
            tries=self._tries,
            stop=self._stop,
        )

    def _side_by_side(self, most_s: float) -> int:
        if self._virtual:
            return 1
        return min(_SLOW_AT_ONCE if most_s > _SLOW_S else AT_ONCE, self.suite.places)

    async def confirmed(self, case: Case, shape: Shape, took_s: float) -> tuple[int, int]:
        """How often a case failed in this shape, of how many further runs; 0 of 0: no time.

        `took_s`: how long it took before.
        """
        most = _LAST_S + 2 * took_s if self._stop.asked else None
        failed = runs = 0
        with contextlib.suppress(TimeoutError):
            for times in (CONFIRMATIONS, _FLAKY_RUNS - CONFIRMATIONS):
                if failed < runs or not runs:
                    async with asyncio.timeout(most):
                        results = await self._run([case] * times, None)
                    failed += sum(shape_of(result, self.revision) == shape for result in results)
                    runs += times
        return failed, runs

    async def is_steady(self, failure: CaseResult, shape: Shape) -> bool:
        """Whether the plan that failed fails each time."""
        case = self_contained(failure, self.suite)
        return await self._shows(case, shape, CONFIRMATIONS, None) is not None

    async def _shows(
        self, case: Case, shape: Shape, times: int, most_s: float | None
    ) -> CaseResult | None:
        """The first of some runs, if all show it.  Raises GivenUpError after so long."""
        if shape.api and shape.api not in {ask.api for ask in asks_of(case.steps)}:
            return None
        results = await self._run([case] * times, most_s)
        same = all(shape_of(result, self.revision) == shape for result in results)
        return results[0] if same else None

    async def _run(self, cases: Sequence[Case], most_s: float | None) -> list[CaseResult]:
        return list(await asyncio.gather(*(self._one(case, most_s) for case in cases)))

    async def _one(self, case: Case, most_s: float | None) -> CaseResult:
        async with self._places:
            if not self._virtual:
                await self._begun()
            try:
                async with asyncio.timeout(most_s):
                    (result,) = await self._eager.try_cases([case])
            except TimeoutError:
                raise GivenUpError from None
        return result

    async def _begun(self) -> None:
        """Some begin at once, where this process keeps up with those before."""
        async with self._next:
            if self._begins % _BEGIN_AT_ONCE == 0:
                await kept_up()
            self._begins += 1


def _seen_after(failure: CaseResult) -> float:
    """After how many seconds of its plan a failure was seen."""
    violation = failure.verdict.violation if failure.verdict is not None else None
    return failure.seconds if violation is None else violation.at_ms / 1000


def self_contained(failure: CaseResult, suite: Suite) -> Case:
    """The case with the setting that it was run under, where a case can have its own.

    It asks for no rule, since it is not there to pass.
    """
    case = replace(failure.case, rules=())
    if failure.recording is None or not suite.chooses_settings:
        return case
    config = {DELAY: failure.recording.config.get(DELAY), **case.needs.config}
    return replace(case, needs=replace(case.needs, config=config))
