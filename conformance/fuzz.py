"""Fuzz: plans that nobody thought of, against one target, until the budget is spent.

Decides the course of a run: open the target, run plans, open it again where it died, then make each
failure as small as it gets and confirm it.  Of listed failures one for each reason is examined; it
is told and marked as known, and doesn't decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.conformance.certify import Options, Suite, opened
from fencepost.conformance.findings import Finding, Findings, findings_from, trace_of_finding
from fencepost.conformance.fuzz_course import LEVEL, Course, Wish
from fencepost.conformance.fuzz_jobs import helped
from fencepost.conformance.fuzz_run import Tally
from fencepost.conformance.outcome import EXIT_CODES, CaseResult, Overall
from fencepost.conformance.plan import Case
from fencepost.conformance.reachable import unreachable
from fencepost.conformance.suspicion import is_cut_off
from fencepost.conformance.target import Provenance, Target, TargetUnavailableError
from fencepost.model.revision import Revision
from fencepost.traces.trace_file import TraceFile

_DEATHS = 5
"""In a target that dies so often nothing more is searched."""

_TRIES = 400
_SUSPECTS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What came of it.

    `known`: how often each listed failure was met, by its reason; `listed`: a finding for each
    reason, where one came again; `unreachable`: rules that this target can't be led to, with the
    reason; `traces`: the evidence of each finding; `gave_up`: why the search ended early, or "".
    """

    provenance: Provenance
    clock: str
    revision: Revision
    seed: int
    tally: Tally
    findings: Findings
    known: Mapping[str, int]
    listed: Sequence[tuple[str, Finding]]
    unreachable: Mapping[str, str]
    traces: Mapping[str, TraceFile]
    gave_up: str = ""

    @property
    def never(self) -> tuple[str, ...]:
        """Rules that could have been reached and were not, in the table's order."""
        covered = self.tally.covered.rules
        return tuple(
            rule.id
            for _, rule in self.revision.rules()
            if rule.id not in covered and rule.id not in self.unreachable
        )

    @property
    def found(self) -> tuple[Finding, ...]:
        """New findings: those that hold each time, then those that don't."""
        return self.findings.all

    def exit_code(self) -> int:
        """Violated if something was found, or the target could not be kept alive; 2 if flaky."""
        if self.findings.findings or self.gave_up:
            return EXIT_CODES[Overall.VIOLATED]
        return EXIT_CODES[Overall.UNKNOWN if self.findings.flaky else Overall.HOLDS]


async def fuzz(open_target: Callable[[], Target], wish: Wish) -> Fuzzed:
    """Search until the budget is spent.  Raises TargetUnavailableError if it can't be opened."""
    course = Course(wish)
    suspects: list[Case] | None = []
    fuzzed: Fuzzed | None = None
    while suspects is not None:
        target = open_target()
        try:
            async with opened(target, wish.revision, Options(attempts=1)) as suite:
                fuzzed, suspects = await _session(course, target, suite, suspects)
        except TargetUnavailableError as error:
            if fuzzed is None:
                raise
            return replace(fuzzed, gave_up=f"It died, and then: {error}")
    assert fuzzed is not None  # noqa: S101  (the loop runs once at least)
    if course.tally.died >= _DEATHS:
        return replace(fuzzed, gave_up=f"It died {course.tally.died} times.")
    return fuzzed


async def _session(
    course: Course, target: Target, suite: Suite, suspects: Sequence[Case]
) -> tuple[Fuzzed, list[Case] | None]:
    """Run plans while the target lives, then examine what was found; else who may be to blame.

    What is examined last was found in a target that died too often, too.
    """
    wish = course.wish
    ground = await course.arrived(target, suite)
    await _questioned(course, suite, suspects)
    to_blame: list[Case] | None = None
    if course.tally.died < _DEATHS:
        async with helped(course, target, suite) as helpers:
            to_blame = await course.searched(target, suite, ground)
            if to_blame is None:
                to_blame = await helpers.join(course)
    findings, listed = Findings((), (), {}), list[tuple[str, Finding]]()
    if to_blame is None:
        findings = await findings_from(course.failures(), suite, level=LEVEL, tries=_TRIES)
        listed = await _listed(course.listed(), suite)
    fuzzed = Fuzzed(
        provenance=suite.provenance(),
        clock=suite.hello.clock,
        revision=wish.revision,
        seed=wish.seed,
        tally=course.tally,
        findings=findings,
        known=course.met,
        listed=listed,
        unreachable=unreachable(
            wish.revision, suite.hello, [config for _, config in ground.configs]
        ),
        traces=_traces([*findings.all, *(found for _, found in listed)], suite, wish.seed),
    )
    return fuzzed, to_blame


async def _questioned(course: Course, suite: Suite, suspects: Sequence[Case]) -> None:
    """Try those again that may have ended the target, where it can be alone with the target."""
    alone = [replace(case, isolated=True) for case in suspects]
    for start in range(0, len(alone), _SUSPECTS_AT_ONCE):
        results = await suite.try_cases(alone[start : start + _SUSPECTS_AT_ONCE])
        for result in results:
            look = course.looks_like(result)
            if look is not None:
                course.tally.keep(look, result)
        if any(is_cut_off(result) for result in results):
            return


async def _listed(failures: Mapping[str, CaseResult], suite: Suite) -> list[tuple[str, Finding]]:
    """Each reason that some failure is listed with, and the finding that came of it."""
    found = await findings_from(list(failures.values()), suite, level=LEVEL, tries=_TRIES)
    reasons = {result.case.id: why for why, result in failures.items()}
    return [(reasons[finding.first], finding) for finding in found.all]


def _traces(found: Sequence[Finding], suite: Suite, seed: int) -> dict[str, TraceFile]:
    made = ((f.case.id, trace_of_finding(f, suite, seed=seed)) for f in found)
    return {name: trace for name, trace in made if trace is not None}
