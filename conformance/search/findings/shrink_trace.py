"""Shrink a trace: find the smallest plan that fails on a target with the same fingerprint.

Plans are shrunk and confirmed as `fuzz` does it, with the same time limit on a real clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fencepost.conformance.run.certify import OpenTarget, Options, opened
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.search.findings.confirm import Examination
from fencepost.conformance.search.findings.findings import finding_of, under
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.history.words import plural
from fencepost.model.plans.plan import Case
from fencepost.model.plans.plan_json import case_from_json
from fencepost.model.plans.plan_order import DELAY
from fencepost.traces.files.trace_file import TraceFile, TraceFileError

SECONDS = 180.0
"""The time limit on a real clock, if the user gives none."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smaller trace; how many steps its plan has and had, and how many plans were tried.

    `is_minimal`: no step can be left out; `failed` of `runs` more runs showed the same.
    """

    trace: TraceFile
    steps: int
    before: int
    tried: int
    is_minimal: bool
    failed: int = 0
    runs: int = 0

    def text(self) -> str:
        """In words."""
        size = "minimal" if self.is_minimal else "smaller, and perhaps not minimal"
        tried = plural(self.tried, "plan")
        said = f"{plural(self.before, 'step')}, now {self.steps} ({size}; {tried} tried)"
        if self.failed < self.runs:
            said += f"; it fails in {self.failed} of {plural(self.runs, 'run')} only"
        return said


async def shrink(trace: TraceFile, target: Target, *, seconds: float = SECONDS) -> Shrunk:
    """The smallest plan that fails on a target as this trace's does.  `seconds`: on a real clock.

    Raises TraceFileError where there is no plan, or it does not fail there.
    """
    case = plan_of(trace)
    async with opened(target, find_revision(trace.revision), Options(eager=True)) as suite:
        first = with_settings(case, trace, suite)
        (failure,) = await suite.try_cases([first])
        fingerprint = failure.fingerprint(suite.revision)
        if fingerprint is None:
            raise TraceFileError(
                "the trace",
                "plan",
                f"does not fail on {target.name} ({failure.outcome.value})",
                "name a target that fails it, such as the one that it was recorded from: "
                f"{trace.provenance.get('target')}",
            )
        examination = Examination(suite, seconds=seconds)
        async with examination.limited():
            found = await finding_of(fingerprint, [failure], examination)
        named = replace(found.case, id=case.id, about=case.about)
        smaller = sound_trace(under(found.result, named), suite.revision, suite.provenance())
        if smaller is None:
            raise TraceFileError(
                "the trace",
                "plan",
                f"ends {target.name} itself, so nothing is recorded",
                "run `certify` on it, which says how it ended",
            )
    before, now = len(case.steps), len(named.steps)
    return Shrunk(smaller, now, before, found.tried, found.is_minimal, found.failed, found.runs)


def plan_of(trace: TraceFile) -> Case:
    """The plan of a trace, to be shrunk.  Raises TraceFileError if it has none."""
    if trace.plan is None:
        raise TraceFileError(
            "the trace",
            "plan",
            "is null: it is a run of the model or an imported one, and can't be run elsewhere",
            "give a trace that `certify --report` or `fuzz --report` wrote",
        )
    return replace(case_from_json(dict(trace.plan)), rules=())


def with_settings(case: Case, trace: TraceFile, suite: OpenTarget) -> Case:
    """The case under the settings that it was recorded with, where a target can choose them."""
    if not suite.chooses_settings:
        return case
    config = {DELAY: trace.config.get(DELAY), **case.needs.config}
    return replace(case, needs=replace(case.needs, config=config))
