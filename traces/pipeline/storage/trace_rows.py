"""Convert events to rows of a table, and back; `schema.STEP` describes the columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import (
    Answered,
    Disconnected,
    Event,
    Handled,
    Passed,
    Restarted,
    Sent,
    TopicsDeleted,
)

Row = dict[str, Any]


class RowError(ValueError):
    """A row that says no event; `str()` names what is wrong."""


def step_rows(events: Iterable[Event], senders: Mapping[str, str]) -> list[Row]:
    """Convert each event to a row; `senders`: request id → who sent it."""
    return [_row(event, senders) for event in events]


def _row(event: Event, senders: Mapping[str, str]) -> Row:
    match event:
        case Sent(request=request):
            return {
                "do": "send",
                "at_ms": event.at_ms,
                "by_ms": event.ended_ms,
                "id": request.id,
                "member": senders.get(request.id, request.connection),
                "connection": request.connection,
                "client_id": request.client_id,
                "api": request.api,
                "version": request.version,
                "body": json.dumps(request.body),
            }
        case Answered(answer=answer):
            return {
                "do": "answer",
                "at_ms": event.at_ms,
                "by_ms": event.at_ms,
                "id": answer.id,
                "body": None if answer.body is None else json.dumps(answer.body),
                "findings": list(answer.findings),
            }
        case Disconnected():
            return {
                "do": "disconnect",
                "at_ms": event.at_ms,
                "by_ms": event.at_ms,
                "connection": event.connection,
                "dropped": list(event.dropped),
            }
        case Restarted():
            return {
                "do": "restart",
                "at_ms": event.begun_ms,
                "by_ms": event.at_ms,
                "dropped": list(event.dropped),
            }
        case TopicsDeleted():
            raise RowError("a corpus has no column for deleted topics")
        case Handled():
            return {"do": "handled", "at_ms": event.at_ms, "by_ms": event.at_ms}
        case Passed():
            return {"do": "passed", "at_ms": event.at_ms, "by_ms": event.at_ms}


def events_of(rows: Iterable[Mapping[str, Any]]) -> list[Event]:
    """Convert rows to events.  Raises RowError, and what JSON raises for a bad body."""
    return [_event(row) for row in rows]


def _event(row: Mapping[str, Any]) -> Event:
    match row["do"]:
        case "send":
            request = Send(
                row["id"],
                row["connection"],
                row["client_id"],
                row["api"],
                row["version"],
                json.loads(row["body"]),
            )
            late = row["by_ms"] if row["by_ms"] != row["at_ms"] else None
            return Sent(row["at_ms"], request, late)
        case "answer":
            body = None if row["body"] is None else json.loads(row["body"])
            return Answered(Answer(row["id"], row["at_ms"], body, tuple(row["findings"] or ())))
        case "disconnect":
            return Disconnected(row["at_ms"], row["connection"], tuple(row["dropped"] or ()))
        case "restart":
            return Restarted(row["at_ms"], row["by_ms"], tuple(row["dropped"] or ()))
        case "handled":
            return Handled(row["at_ms"])
        case "passed":
            return Passed(row["at_ms"])
        case other:
            raise RowError(f"no event is called {other!r}")
