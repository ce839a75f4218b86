"""From failures to findings: one for each fault, minimised, confirmed, explained.

Decides what is worth telling.  Failures of one shape are one finding, and the simplest of them is
minimised against the target.  The result is run again; what doesn't fail every time is kept apart
as flaky, with its rate, for it may be the weather; what there was no time for is kept apart, too,
as it was met.  Known shapes are only counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencepost.conformance.certify.certify import Suite
from fencepost.conformance.certify.replay import sound_trace
from fencepost.conformance.execution.explain import explained
from fencepost.conformance.execution.outcome import CaseResult
from fencepost.conformance.execution.shape import Shape, shape_of
from fencepost.conformance.findings.confirm import CONFIRMATIONS, Examination
from fencepost.conformance.plans.order import steps_digest, weight
from fencepost.conformance.plans.plan import Case
from fencepost.conformance.plans.shrink.shrink import Minimal
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.traces.files.trace_file import TraceFile


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a target.

    `result`: of the run that showed it; `seen`: how many failures had this shape, `first`: the case
    of the one that was minimised; `failed` of `runs` more runs failed in the same shape; `tried`:
    how many plans it took; `is_minimal`: no step can be left out.  With no more runs nobody knows
    whether it comes again.
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
    """What a search came to.

    `findings`: what comes each time; `flaky`: what doesn't; `unconfirmed`: what was not tried
    again; `known`: how often known shapes were seen.
    """

    findings: tuple[Finding, ...] = ()
    flaky: tuple[Finding, ...] = ()
    unconfirmed: tuple[Finding, ...] = ()
    known: Mapping[Shape, int] = field(default_factory=dict)

    @property
    def all(self) -> tuple[Finding, ...]:
        """All of them, the surest first."""
        return (*self.findings, *self.flaky, *self.unconfirmed)

    def without(self, others: Collection[Finding]) -> Findings:
        """All but these."""
        return _sorted([f for f in self.all if f not in others], self.known)


Told = Callable[[Finding], None]


async def findings_from(
    failures: Sequence[CaseResult],
    examination: Examination,
    *,
    known: Collection[Shape] = (),
    level: Level = Level.SHOULD,
    told: Told | None = None,
) -> Findings:
    """The distinct faults among failed cases, the simplest plan first.

    `known`: shapes that are only counted; `level`: less binding failures are left out; `told`: is
    told each as soon as it is confirmed, and then those that there was no time for.
    """
    suite = examination.suite
    shapes = _shapes(failures, suite, level)
    counted = Counter({s: len(rs) for s, rs in shapes.items() if s in known})

    async def examined(shape: Shape, results: Sequence[CaseResult]) -> Finding:
        async with examination.turn() as has_time:
            if not has_time:
                return _raw(shape, results)
            finding = await finding_of(shape, results, examination)
        if told is not None and finding.runs:
            told(finding)
        return finding

    new = [(shape, results) for shape, results in shapes.items() if shape not in known]
    found = list(await asyncio.gather(*(examined(*each) for each in new)))
    found.sort(key=lambda f: (weight(f.case, suite.hello.apis), f.shape))
    findings = _sorted(found, counted)
    if told is not None:
        for finding in findings.unconfirmed:
            told(finding)
    return findings


def unexamined(failures: Sequence[CaseResult], suite: Suite, level: Level) -> Findings:
    """The distinct faults among failed cases, as they were met."""
    found = [_raw(shape, results) for shape, results in _shapes(failures, suite, level).items()]
    return _sorted(found)


def _sorted(found: Sequence[Finding], known: Mapping[Shape, int] | None = None) -> Findings:
    return Findings(
        tuple(f for f in found if f.runs and not f.is_flaky),
        tuple(f for f in found if f.is_flaky),
        tuple(f for f in found if not f.runs),
        known or {},
    )


def _shapes(
    failures: Sequence[CaseResult], suite: Suite, level: Level
) -> dict[Shape, list[CaseResult]]:
    """The failures of each shape, the simplest first; and so the shapes."""

    def simplest(result: CaseResult) -> tuple[tuple[int, ...], str]:
        return weight(result.case, suite.hello.apis), result.case.id

    shapes: dict[Shape, list[CaseResult]] = {}
    for result in sorted(failures, key=simplest):
        shape = shape_of(result, suite.revision)
        if shape is not None and LEVELS.index(result.level) <= LEVELS.index(level):
            shapes.setdefault(shape, []).append(result)
    return shapes


async def finding_of(
    shape: Shape, results: Sequence[CaseResult], examination: Examination
) -> Finding:
    """The first of some failures of one shape, made small and tried again."""
    first = results[0]
    minimal = await examination.minimised(first)
    failed, runs = await examination.confirmed(*_again(minimal, shape))
    if failed < runs and await examination.is_steady(first, shape):
        # It was made so small that it fails by luck; what is taken must fail each time.
        minimal = await examination.minimised(first, times=CONFIRMATIONS)
        failed, runs = await examination.confirmed(*_again(minimal, shape))
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


def _again(minimal: Minimal[CaseResult], shape: Shape) -> tuple[Case, Shape, float]:
    return minimal.shown.case, shape, minimal.shown.run.seconds


def _raw(shape: Shape, results: Sequence[CaseResult]) -> Finding:
    """As it was met: neither small nor tried again."""
    first = results[0]
    return Finding(
        result=_named(first, first.case, shape),
        shape=shape,
        seen=len(results),
        first=first.case.id,
        failed=0,
        runs=0,
        tried=0,
        is_minimal=False,
    )


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
