"""The property tests of a nightly run, for which Hypothesis searches with another seed each night.

Files of tests run one after another.  Each night begins with another file, so that all have their
turn although the time is short.  Failures are read from what pytest prints while it runs, so a file
that is cut off has reported its failures so far.
"""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fencepost.conformance.runtime.toolchain.child import Child
from fencepost.model.table.table import Level
from fencepost.properties.workers.cancellation import Stop
from tools.nightly.dedup import EACH_TIME, ShardFinding

TARGET = "tests"
PROFILE = "nightly"
STORAGE = "hypothesis"
"""The folder beside the report where Hypothesis keeps its examples."""

_FAILED_NOW = re.compile(r"^(?P<test>\S+\.py::\S.*?) (?:FAILED|ERROR)\b")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S+\.py::\S+|\S+\.py)(?: - (?P<why>.*))?$")
_USES_HYPOTHESIS = re.compile(r"^(?:from|import) hypothesis\b", re.MULTILINE)
_NOTHING_TO_RUN = 5
_ENDED_AS_IT_SHOULD = (0, 1, _NOTHING_TO_RUN)


@dataclass(frozen=True, slots=True)
class Tested:
    """The result of the property tests.

    `ran`: the files that ran to their end, of `files` (as far as that is known); `cut`: the file
    that was running when the time was over.
    """

    findings: tuple[ShardFinding, ...] = ()
    ran: tuple[str, ...] = ()
    files: int = 0
    cut: str = ""
    trouble: str = ""


def why_no_tests(root: Path) -> str:
    """Why the tests can't be run here, or ""."""
    if not (root / "tests" / "conftest.py").is_file():
        return "no tests here: run it in a checkout"
    if importlib.util.find_spec("pytest") is None:
        return "pytest is missing: run it by tox -e nightly"
    return ""


def files_of(root: Path, seed: int) -> list[str]:
    """The files with property tests; the first one depends on the seed."""
    found = [
        path.relative_to(root).as_posix()
        for path in sorted((root / "tests").rglob("test_*.py"))
        if _USES_HYPOTHESIS.search(path.read_text("utf-8"))
    ]
    first = seed % len(found) if found else 0
    return found[first:] + found[:first]


async def run_tests(
    root: Path, report: Path, *, seed: int, seconds: float, stop: Stop, shard: str
) -> Tested:
    """Run the property tests of a checkout for so long at most; logs and examples to the report."""
    files = files_of(root, seed)
    until = time.monotonic() + seconds
    ran: list[str] = []
    findings: list[ShardFinding] = []
    trouble: list[str] = []
    for file in files:
        left = until - time.monotonic()
        if stop.asked or left <= 0:
            return Tested(tuple(findings), tuple(ran), len(files), trouble="; ".join(trouble))
        log = report / "logs" / f"{file.replace('/', '-')}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        code = await _pytest(root, report, file, log, left, stop)
        text = log.read_text("utf-8", errors="replace")
        findings += [_finding(test, why, shard, seed) for test, why in failed_in(text)]
        if code is None:
            return Tested(tuple(findings), tuple(ran), len(files), file, "; ".join(trouble))
        if code not in _ENDED_AS_IT_SHOULD:
            trouble.append(f"pytest {file} ended with {code}; see logs/{log.name}")
        if code != _NOTHING_TO_RUN:
            ran.append(file)
    return Tested(tuple(findings), tuple(ran), len(ran), trouble="; ".join(trouble))


def failed_in(text: str) -> list[tuple[str, str]]:
    """The tests that failed, by what pytest printed so far, and why."""
    return list(dict(_lines(text.splitlines())).items())


def _lines(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if found := _FAILED_NOW.match(line) or _FAILED.match(line):
            said = found.groupdict()
            yield said["test"], said.get("why") or "it failed before it was cut off; see its log"


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


def _finding(test: str, why: str, shard: str, seed: int) -> ShardFinding:
    return ShardFinding(TARGET, "", Level.MUST.value, test, why, 1, EACH_TIME, shard, seed)
