"""The timeline that judges read: lives of consumers, calls, what users saw, what was done.

A *life* is a consumer from its start to its end; a restart begins another one.  All times are ms on
the broker's clock.  A driver's clock is mapped to it: an event is never placed before it happened,
and rarely more than a few ms after, give or take `CLOCK_MS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import decode_assignment
from fencepost.properties.requirements.driver_messages import (
    AnyEvent,
    Assigned,
    ConsumerSettings,
    Ended,
    Error,
    Lost,
    Partition,
    Records,
    Revoked,
)

JOIN, SYNC, HEARTBEAT, LEAVE, COMMIT = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
)
FIND = "FindCoordinator"
MEMBER_APIS = (JOIN, SYNC, HEARTBEAT, COMMIT)
"""The APIs that a member shows its instance id with."""

FIRST_WITH_INSTANCE = {JOIN: 5, SYNC: 3, HEARTBEAT: 3, COMMIT: 7}
"""The first version of each that has room for one."""

COOPERATIVE = "cooperative"

_CALLS = {"start", "close", "commit", "unsubscribe", "subscribe", "stop-polling", "poll-on"}
"""What a user calls, by the names of deeds."""

CLOCK_MS = 5.0
"""What two clocks say of the same moment is apart by less: a driver may round to whole ms."""


@dataclass(frozen=True, slots=True)
class Life:
    """A consumer from a start to its end.

    `id`: its client id, used once; `consumer`: its name in the scenario; `number`: its how many-th
    start, from 1.  `ended_ms`: when its end began (None: it lived on).  `how`: `closed`, `crashed`,
    or "".
    """

    id: str
    consumer: str
    number: int
    process: str
    settings: ConsumerSettings
    began_ms: float
    ended_ms: float | None = None
    how: str = ""

    @property
    def instance(self) -> str | None:
        """The instance id that its user set."""
        return self.settings.instance

    @property
    def is_cooperative(self) -> bool:
        """Whether its assignor gives partitions back one by one."""
        return self.settings.assignor.startswith(COOPERATIVE)


@dataclass(frozen=True, slots=True)
class Call:
    """A request of a life, and its answer.

    `answered_ms` None: it got no answer.  `request` None: the model has no such message, or it
    can't be read.  `provoked`: what the broker did to it on purpose: an action, or "".  `code`: the
    error in an answer that the model doesn't have.
    """

    life: str
    api: str
    version: int
    at_ms: float
    answered_ms: float | None = None
    request: Message | None = None
    answer: Message | None = None
    provoked: str = ""
    connection: str = ""
    code: int | None = None

    @property
    def member_id(self) -> str:
        """The member id in the request; of a LeaveGroup the first one's."""
        match self.request:
            case (
                JoinGroupRequest()
                | SyncGroupRequest()
                | HeartbeatRequest()
                | OffsetCommitRequest() as request
            ):
                return request.member_id
            case LeaveGroupRequest(members=[first, *_]):
                return first.member_id
            case LeaveGroupRequest(member_id=member_id):
                return member_id
        return ""

    @property
    def instance(self) -> str | None:
        """The instance id in the request; of a LeaveGroup the first one's."""
        match self.request:
            case (
                JoinGroupRequest()
                | SyncGroupRequest()
                | HeartbeatRequest()
                | OffsetCommitRequest() as request
            ):
                return request.group_instance_id
            case LeaveGroupRequest(members=[first, *_]):
                return first.group_instance_id
        return None

    @property
    def names_no_instance(self) -> bool:
        """Whether it can't be fenced: a broker fences by the instance id, and it has none."""
        has_room = self.version >= FIRST_WITH_INSTANCE.get(self.api, 0)
        return not has_room or (self.request is not None and self.instance is None)

    @property
    def generation(self) -> int:
        """The generation in the request; -1 where it has none."""
        return int(getattr(self.request, "generation_id", -1))

    @property
    def error(self) -> int | None:
        """The error code of the answer, the first one that is not 0; None without an answer."""
        match self.answer:
            case None:
                return self.code
            case OffsetCommitResponse(topics=topics):
                rows = chain.from_iterable(topic.partitions for topic in topics)
            case LeaveGroupResponse(members=members) if members:
                rows = iter(members)  # type: ignore[assignment]
            case _:
                return _number(getattr(self.answer, "error_code", 0))
        whole = _number(getattr(self.answer, "error_code", 0))
        return next(filter(None, [whole, *(_number(row.error_code) for row in rows)]), 0)

    def is_answered(self, code: Code) -> bool:
        """Whether it was answered with this error."""
        return bool(code.value == self.error)

    @property
    def went_well(self) -> bool:
        """Whether it was answered without an error."""
        return self.error == 0


def _number(code: int | str) -> int:
    return code if isinstance(code, int) else Code.UNKNOWN_SERVER_ERROR.value


@dataclass(frozen=True, slots=True)
class Seen:
    """What the user of a life saw."""

    life: str
    at_ms: float
    event: AnyEvent


@dataclass(frozen=True, slots=True)
class Deed:
    """What was done: to a consumer, or by an administrator or the broker (`life` "").

    `outcome`: `ok`, `late` (the library didn't return), `unsupported`, or the name of an error;
    `said`: the sentence with it; `fatal`: whether the library calls it so.  `took_ms`, `limit_ms`:
    how long it took by the library's account, and how long it may take.
    """

    name: str
    life: str
    began_ms: float
    ended_ms: float
    outcome: str = "ok"
    said: str = ""
    fatal: bool = False
    took_ms: float | None = None
    limit_ms: float | None = None

    @property
    def is_refused_call(self) -> bool:
        """Whether the library answered a call of its user's with an error."""
        return self.name in _CALLS and self.outcome not in {"ok", "late", "unsupported"}


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of a run of a scenario.

    `calls` and `seen` are in order of time.  `partitions`: of each topic.  `versions`: the ranges
    that the broker advertised, from when on.  `stalls`: when the control client had to wait, and
    how long.  `broken`: why the run did not come to its end, or "".  `unmet`: what was waited for
    in vain, and from when.  `unsupported`: what the library said that it can't do, or "".
    """

    lives: tuple[Life, ...]
    calls: tuple[Call, ...] = ()
    seen: tuple[Seen, ...] = ()
    deeds: tuple[Deed, ...] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)
    versions: tuple[tuple[float, Mapping[str, tuple[int, int]]], ...] = ()
    stalls: tuple[tuple[float, float], ...] = ()
    ended_ms: float = 0.0
    broken: str = ""
    unmet: tuple[tuple[float, str], ...] = ()
    unsupported: str = ""

    def life(self, consumer: str, number: int | None = None) -> Life | None:
        """The how many-th life of a consumer, or its last one; None: it never came to it."""
        found = [life for life in self.lives if life.consumer == consumer]
        if number is not None:
            found = [life for life in found if life.number == number]
        return found[-1] if found else None

    def of(
        self, life: Life, *apis: str, since: float = 0.0, until: float | None = None
    ) -> Sequence[Call]:
        """The calls of a life, of these APIs or all, received between two times."""
        return [
            call
            for call in self.calls
            if call.life == life.id
            and (not apis or call.api in apis)
            and call.at_ms >= since
            and (until is None or call.at_ms < until)
        ]

    def seen_by(self, life: Life, *kinds: type, since: float = 0.0) -> Sequence[Seen]:
        """What a life's user saw, of these kinds or all, from a time on."""
        return [
            one
            for one in self.seen
            if one.life == life.id
            and (not kinds or isinstance(one.event, kinds))
            and one.at_ms >= since
        ]

    def errors_of(self, life: Life, since: float = 0.0) -> Sequence[tuple[float, Error]]:
        """The errors that a life's user was told, in order, with their times.

        What a call of the user's failed with was told, too, by that call.
        """
        found = [
            (one.at_ms, one.event)
            for one in self.seen_by(life, Error, since=since)
            if isinstance(one.event, Error)
        ]
        for deed in self.deeds:
            if deed.life == life.id and deed.is_refused_call and deed.ended_ms >= since:
                at_ms, where = deed.ended_ms, deed.name
                event = Error(life.consumer, at_ms, where, deed.outcome, deed.fatal, deed.said)
                found.append((at_ms, event))
        return sorted(found, key=lambda one: one[0])

    def ended(self, life: Life) -> float | None:
        """When the library gave up by itself; None: it didn't."""
        return next((one.at_ms for one in self.seen_by(life, Ended)), None)

    def owned(self, life: Life, at_ms: float | None = None) -> frozenset[Partition]:
        """The partitions that a life's user has at a time, or at the end, as it was told.

        Where the library tells no user of partitions, those that it was answered in its last sync.
        """
        if not any(isinstance(one.event, Assigned) for one in self.seen):
            return self._answered_partitions(life, at_ms)
        owned: frozenset[Partition] = frozenset()
        for one in self.seen_by(life):
            if at_ms is not None and one.at_ms > at_ms:
                break
            match one.event:
                case Assigned(partitions=partitions) if (
                    life.is_cooperative and not owned & frozenset(partitions)
                ):
                    owned |= frozenset(partitions)
                case Assigned(partitions=partitions):
                    owned = frozenset(partitions)
                case Revoked(partitions=partitions) | Lost(partitions=partitions):
                    owned -= frozenset(partitions)
                case Ended():
                    owned = frozenset()
        return owned

    def _answered_partitions(self, life: Life, at_ms: float | None) -> frozenset[Partition]:
        until = self.ended_ms if at_ms is None else at_ms
        calls = [c for c in self.of(life, SYNC, until=until) if c.went_well]
        if not calls or not isinstance(calls[-1].answer, SyncGroupResponse):
            return frozenset()
        return frozenset((t, n) for t, n in decode_assignment(calls[-1].answer.assignment))

    def records_of(self, life: Life, since: float = 0.0) -> Iterator[tuple[float, Records]]:
        """The records that a life's user was given, with their times."""
        for one in self.seen_by(life, Records, since=since):
            if isinstance(one.event, Records):
                yield one.at_ms, one.event

    def deeds_of(self, name: str, life: Life | None = None) -> Sequence[Deed]:
        """What was done under this name, to a life or to any."""
        return [d for d in self.deeds if d.name == name and (life is None or d.life == life.id)]

    def advertised(self, api: str, at_ms: float) -> tuple[int, int] | None:
        """The broker's versions of an API at a time."""
        known = [ranges for since, ranges in self.versions if since <= at_ms]
        return known[-1].get(api) if known else None

    def worst_stall_ms(self, began_ms: float, ended_ms: float) -> float:
        """How long the control client had to wait at most between two times."""
        return max(
            (ms for at, ms in self.stalls if at + ms >= began_ms and at <= ended_ms), default=0.0
        )
