"""Make the page of a nightly run: new bugs first, then how good the search was.

The order: bugs that nobody knew, bugs that are still open, what each part did, coverage compared
with the night before, whether the search still finds the mutants; and last the known bugs, folded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.model.history.words import plural
from fencepost.traces.files.trace_causes import cause_sentence
from fencepost.traces.pages.trace_data import ShownTrace
from fencepost.traces.pages.trace_page import page_with_traces

_OUTCOMES = {0: "holds", 1: "violated"}
_STATUSES = {
    "done": "pass",
    "cut short": "unknown",
    "skipped": "unsupported",
    "failed": "fail",
    "unavailable": "unsupported",
}
_TESTS = "tests"

SURE_WORDS = {
    "each time": "it happens each time",
    "now and then": "it happens now and then",
    "not tried again": "there was no time to try it again",
}
"""How surely something comes again, in words."""


@dataclass(frozen=True, slots=True)
class BugEntry:
    """A bug; `commands`: to show it again, and to keep it."""

    name: str
    level: str
    sentence: str
    seen: str
    trace: str | None
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BugSection:
    """Bugs of one status; `outcome`: the word that colours them; `folded`: shown folded."""

    title: str
    outcome: str
    note: str
    folded: bool
    findings: Sequence[BugEntry]


_SURE = "each time"
_GROUPS = (
    ("new", "New", "fail", "Not listed, not in the corpus, and not seen before.", False),
    (
        "unsure",
        "New, and not sure",
        "unknown",
        "They don't happen each time, or there was no time to check. The next night tries again.",
        True,
    ),
    (
        "open",
        "Still open",
        "unknown",
        "Found on an earlier night, and neither adopted nor listed since.",
        False,
    ),
    ("adopted", "In the corpus", "known-failure", "The tests replay a trace of each.", True),
    ("known", "Known failures", "known-failure", "Listed with their reason.", True),
)


def nightly_page(document: Mapping[str, Any], shown: Mapping[str, ShownTrace]) -> str:
    """Make the page of a report.  `shown`: its traces, by the names that entries use."""
    entries = document["entries"]
    groups = [
        BugSection(title, colour, note, folded, [_told(e) for e in entries if _kind(e) == status])
        for status, title, colour, note, folded in _GROUPS
    ]
    heading = f"Night of {document['night']}: {document['summary']}"
    return page_with_traces(
        "nightly.html",
        heading,
        shown,
        outcome=_OUTCOMES.get(document["exit_code"], "unknown"),
        facts=_facts(document),
        groups=[group for group in groups if group.findings],
        tally=_tally(entries),
        kinds=[(status, title, colour) for status, title, colour, *_ in _GROUPS],
        parts=[{**part, "outcome": _STATUSES[part["status"]]} for part in document["parts"]],
        coverage=document["coverage"],
        before=document["before"],
        mutants=document["mutants"],
        duration=_duration,
        change=_change,
    )


def _kind(entry: Mapping[str, Any]) -> str:
    """Return the group that it belongs to."""
    status: str = entry["status"]
    return "unsure" if status == "new" and entry["sure"] != _SURE else status


def _tally(entries: Sequence[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """Return the count of each group by implementation, the worst first."""
    counted: dict[str, Counter[str]] = {}
    for entry in entries:
        counted.setdefault(entry["origin"], Counter())[_kind(entry)] += 1
    return counted


def _facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    requests = sum(row["requests"] for row in document["coverage"])
    corpus = document["corpus"]
    took = f"{_duration(document['seconds'])} of {_duration(document['minutes'] * 60)}"
    return [
        ("began", document["began"].replace("T", " ").replace("+00:00", " UTC")),
        ("took", took),
        ("compared with", document["before"] or "no earlier night: all that is found is new"),
        ("bugs in the corpus", "there is no corpus here" if corpus is None else str(corpus)),
        ("sent", plural(requests, "request")),
        ("seed", str(document["seed"])),
    ]


def _told(entry: Mapping[str, Any]) -> BugEntry:
    if entry["seen"]:
        times = "once" if entry["seen"] == 1 else f"{entry['seen']:,} times"
        seen = f"seen {times} in {', '.join(entry['targets'])}; {SURE_WORDS[entry['sure']]}"
        if entry["first_night"] != entry["last_night"]:
            seen += f"; first seen on {entry['first_night']}"
    else:
        seen = f"not seen tonight; last on {entry['last_night']} in {', '.join(entry['targets'])}"
    sentence = entry["sentence"]
    if entry["cause"]:
        sentence += f" {cause_sentence(entry['cause'])}"
        shapes = len(entry["shapes"])
        sentence += f" It was seen in {shapes} shapes." if shapes > 1 else ""
    if entry["status"] == "known":
        sentence = f"{sentence} Known: {entry['why']}."
    elif entry["status"] == "adopted":
        sentence = f"{sentence} In the corpus as {entry['why']}."
    return BugEntry(
        f"{entry['origin']}: {entry['cause'] or entry['shape']}",
        entry["level"],
        sentence,
        seen,
        entry["trace"],
        _commands(entry) if entry["status"] in {"new", "open"} else (),
    )


def _commands(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the commands that show a bug again, and keep it."""
    if entry["origin"] == _TESTS:
        return (f"HYPOTHESIS_PROFILE=nightly pytest '{entry['shape']}'",)
    if entry["trace"] is None:
        return (f"fencepost fuzz {entry['targets'][0]} --seed {entry['seed']}",)
    return (
        f"fencepost replay {entry['trace']} {entry['targets'][0]}",
        f"fencepost adopt {entry['trace']}",
    )


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")


def _change(now: int, then: int) -> str:
    """Return how a figure has changed, with its sign."""
    return "±0" if now == then else f"{now - then:+,}".replace("-", "\N{MINUS SIGN}")
