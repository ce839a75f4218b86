"""Write a trace as CSV, a row for each step, for a spreadsheet or a data frame.

`COLUMNS` describes the columns.  Beside what was seen stands the model's state after the step, of
the group that the step is about; cells without a value are empty.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from fencepost.model.history.words import answer_words, member, request_words
from fencepost.model.messages.errors import error_name
from fencepost.traces.files.model_states import ModelState, model_states
from fencepost.traces.files.trace_file import TraceFile

COLUMNS: Mapping[str, str] = {
    "step": "number of the step, from 1",
    "at_ms": "earliest time, ms since the reset",
    "by_ms": "latest time",
    "do": "send, answer, handled, passed, disconnect, restart or delete-topics",
    "member": "who asked, by name",
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
    asked: dict[str, dict[str, Any]] = {}
    group = ""
    states = model_states(trace)[1:]
    for step, state in zip(trace.to_json()["steps"], states, strict=True):
        if step["do"] == "send":
            asked[step["id"]] = step
        about = asked.get(step.get("id", ""), {})
        group = str(about.get("body", {}).get("groupId", group))
        rows.writerow(
            _seen(trace, step, about)
            | _known(trace, state, group)
            | {"wrong": _yes(_is_wrong(trace, step)), "explained": _yes(state.explained)}
        )
    return written.getvalue()


def _seen(trace: TraceFile, step: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
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
    return {
        "group": name,
        "state": group.state.value,
        "generation": group.generation_id,
        "leader": "" if group.leader is None else member(group.leader, called),
        "members": " ".join(sorted(member(m.member_id, called) for m in group.members)),
        "static": " ".join(f"{i}={member(held, called)}" for i, held in group.static),
    }


def _is_wrong(trace: TraceFile, step: Mapping[str, Any]) -> bool:
    return step["do"] == "answer" and step["id"] in trace.verdict.wrong_answers()


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"
