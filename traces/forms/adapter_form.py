"""Write a trace as a transcript of adapter protocol 1: commands for a program, and its replies.

An answer stands under the command that was carried out when it came, or under the time that passed
until then.  Lines begin with `→` (a command), `←` (the recorded reply) or `#` (a comment), so that
the commands alone can be fed to a program.  Member ids are those of the recording; a program that
chooses other ids needs them put in by hand, or a replay, which does that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
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
from fencepost.model.history.words import one_line, with_names
from fencepost.traces.files.trace_file import TraceFile

PROTOCOL = 1
_Json = dict[str, Any]


def to_adapter(trace: TraceFile) -> str:
    """Return the text of the transcript: the same for the same trace."""
    return "\n".join(_lines(trace)) + "\n"


def _lines(trace: TraceFile) -> Iterator[str]:
    yield f"# {one_line(trace.case or trace.revision)}: {trace.verdict.outcome}"
    yield f"# {one_line(with_names(trace.verdict.message, trace.names))}"
    yield f"→ {_text({'cmd': 'hello', 'protocol': PROTOCOL})}"
    yield "# the reply to hello is not recorded"
    config = dict(sorted(trace.config.items()))
    yield f"→ {_text({'cmd': 'reset', 'config': config})}"
    yield f"← {_text({'ok': True, 'config': config, 'dropped': []})}"
    wrong = trace.verdict.request
    for command, reply in _Transcript(trace).exchanges():
        yield f"→ {_text(command)}"
        yield f"← {_text(reply)}"
        answered = {answer["id"] for answer in reply["answers"]}
        for beside in trace.verdict.besides:
            if beside.request in answered - {wrong}:
                see = beside.rule or "the verdict"
                yield f"# also wrong: the answer to {beside.request}; see {see}"
        if wrong in answered:
            yield f"# wrong: the answer to {wrong}; see {trace.verdict.rule or 'the verdict'}"
    yield f"→ {_text({'cmd': 'bye'})}"
    yield f"← {_text({'ok': True})}"


class _Transcript:
    """Commands with their replies, as they come to be."""

    def __init__(self, trace: TraceFile) -> None:
        self._events = trace.events
        self._exchanges: list[tuple[_Json, _Json]] = []
        self._now = 0
        self._is_handled = True
        """Whether what comes now comes because time passes."""
        self._advance: list[_Json] | None = None
        """The answers that came while time passes, if it does."""

    def exchanges(self) -> list[tuple[_Json, _Json]]:
        for event in self._events:
            self._take(event)
        self._passed(self._now)
        return self._exchanges

    def _take(self, event: Event) -> None:
        match event:
            case Sent(request=request):
                self._begin(event.at_ms, _send(request), {"answers": []})
            case Disconnected():
                command = {"cmd": "disconnect", "connection": event.connection}
                self._begin(event.at_ms, command, {"answers": [], "dropped": [*event.dropped]})
            case Restarted():
                self._begin(
                    event.begun_ms, {"cmd": "restart"}, {"answers": [], "dropped": [*event.dropped]}
                )
                self._now = max(self._now, event.at_ms)
            case TopicsDeleted():
                topics = {"cmd": "delete-topics", "topics": [*event.topics]}
                self._begin(event.at_ms, topics, {"answers": []})
            case Answered(answer=answer):
                if self._advance is None and (self._is_handled or answer.at_ms > self._now):
                    self._advance = []
                if self._advance is None:
                    self._exchanges[-1][1]["answers"].append(_answer(answer))
                else:
                    self._advance.append(_answer(answer))
            case Handled():
                self._is_handled = True
            case Passed():
                self._passed(event.at_ms)

    def _begin(self, at_ms: int, command: _Json, reply: _Json) -> None:
        self._passed(at_ms)
        self._exchanges.append((command, reply))
        self._is_handled = False

    def _passed(self, at_ms: int) -> None:
        """Write the time that passed up to here."""
        came = self._advance or []
        until = max(at_ms, self._now, *(answer["at_ms"] for answer in came))
        if self._advance is not None or until > self._now:
            last, reply = self._exchanges[-1] if self._exchanges else ({}, {"answers": []})
            if last.get("cmd") == "advance" and not reply["answers"]:
                last["ms"] += until - self._now
                reply["answers"] += came
            else:
                command = {"cmd": "advance", "ms": until - self._now}
                self._exchanges.append((command, {"answers": came}))
        self._advance = None
        self._is_handled = True
        self._now = until


def _send(request: Send) -> _Json:
    return {
        "cmd": "send",
        "id": request.id,
        "connection": request.connection,
        "clientId": request.client_id,
        "api": request.api,
        "version": request.version,
        "body": request.body,
    }


def _answer(answer: Answer) -> _Json:
    ending = {"closed": True} if answer.body is None else {"body": answer.body}
    return {"id": answer.id, "at_ms": answer.at_ms, **ending}


def _text(message: _Json) -> str:
    return json.dumps(message, separators=(",", ":"))
