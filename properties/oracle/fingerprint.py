"""Compute the fingerprint of a failure, and compare two failures in three ways.

Equal fingerprints (`==`): the same rule is broken by the same kind of request in the same way, the
answer is of the same kind, and the same known departures explain it, or none do.  Shrinking,
grouping of failures and confirmation of findings use it.  Names, generations, numbers and times are
left out, since they change with every step that is left out.

Equal `by_observed`: the same rule, and the same observed words without names and numbers.  A list
of known failures holds no more than these, so it is compared by them.

Equal `kind_in_words`, and the same rule: the same kind, as far as the observed words tell.  By it
an entry of a list covers the plans of a search, whose words differ from those of its case.

Equal `bug_of`: the same implementation, and the same known cause or, where no cause is known, the
same fingerprint.  The corpus and the nightly report count bugs by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from fencepost.model.history.events import Event, Sent
from fencepost.model.history.words import without_names
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level, Rule
from fencepost.properties.oracle.verdict import Allowed, Violation, Wrong, nearest

_FIELD = re.compile(r"[A-Za-z.]+")


TARGET_FAILED = "TARGET-FAILED"
"""`wrong` where the target itself failed, rather than answered wrong."""

Bug = tuple[str, str]
"""An implementation, and the known cause of a failure or its fingerprint in words."""


@dataclass(frozen=True, slots=True, order=True)
class Fingerprint:
    """The properties of a failure that don't change between its occurrences.

    `rule`: the broken rule's id, "" for none; `api`: of the request; `wrong`: the name of a `Wrong`
    or another word for the kind of failure; `answer_kind`: the kind of the answer, without names
    and numbers; `observed`: the observed words without names and numbers, which `==` does not
    compare; `cause`: the known departures that explain the failure, or "".
    """

    rule: str = ""
    api: str = ""
    wrong: str = ""
    answer_kind: str = ""
    observed: str = field(default="", compare=False)
    cause: str = ""

    def __str__(self) -> str:
        """Return it in words, for a list; without the cause."""
        parts = (self.rule, self.api, self.wrong, self.answer_kind)
        return " · ".join(part for part in parts if part)

    @property
    def by_observed(self) -> tuple[str, str]:
        """The rule and the observed words, as an entry of a list of known failures has them."""
        return self.rule, self.observed


_KIND_WORDS = re.compile(
    r"\b(?:[A-Z]{2,}(?:_[A-Z]+)*|leads|follows|no answer|connection closed|too late"
    r"|Empty|Stable|Reconciling|Dead|PreparingRebalance|CompletingRebalance)\b"
)


def kind_in_words(observed: str) -> str:
    """Return the kind of a failure in its observed words: the request, errors, who leads, states.

    A malformed answer is of the kind of all its words.
    """
    api, _, answer = without_names(observed).partition(": ")
    if "malformed" in answer:
        return f"{api}: {answer}"
    return f"{api}: {', '.join(dict.fromkeys(_KIND_WORDS.findall(answer)))}"


def origin_of(target: str) -> str:
    """Return the implementation that a target's name means: all versions of Kafka are one."""
    return "kafka" if target.startswith("kafka:") else target


def bug_of(target: str, fingerprint: Fingerprint | str, cause: str = "") -> Bug:
    """Return the bug behind a failure of a target.

    `fingerprint`: the record, or its words; `cause`: the known departures that explain it, if it is
    given as words.
    """
    if isinstance(fingerprint, Fingerprint):
        cause = cause or fingerprint.cause
    return origin_of(target), cause or str(fingerprint)


@cache
def rule_levels(revision: Revision) -> Mapping[str, Level]:
    """Return the level of each rule, by its id."""
    return {rule.id: rule.level for _, rule in revision.rules()}


_REFUSALS = frozenset(
    error.value
    for error in (
        Error.MEMBER_ID_REQUIRED,
        Error.INCONSISTENT_GROUP_PROTOCOL,
        Error.INVALID_SESSION_TIMEOUT,
        Error.INVALID_GROUP_ID,
    )
)
"""Codes by which a request is refused before it waits.  All others may also end its wait."""


def broken_rule(violation: Violation, revision: Revision) -> Rule | None:
    """Return the rule that gives the right answer; where none is due yet, the rule that waits.

    Of a request that was refused instead of taken in, it is the rule that takes it in.
    """
    chosen = nearest(violation.allowed)
    ids = [chosen.rule] if chosen is not None else []
    if violation.wait is not None:
        ids.append(violation.wait.rule)
    if (violation.observed or {}).get("errorCode") in _REFUSALS and not _is_refused(chosen):
        ids = [*violation.decided_by, *ids]
    for rule_id in (*ids, *violation.decided_by):
        try:
            return revision.rule(rule_id)
        except KeyError:
            continue
    return None


def _is_refused(allowed: Allowed | None) -> bool:
    return allowed is not None and bool((allowed.body or {}).get("errorCode"))


def fingerprint_of(
    violation: Violation,
    revision: Revision,
    history: Iterable[Event],
    observed: str = "",
    cause: str = "",
) -> Fingerprint:
    """Return the fingerprint of a violation of a revision.

    `history`: contains the request; `observed`: the violation's observed words, if known; `cause`:
    the known departures that explain it.
    """
    rule = broken_rule(violation, revision)
    requests = (event.request for event in history if isinstance(event, Sent))
    api = next((request.api for request in requests if request.id == violation.request_id), "")
    return Fingerprint(
        rule.id if rule is not None else "",
        api,
        violation.wrong.name,
        _answer_kind(violation),
        without_names(observed),
        cause,
    )


def _answer_kind(violation: Violation) -> str:
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
    match = _FIELD.match(text)
    return match.group().rstrip(".") if match is not None else ""


def kind_of(body: Mapping[str, Any] | None) -> str:
    """Return the kind of an answer: its error codes, the leader, the states of groups.

    The order in which a target lists groups means nothing, and may be another each time.
    """
    return ", ".join(dict.fromkeys(_kind(body or {})))


def _kind(body: Mapping[str, Any]) -> Iterator[str]:
    if "errorCode" in body:
        yield error_name(body["errorCode"])
    if body.get("leader"):
        yield "leads" if body["leader"] == body.get("memberId") else "follows"
    if "groupState" in body:
        yield str(body["groupState"])
    for value in body.values():
        rows = [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []
        for row in sorted(rows, key=_state):
            yield from _kind(row)


def _state(row: Mapping[str, Any]) -> str:
    """Return the state of a group; "" for rows without one, which keep their order."""
    return str(row.get("groupState", ""))
