"""Compare two results case by case; follow each cause of failures over the versions.

The comparison lists the cases that one result passes and the other fails, by reason.  Only some
versions were tested, so a cause came *after* the last version that is known to be free of it, and
is gone *by* the first that is again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from fencepost.conformance.site.site_results import Reasons, Result
from fencepost.traces.report.certificate_data import FAILED, CaseRow, cause_key

OBSERVED, GONE, OTHERWISE, UNKNOWN, UNTESTED = "seen", "gone", "otherwise", "unknown", "untested"
_LINKED = re.compile(r"(?P<why>.*?) \((?P<link>https://[^\s()]+)\)", re.DOTALL)
_EXCUSED = re.compile(r"\S+ has no (?P<rule>[A-Z][A-Z0-9-]+)(?:: (?P<why>.*))?", re.DOTALL)
_TICKET = re.compile(r"\b[A-Z]+-\d+\b|/(?:pull|issues)/(\d+)")


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of failures.

    `links`: the addresses that are recorded with it, each with the name of its ticket, such as
    `KAFKA-9801`, if it is a ticket's.  `cases`: all that failed by it.  `marks`: one of the words
    above for each result.  `story`: its versions, a sentence for each line of versions.
    """

    why: str
    links: tuple[tuple[str, str | None], ...]
    cases: tuple[str, ...]
    marks: tuple[str, ...]
    story: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Excused:
    """A rule that some versions are not held to, since the revision that judges them lacks it.

    `why`: the revision's reason, or ""; `source`: of the rule, which may name the ticket; `cases`:
    the number that need it; `story`: the versions, a sentence for each line of them.
    """

    rule: str
    why: str
    source: str
    cases: int
    story: tuple[str, ...]


def excused(results: Sequence[Result]) -> list[Excused]:
    """List the rules that results were excused from, if another result was held to them.

    What an old version is excused from may be a bug that a later one mended.
    """
    cases_by_rule: dict[tuple[str, str], set[str]] = {}
    places: dict[str, set[str]] = {}
    held = {c.rule for r in results for c in r.view.cases if c.outcome != "unsupported"}
    for result in results:
        for case in result.view.cases:
            match = _EXCUSED.fullmatch(case.message) if case.outcome == "unsupported" else None
            if match is not None and match["rule"] in held:
                cases_by_rule.setdefault((match["rule"], match["why"] or ""), set()).add(case.id)
                places.setdefault(match["rule"], set()).add(result.slug)
    sources = {rule.id: rule.source for r in results for _, rule in r.revision.rules()}
    return [
        Excused(rule, why, sources.get(rule, ""), len(cases), _free(results, places[rule]))
        for (rule, why), cases in sorted(cases_by_rule.items())
    ]


def _free(results: Sequence[Result], slugs: Collection[str]) -> tuple[str, ...]:
    """Return the versions that are named, by line: `old coordinator: 2.3.0 to 2.8.0`."""
    story = []
    for line, inner in groupby(results, key=lambda result: result.line):
        labels = [result.label for result in inner if result.slug in slugs]
        if labels:
            text = labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"
            story.append(f"{line}: {text}")
    return tuple(story)


def causes(results: Sequence[Result], rule: str | None = None) -> list[Cause]:
    """Return the causes of all failures of these results, or of one rule, oldest first.

    `results`: of one family, in order, so that lines are together.
    """
    reasons = Reasons(results)
    cases: dict[str, set[str]] = {}
    links: dict[str, dict[str, str | None]] = {}
    for result in results:
        for case in result.view.cases:
            if case.outcome in FAILED and rule in {None, case.rule}:
                why, link, ticket = split_reason(reasons.of(case))
                cases.setdefault(why, set()).add(case.id)
                if link is not None:
                    links.setdefault(why, {})[link] = ticket
    causes_ = [
        _cause(why, tuple(links.get(why, {}).items()), tuple(sorted(ids)), results, reasons)
        for why, ids in cases.items()
    ]
    return sorted(causes_, key=lambda cause: (_shape(cause.marks), -len(cause.cases), cause.why))


def _shape(marks: Sequence[str]) -> tuple[int, int]:
    """Return the first and the last place where a cause was observed."""
    places = [place for place, mark in enumerate(marks) if mark == OBSERVED]
    return places[0], places[-1]


def _cause(
    why: str,
    links: tuple[tuple[str, str | None], ...],
    cases: tuple[str, ...],
    results: Sequence[Result],
    reasons: Reasons,
) -> Cause:
    marks = tuple(_mark(why, cases, result.cases, reasons) for result in results)
    story: list[str] = []
    marked = zip(results, marks, strict=True)
    for line, inner in groupby(marked, key=lambda pair: pair[0].line):
        if text := _story_of([(result.label, mark) for result, mark in inner]):
            story.append(f"{line}: {text}")
    return Cause(why, links, cases, marks, tuple(story))


def split_reason(reason: str) -> tuple[str, str | None, str | None]:
    """Return a reason without its address, the address, and the name of the ticket there."""
    match = _LINKED.fullmatch(reason)
    if match is None:
        return reason, None, None
    link = match["link"]
    named = _TICKET.search(link)
    if named is None:
        return match["why"], link, None
    return match["why"], link, f"#{named[1]}" if named[1] else named[0]


def _mark(why: str, cases: Iterable[str], there: Mapping[str, CaseRow], reasons: Reasons) -> str:
    held = [there[case] for case in cases if case in there]
    outcomes = {case.outcome for case in held}
    if any(case.outcome in FAILED and split_reason(reasons.of(case))[0] == why for case in held):
        return OBSERVED
    if "pass" in outcomes:
        return GONE
    if outcomes & FAILED:
        return OTHERWISE
    return UNKNOWN if "unknown" in outcomes else UNTESTED


def _story_of(line: Sequence[tuple[str, str]]) -> str:
    """Tell the story of a cause in one line of versions; "" where it was never observed."""
    places = [place for place, (_, mark) in enumerate(line) if mark == OBSERVED]
    if not places:
        return ""
    first, last = places[0], places[-1]
    labels = [label for label, _ in line]
    text = labels[first] if first == last else f"{labels[first]} to {labels[last]}"
    if len(line) == 1:
        return f"seen in {text}"
    free = [place for place, (_, mark) in enumerate(line) if mark == GONE]
    before = [labels[place] for place in free if place < first]
    after = [labels[place] for place in free if place > last]
    parts = [f"seen in {text}"]
    if before:
        parts.append(f"came after {before[-1]}")
    if after:
        parts.append(f"gone by {after[0]}")
    elif last == len(line) - 1:
        parts.append("still there in the newest")
    return ", ".join(parts)


_DIFFERS, _UNDECIDED = "known-failure", "unknown"


@dataclass(frozen=True, slots=True)
class Group:
    """Cases that differ in the same way and for the same reasons: of one target, or of each."""

    reasons: tuple[str, ...]
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One way to differ, as a heading, with the cases by reason.  `tone`: its colour."""

    title: str
    tone: str
    groups: tuple[Group, ...]

    def total(self) -> int:
        """Return the number of cases."""
        return sum(len(group.cases) for group in self.groups)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results, their differences, and the number of cases with equal outcomes.

    `untested`: the number of cases that neither could be tested for.
    """

    first: Result
    second: Result
    parts: tuple[Part, ...]
    alike: int
    untested: int

    def differing(self) -> int:
        """Return the number of cases with different outcomes where both could be tested."""
        return sum(part.total() for part in self.parts if part.tone == _DIFFERS)

    def undecided(self) -> int:
        """Return the number of cases that could not be decided in one of them."""
        return sum(part.total() for part in self.parts if part.tone == _UNDECIDED)


def compare(first: Result, second: Result) -> Comparison:
    """Compare two results over all cases that one of them has."""
    ways: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = {}
    alike = untested = 0
    named = _reasons(first, second)
    for case in sorted(first.cases.keys() | second.cases.keys()):
        left, right = first.cases.get(case), second.cases.get(case)
        way = _way(first, second, left, right, named)
        if way is None and _kind(left) == "untested":
            untested += 1
        elif way is None:
            alike += 1
        else:
            title, tone, *reasons = way
            ways.setdefault((title, tone), {}).setdefault(tuple(reasons), []).append(case)
    order = (_DIFFERS, _UNDECIDED, "unsupported")
    parts = [
        Part(title, tone, _groups(reasons))
        for (title, tone), reasons in sorted(ways.items(), key=lambda w: (order.index(w[0][1]), w))
    ]
    return Comparison(first, second, tuple(parts), alike, untested)


def _reasons(first: Result, second: Result) -> tuple[Reasons, Reasons]:
    """Name the causes in each result: of one implementation, both together."""
    if first.family == second.family:
        both = Reasons([first, second])
        return both, both
    return Reasons([first]), Reasons([second])


def _groups(reasons: Mapping[tuple[str, ...], Iterable[str]]) -> tuple[Group, ...]:
    groups = [Group(reason, tuple(cases)) for reason, cases in reasons.items()]
    return tuple(sorted(groups, key=lambda group: (-len(group.cases), group.reasons)))


def _way(
    first: Result,
    second: Result,
    left: CaseRow | None,
    right: CaseRow | None,
    named: tuple[Reasons, Reasons],
) -> tuple[str, ...] | None:
    """Describe how a case differs: a heading, a tone and the reasons; None if it doesn't."""
    kinds = _kind(left), _kind(right)
    why, also = _why(left, named[0]), _why(right, named[1])
    match kinds:
        case ("fails", "fails"):
            assert left is not None and right is not None  # noqa: S101, PT018  (they have outcomes)
            is_one_rule = left.broken is not None and cause_key(left) == cause_key(right)
            if is_one_rule or split_reason(why)[0] == split_reason(also)[0]:
                return None
            reasons = (f"{first.name}: {why}", f"{second.name}: {also}")
            return "Both fail, for different reasons", _DIFFERS, *reasons
        case (same, also) if same == also:
            return None
        case ("fails", "passes"):
            return f"Fails in {first.name}, passes in {second.name}", _DIFFERS, why
        case ("passes", "fails"):
            return f"Passes in {first.name}, fails in {second.name}", _DIFFERS, also
        case ("untested", _):
            return f"Tested in {second.name} alone", "unsupported", why
        case (_, "untested"):
            return f"Tested in {first.name} alone", "unsupported", also
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
