"""Write the report of a nightly run: for people, for programs, and for the next run.

The exit code is 1 for a new bug that fails each time; it is 2 for a new bug that is not confirmed,
or for a part that could not do its work.  For the next run the report keeps the open bugs, and the
coverage.

The page has unknown bugs first, then bugs that are still open, each part's work, coverage compared
with the night before, the mutants that the search finds; and last the known bugs, folded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median_low
from typing import Any, Self

from msgspec import convert

from fencepost.conformance.runtime.unavailable import EXIT_UNAVAILABLE
from fencepost.conformance.search.findings.trace_causes import cause_sentence
from fencepost.conformance.search.findings.tracked_bugs import (
    EACH_TIME,
    NEW,
    OPEN,
    TrackedBug,
    trace_texts,
    track_bugs,
)
from fencepost.model.history.words import LONGEST_VERDICT, at_most, first_names, plural
from fencepost.properties.judging.report import EXIT_CODES, Overall
from fencepost.properties.oracle.fingerprint import Bug
from fencepost.traces.files.bounded import DocumentError, own_version, read_json, schema_error
from fencepost.traces.files.text_files import INDEX, ReportError, refuse_wrong, write_texts
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.pages.trace_page import PageTrace, page_with_traces
from tools.nightly.nightly import FAILED, UNAVAILABLE, Night, TargetTotals

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
"""The reproducibility of a failure, in words."""


@dataclass(frozen=True, slots=True)
class BugEntry:
    """A bug; `commands`: to show it again, and to keep it."""

    name: str
    level: str
    sentence: str
    sightings: str
    trace: str | None
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BugSection:
    """Bugs of one status; `outcome`: the word for their colour; `folded`: True for known ones."""

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


def nightly_page(document: Mapping[str, Any], page_traces: Mapping[str, PageTrace]) -> str:
    """Make the page of a report.  `page_traces`: its traces, by the names that entries use."""
    entries = document["entries"]
    groups = [
        BugSection(
            title, colour, note, folded, [_bug_entry(e) for e in entries if _kind(e) == status]
        )
        for status, title, colour, note, folded in _GROUPS
    ]
    heading = at_most(LONGEST_VERDICT, f"Night of {document['night']}: {document['summary']}")
    return page_with_traces(
        "nightly.html",
        heading,
        page_traces,
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
    """Return the group of an entry."""
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


def _bug_entry(entry: Mapping[str, Any]) -> BugEntry:
    if entry["seen"]:
        times = "once" if entry["seen"] == 1 else f"{entry['seen']:,} times"
        sightings = f"seen {times} in {', '.join(entry['targets'])}; {SURE_WORDS[entry['sure']]}"
        if entry["first_night"] != entry["last_night"]:
            sightings += f"; first seen on {entry['first_night']}"
    else:
        sightings = (
            f"not seen tonight; last on {entry['last_night']} in {', '.join(entry['targets'])}"
        )
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
        sightings,
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
    """Format the change of a figure, with its sign."""
    return "±0" if now == then else f"{now - then:+,}".replace("-", "\N{MINUS SIGN}")


FORMAT = "fencepost-nightly"
VERSION = 1
NAME = "nightly.json"
SCHEMA_FILE = Path(__file__).with_name("nightly-1.schema.json")
_LONGEST_PAGE_TRACE = 60_000
_NIGHTS = {"first_run": "first_night", "last_run": "last_night"}


@dataclass(frozen=True, slots=True)
class Before:
    """The kept facts of the night before: its name, its entries, its coverage by target."""

    night: str
    entries: tuple[TrackedBug, ...]
    coverage: Mapping[str, Mapping[str, Any]]

    def confirmed_open(self) -> frozenset[Bug]:
        """Return the open, confirmed bugs with a trace, by each of their fingerprints."""
        return frozenset(
            bug
            for entry in self.entries
            if entry.is_pending and entry.sure == EACH_TIME and entry.trace
            for bug in entry.by_fingerprints
        )

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the facts from its report.  Raises ReportError."""
        try:
            document = read_json(path)
        except DocumentError as error:
            raise ReportError(f"{error}; name the {NAME} of an earlier night") from error
        wrong = schema_error(document, SCHEMA_FILE)
        if wrong is not None:
            raise ReportError(
                f"{path}: {wrong.json_path}: {wrong.message[:200]}; "
                f"name a {NAME} that this fencepost wrote, or begin in another folder"
            )
        return cls(
            document["night"],
            tuple(_entry_from_json(row) for row in document["entries"]),
            {row["target"]: row for row in document["coverage"]},
        )


@dataclass(frozen=True, slots=True)
class NightReport:
    """The report of a night, compared with the corpus and the night before."""

    night: Night
    before: Before | None
    entries: tuple[TrackedBug, ...]

    @classmethod
    def of(cls, night: Night, before: Before | None) -> Self:
        """Make the report of a night."""
        entries = track_bugs(
            night.findings,
            day_of(night.options.tonight),
            () if before is None else before.entries,
            night.options.corpus,
        )
        return cls(night, before, tuple(entries))

    @property
    def new(self) -> tuple[TrackedBug, ...]:
        """The bugs that are new tonight."""
        return tuple(entry for entry in self.entries if entry.status == NEW)

    def exit_code(self) -> int:
        """Return 1: a new bug; 2: an unconfirmed one, or a part failed; 69: a target is missing."""
        if any(entry.sure == EACH_TIME for entry in self.new):
            return EXIT_CODES[Overall.VIOLATED]
        statuses = {part.status for part in self.night.parts}
        if self.new or FAILED in statuses:
            return EXIT_CODES[Overall.UNKNOWN]
        if UNAVAILABLE in statuses and self.night.options.named:
            return EXIT_UNAVAILABLE
        return EXIT_CODES[Overall.HOLDS]

    def summary(self) -> str:
        """Return the verdict on one line."""
        sure = sum(entry.sure == EACH_TIME for entry in self.new)
        unsure = len(self.new) - sure
        parts = [f"{sure} new finding{'s' if sure > 1 else ''}"] if sure else []
        parts += [f"{unsure} new and not confirmed"] if unsure else []
        parts = parts or ["nothing new"]
        still = sum(entry.status == OPEN for entry in self.entries)
        parts += [f"{still} still open"] if still else []
        failed = [part.name for part in self.night.parts if part.status == FAILED]
        parts += [f"{first_names(failed, 2)} failed"] if failed else []
        if self.night.options.named:
            gone = [part.name for part in self.night.parts if part.status == UNAVAILABLE]
            parts += [f"{first_names(gone, 1)} not available"] if gone else []
        parts += ["ended early"] if self.night.stopped else []
        newer = self.night.newer_kafka
        parts += [f"Kafka {newer} is out: certify kafka:{newer}"] if newer else []
        return at_most(LONGEST_VERDICT, "; ".join(parts))

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object that its schema allows.  Raises ReportError."""
        night, options = self.night, self.night.options
        document = {
            "format": FORMAT,
            "format_version": VERSION,
            "tool": own_version(),
            "night": options.tonight,
            "began": options.began.isoformat(timespec="seconds"),
            "seed": options.seed,
            "minutes": round(options.seconds / 60, 3),
            "seconds": round(night.seconds, 1),
            "jobs": options.jobs,
            "stopped": night.stopped,
            "exit_code": self.exit_code(),
            "summary": self.summary(),
            "before": None if self.before is None else self.before.night,
            "corpus": None if options.corpus is None else len(options.corpus),
            "parts": [
                {
                    "name": part.name,
                    "status": part.status,
                    "said": part.result_text,
                    "seconds": round(part.seconds, 1),
                    "share": round(part.share, 1),
                }
                for part in night.parts
            ],
            "entries": [_entry_json(entry) for entry in self.entries],
            "mutants": _mutants(night),
            "coverage": [
                _coverage(name, totals, None if self.before is None else self.before.coverage)
                for name, totals in night.totals.items()
            ],
        }
        refuse_wrong(schema_error(document, SCHEMA_FILE), NAME)
        return document

    def write(self, folder: Path) -> None:
        """Write nightly.json, index.html and the traces.  Raises ReportError."""
        document = self.to_json()
        texts = trace_texts(self.entries, self.night.findings)
        page_traces = _page_traces(self.entries, texts, folder)
        write_texts(
            {
                **texts,
                NAME: json.dumps(document, indent=1) + "\n",
                INDEX: nightly_page(document, page_traces),
            },
            folder,
            "--report",
        )


def day_of(night: str) -> int:
    """Return the number of a night's day, which counts runs."""
    return date.fromisoformat(night).toordinal()


def _entry_json(entry: TrackedBug) -> dict[str, Any]:
    days = {_NIGHTS[run]: date.fromordinal(getattr(entry, run)).isoformat() for run in _NIGHTS}
    row = {_NIGHTS.get(name, name): value for name, value in entry.plain().items()}
    return {**row, **days}


def _entry_from_json(row: Mapping[str, Any]) -> TrackedBug:
    days = {run: day_of(row[night]) for run, night in _NIGHTS.items()}
    rest = {name: value for name, value in row.items() if name not in _NIGHTS.values()}
    return convert({**rest, **days}, TrackedBug)


def _page_traces(
    entries: Sequence[TrackedBug], texts: Mapping[str, str], folder: Path
) -> dict[str, PageTrace]:
    """Return the traces for the page: tonight's, and earlier ones that still exist."""
    by_name: dict[str, PageTrace] = {}
    for entry in entries:
        name = entry.trace
        if name is None:
            continue
        try:
            if name in texts:
                trace = TraceFile.from_json(json.loads(texts[name]), where=name)
            else:
                trace = TraceFile.read(folder / name)
        except TraceFileError:
            continue  # of an earlier night, and deleted
        by_name[name] = PageTrace(trace, entry.shape, name, _LONGEST_PAGE_TRACE)
    return by_name


def _mutants(night: Night) -> dict[str, Any]:
    killed = [result.requests for result in night.mutant_results if result.is_killed]
    missed = sorted((b for b in night.mutant_results if not b.is_killed), key=lambda b: b.mutant)
    return {
        "tried": len(night.mutant_results),
        "found": len(killed),
        "missed": [
            {"mutant": b.mutant, "requests": b.requests, "seconds": round(b.seconds, 1)}
            for b in missed
        ],
        "requests": median_low(killed) if killed else None,
    }


def _coverage(
    name: str, totals: TargetTotals, before: Mapping[str, Mapping[str, Any]] | None
) -> dict[str, Any]:
    covered = totals.covered
    was = (before or {}).get(name)
    then = set() if was is None else set(was["rules"])
    return {
        "target": name,
        "version": totals.version,
        "plans": totals.plans,
        "requests": totals.requests,
        "unknown": totals.unknown,
        "rules": sorted(covered.rules),
        "never": sorted(covered.can - covered.rules),
        "pairs": len(covered.pairs),
        "states": len(covered.states),
        "before": None
        if was is None
        else {
            "rules": len(then),
            "pairs": was["pairs"],
            "states": was["states"],
            "gained": sorted(covered.rules - then),
            "lost": sorted(then - covered.rules),
        },
    }
