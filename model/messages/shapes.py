"""Converts messages to JSON bodies and back, version by version.

A body is well-formed if it has exactly the fields of its version, and null only where that version
allows null.  Anything else raises `ShapeError` with the path of the field.
"""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import msgspec

from fencepost.model.messages.converters import (
    Fields,
    IsCarried,
    Read,
    Write,
    make_check,
    make_reader,
    make_writer,
    read_field,
)
from fencepost.model.messages.wire_form import ListOf, Scalar, ShapeError


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
        """Return the message as it is read at a version, without what the version can't carry."""
        if self.check(version)(self):
            return self
        return self.from_body(self.to_body(version), version)

    @classmethod
    def reader(cls, version: int) -> Read:
        """Return the function that reads a body of this version."""
        found = _READERS.get((cls, version))
        if found is None:
            found = _READERS[cls, version] = make_reader(cls, wire_fields(cls), version)
        return found

    @classmethod
    def writer(cls, version: int) -> Write:
        """Return the function that writes a body of this version."""
        found = _WRITERS.get((cls, version))
        if found is None:
            found = _WRITERS[cls, version] = make_writer(wire_fields(cls), version)
        return found

    @classmethod
    def check(cls, version: int) -> IsCarried:
        """Return the function that tells whether this version carries all of a message."""
        found = _CHECKS.get((cls, version))
        if found is None:
            found = _CHECKS[cls, version] = make_check(wire_fields(cls), version)
        return found

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
                    read_field(form, value, form.lowest, "")
                    kept[form.name] = value
        return kept


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
