"""The counts of a fuzzer's run: plans and requests, what they covered, what failed, our costs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fencepost.conformance.search.fuzz.drawn_plans import DrawnPlan
from fencepost.conformance.search.fuzz.dry_run import PlanCoverage
from fencepost.model.coordinator import named
from fencepost.model.history.events import Sent
from fencepost.model.plans.steps import (
    DeleteTopics,
    Disconnect,
    Failover,
    MoveCoordinator,
    Pause,
    Plan,
    Request,
)
from fencepost.properties.judging.outcome import CaseResult, Outcome

_NUMBER = re.compile(r"\d+")
_KEPT_EACH = 4
"""Failures with the same key that are kept, the shortest."""

WORK = ("drawing plans", "judging", "sending and reading")
"""The purposes by which our own processor time is counted."""

OWN = "the target's own"
_EVENTS = (
    (Failover, "failover"),
    (MoveCoordinator, "move"),
    (DeleteTopics, "deletion"),
    (Disconnect, "disconnect"),
    (Pause, "pause"),
)

OnTally = Callable[["Tally"], None]

FailureKey = tuple[str, str, str]
"""The known departures that explain a failure, or ""; its rule, and its observed words."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most requests and seconds of a search; None: no limit of this kind."""

    requests: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Tally:
    """The counts of a run.

    `settings`: how many plans ran under which settings, `OWN` for the target's own; `events`: in
    how many a failover, a disconnect or a pause was reached; `words`: how often each kind of
    request was sent; `outcomes`: of plans; `covered`: what was shown of the model; `novel`: plans
    that reached something new, if `keeps_novel`; `failures`: some of each kind; `unknown`: why
    plans are undecided, and how often; `died`: how often the target did; `spent`: our own processor
    time, in s, by purpose, see `WORK`; `theirs`: that of processes that were started for it, where
    the system reports it; `lived`: how long all plans took together, in s.
    """

    plans: int = 0
    requests: int = 0
    settings: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    covered: PlanCoverage = field(default_factory=PlanCoverage)
    novel: list[Plan] = field(default_factory=list)
    keeps_novel: bool = False
    failures: dict[FailureKey, list[CaseResult]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    died: int = 0
    seconds: float = 0.0
    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WORK, 0.0))
    theirs: float | None = None
    lived: float = 0.0

    def add(self, plan: DrawnPlan, result: CaseResult, key: FailureKey | None) -> None:
        """Count one more plan; `key`: the key of its failure, None if it didn't fail."""
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
        if plan.is_novel and self.keeps_novel:
            self.novel.append(plan.case)
        if result.outcome is Outcome.UNKNOWN:
            self.unknown[_NUMBER.sub("…", result.message.partition(":")[0])] += 1
        if key is not None:
            self.keep(key, result)

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
        for key, results in other.failures.items():
            for result in results:
                self.keep(key, result)

    def keep(self, key: FailureKey, result: CaseResult) -> None:
        """Keep a failure, if it is one of the shortest with its key."""
        alike = self.failures.setdefault(key, [])
        alike.append(result)
        alike.sort(key=length)
        del alike[_KEPT_EACH:]


def _sent(result: CaseResult) -> int:
    if result.recording is None:
        return 0
    return sum(isinstance(event, Sent) for event in result.recording.history)


def _settings(case: Plan) -> str:
    settings = (f"{key}={value}" for key, value in sorted(named(case.needs.config).items()))
    return ", ".join(settings) or OWN


def _events(result: CaseResult) -> set[str]:
    """Name the events that a plan came to, each once."""
    recording = result.recording
    steps = () if recording is None else result.case.steps[: len(recording.step_ends)]
    return {word for step in steps for kind, word in _EVENTS if isinstance(step, kind)}


def length(result: CaseResult) -> tuple[int, str]:
    """Measure the plan of a result, to sort by its length."""
    return sum(isinstance(step, Request) for step in result.case.steps), result.case.id
