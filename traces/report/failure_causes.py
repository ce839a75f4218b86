"""Group the failures of a certificate by cause: the gravest first, then by own rules, then by size.

One fault makes hundreds of cases fail: whatever begins with a group that can't be formed fails
there.  Two failures have one cause if the same rule is broken, the answer is of the same kind, and
the same field of it is wrong; names of members, lists of them, and numbers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.oracle.fingerprint import without_names
from fencepost.traces.report.certificate_data import CaseRow

Key = tuple[str, str]

_PLACE = re.compile(r", generation .*?(?=, too late$|$)")
_MANY = 10
"""So many cases are worth fixing one cause before all others."""

_FIELD = re.compile(r"\((?P<field>[\w.]+) [^()]* instead of ")


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of failures: the cases about the rule that is broken, and those about others.

    `rule`: the broken rule's id, "" where none is named.
    """

    rule: str
    own: tuple[CaseRow, ...]
    others: tuple[CaseRow, ...]

    @property
    def cases(self) -> tuple[CaseRow, ...]:
        """All cases: the gravest first, and of these those that show the cause best."""
        return tuple(sorted(self.own + self.others, key=_gravity))

    @property
    def level(self) -> str:
        """The gravest level of a case."""
        return self.cases[0].level


def causes_of(cases: Iterable[CaseRow]) -> list[Cause]:
    """Group failed cases: by level, then causes that a case shows at its own rule, then by size."""
    groups: dict[tuple[str, ...], list[CaseRow]] = {}
    for case in cases:
        groups.setdefault((case.outcome, *cause_key(case)), []).append(case)
    found = [
        Cause(
            key[1],
            tuple(case for case in members if is_own(case)),
            tuple(case for case in members if not is_own(case)),
        )
        for key, members in groups.items()
    ]
    return sorted(found, key=lambda c: (_gravity(c.cases[0]), not c.own, -len(c.cases)))


def masking(causes: Sequence[Cause]) -> str:
    """What to say of the cause by which most cases fail that are about other rules.

    "" unless it hides many, and a good part of all failures, so that the others say little before
    it is fixed.
    """
    most = max(causes, key=lambda cause: len(cause.others), default=None)
    failed = sum(len(cause.cases) for cause in causes)
    if most is None or len(most.others) < max(_MANY, failed / 4):
        return ""
    hidden = f"{len(most.others)} cases about other rules fail by it"
    return f"Mend {most.rule or 'what breaks'} first: {hidden}"


def is_own(case: CaseRow) -> bool:
    """Whether a case failed at a rule that it is about, or where no rule can be named."""
    return case.broken is None or case.broken in case.rules


def cause_key(case: CaseRow) -> Key:
    """Return what two failures of one cause have in common: the broken rule, and what was seen."""
    seen = _PLACE.sub("", without_names(case.observed))
    if (differs := _FIELD.search(case.message)) is not None:
        seen = f"{seen}, {differs['field']}"
    if case.broken is None and not seen:
        seen = "" if "passes: take it off" in case.message else case.message
    return case.broken or "", seen


def cause_words(case: CaseRow) -> str:
    """Name the cause of a failure: what was seen, and the rule that answers otherwise."""
    rule, seen = cause_key(case)
    seen = seen.removesuffix(", errorCode")
    return f"{seen}, against {rule}" if rule else seen or "no reason is recorded"


def _gravity(case: CaseRow) -> int:
    return LEVELS.index(Level(case.level))
