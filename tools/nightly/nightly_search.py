"""Search a target, mutants, generated traces and property tests, each in a process of its own.

The search of a target reports its findings and its coverage.  The search of a mutant reports only
if the mutant was found, and after how many requests; it ends there, since its fault is known.

The data pipeline draws, judges, counts and triages batches of traces until the time is over, with
its engine for one process.  The model must explain its own traces.  So each violation is a finding,
and so is a judge that fails.

Hypothesis searches with another seed each night.  Files of tests run one after another.  Each night
begins with another file, so that all have their turn although the time is short.  Failures are read
from pytest's output while it runs, so a file that is cut off has reported its failures so far.
"""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.conformance.runtime.toolchain.child import Child
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.search.findings.findings import PlanFinding
from fencepost.conformance.search.findings.trace_causes import cause_of_text
from fencepost.conformance.search.findings.tracked_bugs import EACH_TIME, UNTRIED, Sighting
from fencepost.conformance.search.fuzz.fuzz import FuzzListener, FuzzOptions, FuzzResult, fuzz
from fencepost.conformance.search.fuzz.tally import Budget, Tally
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import (
    TargetOptions,
    find_revision,
    find_target,
    revision_for,
)
from fencepost.model.revisions.revisions import MUTANT
from fencepost.model.table.table import Level
from fencepost.properties.judging.known_failures import KnownFailure, aliases_of
from fencepost.properties.oracle.fingerprint import Fingerprint
from fencepost.properties.workers.processes import Stop, Tell
from fencepost.traces.files.bounded import pip_install
from fencepost.traces.files.known_failure_lists import load
from fencepost.traces.files.trace_file import TraceFile

if TYPE_CHECKING:
    from fencepost.traces.pipeline.corpus.triage import Triaged


_LAST_S = 25.0
"""Seconds for the examination of failures after a stop."""

_LEAST_S = 0.5
"""The least time of one search for a mutant, in seconds."""


@dataclass(frozen=True, slots=True)
class SearchTask:
    """A search of a target, with its seed.

    `seconds`: for the search, and `examine_s`: to examine failures, on a real clock; `requests`:
    greatest number, None: any number; `passed_over`: causes, or fingerprints in words, of
    well-known failures, which are only counted; `logs`: a folder for the logs of started processes.
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
    """The coverage of a shard, of the model's rules; pairs and states as texts."""

    rules: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    can: frozenset[str] = frozenset()
    """Rules that can be reached on this target."""


@dataclass(frozen=True, slots=True)
class ShardReport:
    """The report of a shard; `unavailable`: the reason why the target can't be opened, or ""."""

    target: str
    findings: tuple[Sighting, ...] = ()
    covered: ShardCoverage = field(default_factory=ShardCoverage)
    version: str = ""
    plans: int = 0
    requests: int = 0
    unknown: int = 0
    trouble: str = ""
    unavailable: str = ""


async def search_target(task: SearchTask, stop: Stop, tell: Tell) -> None:
    """Search a target, and report the findings."""
    revision = find_revision(revision_for(task.target))
    target_options = TargetOptions(logs=task.logs)

    def known(held: Target) -> Sequence[KnownFailure]:
        return load(task.target, held.provenance().version, (), aliases_of(held))

    options = FuzzOptions(
        revision,
        Budget(task.requests, task.seconds),
        task.seed,
        known,
        examine_s=task.examine_s,
        passed_over=task.passed_over,
        examines_listed=False,
        stop=stop,
    )
    reporter = _ShardReporter(task, tell)
    fuzzing = fuzz(lambda: find_target(task.target, target_options), options, reporter)
    fuzzed: FuzzResult | None = None
    why = ""
    try:
        fuzzed = await stop.cut(fuzzing, grace_s=_LAST_S)
    except* TargetUnavailableError as group:
        why = str(_first(group))
    if fuzzed is not None:
        tell(ShardReport(task.target, tuple(_counted(task, fuzzed)), trouble=fuzzed.gave_up))
    elif why:
        reporter.lost(why)
    else:
        reporter.rest()


def _first(error: BaseException) -> BaseException:
    """Return the first error inside of exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _ShardReporter(FuzzListener):
    """Listener that reports each result at once, so that little is lost if the process ends."""

    def __init__(self, task: SearchTask, tell: Tell) -> None:
        self._task = task
        self._tell = tell
        self._result_so_far: FuzzResult | None = None
        self._reported: set[Fingerprint] = set()

    def searched(self, fuzzed: FuzzResult) -> None:
        """Report the end of the search."""
        self._result_so_far = fuzzed
        tally, provenance = fuzzed.tally, fuzzed.provenance
        covered = tally.covered
        self._tell(
            ShardReport(
                self._task.target,
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

    def examined(self, finding: PlanFinding, trace: TraceFile | None) -> None:
        """Report a finding after its examination."""
        self._reported.add(finding.fingerprint)
        self._say(self._sighting(finding, trace))

    def rest(self) -> None:
        """Report the remaining findings as unconfirmed, since no examination follows."""
        if self._result_so_far is None:
            return
        for finding in self._result_so_far.findings.all:
            if finding.fingerprint not in self._reported:
                self._say(self._sighting(finding))

    def lost(self, why: str) -> None:
        """Report that the target can't be opened, or can't be opened again."""
        self.rest()
        if self._result_so_far is None:
            self._tell(ShardReport(self._task.target, unavailable=why))
        else:
            self._tell(ShardReport(self._task.target, trouble=why))

    def _sighting(self, finding: PlanFinding, trace: TraceFile | None = None) -> Sighting:
        task, text = self._task, None if trace is None else trace.text()
        return Sighting.of(finding, task.target, task.seed, shard=task.shard, trace=text)

    def _say(self, finding: Sighting) -> None:
        self._tell(ShardReport(self._task.target, (finding,)))


def with_cause(finding: Sighting) -> Sighting:
    """Return a copy of a finding with the known cause of the failure in its trace."""
    if finding.trace is None:
        return finding
    return replace(finding, cause=cause_of_text(finding.trace))


def _counted(task: SearchTask, fuzzed: FuzzResult) -> Iterator[Sighting]:
    """Yield the well-known findings, which were only counted."""
    for fingerprint, times in fuzzed.findings.known.items():
        level = fuzzed.revision.rule(fingerprint.rule).level if fingerprint.rule else Level.MUST
        yield Sighting(
            task.target,
            fingerprint.rule,
            level.value,
            str(fingerprint),
            "",
            times,
            UNTRIED,
            task.shard,
            task.seed,
            cause=fingerprint.cause,
        )


@dataclass(frozen=True, slots=True)
class MutantResult:
    """The result for a mutant, with the requests and seconds of the search."""

    mutant: str
    is_killed: bool
    requests: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MutantTask:
    """Mutants to search for, one after the other, in this many seconds.

    `requests`: greatest number for each, in one round; None: any number, in rounds until the time
    is over.
    """

    mutants: tuple[str, ...]
    seed: int
    seconds: float
    requests: int | None = None


async def search_mutants(task: MutantTask, stop: Stop, tell: Tell) -> None:
    """Search for each mutant, and report each result.

    Each mutant gets an even share of the time, and most need less.  The rest of the time is for the
    missed mutants, with another seed.
    """
    until = time.monotonic() + task.seconds
    missed = {name: MutantResult(name, is_killed=False) for name in task.mutants}
    goes = count() if task.requests is None else range(1)
    for go in goes:
        if not missed or not await _search_round(missed, task.seed + go, task, until, stop, tell):
            break
    for result in missed.values():
        if result.requests:
            tell(result)


async def _search_round(
    missed: dict[str, MutantResult],
    seed: int,
    task: MutantTask,
    until: float,
    stop: Stop,
    tell: Tell,
) -> bool:
    """Search for the missed mutants once more; return False if the run was stopped."""
    names = tuple(missed)
    for place, name in enumerate(names):
        if stop.requested:
            return False
        share = max(_LEAST_S, (until - time.monotonic()) / (len(names) - place))
        result = await _search_once(missed.pop(name), seed, Budget(task.requests, share), stop)
        if result.is_killed:
            tell(result)
        else:
            missed[name] = result
    return True


async def _search_once(before: MutantResult, seed: int, budget: Budget, stop: Stop) -> MutantResult:
    """Search once more for a mutant."""
    target = MUTANT + before.mutant
    began = time.monotonic()
    mine = Stop()
    async with mine.following(stop):

        def end_if_killed(tally: Tally) -> None:
            if tally.failures:
                mine.ask()

        options = FuzzOptions(
            find_revision(revision_for(target)), budget, seed, on_tally=end_if_killed, stop=mine
        )
        fuzzed = await fuzz(lambda: find_target(target, TargetOptions()), options)
    tally = fuzzed.tally
    return MutantResult(
        before.mutant,
        is_killed=bool(tally.failures),
        requests=before.requests + tally.requests,
        seconds=before.seconds + time.monotonic() - began,
    )


JUDGE = "kafka-4"
TRACES_TARGET = "traces of the model"
_BATCH = 400
"""The size of a batch: the time is checked after each."""


@dataclass(frozen=True, slots=True)
class TracesTask:
    """Traces to make of a model, from a first seed; `traces`: their number, None: any number."""

    shard: str
    seed: int
    model: str = JUDGE
    traces: int | None = None


async def make_traces(task: TracesTask, stop: Stop, tell: Tell) -> None:
    """Make and judge batches of traces until stopped, and report each batch."""
    try:
        import pyarrow as pa  # noqa: F401, PLC0415  (an extra)
    except ImportError:
        tell(ShardReport(TRACES_TARGET, unavailable=f"Arrow is missing: {pip_install('corpus')}"))
        return
    made = 0
    while not stop.requested and (task.traces is None or made < task.traces):
        batch = _BATCH if task.traces is None else min(_BATCH, task.traces - made)
        tell(_batch(task, task.seed + made, batch))
        made += batch
        await asyncio.sleep(0)  # so that a stop is noticed


def _batch(task: TracesTask, seed: int, traces: int) -> ShardReport:
    from fencepost.traces.pipeline.corpus import triage  # noqa: PLC0415
    from fencepost.traces.pipeline.corpus.corpus import corpus_recipe  # noqa: PLC0415
    from fencepost.traces.pipeline.corpus.shard_jobs import LocalEngine  # noqa: PLC0415
    from fencepost.traces.pipeline.storage.location import Place  # noqa: PLC0415

    recipe = corpus_recipe(
        seed=seed, traces=traces, revisions=(task.model,), mutants=(), per_shard=traces
    )
    engine = LocalEngine()
    with tempfile.TemporaryDirectory(prefix="fencepost-night-") as folder:
        place = Place(str(Path(folder) / "corpus"))
        triage.generate_corpus(engine, place, recipe)
        corpus = triage.open_corpus(place)
        triage.check_corpus(engine, corpus, JUDGE)
        items = triage.cover_corpus(engine, corpus).to_pylist()
        failures = triage.triage_corpus(engine, corpus, JUDGE)
    return ShardReport(
        TRACES_TARGET,
        tuple(_trace_finding(task, seed, triaged) for triaged in failures),
        ShardCoverage(_of("rule", items), _of("pair", items), _of("state", items)),
        plans=traces,
    )


def _of(kind: str, items: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(row["item"] for row in items if row["kind"] == kind)


def _trace_finding(task: TracesTask, seed: int, triaged: Triaged) -> Sighting:
    level = None if triaged.file is None else triaged.file.verdict.level
    return Sighting(
        "model",
        triaged.fingerprint.rule,
        level or Level.MUST.value,
        str(triaged.fingerprint) or f"the judge failed: {triaged.message}",
        triaged.message,
        triaged.traces,
        EACH_TIME,
        task.shard,
        seed,
        trace=None if triaged.file is None else triaged.file.text(),
    )


TESTS_TARGET = "tests"
PROFILE = "nightly"
STORAGE = "hypothesis"
"""The folder beside the report for Hypothesis's examples."""

_FAILED_NOW = re.compile(r"^(?P<test>\S+\.py::\S.*?) (?:FAILED|ERROR)\b")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S+\.py::\S+|\S+\.py)(?: - (?P<why>.*))?$")
_USES_HYPOTHESIS = re.compile(r"^(?:from|import) hypothesis\b", re.MULTILINE)
_NOTHING_TO_RUN = 5
_ENDED_AS_IT_SHOULD = (0, 1, _NOTHING_TO_RUN)


@dataclass(frozen=True, slots=True)
class TestsReport:
    """The result of the property tests.

    `ran`: the files that ran to their end, of `files` (as far as known); `cut`: the running file
    when the time was over.
    """

    findings: tuple[Sighting, ...] = ()
    ran: tuple[str, ...] = ()
    files: int = 0
    cut: str = ""
    trouble: str = ""


def why_no_tests(root: Path) -> str:
    """Return the reason why the tests can't be run here, or ""."""
    if not (root / "tests" / "conftest.py").is_file():
        return "no tests here: run it in a checkout"
    if importlib.util.find_spec("pytest") is None:
        return "pytest is missing: run it by tox -e nightly"
    return ""


def files_of(root: Path, seed: int) -> list[str]:
    """Return the files with property tests; the first one depends on the seed."""
    files = [
        path.relative_to(root).as_posix()
        for path in sorted((root / "tests").rglob("test_*.py"))
        if _USES_HYPOTHESIS.search(path.read_text("utf-8"))
    ]
    first = seed % len(files) if files else 0
    return files[first:] + files[:first]


async def run_tests(
    root: Path, report: Path, *, seed: int, seconds: float, stop: Stop, shard: str
) -> TestsReport:
    """Run the property tests of a checkout for `seconds`; logs and examples go to the report."""
    files = files_of(root, seed)
    until = time.monotonic() + seconds
    ran: list[str] = []
    findings: list[Sighting] = []
    trouble: list[str] = []
    for file in files:
        left = until - time.monotonic()
        if stop.requested or left <= 0:
            return TestsReport(tuple(findings), tuple(ran), len(files), trouble="; ".join(trouble))
        log = report / "logs" / f"{file.replace('/', '-')}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        code = await _pytest(root, report, file, log, left, stop)
        text = log.read_text("utf-8", errors="replace")
        findings += [_test_finding(test, why, shard, seed) for test, why in failed_in(text)]
        if code is None:
            return TestsReport(tuple(findings), tuple(ran), len(files), file, "; ".join(trouble))
        if code not in _ENDED_AS_IT_SHOULD:
            trouble.append(f"pytest {file} ended with {code}; see logs/{log.name}")
        if code != _NOTHING_TO_RUN:
            ran.append(file)
    return TestsReport(tuple(findings), tuple(ran), len(ran), trouble="; ".join(trouble))


def failed_in(text: str) -> list[tuple[str, str]]:
    """Return the tests that failed, by pytest's output so far, and the reasons."""
    return list(dict(_lines(text.splitlines())).items())


def _lines(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if match := _FAILED_NOW.match(line) or _FAILED.match(line):
            parts = match.groupdict()
            yield parts["test"], parts.get("why") or "it failed before it was cut off; see its log"


async def _pytest(
    root: Path, report: Path, file: str, log: Path, within_s: float, stop: Stop
) -> int | None:
    """Run pytest; returns its exit code, None if the time was over or the run was stopped."""
    child = await Child.start(
        [
            sys.executable,
            "-m",
            "pytest",
            *("-v", "--color=no", "-m", "hypothesis", "-p", "no:cacheprovider", file),
        ],
        log,
        folder=root,
        env={
            "HYPOTHESIS_PROFILE": PROFILE,
            "HYPOTHESIS_STORAGE_DIRECTORY": str(report / STORAGE),
            "COLUMNS": "400",
            "PYTHONUNBUFFERED": "1",
        },
    )
    waiting = asyncio.create_task(child.wait(within_s))
    try:
        return await stop.cut(_result(waiting))
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await child.end()


async def _result(waiting: asyncio.Task[int]) -> int | None:
    try:
        return await waiting
    except TimeoutError:
        return None


def _test_finding(test: str, why: str, shard: str, seed: int) -> Sighting:
    return Sighting(TESTS_TARGET, "", Level.MUST.value, test, why, 1, EACH_TIME, shard, seed)
