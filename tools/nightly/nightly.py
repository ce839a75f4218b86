"""Run all searches of a night one after the other, within a given time.

Each part runs in processes of its own, is stopped when its time is over, and may fail without
ending the others: the report lists what it could not do.  If the user stops the run, the current
part ends, the others are left out, and all findings are reported.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from zlib import crc32

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.search.findings.tracked_bugs import Sighting
from fencepost.model.history.words import plural
from fencepost.properties.mutants.mutants import MUTANTS as ALL_MUTANTS
from fencepost.properties.oracle.fingerprint import Bug, origin_of
from fencepost.properties.workers.processes import Stop, Task, run_tasks
from tools.nightly.nightly_search import (
    MutantResult,
    MutantTask,
    SearchTask,
    ShardCoverage,
    ShardReport,
    TestsReport,
    TracesTask,
    make_traces,
    run_tests,
    search_mutants,
    search_target,
    why_no_tests,
    with_cause,
)
from tools.nightly.schedule import (
    MODEL,
    MUTANTS,
    TARGETS,
    TESTS,
    TRACES,
    Schedule,
    newer_kafka,
    weights_of,
    why_not,
)

DONE, CUT, SKIPPED, FAILED, UNAVAILABLE = "done", "cut short", "skipped", "failed", "unavailable"
_REPORT_S = 60.0
"""The time kept for the report at the end, or a tenth of a short night."""
_START_S = 35.0
"""The time kept for a target's start and its last plans, or a third of its share."""
_SEARCHED = 0.55
"""The search's share of the rest; the other part is to examine failures."""
_MODEL_SEARCHED = 0.9
_SHARDS = 1000
"""The distance between the seeds of parts; nights differ by this many times that."""
_LEAST_KILLED = 0.5
_FEW_MUTANTS = 5


@dataclass(frozen=True, slots=True)
class NightOptions:
    """Options of a nightly run.

    `report`: an absolute path; `root`: the checkout, or the current folder; `named`: the user named
    the targets, so a missing target is an error; `requests`: greatest number in each search;
    `corpus`: its bugs, None without a corpus; `open_bugs`: confirmed bugs of earlier nights that
    have a trace.
    """

    began: datetime
    seed: int
    seconds: float
    report: Path
    root: Path
    parts: tuple[str, ...]
    targets: tuple[str, ...]
    named: bool = False
    jobs: int = 1
    requests: int | None = None
    corpus: Mapping[Bug, str] | None = None
    open_bugs: frozenset[Bug] = frozenset()

    @property
    def tonight(self) -> str:
        """The night's name: the day on which it began."""
        return self.began.date().isoformat()

    def known_well(self, target: str) -> frozenset[str]:
        """Return the causes or fingerprints of a target's bugs that need no examination."""
        origin = origin_of(target)
        bugs = {*(self.corpus or {}), *self.open_bugs}
        return frozenset(bug for whose, bug in bugs if whose == origin)


@dataclass(slots=True)
class NightPart:
    """The result of a part, in words; `share`: its seconds."""

    name: str
    status: str = DONE
    result_text: str = ""
    seconds: float = 0.0
    share: float = 0.0


@dataclass(slots=True)
class TargetTotals:
    """The counts of a target, over all its shards."""

    version: str = ""
    plans: int = 0
    requests: int = 0
    unknown: int = 0
    covered: ShardCoverage = field(default_factory=ShardCoverage)

    def add(self, report: ShardReport) -> None:
        """Add the counts of one shard."""
        self.version = report.version or self.version
        self.plans += report.plans
        self.requests += report.requests
        self.unknown += report.unknown
        mine, theirs = self.covered, report.covered
        self.covered = ShardCoverage(
            mine.rules | theirs.rules,
            mine.pairs | theirs.pairs,
            mine.states | theirs.states,
            mine.can | theirs.can,
        )


@dataclass(slots=True)
class Night:
    """The state of a nightly run.

    `newer_kafka`: a release in the registry that is newer than the one of every night, or "".
    """

    options: NightOptions
    parts: list[NightPart] = field(default_factory=list)
    findings: list[Sighting] = field(default_factory=list)
    totals: dict[str, TargetTotals] = field(default_factory=dict)
    mutant_results: list[MutantResult] = field(default_factory=list)
    stopped: bool = False
    seconds: float = 0.0
    newer_kafka: str = ""


OnPart = Callable[[NightPart], None]


async def run_night(options: NightOptions, stop: Stop, on_part: OnPart = lambda _: None) -> Night:
    """Run all parts; `on_part` is called with each as it ends."""
    night = Night(options)
    began = time.monotonic()
    until = began + options.seconds - min(_REPORT_S, options.seconds / 10)
    schedule = Schedule(weights_of(options.parts, options.targets), until)
    async with _newer_release(night, stop):
        for name in weights_of(options.parts, options.targets):
            part = NightPart(name)
            start = time.monotonic()
            part.share = schedule.begin(name, start)
            if not part.share or not await _ran(night, part, stop):
                part.status, part.result_text = SKIPPED, "no time was left for it"
            part.seconds = time.monotonic() - start
            night.parts.append(part)
            on_part(part)
    night.stopped = stop.requested
    night.seconds = time.monotonic() - began
    return night


@asynccontextmanager
async def _newer_release(night: Night, stop: Stop) -> AsyncIterator[None]:
    """Ask the registry for a newer Kafka beside all parts; nothing waits for its answer."""
    if TARGETS not in night.options.parts or night.options.named or stop.requested:
        yield
        return
    asking = asyncio.ensure_future(newer_kafka())
    try:
        yield
    finally:
        if not asking.done():
            asking.cancel()
        # Without a network nothing is known.
        with contextlib.suppress(TargetUnavailableError, asyncio.CancelledError):
            night.newer_kafka = await asking


async def _ran(night: Night, part: NightPart, stop: Stop) -> bool:
    """Run a part; False if the run was stopped before."""
    if stop.requested:
        return False
    await _run(night, part, stop)
    part.status = CUT if _is_over(stop) else part.status
    return True


def _is_over(stop: Stop) -> bool:
    """Return True if the run has been stopped by now."""
    return stop.requested


async def _run(night: Night, part: NightPart, stop: Stop) -> None:
    match part.name:
        case name if name == MODEL:
            await _model(night, part, stop)
        case name if name == MUTANTS:
            await _mutants(night, part, stop)
        case name if name == TRACES:
            making = TracesTask(TRACES, _seed(night, part), traces=night.options.requests)
            await _run_searches(night, part, stop, [Task(TRACES, make_traces, making, part.share)])
        case name if name == TESTS:
            await _tests(night, part, stop)
        case _:
            await _target(night, part, stop)


async def _model(night: Night, part: NightPart, stop: Stop) -> None:
    searched = part.share * _MODEL_SEARCHED
    shards = [
        SearchTask(
            f"{MODEL} {n + 1}",
            MODEL,
            _seed(night, part, n),
            searched,
            part.share - searched,
            night.options.requests,
        )
        for n in range(night.options.jobs)
    ]
    await _run_searches(
        night, part, stop, [Task(s.shard, search_target, s, part.share) for s in shards]
    )


async def _target(night: Night, part: NightPart, stop: Stop) -> None:
    missing = "" if night.options.named else why_not(part.name)
    if missing:
        part.status, part.result_text = SKIPPED, missing
        return
    left = part.share - min(_START_S, part.share / 3)
    task = SearchTask(
        part.name,
        part.name,
        _seed(night, part),
        left * _SEARCHED,
        left * (1 - _SEARCHED),
        night.options.requests,
        night.options.known_well(part.name),
        night.options.report / "logs" / part.name.replace(":", "-"),
    )
    await _run_searches(night, part, stop, [Task(part.name, search_target, task, part.share)])


async def _run_searches(night: Night, part: NightPart, stop: Stop, tasks: Sequence[Task]) -> None:
    """Run searches, and note their results in the part."""
    mine: list[ShardReport] = []
    lost = await run_tasks(tasks, mine.append, stop, jobs=night.options.jobs)
    totals = TargetTotals()
    for report in mine:
        night.findings += map(with_cause, report.findings)
        night.totals.setdefault(report.target, TargetTotals()).add(report)
        totals.add(report)
    missing = [report.unavailable for report in mine if report.unavailable]
    wrong = [report.trouble for report in mine if report.trouble]
    wrong += [f"{name}: {error}" for name, error in lost.items()]
    part.result_text = plural(totals.plans, "trace" if part.name == TRACES else "plan")
    if totals.requests:
        part.result_text += f", {plural(totals.requests, 'request')}"
    if totals.unknown:
        part.result_text += f", {plural(totals.unknown, 'undecided plan')}"
    if missing:
        part.status, part.result_text = UNAVAILABLE, "; ".join(missing)
        for report in mine:
            night.totals.pop(report.target, None)
    elif wrong:
        part.status, part.result_text = FAILED, f"{part.result_text}; {'; '.join(wrong)}"


async def _mutants(night: Night, part: NightPart, stop: Stop) -> None:
    seed, jobs = _seed(night, part), night.options.jobs
    names = [name for name, mutant in ALL_MUTANTS.items() if mutant.visible]
    first = night.options.seed * _FEW_MUTANTS % len(names)
    turned = names[first:] + names[:first]
    tasks = [
        Task(
            f"{MUTANTS} {n + 1}",
            search_mutants,
            MutantTask(tuple(turned[n::jobs]), seed, part.share, night.options.requests),
            part.share,
        )
        for n in range(jobs)
    ]
    lost = await run_tasks(tasks, night.mutant_results.append, stop, jobs=jobs)
    killed = sum(result.is_killed for result in night.mutant_results)
    tried = len(night.mutant_results)
    part.result_text = f"{killed} of {tried} mutants found; {len(names)} in all"
    wrong = [f"{name}: {error}" for name, error in lost.items()]
    if tried >= _FEW_MUTANTS and killed < _LEAST_KILLED * tried:
        wrong.append("fewer than half of the mutants were found, so this night's searches are weak")
    if wrong:
        part.status, part.result_text = FAILED, f"{part.result_text}; {'; '.join(wrong)}"


async def _tests(night: Night, part: NightPart, stop: Stop) -> None:
    options = night.options
    missing = why_no_tests(options.root)
    if missing:
        part.status, part.result_text = SKIPPED, missing
        return
    seed = _seed(night, part)
    tested: TestsReport = await run_tests(
        options.root, options.report, seed=seed, seconds=part.share, stop=stop, shard=TESTS
    )
    night.findings += tested.findings
    part.result_text = (
        f"{len(tested.ran)} of {tested.files} files of property tests ran to their end"
    )
    if tested.cut:
        part.result_text += f", {tested.cut} was cut off"
    if tested.trouble:
        part.status, part.result_text = FAILED, f"{part.result_text}; {tested.trouble}"


def _seed(night: Night, part: NightPart, shard: int = 0) -> int:
    """Return the seed of a shard, which does not depend on the other parts of the night."""
    return (night.options.seed * _SHARDS + crc32(part.name.encode()) % _SHARDS) * _SHARDS + shard
