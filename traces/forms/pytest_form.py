"""Write a trace as a test for a broker's author: pytest and kafka-python, without fencepost.

The test sends the recorded requests and expects the right answers: those recorded, and in place of
the wrong ones the expected ones; it ends with the one that the verdict is about.  Times are those
of the recording, with some slack near timeouts; a plan that adapts to the broker is run by
`replay`.

Bodies are Python literals.  Ids that the broker gave out (those that an answer had before a request
did), generations and groups are written by name, since each broker has its own.  All else is
written as it is, bytes as bytes.
"""

from __future__ import annotations

import ast
import base64
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fencepost.model.coordinator import Send, named
from fencepost.model.history.events import (
    Answered,
    Disturbance,
    Handled,
    Passed,
    Sent,
    TopicsDeleted,
)
from fencepost.model.history.words import (
    DEVIATES,
    answer_words,
    one_line,
    request_words,
    with_article,
    with_names,
)
from fencepost.model.messages.draft_messages import DRAFT_APIS
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import APIS
from fencepost.properties.judging.model_states import ModelState
from fencepost.traces.files.trace_file import TraceFile, TraceFileError

_IDS = {"memberId", "leader"}
_BYTES = {"metadata", "assignment", "memberMetadata", "memberAssignment"}
_GENERATIONS = {"generationId", "generationIdOrMemberEpoch"}
_UPPER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Literals:
    """The Python literals of one trace's values."""

    def __init__(self, trace: TraceFile) -> None:
        self._names = _all_names(trace)

    def code(self, key: str, value: Any) -> str:
        """Return a field's value; a value that the broker chose is written by name."""
        match value:
            case str() if key in _IDS:
                return self._id(value)
            case str() if key in _BYTES:
                return repr(base64.b64decode(value))
            case str() if key == "groupId":
                return f"Group({value!r})" if value else repr(value)
            case list() if key in {"groups", "groupsNames"}:
                return _listed(
                    f"Group({v!r})" if isinstance(v, str) else self.body(v) for v in value
                )
            case int() if key in _GENERATIONS and value >= 0:
                return f"Gen({value})"
            case list():
                return _listed(self.code(key, item) for item in value)
            case Mapping():
                return self.body(value)
            case _:
                return repr(value)

    def body(self, body: Mapping[str, Any]) -> str:
        """Return a whole body, or a row; the metadata of an offset are a text, all others bytes."""
        texts = {"metadata"} if "committedOffset" in body else set()
        rows = (
            f"{snake(k)!r}: {repr(v) if k in texts else self.code(k, v)}" for k, v in body.items()
        )
        return "{" + ", ".join(rows) + "}"

    def _id(self, member_id: str) -> str:
        if member_id in self._names:
            return f"Id({self._names[member_id]!r})"
        if member_id.startswith("\x00"):
            return f"Id({'new id of ' + member_id[1:]!r})"
        return repr(member_id)


def _all_names(trace: TraceFile) -> dict[str, str]:
    """Return member id → name, with ids from error answers, without ids that a client made up."""
    names = dict(trace.names)
    made_up = {""}
    for event in trace.events:
        if isinstance(event, Sent):
            made_up |= {id_ for id_ in _ids(event.request.body) if id_ not in names}
        elif isinstance(event, Answered) and event.answer.body is not None:
            for id_ in _ids(event.answer.body):
                if id_ not in made_up:
                    names.setdefault(id_, id_)
    return names


def _ids(body: Mapping[str, Any]) -> Iterator[str]:
    for key, value in body.items():
        if key in _IDS and isinstance(value, str):
            yield value
        for row in value if isinstance(value, list) else ():
            if isinstance(row, Mapping):
                yield from _ids(row)


def snake(name: str) -> str:
    """Return a field's name as kafka-python has it."""
    return _UPPER.sub("_", name).lower()


def _listed(items: Iterator[str]) -> str:
    return "[" + ", ".join(items) + "]"


_PRELUDE = Path(__file__).with_name("pytest_prelude.py")
_SLACK_MS = 300
"""On a real clock, so far from a timer's deadline, if there is room for it."""
_LEAST_SLACK_MS = 30
_LATE_S = 0.5
"""The longest delay of the right answer, in s, where the recorded fault is a missing answer."""
_NOTEWORTHY_MS = 500
_IN_TRANSACTION = "TxnOffsetCommit"
_NO_WORD = re.compile(r"[^a-z0-9]+")


def to_pytest(trace: TraceFile) -> str:
    """Return the text of the module: the same for the same trace.

    Raises TraceFileError for requests that kafka-python lacks, and for those of transactions.
    """
    for event in trace.events:
        if isinstance(event, Sent) and event.request.api not in APIS:
            was_never = event.request.api in DRAFT_APIS
            why = "never was in a release" if was_never else "kafka-python can't send"
            raise TraceFileError(
                "the trace",
                event.request.id,
                f"is {with_article(event.request.api)}, which {why}",
                "convert it to another form; `adapter` has all",
            )
        if isinstance(event, Sent) and event.request.api == _IN_TRANSACTION:
            raise TraceFileError(
                "the trace",
                event.request.id,
                f"is {with_article(_IN_TRANSACTION)}, which needs a transaction around it",
                "convert it to another form, or run `fencepost replay`, which makes one",
            )
    body = "\n".join(f"        {line}" for line in _Test(trace).lines())
    return (
        f"{_head(trace)}\n\n{_prelude()}\n\n\n"
        f"def test_{_slug(trace.case or trace.verdict.message)}() -> None:\n"
        f"    with Broker() as broker:\n{body}\n"
    )


def _head(trace: TraceFile) -> str:
    sentence = with_names(trace.verdict.message, trace.names)
    lines = textwrap.wrap(" ".join(sentence.split()), 96, break_on_hyphens=False)
    settings = [
        f"    {k}={'no limit' if v is None else v}" for k, v in sorted(named(trace.config).items())
    ]
    text = "\n".join(
        [
            *(lines or ["A recorded conversation."]),
            "",
            "Needs pytest and kafka-python 3.  BROKER=HOST:PORT says which broker is tested; one",
            "with these settings:",
            "",
            *settings,
        ]
    )
    return f'r"""{text.replace(chr(92), "/").replace(chr(34) * 3, chr(39) * 3)}\n"""'


def _prelude() -> str:
    """Return the text of the prelude, without its own docstring."""
    text = _PRELUDE.read_text(encoding="utf-8")
    return text[text.index("from __future__") :].rstrip("\n")


def _slug(text: str) -> str:
    return _NO_WORD.sub("_", text.lower()).strip("_")[:80].rstrip("_") or "trace"


class _Test:
    def __init__(self, trace: TraceFile) -> None:
        self._trace = trace
        self._states = trace.model_states()
        self._literals = Literals(trace)
        self._requests: dict[str, Send] = {}
        self._now = 0
        self._waited = 0
        """Up to when answers were waited for already."""

    def lines(self) -> Iterator[str]:
        trace, wrong = self._trace, self._trace.verdict.request
        if topics := _topics(trace):
            yield f"broker.create({topics!r})"
        for index, event in enumerate(trace.events):
            match event:
                case Sent(request=request):
                    yield from self._pause(event.at_ms, index)
                    self._requests[request.id] = request
                    yield from self._sent(request)
                    if not self._is_answered_at_once(index):
                        waits = f"broker.waits({request.connection!r})"
                        yield waits if self._is_left_waiting(index) else "broker.settles()"
                case Answered() if event.answer.id == wrong:
                    yield from self._right(event.at_ms, index)
                    return
                case Answered():
                    yield from self._answered(event)
                case Disturbance():
                    begun_ms, ended_ms = event.span
                    yield from self._pause(begun_ms, index)
                    yield f"broker.{event.call()}"
                    if not event.connection:
                        self._now = self._waited = ended_ms
                case Passed():
                    if trace.clock == "virtual":
                        yield from self._pause(event.at_ms, index)
                case Handled():
                    pass
        if wrong is not None:
            yield from self._right(self._now, len(trace.events) - 1)

    def _sent(self, request: Send) -> Iterator[str]:
        who = self._trace.senders.get(request.id) or request.connection
        words = request_words(request.api, request.version, request.body, self._trace.names)
        yield f"# {who} {one_line(words)}"
        fields = "".join(
            f", {snake(k)}={self._literals.code(k, v)}" for k, v in request.body.items()
        )
        place = f"{request.connection!r}, {request.api!r}, {request.version}"
        yield f"broker.send({place}{fields})"

    def _is_answered_at_once(self, index: int) -> bool:
        """Return whether the answer came before anything else, and (virtually) at once."""
        sent = self._trace.events[index]
        assert isinstance(sent, Sent)  # noqa: S101  (told to the type checker)
        for event in self._trace.events[index + 1 :]:
            match event:
                case Sent() | Disturbance():
                    return False
                case Answered() if event.answer.id == sent.request.id:
                    return self._trace.clock == "real" or event.at_ms == sent.at_ms
                case _:
                    pass
        return self._trace.verdict.request == sent.request.id

    def _is_left_waiting(self, index: int) -> bool:
        """Return True if a wait is observable: on a virtual clock a timer may be due at once."""
        sent = self._trace.events[index]
        if self._trace.clock == "real":
            return True
        after = self._trace.events[index + 1 :]
        now = [place for place, event in enumerate(after, index + 2) if event.at_ms == sent.at_ms]
        timers = (
            timer.earliest
            for place in now[:1]
            for _, group in self._states[place].groups
            for timer in group.timers
        )
        return all(deadline > sent.at_ms for deadline in timers)

    def _answered(self, event: Answered) -> Iterator[str]:
        request = self._requests[event.answer.id]
        yield f"# {one_line(answer_words(request.api, event.answer.body, self._trace.names))}"
        if event.answer.body is None:
            yield f"broker.close({request.connection!r})"
            return
        right = self._set_right(request.id, event.answer.body)
        how = "answers" if right is not None else "answers_otherwise"
        yield self._answers(request, event.at_ms, how, [right or event.answer.body])

    def _set_right(self, request_id: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the right answer; None if it isn't known."""
        right: Mapping[str, Any] | None = body
        for beside in self._trace.verdict.besides:
            if beside.request == request_id and right is not None:
                right = _mended(right, beside.difference)
        return right

    def _right(self, at_ms: int, index: int) -> Iterator[str]:
        """Write the expected answer in place of the wrong one, or that none is expected yet."""
        verdict = self._trace.verdict
        request = self._requests[verdict.request or ""]
        bodies = [row.body for row in verdict.expected if row.body is not None]
        wrong = f"by rule {verdict.rule}" if verdict.rule else "by the model"
        if verdict.wrong in {"EARLY", "CLOSED"} and not bodies:
            yield from self._pause(at_ms, index)
            yield f"# {wrong} it waits"
            yield f"broker.waits({request.connection!r})"
            return
        how = "answers"
        if not bodies:
            body = self._body_of(request.id) or verdict.observed or {}
            mended = _mended(body, verdict.expected[0].difference if verdict.expected else "")
            bodies = [mended or body]
            how = "answers" if mended else "answers_otherwise"
        words = answer_words(request.api, bodies[0], self._trace.names)
        yield f"# {wrong}{'' if how == 'answers' else ' anything but'}: {one_line(words)}"
        late = "" if verdict.wrong != "SILENCE" else f", late={self._late_s(at_ms, index):g}"
        yield self._answers(request, at_ms, how, bodies, late)

    def _late_s(self, at_ms: int, index: int) -> float:
        """Return the longest delay of an answer: it ends before the effect of the next timer."""
        near = _next_deadline(self._states[index + 1], at_ms)
        return _LATE_S if near is None else min((near - at_ms) / 2000, _LATE_S)

    def _answers(
        self,
        request: Send,
        at_ms: int,
        how: str,
        bodies: list[Mapping[str, Any]],
        late: str = "",
    ) -> str:
        within = max(at_ms - self._waited, 0)
        self._now = self._waited = max(at_ms, self._waited)
        right = "".join(f", {self._literals.body(body)}" for body in bodies)
        later = f", within={within / 1000:g}" if within >= _NOTEWORTHY_MS else ""
        return f"broker.{how}({request.connection!r}{right}{later}{late})"

    def _body_of(self, request_id: str) -> Mapping[str, Any] | None:
        answers = (e.answer for e in self._trace.events if isinstance(e, Answered))
        return next((a.body for a in answers if a.id == request_id), None)

    def _pause(self, at_ms: int, index: int) -> Iterator[str]:
        """Return the time that goes by up to a step, no answer being waited for."""
        gone = at_ms - self._waited
        self._now = self._waited = max(at_ms, self._waited)
        if gone < (1 if self._trace.clock == "virtual" else _NOTEWORTHY_MS):
            return
        if self._trace.clock == "virtual":
            near = _next_deadline(self._states[index + 1], at_ms)
            spare = _SLACK_MS if near is None else min((near - at_ms) // 3, _SLACK_MS)
            gone = max(gone - _SLACK_MS, 0) if spare < _LEAST_SLACK_MS else gone + spare
        yield f"time.sleep({gone / 1000:g})"


_OF_TOPICS = {Error.NONE.value, Error.GROUP_SUBSCRIBED_TO_TOPIC.value}
"""Errors of a partition that only a topic that exists has."""


def _topics(trace: TraceFile) -> dict[str, int]:
    """Return the topics that must exist, with their least numbers of partitions.

    They are those of commits that were taken, those whose offsets are deleted or kept since they
    are read, and those that are deleted.
    """
    topics: dict[str, int] = {}
    requests: dict[str, Send] = {}
    for event in trace.events:
        match event:
            case Sent(request=request) if request.api in {"OffsetCommit", "OffsetDelete"}:
                requests[request.id] = request
            case Answered() if event.answer.id in requests and event.answer.body is not None:
                for name, index, code in _partitions(event.answer.body, trace.names):
                    if code in _OF_TOPICS:
                        topics[name] = max(topics.get(name, 1), index + 1)
            case TopicsDeleted():
                for name in event.topics:
                    topics.setdefault(name, 1)
    return topics


def _partitions(
    body: Mapping[str, Any], names: Mapping[str, str]
) -> Iterator[tuple[str, int, int]]:
    """Yield topic, partition and error code of each row of an answer about offsets.

    `names`: of topics by their ids; a topic whose id none has is left out.
    """
    for topic in body.get("topics", ()):
        name: str | None = topic.get("name") or names.get(topic.get("topicId", ""))
        if name is not None:
            for row in topic["partitions"]:
                yield name, row["partitionIndex"], row["errorCode"]


def _next_deadline(state: ModelState, at_ms: int) -> int | None:
    times = (t.earliest for _, group in state.groups for t in group.timers)
    return min((time for time in times if time > at_ms), default=None)


def _mended(body: Mapping[str, Any], difference: str) -> dict[str, Any] | None:
    """Return the answer with the deviating field corrected; None if that isn't known."""
    match = DEVIATES.fullmatch(difference)
    if match is None or match["field"] not in body:
        return None
    if match["field"].endswith("errorCode"):
        want: Any = next((e.value for e in Error if e.name == match["want"]), None)
    else:
        try:
            want = ast.literal_eval(match["want"])
        except (ValueError, SyntaxError):
            return None
    return {**body, match["field"]: want}
