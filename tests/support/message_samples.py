"""A body for any message and version, made from its declared shape."""

from __future__ import annotations

from typing import Any

from fencepost.model.messages.shapes import ListOf, Message, Scalar, wire_fields

NEWER = frozenset({"DeleteGroups", "OffsetDelete", "TxnOffsetCommit"})
"""APIs that the model has learnt since the plans of seeds were kept."""

VALUES: dict[str, Any] = {
    "string": "xyž",
    "bytes": "AAEC",
    "bool": True,
    "int16": 300,
    "int32": 7000,
    "int64": 2**40 * 1000,
    "error": 25,
    "int8": 1,
    "uint16": 40_000,
    "uuid": "ASNFZ4mrze8BI0VniavN7w",
}


def sample(cls: type[Message], version: int, *, nulls: bool = False) -> dict[str, Any]:
    """Every field that the version has; `nulls`: null wherever it may be."""
    body: dict[str, Any] = {}
    for _, form in wire_fields(cls):
        if not form.carried_by(version):
            continue
        if nulls and form.allows_null(version):
            body[form.name] = None
        elif isinstance(form.type, ListOf):
            body[form.name] = [_one(form.type.item, version, nulls=nulls)] * 2
        else:
            body[form.name] = _one(form.type, version, nulls=nulls)
    return body


def _one(kind: Scalar | type[Message], version: int, *, nulls: bool) -> Any:
    return VALUES[kind.name] if isinstance(kind, Scalar) else sample(kind, version, nulls=nulls)
