"""Give one case its view of a broker: a coordinator with a real clock.

A request goes over one TCP connection for each symbolic connection, to the broker that coordinates
the group of the request.  The case gets an answer with the time when it was read and all that was
wrong with its bytes, or the end of its connection.  Each reset begins under new group names, since
a broker cannot be made to forget.

`at_ms` counts from `reset`, rounded up: the answer had been sent by then.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from fencepost.conformance.targets.target import HelperFailedError, SpoiledRunError
from fencepost.conformance.targets.tcp.broker_connection import (
    Connection,
    ConnectionPool,
    Ended,
    Event,
    Reply,
    Stray,
)
from fencepost.conformance.targets.tcp.cluster_admin import (
    Admin,
    AdminError,
    Deadlines,
    RefusedError,
)
from fencepost.conformance.targets.tcp.namespacing import OWN, PREFIX, Names, groups_in, lacks_topic
from fencepost.conformance.targets.tcp.security import Address, AddressError, refusal
from fencepost.conformance.targets.tcp.transactions import COMMIT, Transaction
from fencepost.conformance.wire.codec import encode_message
from fencepost.model.coordinator import (
    MOVES,
    TOPICS,
    Answer,
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
    Dropped,
    Hello,
    Reset,
    Send,
    Topics,
    UnsupportedError,
    codes_in,
)
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.errors import Error
from fencepost.model.messages.shapes import ShapeError
from fencepost.model.plans.steps import DeleteTopics, OperatorStep


class Cluster(Protocol):
    """The broker, or the brokers, behind a scope."""

    admin: Admin
    deadlines: Deadlines
    lines: ConnectionPool
    settings: dict[str, int | None]
    consumer_settings: dict[str, int | None]
    anchor: Address
    is_alone: bool
    may_refuse: bool
    topic_problem: str | None

    @property
    def outages(self) -> Sequence[tuple[float, float]]:
        """Return the times when it was down on purpose."""
        ...

    def scope(self, label: str) -> AbstractAsyncContextManager[AsyncCoordinator]:
        """Return another scope."""
        ...

    def describe(self) -> Hello:
        """Return the broker's abilities."""
        ...

    def new_names(self) -> Names:
        """Make names that are new."""
        ...

    def made(self, group_id: str, at: Address) -> None:
        """Note a group that must be removed in the end."""
        ...

    @property
    def keeps_connections(self) -> bool:
        """Return True if connections outlive a failover."""
        ...

    async def learn_consumer_settings(self) -> None:
        """Learn the settings of the consumer protocol, unless that was done before."""
        ...

    async def make_topic(self, name: str) -> None:
        """Make a topic of one case, unless that was done before.

        Raises UnsupportedError where the broker refuses it, HelperFailedError where it fails.
        """
        ...

    async def topic_with(self, partitions: int, name: str) -> tuple[str, str]:
        """Make a topic that cases share, unless that was done before; return its name and id.

        `name`: distinguishes it from others with as many partitions.  Raises as `make_topic`.
        """
        ...

    async def delete_topic(self, name: str) -> None:
        """Delete such a topic, until no broker knows it.  Raises as `make_topic`."""
        ...

    async def begin_transaction(self, name: str, group_id: str) -> Transaction:
        """Begin a transaction with offsets of a group.  Raises as `make_topic`."""
        ...

    async def commit_transaction(
        self, transaction: Transaction, body: Mapping[str, Any], at: Address
    ) -> None:
        """Commit the transaction of a TxnOffsetCommit.  Raises as `make_topic`."""
        ...

    async def restart(self, hang_up: Callable[[], None]) -> float:
        """Let the broker fail over; `hang_up` is called just before.

        Returns the time of its end, in seconds of the monotonic clock.
        """
        ...


_RESIGNING_S = 1.0
"""Seconds for a coordinator that resigned to answer what it had parked; it does so at once."""
_MAX_STRAYS = 20
_MOST_IDS = 1000
"""The most request ids to remember: more than a case has; a control asks for hours."""

_FOUNDING = {"JoinGroup", "ConsumerGroupHeartbeat", "StreamsGroupHeartbeat", "OffsetCommit", COMMIT}
"""The requests that make a group."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A TCP connection and the broker at its other end."""

    broker: Address
    connection: Connection


class TcpScope(AsyncCoordinator):
    """A broker as a coordinator; made by `TcpTarget.scope`."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._clock = clock
        self._lines: dict[str, _Line] = {}
        self._waiter: asyncio.Future[None] | None = None
        self._begin()

    def _begin(self) -> None:
        self._names = self._cluster.new_names()
        self._coordinators: dict[str, Address | None] = {}
        self._is_sure = self._cluster.is_alone
        self._ready: list[Answer] = []
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._last_ms = 0
        self._pending_strays: list[str] = []
        self._refused: str | None = None
        self._spoiled: str | None = None
        self.strays: list[str] = []
        """Unsolicited messages, in sentences; each is a finding of the next answer too."""
        self._begun = self._clock()

    @property
    def place(self) -> Cluster:
        """The broker, or the brokers, behind it."""
        return self._cluster

    async def hello(self) -> Hello:
        """Return the versions that work; a connection can be dropped, the broker not restarted."""
        return self._cluster.describe()

    def now_ms(self) -> int:
        """Return the ms since `reset`, rounded down: a request sent now is sent then or later."""
        return int((self._clock() - self._begun) * 1000)

    def read_at(self, answer: Answer) -> float:
        """Return the time when an answer was read, in seconds of the monotonic clock."""
        return self._begun + answer.at_ms / 1000

    async def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        """Begin again under new names.  The settings are the broker's; none can be changed.

        `topics`: made on the broker, or shared with other scopes; their ids are mapped.  The reply
        has the settings of the consumer protocol only if there are any.
        """
        settings = dict(self._cluster.settings)
        if topics is not None:
            if TOPICS not in self._cluster.describe().features:
                raise UnsupportedError(TOPICS)
            await self._cluster.learn_consumer_settings()
            settings |= self._cluster.consumer_settings
        if unknown := sorted(set(config) - set(settings)):
            raise UnsupportedError(unknown[0])
        dropped = self._hang_up()
        self._begin()
        alike: Counter[int] = Counter()
        for name, topic in sorted((topics or {}).items()):
            alike[topic.partitions] += 1
            own = self._names.topic(name) if name.startswith(OWN) else f"{alike[topic.partitions]}"
            real, real_id = await self._cluster.topic_with(topic.partitions, own)
            self._names.know(name, topic.id, real, real_id)
        self._begun = self._clock()
        return Reset(settings, dropped, topics or {})

    async def send(self, request: Send) -> list[Answer]:
        """Write the request; return answers that are there already.

        Raises UnsupportedError for a version that the broker doesn't advertise, and for a question
        about groups of several coordinators; CoordinatorFailure for a body that the version can't
        have, or when the group's coordinator can't be reached.
        """
        body = self._check(request)
        group_ids = groups_in(body)
        for topic in self._names.own_topics():
            await self._cluster.make_topic(topic)
        line = await self._line(request.connection, group_ids)
        if request.api in _FOUNDING and group_ids[0]:
            self._cluster.made(group_ids[0], line.broker)

        transaction = None
        if request.api == COMMIT:
            name = body["transactionalId"]
            transaction = await self._cluster.begin_transaction(name, group_ids[0])
            body = {**body, **transaction.fields}

        def write(correlation_id: int) -> bytes:
            client = request.client_id
            return encode_message(
                request.api, "Request", request.version, correlation_id, body, client_id=client
            )

        try:
            line.connection.send(request.id, request.api, request.version, write)
        except ShapeError as error:
            raise CoordinatorFailure(f"{request.api} v{request.version}: {error}") from error
        self._ids[request.id] = None
        if len(self._ids) > _MOST_IDS:
            self._ids.popitem(last=False)
        if transaction is not None:
            answers = await self._until_answered(request)
            await self._cluster.commit_transaction(transaction, body, line.broker)
            return answers + self._take()
        await asyncio.sleep(0)
        return self._take()

    async def _until_answered(self, request: Send) -> list[Answer]:
        """Return the answers up to that to this request; without one, those within a deadline."""
        answers: list[Answer] = []
        end = self._clock() + self._cluster.deadlines.answer_s
        while (left := end - self._clock()) > 0:
            answers += await self.advance(math.ceil(left * 1000))
            if any(answer.id == request.id for answer in answers):
                break
        return answers

    def _check(self, request: Send) -> dict[str, Any]:
        """Return the body with the names of the cluster."""
        bounds = self._cluster.admin.advertised.get(request.api)
        known = ALL_APIS.get(request.api)
        if known is None or bounds is None or not bounds[0] <= request.version <= bounds[1]:
            raise UnsupportedError(f"{request.api} version {request.version}")
        if request.id in self._ids:
            raise CoordinatorFailure(f"request id {request.id!r} was used before; take a new one")
        line = self._lines.get(request.connection)
        if line is not None and line.connection.pending is not None:
            raise CoordinatorFailure(f"connection {request.connection!r} has an open request")
        try:
            known.request.from_body(dict(request.body), request.version)
        except ShapeError as error:
            raise CoordinatorFailure(f"{request.api} v{request.version}: {error}") from error
        return self._names.request(request.api, request.body)

    async def _line(self, name: str, group_ids: Sequence[str]) -> _Line:
        """Return the connection to the right broker; one that is gone is looked up again."""
        for attempt in (1, 2):
            broker = await self._broker(group_ids)
            line = self._lines.get(name)
            if line is not None and line.broker == broker and not line.connection.is_ended:
                return line
            if line is not None:
                line.connection.close()
            taker = self._taker(name)
            try:
                connection = self._cluster.lines.take(
                    broker, taker
                ) or await self._cluster.admin.connect(broker, taker)
            except (OSError, AddressError) as error:
                self._look_again()
                if attempt == 2:
                    raise CoordinatorFailure(f"{broker} can't be reached ({error})") from error
                continue
            self._lines[name] = _Line(broker, connection)
            return self._lines[name]
        raise AssertionError

    async def _broker(self, group_ids: Sequence[str]) -> Address:
        """Return the broker for these groups, or (where none is named) for all of the case."""
        addresses = [await self._coordinator(g) for g in group_ids or list(self._coordinators)]
        if len(set(addresses)) > 1:
            raise UnsupportedError("one request about groups that several brokers coordinate")
        return addresses[0] if addresses else self._cluster.anchor

    async def _coordinator(self, group_id: str) -> Address:
        if not group_id:  # some name no coordinator for it; any may refuse it
            return self._cluster.anchor
        known = self._cluster.anchor if self._is_sure else self._coordinators.get(group_id)
        self._coordinators[group_id] = known
        if known is not None:
            return known
        try:
            address = await self._cluster.admin.find_coordinator(group_id)
        except RefusedError as error:
            raise HelperFailedError(str(error)) from error
        except (AdminError, AddressError) as error:
            raise CoordinatorFailure(str(error)) from error
        self._coordinators[group_id] = address
        return address

    def _look_again(self) -> None:
        """Forget coordinators: they may have moved."""
        self._is_sure = False
        self._coordinators = dict.fromkeys(self._coordinators)

    async def stays(self) -> bool:
        """Return True if one broker alone can coordinate, and FindCoordinator names it now."""
        if not self._cluster.is_alone:
            return False
        try:
            groups = [g for g in self._coordinators if g] or [f"{PREFIX}any"]
            named = [await self._cluster.admin.find_coordinator(g) for g in groups]
        except (AdminError, AddressError):
            return False
        return set(named) == {self._cluster.anchor}

    def _taker(self, name: str) -> Callable[[Event], None]:
        def take(event: Event) -> None:
            self._on_event(name, event)

        return take

    def _on_event(self, name: str, event: Event) -> None:
        if isinstance(event, Stray):
            if len(self.strays) < _MAX_STRAYS:
                came_ms = math.ceil((event.at - self._begun) * 1000)
                details = f"after {came_ms} ms; it begins with {event.start.hex()}"
                self.strays.append(f"On connection {name!r}: {event.finding} ({details})")
                self._pending_strays.append(self.strays[-1])
            return
        if event.request is None:
            return  # an idle connection ended: the next request opens another
        if isinstance(event, Ended) and event.inherited:
            self._spoiled = f"connection {name!r}, which an earlier case had used: {event.reason}"
            _wake(self._waiter)
            return
        if isinstance(event, Reply):
            request, raw = event.request, event.decoded.body
            body = None if raw is None else self._names.answer(request.api, raw)
            findings = event.decoded.findings
            if raw is not None and Error.NOT_COORDINATOR.value in codes_in(raw):
                self._look_again()
            if raw is not None and self._cluster.may_refuse and (why := refusal(raw)):
                self._refused = f"access: {request.api} was answered {why}"
            if (problem := self._cluster.topic_problem) and body and lacks_topic(body):
                self._refused = f"topics: {problem}"
        else:
            request, body, findings = event.request, None, (event.reason,)
        self._last_ms = max(self._last_ms, math.ceil((event.at - self._begun) * 1000))
        findings = (*findings, *self._pending_strays)
        self._pending_strays.clear()
        self._ready.append(Answer(request.id, self._last_ms, body, findings))
        _wake(self._waiter)

    def _take(self) -> list[Answer]:
        """Return the answers that came in.

        Raises UnsupportedError once access was refused to anything, SpoiledRunError once an earlier
        case spoiled this one.
        """
        if self._refused is not None:
            raise UnsupportedError(self._refused)
        spoiled, self._spoiled = self._spoiled, None
        if spoiled is not None:
            raise SpoiledRunError(spoiled)
        answers, self._ready = self._ready, []
        return answers

    async def advance(self, ms: int) -> list[Answer]:
        """Wait up to `ms`; return as soon as something came in."""
        if not self._ready and ms > 0:
            loop = asyncio.get_running_loop()
            self._waiter = waiter = loop.create_future()
            alarm = loop.call_later(ms / 1000, _wake, waiter)
            try:
                await waiter
            finally:
                alarm.cancel()
        if not self._ready:
            await asyncio.sleep(0)
        return self._take()

    async def disconnect(self, connection: str) -> Dropped:
        """Hang up on the broker; its open requests are never answered."""
        line = self._lines.pop(connection, None)
        request = line.connection.close() if line is not None else None
        return Dropped(tuple(self._take()), () if request is None else (request.id,))

    async def restart(self) -> Dropped:
        """Fail over; what was open is answered as the old coordinator resigns, or never.

        Raises UnsupportedError for a broker that is not ours, CoordinatorFailure for one that does
        not come back.
        """
        return await self._take_over(hangs_up=True)

    async def move(self) -> Dropped:
        """Let another broker coordinate; what is open stays so until the old one answers.

        Raises as `restart`; UnsupportedError where no other broker runs, too.
        """
        if not self._cluster.keeps_connections:
            raise UnsupportedError(MOVES)
        return await self._take_over(hangs_up=False)

    async def _take_over(self, *, hangs_up: bool) -> Dropped:
        answers: list[Answer] = []
        dropped: list[str] = []
        began = 0.0

        def hang_up() -> None:
            nonlocal began
            if not self._cluster.keeps_connections:
                dropped.extend(self._hang_up())
            answers.extend(self._take())
            began = time.monotonic()

        ended = await self._cluster.restart(hang_up)
        last = await self._last_answers() if self._cluster.keeps_connections else []
        if hangs_up:
            dropped.extend(self._hang_up())
        self._look_again()
        late = [answer for answer in last if _sent_away(answer)]
        for answer in last:
            if not _sent_away(answer):  # it was the coordinator until then
                answers.append(answer)
                began = max(began, self.read_at(answer))
        read = tuple(map(self.read_at, answers))
        outage = (began, max(began, ended))
        return Dropped(tuple(answers), tuple(dropped), outage, tuple(late), read)

    async def operate(self, step: OperatorStep) -> list[Answer]:
        """Do what an operator does.  Raises UnsupportedError, CoordinatorFailure."""
        match step:
            case DeleteTopics(topics=topics):
                await self._delete_topics(topics)
            case _:
                raise UnsupportedError(step.do)
        return self._take()

    async def _delete_topics(self, topics: Sequence[str]) -> None:
        """Delete topics of the case's own.

        Raises UnsupportedError for one that others use, CoordinatorFailure where it stays.
        """
        if shared := [topic for topic in topics if not topic.startswith(OWN)]:
            raise UnsupportedError(f"the topic {shared[0]} is not the case's own ({OWN}…)")
        for topic in topics:
            await self._cluster.delete_topic(self._names.topic(topic))

    async def _last_answers(self) -> list[Answer]:
        """Return the answers that a resigned coordinator still sends, within a moment."""
        answers: list[Answer] = []
        end = self._clock() + _RESIGNING_S
        while (left := end - self._clock()) > 0:
            answers += await self.advance(int(left * 1000) + 1 if self._is_open() else 0)
            if not self._is_open():
                break
        return answers

    def _is_open(self) -> bool:
        return any(line.connection.pending is not None for line in self._lines.values())

    async def close(self) -> None:
        """Leave all connections to others; those on which something is open are hung up."""
        for line in self._lines.values():
            self._cluster.lines.lay_aside(line.broker, line.connection)
        self._lines.clear()

    def _hang_up(self) -> tuple[str, ...]:
        requests = [line.connection.close() for line in self._lines.values()]
        self._lines.clear()
        return tuple(request.id for request in requests if request is not None)


def _sent_away(answer: Answer) -> bool:
    """Return True if the answer is that it is no coordinator any more."""
    return answer.body is not None and Error.NOT_COORDINATOR.value in codes_in(answer.body)


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
