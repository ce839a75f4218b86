"""Write worlds as text, and read them back.

Two worlds have the same text exactly if they are the same world: worlds are canonical, and so is
their text, a JSON list of the fields of each part in their order.  The types of the model say what
each part is, so only plain values are written.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from enum import Enum
from functools import cache, lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from fencepost.properties.worlds.world import World

_Read = Callable[[Any], Any]


@lru_cache(maxsize=100_000)
def world_text(world: World) -> str:
    """Return the text of a world."""
    return json.dumps(_plain(world), separators=(",", ":"))


def world_of(text: str) -> World:
    """Return the world of a text."""
    world: World = _reader(World)(json.loads(text))
    return world


def _plain(value: Any) -> Any:
    match value:
        case tuple():
            return [_plain(item) for item in value]
        case bytes():
            return base64.b64encode(value).decode()
        case Enum():
            return value.value
        case msgspec.Struct():
            return [_plain(item) for item in msgspec.structs.astuple(value)]
        case _:
            return value


@cache
def _reader(kind: Any) -> _Read:
    """Return the reader of a type.  Raises TypeError for one that worlds don't have."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        inner = _reader(next(part for part in parts if part is not NoneType))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        if parts[1:] == (Ellipsis,):
            of = _reader(parts[0])
            return lambda value: tuple([of(item) for item in value])
        each = [_reader(part) for part in parts]
        return lambda value: tuple([of(item) for of, item in zip(each, value, strict=True)])
    if kind in {int, str, bool}:
        return _same
    if kind is bytes:
        return base64.b64decode
    if issubclass(kind, Enum):
        of_value: _Read = kind
        return of_value
    if issubclass(kind, msgspec.Struct) or hasattr(kind, "_fields"):
        return _of_fields(kind)
    raise TypeError(f"no world holds a {kind!r}; teach world_text to read it")


def _of_fields(kind: Any) -> _Read:
    hints = get_type_hints(kind)
    is_struct = issubclass(kind, msgspec.Struct)
    names = kind.__struct_fields__ if is_struct else kind._fields
    readers: list[_Read] = []

    def read(value: Any) -> Any:
        if not readers:  # a group may hold a group
            readers.extend(_reader(hints[name]) for name in names)
        read_ones = [of(item) for of, item in zip(readers, value, strict=True)]
        return kind(**dict(zip(names, read_ones, strict=True)))

    return read


def _same(value: Any) -> Any:
    return value
