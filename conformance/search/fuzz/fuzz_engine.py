"""Run plans against a target, many side by side, until the budget is spent, and count results.

A plan covers the rules that all explanations of it used; it also covers the pairs of rules and the
states on its way if the explanations used every rule of the way.  A target that dies is a finding.
It is opened again, and the plans that were running when it died are run again one by one, to find
the one that killed it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import TypeVar

from fencepost.conformance.run.certify import OpenTarget
from fencepost.conformance.run.control_group import NOBODY, Probe, control_group
from fencepost.conformance.run.link_faults import (
    REQUIRED_REPEATS,
    RepeatedFailures,
    is_cut_off,
    passing_cause,
)
from fencepost.conformance.run.runner import reset_for
from fencepost.conformance.runtime.event_loop import (
    STAGGER_S,
    Window,
    aside,
    judged,
    started_s,
    timed,
)
from fencepost.conformance.runtime.unavailable import TargetUnavailableError, needed_of_a_target
from fencepost.conformance.search.fuzz.drawn_plans import (
    DrawnPlan,
    PlanContext,
    Planner,
)
from fencepost.conformance.search.fuzz.plans_by_protocol import plans_of
from fencepost.conformance.search.fuzz.tally import Budget, FailureKey, OnTally, Tally
from fencepost.conformance.targets.target import Configurable, ScopeNeeds, Target
from fencepost.model.coordinator import RECORD_LIMIT, Config, CoordinatorFailure, UnsupportedError
from fencepost.model.history.events import Sent
from fencepost.model.plans.steps import Plan
from fencepost.properties.judging.outcome import CaseResult

_Judged = TypeVar("_Judged")

_GRACE_S = 20.0
"""Seconds that plans under way have once the time is over."""

_ALIVE_S = 5.0
_RECENT = 40
_FAILOVERS_APART_S = 240.0
_LOOK_S = 0.25
"""Seconds between two looks at the lag of the target."""

_ALONE = 2
"""Most plans that wait for a broker that has one at a time; others are left out."""

_SUSPECTS = 40
_NEVER = 1 << 40


class Fuzzer:
    """Runs the plans of a planner against a target that is open."""

    def __init__(
        self,
        target: Target,
        suite: OpenTarget,
        planner: Planner,
        tally: Tally,
        key_of: Callable[[CaseResult], FailureKey | None],
        on_tally: OnTally | None = None,
        is_listed: Callable[[CaseResult], bool] = lambda _: False,
    ) -> None:
        self._target = target
        self._suite = suite
        self._planner = planner
        self._tally = tally
        self._key_of = key_of
        self._is_listed = is_listed
        self._on_tally = on_tally
        self._window = Window(suite.places)
        self._measured: deque[int] = deque(maxlen=_RECENT)
        self._results: dict[int, tuple[DrawnPlan, CaseResult]] = {}
        self._next = 0
        self._failing_over = self._alone = 0
        self._dead = False
        self._victims: list[CaseResult] = []

    async def run(self, budget: Budget) -> list[Plan] | None:
        """Run plans until the budget is spent (None), or the target died (the suspects)."""
        began, working, theirs = time.monotonic(), time.process_time(), started_s()
        before = sum(self._tally.spent.values())
        running: set[asyncio.Task[None]] = set()
        try:
            numbers = itertools.count()
            async for plan in self._with_failovers_together(budget, began):
                if not self._waits_for_others(plan):
                    await self._room(running)
                self._failing_over += plan.case.restarts
                self._alone += _is_alone(plan)
                running.add(asyncio.create_task(self._run(next(numbers), plan)))
            await self._ending(running, budget, began)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self._tally.seconds += time.monotonic() - began
            self._account(everything=True)
            whole = time.process_time() - working
            rest = whole - (sum(self._tally.spent.values()) - before)
            self._tally.spent["sending and reading"] += max(0.0, rest)
            if theirs is not None and (now := started_s()) is not None:
                self._tally.theirs = (self._tally.theirs or 0.0) + max(0.0, now - theirs)
        if not self._dead:
            return None
        self._tally.died += 1
        return suspects(self._victims)

    def _waits_for_others(self, plan: DrawnPlan) -> bool:
        """Tell if a plan shares a restart: it takes no room from others, and begins by turns."""
        return self._suite.controls is not None and plan.case.restarts

    async def _room(self, running: set[asyncio.Task[None]]) -> None:
        """Wait until one more plan can run: the target is quick, or few are under way.

        Raises what the run of a plan raised, which is a fault of fencepost.
        """
        controls = self._suite.controls
        while True:
            if controls is not None:
                await asyncio.sleep(STAGGER_S)
            for task in [task for task in running if task.done()]:
                running.remove(task)
                task.result()
            lag_ms = 0 if controls is None else controls.worst_ms()
            others = len(running) - self._failing_over
            if self._window.heard(lag_ms, others, time.monotonic()):
                return
            if running:
                await asyncio.wait(running, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(_LOOK_S)

    def _lag_ms(self) -> int:
        """Measure the lag that nine of ten of the last plans met: the next have to bear it, too.

        Not what was met after a failover: plans that bear much last long.
        """
        ordered = sorted(self._measured)
        return ordered[len(ordered) * 9 // 10] if ordered else 0

    async def _ending(self, running: set[asyncio.Task[None]], budget: Budget, began: float) -> None:
        """Wait until what is under way has ended, or its time is over."""
        limit = None
        if self._dead:
            limit = _ALIVE_S
        elif budget.seconds is not None:
            limit = max(0.0, began + budget.seconds + _GRACE_S - time.monotonic())
        if running:
            done, pending = await asyncio.wait(running, timeout=limit)
            for task in done:
                task.result()
            if pending and not self._dead:
                self._tally.unknown["it took longer than the time that was left"] += len(pending)

    async def _with_failovers_together(
        self, budget: Budget, began: float
    ) -> AsyncIterator[DrawnPlan]:
        """Yield the plans; on a real clock those with a failover come together, now and then.

        They share a restart then.  One that starts takes the processors, so the others are late.
        A restart waits for all of them, so no more come before the last ones have ended.
        """
        held: deque[DrawnPlan] = deque()
        half = _FAILOVERS_APART_S if budget.seconds is None else budget.seconds / 2
        due = began + min(_FAILOVERS_APART_S, half)
        async for plan in self._plans(budget, began):
            if self._waits_for_others(plan):
                held.append(plan)
            else:
                yield plan
            if time.monotonic() >= due and not self._failing_over:
                for waiting in self._released(held):
                    yield waiting
                due = time.monotonic() + _FAILOVERS_APART_S
        if budget.seconds is None:  # else no time is left for them
            for waiting in self._released(held):
                yield waiting

    def _released(self, held: deque[DrawnPlan]) -> Iterable[DrawnPlan]:
        """Yield plans that waited for a shared restart, unless the target is dead."""
        while held and not self._dead:
            yield held.popleft()

    async def _plans(self, budget: Budget, began: float) -> AsyncIterator[DrawnPlan]:
        """Draw plans; on a real clock beside the event loop, one ahead of what is run."""
        requests = 0
        draw = partial(aside, self._planner.next)
        drawing = None if self._suite.controls is None else asyncio.create_task(draw())
        try:
            while not self._dead:
                if budget.seconds is not None and time.monotonic() - began >= budget.seconds:
                    return
                if budget.requests is not None and requests >= budget.requests:
                    return
                plan, spent = timed(self._planner.next) if drawing is None else await drawing
                drawing = drawing and asyncio.create_task(draw())
                self._tally.spent["drawing plans"] += spent
                if drawing is None or not _is_alone(plan) or self._alone < _ALONE:
                    requests += plan.requests
                    yield plan
        finally:
            if drawing is not None:
                drawing.cancel()

    async def _run(self, number: int, plan: DrawnPlan) -> None:
        try:
            await self._suite.prepare([plan.case])
            result = await self._tried(plan.case)
        finally:
            self._failing_over -= plan.case.restarts
            self._alone -= _is_alone(plan)
        if result.recording is not None and not plan.case.restarts:
            self._measured.append(result.recording.measured_ms)
        if is_cut_off(result) and (self._dead or not await self._is_alive()):
            self._dead = True
            self._victims.append(result)
            return
        if self._suite.hello.clock == "real":
            if result.violation is not None:
                await self._judged(partial(result.attribution, self._suite.revision))
            self._count(plan, result)
        else:
            if result.violation is not None:
                result.attribution(self._suite.revision)
            self._results[number] = plan, result
            self._account()

    async def _tried(self, case: Plan) -> CaseResult:
        """Run a plan; again, as `certify` does, where its failure may not be the target's.

        What is listed as a known failure is counted only, so once is enough.
        """
        repeats = RepeatedFailures(REQUIRED_REPEATS)
        while True:
            has_turn = not (repeats.results or case.restarts)
            result = await self._suite.try_case(
                case, known_lag_ms=self._lag_ms(), has_turn=has_turn
            )
            if self._suite.controls is None or self._dead:
                return result
            cause = passing_cause(result, self._suite.revision)
            if cause is None or await self._judged(partial(self._is_listed, result)):
                return repeats.weigh(result)
            if repeats.confirms(result, cause):
                return result
            if not repeats.allows(len(repeats.results) + 1):
                return repeats.weigh(result)

    async def _judged(self, work: Callable[[], _Judged]) -> _Judged:
        """Judge what has ended, and count what it takes."""
        judgement, spent = await judged(work)
        self._tally.spent["judging"] += spent
        return judgement

    def _account(self, *, everything: bool = False) -> None:
        """On a virtual clock, count what has ended in the order in which it was planned."""
        if everything:
            self._results = dict(sorted(self._results.items()))
        while self._results:
            number = next(iter(self._results)) if everything else self._next
            if number not in self._results:
                return
            self._next = number + 1
            self._count(*self._results.pop(number))

    def _count(self, plan: DrawnPlan, result: CaseResult) -> None:
        self._tally.add(plan, result, self._key_of(result))
        if self._on_tally is not None:
            self._on_tally(self._tally)

    async def _is_alive(self) -> bool:
        """Tell if the target still answers anything."""
        if self._suite.hello.clock == "virtual":
            return True  # a process that ends there ends one case
        try:
            async with asyncio.timeout(_ALIVE_S), self._target.scope("alive") as coordinator:
                await coordinator.reset({})
                group = control_group(self._suite.hello, self._suite.config)
                await group.heartbeat(Probe(coordinator, "alive", _ALIVE_S), "alive", NOBODY, 1)
        except (TimeoutError, CoordinatorFailure, UnsupportedError):
            return False
        return True


def _is_alone(plan: DrawnPlan) -> bool:
    """Tell if a broker with the settings of this plan has no other one meanwhile."""
    return RECORD_LIMIT in plan.case.needs.config


def suspects(victims: Iterable[CaseResult]) -> list[Plan]:
    """List the plans that may have killed the target: first those that sent something last."""

    def quiet_ms(result: CaseResult) -> int:
        history = [] if result.recording is None else result.recording.history
        sent = max((event.at_ms for event in history if isinstance(event, Sent)), default=None)
        return _NEVER if sent is None else history[-1].at_ms - sent

    ordered = sorted(victims, key=lambda result: (quiet_ms(result), result.case.id))
    return [result.case for result in ordered[:_SUSPECTS]]


async def plan_context_of(target: Target, suite: OpenTarget) -> PlanContext:
    """Find what plans can be made for: a target's features, and the settings that it can have.

    Brokers that have these settings are started before the search.  Raises TargetUnavailableError.
    """
    revision, plans = suite.revision, plans_of(suite.revision)
    if plans.joins_by not in suite.hello.apis:
        raise TargetUnavailableError(
            f"{target.name} has no {plans.joins_by}, and plans are drawn of members that join; "
            "`fencepost certify` tests what it has"
        )
    configs: list[tuple[dict[str, int | None], Config]] = []
    virtual = suite.hello.clock == "virtual"
    required = (*(plans.settings if virtual else plans.real_settings), *plans.rare_settings)
    if isinstance(target, Configurable) and not virtual:
        await target.prepare(
            [
                ScopeNeeds(restarts=restarts, settings=settings)
                for place, settings in enumerate(required)
                for restarts in {
                    False,
                    "restart" in suite.hello.features and place < plans.failing_over,
                }
            ]
        )
        for settings in required:
            with contextlib.suppress(UnsupportedError):
                needed = ScopeNeeds(settings=settings)
                async with target.scope_with("settings", needed) as coordinator:
                    config = await reset_for(revision, suite.hello, coordinator, settings)
                if all(config.get(key) == value for key, value in settings.items()):
                    configs.append((dict(settings), config))
    elif virtual:
        with needed_of_a_target():
            async with target.scope("settings") as coordinator:
                for settings in required:
                    with contextlib.suppress(UnsupportedError):
                        config = await reset_for(revision, suite.hello, coordinator, settings)
                        configs.append((dict(settings), config))
    if not configs:
        with needed_of_a_target():
            async with target.scope("settings") as coordinator:
                configs.append(({}, await reset_for(revision, suite.hello, coordinator, {})))
    return PlanContext(revision, suite.hello, target.hints, suite.lag_ms, configs)
