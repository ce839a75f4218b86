"""The kill matrix made by processes and shown: the same with any number of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.command import Ran
from support.in_this_process import invoke, invoke_command

from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.workers.processes import WorkerLostError
from tools.kill_matrix import matrix_report
from tools.kill_matrix.__main__ import kill_matrix_command
from tools.kill_matrix.kill_matrix import EXPLORE
from tools.kill_matrix.matrix_report import (
    ABOUT,
    CATALOGUE,
    ENGINES,
    by_catalogue,
    matrix_json,
    rows,
)

QUICK = (
    "kafka-8500",
    "tansu-same-id",
    "--engine",
    "explore",
    "--engine",
    "explore-diff",
)


def matrix(*arguments: str) -> Ran:
    return invoke_command(kill_matrix_command, "python -m tools.kill_matrix", *arguments)


def test_the_bytes_are_the_same_with_any_number_of_processes() -> None:
    one, two = (matrix(*QUICK, "--json", "--jobs", jobs) for jobs in ("1", "2"))
    assert one.code == two.code == 0
    assert one.out == two.out
    found = json.loads(one.out)
    assert [row["name"] for row in found["mutants"]] == ["kafka-8500", "tansu-same-id"]
    assert found["totals"]["in all"] == {"killed": 2, "asked": 2}
    assert found["survivors"] == []
    first = found["mutants"][0]["kills"][0]
    assert (first["engine"], first["killed"], first["length"]) == ("explore", True, 2)
    assert len(first["trace"]) == 2


def test_a_table_has_a_row_for_each_and_says_what_survives() -> None:
    ran = matrix(*QUICK)
    assert "no survivor" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 120
    assert "killed by 2" in ran.err


@pytest.mark.slow
def test_a_survivor_is_a_failure_and_is_named() -> None:
    ran = matrix("join-in-old-shape", "--engine", "hypothesis-diff")
    assert ran.code == 1
    assert "1 survive: join-in-old-shape" in ran.out


def test_one_mutant_is_told_in_words_and_written_as_traces(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    ran = matrix(*QUICK[:1], *QUICK[2:], "--report", str(folder))
    assert ran.code == 0
    assert 'c2 (A)  JoinGroup v9 (member "", instance A) → waits' in ran.out
    names = {path.name for path in folder.iterdir()}
    assert names == {"mutants.json", "kafka-8500-explore.json", "kafka-8500-explore-diff.json"}
    assert invoke("replay", str(folder / "kafka-8500-explore-diff.json")).code in {0, 1}


def test_a_report_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = matrix(*QUICK[:1], *QUICK[2:], "--report", str(tmp_path / "file" / "folder"))
    assert ran.code == 64
    assert "choose another folder" in ran.err


@pytest.mark.slow
def test_the_catalogue_counts_what_fails() -> None:
    made, seconds = rows(["kafka-8500"], [CATALOGUE], jobs=1)
    result = made[0].results[CATALOGUE]
    assert result.killed
    assert result.cost > 1
    assert result.lines
    assert seconds.keys() == {CATALOGUE}
    assert not by_catalogue(KAFKA_4).killed


def test_every_engine_says_what_its_figures_are() -> None:
    assert ABOUT.keys() == ENGINES.keys()
    assert matrix_json([], list(ENGINES))["engines"]


def test_an_engines_error_is_raised_with_a_mutants_name() -> None:
    with pytest.raises(RuntimeError, match=r"(kafka-8500|tansu-same-id): KeyError"):
        rows(["kafka-8500", "tansu-same-id"], ["nothing like it"], jobs=2)


def test_a_worker_that_is_lost_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_report, "_row_in_worker", _leave)
    with pytest.raises(WorkerLostError, match="fewer jobs"):
        rows(["kafka-8500", "tansu-same-id"], [EXPLORE], jobs=2)


def _leave(*_: object, **__: object) -> None:
    """What a worker does that is ended by the system."""
    os._exit(9)
