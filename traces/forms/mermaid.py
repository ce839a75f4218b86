"""Write a trace as a Mermaid sequence diagram, which GitHub draws in Markdown.

Requests and answers are arrows, each with its step number.  Notes show the rest: requests that
wait, members that were fenced or replaced, sessions that ended, time, lost connections, failovers,
the group's state.  The wrong answer is in a box, with the expected one; further violations have
notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fencepost.model.classic.group import SESSION
from fencepost.model.coordinator import Send
from fencepost.model.history.events import Answered, Disturbance, Event, Handled, Passed, Sent
from fencepost.model.history.history import History
from fencepost.model.history.step_lines import step_lines
from fencepost.model.history.words import answer_words, member, quoted, request_words, with_names
from fencepost.model.messages.errors import Error
from fencepost.properties.judging.model_states import AnyGroup, ModelState
from fencepost.traces.files.trace_file import TraceFile

_COORDINATOR = "K"
_NOTEWORTHY_MS = 500
"""On a real clock, shorter pauses have no note."""
_WRONG = "rgba(255, 60, 60, 0.25)"
_SPECIAL = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "\n": "<br/>"}


def to_mermaid(trace: TraceFile) -> str:
    """Return the text of the diagram: the same for the same trace.  Raises TraceFileError."""
    return "\n".join(_Diagram(trace).lines()) + "\n"


class _Diagram:
    def __init__(self, trace: TraceFile) -> None:
        self._trace = trace
        self._names: Mapping[str, str] = trace.names
        self._states = trace.model_states()
        self._requests: dict[str, Send] = {}
        self._open: dict[str, str] = {}
        """Request id → its member, of those that wait without a note."""
        self._who = {
            e.request.id: trace.senders.get(e.request.id) or e.request.connection
            for e in trace.events
            if isinstance(e, Sent)
        }
        self._by_connection = {
            e.request.connection: self._who[e.request.id]
            for e in trace.events
            if isinstance(e, Sent)
        }
        members = dict.fromkeys(self._who.values())
        self._ids = {who: f"M{n}" for n, who in enumerate(members, start=1)}
        self._now = 0
        lines = step_lines(History(trace.events, trace.senders, trace.names, trace.clock))
        self._steps = {index: line.number for line in lines for index in line.events}

    def lines(self) -> Iterator[str]:
        trace = self._trace
        yield "sequenceDiagram"
        yield f"    accTitle: {_escaped(trace.case or 'a trace of ' + trace.revision)}"
        yield f"    accDescr: {_escaped(with_names(trace.verdict.message, self._names))}"
        yield f"    participant {_COORDINATOR} as coordinator"
        for who, name in self._ids.items():
            yield f"    participant {name} as {_escaped(who)}"
        for number, event in enumerate(trace.events, start=1):
            if number == trace.loop:
                yield "    loop again and again"
            yield from (f"    {line}" for line in self._event(number - 1, event))
        if trace.loop is not None:
            yield "    end"
        if trace.verdict.outcome == "violated" and not self._is_answered(trace.verdict.request):
            yield from (f"    {line}" for line in self._boxed([]))

    def _is_answered(self, request_id: str | None) -> bool:
        answered = [e.answer.id for e in self._trace.events if isinstance(e, Answered)]
        return request_id is not None and request_id in answered

    def _event(self, index: int, event: Event) -> Iterator[str]:
        number = self._steps.get(index, 0)
        yield from self._passing(event)
        match event:
            case Sent(request=request):
                self._requests[request.id] = request
                self._open[request.id] = self._who[request.id]
                words = request_words(request.api, request.version, request.body, self._names)
                yield self._arrow(self._who[request.id], "->>", f"{number}. {words}")
            case Answered():
                self._open.pop(event.answer.id, None)
                lines = list(self._answered(number, event))
                is_wrong = event.answer.id == self._trace.verdict.request
                yield from self._boxed(lines) if is_wrong else lines
                yield from self._besides(event.answer.id)
            case Disturbance():
                text = f"{number}. {event.note()}"
                if not event.connection:
                    yield f"Note over {self._all()}: {_escaped(text)}"
                elif who := self._by_connection.get(event.connection, ""):
                    yield self._arrow(who, "--x", text)
                yield from self._unanswered(event.dropped)
            case Handled() | Passed():
                if self._trace.clock == "virtual":  # else an answer may be on its way
                    yield from self._waiting()
        yield from self._changes(self._states[index], self._states[index + 1], event.at_ms)

    def _passing(self, event: Event) -> Iterator[str]:
        is_virtual = self._trace.clock == "virtual"
        if isinstance(event, Handled | Passed) and not is_virtual:
            return
        gone = event.span[0] - self._now
        self._now = max(self._now, event.at_ms)
        if gone >= (1 if is_virtual else _NOTEWORTHY_MS):
            yield from self._waiting()
            yield f"Note over {self._all()}: {gone:,} ms pass"

    def _answered(self, number: int, event: Answered) -> Iterator[str]:
        request = self._requests[event.answer.id]
        who = self._who[request.id]
        body = event.answer.body
        words = answer_words(request.api, body, self._names)
        words += "".join(f" [{finding}]" for finding in event.answer.findings)
        yield f"{_COORDINATOR}-->>{self._ids[who]}: {_escaped(f'{number}. {words}')}"
        if (body or {}).get("errorCode") == Error.FENCED_INSTANCE_ID.value:
            yield f"Note over {self._ids[who]}: fenced"

    def _waiting(self) -> Iterator[str]:
        for request_id, who in self._open.items():
            api = self._requests[request_id].api
            yield f"Note over {self._ids[who]}: {api} waits"
        self._open.clear()

    def _unanswered(self, request_ids: Sequence[str]) -> Iterator[str]:
        for request_id in request_ids:
            self._open.pop(request_id, None)
            request = self._requests.get(request_id)
            if request is not None:
                who = self._who[request_id]
                yield f"Note over {self._ids[who]}: {request.api} gets no answer"

    def _boxed(self, lines: Sequence[str]) -> Iterator[str]:
        """Return the wrong answer's lines, in its box."""
        verdict = self._trace.verdict
        yield f"rect {_WRONG}"
        yield from (f"    {line}" for line in lines)
        rule = verdict.rule or "no rule"
        text = f"VIOLATED: {rule}" + (f", {verdict.level}" if verdict.level else "")
        request = self._requests.get(verdict.request or "")
        over = self._all()
        if request is not None:
            over = f"{_COORDINATOR},{self._ids[self._who[request.id]]}"
            text += f"\nexpected {self._expected(request)}"
        yield f"    Note over {over}: {_escaped(text)}"
        yield "end"

    def _besides(self, request_id: str) -> Iterator[str]:
        """Yield a note for each wrong field beside the one that the verdict is about."""
        for beside in self._trace.verdict.besides:
            if beside.request == request_id:
                differs = with_names(beside.difference, self._names)
                text = f"also wrong: {differs}\n{beside.rule or 'no rule'}, {beside.level}"
                over = f"{_COORDINATOR},{self._ids[self._who[request_id]]}"
                yield f"Note over {over}: {_escaped(text)}"

    def _expected(self, request: Send) -> str:
        """Return the right answer, or the right value of the one field that is wrong."""
        verdict = self._trace.verdict
        if (differs := self._trace.wrong_field()) is not None:
            return f"{differs.field} {differs.want}, not {differs.got}"
        body = next((e.body for e in verdict.expected if e.body is not None), None)
        if body is not None:
            return answer_words(request.api, body, self._names)
        is_form = verdict.is_form
        return "the form that its version has" if is_form else "to wait"

    # What the model knows.

    def _changes(self, before: ModelState, after: ModelState, at_ms: int) -> Iterator[str]:
        if not after.explained:
            return
        was = dict(before.groups)
        for name, group in after.groups:
            yield from self._group_changes(was.get(name), group, at_ms)

    def _group_changes(self, was: AnyGroup | None, group: AnyGroup, at_ms: int) -> Iterator[str]:
        held = dict(was.static) if was is not None else {}
        here = {m.member_id for m in group.members}
        for timer in was.timers if was is not None else ():
            ended = timer.kind == SESSION and timer.earliest <= at_ms
            if ended and timer.subject not in here and was is not None:
                yield self._note(f"the session of {self._called(timer.subject)} ended")
        for instance, member_id in group.static:
            old = held.get(instance)
            if old is not None and old != member_id and not member_id.startswith("\x00"):
                old_name, new_name = self._called(old), self._called(member_id)
                if old_name != new_name and not old.startswith("\x00"):
                    yield self._note(f"{new_name} holds instance {instance}, {old_name} is fenced")
        now = (group.state.value, *group.age)
        if was is None or now != (was.state.value, *was.age):
            yield self._note(f"{now[0]}, {now[1]} {now[2]}")

    def _called(self, member_id: str) -> str:
        return self._names.get(member_id) or member(member_id, self._names)

    # Lines.

    def _arrow(self, who: str, arrow: str, text: str) -> str:
        return f"{self._ids[who]}{arrow}{_COORDINATOR}: {_escaped(text)}"

    @staticmethod
    def _note(text: str) -> str:
        return f"Note left of {_COORDINATOR}: {_escaped(text)}"

    def _all(self) -> str:
        last = list(self._ids.values())[-1:]
        return ",".join([_COORDINATOR, *last])


def _escaped(text: str) -> str:
    """Escape text, so that Mermaid draws it as it is."""
    printable = "".join(c if c.isprintable() or c == "\n" else quoted(c)[1:-1] for c in text)
    return "".join(_SPECIAL.get(c, c) for c in printable)
