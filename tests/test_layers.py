"""The rooms of the house: an import may point down, never up, and the model is pure."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parent.parent

ROOMS = {
    "model": (
        "_door bad_input suggestions coordinator messages history table plans work protocol"
        " revision machine classic consumer bridge revisions assignors client"
    ),
    "properties": (
        "workers logic worlds explorer claims oracle departures judging checking proofs mutants"
        " requirements assignors diff stateful"
    ),
    "traces": "files forms pages logs operations audit report pipeline",
    "conformance": "runtime wire targets cases run serve clients search site simulate advise cli",
    "tools": "assignors kill_matrix nightly deployments docs evidence",
}
"""Floors and the rooms of each, from the bottom up: a room may import from those before it.

A module that lies on the floor itself is a room of its own.  No wheel holds `tools`.
"""
ORDER = [f"{floor}.{room}" for floor, rooms in ROOMS.items() for room in rooms.split()]
FLOORS = tuple(ROOMS)
INSTALLED = FLOORS[:-1]
MUTANTS = "properties.mutants"


class Pair(NamedTuple):
    """Rooms or modules that may not import others, though the order of rooms allows it."""

    importers: tuple[str, ...]
    imported: tuple[str, ...]
    today: int
    """How many imports there still are.  The number may only fall."""
    allowed: tuple[str, ...] = ()
    """Modules to which the rule does not apply."""


WRITERS = (
    "traces.report.report_folder",
    "traces.report.junit",
    "traces.report.certificate_page",
    "traces.pages",
)
FORBIDDEN = (
    Pair(("traces",), (MUTANTS,), 0),
    Pair(
        ("conformance",),
        (MUTANTS,),
        0,
        allowed=(
            "conformance.clients.driver_programs",
            "conformance.clients.reference_driver",
            "conformance.cli",
        ),
    ),
    Pair(("traces.files", "traces.forms"), ("properties.oracle", "properties.departures"), 0),
    Pair(("traces.report",), ("properties.oracle",), 0),
    Pair(("conformance.run",), ("traces.report",), 0),
    Pair(
        tuple(
            f"conformance.{room}" for room in ("simulate", "advise", "search", "clients", "site")
        ),
        WRITERS,
        0,
    ),
    Pair(("conformance.serve",), ("conformance.run",), 0),
    Pair(("traces.operations",), ("properties", "traces.audit"), 0),
    Pair(("properties.explorer",), ("model",), 0),
    Pair(("properties.oracle",), ("properties.worlds", "properties.claims"), 0),
    Pair(("conformance.cases",), ("conformance.targets", "conformance.run"), 0),
    Pair(("model.client", "model.assignors"), ("model.table", "model.classic"), 0),
    Pair(("model.classic",), ("model.consumer",), 0),
    Pair(("model.consumer",), ("model.classic",), 0),
)

MOST_MODULES = 30
"""More in one room, and nobody finds anything."""
LOOKS_BESIDE = frozenset({"conformance.targets.target_registry"})
"""The one place that knows all targets, in the room of what they have in common."""

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
    start = () if parts[0] == "tools" else ("fencepost",)
    return ".".join((*start, *parts)).removesuffix(".__init__")


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
    if top == "tools":
        return None if floor == "tools" else f"{name}: no wheel holds tools/"
    if top in INSTALLED:
        return f"{name}: write fencepost.{name}, the name that is installed"
    if top == "fencepost":
        other = rest.partition(".")[0]
        if other not in INSTALLED:
            return f"{name}: fencepost is a namespace and holds nothing but {', '.join(INSTALLED)}"
        if FLOORS.index(other) > FLOORS.index(floor):
            return f"{name}: points up from {floor}"
    elif floor == "model":
        if top not in sys.stdlib_module_names | {"msgspec"}:
            return f"{name}: the model needs the standard library and msgspec only"
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


ON_SPARK = {f"fencepost.traces.pipeline.spark.stream{name}" for name in ("", "_source", "_watch")}
"""What only an engine that is installed calls for."""
NEEDS = {
    **dict.fromkeys(ON_SPARK, "pyspark"),
    "fencepost.conformance.clients.drivers.aiokafka_driver": "aiokafka",
    "fencepost.conformance.clients.drivers.confluent_kafka_driver": "confluent_kafka",
}
"""Modules, and the package that each needs; a driver runs where it has its library."""


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_point_down(path: Path) -> None:
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    assert faults(path.read_text("utf-8"), path.relative_to(ROOT).parts[0], package) == []


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_each_module_is_installed_and_can_be_imported(path: Path) -> None:
    name = module_name(path)
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"needs {NEEDS[name]}")
    importlib.import_module(name)


def room(name: str) -> str:
    """The room of a module (`floor.room`); of what lies on a floor, that itself."""
    return ".".join(name.split(".")[:2])


def at_run_time(block: ast.AST) -> Iterator[ast.AST]:
    """The statements below a module or a statement, but those for type checkers alone."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(block, part, ()):
            match statement:
                case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                    continue
                case _:
                    yield statement
                    yield from at_run_time(statement)


def imports_of(name: str, source: str, names: frozenset[str]) -> set[str]:
    """Which of these modules a module imports, wherever in it; not for type checkers alone."""
    found = set()
    for node in at_run_time(ast.parse(source)):
        for full in imported(node, name if name.startswith("tools.") else f"fencepost.{name}"):
            inner = full.removeprefix("fencepost.")
            found |= {inner, inner.rpartition(".")[0]} & names
    return found - {name}


def wrong_rooms(graph: dict[str, set[str]], order: list[str]) -> list[str]:
    """Imports between rooms that do not point down."""
    return [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in sorted(others)
        if room(name) != room(other) and order.index(room(name)) < order.index(room(other))
    ]


def begins(name: str, starts: tuple[str, ...]) -> bool:
    """Tell if a module is one of these, or lies in one of these rooms."""
    return any(name == start or name.startswith(start + ".") for start in starts)


def forbidden_imports(graph: dict[str, set[str]], pair: Pair) -> list[str]:
    """List the imports that a pair forbids."""
    return sorted(
        f"{name} imports {other}"
        for name, others in graph.items()
        if begins(name, pair.importers) and not begins(name, pair.allowed)
        for other in others
        if begins(other, pair.imported)
    )


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules that import each other, and folders that do."""
    modules = nx.DiGraph(graph)
    folders = nx.DiGraph(
        (one.rpartition(".")[0], other.rpartition(".")[0])
        for one, others in graph.items()
        for other in others
        if one not in LOOKS_BESIDE
    )
    folders.remove_edges_from(list(nx.selfloop_edges(folders)))
    return [
        sorted(found)
        for drawn in (modules, folders)
        for found in nx.strongly_connected_components(drawn)
        if len(found) > 1
    ]


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """Which module imports which, without `fencepost.`; doors load what they offer when asked."""
    sources = {
        module_name(path).removeprefix("fencepost."): path.read_text("utf-8")
        for path in FILES
        if path.name != "__init__.py"
    }
    names = frozenset(sources)
    return {name: imports_of(name, source, names) for name, source in sources.items()}


def test_every_room_has_its_place(graph: dict[str, set[str]]) -> None:
    assert {room(name) for name in graph} == set(ORDER)


def test_rooms_import_from_rooms_below(graph: dict[str, set[str]]) -> None:
    assert wrong_rooms(graph, ORDER) == []


@pytest.mark.parametrize("pair", FORBIDDEN, ids=lambda pair: f"{pair[0][0]}-{pair[1][0]}")
def test_forbidden_imports_only_become_fewer(graph: dict[str, set[str]], pair: Pair) -> None:
    found = forbidden_imports(graph, pair)
    assert len(found) <= pair.today, "\n".join(found)
    assert len(found) == pair.today, f"now {len(found)}: lower the number in FORBIDDEN"


def test_a_forbidden_pair_is_caught() -> None:
    pair = Pair(("model.a",), ("model.b",), 0, allowed=("model.a.x",))
    graph = {"model.a.x": {"model.b.c"}, "model.a.y": {"model.b.c"}, "model.ab.y": {"model.b.c"}}
    assert forbidden_imports(graph, pair) == ["model.a.y imports model.b.c"]


def test_module_names_are_unique(graph: dict[str, set[str]]) -> None:
    """A command may be called after the module that it runs; protocols may name theirs alike."""
    names = Counter(
        name.rpartition(".")[2]
        for name in graph
        if not begins(name, ("conformance.cli", "tools"))
        and re.sub("model.(consumer|bridge)", "model.classic", name) not in graph.keys() - {name}
    )
    assert {name for name, count in names.items() if count > 1} == set()


def test_nothing_imports_itself_by_a_detour(graph: dict[str, set[str]]) -> None:
    assert cycles(graph) == []


def test_no_room_is_crowded(graph: dict[str, set[str]]) -> None:
    sizes = Counter(name.rpartition(".")[0] for name in graph)
    assert {name: size for name, size in sizes.items() if size > MOST_MODULES} == {}


def test_a_room_that_looks_up_is_caught() -> None:
    order = ["model.state", "model.machine"]
    assert wrong_rooms({"model.machine.a": {"model.state.b"}}, order) == []
    upward = {"model.state.b": {"model.machine.a"}}
    assert wrong_rooms(upward, order) == ["model.state.b imports model.machine.a"]


@pytest.mark.parametrize(
    "graph",
    [
        {"model.a.x": {"model.a.y"}, "model.a.y": {"model.a.x"}},
        {"model.a.x": {"model.b.y"}, "model.b.z": {"model.a.w"}},
    ],
)
def test_a_cycle_is_caught(graph: dict[str, set[str]]) -> None:
    assert len(cycles(graph)) == 1


def test_an_import_for_type_checkers_is_no_import() -> None:
    source = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from fencepost.model.b import X"
    )
    assert imports_of("model.a", source, frozenset({"model.b"})) == set()
    assert imports_of(
        "model.a", "def f():\n    from fencepost.model import b", frozenset({"model.b"})
    )


@pytest.mark.parametrize(
    ("floor", "source"),
    [
        ("model", "import fencepost.properties.oracle.oracle"),
        ("model", "from fencepost import traces"),
        ("model", "from ..conformance import cli"),
        ("model", "from .. import traces"),
        ("model", "def late():\n    from fencepost.traces import itf"),
        ("model", "if TYPE_CHECKING:\n    import fencepost.conformance.targets.target"),
        ("model", "import click"),
        ("model", "import collections, time"),
        ("model", "from os.path import join"),
        ("model", "from random import choice"),
        ("model", "import logging"),
        ("model", "print('state')"),
        ("properties", "from fencepost.traces.forms.itf import read"),
        ("properties", "from fencepost.conformance import cli"),
        ("traces", "import fencepost.conformance.cli.cli"),
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
        ("model", "from fencepost.model.messages.errors import Error\nimport dataclasses, msgspec"),
        ("model", "from . import table\nfrom .table import Rule"),
        ("properties", "import time, hypothesis\nfrom fencepost.model import table"),
        ("traces", "from fencepost.properties.oracle.oracle import explain\nprint(open(__file__))"),
        (
            "conformance",
            "import click\nfrom fencepost.traces import itf\nfrom ..model import table",
        ),
    ],
)
def test_an_allowed_import_is_not(floor: str, source: str) -> None:
    assert faults(source, floor, f"fencepost.{floor}") == []
