"""The doors: what a floor offers by name is complete, loaded when it is first used, and no room."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from test_layers import FILES, FLOORS, NEEDS, ON_SPARK, ROOMS, module_name

ROOT = Path(__file__).resolve().parent.parent
DOORS = [floor for floor in FLOORS if (ROOT / floor / "__init__.py").exists()]

# Prints what of fencepost is loaded once a door is, and once it was looked at.
LOADED = """
import importlib, sys
door = importlib.import_module(sys.argv[1])
dir(door), door.__doc__, door.__all__
print(*sorted(name for name in sys.modules if name.startswith("fencepost.")))
"""


def rooms_of(floor: str) -> set[str]:
    """What lies on a floor: its folders and its modules."""
    return {path.stem for path in (ROOT / floor).iterdir()} | set(ROOMS[floor].split())


@pytest.fixture(scope="module", params=DOORS)
def door(request: pytest.FixtureRequest) -> ModuleType:
    """A door, once every module was imported: each has then set its name in the one above it."""
    for path in FILES:
        if (name := module_name(path)) not in NEEDS:
            importlib.import_module(name)
    return importlib.import_module(f"fencepost.{request.param}")


def floor_of(door: ModuleType) -> str:
    return door.__name__.rpartition(".")[2]


def test_no_public_name_is_that_of_a_room(door: ModuleType) -> None:
    assert set(door.__all__) & rooms_of(floor_of(door)) == set()


def imported(door: ModuleType) -> dict[str, tuple[str, str]]:
    """Where each public name comes from, as type checkers are told."""
    source = Path(str(door.__file__)).read_text("utf-8")
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def importable(door: ModuleType) -> dict[str, tuple[str, str]]:
    """The public names that can be imported here: some need Spark."""
    return {
        name: place
        for name, place in imported(door).items()
        if find_spec("pyspark") or place[0] not in ON_SPARK
    }


def test_each_public_name_is_there_and_no_module(door: ModuleType) -> None:
    assert [name for name in importable(door) if isinstance(getattr(door, name), ModuleType)] == []


def test_dir_lists_each_public_name_and_all_names_it_once(door: ModuleType) -> None:
    """The order is ruff's business (RUF022)."""
    assert len(door.__all__) == len(set(door.__all__))
    assert set(door.__all__) <= set(dir(door))


def test_type_checkers_see_each_public_name_as_it_is(door: ModuleType) -> None:
    """What the door imports for type checkers is what it gives when it is asked."""
    assert sorted(imported(door)) == sorted(door.__all__)
    assert [
        name
        for name, (module, there) in importable(door).items()
        if getattr(door, name) is not getattr(importlib.import_module(module), there)
    ] == []


def test_each_public_name_is_in_an_example(door: ModuleType) -> None:
    """A name that no example needs is one that users don't need."""
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]
    imports = "\n".join(
        words
        for page in pages
        for words in re.findall(
            rf"^from {door.__name__} import (.+)$", page.read_text("utf-8"), re.MULTILINE
        )
    )
    assert set(door.__all__) - set(re.findall(r"\w+", imports)) == set()


def test_an_unknown_name_is_refused_by_name(door: ModuleType) -> None:
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = door.nonesuch


def test_a_door_says_what_the_floor_is_and_its_example_runs(door: ModuleType) -> None:
    assert door.__doc__
    result = doctest.testmod(door)
    assert result.failed == 0


@pytest.mark.parametrize("floor", DOORS)
def test_nothing_is_loaded_until_it_is_asked_for(floor: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, f"fencepost.{floor}"],
        capture_output=True,
        text=True,
        check=True,
    )
    doors = {f"fencepost.{floor}", "fencepost.model", "fencepost.model._door"}
    assert set(ran.stdout.split()) <= doors


@pytest.mark.parametrize("path", sorted(ROOT.glob("model/*/__init__.py")), ids=module_name)
def test_a_room_of_the_model_says_what_is_in_it(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree)
    assert len(tree.body) == 1
