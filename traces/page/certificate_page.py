"""Make the page of certificates: targets by rules, what did not pass and why, and the coverage map.

Certificates of several revisions share one matrix.  The coverage map is of the revision that judged
the first certificate, by the targets that it judged.  A limited number of traces is in the page;
for the others the page names the command that shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS
from fencepost.properties.mutants.catalogue import find_revision
from fencepost.traces.page.certificate_data import (
    FAILED,
    OUTCOMES,
    SIGNS,
    CaseRow,
    CertificateView,
    read_certificate,
    rules_of,
)
from fencepost.traces.page.coverage import covered, picture, table_rows
from fencepost.traces.page.render import page
from fencepost.traces.page.trace_data import ShownTrace
from fencepost.traces.page.trace_page import traces_data

MOST_TRACES = 250
"""The most traces in a page, so that a browser opens it at once."""

_LONGEST = 6_000
"""The longest other form of each of these, in characters."""


@dataclass(frozen=True, slots=True)
class _Traced:
    """A trace in the page: its address, and the rules that fired up to where it ends."""

    link: str
    fired: frozenset[str]

    def before(self, case: CaseRow) -> bool:
        """Return whether a case failed before the rule that it is about."""
        return case.outcome in FAILED and case.rule not in self.fired


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
    for number, named in enumerate(traces):
        for name, each in named.items():
            if len(shown) < MOST_TRACES:
                shown.append(replace(each, longest=_LONGEST))
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
        {**data, "index": True},
        traces=data["traces"],
        left=sum(map(len, traces)) - len(shown),
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
    place = places.get((number, case.trace)) if case.trace is not None else None
    return place is not None and place.before(case)


def _anchor(number: int, case: CaseRow) -> str:
    return f"case-{number + 1}-{case.id.replace('/', '--')}"


def _reasons(
    number: int, held: CertificateView, places: Mapping[tuple[int, str], _Traced]
) -> list[dict[str, Any]]:
    """Return what did not pass, by outcome; cases with the same reason are grouped."""
    found = []
    for outcome in OUTCOMES[1:]:
        by_reason: dict[str, list[dict[str, Any]]] = {}
        for case in held.cases:
            if case.outcome == outcome:
                place = places.get((number, case.trace)) if case.trace is not None else None
                by_reason.setdefault(case.reason(), []).append(
                    {
                        "id": case.id,
                        "anchor": _anchor(number, case),
                        "trace": None if place is None else place.link,
                        "before": _before(number, case, places),
                        "file": case.trace,
                        "level": case.level,
                    }
                )
        if by_reason:
            reasons = sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0]))
            total = sum(len(cases) for _, cases in reasons)
            found.append({"outcome": outcome, "total": total, "reasons": reasons})
    return found
