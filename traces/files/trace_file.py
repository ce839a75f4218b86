"""Read and write trace files, version 1: requests and answers, their times, and the verdict.

A trace holds the whole history of one case, with the settings and the revision that judged it, so
that anybody can judge it again (`judge`).  It may hold the symbolic plan, so that the case can run
again on another target.  The file is plain JSON, checked against `trace-1.schema.json`; the same
trace is always the same bytes.

Times are ms since the reset.  `at_ms` is [earliest, latest]: for a request, when writing began and
ended; for a restart, when it began and ended; for all else both are the time of observation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fencepost.model.bad_input import BadInputError
from fencepost.model.coordinator import Answer, Config, Send, named, numbered
from fencepost.model.history.events import (
    EVENTS,
    Answered,
    Disturbance,
    Event,
    Handled,
    Passed,
    Sent,
)
from fencepost.model.history.words import WrongField, wrong_field
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.shapes import ShapeError
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.revisions.revisions import is_in_a_file
from fencepost.properties.judging.model_states import (
    LIMIT,
    ModelState,
    judge_again,
    model_states,
)
from fencepost.properties.judging.trace_verdict import Expected, TraceVerdict, WrongBeside
from fencepost.traces.files.bounded import DocumentError, read_json, schema_error
from fencepost.traces.files.text_files import write_text

if TYPE_CHECKING:
    from fencepost.properties.oracle.verdict import Verdict

FORMAT = "fencepost-trace"
VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("trace-1.schema.json")


class TraceFileError(BadInputError):
    """A file is no trace, or can't be written.  `str()` names file, place and fix."""

    def __init__(self, where: str, place: str, problem: str, remedy: str) -> None:
        super().__init__(f"{where}: {place}: {problem}; {remedy}")
        self.place = place
        self.problem = problem
        self.remedy = remedy


class UnknownRevisionError(TraceFileError):
    """A file names an unknown revision.  `error`: the exception for its name."""

    def __init__(self, where: str, name: str, error: KeyError) -> None:
        problem, remedy = str(error.args[0]), "name one of these"
        if is_in_a_file(name):
            problem, _, remedy = problem.rpartition("; ")
        super().__init__(where, "$.revision", problem, remedy)


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A history of requests and answers, with the settings and its verdict.

    `events`: the history, in order; `senders`: request id → name of the member that sent it;
    `names`: member id → name; `plan`: the symbolic plan as JSON, or None; `provenance`: the tool's
    version, target, implementation, its version, seed; `loop`: of a run that never ends, the number
    of the step that follows the last one; None for one that ends.
    """

    revision: str
    case: str | None
    clock: str
    lag_ms: int
    config: Config
    plan: Mapping[str, Any] | None
    events: tuple[Event, ...]
    senders: Mapping[str, str]
    names: Mapping[str, str]
    verdict: TraceVerdict
    provenance: Mapping[str, str | int | None] = field(default_factory=dict)
    loop: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the trace as a JSON object, its keys always in the same order."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "revision": self.revision,
            "case": self.case,
            "clock": self.clock,
            "lag_ms": self.lag_ms,
            "config": dict(sorted(named(self.config).items())),
            "plan": self.plan,
            "steps": [self._step(n, event) for n, event in enumerate(self.events, start=1)],
            "names": dict(self.names),
            "verdict": self.verdict.to_json(),
            "provenance": dict(self.provenance),
        } | ({} if self.loop is None else {"loop": self.loop})

    def text(self) -> str:
        """Return the text of the file: the same for the same trace."""
        return json.dumps(self.to_json(), indent=1) + "\n"

    def write(self, path: Path) -> None:
        """Write the file; its folder must exist.  Raises ReportError, OutputError."""
        write_text(path, self.text(), "choose another folder")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the trace in a file.  Raises TraceFileError."""
        return cls.from_json(read_document(path), where=str(path))

    @classmethod
    def from_json(cls, document: Any, *, where: str = "trace") -> Self:
        """Read a trace from a JSON object.  Raises TraceFileError; `where` names it there."""
        _check(document, where)
        loop = document.get("loop")
        if loop is not None and loop > len(document["steps"]):
            raise TraceFileError(
                where,
                "$.loop",
                f"is {loop}, which is no step",
                "name the step that follows the last",
            )
        senders: dict[str, str] = {}
        requests: dict[str, Send] = {}
        events: list[Event] = []
        for index, step in enumerate(document["steps"]):
            try:
                events.append(event := _event(step, requests))
                if isinstance(event, Sent):
                    senders[event.request.id] = step["member"]
            except (ShapeError, _StepError) as error:
                raise TraceFileError(
                    where,
                    f"$.steps[{index}]",
                    str(error),
                    "correct this step, or record it again",
                ) from error
        return cls(
            revision=document["revision"],
            case=document["case"],
            clock=document["clock"],
            lag_ms=document["lag_ms"],
            config=numbered(document["config"]),
            plan=document["plan"],
            events=tuple(events),
            senders=senders,
            names=document["names"],
            verdict=_verdict(document["verdict"], requests, where),
            provenance=document["provenance"],
            loop=loop,
        )

    def history(self) -> list[Event]:
        """Return all events, in order of time."""
        return list(self.events)

    def judge(self, *, limit: int = LIMIT, revision: Revision | None = None) -> Verdict:
        """Judge the recorded history again; `limit` as the oracle's, `revision` None: its own.

        Raises TraceFileError for a revision that there isn't.
        """
        judge = revision or self._revision()
        return judge_again(
            judge,
            self.config,
            self.events,
            lag_ms=self.lag_ms,
            limit=limit,
            behind=self.verdict.behind,
            own=() if self.plan is None else self.plan["rules"],
        )

    def model_states(self, *, limit: int = LIMIT) -> tuple[ModelState, ...]:
        """Return the model's state before the first step, then the one after each.

        Raises as `judge`.
        """
        own = self._revision()
        return model_states(own, self.config, self.events, lag_ms=self.lag_ms, limit=limit)

    def wrong_field(self) -> WrongField | None:
        """Return the one field of the wrong answer that is wrong, if nothing else of it is.

        Raises as `judge`.
        """
        if not self.verdict.is_deviation:
            return None
        if self.verdict.expected:
            return wrong_field(self.verdict.expected[0].difference, self.names)
        violation = self.judge().violation  # no rule is named, so nothing is recorded of it
        return None if violation is None else wrong_field(violation.detail, self.names)

    def _revision(self) -> Revision:
        try:
            return revisions.find(self.revision)
        except KeyError as error:
            raise UnknownRevisionError("trace", self.revision, error) from error

    def _sender(self, request_id: str) -> str:
        """Return the sender of a request; if unknown, its connection."""
        if request_id in self.senders:
            return self.senders[request_id]
        requests = [event.request for event in self.events if isinstance(event, Sent)]
        return next((r.connection for r in requests if r.id == request_id), "")

    def _step(self, number: int, event: Event) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        match event:
            case Sent(request=request):
                fields = {
                    "member": self._sender(request.id),
                    "connection": request.connection,
                    "client_id": request.client_id,
                    "id": request.id,
                    "api": request.api,
                    "version": request.version,
                    "body": request.body,
                }
            case Answered(answer=answer):
                fields = {
                    "id": answer.id,
                    "member": self._sender(answer.id),
                    "body": answer.body,
                    "findings": list(answer.findings),
                }
            case Disturbance():
                fields = event.row()
            case Handled() | Passed():
                pass
        return {"step": number, "do": event.do, "at_ms": list(event.span), **fields}


def read_document(path: Path) -> Any:
    """Read the JSON in a file.  Raises TraceFileError."""
    try:
        return read_json(path)
    except DocumentError as error:
        remedy = "check its name; a trace is one JSON object that fencepost wrote"
        raise TraceFileError(str(path), error.place, error.problem, remedy) from error


class _StepError(ValueError):
    """A step that contradicts the steps before it."""


def _verdict(document: Mapping[str, Any], requests: Mapping[str, Send], where: str) -> TraceVerdict:
    """Read a verdict; of the observed answer the readable part.  Raises TraceFileError."""
    fields = dict(document)
    fields["rules"] = tuple(fields["rules"])
    fields["expected"] = tuple(Expected(**row) for row in fields["expected"])
    fields["besides"] = tuple(WrongBeside(**row) for row in fields.get("besides", ()))
    fields["behind"] = tuple(fields.get("behind", ()))
    request = requests.get(fields["request"] or "")
    if request is not None:
        api = ALL_APIS[request.api]
        if fields["observed"] is not None:
            fields["observed"] = api.response.readable_part(fields["observed"])
        for index, row in enumerate(fields["expected"]):
            try:
                if row.body is not None:
                    api.response.from_body(row.body, request.version)
            except ShapeError as error:
                place = f"$.verdict.expected[{index}].body"
                raise TraceFileError(where, place, str(error), "record the trace again") from error
    return TraceVerdict(**fields)


def _event(step: Mapping[str, Any], requests: dict[str, Send]) -> Event:
    earliest, latest = step["at_ms"]
    if earliest > latest:
        raise _StepError(f"at_ms {earliest} to {latest} ends before it begins")
    match step["do"]:
        case "send":
            request = _request(step)
            if request.id in requests:
                raise _StepError(f"request id {request.id!r} was used before")
            requests[request.id] = request
            return Sent(earliest, request, latest)
        case "answer":
            if step["id"] not in requests:
                raise _StepError(f"answers {step['id']!r}, which was not sent before")
            request, body = requests[step["id"]], step["body"]
            findings = tuple(step["findings"])
            if body is not None:
                body, wrong = ALL_APIS[request.api].readable_answer(body, request.version)
                findings = findings or wrong
            return Answered(Answer(request.id, latest, body, findings))
        case do:
            return EVENTS[do].of_row((earliest, latest), step)


def _request(step: Mapping[str, Any]) -> Send:
    api = ALL_APIS.get(step["api"])
    if api is None:
        raise _StepError(f"no API {step['api']!r}; there are {', '.join(ALL_APIS)}")
    if not api.lowest <= step["version"] <= api.highest:
        raise _StepError(
            f"{api.name} has versions {api.lowest} to {api.highest}, not {step['version']}"
        )
    api.request.from_body(step["body"], step["version"])
    return Send(
        step["id"],
        step["connection"],
        step["client_id"],
        step["api"],
        step["version"],
        step["body"],
    )


def _check(document: Any, where: str) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise TraceFileError(
            where, "$.format", f"isn't {FORMAT!r}", "give a trace that fencepost wrote"
        )
    if document.get("version") != VERSION:
        raise TraceFileError(
            where,
            "$.version",
            f"is {document.get('version')!r}, and this fencepost reads {VERSION}",
            "use the fencepost that wrote it",
        )
    error = schema_error(document, SCHEMA_FILE)
    if error is not None:
        problem = error.message if len(error.message) <= 200 else error.message[:200] + "…"
        raise TraceFileError(where, error.json_path, problem, "see trace-1.schema.json")
