"""Check the conditions that a scenario waits for, by the evidence so far."""

from __future__ import annotations

from itertools import chain

from fencepost.conformance.cases.clients.scenario import (
    Answered,
    AnyCondition,
    Assigned,
    Calls,
    CaughtUp,
    ErrorReported,
    Parked,
    Passed,
    Read,
    Settled,
)
from fencepost.model.messages.errors import Error as Code
from fencepost.properties.requirements.evidence import HEARTBEAT, JOIN, SYNC, ConsumerRun, Evidence
from fencepost.properties.requirements.judge_reading import is_caught_up

BEHIND_MS = 1000
"""The wait for who was waited for before, in vain: what it doesn't read is known."""


def is_met(condition: AnyCondition, evidence: Evidence, since: float, began: float) -> bool:
    """Tell if a condition is met; `since`: begin of the act before, `began`: of the wait."""
    match condition:
        case Passed(ms=ms):
            return evidence.ended_ms >= began + ms
        case Settled(consumers=consumers):
            return _settled(evidence, consumers, began)
        case CaughtUp(consumers=consumers):
            runs = [evidence.run_of(name) for name in consumers]
            return all(run is not None and is_caught_up(evidence, run) for run in runs)
    run = evidence.run_of(condition.consumer)
    if run is None:
        return False
    match condition:
        case Assigned():
            return bool(evidence.owned(run))
        case Calls(api=api, count=count):
            return len(evidence.of(run, api, since=since)) >= count
        case Answered(api=api, error=error):
            return any(call.is_answered(Code[error]) for call in evidence.of(run, api))
        case Parked(api=api):
            calls = evidence.of(run, api)
            return bool(calls) and calls[-1].answered_ms is None
        case ErrorReported(code=code):
            errors = (f"{e.code} {e.message}" for _, e in evidence.errors_of(run))
            return any(code.lower() in error.lower() for error in errors)
        case Read():
            return next(evidence.records_of(run, since), None) is not None


def _settled(evidence: Evidence, consumers: tuple[str, ...], began: float) -> bool:
    """Tell if they are in one generation, each has partitions, and all are held once."""
    runs = [evidence.run_of(name) for name in consumers]
    generations = {_generation(evidence, run, began) for run in runs if run is not None}
    if None in runs or len(generations) != 1 or None in generations:
        return False
    each = [evidence.owned(run) for run in runs if run is not None]
    return all(each) and sorted(chain.from_iterable(each)) == sorted(
        (topic, number) for topic, count in evidence.partitions.items() for number in range(count)
    )


def _generation(evidence: Evidence, run: ConsumerRun, began: float) -> int | None:
    """Return the generation that a run has synced and sent a heartbeat in; None before."""
    synced = [call for call in evidence.of(run, SYNC) if call.went_well]
    if not synced:
        return None
    last = synced[-1]
    if evidence.of(run, JOIN, since=last.at_ms):
        return None
    beats = evidence.of(run, HEARTBEAT, since=max(last.at_ms, began))
    return last.generation if any(call.went_well for call in beats) else None


def patience_ms(condition: AnyCondition, evidence: Evidence, within_ms: float) -> float:
    """Return how long to wait for a condition: not as long for what can hardly come.

    There is no consumer where its start failed.  One whose requests are of versions that the broker
    no longer has gets no records, and may not settle.
    """
    match condition:
        case Passed() | CaughtUp():
            names: tuple[str, ...] = ()
        case Settled(consumers=consumers):
            names = consumers
        case _:
            names = (condition.consumer,)
    runs = [run for name in names if (run := evidence.run_of(name)) is not None]
    if any(evidence.failed_start(run) is not None for run in runs):
        return 0.0
    if isinstance(condition, Settled | CaughtUp | Assigned | Read) and evidence.too_old():
        return min(within_ms, BEHIND_MS)
    return within_ms
