"""Search a client: run drawn scenarios, and shrink and confirm what is violated.

The reference client is in the loop: it runs each scenario that shows a violation, too, and what it
does as well is held against nobody.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from fencepost.conformance.cases.clients.scenario import Scenario
from fencepost.conformance.clients.certify_client import OfObligation
from fencepost.conformance.clients.client_registry import find_client
from fencepost.conformance.clients.driver_pool import DriverPool
from fencepost.conformance.clients.driver_programs import Client
from fencepost.conformance.clients.scenario_run import ScenarioRun
from fencepost.conformance.clients.stage import Stage
from fencepost.conformance.runtime.event_loop import side_by_side
from fencepost.conformance.search.clients.scenario_grammar import drawn
from fencepost.conformance.search.clients.shrink_scenario import shortest
from fencepost.properties.requirements.client_verdict import Finding, Verdict
from fencepost.properties.requirements.driver_messages import Introduction
from fencepost.properties.requirements.evidence import Evidence
from fencepost.properties.requirements.judges import judge
from fencepost.properties.requirements.requirements import OBLIGATIONS
from fencepost.traces.report.known_failures import KnownFailure

CONFIRMATIONS = 3
_REFERENCE = "reference"

_NEED_CALM = {
    "CLIENT-JOIN-CUT",
    "CLIENT-JOIN-LOST-ANSWER",
    "CLIENT-CLOSE-BROKER-GONE",
    "CLIENT-LEADER-WHOLE",
    "CLIENT-LEADER-INSTANCES",
    "CLIENT-STREAMS-ROLLED",
}
"""Obligations, besides those of the area RESTART, whose judges take it for granted that nothing
else goes wrong in their scenarios."""

_CALM = {"poll-on", "relent", "produce"}
"""What may be done while something is waited for, and changes nothing of it."""

JUDGED = tuple(
    name for name, row in OBLIGATIONS.items() if row.area != "RESTART" and name not in _NEED_CALM
)
"""The obligations that any scenario is judged by."""


@dataclass(frozen=True, slots=True)
class ClientFinding(OfObligation):
    """A violation that was found.

    `number`: of the scenario that was drawn, with `acts` acts; `scenario`: the shortest.  `seen`:
    in how many of `runs` runs of it.  `why`: the reason, if it is known.
    """

    obligation: str
    observed: str
    message: str
    number: int
    acts: int
    scenario: Scenario
    evidence: Evidence
    at_ms: float | None
    seen: int = 1
    runs: int = 1
    why: str = ""

    @property
    def is_confirmed(self) -> bool:
        """Whether each run of the shortest scenario showed it."""
        return self.seen == self.runs >= CONFIRMATIONS


@dataclass(slots=True)
class ClientSearch:
    """What a search came to.

    `broken`: how many scenarios broke off.  `excused`: what the reference client did, too, as
    obligation and scenario.
    """

    introduction: Introduction
    scenarios: int = 0
    broken: int = 0
    findings: list[ClientFinding] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)


class ClientFuzzer:
    """Searches one client on served brokers, while it is open (`async with`).

    `jobs`: scenarios side by side; `tries`: the most runs to shrink one finding.  `known`: what is
    listed, which is neither shrunk nor confirmed.
    """

    def __init__(self, client: Client, stage: Stage, *, jobs: int, tries: int) -> None:
        self._pools = {client.name: DriverPool(client)}
        self._pools.setdefault(_REFERENCE, DriverPool(find_client(_REFERENCE)))
        self._client = client.name
        self._stage = stage
        self._places = asyncio.Semaphore(jobs)
        self._tries = tries
        self._runs = itertools.count(1)
        self.known: Sequence[KnownFailure] = ()

    async def __aenter__(self) -> Self:
        """Nothing is started yet."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all processes."""
        for pool in self._pools.values():
            await pool.__aexit__()

    async def introduction(self) -> Introduction:
        """What the client says that it is.  Raises TargetUnavailableError."""
        driver = await self._pools[self._client].take()
        await self._pools[self._client].give_back(driver, clean=True)
        return driver.introduction

    async def search(self, seed: int, numbers: Iterable[int]) -> ClientSearch:
        """Run the scenarios of these numbers, and look into what they show.

        Raises TargetUnavailableError.
        """
        introduction = await self.introduction()
        result = ClientSearch(introduction)
        scenarios = {number: drawn(seed, number, introduction) for number in numbers}
        ran = await side_by_side(self._run(self._client, one) for one in scenarios.values())
        first: dict[tuple[str, str], ClientFinding] = {}
        for (number, scenario), evidence in zip(scenarios.items(), ran, strict=True):
            result.scenarios += 1
            result.broken += bool(evidence.broken)
            for name, verdict in _violations(evidence):
                found = _finding(name, verdict, number, scenario, evidence)
                first.setdefault((name, verdict.observed), found)
        for found in first.values():
            if (examined := await self.examined(found)) is None:
                result.excused.append(found.id)
            else:
                result.findings.append(examined)
        return result

    async def replayed(self, obligation: str, scenario: Scenario) -> ClientSearch:
        """Run a scenario some times; what it shows of one obligation."""
        result = ClientSearch(await self.introduction(), scenarios=1)
        shown = []
        for _ in range(CONFIRMATIONS):
            evidence = await self._run(self._client, scenario)
            if (verdict := _violation(obligation, evidence)) is not None:
                shown.append(_finding(obligation, verdict, 0, scenario, evidence))
        if shown:
            seen = sum(one.observed == shown[0].observed for one in shown)
            result.findings.append(replace(shown[0], seen=seen, runs=CONFIRMATIONS))
        return result

    async def examined(self, found: ClientFinding) -> ClientFinding | None:
        """Shrink and confirm a finding; None: the reference client does the same."""
        entry = next((e for e in self.known if _is_listed(e, found)), None)
        if entry is not None:
            return replace(found, why=f"{entry.why} ({entry.link})")
        if await self._reference_does(found.obligation, found.scenario):
            return None

        async def shows(scenario: Scenario) -> bool:
            evidence = await self._run(self._client, scenario)
            verdict = _violation(found.obligation, evidence)
            return verdict is not None and verdict.observed == found.observed

        small = await shortest(found.scenario, shows, self._tries)
        if small != found.scenario and await self._reference_does(found.obligation, small):
            small = found.scenario
        return await self._confirmed(found, small)

    async def _confirmed(self, found: ClientFinding, scenario: Scenario) -> ClientFinding:
        """A finding in a scenario that was run some times more."""
        shown, seen = found, 0
        for _ in range(CONFIRMATIONS):
            evidence = await self._run(self._client, scenario)
            verdict = _violation(found.obligation, evidence)
            if verdict is not None and verdict.observed == found.observed:
                seen += 1
                shown = _finding(found.obligation, verdict, found.number, scenario, evidence)
        return replace(shown, acts=found.acts, seen=seen, runs=CONFIRMATIONS)

    async def _reference_does(self, obligation: str, scenario: Scenario) -> bool:
        if self._client == _REFERENCE:
            return False
        evidence = await self._run(_REFERENCE, scenario)
        return judge(obligation, evidence).finding is Finding.VIOLATED

    async def _run(self, client: str, scenario: Scenario) -> Evidence:
        async with self._places, self._stage.open(scenario) as place:
            label = f"{scenario.id}/{next(self._runs)}"
            return await ScenarioRun(scenario, place, self._pools[client], label).run()


def _violations(evidence: Evidence) -> list[tuple[str, Verdict]]:
    verdicts = ((name, _violation(name, evidence)) for name in JUDGED)
    return [(name, verdict) for name, verdict in verdicts if verdict is not None]


def _violation(name: str, evidence: Evidence) -> Verdict | None:
    """What a judge says is violated; None also where it waited while something else was done."""
    verdict = judge(name, evidence)
    if verdict.finding is not Finding.VIOLATED:
        return None
    began_ms, ended_ms = verdict.waited or (0.0, 0.0)
    others = (deed for deed in evidence.deeds if deed.name not in _CALM)
    return None if any(began_ms < d.began_ms < ended_ms for d in others) else verdict


def _finding(
    name: str, verdict: Verdict, number: int, scenario: Scenario, evidence: Evidence
) -> ClientFinding:
    return ClientFinding(
        name,
        verdict.observed,
        verdict.sentence,
        number,
        len(scenario.acts),
        scenario,
        evidence,
        verdict.at_ms,
    )


def _is_listed(entry: KnownFailure, found: ClientFinding) -> bool:
    return entry.rule == found.obligation and entry.shows_as(found.observed)
