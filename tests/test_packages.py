"""The packages are the folders that hold modules, and the wheel has every file that these read."""

from __future__ import annotations

import runpy
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.places import ROOT

import fencepost.model.messages.errors

FLOORS = ("model", "properties", "traces", "conformance")
NOT_SHIPPED = ROOT / "traces" / "corpus"  # read in a checkout alone
INSTALLED = Path(fencepost.model.messages.errors.__file__).resolve().parents[2]


def files() -> set[Path]:
    """The files of the floors, but for what Python and its tools leave behind."""
    return {
        path.relative_to(ROOT)
        for floor in FLOORS
        for path in (ROOT / floor).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and not path.is_relative_to(NOT_SHIPPED)
    }


def inside(root: Path) -> set[Path]:
    return {
        path.relative_to(root)
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `setup.py` tells setuptools, which needn't be installed."""
    kept: dict[str, Any] = {}
    monkeypatch.setitem(sys.modules, "setuptools", SimpleNamespace(setup=kept.update))
    runpy.run_path(str(ROOT / "setup.py"))
    return kept


def test_packages_are_the_folders_with_modules(told: dict[str, Any]) -> None:
    modules = [path for path in files() if path.suffix == ".py"]
    folders = {parent for path in modules for parent in path.parents if parent.parts}
    assert told["packages"] == sorted(".".join(("fencepost", *path.parts)) for path in folders)
    assert told["package_dir"] == {f"fencepost.{floor}": floor for floor in FLOORS}


def test_package_data_is_every_other_file(told: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = project["tool"]["setuptools"]["package-data"]
    found = set()
    for package in told["packages"]:
        folder = ROOT.joinpath(*package.split(".")[1:])
        for pattern in [*wanted["*"], *wanted.get(package, ())]:
            found |= {path.relative_to(ROOT) for path in folder.glob(pattern)}
    assert found == {path for path in files() if path.suffix != ".py"}


@pytest.mark.skipif("site-packages" not in INSTALLED.parts, reason="needs the wheel: run tox")
def test_the_wheel_holds_what_the_tree_holds() -> None:
    assert inside(INSTALLED) == files()


def test_a_file_that_is_left_out_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").touch()
    (tmp_path / "a.json").touch()
    assert inside(tmp_path) == {Path("a.json")}
