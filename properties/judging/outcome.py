"""The result of a case and of a whole certificate: outcomes, the overall verdict, exit codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol

from fencepost.model.coordinator import Config, Provenance
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.departures.attribution import Attribution, attributed, departures_in
from fencepost.properties.departures.known_departures import DEPARTURES
from fencepost.properties.judging.answer_diff import Recording, signature
from fencepost.properties.oracle.fingerprint import (
    TARGET_FAILED,
    Fingerprint,
    fingerprint_of,
    without_names,
)
from fencepost.properties.oracle.verdict import Verdict, Violation


class Outcome(Enum):
    """The outcome of a case."""

    PASS = "pass"  # noqa: S105  (a word, no secret)
    FAIL = "fail"
    KNOWN_FAILURE = "known-failure"
    STALE_KNOWN_FAILURE = "stale-known-failure"
    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"
    SKIPPED = "skipped"


_FAILED = {Outcome.FAIL, Outcome.KNOWN_FAILURE, Outcome.STALE_KNOWN_FAILURE}


class Overall(Enum):
    """The verdict of a certificate."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


EXIT_CODES = {Overall.HOLDS: 0, Overall.VIOLATED: 1, Overall.UNKNOWN: 2}


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case: its outcome, the level at which it failed, and the evidence.

    `level`: the case's, if it did not fail.  `message`: one sentence, members by name; "" for a
    pass.  `observed`: the signature of what was seen, which a known failure must match; it is the
    same for the same fault in every run.  `attempts`: how often the case was run; `seconds`: how
    long the last run took; `judged_s`: the processor time that it took to judge what was recorded.
    """

    case: Plan
    outcome: Outcome
    level: Level
    message: str = ""
    observed: str = ""
    verdict: Verdict | None = None
    recording: Recording | None = None
    attempts: int = 1
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    judged_s: float = 0.0

    @property
    def violation(self) -> Violation | None:
        """The violation that the oracle found, whatever the outcome is."""
        return self.verdict.violation if self.verdict is not None else None

    @property
    def remaining(self) -> Violation | None:
        """The violation that known departures leave, once the failure is attributed."""
        found = None if self.recording is None else self.recording.attribution
        if found is not None and found.behind:
            return found.verdict.violation
        return self.violation

    def fingerprint(self, revision: Revision) -> Fingerprint | None:
        """The fingerprint of the failure, for the revision that judged; None where nothing failed.

        A known failure has one, too.  Where known departures explain only the first of what is
        wrong, it is the fingerprint of what remains.
        """
        if self.outcome not in _FAILED:
            return None
        if self.recording is None:
            return Fingerprint(wrong=TARGET_FAILED, observed=without_names(self.observed))
        if self.violation is None:
            return None
        found = self.attribution(revision)
        remaining = self.remaining or self.violation
        observed = signature(found.verdict, self.recording) if found.behind else self.observed
        return fingerprint_of(remaining, revision, self.recording.history, observed, found.cause)

    def attribution(self, revision: Revision) -> Attribution:
        """What is known of the failure; it is looked for once.  Raises ValueError without one."""
        recording = self.recording
        if recording is None or self.violation is None:
            raise ValueError(f"{self.case.id} shows no failure that could be attributed")
        return _attribution_of(recording, revision)


def graded(verdict: Verdict, recording: Recording, revision: Revision) -> Verdict:
    """The verdict with its violation as grave as its fault, which has one level wherever it shows.

    A violation has the level of the rule that was broken.  Where known departures explain the whole
    recording, they are the fault, and it is no graver than they are.
    """
    violation = verdict.violation
    if violation is None:
        return verdict
    names = departures_in(_attribution_of(recording, revision).cause)
    if not names:
        return verdict
    gravest = min((DEPARTURES[name].level for name in names), key=LEVELS.index)
    level = max(violation.level, gravest, key=LEVELS.index)
    return replace(verdict, violation=replace(violation, level=level))


def _attribution_of(recording: Recording, revision: Revision) -> Attribution:
    if recording.attribution is None:
        recording.attribution = attributed(
            revision,
            recording.config,
            recording.history,
            lag_ms=recording.lag_ms,
            coordinator=recording.coordinator,
        )
    return recording.attribution


@dataclass(frozen=True, slots=True)
class CertificateCoverage:
    """The rules that were covered, were not, and can't be, the last with the reason."""

    covered: tuple[str, ...]
    missed: tuple[str, ...]
    unreachable: Mapping[str, str]


class Graded(Protocol):
    """A result: how it came out, and at which level that counts."""

    @property
    def outcome(self) -> Outcome:
        """How it came out."""
        ...

    @property
    def level(self) -> Level:
        """The level at which it counts."""
        ...


class Certified:
    """What all certificates derive from their results: counts, the verdict, the exit code.

    `level`: the least binding level that decides.
    """

    __slots__ = ()
    results: Sequence[Graded]
    level: Level

    def counts(self) -> Counter[tuple[Level, Outcome]]:
        """How many cases came out how, by level."""
        return Counter((r.level, r.outcome) for r in self.results)

    def deciding(self, result: Graded) -> bool:
        """Whether a case's level counts for the verdict."""
        return LEVELS.index(result.level) <= LEVELS.index(self.level)

    def overall(self) -> Overall:
        """Violated if a deciding case failed or is stale; else unknown if one is; else it holds.

        Where no case at all could be tested, nothing is known.
        """
        outcomes = {r.outcome for r in self.results if self.deciding(r)}
        if outcomes & {Outcome.FAIL, Outcome.STALE_KNOWN_FAILURE}:
            return Overall.VIOLATED
        if Outcome.UNKNOWN in outcomes or not self.tested():
            return Overall.UNKNOWN
        return Overall.HOLDS

    def tested(self) -> bool:
        """Whether any case was tested: not all were skipped, or asked for what the target lacks."""
        untested = {Outcome.UNSUPPORTED, Outcome.SKIPPED}
        return any(result.outcome not in untested for result in self.results)

    def exit_code(self) -> int:
        """The exit code of the verdict."""
        return EXIT_CODES[self.overall()]


@dataclass(frozen=True, slots=True)
class Certificate(Certified):
    """All results of one target under one revision.

    `suite`: name and figures of a generated suite; empty for the catalogue.
    """

    provenance: Provenance
    revision: str
    clock: str
    config: Config
    settings_source: Mapping[str, str]
    advertised: Mapping[str, tuple[int, int]]
    working: Mapping[str, tuple[int, int]]
    results: tuple[CaseResult, ...]
    coverage: CertificateCoverage
    seed: int
    level: Level
    versions: Mapping[str, str]
    lag_ms: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())
    suite: Mapping[str, Any] = field(default_factory=dict)
