"""Tests mirror the tree: where a module lies, its tests lie under tests/, and are called after it.

`model/table/expr.py` is tested in `tests/model/table/test_expr.py`, or by subject in
`tests/model/table/test_expr_text.py`.  Tests of a room as a whole bear the room's name.  What takes
minutes is called `big_…`, and lies in the room that it is about.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
PARTS = ("model", "properties", "traces", "conformance", "benchmarks", "tools")
FILES = sorted(path for part in PARTS for path in (TESTS / part).rglob("*.py"))


def fault(path: Path, root: Path = ROOT) -> str | None:
    """Why a test does not lie where it should, or None."""
    inner = path.relative_to(root / "tests")
    folder = root / inner.parent
    if not folder.is_dir():
        return f"{inner.parent}/ is no room"
    kind, _, subject = path.stem.partition("_")
    if kind == "big" or path.name == "conftest.py":
        return None
    if kind != "test":
        return "what tests share lies in tests/support/"
    names = {module.stem for module in folder.glob("*.py")} | {folder.name}
    if not any(subject == name or subject.startswith(f"{name}_") for name in names):
        return f"{inner.parent}/ has no module that {path.name} is called after"
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_a_test_lies_where_what_it_tests_lies(path: Path) -> None:
    if "stdio_liars" not in path.parts:  # programs that tests start
        assert fault(path) is None


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("tests/model/table/test_expr.py", False),
        ("tests/model/table/test_expr_text.py", False),
        ("tests/model/table/test_table.py", False),
        ("tests/model/table/big_counts.py", False),
        ("tests/model/table/test_nonesuch.py", True),
        ("tests/model/nonesuch/test_expr.py", True),
        ("tests/model/table/helpers.py", True),
    ],
)
def test_a_test_that_lies_elsewhere_is_caught(tmp_path: Path, name: str, wrong: bool) -> None:
    (tmp_path / "model" / "table").mkdir(parents=True)
    (tmp_path / "model" / "table" / "expr.py").touch()
    assert (fault(tmp_path / name, tmp_path) is not None) == wrong
