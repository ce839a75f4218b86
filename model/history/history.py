"""Define a history: events in order, each request with its answer, and readable names.

An exchange is a request and its answer, whichever source has them: histories, logs, a recording
broker, a simulation and the evidence on a client all use it.  Bodies are kept as the source has
them until a message is read: most exchanges are heartbeats, and nobody reads most of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Generic, Literal, TypeVar

from fencepost.model.coordinator import Body
from fencepost.model.history.events import Answered, Event, Sent
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.errors import Error, kafka_error
from fencepost.model.messages.messages import (
    Api,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message

_MEMBERS = (
    HeartbeatRequest
    | JoinGroupRequest
    | OffsetCommitRequest
    | SyncGroupRequest
    | TxnOffsetCommitRequest
)
Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Exchange(Generic[Request, Answer]):
    """A request and its answer.  Not frozen: one is made for each line of a log, and answers come.

    The types are those of the messages, with None where the source may have none to read.
    `at_ms`: when it was sent, or came to the broker, on the clock of the source; `answered_ms`
    None: it has no answer.  `client_id`: the sender, by the name that the source has for it.

    A source that knows more has a class of its own: each field costs time for each line of a log.
    """

    api: str
    version: int
    at_ms: float
    answered_ms: float | None = None
    request_body: Body | None = None
    answer_body: Body | None = None
    client_id: str | None = ""
    connection: str = ""
    _request: Any = field(default=None, init=False, compare=False)
    _answer: Any = field(default=None, init=False, compare=False)

    @property
    def request(self) -> Request:
        """The request; None without a body, or where the model has no such message.

        Raises ShapeError for a body that its version can't have.
        """
        if self._request is None and self.request_body is not None:
            self._request = self._message("request", self.request_body)
        request: Request = self._request
        return request

    @request.setter
    def request(self, message: Request) -> None:
        self._request = message

    @property
    def answer(self) -> Answer:
        """The answer, like `request`."""
        if self._answer is None and self.answer_body is not None:
            self._answer = self._message("response", self.answer_body)
        answer: Answer = self._answer
        return answer

    @answer.setter
    def answer(self, message: Answer) -> None:
        self._answer = message

    def _message(self, kind: Literal["request", "response"], body: Body) -> Message | None:
        api = self._known_api()
        if api is None:
            return None
        message: Message = getattr(api, kind).from_body(dict(body), self.version)
        return message

    def _known_api(self) -> Api | None:
        return ALL_APIS.get(self.api)

    # What is asked of it.

    @property
    def end_ms(self) -> float:
        """The time of the answer; that of the request, if it has none."""
        return self.at_ms if self.answered_ms is None else self.answered_ms

    @property
    def member_id(self) -> str:
        """The member id in the request; of a LeaveGroup the first one's."""
        match self.request:
            case LeaveGroupRequest(members=[first, *_]):
                return first.member_id
            case LeaveGroupRequest(member_id=member_id):
                return member_id
            case request if isinstance(request, _MEMBERS):
                return request.member_id
        return ""

    @property
    def instance(self) -> str | None:
        """The instance id in the request; of a LeaveGroup the first one's."""
        match self.request:
            case LeaveGroupRequest(members=[first, *_]):
                return first.group_instance_id
            case request if isinstance(request, _MEMBERS):
                return request.group_instance_id
        return None

    @property
    def generation(self) -> int:
        """The generation in the request; -1 where it has none."""
        return int(getattr(self.request, "generation_id", -1))

    @property
    def error(self) -> int | None:
        """The error code of the answer, the first that is not 0; None without an answer."""
        return answer_error(self.answer)

    @property
    def error_name(self) -> str:
        """The name of its error; `no answer` where it got none."""
        return "no answer" if self.error is None else kafka_error(self.error)

    def is_answered(self, code: Error) -> bool:
        """Return True if it was answered with this error."""
        return bool(code.value == self.error)

    @property
    def went_well(self) -> bool:
        """True if it was answered without an error."""
        return self.error == 0

    @property
    def makes_leader(self) -> bool:
        """True if it is a join whose answer says that its member leads."""
        answer = self.answer
        return isinstance(answer, JoinGroupResponse) and answer.leader == answer.member_id != ""


def answer_error(answer: object) -> int | None:
    """Return the error code of an answer, the first that is not 0; None without an answer."""
    match answer:
        case None:
            return None
        case OffsetCommitResponse(topics=topics) | TxnOffsetCommitResponse(topics=topics):
            rows = chain.from_iterable(topic.partitions for topic in topics)
        case LeaveGroupResponse(members=members) if members:
            rows = iter(members)  # type: ignore[assignment]
        case _:
            return _number(getattr(answer, "error_code", 0))
    whole = _number(getattr(answer, "error_code", 0))
    return next(filter(None, [whole, *(_number(row.error_code) for row in rows)]), 0)


def _number(code: int | str) -> int:
    return code if isinstance(code, int) else Error.UNKNOWN_SERVER_ERROR.value


@dataclass(slots=True)
class HistoryExchange(Exchange[Message, Message | None]):
    """An exchange with the id of its request, and with the flaws of the bytes of its answer."""

    id: str = ""
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class History:
    """The events, request id → sender, member id → name, and the clock."""

    events: Sequence[Event]
    senders: Mapping[str, str]
    names: Mapping[str, str]
    clock: str

    @cached_property
    def exchanges(self) -> Mapping[str, HistoryExchange]:
        """All requests by id, in the order of sending, each with its first answer."""
        exchanges: dict[str, HistoryExchange] = {}
        for event in self.events:
            if isinstance(event, Sent):
                send = event.request
                sent = HistoryExchange(send.api, send.version, event.at_ms)
                sent.id, sent.connection, sent.request_body = send.id, send.connection, send.body
                exchanges.setdefault(send.id, sent)
            elif isinstance(event, Answered):
                exchange = exchanges.get(event.answer.id)
                if exchange is not None and exchange.answered_ms is None:
                    exchange.answered_ms = event.at_ms
                    exchange.answer_body = event.answer.body
                    exchange.findings = event.answer.findings
        return exchanges

    def exchange(self, request_id: str | None) -> HistoryExchange | None:
        """Return a request and its answer, by the request's id."""
        return self.exchanges.get(request_id or "")

    def sender(self, request_id: str) -> str:
        """Return the sender of a request; where that is unknown its connection, or ""."""
        exchange = self.exchange(request_id)
        connection = "" if exchange is None else exchange.connection
        return self.senders.get(request_id, connection)

    def number(self, request_id: str) -> int:
        """Return the number of a request among those of its sender and API, from 1."""
        return next(
            n for n, other in enumerate(self.alike(request_id), start=1) if other == request_id
        )

    def alike(self, request_id: str) -> Iterator[str]:
        """Yield the ids of the requests of the same sender and API, in order."""
        api, who = self.exchanges[request_id].api, self.senders.get(request_id)
        for other, exchange in self.exchanges.items():
            if exchange.api == api and self.senders.get(other) == who:
                yield other
