"""From failures to findings: one for each fault, shrunk, confirmed and explained.

Failures with one fingerprint, and so with one cause, are one finding, and the simplest of them is
shrunk against the target.  The result is run again.  A finding that does not fail each time is
reported as flaky, with its rate, since the cause may be the load or the network.  A finding for
which no time was left is reported as unconfirmed.  Known fingerprints are only counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from fencepost.conformance.run.certify import OpenTarget
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.search.findings.confirm import Examination, Finding
from fencepost.model.plans.plan_order import steps_digest, weight
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.judging.explain import sentence, steps_of
from fencepost.properties.judging.outcome import CaseResult
from fencepost.properties.oracle.fingerprint import Fingerprint
from fencepost.traces.files.trace_file import TraceFile


class PlanFinding(Finding[Plan, CaseResult, Fingerprint]):
    """One fault of a target, by the smallest plan that shows it."""

    __slots__ = ()

    @property
    def case(self) -> Plan:
        """The minimal case."""
        return self.smallest

    @property
    def sentence(self) -> str:
        """Return the sentence that explains the failure."""
        return self.result.message

    def steps(self, revision: Revision) -> tuple[str, ...]:
        """List requests and answers, a numbered line each, for the revision that judged."""
        recording, first = self.result.recording, self.result.violation
        if recording is None:
            return ()
        wrong = known = "" if first is None else first.request_id
        if first is not None and (attribution := self.result.attribution(revision)).behind:
            own = attribution.verdict.violation
            wrong = wrong if own is None else own.request_id
        return steps_of(recording, wrong, known)


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a search.

    `findings`: those that fail each time; `flaky`: those that don't; `unconfirmed`: those that were
    not run again; `known`: how often known fingerprints were seen.
    """

    findings: tuple[PlanFinding, ...] = ()
    flaky: tuple[PlanFinding, ...] = ()
    unconfirmed: tuple[PlanFinding, ...] = ()
    known: Mapping[Fingerprint, int] = field(default_factory=dict)

    @property
    def all(self) -> tuple[PlanFinding, ...]:
        """All of them, the surest first."""
        return (*self.findings, *self.flaky, *self.unconfirmed)


OnFinding = Callable[[PlanFinding], None]


async def findings_from(
    failures: Sequence[CaseResult],
    examination: Examination,
    *,
    known: Collection[Fingerprint] = (),
    level: Level = Level.SHOULD,
    on_finding: OnFinding | None = None,
) -> Findings:
    """Find the distinct faults among failed cases, the simplest plan first.

    `known`: fingerprints that are only counted; `level`: failures below it are left out;
    `on_finding`: called with each finding as soon as it is confirmed, and at the end with those for
    which no time was left.
    """
    suite = examination.suite
    grouped = _by_fingerprint(failures, suite, level)
    counted = Counter(
        {fingerprint: len(alike) for fingerprint, alike in grouped.items() if fingerprint in known}
    )

    async def examined(fingerprint: Fingerprint, results: Sequence[CaseResult]) -> PlanFinding:
        async with examination.turn() as has_time:
            if not has_time:
                return _unconfirmed(fingerprint, results, suite.revision)
            finding = await finding_of(fingerprint, results, examination)
        if on_finding is not None and finding.runs:
            on_finding(finding)
        return finding

    new = [
        examined(fingerprint, alike)
        for fingerprint, alike in grouped.items()
        if fingerprint not in known
    ]
    results = list(await asyncio.gather(*new))
    results.sort(key=lambda f: (weight(f.case, suite.hello.apis), f.fingerprint))
    findings = _sorted(results, counted)
    if on_finding is not None:
        for finding in findings.unconfirmed:
            on_finding(finding)
    return findings


def unexamined(failures: Sequence[CaseResult], suite: OpenTarget, level: Level) -> Findings:
    """Find the distinct faults among failed cases, without shrinking or confirming them."""
    grouped = _by_fingerprint(failures, suite, level)
    return _sorted(
        [_unconfirmed(fingerprint, alike, suite.revision) for fingerprint, alike in grouped.items()]
    )


def _sorted(
    findings: Sequence[PlanFinding], known: Mapping[Fingerprint, int] | None = None
) -> Findings:
    return Findings(
        tuple(f for f in findings if f.runs and not f.is_flaky),
        tuple(f for f in findings if f.is_flaky),
        tuple(f for f in findings if not f.runs),
        known or {},
    )


def _by_fingerprint(
    failures: Sequence[CaseResult], suite: OpenTarget, level: Level
) -> dict[Fingerprint, list[CaseResult]]:
    """Group failures by fingerprint; both in the order of the simplest plan."""

    def simplest(result: CaseResult) -> tuple[tuple[int, ...], str]:
        return weight(result.case, suite.hello.apis), result.case.id

    grouped: dict[Fingerprint, list[CaseResult]] = {}
    for result in sorted(failures, key=simplest):
        fingerprint = result.fingerprint(suite.revision)
        if fingerprint is not None and LEVELS.index(result.level) <= LEVELS.index(level):
            grouped.setdefault(fingerprint, []).append(result)
    return grouped


async def finding_of(
    fingerprint: Fingerprint, results: Sequence[CaseResult], examination: Examination
) -> PlanFinding:
    """Shrink and confirm the first of some failures with one fingerprint."""
    minimal, confirmation = await examination.examined(results[0], fingerprint)
    best = minimal.smallest
    finding = _plan_finding(fingerprint, results, best.run, best.value, examination.revision)
    return replace(
        finding,
        failed=confirmation.failed,
        runs=confirmation.runs,
        tried=minimal.tried,
        is_minimal=minimal.is_minimal,
    )


def _unconfirmed(
    fingerprint: Fingerprint, results: Sequence[CaseResult], revision: Revision
) -> PlanFinding:
    """Make a finding of failures that were neither shrunk nor confirmed."""
    return _plan_finding(fingerprint, results, results[0], results[0].case, revision)


def _plan_finding(
    fingerprint: Fingerprint,
    failures: Sequence[CaseResult],
    result: CaseResult,
    case: Plan,
    revision: Revision,
) -> PlanFinding:
    named = _named(result, case, fingerprint, revision)
    return PlanFinding(named.case, named, fingerprint, failures[0].case, len(failures))


def _named(
    result: CaseResult, case: Plan, fingerprint: Fingerprint, revision: Revision
) -> CaseResult:
    """Name the result of a shrunk case by an id that depends on its steps alone."""
    name = f"found/{steps_digest(case.steps)}-{fingerprint.rule or fingerprint.wrong}"
    explained = replace(result, message=_message(result, revision))
    return under(explained, structs.replace(case, id=name, about=str(fingerprint)))


def _message(result: CaseResult, revision: Revision) -> str:
    """Explain a failure; of one behind known departures, also the rest that these leave."""
    if result.recording is None or result.violation is None:
        return result.message
    attribution = result.attribution(revision)
    if not attribution.behind:
        return result.message
    known = result.message.partition(" Source: ")[0].rstrip(".")
    message = sentence(attribution.verdict, result.recording, revision)
    return f"{known}; that is {attribution.behind}, which is known. Behind it {message}"


def under(result: CaseResult, case: Plan) -> CaseResult:
    """Make the result one of this case, whose steps are the same."""
    recording = result.recording
    if recording is None:
        return replace(result, case=case)
    moved = replace(recording, case=case)
    moved.attribution = recording.attribution
    return replace(result, case=case, recording=moved)


def trace_of_finding(finding: PlanFinding, suite: OpenTarget, *, seed: int) -> TraceFile | None:
    """Make the trace of a finding, for replay; None where the target itself failed."""
    trace = sound_trace(finding.result, suite.revision, suite.provenance(), seed=seed)
    if trace is None or trace.verdict.outcome != "violated":
        return trace
    return replace(trace, verdict=replace(trace.verdict, message=finding.sentence))
