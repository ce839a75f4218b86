"""What a target answered in one run of a plan, in a form that can be compared between targets.

Members are named, generations are counted from the first, ids that nobody was told are all the
same, and an answer may come at once, only after a wait, or not at all.  On a real clock all answers
within one wait count as simultaneous, since their order depends on chance.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.model.history.events import Answered, Disconnected, Restarted, Sent
from fencepost.model.history.words import answer_words
from fencepost.model.plans.plan import Pause, RequestStep
from fencepost.properties.judging.answer_diff import names_of
from fencepost.properties.judging.recording import Recording
from fencepost.properties.oracle.fingerprint import kind_of

_IDS = ("memberId", "leader")
_LEFT_OUT = {"throttleTimeMs", "errorMessage", "clientId", "clientHost", "host", "port"}
STRANGER = "an id that nobody was told"

WAITS = "waits"
UNSENT = "was not asked"
CLOSED = "the connection was closed"
DROPPED = "was given up"


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """What became of one request.

    `kind`: the kind of the answer in a word or two, without names; `body`: the answer as text, with
    names; `words`: the answer for people; `after`: how many waits had ended by then, or, on a
    virtual clock, how many requests had been sent.
    """

    kind: str
    body: str = ""
    words: str = ""
    after: int = 0
    step: int = 0

    @property
    def essence(self) -> tuple[str, str, int]:
        """What is compared."""
        return self.kind, self.body, self.after


def outcomes_of(recording: Recording | None, *, exact: bool) -> dict[int, RequestOutcome]:
    """What became of each request, by its number in the plan.  `exact`: all clocks are virtual."""
    if recording is None:
        return {}
    return dict(_outcomes(recording, exact=exact))


def _outcomes(recording: Recording, *, exact: bool) -> Iterator[tuple[int, RequestOutcome]]:
    names = names_of(recording)
    asked = {e.request.id: e for e in recording.history if isinstance(e, Sent)}
    dropped = {
        request_id
        for event in recording.history
        if isinstance(event, Disconnected | Restarted)
        for request_id in event.dropped
    }
    bases = _bases(recording, asked)
    answered: dict[str, tuple[Answered, int]] = {}
    last = 0
    for event in recording.history:
        if isinstance(event, Sent):
            last = int(event.request.id[1:])
        elif isinstance(event, Answered) and event.answer.id in asked:
            answered.setdefault(event.answer.id, (event, last))
    for number, step in enumerate(recording.case.steps, start=1):
        request_id = f"r{number}"
        if not isinstance(step, RequestStep):
            continue
        if request_id not in asked:
            yield number, RequestOutcome(UNSENT, words=UNSENT)
        elif request_id in answered:
            event, sent_by_then = answered[request_id]
            request = asked[request_id].request
            body = event.answer.body
            base = bases.get(_group(request.body), 0)
            waits = _waits_between(recording, number, event.at_ms)
            yield (
                number,
                RequestOutcome(
                    CLOSED if body is None else kind_of(body) or "answered",
                    json.dumps(_symbolic(body, names, base), sort_keys=True),
                    answer_words(request.api, body, names),
                    sent_by_then if exact else waits,
                    sent_by_then,
                ),
            )
        else:
            kind = DROPPED if request_id in dropped else WAITS
            yield number, RequestOutcome(kind, words=kind)


def _waits_between(recording: Recording, number: int, at_ms: int) -> int:
    """How many named waits began after a request and had ended when its answer came."""
    return sum(
        isinstance(step, Pause) and bool(step.times) and end < at_ms
        for place, (step, end) in enumerate(
            zip(recording.case.steps, recording.step_ends, strict=False), start=1
        )
        if place > number
    )


def _group(body: Mapping[str, Any]) -> str:
    return str(body.get("groupId", ""))


def _bases(recording: Recording, asked: Mapping[str, Sent]) -> dict[str, int]:
    """By group, the first generation that anybody was told."""
    bases: dict[str, int] = {}
    for event in recording.history:
        if isinstance(event, Answered) and event.answer.body is not None:
            generation = event.answer.body.get("generationId", -1)
            sent = asked.get(event.answer.id)
            if sent is not None and generation > 0:
                bases.setdefault(_group(sent.request.body), generation)
    return bases


def _symbolic(value: Any, names: Mapping[str, str], base: int, key: str = "") -> Any:
    match value:
        case Mapping():
            return {
                name: _symbolic(item, names, base, name)
                for name, item in value.items()
                if name not in _LEFT_OUT
            }
        case list():
            rows = [_symbolic(item, names, base, key) for item in value]
            return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
        case str() if key in _IDS:
            return names.get(value, STRANGER) if value else ""
        case int() if key == "generationId" and value > 0:
            return value - base + 1
        case _:
            return value


def field_that_differs(one: RequestOutcome, other: RequestOutcome) -> str:
    """The first field in which two answers differ; "" if it is not in the answers."""
    first, second = (json.loads(side.body) if side.body else None for side in (one, other))
    return _first(first, second)


def _first(one: Any, other: Any, at: str = "") -> str:
    match one, other:
        case dict(), dict():
            keys = sorted({*one, *other}, key=lambda key: (key != "errorCode", key))
            found = (_first(one.get(k), other.get(k), f"{at}.{k}" if at else k) for k in keys)
            return next(filter(None, found), "")
        case list(), list() if len(one) == len(other):
            found = (_first(a, b, at) for a, b in zip(one, other, strict=True))
            return next(filter(None, found), "")
        case _:
            return at if one != other else ""
