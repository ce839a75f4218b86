"""Pages that the tests look at: findings of real brokers, a certificate with every outcome."""

from __future__ import annotations

import html
import json
import re
from typing import Any

from support.places import ROOT

from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.pages.trace_page import PageTrace, trace_page
from fencepost.traces.report.certificate_page import certificate_page

DOCS = ROOT / "docs"
FINDINGS = DOCS / "findings"


def finding(name: str) -> PageTrace:
    return PageTrace(TraceFile.read(FINDINGS / f"{name}.json"), name, f"docs/findings/{name}.json")


def finding_page(*names: str) -> str:
    return trace_page([finding(name) for name in names])


def page_text(page: str) -> str:
    """Return the text of a page's body, also what is closed, as one line."""
    body = page[page.index("<main") : page.index("</main>")]
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body)))


def kept_certificate(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DOCS / "certificates" / f"{name}.json").read_text())
    return document


TRACE = "traces/HEARTBEAT-STABLE__restart-session.json"
EVERY_OUTCOME = {
    "HEARTBEAT-STABLE/restart-session": "fail",
    "HEARTBEAT-STABLE/member-beats": "pass",
    "HEARTBEAT-PREPARING/one": "known-failure",
    "HEARTBEAT-PREPARING/two": "stale-known-failure",
    "JOIN-GROUP-FULL/one": "unsupported",
    "JOIN-GROUP-FULL/two": "unknown",
    "JOIN-PENDING-INSTANCE/one": "skipped",
}


def certificate() -> dict[str, Any]:
    """One case of each outcome; the first left a trace."""
    cases = [
        {
            "id": name,
            "about": "",
            "level": {"H": "MUST", "J": "SHOULD"}[name[0]],
            "rules": [name.partition("/")[0]],
            "outcome": outcome,
            "rule": None,
            "message": "" if outcome == "pass" else f"what was seen in {name}",
            "observed": "",
            "trace": TRACE if outcome == "fail" else None,
            "attempts": 1,
            "notes": ["known failure: a reason"] if outcome == "known-failure" else [],
        }
        for name, outcome in EVERY_OUTCOME.items()
    ]
    return {
        "format": "fencepost-certificate",
        "target": "some:target",
        "implementation": "a broker",
        "version": "1",
        "revision": "kafka-4",
        "verdict": "violated",
        "summary": "some:target (a broker 1) under kafka-4: violated by 1 case",
        "rules": {
            "covered": ["HEARTBEAT-STABLE", "SYNC-COMPLETING-LEADER"],
            "missed": ["HEARTBEAT-PREPARING"],
            "unreachable": {"JOIN-GROUP-DEAD": "no group is ever Dead"},
        },
        "cases": cases,
    }


def certificate_text() -> str:
    return certificate_page([certificate()], [{TRACE: finding("restart-session")}])
