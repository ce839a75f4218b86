"""What a fuzz run found, as a page: from the JSON of the run, with the traces beside it.

Decides the words of the page's findings: new ones, those that don't come each time, those that
nobody tried again, and known ones, never as one figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fencepost.traces.files.causes import cause_sentence
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.page.findings_page import FindingEntry, FindingSection, findings_page
from fencepost.traces.page.trace_data import ShownTrace

_KINDS = {
    "findings": ("violations", "fail"),
    "flaky": ("violations that don't come each time", "unknown"),
    "unconfirmed": ("violations that nobody tried again", "unknown"),
    "known_findings": ("known failures", "known-failure"),
}
_LONGEST = 60_000


def fuzz_index(document: Mapping[str, Any], traces: Mapping[str, TraceFile]) -> str:
    """The page of a run.  `traces`: by the names of their files."""
    groups = [
        FindingSection(title, outcome, [_told(row) for row in document.get(key, ())])
        for key, (title, outcome) in _KINDS.items()
    ]
    shown = {
        name: ShownTrace(t, t.case or name, name, _LONGEST) for name, t in sorted(traces.items())
    }
    made = f"{document['implementation']} {document['version']}".strip()
    counts = ", ".join(f"{len(group.findings)} {group.title}" for group in groups if group.findings)
    heading = f"{document['target']} ({made}): {counts or 'no violation found'}"
    outcome = ("holds", "violated", "unknown")[document["exit_code"]]
    return findings_page(heading, outcome, list(_facts(document)), groups, shown)


def traces_of(document: Mapping[str, Any], folder: Path) -> dict[str, TraceFile]:
    """The traces of a run that lie in a folder.  Raises TraceFileError for a bad one."""
    rows = [row for key in _KINDS for row in document.get(key, ())]
    names = [row["trace"] for row in rows if row["trace"] is not None]
    return {name: TraceFile.read(folder / name) for name in names if (folder / name).is_file()}


def _told(row: Mapping[str, Any]) -> FindingEntry:
    seen = "seen once" if row["seen"] == 1 else f"seen {row['seen']} times"
    if row["runs"]:
        seen += f"; failed {row['failed']} of {row['runs']} times more"
    sentence = row["message"] + (f" Known: {row['known']}." if row.get("known") else "")
    if row.get("cause"):
        sentence += f" {cause_sentence(row['cause'])}"
    rule = row["rule"] or "no rule"
    return FindingEntry(row["shape"], rule, row["level"], sentence, seen, row["trace"])


def _facts(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    covered = document["coverage"]
    rules, never = len(covered["rules"]), len(covered["never"])
    yield "judged by", document["revision"]
    yield "seed", str(document["seed"])
    yield "sent", f"{document['requests']:,} requests in {document['plans']:,} plans"
    yield "rules reached", f"{rules} of {rules + never} that can be"
    yield "coverage", f"{covered['pairs']:,} pairs of rules, {covered['states']:,} states"
    outcomes = ", ".join(f"{count:,} {word}" for word, count in document["outcomes"].items())
    yield "plans", outcomes or "none"
    if document["gave_up"]:
        yield "ended early", document["gave_up"]
