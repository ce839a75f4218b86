from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.in_this_process import invoke
from support.runs import result_of

from fencepost.conformance.cli import certify
from fencepost.conformance.cli.certify import PlainProgress, case_progress

PASSES = result_of("HEARTBEAT-INSTANCE-FENCED/zombie")
FAILS = result_of("HEARTBEAT-INSTANCE-FENCED/zombie", "comment-table-1")


def test_a_long_run_tells_a_log_now_and_then_how_far_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Mock(return_value=0.0)
    progress = PlainProgress(5, clock, Mock(side_effect=["3 cases wait", ""]))
    for now, result in ((5, PASSES), (31, FAILS), (32, PASSES), (60, PASSES), (70.4, PASSES)):
        clock.return_value = now
        progress(result)
    progress.end()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "2 of 5 cases done after 31 s; 1 failed, known failures included; 3 cases wait",
        "5 of 5 cases done after 70 s",
    ]


def interrupt(*, is_quiet: bool, report: Path | None = None) -> None:
    with case_progress(5, is_quiet=is_quiet, report=report) as show:
        for result in (PASSES, FAILS):
            show(result)
        raise KeyboardInterrupt


def test_an_interrupted_run_shows_what_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(is_quiet=False)
    first, title, sentence = capsys.readouterr().out.splitlines()
    assert first == "2 of 5 cases done, no verdict; 1 failed, known failures included"
    assert title.endswith("HEARTBEAT-INSTANCE-FENCED/zombie")
    assert sentence.startswith("  ")
    with pytest.raises(KeyboardInterrupt):
        interrupt(is_quiet=True)
    assert capsys.readouterr() == ("", "")


def test_an_interrupted_run_says_that_it_leaves_no_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for is_quiet in (True, False):
        with pytest.raises(KeyboardInterrupt):
            interrupt(is_quiet=is_quiet, report=Path("there"))
        assert (
            capsys.readouterr().err == "no report was written to there: a report is of all cases\n"
        )


def test_a_short_run_tells_a_log_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress = PlainProgress(1, lambda: 0.0)
    progress(PASSES)
    progress.end()
    assert capsys.readouterr() == ("", "")


def test_lines_for_a_log_are_printed_on_stderr_and_not_beside_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(certify, "_EVERY_S", 0.0)
    words = ("certify", "model", "--case", "HEARTBEAT-INSTANCE-FENCED/*")
    told = invoke(*words)
    assert told.err.startswith("1 of 5 cases done after 0 s; none failed\n2 of 5 cases done ")
    assert "done after" not in told.out
    assert invoke(*words, "--json").err == ""


def test_a_list_of_no_use_is_told_on_stderr(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    entry = {"case": "A/b", "rule": "A", "observed": "o", "why": "w", "link": ""}
    listed = {"target": "model", "versions": ">=9", **entry}
    made = {"format": "fencepost-known-failures", "version": 1, "entries": [listed]}
    file.write_text(json.dumps(made), "utf-8")
    words = ("certify", "model", "--case", "HEARTBEAT-INSTANCE-FENCED/*", "--json")
    told = invoke(*words, "--known-failures", str(file))
    assert told.err.startswith(f"{file} lists 1 known failure, none for model (version ")
    assert told.err.endswith("); it is for model >=9\n")
    assert json.loads(told.out)["verdict"] == "holds"
