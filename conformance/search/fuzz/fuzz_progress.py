"""The state of a fuzz run, which is kept while targets are closed and opened again.

A failure whose level is below SHOULD is not counted.  Each failure is attributed, and kept by its
cause and its look, so that a new one is not lost among known ones that it looks like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from fencepost.conformance.run.certify import OpenTarget
from fencepost.conformance.search.fuzz.drawn_plans import PlanContext, Planner
from fencepost.conformance.search.fuzz.fuzz_engine import Fuzzer, plan_context_of
from fencepost.conformance.search.fuzz.tally import Budget, FailureKey, OnTally, Tally, length
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import TargetOptions
from fencepost.model.plans.plan import Case
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.departures.attribution import departed_by, departures_in
from fencepost.properties.departures.known_departures import DEPARTURES
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.workers.cancellation import Stop
from fencepost.traces.report.known_failures import KnownFailure, KnownReasons

LEVEL = Level.SHOULD
"""The least binding level that counts."""

ListOf = Callable[[Target], Sequence[KnownFailure]]


@dataclass(frozen=True, slots=True)
class FuzzOptions:
    """Options of a fuzz run.

    `known`: the known failures of a target that is open; `corpus`: plans to start with; None: what
    reaches something new isn't kept either; `on_tally`: called with the tally as it grows.  `jobs`:
    processes that search; with more than one, `target` and `target_options` say what the others
    open; None: one where the clock is virtual, else as many as there are processors for.
    `examine_s`: how long failures are examined on a real clock; None: in proportion to the search.
    `stop`: ends the search, and then the examination.  `passed_over`: causes, or fingerprints in
    words, that are only counted; `examines_listed`: whether known failures are shrunk and
    confirmed, too.
    """

    revision: Revision
    budget: Budget
    seed: int = 0
    known: ListOf = lambda _: ()
    corpus: Iterable[Case] | None = None
    on_tally: OnTally | None = None
    jobs: int | None = 1
    target: str = ""
    target_options: TargetOptions = field(default_factory=TargetOptions)
    examine_s: float | None = None
    stop: Stop = field(default_factory=Stop)
    passed_over: Collection[str] = ()
    examines_listed: bool = True


@dataclass(slots=True)
class FuzzProgress:
    """The state of a run, which is kept when the target has to be opened again."""

    options: FuzzOptions
    tally: Tally = field(default_factory=Tally)
    planner: Planner | None = None
    known: KnownReasons = field(default_factory=KnownReasons)
    known_counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Keep what a corpus needs, if there is one."""
        self.tally.keeps_novel = self.options.corpus is not None

    def key_of(self, result: CaseResult) -> FailureKey | None:
        """The key by which a failure is counted; None for what is no failure."""
        if result.outcome is not Outcome.FAIL:
            return None
        if LEVELS.index(result.level) > LEVELS.index(LEVEL):
            return None
        fingerprint = result.fingerprint(self.options.revision)
        if fingerprint is None:
            return None
        for why in self.known.each_of(fingerprint.cause):
            self.known_counts[why] += 1
        return fingerprint.cause, *fingerprint.by_observed

    def is_listed(self, result: CaseResult) -> bool:
        """Whether listed departures explain all that is wrong."""
        if result.recording is None or result.violation is None:
            return False
        return bool(self.known.of_cause(result.attribution(self.options.revision).cause))

    def failures(self) -> list[CaseResult]:
        """The new failures."""
        return [
            result
            for (cause, _, _), alike in self.tally.failures.items()
            if not self.known.of_cause(cause)
            for result in alike
        ]

    def listed(self) -> dict[str, CaseResult]:
        """The simplest failure for each reason of a known one, of the fewest departures.

        One that several departures cause is there only if one of them causes none alone.
        """
        found: dict[str, CaseResult] = {}
        shown: set[str] = set()

        def simplest(row: tuple[FailureKey, list[CaseResult]]) -> tuple[int, tuple[int, str]]:
            (cause, _, _), alike = row
            return len(departures_in(cause)), length(alike[0])

        for (cause, _, _), alike in sorted(self.tally.failures.items(), key=simplest):
            why = self.known.of_cause(cause)
            if why and not shown.issuperset(departures_in(cause)):
                shown.update(departures_in(cause))
                found.setdefault(why, alike[0])
        return found

    def budget(self) -> Budget:
        """The rest of the budget."""
        whole = self.options.budget
        requests, seconds = whole.requests, whole.seconds
        return Budget(
            None if requests is None else requests - self.tally.requests,
            None if seconds is None else seconds - self.tally.seconds,
        )

    async def searched(
        self, target: Target, suite: OpenTarget, context: PlanContext
    ) -> list[Case] | None:
        """Run plans until the budget is spent or the run is stopped (None), or the target died.

        Returns the suspects then.
        """
        if self.planner is None:
            self.planner = Planner(context, self.options.seed, self.options.corpus or ())
        self.planner.context = context
        fuzzer = Fuzzer(
            target,
            suite,
            self.planner,
            self.tally,
            self.key_of,
            self.options.on_tally,
            self.is_listed,
        )
        return await self.options.stop.cut(fuzzer.run(self.budget()))

    async def arrived(self, target: Target, suite: OpenTarget) -> PlanContext:
        """Note that a target was opened; returns what plans can be made for it."""
        self.known = KnownReasons.of(self.options.known(target))
        context = await plan_context_of(target, suite)
        if not self.known.by_cause:
            return context
        names = " + ".join(name for name in DEPARTURES if name in self.known.by_cause)
        return replace(context, departed=departed_by(suite.revision, names))
