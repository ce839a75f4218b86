"""Converts messages to JSON bodies and back, version by version.

A body is well-formed if it has exactly the fields of its version, and null only where that version
allows null.  Anything else raises `ShapeError` with the path of the field.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self


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
INT32 = Scalar("int32")
INT64 = Scalar("int64")
ERROR = Scalar("error")

_INT_BOUNDS = {"int32": 2**31, "int64": 2**63}
_EXACT: dict[str, type] = {"string": str, "bool": bool, "error": int, "int32": int, "int64": int}


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
    type: Scalar | ListOf
    lowest: int
    highest: int
    nullable: tuple[int, int] | None
    default: Any
    optional: bool
    lossy: bool
    null_as: str | None

    def carried_by(self, version: int) -> bool:
        """Tell whether the version has the field."""
        return self.lowest <= version <= self.highest

    def allows_null(self, version: int) -> bool:
        """Tell whether the field may be null in the version."""
        return self.nullable is not None and self.nullable[0] <= version <= self.nullable[1]


_LAST = 99


def _versions(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    if text.endswith("+"):
        return int(text[:-1]), _LAST
    return int(low), int(high or low)


def wire(
    name: str,
    type_: Scalar | ListOf,
    versions: str,
    *,
    nullable: str | None = None,
    default: Any = dataclasses.MISSING,
    optional: bool = False,
    lossy: bool = False,
    null_as: str | None = None,
) -> Any:
    """Declare a dataclass field of a message with its wire form."""
    lowest, highest = _versions(versions)
    nulls = _versions(nullable) if nullable is not None else None
    form = Wire(name, type_, lowest, highest, nulls, default, optional, lossy, null_as)
    return dataclasses.field(default=default, metadata={"wire": form})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The base of all messages; converts to and from a body by the declared fields."""

    API: ClassVar[str]

    def to_body(self, version: int, path: str = "") -> dict[str, Any]:
        """Make the JSON body of this message at a version.

        Raises ShapeError for a value that the version can't carry.
        """
        body: dict[str, Any] = {}
        carried, absent = _layout(type(self), version)
        for attribute, form in absent:
            value = getattr(self, attribute)
            if value != form.default and not form.lossy:
                problem = f"version {version} can't carry {value!r}"
                raise ShapeError(f"{path}{form.name}", problem)
        for attribute, name, form, allows_null, _, write in carried:
            value = getattr(self, attribute)
            if form.optional and value == form.default:
                continue
            if value is None:
                if not allows_null and form.null_as is None:
                    problem = f"is null, which version {version} doesn't allow"
                    raise ShapeError(f"{path}{name}", problem)
                body[name] = None if allows_null else form.null_as
            else:
                body[name] = value if write is None else write(value, version, path)
        return body

    @classmethod
    def from_body(cls, body: Any, version: int, path: str = "") -> Self:
        """Read a message from a JSON body.

        Raises ShapeError for a missing, unknown, ill-typed or wrongly null field.
        """
        if not isinstance(body, dict):
            raise ShapeError(
                path.removesuffix(".") or "body", f"is {type(body).__name__}, not an object"
            )
        values: dict[str, Any] = {}
        optional = 0
        carried, _ = _layout(cls, version)
        for attribute, name, form, allows_null, read, _ in carried:
            if name not in body:
                if not form.optional:
                    problem = f"is missing; version {version} has it"
                    raise ShapeError(f"{path}{name}", problem)
                optional += 1
                continue
            value = body[name]
            if value is not None:
                value = read(value, version, path)
                if not allows_null and form.null_as is not None and value == form.null_as:
                    value = None
            elif not allows_null:
                problem = f"is null, which version {version} doesn't allow"
                raise ShapeError(f"{path}{name}", problem)
            values[attribute] = value
        if len(body) > len(carried) - optional:
            unknown = min(set(body) - {name for _, name, *_ in carried})
            raise ShapeError(f"{path}{unknown}", f"is a field that version {version} doesn't have")
        return cls(**values)

    @classmethod
    def readable_part(cls, body: Mapping[str, Any]) -> dict[str, Any]:
        """What of a body can be read: well-typed fields that some version of the message has.

        So whoever looks at an answer that `from_body` refuses finds in it what it expects, or less.
        """
        kept: dict[str, Any] = {}
        for _, form in wire_fields(cls):
            if form.name not in body:
                continue
            value = body[form.name]
            item = form.type.item if isinstance(form.type, ListOf) else form.type
            if isinstance(value, list) and not isinstance(item, Scalar):
                kept[form.name] = [item.readable_part(row) for row in value if type(row) is dict]
            elif value is None and form.nullable is not None:
                kept[form.name] = None
            else:
                with contextlib.suppress(ShapeError):
                    _reader(form)(value, form.lowest, "")
                    kept[form.name] = value
        return kept


Fields = tuple[tuple[str, Wire], ...]
Convert = Callable[[Any, int, str], Any]
"""Of a value, the version and the path of its message."""

Carried = tuple[tuple[str, str, Wire, bool, Convert, Convert | None], ...]
"""Attribute, name, form, whether it may be null; how it is read, and written (None: as it is)."""

_FIELDS: dict[type[Message], Fields] = {}
_LAYOUTS: dict[tuple[type[Message], int], tuple[Carried, Fields]] = {}


def wire_fields(cls: type[Message]) -> Fields:
    """Return the attributes of a message class with their wire forms, in wire order."""
    fields = _FIELDS.get(cls)
    if fields is None:
        fields = tuple((f.name, f.metadata["wire"]) for f in dataclasses.fields(cls))
        _FIELDS[cls] = fields
    return fields


def _layout(cls: type[Message], version: int) -> tuple[Carried, Fields]:
    """The fields that a version has, each with how it is read and written; then the others."""
    layout = _LAYOUTS.get((cls, version))
    if layout is None:
        fields = wire_fields(cls)
        layout = (
            tuple(
                (
                    a,
                    form.name,
                    form,
                    form.allows_null(version),
                    _reader(form),
                    _writer(form),
                )
                for a, form in fields
                if form.carried_by(version)
            ),
            tuple(each for each in fields if not each[1].carried_by(version)),
        )
        _LAYOUTS[cls, version] = layout
    return layout


def _writer(form: Wire) -> Convert | None:
    """How a field's value becomes JSON."""
    kind, name = form.type, form.name
    if isinstance(kind, Scalar):
        return _written_bytes if kind is BYTES else None
    item = kind.item
    if item is BYTES:
        return lambda value, _, __: [base64.b64encode(each).decode() for each in value]
    if isinstance(item, Scalar):
        return lambda value, _, __: list(value)
    return lambda value, version, path: [
        row.to_body(version, f"{path}{name}[{i}].") for i, row in enumerate(value)
    ]


def _written_bytes(value: bytes, version: int, path: str) -> str:
    del version, path
    return base64.b64encode(value).decode()


def _reader(form: Wire) -> Convert:
    """How a field's value is read from JSON."""
    kind, name = form.type, form.name
    if isinstance(kind, Scalar):
        return _scalar_reader(kind, name)
    item = kind.item

    def read(value: Any, version: int, path: str) -> Any:
        if not isinstance(value, list):
            raise ShapeError(f"{path}{name}", f"is {type(value).__name__}, not a list")
        if isinstance(item, Scalar):
            each = enumerate(value)
            return tuple(_decode_scalar(item, v, path, f"{name}[{i}]") for i, v in each)
        return tuple(
            [item.from_body(v, version, f"{path}{name}[{i}].") for i, v in enumerate(value)]
        )

    return read


def _scalar_reader(kind: Scalar, name: str) -> Convert:
    """Read a scalar; the quick check of its type is nearly always enough."""
    exact: Any = _EXACT.get(kind.name)
    bound = _INT_BOUNDS.get(kind.name)

    def read(value: Any, version: int, path: str) -> Any:
        del version
        if type(value) is exact and (bound is None or -bound <= value < bound):
            return value
        return _decode_scalar(kind, value, path, name)

    return read


def _decode_scalar(kind: Scalar, value: Any, path: str, name: str) -> Any:
    match kind.name:
        case "string":
            good = isinstance(value, str)
        case "bytes":
            return _decode_bytes(value, f"{path}{name}")
        case "bool":
            good = isinstance(value, bool)
        case "error":
            good = isinstance(value, int | str) and not isinstance(value, bool)
        case _:
            good = isinstance(value, int) and not isinstance(value, bool)
            bound = _INT_BOUNDS[kind.name]
            if good and not -bound <= value < bound:
                raise ShapeError(f"{path}{name}", f"is {value}, which {kind.name} can't hold")
    if not good:
        raise ShapeError(f"{path}{name}", f"is {value!r}, not {kind.name}")
    return value


def _decode_bytes(value: Any, path: str) -> bytes:
    if not isinstance(value, str):
        raise ShapeError(path, f"is {value!r}, not base64")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ShapeError(path, f"is {value!r}, not base64 ({error})") from None
