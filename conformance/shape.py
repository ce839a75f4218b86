"""The shape of a failure: what stays the same while its plan is made smaller.

Decides when two failures are one.  The same rule is broken by the same kind of request in the same
way, and what came is of the same kind: its error codes, whether it leads, the field that differs.
Names, generations, numbers and times are left out, since they change with every step that goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.conformance.difference import request_of
from fencepost.conformance.explain import broken_rule
from fencepost.conformance.outcome import CaseResult, Outcome
from fencepost.model.errors import error_name
from fencepost.model.revision import Revision
from fencepost.properties.verdict import Violation, Wrong, nearest

FAILED = "TARGET-FAILED"
_FIELD = re.compile(r"[A-Za-z.]+")


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """Rule ("" for none), API, the way of being wrong, and what was seen, without names."""

    rule: str
    api: str
    wrong: str
    seen: str

    def __str__(self) -> str:
        """In words, for a list."""
        parts = (self.rule, self.api, self.wrong, self.seen)
        return " · ".join(part for part in parts if part)


def shape_of(result: CaseResult, revision: Revision) -> Shape | None:
    """The shape of a failure; None where nothing failed, known or not."""
    if result.outcome not in {Outcome.FAIL, Outcome.KNOWN_FAILURE, Outcome.STALE_KNOWN_FAILURE}:
        return None
    violation = result.verdict.violation if result.verdict is not None else None
    if result.recording is None:
        return Shape("", "", FAILED, "")
    if violation is None:
        return None
    rule = broken_rule(violation, revision)
    request = request_of(result.recording, violation.request_id)
    return Shape(
        rule.id if rule is not None else "",
        request.api if request is not None else "",
        violation.wrong.name,
        _seen(violation),
    )


def _seen(violation: Violation) -> str:
    match violation.wrong:
        case Wrong.SILENCE | Wrong.CLOSED:
            return ""
        case Wrong.SHAPE | Wrong.DEVIATION:
            return _field(violation.detail)
        case Wrong.EARLY:
            return kind_of(violation.observed)
        case Wrong.ANSWER:
            chosen = nearest(violation.allowed)
            field = "" if chosen is None else _field(chosen.difference)
            return ", ".join(filter(None, (kind_of(violation.observed), field)))


def _field(text: str) -> str:
    found = _FIELD.match(text)
    return found.group().rstrip(".") if found is not None else ""


def kind_of(body: Mapping[str, Any] | None) -> str:
    """What kind of answer this is: its error codes, who leads, the state of a group."""
    return ", ".join(dict.fromkeys(_kind(body or {})))


def _kind(said: Mapping[str, Any]) -> Iterator[str]:
    if "errorCode" in said:
        yield error_name(said["errorCode"])
    if said.get("leader"):
        yield "leads" if said["leader"] == said.get("memberId") else "follows"
    if "groupState" in said:
        yield str(said["groupState"])
    for value in said.values():
        for row in value if isinstance(value, list) else ():
            if isinstance(row, Mapping):
                yield from _kind(row)
