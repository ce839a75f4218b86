"""The fingerprint of a failure, and the three ways in which two failures are compared.

Equal fingerprints (`==`): the same rule is broken by the same kind of request in the same way, the
answer is of the same kind, and the same known departures explain it, or none do.  A plan is made
smaller, failures are grouped, and findings are confirmed by this.  Names, generations, numbers and
times are left out, since they change with every step that is left out.

The same `by_observed`: the same rule, and the same observed words without names and numbers.  A
list of known failures holds no more than these, so it is compared by them.

The same `bug_of`: the same implementation, and the same known cause or, where no cause is known,
the same fingerprint.  The corpus and the nightly report count bugs by this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from fencepost.model.history.events import Event, Sent
from fencepost.model.messages.errors import error_name
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level, Rule
from fencepost.properties.oracle.verdict import Violation, Wrong, nearest

_FIELD = re.compile(r"[A-Za-z.]+")


_SENDER = re.compile(r"^\S+ (?P<api>[A-Z][A-Za-z]+)(?: #(?:\d+|\*))?: ")
_LIST = re.compile(r"\[[^\[\]]*\]")
_NUMBER = re.compile(r"-?\b\d+\b")
_MEMBER = re.compile(r"\b(?:[A-Z]\d|[a-z])\b(?: \(id \d+\))?")

TARGET_FAILED = "TARGET-FAILED"
"""`wrong` where the target itself failed, rather than answered wrong."""

Bug = tuple[str, str]
"""An implementation, and the known cause of a failure or its fingerprint in words."""


@dataclass(frozen=True, slots=True, order=True)
class Fingerprint:
    """What stays the same wherever the same fault is seen.

    `rule`: the broken rule's id, "" for none; `api`: of the request; `wrong`: the name of a `Wrong`
    or another word for how it failed; `seen`: the kind of the answer, without names and numbers;
    `observed`: the observed words without names and numbers, which `==` does not compare;
    `cause`: the known departures that explain the failure, or "".
    """

    rule: str = ""
    api: str = ""
    wrong: str = ""
    seen: str = ""
    observed: str = field(default="", compare=False)
    cause: str = ""

    def __str__(self) -> str:
        """In words, for a list; without the cause."""
        parts = (self.rule, self.api, self.wrong, self.seen)
        return " · ".join(part for part in parts if part)

    @property
    def by_observed(self) -> tuple[str, str]:
        """The rule and the observed words: what an entry of a list of known failures holds."""
        return self.rule, self.observed


def origin_of(target: str) -> str:
    """The implementation that a target's name means: all versions of Kafka are one."""
    return "kafka" if target.startswith("kafka:") else target


def bug_of(target: str, fingerprint: Fingerprint | str, cause: str = "") -> Bug:
    """The bug that a failure of a target shows.

    `fingerprint`: the record, or its words; `cause`: the known departures that explain it, if the
    words are given.
    """
    if isinstance(fingerprint, Fingerprint):
        cause = cause or fingerprint.cause
    return origin_of(target), cause or str(fingerprint)


def without_names(observed: str) -> str:
    """Observed words without the names of members, lists of them, and numbers."""
    text = _SENDER.sub(lambda found: f"{found['api']}: ", observed)
    text = _LIST.sub("[…]", text)
    return _NUMBER.sub("…", _MEMBER.sub("…", text))


@cache
def rule_levels(revision: Revision) -> Mapping[str, Level]:
    """Return the level of each rule, by its id."""
    return {rule.id: rule.level for _, rule in revision.rules()}


def broken_rule(violation: Violation, revision: Revision) -> Rule | None:
    """The rule that gives the right answer; where none is due yet, the rule that waits."""
    chosen = nearest(violation.allowed)
    ids = [chosen.rule] if chosen is not None else []
    if violation.wait is not None:
        ids.append(violation.wait.rule)
    for rule_id in (*ids, *violation.decided_by):
        try:
            return revision.rule(rule_id)
        except KeyError:
            continue
    return None


def fingerprint_of(
    violation: Violation,
    revision: Revision,
    history: Iterable[Event],
    observed: str = "",
    cause: str = "",
) -> Fingerprint:
    """The fingerprint of a violation of a revision.

    `history`: where the request is found; `observed`: the violation's observed words, if known;
    `cause`: the known departures that explain it.
    """
    rule = broken_rule(violation, revision)
    asked = (event.request for event in history if isinstance(event, Sent))
    api = next((request.api for request in asked if request.id == violation.request_id), "")
    return Fingerprint(
        rule.id if rule is not None else "",
        api,
        violation.wrong.name,
        _seen(violation),
        without_names(observed),
        cause,
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
    """What kind of answer this is: its error codes, who leads, the states of groups.

    In which order a target lists groups means nothing, and may be another each time.
    """
    return ", ".join(dict.fromkeys(_kind(body or {})))


def _kind(said: Mapping[str, Any]) -> Iterator[str]:
    if "errorCode" in said:
        yield error_name(said["errorCode"])
    if said.get("leader"):
        yield "leads" if said["leader"] == said.get("memberId") else "follows"
    if "groupState" in said:
        yield str(said["groupState"])
    for value in said.values():
        rows = [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []
        for row in sorted(rows, key=_state):
            yield from _kind(row)


def _state(row: Mapping[str, Any]) -> str:
    """The state of a group, "" where a row is none: those stay as they are."""
    return str(row.get("groupState", ""))
