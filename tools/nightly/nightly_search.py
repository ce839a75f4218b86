"""The searches of a nightly run, each in a process of its own: of a target, and of mutants.

The search of a target reports its findings and its coverage.  The search of a mutant reports only
whether the mutant was found, and after how many requests; it ends there, since its fault is known.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.search.findings.findings import Finding
from fencepost.conformance.search.fuzz.fuzz import FuzzListener, FuzzResult, fuzz
from fencepost.conformance.search.fuzz.fuzz_progress import FuzzOptions
from fencepost.conformance.search.fuzz.tally import Budget, Tally
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import (
    TargetOptions,
    find_revision,
    find_target,
    revision_for,
)
from fencepost.model.table.table import Level
from fencepost.properties.mutants.mutant import PREFIX
from fencepost.properties.oracle.fingerprint import Fingerprint
from fencepost.properties.workers.cancellation import Stop
from fencepost.properties.workers.pool import Tell
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.report.known_failures import KnownFailure, aliases_of, load
from tools.nightly.dedup import EACH_TIME, SOMETIMES, UNTRIED, ShardFinding

_LAST_S = 25.0
"""How long the examination of failures may go on after a stop, in seconds."""

_LEAST_S = 0.5
"""The least time of one search for a mutant, in seconds."""


@dataclass(frozen=True, slots=True)
class SearchTask:
    """A search of a target, with its seed.

    `seconds`: for the search, and `examine_s`: to examine failures, on a real clock; `requests`:
    the most, None: any number; `passed_over`: causes, or fingerprints in words, that are only
    counted, since they are known well; `logs`: a folder for the logs of what is started.
    """

    shard: str
    target: str
    seed: int
    seconds: float
    examine_s: float
    requests: int | None = None
    passed_over: frozenset[str] = frozenset()
    logs: Path | None = None


@dataclass(frozen=True, slots=True)
class ShardCoverage:
    """What a shard covered of the model; pairs and states as texts.

    `can`: the rules that can be reached on this target.
    """

    rules: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    can: frozenset[str] = frozenset()
    """Rules that this target can be led to."""


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What a shard reports; `unavailable`: why the target can't be opened, or ""."""

    target: str
    findings: tuple[ShardFinding, ...] = ()
    covered: ShardCoverage = field(default_factory=ShardCoverage)
    version: str = ""
    plans: int = 0
    requests: int = 0
    unknown: int = 0
    trouble: str = ""
    unavailable: str = ""


async def search_target(given: SearchTask, stop: Stop, tell: Tell) -> None:
    """Search a target, and report what was found."""
    revision = find_revision(revision_for(given.target))
    target_options = TargetOptions(logs=given.logs)

    def known(held: Target) -> Sequence[KnownFailure]:
        return load(given.target, held.provenance().version, (), aliases_of(held))

    options = FuzzOptions(
        revision,
        Budget(given.requests, given.seconds),
        given.seed,
        known,
        examine_s=given.examine_s,
        passed_over=given.passed_over,
        examines_listed=False,
        stop=stop,
    )
    reporter = _ShardReporter(given, tell)
    fuzzing = fuzz(lambda: find_target(given.target, target_options), options, reporter)
    fuzzed: FuzzResult | None = None
    why = ""
    try:
        fuzzed = await stop.cut(fuzzing, grace_s=_LAST_S)
    except* TargetUnavailableError as group:
        why = str(_first(group))
    if fuzzed is not None:
        tell(ShardReport(given.target, tuple(_counted(given, fuzzed)), trouble=fuzzed.gave_up))
    elif why:
        reporter.lost(why)
    else:
        reporter.rest()


def _first(error: BaseException) -> BaseException:
    """The first error inside of exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _ShardReporter(FuzzListener):
    """Reports each result at once, so that little is lost if the process ends."""

    def __init__(self, given: SearchTask, tell: Tell) -> None:
        self._given = given
        self._tell = tell
        self._result_so_far: FuzzResult | None = None
        self._told: set[Fingerprint] = set()

    def searched(self, fuzzed: FuzzResult) -> None:
        """The search is over."""
        self._result_so_far = fuzzed
        tally, provenance = fuzzed.tally, fuzzed.provenance
        covered = tally.covered
        self._tell(
            ShardReport(
                self._given.target,
                covered=ShardCoverage(
                    frozenset(covered.rules),
                    frozenset(map(repr, covered.pairs)),
                    frozenset(map(repr, covered.states)),
                    frozenset({*covered.rules, *fuzzed.never}),
                ),
                version=f"{provenance.implementation} {provenance.version}".strip(),
                plans=tally.plans,
                requests=tally.requests,
                unknown=sum(tally.unknown.values()),
            )
        )

    def found(self, finding: Finding, why: str, trace: TraceFile | None) -> None:
        """A finding."""
        self._told.add(finding.fingerprint)
        self._say(_finding(self._given, finding, why, trace))

    def rest(self) -> None:
        """Report the findings that were not reported yet, as unconfirmed: no more will come."""
        if self._result_so_far is None:
            return
        for finding in self._result_so_far.findings.all:
            if finding.fingerprint not in self._told:
                self._say(_finding(self._given, finding, "", None))

    def lost(self, why: str) -> None:
        """The target can't be opened, or can't be opened again."""
        self.rest()
        if self._result_so_far is None:
            self._tell(ShardReport(self._given.target, unavailable=why))
        else:
            self._tell(ShardReport(self._given.target, trouble=why))

    def _say(self, finding: ShardFinding) -> None:
        self._tell(ShardReport(self._given.target, (finding,)))


def _finding(
    given: SearchTask, finding: Finding, why: str, trace: TraceFile | None
) -> ShardFinding:
    sure = UNTRIED if not finding.runs else SOMETIMES if finding.is_flaky else EACH_TIME
    return ShardFinding(
        given.target,
        finding.fingerprint.rule,
        finding.result.level.value,
        str(finding.fingerprint),
        finding.sentence,
        finding.seen,
        sure,
        given.shard,
        given.seed,
        why,
        None if trace is None else trace.text(),
        finding.fingerprint.cause,
    )


def _counted(given: SearchTask, fuzzed: FuzzResult) -> Iterator[ShardFinding]:
    """Findings that are known well and were only counted."""
    for fingerprint, seen in fuzzed.findings.known.items():
        level = fuzzed.revision.rule(fingerprint.rule).level if fingerprint.rule else Level.MUST
        yield ShardFinding(
            given.target,
            fingerprint.rule,
            level.value,
            str(fingerprint),
            "",
            seen,
            UNTRIED,
            given.shard,
            given.seed,
            cause=fingerprint.cause,
        )


@dataclass(frozen=True, slots=True)
class MutantResult:
    """Whether a mutant was found, and after how many requests and seconds."""

    mutant: str
    found: bool
    requests: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MutantTask:
    """Mutants to search for, one after the other, in so many seconds.

    `requests`: the most for each, in one round; None: any number, in as many rounds as there is
    time for.
    """

    mutants: tuple[str, ...]
    seed: int
    seconds: float
    requests: int | None = None


async def search_mutants(given: MutantTask, stop: Stop, tell: Tell) -> None:
    """Search for each mutant, and report each result.

    Each mutant gets an even share of the time, and most need less.  The time that is left is for
    those that were not found, with another seed.
    """
    until = time.monotonic() + given.seconds
    missed = {name: MutantResult(name, found=False) for name in given.mutants}
    goes = count() if given.requests is None else range(1)
    for go in goes:
        if not missed or not await _search_round(missed, given.seed + go, given, until, stop, tell):
            break
    for result in missed.values():
        if result.requests:
            tell(result)


async def _search_round(
    missed: dict[str, MutantResult],
    seed: int,
    given: MutantTask,
    until: float,
    stop: Stop,
    tell: Tell,
) -> bool:
    """One round over the mutants that were not found; False if the run was stopped."""
    names = tuple(missed)
    for place, name in enumerate(names):
        if stop.asked:
            return False
        share = max(_LEAST_S, (until - time.monotonic()) / (len(names) - place))
        result = await _search_once(missed.pop(name), seed, Budget(given.requests, share), stop)
        if result.found:
            tell(result)
        else:
            missed[name] = result
    return True


async def _search_once(before: MutantResult, seed: int, budget: Budget, stop: Stop) -> MutantResult:
    """Search once more for a mutant."""
    target = PREFIX + before.mutant
    began = time.monotonic()
    mine = Stop()
    async with mine.following(stop):

        def found(tally: Tally) -> None:
            if tally.failures:
                mine.ask()

        options = FuzzOptions(
            find_revision(revision_for(target)), budget, seed, on_tally=found, stop=mine
        )
        fuzzed = await fuzz(lambda: find_target(target, TargetOptions()), options)
    tally = fuzzed.tally
    return MutantResult(
        before.mutant,
        found=bool(tally.failures),
        requests=before.requests + tally.requests,
        seconds=before.seconds + time.monotonic() - began,
    )
