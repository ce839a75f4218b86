"""Find the known cause of a failure in a trace; keep the index of committed traces.

See `departures.attribution`.  The index of the corpus says which traces show the same bug.  Bugs
are compared by `fencepost.properties.oracle.fingerprint`; a trace that holds shows none, and is the
same as its very copy.  The index is made from the traces alone, in an order that does not depend on
when they came.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, Self

import msgspec
from msgspec import Meta

from fencepost.model.history.words import with_names
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.departures.attribution import Attribution, attributed, departures_in
from fencepost.properties.departures.known_departures import DEPARTURES, coordinator_of
from fencepost.properties.judging.trace_verdict import WRONGS
from fencepost.properties.oracle.fingerprint import Bug, Fingerprint, bug_of, fingerprint_of
from fencepost.traces.files.document_schema import Document, DocumentSchema, Positive, Text
from fencepost.traces.files.text_files import write_file, write_text
from fencepost.traces.files.trace_file import (
    TraceFile,
    TraceFileError,
    UnknownRevisionError,
    read_document,
)

__all__ = ["attribution_of", "cause_of_text", "cause_sentence", "departures_in", "known_cause"]


def trace_coordinator(trace: TraceFile) -> str:
    """Return the coordinator that answered, as far as its target's name tells; "": unknown."""
    return coordinator_of(str(trace.provenance.get("target") or ""))


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
        base, trace.config, trace.events, lag_ms=trace.lag_ms, coordinator=trace_coordinator(trace)
    )


INDEX = "index.json"
PLACE = Path("traces", "corpus")
"""The folder of the corpus in a checkout."""

KINDS = ("mutant", "recorded", "finding", "adopted")
"""In the order of the index."""

_OUTCOMES = ("violated", "holds")


class TracedVerdict(Document, frozen=True):
    """The verdict of a committed trace."""

    outcome: Annotated[str, Meta(extra_json_schema={"enum": _OUTCOMES})]
    rule: str | None
    wrong: Annotated[
        str | None,
        Meta(description="null: it holds", extra_json_schema={"enum": [*WRONGS, None]}),
    ]


class CorpusEntry(Document, frozen=True, kw_only=True):
    """A committed trace."""

    name: Text
    kind: Annotated[
        str,
        Meta(
            description="mutant: a model that is broken on purpose; recorded: of a broker; "
            "finding: of docs/findings; adopted: by `fencepost adopt`",
            extra_json_schema={"enum": KINDS},
        ),
    ]
    file: Annotated[
        str,
        Meta(description="From the top of the repository; of a corpus elsewhere, from its folder"),
    ]
    shows: Annotated[
        str,
        Meta(min_length=1, description="The violation, or a supposed one, in one sentence"),
    ]
    bug: Annotated[
        str | None,
        Meta(
            description="The real bug that it is, by ticket or implementation; "
            "null: a systematic one, or a finding"
        ),
    ]
    target: Annotated[str, Meta(description="The recorded target")]
    steps: Positive
    verdict: TracedVerdict


class CorpusIndex(Document, frozen=True, kw_only=True):
    """The index of a corpus."""

    format: Literal["fencepost-corpus"] = "fencepost-corpus"
    version: Literal[1] = 1
    traces: tuple[CorpusEntry, ...]

    @classmethod
    def of(cls, entries: Iterable[CorpusEntry]) -> CorpusIndex:
        """Make the index of these traces, sorted."""
        key = lambda entry: (KINDS.index(entry.kind), entry.name)  # noqa: E731
        return cls(traces=tuple(sorted(entries, key=key)))

    def text(self) -> str:
        """Return the text of the file."""
        return json.dumps(self.plain(), indent=1, ensure_ascii=False) + "\n"


SCHEMA = DocumentSchema(
    "corpus-1",
    "fencepost corpus 1",
    "The committed traces: one for each mutant, each finding, "
    "and what else was recorded or adopted.",
    CorpusIndex,
    {"CorpusEntry": "trace"},
)


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


def entry_of(
    kind: str, name: str, file: str, trace: TraceFile, *, shows: str, bug: str | None
) -> CorpusEntry:
    """Return the index entry of a trace."""
    verdict = trace.verdict
    return CorpusEntry(
        name=name,
        kind=kind,
        file=file,
        shows=shows,
        bug=bug,
        target=str(trace.provenance["target"]),
        steps=len(trace.events),
        verdict=TracedVerdict(verdict.outcome, verdict.rule, verdict.wrong),
    )


def adopted_entry(name: str, file: str, trace: TraceFile) -> CorpusEntry:
    """Return the index entry of an adopted trace, made from the trace alone."""
    message = with_names(trace.verdict.message, trace.names) or f"it {trace.verdict.outcome}"
    return entry_of("adopted", name, file, trace, shows=" ".join(message.split()), bug=None)


@dataclass(frozen=True, slots=True)
class CorpusFolder:
    """A corpus in a folder; `top`: the folder that paths in its index are relative to."""

    folder: Path
    entries: tuple[CorpusEntry, ...]

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
        wrong = SCHEMA.error(document)
        if wrong is not None:
            raise TraceFileError(
                str(path),
                wrong.json_path,
                wrong.message,
                "name the folder of a corpus, or one that is empty",
            )
        return cls(folder, msgspec.convert(document, CorpusIndex, strict=False).traces)

    @property
    def top(self) -> Path:
        """The checkout; of a corpus elsewhere, its own folder."""
        whole = self.folder.absolute()
        return whole.parents[1] if whole.parts[-2:] == PLACE.parts else whole

    def path_of(self, entry: CorpusEntry) -> Path:
        """Return the path of a trace."""
        return self.top / entry.file

    def same_bugs(self) -> dict[Bug, str]:
        """Return the bugs in the corpus, each with the name of the first trace that shows it.

        Raises TraceFileError.
        """
        names: dict[Bug, str] = {}
        for entry in self.entries:
            names.setdefault(bug_of_trace(TraceFile.read(self.path_of(entry))), entry.name)
        return names

    def with_adopted(self, name: str, trace: TraceFile) -> Path:
        """Add a trace, write the index, and return the path.  Raises ReportError."""
        path = self.folder.absolute() / "adopted" / f"{name}.json"
        entry = adopted_entry(name, path.relative_to(self.top).as_posix(), trace)
        remedy = "choose another folder with --into"
        write_file(path, trace.text(), remedy)
        write_text(self.folder / INDEX, CorpusIndex.of([*self.entries, entry]).text(), remedy)
        return path
