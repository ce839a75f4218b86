"""The result of one check: its outcome, the level at which it counts, and the evidence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol, Self

from fencepost.model.history.words import without_names
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.departures.attribution import Attribution, attributed, departures_in
from fencepost.properties.departures.known_departures import DEPARTURES
from fencepost.properties.departures.lost_timers import lost_timer
from fencepost.properties.departures.permitted import permitting
from fencepost.properties.judging.answer_diff import Recording, signature
from fencepost.properties.judging.known_failures import KnownFailure, note_of, stale_note
from fencepost.properties.oracle.fingerprint import (
    TARGET_FAILED,
    Fingerprint,
    broken_rule,
    fingerprint_of,
)
from fencepost.properties.oracle.verdict import Noted, Verdict, Violation


class Outcome(Enum):
    """The outcome of a case.

    pass: The protocol permits these answers, and every way to explain them uses the rules that the
    case tests.  fail: The protocol permits these answers in no way.  known-failure: The case failed
    exactly as a list of known failures says.  stale-known-failure: The case is on a list, but it
    passed or failed in another way.  unknown: Neither could be shown.  unsupported: The target
    lacks a version, a setting or a feature that the case needs.  skipped: --skip left it out.
    """

    PASS = "pass"  # noqa: S105  (a word, no secret)
    FAIL = "fail"
    KNOWN_FAILURE = "known-failure"
    STALE_KNOWN_FAILURE = "stale-known-failure"
    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"
    SKIPPED = "skipped"


_FAILED = {Outcome.FAIL, Outcome.KNOWN_FAILURE, Outcome.STALE_KNOWN_FAILURE}
UNTESTED = (Outcome.UNSUPPORTED, Outcome.SKIPPED)
"""Outcomes of cases that were not run to their end."""

NOT_LISTED = (Outcome.FAIL, Outcome.STALE_KNOWN_FAILURE)
"""Outcomes that make a verdict `violated`."""

TRACED = (*NOT_LISTED, Outcome.KNOWN_FAILURE, Outcome.UNKNOWN)
"""Outcomes for which a report keeps a trace."""


class Check(Protocol):
    """The subject of a check: a case of the catalogue, or a requirement in a scenario.

    `rules`: the clauses that it is about.
    """

    @property
    def id(self) -> str:
        """Return the id, which never changes once it is published."""
        ...

    @property
    def about(self) -> str:
        """Return what is checked, in a sentence."""
        ...

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the ids of the clauses."""
        ...

    @property
    def level(self) -> Level:
        """Return the level of the clauses."""
        ...


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    `level`: the check's, or that of its failure.  `message`: one sentence with the names of this
    run; "" for a pass.  `observed`: the signature of what was seen, which a known failure must
    match; it is the same for the same fault in every run.  `attempts`: how often it was run;
    `seconds`: of the last run.  `known`: the entry of a list that covers the failure.  `stale`: in
    which other way than listed it fails, "" if it doesn't.
    """

    case: Check
    outcome: Outcome
    level: Level
    message: str = ""
    observed: str = ""
    attempts: int = 1
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    known: KnownFailure | None = None
    stale: str = ""

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Return the notes with those about the list of known failures, as they are written."""
        known = () if self.known is None else (note_of(self.known.reason),)
        return (*self.notes, *known, *((stale_note(self.stale),) if self.stale else ()))

    @property
    def has_trace(self) -> bool:
        """Tell if a report keeps a trace of it."""
        return False

    @property
    def lag_ms(self) -> int:
        """Return the lag that was allowed for, in ms."""
        return 0

    def without_going_on(self) -> Self:
        """Return the result as it would be without going on behind a deviation."""
        return self

    def listed_rules(self, revision: Revision) -> tuple[str, ...]:  # noqa: ARG002
        """Return the rules by which an entry for all checks may name the failure."""
        return ()

    def is_covered_by(self, entry: KnownFailure) -> bool:
        """Tell if an entry that names the check is about what was seen in it."""
        # One that comes now and then is unknown if it didn't come each time.
        is_failure = self.outcome is Outcome.FAIL or (
            self.outcome is Outcome.UNKNOWN and entry.intermittent
        )
        return is_failure and entry.covers(self.observed)


@dataclass(frozen=True, slots=True)
class CaseResult(CheckResult):
    """The result of a case of the catalogue, or of a plan.

    `judged_s`: the processor time that it took to judge what was recorded.  `whole`: the recording,
    if the run went on behind the failure.  `before`: the result without going on, if this one is
    that of going on; `behind`: the deviations behind which it is.
    """

    case: Plan
    verdict: Verdict | None = None
    recording: Recording | None = None
    judged_s: float = 0.0
    whole: Recording | None = field(default=None, compare=False)
    before: Self | None = field(default=None, compare=False)
    behind: tuple[Fingerprint, ...] = ()

    @property
    def has_trace(self) -> bool:
        """Tell if a report keeps a trace of it."""
        return self.recording is not None and self.outcome in TRACED

    @property
    def lag_ms(self) -> int:
        """Return the lag that was allowed for, in ms."""
        return 0 if self.recording is None else self.recording.lag_ms

    def without_going_on(self) -> Self:
        """Return the result as it would be without going on behind a deviation."""
        return self if self.before is None else self.before

    def broken(self, revision: Revision) -> str | None:
        """Return the id of the rule that was broken, of the revision that judged."""
        rule = None if self.violation is None else broken_rule(self.violation, revision)
        return None if rule is None else rule.id

    def listed_rules(self, revision: Revision) -> tuple[str, ...]:
        """Return the rules by which an entry for all checks may name the failure: the broken one.

        Of an answer too early, or in wrong bytes, also those that took the request in.
        """
        violation = self.violation
        if violation is None or self.outcome is not Outcome.FAIL:
            return ()
        either = violation.wait is not None or violation.detail.startswith("bytes ")
        return (self.broken(revision) or "", *(violation.decided_by if either else ()))

    @property
    def violation(self) -> Violation | None:
        """Return the violation that the oracle found, whatever the outcome is."""
        return self.verdict.violation if self.verdict is not None else None

    @property
    def tolerated(self) -> tuple[Noted, ...]:
        """Return the answers that are allowed though the model gives others."""
        return () if self.verdict is None else self.verdict.notes

    @property
    def remaining(self) -> Violation | None:
        """Return the violation that known departures leave, once the failure is attributed."""
        attribution = None if self.recording is None else self.recording.attribution
        if attribution is not None and attribution.behind:
            return attribution.verdict.violation
        return self.violation

    def fingerprint(self, revision: Revision) -> Fingerprint | None:
        """Return the fingerprint of the failure for the revision that judged.

        None where nothing failed.  A known failure has one, too.  Where known departures explain
        only the first of what is wrong, it is the fingerprint of what remains.
        """
        if self.outcome not in _FAILED:
            return None
        if self.recording is None:
            return Fingerprint(wrong=TARGET_FAILED, observed=without_names(self.observed))
        if self.violation is None:
            return None
        attribution = self.attribution(revision)
        remaining = self.remaining or self.violation
        observed = (
            signature(attribution.verdict, self.recording) if attribution.behind else self.observed
        )
        return fingerprint_of(
            remaining, revision, self.recording.history, observed, attribution.cause
        )

    def attribution(self, revision: Revision) -> Attribution:
        """Look for what explains the failure, once.  Raises ValueError without one."""
        recording = self.recording
        if recording is None or self.violation is None:
            raise ValueError(f"{self.case.id} shows no failure that could be attributed")
        return _attribution_of(recording, revision)


def graded(verdict: Verdict, recording: Recording, revision: Revision) -> Verdict:
    """Return the verdict with its violation as grave as its fault.

    A fault has one level wherever it shows.  A violation has the level of the rule that was broken.
    Where known departures explain the whole recording, they are the fault, and it is no graver than
    they are.  Where Kafka and the text differ, and the recording is right by the other one, it is a
    MAY.  Where a timer that removes nobody explains all of it, it is as grave as that timer's rule.
    """
    violation = verdict.violation
    if violation is None:
        return verdict
    if violation.level is not Level.MAY and (other := permitted_by(recording, revision)):
        return replace(verdict, violation=replace(violation, level=Level.MAY, permitted=other))
    if lost := lost_timer_of(recording, revision):
        gravest = min((violation.level, revision.rule(lost).level), key=LEVELS.index)
        violation = replace(violation, level=gravest, lost_timer=lost)
        verdict = replace(verdict, violation=violation)
    names = departures_in(_attribution_of(recording, revision).cause)
    if not names:
        return verdict
    gravest = min((DEPARTURES[name].level for name in names), key=LEVELS.index)
    level = max(violation.level, gravest, key=LEVELS.index)
    return replace(verdict, violation=replace(violation, level=level))


def permitted_by(recording: Recording, revision: Revision) -> str:
    """Return the name of the revision that explains a recording that the judge's doesn't, or ""."""
    if recording.permitted is None:
        recording.permitted = permitting(
            revision, recording.config, recording.history, lag_ms=recording.lag_ms
        )
    return recording.permitted


def lost_timer_of(recording: Recording, revision: Revision) -> str:
    """Return the rule of the timer that explains a recording if it removes nobody, or ""."""
    if recording.lost_timer is None:
        recording.lost_timer = lost_timer(
            revision, recording.config, recording.history, lag_ms=recording.lag_ms
        )
    return recording.lost_timer


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
