"""Decide whether two runs of one plan differ, where, and which side the model agrees with.

A choice that the protocol leaves open may be taken otherwise by either side: if the model explains
both runs, there is no difference.  If it explains one of them, the other side is wrong at that
request.  If it explains neither, because both are wrong in the same way before, then only what no
such choice affects is compared: errors, and who is answered at all.

What a target answered in one run of a plan, in a form that can be compared between targets.

Members are named, generations are counted from the first, ids that nobody was told are all the
same, and an answer may come at once, only after a wait, or not at all.  On a real clock all answers
within one wait count as simultaneous, since their order depends on chance.

Find the known origin of a difference: a release, a known failure, or none.

This concerns a side that is wrong.  A target that has a profile of its own is judged by that, too.
If the profile does as the target does, a later release made the change: the one without which the
profile would do otherwise.  If not, the target's list of known failures may have the failure, by
the departure that explains it, or by its case.  Otherwise it is new.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from fencepost.conformance.search.compare.differential import Both
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import judge_for, kafka_version
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.coordinator import Provenance
from fencepost.model.history.events import Answered, Disturbance, Sent
from fencepost.model.history.words import answer_words
from fencepost.model.plans.steps import Pause, Request
from fencepost.model.revision import Gate, Release, Revision
from fencepost.model.revisions.release_revisions import gates_ahead, release
from fencepost.properties.departures.attribution import departures_in
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.explain import signature
from fencepost.properties.judging.known_failures import KnownFailure, aliases_of
from fencepost.properties.judging.outcome import CaseResult
from fencepost.properties.oracle.fingerprint import broken_rule, kind_of
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Verdict
from fencepost.traces.files.known_failure_lists import load

_IDS = ("memberId", "leader")
_LEFT_OUT = {"throttleTimeMs", "errorMessage", "clientId", "clientHost", "host", "port"}
STRANGER = "an id that no answer contained"

WAITS = "waits"
UNSENT = "was not sent"
CLOSED = "the connection was closed"
DROPPED = "was given up"


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """The outcome of one request.

    `kind`: the kind of the answer in a word or two, without names; `body`: the answer as text, with
    names; `words`: the answer for people; `after`: how many waits had ended by then, or, on a
    virtual clock, how many requests had been sent.
    """

    kind: str
    body: str = ""
    words: str = ""
    after: int = 0
    step: int = 0

    @property
    def essence(self) -> tuple[str, str, int]:
        """Return the part that is compared."""
        return self.kind, self.body, self.after


def outcomes_of(recording: Recording | None, *, exact: bool) -> dict[int, RequestOutcome]:
    """Return the outcome of each request, by its number in the plan.

    `exact`: all clocks are virtual.
    """
    if recording is None:
        return {}
    return dict(_outcomes(recording, exact=exact))


def _outcomes(recording: Recording, *, exact: bool) -> Iterator[tuple[int, RequestOutcome]]:
    names = recording.read().names
    requests = {e.request.id: e for e in recording.history if isinstance(e, Sent)}
    dropped = {
        request_id
        for event in recording.history
        if isinstance(event, Disturbance)
        for request_id in event.dropped
    }
    bases = _bases(recording, requests)
    answered: dict[str, tuple[Answered, int]] = {}
    last = 0
    for event in recording.history:
        if isinstance(event, Sent):
            last = int(event.request.id[1:])
        elif isinstance(event, Answered) and event.answer.id in requests:
            answered.setdefault(event.answer.id, (event, last))
    for number, step in enumerate(recording.case.steps, start=1):
        request_id = f"r{number}"
        if not isinstance(step, Request):
            continue
        if request_id not in requests:
            yield number, RequestOutcome(UNSENT, words=UNSENT)
        elif request_id in answered:
            event, sent_by_then = answered[request_id]
            request = requests[request_id].request
            body = event.answer.body
            base = bases.get(_group(request.body), 0)
            waits = _waits_between(recording, number, event.at_ms)
            yield (
                number,
                RequestOutcome(
                    CLOSED if body is None else kind_of(body) or "answered",
                    json.dumps(_symbolic(body, names, base), sort_keys=True),
                    answer_words(request.api, body, names),
                    sent_by_then if exact else waits,
                    sent_by_then,
                ),
            )
        else:
            kind = DROPPED if request_id in dropped else WAITS
            yield number, RequestOutcome(kind, words=kind)


def _waits_between(recording: Recording, number: int, at_ms: int) -> int:
    """Count the named waits that began after a request and ended before its answer came."""
    return sum(
        isinstance(step, Pause) and bool(step.times) and end < at_ms
        for place, (step, end) in enumerate(
            zip(recording.case.steps, recording.step_ends, strict=False), start=1
        )
        if place > number
    )


def _group(body: Mapping[str, Any]) -> str:
    return str(body.get("groupId", ""))


def _bases(recording: Recording, requests: Mapping[str, Sent]) -> dict[str, int]:
    """By group, the first generation that anybody was told."""
    bases: dict[str, int] = {}
    for event in recording.history:
        if isinstance(event, Answered) and event.answer.body is not None:
            generation = event.answer.body.get("generationId", -1)
            sent = requests.get(event.answer.id)
            if sent is not None and generation > 0:
                bases.setdefault(_group(sent.request.body), generation)
    return bases


def _symbolic(value: Any, names: Mapping[str, str], base: int, key: str = "") -> Any:
    match value:
        case Mapping():
            return {
                name: _symbolic(item, names, base, name)
                for name, item in value.items()
                if name not in _LEFT_OUT
            }
        case list():
            rows = [_symbolic(item, names, base, key) for item in value]
            return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
        case str() if key in _IDS:
            return names.get(value, STRANGER) if value else ""
        case int() if key == "generationId" and value > 0:
            return value - base + 1
        case _:
            return value


def field_that_differs(left: RequestOutcome, right: RequestOutcome) -> str:
    """Find the first field in which two answers differ; "" if it is not in the answers."""
    first, second = (json.loads(side.body) if side.body else None for side in (left, right))
    return _first(first, second)


def _first(left: Any, right: Any, at: str = "") -> str:
    match left, right:
        case dict(), dict():
            keys = sorted({*left, *right}, key=lambda key: (key != "errorCode", key))
            outcome = (_first(left.get(k), right.get(k), f"{at}.{k}" if at else k) for k in keys)
            return next(filter(None, outcome), "")
        case list(), list() if len(left) == len(right):
            outcome = (_first(a, b, at) for a, b in zip(left, right, strict=True))
            return next(filter(None, outcome), "")
        case _:
            return at if left != right else ""


_CHOSEN = ("leads", "follows")


class Taken(Enum):
    """The side that the model agrees with."""

    LEFT = "one"
    RIGHT = "other"
    NEITHER = "neither"
    BOTH = "both"


@dataclass(frozen=True, slots=True, order=True)
class DifferenceFingerprint:
    """The part of a difference that stays the same while its plan is shrunk."""

    api: str
    left: str
    right: str
    field: str
    taken: str
    rules: tuple[str, str]


@dataclass(frozen=True, slots=True)
class TargetDifference:
    """Two runs of a plan that differ.

    `number`: of the first request whose answers differ and about which a side is wrong, 0 where the
    target itself failed; `left`, `right`: the outcome of each request, by its number; `taken`: the
    side that the model agrees with.
    """

    both: Both
    number: int
    left: Mapping[int, RequestOutcome]
    right: Mapping[int, RequestOutcome]
    taken: Taken
    fingerprint: DifferenceFingerprint

    @property
    def is_first_wrong(self) -> bool:
        """Tell if it is at the first wrong answer of a side, so that nothing later matters."""
        wrong = [n for n in map(_wrong_at, self.both.results) if n is not None]
        return bool(wrong) and min(wrong) == self.number


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of one plan: a difference, or why there is none.

    `differs`: None where they don't; `unknown`: why the plan is undecided; `is_choice`: the answers
    differ, but the model allows both.
    """

    both: Both
    differs: TargetDifference | None = None
    unknown: str | None = None
    is_choice: bool = False


def compared(both: Both, revision: Revision, *, exact: bool) -> Compared:
    """Compare two runs of a plan.  `exact`: both clocks are virtual."""
    doubts = [doubt for result in both.results if (doubt := _doubt(result)) is not None]
    if doubts:
        return Compared(both, unknown=doubts[0])
    left, right = (outcomes_of(result.recording, exact=exact) for result in both.results)
    unlike = [n for n in sorted({*left, *right}) if _essence(left, n) != _essence(right, n)]
    if not unlike:
        return Compared(both)
    wrong = [_wrong_at(result) for result in both.results]
    if wrong == [None, None]:
        noted = [_noted(result) for result in both.results]
        let_pass = [n for n in unlike if (n in noted[0]) is not (n in noted[1])]
        if not let_pass:
            return Compared(both, is_choice=True)
        return Compared(both, _difference(both, let_pass[0], left, right, Taken.BOTH, revision))
    first = min(number for number in wrong if number is not None)
    if wrong[0] == wrong[1]:
        plain = [n for n in unlike if _plain(left, n) != _plain(right, n)]
        if not plain:
            return Compared(both, is_choice=True)
        number = first if first in plain else plain[0]
        return Compared(both, _difference(both, number, left, right, Taken.NEITHER, revision))
    taken = Taken.RIGHT if wrong[0] == first else Taken.LEFT
    number = first if first in (0, *unlike) else unlike[0]
    return Compared(both, _difference(both, number, left, right, taken, revision))


def _doubt(result: CaseResult) -> str | None:
    """Explain a run that decides nothing; None if it does."""
    if result.recording is None:
        return None
    if result.recording.moved:
        return "the coordinator moved or was loading meanwhile"
    return result.verdict.unknown if result.verdict is not None else None


def _essence(side: Mapping[int, RequestOutcome], number: int) -> tuple[str, str, int] | None:
    outcome = side.get(number)
    return None if outcome is None else outcome.essence


def _plain(side: Mapping[int, RequestOutcome], number: int) -> str:
    """Return the part of an answer's kind that no choice of a leader affects."""
    outcome = side.get(number)
    kinds = [] if outcome is None else outcome.kind.split(", ")
    return ", ".join(kind for kind in kinds if kind not in _CHOSEN)


def _noted(result: CaseResult) -> set[int]:
    """Find the requests with an answer that the model tolerates, though it gives another."""
    return {int(note.request_id[1:]) for note in result.tolerated}


def _wrong_at(result: CaseResult) -> int | None:
    """Return the number of the request without an explanation; 0 where the target failed."""
    if result.recording is None:
        return 0
    return None if result.violation is None else int(result.violation.request_id[1:])


def _difference(
    both: Both,
    number: int,
    left: Mapping[int, RequestOutcome],
    right: Mapping[int, RequestOutcome],
    taken: Taken,
    revision: Revision,
) -> TargetDifference:
    here = left.get(number, RequestOutcome("")), right.get(number, RequestOutcome(""))
    step = both.case.steps[number - 1] if number else None
    rules = [_rule(result, revision) for result in both.results]
    fingerprint = DifferenceFingerprint(
        step.api if isinstance(step, Request) else "",
        here[0].kind,
        here[1].kind,
        field_that_differs(*here),
        taken.value,
        (rules[0], rules[1]),
    )
    return TargetDifference(both, number, left, right, taken, fingerprint)


def _rule(result: CaseResult, revision: Revision) -> str:
    rule = None if result.violation is None else broken_rule(result.violation, revision)
    return "" if rule is None else rule.id


_LISTED = ("kafka", "kfake", "mock", "nafka", "rivine", "seaweedfs", "tansu")
"""Targets of which a list of known failures is shipped."""


class Known(Enum):
    """The knowledge of the origin of a difference."""

    RELEASE = "release"
    LISTED = "listed"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a side that is wrong.

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

    def __init__(self, left: Target, right: Target, revision: Revision) -> None:
        self._sides = (_side(left, revision), _side(right, revision))

    def of(self, difference: TargetDifference) -> Origins:
        """Find the origins of a difference."""
        if difference.taken is Taken.BOTH:
            return None, None
        left, right = (
            None if side is None else side.origin(result)
            for side, result in zip(self._sides, difference.both.results, strict=True)
        )
        return left, right


def better(first: Origins, second: Origins) -> Origins:
    """For each side the better known of two origins, the first where they are equal."""
    left, right = (
        b if a is not None and a.known is Known.NEW and b is not None else a
        for a, b in zip(first, second, strict=True)
    )
    return left, right


def _side(target: Target, revision: Revision) -> _Side | None:
    """Return what is known of a target; `revision`: judges both, and has their protocol."""
    name = target.name
    kind = name.partition(":")[0]
    if kind not in _LISTED:
        return None
    provenance: Provenance = target.provenance()
    is_classic = revision.protocol is CLASSIC
    profile = judge_for(None if is_classic else revision.protocol.name, name)
    number: Release = ()
    if is_classic and kind == "kafka" and not kafka_version(name).has_new_coordinator:
        number = kafka_version(name).number
    entries = load(name, provenance.version, aliases=aliases_of(target))
    return _Side(profile, number, tuple(entries))


@dataclass(frozen=True, slots=True)
class _Side:
    """A target's profile, its release if the profile is one, and its list of known failures."""

    profile: Revision
    number: Release
    entries: tuple[KnownFailure, ...]

    def origin(self, result: CaseResult) -> Origin | None:
        """Find the origin of the violation of this side; None where it is not wrong."""
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
            alike = [_by_profile(result, verdict, r) for r in _ends(result.recording, verdict)]
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
        """Find the changes without which the profile would do otherwise."""
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
    """Yield the recording, and a copy that is cut off at the violation.

    A run that stops there sees silence where an answer came too late.
    """
    yield recording
    if verdict.violation is not None:
        end = verdict.violation.at_ms
        yield replace(recording, history=[e for e in recording.history if e.at_ms <= end])


def _by_profile(result: CaseResult, verdict: Verdict, recording: Recording) -> CaseResult:
    """Judge a result by the profile."""
    observed = signature(verdict, recording)
    return replace(result, verdict=verdict, recording=recording, observed=observed)


def _wrong_by(verdict: Verdict, number: int) -> bool:
    """Tell if something is wrong up to a request."""
    violation = verdict.violation
    return violation is not None and int(violation.request_id[1:]) <= number
