"""Convert values between ITF, the trace format of Apalache and Quint, and plain JSON.

Whole numbers are `{"#bigint": "…"}`, lists are sequences, objects whose keys could be the fields of
a record are records, others are `{"#map": [[key, value], …]}`.  ITF has no null: it is written as
the variant `Null` of the unit.  Tuples and sets are read as lists, the variant `None` as null.

Source: Apalache's ADR 015, "Informal Trace Format in JSON".
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable, Mapping
from typing import Any

_UNIT = "U_OF_UNIT"
_VARIANT = {"tag", "value"}
NULL: Mapping[str, str] = {"tag": "Null", "value": _UNIT}
"""The value that is written for null."""


class ItfValueError(ValueError):
    """A value that ITF can't express, or that is not ITF.  `str()` says which and why."""


def to_itf(value: Any) -> Any:
    """Return a JSON value as ITF.  Raises ItfValueError for a fraction, which ITF does not have."""
    match value:
        case None:
            return dict(NULL)
        case bool() | str():
            return value
        case int():
            return {"#bigint": str(value)}
        case list():
            return [to_itf(item) for item in value]
        case Mapping():
            if _is_record(value):
                return {key: to_itf(item) for key, item in value.items()}
            return mapping(value.items())
        case _:
            raise ItfValueError(f"{value!r} has no ITF form")


def mapping(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Return a map of ITF, in this order."""
    return {"#map": [[to_itf(key), to_itf(value)] for key, value in pairs]}


def a_tuple(items: Iterable[Any]) -> dict[str, Any]:
    """Return a tuple of ITF."""
    return {"#tup": [to_itf(item) for item in items]}


def a_set(items: Iterable[Any]) -> dict[str, Any]:
    """Return a set of ITF, of values that are ITF already; in a fixed order, since it has none."""
    return {"#set": sorted(items, key=lambda item: json.dumps(item, sort_keys=True))}


def from_itf(value: Any) -> Any:
    """Return an ITF value as JSON.  Raises ItfValueError for what is none, or has no JSON form."""
    match value:
        case bool() | str() | int():
            return value
        case list():
            return [from_itf(item) for item in value]
        case {"tag": "Null" | "None", "value": _}:
            return None
        case {"tag": str(), "value": inner} if set(value) == _VARIANT:
            return from_itf(inner)
        case {"#bigint": str(digits)}:
            return _number(digits)
        case {"#tup": list(items)}:
            return [from_itf(item) for item in items]
        case {"#set": list(items)}:
            return [from_itf(item) for item in items]
        case {"#map": list(pairs)}:
            return dict(_pair(pair) for pair in pairs)
        case dict() if not any(key.startswith("#") for key in value):
            return {key: from_itf(item) for key, item in value.items()}
        case _:
            shown = json.dumps(value)
            raise ItfValueError(f"{shown[:100]} is no ITF value that a trace can hold")


def _number(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise ItfValueError(f"#bigint {digits!r} is no whole number") from None


def _pair(pair: Any) -> tuple[str, Any]:
    match pair:
        case [key, value] if isinstance(name := from_itf(key), str):
            return name, from_itf(value)
        case _:
            raise ItfValueError(f"#map has {json.dumps(pair)[:100]}, not [text, value]")


def _is_record(value: Mapping[str, Any]) -> bool:
    """Return whether readers can take its keys for fields, and won't take it for a variant."""
    return set(value) != _VARIANT and all(
        key.isidentifier() and not key.startswith("_") and not keyword.iskeyword(key)
        for key in value
    )
