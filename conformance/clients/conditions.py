"""Whether what is waited for has come, by the evidence so far."""

from __future__ import annotations

from itertools import chain

from fencepost.conformance.cases.clients.scenario_steps import (
    Answered,
    AnyCondition,
    Assigned,
    Calls,
    Parked,
    Passed,
    Read,
    Settled,
    Told,
)
from fencepost.model.messages.errors import Error as Code
from fencepost.properties.requirements.evidence import HEARTBEAT, JOIN, SYNC, Evidence, Life


def is_met(condition: AnyCondition, evidence: Evidence, since: float, began: float) -> bool:
    """Whether it has come; `since`: when the act before began, `began`: when the wait did."""
    match condition:
        case Passed(ms=ms):
            return evidence.ended_ms >= began + ms
        case Settled(consumers=consumers):
            return _settled(evidence, consumers, began)
    life = evidence.life(condition.consumer)
    if life is None:
        return False
    match condition:
        case Assigned():
            return bool(evidence.owned(life))
        case Calls(api=api, count=count):
            return len(evidence.of(life, api, since=since)) >= count
        case Answered(api=api, error=error):
            return any(call.is_answered(Code[error]) for call in evidence.of(life, api))
        case Parked(api=api):
            calls = evidence.of(life, api)
            return bool(calls) and calls[-1].answered_ms is None
        case Told(code=code):
            errors = (f"{e.code} {e.message}" for _, e in evidence.errors_of(life))
            return any(code.lower() in said.lower() for said in errors)
        case Read():
            return next(evidence.records_of(life, since), None) is not None


def _settled(evidence: Evidence, consumers: tuple[str, ...], began: float) -> bool:
    """Whether they are in one generation, each has partitions, and all are held once."""
    lives = [evidence.life(name) for name in consumers]
    generations = {_generation(evidence, life, began) for life in lives if life is not None}
    if None in lives or len(generations) != 1 or None in generations:
        return False
    each = [evidence.owned(life) for life in lives if life is not None]
    return all(each) and sorted(chain.from_iterable(each)) == sorted(
        (topic, number) for topic, count in evidence.partitions.items() for number in range(count)
    )


def _generation(evidence: Evidence, life: Life, began: float) -> int | None:
    """The generation that a life has synced and sent a heartbeat in; None: it is on its way."""
    synced = [call for call in evidence.of(life, SYNC) if call.went_well]
    if not synced:
        return None
    last = synced[-1]
    if evidence.of(life, JOIN, since=last.at_ms):
        return None
    beats = evidence.of(life, HEARTBEAT, since=max(last.at_ms, began))
    return last.generation if any(call.went_well for call in beats) else None
