"""Shrink and confirm failures, of any search; `Examination` does it for plans on one target.

A finding is the smallest value that shows one fault.  It is run three times more.  If it fails only
now and then, though the value that was shrunk fails each time, it became too small: then it is
shrunk again, by values that fail each time.

A smaller plan is taken only if it fails with the same fingerprint, and so with the same cause: one
that no known departure explains never becomes one that a departure explains, nor the other way.

A violation ends its plan, so a smaller plan that still fails takes hardly longer than the one
before.  A run that takes much longer is given up, and is run to its end only if nothing else is
left to try; on a real clock one that passes is run again then, if it leaves open which of two
requests comes first, and a smaller plan must not have more such races than the plan that failed.
Shrinking begins with the steps up to the wrong answer, and with short timeouts, so that later runs
are quick.  When the time is up, the smallest plan so far is the result.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from msgspec import structs

from fencepost.conformance.run.certify import OpenTarget
from fencepost.conformance.search.shrink.shrink_plan import AT_ONCE, TRIES, shrinking_plan
from fencepost.model.plans.plan_order import DELAY, asking, asks_of, races, with_steps
from fencepost.model.plans.steps import Await, Ms, Plan, Request
from fencepost.properties.checking.shrinking import GivenUpError, Minimal, Reproducer, shrink
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.fingerprint import Fingerprint
from fencepost.properties.workers.processes import Stop

T = TypeVar("T")
R = TypeVar("R")
F = TypeVar("F")

CONFIRMATIONS = 3
_FLAKY_RUNS = 9
"""Runs of a flaky plan in all, so that its rate means something."""

_FAILURES_AT_ONCE = 24
_TRIES_AT_ONCE = 600
_LEAST_S = 2.0
_SLOW_S = 5.0
_SLOW_AT_ONCE = 64
"""Slow plans that run side by side, since most of their time is waiting."""

_LAST_S = 5.0
"""After the time is up, this many seconds and two runs are left to confirm a finding."""


@dataclass(frozen=True, slots=True)
class Finding(Generic[T, R, F]):
    """One fault, by the smallest value that shows it.

    `result`: of the run that showed it; `fingerprint`: of the fault, the same in each run; `first`:
    the value that was shrunk; `occurrences`: failures with this fingerprint; `failed` of `runs`
    more runs showed it again, 0 of 0 if it is not confirmed; `tried`: values that shrinking ran;
    `known`: the reason if it is a known failure, or "".
    """

    smallest: T
    result: R
    fingerprint: F
    first: T
    occurrences: int = 1
    failed: int = 0
    runs: int = 0
    tried: int = 0
    is_minimal: bool = False
    known: str = ""

    @property
    def is_flaky(self) -> bool:
        """Tell if some run of the smallest value did not fail so."""
        return self.failed < self.runs

    @property
    def is_confirmed(self) -> bool:
        """Tell if it was run again, and each run failed so."""
        return self.failed == self.runs > 0

    @property
    def is_only_counted(self) -> bool:
        """Tell if it is listed and was not run again, so that its reason is counted and no more."""
        return bool(self.known) and not self.runs


@dataclass(frozen=True, slots=True)
class Confirmation(Generic[R]):
    """`failed` of `runs` more runs showed a failure again; `last`: the last that did."""

    failed: int
    runs: int
    last: R | None = None

    @property
    def is_flaky(self) -> bool:
        """Tell if some run did not show it."""
        return self.failed < self.runs


async def confirm(
    run: Callable[[int], Awaitable[Sequence[R | None]]],
    *,
    flaky_runs: int = CONFIRMATIONS,
    seconds: float | None = None,
) -> Confirmation[R]:
    """Run a value again, three times.

    `run`: runs it that often, None for a run that did not show the failure; `flaky_runs`: how often
    in all, if only some of the three showed it; `seconds`: the time limit, for each of both.
    """
    results: list[R | None] = []
    with contextlib.suppress(TimeoutError):
        for times in (CONFIRMATIONS, flaky_runs - CONFIRMATIONS):
            if times and (not results or None in results):
                async with asyncio.timeout(seconds):
                    results += await run(times)
    failing = [result for result in results if result is not None]
    return Confirmation(len(failing), len(results), failing[-1] if failing else None)


async def examine(
    shrink_first: Callable[[int], Awaitable[Minimal[T, R]]],
    again: Callable[[Reproducer[T, R]], Awaitable[Confirmation[R]]],
    is_steady: Callable[[], Awaitable[bool]],
) -> tuple[Minimal[T, R], Confirmation[R]]:
    """Shrink and confirm a failure.

    `shrink_first`: shrinks what failed first, by values that fail this many times; `again`:
    confirms a value; `is_steady`: decides if what failed first fails each time.
    """
    minimal = await shrink_first(1)
    confirmation = await again(minimal.smallest)
    if confirmation.is_flaky and await is_steady():
        minimal = await shrink_first(CONFIRMATIONS)
        confirmation = await again(minimal.smallest)
    return minimal, confirmation


class Examination:
    """Confirms and shrinks the failures of one target.

    `tries`: the most plans for one failure; `seconds`: for all of it, on a real clock, None: no
    limit; `stop`: ends it earlier.
    """

    def __init__(
        self,
        suite: OpenTarget,
        *,
        tries: int = TRIES,
        seconds: float | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.suite = suite
        self.revision = suite.revision
        self._virtual = suite.hello.clock == "virtual"
        self._tries = tries
        self._seconds = None if self._virtual else seconds
        self._stop = Stop()
        self._outer_stop = stop or self._stop
        self._failures = asyncio.Semaphore(1 if self._virtual else _FAILURES_AT_ONCE)
        self._places = asyncio.Semaphore(min(_TRIES_AT_ONCE, suite.places))

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """While the body runs, its time limit does, and a request to stop is noticed."""
        async with self._stop.following(self._outer_stop, self._seconds):
            yield

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[bool]:
        """Wait for the turn to examine one failure; gives whether there is time for it."""
        async with self._failures:
            yield not self._stop.requested

    async def minimised(self, failure: CaseResult, *, times: int = 1) -> Minimal[Plan, CaseResult]:
        """Shrink a failed case.

        `times`: how often a smaller one must fail to be taken.  Raises ValueError if the case did
        not fail.
        """
        fingerprint = failure.fingerprint(self.revision)
        if fingerprint is None:
            raise ValueError(f"{failure.case.id} did not fail, so nothing can be minimised")
        most = max(_LEAST_S, 2 * _seconds_to_failure(failure))
        whole = self_contained(failure, self.suite)
        loose = races(whole.steps)

        async def judge(case: Plan, most_s: float | None) -> CaseResult | None:
            open_orders = races(case.steps)
            if not self._virtual and not open_orders <= loose:
                return None  # whether it fails would depend on timing
            failing = await self._shows(case, fingerprint, times, most_s)
            if failing is None and open_orders and most_s is not None:
                raise GivenUpError  # the requests may have come in the order that hides it
            return failing

        async def quick(case: Plan) -> CaseResult | None:
            nonlocal most
            failing = await judge(case, None if self._virtual else most)
            if failing is not None:
                most = max(_LEAST_S, 2 * failing.seconds)
            return failing

        async def patient(case: Plan) -> CaseResult | None:
            return await judge(case, None)

        begin = beginnings(whole, failure)
        work = shrinking_plan(
            Reproducer(whole, failure),
            self.suite.hello.apis,
            begin=begin[:1] if self._virtual else begin,
            at_once=self._side_by_side(most),
            tries=self._tries,
        )
        return await shrink(work, quick, patient=patient, stop=self._stop)

    def _side_by_side(self, most_s: float) -> int:
        if self._virtual:
            return 1
        return min(_SLOW_AT_ONCE if most_s > _SLOW_S else AT_ONCE, self.suite.places)

    async def examined(
        self, failure: CaseResult, fingerprint: Fingerprint
    ) -> tuple[Minimal[Plan, CaseResult], Confirmation[CaseResult]]:
        """Shrink and confirm a failure with this fingerprint; 0 of 0 runs: no time was left."""

        async def again(
            smallest: Reproducer[Plan, CaseResult],
        ) -> Confirmation[CaseResult]:
            async def run(times: int) -> list[CaseResult | None]:
                results = await self._run([smallest.value] * times, None, fingerprint)
                return [r if r.fingerprint(self.revision) == fingerprint else None for r in results]

            most = _LAST_S + 2 * smallest.run.seconds if self._stop.requested else None
            return await confirm(run, flaky_runs=_FLAKY_RUNS, seconds=most)

        return await examine(
            lambda times: self.minimised(failure, times=times),
            again,
            lambda: self.is_steady(failure, fingerprint),
        )

    async def is_steady(self, failure: CaseResult, fingerprint: Fingerprint) -> bool:
        """Run the plan that failed, and tell if it fails each time."""
        case = self_contained(failure, self.suite)
        try:
            return await self._shows(case, fingerprint, CONFIRMATIONS, None) is not None
        except GivenUpError:
            return False

    async def _shows(
        self, case: Plan, fingerprint: Fingerprint, times: int, most_s: float | None
    ) -> CaseResult | None:
        """Run a plan some times, and return the first run if all fail so.

        Raises GivenUpError after `most_s`, and where a real clock leaves it undecided.
        """
        if fingerprint.api and fingerprint.api not in {ask.api for ask in asks_of(case.steps)}:
            return None
        results = await self._run([case] * times, most_s, fingerprint)
        undecided = Outcome.UNKNOWN if not self._virtual else None
        decided = [result for result in results if result.outcome is not undecided]
        if any(result.fingerprint(self.revision) != fingerprint for result in decided):
            return None
        if len(decided) < len(results):
            raise GivenUpError
        return results[0]

    async def _run(
        self, cases: Sequence[Plan], most_s: float | None, fingerprint: Fingerprint
    ) -> list[CaseResult]:
        # Only what no departure explains may lie behind one; all else ends a run.
        options = replace(self.suite.options, eager=True, follows=not fingerprint.cause)
        suite = self.suite.with_options(options)
        return list(await asyncio.gather(*(self._run_plan(suite, case, most_s) for case in cases)))

    async def _run_plan(self, suite: OpenTarget, case: Plan, most_s: float | None) -> CaseResult:
        async with self._places:
            try:
                async with asyncio.timeout(most_s):
                    (result,) = await suite.try_cases([case])
            except TimeoutError:
                raise GivenUpError from None
        return result


def _seconds_to_failure(failure: CaseResult) -> float:
    """Measure from the start of a plan to the failure, in seconds."""
    violation = failure.remaining
    return failure.seconds if violation is None else violation.at_ms / 1000


def self_contained(failure: CaseResult, suite: OpenTarget) -> Plan:
    """Give a case the settings that it was run under, where it can have its own.

    It names no rules, since it is not run to pass.
    """
    case = structs.replace(failure.case, rules=())
    if failure.recording is None or not suite.chooses_settings:
        return case
    config = {DELAY: failure.recording.config.get(DELAY), **case.needs.config}
    return structs.replace(case, needs=structs.replace(case.needs, config=config))


_SHORT = {Ms("rebalance"): Ms("short rebalance"), Ms("formation"): Ms("short rebalance")}
_SHORTER = {**_SHORT, Ms("session"): Ms("short session")}
_TIMEOUTS = {"session_timeout_ms", "rebalance_timeout_ms"}


def beginnings(case: Plan, failure: CaseResult) -> list[Plan]:
    """List plans that may fail in the same way and are better to start with, the best first.

    `failure`: of a run of these steps.
    """
    head = _head(case, failure)
    plans = [*_hurried(head), head, *_hurried(case)]
    return [plan for n, plan in enumerate(plans) if plan != case and plan not in plans[:n]]


def _head(case: Plan, failure: CaseResult) -> Plan:
    """Cut a plan after the step in which it failed, with a wait for the wrong answer."""
    violation = failure.remaining
    recording = failure.recording
    if violation is None or recording is None:
        return case
    before = sum(end < violation.at_ms for end in recording.step_ends)
    label = recording.labels[violation.request_id]
    place = next(n for n, step in enumerate(case.steps) if getattr(step, "label", "") == label)
    head = case.steps[: max(before, place) + 1]
    if not any(isinstance(step, Await) and label in step.labels for step in head):
        head = (*head, Await((label,)))
    return with_steps(case, head)


def _hurried(case: Plan) -> Iterator[Plan]:
    for short in (_SHORTER, _SHORT):

        def hurried(ask: Request, short: dict[Ms, Ms] = short) -> Request:
            fields = {
                name: short.get(value, value) if name in _TIMEOUTS else value
                for name, value in ask.fields.items()
            }
            return structs.replace(ask, fields=fields)

        yield asking(case, hurried)
