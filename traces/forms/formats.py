"""Write a trace in any of its formats, by name; read trace files and ITF.

All are text, and the same for the same trace.

CSV has a row for each step, for a spreadsheet or a data frame.  `COLUMNS` describes the columns.
Beside the observed step stands the model's state after it, of the group that the step is about;
cells without a value are empty.

A transcript of adapter protocol 1 has commands for a program, and its replies.  An answer stands
under the command that was carried out when it came, or under the time that passed until then.
Lines begin with `→` (a command), `←` (the recorded reply) or `#` (a comment), so that the commands
alone can be fed to a program.  Member ids are those of the recording; a program that chooses other
ids needs them put in by hand, or a replay, which does that.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fencepost.model.classic.group import Group
from fencepost.model.coordinator import MOVES, Answer, Send, named
from fencepost.model.history.events import (
    EVENTS,
    Answered,
    Disturbance,
    Event,
    Handled,
    Passed,
    Sent,
)
from fencepost.model.history.words import answer_words, member, one_line, request_words, with_names
from fencepost.model.messages.errors import error_name
from fencepost.properties.judging.model_states import ModelState
from fencepost.traces.files.text_files import cell
from fencepost.traces.files.trace_file import TraceFile, read_document
from fencepost.traces.forms.itf import from_itf_json, is_itf, to_itf_text
from fencepost.traces.forms.mermaid import to_mermaid
from fencepost.traces.forms.pytest_form import to_pytest

COLUMNS: Mapping[str, str] = {
    "step": "number of the step, from 1",
    "at_ms": "earliest time, ms since the reset",
    "by_ms": "latest time",
    "do": f"{', '.join([*EVENTS][:-1])} or {[*EVENTS][-1]}",
    "member": "sender, by name",
    "connection": "on which connection",
    "request": "id of the request",
    "api": "Kafka's name of the API",
    "version": "its version",
    "error": "name of the answer's error",
    "words": "the request or answer in words",
    "body": "the body as JSON",
    "dropped": "ids of the requests that lost their connection, with spaces between",
    "wrong": "yes at each answer that is wrong, no elsewhere",
    "explained": "whether a run of the model goes with all steps so far, apart from answers that "
    "only deviate: yes or no",
    "group": "the group that the step is about",
    "state": "its state in the model after the step",
    "generation": "its generation",
    "leader": "its leader, by name",
    "members": "its members, by name, with spaces between",
    "static": "instance=member, by name, with spaces between",
}


def to_csv(trace: TraceFile) -> str:
    """Return the text of the table: the same for the same trace.  Raises TraceFileError."""
    written = io.StringIO()
    rows = csv.DictWriter(written, list(COLUMNS), restval="", lineterminator="\n")
    rows.writeheader()
    sends: dict[str, dict[str, Any]] = {}
    group = ""
    states = trace.model_states()[1:]
    for step, state in zip(trace.to_json()["steps"], states, strict=True):
        if step["do"] == "send":
            sends[step["id"]] = step
        about = sends.get(step.get("id", ""), {})
        group = str(about.get("body", {}).get("groupId", group))
        row = (
            _observed(trace, step, about)
            | _known(trace, state, group)
            | {"wrong": _yes(_is_wrong(trace, step)), "explained": _yes(state.explained)}
        )
        rows.writerow({name: cell(value) for name, value in row.items()})
    return written.getvalue()


def _observed(
    trace: TraceFile, step: Mapping[str, Any], about: Mapping[str, Any]
) -> dict[str, Any]:
    at_ms, by_ms = step["at_ms"]
    row: dict[str, Any] = {
        "step": step["step"],
        "at_ms": at_ms,
        "by_ms": by_ms,
        "do": step["do"],
        "member": step.get("member", ""),
        "connection": step.get("connection") or about.get("connection", ""),
        "request": step.get("id", ""),
        "api": about.get("api", ""),
        "version": about.get("version", ""),
        "dropped": " ".join(step.get("dropped", ())),
    }
    if "body" not in step:
        return row
    body = step["body"]
    row["body"] = json.dumps(body, separators=(",", ":"))
    if step["do"] == "send":
        row["words"] = request_words(about["api"], about["version"], body, trace.names)
    else:
        row["words"] = answer_words(about["api"], body, trace.names)
        if body is not None and "errorCode" in body:
            row["error"] = error_name(body["errorCode"])
    return row


def _known(trace: TraceFile, state: ModelState, name: str) -> dict[str, Any]:
    group = state.group(name)
    if group is None:
        return {"group": name}
    called = trace.names
    leader = group.leader if isinstance(group, Group) else None
    return {
        "group": name,
        "state": group.state.value,
        "generation": group.age[1],
        "leader": "" if leader is None else member(leader, called),
        "members": " ".join(sorted(member(m.member_id, called) for m in group.members)),
        "static": " ".join(f"{i}={member(held, called)}" for i, held in group.static),
    }


def _is_wrong(trace: TraceFile, step: Mapping[str, Any]) -> bool:
    return step["do"] == "answer" and step["id"] in trace.verdict.wrong_answers()


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


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
    config = dict(sorted(named(trace.config).items()))
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
        """True if following answers come because time passes."""
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
            case Disturbance():
                row = event.row()
                reply: _Json = {"answers": []}
                if event.do != MOVES:  # there no connection is lost
                    reply |= {k: v for k, v in row.items() if k == "dropped"}
                self._begin(event.span[0], {"cmd": event.do, **event.arguments()}, reply)
                self._now = max(self._now, event.at_ms)
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


TRACE_FORMATS: Mapping[str, Callable[[TraceFile], str]] = {
    "itf": to_itf_text,
    "mermaid": to_mermaid,
    "pytest": to_pytest,
    "adapter": to_adapter,
    "csv": to_csv,
    "trace": TraceFile.text,
}
"""The writers of a trace, by the name of the form."""


def read_trace(path: Path) -> TraceFile:
    """Read a trace file or an ITF file.  Raises TraceFileError."""
    document = read_document(path)
    if is_itf(document):
        return from_itf_json(document, where=str(path))
    return TraceFile.from_json(document, where=str(path))
