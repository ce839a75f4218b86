"""Make the functions that read, write and check a message at one version.

They are written out once for each message and version, as `dataclasses` does for `__init__`: half
of the time of an audit went into a loop over the fields.  A written-out function makes one quick
check of a value.  Whatever fails it goes to `read_field`, which says exactly what is wrong.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fencepost.model.messages.wire_form import BYTES, ListOf, Scalar, ShapeError, Wire

if TYPE_CHECKING:
    from fencepost.model.messages.shapes import Message

Fields = tuple[tuple[str, Wire], ...]
"""The attributes of a message, each with its wire form."""
Read = Callable[[Any, str], Any]
"""Of a body, and its path for errors: the message."""
Write = Callable[[Any, str], dict[str, Any]]
"""Of a message, and its path for errors: the body."""
IsCarried = Callable[[Any], bool]
"""Of a message: whether a body of the version would say all of it."""

_INT_BOUNDS = {"int32": 2**31, "int64": 2**63}
_EXACT = {"string": "str", "bool": "bool", "error": "int", "int32": "int", "int64": "int"}
_ABSENT = object()


# Reading


def make_reader(kind: type[Message], fields: Fields, version: int) -> Read:
    """Make the function that reads a message of this version from its body."""
    known: dict[str, Any] = {
        "_kind": kind,
        "_absent": _ABSENT,
        "_odd": read_field,
        "_bytes": binascii.a2b_base64,
        "_refuse": _refuse_object,
        "_extra": _refuse_extra,
        "_names": frozenset(form.name for _, form in fields if form.carried_by(version)),
    }
    lines = ["if not isinstance(body, dict):", "    _refuse(body, path)"]
    lines.append(f"most = {len(known['_names'])}")
    for name, form in fields:
        known[f"_form_{name}"], known[f"_default_{name}"] = form, form.default
        if form.carried_by(version):
            lines.append(f"{name} = body.get({form.name!r}, _absent)")
            if form.optional:
                lines.append(f"if {name} is _absent:")
                lines += [f"    {name} = _default_{name}", "    most -= 1"]
            lines += _read_lines(name, form, version, known)
    lines += ["if len(body) > most:", f"    _extra(body, _names, {version}, path)"]
    given = ", ".join(f"{name}={name}" for name, form in fields if form.carried_by(version))
    read: Read = _compiled("read(body, path)", [*lines, f"return _kind({given})"], known)
    return read


def _read_lines(name: str, form: Wire, version: int, known: dict[str, Any]) -> list[str]:
    """Return the lines that check and convert the value of a field, which is in `name`."""
    odd = f"{name} = _odd(_form_{name}, {name}, {version}, path)"
    kind = form.type
    if isinstance(kind, ListOf):
        if isinstance(kind.item, Scalar):
            return [odd]
        known[f"_each_{name}"] = kind.item.reader(version)
        return _tried(name, "list", f"tuple([_each_{name}(row, '') for row in {name}])", odd)
    if kind is BYTES:
        return _tried(name, "str", f"_bytes({name}, strict_mode=True)", odd)
    test = f"type({name}) is not {_EXACT[kind.name]}"
    if (bound := _INT_BOUNDS.get(kind.name)) is not None:
        test += f" or not {-bound} <= {name} < {bound}"
    nullable = form.allows_null(version)
    if nullable:
        test = f"{name} is not None and ({test})"
    lines = [f"if {test}:", f"    {odd}"]
    if form.null_as is not None and not nullable:
        lines += [f"if {name} == {form.null_as!r}:", f"    {name} = None"]
    return lines


def _tried(name: str, exact: str, quick: str, odd: str) -> list[str]:
    """Return the lines that convert a value of this exact type quickly, or say what is odd."""
    return [
        f"if type({name}) is {exact}:",
        "    try:",
        f"        {name} = {quick}",
        "    except ValueError:",
        f"        {odd}",
        "else:",
        f"    {odd}",
    ]


def read_field(form: Wire, value: Any, version: int, path: str) -> Any:
    """Read the value of a field; raise ShapeError where the version can't have it."""
    where = f"{path}{form.name}"
    if value is _ABSENT:
        raise ShapeError(where, f"is missing; version {version} has it")
    if value is None:
        if form.allows_null(version):
            return None
        raise ShapeError(where, f"is null, which version {version} doesn't allow")
    kind = form.type
    if isinstance(kind, Scalar):
        return _read_scalar(kind, value, where)
    if not isinstance(value, list):
        raise ShapeError(where, f"is {type(value).__name__}, not a list")
    item = kind.item
    if isinstance(item, Scalar):
        return tuple([_read_scalar(item, v, f"{where}[{i}]") for i, v in enumerate(value)])
    return tuple([item.from_body(v, version, f"{where}[{i}].") for i, v in enumerate(value)])


def _read_scalar(kind: Scalar, value: Any, where: str) -> Any:
    match kind.name:
        case "string":
            good = isinstance(value, str)
        case "bytes":
            return _read_bytes(value, where)
        case "bool":
            good = isinstance(value, bool)
        case "error":
            good = isinstance(value, int | str) and not isinstance(value, bool)
        case _:
            good = isinstance(value, int) and not isinstance(value, bool)
            bound = _INT_BOUNDS[kind.name]
            if good and not -bound <= value < bound:
                raise ShapeError(where, f"is {value}, which {kind.name} can't hold")
    if not good:
        raise ShapeError(where, f"is {value!r}, not {kind.name}")
    return value


def _read_bytes(value: Any, where: str) -> bytes:
    if not isinstance(value, str):
        raise ShapeError(where, f"is {value!r}, not base64")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ShapeError(where, f"is {value!r}, not base64 ({error})") from None


def _refuse_object(body: Any, path: str) -> None:
    where = path.removesuffix(".") or "body"
    raise ShapeError(where, f"is {type(body).__name__}, not an object")


def _refuse_extra(body: dict[str, Any], names: frozenset[str], version: int, path: str) -> None:
    extra = min(set(body) - names)
    raise ShapeError(f"{path}{extra}", f"is a field that version {version} doesn't have")


# Writing


def make_writer(fields: Fields, version: int) -> Write:
    """Make the function that writes the body of a message at this version."""
    known: dict[str, Any] = {"_lost": _refuse_lost, "_null": _refuse_null, "_rows": _write_rows}
    known["_text"] = binascii.b2a_base64
    lines = []
    for name, form in fields:
        known[f"_form_{name}"], known[f"_default_{name}"] = form, form.default
        if not form.carried_by(version) and not form.lossy:
            lines.append(f"if self.{name} != _default_{name}:")
            lines.append(f"    _lost(_form_{name}, self.{name}, {version}, path)")
    lines.append("body = {}")
    for name, form in fields:
        if form.carried_by(version):
            lines.append(f"{name} = self.{name}")
            put = _write_lines(name, form, version, known)
            if form.optional:
                put = [f"if {name} != _default_{name}:", *(f"    {line}" for line in put)]
            lines += put
    write: Write = _compiled("write(self, path)", [*lines, "return body"], known)
    return write


def _write_lines(name: str, form: Wire, version: int, known: dict[str, Any]) -> list[str]:
    """Return the lines that put the value of a field, which is in `name`, into the body."""
    kind = form.type
    value, here = name, f"body[{form.name!r}]"
    if kind is BYTES:
        value = f"_text({name}, newline=False).decode()"
    elif isinstance(kind, ListOf):
        if kind.item is BYTES:
            value = f"[_text(each, newline=False).decode() for each in {name}]"
        elif isinstance(kind.item, Scalar):
            value = f"list({name})"
        else:
            known[f"_each_{name}"] = kind.item.writer(version)
            value = f"_rows(_each_{name}, {name}, {form.name!r}, path)"
    if form.allows_null(version):
        return [f"{here} = {name if value == name else f'None if {name} is None else {value}'}"]
    if form.null_as is not None:
        return [f"{here} = {form.null_as!r} if {name} is None else {value}"]
    null = [f"if {name} is None:", f"    _null(_form_{name}, {version}, path)"]
    return [*null, f"{here} = {value}"]


def _write_rows(write: Write, rows: Sequence[Any], name: str, path: str) -> list[dict[str, Any]]:
    try:
        return [write(row, "") for row in rows]
    except ShapeError:
        return [write(row, f"{path}{name}[{i}].") for i, row in enumerate(rows)]


def _refuse_lost(form: Wire, value: Any, version: int, path: str) -> None:
    raise ShapeError(f"{path}{form.name}", f"version {version} can't carry {value!r}")


def _refuse_null(form: Wire, version: int, path: str) -> None:
    raise ShapeError(f"{path}{form.name}", f"is null, which version {version} doesn't allow")


# Checking what a version carries


def make_check(fields: Fields, version: int) -> IsCarried:
    """Make the function that tells whether a body of this version would say all of a message."""
    known: dict[str, Any] = {}
    tests = []
    for name, form in fields:
        known[f"_default_{name}"] = form.default
        if not form.carried_by(version):
            tests.append(f"self.{name} == _default_{name}")
            continue
        if not form.allows_null(version):
            written = "is not None" if form.null_as is None else f"!= {form.null_as!r}"
            tests.append(f"self.{name} {written}")
        if isinstance(form.type, ListOf) and not isinstance(form.type.item, Scalar):
            known[f"_each_{name}"] = form.type.item.check(version)
            tests.append(f"all(map(_each_{name}, self.{name} or ()))")
    line = f"return {' and '.join(tests) or 'True'}"
    is_carried: IsCarried = _compiled("is_carried(self)", [line], known)
    return is_carried


def _compiled(head: str, lines: Sequence[str], known: dict[str, Any]) -> Any:
    """Compile a function of these lines, which are made of declared names alone."""
    source = "\n".join([f"def {head}:", *(f"    {line}" for line in lines)])
    exec(source, known)  # noqa: S102  (as dataclasses does)
    return known[head.partition("(")[0]]
