"""Compare an answer with the expected one, field by field.

Two fields are the same if both are a new id that the coordinator chose, if only the order of
members differs, or if only the throttle time differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.model.history.words import NEW_ID, Body, Names, decoded, member, quoted
from fencepost.model.messages.errors import error_name

_IDS = {"memberId", "leader"}
_BYTES = {"assignment", "metadata", "memberAssignment", "memberMetadata"}
_FREE = {"throttleTimeMs"}

Row = tuple[str, str | None, str | None, bool]
"""Field; observed and expected, None where it isn't there; whether they agree."""


def rows(observed: Body | None, expected: Body | None, names: Names) -> list[Row]:
    """Return all fields of both answers, in the order of the one that came.

    Without an expectation nothing disagrees.
    """
    got, want = (dict(_flat(body, names)) for body in (observed or {}, expected or {}))
    fields = dict.fromkeys((*got, *want))
    if expected is None:
        return [(name, got[name], None, True) for name in fields]
    return [
        (name, got.get(name), want.get(name), _agree(name, got.get(name), want.get(name)))
        for name in fields
    ]


def _agree(name: str, got: str | None, want: str | None) -> bool:
    return want in {got, NEW_ID} or name in _FREE


def _flat(body: Body, names: Names, path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in body.items():
        if isinstance(value, Mapping):
            yield from _flat(value, names, f"{path}{key}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for number, row in enumerate(_ordered(value, names)):
                yield from _flat(row, names, f"{path}{key}[{number}].")
        else:
            yield f"{path}{key}", _word(key, value, names)


def _ordered(listed: list[Any], names: Names) -> list[Any]:
    if all("memberId" in row for row in listed):
        return sorted(listed, key=lambda row: member(row["memberId"], names))
    return listed


def _word(key: str, value: Any, names: Names) -> str:
    if key.endswith("rrorCode"):
        return error_name(value)
    if key in _IDS:
        return member(value, names)
    if key in _BYTES and isinstance(value, str):
        return decoded(value) if value else "empty"
    if isinstance(value, str) or value is None:
        return quoted(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(str, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
