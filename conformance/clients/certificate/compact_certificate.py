"""The short form of a client's certificate, which a repository keeps: the same in every run.

It has no times and no names of a run; what the tables say is not in it, and is put back when it is
read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from fencepost.model.table.table import LEVELS
from fencepost.properties.judging.outcome import Outcome, Overall
from fencepost.properties.requirements.requirements import OBLIGATIONS
from fencepost.traces.report.known_failures import KNOWN

_KEPT = (
    "format",
    "format_version",
    "target",
    "implementation",
    "version",
    "language",
    "broker",
    "revision",
    "verdict",
    "summary",
)


def kept(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a certificate (the JSON of `certify-client --json`)."""
    return {
        **{key: certificate[key] for key in _KEPT},
        "cases": {case["id"]: _case(case) for case in certificate["cases"]},
    }


def _case(case: Mapping[str, Any]) -> dict[str, Any]:
    found = {"outcome": case["outcome"]}
    match Outcome(case["outcome"]):
        case Outcome.PASS:
            return found
        case Outcome.UNSUPPORTED | Outcome.UNKNOWN:
            return found | {"why": case["message"]}
        case _:
            known = [note for note in case["notes"] if note.startswith(KNOWN)]
            return found | {"observed": case["observed"], "why": known[0] if known else ""}


class _Case(msgspec.Struct):
    outcome: Outcome
    why: str = ""
    observed: str = ""


class _Kept(msgspec.Struct):
    target: str
    implementation: str
    version: str
    language: str
    broker: str
    revision: str
    verdict: Overall
    summary: str
    cases: dict[str, _Case]


def short_form_error(document: Mapping[str, Any]) -> str | None:
    """Return what the short form lacks of what its readers need, or None."""
    try:
        msgspec.convert(document, _Kept)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def unfolded(document: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate in the form of the report, whichever it has; the short one has no traces."""
    if not isinstance(document["cases"], Mapping):
        return dict(document)
    cases = [_row(name, case) for name, case in document["cases"].items()]
    count = Counter((case["level"], case["outcome"]) for case in cases)
    counts = {
        level.value: {outcome.value: count[level.value, outcome.value] for outcome in Outcome}
        for level in LEVELS
    }
    return {**document, "cases": cases, "counts": counts}


def _row(name: str, case: Mapping[str, Any]) -> dict[str, Any]:
    obligation, _, scenario = name.partition("/")
    row = OBLIGATIONS[obligation]
    why = case.get("why", "")
    return {
        "id": name,
        "rule": obligation,
        "scenario": scenario,
        "about": row.sentence,
        "level": row.level.value,
        "outcome": case["outcome"],
        "message": case.get("observed") or why,
        "observed": case.get("observed", ""),
        "trace": None,
        "notes": [why] if why.startswith(KNOWN) else [],
    }
