"""Merge what the night's shards found: the same bug found by eight of them is one entry.

A bug is the known cause of a failure in one implementation (all versions of Kafka are one), or,
where no cause is known, its fingerprint.  What merely looks like the failures of a cause is a bug
of its own.

A bug is new unless it is listed as a known failure, is in the corpus, or was open after the night
before.  A bug that was open and is not found tonight stays open, for a random search may miss it.
A bug that was flaky and now fails each time is new again.  A flaky bug that is not found for a week
is dropped: then the load or the network was the likely cause.

The parts of a nightly run, and how much time each of them gets.

A part gets its share of the time that is left when it begins.  So a part that ends early leaves
time to the others, and one that takes too long takes it from all that follow.  A target needs some
minutes; if there is no time for all, the old releases take turns, night by night.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from fencepost.conformance.runtime.toolchain.found_tools import cache_folder
from fencepost.properties.oracle.fingerprint import Bug, bug_of
from fencepost.traces.files.bounded import pip_install
from fencepost.traces.files.trace_causes import cause_of_text

NEW, OPEN, ADOPTED, KNOWN = "new", "open", "adopted", "known"
STATUSES = (NEW, OPEN, ADOPTED, KNOWN)
"""The statuses of an entry, the most urgent first."""

EACH_TIME, SOMETIMES, UNTRIED = "each time", "now and then", "not tried again"
SURENESS = (EACH_TIME, SOMETIMES, UNTRIED)
"""How surely a finding fails again, the surest first."""

_NO_WORD = re.compile(r"[^a-z0-9]+")
_LONGEST = 100
_FORGOTTEN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class ShardFinding:
    """One finding of one shard.

    `shape`: its fingerprint in words; `known`: why it is listed as a known failure, or ""; `trace`:
    the text of its file, or None; `cause`: the known departures that explain it, or "".
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

    @property
    def bug(self) -> Bug:
        """The bug that this finding shows."""
        return bug_of(self.target, self.shape, self.cause)


@dataclass(frozen=True, slots=True)
class NightlyBug:
    """One bug, as the report shows it.

    `cause`: the known departures that explain it, or ""; `shapes`: its fingerprints, in words, of
    all nights, and `shape` that of the finding that is shown; `why`: the reason why it is known, or
    the name of the trace in the corpus; `seen`: how often tonight, by all shards, 0 for one that
    was only open before; `trace`: the name of a file beside the report.
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
    shards: tuple[str, ...]
    targets: tuple[str, ...]
    seed: int
    first_night: str
    last_night: str
    trace: str | None

    @property
    def bug(self) -> Bug:
        """The bug, as a finding has it."""
        return bug_of(self.origin, self.shape, self.cause)

    @property
    def by_fingerprints(self) -> frozenset[Bug]:
        """The bug as it is known by each of its fingerprints."""
        return frozenset(bug_of(self.origin, shape) for shape in self.shapes)

    def to_json(self) -> dict[str, Any]:
        """For the report."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> NightlyBug:
        """As a report says it."""
        lists = {name: tuple(row[name]) for name in ("shapes", "shards", "targets")}
        return cls(**{**row, **lists})


def with_cause(finding: ShardFinding) -> ShardFinding:
    """The same finding, with the known cause of what its trace shows."""
    if finding.trace is None:
        return finding
    return replace(finding, cause=cause_of_text(finding.trace))


def entries_of(
    findings: Iterable[ShardFinding],
    *,
    tonight: str,
    corpus: Mapping[Bug, str],
    before: Sequence[NightlyBug],
) -> list[NightlyBug]:
    """An entry for each bug, the most urgent first.

    `corpus`: the bugs of its traces, with their names; `before`: the entries of the night before.
    """
    was_open = {e.bug: e for e in before if e.status in {NEW, OPEN}}
    found = _by_bug(list(findings))
    entries = [_entry(bug, alike, tonight, corpus, was_open) for bug, alike in found.items()]
    explained = {bug for entry in entries if entry.cause for bug in entry.by_fingerprints}
    entries += [
        replace(entry, status=OPEN, seen=0, shards=())
        for bug, entry in was_open.items()
        if bug not in {*found, *corpus, *explained} and not _is_forgotten(entry, tonight)
    ]
    return sorted(entries, key=_urgency)


def _by_bug(findings: Sequence[ShardFinding]) -> dict[Bug, list[ShardFinding]]:
    found: dict[Bug, list[ShardFinding]] = {}
    for finding in findings:
        found.setdefault(finding.bug, []).append(finding)
    return found


def trace_texts(entries: Iterable[NightlyBug], findings: Iterable[ShardFinding]) -> dict[str, str]:
    """The texts of tonight's traces, by the names of their files."""
    best: dict[Bug, str] = {}
    for finding in sorted(findings, key=_best):
        if finding.trace is not None:
            best.setdefault(finding.bug, finding.trace)
    return {e.trace: best[e.bug] for e in entries if e.trace is not None and e.bug in best}


def _entry(
    bug: Bug,
    alike: Sequence[ShardFinding],
    tonight: str,
    corpus: Mapping[Bug, str],
    was_open: Mapping[Bug, NightlyBug],
) -> NightlyBug:
    best = min(alike, key=_best)
    listed = {s.target: s.known for s in alike if s.known}
    earlier = was_open.get(bug)
    shapes = {s.shape for s in alike}
    origin, what = bug
    cause = "" if what in shapes else what
    if all(s.known or (cause and s.target in listed) for s in alike):
        status, why = KNOWN, min(listed.values())
    elif bug in corpus:
        status, why = ADOPTED, corpus[bug]
    else:
        is_surer = earlier is None or (best.sure == EACH_TIME and earlier.sure != EACH_TIME)
        status, why = (NEW if is_surer else OPEN), ""
    return NightlyBug(
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
        first_night=tonight if earlier is None else earlier.first_night,
        last_night=tonight,
        trace=_trace_name(best, earlier),
    )


def _trace_name(best: ShardFinding, earlier: NightlyBug | None) -> str | None:
    if best.trace is not None:
        return f"traces/{_file_name(best.bug)}.json"
    return None if earlier is None else earlier.trace


def _is_forgotten(entry: NightlyBug, tonight: str) -> bool:
    """Whether a bug that never failed each time has not been found for long."""
    gone = date.fromisoformat(tonight) - date.fromisoformat(entry.last_night)
    return entry.sure != EACH_TIME and gone >= _FORGOTTEN


def _best(finding: ShardFinding) -> tuple[int, bool, int, str]:
    """The order of findings by how well they show a bug: the surest, with a trace, the shortest."""
    size = len(finding.trace or "")
    return SURENESS.index(finding.sure), finding.trace is None, size, finding.shard


def _urgency(entry: NightlyBug) -> tuple[int, bool, int, str, str]:
    return (
        STATUSES.index(entry.status),
        not entry.seen,
        SURENESS.index(entry.sure),
        entry.origin,
        entry.shape,
    )


def _file_name(bug: Bug) -> str:
    return _NO_WORD.sub("-", " ".join(bug).lower()).strip("-")[:_LONGEST].rstrip("-")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


MODEL, MUTANTS, TRACES, TESTS, TARGETS = "model", "mutants", "traces", "tests", "targets"
WEIGHTS: Mapping[str, float] = {MODEL: 10, MUTANTS: 18, TRACES: 10, TESTS: 17, TARGETS: 45}
"""The parts in their order, and the weight of each."""

FIRST_TARGETS = ("mock", "kfake", "kafka:4.3.0")
"""Searched every night."""
OTHER_TARGETS = tuple(
    f"kafka:{version}"
    for version in (
        *("4.1.1", "3.9.1+new", "3.9.1+old", "3.3.1", "3.1.2"),
        *("2.8.0", "2.6.0", "2.4.1", "2.3.0"),
    )
)
"""These take turns; the releases that have a certificate."""

_LEAST_TARGET_S = 240.0


class Schedule:
    """Shares out the time of a night as parts begin; `until`: its end, on the caller's clock."""

    def __init__(self, weights: Mapping[str, float], until: float) -> None:
        self._weights = dict(weights)
        self._until = until

    def begin(self, part: str, now: float) -> float:
        """The seconds that a part may take that begins now; 0 if none are left."""
        waiting = sum(self._weights.values())
        mine = self._weights.pop(part)
        left = max(0.0, self._until - now)
        return left * mine / waiting if waiting else 0.0


def weights_of(parts: Sequence[str], targets: Sequence[str]) -> dict[str, float]:
    """The weight of each part, targets one by one, in their order."""
    weights = {part: WEIGHTS[part] for part in WEIGHTS if part in parts and part != TARGETS}
    if TARGETS in parts:
        weights |= {target: WEIGHTS[TARGETS] / len(targets) for target in targets}
    return weights


def targets_of(seed: int, seconds: float) -> tuple[str, ...]:
    """The targets of a night that has so much time for them."""
    room = max(0, int(seconds // _LEAST_TARGET_S) - len(FIRST_TARGETS))
    first = seed * max(room, 1) % len(OTHER_TARGETS)
    turned = OTHER_TARGETS[first:] + OTHER_TARGETS[:first]
    return FIRST_TARGETS + turned[:room]


def why_not(target: str) -> str:
    """What is missing to start a target here, or ""."""
    if target == "mock" and importlib.util.find_spec("confluent_kafka") is None:
        return f"confluent-kafka is missing: {pip_install('mock')}"
    if target == "kfake" and not _has("go") and not (cache_folder() / "kfake").is_dir():
        return "go is not on the PATH: install Go 1.22 or later"
    if target.startswith("kafka:"):
        if not _has("java") and not os.environ.get("JAVA_HOME"):
            return "java is not on the PATH: install Java 17 or later"
        if not _has("mvn") and not (cache_folder() / "kafka").is_dir():
            return "mvn is not on the PATH: install Maven 3.6 or later"
    return ""


def _has(program: str) -> bool:
    return shutil.which(program) is not None
