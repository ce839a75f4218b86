"""The report of a nightly run: for people, for programs, and for the next run.

The exit code is 1 for a new bug that fails each time; it is 2 for a new bug that is not confirmed,
or for a part that could not do its work.  For the next run the report keeps which bugs are open,
and the coverage.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any, Self

from fencepost.conformance.runtime.unavailable import EXIT_UNAVAILABLE
from fencepost.properties.judging.outcome import EXIT_CODES, Overall
from fencepost.properties.oracle.fingerprint import Bug
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.files.json_schema import schema_error
from fencepost.traces.files.tool_versions import own_version
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.pages.trace_data import ShownTrace
from fencepost.traces.report.report_folder import INDEX, ReportError, check_document, write_texts
from tools.nightly.dedup import EACH_TIME, NEW, OPEN, NightlyBug, entries_of, trace_texts
from tools.nightly.nightly import FAILED, UNAVAILABLE, Night, TargetTotals
from tools.nightly.nightly_page import nightly_page

FORMAT = "fencepost-nightly"
VERSION = 1
NAME = "nightly.json"
SCHEMA_FILE = Path(__file__).with_name("nightly-1.schema.json")
_LONGEST_PAGE_TRACE = 60_000


@dataclass(frozen=True, slots=True)
class Before:
    """What is kept of the night before: its name, its entries, its coverage by target."""

    night: str
    entries: tuple[NightlyBug, ...]
    coverage: Mapping[str, Mapping[str, Any]]

    def told_well(self) -> frozenset[Bug]:
        """The bugs that are open, confirmed and have a trace, by each of their fingerprints."""
        return frozenset(
            bug
            for entry in self.entries
            if entry.status in {NEW, OPEN} and entry.sure == EACH_TIME and entry.trace
            for bug in entry.by_fingerprints
        )

    @classmethod
    def read(cls, path: Path) -> Self:
        """From its report.  Raises ReportError."""
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
            tuple(NightlyBug.from_json(row) for row in document["entries"]),
            {row["target"]: row for row in document["coverage"]},
        )


@dataclass(frozen=True, slots=True)
class NightReport:
    """The report of a night, compared with the corpus and the night before."""

    night: Night
    before: Before | None
    entries: tuple[NightlyBug, ...]

    @classmethod
    def of(cls, night: Night, before: Before | None) -> Self:
        """Make the report of a night."""
        entries = entries_of(
            night.findings,
            tonight=night.options.tonight,
            corpus=night.options.corpus or {},
            before=() if before is None else before.entries,
        )
        return cls(night, before, tuple(entries))

    @property
    def new(self) -> tuple[NightlyBug, ...]:
        """The bugs that are new tonight."""
        return tuple(entry for entry in self.entries if entry.status == NEW)

    def exit_code(self) -> int:
        """1: a new bug; 2: new but not confirmed, or a part failed; 69: a target is missing."""
        if any(entry.sure == EACH_TIME for entry in self.new):
            return EXIT_CODES[Overall.VIOLATED]
        statuses = {part.status for part in self.night.parts}
        if self.new or FAILED in statuses:
            return EXIT_CODES[Overall.UNKNOWN]
        if UNAVAILABLE in statuses and self.night.options.named:
            return EXIT_UNAVAILABLE
        return EXIT_CODES[Overall.HOLDS]

    def summary(self) -> str:
        """The report in one sentence."""
        sure = sum(entry.sure == EACH_TIME for entry in self.new)
        unsure = len(self.new) - sure
        parts = [f"{sure} new finding{'s' if sure > 1 else ''}"] if sure else []
        parts += [f"{unsure} new and not confirmed"] if unsure else []
        parts = parts or ["nothing new"]
        still = sum(entry.status == OPEN for entry in self.entries)
        parts += [f"{still} still open"] if still else []
        failed = [part.name for part in self.night.parts if part.status == FAILED]
        parts += [f"{', '.join(failed)} failed"] if failed else []
        if self.night.options.named:
            gone = [part.name for part in self.night.parts if part.status == UNAVAILABLE]
            parts += [f"{', '.join(gone)} not available"] if gone else []
        parts += ["ended early"] if self.night.stopped else []
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object that its schema allows.  Raises ReportError."""
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
                    "said": part.said,
                    "seconds": round(part.seconds, 1),
                    "share": round(part.share, 1),
                }
                for part in night.parts
            ],
            "entries": [entry.to_json() for entry in self.entries],
            "mutants": _mutants(night),
            "coverage": [
                _coverage(name, totals, None if self.before is None else self.before.coverage)
                for name, totals in night.totals.items()
            ],
        }
        check_document(document, SCHEMA_FILE, NAME)
        return document

    def write(self, folder: Path) -> None:
        """Write nightly.json, index.html and the traces.  Raises ReportError."""
        document = self.to_json()
        texts = trace_texts(self.entries, self.night.findings)
        shown = _shown(self.entries, texts, folder)
        write_texts(
            {
                **texts,
                NAME: json.dumps(document, indent=1) + "\n",
                INDEX: nightly_page(document, shown),
            },
            folder,
            "--report",
        )


def _shown(
    entries: Sequence[NightlyBug], texts: Mapping[str, str], folder: Path
) -> dict[str, ShownTrace]:
    """The traces for the page: tonight's, and those of earlier nights that are still there."""
    found: dict[str, ShownTrace] = {}
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
        found[name] = ShownTrace(trace, entry.shape, name, _LONGEST_PAGE_TRACE)
    return found


def _mutants(night: Night) -> dict[str, Any]:
    found = [result.requests for result in night.mutant_results if result.found]
    missed = sorted((b for b in night.mutant_results if not b.found), key=lambda b: b.mutant)
    return {
        "tried": len(night.mutant_results),
        "found": len(found),
        "missed": [
            {"mutant": b.mutant, "requests": b.requests, "seconds": round(b.seconds, 1)}
            for b in missed
        ],
        "requests": median_low(found) if found else None,
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
