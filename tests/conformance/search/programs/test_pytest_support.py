"""The ten-line test: it fails on who lies, with a program that people can read, and only then."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import unittest
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from support.places import ROOT

import fencepost.model.messages.errors
from fencepost.conformance.run.replay import rejudge
from fencepost.conformance.search.programs.program_runs import (
    ProgramRunner,
    search_quickly,
    search_side_by_side,
)
from fencepost.conformance.search.programs.pytest_support import (
    RulesNotUsedWarning,
    ViolationError,
    check_programs,
    machine_against,
)
from fencepost.conformance.targets.in_process import FactoryTarget, ModelCoordinator
from fencepost.conformance.targets.target_registry import UnknownTargetError, target_of
from fencepost.model.coordinator import Answer, Send
from fencepost.model.revisions import revisions
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.table.table import Level
from fencepost.properties.checking.evaluator import Coverage
from fencepost.properties.stateful.strategies import (
    ACTIONS,
    PROCESSES,
    TABLES,
    VARIANTS,
    Move,
    MoveError,
    Program,
    weighted,
)
from fencepost.traces.files.trace_file import TraceFile

DOCUMENT = ROOT / "docs" / "brokers" / "hypothesis.md"
KAFKA_4 = revisions.find("kafka-4")
FEW = settings(max_examples=25, derandomize=True, database=None, deadline=None)
SECONDS = 240
"""Long enough for a machine that does ten other things; it takes some twenty."""

TWO_PROCESSES = Program((Move("join", 0), Move("join", 1)))


def passes(case: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def never_fences() -> ModelCoordinator:
    return ModelCoordinator(find_revision("mutant:librdkafka-mock-never-fences"))


class Silent(ModelCoordinator):
    """It answers no heartbeat."""

    def send(self, request: Send) -> list[Answer]:
        answers = super().send(request)
        return [] if request.api == "Heartbeat" else answers


def silent() -> Silent:
    return Silent(KAFKA_4)


def test_the_model_passes_and_each_rule_is_reached(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    case = machine_against("model", settings=FEW, traces=tmp_path)

    assert passes(case).wasSuccessful()
    assert re.fullmatch(
        r"25 examples and \d{3} cases of the catalogue used \d+ rules of kafka-4, all that can be "
        r"reached\.\n",
        capsys.readouterr().out,
    )
    assert list(tmp_path.iterdir()) == []


def test_rules_that_were_never_used_are_named_in_pytests_summary(tmp_path: Path) -> None:
    few = settings(FEW, max_examples=5)
    case = machine_against("model", doings=("join", "sync"), settings=few, traces=tmp_path)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert passes(case).wasSuccessful()
    (one,) = warned
    assert one.category is RulesNotUsedWarning
    assert "rules of kafka-4; never: " in str(one.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert passes(case).wasSuccessful(), "a warning is no failure of the coordinator"


def test_a_fault_that_no_program_reaches_is_shown_by_a_case_of_the_catalogue(
    tmp_path: Path,
) -> None:
    def oversized() -> ModelCoordinator:
        return ModelCoordinator(find_revision("mutant:group-size-unchecked"))

    few = settings(FEW, max_examples=5)
    ((_, report),) = passes(machine_against(oversized, settings=few, traces=tmp_path)).failures
    assert "It is a case of the catalogue:" in report
    assert "cases=['JOIN-GROUP-FULL" in report
    assert "← wrong" in report


def test_later_rounds_draw_more_of_what_leads_to_rules_not_used() -> None:
    first = weighted([], 0)
    second = weighted(["Heartbeat", "Heartbeat", "LeaveGroup", "offset retention"], 1)

    assert (first.more, first.formed) == ({}, False)
    assert second.more == {"beat": 2, "leave": 1, "batch": 1}
    assert second.formed
    assert second.plain < first.plain


def test_tables_lead_to_actions_that_there_are() -> None:
    assert {do for actions in TABLES.values() for do in actions} <= set(ACTIONS)
    assert set(TABLES) <= set(KAFKA_4.tables)


def test_who_never_fences_is_shown_two_processes_of_one_instance(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    case = machine_against(never_fences, settings=settings(FEW, max_examples=100), traces=tmp_path)
    result = passes(case)

    ((_, report),) = result.failures
    assert "this program was answered wrongly:" in report
    assert re.search(r"^1\. A\d JoinGroup v9 \(member \"\", instance A\)", report, re.MULTILINE)
    assert "← wrong" in report
    assert "should have been answered" in report
    assert "Program((Move('join'" in report
    (trace,) = tmp_path.iterdir()
    assert f"fencepost replay {trace}" in report
    assert rejudge(TraceFile.read(trace)).same
    assert capsys.readouterr().out


def test_a_program_is_checked_again_as_code(tmp_path: Path) -> None:
    check_programs("model", TWO_PROCESSES, Program((Move("form"), Move("beat"))))
    with pytest.raises(ViolationError, match="FENCED_INSTANCE_ID"):
        check_programs(never_fences, TWO_PROCESSES._replace(delayed=True), traces=tmp_path / "new")

    assert [path.name for path in (tmp_path / "new").iterdir()] == ["never-fences.json"]


def test_silence_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ViolationError, match="Instead: no answer"):
        check_programs(silent, Program((Move("beat"),)), traces=tmp_path)


def test_a_lower_level_forgives_more(tmp_path: Path) -> None:
    program = Program((Move("join", 0, "short"),))
    unchecked = find_revision("mutant:session-bounds-unchecked")

    def careless() -> ModelCoordinator:
        return ModelCoordinator(unchecked)

    with pytest.raises(ViolationError, match="INVALID_SESSION_TIMEOUT"):
        check_programs(careless, program, traces=tmp_path)
    check_programs(careless, program, level=Level.MUST, traces=tmp_path)


def test_every_move_can_be_made_and_is_explained() -> None:
    """Each doing, odd in each way, in a stable group, by each process."""
    programs = [
        Program((Move("form"), Move(do, who, odd), Move("beat", 2)))
        for do in ACTIONS
        for odd in VARIANTS
        for who in (0, 3)
    ]
    assert len(PROCESSES) == 5

    check_programs("model", *programs)


def test_programs_over_a_group_of_no_name_are_listed_once() -> None:
    check_programs("model", Program((Move("commit", 0, "nowhere"), Move("list"))))


@pytest.mark.parametrize(
    "moves",
    [
        (Move("join", 0), Move("change", 1, "dynamic"), Move("beat", 1), Move("batch", 0)),
        (Move("form"), Move("beat", 1, "other"), Move("beat", 2), Move("leave", 2)),
    ],
    ids=["a pending id is given back", "a member of another instance lives on"],
)
def test_who_was_fenced_for_naming_anothers_instance_lives_on(moves: tuple[Move, ...]) -> None:
    check_programs("model", Program(moves))


def test_side_by_side_finds_and_shortens_too() -> None:
    """What is done under a real clock; here against one that takes no time."""
    coverage = Coverage()
    with ProgramRunner(FactoryTarget(never_fences), KAFKA_4, coverage=coverage) as runner:
        searched = search_side_by_side(runner, settings(FEW, max_examples=60))

    assert searched.failing is not None
    assert searched.failing.fails
    assert len(searched.failing.program.moves) <= 4
    assert coverage.examples >= searched.examples > 0


def test_the_same_profile_finds_the_same() -> None:
    def search() -> Sequence[object]:
        with ProgramRunner(FactoryTarget(never_fences), KAFKA_4) as runner:
            searched = search_quickly(runner, settings(FEW, max_examples=100))
        assert searched.failing is not None
        return searched.failing.program, searched.examples

    assert search() == search()


def test_what_nobody_knows_is_refused_at_once() -> None:
    with pytest.raises(UnknownTargetError, match="no target 'nothing'"):
        machine_against("nothing")


def test_a_runner_that_is_not_open_says_so() -> None:
    with pytest.raises(RuntimeError, match="use ProgramRunner in `with`"):
        ProgramRunner(target_of("model"), KAFKA_4).run([TWO_PROCESSES])


def ten_lines() -> str:
    block = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    return block.group(1)


def test_the_documented_lines_are_about_ten() -> None:
    assert len(ten_lines().splitlines()) <= 10


@pytest.mark.slow
@pytest.mark.skipif(not DOCUMENT.is_file(), reason="needs the documents of the checkout")
@pytest.mark.skipif(
    importlib.util.find_spec("confluent_kafka") is None, reason="needs the extra mock"
)
def test_pasted_into_an_empty_project_they_show_what_is_wrong_with_the_mock(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_broker.py").write_text(ten_lines(), encoding="utf-8")
    packages = Path(fencepost.model.messages.errors.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(packages), "COLUMNS": "200"}
    environment.pop("HYPOTHESIS_PROFILE", None)

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_broker.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert ended.returncode == 1, ended.stdout[-3000:] + ended.stderr[-3000:]
    said = ended.stdout
    assert "ViolationError: this program was answered wrongly:" in said
    assert re.search(r"1\. A\d JoinGroup v5 \(member \"\", instance A\) → waits", said)
    assert "should have been answered FENCED_INSTANCE_ID" in said
    assert "one-member-for-each-instance is broken" in said
    assert "Program((Move('join', 0), Move('join', 1)))" in said
    trace = TraceFile.read(tmp_path / "fencepost-traces" / "mock.json")
    assert trace.verdict.outcome == "violated"
    assert rejudge(trace).same


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (
            Move("jion"),
            r"no action 'jion' .*join.*; there are 'join', 'sync', 'await'",
        ),
        (
            Move("join", 0, "stanger"),
            r"no variant 'stanger' .*did you mean stranger.*; there are ''",
        ),
        (Move("join", 9), r"no process 9; there are 0 \(A\), 1 \(A\), 2 \(B\), 3 \(x\), 4 \(y\)"),
    ],
)
def test_a_move_that_is_not_there_is_refused(move: Move, said: str) -> None:
    """A variant that nobody knows would be no variant, and the program would pass."""
    with pytest.raises(MoveError, match=said):
        check_programs("model", Program((Move("join"), move)))
