"""An hour of fuzzing: our memory stays flat, no descriptor leaks, no process is left.

`FENCEPOST_SOAK_MINUTES` says how long (60), `FENCEPOST_SOAK_TARGET` whom (kafka:4.3.0).  What is
found doesn't matter here, but it is told, for whoever reads the output: `tox -e soak`.

Memory is what is resident without what Python and the C library keep free for later.  One search
for the cause of a failure may need 30 MB for a second; most of that stays resident, and free, so
what is resident alone says when the deepest search came, not whether something leaks.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from statistics import median
from uuid import uuid4

import pytest
from support.command import RUN

from fencepost.traces.files.bounded import last_bytes

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")

MINUTES = float(os.environ.get("FENCEPOST_SOAK_MINUTES", "60"))
TARGET = os.environ.get("FENCEPOST_SOAK_TARGET", "kafka:4.3.0")
EXAMINE_S = 120
GRACE_S = 600
EVERY_S = 5.0
GROWTH = 1.10
MARK = "FENCEPOST_SOAK_MARK"
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024

WATCHED = f"""
import ctypes, os, sys, threading, time

class MallInfo(ctypes.Structure):
    _fields_ = [(f"field{{n}}", ctypes.c_size_t) for n in range(10)]  # the ninth: free bytes

def watch():
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = MallInfo
    while True:
        os.write(2, f"# bytes free in the heap = {{ask().field8}}\\n".encode())
        sys._debugmallocstats()
        time.sleep({EVERY_S})

threading.Thread(target=watch, daemon=True).start()
{RUN}
"""
"""`fencepost`, which tells on stderr what it keeps free."""

FREE = (
    re.compile(r"^# bytes free in the heap = (\d+)$", re.MULTILINE),
    re.compile(r"^# bytes in available blocks += +([\d,]+)$", re.MULTILINE),
    re.compile(r"^([\d,]+) unused pools \* (\d+) bytes", re.MULTILINE),
)
TAIL = 16_384


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process had: memory in KiB, all and without what is kept free; open descriptors."""

    at_s: float
    resident_kib: int
    used_kib: int
    descriptors: int


def kept_free_kib(told: str) -> int:
    """What a process keeps free, by the last that it told; 0 as long as it told nothing."""
    last = [found[-1] for pattern in FREE if (found := list(pattern.finditer(told)))]
    return sum(prod(int(n.replace(",", "")) for n in each.groups()) for each in last) // 1024


def sampled(process: subprocess.Popen[str], told: Path) -> Iterator[Sample]:
    """What it has, every few seconds until it ends."""
    begun, at = time.monotonic(), Path(f"/proc/{process.pid}")
    while process.poll() is None:
        assert time.monotonic() - begun < MINUTES * 60 + EXAMINE_S + GRACE_S, "it doesn't end"
        with suppress(FileNotFoundError, ProcessLookupError, IndexError):
            resident = int((at / "statm").read_text("ascii").split()[1]) * PAGE_KIB
            free = kept_free_kib(last_bytes(told, TAIL))
            descriptors = len(list((at / "fd").iterdir()))
            yield Sample(time.monotonic() - begun, resident, resident - free, descriptors)
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
    for name in ("resident_kib", "used_kib", "descriptors"):
        before, after = (median(getattr(s, name) for s in part) for part in (early, late))
        print(f"{name}: {before:g} in the second quarter, {after:g} in the last")  # noqa: T201
        if name != "resident_kib" and after > before * GROWTH:
            found.append(name)
    return found


def test_an_hour_leaks_nothing(tmp_path: Path) -> None:
    mark = uuid4().hex
    words = ["fuzz", TARGET, "--minutes", str(MINUTES), "--examine", str(EXAMINE_S), "--json"]
    words += ["--report", str(tmp_path), "--jobs", "1"]  # more would be the same, unwatched
    told = tmp_path / "told"
    with (
        tempfile.TemporaryFile("w+") as out,
        told.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-c", WATCHED, *words],
            stdout=out,
            stderr=errors,
            text=True,
            env=os.environ | {MARK: mark},
        ) as process,
    ):
        samples = []
        for sample in sampled(process, told):
            samples.append(sample)
            assert len(marked(mark)) > 0
        out.seek(0)
        said = out.read()
    assert process.returncode in (0, 1, 2), last_bytes(told, TAIL)
    report = json.loads(said)
    print(f"{report['requests']} requests in {report['plans']} plans")  # noqa: T201
    for finding in report["findings"]:
        print(f"  {finding['message']} (in {tmp_path})")  # noqa: T201
    assert marked(mark) == []
    assert leaks(samples) == []


def test_a_leak_is_seen() -> None:
    step = MINUTES * 60 / 100
    flat = [Sample(n * step, 1500, 1000, 20) for n in range(100)]
    assert leaks(flat) == []
    grows = [Sample(s.at_s, 1500 + 10 * n, 1000 + 10 * n, 20) for n, s in enumerate(flat)]
    assert leaks(grows) == ["used_kib"]
    assert leaks([Sample(s.at_s, 1500 + 10 * n, 1000, 20) for n, s in enumerate(flat)]) == []
    assert leaks([Sample(s.at_s, 1500, 1000, 20 + n) for n, s in enumerate(flat)]) == [
        "descriptors"
    ]


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_used_is_told_from_what_is_kept_free(tmp_path: Path, kept: bool) -> None:
    """30 MB of small objects, of which a process keeps all or each tenth."""
    made = "objects = [(n,) for n in range(300_000)]"
    freed = "" if kept else "; objects[:] = [o for n, o in enumerate(objects) if n % 10 == 0]"
    held = f"{made}{freed}; print(flush=True); import time; time.sleep(3600)"
    code = WATCHED.replace(RUN, held).replace(f"sleep({EVERY_S})", "sleep(0.01)")
    told = tmp_path / "told"
    with (
        told.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            process.stdout.readline()
            few = 24_000
            samples = sampled(process, told)
            seen = (s.resident_kib > few and (s.used_kib > few) is kept for s in samples)
            assert any(itertools.islice(seen, 100))
        finally:
            process.kill()


def test_a_process_that_is_left_is_seen() -> None:
    mark = uuid4().hex
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=os.environ | {MARK: mark}) as process:
        assert len(marked(mark)) == 1
        assert process.stdin is not None
        process.stdin.close()
    assert marked(mark) == []
