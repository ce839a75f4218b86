"""Find the known origin of a difference: a release, a known failure, or none.

This concerns a side that is wrong.  A target that has a profile of its own is judged by that, too.
If the profile does as the target does, a later release made the change: the one without which the
profile would do otherwise.  If not, the target's list of known failures may have the failure, by
the departure that explains it, or by its case.  Otherwise it is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from fencepost.conformance.search.compare.difference import Taken, TargetDifference
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import find_revision, kafka_version, revision_for
from fencepost.model.coordinator import Provenance
from fencepost.model.revision import Gate, Release, Revision
from fencepost.model.revisions.release_revisions import gates_ahead, release
from fencepost.properties.departures.attribution import departures_in
from fencepost.properties.judging.explain import signature
from fencepost.properties.judging.outcome import CaseResult
from fencepost.properties.judging.recording import Recording
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Verdict
from fencepost.traces.report.known_failures import KnownFailure, aliases_of, load

_LISTED = ("kafka", "kfake", "mock", "tansu")
"""Targets of which a list of known failures is shipped."""


class Known(Enum):
    """Whether the origin of a difference is known."""

    RELEASE = "release"
    LISTED = "listed"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a side that is wrong.

    `about`: the change that a later release made, or the fault of the target; "" where nothing is
    known.  `link`: to the ticket of a known failure; `since`: the release that made the change;
    `profile`: the revision by which the target is judged.
    """

    known: Known
    about: str = ""
    link: str = ""
    since: str = ""
    profile: str = ""


Origins = tuple[Origin | None, Origin | None]
"""One for each side; None where it isn't wrong, or has neither a profile nor a list."""


class Sources:
    """The known origins of differences between two open targets."""

    def __init__(self, one: Target, other: Target) -> None:
        self._sides = (_side(one), _side(other))

    def of(self, difference: TargetDifference) -> Origins:
        """The origins of a difference."""
        if difference.taken is Taken.BOTH:
            return None, None
        one, other = (
            None if side is None else side.origin(result)
            for side, result in zip(self._sides, difference.both.results, strict=True)
        )
        return one, other


def better(first: Origins, second: Origins) -> Origins:
    """For each side the better known of two origins, the first where they are equal."""
    one, other = (
        b if a is not None and a.known is Known.NEW and b is not None else a
        for a, b in zip(first, second, strict=True)
    )
    return one, other


def _side(target: Target) -> _Side | None:
    name = target.name
    kind = name.partition(":")[0]
    if kind not in _LISTED:
        return None
    provenance: Provenance = target.provenance()
    profile = revision_for(name)
    number: Release = ()
    if kind == "kafka" and not kafka_version(name).has_new_coordinator:
        number = kafka_version(name).number
    entries = load(name, provenance.version, aliases=aliases_of(target))
    return _Side(find_revision(profile), number, tuple(entries))


@dataclass(frozen=True, slots=True)
class _Side:
    """A target's profile, its release if the profile is one, and its list of known failures."""

    profile: Revision
    number: Release
    entries: tuple[KnownFailure, ...]

    def origin(self, result: CaseResult) -> Origin | None:
        """The origin of what this side did; None where it is not wrong."""
        profile = self.profile.name
        violation = result.violation
        alike = [result]
        if result.recording is not None:
            if violation is None:
                return None
            wrong = int(violation.request_id[1:])
            verdict = _verdict(result.recording, self.profile)
            if not _wrong_by(verdict, wrong):
                return self._change(result.recording, wrong)
            alike = [_seen(result, verdict, r) for r in _ends(result.recording, verdict)]
        entry = next(filter(None, map(self._listed, alike)), None)
        if entry is None:
            return Origin(Known.NEW, profile=profile)
        return Origin(Known.LISTED, entry.why, entry.link, profile=profile)

    def _listed(self, own: CaseResult) -> KnownFailure | None:
        if own.violation is not None:
            names = departures_in(own.attribution(self.profile).cause)
            listed = {entry.cause: entry for entry in reversed(self.entries) if entry.cause}
            if names and all(name in listed for name in names):
                return listed[names[0]]
        for entry in self.entries:
            if entry.case == own.case.id and not entry.cause and entry.shows_as(own.observed):
                return entry
        return None

    def _change(self, recording: Recording, wrong: int) -> Origin:
        """The changes without which the profile would do otherwise."""
        profile = self.profile.name
        gates = [gate for gate in self._gates() if self._needs(gate, recording, wrong)]
        about = "; ".join(gate.about for gate in gates)
        since = ", ".join(".".join(map(str, gate.since)) for gate in gates)
        return Origin(Known.RELEASE, about, since=since, profile=profile)

    def _gates(self) -> tuple[Gate, ...]:
        return gates_ahead(self.number) if self.number else ()

    def _needs(self, gate: Gate, recording: Recording, wrong: int) -> bool:
        return _wrong_by(_verdict(recording, release(self.number, ahead=gate)), wrong)


def _verdict(recording: Recording, revision: Revision) -> Verdict:
    history, lag_ms = recording.history, recording.lag_ms
    return judge(revision, recording.config, history, lag_ms=lag_ms).verdict()


def _ends(recording: Recording, verdict: Verdict) -> Iterator[Recording]:
    """The recording, and the same cut off at the violation.

    A run that stops there sees silence where an answer came too late.
    """
    yield recording
    if verdict.violation is not None:
        end = verdict.violation.at_ms
        yield replace(recording, history=[e for e in recording.history if e.at_ms <= end])


def _seen(result: CaseResult, verdict: Verdict, recording: Recording) -> CaseResult:
    """The result as judged by the profile."""
    observed = signature(verdict, recording)
    return replace(result, verdict=verdict, recording=recording, observed=observed)


def _wrong_by(verdict: Verdict, number: int) -> bool:
    """Whether something is wrong up to a request."""
    violation = verdict.violation
    return violation is not None and int(violation.request_id[1:]) <= number
