"""Read the report of an earlier fuzz run, and compare the findings of a run with it.

Reports name their runs by number: a report that was compared with none is run 1.  So a chain of
nights keeps the bugs that a later night does not see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self

from msgspec import UNSET, UnsetType, ValidationError, convert, field
from msgspec.structs import replace

from fencepost.conformance.search.findings.findings import PlanFinding
from fencepost.conformance.search.findings.tracked_bugs import (
    EACH_TIME,
    KNOWN,
    NEW,
    OPEN,
    SOMETIMES,
    UNTRIED,
    Sighting,
    TrackedBug,
    track_bugs,
)
from fencepost.model.bad_input import BadInputError
from fencepost.properties.judging.report import Overall
from fencepost.properties.oracle.fingerprint import bug_of, origin_of
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.files.document_schema import Document
from fencepost.traces.files.trace_file import TraceFile, TraceFileError

FORMAT: Final = "fencepost-fuzz"
VERSION: Final = 1
FILE = "fuzz.json"

_TRACES = Path("traces")
_PLACES = {"tcp", "exec"}
"""Targets whose name is an address or a command, which may be another each night."""


class FindingRow(Document, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """A finding in fuzz.json; reports of older versions have fewer fields.

    `status`: since an earlier run; `known`: the reason of a known failure.
    """

    case: str = ""
    rule: str
    level: str
    shape: str
    message: str
    cause: str = ""
    seen: int
    first: str = ""
    failed: int
    runs: int
    tried: int = 0
    is_minimal: bool = False
    trace: str | None
    status: str | UnsetType = UNSET
    known: str | UnsetType = UNSET

    def sighting(self, target: str, seed: int) -> Sighting:
        """Return the finding as one of a run that is compared."""
        sure = UNTRIED if not self.runs else SOMETIMES if self.failed < self.runs else EACH_TIME
        return Sighting(
            target,
            self.rule,
            self.level,
            self.shape,
            self.message,
            self.seen,
            sure,
            "",
            seed,
            self.known or "",
            self.trace and "",
            self.cause,
            self.trace or "",
        )


class BeforeRow(Document, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """The comparison with an earlier run; `run`: the number of this one."""

    run: int
    new: int = 0
    open: int = 0
    known: int = 0
    not_seen: int = 0
    bugs: tuple[TrackedBug, ...]


class CoverageRow(Document, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """Rules that were reached, never reached, and out of reach; numbers of pairs and states."""

    rules: tuple[str, ...] = ()
    pairs: int = 0
    states: int = 0
    never: tuple[str, ...] = ()
    unreachable: dict[str, str] = field(default_factory=dict)


class FuzzDocument(Document, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """A fuzz.json; fields that a comparison doesn't need may be missing in one that is read.

    The costs are there on a real clock alone.
    """

    format: Literal["fencepost-fuzz"]
    format_version: Literal[1]
    target: str
    implementation: str = ""
    version: str = ""
    revision: str = ""
    seed: int
    clock: str = ""
    exit_code: int = 0
    plans: int = 0
    requests: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    died: int = 0
    gave_up: str = ""
    stopped: bool = False
    ended: str = ""
    settings: dict[str, int] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    coverage: CoverageRow = CoverageRow()
    findings: tuple[FindingRow, ...]
    flaky: tuple[FindingRow, ...]
    unconfirmed: tuple[FindingRow, ...]
    known: dict[str, int] = field(default_factory=dict)
    known_findings: tuple[FindingRow, ...]
    seconds: float | UnsetType = UNSET
    requests_per_second: int | UnsetType = UNSET
    processor_seconds: dict[str, float] | UnsetType = UNSET
    target_processor_seconds: float | UnsetType | None = UNSET
    plans_at_once: float | UnsetType = UNSET
    before: BeforeRow | UnsetType | None = UNSET

    def tracked(self) -> tuple[TrackedBug, ...]:
        """Return the bugs of all findings, and those that only runs before it saw."""
        if isinstance(self.before, BeforeRow):
            return self.before.bugs
        rows = (*self.findings, *self.flaky, *self.unconfirmed, *self.known_findings)
        return tuple(track_bugs((row.sighting(self.target, self.seed) for row in rows), 1, ()))


@dataclass(frozen=True, slots=True)
class SinceBefore:
    """The bugs of a run, compared with the run before.

    `run`: the number of this run; `traces`: of bugs that were not seen, by the names of their
    files.
    """

    run: int
    bugs: tuple[TrackedBug, ...]
    traces: Mapping[str, TraceFile]

    @property
    def unobserved(self) -> tuple[TrackedBug, ...]:
        """The bugs that the run before had open, and this one did not see."""
        return tuple(bug for bug in self.bugs if not bug.seen)

    def count(self, status: str) -> int:
        """Count the bugs of this status that were seen."""
        return sum(bug.status == status and bug.seen > 0 for bug in self.bugs)

    def status_of(self, finding: PlanFinding) -> str:
        """Return the status of the bug that a finding shows."""
        return {bug.bug[1]: bug.status for bug in self.bugs}[_bug_text(finding)]

    def overall(self) -> Overall:
        """Violated if a new or open bug was seen that fails each time, in this run or before."""
        pending = [bug for bug in self.bugs if bug.is_pending and bug.seen]
        if any(bug.sure == EACH_TIME for bug in pending):
            return Overall.VIOLATED
        return Overall.UNKNOWN if pending else Overall.HOLDS

    def counts(self) -> str:
        """Count the bugs by status, in words."""
        counts = ", ".join(f"{self.count(status)} {status}" for status in (NEW, OPEN, KNOWN))
        return f"{counts}, {len(self.unobserved)} not seen this time"

    def new_and_open(self) -> str:
        """Count what the exit code depends on, in words."""
        return f"{self.count(NEW)} new, {self.count(OPEN)} open"

    def row(self) -> BeforeRow:
        """Write the comparison for the report."""
        return BeforeRow(
            run=self.run,
            new=self.count(NEW),
            open=self.count(OPEN),
            known=self.count(KNOWN),
            not_seen=len(self.unobserved),
            bugs=self.bugs,
        )


class EarlierRunError(BadInputError):
    """A report can't be compared with.  `str()` names the file, the problem and the remedy."""


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """The bugs of an earlier run, and its traces that are still there."""

    number: int
    origin: str
    bugs: tuple[TrackedBug, ...]
    traces: Mapping[str, TraceFile]

    @classmethod
    def read(cls, report: Path, target: str) -> Self:
        """Read the folder or fuzz.json of a run against this target.  Raises EarlierRunError."""
        path = report / FILE if report.is_dir() else report
        try:
            read = convert(read_json(path), FuzzDocument)
        except DocumentError as error:
            raise EarlierRunError(f"{error}; {_REMEDY}") from error
        except ValidationError as error:
            raise EarlierRunError(
                f"{path}: is no report of `fencepost fuzz` ({error}); {_REMEDY}"
            ) from error
        origin = origin_of(target)
        if not _is_same(origin_of(read.target), origin):
            raise EarlierRunError(
                f"{path}: is a report of {read.target}, not of {target}; "
                "give --before a report of the same target"
            )
        bugs = read.tracked()
        traces = dict(_traces(path.parent, bugs))
        return cls(
            read.before.run if isinstance(read.before, BeforeRow) else 1,
            origin,
            tuple(
                replace(bug, origin=origin, trace=bug.trace if bug.trace in traces else None)
                for bug in bugs
            ),
            traces,
        )

    def status_of(self, finding: PlanFinding) -> str:
        """Return the status of one finding."""
        return self._since([self._sighting(finding, 0)]).status_of(finding)

    def compared(
        self,
        findings: Iterable[PlanFinding],
        traces: Mapping[str, tuple[str, str]],
        seed: int,
    ) -> SinceBefore:
        """Compare findings.

        `traces`: case → the name and the text of its file.
        """
        return self._since(
            self._sighting(finding, seed, traces.get(finding.case.id)) for finding in findings
        )

    def _since(self, sightings: Iterable[Sighting]) -> SinceBefore:
        run = self.number + 1
        bugs = tuple(track_bugs(sightings, run, self.bugs))
        names = {bug.trace for bug in bugs if not bug.seen}
        return SinceBefore(run, bugs, {n: t for n, t in self.traces.items() if n in names})

    def _sighting(
        self, finding: PlanFinding, seed: int, trace: tuple[str, str] | None = None
    ) -> Sighting:
        file, text = trace or ("", None)
        return Sighting.of(finding, self.origin, seed, trace=text, file=file)


_REMEDY = "name the folder or the fuzz.json that an earlier `fencepost fuzz --report` wrote"


def _bug_text(finding: PlanFinding) -> str:
    return bug_of("", finding.fingerprint)[1]


def _is_same(origin: str, other: str) -> bool:
    kind = origin.partition(":")[0]
    return origin == other or (kind in _PLACES and kind == other.partition(":")[0])


def _traces(folder: Path, bugs: Iterable[TrackedBug]) -> Iterator[tuple[str, TraceFile]]:
    """Read the traces of bugs; what is gone or damaged is left out."""
    for bug in bugs:
        if bug.is_pending and bug.trace is not None and Path(bug.trace).parent == _TRACES:
            try:
                yield bug.trace, TraceFile.read(folder / bug.trace)
            except TraceFileError:
                continue
