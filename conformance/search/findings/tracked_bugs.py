"""Compare the bugs of a run with those of the run before: new, open, adopted or known.

A bug is the known cause of a failure in one implementation (all versions of Kafka are one), or,
where no cause is known, its fingerprint.  The same bug found by eight searches is one entry; what
merely looks like the failures of a cause is a bug of its own.

A bug is new unless it is listed as a known failure, is in the corpus, or was open after the run
before.  A bug that was open and is not seen stays open, for a random search may miss it.  A bug
that was flaky and now fails each time is new again.  A bug that never failed each time and is not
seen in seven runs is dropped: then the load or the network was the likely cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fencepost.conformance.search.findings.findings import PlanFinding
from fencepost.properties.oracle.fingerprint import Bug, bug_of
from fencepost.traces.files.document_schema import Document

NEW, OPEN, ADOPTED, KNOWN = "new", "open", "adopted", "known"
STATUSES = (NEW, OPEN, ADOPTED, KNOWN)
"""The statuses of a bug, the most urgent first."""

EACH_TIME, SOMETIMES, UNTRIED = "each time", "now and then", "not tried again"
SURENESS = (EACH_TIME, SOMETIMES, UNTRIED)
"""Words for the certainty that a finding fails again, the surest first."""

_NO_WORD = re.compile(r"[^a-z0-9]+")
_LONGEST = 100
_FORGOTTEN = 7


@dataclass(frozen=True, slots=True)
class Sighting:
    """One finding of one search of a run.

    `shape`: its fingerprint in words; `known`: why it is listed as a known failure, or ""; `trace`:
    the text of its file, or None; `cause`: the known departures that explain it, or ""; `file`:
    the name of the trace's file, or "" for one that is made of the bug.
    """

    target: str
    rule: str
    level: str
    shape: str
    sentence: str
    seen: int
    sure: str
    shard: str
    seed: int
    known: str = ""
    trace: str | None = None
    cause: str = ""
    file: str = ""

    @classmethod
    def of(
        cls,
        finding: PlanFinding,
        target: str,
        seed: int,
        *,
        shard: str = "",
        trace: str | None = None,
        file: str = "",
    ) -> Sighting:
        """Make it of a finding."""
        sure = UNTRIED if not finding.runs else SOMETIMES if finding.is_flaky else EACH_TIME
        return cls(
            target,
            finding.fingerprint.rule,
            finding.result.level.value,
            str(finding.fingerprint),
            finding.sentence,
            finding.occurrences,
            sure,
            shard,
            seed,
            finding.known,
            trace,
            finding.fingerprint.cause,
            file,
        )

    @property
    def bug(self) -> Bug:
        """The bug that this finding shows."""
        return bug_of(self.target, self.shape, self.cause)


class TrackedBug(Document, frozen=True, kw_only=True):
    """One bug, as the report of a run shows it.

    `cause`: the known departures that explain it, or ""; `shapes`: its fingerprints, in words, of
    all runs, and `shape` that of the finding that is shown; `why`: the reason why it is known, or
    the name of the trace in the corpus; `seen`: how often in this run, by all searches, 0 for one
    that was only open before; `trace`: the name of a file beside the report.
    """

    origin: str
    cause: str
    shape: str
    shapes: tuple[str, ...]
    rule: str
    level: str
    status: str
    why: str
    sentence: str
    sure: str
    seen: int
    shards: tuple[str, ...] = ()
    targets: tuple[str, ...]
    seed: int
    first_run: int
    last_run: int
    trace: str | None

    @property
    def bug(self) -> Bug:
        """The bug, as a finding has it."""
        return bug_of(self.origin, self.shape, self.cause)

    @property
    def by_fingerprints(self) -> frozenset[Bug]:
        """The bug as it is known by each of its fingerprints."""
        return frozenset(bug_of(self.origin, shape) for shape in self.shapes)

    @property
    def is_pending(self) -> bool:
        """Tell if nobody has listed or adopted it yet."""
        return self.status in {NEW, OPEN}


def track_bugs(
    sightings: Iterable[Sighting],
    run: int,
    before: Sequence[TrackedBug],
    corpus: Mapping[Bug, str] | None = None,
) -> list[TrackedBug]:
    """Make an entry for each bug, the most urgent first.

    `run`: the number of this run, or the ordinal of its day; `before`: the entries of the run
    before; `corpus`: the bugs of its traces, with their names.
    """
    adopted = corpus or {}
    was_open = {entry.bug: entry for entry in before if entry.is_pending}
    by_bug: dict[Bug, list[Sighting]] = {}
    for sighting in sightings:
        by_bug.setdefault(sighting.bug, []).append(sighting)
    entries = [_entry(bug, alike, run, adopted, was_open) for bug, alike in by_bug.items()]
    explained = {bug for entry in entries if entry.cause for bug in entry.by_fingerprints}
    entries += [
        replace(entry, status=OPEN, seen=0, shards=())
        for bug, entry in was_open.items()
        if bug not in {*by_bug, *adopted, *explained}
        and (entry.sure == EACH_TIME or run - entry.last_run < _FORGOTTEN)
    ]
    return sorted(entries, key=_urgency)


def trace_texts(entries: Iterable[TrackedBug], sightings: Iterable[Sighting]) -> dict[str, str]:
    """Collect the texts of this run's traces, by the names of their files."""
    best: dict[Bug, str] = {}
    for sighting in sorted(sightings, key=_best):
        if sighting.trace is not None:
            best.setdefault(sighting.bug, sighting.trace)
    return {e.trace: best[e.bug] for e in entries if e.trace is not None and e.bug in best}


def _entry(
    bug: Bug,
    alike: Sequence[Sighting],
    run: int,
    corpus: Mapping[Bug, str],
    was_open: Mapping[Bug, TrackedBug],
) -> TrackedBug:
    best = min(alike, key=_best)
    listed = {s.target: s.known for s in alike if s.known}
    earlier = was_open.get(bug)
    shapes = {s.shape for s in alike}
    origin, subject = bug
    cause = "" if subject in shapes else subject
    if all(s.known or (cause and s.target in listed) for s in alike):
        status, why = KNOWN, min(listed.values())
    elif bug in corpus:
        status, why = ADOPTED, corpus[bug]
    else:
        is_surer = earlier is None or (best.sure == EACH_TIME and earlier.sure != EACH_TIME)
        status, why = (NEW if is_surer else OPEN), ""
    return TrackedBug(
        origin=origin,
        cause=cause,
        shape=best.shape,
        shapes=tuple(sorted(shapes | set(earlier.shapes if earlier else ()))),
        rule=best.rule,
        level=best.level,
        status=status,
        why=why,
        sentence=best.sentence or (earlier.sentence if earlier else ""),
        sure=best.sure if earlier is None else min(best.sure, earlier.sure, key=SURENESS.index),
        seen=sum(s.seen for s in alike),
        shards=tuple(sorted({s.shard for s in alike})),
        targets=tuple(sorted({s.target for s in alike})),
        seed=best.seed,
        first_run=run if earlier is None else earlier.first_run,
        last_run=run,
        trace=_trace_name(best, earlier),
    )


def _trace_name(best: Sighting, earlier: TrackedBug | None) -> str | None:
    if best.trace is not None:
        return best.file or f"traces/{_file_name(best.bug)}.json"
    return None if earlier is None else earlier.trace


def _best(sighting: Sighting) -> tuple[int, bool, int, str]:
    """Order findings by how well they show a bug: the surest, with a trace, the shortest."""
    size = len(sighting.trace or "")
    return SURENESS.index(sighting.sure), sighting.trace is None, size, sighting.shard


def _urgency(entry: TrackedBug) -> tuple[int, bool, int, str, str]:
    return (
        STATUSES.index(entry.status),
        not entry.seen,
        SURENESS.index(entry.sure),
        entry.origin,
        entry.shape,
    )


def _file_name(bug: Bug) -> str:
    return _NO_WORD.sub("-", " ".join(bug).lower()).strip("-")[:_LONGEST].rstrip("-")
