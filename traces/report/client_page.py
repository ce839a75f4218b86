"""Make the page of a client's certificate: obligations by scenarios, and both sides of each trace.

A trace has a column for what was done, one for what the client sent and was answered, and one for
what its users saw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.model.history.words import plural
from fencepost.model.table.table import LEVELS
from fencepost.traces.pages.html import site_page
from fencepost.traces.report.certificate_data import OUTCOMES, SIGNS

_KNOWN = "known failure: "
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
    cases = [_shown(case) for case in document["cases"]]
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
            for case in cases
            if case["trace"] in traces
        ],
    )


def client_tone(document: Mapping[str, Any]) -> str:
    """The colour of a client's certificate: its verdict, or `excused` where known failures are."""
    known = document["counts"]["MUST"]["known-failure"]
    excused = document["verdict"] == "holds" and known
    return "excused" if excused else str(document["verdict"])


def _shown(case: Mapping[str, Any]) -> dict[str, Any]:
    known = [note for note in case["notes"] if note.startswith(_KNOWN)]
    reason = known[0].removeprefix(_KNOWN) if known else case["message"] or "no reason is recorded"
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
    found = []
    for area, title in areas.items():
        own = [row for name, row in rows.items() if area_of.get(name) == area]
        if own:
            found.append({"title": title, "rows": own})
    return found


def _groups(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what did not pass, by outcome and reason, the commonest first."""
    found = []
    for outcome in _BAD:
        own = [case for case in cases if case["outcome"] == outcome]
        if not own:
            continue
        count = Counter(case["reason"] for case in own)
        reasons = sorted(count, key=lambda reason: (-count[reason], reason))
        found.append(
            {
                "outcome": outcome,
                "total": plural(len(own), "case"),
                "reasons": [
                    {"said": said, "cases": [c for c in own if c["reason"] == said]}
                    for said in reasons
                ],
            }
        )
    return found


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
    return {"rows": rows, "left_out": trace["left_out"], "lives": trace["lives"]}
