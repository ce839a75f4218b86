"""What is broken where a history is wrong: the rule, and the shape of the failure.

Decides when two failures are one.  The same rule is broken by the same kind of request in the same
way, and what came is of the same kind: its error codes, whether it leads, the field that differs.
Names, generations, numbers and times are left out, since they change with every step that goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.model.revision import Revision
from fencepost.model.table.errors import error_name
from fencepost.model.table.table import Rule
from fencepost.properties.oracle.verdict import Violation, Wrong, nearest

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


def broken_rule(violation: Violation, revision: Revision) -> Rule | None:
    """The rule that gives the right answer; where none is due yet, the rule that waits."""
    chosen = nearest(violation.allowed)
    ids = [chosen.rule] if chosen is not None else []
    for rule_id in (*ids, *violation.decided_by):
        try:
            return revision.rule(rule_id)
        except KeyError:
            continue
    return None


def shape_of_violation(violation: Violation, revision: Revision, api: str) -> Shape:
    """The shape of a violation of a revision by the answer to a request of this API."""
    rule = broken_rule(violation, revision)
    return Shape(rule.id if rule is not None else "", api, violation.wrong.name, _seen(violation))


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
