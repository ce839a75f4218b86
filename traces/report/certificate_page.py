"""Make the page of certificates: targets by rules, what did not pass and why, and the coverage map.

Certificates of several revisions share one matrix.  The coverage map is of the revision that judged
the first certificate, by the targets that it judged.  Each trace of the page is read by the browser
only when it is opened, so there may be many; beyond the limit each certificate has an equal share,
and the page says how many are left out and how to see them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS
from fencepost.properties.mutants.mutants import find_revision
from fencepost.traces.pages.html import page
from fencepost.traces.pages.trace_data import ShownTrace
from fencepost.traces.pages.trace_page import traces_data
from fencepost.traces.report.certificate_data import (
    FAILED,
    OUTCOMES,
    SIGNS,
    CaseRow,
    CertificateView,
    by_reason,
    read_certificate,
    rules_of,
)
from fencepost.traces.report.coverage_map import covered, picture, table_rows
from fencepost.traces.report.failure_causes import causes_of, is_own, masking

MOST_TRACES = 2_000
"""The most traces in a page, some 20 KB each."""

_BY_CAUSE = {"fail", "stale-known-failure"}
_Group = tuple[str, Sequence[CaseRow], Sequence[CaseRow]]
"""A reason, the cases that show it best, and the others."""

_LONGEST = 6_000
"""The longest other form of each of these, in characters."""


@dataclass(frozen=True, slots=True)
class _Traced:
    """A trace in the page: its address, and the rules that fired up to where it ends."""

    link: str
    fired: frozenset[str]


def _fired(trace: Mapping[str, Any], revisions: Mapping[str, Any]) -> frozenset[str]:
    told = revisions[trace["revision"]]
    points = {d for step in trace["steps"] for done in step.get("m", ()) for d in done["d"]}
    found = (told["points"][point] for point in points)
    return frozenset(told["tables"][point["t"]]["rules"][point["r"]]["id"] for point in found)


def certificate_page(
    documents: Sequence[Mapping[str, Any]], traces: Sequence[Mapping[str, ShownTrace]]
) -> str:
    """Make the page of certificates.  `traces`: of each, by the names that its cases have."""
    revisions = [find_revision(document["revision"]) for document in documents]
    held = [read_certificate(d, r) for d, r in zip(documents, revisions, strict=True)]
    shown: list[ShownTrace] = []
    places: list[tuple[int, str]] = []
    share = MOST_TRACES // max(1, len(traces))
    for number, named in enumerate(traces):
        for name in list(named)[:share]:
            shown.append(replace(named[name], longest=_LONGEST))
            places.append((number, name))
    data = traces_data(shown)
    found = {
        place: _Traced(f"#{trace['key']}", _fired(trace, data["revisions"]))
        for place, trace in zip(places, data["traces"], strict=True)
    }
    first = [h for h in held if h.revision == held[0].revision]
    told = covered(first, revisions[0])
    title = ", ".join(h.target for h in held[:3]) + (" and others" if len(held) > 3 else "")
    return page(
        "certificate.html",
        f"{title}: {'certificate' if len(held) == 1 else 'certificates'}",
        {**data, "index": True, "said": _sentences(held)},
        traces=data["traces"],
        left=[(h.target, len(t)) for h, t in zip(held, traces, strict=True) if len(t) > share],
        share=share,
        held=held,
        outcomes=OUTCOMES,
        signs=SIGNS,
        levels=[level.value for level in LEVELS],
        matrix=_matrix(held, revisions[0], found),
        reasons=[_reasons(number, h, found) for number, h in enumerate(held)],
        revision=revisions[0].name,
        targets=[h.target for h in first],
        picture=picture(revisions[0], told),
        tables=table_rows(revisions[0], told),
        counts=_counts(told.how),
    )


def _counts(how: Mapping[str, str]) -> dict[str, int]:
    return {word: sum(value == word for value in how.values()) for word in ("yes", "never", "out")}


def _matrix(
    held: Sequence[CertificateView], revision: Revision, places: Mapping[tuple[int, str], _Traced]
) -> list[dict[str, Any]]:
    """Return rules by level, and a cell for each rule and target: its cases, passes counted."""
    found = []
    rules = rules_of(held, revision)
    tables = {rule.id: table.name for table, rule in revision.rules()}
    for level, names in rules.items():
        rows = []
        for rule in names:
            cells = [_cell(number, h, h.of_rule(rule), places) for number, h in enumerate(held)]
            bad = any(case["outcome"] != "pass" for cell in cells for case in cell["cases"])
            rows.append({"rule": rule, "table": tables.get(rule, ""), "cells": cells, "bad": bad})
        found.append({"level": level, "rows": rows})
    return found


def _cell(
    number: int,
    held: CertificateView,
    cases: Sequence[CaseRow],
    places: Mapping[tuple[int, str], _Traced],
) -> dict[str, Any]:
    return {
        "target": held.target,
        "passed": sum(case.outcome == "pass" for case in cases),
        "cases": [
            {
                "id": case.id,
                "outcome": case.outcome,
                "link": _link(number, case, places),
                "anchor": _anchor(number, case),
                "before": _before(number, case, places),
            }
            for case in cases
            if case.outcome != "pass"
        ],
    }


def _link(number: int, case: CaseRow, places: Mapping[tuple[int, str], _Traced]) -> str:
    """Return the link to a case's trace, or else to the reason."""
    place = places.get((number, case.trace)) if case.trace is not None else None
    return place.link if place is not None else f"#{_anchor(number, case)}"


def _before(number: int, case: CaseRow, places: Mapping[tuple[int, str], _Traced]) -> bool:
    """Return whether a case failed before the rule that it is about."""
    if case.outcome not in FAILED:
        return False
    place = places.get((number, case.trace)) if case.trace is not None else None
    return not is_own(case) if place is None else case.rule not in place.fired


def _anchor(number: int, case: CaseRow) -> str:
    return f"case-{number + 1}-{case.id.replace('/', '--')}"


def _reasons(
    number: int, held: CertificateView, places: Mapping[tuple[int, str], _Traced]
) -> list[dict[str, Any]]:
    """Return what did not pass, by outcome: failures by cause, all else by reason.

    Each reason has the cases that show it best, and the rest: those about other rules.
    """

    def entry(case: CaseRow) -> dict[str, Any]:
        place = places.get((number, case.trace)) if case.trace is not None else None
        return {
            "id": case.id,
            "anchor": _anchor(number, case),
            "trace": None if place is None else place.link,
            "before": _before(number, case, places),
            "file": case.trace,
            "level": case.level,
        }

    found = []
    for outcome in OUTCOMES[1:]:
        cases = [case for case in held.cases if case.outcome == outcome]
        if not cases:
            continue
        groups = _by_cause(cases) if outcome in _BY_CAUSE else _by_reason(cases)
        reasons = [
            {"said": said, "cases": [*map(entry, own)], "rest": [*map(entry, rest)]}
            for said, own, rest in groups
        ]
        first = masking(causes_of(cases)) if outcome in _BY_CAUSE else ""
        found.append({"outcome": outcome, "total": len(cases), "reasons": reasons, "first": first})
    return found


def _by_cause(cases: Sequence[CaseRow]) -> list[_Group]:
    return [
        (cause.cases[0].reason(), cause.own or cause.others, cause.others if cause.own else ())
        for cause in causes_of(cases)
    ]


def _by_reason(cases: Sequence[CaseRow]) -> list[_Group]:
    return [(said, members, ()) for said, members in by_reason(cases)]


def _sentences(held: Sequence[CertificateView]) -> dict[str, str]:
    """Return the reasons of cases by their anchors, for the search."""
    return {
        _anchor(number, case): case.message
        for number, one in enumerate(held)
        for case in one.cases
        if case.outcome != "pass"
    }
