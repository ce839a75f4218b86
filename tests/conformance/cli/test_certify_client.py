from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support.clients.fake_driver import WHOLE
from support.places import TESTS

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS
from fencepost.conformance.cli.cli import exit_code, fencepost

FAKE = TESTS / "support" / "clients" / "fake_driver.py"


def run(*arguments: str) -> int:
    return exit_code(fencepost, ["certify-client", *arguments], "fencepost")


def test_a_client_is_certified_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = "CLIENT-CLOSE-STATIC-STAYS/static-life"
    assert run("reference", "--case", case, "--json", "--report", str(tmp_path)) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in document["cases"]] == [case]
    assert document["verdict"] == "holds"
    assert not document["certified"]
    assert (tmp_path / "index.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["javva"], "no client 'javva'"),
        (["mutant:old-heartbeats"], "did you mean old-heartbeat"),
        (["reference", "--case", "static-live"], "did you mean static-life"),
        (["reference", "--broker", "model"], "give serve, kafka:VERSION or tcp://HOST:PORT"),
        (["reference", "--revision", "kafka-5"], "kafka-5"),
    ],
)
def test_a_wrong_word_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 64
    assert said in capsys.readouterr().err


def test_another_file_is_no_certificate_to_compare_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "old.json"
    file.write_text("{}", "utf-8")
    assert run("reference", "--diff", str(file)) == 64
    said = capsys.readouterr().err
    assert "give a certificate.json that `fencepost certify-client CLIENT --report DIR`" in said


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ("starts-nothing", f"starts no consumer: {WHOLE}"),
        ("dies", "exited with code 3; its stderr ends: out of luck"),
    ],
)
def test_a_client_that_starts_nothing_ends_the_run_at_once_with_its_whole_message(
    lie: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"exec:{sys.executable} {FAKE} {lie}") == 69
    assert capsys.readouterr().err.rstrip().endswith(said.rstrip())


def test_scenarios_of_a_file_are_run_with_their_traces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.json"
    scenario = SCENARIOS["unsubscribes"].to_json() | {"id": "my-own"}
    file.write_text(json.dumps([scenario]), "utf-8")
    report = tmp_path / "report"
    own = ("--scenarios", str(file), "--keep-traces", "--report", str(report))
    assert run("reference", *own, "--json") == 0
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert (case["id"], case["outcome"]) == ("CLIENT-CLOSE-UNSUBSCRIBED-STAYS/my-own", "pass")
    trace = json.loads((report / case["trace"]).read_text("utf-8"))
    assert trace["scenario"] == json.loads(json.dumps(scenario))
    assert f'id="{case["id"].replace("/", "--")}"' in (report / "index.html").read_text("utf-8")


def test_scenarios_of_a_file_can_be_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps([SCENARIOS["unsubscribes"].to_json() | {"id": "my-own"}]), "utf-8")
    assert run("reference", "--scenarios", str(file), "--case", "my-on") == 64
    assert "did you mean my-own" in capsys.readouterr().err


def test_traces_are_kept_in_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("reference", "--keep-traces") == 64
    assert "give --report DIR" in capsys.readouterr().err


def test_what_a_driver_writes_to_stderr_is_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.json"
    acts = [{"act": "start", "consumer": "a"}, {"act": "commit", "consumer": "a"}]
    scenario = {"id": "my-own", "about": "It commits.", "obligations": ["CLIENT-CLOSE-IN-TIME"]}
    file.write_text(json.dumps([{**scenario, "acts": acts}]), "utf-8")
    client = f"exec:{sys.executable} {FAKE} dies-at-commit"
    assert run(client, "--scenarios", str(file), "--report", str(tmp_path)) == 2
    assert "stderr of a:\n      out of luck\n" in capsys.readouterr().out
    document = json.loads((tmp_path / "certificate.json").read_text("utf-8"))
    case = document["cases"][0]
    assert case["stderr"] == {"a": ["out of luck"]}
    trace = json.loads((tmp_path / case["trace"]).read_text("utf-8"))
    assert trace["stderr"] == case["stderr"]
    assert "stderr of the process <code>a</code>" in (tmp_path / "index.html").read_text("utf-8")
    assert "out of luck" in (tmp_path / "junit.xml").read_text("utf-8")
