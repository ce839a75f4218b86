"""Index a history: requests with their answers, and their order.

A request takes effect after it was sent and before its answer was read; so of two requests one came
first only if it was answered before the other was sent.  Nothing more is known with a real clock;
with a virtual clock a request takes effect when it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from fencepost.model.history.events import (
    Answered,
    Disturbance,
    Event,
    Handled,
    Passed,
    Sent,
    Takeover,
)
from fencepost.model.history.history import HistoryExchange
from fencepost.model.messages.draft_messages import MemberNameJoinGroupRequest
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommitResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
    groups_of,
)
from fencepost.model.messages.shapes import Message, ShapeError

NONE = Error.NONE.value
NEVER = 1 << 60
_ID_REQUIRED = Error.MEMBER_ID_REQUIRED.value
_LEAVE_ROWS_SINCE = 3
_SAYS_NOTHING = Error.UNKNOWN_TOPIC_OR_PARTITION.value


@dataclass(slots=True)
class PlacedExchange(HistoryExchange):
    """An exchange with its places in a history.

    `sent`, `answered`: the places, `answered` NEVER if it was not.  Its answer is None also where
    its connection was closed (`closed`) or its body can't be read (`problem`).  `dropped`: the
    place at which the client gave it up.  `group`: the group that it is about; the first, if there
    are several.  `join`: the request, if it is a join, also in the form of a draft.
    """

    sent: int = 0
    answered: int = NEVER
    closed: bool = False
    problem: str = ""
    dropped: int = NEVER
    group: str = field(init=False)
    join: JoinGroupRequest | None = field(init=False)

    def __post_init__(self) -> None:
        """Read `group` and `join`, which are needed again and again."""
        self.join = _as_join(self.request)
        self.group = next(iter(groups_of(self.request, self.version) or [""]), "")

    def __str__(self) -> str:
        """Return its name in findings."""
        return f"{self.id} ({self.api} v{self.version})"

    def before(self, other: PlacedExchange) -> bool:
        """Return True if it had been answered when the other one was sent."""
        return self.answered < other.sent


class Claim(NamedTuple):
    """The ids in one request, or in one row of it, and the error in its answer."""

    group: str
    member_id: str
    instance: str | None
    error: int | str


class Joined(NamedTuple):
    """A successful join: the exchange, its request and its answer, and the instance it named."""

    exchange: PlacedExchange
    message: JoinGroupRequest
    answer: JoinGroupResponse
    instance: str | None


class IdAnswer(NamedTuple):
    """An id that an answer told: the exchange, and the instance that a member has under it.

    `instance`: None for a dynamic member, and for an id that is pending.
    """

    exchange: PlacedExchange
    instance: str | None


class Reading(tuple[Event, ...]):  # noqa: SLOT001  (it keeps what it found)
    """The index of a history."""

    @cached_property
    def virtual(self) -> bool:
        """True if the history is of a virtual clock."""
        return any(isinstance(event, Handled) for event in self)

    @cached_property
    def end_ms(self) -> int:
        """The time up to which silence is evidence."""
        return max((e.at_ms for e in self if isinstance(e, Handled | Passed)), default=0)

    @cached_property
    def exchanges(self) -> tuple[PlacedExchange, ...]:
        """All requests, in the order of sending."""
        return tuple(_Reader(self).read().values())

    @cached_property
    def answered(self) -> tuple[PlacedExchange, ...]:
        """Requests with a readable answer, in the order of answers."""
        readable = [e for e in self.exchanges if e.answer is not None]
        return tuple(sorted(readable, key=lambda e: e.answered))

    @cached_property
    def claims(self) -> dict[str, tuple[Claim, ...]]:
        """Request → the claims of its members and their answers, of answered requests."""
        return {e.id: tuple(_claims(e)) for e in self.answered}

    @cached_property
    def longest_rebalance_ms(self) -> dict[str, int]:
        """Group → the longest rebalance timeout of its members, in ms."""
        longest: dict[str, int] = {}
        for e in self.exchanges:
            if e.join is not None:
                # A JoinGroup of version 0 has no rebalance timeout; the session timeout counts.
                timeout_ms = e.join.rebalance_timeout_ms
                timeout_ms = e.join.session_timeout_ms if timeout_ms < 0 else timeout_ms
                longest[e.group] = max(longest.get(e.group, 0), timeout_ms)
        return longest

    @cached_property
    def takeovers(self) -> tuple[int, ...]:
        """Places of failovers."""
        return tuple(n for n, event in enumerate(self) if isinstance(event, Takeover))

    def epoch(self, exchange: PlacedExchange) -> int:
        """Return the number of failovers before its answer; -1 if one came in between."""
        at = sum(place < exchange.answered for place in self.takeovers)
        return at if at == sum(place < exchange.sent for place in self.takeovers) else -1

    @cached_property
    def joined(self) -> tuple[Joined, ...]:
        """Joins answered NONE, in the order of their answers."""
        return tuple(
            Joined(e, request, e.answer, request.group_instance_id)
            for e in self.answered
            if (request := e.join) is not None
            and isinstance(e.answer, JoinGroupResponse)
            and e.answer.error_code == NONE
        )

    @cached_property
    def synced(self) -> tuple[tuple[PlacedExchange, SyncGroupRequest, SyncGroupResponse], ...]:
        """Syncs answered NONE, in the order of their answers: their generation was stored."""
        return tuple(
            (e, e.request, e.answer)
            for e in self.answered
            if isinstance(e.request, SyncGroupRequest)
            and isinstance(e.answer, SyncGroupResponse)
            and e.answer.error_code == NONE
        )

    @cached_property
    def instances(self) -> dict[tuple[str, str], str]:
        """(group, member id) → its instance, as far as answers tell."""
        known: dict[tuple[str, str], str] = {}
        for join in self.joined:
            if join.instance is not None:
                known.setdefault((join.message.group_id, join.answer.member_id), join.instance)
            for row in join.answer.members:
                if row.group_instance_id is not None:
                    known.setdefault((join.message.group_id, row.member_id), row.group_instance_id)
        return known

    @cached_property
    def id_answers(self) -> dict[tuple[str, str], list[IdAnswer]]:
        """(group, member id) → the answers that told it: pending, as a member, in a list."""
        answers: dict[tuple[str, str], list[IdAnswer]] = {}
        for e in self.answered:
            answer = e.answer
            if e.join is None or not isinstance(answer, JoinGroupResponse):
                continue
            if answer.error_code == _ID_REQUIRED:
                answers.setdefault((e.group, answer.member_id), []).append(IdAnswer(e, None))
        for join in self.joined:
            group = join.message.group_id
            own = IdAnswer(join.exchange, join.instance)
            answers.setdefault((group, join.answer.member_id), []).append(own)
            for row in join.answer.members:
                listed = IdAnswer(join.exchange, row.group_instance_id)
                answers.setdefault((group, row.member_id), []).append(listed)
        return answers

    @cached_property
    def dynamic(self) -> frozenset[tuple[str, str]]:
        """(group, member id) of those that joined without an instance."""
        return frozenset(
            (t.message.group_id, t.answer.member_id) for t in self.joined if t.instance is None
        )

    def seat(self, group: str, member_id: str) -> str | None:
        """Return a member's identity beyond restarts: its instance, or its id; None if unknown."""
        instance = self.instances.get((group, member_id))
        if instance is not None:
            return f"instance {instance}"
        return f"member {member_id}" if (group, member_id) in self.dynamic else None


def read(history: Sequence[Event]) -> Reading:
    """Return the index of a history; the same object if it is one already."""
    return history if isinstance(history, Reading) else Reading(history)


def _as_join(message: Message) -> JoinGroupRequest | None:
    match message:
        case JoinGroupRequest():
            return message
        case MemberNameJoinGroupRequest():
            return JoinGroupRequest(
                group_id=message.group_id,
                session_timeout_ms=message.session_timeout_ms,
                rebalance_timeout_ms=message.rebalance_timeout_ms,
                member_id=message.member_id,
                group_instance_id=message.member_name or None,
                protocol_type=message.protocol_type,
                protocols=message.protocols,
            )
        case _:
            return None


def _claims(exchange: PlacedExchange) -> Iterator[Claim]:
    request, answer = exchange.join or exchange.request, exchange.answer
    match request:
        case JoinGroupRequest() | SyncGroupRequest() | HeartbeatRequest():
            error: int | str = getattr(answer, "error_code", NONE)
            yield Claim(request.group_id, request.member_id, request.group_instance_id, error)
        case OffsetCommitRequest() | TxnOffsetCommitRequest() if isinstance(answer, CommitResponse):
            errors = {p.error_code for t in answer.topics for p in t.partitions} - {_SAYS_NOTHING}
            if errors and request.generation_id >= 0:
                error = NONE if NONE in errors else next(iter(errors))
                yield Claim(request.group_id, request.member_id, request.group_instance_id, error)
        case LeaveGroupRequest() if isinstance(answer, LeaveGroupResponse):
            rows = request.rows(exchange.version)
            listed = exchange.version >= _LEAVE_ROWS_SINCE
            errors_of_rows = (
                [r.error_code for r in answer.members] if listed else [answer.error_code]
            )
            for row, code in zip(rows, errors_of_rows, strict=False):
                yield Claim(request.group_id, row.member_id, row.group_instance_id, code)
        case _:
            return


@dataclass(slots=True)
class _Reader:
    """A reading of one history."""

    history: Sequence[Event]
    exchanges: dict[str, PlacedExchange] = field(default_factory=dict)

    def read(self) -> dict[str, PlacedExchange]:
        for place, event in enumerate(self.history):
            match event:
                case Sent(request=send):
                    self.exchanges[send.id] = PlacedExchange(
                        send.api,
                        send.version,
                        event.at_ms,
                        request_body=send.body,
                        id=send.id,
                        sent=place,
                    )
                case Answered():
                    self._answered(place, event)
                case Disturbance():
                    for request_id in event.dropped:
                        if (exchange := self.exchanges.get(request_id)) is not None:
                            exchange.dropped = min(exchange.dropped, place)
                case _:
                    pass
        return self.exchanges

    def _answered(self, place: int, event: Answered) -> None:
        exchange = self.exchanges.get(event.answer.id)
        if exchange is None or exchange.dropped < place:
            return
        exchange.answered, exchange.answered_ms = place, event.at_ms
        exchange.findings = event.answer.findings
        exchange.answer_body = event.answer.body
        try:
            exchange.closed = exchange.answer is None
        except ShapeError as error:
            exchange.problem, exchange.answer_body = str(error), None
