"""Compare two results case by case: what one does right and the other wrong, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fencepost.conformance.site.cause_history import split_reason
from fencepost.conformance.site.reasons import Reasons
from fencepost.conformance.site.site_results import Result
from fencepost.traces.report.certificate_data import FAILED, CaseRow
from fencepost.traces.report.failure_causes import cause_key

_DIFFERS, _UNDECIDED = "known-failure", "unknown"


@dataclass(frozen=True, slots=True)
class Group:
    """Cases that differ in the same way and for the same reasons: of one target, or of each."""

    reasons: tuple[str, ...]
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One way to differ, as a heading, with the cases by reason.  `tone`: what colours it."""

    title: str
    tone: str
    groups: tuple[Group, ...]

    def total(self) -> int:
        """The number of cases."""
        return sum(len(group.cases) for group in self.groups)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results, how they differ, and the number of cases that came out alike.

    `untested`: the number of cases that neither could be tested for.
    """

    one: Result
    other: Result
    parts: tuple[Part, ...]
    alike: int
    untested: int

    def differing(self) -> int:
        """The number of cases that came out differently where both could be tested."""
        return sum(part.total() for part in self.parts if part.tone == _DIFFERS)

    def undecided(self) -> int:
        """The number of cases that could not be decided in one of them."""
        return sum(part.total() for part in self.parts if part.tone == _UNDECIDED)


def compare(one: Result, other: Result) -> Comparison:
    """Compare two results over all cases that one of them has."""
    ways: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = {}
    alike = untested = 0
    named = _reasons(one, other)
    for case in sorted(one.cases.keys() | other.cases.keys()):
        left, right = one.cases.get(case), other.cases.get(case)
        found = _way(one, other, left, right, named)
        if found is None and _kind(left) == "untested":
            untested += 1
        elif found is None:
            alike += 1
        else:
            title, tone, *reasons = found
            ways.setdefault((title, tone), {}).setdefault(tuple(reasons), []).append(case)
    order = (_DIFFERS, _UNDECIDED, "unsupported")
    parts = [
        Part(title, tone, _groups(reasons))
        for (title, tone), reasons in sorted(ways.items(), key=lambda w: (order.index(w[0][1]), w))
    ]
    return Comparison(one, other, tuple(parts), alike, untested)


def _reasons(one: Result, other: Result) -> tuple[Reasons, Reasons]:
    """What names the causes in each: of one implementation, both together."""
    if one.family == other.family:
        both = Reasons([one, other])
        return both, both
    return Reasons([one]), Reasons([other])


def _groups(reasons: Mapping[tuple[str, ...], Iterable[str]]) -> tuple[Group, ...]:
    groups = [Group(said, tuple(cases)) for said, cases in reasons.items()]
    return tuple(sorted(groups, key=lambda group: (-len(group.cases), group.reasons)))


def _way(
    one: Result,
    other: Result,
    left: CaseRow | None,
    right: CaseRow | None,
    named: tuple[Reasons, Reasons],
) -> tuple[str, ...] | None:
    """How a case differs: a heading, a tone and the reasons; None if it doesn't."""
    kinds = _kind(left), _kind(right)
    why, also = _why(left, named[0]), _why(right, named[1])
    match kinds:
        case ("fails", "fails"):
            assert left is not None and right is not None  # noqa: S101, PT018  (they have outcomes)
            is_one_rule = left.broken is not None and cause_key(left) == cause_key(right)
            if is_one_rule or split_reason(why)[0] == split_reason(also)[0]:
                return None
            said = (f"{one.name}: {why}", f"{other.name}: {also}")
            return "Both fail, for different reasons", _DIFFERS, *said
        case (same, also) if same == also:
            return None
        case ("fails", "passes"):
            return f"Fails in {one.name}, passes in {other.name}", _DIFFERS, why
        case ("passes", "fails"):
            return f"Passes in {one.name}, fails in {other.name}", _DIFFERS, also
        case ("untested", _):
            return f"Tested in {other.name} alone", "unsupported", why
        case (_, "untested"):
            return f"Tested in {one.name} alone", "unsupported", also
        case _:
            return "Undecided in one of them", _UNDECIDED


def _kind(case: CaseRow | None) -> str:
    if case is None or case.outcome in {"unsupported", "skipped"}:
        return "untested"
    if case.outcome in FAILED:
        return "fails"
    return "passes" if case.outcome == "pass" else "unknown"


def _why(case: CaseRow | None, reasons: Reasons) -> str:
    return "the certificate doesn't have the case" if case is None else reasons.of(case)
