"""Shrink a trace: to the smallest plan with the same failure, or run that breaks a property.

The plan fails on a target with the same fingerprint.  Plans are shrunk and confirmed as `fuzz` does
it, with the same time limit on a real clock.

The run is one of a model, and breaks the same property.  A trace can show properties of histories,
which are read from the answers, and properties of one group, which are evaluated after each step.
All others need to know what clients know, or an earlier state; exploration checks those.  The run
is one of the model that the trace was recorded from, or else of the revision that the trace names.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from fencepost.conformance.run.certify import OpenTarget, Options, open_target
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.search.findings.confirm import Examination
from fencepost.conformance.search.findings.findings import finding_of, under
from fencepost.conformance.search.shrink.shrink_plan import shrinking_plan
from fencepost.conformance.targets.in_process import (
    InProcessCoordinator,
    InProcessTarget,
    ModelCoordinator,
)
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import DEFAULT_REVISION, find_revision
from fencepost.model.coordinator import Answer, Config, Dropped, Reset, Send, Topics
from fencepost.model.history.words import plural
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.plans.spelling import read_plan
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision
from fencepost.properties.checking.evaluator import broken, denied
from fencepost.properties.checking.shrinking import Reproducer, shrink
from fencepost.properties.claims.answer_properties import broken_properties
from fencepost.properties.judging.outcome import CaseResult
from fencepost.properties.logic.logic import Property, PropertyKind
from fencepost.properties.worlds.worlds_by_protocol import worlds_of
from fencepost.traces.files.bounded import own_version
from fencepost.traces.files.run_trace import trace_of
from fencepost.traces.files.trace_file import TraceFile, TraceFileError

if TYPE_CHECKING:
    from fencepost.model.coordinator import AsyncCoordinator


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
        """Return the result on one line."""
        size = "minimal" if self.is_minimal else "perhaps not minimal"
        tried = plural(self.tried, "plan")
        text = f"{self.steps} of {plural(self.before, 'step')} left ({size}; {tried} tried)"
        if self.failed < self.runs:
            text += f"; fails in {self.failed} of {plural(self.runs, 'run')}"
        return text


async def shrink_trace(trace: TraceFile, target: Target, *, seconds: float = SECONDS) -> Shrunk:
    """Find the smallest plan that fails on a target as the trace's does.

    `seconds`: the time limit on a real clock.

    Raises TraceFileError where there is no plan, or it does not fail there.
    """
    case = plan_of(trace)
    async with open_target(target, find_revision(trace.revision), Options(eager=True)) as suite:
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
            finding = await finding_of(fingerprint, [failure], examination)
        named = structs.replace(finding.case, id=case.id, about=case.about)
        smaller = sound_trace(under(finding.result, named), suite.revision, suite.provenance())
        if smaller is None:
            raise TraceFileError(
                "the trace",
                "plan",
                f"ends {target.name} itself, so nothing is recorded",
                "run `certify` on it, which says how it ended",
            )
    before, now = len(case.steps), len(named.steps)
    return Shrunk(
        smaller, now, before, finding.tried, finding.is_minimal, finding.failed, finding.runs
    )


def plan_of(trace: TraceFile) -> Plan:
    """Return the plan of a trace.  Raises TraceFileError if it has none."""
    if trace.plan is None:
        raise TraceFileError(
            "the trace",
            "plan",
            "is null: it is a run of the model or an imported one, and can't be run elsewhere",
            "give a trace that `certify --report` or `fuzz --report` wrote",
        )
    return structs.replace(read_plan(dict(trace.plan)), rules=())


def with_settings(case: Plan, trace: TraceFile, suite: OpenTarget) -> Plan:
    """Give a case the settings that it was recorded with, where a target can choose them."""
    if not suite.chooses_settings:
        return case
    config = {DELAY: trace.config.get(DELAY), **case.needs.config}
    return structs.replace(case, needs=structs.replace(case.needs, config=config))


_IN_PROCESS = ("model", "mutant")


async def shrink_property(trace: TraceFile, claim: Property) -> Shrunk:
    """Shrink the plan of a trace to the smallest run that breaks a property.

    Raises TraceFileError where there is no plan, it breaks nothing, or no trace can show it.
    """
    if claim.kind is not PropertyKind.HISTORY and not _is_of_groups(claim):
        raise TraceFileError(
            f"property:{claim.id}",
            claim.kind.value,
            "needs more than a trace holds",
            f"`fencepost check {trace.revision}` finds the shortest run that breaks it",
        )
    case, target = plan_of(trace), _PropertyTarget(_origin(trace), claim)
    judging = find_revision(trace.revision)
    async with open_target(target, judging, Options(persists=True)) as suite:

        async def judge(tried: Plan) -> CaseResult | None:
            (result,) = await suite.try_cases([tried])
            return result if target.sentence(result) else None

        first = with_settings(case, trace, suite)
        run = await judge(first)
        if run is None:
            raise TraceFileError(
                "the trace",
                "plan",
                f"does not break {claim.id} on {target.name}",
                "name a property that it breaks; `fencepost properties` lists all",
            )
        minimal = await shrink(shrinking_plan(Reproducer(first, run), suite.hello.apis), judge)
        result = under(minimal.smallest.run, structs.replace(minimal.smallest.value, id=case.id))
        assert result.recording is not None  # noqa: S101  (it was judged by its recording)
        sentence = broken_properties(result.recording.history, [claim]).get(claim.id) or denied(
            claim
        )
        smaller = trace_of(
            result.recording,
            result.verdict,
            judging,
            suite.provenance(),
            seed=0,
            tool_version=own_version(),
            message=f"{claim.id}: {sentence}.",
        )
    steps = len(minimal.smallest.value.steps)
    return Shrunk(smaller, steps, len(case.steps), minimal.tried, minimal.is_minimal)


def _is_of_groups(claim: Property) -> bool:
    return claim.kind is PropertyKind.STATE and claim.formula is not None


def _origin(trace: TraceFile) -> Revision:
    """Find the model that a trace came from."""
    name = str(trace.provenance.get("target"))
    if name.partition(":")[0] not in _IN_PROCESS:
        return find_revision(trace.revision)
    return find_revision(name.removeprefix("model").removeprefix(":") or DEFAULT_REVISION)


class _PropertyTarget(InProcessTarget):
    """A model on which a property is evaluated; its scopes are used one after the other."""

    def __init__(self, revision: Revision, claim: Property) -> None:
        super().__init__(f"model:{revision.name}", revision, own_version())
        self._of = revision
        self._property = claim
        self._watching = _PropertyModel(revision, claim)

    def sentence(self, result: CaseResult) -> str:
        """Explain the violation in the run of the last case; "" for none."""
        if result.recording is None:
            return ""
        if self._property.kind is PropertyKind.HISTORY:
            violations = broken_properties(result.recording.history, [self._property])
            return violations.get(self._property.id, "")
        return self._watching.violation

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """Yield a fresh model."""
        del label, isolated, restarts
        self._watching = _PropertyModel(self._of, self._property)
        yield InProcessCoordinator(self._watching)


class _PropertyModel(ModelCoordinator):
    """A model that evaluates a property of its groups after each call.

    `violation`: the first sentence that explains a violation, or "".
    """

    def __init__(self, revision: Revision, claim: Property) -> None:
        super().__init__(revision, own_version())
        self._property = claim
        self._abstraction = worlds_of(revision).abstraction
        self.violation = ""

    def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        """As the model's; nothing is wrong with no group."""
        self.violation = ""
        return super().reset(config, topics)

    def send(self, request: Send) -> list[Answer]:
        """As the model's."""
        return self._evaluated(super().send(request))

    def advance(self, ms: int) -> list[Answer]:
        """As the model's; states between two timers are not evaluated."""
        return self._evaluated(super().advance(ms))

    def restart(self) -> Dropped:
        """As the model's."""
        dropped = super().restart()
        self._evaluated([])
        return dropped

    def move(self) -> Dropped:
        """As the model's."""
        dropped = super().move()
        self._evaluated([])
        return dropped

    def _evaluated(self, answers: list[Answer]) -> list[Answer]:
        if _is_of_groups(self._property):
            for group in self._running.groups.values():
                fault = broken(self._property, group, self._abstraction)
                self.violation = self.violation or fault or ""
        return answers
