"""Convert messages to JSON bodies and back, version by version.

A body is well-formed if it has exactly the fields of its version, and null only where that version
allows null.  Anything else raises `ShapeError` with the path of the field.

A message declares each field's form on the wire: its type, and the versions that have it.  From
that the functions that read, write and check a message at one version are made.  They are written
out once for each message and version, as `dataclasses` does for `__init__`: half of the time of an
audit went into a loop over the fields.  A written-out function makes one quick check of a value.
Values that fail it go to `read_field`, which names the exact error.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import msgspec


class ShapeError(ValueError):
    """Raised for a body or message that its version can't have; `path`: `members[0].memberId`."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Scalar:
    """A primitive type of Kafka's message definitions."""

    name: str


STRING = Scalar("string")
BYTES = Scalar("bytes")
BOOL = Scalar("bool")
INT16 = Scalar("int16")
INT32 = Scalar("int32")
INT64 = Scalar("int64")
ERROR = Scalar("error")
INT8 = Scalar("int8")
UINT16 = Scalar("uint16")
UUID = Scalar("uuid")
"""A UUID as Kafka prints it: 22 characters, such as `ASNFZ4mrze8BI0VniavN7w`."""
UUID_PATTERN = "[A-Za-z0-9_-]{21}[AQgw]"
"""URL-safe base64 of 16 bytes, without padding."""
NO_UUID = "A" * 22
"""The UUID of zeros, which stands for none."""


def uuid_text(raw: bytes) -> str:
    """Return 16 bytes as text."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def uuid_bytes(text: str) -> bytes:
    """Return the 16 bytes of a UUID.  Raises ValueError for a text that is none."""
    if _UUID.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no UUID: it has 22 characters, as {NO_UUID}")
    return base64.urlsafe_b64decode(f"{text}==")


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of scalars or of messages."""

    item: Scalar | type[Message]


@dataclass(frozen=True, slots=True)
class Wire:
    """A field on the wire: its name, type, the versions that have it and those that allow null.

    `optional`: a body may leave it out.  `lossy`: a field of an answer that older versions leave
    out, whatever its value.  `null_as`: stands for null where a version has the field but no null.
    """

    name: str
    type: Scalar | ListOf | type[Message]
    lowest: int
    highest: int
    nullable: tuple[int, int] | None
    default: Any
    optional: bool
    lossy: bool
    null_as: str | None

    def carried_by(self, version: int) -> bool:
        """Return True if the version has the field."""
        return self.lowest <= version <= self.highest

    def allows_null(self, version: int) -> bool:
        """Return True if the field may be null in the version."""
        return self.nullable is not None and self.nullable[0] <= version <= self.nullable[1]


_LAST = 99


def _versions(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    if text.endswith("+"):
        return int(text[:-1]), _LAST
    return int(low), int(high or low)


def wire(
    name: str,
    type_: Scalar | ListOf | type[Message],
    versions: str,
    *,
    nullable: str | None = None,
    optional: bool = False,
    lossy: bool = False,
    null_as: str | None = None,
) -> Wire:
    """Return the wire form of a field of a message, to annotate it with.

    `versions`, `nullable`: such as `0+`, `2-4`, `3`.  The field's own default is its value where a
    version lacks it.
    """
    lowest, highest = _versions(versions)
    nulls = _versions(nullable) if nullable is not None else None
    return Wire(name, type_, lowest, highest, nulls, msgspec.NODEFAULT, optional, lossy, null_as)


Fields = tuple[tuple[str, Wire], ...]
"""The attributes of a message, each with its wire form."""
Read = Callable[[Any, str], Any]
"""(body, its path for errors) → the message."""
Write = Callable[[Any, str], dict[str, Any]]
"""(message, its path for errors) → the body."""
IsCarried = Callable[[Any], bool]
"""Message → True if a body of the version can carry all of it."""

_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
INT_RANGES = {"uint16": range(2**16)} | {name: range(-(2**n), 2**n) for name, n in _BITS.items()}
"""The values of each type of integer."""
_EXACT = {"string": "str", "bool": "bool", "error": "int", **dict.fromkeys(INT_RANGES, "int")}
_UUID = re.compile(UUID_PATTERN)
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
    arguments = ", ".join(f"{name}={name}" for name, form in fields if form.carried_by(version))
    read: Read = _compiled("read(body, path)", [*lines, f"return _kind({arguments})"], known)
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
    if kind is UUID or not isinstance(kind, Scalar):
        return [odd]
    if kind is BYTES:
        return _tried(name, "str", f"_bytes({name}, strict_mode=True)", odd)
    test = f"type({name}) is not {_EXACT[kind.name]}"
    if (values := INT_RANGES.get(kind.name)) is not None:
        test += f" or not {values.start} <= {name} < {values.stop}"
    nullable = form.allows_null(version)
    if nullable:
        test = f"{name} is not None and ({test})"
    lines = [f"if {test}:", f"    {odd}"]
    if form.null_as is not None and not nullable:
        lines += [f"if {name} == {form.null_as!r}:", f"    {name} = None"]
    return lines


def _tried(name: str, exact: str, quick: str, odd: str) -> list[str]:
    """Return the lines that convert a value of this exact type quickly, or report another."""
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
    if not isinstance(kind, ListOf):
        return kind.from_body(value, version, f"{where}.")
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
        case "uuid":
            good = isinstance(value, str) and _UUID.fullmatch(value) is not None
        case "bytes":
            return _read_bytes(value, where)
        case "bool":
            good = isinstance(value, bool)
        case "error":
            good = isinstance(value, int | str) and not isinstance(value, bool)
        case _:
            good = isinstance(value, int) and not isinstance(value, bool)
            if good and value not in INT_RANGES[kind.name]:
                raise ShapeError(where, f"is {value}, which {kind.name} can't hold")
    if not good:
        form = "a UUID of 22 characters, as Kafka prints it" if kind is UUID else kind.name
        raise ShapeError(where, f"is {value!r}, not {form}")
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
    elif not isinstance(kind, Scalar):
        known[f"_inner_{name}"] = kind.writer(version)
        value = f"_inner_{name}({name}, f'{{path}}{form.name}.')"
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
    """Make the function that returns True if a body of this version can carry all of a message."""
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
        elif not isinstance(form.type, ListOf | Scalar):
            known[f"_inner_{name}"] = form.type.check(version)
            tests.append(f"(self.{name} is None or _inner_{name}(self.{name}))")
    line = f"return {' and '.join(tests) or 'True'}"
    is_carried: IsCarried = _compiled("is_carried(self)", [line], known)
    return is_carried


def _compiled(head: str, lines: Sequence[str], known: dict[str, Any]) -> Any:
    """Compile a function of these lines, which are made of declared names alone."""
    source = "\n".join([f"def {head}:", *(f"    {line}" for line in lines)])
    exec(source, known)  # noqa: S102  (as dataclasses does)
    return known[head.partition("(")[0]]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all messages; converts to and from a body by the declared fields."""

    API: ClassVar[str]

    def to_body(self, version: int) -> dict[str, Any]:
        """Make the JSON body of this message at a version.

        Raises ShapeError for a value that the version can't carry.
        """
        return self.writer(version)(self, "")

    @classmethod
    def from_body(cls, body: Any, version: int, path: str = "") -> Self:
        """Read a message from a JSON body.

        Raises ShapeError for a missing, unknown, ill-typed or wrongly null field.
        """
        read: Self = cls.reader(version)(body, path)
        return read

    def as_carried(self, version: int) -> Self:
        """Return the message as a version carries it: other fields have their defaults."""
        if self.check(version)(self):
            return self
        return self.from_body(self.to_body(version), version)

    @classmethod
    def reader(cls, version: int) -> Read:
        """Return the function that reads a body of this version."""
        read = _READERS.get((cls, version))
        if read is None:
            read = _READERS[cls, version] = make_reader(cls, wire_fields(cls), version)
        return read

    @classmethod
    def writer(cls, version: int) -> Write:
        """Return the function that writes a body of this version."""
        write = _WRITERS.get((cls, version))
        if write is None:
            write = _WRITERS[cls, version] = make_writer(wire_fields(cls), version)
        return write

    @classmethod
    def check(cls, version: int) -> IsCarried:
        """Return the function that returns True if this version carries all of a message."""
        check_carried = _CHECKS.get((cls, version))
        if check_carried is None:
            check_carried = _CHECKS[cls, version] = make_check(wire_fields(cls), version)
        return check_carried

    @classmethod
    def readable_part(cls, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the readable part of a body: well-typed fields that some version has.

        So a reader of an answer that `from_body` refuses finds in it the expected fields, or fewer.
        """
        kept: dict[str, Any] = {}
        for _, form in wire_fields(cls):
            if form.name not in body:
                continue
            value = body[form.name]
            item = form.type.item if isinstance(form.type, ListOf) else form.type
            if isinstance(value, dict) and not isinstance(form.type, ListOf | Scalar):
                kept[form.name] = form.type.readable_part(value)
            elif isinstance(value, list) and not isinstance(item, Scalar):
                kept[form.name] = [item.readable_part(row) for row in value if type(row) is dict]
            elif value is None and form.nullable is not None:
                kept[form.name] = None
            else:
                with contextlib.suppress(ShapeError):
                    read_field(form, value, form.lowest, "")
                    kept[form.name] = value
        return kept


@dataclass(frozen=True, slots=True)
class Api:
    """An API: name, Kafka's key (None for a draft), versions, and the first flexible one."""

    name: str
    key: int | None
    lowest: int
    highest: int
    flexible: int
    request: type[Message]
    response: type[Message]

    def readable_answer(
        self, body: Mapping[str, Any], version: int
    ) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Return the readable part of an answer, and the errors in it, a sentence each."""
        try:
            self.response.from_body(body, version)
        except ShapeError as error:
            return self.response.readable_part(body), (str(error),)
        return body, ()


_FIELDS: dict[type[Message], Fields] = {}
_READERS: dict[tuple[type[Message], int], Read] = {}
_WRITERS: dict[tuple[type[Message], int], Write] = {}
_CHECKS: dict[tuple[type[Message], int], IsCarried] = {}


def wire_fields(cls: type[Message]) -> Fields:
    """Return the attributes of a message class with their wire forms, in wire order."""
    fields = _FIELDS.get(cls)
    if fields is None:
        hints = typing.get_type_hints(cls, include_extras=True)
        fields = _FIELDS[cls] = tuple(
            (field.name, replace(hints[field.name].__metadata__[0], default=field.default))
            for field in msgspec.structs.fields(cls)
        )
    return fields
