"""`fencepost site`: what it says, and how it refuses what is no certificate."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.kept import kept, write_kept

from fencepost.conformance.cli.cli import main


def ended(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(stopped.value.code or 0)


def test_it_says_what_to_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_kept(tmp_path / "some", kept("kafka:4.3.0", {"LEAVE-MEMBER/one": "pass"}))
    site = tmp_path / "site"
    assert ended(["site", str(tmp_path / "some"), "--report", str(site)]) == 0
    assert capsys.readouterr().out == f"1 certificate: 1 holds\nRead {site / 'index.html'}\n"
    assert (site / "badges" / "kafka-4.3.0.svg").is_file()


@pytest.mark.parametrize(
    ("text", "said"),
    [("{}", "is no certificate"), ("{", "isn't JSON"), ("[[]]", "is no certificate")],
)
def test_bad_input_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    assert ended(["site", str(path), "--report", str(tmp_path / "site")]) == 64
    told = capsys.readouterr()
    assert said in told.err
    assert str(path) in told.err
    assert "Traceback" not in told.err
    assert not (tmp_path / "site").exists()


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = write_kept(tmp_path / "some", kept("a:1", {"LEAVE-MEMBER/one": "pass"}))
    (tmp_path / "file").touch()
    assert ended(["site", str(path), "--report", str(tmp_path / "file" / "site")]) == 64
    assert "give --report another folder" in capsys.readouterr().err
