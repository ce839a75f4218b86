"""Write the state of a group's audit as bytes, for a state store, and read it back.

It may hold plain values, and objects of the model's and the audit's classes, by their fields.
Nothing in it is executed, so bytes from elsewhere can do no harm.  A state of another version is
refused.  An object that is in two places is written once, and is one object again.

The form: zlib over JSON, `[format, version, fencepost, value]`.  A value is null, a
boolean, a number, a string, or a list that begins with its kind: `l` list, `t` tuple, `s` set,
`f` frozenset (each with its items), `q` deque (maximal length, items), `d` dict and `c` counter
(with pairs), `b` bytes in base64, `e` a member of an enum, `n` a named tuple, `o` an object (class,
then pairs of its fields), `r` the n-th object again, `x` an object that the reader already has.
"""

from __future__ import annotations

import base64
import importlib
import json
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

import msgspec

from fencepost.traces.files.run_trace import tool_version

FORMAT = "fencepost-group-state"
VERSION = 7

_FLOORS = (
    "model.",
    "properties.",
    "traces.audit.",
    "traces.operations.",
    "traces.logs.request_log",
)
"""The modules whose classes may be in a state."""
_PACKAGE = "fencepost."


class StateError(ValueError):
    """Bytes that are no state of this version, or an object that can't be in one."""


def to_bytes(value: Any, known: Mapping[str, Any]) -> bytes:
    """Write a value as bytes.  `known`: objects that are not written; the reader has them."""
    text = json.dumps(
        [FORMAT, VERSION, tool_version(), _Writer(known).form(value)], separators=(",", ":")
    )
    return zlib.compress(text.encode(), 1)


def from_bytes(data: bytes, known: Mapping[str, Any]) -> Any:
    """Read the value.  Raises StateError."""
    try:
        form, version, made_by, value = json.loads(zlib.decompress(data))
    except (ValueError, zlib.error) as error:
        raise StateError(f"no state of a group ({error}); begin with an empty folder") from error
    if (form, version, made_by) != (FORMAT, VERSION, tool_version()):
        raise StateError(
            f"the state is {form} {version} of {made_by}, and this is version {VERSION} of "
            f"{tool_version()}: go on with that one, or begin with an empty folder"
        )
    return _Reader(known).value(value)


class _Writer:
    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = {id(value): name for name, value in known.items()}
        self._places: dict[int, int] = {}
        self._kept: list[Any] = []  # an id is one's own as long as its object lives

    def form(self, value: Any) -> Any:
        match value:
            case Enum():
                return ["e", _name(value), value.name]
            case None | bool() | int() | float() | str():
                return value
            case bytes():
                return ["b", base64.b64encode(value).decode()]
            case list():
                return ["l", *map(self.form, value)]
            case deque():
                return ["q", value.maxlen, *map(self.form, value)]
            case tuple() if hasattr(value, "_fields"):
                return ["n", _name(value), *map(self.form, value)]
            case tuple():
                return ["t", *map(self.form, value)]
            case frozenset() | set():
                items = sorted(map(self.form, value), key=json.dumps)
                return ["f" if isinstance(value, frozenset) else "s", *items]
            case Counter() | dict():
                pairs = [[self.form(k), self.form(v)] for k, v in value.items()]
                return ["c" if isinstance(value, Counter) else "d", *pairs]
        return self._object(value)

    def _object(self, value: Any) -> list[Any]:
        if (name := self._known.get(id(value))) is not None:
            return ["x", name]
        if (number := self._places.get(id(value))) is not None:
            return ["r", number]
        self._places[id(value)] = len(self._kept)
        self._kept.append(value)
        name = _name(value)
        return ["o", name, *([f, self.form(getattr(value, f))] for f in _fields(value))]


class _Reader:
    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known
        self._objects: list[Any] = []

    def value(self, form: Any) -> Any:
        if not isinstance(form, list):
            return form
        try:
            kind, *rest = form
            return self._of(kind, rest)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise StateError(
                f"a state has {str(form)[:80]}, which can't be read: {error}"
            ) from error

    def _of(self, kind: str, rest: list[Any]) -> Any:
        match kind:
            case "b":
                return base64.b64decode(rest[0], validate=True)
            case "e":
                return _class(rest[0])[rest[1]]
            case "n":
                return _class(rest[0])(*map(self.value, rest[1:]))
            case "o":
                return self._object(_class(rest[0]), rest[1:])
            case "q":
                return deque(map(self.value, rest[1:]), rest[0])
            case "r":
                return self._objects[rest[0]]
            case "x":
                return self._known[rest[0]]
            case "c" | "d":
                pairs = {self.value(k): self.value(v) for k, v in rest}
                return Counter(pairs) if kind == "c" else pairs
        return _ROWS[kind](map(self.value, rest))

    def _object(self, kind: Any, rest: list[Any]) -> Any:
        if issubclass(kind, msgspec.Struct):
            place = len(self._objects)
            self._objects.append(None)  # its number comes before those of its parts
            made = self._objects[place] = kind(**{name: self.value(form) for name, form in rest})
            return made
        made = object.__new__(kind)
        self._objects.append(made)
        for name, form in rest:
            object.__setattr__(made, name, self.value(form))
        for name, default in _caches(kind):
            object.__setattr__(made, name, default)
        return made


_ROWS: dict[str, Callable[[Iterator[Any]], Any]] = {
    "l": list,
    "t": tuple,
    "s": set,
    "f": frozenset,
}


@cache
def _class(name: str) -> Any:
    module, _, kind = name.rpartition(".")
    if not name.startswith(_FLOORS):
        raise StateError(f"{name} can't be in a state")
    cls = vars(importlib.import_module(_PACKAGE + module))[kind]
    if not isinstance(cls, type):
        raise StateError(f"{name} is no class")
    return cls


def _name(value: object) -> str:
    kind = type(value)
    name = f"{kind.__module__.removeprefix(_PACKAGE)}.{kind.__qualname__}"
    if _class(name) is not kind:
        raise StateError(f"{name} is not found by its name")
    return name


def _fields(value: Any) -> Iterable[str]:
    """Return the fields to keep: all but those that a dataclass computes itself."""
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if is_dataclass(value):
        return [f.name for f in fields(value) if f.init]
    own: Iterable[str] = value.__slots__ if hasattr(value, "__slots__") else vars(value)
    return own


@cache
def _caches(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields that are not kept, with their initial values."""
    if not is_dataclass(kind):
        return ()
    return tuple((f.name, f.default) for f in fields(kind) if not f.init)
