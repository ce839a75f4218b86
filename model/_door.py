"""Lazy loading for the door of a floor (PEP 562)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy(floor: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make `__getattr__` and `__dir__` of a package that loads a public name when it is first used.

    The public names are what the package imports under `if TYPE_CHECKING:`, written nowhere else
    but in its `__all__`.  `floor`: the package's name.
    """

    @cache
    def places() -> dict[str, tuple[str, str]]:
        spec: Any = find_spec(floor)
        source = spec.loader.get_source(floor)
        (block,) = (
            node
            for node in ast.parse(source).body
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )
        return {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in block.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def load(name: str) -> Any:
        if name.startswith("__") or name not in places():
            raise AttributeError(f"{floor} has no public name {name!r}; `dir({floor})` lists them")
        module, old = places()[name]
        return getattr(import_module(module), old)

    return load, lambda: sorted(places())
