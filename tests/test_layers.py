"""The floors of the house: an import may point down, never up, and the model is pure."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("model", "properties", "traces", "conformance")  # from the ground up

# No input or output, no clock, no chance, no log, no concurrency: state in, state and answers out.
IMPURE_MODULES = frozenset(
    {
        "asyncio",
        "concurrent",
        "datetime",
        "http",
        "io",
        "logging",
        "multiprocessing",
        "os",
        "pathlib",
        "queue",
        "random",
        "sched",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "socketserver",
        "ssl",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "uuid",
        "warnings",
    }
)
IMPURE_CALLS = frozenset({"breakpoint", "input", "open", "print"})

FILES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("fencepost", *parts)).removesuffix(".__init__")


def imported(node: ast.AST, package: str) -> Iterator[str]:
    """The modules that an import names, absolute; `from a import b` may mean a.b, so names that."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            base = package.split(".")[: -(level - 1) or None] if level else []
            start = ".".join([*base, *([module] if module else [])])
            yield from (f"{start}.{alias.name}" for alias in names)


def wrong_import(name: str, floor: str) -> str | None:
    """Why a module on `floor` may not import `name`, or None if it may."""
    top, _, rest = name.partition(".")
    if top in FLOORS:
        return f"{name}: write fencepost.{name}, the name that is installed"
    if top == "fencepost":
        other = rest.partition(".")[0]
        if other not in FLOORS:
            return f"{name}: fencepost is a namespace and holds nothing but {', '.join(FLOORS)}"
        if FLOORS.index(other) > FLOORS.index(floor):
            return f"{name}: points up from {floor}"
    elif floor == "model":
        if top not in sys.stdlib_module_names:
            return f"{name}: the model needs the standard library only"
        if top in IMPURE_MODULES:
            return f"{name}: the model is pure"
    return None


def faults(source: str, floor: str, package: str) -> list[str]:
    """What is wrong with the imports of a module in `package`, and with the model's calls."""
    found = []
    for node in ast.walk(ast.parse(source)):
        reasons = [wrong_import(name, floor) for name in imported(node, package)]
        match node:
            case ast.Call(func=ast.Name(id=name)) if floor == "model" and name in IMPURE_CALLS:
                reasons.append(f"{name}(): the model is pure")
        found += [f"line {node.lineno}: {why}" for why in reasons if why]  # type: ignore[attr-defined]
    return found


ON_SPARK = {f"fencepost.traces.pipeline.stream{name}" for name in ("", "_source", "_watch")}
"""What only an engine that is installed calls for."""


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_point_down(path: Path) -> None:
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    assert faults(path.read_text("utf-8"), path.relative_to(ROOT).parts[0], package) == []


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_each_module_is_installed_and_can_be_imported(path: Path) -> None:
    name = module_name(path)
    if name in ON_SPARK:
        pytest.importorskip("pyspark", reason="needs the extra spark")
    importlib.import_module(name)


@pytest.mark.parametrize(
    ("floor", "source"),
    [
        ("model", "import fencepost.properties.oracle"),
        ("model", "from fencepost import traces"),
        ("model", "from ..conformance import cli"),
        ("model", "from .. import traces"),
        ("model", "def late():\n    from fencepost.traces import itf"),
        ("model", "if TYPE_CHECKING:\n    import fencepost.conformance.target"),
        ("model", "import click"),
        ("model", "import collections, time"),
        ("model", "from os.path import join"),
        ("model", "from random import choice"),
        ("model", "import logging"),
        ("model", "print('state')"),
        ("properties", "from fencepost.traces.itf import read"),
        ("properties", "from fencepost.conformance import cli"),
        ("traces", "import fencepost.conformance.cli"),
        ("conformance", "from model import table"),
        ("conformance", "import fencepost"),
        ("conformance", "from fencepost import *"),
    ],
)
def test_a_forbidden_import_is_caught(floor: str, source: str) -> None:
    assert len(faults(source, floor, f"fencepost.{floor}")) == 1


@pytest.mark.parametrize(
    ("floor", "source"),
    [
        ("model", "from fencepost.model.errors import Error\nimport dataclasses, enum"),
        ("model", "from . import table\nfrom .table import Rule"),
        ("properties", "import time, hypothesis\nfrom fencepost.model import table"),
        ("traces", "from fencepost.properties.oracle import explain\nprint(open(__file__))"),
        (
            "conformance",
            "import click\nfrom fencepost.traces import itf\nfrom ..model import table",
        ),
    ],
)
def test_an_allowed_import_is_not(floor: str, source: str) -> None:
    assert faults(source, floor, f"fencepost.{floor}") == []
