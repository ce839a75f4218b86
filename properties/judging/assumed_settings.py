"""Find the failures that depend on a setting which was assumed, and the value that fits instead.

Where a target doesn't tell a setting, Kafka's default is assumed, and answers are judged by it.  A
failure depends on the assumption if its history holds, or goes further, under another value.  The
values to try come from what was seen: the wait of the first joins, the session timeouts that were
refused and accepted, the number of members at a refusal, the heartbeat intervals that answers name;
of other settings Kafka's own values, and usual ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fencepost.model.consumer.settings import (
    ASSIGNMENT_INTERVAL,
    HEARTBEAT_INTERVAL,
    MAX_SIZE,
    SESSION_TIMEOUT,
)
from fencepost.model.coordinator import METADATA_LIMIT, RECORD_LIMIT, Config
from fencepost.model.history.events import Answered, Event, Sent
from fencepost.model.history.words import plural
from fencepost.model.messages.errors import Error
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.revision import Revision
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.oracle import judge

ASSUMED = "assumed"
LEAST, MOST = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
SIZE, INTERVAL = "group.max.size", "offsets.retention.check.interval.ms"

_KAFKAS: Mapping[str, tuple[int | None, ...]] = {
    METADATA_LIMIT: (4_096,),
    RECORD_LIMIT: (1_048_588,),
    INTERVAL: (None, 1_000),
    ASSIGNMENT_INTERVAL: (0, 1_000),
    SESSION_TIMEOUT: (5_000, 6_000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000),
}
_LARGEST = 8
"""The largest limit of members to try; no case has more members."""

_EXTENDED = (1, 2, 3)
"""Numbers of delays in a first wait: newcomers extend it."""

_ROUND_MS = 100
_MOST_JUDGED = 60
"""The most failures to judge again, so that this takes seconds at most."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """A value of an assumed setting under which failures hold or go further, and their cases."""

    key: str
    value: int | None
    cases: tuple[str, ...]

    @property
    def option(self) -> str:
        """Return the option that gives the value."""
        return f"--set {self.key}={'none' if self.value is None else self.value}"


def fitting_settings(
    results: Iterable[CaseResult], sources: Mapping[str, str], revision: Revision
) -> tuple[Fitting, ...]:
    """Return the values that fit better than what was assumed, those of most failures first.

    `sources`: the source of each setting, `assumed` for those that nobody told.
    """
    keys = [key for key, source in sources.items() if source == ASSUMED]
    failed = [r for r in results if r.outcome is Outcome.FAIL and r.recording and r.violation]
    if not keys or not failed:
        return ()
    fits: dict[tuple[str, int | None], list[str]] = {}
    for result in failed[:_MOST_JUDGED]:
        for key in keys:
            for value in _values(key, failed):
                if _goes_further(result, key, value, revision):
                    fits.setdefault((key, value), []).append(result.case.id)
    best: dict[str, Fitting] = {}
    for (key, value), cases in fits.items():
        if key not in best or len(cases) > len(best[key].cases):
            best[key] = Fitting(key, value, tuple(cases))
    return tuple(sorted(best.values(), key=lambda each: (-len(each.cases), each.key)))


def fitting_words(
    results: Iterable[CaseResult], sources: Mapping[str, str], revision: Revision
) -> tuple[str, ...]:
    """Say which failures depend on an assumed setting, and which option fits the answers."""
    results = list(results)
    failures = sum(result.outcome is Outcome.FAIL for result in results)
    return tuple(
        f"{len(each.cases)} of {plural(failures, 'failure')} "
        f"{'depends' if len(each.cases) == 1 else 'depend'} on {each.key}, "
        f"which is assumed: {each.option} fits the answers"
        for each in fitting_settings(results, sources, revision)
    )


def _goes_further(result: CaseResult, key: str, value: int | None, revision: Revision) -> bool:
    """Tell if a history holds, or is wrong only later, under another value of a setting."""
    recording, violation = result.recording, result.violation
    if recording is None or violation is None or recording.config.get(key) == value:
        return False
    config: Config = {**recording.config, key: value}
    oracle = judge(revision, config, recording.history, lag_ms=recording.lag_ms)
    verdict = oracle.verdict()
    if verdict.unknown is not None:
        return False
    later = verdict.violation
    return later is None or (
        later.request_id != violation.request_id and later.at_ms > violation.at_ms
    )


def _values(key: str, failed: Iterable[CaseResult]) -> tuple[int | None, ...]:
    """Return the values of a setting that what was seen makes likely, the likeliest first."""
    recordings = [r.recording for r in failed if r.recording is not None]
    if key == DELAY:
        waits = Counter(wait for each in recordings for wait in _first_waits(each))
        likely = [wait // times for wait, _ in waits.most_common(3) for times in _EXTENDED]
        return tuple(dict.fromkeys((*likely, 0)))
    if key in {LEAST, MOST}:
        return _bounds(key, recordings)
    if key in {SIZE, MAX_SIZE}:
        codes = {code for each in recordings for code in _codes(each.history)}
        return tuple(range(1, _LARGEST)) if Error.GROUP_MAX_SIZE_REACHED.value in codes else ()
    if key == HEARTBEAT_INTERVAL:
        return tuple(sorted({ms for each in recordings for ms in _intervals(each.history)}))
    return _KAFKAS.get(key, ())


def _first_waits(recording: Recording) -> Iterator[int]:
    """Yield the wait of the first join of a history that was accepted, rounded, in ms."""
    sent: dict[str, int] = {}
    for event in recording.history:
        if isinstance(event, Sent) and event.request.api == "JoinGroup":
            sent[event.request.id] = event.at_ms
        elif isinstance(event, Answered) and event.answer.id in sent:
            body = event.answer.body or {}
            if body.get("errorCode") == Error.NONE.value and body.get("generationId") == 1:
                wait_ms = event.at_ms - sent[event.answer.id]
                yield round(wait_ms / _ROUND_MS) * _ROUND_MS
                return


def _codes(history: Iterable[Event]) -> Iterator[object]:
    """Yield the error code of each answer."""
    for event in history:
        if isinstance(event, Answered) and event.answer.body:
            yield event.answer.body.get("errorCode")


def _intervals(history: Iterable[Event]) -> Iterator[int]:
    """Yield the heartbeat intervals that answers name, in ms."""
    for event in history:
        if isinstance(event, Answered) and event.answer.body:
            named = event.answer.body.get("heartbeatIntervalMs")
            if isinstance(named, int) and named > 0:
                yield named


def _joins(history: Iterable[Event]) -> Iterator[tuple[int, object]]:
    """Yield the session timeout and the error code of each join that was answered."""
    sessions: dict[str, int] = {}
    for event in history:
        if isinstance(event, Sent) and event.request.api == "JoinGroup":
            sessions[event.request.id] = event.request.body["sessionTimeoutMs"]
        elif isinstance(event, Answered) and event.answer.id in sessions and event.answer.body:
            yield sessions[event.answer.id], event.answer.body.get("errorCode")


def _bounds(key: str, recordings: Iterable[Recording]) -> tuple[int | None, ...]:
    """Return the bound of session timeouts that lets in all that were accepted, and no refused."""
    joins = [join for each in recordings for join in _joins(each.history)]
    refusal = Error.INVALID_SESSION_TIMEOUT.value
    accepted = {session for session, code in joins if code != refusal}
    refused = {session for session, code in joins if code == refusal} - accepted
    if not accepted:
        return ()
    if key == LEAST:
        below = [session for session in refused if session < min(accepted)]
        return (max(below) + 1 if below else min(accepted), min(accepted))
    above = [session for session in refused if session > max(accepted)]
    return (min(above) - 1 if above else max(accepted), max(accepted))
