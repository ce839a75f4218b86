"""Search a client: run drawn scenarios, and shrink and confirm what is violated.

The reference client is in the loop: it runs each scenario that shows a violation, too, and what it
does as well is held against nobody.

Draw scenarios at random: what may follow what, so that each makes sense.

A few consumers are started and settle; then things go wrong or are done to them; at the end all is
left in peace, and they have the time to come back.  The same seed and number give the same scenario
for the same library.

Make a scenario shorter, as long as it still shows the same.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

import msgspec

from fencepost.conformance.cases.clients.scenario import (
    InjectFaults,
    Read,
    Scenario,
    ScenarioStep,
    Setting,
    Settled,
    Until,
    client_id,
    process_of,
)
from fencepost.conformance.cases.clients.scenario_catalogue import RESTART_ASSIGNORS
from fencepost.conformance.cases.clients.scenario_parts import passed
from fencepost.conformance.clients.driver import DriverPool
from fencepost.conformance.clients.driver_programs import Client, find_client
from fencepost.conformance.clients.scenario_run import ScenarioRun, assignor_in
from fencepost.conformance.clients.stage import Stage
from fencepost.conformance.search.findings.confirm import (
    CONFIRMATIONS,
    Finding,
    confirm,
    examine,
)
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.plans.steps import (
    ClearFaults,
    Close,
    Commit,
    Crash,
    ExpireSession,
    Failover,
    Loading,
    Produce,
    RemoveMember,
    ResumePolling,
    Settings,
    Start,
    StopPolling,
    Subscribe,
    Unavailable,
    Unsubscribe,
)
from fencepost.properties.checking.shrinking import (
    EditStage,
    Minimal,
    Reproducer,
    Shrinking,
    numbered,
    shrink,
)
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.driver_messages import Introduction
from fencepost.properties.requirements.evidence import FIND, LEAVE, MEMBER_APIS, Evidence
from fencepost.properties.requirements.requirement import Verdict
from fencepost.properties.requirements.requirements import REQUIREMENTS, judge
from fencepost.properties.workers.processes import Stop
from fencepost.traces.report.client_certificate import ClientCase, ClientResult

R = TypeVar("R")

_NAMES = ("a", "b", "c")
_RIVAL = "rival"
_BEGIN_MS, _LEAST_MS, _END_MS = 12_000, 4000, 10_000
_STEPS = range(2, 7)
_PAUSES_MS = (300, 800, 1500)
_OUTAGES_MS = (500, 1500)
_LATE_MS = (200, 1000, 3000)
_TROUBLES = (Action.LOSE, Action.CUT, Action.DELAY, Action.THROTTLE, Action.HOLD)

_JOIN_MS = 1000
"""Time in which a member that is told of a rebalance by a heartbeat has joined again."""

_OF_RESTARTS = 0.25
"""Part of the scenarios that are about restarts and leaders, for a library with static members."""

_REBALANCE = "REBALANCE_IN_PROGRESS"
_MOVING = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS")
_LOST = ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID")
_ERRORS = {
    "JoinGroup": (*_LOST, *_MOVING),
    "SyncGroup": (*_LOST, "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", *_MOVING),
    "Heartbeat": (*_LOST, "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", *_MOVING),
    "OffsetCommit": (*_LOST, "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", *_MOVING),
}
"""Errors that a broker may answer to each request."""


@dataclass(slots=True)
class _Draft:
    """A scenario so far: its acts, who runs, and what the library can do."""

    dice: random.Random
    features: frozenset[str]
    nodes: int
    instances: dict[str, str | None] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)
    acts: list[ScenarioStep] = field(default_factory=list)

    def start(self, name: str) -> None:
        self.runs[name] = self.runs.get(name, 0) + 1
        self.running.append(name)
        self.acts.append(Start(name, self.instances[name], settings=self.settings))

    def anyone(self) -> str:
        return self.dice.choice(self.running)

    def settled(self, within_ms: int, *, needed: bool = False) -> None:
        self.acts.append(Until(Settled(tuple(self.running)), within_ms, needed))


def drawn(seed: int, number: int, introduction: Introduction) -> Scenario:
    """Draw the scenario of this number, for a library with these features and assignors."""
    dice = random.Random(f"{seed}/{number}")  # noqa: S311  (no secret)
    features = frozenset(introduction.features)
    assignors = [name for name in RESTART_ASSIGNORS if assignor_in(introduction, name) is not None]
    nodes = dice.choice((1, 1, 2))
    draft = _Draft(dice, features, nodes)
    if "auto-commit" in features and dice.random() < 0.5:
        draft.settings = Settings(auto_commit_ms=300)
    is_static = "static" in features
    is_of_restarts = is_static and dice.random() < _OF_RESTARTS
    names = _NAMES[: dice.choice((2, 3, 3) if is_of_restarts else (1, 2, 2, 3))]
    for name in names:
        has_instance = is_static and (is_of_restarts or dice.random() < 0.85)
        draft.instances[name] = f"i-{name}" if has_instance else None
    draft.acts.append(Produce())
    for name in names:
        draft.start(name)
    draft.settled(_BEGIN_MS, needed=True)
    for _ in range(dice.choice(_STEPS)):
        steps = _calm_steps(draft) if is_of_restarts else _possible(draft)
        dice.choices([step for step, _ in steps], [weight for _, weight in steps])[0](draft)
        if is_of_restarts:
            draft.settled(_END_MS)
    draft.acts.append(ClearFaults())
    draft.acts += [ResumePolling(name) for name in draft.running]
    draft.settled(_END_MS)
    draft.acts.append(passed(500))
    return Scenario(
        f"drawn-{seed}-{number}",
        f"Drawn with seed {seed}, number {number}.",
        (),
        tuple(draft.acts),
        needs=(),
        assignor=dice.choice(assignors) if assignors else None,
        broker=Setting(as_of=dice.choice((None, None, None, "3.1")), nodes=nodes),
    )


_Step = Callable[[_Draft], None]


def _possible(draft: _Draft) -> Sequence[tuple[_Step, int]]:
    """List the steps that make sense now, with their weights."""
    steps: list[tuple[_Step, int]] = [
        (_error, 6),
        (_trouble, 3),
        (_restart, 2),
        (_crash, 1),
        (_outage, 1),
        (_produce, 1),
        (_read, 2),
        (_pause, 2),
        (_settle, 2),
        (_stop_polling, 1),
        (_unsubscribe, 1),
    ]
    if "manual-commit" in draft.features:
        steps.append((_commit, 2))
    if draft.nodes > 1:
        steps.append((_move, 2))
    if any(draft.instances[name] is not None for name in draft.running):
        steps += [(_remove, 2)]
        if _RIVAL not in draft.runs:
            steps.append((_rival, 1))
    return steps


def _calm_steps(draft: _Draft) -> Sequence[tuple[_Step, int]]:
    """List the steps of a scenario about restarts and leaders, in which nothing else goes wrong."""
    steps: list[tuple[_Step, int]] = [(_restart, 5), (_crash, 2), (_join_again, 2), (_read, 1)]
    if "manual-commit" in draft.features:
        steps.append((_commit, 1))
    return steps


def _join_again(draft: _Draft) -> None:
    """Make a member join again, as a rebalance does."""
    again = Provocation("Heartbeat", Action.ERROR, _who(draft), code=_REBALANCE)
    draft.acts.append(InjectFaults((again,)))
    draft.acts.append(passed(_JOIN_MS))


def _error(draft: _Draft) -> None:
    api = draft.dice.choice(list(_ERRORS))
    code = draft.dice.choice(_ERRORS[api])
    last = draft.dice.choice((1, 1, 3))
    draft.acts.append(
        InjectFaults((Provocation(api, Action.ERROR, _who(draft), last=last, code=code),))
    )


def _trouble(draft: _Draft) -> None:
    api = draft.dice.choice(list(_ERRORS))
    action = draft.dice.choice(_TROUBLES)
    ms = 0 if action is Action.LOSE else draft.dice.choice(_LATE_MS)
    draft.acts.append(InjectFaults((Provocation(api, action, _who(draft), ms=ms),)))


def _who(draft: _Draft) -> str:
    name = draft.anyone()
    return client_id(name, draft.runs[name])


def _restart(draft: _Draft) -> None:
    name = draft.anyone()
    draft.acts.append(Close(name))
    draft.running.remove(name)
    draft.start(name)


def _crash(draft: _Draft) -> None:
    name = draft.anyone()
    draft.acts.append(Crash(name))
    draft.running.remove(name)
    draft.start(name)


def _rival(draft: _Draft) -> None:
    """Start another process with the instance id of one that runs."""
    static = [name for name in draft.running if draft.instances[name] is not None]
    draft.instances[_RIVAL] = draft.instances[draft.dice.choice(static)]
    draft.start(_RIVAL)
    _pause(draft)


def _remove(draft: _Draft) -> None:
    static = [name for name in draft.running if draft.instances[name] is not None]
    draft.acts.append(draft.dice.choice((RemoveMember, ExpireSession))(draft.dice.choice(static)))


def _move(draft: _Draft) -> None:
    draft.acts.append(Failover())


def _outage(draft: _Draft) -> None:
    kind = draft.dice.choice((Loading, Unavailable))
    draft.acts.append(kind(draft.dice.choice(_OUTAGES_MS)))


def _produce(draft: _Draft) -> None:
    draft.acts.append(Produce())


def _read(draft: _Draft) -> None:
    """Append records, wait until one of the users has read some, and mostly commit them."""
    name = draft.anyone()
    draft.acts += [Produce(), Until(Read(name), _LEAST_MS)]
    if "manual-commit" in draft.features and draft.dice.random() < 0.7:
        draft.acts.append(Commit(name))


def _commit(draft: _Draft) -> None:
    draft.acts.append(Commit(draft.anyone()))


def _stop_polling(draft: _Draft) -> None:
    name = draft.anyone()
    draft.acts += [StopPolling(name), passed(draft.dice.choice(_PAUSES_MS)), ResumePolling(name)]


def _unsubscribe(draft: _Draft) -> None:
    name = draft.anyone()
    draft.acts += [Unsubscribe(name), passed(draft.dice.choice(_PAUSES_MS)), Subscribe(name)]


def _pause(draft: _Draft) -> None:
    draft.acts.append(passed(draft.dice.choice(_PAUSES_MS)))


def _settle(draft: _Draft) -> None:
    draft.settled(_LEAST_MS)


_HARMLESS = (Start, Close, Crash, Produce, Commit, ClearFaults, ResumePolling, Until)


def is_calm(scenario: Scenario) -> bool:
    """Tell if nothing goes wrong but restarts of static members and rebalances, one at a time.

    The group is settled before each of them and after the last one.
    """
    is_settled = False
    gone = ""
    begun: set[str] = set()
    for act in scenario.acts:
        match act:
            case Until(condition=Settled()):
                is_settled = True
            case Start(consumer=consumer, instance=instance):
                if instance is None or (consumer in begun) != (consumer == gone):
                    return False
                begun.add(consumer)
                gone, is_settled = "", False
            case Close(consumer=name) | Crash(process=name):
                if not is_settled:
                    return False
                gone, is_settled = name, False
            case InjectFaults(provocations=provocations):
                if not is_settled or not all(map(_asks_to_join, provocations)):
                    return False
                is_settled = False
            case _:
                if not isinstance(act, _HARMLESS):
                    return False
        if gone and not isinstance(act, Close | Crash):
            return False
    return is_settled


def _asks_to_join(provocation: Provocation) -> bool:
    return (provocation.api, provocation.code, provocation.until) == ("Heartbeat", _REBALANCE, 1)


def makes_sense(scenario: Scenario) -> bool:
    """Tell if every consumer that is named runs then, and none is started twice."""
    running: dict[str, str] = {}
    for act in scenario.acts:
        match act:
            case Start(consumer=consumer):
                if consumer in running:
                    return False
                running[consumer] = process_of(act)
            case Crash(process=process):
                gone = [name for name, of in running.items() if of == process]
                if not gone:
                    return False
                for name in gone:
                    del running[name]
            case _:
                if not _named(act) <= set(running):
                    return False
                if isinstance(act, Close):
                    del running[act.consumer]
    return any(isinstance(act, Start) for act in scenario.acts)


def _named(act: ScenarioStep) -> set[str]:
    subject = act.condition if isinstance(act, Until) else act
    if isinstance(subject, Settled):
        return set(subject.consumers)
    name = getattr(subject, "consumer", None)
    return set() if name is None else {name}


def smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Yield scenarios that are a bit smaller, those that save most first; not all make sense."""
    names = dict.fromkeys(act.consumer for act in scenario.acts if isinstance(act, Start))
    for name in names:
        yield _without(scenario, name)
    size = len(scenario.acts) // 2
    while size:
        for begin in range(len(scenario.acts) - size, -1, -size):
            yield _with(scenario, scenario.acts[:begin] + scenario.acts[begin + size :])
        size //= 2
    for changed in (
        msgspec.structs.replace(scenario, broker=Setting()),
        msgspec.structs.replace(scenario, assignor=None),
    ):
        if changed != scenario:
            yield changed
    for index, act in enumerate(scenario.acts):
        if (plain := _plainer(act)) != act:
            yield _with(scenario, (*scenario.acts[:index], plain, *scenario.acts[index + 1 :]))


def _with(scenario: Scenario, acts: tuple[ScenarioStep, ...]) -> Scenario:
    return msgspec.structs.replace(scenario, acts=acts)


def _without(scenario: Scenario, name: str) -> Scenario:
    """Leave out one of the consumers."""
    kept: list[ScenarioStep] = []
    for act in scenario.acts:
        if isinstance(act, Until) and isinstance(act.condition, Settled):
            rest = tuple(other for other in act.condition.consumers if other != name)
            if rest:
                kept.append(msgspec.structs.replace(act, condition=Settled(rest)))
        elif name not in _named(act) and not (isinstance(act, Crash) and act.process == name):
            kept.append(act)
    return _with(scenario, tuple(kept))


def _plainer(act: ScenarioStep) -> ScenarioStep:
    """Make an act ask for less, or return it as it is."""
    match act:
        case Start(settings=settings) if settings != Settings():
            return msgspec.structs.replace(act, settings=Settings())
        case InjectFaults(provocations=provocations):
            once = (msgspec.structs.replace(p, last=msgspec.UNSET) for p in provocations)
            return InjectFaults(tuple(once))
    return act


def shrinking_scenario(first: Reproducer[Scenario, R], *, tries: int) -> Shrinking[Scenario, R]:
    """Begin to shrink a scenario, one run after the other."""

    def sensible(scenario: Scenario) -> Iterator[Scenario]:
        return filter(makes_sense, smaller(scenario))

    def stages(_: Scenario) -> list[EditStage[Scenario]]:
        return [EditStage([numbered(sensible)])]

    return Shrinking(first, stages, lambda scenario: scenario, tries=tries)


_REFERENCE = "reference"

_CALM = {"poll-on", "relent", "produce"}
"""Actions that change nothing of what a judge waits for."""

JUDGED = tuple(name for name, row in REQUIREMENTS.items() if not row.needs_calm)
"""The obligations that any scenario is judged by."""

CALM_AREAS = ("RESTART", "LEADER")
CALM = tuple(
    name for name, row in REQUIREMENTS.items() if row.needs_calm and row.area in CALM_AREAS
)
"""The obligations that a scenario is judged by in which nothing else goes wrong."""


@dataclass(frozen=True, slots=True)
class ClientFinding(Finding[Scenario, ClientResult, tuple[str, str]]):
    """A violated requirement, by the shortest scenario; `number`: of the one that was drawn."""

    number: int = 0


@dataclass(slots=True)
class ClientSearch:
    """The result of a search.

    `broken`: the number of scenarios that broke off; `excused`: violations that the reference
    client shows, too, as requirement and scenario.  `is_cut_short`: it was asked to end early.
    """

    introduction: Introduction
    scenarios: int = 0
    broken: int = 0
    findings: list[ClientFinding] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)
    is_cut_short: bool = False


class SearchListener:
    """A listener to the events of a search; what it doesn't define does nothing."""

    def violated(self, finding: ClientFinding) -> None:
        """Take what a scenario showed, before it is shrunk and confirmed."""

    def examined(self, finding: ClientFinding) -> None:
        """Take a finding in its last form."""


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
        self._jobs = jobs
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
        """Return the introduction of the client.  Raises TargetUnavailableError."""
        driver = await self._pools[self._client].take()
        await self._pools[self._client].give_back(driver, clean=True)
        return driver.introduction

    async def search(
        self,
        seed: int,
        numbers: Iterable[int],
        *,
        stop: Stop | None = None,
        seconds: float | None = None,
        listener: SearchListener | None = None,
    ) -> ClientSearch:
        """Run the scenarios of these numbers, and look into what they show as it comes.

        `stop`: ends all of it early; what was not examined by then is reported as it was seen.
        `seconds`: no scenario is begun after that time.  Raises TargetUnavailableError.
        """
        stop, listener = stop or Stop(), listener or SearchListener()
        introduction = await self.introduction()
        result = ClientSearch(introduction)
        begun_s = time.monotonic()
        waiting = iter(numbers)
        fingerprints: set[tuple[str, str]] = set()

        async def look_into(finding: ClientFinding) -> None:
            done = await stop.cut(_as_list(self.examined(finding)))
            if done == [None]:
                result.excused.append(finding.result.case.id)
                return
            last = finding if done is None or done[0] is None else done[0]
            result.findings.append(last)
            listener.examined(last)

        async def work() -> None:
            for number in waiting:
                if seconds is not None and time.monotonic() - begun_s >= seconds:
                    return
                scenario = drawn(seed, number, introduction)
                evidence = await stop.cut(self._run(self._client, scenario))
                if evidence is None:
                    return
                result.scenarios += 1
                result.broken += bool(evidence.broken)
                for name, verdict in _violations(evidence, scenario):
                    failed = _result(name, verdict, scenario, evidence)
                    finding = _finding(failed, scenario, number)
                    if finding.fingerprint not in fingerprints:
                        fingerprints.add(finding.fingerprint)
                        listener.violated(finding)
                        group.create_task(look_into(finding))

        async with asyncio.TaskGroup() as group:
            for _ in range(self._jobs):
                group.create_task(work())
        result.findings.sort(key=lambda finding: (finding.number, finding.fingerprint))
        result.is_cut_short = stop.requested
        return result

    async def replayed(self, obligation: str, scenario: Scenario) -> ClientSearch:
        """Run a scenario some times; what it shows of one obligation."""
        result = ClientSearch(await self.introduction(), scenarios=1)
        results = await self._results(obligation, scenario, CONFIRMATIONS)
        failing = [result for result in results if result is not None]
        if failing:
            first = failing[0]
            failed = sum(other.observed == first.observed for other in failing)
            finding = _finding(first, scenario, 0)
            result.findings.append(replace(finding, failed=failed, runs=CONFIRMATIONS))
        return result

    async def examined(self, finding: ClientFinding) -> ClientFinding | None:
        """Shrink and confirm a finding; None: the reference client does the same."""
        obligation, observed = finding.fingerprint
        entry = next((e for e in self.known if _is_listed(e, finding)), None)
        if entry is not None:
            return replace(finding, known=f"{entry.why} ({entry.link})")
        if await self._reference_does(obligation, finding.first):
            return None
        first = Reproducer(finding.first, finding.result)

        async def again(scenario: Scenario, times: int) -> list[ClientResult | None]:
            results = await self._results(obligation, scenario, times)
            return [r if r is not None and r.observed == observed else None for r in results]

        async def shows(scenario: Scenario) -> ClientResult | None:
            return (await again(scenario, 1))[0]

        async def shrink_first(_: int) -> Minimal[Scenario, ClientResult]:
            work = shrinking_scenario(first, tries=self._tries)
            minimal = await shrink(work, shows)
            small = minimal.smallest.value
            if small != finding.first and await self._reference_does(obligation, small):
                return Minimal(first, minimal.tried, is_minimal=False)
            return minimal

        async def is_steady() -> bool:
            return False  # a scenario takes seconds, so it is shrunk once

        minimal, confirmation = await examine(
            shrink_first,
            lambda smallest: confirm(lambda times: again(smallest.value, times)),
            is_steady,
        )
        return replace(
            finding,
            smallest=minimal.smallest.value,
            result=confirmation.last or finding.result,
            failed=confirmation.failed,
            runs=confirmation.runs,
            tried=minimal.tried,
            is_minimal=minimal.is_minimal,
        )

    async def _results(
        self, obligation: str, scenario: Scenario, times: int
    ) -> list[ClientResult | None]:
        """Run a scenario some times, one after the other; None where nothing is violated."""
        results = []
        for _ in range(times):
            evidence = await self._run(self._client, scenario)
            verdict = _violation(obligation, evidence, scenario)
            results.append(_result(obligation, verdict, scenario, evidence) if verdict else None)
        return results

    async def _reference_does(self, obligation: str, scenario: Scenario) -> bool:
        if self._client == _REFERENCE:
            return False
        evidence = await self._run(_REFERENCE, scenario)
        return judge(obligation, evidence).outcome is Outcome.FAIL

    async def _run(self, client: str, scenario: Scenario) -> Evidence:
        async with self._places, self._stage.open(scenario) as place:
            label = f"{scenario.id}/{next(self._runs)}"
            return await ScenarioRun(scenario, place, self._pools[client], label).run()


async def _as_list(work: Awaitable[R]) -> list[R]:
    """Return the result in a list, so that no result is told from None."""
    return [await work]


def _violations(evidence: Evidence, scenario: Scenario) -> list[tuple[str, Verdict]]:
    names = (*JUDGED, *CALM) if is_calm(scenario) else JUDGED
    verdicts = ((name, _violation(name, evidence, scenario)) for name in names)
    return [(name, verdict) for name, verdict in verdicts if verdict is not None]


def _violation(name: str, evidence: Evidence, scenario: Scenario) -> Verdict | None:
    """Judge a violation; None also where the judge waited during another action.

    An obligation that needs a calm scenario is judged in such a one alone.
    """
    if name in CALM and not is_calm(scenario):
        return None
    verdict = judge(name, evidence)
    if verdict.outcome is not Outcome.FAIL:
        return None
    if name in CALM:
        return verdict
    began_ms, ended_ms = verdict.waited or (0.0, 0.0)
    others = (act for act in evidence.actions if act.name not in _CALM)
    return None if any(began_ms < act.began_ms < ended_ms for act in others) else verdict


def _result(
    obligation: str, verdict: Verdict, scenario: Scenario, evidence: Evidence
) -> ClientResult:
    case = ClientCase(obligation, scenario)
    return ClientResult(
        case,
        Outcome.FAIL,
        case.level,
        verdict.sentence,
        verdict.observed,
        evidence=evidence,
        at_ms=verdict.at_ms,
    )


def _finding(result: ClientResult, scenario: Scenario, number: int) -> ClientFinding:
    fingerprint = result.obligation, result.observed
    return ClientFinding(scenario, result, fingerprint, scenario, number=number)


def _is_listed(entry: KnownFailure, finding: ClientFinding) -> bool:
    """Tell if a finding is a listed failure, by whichever request it shows."""
    obligation, observed = finding.fingerprint
    return entry.rule == obligation and _cause(entry.observed) == _cause(observed)


def _cause(observed: str) -> str:
    """Return a signature without the request that shows it, and without its version."""
    return _REQUEST.sub("a request", observed)


_REQUEST = re.compile(rf"\b(?:{'|'.join((*MEMBER_APIS, LEAVE, FIND))})\b(?: v\d+)?")
