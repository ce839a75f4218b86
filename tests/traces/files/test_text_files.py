"""The writer of files: links, devices, pipes, files that others hold, and half-written ones."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO

import pytest

from fencepost.traces.files import text_files
from fencepost.traces.files.text_files import (
    OutputError,
    ReportError,
    cell,
    escaped,
    file_inside,
    is_foreign_report,
    opened_to_append,
    temporary_folder,
    write_text,
    write_texts,
)
from fencepost.traces.pages.html import site_page

_REMEDY = "give -o another file"


def test_a_plain_file_is_replaced_at_once_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o604)
    with path.open() as reader:
        write_text(path, "new", _REMEDY)
        assert reader.read() == "old"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_mode_that_the_user_chose(tmp_path: Path) -> None:
    write_text(tmp_path / "out.txt", "new", _REMEDY)
    (tmp_path / "usual").touch()
    assert (tmp_path / "out.txt").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("exists", [True, False])
def test_links_are_followed(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    if exists:
        (folder / "file").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("there/file")
    write_text(link, "new", _REMEDY)
    assert link.is_symlink()
    assert (folder / "file").read_text() == "new"


def test_the_other_name_of_a_file_has_the_new_text_too(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_text("a much longer old text")
    other.hardlink_to(path)
    write_text(path, "new", _REMEDY)
    assert other.read_text() == "new"


def test_a_pipe_is_written_and_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.append(path.read_text()))
    reader.start()
    write_text(path, "new", _REMEDY)
    reader.join()
    assert texts == ["new"]
    assert path.is_fifo()


def test_a_pipe_that_nobody_reads_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "READER_S", 0.0)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ReportError, match="nobody has read this pipe"):
        write_text(path, "new", _REMEDY)
    with pytest.raises(OSError, match="nobody has read this pipe"):
        opened_to_append(path)


def test_a_device_is_written_and_stays_one(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    link = tmp_path / "device"
    link.symlink_to(os.ttyname(theirs))
    write_text(link, "new", _REMEDY)
    assert os.read(ours, 100) == b"new"
    assert stat.S_ISCHR(link.stat().st_mode)
    os.close(ours)
    os.close(theirs)


def test_a_full_device_is_an_output_error_and_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "full"
    try:
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 7))
        device.open("wb").close()
    except PermissionError:
        pytest.skip("devices can't be made here")
    with pytest.raises(OutputError, match="No space left on device"):
        write_text(device, "new", _REMEDY)
    assert stat.S_ISCHR(device.stat().st_mode)


def test_our_own_stdout_is_written_in_place(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    number = os.open(path, os.O_WRONLY | os.O_CREAT)
    kept = os.dup(1)
    try:
        os.dup2(number, 1)
        write_text(Path("/dev/stdout"), "new", _REMEDY)
        assert os.path.samestat(path.stat(), os.fstat(1))
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(number)
    assert path.read_text() == "new"


def test_an_interrupted_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(number: int, data: bytes) -> None:
        os.write(number, data[:1])
        os.close(number)
        raise KeyboardInterrupt

    path = tmp_path / "out.txt"
    path.write_text("old")
    monkeypatch.setattr(text_files, "_write_to", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new", _REMEDY)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out.txt", "old")]


def test_what_is_no_unicode_is_an_escape(tmp_path: Path) -> None:
    write_text(tmp_path / "out.json", '"\ud800"', _REMEDY)
    assert (tmp_path / "out.json").read_bytes() == b'"\\ud800"'


def test_a_folder_in_the_way_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "out" / "a.txt").mkdir(parents=True)
    with pytest.raises(ReportError, match=r"out/a\.txt: can't .*; give --report another"):
        write_texts({"a.txt": "new"}, tmp_path / "out", "--report")


@pytest.mark.parametrize(
    ("page", "foreign"),
    [
        (None, False),
        ("<!doctype html><title>My shop</title>", True),
        ("", True),
        (site_page("site_base.html", "Results", root="", here=""), False),
    ],
)
def test_a_page_of_fencepost_is_known_by_its_title(
    tmp_path: Path, page: str | None, foreign: bool
) -> None:
    if page is not None:
        (tmp_path / "index.html").write_text(page)
    assert is_foreign_report(tmp_path) is foreign


_KILLED = """
import os, signal
from fencepost.traces.files.text_files import temporary_folder

with temporary_folder() as folder:
    (folder / "data").write_text("big")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_folder_of_a_killed_run_is_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "fencepost-mine").mkdir()  # of somebody else, without a lock
    subprocess.run(
        [sys.executable, "-c", _KILLED], check=False, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert len(list(tmp_path.iterdir())) == 2
    with temporary_folder() as used, temporary_folder() as other:
        assert {path.name for path in tmp_path.iterdir()} == {
            "fencepost-mine",
            used.name,
            other.name,
        }
    assert [path.name for path in tmp_path.iterdir()] == ["fencepost-mine"]


def test_what_steers_a_terminal_is_an_escape_of_json() -> None:
    assert escaped("a\tb\n\x1b[2K\x9b\r\u202e") == "a\tb\n" + r"\u001b[2K\u009b\u000d\u202e"
    assert json.loads(f'"{escaped(chr(27))}"') == chr(27)


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "\tx", "\rx"])
def test_a_spreadsheet_takes_no_text_for_a_formula(text: str) -> None:
    assert cell(text) == f"'{text}"
    assert cell(f"a{text}") == f"a{text}"
    assert cell(-1) == -1


def test_a_file_of_a_folder_lies_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    (folder / "traces").mkdir(parents=True)
    for path in (tmp_path / "secret", folder / "traces" / "a"):
        path.write_text("{}")
    (folder / "link").symlink_to(tmp_path / "secret")
    assert file_inside(folder, "traces/a") == folder / "traces" / "a"
    outside = ["../secret", "traces/../../secret", str(tmp_path / "secret"), "link", "traces", "b"]
    for name in (*outside, "\0", "x" * 5000):
        assert file_inside(folder, name) is None


def test_a_folder_is_not_taken_for_abandoned_before_it_has_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three runs that began at once, one lost its folder to another between two calls."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock = fcntl.flock

    def meanwhile(file: IO[bytes], how: int) -> None:
        if not how & fcntl.LOCK_NB:
            text_files._remove_abandoned(tmp_path)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", meanwhile)
    with temporary_folder() as folder:
        assert folder.is_dir()
        text_files._remove_abandoned(tmp_path)
        assert folder.is_dir()
