"""Decide whether two runs of one plan differ, where, and which side the model agrees with.

A choice that the protocol leaves open may be taken otherwise by either side: if the model explains
both runs, there is no difference.  If it explains one of them, the other side is wrong at that
request.  If it explains neither, because both are wrong in the same way before, then only what no
such choice affects is compared: errors, and who is answered at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from fencepost.conformance.search.compare.compared_answers import (
    RequestOutcome,
    field_that_differs,
    outcomes_of,
)
from fencepost.conformance.search.compare.differential import Both
from fencepost.model.plans.plan import RequestStep
from fencepost.model.revision import Revision
from fencepost.properties.judging.outcome import CaseResult
from fencepost.properties.oracle.fingerprint import broken_rule

_CHOSEN = ("leads", "follows")


class Taken(Enum):
    """Which side the model agrees with."""

    ONE = "one"
    OTHER = "other"
    NEITHER = "neither"
    BOTH = "both"


@dataclass(frozen=True, slots=True, order=True)
class DifferenceFingerprint:
    """What stays the same of a difference while its plan is shrunk."""

    api: str
    one: str
    other: str
    field: str
    taken: str
    rules: tuple[str, str]


@dataclass(frozen=True, slots=True)
class TargetDifference:
    """Two runs of a plan that differ.

    `number`: of the first request whose answers differ and about which a side is wrong, 0 where the
    target itself failed; `one`, `other`: what became of each request, by its number; `taken`: which
    side the model agrees with.
    """

    both: Both
    number: int
    one: Mapping[int, RequestOutcome]
    other: Mapping[int, RequestOutcome]
    taken: Taken
    fingerprint: DifferenceFingerprint

    @property
    def is_first_wrong(self) -> bool:
        """Whether it is at the first wrong answer of a side, so that nothing later matters."""
        wrong = [n for n in map(_wrong_at, self.both.results) if n is not None]
        return bool(wrong) and min(wrong) == self.number


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of one plan: a difference, or why there is none.

    `differs`: None where they don't; `unknown`: why the plan is undecided; `is_choice`: the answers
    differ, but the model allows both.
    """

    both: Both
    differs: TargetDifference | None = None
    unknown: str | None = None
    is_choice: bool = False


def compared(both: Both, revision: Revision, *, exact: bool) -> Compared:
    """Compare two runs of a plan.  `exact`: both clocks are virtual."""
    doubts = [doubt for result in both.results if (doubt := _doubt(result)) is not None]
    if doubts:
        return Compared(both, unknown=doubts[0])
    one, other = (outcomes_of(result.recording, exact=exact) for result in both.results)
    unlike = [n for n in sorted({*one, *other}) if _essence(one, n) != _essence(other, n)]
    if not unlike:
        return Compared(both)
    wrong = [_wrong_at(result) for result in both.results]
    if wrong == [None, None]:
        noted = [_noted(result) for result in both.results]
        let_pass = [n for n in unlike if (n in noted[0]) is not (n in noted[1])]
        if not let_pass:
            return Compared(both, is_choice=True)
        return Compared(both, _difference(both, let_pass[0], one, other, Taken.BOTH, revision))
    first = min(number for number in wrong if number is not None)
    if wrong[0] == wrong[1]:
        plain = [n for n in unlike if _plain(one, n) != _plain(other, n)]
        if not plain:
            return Compared(both, is_choice=True)
        number = first if first in plain else plain[0]
        return Compared(both, _difference(both, number, one, other, Taken.NEITHER, revision))
    taken = Taken.OTHER if wrong[0] == first else Taken.ONE
    number = first if first in (0, *unlike) else unlike[0]
    return Compared(both, _difference(both, number, one, other, taken, revision))


def _doubt(result: CaseResult) -> str | None:
    """Why a run decides nothing; None if it does."""
    if result.recording is None:
        return None
    if result.recording.moved:
        return "the coordinator moved or was loading meanwhile"
    return result.verdict.unknown if result.verdict is not None else None


def _essence(side: Mapping[int, RequestOutcome], number: int) -> tuple[str, str, int] | None:
    found = side.get(number)
    return None if found is None else found.essence


def _plain(side: Mapping[int, RequestOutcome], number: int) -> str:
    """The part of an answer's kind that no choice of a leader affects."""
    found = side.get(number)
    kinds = [] if found is None else found.kind.split(", ")
    return ", ".join(kind for kind in kinds if kind not in _CHOSEN)


def _noted(result: CaseResult) -> set[int]:
    """The requests with an answer that the model tolerates, though it gives another."""
    return {int(note.partition(":")[0][1:]) for note in result.notes}


def _wrong_at(result: CaseResult) -> int | None:
    """The number of the request that the model doesn't explain; 0 where the target failed."""
    if result.recording is None:
        return 0
    return None if result.violation is None else int(result.violation.request_id[1:])


def _difference(
    both: Both,
    number: int,
    one: Mapping[int, RequestOutcome],
    other: Mapping[int, RequestOutcome],
    taken: Taken,
    revision: Revision,
) -> TargetDifference:
    here = one.get(number, RequestOutcome("")), other.get(number, RequestOutcome(""))
    step = both.case.steps[number - 1] if number else None
    rules = [_rule(result, revision) for result in both.results]
    fingerprint = DifferenceFingerprint(
        step.api if isinstance(step, RequestStep) else "",
        here[0].kind,
        here[1].kind,
        field_that_differs(*here),
        taken.value,
        (rules[0], rules[1]),
    )
    return TargetDifference(both, number, one, other, taken, fingerprint)


def _rule(result: CaseResult, revision: Revision) -> str:
    rule = None if result.violation is None else broken_rule(result.violation, revision)
    return "" if rule is None else rule.id
