"""From failures to findings: one for each fault, minimised, confirmed, explained.

Decides what is worth telling.  Failures of one shape are one finding, and the simplest of them is
minimised against the target.  The result is run again; what doesn't fail every time is kept apart
as flaky, with its rate, for it may be the weather.  Known shapes are only counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.conformance.certify import Suite
from fencepost.conformance.explain import explained
from fencepost.conformance.minimise import AT_ONCE, TRIES, Minimal, Shown, smallest
from fencepost.conformance.outcome import CaseResult
from fencepost.conformance.plan import Case
from fencepost.conformance.plan_weight import DELAY, steps_digest, weight
from fencepost.conformance.replay import sound_trace
from fencepost.conformance.shape import Shape, shape_of
from fencepost.model.revision import Revision
from fencepost.model.table import LEVELS, Level
from fencepost.traces.trace_file import TraceFile

CONFIRMATIONS = 3
_EXAMINED_AT_ONCE = 4
_EXAMINE_S = 180.0
"""So long at most one finding is made smaller on a real clock."""

_FLAKY_RUNS = 9
"""What doesn't fail each time is run so often in all, so that its rate says something."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a target.

    `result`: of the run that showed it; `seen`: how many failures had this shape, `first`: the case
    of the one that was minimised; `failed` of `runs` more runs failed in the same shape; `tried`:
    how many plans it took; `is_minimal`: no step can be left out.
    """

    result: CaseResult
    shape: Shape
    seen: int
    first: str
    failed: int
    runs: int
    tried: int
    is_minimal: bool

    @property
    def case(self) -> Case:
        """The minimal case."""
        return self.result.case

    @property
    def is_flaky(self) -> bool:
        """Whether some run of the minimal case did not fail so."""
        return self.failed < self.runs

    @property
    def sentence(self) -> str:
        """What is wrong and why."""
        return self.result.message

    def steps(self, revision: Revision) -> tuple[str, ...]:
        """What was sent and answered, a numbered line each, for the revision that judged."""
        told = explained(self.result, revision)
        return () if told is None else told.steps


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search came to: findings, flaky ones apart, and how often known shapes were seen."""

    findings: tuple[Finding, ...]
    flaky: tuple[Finding, ...]
    known: Mapping[Shape, int]

    @property
    def all(self) -> tuple[Finding, ...]:
        """Findings that hold each time, then those that don't."""
        return (*self.findings, *self.flaky)


async def findings_from(
    failures: Sequence[CaseResult],
    suite: Suite,
    *,
    known: Collection[Shape] = (),
    level: Level = Level.SHOULD,
    tries: int = TRIES,
) -> Findings:
    """The distinct faults among failed cases, the simplest plan first.

    `known`: shapes that are only counted; `level`: less binding failures are left out.
    """
    shapes: dict[Shape, list[CaseResult]] = {}
    for result in failures:
        shape = shape_of(result, suite.revision)
        if shape is not None and LEVELS.index(result.level) <= LEVELS.index(level):
            shapes.setdefault(shape, []).append(result)
    counted = Counter({s: len(rs) for s, rs in shapes.items() if s in known})
    examining = asyncio.Semaphore(_EXAMINED_AT_ONCE)

    async def examined(shape: Shape, results: Sequence[CaseResult]) -> Finding:
        async with examining:
            return await _finding(shape, results, suite, tries)

    new = [(shape, results) for shape, results in sorted(shapes.items()) if shape not in known]
    found = list(await asyncio.gather(*(examined(*each) for each in new)))
    found.sort(key=lambda f: (weight(f.case, suite.hello.apis), f.shape))
    steady = tuple(finding for finding in found if not finding.is_flaky)
    return Findings(steady, tuple(f for f in found if f.is_flaky), counted)


async def _finding(
    shape: Shape, results: Sequence[CaseResult], suite: Suite, tries: int
) -> Finding:
    first = min(results, key=lambda r: (weight(r.case, suite.hello.apis), r.case.id))
    minimal = await minimised(first, suite, tries=tries)
    failed, runs = await confirmed(minimal.shown.case, shape, suite)
    if failed < runs and await _is_steady(first, shape, suite):
        # It was made so small that it fails by luck; what is taken must fail each time.
        minimal = await minimised(first, suite, tries=tries, times=CONFIRMATIONS)
        failed, runs = await confirmed(minimal.shown.case, shape, suite)
    return Finding(
        result=_named(minimal.shown.run, minimal.shown.case, shape),
        shape=shape,
        seen=len(results),
        first=first.case.id,
        failed=failed,
        runs=runs,
        tried=minimal.tried,
        is_minimal=minimal.is_minimal,
    )


async def minimised(
    failure: CaseResult, suite: Suite, *, tries: int = TRIES, times: int = 1
) -> Minimal[CaseResult]:
    """A failed case made as small as it gets, for the target of the suite.

    `times`: how often a smaller one must fail to be taken.  Raises ValueError for no failure.
    """
    shape = shape_of(failure, suite.revision)
    if shape is None:
        raise ValueError(f"{failure.case.id} did not fail, so nothing can be minimised")

    async def judge(case: Case) -> CaseResult | None:
        results = await suite.try_cases([case] * times)
        same = all(shape_of(result, suite.revision) == shape for result in results)
        return results[0] if same else None

    first = Shown(self_contained(failure, suite), failure)
    at_once = 1 if suite.hello.clock == "virtual" else min(AT_ONCE, suite.places)
    seconds = None if suite.hello.clock == "virtual" else _EXAMINE_S
    return await smallest(
        first, suite.hello.apis, judge, at_once=at_once, tries=tries, seconds=seconds
    )


async def confirmed(case: Case, shape: Shape, suite: Suite) -> tuple[int, int]:
    """How often a case failed in this shape, of how many further runs."""
    failed = runs = 0
    for times in (CONFIRMATIONS, _FLAKY_RUNS - CONFIRMATIONS):
        if failed < runs or not runs:
            results = await suite.try_cases([case] * times)
            failed += sum(shape_of(result, suite.revision) == shape for result in results)
            runs += times
    return failed, runs


async def _is_steady(failure: CaseResult, shape: Shape, suite: Suite) -> bool:
    results = await suite.try_cases([self_contained(failure, suite)] * CONFIRMATIONS)
    return all(shape_of(result, suite.revision) == shape for result in results)


def self_contained(failure: CaseResult, suite: Suite) -> Case:
    """The case with the setting that it was run under, where a case can have its own.

    It asks for no rule, since it is not there to pass.
    """
    case = replace(failure.case, rules=())
    if failure.recording is None or not suite.chooses_settings:
        return case
    config = {DELAY: failure.recording.config.get(DELAY), **case.needs.config}
    return replace(case, needs=replace(case.needs, config=config))


def _named(result: CaseResult, case: Case, shape: Shape) -> CaseResult:
    """The result of a minimal case under an id that stays while the plan does."""
    name = f"found/{steps_digest(case.steps)}-{shape.rule or shape.wrong}"
    return under(result, replace(case, id=name, about=str(shape)))


def under(result: CaseResult, case: Case) -> CaseResult:
    """The result, as one of this case, whose steps are the same."""
    recording = result.recording
    if recording is not None:
        recording = replace(recording, case=case)
    return replace(result, case=case, recording=recording)


def trace_of_finding(finding: Finding, suite: Suite, *, seed: int) -> TraceFile | None:
    """The evidence, which `fencepost replay` takes; None where the target failed and left none."""
    return sound_trace(finding.result, suite.revision, suite.provenance(), seed=seed)
