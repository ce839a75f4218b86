"""Run clients of the model against the model coordinator on a virtual clock.

Pure in effect: the same seed, settings and calls give the same history, byte for byte.  Messages of
one connection keep their order; each takes a few ms, drawn from the seed and its own name.  Events
of one ms are ordered by client.  The caller decides about faults on the way.

A simulation also notes what users of clients see, and faults and events; `Agenda` orders all by
keys that depend on nothing but the events.
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
    Closed,
    ConnectionLost,
    Endpoint,
    HangUp,
    Input,
    Outgoing,
    UserEvent,
    Woken,
)
from fencepost.model.client.client_state import ClientState
from fencepost.model.coordinator import Answer, Config
from fencepost.model.history.history import Exchange
from fencepost.model.messages.cluster_messages import ClusterRequest, ClusterResponse, FetchRequest
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import APIS
from fencepost.model.messages.shapes import Message
from fencepost.model.plans.steps import Close, ResumePolling, Start, StopPolling
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4


class ClientEvent(NamedTuple):
    """An event that a client's user saw, and its time."""

    at_ms: int
    client: str
    event: UserEvent


class SkippedRequests(NamedTuple):
    """Skipped requests of a client, since they change nothing: one of them, and their number."""

    client: str
    request: Outgoing
    times: int


class CoordinatorEvent(Enum):
    """An event at a coordinator that no client's request causes."""

    TIMER = "a timer expired"
    REMOVAL = "an administrator removed a member"
    FAILOVER = "another broker coordinates the group"


class Fault(Enum):
    """A fault of a request."""

    LOSE_REQUEST = "it never arrives"
    LOSE_ANSWER = "it is handled, and its answer never arrives"
    CUT = "it is handled, and its connection ends"
    REFUSE = "it is answered with an error"
    DELAY = "its answer takes longer"


class Interference(NamedTuple):
    """The interference with a request; `code` for REFUSE, `ms` for DELAY."""

    fault: Fault
    code: int = 0
    ms: int = 0


class Turn(IntEnum):
    """The order of a client's events within one ms."""

    READ = 0
    WAKE = 1
    ARRIVE = 2


Key = tuple[int, str, int, int]
"""The order of events: time, client, stage, number of the request."""
AFTER_ALL = "\U0010ffff"
"""Behind every client's name."""


class Agenda:
    """Future events; those with the same key come in the order of `put`."""

    def __init__(self) -> None:
        self._due: list[tuple[Key, int, Callable[[], object]]] = []
        self._order = itertools.count()

    def put(self, key: Key, do: Callable[[], object]) -> None:
        """Add an event."""
        heapq.heappush(self._due, (key, next(self._order), do))

    def next_ms(self) -> int | None:
        """Return the time of the next event."""
        return self._due[0][0][0] if self._due else None

    def take(self) -> tuple[Key, Callable[[], object]]:
        """Remove and return the next event."""
        key, _, do = heapq.heappop(self._due)
        return key, do


SimulatedExchange = Exchange[Message | ClusterRequest, Message | ClusterResponse | None]
"""An exchange from when the request reached a broker; `client_id` is the client's name."""

Interfere = Callable[[SimulatedExchange], Interference | None]
"""Called with each request as it arrives."""

Watch = Callable[[int, Mapping[str, Group], SimulatedExchange | CoordinatorEvent], None]
"""Called after each event at the coordinator: time, the groups before it, and the event."""

Busy = Callable[[str, SimulatedExchange], int]
"""Returns the ms until a client's user polls again, when this answer comes; 0: it polls."""


@dataclass(slots=True)
class _Client:
    settings: ClientSettings
    since_ms: int
    state: ClientState = field(default_factory=ClientState)
    epochs: dict[Endpoint, int] = field(default_factory=dict)
    """Ended connections to each endpoint; messages under way on those are lost."""
    arrivals: dict[Endpoint, int] = field(default_factory=dict)
    wake_ms: int | None = None
    is_alive: bool = True


class Waiting(NamedTuple):
    """A request at the model whose answer has a receiver."""

    client: str
    endpoint: Endpoint
    epoch: int
    correlation_id: int
    exchange: SimulatedExchange
    met: Interference | None = None


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
        self.history: list[SimulatedExchange] = []
        self.events: list[ClientEvent] = []
        self.skipped: list[SkippedRequests] = []
        self.interfere = interfere
        self.watch: Watch | None = None
        self.on_answer: Callable[[SimulatedExchange], object] | None = None
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

    def give(self, name: str, input_: Input) -> None:
        """Give a client an input, now."""
        client = self._clients[name]
        if not client.is_alive:
            return
        self._step(name, client, input_, self.now_ms)

    def _step(self, name: str, client: _Client, input_: Input, now_ms: int) -> None:
        done = step(client.settings, client.state, input_, now_ms)
        client.state = done.state
        for event in done.events:
            self.events.append(ClientEvent(now_ms, name, event))
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
        """Return the events that a client's user saw."""
        return [row.event for row in self.events if row.client == name]

    def requests_of(self, name: str, api: str | None = None) -> list[SimulatedExchange]:
        """Return a client's requests, of one API or all."""
        requests = (each for each in self.history if each.client_id == name)
        return [each for each in requests if api in {None, each.api}]

    # What happens to brokers.

    def remove(self, group_id: str, instance: str) -> None:
        """Remove a static member, as an administrator does."""
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
        """Make up for all skipped heartbeats."""

    # Time.

    def run_for(self, ms: int) -> None:
        """Let time pass, with all events due in it."""
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
        """Return the time of the coordinator's next timer.

        One beyond the limit needs not be exact.
        """
        del limit_ms
        return self.cluster.model.next_deadline_ms()

    def _at_model(
        self, do: Callable[[], Iterable[Answer]], about: SimulatedExchange | CoordinatorEvent
    ) -> None:
        """Let something happen at the coordinator, and send its answers."""
        before = dict(self.cluster.model.groups)
        answers = do()
        self._changed(before, about)
        self._deliver(answers)

    def _changed(
        self, before: Mapping[str, Group], about: SimulatedExchange | CoordinatorEvent
    ) -> None:
        """Report an event at the coordinator to the watchers."""
        if self.watch is not None:
            self.watch(self.now_ms, before, about)

    def _travel_ms(self, name: str, number: int, way: str) -> int:
        """Return the travel time of a client's request, or of its answer."""
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
        """Let a client handle the events due by its own clock."""
        self.give(name, Woken())

    # Messages on their way.

    def _end(self, name: str, endpoint: Endpoint) -> None:
        """Note the end of a connection, whichever side ended it."""
        client = self._clients[name]
        epoch = client.epochs.get(endpoint, 0)
        client.epochs[endpoint] = epoch + 1
        client.arrivals.pop(endpoint, None)
        for request_id in self.cluster.model.drop(_connection(name, endpoint, epoch)):
            self._waiting.pop(request_id, None)

    def _send(self, name: str, request: Outgoing, now_ms: int) -> None:
        client = self._clients[name]
        number = request.correlation_id
        travelled = now_ms + self._travel_ms(name, number, "to")
        arrival = max(travelled, client.arrivals.get(request.to, 0))
        client.arrivals[request.to] = arrival
        epoch = client.epochs.get(request.to, 0)

        def arrive() -> None:
            if self._clients[name] is not client or client.epochs.get(request.to, 0) != epoch:
                return
            if self.is_down:
                self._end(name, request.to)
                self.give(name, ConnectionLost(request.to))
            else:
                self._arrive(name, request, epoch)

        self._agenda.put((arrival, name, Turn.ARRIVE, number), arrive)

    def _arrive(self, name: str, request: Outgoing, epoch: int) -> None:
        exchange = arrived(name, request, epoch, self.now_ms)
        self.history.append(exchange)
        met = self.interfere(exchange) if self.interfere else None
        fault = met.fault if met else None
        if fault is Fault.LOSE_REQUEST:
            return
        waiting = Waiting(name, request.to, epoch, request.correlation_id, exchange, met)
        message = request.message
        if not isinstance(message, Message):
            self._answer_cluster(waiting, message)
        elif fault is Fault.REFUSE and met is not None:
            self._answer(waiting, refused_message(message, request.version, met.code))
        elif self.cluster.misses(message, request.version, request.to.node):
            code = Error.NOT_COORDINATOR.value
            self._answer(waiting, refused_message(message, request.version, code))
        else:
            self._ask_model(waiting, message)
        if fault is Fault.CUT:
            self._end(name, request.to)
            self.give(name, ConnectionLost(request.to))

    def _ask_model(self, waiting: Waiting, message: Message) -> None:
        exchange = waiting.exchange
        client_id = self._clients[waiting.client].settings.client_id or waiting.client

        def handle() -> Iterable[Answer]:
            request_id, answers = self.cluster.handle(
                self.now_ms, exchange.connection, client_id, exchange.api, exchange.version, message
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
        exchange, met = waiting.exchange, waiting.met
        exchange.answered_ms, exchange.answer = self.now_ms, answer
        if self.on_answer is not None:
            self.on_answer(exchange)
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


def arrived(name: str, request: Outgoing, epoch: int, at_ms: int) -> SimulatedExchange:
    """Begin the exchange of a client's request."""
    exchange: SimulatedExchange = Exchange(request.api, request.version, at_ms, client_id=name)
    exchange.connection = _connection(name, request.to, epoch)
    exchange.request = request.message
    return exchange


def _connection(name: str, endpoint: Endpoint, epoch: int) -> str:
    return f"{name}/{endpoint.role.value}/{endpoint.node}/{epoch}"
