"""How a message's fields become a JSON body and back, version by version.

Decides when a body is well-formed.  A field is there exactly when its version has it, null only
where that version allows null; anything else raises `ShapeError` with the path of the field.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Self


class ShapeError(ValueError):
    """A body or message that its version can't have; `path`: e.g. `members[0].memberId`."""

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

_INT_BITS = {"int32": 31, "int64": 63}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of scalars or of messages."""

    item: Scalar | type[Message]


@dataclass(frozen=True, slots=True)
class Wire:
    """A field on the wire: its name, type, the versions that have it and those that allow null.

    `optional`: a body may leave it out.  `lossy`: an answer's field that older versions simply
    don't show.  `null_as`: what stands for null in a version that has the field but no null.
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
        """Whether the version has the field."""
        return self.lowest <= version <= self.highest

    def allows_null(self, version: int) -> bool:
        """Whether the version lets the field be null."""
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
    """Base of all messages: conversion to and from a body, derived from the declared fields."""

    API: ClassVar[str]

    def to_body(self, version: int, path: str = "") -> dict[str, Any]:
        """The JSON body of this message at a version.

        Raises ShapeError where the message says something that the version can't carry.
        """
        body: dict[str, Any] = {}
        for attribute, form in wire_fields(type(self)):
            value = getattr(self, attribute)
            where = f"{path}{form.name}"
            if not form.carried_by(version):
                if value != form.default and not form.lossy:
                    raise ShapeError(where, f"version {version} can't carry {value!r}")
                continue
            if form.optional and value == form.default:
                continue
            if value is None and not form.allows_null(version):
                if form.null_as is None:
                    raise ShapeError(where, f"is null, which version {version} doesn't allow")
                value = form.null_as
            body[form.name] = None if value is None else _encode(form.type, value, version, where)
        return body

    @classmethod
    def from_body(cls, body: Any, version: int, path: str = "") -> Self:
        """The message that a JSON body says.

        Raises ShapeError for a missing, unknown, ill-typed or wrongly null field.
        """
        if not isinstance(body, dict):
            raise ShapeError(
                path.removesuffix(".") or "body", f"is {type(body).__name__}, not an object"
            )
        values: dict[str, Any] = {}
        names = set()
        for attribute, form in wire_fields(cls):
            where = f"{path}{form.name}"
            if not form.carried_by(version):
                continue
            names.add(form.name)
            if form.name not in body:
                if form.optional:
                    continue
                raise ShapeError(where, f"is missing; version {version} has it")
            value = body[form.name]
            if value is None:
                if not form.allows_null(version):
                    raise ShapeError(where, f"is null, which version {version} doesn't allow")
                values[attribute] = None
                continue
            decoded = _decode(form.type, value, version, where)
            absent = form.null_as is not None and not form.allows_null(version)
            values[attribute] = None if absent and decoded == form.null_as else decoded
        if unknown := sorted(set(body) - names):
            raise ShapeError(
                f"{path}{unknown[0]}", f"is a field that version {version} doesn't have"
            )
        return cls(**values)


_FIELDS: dict[type[Message], tuple[tuple[str, Wire], ...]] = {}


def wire_fields(cls: type[Message]) -> tuple[tuple[str, Wire], ...]:
    """The attributes of a message class with their wire forms, in wire order."""
    fields = _FIELDS.get(cls)
    if fields is None:
        fields = tuple((f.name, f.metadata["wire"]) for f in dataclasses.fields(cls))
        _FIELDS[cls] = fields
    return fields


def _encode(kind: Scalar | ListOf, value: Any, version: int, path: str) -> Any:
    if isinstance(kind, ListOf):
        return [_encode_item(kind.item, v, version, f"{path}[{i}]") for i, v in enumerate(value)]
    return base64.b64encode(value).decode() if kind is BYTES else value


def _encode_item(item: Scalar | type[Message], value: Any, version: int, path: str) -> Any:
    if isinstance(item, Scalar):
        return _encode(item, value, version, path)
    body: dict[str, Any] = value.to_body(version, f"{path}.")
    return body


def _decode(kind: Scalar | ListOf, value: Any, version: int, path: str) -> Any:
    if isinstance(kind, ListOf):
        if not isinstance(value, list):
            raise ShapeError(path, f"is {type(value).__name__}, not a list")
        return tuple(
            _decode_item(kind.item, v, version, f"{path}[{i}]") for i, v in enumerate(value)
        )
    return _decode_scalar(kind, value, path)


def _decode_item(item: Scalar | type[Message], value: Any, version: int, path: str) -> Any:
    if isinstance(item, Scalar):
        return _decode_scalar(item, value, path)
    return item.from_body(value, version, f"{path}.")


def _decode_scalar(kind: Scalar, value: Any, path: str) -> Any:
    match kind.name:
        case "string":
            good = isinstance(value, str)
        case "bool":
            good = isinstance(value, bool)
        case "error":
            good = isinstance(value, int | str) and not isinstance(value, bool)
        case "bytes":
            return _decode_bytes(value, path)
        case _:
            good = isinstance(value, int) and not isinstance(value, bool)
            if good and not -(2 ** _INT_BITS[kind.name]) <= value < 2 ** _INT_BITS[kind.name]:
                raise ShapeError(path, f"is {value}, which {kind.name} can't hold")
    if not good:
        raise ShapeError(path, f"is {value!r}, not {kind.name}")
    return value


def _decode_bytes(value: Any, path: str) -> bytes:
    if not isinstance(value, str):
        raise ShapeError(path, f"is {value!r}, not base64")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ShapeError(path, f"is {value!r}, not base64 ({error})") from None
