"""Run plans against a target, many side by side, until the budget is spent, and count results.

A plan covers the rules that all explanations of it used; it also covers the pairs of rules and the
states on its way if the explanations used every rule of the way.  A target that dies is a finding.
It is opened again, and the plans that were running when it died are run again one by one, to find
the one that killed it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from fencepost.conformance.certify.certify import OpenTarget
from fencepost.conformance.execution.link_faults import is_cut_off
from fencepost.conformance.execution.outcome import CaseResult, Outcome
from fencepost.conformance.fuzz.dry_run import PlanCoverage
from fencepost.conformance.fuzz.plans import (
    FAILING_OVER,
    REAL_SETTINGS,
    SETTINGS,
    Plan,
    PlanContext,
    Planner,
)
from fencepost.conformance.plans.plan import Case, Disconnect, Pause, RequestStep, Restart
from fencepost.conformance.runtime.cpu_time import started_s
from fencepost.conformance.runtime.event_loop import aside, kept_up
from fencepost.conformance.targets.target import Configurable, ScopeNeeds, Target
from fencepost.model.coordinator import (
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
    Send,
    UnsupportedError,
)
from fencepost.model.history import Sent
from fencepost.model.messages.messages import HeartbeatRequest

_GRACE_S = 20.0
"""How long plans that are under way may take once the time is over, in seconds."""

_ALIVE_S = 5.0
_NUMBER = re.compile(r"\d+")
_SUSPECTS = 40
_NEVER = 1 << 40
_KEPT_EACH = 4
"""How many failures with the same key are kept, the shortest."""

WORK = ("drawing plans", "judging", "sending and reading")
"""The purposes by which our own processor time is counted."""

OWN = "the target's own"
_EVENTS = ((Restart, "failover"), (Disconnect, "disconnect"), (Pause, "pause"))

OnTally = Callable[["Tally"], None]

FailureKey = tuple[str, str, str]
"""The known departures that explain a failure, or ""; its rule, and its observed words."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop: after so many requests or seconds; None: no limit of this kind."""

    requests: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Tally:
    """The counts of a run.

    `settings`: how many plans ran under which settings, `OWN` for the target's own; `events`: in
    how many a failover, a disconnect or a pause was reached; `words`: how often each kind of
    request was sent; `outcomes`: of plans; `covered`: what was shown of the model; `novel`: plans
    that reached something new; `failures`: some of each kind; `unknown`: why plans are undecided,
    and how often; `died`: how often the target did; `spent`: our own processor time, in s, by
    purpose, see `WORK`; `theirs`: that of processes that were started for it, where the system
    reports it; `lived`: how long all plans took together, in s.
    """

    plans: int = 0
    requests: int = 0
    settings: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    covered: PlanCoverage = field(default_factory=PlanCoverage)
    novel: list[Case] = field(default_factory=list)
    failures: dict[FailureKey, list[CaseResult]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    died: int = 0
    seconds: float = 0.0
    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WORK, 0.0))
    theirs: float | None = None
    lived: float = 0.0

    def add(self, plan: Plan, result: CaseResult, seen_as: FailureKey | None) -> None:
        """Count one more plan; `seen_as`: the key of its failure, None if it didn't fail."""
        self.plans += 1
        self.outcomes[result.outcome] += 1
        self.spent["judging"] += result.judged_s
        self.lived += result.seconds
        sent = _sent(result)
        self.requests += sent
        self.words.update(plan.words[:sent])
        if result.outcome is not Outcome.UNSUPPORTED:
            self.settings[_settings(plan.case)] += 1
        self.events.update(_events(result))
        verdict = result.verdict
        if result.outcome is Outcome.PASS and verdict is not None:
            if plan.reached.rules <= verdict.used:
                self.covered.add(plan.reached)
            else:
                self.covered.rules.update(verdict.used)
        if plan.is_novel:
            self.novel.append(plan.case)
        if result.outcome is Outcome.UNKNOWN:
            self.unknown[_NUMBER.sub("…", result.message.partition(":")[0])] += 1
        if seen_as is not None:
            self.keep(seen_as, result)

    def merge(self, other: Tally) -> None:
        """Add what another process counted in the same time."""
        self.plans += other.plans
        self.requests += other.requests
        self.words += other.words
        self.settings += other.settings
        self.events += other.events
        self.outcomes += other.outcomes
        self.covered.add(other.covered)
        known = {case.id for case in self.novel}
        self.novel += [case for case in other.novel if case.id not in known]
        self.unknown += other.unknown
        self.died += other.died
        self.seconds = max(self.seconds, other.seconds)
        self.lived += other.lived
        for work, spent in other.spent.items():
            self.spent[work] += spent
        for seen_as, results in other.failures.items():
            for result in results:
                self.keep(seen_as, result)

    def keep(self, seen_as: FailureKey, result: CaseResult) -> None:
        """Keep a failure, if it is one of the shortest with its key."""
        alike = self.failures.setdefault(seen_as, [])
        alike.append(result)
        alike.sort(key=length)
        del alike[_KEPT_EACH:]


def _sent(result: CaseResult) -> int:
    if result.recording is None:
        return 0
    return sum(isinstance(event, Sent) for event in result.recording.history)


def _settings(case: Case) -> str:
    said = (f"{key}={value}" for key, value in sorted(case.needs.config.items()))
    return ", ".join(said) or OWN


def _events(result: CaseResult) -> set[str]:
    """The events that a plan came to, each once."""
    recording = result.recording
    steps = () if recording is None else result.case.steps[: len(recording.step_ends)]
    return {word for step in steps for kind, word in _EVENTS if isinstance(step, kind)}


def length(result: CaseResult) -> tuple[int, str]:
    """How long the plan of a result is, to sort by."""
    return sum(isinstance(step, RequestStep) for step in result.case.steps), result.case.id


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
    ) -> None:
        self._target = target
        self._suite = suite
        self._planner = planner
        self._tally = tally
        self._key_of = key_of
        self._on_tally = on_tally
        self._planned = 0
        self._results: dict[int, tuple[Plan, CaseResult]] = {}
        self._next = 0
        self._dead = False
        self._victims: list[CaseResult] = []

    async def run(self, budget: Budget) -> list[Case] | None:
        """Run plans until the budget is spent (None), or the target died (the suspects)."""
        began, working, theirs = time.monotonic(), time.process_time(), started_s()
        before = sum(self._tally.spent.values())
        running: set[asyncio.Task[None]] = set()
        try:
            for number, plan in self._plans(budget, began):
                await self._room(running)
                running.add(asyncio.create_task(self._run(number, plan)))
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

    async def _room(self, running: set[asyncio.Task[None]]) -> None:
        """Wait until one more plan can run: there is a place, and this process keeps up.

        Raises what the run of a plan raised, which is a fault of fencepost.
        """
        while True:
            if self._suite.hello.clock == "real":
                await kept_up()
            for task in [task for task in running if task.done()]:
                running.remove(task)
                task.result()
            if len(running) < self._suite.places:
                return
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)

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

    def _plans(self, budget: Budget, began: float) -> Iterable[tuple[int, Plan]]:
        requests = number = 0
        while not self._dead:
            if budget.seconds is not None and time.monotonic() - began >= budget.seconds:
                return
            if budget.requests is not None and requests >= budget.requests:
                return
            drawing = time.process_time()
            plan = self._planner.next()
            self._tally.spent["drawing plans"] += time.process_time() - drawing
            requests += plan.requests
            yield number, plan
            number += 1

    async def _run(self, number: int, plan: Plan) -> None:
        (result,) = await self._suite.try_cases([plan.case])
        if is_cut_off(result) and (self._dead or not await self._is_alive()):
            self._dead = True
            self._victims.append(result)
            return
        if result.violation is not None:
            if self._suite.hello.clock == "real":
                _, spent = await aside(partial(result.attribution, self._suite.revision))
                self._tally.spent["judging"] += spent
            else:
                result.attribution(self._suite.revision)
        self._results[number] = plan, result
        self._account()

    def _account(self, *, everything: bool = False) -> None:
        """Count what has ended, in the order in which it was planned."""
        if everything:
            self._results = dict(sorted(self._results.items()))
        while self._results:
            number = next(iter(self._results)) if everything else self._next
            if number not in self._results:
                return
            plan, result = self._results.pop(number)
            self._next = number + 1
            self._tally.add(plan, result, self._key_of(result))
            if self._on_tally is not None:
                self._on_tally(self._tally)

    async def _is_alive(self) -> bool:
        """Whether the target still answers anything."""
        if self._suite.hello.clock == "virtual":
            return True  # a process that ends there ends one case
        try:
            async with asyncio.timeout(_ALIVE_S), self._target.scope("alive") as coordinator:
                await coordinator.reset({})
                return await _answers(coordinator, self._suite.hello.apis["Heartbeat"][0])
        except (TimeoutError, CoordinatorFailure, UnsupportedError):
            return False


async def _answers(coordinator: AsyncCoordinator, version: int) -> bool:
    body = HeartbeatRequest(group_id="alive", generation_id=1, member_id="nobody").to_body(version)
    send = Send("alive", "alive", "fencepost", "Heartbeat", version, body)
    answers = list(await coordinator.send(send))
    while not answers:
        answers = list(await coordinator.advance(1000))
    return answers[0].body is not None


def suspects(victims: Iterable[CaseResult]) -> list[Case]:
    """The plans that may have killed the target: first those that sent something just before."""

    def quiet_ms(result: CaseResult) -> int:
        history = [] if result.recording is None else result.recording.history
        sent = max((event.at_ms for event in history if isinstance(event, Sent)), default=None)
        return _NEVER if sent is None else history[-1].at_ms - sent

    ordered = sorted(victims, key=lambda result: (quiet_ms(result), result.case.id))
    return [result.case for result in ordered[:_SUSPECTS]]


async def plan_context_of(target: Target, suite: OpenTarget) -> PlanContext:
    """What plans can be made for: a target's features, and the settings that it can be given.

    Brokers that have these settings are started before the search.
    """
    configs: list[tuple[dict[str, int | None], Config]] = []
    virtual = suite.hello.clock == "virtual"
    if isinstance(target, Configurable) and not virtual:
        await target.prepare(
            [
                ScopeNeeds(restarts=restarts, settings=settings)
                for place, settings in enumerate(REAL_SETTINGS)
                for restarts in {False, "restart" in suite.hello.features and place < FAILING_OVER}
            ]
        )
        for settings in REAL_SETTINGS:
            with contextlib.suppress(UnsupportedError):
                needed = ScopeNeeds(settings=settings)
                async with target.scope_with("settings", needed) as coordinator:
                    config = (await coordinator.reset(settings)).config
                if all(config.get(key) == value for key, value in settings.items()):
                    configs.append((dict(settings), config))
    elif virtual:
        async with target.scope("settings") as coordinator:
            for settings in SETTINGS:
                with contextlib.suppress(UnsupportedError):
                    configs.append((dict(settings), (await coordinator.reset(settings)).config))
    return PlanContext(
        suite.revision,
        suite.hello,
        target.hints,
        suite.lag_ms,
        configs or [({}, suite.config)],
    )
