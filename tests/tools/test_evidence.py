"""Evidence: what commands say is kept, and a changed byte is seen; a changed time is not."""

from __future__ import annotations

from pathlib import Path

from support.in_this_process import invoke_command
from support.places import ROOT

from tools.evidence import commands, differences, evidence, without_times


def test_what_a_command_says_is_kept_and_the_same_again(tmp_path: Path) -> None:
    for name in ("old", "new"):
        ran = invoke_command(
            evidence, "evidence", "keep", str(tmp_path / name), "--only", "text/rev"
        )
        assert ran.code == 0, ran.err
    printed = (tmp_path / "old" / "text" / "revisions" / "printed").read_text("utf-8")
    assert "kafka-4" in printed
    assert printed.endswith("exit 0\n")
    ran = invoke_command(
        evidence, "evidence", "compare", str(tmp_path / "old"), str(tmp_path / "new")
    )
    assert (ran.code, ran.out) == (0, "0 files differ\n")


def test_a_changed_byte_and_a_missing_file_are_seen(tmp_path: Path) -> None:
    for name, text in (("old", "pass 4 after 3 s"), ("new", "pass 5 after 7 s")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "printed").write_text(text, encoding="utf-8")
    (tmp_path / "old" / "report").write_text("gone", encoding="utf-8")
    changed, missing = differences(tmp_path / "old", tmp_path / "new")
    assert changed.startswith("printed:")
    assert "pass 5" in changed
    assert missing == f"report: only in {tmp_path / 'old'}"


def test_times_and_speeds_are_left_out() -> None:
    one, other = "done in 3.2 s, 1,234 states per second", "done in 11 s, 99 states per second"
    assert without_times(one) == without_times(other)
    assert without_times("3 members") != without_times("4 members")


def test_a_folder_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    ran = invoke_command(evidence, "evidence", "keep", str(tmp_path))
    assert ran.code == 64
    assert "choose another folder" in ran.err


def test_commands_cover_all_that_writes_reports() -> None:
    words = {arguments[0] for arguments in commands(ROOT).values()}
    assert words >= {"certify", "fuzz", "compare", "check", "prove", "audit", "simulate", "site"}
    assert words >= {"convert", "view", "replay", "shrink"}
