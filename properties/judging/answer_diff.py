"""Describe the difference between an answer and the right one, and record a run of a case.

The words for a difference are the *signature* of a fault (`observed`), by which known failures are
matched.  A fault has the same signature in every run: members by name, no times, and no ids that a
target chose.

A recording of a case is all that is left of a run, by which it is judged and explained.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fencepost.model.coordinator import Config
from fencepost.model.history.events import Answered, Disturbance, Event, Handled, Sent
from fencepost.model.history.history import History
from fencepost.model.history.words import (
    answer_words,
    assigned,
    decoded,
    fetched,
    member,
    members_of,
    with_names,
)
from fencepost.model.messages.errors import error_name
from fencepost.model.plans.steps import Plan
from fencepost.model.plans.times import Times
from fencepost.properties.departures.attribution import Attribution
from fencepost.properties.oracle.verdict import Allowed, Verdict, Violation, Wrong, nearest


@dataclass(slots=True)
class Recording:
    """All that is left of a run of a case: the evidence, and the names that make it readable."""

    case: Plan
    config: Config
    clock: str
    lag_ms: int
    patience_ms: int
    history: list[Event] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    senders: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    stopped: str | None = None
    moved: bool = False
    """True if the coordinator moved or was loading meanwhile: then nothing is judged."""
    sent_away: bool = False
    """True if it said so, although FindCoordinator names it, the only broker, before and after."""
    cleaned: bool = False
    """True if a pass of the cleaner over a group that was just used would explain the failure."""
    times: Times | None = None
    """The values of the plan's named times."""
    completed: bool = False
    """True if each step of the plan was taken, and the wait after the last was over."""
    began: float = 0.0
    ended: float = 0.0
    written_for_ms: int = 0
    measured_ms: int = 0
    """The lag that the control showed while it was recorded."""
    coordinator: str = ""
    """The tested coordinator, as in a departure's `of`; "": unknown."""
    calm_ms: int = 0
    """The lag of the target before the cases began, or of a server that was just restarted."""
    settled: list[int] = field(default_factory=list)
    """Number of requests sent at each point where the plan let them be handled."""
    step_ends: list[int] = field(default_factory=list)
    """Ends of the plan's steps that were begun."""
    attribution: Attribution | None = field(default=None, init=False, repr=False, compare=False)
    """The known causes of its failure, once they were looked for."""
    permitted: str | None = field(default=None, init=False, repr=False, compare=False)
    """The revision that permits its failure, "" for none, once it was looked for."""
    lost_timer: str | None = field(default=None, init=False, repr=False, compare=False)
    """The rule of a timer that never struck, "" for none, once it was looked for."""

    _read: History | None = field(default=None, init=False, repr=False, compare=False)

    def read(self) -> History:
        """Return the history with its requests by id, and with names for people.

        Member id → name: "A1" for the first id of A1, "A1 (id 2)" for the second.
        """
        names = _unique(self.names)
        read = self._read
        if read is None or len(read.events) != len(self.history) or read.names != names:
            read = self._read = History(tuple(self.history), self.senders, names, self.clock)
        return read

    def in_order(self) -> list[Event]:
        """Return the history, if each request was handled when the plan relies on it."""
        events: list[Event] = []
        left, sent = list(self.settled), 0
        for event in self.history:
            is_input = isinstance(event, Sent | Disturbance)
            if is_input and left and left[0] == sent:
                left = [count for count in left if count > sent]
                events.append(Handled(event.span[0]))
            sent += isinstance(event, Sent)
            events.append(event)
        return events

    def until(self, violation: Violation) -> Recording:
        """Return the recording up to the wrong answer, as if the run had ended with it.

        A deviation ends no run, so nothing is cut after it.
        """
        ends = (
            place
            for place, event in enumerate(self.history, start=1)
            if isinstance(event, Answered) and event.answer.id == violation.request_id
        )
        end = next(ends, len(self.history))
        if end < len(self.history) and isinstance(self.history[end], Handled):
            end += 1
        if violation.wrong is Wrong.DEVIATION or end == len(self.history):
            return self
        history = self.history[:end]
        answers = str([e.answer.body for e in history if isinstance(e, Answered)])
        return replace(
            self,
            history=history,
            names={member_id: who for member_id, who in self.names.items() if member_id in answers},
            stopped=None,
            completed=False,
            step_ends=[end_ms for end_ms in self.step_ends if end_ms <= history[-1].at_ms],
        )

    def gap(self) -> str | None:
        """Return the part of the plan that is missing in this recording; None if it is complete."""
        if self.completed:
            return None
        if self.stopped is not None:
            return self.stopped
        steps, begun = len(self.case.steps), len(self.step_ends)
        return f"the run broke off in step {begun} of {steps}, so it shows nothing of the rest"


def _unique(names: Mapping[str, str]) -> dict[str, str]:
    count = Counter[str]()
    unique = {}
    for member_id, who in names.items():
        count[who] += 1
        unique[member_id] = who if count[who] == 1 else f"{who} (id {count[who]})"
    return unique


Names = Mapping[str, str]

STRANGER = "an unknown id"
_IDS = ("memberId", "leader")
_BYTES = ("assignment", "metadata", "memberAssignment", "memberMetadata")
_TEXT = re.compile(r"(?P<field>\S+) is (?P<got>.*) instead of (?P<want>.*)", re.DOTALL)

_WHEN = re.compile(r" \(after \d+ ms; it begins with [0-9a-f]*\)")
"""The part of unsolicited bytes that differs in each run."""

TOO_LATE = "too late"
"""The end of the signature of an answer that is right but for its time."""

SILENT = "no answer"
"""The end of the signature of a request without an answer."""


def signature(verdict: Verdict | None, recording: Recording | None) -> str:
    """Return the observed fault in a few words, e.g. `B2 JoinGroup: NONE, generation 3, follows`.

    It leaves out the right answer, since that may depend on the rest of the history, while a fault
    must have the same signature in every run.  "" where nothing was violated and the case was not
    stopped.
    """
    if recording is None:
        return ""
    if verdict is None or verdict.violation is None:
        return f"stopped: {recording.stopped}" if recording.stopped else ""
    violation = verdict.violation
    history = recording.read()
    names = _with_strangers(history, violation)
    return f"{_whose(history, violation.request_id)}: {_observed(violation, history, names)}"


def _observed(violation: Violation, history: History, names: Names) -> str:
    exchange = history.exchange(violation.request_id)
    api = "" if exchange is None else exchange.api
    body = violation.observed or (None if exchange is None else exchange.answer_body)
    match violation.wrong:
        case Wrong.SILENCE:
            return SILENT if body is None else f"{_summary(api, body, names)}, {TOO_LATE}"
        case Wrong.CLOSED:
            return "connection closed"
        case Wrong.DEVIATION if violation.detail.startswith("bytes"):
            return deviation(violation.detail, names)
        case Wrong.SHAPE:
            return f"malformed answer: {with_names(violation.detail, names)}"
        case Wrong.ANSWER if not _differs(violation):
            return f"{_summary(api, body, names)}, {TOO_LATE}"
        case _:
            return _summary(api, body, names)


def _differs(violation: Violation) -> bool:
    """Return True if another answer would have been right, not this answer earlier."""
    chosen = nearest(violation.allowed)
    return chosen is not None and " instead of " in chosen.difference


def _summary(api: str, body: Mapping[str, Any] | None, names: Names) -> str:
    """Return an answer in words that are equal in every run, with members by their instances."""
    if body is None:
        return "nothing"
    if api.startswith("JoinGroup") and body.get("errorCode") == 0:
        leads = body.get("leader") == body.get("memberId")
        rows = body.get("members")
        place = f"leads {_seats(rows)}" if leads or rows else "follows"
        return f"NONE, generation {body.get('generationId')}, {place}"
    return answer_words(api, body, names)


def deviation(detail: str, names: Names) -> str:
    """Return a deviation in words; one of the bytes has words of its own."""
    text = with_names(detail, names)
    if text.startswith("bytes ") and text.endswith(" instead of 'as the version says'"):
        finding = text.removeprefix("bytes ").removesuffix(" instead of 'as the version says'")
        finding = _WHEN.sub("", finding)
        return f"malformed bytes: {finding[1:-1].rstrip('.')}"
    return text


def difference(
    api: str,
    observed: Mapping[str, Any] | None,
    allowed: Allowed,
    names: Names,
) -> str:
    """Return the field that differs, e.g. `members [A1] instead of [A1, B2]`."""
    parts = _TEXT.fullmatch(allowed.difference)
    if parts is None:
        return with_names(allowed.difference, names)
    name = parts["field"]
    if api == "OffsetFetch" and name in {"topics", "groups.topics"}:
        pair = [
            ", ".join(fetched(body or {}, names)) or "nothing" for body in (observed, allowed.body)
        ]
        return f"offset {pair[0]} instead of {pair[1]}"
    if (
        observed is not None
        and allowed.body is not None
        and {name} <= observed.keys() & allowed.body.keys()
    ):
        bodies = (observed, allowed.body)
        got, want = (_value(name, body[name], names) for body in bodies)
        return f"{name} {got} instead of {want.removeprefix('of ')}"
    return with_names(f"{name} {parts['got']} instead of {parts['want']}", names)


def _value(name: str, value: Any, names: Names) -> str:
    if name.endswith("errorCode"):
        return error_name(value)
    if name in _IDS:
        return member(value, names)
    if name == "assignment" and not isinstance(value, str):
        return assigned(value, names)
    if name in _BYTES:
        return decoded(value)
    if isinstance(value, list) and all(isinstance(v, dict) and "memberId" in v for v in value):
        return members_of(value, names)
    return "null" if value is None else with_names(str(value), names)


def _seats(rows: Any) -> str:
    """Return a list of members by their instances, which are known even where their ids are not."""
    if not isinstance(rows, list) or not all(isinstance(r, dict) and "memberId" in r for r in rows):
        return ""
    seats = sorted(str(row.get("groupInstanceId") or "dynamic") for row in rows)
    return f"[{', '.join(seats)}]"


def _whose(history: History, request_id: str) -> str:
    exchange = history.exchange(request_id)
    who = history.senders.get(request_id, "somebody")
    if exchange is None:
        return who
    number = history.number(request_id)
    return f"{who} {exchange.api}" + ("" if number == 1 else f" #{number}")


def _with_strangers(history: History, violation: Violation) -> dict[str, str]:
    """Return the names of ids, and one word for all ids that the target made up."""
    names = history.names
    ours = {
        member_id
        for sent_exchange in history.exchanges.values()
        for member_id in _ids(sent_exchange.request_body)
    }
    exchange = history.exchange(violation.request_id)
    bodies: list[Any] = [violation.observed, None if exchange is None else exchange.answer_body]
    bodies += [allowed.body for allowed in violation.allowed]
    in_answers = {member_id for body in bodies for member_id in _ids(body)}
    strangers = {i for i in in_answers if i and i not in names and i not in ours and i[0] != "\x00"}
    return {**names, **dict.fromkeys(sorted(strangers), STRANGER)}


def _ids(body: Any) -> Iterator[str]:
    match body:
        case Mapping():
            for key, value in body.items():
                if key in _IDS and isinstance(value, str):
                    yield value
                else:
                    yield from _ids(value)
        case list():
            for item in body:
                yield from _ids(item)
