"""Follow each cause of failures over the versions of an implementation: when it came, when it went.

Only some versions were tested, so a cause came *after* the last version that is known to be free of
it, and is gone *by* the first that is again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from fencepost.conformance.site.reasons import Reasons
from fencepost.conformance.site.site_results import Result
from fencepost.traces.report.certificate_data import FAILED, CaseRow

SEEN, GONE, OTHERWISE, UNKNOWN, UNTESTED = "seen", "gone", "otherwise", "unknown", "untested"
_LINKED = re.compile(r"(?P<why>.*?) \((?P<link>https://[^\s()]+)\)", re.DOTALL)
_EXCUSED = re.compile(r"\S+ has no (?P<rule>[A-Z][A-Z0-9-]+)(?:: (?P<why>.*))?", re.DOTALL)
_TICKET = re.compile(r"\b[A-Z]+-\d+\b|/(?:pull|issues)/(\d+)")


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of failures.

    `links`: the addresses that are recorded with it, each with the name of its ticket, such as
    `KAFKA-9801`, if it is a ticket's.  `cases`: all that failed by it.  `marks`: for each result
    what is known there.  `story`: when it was seen, a sentence for each line of versions.
    """

    why: str
    links: tuple[tuple[str, str | None], ...]
    cases: tuple[str, ...]
    marks: tuple[str, ...]
    story: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Excused:
    """A rule that some versions are not held to, since the revision that judges them lacks it.

    `why`: what the revision says of it, or ""; `source`: where the rule is from, which may name the
    ticket; `cases`: how many ask for it; `story`: the versions, a sentence for each line of them.
    """

    rule: str
    why: str
    source: str
    cases: int
    story: tuple[str, ...]


def excused(results: Sequence[Result]) -> list[Excused]:
    """What results were not held to, by rule; of rules that another one was held to.

    What an old version is excused from may be a bug that a later one mended.
    """
    found: dict[tuple[str, str], set[str]] = {}
    places: dict[str, set[str]] = {}
    held = {c.rule for r in results for c in r.view.cases if c.outcome != "unsupported"}
    for result in results:
        for case in result.view.cases:
            told = _EXCUSED.fullmatch(case.message) if case.outcome == "unsupported" else None
            if told is not None and told["rule"] in held:
                found.setdefault((told["rule"], told["why"] or ""), set()).add(case.id)
                places.setdefault(told["rule"], set()).add(result.slug)
    sources = {rule.id: rule.source for r in results for _, rule in r.revision.rules()}
    return [
        Excused(rule, why, sources.get(rule, ""), len(cases), _free(results, places[rule]))
        for (rule, why), cases in sorted(found.items())
    ]


def _free(results: Sequence[Result], slugs: Collection[str]) -> tuple[str, ...]:
    """The versions that are named, by line: `old coordinator: 2.3.0 to 2.8.0`."""
    story = []
    for line, inner in groupby(results, key=lambda result: result.line):
        labels = [result.label for result in inner if result.slug in slugs]
        if labels:
            said = labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"
            story.append(f"{line}: {said}")
    return tuple(story)


def causes(results: Sequence[Result], rule: str | None = None) -> list[Cause]:
    """The causes of all failures of these results, or of the cases of one rule, oldest first.

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
    found = [
        _cause(why, tuple(links.get(why, {}).items()), tuple(sorted(ids)), results, reasons)
        for why, ids in cases.items()
    ]
    return sorted(found, key=lambda one: (_shape(one.marks), -len(one.cases), one.why))


def _shape(marks: Sequence[str]) -> tuple[int, int]:
    """The first and the last place where a cause is seen."""
    places = [place for place, mark in enumerate(marks) if mark == SEEN]
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
        if said := _told([(result.label, mark) for result, mark in inner]):
            story.append(f"{line}: {said}")
    return Cause(why, links, cases, marks, tuple(story))


def split_reason(reason: str) -> tuple[str, str | None, str | None]:
    """A reason without its address, the address, and the name of the ticket there."""
    found = _LINKED.fullmatch(reason)
    if found is None:
        return reason, None, None
    link = found["link"]
    named = _TICKET.search(link)
    if named is None:
        return found["why"], link, None
    return found["why"], link, f"#{named[1]}" if named[1] else named[0]


def _mark(why: str, cases: Iterable[str], there: Mapping[str, CaseRow], reasons: Reasons) -> str:
    held = [there[case] for case in cases if case in there]
    outcomes = {case.outcome for case in held}
    if any(case.outcome in FAILED and split_reason(reasons.of(case))[0] == why for case in held):
        return SEEN
    if "pass" in outcomes:
        return GONE
    if outcomes & FAILED:
        return OTHERWISE
    return UNKNOWN if "unknown" in outcomes else UNTESTED


def _told(line: Sequence[tuple[str, str]]) -> str:
    """What became of a cause in one line of versions; "" where it was never seen."""
    places = [place for place, (_, mark) in enumerate(line) if mark == SEEN]
    if not places:
        return ""
    first, last = places[0], places[-1]
    labels = [label for label, _ in line]
    said = labels[first] if first == last else f"{labels[first]} to {labels[last]}"
    if len(line) == 1:
        return f"seen in {said}"
    free = [place for place, (_, mark) in enumerate(line) if mark == GONE]
    before = [labels[place] for place in free if place < first]
    after = [labels[place] for place in free if place > last]
    parts = [f"seen in {said}"]
    if before:
        parts.append(f"came after {before[-1]}")
    if after:
        parts.append(f"gone by {after[0]}")
    elif last == len(line) - 1:
        parts.append("still there in the newest")
    return ", ".join(parts)
