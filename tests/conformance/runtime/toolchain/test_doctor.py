"""The checks find what is there, and name the remedy for what is missing or too old."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fencepost.conformance.runtime.toolchain.doctor import CHECKS, examine

NAMED = {check.name: check for check in CHECKS}


def tool(folder: Path, name: str, says: str) -> None:
    """A program that says its version."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "program", "good", "bad"),
    [
        ("java", "java", 'openjdk version "21.0.1" 2023', 'java version "1.8.0_292"'),
        ("maven", "mvn", "Apache Maven 3.9.6 (abc)", "Apache Maven 2.2.1"),
        ("go", "go", "go version go1.26.1 linux/amd64", "go version go1.9 linux/amd64"),
        ("cargo", "cargo", "cargo 1.95.0 (f2d3ce0bd 2026-03-21)", "cargo 1.70.0 (ec8a8a0ca)"),
        ("javac", "javac", "javac 17.0.15", "javac 1.8.0_292"),
        ("node", "node", "v20.20.2", "v18.1.0"),
    ],
)
def test_a_tool(empty: Path, name: str, program: str, good: str, bad: str) -> None:
    if name == "node":
        tool(empty, "npm", "11.0.0")
    missing = examine(NAMED[name])
    assert not missing.is_there
    assert f"{program} is not on the PATH: install " in missing.result
    tool(empty, program, good)
    assert examine(NAMED[name]).is_there
    for says in (bad, "hello"):
        tool(empty, program, says)
        wrong = examine(NAMED[name])
        assert not wrong.is_there
        assert "install " in wrong.result


def test_an_extra_that_is_missing_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    found = examine(NAMED["prove"])
    assert not found.is_there
    assert found.result.startswith("z3-solver is missing: pip install '.[prove]'")


def test_the_cache_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "kafka").mkdir(parents=True)
    assert examine(NAMED["cache"]).result == f"{tmp_path / 'cache'}, has kafka"
    (tmp_path / "file").touch()
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "file"))
    wrong = examine(NAMED["cache"])
    assert not wrong.is_there
    assert "name another folder in FENCEPOST_CACHE" in wrong.result


def test_python_and_ports_are_there() -> None:
    assert examine(NAMED["python"]).is_there
    assert examine(NAMED["ports"]).result.startswith("such as 127.0.0.1:")


def test_every_check_says_what_it_is_for() -> None:
    assert all(check.what_for for check in CHECKS)
    assert [check.name for check in CHECKS if check.always] == ["python"]
