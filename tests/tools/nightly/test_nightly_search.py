"""The parts of a night, each by itself."""

from __future__ import annotations

import asyncio
import json
import textwrap
from pathlib import Path

import pytest
from support.night_findings import LONG_S, MUTANT

from fencepost.conformance.search.findings.tracked_bugs import EACH_TIME, UNTRIED
from fencepost.properties.workers.processes import Stop
from fencepost.traces.files.trace_file import TraceFile
from tools.nightly.nightly_search import (
    MutantResult,
    MutantTask,
    SearchTask,
    ShardReport,
    TracesTask,
    failed_in,
    files_of,
    make_traces,
    run_tests,
    search_mutants,
    search_target,
    why_no_tests,
)


async def test_mutants_are_hunted_until_they_are_found() -> None:
    mutant_results: list[MutantResult] = []
    names = ("generation-not-counted", "empty-group-unlisted")
    await search_mutants(MutantTask(names, 5, LONG_S, 3000), Stop(), mutant_results.append)
    assert [(bite.mutant, bite.is_killed) for bite in mutant_results] == [
        (name, True) for name in names
    ]
    assert all(bite.requests < 3000 for bite in mutant_results)


async def test_a_mutant_that_is_not_found_is_told() -> None:
    mutant_results: list[MutantResult] = []
    await search_mutants(
        MutantTask(("replace-loses-assignment",), 5, LONG_S, 20), Stop(), mutant_results.append
    )
    assert [bite.is_killed for bite in mutant_results] == [False]


async def test_traces_of_the_model_hold_and_those_of_a_mutant_do_not() -> None:
    pytest.importorskip("pyarrow")
    for model, finds in (("kafka-4", False), ("mutant:zombie-heartbeats", True)):
        told: list[ShardReport] = []
        await make_traces(TracesTask("traces", 3, model, traces=60), Stop(), told.append)
        (seen,) = told
        assert seen.plans == 60
        assert seen.covered.rules
        assert bool(seen.findings) is finds
        for one in seen.findings:
            assert one.target == "model"
            assert one.trace is not None
            assert TraceFile.from_json(json.loads(one.trace)).verdict.outcome == "violated"


FAILING = """
    from hypothesis import given, strategies

    @given(strategies.integers())
    def test_no_number_is_large(number):
        assert number < 1000

    @given(strategies.integers())
    def test_a_number_is_itself(number):
        assert number == number

    def test_without_hypothesis():
        assert False
"""


@pytest.mark.slow
async def test_property_tests_search_and_keep_their_examples(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text(
        "from hypothesis import settings\n"
        "settings.register_profile('nightly', parent=settings.get_profile('default'))\n"
        "settings.load_profile('nightly')\n"
    )
    (tests / "test_bad.py").write_text(textwrap.dedent(FAILING))
    (tests / "test_other.py").write_text("def test_nothing():\n    assert False\n")
    (tests / "test_more.py").write_text(
        "import hypothesis\n\ndef test_nothing():\n    assert False\n"
    )
    assert why_no_tests(tmp_path) == ""
    tested = await run_tests(
        tmp_path, tmp_path / "report", seed=1, seconds=LONG_S, stop=Stop(), shard="tests"
    )
    assert (tested.ran, tested.files, tested.trouble) == (("tests/test_bad.py",), 1, "")
    assert [one.shape for one in tested.findings] == ["tests/test_bad.py::test_no_number_is_large"]
    assert "assert 1000 < 1000" in tested.findings[0].sentence
    assert list((tmp_path / "report" / "hypothesis" / "examples").iterdir())


async def test_without_time_no_test_is_run(tmp_path: Path) -> None:
    assert "no tests here" in why_no_tests(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("import hypothesis\n")
    tested = await run_tests(tmp_path, tmp_path, seed=1, seconds=0, stop=Stop(), shard="tests")
    assert (tested.ran, tested.files) == ((), 1)


def test_each_night_begins_with_another_file(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name in "abc":
        (tmp_path / "tests" / f"test_{name}.py").write_text("import hypothesis\n")
    firsts = {files_of(tmp_path, seed)[0] for seed in (7, 8, 9)}
    assert len(firsts) == 3
    assert sorted(files_of(tmp_path, 7)) == sorted(files_of(tmp_path, 8))


def test_what_failed_is_read_although_the_end_is_missing() -> None:
    text = (
        "tests/test_a.py::test_one PASSED  [ 50%]\n"
        "tests/test_a.py::TestMachine::runTest FAILED [100%]\n"
    )
    assert [name for name, _ in failed_in(text)] == ["tests/test_a.py::TestMachine::runTest"]
    whole = text + "FAILED tests/test_a.py::TestMachine::runTest - assert 1 == 2\n"
    assert failed_in(whole) == [("tests/test_a.py::TestMachine::runTest", "assert 1 == 2")]
    assert failed_in("tests/test_a.py::test_one PASSED [100%]\n") == []


async def searched(stop: Stop, seconds: float, requests: int) -> list[ShardReport]:
    told: list[ShardReport] = []
    await search_target(SearchTask("s", MUTANT, 1, seconds, seconds, requests), stop, told.append)
    return told


async def test_a_search_tells_what_it_covered_and_each_finding_at_once() -> None:
    first, *found, last = await searched(Stop(), LONG_S, 150)
    assert first.requests >= 100
    assert first.covered.rules <= first.covered.can
    assert first.findings == last.findings == ()
    assert [len(seen.findings) for seen in found] == [1] * len(found)
    assert {one.sure for seen in found for one in seen.findings} == {EACH_TIME}
    assert all(one.trace for seen in found for one in seen.findings)


async def test_what_was_met_is_told_although_there_is_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def endless(*_: object, **__: object) -> None:
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr("fencepost.conformance.search.fuzz.fuzz.findings_from", endless)
    monkeypatch.setattr("tools.nightly.nightly_search._LAST_S", 0.01)
    stop = Stop()
    told: list[ShardReport] = []

    def tell(seen: ShardReport) -> None:
        told.append(seen)
        stop.ask()

    await search_target(SearchTask("s", MUTANT, 1, LONG_S, LONG_S, 150), stop, tell)
    findings = [one for seen in told for one in seen.findings]
    assert findings
    assert {(one.sure, one.trace) for one in findings} == {(UNTRIED, None)}
