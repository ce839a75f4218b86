"""Whose processor time is whose."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.conformance.runtime import event_loop
from fencepost.conformance.runtime.event_loop import started_s

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux")

_WORK = """
import time
while time.process_time() < 0.3:
    pass
print("done", flush=True)
input()
"""
_KEEPER = f"""
import subprocess, sys
sys.exit(subprocess.run([sys.executable, "-c", {_WORK!r}]).returncode)
"""


def spent() -> float:
    seconds = started_s()
    assert seconds is not None
    return seconds


@pytest.mark.parametrize("program", [_WORK, _KEEPER], ids=["child", "grandchild"])
def test_what_was_started_counts_with_what_it_started(program: str) -> None:
    before = spent()
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "done\n"
        assert spent() - before >= 0.25
        child.communicate("\n")


def test_who_helps_is_no_target(monkeypatch: pytest.MonkeyPatch) -> None:
    before = spent()
    with subprocess.Popen(
        [sys.executable, "-c", _WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "done\n"
        assert spent() - before >= 0.25
        monkeypatch.setattr(multiprocessing, "active_children", lambda: [child])
        assert spent() - before < 0.25
        child.communicate("\n")


def test_where_the_system_does_not_tell_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(event_loop, "_PROC", tmp_path)
    assert started_s() is None
