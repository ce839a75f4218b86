"""Brokers of others: what is said when they can't be had, and how each is told where to listen."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from support.in_this_process import invoke

from fencepost.conformance.runtime.toolchain import found_tools
from fencepost.conformance.runtime.toolchain.found_tools import find_python
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers import other_brokers
from fencepost.conformance.targets.brokers.other_brokers import (
    NAFKA,
    OTHERS,
    RIVINE,
    RivineTarget,
    seaweedfs_version,
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no package index, and a PATH with nothing but what a test puts there."""
    (tmp_path / "tools").mkdir()
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    return tmp_path / "cache"


def script(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


def new_python(folder: Path) -> Path:
    """A Python that says that it is new enough, and is the one of these tests."""
    script(folder, f'case "$*" in *version_info*) echo True;; *) exec {sys.executable} "$@";; esac')
    return folder


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("seaweedfs", "go is not on the PATH: install Go 1.26 or later"),
        ("rivine", "cargo is not on the PATH: install Rust 1.85 or later"),
    ],
)
def test_a_tool_that_is_missing_is_told(target: str, says: str) -> None:
    ran = invoke("start", target)
    assert (ran.code, ran.out) == (69, "")
    assert says in ran.err


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("target", OTHERS)
def test_nothing_can_be_set(target: str) -> None:
    ran = invoke("certify", target, "--set", "group.max.size=3")
    assert (ran.code, ran.out) == (64, "")
    assert f"{target} takes no settings from outside" in ran.err


def test_nafka_without_an_index_says_what_is_needed(cache: Path) -> None:
    new_python(cache.parent / "tools" / "python3.12")
    ran = invoke("start", "nafka")
    assert (ran.code, ran.out) == (69, "")
    assert "nafka can't be fetched" in ran.err
    assert "pip needs a package index that has nafka==0.1 and kafka-python==2.3.3" in ran.err


async def test_nafka_runs_on_a_newer_python_than_ours(cache: Path) -> None:
    python = new_python(cache.parent / "tools" / "python3.12")
    folder = cache / "nafka" / NAFKA / "lib" / "nafka"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "__main__.py").write_text("import sys\nsys.exit(f'told {sys.argv[1:]}')\n")
    target = OTHERS["nafka"]()
    with pytest.raises(
        TargetUnavailableError, match=r"nafka exited with code 1 while it started: told \['--port'"
    ):
        async with target:
            pass
    assert await find_python((3, 12)) == str(python)


@pytest.mark.usefixtures("cache")
async def test_without_such_a_python_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_tools, "_PYTHONS", 1)
    with pytest.raises(
        TargetUnavailableError,
        match=r"no Python 3\.99 or later is on the PATH: install one \(Debian: python3\.99\)",
    ):
        await find_python((3, 99))


async def test_a_python_that_does_not_run_is_passed_over(cache: Path) -> None:
    """pyenv has a shim for each version that it knows; one that isn't chosen ends with 127."""
    script(cache.parent / "tools" / "python3.98", "exit 127")
    there = cache.parent / "pyenv" / "versions" / "3.99.1" / "bin" / "python3"
    new_python(there)
    assert await find_python((3, 98)) == str(there)


async def test_rivine_is_asked_where_it_listens_whatever_it_names(
    cache: Path, tmp_path: Path
) -> None:
    script(
        cache / "rivine" / RIVINE / "bin" / "rivine-broker",
        f'while read -r line; do echo "$line"; done < "$2" > {tmp_path}/told',
        "echo no room >&2; exit 3",
    )
    target = RivineTarget()
    with pytest.raises(
        TargetUnavailableError, match="rivine exited with code 3 while it started: no room"
    ):
        async with target:
            pass
    host, port, data = (tmp_path / "told").read_text().splitlines()
    assert host == 'host = "127.0.0.1"'
    assert port.startswith("port = ")
    assert data.startswith('log_dirs = ["/')
    (remark,) = target.remarks
    assert remark.startswith(
        "rivine names 127.0.0.1:9092 as the coordinator, even if it listens elsewhere"
    )


def test_what_is_built_is_fixed() -> None:
    assert seaweedfs_version().startswith("v0.0.0-2026")
    assert (other_brokers.SEAWEEDFS / "go.sum").is_file()


def test_a_forged_wheel_of_nafka_is_refused_and_not_kept(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    (tmp_path / "nafka-0.1-py2.py3-none-any.whl").write_bytes(b"PK of somebody else")
    with pytest.raises(TargetUnavailableError, match=r"nafka can't be fetched .*Expected .*Got "):
        asyncio.run(other_brokers.nafka_fetched())
    assert not (cache / "nafka" / NAFKA).exists()
