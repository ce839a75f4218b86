"""The trace of a run, as JSON: what was done, sent and answered, and what users saw, in order.

Records are counted: what a user was given of a partition within a moment is one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fencepost.conformance.clients.certify_client import ClientResult
from fencepost.model.history.words import plural
from fencepost.model.messages.errors import error_name
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupRequest
from fencepost.properties.requirements.driver_messages import (
    Assigned,
    Ended,
    Error,
    Log,
    Lost,
    Partition,
    Records,
    Revoked,
)
from fencepost.properties.requirements.evidence import (
    FIND,
    LEAVE,
    MEMBER_APIS,
    Call,
    Deed,
    Evidence,
    Seen,
)

FORMAT = "fencepost-client-trace"
VERSION = 1

_SHOWN = {*MEMBER_APIS, LEAVE, FIND}
_MOMENT_MS = 250
_MOST_ROWS = 2000
_SHORT = 13


def trace_json(result: ClientResult) -> dict[str, Any]:
    """The trace of a result that has evidence."""
    evidence = result.evidence
    if evidence is None:
        raise ValueError(f"{result.id} has no evidence")
    rows = sorted(_rows(evidence), key=lambda row: row["at_ms"])
    at_ms = result.at_ms
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "case": result.id,
        "message": result.message,
        "scenario": result.scenario.to_json(),
        "lives": [
            {"id": life.id, "instance": life.instance, "process": life.process}
            for life in evidence.lives
        ],
        "wrong_at_ms": None if at_ms is None else round(at_ms),
        "left_out": max(0, len(rows) - _MOST_ROWS),
        "rows": rows[:_MOST_ROWS],
    }


def _rows(evidence: Evidence) -> Iterator[dict[str, Any]]:
    for call in evidence.calls:
        if call.api in _SHOWN:
            yield _row(call.at_ms, call.life, "sent", f"{_sent(call)} → {_answer(call)}")
    for deed in evidence.deeds:
        yield _row(deed.began_ms, deed.life, "did", _deed(deed))
    for at_ms, stall in evidence.stalls:
        yield _row(at_ms, "", "control", f"the control client waited {stall:.0f} ms")
    for at_ms, unmet in evidence.unmet:
        yield _row(at_ms, "", "awaited", unmet)
    yield from _seen(evidence)


def _row(at_ms: float, life: str, kind: str, said: str) -> dict[str, Any]:
    return {"at_ms": round(at_ms), "life": life, "kind": kind, "said": said}


def _sent(call: Call) -> str:
    told = [f"{call.api} v{call.version}"]
    if call.api != FIND:
        told.append(f"member {_short(call.member_id)}")
        told.append("dynamic" if call.instance is None else f"instance {call.instance}")
    if call.generation >= 0:
        told.append(f"generation {call.generation}")
    if isinstance(call.request, SyncGroupRequest) and call.request.assignments:
        told.append(plural(len(call.request.assignments), "assignment"))
    return ", ".join(told)


def _answer(call: Call) -> str:
    if call.answered_ms is None:
        return f"no answer{f' ({call.provoked})' if call.provoked else ''}"
    told = ["answered" if call.error is None else error_name(call.error)]
    answer = call.answer
    if isinstance(answer, JoinGroupResponse) and not call.error:
        leads = answer.leader == answer.member_id
        told.append(f"generation {answer.generation_id}, member {_short(answer.member_id)}")
        told.append("leads" if leads else "follows")
        if answer.skip_assignment:
            told.append("skips the assignment")
    took_ms = call.answered_ms - call.at_ms
    if took_ms >= 100:
        told.append(f"after {took_ms:.0f} ms")
    if call.provoked:
        told.append(f"provoked: {call.provoked}")
    return ", ".join(told)


def _short(member_id: str) -> str:
    if not member_id:
        return '""'
    return member_id if len(member_id) <= _SHORT else f"{member_id[:_SHORT]}…"


def _deed(deed: Deed) -> str:
    took = "" if deed.took_ms is None else f", took {deed.took_ms:.0f} ms"
    if deed.outcome == "ok":
        return f"{deed.name}{took}"
    return f"{deed.name}: {deed.outcome}{took}{f' ({deed.said})' if deed.said else ''}"


def _seen(evidence: Evidence) -> Iterator[dict[str, Any]]:
    open_rows: dict[tuple[str, Partition], dict[str, Any]] = {}
    for one in evidence.seen:
        if not isinstance(one.event, Records):
            yield _row(one.at_ms, one.life, "saw", _event(one))
            continue
        key = one.life, one.event.partition
        row = open_rows.get(key)
        if row is not None and one.at_ms - row["at_ms"] < _MOMENT_MS:
            row["count"] += one.event.count
        else:
            if row is not None:
                yield _records(row)
            open_rows[key] = {
                "at_ms": one.at_ms,
                "life": one.life,
                "partition": one.event.partition,
                "first": one.event.first,
                "count": one.event.count,
            }
    for row in open_rows.values():
        yield _records(row)


def _records(row: dict[str, Any]) -> dict[str, Any]:
    topic, number = row["partition"]
    said = f"{plural(row['count'], 'record')} of {topic}-{number} from {row['first']}"
    return _row(row["at_ms"], row["life"], "delivered", said)


def _event(one: Seen) -> str:
    match one.event:
        case Assigned(partitions=partitions):
            return f"assigned {_listed(partitions)}"
        case Revoked(partitions=partitions):
            return f"revoked {_listed(partitions)}"
        case Lost(partitions=partitions):
            return f"lost {_listed(partitions)}"
        case Error(where=where, code=code, fatal=fatal, message=message):
            return f"{'fatal ' if fatal else ''}error {code} in {where}: {message}"
        case Ended():
            return "the library gave up by itself"
        case Log(level=level, message=message):
            return f"log, {level}: {message}"
        case _:
            return type(one.event).__name__


def _listed(partitions: tuple[Partition, ...]) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in partitions) or "nothing"
