"""Adopt the trace of a finding: put it into the corpus, which every run of the tests replays.

A trace may be adopted if its verdict is the same today, its name is free, and the corpus has no
trace of the same bug.  Where the judge was wrong and has been fixed, the user may say that today's
verdict is the expected one.

The pages in `docs/findings/` quote the steps of a trace: `python -m
fencepost.conformance.search.findings.promote TRACE` prints the block that a page must hold, and a
test compares the two.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from fencepost.conformance.run.replay import rejudge
from fencepost.conformance.search.findings.trace_causes import (
    CorpusFolder,
    bug_of_trace,
    fingerprint_of_trace,
    trace_coordinator,
)
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.properties.judging.explain import explain
from fencepost.properties.judging.outcome import graded
from fencepost.properties.judging.trace_verdict import TraceVerdict
from fencepost.properties.oracle.fingerprint import origin_of
from fencepost.traces.files.run_trace import recording_of, verdict_of
from fencepost.traces.files.trace_file import TraceFile, TraceFileError

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NO_WORD = re.compile(r"[^a-z0-9]+")
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class Adopted:
    """The trace under its name, and its path."""

    name: str
    path: Path
    trace: TraceFile

    def text(self) -> str:
        """In words."""
        return f"{self.name}: {_words(self.trace.verdict)}, in {self.path}"


def adopt(
    finding: TraceFile, corpus: CorpusFolder, *, name: str | None = None, today: bool = False
) -> Adopted:
    """Write the trace of a finding into a corpus.

    `name`: None for one made of the target and the fingerprint; `today`: expect today's verdict,
    not the file's.  Raises TraceFileError.
    """
    trace = _with_verdict_of_today(finding) if today else _sound(finding)
    if trace.verdict.outcome == "unknown":
        raise TraceFileError(
            "the trace", "verdict", "is unknown, which shows nothing", "record it again"
        )
    same = corpus.same_bugs().get(bug_of_trace(trace))
    if same is not None:
        raise TraceFileError(
            "the trace",
            "verdict",
            f"is that of {same}, which is in {corpus.folder} already",
            "there is nothing to add; to see both, `fencepost view` them",
        )
    chosen = _default_name(trace) if name is None else name
    if not _NAME.fullmatch(chosen):
        raise TraceFileError(
            "--name",
            repr(chosen),
            "is no name",
            "use a-z, 0-9 and single hyphens, as in parked-sync",
        )
    if chosen in {entry.name for entry in corpus.entries}:
        raise TraceFileError(
            "--name", repr(chosen), f"is taken in {corpus.folder}", "choose another with --name"
        )
    return Adopted(chosen, corpus.with_adopted(chosen, trace), trace)


def corpus_here(into: Path | None, place: Path) -> CorpusFolder:
    """Read the corpus in a folder, or that of the checkout around a place.

    Raises TraceFileError.
    """
    folder = CorpusFolder.around(place) if into is None else into
    if folder is None:
        raise TraceFileError(
            str(place),
            "traces/corpus/index.json",
            "is not here or in a folder above: this is no checkout of fencepost",
            "go to one, or name the folder of your corpus with --into",
        )
    return CorpusFolder.read(folder)


def _sound(trace: TraceFile) -> TraceFile:
    """Return the trace, if today's verdict is the file's.  Raises TraceFileError."""
    replayed = rejudge(trace)
    if not replayed.same:
        raise TraceFileError(
            "the trace",
            "verdict",
            f"has changed: today it is {_words(replayed.today)}, not {_words(replayed.recorded)}",
            "if that is right, say --today",
        )
    return trace


def _with_verdict_of_today(trace: TraceFile) -> TraceFile:
    revision = find_revision(trace.revision)
    recording = recording_of(trace, trace_coordinator(trace))
    verdict = graded(trace.judge(), recording, revision)
    return replace(trace, verdict=verdict_of(recording, verdict, revision))


def _words(verdict: TraceVerdict) -> str:
    by = " ".join(filter(None, (verdict.rule, verdict.wrong)))
    return f"{verdict.outcome} ({by})" if by else verdict.outcome


def _default_name(trace: TraceFile) -> str:
    """Make a name of the implementation and the fingerprint."""
    fingerprint = fingerprint_of_trace(trace)
    subject = trace.case or "run" if fingerprint is None else str(fingerprint)
    origin = origin_of(str(trace.provenance.get("target")))
    whole = _NO_WORD.sub("-", f"{origin} {subject}".lower()).strip("-")
    return whole[:_LONGEST].rstrip("-")


def block(trace: TraceFile) -> str:
    """Explain a trace as judged today: the sentence and the steps, a line each."""
    recording = recording_of(trace, trace_coordinator(trace))
    revision = find_revision(trace.revision)
    return explain(graded(trace.judge(), recording, revision), recording, revision).text


if __name__ == "__main__":
    sys.stdout.write(block(TraceFile.read(Path(sys.argv[1]))) + "\n")
