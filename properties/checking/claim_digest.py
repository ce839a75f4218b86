"""Compute a digest of a user's properties and promises: of all that decides what they say.

A function counts by its code, its defaults, what it encloses, and the globals that it names, which
are followed as long as they are in the user's own file.  What comes from fencepost or from Python's
library counts by its name, since their versions are part of each cache's key.  Anything else, such
as a class of the file's own or an import in a function, has no digest.
"""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (str, int, float, bytes, bool, type(None))
_HIDES = {"eval", "exec", "globals", "locals", "vars", "open", "__import__", "input", "compile"}
"""Builtins by which a function reads what its code doesn't name."""
_UNCOMPARED = "guard"
"""The field of a rule that the cache doesn't compare."""


class _NoDigestError(Exception):
    """A value has no digest."""


def claim_digest(claims: Iterable[object], home: str) -> str | None:
    """Return a digest of properties and promises; None if one depends on what has none.

    `home`: the name of the module that is the user's file.
    """
    try:
        described = _Describer(home).of(tuple(claims))
    except (_NoDigestError, RecursionError):
        return None
    return hashlib.sha256(repr(described).encode()).hexdigest()


class _Describer:
    """Describes values so that equal descriptions behave alike."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._met: dict[int, int] = {}

    def of(self, value: Any) -> object:
        """Return the description of a value.  Raises _NoDigestError."""
        kind = type(value)
        if isinstance(value, Enum):
            return (*self._known(kind), value.name)
        if kind in _PLAIN:
            return kind.__name__, value
        if kind in {tuple, list}:
            return kind.__name__, [self.of(item) for item in value]
        if kind in {set, frozenset}:
            return kind.__name__, sorted(repr(self.of(item)) for item in value)
        if isinstance(value, FunctionType):
            return self._of_function(value)
        if isinstance(value, partial):
            parts = (value.func, value.args, tuple(sorted(value.keywords.items())))
            return "partial", [self.of(part) for part in parts]
        if isinstance(value, ModuleType | type | BuiltinFunctionType):
            return self._known(value)
        if hasattr(value, "items"):
            return "mapping", [(self.of(key), self.of(item)) for key, item in value.items()]
        if is_dataclass(value):
            own = [(each.name, self.of(getattr(value, each.name))) for each in fields(value)]
            return (*self._known(kind), own)
        raise _NoDigestError

    def _known(self, value: Any) -> tuple[str, str]:
        """Return the name of what is fencepost's or Python's."""
        module = value.__name__ if isinstance(value, ModuleType) else value.__module__
        top = str(module).partition(".")[0]
        if top != "fencepost" and top not in sys.stdlib_module_names:
            raise _NoDigestError
        return str(module), getattr(value, "__qualname__", "")

    def _of_function(self, function: FunctionType) -> object:
        if id(function) in self._met:
            return "again", self._met[id(function)]
        self._met[id(function)] = len(self._met)
        code = function.__code__
        enclosed = [self.of(cell.cell_contents) for cell in function.__closure__ or ()]
        defaults = self.of(function.__defaults__), self.of(function.__kwdefaults__ or {})
        if function.__module__ != self._home:
            return (*self._known(function), _code(code), enclosed, defaults)
        names = sorted({name for part in _parts(code) for name in part.co_names})
        if (_HIDES | {_UNCOMPARED}) & set(names):
            raise _NoDigestError
        scope = function.__globals__
        named = [(name, self.of(scope[name])) for name in names if name in scope]
        return _code(code), enclosed, defaults, named


def _parts(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those within it.  Raises _NoDigestError for one that imports."""
    if any(step.opname == "IMPORT_NAME" for step in dis.get_instructions(code)):
        raise _NoDigestError
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)


def _code(code: CodeType) -> object:
    """Describe what code does; its place in the file doesn't count."""
    constants = [
        _code(constant) if isinstance(constant, CodeType) else (type(constant).__name__, constant)
        for constant in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    table = code.co_exceptiontable
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return code.co_code, constants, names, table, counts
