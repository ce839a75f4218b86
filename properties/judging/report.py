"""Report all results of one target or client: counts, the verdict, its sentence, the exit code.

A target is certified if all cases of its suite ran, each one that counts passed, and no list of
known failures was needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, ClassVar, Generic, Literal, TypeVar

from fencepost.model.coordinator import Config, Provenance
from fencepost.model.history.words import made_by, plural, verdict_line
from fencepost.model.plans.steps import Request
from fencepost.model.plans.times import LEAST_LAG_MS
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.departures.attribution import departures_in
from fencepost.properties.judging.answer_diff import TOO_LATE
from fencepost.properties.judging.known_failures import KnownFailure, ListedFailures, listed_as
from fencepost.properties.judging.outcome import (
    NOT_LISTED,
    UNTESTED,
    CaseResult,
    CheckResult,
    Outcome,
)


class Overall(Enum):
    """The verdict of a report.

    holds: Every case that decides passed, or failed exactly as listed.  violated: A case that
    decides failed, or an entry of a list is stale.  unknown: Nothing failed, but a case that
    decides stayed unknown, or no case could run.
    """

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


ExitCode = Literal[0, 1, 2]
EXIT_CODES: Mapping[Overall, ExitCode] = {
    Overall.HOLDS: 0,
    Overall.VIOLATED: 1,
    Overall.UNKNOWN: 2,
}

ResultT = TypeVar("ResultT", bound=CheckResult)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Generic[ResultT]):
    """All results of one subject under one revision.

    `provenance`: the subject.  `revision`: the one that judges, or that a client's broker serves.
    `level`: the least binding level that decides.  `notes`: what was left out.  `not_selected`:
    how many cases of the suite were not selected.
    """

    tells_undecided: ClassVar[bool] = True
    """The summary counts undecided cases, too, where the verdict does not rest on them."""

    provenance: Provenance
    revision: str
    results: tuple[ResultT, ...]
    level: Level
    versions: Mapping[str, str]
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    not_selected: int = 0

    @property
    def subject(self) -> str:
        """Return the subject and the revision, e.g. `mock (librdkafka 2.16.1) under kafka-4`."""
        made = made_by(self.provenance.implementation, self.provenance.version)
        return f"{self.provenance.target} ({made}) {self.conditions}"

    @property
    def conditions(self) -> str:
        """Return under which conditions, e.g. `under kafka-4`."""
        return f"under {self.revision}"

    def of(self, *outcomes: Outcome) -> list[ResultT]:
        """Return the results with one of these outcomes."""
        return [result for result in self.results if result.outcome in outcomes]

    def counts(self) -> Counter[tuple[Level, Outcome]]:
        """Count the results by level and outcome."""
        return Counter((r.level, r.outcome) for r in self.results)

    def deciding(self, result: CheckResult) -> bool:
        """Tell if a result's level counts for the verdict."""
        return LEVELS.index(result.level) <= LEVELS.index(self.level)

    def overall(self) -> Overall:
        """Return the verdict.

        Violated if a deciding case failed or is stale; else unknown if one is; else it holds.
        Where no case at all could be tested, nothing is known; nor where something is offered that
        never works.
        """
        outcomes = {r.outcome for r in self.results if self.deciding(r)}
        if not outcomes.isdisjoint(NOT_LISTED):
            return Overall.VIOLATED
        if Outcome.UNKNOWN in outcomes or not self.tested() or self.never_working():
            return Overall.UNKNOWN
        return Overall.HOLDS

    def tested(self) -> bool:
        """Tell if any case was tested: not all were skipped, or need what the subject lacks."""
        return any(result.outcome not in UNTESTED for result in self.results)

    def never_working(self) -> tuple[str, ...]:
        """Return what the subject offers, cases need, and never works."""
        return ()

    def exit_code(self) -> ExitCode:
        """Return the exit code of the verdict."""
        return EXIT_CODES[self.overall()]

    def left_out(self) -> tuple[str, ...]:
        """Return what the report says nothing about: cases that were not run, and its notes."""
        counts = Counter(result.outcome for result in self.results)
        counted = (f"{counts[outcome]} {outcome.value}" for outcome in UNTESTED if counts[outcome])
        unselected = [f"{plural(self.not_selected, 'case')} not selected"] * bool(self.not_selected)
        return (*counted, *unselected, *self.notes)

    def certified(self) -> bool:
        """Tell if it holds, no case was left out, and no failure is listed as known."""
        known = self.of(Outcome.KNOWN_FAILURE)
        return self.overall() is Overall.HOLDS and not self.left_out() and not known

    def excused(self) -> bool:
        """Tell if it holds only because failures at MUST are listed as known."""
        return self.overall() is Overall.HOLDS and any(
            result.level is Level.MUST for result in self.of(Outcome.KNOWN_FAILURE)
        )

    def summary(self) -> str:
        """Return the verdict on one line, e.g. `mock (librdkafka 2.16.1) under kafka-4: holds`.

        One that rests on known failures at MUST begins with the number of cases that pass.
        """
        subjects = (self.subject, self._short_subject)
        words = self._verdict_words(Counter(r.outcome for r in self.results if self.deciding(r)))
        if self.overall() is Overall.HOLDS:
            return verdict_line(subjects, (f"{words}{self._extent()}", words))
        return verdict_line(subjects, (words,))

    def _extent(self) -> str:
        """Return the last words of a verdict that holds: whether it is about all cases."""
        if self.excused():
            return ""  # it begins with the number of cases
        if self.not_selected:
            return "; selected cases only"
        if self.of(Outcome.KNOWN_FAILURE):
            return ""
        return "; certified" if self.certified() else "; not certified"

    @property
    def _short_subject(self) -> str:
        return f"{self.provenance.target} {self.conditions}"

    def details(self) -> tuple[str, ...]:
        """Return what the verdict's line has no room for: counts, and what was left out."""
        known = len(self.of(Outcome.KNOWN_FAILURE))
        counted = [] if self.overall() is Overall.HOLDS or not known else [known]
        below = self._below([r for r in self.results if not self.deciding(r)])
        whole = [] if self.summary().startswith(f"{self.subject}: ") else [self.subject]
        return (
            *whole,
            *(plural(number, "known failure") for number in counted),
            *([f"{below} below {self.level.value} (not counted)"] if below else []),
            *self.left_out(),
        )

    def _verdict_words(self, deciding: Counter[Outcome]) -> str:
        overall = self.overall()
        if overall is Overall.VIOLATED:
            failed, stale = (deciding[outcome] for outcome in NOT_LISTED)
            parts = [plural(failed, "case")] if failed else []
            parts += [plural(stale, "stale known failure")] if stale else []
            undecided = deciding[Outcome.UNKNOWN] if self.tells_undecided else 0
            rest = f", {undecided} undecided" if undecided else ""
            return f"violated by {' and '.join(parts)}{rest}"
        if (broken := self.never_working()) and not deciding[Outcome.UNKNOWN]:
            return f"unknown: no advertised version of {', '.join(broken)} works"
        if not self.tested():
            return f"unknown: no case {'could be tested' if self.results else 'was run'}"
        if overall is Overall.UNKNOWN:
            return f"unknown: {plural(deciding[Outcome.UNKNOWN], 'case')} could not be decided"
        known = len(self.of(Outcome.KNOWN_FAILURE))
        holds = f"holds apart from {plural(known, 'known failure')}" if known else "holds"
        if not self.excused():
            return holds
        cases = f"{len(self.results)}{' selected' if self.not_selected else ''}"
        return f"passes {len(self.of(Outcome.PASS))} of {cases}, {holds}"

    def _below(self, others: Sequence[CheckResult]) -> str:
        count = Counter(r.outcome for r in others)
        failed = sum(
            count[outcome] for outcome in (NOT_LISTED if self.tells_undecided else NOT_LISTED[:1])
        )
        undecided = count[Outcome.UNKNOWN] if self.tells_undecided else 0
        parts = [plural(failed, "failure")] if failed else []
        parts += [f"{undecided} unknown"] if undecided else []
        return " and ".join(parts)


@dataclass(frozen=True, slots=True)
class CertificateCoverage:
    """The rules that were covered, were not, and can't be, the last with the reason."""

    covered: tuple[str, ...]
    missed: tuple[str, ...]
    unreachable: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Report[CaseResult]):
    """The report of a coordinator.

    `suite`: name and figures of a generated suite; empty for the catalogue.  `broken`: API → the
    versions that are advertised and don't work → the reason; `remarks`: what a reader must know of
    the target, in sentences.
    """

    clock: str
    config: Config
    settings_source: Mapping[str, str]
    advertised: Mapping[str, tuple[int, int]]
    working: Mapping[str, tuple[int, int]]
    coverage: CertificateCoverage
    seed: int
    lag_ms: int = 0
    suite: Mapping[str, Any] = field(default_factory=dict)
    broken: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def conditions(self) -> str:
        """Return the revision, and the suite unless it is the catalogue."""
        suite = f", suite {self.suite['name']}" if self.suite else ""
        return f"under {self.revision}{suite}"

    def details(self) -> tuple[str, ...]:
        """Return what a reader must know of the target, and what the line leaves out."""
        return (*self.remarks, *Report.details(self))

    def never_working(self) -> tuple[str, ...]:
        """Return the APIs that cases need, and of which each advertised version is broken."""
        if not (broken := self.advertised.keys() - self.working.keys()):
            return ()
        lacking = (r.case.steps for r in self.results if r.outcome is Outcome.UNSUPPORTED)
        needed = {step.api for steps in lacking for step in steps if isinstance(step, Request)}
        return tuple(sorted(broken & needed))

    def is_whole(self) -> bool:
        """Tell if the whole catalogue was run: no case was skipped or left out."""
        left_out = self.notes or self.not_selected or self.of(Outcome.SKIPPED)
        return not (self.suite or left_out)

    def broken_versions(self) -> dict[str, tuple[int, ...]]:
        """Return API → the versions that the target advertises and can't speak."""
        broken = {}
        for api, (low, high) in sorted(self.advertised.items()):
            working = self.working.get(api)
            rest = tuple(
                version
                for version in range(low, high + 1)
                if working is None
                or not working[0] <= version <= working[1]
                or version in self.broken.get(api, ())
            )
            if rest:
                broken[api] = rest
        return broken


def apply(
    results: Iterable[ResultT], known: Sequence[KnownFailure], revision: Revision
) -> tuple[ResultT, ...]:
    """Mark failures that are listed as known, and cases whose entry is wrong as stale.

    A result that is unknown, unsupported or skipped stays, since it says nothing about the list.
    There is one exception: a failure that its entry calls intermittent is known, too, where the
    case is unknown because it did not fail each time.  A case that is listed by the deviation
    behind which it went on fails as listed, and so does one that fails behind a listed one, unless
    that failure is listed, too.  Behind a deviation that is there now and then a case may pass.
    """
    listed = ListedFailures(known)
    # A steady failure says best what the cause is; an intermittent one may have more to it.
    steady_first = sorted(known, key=lambda entry: entry.intermittent)
    by_cause = {entry.cause: entry for entry in reversed(steady_first) if entry.cause}

    def applied(result: ResultT) -> ResultT:
        entries = listed.own(result.case.id)
        before = result.without_going_on()
        if before is not result:
            is_own = any(e for e in entries if not e.intermittent and before.is_covered_by(e))
            fails = result.outcome is Outcome.FAIL
            as_listed = applied(before)
            if not (fails and any(map(result.is_covered_by, entries))) and (
                is_own or (fails and as_listed.known is not None)
            ):
                return as_listed
        names: Sequence[str] = ()
        if isinstance(result, CaseResult) and result.outcome is Outcome.FAIL and result.violation:
            names = departures_in(result.attribution(revision).cause)
            if names and all(name in by_cause for name in names):
                own = (e for e in entries if e.cause in names)
                return _as_known(result, next(own, by_cause[names[0]]))
            # What no listed departure explains is none of theirs, whatever it looks like.
            entries = [e for e in entries if not e.cause or not e.shows_as(result.observed)]
        rules = () if names else result.listed_rules(revision)
        general = listed.general(rules, result.observed)
        if general is not None and not any(e.shows_as(result.observed) for e in entries):
            return _as_known(result, general)
        return _applied(result, entries)

    return tuple(map(applied, results))


def _applied(result: ResultT, entries: Sequence[KnownFailure]) -> ResultT:
    if (entry := next(filter(result.is_covered_by, entries), None)) is not None:
        return _as_known(result, entry)
    if not entries or result.outcome not in {Outcome.PASS, Outcome.FAIL}:
        return result
    listed = listed_as(entries)
    if result.outcome is Outcome.FAIL:
        other = f'but fails in another way ("{result.observed}")'
        reason = f"listed as a known failure ({listed}), {other}"
        return replace(result, outcome=Outcome.STALE_KNOWN_FAILURE, stale=reason)
    if (often := next((e for e in entries if e.intermittent), None)) is not None:
        return replace(result, notes=(*result.notes, f"intermittent failure: {often.why}"))
    is_of_lateness = any(entry.observed.endswith(TOO_LATE) for entry in entries)
    if result.lag_ms > LEAST_LAG_MS and is_of_lateness:
        message = f"{listed} would not be seen with {result.lag_ms} ms of lag"
        return replace(result, outcome=Outcome.UNKNOWN, message=message)
    message = f"listed as a known failure ({listed}), but passes: take it off the list"
    return replace(result, outcome=Outcome.STALE_KNOWN_FAILURE, message=message)


def _as_known(result: ResultT, entry: KnownFailure) -> ResultT:
    return replace(result, outcome=Outcome.KNOWN_FAILURE, known=entry)
