"""What fuzzing finds in kfake: at least five faults, each as small as it gets, each to be replayed.

Some minutes, and Go: `tox -e brokers`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command import RUN
from support.runs import KAFKA_4

from fencepost.conformance.run.certify import Options, open_target
from fencepost.conformance.run.replay import replay_trace
from fencepost.conformance.search.shrink.shrink_plan import single_steps
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.model.plans.plan_order import races
from fencepost.model.plans.spelling import read_plan
from fencepost.properties.judging.outcome import CaseResult
from fencepost.properties.oracle.fingerprint import Fingerprint
from fencepost.traces.files.trace_file import TraceFile

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")

MOST_S = 3000
FEWEST = 5
TRIES = 4
"""Of a plan that leaves open which of two requests comes first: in the other order, too, a target
may be right."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `fuzz` writes, with the budget and the seed that it is held to."""
    folder = tmp_path_factory.mktemp("fuzz")
    words = ["fuzz", "kfake", "--requests", "20000", "--seed", "1", "--jobs", "1"]
    words += ["--report", str(folder)]
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    return folder


def findings(report: Path) -> list[dict[str, Any]]:
    """All that come each time and are as small as they get, new and known."""
    said = json.loads((report / "fuzz.json").read_text("utf-8"))
    found = [*said["findings"], *said["known_findings"]]
    return [f for f in found if f["is_minimal"] and 0 < f["failed"] == f["runs"]]


def traces(report: Path) -> list[TraceFile]:
    return [TraceFile.read(report / f["trace"]) for f in findings(report) if f["trace"]]


def test_at_least_five_distinct_violations_are_found(report: Path) -> None:
    fingerprints = [finding["shape"] for finding in findings(report)]
    assert len(set(fingerprints)) >= FEWEST
    assert len(traces(report)) >= FEWEST


def test_each_says_the_same_when_it_is_replayed(report: Path) -> None:
    for trace in traces(report):
        assert trace.plan is not None
        loose = bool(races(read_plan(dict(trace.plan)).steps))
        said = ""
        for _ in range(TRIES if loose else 1):
            again = asyncio.run(replay_trace(trace, find_target("kfake", TargetOptions())))
            if again.same:
                break
            said += f"{trace.case}: {again.text()}\n"
        else:
            raise AssertionError(said)


def test_no_step_of_any_can_be_left_out(report: Path) -> None:
    plans = [trace.plan for trace in traces(report)]
    cases = [read_plan(dict(plan)) for plan in plans if plan is not None]

    async def run() -> list[tuple[Fingerprint | None, list[CaseResult]]]:
        async with open_target(find_target("kfake", TargetOptions()), KAFKA_4, Options()) as suite:
            ran = []
            for case in cases:
                (whole,) = await suite.try_cases([case])
                loose = races(case.steps)
                tried = [c for c in single_steps(case) if races(c.steps) <= loose]
                smaller = await suite.try_cases(tried)
                ran.append((whole.fingerprint(KAFKA_4), smaller))
            return ran

    for case, (fingerprint, smaller) in zip(cases, asyncio.run(run()), strict=True):
        assert fingerprint is not None, case.id
        assert fingerprint not in [result.fingerprint(KAFKA_4) for result in smaller], case.id
