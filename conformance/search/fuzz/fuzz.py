"""Fuzz: run random plans against one target until the budget is spent.

Steps: open the target, run plans, attribute each failure, open the target again if it died, then
shrink and confirm each failure, with its cause.  A failure is known if a departure explains it that
is the cause of a listed one: of these, one for each reason is examined, and is reported as known.
Whatever ends a run early, the failures so far are reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencepost.conformance.run.certify import OpenTarget, Options, opened
from fencepost.conformance.run.link_faults import is_cut_off
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.search.findings.confirm import Examination
from fencepost.conformance.search.findings.findings import (
    Finding,
    Findings,
    findings_from,
    trace_of_finding,
    unexamined,
)
from fencepost.conformance.search.fuzz.fuzz_jobs import other_jobs
from fencepost.conformance.search.fuzz.fuzz_progress import LEVEL, FuzzOptions, FuzzProgress
from fencepost.conformance.search.fuzz.tally import Budget, Tally
from fencepost.conformance.targets.target import Target
from fencepost.model.coordinator import Provenance
from fencepost.model.plans.plan import Case
from fencepost.model.revision import Revision
from fencepost.properties.judging.outcome import EXIT_CODES, Overall
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.report.target_coverage import unreachable

_DEATHS = 5
"""After so many deaths of the target the search ends."""

_TRIES = 2000
_EXAMINE_S = 300.0
"""The least time to examine failures, in seconds; else as long as the search took."""

_SUSPECTS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class FuzzResult:
    """The result of a fuzz run.

    `known`: how often known failures were seen, by their reason; `listed`: findings that are known,
    one for each reason, with the reason; `unreachable`: rules
    that can't be reached on this target, with the reason; `traces`: of each finding; `budget`: what
    was asked for; `gave_up`: why the search ended early, or ""; `stopped`: the user stopped it.
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
    budget: Budget = field(default_factory=Budget)
    gave_up: str = ""
    stopped: bool = False

    @property
    def ended(self) -> str:
        """What ended the search."""
        requests, seconds = self.budget.requests, self.budget.seconds
        if self.gave_up or self.stopped:
            return self.gave_up or "stopped early"
        if seconds is not None and self.tally.seconds >= seconds:
            return f"the time was over ({seconds / 60:g} min)"
        if requests is None or self.tally.requests >= requests:
            return "all requests that were asked for were sent"
        return (
            f"plans of {requests:,} requests were run; the rest was not sent, since a plan ends "
            "where it fails or can't go on"
        )

    @property
    def never(self) -> tuple[str, ...]:
        """Rules that can be reached and were not, in the table's order."""
        covered = self.tally.covered.rules
        return tuple(
            rule.id
            for _, rule in self.revision.rules()
            if rule.id not in covered and rule.id not in self.unreachable
        )

    @property
    def found(self) -> tuple[Finding, ...]:
        """New findings, the surest first."""
        return self.findings.all

    def exit_code(self) -> int:
        """1 if a finding fails each time or the target could not be kept alive.

        2 if all findings are flaky or unconfirmed, else 0.
        """
        if self.findings.findings or self.gave_up:
            return EXIT_CODES[Overall.VIOLATED]
        return EXIT_CODES[Overall.UNKNOWN if self.found else Overall.HOLDS]


class FuzzListener:
    """Is called while a run goes on; this one does nothing."""

    def searched(self, fuzzed: FuzzResult) -> None:
        """The search is over; its findings are not confirmed yet, and will come one by one."""

    def found(self, finding: Finding, why: str, trace: TraceFile | None) -> None:
        """A finding was examined; `why`: the reason why it is known, "" for a new one."""


SILENT = FuzzListener()


async def fuzz(
    open_target: Callable[[], Target], options: FuzzOptions, listener: FuzzListener = SILENT
) -> FuzzResult:
    """Search until the budget is spent, then examine the failures.

    `listener` is called meanwhile.  Raises TargetUnavailableError if the target can't be opened.
    """
    progress = FuzzProgress(options)
    suspects: list[Case] | None = []
    fuzzed: FuzzResult | None = None
    while suspects is not None:
        target = open_target()
        try:
            async with opened(target, options.revision, Options(attempts=1, follows=True)) as suite:
                fuzzed, suspects = await _session(progress, target, suite, suspects, listener)
        except TargetUnavailableError as error:
            if fuzzed is None:
                raise
            return _report_unexamined(
                replace(fuzzed, gave_up=f"It died and could not be opened again: {error}"), listener
            )
    assert fuzzed is not None  # noqa: S101  (the loop runs once at least)
    return fuzzed


async def _session(
    progress: FuzzProgress,
    target: Target,
    suite: OpenTarget,
    suspects: Sequence[Case],
    listener: FuzzListener,
) -> tuple[FuzzResult, list[Case] | None]:
    """Run plans while the target lives, then examine the failures; or return the suspects.

    After too many deaths the failures are examined, too.
    """
    options = progress.options
    context = await progress.arrived(target, suite)
    await options.stop.cut(_retry_suspects(progress, suite, suspects))
    suspects_found: list[Case] | None = None
    if progress.tally.died < _DEATHS:
        async with other_jobs(progress, target, suite) as others:
            suspects_found = await progress.searched(target, suite, context)
            if suspects_found is None:
                suspects_found = await others.join(progress)
    died = progress.tally.died
    fuzzed = FuzzResult(
        provenance=suite.provenance(),
        clock=suite.hello.clock,
        revision=options.revision,
        seed=options.seed,
        tally=progress.tally,
        findings=unexamined(progress.failures(), suite, LEVEL),
        known=progress.known_counts,
        listed=[],
        unreachable=unreachable(
            options.revision, suite.hello, [config for _, config in context.configs]
        ),
        traces={},
        budget=options.budget,
        gave_up=f"It died {died} times." if died >= _DEATHS else "",
        stopped=options.stop.asked,
    )
    if suspects_found is not None and not options.stop.asked:
        return fuzzed, suspects_found
    return await _examined(progress, suite, fuzzed, listener), None


async def _examined(
    progress: FuzzProgress, suite: OpenTarget, fuzzed: FuzzResult, listener: FuzzListener
) -> FuzzResult:
    """Shrink, confirm and report all failures."""
    options = progress.options
    listener.searched(fuzzed)
    examination = Examination(
        suite, tries=_TRIES, seconds=_examine_s(options, progress.tally), stop=options.stop
    )
    listed = progress.listed()
    alike = {result.case.id: why for why, result in listed.items()}
    traces: dict[str, TraceFile] = {}

    def tell(finding: Finding, why: str = "") -> None:
        trace = trace_of_finding(finding, suite, seed=options.seed)
        if trace is not None:
            traces[finding.case.id] = trace
        listener.found(finding, why, trace)

    async def of_listed() -> list[Finding]:
        def counted(finding: Finding) -> Finding:
            seen = progress.known_counts[alike[finding.first]]
            return replace(finding, seen=max(seen, finding.seen))

        def tell_listed(finding: Finding) -> None:
            tell(counted(finding), alike[finding.first])

        failures = list(listed.values())
        if options.examines_listed:
            old = await findings_from(failures, examination, level=LEVEL, on_finding=tell_listed)
        else:
            old = unexamined(failures, suite, LEVEL)
            for finding in old.all:
                tell_listed(finding)
        return [counted(finding) for finding in old.all]

    failures = progress.failures()
    fingerprints = {result.fingerprint(suite.revision) for result in failures}
    passed = {f for f in fingerprints if f and (f.cause or str(f)) in options.passed_over}
    async with examination.limited():
        new, old = await asyncio.gather(
            findings_from(failures, examination, known=passed, level=LEVEL, on_finding=tell),
            of_listed(),
        )
    return replace(
        fuzzed,
        findings=new,
        listed=[(alike[finding.first], finding) for finding in old],
        traces={f.case.id: traces[f.case.id] for f in (*new.all, *old) if f.case.id in traces},
    )


def _examine_s(options: FuzzOptions, tally: Tally) -> float:
    """The time limit to examine failures: given, or as long as the search took."""
    return max(_EXAMINE_S, tally.seconds) if options.examine_s is None else options.examine_s


def _report_unexamined(fuzzed: FuzzResult, listener: FuzzListener) -> FuzzResult:
    """Report the findings in a target that is gone as unconfirmed."""
    listener.searched(replace(fuzzed, findings=Findings()))
    for finding in fuzzed.findings.all:
        listener.found(finding, "", None)
    return fuzzed


async def _retry_suspects(
    progress: FuzzProgress, suite: OpenTarget, suspects: Sequence[Case]
) -> None:
    """Run the suspects again, each alone with the target where it can be."""
    alone = [replace(case, isolated=True) for case in suspects]
    for start in range(0, len(alone), _SUSPECTS_AT_ONCE):
        results = await suite.try_cases(alone[start : start + _SUSPECTS_AT_ONCE])
        for result in results:
            key = progress.key_of(result)
            if key is not None:
                progress.tally.keep(key, result)
        if any(is_cut_off(result) for result in results):
            return
