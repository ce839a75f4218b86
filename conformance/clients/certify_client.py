"""Hold a client to its obligations: run scenarios side by side, judge, repeat, and decide.

A case is an obligation in a scenario.  It passes when one run shows that it holds.  A violation
counts only when a second run shows it, too; an unknown case is tried again.

Where no consumer has started yet and one doesn't, a plain start is tried, without provocations.  If
that fails, too, so would all scenarios, and the run ends at once.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.conformance.cases.clients.scenario import Scenario
from fencepost.conformance.cases.clients.scenario_catalogue import (
    SCENARIOS,
    count_cases,
    matching_scenarios,
)
from fencepost.conformance.clients.driver import DriverPool
from fencepost.conformance.clients.driver_programs import Client
from fencepost.conformance.clients.scenario_run import ScenarioRun, assignor_in
from fencepost.conformance.clients.stage import Stage, open_stage
from fencepost.conformance.runtime.event_loop import side_by_side
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.model.coordinator import Provenance
from fencepost.model.history.words import plural
from fencepost.model.plans.steps import Start
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.judging.report import apply
from fencepost.properties.requirements.driver_messages import Introduction
from fencepost.properties.requirements.evidence import Evidence
from fencepost.properties.requirements.requirement import Verdict
from fencepost.properties.requirements.requirements import judge
from fencepost.traces.files.bounded import all_versions
from fencepost.traces.files.known_failure_lists import CLIENT_FOLDER, load
from fencepost.traces.report.client_certificate import (
    ClientCase,
    ClientCertificate,
    ClientResult,
)

JOBS = 6
ATTEMPTS = 3
_CONFIRMED = 2
"""Runs that must show a violation."""

_START = "start"
_PLAIN_STARTS = (
    Scenario("plain-start", "A dynamic member is started.", (), (Start("a"),), needs=()),
    Scenario("plain-static-start", "A static member is started.", (), (Start("a", "i-1"),)),
)

Progress = Callable[[ClientResult], None]


@dataclass(slots=True)
class _CaseRuns:
    """The verdicts of a case so far, each with its run."""

    verdicts: list[tuple[Verdict, Evidence]] = field(default_factory=list)

    def is_decided(self) -> bool:
        """Return True if another run would change nothing."""
        count = Counter(verdict.outcome for verdict, _ in self.verdicts)
        bad = count[Outcome.FAIL]
        if count[Outcome.UNSUPPORTED] or bad >= _CONFIRMED:
            return True
        return bad == 0 and count[Outcome.PASS] > 0

    def is_intermittent(self) -> bool:
        """Return True if some runs showed a violation, and others none."""
        bad = sum(verdict.outcome is Outcome.FAIL for verdict, _ in self.verdicts)
        return 0 < bad < len(self.verdicts)

    def decision(self) -> tuple[Outcome, Verdict, Evidence, tuple[str, ...]]:
        """Return the outcome, the run that shows it, and notes about the others."""
        bad = [(v, evidence) for v, evidence in self.verdicts if v.outcome is Outcome.FAIL]
        runs = len(self.verdicts)
        if len(bad) >= _CONFIRMED:
            others = {v.observed for v, _ in bad} - {bad[0][0].observed}
            notes = [f"seen in {len(bad)} of {runs} runs"] if len(bad) < runs else []
            notes += [f"another run showed: {observed}" for observed in sorted(others)]
            return Outcome.FAIL, *bad[0], tuple(notes)
        if bad:
            note = f"one of {runs} runs showed: {bad[0][0].sentence}"
            return Outcome.UNKNOWN, *bad[0], (note,)
        for outcome in (Outcome.UNSUPPORTED, Outcome.PASS):
            for verdict, evidence in self.verdicts:
                if verdict.outcome is outcome:
                    return outcome, verdict, evidence, ()
        return Outcome.UNKNOWN, *self.verdicts[-1], ()


class ClientCertifier:
    """Scenarios against one client on one kind of broker."""

    def __init__(
        self,
        client: Client,
        stage: Stage,
        *,
        jobs: int = JOBS,
        attempts: int = ATTEMPTS,
        keeps_traces: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._client = client
        self._pool = DriverPool(client)
        self._stage = stage
        self._places = asyncio.Semaphore(jobs)
        self._attempts = attempts
        self._keeps_traces = keeps_traces
        self._progress = progress
        self._starts = False
        self._one_trial = asyncio.Lock()
        self.introduction: Introduction

    async def run(self, scenarios: Sequence[Scenario]) -> list[ClientResult]:
        """Run all cases; return their results in the order of the scenarios.

        Raises TargetUnavailableError.
        """
        async with self._pool:
            driver = await self._pool.take()
            self.introduction = driver.introduction
            await self._pool.give_back(driver, clean=True)
            results = await side_by_side(map(self._scenario, scenarios))
        return [result for of_scenario in results for result in of_scenario]

    async def _scenario(self, scenario: Scenario) -> list[ClientResult]:
        lacks = self._lacks(scenario)
        if lacks:
            results = [
                ClientResult(case, Outcome.UNSUPPORTED, case.level, lacks, attempts=0)
                for case in (ClientCase(name, scenario) for name in scenario.obligations)
            ]
        else:
            async with self._places:
                results = await self._try(scenario)
        for result in results:
            if self._progress is not None:
                self._progress(result)
        return results

    def _lacks(self, scenario: Scenario) -> str:
        """Name what the client or the broker lacks for a scenario; "" for nothing."""
        features = [need for need in scenario.needs if need not in self.introduction.features]
        if features:
            return f"{self.introduction.client} has no {' and no '.join(features)}"
        if scenario.assignor and assignor_in(self.introduction, scenario.assignor) is None:
            return f"{self.introduction.client} has no assignor {scenario.assignor}"
        if scenario.is_provoking and not self._stage.provokes:
            return f"{self._stage.name} injects no faults; use `--broker serve`"
        return ""

    async def _try(self, scenario: Scenario) -> list[ClientResult]:
        cases: Mapping[str, _CaseRuns] = {name: _CaseRuns() for name in scenario.obligations}
        attempt = 0
        while attempt < self._attempts and not all(c.is_decided() for c in cases.values()):
            attempt += 1
            evidence = await self._run(scenario, attempt)
            for name, case in cases.items():
                if not case.is_decided():
                    case.verdicts.append((judge(name, evidence), evidence))
        return [self._result(name, scenario, case) for name, case in cases.items()]

    async def _run(self, scenario: Scenario, attempt: int) -> Evidence:
        async with self._stage.open(scenario) as place:
            label = f"{scenario.id}/{attempt}"
            evidence = await ScenarioRun(scenario, place, self._pool, label).run()
        if not self._starts:
            async with self._one_trial:
                await self._see_if_it_starts(evidence)
        return evidence

    async def _see_if_it_starts(self, evidence: Evidence) -> None:
        """Note that consumers start; raise TargetUnavailableError if none ever does."""
        self._starts = self._starts or _has_started(evidence)
        why: list[str] = []
        for plain in _PLAIN_STARTS:
            if self._starts or self._lacks(plain):
                continue
            async with self._stage.open(plain) as place:
                tried = await ScenarioRun(plain, place, self._pool, plain.id).run()
            self._starts = _has_started(tried)
            why += [action.message for action in tried.actions] or [tried.broken]
        if not self._starts:
            raise TargetUnavailableError(f"{self._client.name} starts no consumer: {why[0]}")

    def _result(self, name: str, scenario: Scenario, runs: _CaseRuns) -> ClientResult:
        outcome, verdict, evidence, notes = runs.decision()
        case = ClientCase(name, scenario)
        return ClientResult(
            case=case,
            outcome=outcome,
            level=case.level,
            message=verdict.sentence,
            observed=verdict.observed,
            attempts=len(runs.verdicts),
            notes=notes,
            intermittent=outcome is Outcome.FAIL and runs.is_intermittent(),
            evidence=evidence,
            at_ms=verdict.at_ms,
            keeps_trace=self._keeps_traces,
        )


def _has_started(evidence: Evidence) -> bool:
    return any(act.name == _START and act.outcome == "ok" for act in evidence.actions)


async def certificate_of(
    client: Client,
    broker: str,
    revision: Revision,
    *,
    patterns: Sequence[str] = (),
    own: Mapping[str, Scenario] | None = None,
    level: Level = Level.SHOULD,
    jobs: int = JOBS,
    known_failures: Sequence[Path] | None = (),
    keeps_traces: bool = False,
    progress: Progress | None = None,
) -> ClientCertificate:
    """Hold a client to its obligations.

    `broker`: `serve`, or a target.  `patterns`: of cases, obligations or scenarios: only these.
    `own`: scenarios to run instead of the catalogue's.
    `known_failures`: lists beside the shipped one; None: no list at all.  `keeps_traces`: the
    report has traces of what passes, too.

    Raises NoScenarioError, KnownFailuresError, UnknownTargetError and TargetUnavailableError.
    """
    began = time.monotonic()
    among = SCENARIOS if own is None else own
    scenarios = matching_scenarios(patterns, among)
    notes: tuple[str, ...] = ()
    if own is not None:
        others = plural(count_cases(SCENARIOS), "case")
        notes = (f"scenarios from a file: the catalogue's {others} were not run",)
    async with open_stage(broker, revision) as stage:
        certifier = ClientCertifier(
            client, stage, jobs=jobs, keeps_traces=keeps_traces, progress=progress
        )
        results = tuple(await certifier.run(list(scenarios.values())))
    introduction = certifier.introduction
    if known_failures is not None:
        known = load(client.name, introduction.version, known_failures, folder=CLIENT_FOLDER)
        results = apply(results, known, revision)
    return ClientCertificate(
        provenance=Provenance(client.name, introduction.client, introduction.version),
        introduction=introduction,
        broker=broker,
        revision=revision.name,
        results=results,
        level=level,
        versions=all_versions(),
        seconds=time.monotonic() - began,
        notes=notes,
        not_selected=count_cases(among) - count_cases(scenarios),
    )
