"""Verdicts under stress: no wrong pass, no wrong failure, whatever the machine and its links do.

`tox -e stress`, at most 45 minutes on two processors.  A served model holds everywhere; what is
served with a fault fails what it fails on the virtual clock; a Kafka fails what its list of known
failures says.  What can't be decided is unknown, and these are counted.  `FENCEPOST_STRESS_SEED`
draws the mutants and departures, and what disturbs them when; each wrong verdict is told with its
reason, and its trace is kept in `FENCEPOST_STRESS_REPORT`.
"""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest
from support.runs import KAFKA_4
from support.tcp.disturbances import DISTURBANCES, Disturbance, disturbed, stopping
from support.tcp.over_tcp import (
    AT_ONCE,
    Settings,
    catalogue,
    revision_of,
    served,
    serving,
    settings_for,
    whatever_is_chosen,
)

from fencepost.conformance.cases import entries_of
from fencepost.conformance.run.certify import OpenTarget, Options, open_target
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.search.findings.trace_causes import known_cause
from fencepost.conformance.search.fuzz.fuzz import FuzzOptions, FuzzResult, fuzz
from fencepost.conformance.search.fuzz.tally import Budget
from fencepost.conformance.targets.brokers.kafka import KafkaTarget
from fencepost.conformance.targets.target_registry import (
    SIDE_BY_SIDE,
    TargetOptions,
    find_target,
    judge_for,
)
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL, SESSION_TIMEOUT
from fencepost.model.revision import Revision
from fencepost.properties.departures.known_departures import DEPARTURES
from fencepost.properties.judging.known_failures import KnownFailure, aliases_of
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import apply
from fencepost.properties.mutants.mutants import MUTANTS
from fencepost.traces.files.known_failure_lists import load
from fencepost.traces.files.text_files import trace_name
from fencepost.traces.files.trace_file import TraceFile

SEED = int(os.environ.get("FENCEPOST_STRESS_SEED", "1"))
REPORT = os.environ.get("FENCEPOST_STRESS_REPORT")
CASES = os.environ.get("FENCEPOST_STRESS_CASES", "*")
"""A pattern, for whoever looks into something."""

CLASSIC, CONSUMER = "classic", "consumer"
KAFKAS = (
    ("kafka:4.3.0", CLASSIC),
    ("kafka:3.9.1+old", CLASSIC),
    ("kafka:4.4.0", CONSUMER),
    ("kafka:4.3.0", CONSUMER),
)
"""Releases, each with the protocol whose cases it gets."""
MUTANTS_EACH = 1
FAILS_EACH, HOLDS_EACH = 3, 3
MODEL_EACH = 20
KAFKA_EACH = {CLASSIC: 4, CONSUMER: 20}
"""So many cases, drawn anew for each disturbance; of a Kafka beside those that it always fails."""

CALM_RUNS = 2
FUZZ_S, EXAMINE_S = 8, 10
NEEDED = ("java", "mvn")


@dataclass
class Row:
    """What became of one target under one disturbance."""

    target: str
    disturbance: str
    done: int = 0
    passes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    unknown: int = 0
    seconds: float = 0.0

    @property
    def wrong(self) -> list[str]:
        return [*(f"passes: {p}" for p in self.passes), *(f"fails: {f}" for f in self.failures)]

    def __str__(self) -> str:
        counts = (self.done, len(self.passes), len(self.failures), self.unknown)
        columns = "".join(f"{count:8}" for count in counts)
        return f"{self.target:44}{self.disturbance:18}{columns}{self.seconds:8.0f}"


HEAD = f"{'target':44}{'disturbance':18}{'done':>8}{'passes':>8}{'fails':>8}{'unknown':>8}{'s':>8}"
ROWS: list[Row] = []


@pytest.fixture(scope="module", autouse=True)
def interruptible() -> Iterator[None]:
    """Whoever ends this ends it well: no broker is left, or left stopped."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = tmp_path_factory.mktemp("stress") if REPORT is None else Path(REPORT)
    kept.mkdir(parents=True, exist_ok=True)
    return kept


class Begun(TcpTarget):
    """A broker that is disturbed once it has been reached."""

    begin: Callable[[], None]

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.begin()
        return self


def reached(address: str, begin: Callable[[], None]) -> Begun:
    target = Begun(address, capacity=SIDE_BY_SIDE)
    target.begin = begin
    return target


def told(row: Row, results: Sequence[CaseResult], folder: Path, suite: OpenTarget) -> None:
    """Print the row, and keep the traces of what is wrong."""
    ROWS.append(row)
    sys.stdout.write(f"{row}\n")
    for line in row.wrong:
        sys.stdout.write(f"    wrong, seed {SEED}: {line}\n")
    for result in results:
        if any(result.case.id in line for line in row.wrong):
            trace = sound_trace(result, suite.revision, suite.provenance())
            if trace is not None:
                name = f"{row.target} {row.disturbance}".replace(":", "-").replace(" ", "-")
                keep(trace, folder / name / trace_name(result.case.id))
    sys.stdout.flush()


def keep(trace: TraceFile, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    trace.write(path)


def drawn(name: str) -> tuple[str, ...]:
    """Mutants and departures of this run, some for each disturbance."""
    chance = random.Random(f"{SEED} {name}")
    mutants = [m for m in MUTANTS if m not in NOT_SEEN]
    found = [f"mutant:{m}" for m in chance.sample(mutants, MUTANTS_EACH)]
    return (*found, f"departure:{chance.choice(CLASSIC_DEPARTURES)}")


CLASSIC_DEPARTURES = [d.name for d in DEPARTURES.values() if d.protocol.name == CLASSIC]
OF_CONSUMERS: Settings = {SESSION_TIMEOUT: 6_000, ASSIGNMENT_INTERVAL: 0}
CONSUMER_MUTANTS = {
    "mutant:cg-join-takes-over": "CG-JOIN-UNRELEASED/second-process-of-a-live-member",
    "mutant:cg-dynamic-join-without-session": "CG-JOIN-DYNAMIC-NEW/silent-dynamic-member",
}
"""Faults of the consumer protocol, each with a case that fails by it."""


NOT_SEEN = frozenset(
    {
        "assignment-not-stored",
        "emptiness-not-stored",
        "failover-forgets-generation",
        "failover-forgets-map",
        "failover-forgets-offsets",
        "failover-forgets-sessions",
        "kafka-10284",
        "no-initial-delay",
        "initial-delay-not-extended",
        "initial-delay-without-end",
        "new-member-never-expires",
    }
)
"""They need a failover, a delay, or minutes."""


def truth(name: str, how: Disturbance) -> dict[str, Outcome]:
    """What a served target does in its cases, on the virtual clock, whatever it draws."""
    cases = [c for c in catalogue() if settings_for(c) == AT_ONCE and fnmatch.fnmatch(c, CASES)]
    here = whatever_is_chosen(name, AT_ONCE, cases)
    chance = random.Random(f"{SEED} {name} {how.name}")
    fails = [case for case, outcome in here.items() if outcome is Outcome.FAIL]
    holds = [case for case, outcome in here.items() if outcome is Outcome.PASS]
    sampled = chance.sample(fails, min(FAILS_EACH, len(fails)))
    most = MODEL_EACH if name == "model" else HOLDS_EACH
    sampled += chance.sample(holds, min(most, len(holds)))
    return {case: here[case] for case in sampled}


async def seen_over_tcp(name: str, how: Disturbance) -> dict[str, Outcome]:
    """The truth without the cases whose failure nobody sees each time while all is calm.

    Which of two requests came first may decide whether there is one.
    """
    expected = await asyncio.to_thread(truth, name, how)
    fails = [case for case, outcome in expected.items() if outcome is Outcome.FAIL]
    runs = range(CALM_RUNS if fails else 0)
    calm = await asyncio.gather(*(served(name, fails) for _ in runs))
    fails = [c for c in fails if all(found[c].outcome is Outcome.FAIL for found in calm)]
    return {c: o for c, o in expected.items() if o is not Outcome.FAIL or c in fails}


async def certify_served(
    name: str,
    expected: dict[str, Outcome],
    how: Disturbance,
    begin: Callable[[], None],
    folder: Path,
    revision: Revision = KAFKA_4,
) -> None:
    there = {entry.id: entry for entry in entries_of(revision.protocol.name)}
    async with serving(name, AT_ONCE if revision is KAFKA_4 else OF_CONSUMERS) as address:
        began = time.monotonic()
        async with open_target(reached(address, begin), revision, Options()) as suite:
            results = await suite.run([there[case] for case in expected])
            row = Row(name, how.name, len(results), seconds=time.monotonic() - began)
            for result in results:
                due, case = expected[result.case.id], result.case.id
                row.unknown += result.outcome is Outcome.UNKNOWN
                if result.outcome is Outcome.PASS and due is Outcome.FAIL:
                    row.passes.append(case)
                if result.outcome is Outcome.FAIL and due is not Outcome.FAIL:
                    row.failures.append(f"{case}: {result.message}")
            told(row, results, folder, suite)


async def fuzz_served(name: str, how: Disturbance, begin: Callable[[], None], folder: Path) -> None:
    options = FuzzOptions(KAFKA_4, Budget(None, FUZZ_S), SEED, examine_s=EXAMINE_S)
    async with serving(name, AT_ONCE) as address:
        began = time.monotonic()
        fuzzed = await fuzz(lambda: reached(address, begin), options)
    row = Row(f"{name}, fuzzed", how.name, fuzzed.tally.plans)
    row.seconds = time.monotonic() - began
    row.unknown = fuzzed.tally.outcomes[Outcome.UNKNOWN]
    row.failures = unexplained(name, fuzzed)
    for finding, trace in fuzzed.traces.items():
        place = f"{name}-fuzzed {how.name}".replace(":", "-").replace(" ", "-")
        keep(trace, folder / place / trace_name(finding))
    ROWS.append(row)
    sys.stdout.write(f"{row}\n")
    for line in row.wrong:
        sys.stdout.write(f"    wrong, seed {SEED}: {line}\n")
    for why, times in fuzzed.tally.unknown.most_common(3):
        sys.stdout.write(f"    unknown, {times} times: {why}\n")


def unexplained(name: str, fuzzed: FuzzResult) -> list[str]:
    """Findings that this target's fault doesn't explain, also those that nobody saw again."""
    own = revision_of(name)
    found = []
    for finding in fuzzed.findings.all:
        trace = fuzzed.traces.get(finding.case.id)
        if name == "model" or trace is None or trace.judge(revision=own).violation is not None:
            cause = "" if trace is None else known_cause(trace)
            found.append(f"{finding.case.id}: {finding.result.message} (cause: {cause or 'none'})")
    return found


@pytest.mark.parametrize("how", DISTURBANCES, ids=lambda how: how.name)
async def test_served(how: Disturbance, folder: Path) -> None:
    before = len(ROWS)
    names = ("model", *drawn(how.name))
    truths = await asyncio.gather(*(seen_over_tcp(name, how) for name in names))
    async with disturbed(how, SEED) as begin:
        expected = zip(names, truths, strict=True)
        await asyncio.gather(*(certify_served(*e, how, begin, folder) for e in expected))
    assert not [line for row in ROWS[before:] for line in row.wrong]


@pytest.mark.parametrize("how", DISTURBANCES, ids=lambda how: how.name)
async def test_served_consumers(how: Disturbance, folder: Path) -> None:
    """A model of the consumer protocol alone, and faults of it."""
    before = len(ROWS)
    revision = judge_for(CONSUMER, "kafka:4.4.0")
    chance = random.Random(f"{SEED} {CONSUMER} {how.name}")
    free = [entry.id for entry in entries_of(CONSUMER) if not entry.needs.config]
    sampled = dict.fromkeys(chance.sample(free, MODEL_EACH), Outcome.PASS)
    expected = {f"model:{revision.name}": sampled} | {
        name: {case: Outcome.FAIL} for name, case in CONSUMER_MUTANTS.items()
    }
    async with disturbed(how, SEED) as begin:
        await asyncio.gather(
            *(certify_served(*each, how, begin, folder, revision) for each in expected.items())
        )
    assert not [line for row in ROWS[before:] for line in row.wrong]


@pytest.mark.parametrize("how", DISTURBANCES, ids=lambda how: how.name)
async def test_fuzzed(how: Disturbance, folder: Path) -> None:
    before = len(ROWS)
    async with disturbed(how, SEED) as begin:
        names = ("model", next(n for n in drawn(how.name) if n.startswith("departure:")))
        await asyncio.gather(*(fuzz_served(name, how, begin, folder) for name in names))
    assert not [line for row in ROWS[before:] for line in row.wrong]


def against_the_list(
    row: Row, results: Sequence[CaseResult], known: Sequence[KnownFailure], revision: Revision
) -> None:
    for result in apply(results, known, revision):
        said = f"{result.case.id}: {result.message}"
        row.unknown += result.outcome is Outcome.UNKNOWN
        if result.outcome is Outcome.STALE_KNOWN_FAILURE and result.violation is None:
            row.passes.append(said)
        elif result.outcome in {Outcome.FAIL, Outcome.STALE_KNOWN_FAILURE}:
            row.failures.append(said)


@pytest.mark.parametrize("how", DISTURBANCES, ids=lambda how: how.name)
@pytest.mark.parametrize(("name", "protocol"), KAFKAS)
async def test_kafka(name: str, protocol: str, how: Disturbance, folder: Path) -> None:
    if missing := [tool for tool in NEEDED if shutil.which(tool) is None]:
        pytest.skip(f"{missing[0]} is not on this machine")
    target = find_target(name, TargetOptions())
    assert isinstance(target, KafkaTarget)
    chance = random.Random(f"{SEED} {name} {protocol} {how.name}")
    revision = judge_for(CONSUMER if protocol == CONSUMER else None, name)
    there = {entry.id: entry for entry in entries_of(revision.protocol.name)}
    cases = [case for case in there if fnmatch.fnmatch(case, CASES)]
    known = load(name, str(target.version), aliases=aliases_of(target))
    fails = {entry.case for entry in known if not entry.intermittent}
    sampled = fails | set(chance.sample(cases, min(KAFKA_EACH[protocol], len(cases))))
    entries = [there[case] for case in cases if case in sampled]
    async with AsyncExitStack() as stack:
        begin = await stack.enter_async_context(disturbed(how, SEED))
        prepare = target.prepare

        async def prepared(needs: object) -> None:
            await prepare(needs)  # type: ignore[arg-type]
            begin()

        target.prepare = prepared  # type: ignore[method-assign]
        began = time.monotonic()
        async with open_target(target, revision, Options()) as suite:
            results = await suite.run(entries)
            row = Row(
                f"{name}, {protocol}", how.name, len(results), seconds=time.monotonic() - began
            )
            against_the_list(row, results, known, suite.revision)
            told(row, results, folder, suite)
    assert not row.wrong


@pytest.mark.parametrize("ends", [False, True])
def test_what_is_stopped_goes_on(ends: bool) -> None:
    """Also where the run is interrupted."""
    asleep = [sys.executable, "-c", "input()"]
    with subprocess.Popen(asleep, stdin=subprocess.PIPE) as process:

        def is_stopped() -> bool:
            return Path(f"/proc/{process.pid}/stat").read_text().rsplit(")")[-1].split()[0] == "T"

        def until(wanted: bool) -> None:
            end = time.monotonic() + 30
            while is_stopped() != wanted:
                assert time.monotonic() < end

        stopped = stopping(1, lambda: [process.pid], (0, 0.01), (0.2, 60 if ends else 0.3))
        with contextlib.suppress(KeyboardInterrupt), stopped:
            until(True)
            if ends:
                raise KeyboardInterrupt
            until(False)
        until(False)
        process.kill()


def test_the_table() -> None:
    assert ROWS
    ordered = sorted(ROWS, key=lambda row: (row.target, row.disturbance))
    sys.stdout.write("\n".join(["", HEAD, *map(str, ordered), ""]))
    done, unknown = sum(row.done for row in ROWS), sum(row.unknown for row in ROWS)
    sys.stdout.write(f"{unknown} of {done} unknown ({100 * unknown / done:.1f} %)\n")
    assert not [line for row in ROWS for line in row.wrong]
