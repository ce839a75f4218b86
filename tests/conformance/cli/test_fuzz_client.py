from __future__ import annotations

import json
from pathlib import Path

import pytest

from fencepost.conformance.cases.clients.scenario import Scenario
from fencepost.conformance.cases.clients.scenario_parts import settled
from fencepost.conformance.cli.cli import exit_code, fencepost
from fencepost.model.plans.steps import Start

SHORT = Scenario("drawn-0-0", "A member.", (), (Start("a", "i-1"), settled("a")))


def run(*arguments: str) -> int:
    return exit_code(fencepost, ["fuzz-client", *arguments], "fencepost")


def trace(folder: Path, obligation: str) -> str:
    file = folder / "trace.json"
    told = {"format": "fencepost-client-trace", "case": f"{obligation}/drawn-0-0"}
    file.write_text(json.dumps({**told, "scenario": SHORT.to_json()}), "utf-8")
    return str(file)


@pytest.mark.slow
def test_a_trace_is_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = trace(tmp_path, "CLIENT-IDENTITY-EVERY-REQUEST")
    report = tmp_path / "report"
    again = ("mutant:no-instance-in-heartbeat", "--replay", wrong, "--report", str(report))
    assert run(*again) == 1
    said = capsys.readouterr().out
    assert "FAIL  MUST  CLIENT-IDENTITY-EVERY-REQUEST/drawn-0-0" in said
    assert "seen in 3 of 3 runs" in said
    assert (report / "index.html").is_file()
    assert run("reference", "--replay", wrong, "--json") == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_a_wrong_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.json"
    file.write_text("{}", "utf-8")
    assert run("reference", "--replay", str(file)) == 64
    assert "is no trace of a client" in capsys.readouterr().err
