"""Describe the steps of a history: numbered, a line each, members by name.

A step is a request, with its answer if nothing else happened before it; an answer that came later;
time that passed; a lost connection; a failover.  Sentences, documents and the page use these
numbers.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from fencepost.model.coordinator import Send
from fencepost.model.history.events import Answered, Disturbance, Event, Handled, Passed, Sent
from fencepost.model.history.history import History
from fencepost.model.history.words import WrongField, answer_words, request_words

_NOTEWORTHY_MS = 500
"""On a real clock, shorter pauses are left out."""


@dataclass(slots=True)
class Line:
    """A step, as text.

    `number`: from 1; `at_ms` to `until_ms`: its time; `who`: its client, "" for none; `text`: the
    request or event; `fate`: the answer; `asks`, `answers`: the ids of the requests that were sent
    and answered in it; `drops`: that lost their connection; `passes`: time, and nothing else.
    """

    text: str
    at_ms: int
    until_ms: int
    who: str = ""
    asks: str = ""
    fate: str = ""
    answers: str = ""
    drops: tuple[str, ...] = ()
    passes: bool = False
    number: int = 0
    events: list[int] = field(default_factory=list)
    """Its events in the history, counted from 0."""


def step_lines(history: History) -> list[Line]:
    """Return the steps of a history."""
    lines = list(_lines(history))
    for number, line in enumerate(lines, 1):
        line.number = number
    return lines


def show_wrong_field(lines: Sequence[Line], request_id: str | None, wrong: WrongField) -> None:
    """Add the wrong field to the words of the answer, unless they have it: an error."""
    if wrong.field.endswith("rrorCode"):
        return
    value = wrong.got.strip('"')
    named = f"member id {value}" if wrong.field == "memberId" else ""
    for line in lines:
        if line.fate and request_id == line.answers and named not in line.fate.split(", "):
            line.fate += f", {wrong.field} {wrong.got}"


def texts(
    lines: Sequence[Line],
    wrong: str | None = None,
    known: str = "",
    also: Container[str] = (),
) -> Iterator[str]:
    """Yield the steps as text.

    `wrong`: the request whose answer is wrong or missing; `known`: an earlier one of a known
    failure; `also`: other requests with wrong answers.
    """
    places = {line.asks: line.number for line in lines if line.asks}
    answered = {line.asks for line in lines if line.asks and line.fate}
    answered |= {line.answers for line in lines}
    dropped = {request_id for line in lines for request_id in line.drops}
    for line in lines:
        text = line.text
        if line.answers and not line.asks:
            text += f" of step {places.get(line.answers, '?')}"
        if line.fate:
            text += f" → {line.fate}"
        elif line.asks and line.asks == wrong and wrong not in answered:
            text += " → no answer"
        elif line.asks and line.asks not in answered | dropped:
            text += " → still waits"
        elif line.asks:
            text += " → waits"
        if is_wrong(line, wrong, answered):
            text += "   ← wrong"
        elif is_wrong(line, known, answered):
            text += "   ← wrong, known"
        elif line.fate and line.answers in also:
            text += "   ← also wrong"
        yield f"{line.number}. {text}"


def is_wrong(line: Line, wrong: str | None, answered: set[str]) -> bool:
    """Return True if this step is wrong: the wrong answer, or the request without one."""
    if not wrong:
        return False
    silent = line.asks == wrong and wrong not in answered
    return silent or (bool(line.fate) and wrong in {line.asks, line.answers})


def _lines(history: History) -> Iterator[Line]:
    requests: dict[str, Send] = {}
    last: Line | None = None
    now = 0
    least = 1 if history.clock == "virtual" else _NOTEWORTHY_MS
    for index, event in enumerate(history.events):
        if isinstance(event, Handled | Passed):
            continue
        begun, _ = event.span
        if begun - now >= least:
            if last is not None:
                yield last
            yield Line(f"{begun - now} ms pass", now, begun, passes=True)
            last = None
        now = max(now, event.at_ms)
        if isinstance(event, Answered) and (request := requests.get(event.answer.id)) is not None:
            words = answer_words(request.api, event.answer.body, history.names)
            words += "".join(f" [{finding}]" for finding in event.answer.findings)
            if last is not None and last.asks == request.id:
                last.fate, last.answers, last.until_ms = words, request.id, event.at_ms
                last.events.append(index)
                continue
            who = history.senders.get(request.id, request.connection)
            line = Line(f"{who} {request.api}", begun, now, who=who, fate=words, answers=request.id)
        else:
            line = Line(_event_words(event, history), begun, now, who=_who(event, history))
        line.events.append(index)
        if isinstance(event, Disturbance):
            line.drops = event.dropped
        if last is not None:
            yield last
        if isinstance(event, Sent):
            requests[event.request.id] = event.request
            line.asks = event.request.id
        last = line
    if last is not None:
        yield last
    end = max((event.at_ms for event in history.events), default=0)
    if end - now >= least:
        yield Line(f"{end - now} ms pass", now, end, passes=True)


def _who(event: Event, history: History) -> str:
    match event:
        case Sent(request=request):
            return history.senders.get(request.id, request.connection)
        case Disturbance():
            return event.connection
        case _:
            return ""


def _event_words(event: Event, history: History) -> str:
    match event:
        case Sent(request=request):
            who = history.senders.get(request.id, request.connection)
            words = request_words(request.api, request.version, request.body, history.names)
            on = "" if request.connection == who else f" on connection {request.connection}"
            return f"{who} {words}{on}"
        case Disturbance():
            return event.words()
        case Answered():
            return f"an answer to {event.answer.id}, without a request"
        case _:
            return ""
