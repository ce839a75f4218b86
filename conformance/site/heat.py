"""Sum up results for the heat map: how much of an area, or of a rule, each target does right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fencepost.conformance.cases.areas import AREAS, area
from fencepost.conformance.site.site_results import Result, slug
from fencepost.model.history.words import plural
from fencepost.traces.report.certificate_data import FAILED, OUTCOMES, CaseRow

OTHERS = "others"
"""The area of rules that fit none, such as those of another suite."""

_STEPS = (0.0, 0.1, 0.25, 0.5)
_WORST = ("fail", "stale-known-failure", "unknown", "known-failure", "pass")


@dataclass(frozen=True, slots=True)
class Cell:
    """Some cases of a target.

    `tone`: the worst outcome, `unsupported` where nothing could be tested.  `heat`: from 0, nothing
    fails, to 4, more than half does.  `said`: the counts in words.
    """

    tone: str
    heat: int
    passed: int
    decided: int
    said: str


def cell(cases: Iterable[CaseRow]) -> Cell | None:
    """Sum up cases; None where there are none."""
    counts = Counter(case.outcome for case in cases)
    if not counts:
        return None
    failed = sum(counts[outcome] for outcome in FAILED)
    passed = counts["pass"]
    decided = passed + failed
    share = failed / decided if decided else 0.0
    return Cell(
        tone=next((outcome for outcome in _WORST if counts[outcome]), "unsupported"),
        heat=sum(share > step for step in _STEPS),
        passed=passed,
        decided=decided,
        said=", ".join(_words(counts)),
    )


def _words(counts: Counter[str]) -> list[str]:
    """E.g. `44 pass`, `4 known failures`."""
    plain = {"pass": "pass", "unsupported": "not applicable"}
    return [
        f"{counts[outcome]} {plain[outcome]}"
        if outcome in plain
        else plural(counts[outcome], "failure")
        if outcome == "fail"
        else plural(counts[outcome], outcome.replace("-", " "))
        if outcome in FAILED
        else f"{counts[outcome]} {outcome}"
        for outcome in OUTCOMES
        if counts[outcome]
    ]


def area_of(rule: str) -> str:
    """The area of a rule."""
    try:
        return area(rule)
    except KeyError:
        return OTHERS


def by_area(results: Sequence[Result]) -> dict[str, list[str]]:
    """Each area that has a case, with its rules: in the order of their names."""
    rules = sorted({case.rule for result in results for case in result.view.cases})
    found: dict[str, list[str]] = {name: [] for name in (*AREAS, OTHERS)}
    for rule in rules:
        found[area_of(rule)].append(rule)
    return {name: inner for name, inner in found.items() if inner}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a heat map: its name, the name of its anchor, and a cell for each target."""

    name: str
    anchor: str
    cells: Sequence[Cell | None]


def rows(names: dict[str, list[str]], results: Sequence[Result]) -> list[Row]:
    """A row for each name, over the cases about its rules."""
    found = []
    for name, rules in names.items():
        about = frozenset(rules)
        cells = [cell(c for c in result.view.cases if c.rule in about) for result in results]
        found.append(Row(name, slug(name.lower()), cells))
    return found
