"""Write bodies as Python literals, for the pytest form of a trace.

Ids that the broker gave out (those that an answer had before a request did), generations and groups
are written by name.  All else is written as it is, bytes as bytes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.model.history.events import Answered, Sent
from fencepost.traces.files.trace_file import TraceFile

_IDS = {"memberId", "leader"}
_BYTES = {"metadata", "assignment", "memberMetadata", "memberAssignment"}
_GENERATIONS = {"generationId", "generationIdOrMemberEpoch"}
_UPPER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Literals:
    """The Python literals of one trace's values."""

    def __init__(self, trace: TraceFile) -> None:
        self._names = _all_names(trace)

    def code(self, key: str, value: Any) -> str:
        """Return a field's value; what the broker chose is called by name."""
        match value:
            case str() if key in _IDS:
                return self._id(value)
            case str() if key in _BYTES:
                return repr(base64.b64decode(value))
            case str() if key == "groupId":
                return f"Group({value!r})" if value else repr(value)
            case list() if key == "groups":
                return _listed(
                    f"Group({v!r})" if isinstance(v, str) else self.body(v) for v in value
                )
            case int() if key in _GENERATIONS and value >= 0:
                return f"Gen({value})"
            case list():
                return _listed(self.code(key, item) for item in value)
            case Mapping():
                return self.body(value)
            case _:
                return repr(value)

    def body(self, body: Mapping[str, Any]) -> str:
        """Return a whole body, or a row; the metadata of an offset are a text, all others bytes."""
        texts = {"metadata"} if "committedOffset" in body else set()
        rows = (
            f"{snake(k)!r}: {repr(v) if k in texts else self.code(k, v)}" for k, v in body.items()
        )
        return "{" + ", ".join(rows) + "}"

    def _id(self, member_id: str) -> str:
        if member_id in self._names:
            return f"Id({self._names[member_id]!r})"
        if member_id.startswith("\x00"):
            return f"Id({'new id of ' + member_id[1:]!r})"
        return repr(member_id)


def _all_names(trace: TraceFile) -> dict[str, str]:
    """Return member id → name, with ids told by an error, without ids that a client made up."""
    names = dict(trace.names)
    made_up = {""}
    for event in trace.events:
        if isinstance(event, Sent):
            made_up |= {told for told in _ids(event.request.body) if told not in names}
        elif isinstance(event, Answered) and event.answer.body is not None:
            for told in _ids(event.answer.body):
                if told not in made_up:
                    names.setdefault(told, told)
    return names


def _ids(body: Mapping[str, Any]) -> Iterator[str]:
    for key, value in body.items():
        if key in _IDS and isinstance(value, str):
            yield value
        for row in value if isinstance(value, list) else ():
            if isinstance(row, Mapping):
                yield from _ids(row)


def snake(name: str) -> str:
    """Return a field's name as kafka-python has it."""
    return _UPPER.sub("_", name).lower()


def _listed(items: Iterator[str]) -> str:
    return "[" + ", ".join(items) + "]"
