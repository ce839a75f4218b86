"""Declare how a field of a message looks on the wire: its type, and the versions that have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from fencepost.model.messages.shapes import Message


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
    optional: bool = False,
    lossy: bool = False,
    null_as: str | None = None,
) -> Wire:
    """Return the wire form of a field of a message, to annotate it with.

    `versions`, `nullable`: such as `0+`, `2-4`, `3`.  What the field is where a version lacks it is
    the field's own default.
    """
    lowest, highest = _versions(versions)
    nulls = _versions(nullable) if nullable is not None else None
    return Wire(name, type_, lowest, highest, nulls, msgspec.NODEFAULT, optional, lossy, null_as)
