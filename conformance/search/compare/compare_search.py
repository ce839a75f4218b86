"""The search of a comparison: which plans both targets run, and when the search ends.

Stages run one after the other, up to the first that finds a difference.  Differences with one known
cause are of one kind; others are of one kind if their answers differ in the same way.  The search
ends when enough kinds were seen or the budget is spent; runs that are under way are then given up.
On a real clock the long cases of a stage that found something are not waited for.

The stages of a comparison, in their order: written suites first, then random plans.

Within a suite short plans come first.  Plans that need another coordinator come last, since its
start takes long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.suites import CATALOGUE, find_suite
from fencepost.conformance.search.compare.difference import (
    Compared,
    DifferenceFingerprint,
    Known,
    Origin,
    Sources,
    Taken,
    TargetDifference,
    compared,
)
from fencepost.conformance.search.compare.differential import Both, TargetPair
from fencepost.conformance.search.fuzz.drawn_plans import PlanContext, Planner
from fencepost.conformance.search.fuzz.plans_by_protocol import plans_of
from fencepost.model.history.words import plural
from fencepost.model.plans.plan_order import asks_of, weight
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision

KINDS = 4
"""Kinds of difference that end the search, by default."""

LINGER_S = 60.0
"""Seconds to look for other kinds after the first difference, by default."""

_ATTEMPTS = 3
_BATCH = 300
_BATCH_VIRTUAL = 50

Written = Iterable[Plan | str]
"""Cases, or what a target lacks for one."""

Kind = DifferenceFingerprint | tuple[Taken, Origin]
"""The common ground of differences of one kind: their known origin, or how the answers differ."""


@dataclass(frozen=True, slots=True)
class CompareStage:
    """A named source of plans.  `write`: makes them for two targets."""

    name: str
    write: Callable[[TargetPair], Written]


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Options of a comparison.

    `requests`: to each target; `seconds`: for the search; None: no limit of this kind.  `kinds`: of
    difference after which the search ends; `lingers_s`: on a real clock, how long a stage looks for
    other kinds after its first difference, unless `seconds` is given; `on_tally`: called with the
    tally as it grows.
    """

    revision: Revision
    stages: Sequence[CompareStage]
    requests: int | None = None
    seconds: float | None = None
    jobs: int | None = None
    seed: int = 0
    kinds: int = KINDS
    lingers_s: float | None = LINGER_S
    on_tally: Callable[[CompareTally], None] | None = None


@dataclass(slots=True)
class CompareTally:
    """The counts of a search: plans by stage, requests to each side, and the results of plans.

    `choices`: the answers differed, but the model allows both; `lacking`: what a side lacked;
    `unknown`: undecided plans, id → why; `ended`: why the search ended early, "" if it didn't.
    """

    stages: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    same: int = 0
    choices: int = 0
    differing: int = 0
    lacking: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    ended: str = ""

    @property
    def compared(self) -> int:
        """Count the plans that were run on both, and compared."""
        return self.same + self.choices + self.differing


class DifferenceSearch:
    """A search for differences; `by_kind`: the differences so far."""

    def __init__(self, pair: TargetPair, options: CompareOptions, sources: Sources) -> None:
        self.tally = CompareTally()
        self.by_kind: dict[Kind, list[TargetDifference]] = {}
        self._pair = pair
        self._options = options
        self._sources = sources
        self._began = time.monotonic()
        self._first: float | None = None

    async def run(self) -> None:
        """Run the stages until one finds a difference or the budget is spent."""
        for stage in self._options.stages:
            await self._run(stage)
            if self.by_kind or self.tally.ended:
                return

    async def _run(self, stage: CompareStage) -> None:
        self.tally.stages[stage.name] = 0
        for batch in self._batches(stage):
            await self._take(stage, batch)
            if self._options.on_tally is not None:
                self._options.on_tally(self.tally)
            if why := self._why_over():
                self.tally.ended = why
                return

    def _batches(self, stage: CompareStage) -> Iterator[list[Plan]]:
        """Plans to run side by side; those for which something must be started come last."""
        size = _BATCH_VIRTUAL if self._pair.is_virtual else _BATCH
        batch: list[Plan] = []
        requests = 0
        for plan in stage.write(self._pair):
            if isinstance(plan, str):
                self._lacks(plan)
                continue
            asks = len(asks_of(plan.steps))
            if batch and (
                len(batch) == size
                or self._is_too_much(requests + asks)
                or self._pair.is_near(plan) is not self._pair.is_near(batch[0])
            ):
                yield batch
                batch, requests = [], 0
            batch.append(plan)
            requests += asks
        if batch:
            yield batch

    def _is_too_much(self, requests: int) -> bool:
        most = self._options.requests
        return most is not None and self.tally.requests + requests > most

    def _why_over(self) -> str:
        """Explain the end of the search; "" if it goes on."""
        options, now = self._options, time.monotonic()
        if self._is_enough():
            kinds = plural(options.kinds, "kind")
            return f"{kinds} of difference {'is' if options.kinds == 1 else 'are'} enough (--kinds)"
        if options.requests is not None and self.tally.requests >= options.requests:
            return f"{options.requests} requests were sent to each (--requests)"
        if (until := self._until()) is None or now < until:
            return ""
        if options.seconds is not None:
            return f"{options.seconds / 60:g} minutes were over (--minutes)"
        return f"{options.lingers_s:g} s were over since the first difference (--minutes has more)"

    def _is_enough(self) -> bool:
        grave = [k for k, (first, *_) in self.by_kind.items() if first.taken is not Taken.BOTH]
        return len(grave) >= self._options.kinds

    def _until(self) -> float | None:
        """Return the time at which the search ends, by the clock; None: no limit."""
        if self._options.seconds is not None:
            return self._began + self._options.seconds
        if self._first is None or self._options.lingers_s is None or self._pair.is_virtual:
            return None
        return self._first + self._options.lingers_s

    async def _take(self, stage: CompareStage, batch: list[Plan]) -> None:
        """Run plans and count their results; on a real clock undecided plans are retried."""
        if self._pair.is_virtual:
            for both in await self._pair.run(batch):
                self._count(both)
            self.tally.stages[stage.name] += len(batch)
            return
        ended = set[str]()

        def is_enough(both: Both) -> bool:
            self._count(both)
            ended.add(both.case.id)
            return self._is_enough()

        left = batch
        for _ in range(_ATTEMPTS):
            await self._pair.each(left, is_enough, self._until)
            left = [case for case in left if case.id in self.tally.unknown]
            if not left or self.by_kind or self._why_over():
                break
        self.tally.stages[stage.name] += len(ended)

    def _count(self, both: Both) -> None:
        tally, case_id = self.tally, both.case.id
        tally.requests += both.requests
        tally.unknown.pop(case_id, None)
        result = self._compared(both)
        if (lacks := both.lacks) is not None:
            self._lacks(lacks)
        elif result.unknown is not None:
            tally.unknown[case_id] = result.unknown
        elif result.differs is not None:
            tally.differing += 1
            self._first = self._first or time.monotonic()
            self.by_kind.setdefault(self._kind(result.differs), []).append(result.differs)
        elif result.is_choice:
            tally.choices += 1
        else:
            tally.same += 1

    def _compared(self, both: Both) -> Compared:
        return compared(both, self._options.revision, exact=self._pair.is_virtual)

    def _lacks(self, need: str) -> None:
        self.tally.lacking[need] = self.tally.lacking.get(need, 0) + 1

    def _kind(self, difference: TargetDifference) -> Kind:
        for taken, origin in zip(
            (Taken.RIGHT, Taken.LEFT), self._sources.of(difference), strict=True
        ):
            if difference.taken is taken and origin is not None and origin.known is not Known.NEW:
                return taken, origin
        return difference.fingerprint


def stage_of(name: str, entries: Sequence[Entry]) -> CompareStage:
    """Make a stage of the cases of a suite."""

    def write(pair: TargetPair) -> Iterator[Plan | str]:
        cases = []
        for entry in entries:
            case, lacks = pair.written(entry)
            if case is None:
                yield lacks
            else:
                cases.append(case)
        yield from sorted(cases, key=lambda c: (not pair.is_near(c), weight(c, pair.apis)))

    return CompareStage(name, write)


def walks_stage(name: str, revision: Revision) -> CompareStage:
    """Make a stage of a suite that is generated when it is needed, the shortest walks first."""

    def write(pair: TargetPair) -> Iterator[Plan | str]:
        entries = find_suite(name, revision).entries
        lengths = {entry.id: len(entry.case({}, delayed=False).steps) for entry in entries}
        for entry in sorted(entries, key=lambda entry: lengths[entry.id]):
            case, lacks = pair.written(entry)
            yield lacks if case is None else case

    return CompareStage(name, write)


def plans_stage(seed: int) -> CompareStage:
    """Random plans as `fuzz` draws them, without end."""

    def write(pair: TargetPair) -> Iterator[Plan | str]:
        joins_by = plans_of(pair.suites[0].revision).joins_by
        if joins_by not in pair.apis:  # such plans are of members that join
            yield joins_by
            return
        planner = Planner(plan_context_of_pair(pair), seed)
        while True:
            yield pair.fitted(planner.next().case)

    return CompareStage("made up", write)


def plan_context_of_pair(pair: TargetPair) -> PlanContext:
    """Find the conditions of plans: features of both, under settings that both can have."""
    suite = pair.suites[0]
    usual = {**suite.revision.protocol.settings, **suite.config}
    configs = [(settings, {**usual, **settings}) for settings in pair.choices()]
    lag_ms = max(suite.lag_ms for suite in pair.suites)
    return PlanContext(suite.revision, suite.hello, pair.hints, lag_ms, configs)


def usual_stages(revision: Revision, seed: int) -> list[CompareStage]:
    """List the stages: the catalogue, then every transition, then random plans."""
    catalogue = find_suite(CATALOGUE, revision).entries
    return [
        stage_of(CATALOGUE, catalogue),
        walks_stage("cover", revision),
        plans_stage(seed),
    ]
