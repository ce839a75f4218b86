"""Make the page of certificates: targets by rules, what did not pass and why, and the coverage map.

Certificates of several revisions share one matrix.  The coverage map is of the revision that judged
the first certificate, by the targets that it judged.  Each trace of the page is read by the browser
only when it is opened, so there may be many; beyond the limit each certificate has an equal share,
and the page says how many are left out and how to see them.

Make the coverage map: the decision table and the state diagram, coloured by what was exercised.

A rule counts as exercised if a case of it passes on some target.  A rule that no target can reach
is grey, with the reason; a rule that could be reached and was not is red.

Make the page of a client's certificate: obligations by scenarios, and both sides of each trace.

A trace has a column for what was done, one for what the client sent and was answered, and one for
what its users saw.

Make the page of a search, or of a comparison: what was found, each finding with its trace.

Findings of each kind, such as new, intermittent and known ones, are in a section of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import atan2, cos, hypot, sin
from typing import Any

from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.history.words import plural
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.table.table import LEVELS
from fencepost.properties.judging.known_failures import read_notes
from fencepost.traces.pages.decisions import edges
from fencepost.traces.pages.html import page, site_page
from fencepost.traces.pages.trace_page import PageTrace, page_with_traces, traces_data
from fencepost.traces.report.certificate_data import (
    FAILED,
    OUTCOMES,
    SIGNS,
    CaseRow,
    CertificateView,
    FindingSection,
    by_reason,
    causes_of,
    is_own,
    masking,
    read_certificate,
    rules_of,
)

_PLACES = {
    GroupState.ABSENT: (105, 100),
    GroupState.EMPTY: (435, 100),
    GroupState.PREPARING: (765, 100),
    GroupState.COMPLETING: (765, 300),
    GroupState.STABLE: (435, 300),
}
_WIDE, _HIGH = 184, 52


@dataclass(frozen=True, slots=True)
class RuleExercise:
    """The exercise of each rule: `yes`, `never` or `out`; and the reason for `out`."""

    how: Mapping[str, str]
    why: Mapping[str, str]

    def share(self, rules: Sequence[str]) -> tuple[int, int]:
        """Return how many of these were exercised, of those that can be."""
        able = [rule for rule in rules if self.how[rule] != "out"]
        return sum(self.how[rule] == "yes" for rule in able), len(able)

    def tone(self, rules: Sequence[str]) -> str:
        """Return `yes` if all that can be were exercised, else `some`, `never`, or `out`."""
        done, able = self.share(rules)
        if not able:
            return "out"
        return "yes" if done == able else "some" if done else "never"


def covered(certificates: Sequence[CertificateView], revision: Revision) -> RuleExercise:
    """Return what all targets together exercised of a revision."""
    how, why = {}, {}
    for _, rule in revision.rules():
        if any(rule.id in held.covered for held in certificates):
            how[rule.id] = "yes"
        elif all(rule.id in held.unreachable for held in certificates):
            how[rule.id] = "out"
            why[rule.id] = certificates[0].unreachable[rule.id]
        else:
            how[rule.id] = "never"
    return RuleExercise(how, why)


def table_rows(revision: Revision, exercise: RuleExercise) -> list[dict[str, Any]]:
    """Return the decision table: each table with its rules, and how they were exercised."""
    tables = []
    for table in revision.tables.values():
        rows = []
        for number, rule in enumerate(table.rules(), start=1):
            does = [do.value for do in rule.effect] + ([rule.answer.name] if rule.answer else [])
            rows.append(
                {
                    "id": rule.id,
                    "kind": f"check {number}" if number <= len(table.checks) else "row",
                    "when": table.condition(rule),
                    "then": "; ".join(does) or "nothing changes",
                    "level": rule.level.value,
                    "how": exercise.how[rule.id],
                    "why": exercise.why.get(rule.id, ""),
                }
            )
        done, able = exercise.share([row["id"] for row in rows])
        tables.append({"name": table.name, "rules": rows, "done": done, "able": able})
    return tables


def picture(revision: Revision, exercise: RuleExercise) -> dict[str, Any]:
    """Lay out the state diagram: the states, and the edges between them."""
    states, arrows = [], []
    for edge in edges(revision):
        done, able = exercise.share(edge.rules)
        edge_data = {
            "rules": list(edge.rules),
            "tone": exercise.tone(edge.rules),
            "share": f"{done} of {able}",
            "start": edge.start.value,
            "end": edge.end.value,
            "never": [rule for rule in edge.rules if exercise.how[rule] == "never"],
        }
        if edge.start not in _PLACES or edge.end not in _PLACES:
            continue
        if edge.start is edge.end:
            x, y = _PLACES[edge.start]
            states.append(edge_data | {"x": x - _WIDE // 2, "y": y - _HIGH // 2, "cx": x, "cy": y})
        else:
            arrows.append(edge_data | _curve(*_PLACES[edge.start], *_PLACES[edge.end]))
    return {"states": states, "arrows": arrows, "wide": _WIDE, "high": _HIGH}


def _curve(x1: int, y1: int, x2: int, y2: int) -> dict[str, Any]:
    """Return a curve from box to box, and the place of its label; opposite edges bend apart."""
    angle = atan2(y2 - y1, x2 - x1)
    bend = 40 if hypot(x2 - x1, y2 - y1) < 500 else 120
    across = (-sin(angle), cos(angle))
    middle = ((x1 + x2) / 2 + across[0] * -bend, (y1 + y2) / 2 + across[1] * -bend)
    start, end = _edge(x1, y1, *middle), _edge(x2, y2, *middle)
    return {
        "path": f"M{start[0]} {start[1]}Q{middle[0]:.0f} {middle[1]:.0f} {end[0]} {end[1]}",
        "tx": round((start[0] + end[0]) / 4 + middle[0] / 2),
        "ty": round((start[1] + end[1]) / 4 + middle[1] / 2),
    }


def _edge(x: int, y: int, tx: float, ty: float) -> tuple[int, int]:
    """Return where the line from a box's centre leaves the box."""
    dx, dy = tx - x, ty - y
    scale = min(
        (_WIDE / 2 + 5) / abs(dx) if dx else 99.0, (_HIGH / 2 + 5) / abs(dy) if dy else 99.0
    )
    return round(x + dx * scale), round(y + dy * scale)


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
    data = revisions[trace["revision"]]
    points = {d for step in trace["steps"] for done in step.get("m", ()) for d in done["d"]}
    cells = (data["points"][point] for point in points)
    return frozenset(data["tables"][point["t"]]["rules"][point["r"]]["id"] for point in cells)


def certificate_page(
    documents: Sequence[Mapping[str, Any]], traces: Sequence[Mapping[str, PageTrace]]
) -> str:
    """Make the page of certificates.  `traces`: of each, by the names that its cases have."""
    revisions = [find_revision(document["revision"]) for document in documents]
    held = [read_certificate(d, r) for d, r in zip(documents, revisions, strict=True)]
    pages: list[PageTrace] = []
    places: list[tuple[int, str]] = []
    share = MOST_TRACES // max(1, len(traces))
    for number, named in enumerate(traces):
        for name in list(named)[:share]:
            pages.append(replace(named[name], longest=_LONGEST))
            places.append((number, name))
    data = traces_data(pages)
    traced = {
        place: _Traced(f"#{trace['key']}", _fired(trace, data["revisions"]))
        for place, trace in zip(places, data["traces"], strict=True)
    }
    first = [h for h in held if h.revision == held[0].revision]
    exercise = covered(first, revisions[0])
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
        matrix=_matrix(held, revisions[0], traced),
        reasons=[_reasons(number, h, traced) for number, h in enumerate(held)],
        revision=revisions[0].name,
        targets=[h.target for h in first],
        picture=picture(revisions[0], exercise),
        tables=table_rows(revisions[0], exercise),
        counts=_counts(exercise.how),
    )


def _counts(how: Mapping[str, str]) -> dict[str, int]:
    return {word: sum(value == word for value in how.values()) for word in ("yes", "never", "out")}


def _matrix(
    held: Sequence[CertificateView], revision: Revision, places: Mapping[tuple[int, str], _Traced]
) -> list[dict[str, Any]]:
    """Return rules by level, and a cell for each rule and target: its cases, passes counted."""
    levels = []
    rules = rules_of(held, revision)
    tables = {rule.id: table.name for table, rule in revision.rules()}
    for level, names in rules.items():
        rows = []
        for rule in names:
            cells = [_cell(number, h, h.of_rule(rule), places) for number, h in enumerate(held)]
            bad = any(case["outcome"] != "pass" for cell in cells for case in cell["cases"])
            rows.append({"rule": rule, "table": tables.get(rule, ""), "cells": cells, "bad": bad})
        levels.append({"level": level, "rows": rows})
    return levels


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

    outcomes = []
    for outcome in OUTCOMES[1:]:
        cases = [case for case in held.cases if case.outcome == outcome]
        if not cases:
            continue
        groups = _by_cause(cases) if outcome in _BY_CAUSE else _by_reason(cases)
        reasons = [
            {"said": reason, "cases": [*map(entry, own)], "rest": [*map(entry, rest)]}
            for reason, own, rest in groups
        ]
        first = masking(causes_of(cases)) if outcome in _BY_CAUSE else ""
        outcomes.append(
            {"outcome": outcome, "total": len(cases), "reasons": reasons, "first": first}
        )
    return outcomes


def _by_cause(cases: Sequence[CaseRow]) -> list[_Group]:
    return [
        (cause.cases[0].reason(), cause.own or cause.others, cause.others if cause.own else ())
        for cause in causes_of(cases)
    ]


def _by_reason(cases: Sequence[CaseRow]) -> list[_Group]:
    return [(reason, members, ()) for reason, members in by_reason(cases)]


def _sentences(held: Sequence[CertificateView]) -> dict[str, str]:
    """Return the reasons of cases by their anchors, for the search."""
    return {
        _anchor(number, case): case.message
        for number, view in enumerate(held)
        for case in view.cases
        if case.outcome != "pass"
    }


_BAD = OUTCOMES[1:]
_COLUMNS = {"did": "done", "sent": "wire", "saw": "user", "delivered": "user"}
"""Kinds of rows, and the column that each stands in; all others are told across."""


def client_page(
    document: Mapping[str, Any],
    traces: Mapping[str, Mapping[str, Any]],
    areas: Mapping[str, str],
    area_of: Mapping[str, str],
    title: str = "",
) -> str:
    """Make the page.

    `traces`: by the names that its cases have.  `areas`: the titles of the areas of obligations, in
    order; `area_of`: each obligation's.  `title`: "" for a certificate's.
    """
    cases = [_with_anchor(case) for case in document["cases"]]
    return site_page(
        "client_certificate.html",
        title or f"{document['target']} on {document['broker']}: certificate",
        document=document,
        tone=client_tone(document),
        levels=[level.value for level in LEVELS],
        outcomes=OUTCOMES,
        signs=SIGNS,
        parts=_parts(cases, areas, area_of),
        groups=_groups(cases),
        traces=[
            {**_trace(traces[case["trace"]]), "anchor": case["anchor"], "case": case}
            for case in sorted(cases, key=lambda case: case["outcome"] == OUTCOMES[0])
            if case["trace"] in traces
        ],
    )


def client_tone(document: Mapping[str, Any]) -> str:
    """Return the colour of a certificate: its verdict, or `excused` where known failures are."""
    known = document["counts"]["MUST"]["known-failure"]
    excused = document["verdict"] == "holds" and known
    return "excused" if excused else str(document["verdict"])


def _with_anchor(case: Mapping[str, Any]) -> dict[str, Any]:
    reason = read_notes(case["notes"]).reason or case["message"] or "no reason is recorded"
    anchor = case["id"].replace("/", "--")
    return {**case, "reason": reason, "anchor": anchor, "others": [*case["notes"]]}


def _parts(
    cases: Sequence[Mapping[str, Any]], areas: Mapping[str, str], area_of: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return areas, each with a row for each obligation: its level, sentence and cases."""
    rows: dict[str, dict[str, Any]] = {}
    for case in cases:
        new = {"name": case["rule"], "level": case["level"], "about": case["about"], "cases": []}
        rows.setdefault(case["rule"], new)["cases"].append(case)
    parts = []
    for area, title in areas.items():
        own = [row for name, row in rows.items() if area_of.get(name) == area]
        if own:
            parts.append({"title": title, "rows": own})
    return parts


def _groups(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what did not pass, by outcome and reason, the commonest first."""
    groups = []
    for outcome in _BAD:
        own = [case for case in cases if case["outcome"] == outcome]
        if not own:
            continue
        count = Counter(case["reason"] for case in own)
        reasons = sorted(count, key=lambda reason: (-count[reason], reason))
        groups.append(
            {
                "outcome": outcome,
                "total": plural(len(own), "case"),
                "reasons": [
                    {"said": reason, "cases": [c for c in own if c["reason"] == reason]}
                    for reason in reasons
                ],
            }
        )
    return groups


def _trace(trace: Mapping[str, Any]) -> dict[str, Any]:
    wrong = trace["wrong_at_ms"]
    rows = [
        {
            "at": f"{row['at_ms'] / 1000:.3f}",
            "life": row["life"],
            "column": _COLUMNS.get(row["kind"], "across"),
            "said": row["said"],
            "wrong": wrong is not None and abs(row["at_ms"] - wrong) <= 1,
        }
        for row in trace["rows"]
    ]
    return {
        "rows": rows,
        "left_out": trace["left_out"],
        "lives": trace["lives"],
        "stderr": trace.get("stderr", {}),
    }


def findings_page(
    heading: str,
    outcome: str,
    facts: Sequence[tuple[str, str]],
    groups: Sequence[FindingSection],
    traces: Mapping[str, PageTrace],
    *,
    kind: str = "findings",
) -> str:
    """Make the page.

    `outcome`: of all, `holds`, `excused`, `violated` or `unknown`; `traces`: by name; `kind`: what
    the page shows, in a word.
    """
    return page_with_traces(
        "findings.html",
        heading,
        traces,
        kind=kind,
        outcome=outcome,
        facts=[(name, value) for name, value in facts if value],
        groups=[group for group in groups if group.findings],
    )
