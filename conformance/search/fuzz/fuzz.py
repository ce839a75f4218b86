"""Fuzz: run random plans against one target until the budget is spent.

Steps: open the target, run plans, attribute each failure, open the target again if it died, then
shrink and confirm each failure, with its cause.  A failure is known if a departure explains it that
is the cause of a listed one: of these, one for each reason is examined, and is reported as known.
One that is of the kind of a listed one without a cause is known, too; that is counted and named.
Whatever ends a run early, the failures so far are reported.

The state of a fuzz run, which is kept while targets are closed and opened again.

A failure whose level is below SHOULD is not counted.  Each failure is attributed, and kept by its
cause and its look, so that a new one is not lost among known ones that it looks like.

Several fuzzers at one target, each in a worker process, with seeds of their own.

A run is shared out: each worker draws, runs and judges its own plans, since all of that takes the
processor, and has its part of the requests.  A broker that was started here is shared through its
address; of anything else each worker opens its own.  What they found comes back in the order of
their numbers, so on a virtual clock the sum is the same for the same seed and number.
There one is enough unless more are asked for; a real target has one for each processor.

A folder of plans that reached something new, from which the next fuzz run starts.

Each plan is a case as JSON, named after its id, which is a digest of its steps; so the same plan is
the same file.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from fencepost.conformance.run.certify import OpenTarget, Options, open_target
from fencepost.conformance.run.link_faults import is_cut_off
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.search.findings.confirm import Examination
from fencepost.conformance.search.findings.findings import (
    Findings,
    PlanFinding,
    findings_from,
    trace_of_finding,
    unexamined,
)
from fencepost.conformance.search.fuzz.drawn_plans import PlanContext, Planner
from fencepost.conformance.search.fuzz.earlier_run import EarlierRun, SinceBefore
from fencepost.conformance.search.fuzz.fuzz_engine import Fuzzer, plan_context_of
from fencepost.conformance.search.fuzz.tally import Budget, FailureKey, OnTally, Tally, length
from fencepost.conformance.targets.own_revision import load_named
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import TargetOptions, find_revision, find_target
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.coordinator import Provenance
from fencepost.model.plans.spelling import PlanError, plan_json, read_plan
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.departures.attribution import departed_by, departures_in
from fencepost.properties.departures.known_departures import DEPARTURES
from fencepost.properties.judging.known_failures import KnownFailure, KnownReasons
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import EXIT_CODES, Overall
from fencepost.properties.judging.target_coverage import unreachable
from fencepost.properties.workers.processes import Failure, Stop, Task, Tell, run_task
from fencepost.traces.files.bounded import read_json
from fencepost.traces.files.text_files import trace_name, write_texts
from fencepost.traces.files.trace_file import TraceFile

LEVEL = Level.SHOULD
"""The least binding level that counts."""

ListOf = Callable[[Target], Sequence[KnownFailure]]


@dataclass(frozen=True, slots=True)
class FuzzOptions:
    """Options of a fuzz run.

    `known`: the known failures of a target that is open; `corpus`: plans to start with; None: what
    reaches something new isn't kept either; `on_tally`: called with the tally as it grows.  `jobs`:
    processes that search; with more than one, `target` and `target_options` say what the others
    open; None: one where the clock is virtual, else as many as there are processors for.
    `examine_s`: how long failures are examined on a real clock; None: in proportion to the search.
    `stop`: ends the search, and then the examination.  `passed_over`: causes, or fingerprints in
    words, that are only counted; `examines_listed`: whether known failures are shrunk and
    confirmed, too.
    """

    revision: Revision
    budget: Budget
    seed: int = 0
    known: ListOf = lambda _: ()
    corpus: Iterable[Plan] | None = None
    on_tally: OnTally | None = None
    jobs: int | None = 1
    target: str = ""
    target_options: TargetOptions = field(default_factory=TargetOptions)
    examine_s: float | None = None
    stop: Stop = field(default_factory=Stop)
    passed_over: Collection[str] = ()
    examines_listed: bool = True


@dataclass(slots=True)
class FuzzProgress:
    """The state of a run, which is kept when the target has to be opened again."""

    options: FuzzOptions
    tally: Tally = field(default_factory=Tally)
    planner: Planner | None = None
    known: KnownReasons = field(default_factory=KnownReasons)
    known_counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Keep what a corpus needs, if there is one."""
        self.tally.keeps_novel = self.options.corpus is not None

    def key_of(self, result: CaseResult) -> FailureKey | None:
        """Return the key by which a failure is counted; None for what is no failure."""
        if result.outcome is not Outcome.FAIL:
            return None
        if LEVELS.index(result.level) > LEVELS.index(LEVEL):
            return None
        fingerprint = result.fingerprint(self.options.revision)
        if fingerprint is None:
            return None
        key = fingerprint.cause, *fingerprint.by_observed
        for why in self.known.of_failure(*key):
            self.known_counts[why] += 1
        return key

    def is_listed(self, result: CaseResult) -> bool:
        """Tell if listed departures explain all that is wrong, or it is of a listed kind."""
        if result.recording is None or result.violation is None:
            return False
        fingerprint = result.fingerprint(self.options.revision)
        if fingerprint is None:
            return False
        return bool(self.known.of_failure(fingerprint.cause, *fingerprint.by_observed))

    def failures(self) -> list[CaseResult]:
        """List the new failures."""
        return [
            result
            for key, alike in self.tally.failures.items()
            if not self.known.of_failure(*key)
            for result in alike
        ]

    def listed(self) -> dict[str, CaseResult]:
        """Find the simplest failure for each reason of a known one, of the fewest departures.

        One that several departures cause is there only if one of them causes none alone.
        """
        results: dict[str, CaseResult] = {}
        departures: set[str] = set()

        def simplest(row: tuple[FailureKey, list[CaseResult]]) -> tuple[int, tuple[int, str]]:
            (cause, _, _), alike = row
            return len(departures_in(cause)), length(alike[0])

        for (cause, _, _), alike in sorted(self.tally.failures.items(), key=simplest):
            why = self.known.of_cause(cause)
            if why and not departures.issuperset(departures_in(cause)):
                departures.update(departures_in(cause))
                results.setdefault(why, alike[0])
        return results

    def of_listed_kinds(self) -> dict[str, CaseResult]:
        """Find the simplest failure for each reason of an entry without a cause."""
        results: dict[str, CaseResult] = {}
        rows = sorted(self.tally.failures.items(), key=lambda row: length(row[1][0]))
        for (cause, rule, observed), alike in rows:
            if not self.known.of_cause(cause):
                for why in self.known.of_failure(cause, rule, observed):
                    results.setdefault(why, alike[0])
        return results

    def budget(self) -> Budget:
        """Return the rest of the budget."""
        whole = self.options.budget
        requests, seconds = whole.requests, whole.seconds
        return Budget(
            None if requests is None else requests - self.tally.requests,
            None if seconds is None else seconds - self.tally.seconds,
        )

    async def searched(
        self, target: Target, suite: OpenTarget, context: PlanContext
    ) -> list[Plan] | None:
        """Run plans until the budget is spent or the run is stopped (None), or the target died.

        Returns the suspects then.
        """
        if self.planner is None:
            self.planner = Planner(context, self.options.seed, self.options.corpus or ())
        self.planner.context = context
        fuzzer = Fuzzer(
            target,
            suite,
            self.planner,
            self.tally,
            self.key_of,
            self.options.on_tally,
            self.is_listed,
        )
        return await self.options.stop.cut(fuzzer.run(self.budget()))

    async def arrived(self, target: Target, suite: OpenTarget) -> PlanContext:
        """Note that a target was opened; returns what plans can be made for it."""
        self.known = KnownReasons.of(self.options.known(target))
        context = await plan_context_of(target, suite)
        if suite.revision.protocol is not CLASSIC:  # a target may depart in nearly each step there
            return replace(context, avoided=frozenset(known_rules(self.options.known(target))))
        if not self.known.by_cause:
            return context
        names = " + ".join(name for name in DEPARTURES if name in self.known.by_cause)
        return replace(context, departed=departed_by(suite.revision, names))


def known_rules(entries: Iterable[KnownFailure]) -> Iterator[str]:
    """Yield the rules of which a list has a violation without a cause, in a case about them."""
    for entry in entries:
        if entry.case.startswith(f"{entry.rule}/") and not entry.cause:
            yield entry.rule


_APART = 1 << 32
"""The distance between the seeds of the workers of one run."""

_MOST = 4
"""Most workers, unless more are requested: the target needs the processors, too."""

Share = tuple[Tally, dict[str, int], list[Plan] | None]


@dataclass(frozen=True, slots=True)
class Assignment:
    """The part of a search that one worker does; all of it can be pickled."""

    target: str
    target_options: TargetOptions
    revision: str
    budget: Budget
    seed: int
    corpus: tuple[Plan, ...] | None
    known: tuple[KnownFailure, ...]
    known_as: str


@dataclass(frozen=True, slots=True)
class OtherJobs:
    """The fuzzers beside the one in this process."""

    running: tuple[asyncio.Task[Failure | None], ...] = ()
    shares: tuple[list[Share], ...] = ()

    async def join(self, progress: FuzzProgress) -> list[Plan] | None:
        """Wait for all, and add their counts; None, or the plans that may have ended their target.

        Raises what a fuzzer raises, and WorkerLostError.
        """
        new_suspects: list[Plan] | None = None
        for task, share in zip(self.running, self.shares, strict=True):
            if (failure := await task) is not None:
                raise failure.error
            ((tally, known_counts, theirs),) = share
            progress.tally.merge(tally)
            progress.known_counts.update(known_counts)
            if theirs is not None:
                new_suspects = [*(new_suspects or []), *theirs]
        return new_suspects


def usual_jobs(clock: str) -> int:
    """Count the usual jobs for a target; on a virtual clock always the same."""
    return 1 if clock == "virtual" else min(_MOST, os.cpu_count() or 1)


@asynccontextmanager
async def other_jobs(
    progress: FuzzProgress, target: Target, suite: OpenTarget
) -> AsyncIterator[OtherJobs]:
    """Run the other fuzzers of this run while the body does; they end with it."""
    options = progress.options
    jobs = options.jobs or usual_jobs(suite.hello.clock)
    if jobs == 1 or progress.tally.died:
        yield OtherJobs()
        return
    name, target_options = _shared(target, suite, options)
    known = tuple(options.known(target))
    corpus = None if options.corpus is None else tuple(options.corpus)
    budget = progress.budget()
    share = budget.requests
    if share is not None:
        share = -(-share // jobs)
        progress.options = replace(options, budget=replace(options.budget, requests=share))
    shares = tuple(list[Share]() for _ in range(1, jobs))
    running = []
    try:
        for number, mine in enumerate(shares, 1):
            assignment = Assignment(
                name,
                target_options,
                options.revision.name,
                Budget(share, budget.seconds),
                options.seed + number * _APART,
                None if corpus is None else corpus[number::jobs],
                known,
                options.target,
            )
            task = Task(f"fuzzer {number}", _fuzz, assignment)
            running.append(
                asyncio.create_task(run_task(task, mine.append, options.stop, grace_s=None))
            )
        await asyncio.sleep(0)  # they start before this process has other things to do
        yield OtherJobs(tuple(running), shares)
    finally:
        progress.options = options
        for waiting in running:
            waiting.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _shared(target: Target, suite: OpenTarget, options: FuzzOptions) -> tuple[str, TargetOptions]:
    """Name the target of the others: the broker that was started here, or one of their own."""
    address = getattr(target, "address", None)
    if isinstance(address, str):
        named_as = getattr(target, "named_as", None)
        settings = dict(suite.config)
        return f"tcp://{address}", TargetOptions(settings=settings, named_as=named_as)
    return options.target, options.target_options


async def _fuzz(assignment: Assignment, stop: Stop, tell: Tell) -> None:
    """In a worker: search, and report the share of the sum."""
    load_named(assignment.revision)
    load_named(assignment.target)
    options = FuzzOptions(
        find_revision(assignment.revision),
        assignment.budget,
        assignment.seed,
        lambda _: assignment.known,
        assignment.corpus,
        stop=stop,
    )
    progress = FuzzProgress(options)
    target = find_target(assignment.target, assignment.target_options)
    how = Options(attempts=1, follows=True, known_as=assignment.known_as)
    async with open_target(target, options.revision, how) as suite:
        new_suspects = await progress.searched(target, suite, await progress.arrived(target, suite))
    tell((progress.tally, dict(progress.known_counts), new_suspects))


_DEATHS = 5
"""Deaths of the target after which the search ends."""

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
    was asked for; `gave_up`: why the search ended early, or ""; `stopped`: the user stopped it;
    `since`: the findings compared with those of an earlier run.
    """

    provenance: Provenance
    clock: str
    revision: Revision
    seed: int
    tally: Tally
    findings: Findings
    known: Mapping[str, int]
    listed: Sequence[PlanFinding]
    unreachable: Mapping[str, str]
    traces: Mapping[str, TraceFile]
    budget: Budget = field(default_factory=Budget)
    gave_up: str = ""
    stopped: bool = False
    since: SinceBefore | None = None

    @property
    def ended(self) -> str:
        """Explain the end of the search."""
        requests, seconds = self.budget.requests, self.budget.seconds
        if self.gave_up or self.stopped:
            return self.gave_up or "stopped early"
        if seconds is not None and self.tally.seconds >= seconds:
            return f"the time was over ({seconds / 60:g} min)"
        if requests is None or self.tally.requests >= requests:
            return "the budget of requests is spent"
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

    def compared_with(self, earlier: EarlierRun) -> FuzzResult:
        """Compare the result with an earlier run."""
        files = {case: (trace_name(case), trace.text()) for case, trace in self.traces.items()}
        return replace(self, since=earlier.compared(self.everything, files, self.seed))

    @property
    def everything(self) -> tuple[PlanFinding, ...]:
        """All findings: new ones, the surest first, then known ones."""
        return (*self.findings.all, *self.listed)

    def exit_code(self) -> int:
        """1 if a finding fails each time or the target could not be kept alive.

        2 if all findings are flaky or unconfirmed, else 0.  Compared with an earlier run, a finding
        also counts as certain if it failed each time then.
        """
        if self.findings.findings or self.gave_up:
            return EXIT_CODES[Overall.VIOLATED]
        if self.since is not None:
            return EXIT_CODES[self.since.overall()]
        return EXIT_CODES[Overall.UNKNOWN if self.findings.all else Overall.HOLDS]


class FuzzListener:
    """Is called while a run goes on; this one does nothing."""

    def searched(self, fuzzed: FuzzResult) -> None:
        """Take the result of the search, whose findings are not confirmed yet."""

    def examined(self, finding: PlanFinding, trace: TraceFile | None) -> None:
        """Take a finding that was examined."""


SILENT = FuzzListener()


async def fuzz(
    make_target: Callable[[], Target], options: FuzzOptions, listener: FuzzListener = SILENT
) -> FuzzResult:
    """Search until the budget is spent, then examine the failures.

    `listener` is called meanwhile.  Raises TargetUnavailableError if the target can't be opened.
    """
    progress = FuzzProgress(options)
    suspects: list[Plan] | None = []
    fuzzed: FuzzResult | None = None
    while suspects is not None:
        target = make_target()
        try:
            async with open_target(
                target, options.revision, Options(attempts=1, follows=True)
            ) as suite:
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
    suspects: Sequence[Plan],
    listener: FuzzListener,
) -> tuple[FuzzResult, list[Plan] | None]:
    """Run plans while the target lives, then examine the failures; or return the suspects.

    After too many deaths the failures are examined, too.
    """
    options = progress.options
    context = await progress.arrived(target, suite)
    await options.stop.cut(_retry_suspects(progress, suite, suspects))
    new_suspects: list[Plan] | None = None
    if progress.tally.died < _DEATHS:
        async with other_jobs(progress, target, suite) as others:
            new_suspects = await progress.searched(target, suite, context)
            if new_suspects is None:
                new_suspects = await others.join(progress)
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
        stopped=options.stop.requested,
    )
    if new_suspects is not None and not options.stop.requested:
        return fuzzed, new_suspects
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
    listed, of_kinds = progress.listed(), progress.of_listed_kinds()
    alike = {result.case.id: why for why, result in (*of_kinds.items(), *listed.items())}
    traces: dict[str, TraceFile] = {}

    def tell(finding: PlanFinding) -> None:
        trace = trace_of_finding(finding, suite, seed=options.seed)
        if trace is not None:
            traces[finding.case.id] = trace
        listener.examined(finding, trace)

    async def of_listed() -> list[PlanFinding]:
        def counted(finding: PlanFinding) -> PlanFinding:
            why = alike[finding.first.id]
            count = max(progress.known_counts[why], finding.occurrences)
            return replace(finding, occurrences=count, known=why)

        def tell_listed(finding: PlanFinding) -> None:
            tell(counted(finding))

        failures, named = list(listed.values()), list(of_kinds.values())
        old = Findings()
        if options.examines_listed:
            old = await findings_from(failures, examination, level=LEVEL, on_finding=tell_listed)
        else:
            named = [*failures, *named]
        by_name = unexamined(named, suite, LEVEL)
        for finding in by_name.all:
            tell_listed(finding)
        return [counted(finding) for finding in (*old.all, *by_name.all)]

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
        listed=old,
        traces={f.case.id: traces[f.case.id] for f in (*new.all, *old) if f.case.id in traces},
    )


def _examine_s(options: FuzzOptions, tally: Tally) -> float:
    """Return the time limit to examine failures: the option, or as long as the search took."""
    return max(_EXAMINE_S, tally.seconds) if options.examine_s is None else options.examine_s


def _report_unexamined(fuzzed: FuzzResult, listener: FuzzListener) -> FuzzResult:
    """Report the findings in a target that is gone as unconfirmed."""
    listener.searched(replace(fuzzed, findings=Findings()))
    for finding in fuzzed.findings.all:
        listener.examined(finding, None)
    return fuzzed


async def _retry_suspects(
    progress: FuzzProgress, suite: OpenTarget, suspects: Sequence[Plan]
) -> None:
    """Run the suspects again, each alone with the target where it can be."""
    alone = [structs.replace(case, isolated=True) for case in suspects]
    for start in range(0, len(alone), _SUSPECTS_AT_ONCE):
        results = await suite.try_cases(alone[start : start + _SUSPECTS_AT_ONCE])
        for result in results:
            key = progress.key_of(result)
            if key is not None:
                progress.tally.keep(key, result)
        if any(is_cut_off(result) for result in results):
            return


def read_corpus(directory: Path) -> list[Plan]:
    """Read the plans in a folder, in the order of their names; none if there is no such folder.

    Raises PlanError that names the file.
    """
    return [_read(path) for path in sorted(directory.glob("*.json"))]


def _read(path: Path) -> Plan:
    try:
        return read_plan(read_json(path))
    except ValueError as error:
        remedy = "a corpus holds plans that `fencepost fuzz --corpus` wrote; take the file away"
        raise PlanError(str(path), f"{error}; {remedy}") from error


def write_corpus(cases: Iterable[Plan], directory: Path) -> None:
    """Write plans into a folder, made if missing.  Raises ReportError."""
    texts = {
        f"{case.id.replace('/', '__')}.json": json.dumps(plan_json(case), indent=1) + "\n"
        for case in cases
    }
    write_texts(texts, directory, "--corpus")
