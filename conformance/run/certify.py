"""Certify: run all cases against one target, side by side, and judge each with the oracle.

A case passes only if its whole plan was run, every remaining explanation of its history used the
rules that the case is about, and lag blurs nothing of it.  A violation counts at once if no lag can
explain it.  One that depends on latency counts only while the control group shows that the target
is quick; it counts as SHOULD at most if the answer itself was right.  A failure that a bad network
link (lateness, a closed connection) or a loading coordinator may cause must repeat several times at
the same request.  Every other result is unknown and is retried; it is never a pass.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from fencepost.conformance.cases.case_registry import Entry, as_entry
from fencepost.conformance.cases.script import INSTANCE_SINCE, SetUp
from fencepost.conformance.run.attempts import FurtherAttempts, RunningAttempts
from fencepost.conformance.run.controls import Controls, RunningControl
from fencepost.conformance.run.end_of_target import EndOfTarget, failed, unsupported
from fencepost.conformance.run.going_on import may_go_on, onward, remark_of, reported
from fencepost.conformance.run.latency_monitor import (
    lag_to_allow_ms,
    rests_on_lateness,
    verdict_of,
)
from fencepost.conformance.run.link_faults import (
    PASSING_AT_ONCE,
    REQUIRED_REPEATS,
    RepeatedFailures,
    excused_by_control,
    explained_by_cleaner,
    is_cut_off,
    is_loading,
    passing_cause,
)
from fencepost.conformance.run.runner import (
    CaseRun,
    CaseUnsupportedError,
    pauses_ms,
    reset_for,
    unmet_need,
)
from fencepost.conformance.run.set_ups import RefusedStep, SetUps, usual_way
from fencepost.conformance.runtime.event_loop import (
    Turns,
    few_pauses,
    judged,
    side_by_side,
    timed,
)
from fencepost.conformance.runtime.lag_meter import CALM_WITHIN_S, LagMeter
from fencepost.conformance.runtime.unavailable import needed_of_a_target
from fencepost.conformance.targets.target import (
    Configurable,
    Described,
    Located,
    ScopeNeeds,
    Target,
    apart,
)
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.consumer.settings import SESSION_TIMEOUT
from fencepost.model.coordinator import (
    PARTITIONS,
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
    Hello,
    Provenance,
    UnsupportedError,
)
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.plans.steps import Plan
from fencepost.model.plans.times import LEAST_LAG_MS, blurred, times_for
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import is_shipped, shipped_base
from fencepost.model.table.table import Level
from fencepost.properties.departures.known_departures import coordinator_of
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.assumed_settings import LEAST, MOST, SIZE
from fencepost.properties.judging.explain import sentence, signature
from fencepost.properties.judging.known_failures import KnownFailure, ListedFailures
from fencepost.properties.judging.outcome import CaseResult, Outcome, graded
from fencepost.properties.judging.report import Certificate
from fencepost.properties.judging.target_coverage import coverage_of, without_unreachable
from fencepost.properties.oracle.verdict import Verdict


def case_result(
    case: Plan, recording: Recording, verdict: Verdict, revision: Revision
) -> CaseResult:
    """Return the result of one run of a case."""
    common: dict[str, Any] = {
        "case": case,
        "verdict": verdict,
        "recording": recording,
        "notes": tuple(map(str, verdict.notes)),
    }
    violation = verdict.violation
    if violation is not None and not recording.moved:
        return CaseResult(
            outcome=Outcome.FAIL,
            level=violation.level,
            message=sentence(verdict, recording, revision),
            observed=signature(verdict, recording),
            **common,
        )
    if verdict.unknown is None and (gap := recording.gap() or _blur(case, recording)) is not None:
        verdict = replace(verdict, unknown=gap, used=frozenset())
        common["verdict"] = verdict
    why = _no_proof(case, recording, verdict, revision)
    outcome = Outcome.PASS if why is None else Outcome.UNKNOWN
    return CaseResult(outcome=outcome, level=case.level, message=why or "", **common)


def at_level(result: CaseResult, revision: Revision) -> CaseResult:
    """Return a result with a failure at the level of its fault, which may take long to compute."""
    recording, verdict = result.recording, result.verdict
    if result.outcome is not Outcome.FAIL or recording is None or verdict is None:
        return result
    verdict = graded(verdict, recording, revision)
    level = result.level if verdict.violation is None else verdict.violation.level
    message = sentence(verdict, recording, revision)
    return replace(result, verdict=verdict, level=level, message=message)


def _no_proof(case: Plan, recording: Recording, verdict: Verdict, revision: Revision) -> str | None:
    """Return the reason why a run without a violation is no pass, or None."""
    if recording.moved:
        return "the coordinator moved or was loading meanwhile"
    if verdict.unknown is not None:
        return verdict.unknown
    if missing := sorted(set(case.rules) - verdict.used):
        message = f"the history can also be explained without {', '.join(missing)}"
        return message + _not_applying(case, revision) + _hurried(recording)
    return None


def _not_applying(case: Plan, revision: Revision) -> str:
    """Say that a case is about rules that a user's own revision changes or drops; else ""."""
    if is_shipped(revision):
        return ""
    there = {rule.id: rule for _, rule in revision.rules()}
    theirs = {rule.id: rule for _, rule in shipped_base(revision).rules()}
    changes = ", ".join(id_ for id_ in case.rules if there.get(id_) is not theirs.get(id_))
    if not changes:
        return ""
    return f"; {revision.name} changes or drops {changes}, so the case may not apply to it"


def _hurried(recording: Recording) -> str:
    """Say that members of the consumer protocol may have been removed meanwhile; else ""."""
    session_ms = recording.config.get(SESSION_TIMEOUT)
    if recording.clock == "virtual" or not session_ms or session_ms >= _ENOUGH_MS:
        return ""
    return (
        f"; {SESSION_TIMEOUT} is {session_ms}, which may be too short for the case: give it "
        f"{_ENOUGH_MS} or more"
    )


def _blur(case: Plan, recording: Recording) -> str | None:
    if not recording.lag_ms or recording.times is None:
        return None
    return blurred(case, recording.times, recording.lag_ms)


_ENOUGH_MS = 6000
"""A session timeout of the broker within which no case is too slow on a quick target, ms."""
_OF_CLASSIC_JOINS = (DELAY, LEAST, MOST, SIZE)
_ATTEMPTS = 3
_LAST_PATIENCE_MS = 15_000
_SPIKE_MS = 3000
"""A case allows for this much lag at most, since its waits grow with the lag, to minutes."""

_RESTARTED_MS = 1000
"""Lag of a server just after a restart, when many cases go on at once."""

_LONG_MS = 5000
"""Pauses from which on a case is long."""

_PATIENCE_S = 5.0
"""Extra seconds to wait for the control member's timeout."""

_DELAY_MS = 3000

Progress = Callable[[CaseResult], None]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a certificate.

    `jobs` None: as many cases side by side as the target takes.  `attempts`: how often a case that
    stays unknown is tried on a real clock.  `persists`: run a plan to its end even after a
    violation.  `eager`: judge every plan while it runs on a real clock too, so that it can end at
    once.  `follows`: go on behind a violation that known departures explain.  `goes_on`: let a case
    go on behind a deviation that has nothing to do with its rules.  `known_as`: the target's name,
    where it is reached by another one.  `running`: where attempts are counted while they run.
    `listed`: the failures that a list has, by the target's version.
    """

    level: Level = Level.SHOULD
    jobs: int | None = None
    seed: int = 0
    skip: tuple[str, ...] = ()
    progress: Progress | None = None
    attempts: int = _ATTEMPTS
    persists: bool = False
    eager: bool = False
    follows: bool = False
    goes_on: bool = False
    known_as: str = ""
    running: RunningAttempts = field(default_factory=RunningAttempts)
    listed: Callable[[str], Sequence[KnownFailure]] = lambda _: ()


async def _usual_config(revision: Revision, hello: Hello, coordinator: AsyncCoordinator) -> Config:
    """Return the group settings of the target as it is, those of the protocol, too."""
    try:
        config = await reset_for(revision, hello, coordinator, {})
    except UnsupportedError:  # each case says what it lacks
        return (await coordinator.reset({})).config
    return {key: value for key, value in config.items() if key != PARTITIONS}


@asynccontextmanager
async def open_target(
    target: Target, revision: Revision, options: Options
) -> AsyncIterator[OpenTarget]:
    """Open the target, so that cases can be run on it, and close it afterwards.

    Raises TargetUnavailableError.
    """
    async with target, AsyncExitStack() as stack:
        stack.enter_context(few_pauses())
        with needed_of_a_target():
            async with target.scope("hello") as coordinator:
                hello = (await coordinator.hello()).within(revision.apis)
                config = await _usual_config(revision, hello, coordinator)
            controls = Controls(hello, config, stack) if hello.clock == "real" else None
            control = None if controls is None else await controls.first(target)
        yield OpenTarget(target, revision, hello, config, options, control, controls)


async def certify(
    target: Target, revision: Revision, entries: Sequence[Entry], options: Options
) -> Certificate:
    """Open the target, run the cases, close it.  Raises TargetUnavailableError."""
    began = time.monotonic()
    async with open_target(target, revision, options) as suite:
        hello, config = suite.hello, suite.config
        reported = suite.set_ups.with_refusals(await suite.run(entries))
        results = without_unreachable(revision, hello, reported)
        return Certificate(
            provenance=target.provenance(),
            revision=revision.name,
            clock=hello.clock,
            config=config,
            settings_source={
                key: source
                for key, source in getattr(target, "settings_source", {}).items()
                if key in config
            },
            advertised=dict(getattr(target, "advertised", hello.apis)),
            working=dict(hello.apis),
            broken=dict(getattr(target, "broken", {})),
            remarks=(
                *suite.end.remark(),
                *_without_instances(hello, revision),
                *getattr(target, "remarks", ()),
                *_sources(target, config, revision),
                *suite.timers_remark(),
                *((revision.protocol.elsewhere,) if revision.protocol.elsewhere else ()),
                *remark_of(results),
            ),
            results=tuple(results),
            coverage=coverage_of(revision, hello, results),
            seed=options.seed,
            level=options.level,
            versions={},
            lag_ms=suite.lag_ms,
            seconds=time.monotonic() - began,
            notes=suite.set_ups.notes(),
        )


def _sources(target: Target, config: Config, revision: Revision) -> tuple[str, ...]:
    """Say where the settings are from that the revision's rules know; some are of classic joins."""
    if not isinstance(target, Described):
        return ()
    others = () if "JoinGroup" in revision.apis else _OF_CLASSIC_JOINS
    return target.sources({key: value for key, value in config.items() if key not in others})


def _without_instances(hello: Hello, revision: Revision) -> tuple[str, ...]:
    """Say that nothing of static membership is judged on a target that can't be told of it."""
    if "JoinGroup" not in revision.apis:
        return ()
    versions, since = hello.versions("JoinGroup"), INSTANCE_SINCE["JoinGroup"]
    if not versions or versions[-1] >= since:
        return ()
    why = f"JoinGroup works up to version {versions[-1]}, and names an instance from version"
    return (f"static membership and fencing are not judged: {why} {since} on",)


class OpenTarget:
    """A target that is open and runs cases side by side; made by `open_target`."""

    def __init__(
        self,
        target: Target,
        revision: Revision,
        hello: Hello,
        config: Config,
        options: Options,
        control: RunningControl | None,
        controls: Controls | None = None,
    ) -> None:
        self._target = target
        self._revision = revision
        self.hello = hello
        self.config = config
        self.lag_ms = 0 if control is None else control.lag_ms
        may_go_on = revision.protocol is CLASSIC  # what may follow is listed for its groups alone
        self.options = replace(options, goes_on=options.goes_on and may_go_on)
        self._control = control
        self.controls = controls
        self._levels = {rule.id: rule.level for _, rule in revision.rules()}
        self._listed = ListedFailures(options.listed(target.provenance().version))
        self._idle = {r.id: r.defensive for _, r in revision.rules() if r.defensive is not None}
        self._places = asyncio.Semaphore(self.places)
        self._turns = Turns()
        self.set_ups = SetUps(usual_way(hello.apis))
        self._meters: dict[int, LagMeter] = {}
        self.end = EndOfTarget(self._shared_meters)

    @property
    def _shares_end(self) -> bool:
        """Tell if a case that ends the target ends it for all others."""
        return self._control is not None and not self._target.hints.isolates

    def timers_remark(self) -> tuple[str, ...]:
        """Say that the target removes nobody, if the timers of its controls show it."""
        tries = [len(meter.rounds) for meter in self._shared_meters() if meter.never_fires()]
        if not tries:
            return ()
        silent = f"a member was silent {max(tries)} times, each time for longer than its session"
        return (f"no session of the control group ended: {silent} timeout, and was never removed",)

    def _shared_meters(self) -> list[LagMeter]:
        own = [] if self._control is None else [self._control.meter]
        return own if self.controls is None else [*own, *self.controls.meters()]

    async def run(self, entries: Iterable[Entry]) -> list[CaseResult]:
        """Run cases; return results in the catalogue's order.  Raises TargetUnavailableError."""
        entries = list(entries)
        plans = {entry.id: self._plan(entry, self.config) for entry in entries}
        urgency = {case_id: self._urgency(plan) for case_id, plan in plans.items()}
        urgent_first = sorted(entries, key=lambda entry: urgency[entry.id], reverse=True)
        # What may end the one broker there is comes after all else, and one by one.
        risky = [e for e in urgent_first if plans[e.id].isolated and self._shares_end]
        async with asyncio.TaskGroup() as group:
            if isinstance(self._target, Configurable):
                needs = [
                    ScopeNeeds.of_case(plans[entry.id], self._settings(entry))
                    for entry in entries
                    if entry.id not in self.options.skip
                ]
                group.create_task(self._target.prepare(needs))  # cases begin when theirs is up
            cases = {
                entry.id: group.create_task(self._case(entry, urgency[entry.id]))
                for entry in urgent_first
                if entry not in risky
            }
        done = {entry_id: case.result() for entry_id, case in cases.items()}
        for entry in risky:
            done[entry.id] = await self._case(entry, urgency[entry.id])
        results = [done[entry.id] for entry in entries]
        if not self.options.goes_on:
            return results
        return reported(await side_by_side(map(self._onward, results)), self._revision)

    async def _onward(self, result: CaseResult) -> CaseResult:
        """Return the result of a case behind a deviation that is not its subject."""
        if not may_go_on(result, self._revision):
            return result
        meter = self._meters.get(id(result.whole))
        work = partial(onward, result, self._revision, meter, case_result)
        behind, judged_s = timed(work) if self._control is None else await judged(work)
        return await self._grade(replace(behind, judged_s=result.judged_s + judged_s))

    def with_options(self, options: Options) -> OpenTarget:
        """Return this target with other options; it runs no more cases side by side than before."""
        suite = copy(self)
        suite.options = options
        return suite

    async def try_cases(self, cases: Sequence[Plan]) -> list[CaseResult]:
        """Run and judge written cases side by side, once each, without retries."""
        await self.prepare(cases)
        return await side_by_side(map(self.try_case, cases))

    async def prepare(self, cases: Iterable[Plan]) -> None:
        """Prepare the target for written cases.  Raises TargetUnavailableError."""
        if isinstance(self._target, Configurable):
            await self._target.prepare(
                [ScopeNeeds.of_case(apart(case), case.needs.config) for case in cases]
            )

    async def try_case(
        self, case: Plan, *, known_lag_ms: int = 0, has_turn: bool = False
    ) -> CaseResult:
        """Run one written case.

        `known_lag_ms`: a lag to allow; `has_turn`: the caller waited for the case's turn.
        """
        case = apart(case)
        async with self._places:
            await self._turns.turn(at_once=has_turn or self._control is None)
            result = await self._once(
                as_entry(case), case, self.set_ups.usual, known_lag_ms=known_lag_ms
            )
            return await self._grade(result)

    @property
    def revision(self) -> Revision:
        """Return the revision that judges."""
        return self._revision

    @property
    def chooses_settings(self) -> bool:
        """Return True if a case can have settings of its own."""
        return self.hello.clock == "virtual" or isinstance(self._target, Configurable)

    @property
    def places(self) -> int:
        """Return the number of cases that run side by side."""
        return self.options.jobs or self._target.capacity

    def provenance(self) -> Provenance:
        """Return the target and the versions of its parts."""
        return self._target.provenance()

    def _settings(self, entry: Entry) -> dict[str, int | None]:
        preferred = entry.settings if self.chooses_settings else {}
        settings: dict[str, int | None] = {**preferred, **entry.needs.config}
        if self.chooses_settings and entry.delayed is not None:
            settings.setdefault(DELAY, _DELAY_MS if entry.delayed else 0)
        return settings

    def _urgency(self, case: Plan) -> int:
        """Return how soon a case begins: those with restarts, then the longest.

        A failover begins when all its cases wait for it.
        """
        return sys.maxsize if case.restarts else self._pauses_ms(case, self.config, self.lag_ms)

    async def _case(self, entry: Entry, urgency: int) -> CaseResult:
        async with self._places:
            await self._turns.turn(urgency=urgency, at_once=self._control is None)
            result = await self._try(entry, self.set_ups.usual)
            result = await self.set_ups.retry(
                entry, result, partial(self._try, entry), self._places
            )
            result = await self._grade(result)
        if self.options.progress is not None:
            self.options.progress(result)
        return result

    async def _try(
        self, entry: Entry, way: SetUp, refused_step: RefusedStep | None = None
    ) -> CaseResult:
        case = self._plan(entry, self.config, way)
        if entry.id in self.options.skip:
            return CaseResult(case, Outcome.SKIPPED, case.level, "skipped by the user")
        for rule_id in case.rules:
            why = self._idle.get(rule_id)
            if why is not None or rule_id not in self._levels:
                lack = ": ".join(filter(None, (f"{self._revision.name} has no {rule_id}", why)))
                return CaseResult(case, Outcome.UNSUPPORTED, case.level, lack)

        async def in_turn() -> CaseResult:
            await self._turns.turn(urgency=self._urgency(case))
            return await self._attempt(entry, case, way)

        further = FurtherAttempts(in_turn, self._places)
        async with further:
            is_first_way = refused_step is None
            if self._control is not None and is_first_way and self._repeats_early(case):
                further.begin(REQUIRED_REPEATS - 1)
            return await self._tried(entry, case, way, further, refused_step)

    async def _tried(
        self,
        entry: Entry,
        case: Plan,
        way: SetUp,
        further: FurtherAttempts,
        refused_step: RefusedStep | None,
    ) -> CaseResult:
        """Try a case until it has a result."""
        result = CaseResult(case, Outcome.UNKNOWN, case.level)
        failures = RepeatedFailures(self.options.attempts)
        attempt = 0
        while failures.allows(attempt + 1):
            attempt += 1
            known_lag_ms = 0 if result.recording is None else result.recording.measured_ms
            if attempt > 1 and result.outcome is Outcome.UNKNOWN and await self._is_calm():
                known_lag_ms = 0
            # A longer timeout helps an undecided case, not one that failed before.
            last = attempt >= _ATTEMPTS and not failures.results
            ahead = await further.next() if failures.results else None
            result = ahead or await self._attempt(
                entry, case, way, last=last, known_lag_ms=known_lag_ms
            )
            result = self._unhidden(entry, replace(result, attempts=attempt))
            if (ended := await self.end.judged(result)) is not None:
                return ended
            if self._control is None or (refused_step and refused_step(result)):
                return result
            if (cause := passing_cause(result, self._revision)) is None:
                if result.outcome is not Outcome.UNKNOWN:
                    break
                await further.drop()
            elif failures.confirms(result, cause):
                return result
            elif cause in PASSING_AT_ONCE:
                further.begin(failures.missing)
        if (other := further.contradiction(self._is_proved)) is not None:
            return replace(other, attempts=attempt + 1)
        return failures.weigh(result)

    def _repeats_early(self, case: Plan) -> bool:
        """Tell if the repeats of a case begin beside its first attempt: where a list may cover it.

        A short one has its repeats soon enough after a failure.
        """
        is_long = self._pauses_ms(case, self.config, self.lag_ms) > _LONG_MS
        return case.id in self._listed.late or (is_long and self._listed.may_cover(case.id))

    def _unhidden(self, entry: Entry, result: CaseResult) -> CaseResult:
        """Return a pass as unknown where lag would hide the lateness that is listed for the case.

        So it is tried again when the target is calm.
        """
        if result.outcome is not Outcome.PASS or not self._listed.late.get(entry.id):
            return result
        if result.lag_ms <= LEAST_LAG_MS:
            return result
        why = f"its listed lateness would not be seen with {result.lag_ms} ms of lag"
        return replace(result, outcome=Outcome.UNKNOWN, message=why)

    def _goes_on(self, case: Plan, verdict: Verdict, recording: Recording) -> bool:
        """Tell if a case goes on behind a deviation: not where that alone is listed for it."""
        observed = signature(verdict, recording)
        result = CaseResult(
            case, Outcome.FAIL, case.level, "", observed, verdict=verdict, recording=recording
        )
        if self._listed.general(result.listed_rules(self._revision), observed) is not None:
            return False
        return not self._listed.is_all_of(case.id, observed)

    def _is_proved(self, result: CaseResult) -> bool:
        """Return True for a violation that nothing but the target explains."""
        return result.outcome is Outcome.FAIL and passing_cause(result, self._revision) is None

    async def _grade(self, result: CaseResult) -> CaseResult:
        work = partial(at_level, result, self._revision)
        graded, graded_s = timed(work) if self._control is None else await judged(work)
        return replace(graded, judged_s=result.judged_s + graded_s)

    async def _is_calm(self) -> bool:
        control = self._control
        return control is not None and await control.meter.calms_down(self.lag_ms, CALM_WITHIN_S)

    def _plan(self, entry: Entry, config: Config, way: SetUp | None = None) -> Plan:
        """Write the case for this target, with the usual set-up or another."""
        return entry.case(
            self._levels, delayed=bool(config.get(DELAY)), way=way or self.set_ups.usual
        )

    @asynccontextmanager
    async def _scope(self, case: Plan, settings: Config) -> AsyncIterator[AsyncCoordinator]:
        """Yield a coordinator for a case, as soon as its broker is up."""
        if isinstance(self._target, Configurable):
            scope = self._target.scope_with(case.id, ScopeNeeds.of_case(case, settings))
        else:
            scope = self._target.scope(case.id, isolated=case.isolated, restarts=case.restarts)
        with self.options.running.until_broker() as begins:
            async with scope as coordinator:
                begins()
                yield coordinator

    async def _attempt(
        self, entry: Entry, case: Plan, way: SetUp, *, last: bool = False, known_lag_ms: int = 0
    ) -> CaseResult:
        """Try a case of `run` once; written cases are not noted, as a search tries any number."""
        with self.end.under_way(case.id):
            return await self._once(entry, case, way, last=last, known_lag_ms=known_lag_ms)

    async def _once(
        self, entry: Entry, case: Plan, way: SetUp, *, last: bool = False, known_lag_ms: int = 0
    ) -> CaseResult:
        """Run and judge a case once, and time that."""
        began = time.monotonic()
        result = await self._run(entry, case, way, last=last, known_lag_ms=known_lag_ms)
        return replace(result, seconds=time.monotonic() - began)

    async def _run(
        self, entry: Entry, case: Plan, way: SetUp, *, last: bool, known_lag_ms: int
    ) -> CaseResult:
        try:
            settings = self._settings(entry)
            async with self._scope(case, settings) as coordinator:
                try:
                    config = await reset_for(self._revision, self.hello, coordinator, settings)
                except UnsupportedError as error:
                    return unsupported(case, f"the setting {error}")
                case = self._plan(entry, config, way)
                delayed = bool(config.get(DELAY))
                if entry.delayed is not None and entry.delayed is not delayed:
                    need = "an initial delay" if entry.delayed else "no initial delay"
                    return unsupported(case, f"{need} (group.initial.rebalance.delay.ms)")
                if (lacks := unmet_need(case, self.hello, config)) is not None:
                    return unsupported(case, lacks)
                async with self._watching(coordinator) as control:
                    return await self._run_and_judge(
                        case, coordinator, config, control, last=last, known_lag_ms=known_lag_ms
                    )
        except CoordinatorFailure as error:
            return failed(case, error)

    def _watching(
        self, coordinator: AsyncCoordinator
    ) -> AbstractAsyncContextManager[RunningControl | None]:
        """Return the control of the server that a case runs on."""
        if self._control is None or self.controls is None:
            return nullcontext(self._control)
        return self.controls.beside(coordinator, self._control)

    async def _run_and_judge(
        self,
        case: Plan,
        coordinator: AsyncCoordinator,
        config: Config,
        control: RunningControl | None,
        *,
        last: bool,
        known_lag_ms: int,
    ) -> CaseResult:
        calm = max(self.lag_ms, _RESTARTED_MS if case.restarts else 0)
        lag = 0
        if control is not None:
            least = min(_SPIKE_MS, max(calm, known_lag_ms))
            by_lag = partial(self._pauses_ms, case, config)
            lag = await control.meter.lag_to_plan_ms(least, _SPIKE_MS, by_lag)
        hints = self._target.hints
        if last:
            hints = replace(hints, patience_ms=max(hints.patience_ms, _LAST_PATIENCE_MS))
        goes_on = self.options.goes_on
        run = CaseRun(
            case,
            coordinator,
            self.hello,
            config,
            self._revision,
            lag,
            hints,
            persists=self.options.persists,
            eager=self.options.eager,
            follows=self.options.follows,
            goes_on=partial(self._goes_on, case) if goes_on else None,
            lag_since=lambda since: _allowed_ms(control, since),
        )
        began = time.monotonic()
        run.recording.coordinator = coordinator_of(self.options.known_as or self._target.name)
        run.recording.calm_ms = min(_SPIKE_MS, calm)
        try:
            with self.options.running.for_s(0.0 if control is None else run.pauses_ms / 1000):
                recording = await run.run()
        except (CaseUnsupportedError, UnsupportedError) as error:
            return unsupported(case, str(error))
        except CoordinatorFailure as error:
            result = failed(case, error)
            return (
                result
                if control is None
                else await excused_by_control(result, control.meter, began)
            )
        # On a virtual clock nothing is late, so the verdict of the oracle that listened is final.
        meter = None if control is None else control.meter

        def judge() -> Verdict:
            return run.verdict() if meter is None else verdict_of(recording, self._revision, meter)

        verdict, judged_s = timed(judge) if control is None else await judged(judge)
        if control is not None and rests_on_lateness(verdict):
            # The next timeout of the control member decides whether it counts.
            await control.meter.timers_tried(recording.ended, control.round_s + _PATIENCE_S)
            verdict, again_s = await judged(judge)
            judged_s += again_s
        if control is not None and verdict.violation is not None:
            if recording.moved and isinstance(coordinator, Located):
                recording.sent_away = await coordinator.stays()
            moved = control.meter.has_moved(recording.began, recording.ended)
            if not recording.moved:
                moved = moved or await is_loading(coordinator, self.hello, recording)
            recording.moved = moved or (recording.moved and not recording.sent_away)
        if control is not None and verdict.withheld:
            cleaned, again_s = await judged(
                partial(explained_by_cleaner, recording, self._revision)
            )
            recording.cleaned = cleaned
            judged_s += again_s
        whole = None
        violation = None if recording.moved or not goes_on else verdict.violation
        if violation is not None and self._goes_on(case, verdict, recording):
            if meter is not None:
                self._meters[id(recording)] = meter
            whole, recording = recording, recording.until(violation)
        result = case_result(case, recording, verdict, self._revision)
        result = replace(result, whole=whole)
        if control is not None and is_cut_off(result):
            result = await excused_by_control(result, control.meter, began)
        return replace(result, judged_s=judged_s)

    def _pauses_ms(self, case: Plan, config: Config, lag_ms: int) -> int:
        """Return the sum of the pauses of a case that allows for this lag, in ms."""
        hints = self._target.hints
        times = times_for(config, lag_ms=lag_ms, session_ms=hints.session_ms, tick_ms=hints.tick_ms)
        return pauses_ms(case, times)


def _allowed_ms(control: RunningControl | None, since: float) -> int:
    return 0 if control is None else lag_to_allow_ms(control.meter, since, time.monotonic())
