"""An hour of fuzzing: our memory stays flat, no descriptor leaks, no process is left.

`FENCEPOST_SOAK_MINUTES` says how long (60), `FENCEPOST_SOAK_TARGET` whom (kafka:4.3.0).  What is
found doesn't matter here, but it is told, for whoever reads the output: `tox -e soak`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from uuid import uuid4

import pytest
from support.command import RUN

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")

MINUTES = float(os.environ.get("FENCEPOST_SOAK_MINUTES", "60"))
TARGET = os.environ.get("FENCEPOST_SOAK_TARGET", "kafka:4.3.0")
EXAMINE_S = 120
GRACE_S = 600
EVERY_S = 5.0
GROWTH = 1.10
MARK = "FENCEPOST_SOAK_MARK"
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process had: memory in KiB, open descriptors."""

    at_s: float
    resident_kib: int
    descriptors: int


def sampled(process: subprocess.Popen[str]) -> Iterator[Sample]:
    """What it has, every few seconds until it ends."""
    begun, at = time.monotonic(), Path(f"/proc/{process.pid}")
    while process.poll() is None:
        assert time.monotonic() - begun < MINUTES * 60 + EXAMINE_S + GRACE_S, "it doesn't end"
        with suppress(FileNotFoundError, ProcessLookupError, IndexError):
            resident = int((at / "statm").read_text("ascii").split()[1]) * PAGE_KIB
            yield Sample(time.monotonic() - begun, resident, len(list((at / "fd").iterdir())))
        with suppress(subprocess.TimeoutExpired):
            process.wait(EVERY_S)


def marked(mark: str) -> list[str]:
    """Command lines of processes that have this mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{MARK}={mark}\0".encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def leaks(samples: list[Sample]) -> list[str]:
    """What grew from the second quarter of the search to the last."""
    search = [s for s in samples if s.at_s <= MINUTES * 60]
    quarter = len(search) // 4
    early, late = search[quarter : 2 * quarter], search[3 * quarter :]
    found = []
    for name in ("resident_kib", "descriptors"):
        before, after = (median(getattr(s, name) for s in part) for part in (early, late))
        print(f"{name}: {before:g} in the second quarter, {after:g} in the last")  # noqa: T201
        if after > before * GROWTH:
            found.append(name)
    return found


def test_an_hour_leaks_nothing(tmp_path: Path) -> None:
    mark = uuid4().hex
    words = ["fuzz", TARGET, "--minutes", str(MINUTES), "--examine", str(EXAMINE_S), "--json"]
    words += ["--report", str(tmp_path)]
    with (
        tempfile.TemporaryFile("w+") as out,
        subprocess.Popen(
            [sys.executable, "-c", RUN, *words],
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {MARK: mark},
        ) as process,
    ):
        samples = []
        for sample in sampled(process):
            samples.append(sample)
            assert len(marked(mark)) > 0
        out.seek(0)
        said = out.read()
    assert process.returncode in (0, 1, 2), said
    report = json.loads(said)
    print(f"{report['requests']} requests in {report['plans']} plans")  # noqa: T201
    for finding in report["findings"]:
        print(f"  {finding['message']} (in {tmp_path})")  # noqa: T201
    assert marked(mark) == []
    assert leaks(samples) == []


def test_a_leak_is_seen() -> None:
    step = MINUTES * 60 / 100
    flat = [Sample(n * step, 1000, 20) for n in range(100)]
    assert leaks(flat) == []
    assert leaks([Sample(s.at_s, s.resident_kib + 10 * n, 20) for n, s in enumerate(flat)]) == [
        "resident_kib"
    ]
    assert leaks([Sample(s.at_s, 1000, 20 + n) for n, s in enumerate(flat)]) == ["descriptors"]


def test_a_process_that_is_left_is_seen() -> None:
    mark = uuid4().hex
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=os.environ | {MARK: mark}) as process:
        assert len(marked(mark)) == 1
        assert process.stdin is not None
        process.stdin.close()
    assert marked(mark) == []
