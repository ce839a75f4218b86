"""The corpus of committed traces: what its index says, and which traces are one.

Decides when two traces show the same bug: they came from the same implementation, and their
failures have the same known cause, or, where no cause is known, the same shape.  A trace that holds
has no shape; it is the same as its very copy.
The index is made from the traces alone, in an order that doesn't hang on when they came.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fencepost.model.history import Sent
from fencepost.properties.mutants.catalogue import find_revision
from fencepost.properties.oracle.fingerprint import Shape, shape_of_violation
from fencepost.traces.files.causes import cause_of
from fencepost.traces.files.schema import schema_error
from fencepost.traces.files.trace_file import TraceFile, TraceFileError, read_document
from fencepost.traces.text.words import with_names

FORMAT = "fencepost-corpus"
VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("corpus-1.schema.json")
INDEX = "index.json"
PLACE = Path("traces", "corpus")
"""Where the corpus lies in a checkout."""

KINDS = ("mutant", "recorded", "finding", "adopted")
"""In the order of the index."""

Row = dict[str, Any]
Sameness = tuple[str, str]


def shape_of_trace(trace: TraceFile) -> Shape | None:
    """The shape of the failure that a trace shows, judged today; None where it shows none."""
    violation = trace.judge().violation
    if violation is None:
        return None
    asked = (e.request for e in trace.events if isinstance(e, Sent))
    api = next((r.api for r in asked if r.id == violation.request_id), "")
    return shape_of_violation(violation, find_revision(trace.revision), api)


def origin_of(target: str) -> str:
    """The implementation that a target's name means: all versions of Kafka are one."""
    return "kafka" if target.startswith("kafka:") else target


def sameness_of(trace: TraceFile) -> Sameness:
    """What two traces of one bug have in common: the cause, where it is known, or the shape."""
    shape = shape_of_trace(trace)
    if shape is None:
        steps = json.dumps(trace.to_json()["steps"], sort_keys=True)
        return "", hashlib.sha256(steps.encode()).hexdigest()
    return origin_of(str(trace.provenance.get("target"))), cause_of(trace) or str(shape)


def row_of(
    kind: str, name: str, file: str, trace: TraceFile, *, shows: str, bug: str | None
) -> Row:
    """What the index says of a trace."""
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
    """What the index says of a trace that was adopted: all of it from the trace."""
    said = with_names(trace.verdict.message, trace.names) or f"it {trace.verdict.outcome}"
    return row_of("adopted", name, file, trace, shows=" ".join(said.split()), bug=None)


def index_json(rows: Iterable[Row]) -> Mapping[str, Any]:
    """The index of these rows, in its order."""
    ordered = sorted(rows, key=lambda row: (KINDS.index(row["kind"]), row["name"]))
    return {"format": FORMAT, "version": VERSION, "traces": ordered}


def index_text(rows: Iterable[Row]) -> str:
    """The text of the index."""
    return json.dumps(index_json(rows), indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class CorpusFolder:
    """A corpus as it lies on disk; `top`: where the paths of its index begin."""

    folder: Path
    rows: tuple[Row, ...]

    @classmethod
    def around(cls, place: Path) -> Path | None:
        """The corpus of the checkout that a folder is in; None where it is in none."""
        for folder in (place, *place.parents):
            if (folder / PLACE / INDEX).is_file():
                return folder / PLACE
        return None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The corpus in a folder; an empty one where there is no index.  Raises TraceFileError."""
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
        """Where a trace lies."""
        return self.top / str(row["file"])

    def same_bugs(self) -> dict[Sameness, str]:
        """What is in it already, with the name of the first that shows it.

        Raises TraceFileError.
        """
        found: dict[Sameness, str] = {}
        for row in self.rows:
            found.setdefault(sameness_of(TraceFile.read(self.path_of(row))), row["name"])
        return found

    def with_adopted(self, name: str, trace: TraceFile) -> Path:
        """Write one more trace and the index; where the trace is.  Raises TraceFileError."""
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
