"""Compare two results case by case: what one does right and the other wrong, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fencepost.conformance.site.history import split_reason
from fencepost.conformance.site.results import Result
from fencepost.traces.page.certificate_data import FAILED, CaseRow

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
    """Two results, how they differ, and the number of cases that came out alike."""

    one: Result
    other: Result
    parts: tuple[Part, ...]
    alike: int

    def differing(self) -> int:
        """The number of cases that came out differently where both could be tested."""
        return sum(part.total() for part in self.parts if part.tone == _DIFFERS)

    def undecided(self) -> int:
        """The number of cases that could not be decided in one of them."""
        return sum(part.total() for part in self.parts if part.tone == _UNDECIDED)


def compare(one: Result, other: Result) -> Comparison:
    """Compare two results over all cases that one of them has."""
    ways: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = {}
    alike = 0
    for case in sorted(one.cases.keys() | other.cases.keys()):
        found = _way(one, other, one.cases.get(case), other.cases.get(case))
        if found is None:
            alike += 1
        else:
            title, tone, *reasons = found
            ways.setdefault((title, tone), {}).setdefault(tuple(reasons), []).append(case)
    order = (_DIFFERS, _UNDECIDED, "unsupported")
    parts = [
        Part(title, tone, _groups(reasons))
        for (title, tone), reasons in sorted(ways.items(), key=lambda w: (order.index(w[0][1]), w))
    ]
    return Comparison(one, other, tuple(parts), alike)


def _groups(reasons: Mapping[tuple[str, ...], Iterable[str]]) -> tuple[Group, ...]:
    groups = [Group(said, tuple(cases)) for said, cases in reasons.items()]
    return tuple(sorted(groups, key=lambda group: (-len(group.cases), group.reasons)))


def _way(
    one: Result, other: Result, left: CaseRow | None, right: CaseRow | None
) -> tuple[str, ...] | None:
    """How a case differs: a heading, a tone and the reasons; None if it doesn't."""
    kinds = _kind(left), _kind(right)
    match kinds:
        case ("fails", "fails"):
            assert left is not None and right is not None  # noqa: S101, PT018  (they have outcomes)
            if split_reason(left.reason())[0] == split_reason(right.reason())[0]:
                return None
            said = (f"{one.name}: {left.reason()}", f"{other.name}: {right.reason()}")
            return "Both fail, for different reasons", _DIFFERS, *said
        case (same, also) if same == also:
            return None
        case ("fails", "passes"):
            return f"Fails in {one.name}, passes in {other.name}", _DIFFERS, _why(left)
        case ("passes", "fails"):
            return f"Passes in {one.name}, fails in {other.name}", _DIFFERS, _why(right)
        case ("untested", _):
            return f"Tested in {other.name} alone", "unsupported", _why(left)
        case (_, "untested"):
            return f"Tested in {one.name} alone", "unsupported", _why(right)
        case _:
            return "Undecided in one of them", _UNDECIDED


def _kind(case: CaseRow | None) -> str:
    if case is None or case.outcome in {"unsupported", "skipped"}:
        return "untested"
    if case.outcome in FAILED:
        return "fails"
    return "passes" if case.outcome == "pass" else "unknown"


def _why(case: CaseRow | None) -> str:
    return "the certificate doesn't have the case" if case is None else case.reason()
