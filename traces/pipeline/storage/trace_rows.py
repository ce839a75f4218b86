"""Convert events and worlds to rows of tables, and back; write Arrow schemas as Spark's DDL.

`schema.STEP` describes the columns of an event.

Two worlds have the same text exactly if they are the same world: worlds are canonical, and so is
their text, a JSON list of the fields of each part in their order.  The types of the model define
each part, so only plain values are written.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache, lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

from fencepost.model.classic.group import Group
from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import (
    EVENTS,
    Answered,
    Disturbance,
    Event,
    Handled,
    Passed,
    Sent,
)
from fencepost.properties.worlds.world import World
from fencepost.properties.worlds.world_client import Client

Row = dict[str, Any]
_COLUMNS = {"connection", "dropped"}
"""The columns that fields of disturbances have."""


class RowError(ValueError):
    """A row that is no event; `str()` names the problem."""


def step_rows(events: Iterable[Event], senders: Mapping[str, str]) -> list[Row]:
    """Convert each event to a row; `senders`: request id → name of its sender."""
    return [_row(event, senders) for event in events]


def _row(event: Event, senders: Mapping[str, str]) -> Row:
    at_ms, by_ms = event.span
    row: Row = {"do": event.do, "at_ms": at_ms, "by_ms": by_ms}
    match event:
        case Sent(request=request):
            row |= {
                "id": request.id,
                "member": senders.get(request.id, request.connection),
                "connection": request.connection,
                "client_id": request.client_id,
                "api": request.api,
                "version": request.version,
                "body": json.dumps(request.body),
            }
        case Answered(answer=answer):
            row |= {
                "id": answer.id,
                "body": None if answer.body is None else json.dumps(answer.body),
                "findings": list(answer.findings),
            }
        case Disturbance():
            if not event.has_columns:
                raise RowError(f"a corpus has no column for {event.name}")
            row |= {name: value for name, value in event.row().items() if name in _COLUMNS}
        case Handled() | Passed():
            pass
    return row


def events_of(rows: Iterable[Mapping[str, Any]]) -> list[Event]:
    """Convert rows to events.  Raises RowError, and JSON's errors for a bad body."""
    return [_event(row) for row in rows]


def _event(row: Mapping[str, Any]) -> Event:
    match row["do"]:
        case "send":
            request = Send(
                row["id"],
                row["connection"],
                row["client_id"],
                row["api"],
                row["version"],
                json.loads(row["body"]),
            )
            late = row["by_ms"] if row["by_ms"] != row["at_ms"] else None
            return Sent(row["at_ms"], request, late)
        case "answer":
            body = None if row["body"] is None else json.loads(row["body"])
            return Answered(Answer(row["id"], row["at_ms"], body, tuple(row["findings"] or ())))
        case do:
            kind = EVENTS.get(do)
            if kind is None or (issubclass(kind, Disturbance) and not kind.has_columns):
                raise RowError(f"no event is called {do!r}")
            return kind.of_row((row["at_ms"], row["by_ms"]), row)


_Read = Callable[[Any], Any]
_OF_WORLDS = {"group": Group | None, "clients": tuple[Client, ...]}
"""Types of a world of the classic protocol: a table holds no others."""


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
    hints = get_type_hints(kind) | (_OF_WORLDS if kind is World else {})
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


def ddl(schema: pa.Schema) -> str:
    """Return a schema as Spark's DDL."""
    return ", ".join(f"`{field.name}` {_type(field.type)}" for field in schema)


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{_type(kind.key_type)}, {_type(kind.item_type)}>"
    if pa.types.is_struct(kind):
        fields = (kind.field(n) for n in range(kind.num_fields))
        return f"struct<{', '.join(f'`{f.name}`: {_type(f.type)}' for f in fields)}>"
    return _NAMES[kind]


_NAMES = {
    pa.string(): "string",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
}
