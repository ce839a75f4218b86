from __future__ import annotations

import json
from pathlib import Path

import pytest

from fencepost.conformance.cli.cli import exit_code, fencepost


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
