"""Runs clients of the model against the model coordinator on a virtual clock.

Pure in effect: the same seed, settings and calls give the same history, byte for byte.  Messages of
one connection keep their order; each takes a few ms, drawn from the seed and its own name.  What
happens at one ms is ordered by client.  What goes wrong on the way is the caller's to say.

What a simulation notes, beside the requests and their answers.

What can go wrong with a request on its way.

What is to happen, in an order that depends on nothing but what it is.
"""

from __future__ import annotations

import heapq
import itertools
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import partial
from typing import NamedTuple

from fencepost.conformance.simulate.simulated_cluster import VirtualCluster
from fencepost.conformance.wire.refusal import refused_message
from fencepost.model.classic.group import Group
from fencepost.model.client.behaviour import ClientSettings
from fencepost.model.client.client import step
from fencepost.model.client.client_interface import (
    AnswerRead,
    Asked,
    Closed,
    ConnectionLost,
    Endpoint,
    HangUp,
    Input,
    Role,
    UserEvent,
    Woken,
)
from fencepost.model.client.client_state import ClientState
from fencepost.model.coordinator import Answer, Config
from fencepost.model.messages.cluster_messages import ClusterRequest, ClusterResponse, FetchRequest
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import APIS
from fencepost.model.messages.shapes import Message
from fencepost.model.plans.steps import Close, ResumePolling, Start, StopPolling
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4


class Told(NamedTuple):
    """What a client's user saw, and when."""

    at_ms: int
    client: str
    event: UserEvent


class SkippedRequests(NamedTuple):
    """Requests that a client did not send, since they change nothing: one of them, and how many."""

    client: str
    asked: Asked
    times: int


class CoordinatorEvent(Enum):
    """What happens at a coordinator that no client asked for."""

    TIMER = "a timer expired"
    REMOVAL = "an administrator removed a member"
    FAILOVER = "another broker coordinates the group"


class Fault(Enum):
    """What can happen to a request."""

    LOSE_REQUEST = "it never arrives"
    LOSE_ANSWER = "it is handled, and its answer never arrives"
    CUT = "it is handled, and its connection ends"
    REFUSE = "it is answered with an error"
    DELAY = "its answer takes longer"


class Interference(NamedTuple):
    """What happens to a request; `code` for REFUSE, `ms` for DELAY."""

    fault: Fault
    code: int = 0
    ms: int = 0


class Turn(IntEnum):
    """What of one client comes first at one ms."""

    READ = 0
    WAKE = 1
    ARRIVE = 2


Key = tuple[int, str, int, int]
"""The order of what happens: when, to whom, the stage, the number of the request."""
AFTER_ALL = "\U0010ffff"
"""Behind every client's name."""


class Agenda:
    """What is to happen; what has the same key comes in the order in which it was put down."""

    def __init__(self) -> None:
        self._due: list[tuple[Key, int, Callable[[], object]]] = []
        self._order = itertools.count()

    def put(self, key: Key, do: Callable[[], object]) -> None:
        """Note what is to be done."""
        heapq.heappush(self._due, (key, next(self._order), do))

    def next_ms(self) -> int | None:
        """When something happens next."""
        return self._due[0][0][0] if self._due else None

    def take(self) -> tuple[Key, Callable[[], object]]:
        """Take what happens next off the agenda."""
        key, _, do = heapq.heappop(self._due)
        return key, do


@dataclass(slots=True)
class Exchange:
    """A request as it reached a broker, and its answer as it left (None: not yet, or never)."""

    at_ms: int
    client: str
    to: Endpoint
    api: str
    version: int
    request: Message | ClusterRequest
    answered_ms: int | None = None
    answer: Message | ClusterResponse | None = None
    met: Interference | None = None


Interfere = Callable[[Exchange], Interference | None]
"""Called with each request as it arrives."""

Watch = Callable[[int, Mapping[str, Group], Exchange | CoordinatorEvent], None]
"""Called after each event at the coordinator: when, the groups before it, and what it was."""

Busy = Callable[[str, Exchange], int]
"""How many ms a client's user still works, when this answer comes; 0: it polls."""


@dataclass(slots=True)
class _Client:
    settings: ClientSettings
    since_ms: int
    state: ClientState = field(default_factory=ClientState)
    epochs: dict[Endpoint, int] = field(default_factory=dict)
    """How many connections to an endpoint have ended; what is under way on those is lost."""
    arrivals: dict[Endpoint, int] = field(default_factory=dict)
    wake_ms: int | None = None
    is_alive: bool = True


class Waiting(NamedTuple):
    """A request at the model whose answer has somewhere to go."""

    client: str
    endpoint: Endpoint
    epoch: int
    correlation_id: int
    exchange: Exchange


class Simulation:
    """Clients, brokers and a clock, in ms from 0.

    `history` and `told` hold what reached the brokers and what users saw, in order.  `latency_ms`:
    the shortest and longest time of a message.  `busy`: by default users always poll.
    """

    def __init__(
        self,
        topics: Mapping[str, int],
        *,
        revision: Revision = KAFKA_4,
        config: Config | None = None,
        nodes: int = 1,
        seed: int = 0,
        latency_ms: tuple[int, int] = (1, 3),
        interfere: Interfere | None = None,
        busy: Busy | None = None,
    ) -> None:
        self.cluster = VirtualCluster(revision, config, topics, nodes)
        self.now_ms = 0
        self.history: list[Exchange] = []
        self.told: list[Told] = []
        self.skipped: list[SkippedRequests] = []
        self.interfere = interfere
        self.watch: Watch | None = None
        self.is_down = False  # while it is, no broker can be connected to, and no session ends
        self._latency_ms = latency_ms
        self._seed = seed
        self._busy = busy
        self._clients: dict[str, _Client] = {}
        self._agenda = Agenda()
        self._waiting: dict[str, Waiting] = {}

    # What happens to clients.

    def start(self, name: str, settings: ClientSettings) -> None:
        """Start a process; a name may be used again once the one before it is gone."""
        if name in self._clients and self._clients[name].is_alive:
            raise ValueError(f"{name} runs: close or kill it first")
        self._clients[name] = _Client(settings, self.now_ms)
        self.give(name, Start(name))

    def give(self, name: str, given: Input) -> None:
        """Give a client an input, now."""
        client = self._clients[name]
        if not client.is_alive:
            return
        self._step(name, client, given, self.now_ms)

    def _step(self, name: str, client: _Client, given: Input, now_ms: int) -> None:
        done = step(client.settings, client.state, given, now_ms)
        client.state = done.state
        for event in done.events:
            self.told.append(Told(now_ms, name, event))
            if isinstance(event, Closed):
                client.is_alive = False
        for request in done.requests:
            if isinstance(request, HangUp):
                self._end(name, request.to)
            else:
                self._send(name, request, now_ms)
        self._set_wake(name, done.wake_at_ms)

    def close(self, name: str, timeout_ms: int = 10_000) -> None:
        """Close a consumer in good order."""
        self.give(name, Close(name, timeout_ms))

    def kill(self, name: str) -> None:
        """End a process at once; its connections end with it."""
        client = self._clients[name]
        for endpoint in list(client.arrivals):
            self._end(name, endpoint)
        client.is_alive = False

    def state_of(self, name: str) -> ClientState:
        """Return a client's state."""
        return self._clients[name].state

    def events_of(self, name: str) -> list[UserEvent]:
        """What a client's user saw."""
        return [told.event for told in self.told if told.client == name]

    def asked_by(self, name: str, api: str | None = None) -> list[Exchange]:
        """What a client asked, of one API or all."""
        found = (each for each in self.history if each.client == name)
        return [each for each in found if api in {None, each.api}]

    # What happens to brokers.

    def remove(self, group_id: str, instance: str) -> None:
        """An administrator removes a static member."""
        self._at_model(
            lambda: self.cluster.remove(self.now_ms, group_id, instance), CoordinatorEvent.REMOVAL
        )

    def move_coordinator(self, group_id: str, node: int) -> None:
        """Let another broker coordinate the group."""
        move = partial(self.cluster.move_coordinator, self.now_ms, group_id, node)
        self._at_model(move, CoordinatorEvent.FAILOVER)

    def cut_all(self) -> None:
        """End all connections, as a restart of the brokers does."""
        for name, client in list(self._clients.items()):
            for endpoint in list(client.arrivals):
                self._end(name, endpoint)
                self.give(name, ConnectionLost(endpoint))

    def rest_no_more(self) -> None:
        """Let all be as if nothing had been skipped up to now."""

    # Time.

    def run_for(self, ms: int) -> None:
        """Let time pass, and all that is due in it happen."""
        end = self.now_ms + ms
        while True:
            next_ms = self._agenda.next_ms()
            limit_ms = end if next_ms is None else min(next_ms, end)
            model_ms = None if self.is_down else self._model_due_ms(limit_ms)
            if model_ms is not None and model_ms <= limit_ms:
                self._go_to((model_ms, "", Turn.READ, 0))
                self._at_model(
                    lambda: self.cluster.model.advance_to(self.now_ms), CoordinatorEvent.TIMER
                )
            elif next_ms is not None and next_ms <= end:
                key, do = self._agenda.take()
                self._go_to(key)
                do()
            else:
                break
        self._go_to((end, AFTER_ALL, Turn.READ, 0))
        if not self.is_down:
            self._at_model(lambda: self.cluster.model.advance_to(end), CoordinatorEvent.TIMER)

    def _go_to(self, key: Key) -> None:
        self.now_ms = max(self.now_ms, key[0])

    def _model_due_ms(self, limit_ms: int) -> int | None:
        """When the coordinator's next timer is due; one beyond the limit needs not be exact."""
        del limit_ms
        return self.cluster.model.next_deadline_ms()

    def _at_model(
        self, do: Callable[[], Iterable[Answer]], about: Exchange | CoordinatorEvent
    ) -> None:
        """Let something happen at the coordinator, and its answers go their ways."""
        before = dict(self.cluster.model.groups)
        answers = do()
        self._changed(before, about)
        self._deliver(answers)

    def _changed(self, before: Mapping[str, Group], about: Exchange | CoordinatorEvent) -> None:
        """Something happened at the coordinator."""
        if self.watch is not None:
            self.watch(self.now_ms, before, about)

    def _travel_ms(self, name: str, number: int, way: str) -> int:
        """How long a client's request, or its answer, is under way."""
        shortest, longest = self._latency_ms
        client = f"{self._seed}/{name}/{self._clients[name].since_ms}"
        drawn = zlib.crc32(f"{client}/{number}/{way}".encode())
        return shortest + drawn % (longest - shortest + 1)

    def _set_wake(self, name: str, at_ms: int | None) -> None:
        client = self._clients[name]
        if at_ms is None or at_ms == client.wake_ms:
            client.wake_ms = at_ms
            return
        client.wake_ms = at_ms

        def wake() -> None:
            if self._clients.get(name) is client and client.wake_ms == at_ms:
                client.wake_ms = None
                self._wake(name)

        self._agenda.put((at_ms, name, Turn.WAKE, 0), wake)

    def _wake(self, name: str) -> None:
        """Let a client do what is due by its own clock."""
        self.give(name, Woken())

    # Messages on their way.

    def _end(self, name: str, endpoint: Endpoint) -> None:
        """A connection is over, whoever ended it."""
        client = self._clients[name]
        epoch = client.epochs.get(endpoint, 0)
        client.epochs[endpoint] = epoch + 1
        client.arrivals.pop(endpoint, None)
        for request_id in self.cluster.model.drop(_connection(name, endpoint, epoch)):
            self._waiting.pop(request_id, None)

    def _send(self, name: str, asked: Asked, now_ms: int) -> None:
        client = self._clients[name]
        number = asked.correlation_id
        travelled = now_ms + self._travel_ms(name, number, "to")
        arrival = max(travelled, client.arrivals.get(asked.to, 0))
        client.arrivals[asked.to] = arrival
        epoch = client.epochs.get(asked.to, 0)

        def arrive() -> None:
            if self._clients[name] is not client or client.epochs.get(asked.to, 0) != epoch:
                return
            if self.is_down:
                self._end(name, asked.to)
                self.give(name, ConnectionLost(asked.to))
            else:
                self._arrive(name, asked, epoch)

        self._agenda.put((arrival, name, Turn.ARRIVE, number), arrive)

    def _arrive(self, name: str, asked: Asked, epoch: int) -> None:
        exchange = Exchange(self.now_ms, name, asked.to, asked.api, asked.version, asked.message)
        self.history.append(exchange)
        exchange.met = met = self.interfere(exchange) if self.interfere else None
        fault = met.fault if met else None
        if fault is Fault.LOSE_REQUEST:
            return
        waiting = Waiting(name, asked.to, epoch, asked.correlation_id, exchange)
        message = asked.message
        if not isinstance(message, Message):
            self._answer_cluster(waiting, message)
        elif fault is Fault.REFUSE and met is not None:
            self._answer(waiting, refused_message(message, asked.version, met.code))
        elif asked.to.role is Role.COORDINATOR and self.cluster.misses(
            message, asked.version, asked.to.node
        ):
            code = Error.NOT_COORDINATOR.value
            self._answer(waiting, refused_message(message, asked.version, code))
        else:
            self._ask_model(waiting, message)
        if fault is Fault.CUT:
            self._end(name, asked.to)
            self.give(name, ConnectionLost(asked.to))

    def _ask_model(self, waiting: Waiting, message: Message) -> None:
        exchange = waiting.exchange
        client_id = self._clients[waiting.client].settings.client_id or waiting.client
        connection = _connection(waiting.client, waiting.endpoint, waiting.epoch)

        def handle() -> Iterable[Answer]:
            request_id, answers = self.cluster.handle(
                self.now_ms, connection, client_id, exchange.api, exchange.version, message
            )
            self._waiting[request_id] = waiting
            return answers

        self._at_model(handle, exchange)

    def _answer_cluster(self, waiting: Waiting, message: ClusterRequest) -> None:
        if isinstance(message, FetchRequest) and not self.cluster.has_records(message):
            at = self.now_ms + message.max_wait_ms, waiting.client, Turn.ARRIVE, 0
            self._agenda.put(at, lambda: self._answer(waiting, self.cluster.answer(message)))
        else:
            self._answer(waiting, self.cluster.answer(message))

    def _deliver(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            waiting = self._waiting.pop(answer.id, None)
            if waiting is not None and answer.body is not None:
                exchange = waiting.exchange
                response = APIS[exchange.api].response
                body = dict(answer.body)
                self._answer(waiting, response.from_body(body, exchange.version))

    def _answer(self, waiting: Waiting, answer: Message | ClusterResponse) -> None:
        exchange, met = waiting.exchange, waiting.exchange.met
        exchange.answered_ms, exchange.answer = self.now_ms, answer
        if met is None or met.fault not in {Fault.LOSE_ANSWER, Fault.CUT}:
            delay = met.ms if met is not None and met.fault is Fault.DELAY else 0
            self._return(waiting, answer, self.now_ms + delay)

    def _return(self, waiting: Waiting, answer: Message | ClusterResponse, from_ms: int) -> None:
        """Send an answer on its way to its client."""
        name, number = waiting.client, waiting.correlation_id
        client = self._clients[name]

        def read() -> None:
            if self._clients[name] is not client:
                return
            if client.epochs.get(waiting.endpoint, 0) == waiting.epoch:
                self._read(waiting, answer)

        at_ms = from_ms + self._travel_ms(name, number, "from")
        self._agenda.put((at_ms, name, Turn.READ, number), read)

    def _read(self, waiting: Waiting, answer: Message | ClusterResponse) -> None:
        """Let a client read an answer; a busy user polls on later."""
        name = waiting.client
        if self._busy and (busy_ms := self._busy(name, waiting.exchange)):
            client = self._clients[name]

            def poll_on() -> None:
                if self._clients[name] is client:
                    self.give(name, ResumePolling(name))

            self.give(name, StopPolling(name))
            self._agenda.put((self.now_ms + busy_ms, name, Turn.WAKE, 0), poll_on)
        self.give(name, AnswerRead(waiting.correlation_id, answer))


def _connection(name: str, endpoint: Endpoint, epoch: int) -> str:
    return f"{name}/{endpoint.role.value}/{endpoint.node}/{epoch}"
