"""Write the map of CONTRIBUTING.md: each room with the first line of its docstring.

`python -m tools.docs.room_map`, in a checkout, writes it anew.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tools.docs.marked_part import with_part

FILE = "CONTRIBUTING.md"
FLOORS = ("model", "properties", "traces", "conformance", "tools")
_BEGIN, _END = "<!-- rooms: made by `python -m tools.docs.room_map` -->", "<!-- end of rooms -->"
_HIDDEN = frozenset({"__init__", "_door"})


def room_map(root: Path) -> str:
    """Make a table for each floor, with a row for each room: a folder, or a module on the floor."""
    tables = []
    for floor in FLOORS:
        rows = [f"| `{floor}/` | |", "|---|---|"]
        for path in sorted((root / floor).iterdir()):
            if path.suffix == ".py" and path.stem not in _HIDDEN:
                rows.append(f"| `{path.name}` | {_first_line(path)} |")
            for inner in sorted(path.rglob("__init__.py")):
                name = inner.parent.relative_to(root / floor)
                rows.append(f"| `{name}/` | {_first_line(inner)} |")
        tables.append("\n".join(rows))
    return "\n\n".join(tables)


def with_map(text: str, root: Path) -> str:
    """Put the map between its marks in a text.  Raises ValueError where the marks are missing."""
    return with_part(text, _BEGIN, _END, room_map(root), FILE)


def _first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]


def main(root: Path) -> None:
    """Write the map of a checkout anew."""
    path = root / FILE
    path.write_text(with_map(path.read_text("utf-8"), root), encoding="utf-8")


if __name__ == "__main__":
    main(Path())
