from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support.clients.fake_driver import WHOLE

from fencepost.conformance.cli.cli import exit_code, fencepost

FAKE = Path(__file__).parents[2] / "support" / "clients" / "fake_driver.py"


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
