"""Lazy loading for the door of a floor (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    floor: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that loads a public name when it is first used.

    `names`: a module below `floor` → its public names, with spaces between; `NEW=old` renames one.
    """
    places = {}
    for module, public in names.items():
        for name, _, old in (each.partition("=") for each in public.split()):
            places[name] = (f"{floor}.{module}", old or name)

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"{floor} has no public name {name!r}; `dir({floor})` lists them")
        module, old = places[name]
        return getattr(import_module(module), old)

    return load, lambda: sorted(places)
