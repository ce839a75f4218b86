"""An index of a history: which request was answered how, and what came before what.

A request takes effect after it was sent and before its answer was read; so of two requests one came
first only if it was answered before the other was sent.  Nothing more is known with a real clock;
with a virtual clock a request takes effect when it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from fencepost.model.coordinator import Send
from fencepost.model.history.events import (
    Answered,
    Disconnected,
    Event,
    Handled,
    Passed,
    Restarted,
    Sent,
)
from fencepost.model.messages.draft_messages import ALL_APIS, MemberNameJoinGroupRequest
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    groups_of,
)
from fencepost.model.messages.shapes import Message, ShapeError

NONE = Error.NONE.value
NEVER = 1 << 60
_LEAVE_ROWS_SINCE = 3
_SAYS_NOTHING = Error.UNKNOWN_TOPIC_OR_PARTITION.value


@dataclass(slots=True)
class Exchange:
    """A request and what became of it.

    `sent`, `answered`: places in the history, `answered` NEVER if it was not; `sent_ms`,
    `answered_ms` likewise in ms.  `answer` is None also where its connection was closed (`closed`)
    or its body can't be read (`problem`).  `dropped`: at which place the client gave it up.
    `group`: the one that it is about; the first, if there are several.  `join`: what it asked, if
    it is a join, also as a draft says it.
    """

    send: Send
    asked: Message
    sent: int
    sent_ms: int
    answer: Message | None = None
    answered: int = NEVER
    answered_ms: int = NEVER
    findings: tuple[str, ...] = ()
    closed: bool = False
    problem: str = ""
    dropped: int = NEVER
    group: str = field(init=False)
    join: JoinGroupRequest | None = field(init=False)

    def __post_init__(self) -> None:
        """Read `group` and `join`, which are asked for again and again."""
        self.join = _as_join(self.asked)
        self.group = next(iter(groups_of(self.asked, self.send.version) or [""]), "")

    def __str__(self) -> str:
        """As a finding names it."""
        return f"{self.send.id} ({self.send.api} v{self.send.version})"

    def before(self, other: Exchange) -> bool:
        """Return whether it had been answered when the other one was sent."""
        return self.answered < other.sent


class Claim(NamedTuple):
    """What one request, or one row of it, said of itself, and the error that it was told."""

    group: str
    member_id: str
    instance: str | None
    error: int | str


class Told(NamedTuple):
    """A successful join: the exchange, its request and its answer, and the instance it named."""

    exchange: Exchange
    asked: JoinGroupRequest
    answer: JoinGroupResponse
    instance: str | None


class Reading(tuple[Event, ...]):  # noqa: SLOT001  (it keeps what it found)
    """The index of a history."""

    @cached_property
    def virtual(self) -> bool:
        """Whether a virtual clock is seen to be at work."""
        return any(isinstance(event, Handled) for event in self)

    @cached_property
    def end_ms(self) -> int:
        """The time up to which silence is evidence."""
        return max((e.at_ms for e in self if isinstance(e, Handled | Passed)), default=0)

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All requests, in the order in which they were sent."""
        return tuple(_Reader(self).read().values())

    @cached_property
    def answered(self) -> tuple[Exchange, ...]:
        """Those with a readable answer, in the order in which they were answered."""
        found = [e for e in self.exchanges if e.answer is not None]
        return tuple(sorted(found, key=lambda e: e.answered))

    @cached_property
    def claims(self) -> dict[str, tuple[Claim, ...]]:
        """Request → what each member that it speaks of was told, of those that are answered."""
        return {e.send.id: tuple(_claims(e)) for e in self.answered}

    @cached_property
    def longest_rebalance_ms(self) -> dict[str, int]:
        """Group → the longest time that a member asked a rebalance to wait for it, in ms."""
        longest: dict[str, int] = {}
        for e in self.exchanges:
            if e.join is not None:
                # A JoinGroup of version 0 has no rebalance timeout; the session timeout counts.
                said = e.join.rebalance_timeout_ms
                said = e.join.session_timeout_ms if said < 0 else said
                longest[e.group] = max(longest.get(e.group, 0), said)
        return longest

    @cached_property
    def takeovers(self) -> tuple[int, ...]:
        """The places of failovers."""
        return tuple(n for n, event in enumerate(self) if isinstance(event, Restarted))

    def epoch(self, exchange: Exchange) -> int:
        """Return how many failovers there were before its answer; -1 if one came in between."""
        at = sum(place < exchange.answered for place in self.takeovers)
        return at if at == sum(place < exchange.sent for place in self.takeovers) else -1

    @cached_property
    def told(self) -> tuple[Told, ...]:
        """Joins answered NONE, in the order of their answers."""
        return tuple(
            Told(e, asked, e.answer, asked.group_instance_id)
            for e in self.answered
            if (asked := e.join) is not None
            and isinstance(e.answer, JoinGroupResponse)
            and e.answer.error_code == NONE
        )

    @cached_property
    def synced(self) -> tuple[tuple[Exchange, SyncGroupRequest, SyncGroupResponse], ...]:
        """Syncs answered NONE, in the order of their answers: their generation was stored."""
        return tuple(
            (e, e.asked, e.answer)
            for e in self.answered
            if isinstance(e.asked, SyncGroupRequest)
            and isinstance(e.answer, SyncGroupResponse)
            and e.answer.error_code == NONE
        )

    @cached_property
    def instances(self) -> dict[tuple[str, str], str]:
        """(group, member id) → its instance, as far as answers tell."""
        known: dict[tuple[str, str], str] = {}
        for told in self.told:
            if told.instance is not None:
                known.setdefault((told.asked.group_id, told.answer.member_id), told.instance)
            for row in told.answer.members:
                if row.group_instance_id is not None:
                    known.setdefault((told.asked.group_id, row.member_id), row.group_instance_id)
        return known

    @cached_property
    def dynamic(self) -> frozenset[tuple[str, str]]:
        """(group, member id) of those that joined without an instance."""
        return frozenset(
            (t.asked.group_id, t.answer.member_id) for t in self.told if t.instance is None
        )

    def seat(self, group: str, member_id: str) -> str | None:
        """Return who a member id is beyond restarts: its instance, or itself; None if unknown."""
        instance = self.instances.get((group, member_id))
        if instance is not None:
            return f"instance {instance}"
        return f"member {member_id}" if (group, member_id) in self.dynamic else None


def read(history: Sequence[Event]) -> Reading:
    """Return the index of a history; the same one if it was made before."""
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


def _claims(exchange: Exchange) -> Iterator[Claim]:
    asked, answer = exchange.join or exchange.asked, exchange.answer
    match asked:
        case JoinGroupRequest() | SyncGroupRequest() | HeartbeatRequest():
            error: int | str = getattr(answer, "error_code", NONE)
            yield Claim(asked.group_id, asked.member_id, asked.group_instance_id, error)
        case OffsetCommitRequest() if isinstance(answer, OffsetCommitResponse):
            errors = {p.error_code for t in answer.topics for p in t.partitions} - {_SAYS_NOTHING}
            if errors and asked.generation_id >= 0:
                error = NONE if NONE in errors else next(iter(errors))
                yield Claim(asked.group_id, asked.member_id, asked.group_instance_id, error)
        case LeaveGroupRequest() if isinstance(answer, LeaveGroupResponse):
            rows = asked.rows(exchange.send.version)
            listed = exchange.send.version >= _LEAVE_ROWS_SINCE
            told = [r.error_code for r in answer.members] if listed else [answer.error_code]
            for row, code in zip(rows, told, strict=False):
                yield Claim(asked.group_id, row.member_id, row.group_instance_id, code)
        case _:
            return


@dataclass(slots=True)
class _Reader:
    """One reading."""

    history: Sequence[Event]
    found: dict[str, Exchange] = field(default_factory=dict)

    def read(self) -> dict[str, Exchange]:
        for place, event in enumerate(self.history):
            match event:
                case Sent(request=request):
                    kind = ALL_APIS[request.api].request
                    asked = kind.from_body(dict(request.body), request.version)
                    self.found[request.id] = Exchange(request, asked, place, event.at_ms)
                case Answered():
                    self._answered(place, event)
                case Disconnected() | Restarted():
                    for request_id in event.dropped:
                        if (exchange := self.found.get(request_id)) is not None:
                            exchange.dropped = min(exchange.dropped, place)
                case _:
                    pass
        return self.found

    def _answered(self, place: int, event: Answered) -> None:
        exchange = self.found.get(event.answer.id)
        if exchange is None or exchange.dropped < place:
            return
        exchange.answered, exchange.answered_ms = place, event.at_ms
        exchange.findings = event.answer.findings
        if event.answer.body is None:
            exchange.closed = True
            return
        send = exchange.send
        try:
            exchange.answer = ALL_APIS[send.api].response.from_body(
                dict(event.answer.body), send.version
            )
        except ShapeError as error:
            exchange.problem = str(error)
