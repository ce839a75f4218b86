"""Find the known cause of a failure in a trace; keep the index of committed traces.

See `departures.attribution`.  The index of the corpus says which traces show the same bug.  Bugs
are compared by `fencepost.properties.oracle.fingerprint`; a trace that holds shows none, and is the
same as its very copy.  The index is made from the traces alone, in an order that does not depend on
when they came.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from fencepost.model.history.words import with_names
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.departures.attribution import Attribution, attributed, departures_in
from fencepost.properties.departures.known_departures import DEPARTURES
from fencepost.properties.oracle.fingerprint import Bug, Fingerprint, bug_of, fingerprint_of
from fencepost.traces.files.bounded import schema_error
from fencepost.traces.files.trace_file import (
    TraceFile,
    TraceFileError,
    UnknownRevisionError,
    read_document,
)

__all__ = ["attribution_of", "cause_of_text", "cause_sentence", "departures_in", "known_cause"]


def known_cause(trace: TraceFile) -> str:
    """Return the departures that explain a violated trace, `NAME` or `NAME + NAME`; "" if none.

    Raises TraceFileError for a revision that there isn't.
    """
    return attribution_of(trace).cause


def attribution_of(trace: TraceFile) -> Attribution:
    """Attribute the failure of a trace.  Raises TraceFileError for a revision that there isn't."""
    return _attribution_of_text(trace.text())


def cause_of_text(text: str) -> str:
    """Return the known cause of a trace, from the text of its file."""
    return _attribution_of_text(text).cause


def cause_sentence(cause: str) -> str:
    """Describe a cause: the departure of coordinators, and the page that documents it."""
    names = departures_in(cause)
    texts = (f"{DEPARTURES[name].about} ({DEPARTURES[name].described})" for name in names)
    return f"Known cause: {'; and '.join(texts)}."


@lru_cache(maxsize=1_000)
def _attribution_of_text(text: str) -> Attribution:
    trace = TraceFile.from_json(json.loads(text), where="the trace")
    try:
        base = find_revision(trace.revision)
    except KeyError as error:
        raise UnknownRevisionError("trace", trace.revision, error) from error
    return attributed(
        base, trace.config, trace.events, lag_ms=trace.lag_ms, coordinator=trace.coordinator
    )


FORMAT = "fencepost-corpus"
VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("corpus-1.schema.json")
INDEX = "index.json"
PLACE = Path("traces", "corpus")
"""The folder of the corpus in a checkout."""

KINDS = ("mutant", "recorded", "finding", "adopted")
"""In the order of the index."""

Row = dict[str, Any]


def fingerprint_of_trace(trace: TraceFile) -> Fingerprint | None:
    """Judge a trace; return the fingerprint of its failure, with its cause; None if it has none.

    Where known departures explain only the first part of it, it is that of the rest.
    """
    violation = trace.judge().violation
    if violation is None:
        return None
    attribution = attribution_of(trace)
    if attribution.behind and attribution.verdict.violation is not None:
        violation = attribution.verdict.violation
    revision = find_revision(trace.revision)
    return fingerprint_of(violation, revision, trace.events, cause=attribution.cause)


def bug_of_trace(trace: TraceFile) -> Bug:
    """Return the bug that a trace shows; of a trace that holds, a digest of its steps."""
    fingerprint = fingerprint_of_trace(trace)
    if fingerprint is None:
        steps = json.dumps(trace.to_json()["steps"], sort_keys=True)
        return "", hashlib.sha256(steps.encode()).hexdigest()
    return bug_of(str(trace.provenance.get("target")), fingerprint)


def row_of(
    kind: str, name: str, file: str, trace: TraceFile, *, shows: str, bug: str | None
) -> Row:
    """Return the index entry of a trace."""
    verdict = trace.verdict
    return {
        "name": name,
        "kind": kind,
        "file": file,
        "shows": shows,
        "bug": bug,
        "target": trace.provenance["target"],
        "steps": len(trace.events),
        "verdict": {"outcome": verdict.outcome, "rule": verdict.rule, "wrong": verdict.wrong},
    }


def adopted_row(name: str, file: str, trace: TraceFile) -> Row:
    """Return the index entry of an adopted trace, made from the trace alone."""
    message = with_names(trace.verdict.message, trace.names) or f"it {trace.verdict.outcome}"
    return row_of("adopted", name, file, trace, shows=" ".join(message.split()), bug=None)


def index_json(rows: Iterable[Row]) -> Mapping[str, Any]:
    """Return the index of these rows, sorted."""
    ordered = sorted(rows, key=lambda row: (KINDS.index(row["kind"]), row["name"]))
    return {"format": FORMAT, "version": VERSION, "traces": ordered}


def index_text(rows: Iterable[Row]) -> str:
    """Return the text of the index."""
    return json.dumps(index_json(rows), indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class CorpusFolder:
    """A corpus in a folder; `top`: the folder that paths in its index are relative to."""

    folder: Path
    rows: tuple[Row, ...]

    @classmethod
    def around(cls, place: Path) -> Path | None:
        """Find the corpus of the checkout that contains a folder; None if there is none."""
        for folder in (place, *place.parents):
            if (folder / PLACE / INDEX).is_file():
                return folder / PLACE
        return None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the corpus in a folder; it is empty if there is no index.  Raises TraceFileError."""
        path = folder / INDEX
        if not path.exists():
            return cls(folder, ())
        document = read_document(path)
        wrong = schema_error(document, SCHEMA_FILE)
        if wrong is not None:
            raise TraceFileError(
                str(path),
                wrong.json_path,
                wrong.message,
                "name the folder of a corpus, or one that is empty",
            )
        return cls(folder, tuple(document["traces"]))

    @property
    def top(self) -> Path:
        """The checkout; of a corpus elsewhere, its own folder."""
        whole = self.folder.absolute()
        return whole.parents[1] if whole.parts[-2:] == PLACE.parts else whole

    def path_of(self, row: Row) -> Path:
        """Return the path of a trace."""
        return self.top / str(row["file"])

    def same_bugs(self) -> dict[Bug, str]:
        """Return the bugs in the corpus, each with the name of the first trace that shows it.

        Raises TraceFileError.
        """
        names: dict[Bug, str] = {}
        for row in self.rows:
            names.setdefault(bug_of_trace(TraceFile.read(self.path_of(row))), row["name"])
        return names

    def with_adopted(self, name: str, trace: TraceFile) -> Path:
        """Add a trace, write the index, and return the path.  Raises TraceFileError."""
        path = self.folder.absolute() / "adopted" / f"{name}.json"
        row = adopted_row(name, path.relative_to(self.top).as_posix(), trace)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(trace.text(), encoding="utf-8", newline="\n")
            index = self.folder / INDEX
            index.write_text(index_text([*self.rows, row]), encoding="utf-8", newline="\n")
        except OSError as error:
            raise TraceFileError(
                str(error.filename),
                "file",
                f"can't be written ({error.strerror})",
                "choose another folder with --into",
            ) from error
        return path
