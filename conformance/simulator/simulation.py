"""Runs clients of the model against the model coordinator on a virtual clock.

Pure in effect: the same seed, settings and calls give the same history, byte for byte.  Messages of
one connection keep their order; each takes a few ms, drawn from the seed.  What goes wrong on the
way (an answer that is lost, a connection that is cut) is the caller's to say, request by request.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from fencepost.conformance.serve.refusal import refused_message
from fencepost.conformance.simulator.cluster import VirtualCluster
from fencepost.model.client.client import step
from fencepost.model.client.cluster_messages import ClusterRequest, ClusterResponse, FetchRequest
from fencepost.model.client.interface import (
    AnswerRead,
    Asked,
    Close,
    Closed,
    ConnectionLost,
    Endpoint,
    HangUp,
    Input,
    Role,
    Start,
    UserEvent,
    Woken,
)
from fencepost.model.client.settings import ClientSettings
from fencepost.model.client.state import ClientState
from fencepost.model.coordinator import Answer, Config
from fencepost.model.messages.messages import APIS
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.errors import Error


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


Interfere = Callable[[Exchange], Interference | None]
"""Called with each request as it arrives."""


@dataclass(slots=True)
class _Client:
    settings: ClientSettings
    state: ClientState = field(default_factory=ClientState)
    epochs: dict[Endpoint, int] = field(default_factory=dict)
    """How many connections to an endpoint have ended; what is under way on those is lost."""
    arrivals: dict[Endpoint, int] = field(default_factory=dict)
    wake_ms: int | None = None
    is_alive: bool = True


class Told(NamedTuple):
    """What a client's user saw, and when."""

    at_ms: int
    client: str
    event: UserEvent


class _Waiting(NamedTuple):
    """A request at the model whose answer has somewhere to go."""

    client: str
    endpoint: Endpoint
    epoch: int
    correlation_id: int
    exchange: Exchange


class Simulation:
    """Clients, brokers and a clock, in ms from 0.

    `history` and `told` hold what reached the brokers and what users saw, in order.  `latency_ms`:
    the shortest and longest time of a message.
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
    ) -> None:
        self.cluster = VirtualCluster(revision, config, topics, nodes)
        self.now_ms = 0
        self.history: list[Exchange] = []
        self.told: list[Told] = []
        self.interfere = interfere
        self.is_down = False
        """While it is, no broker can be connected to."""
        self._latency_ms = latency_ms
        self._random = random.Random(seed)  # noqa: S311  (latencies, no secrets)
        self._clients: dict[str, _Client] = {}
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._waiting: dict[str, _Waiting] = {}

    # What happens to clients.

    def start(self, name: str, settings: ClientSettings) -> None:
        """Start a process; a name may be used again once the one before it is gone."""
        if name in self._clients and self._clients[name].is_alive:
            raise ValueError(f"{name} runs: close or kill it first")
        self._clients[name] = _Client(settings)
        self.give(name, Start())

    def give(self, name: str, given: Input) -> None:
        """Give a client an input, now."""
        client = self._clients[name]
        if not client.is_alive:
            return
        done = step(client.settings, client.state, given, self.now_ms)
        client.state = done.state
        for event in done.events:
            self.told.append(Told(self.now_ms, name, event))
            if isinstance(event, Closed):
                client.is_alive = False
        for request in done.requests:
            if isinstance(request, HangUp):
                self._end(name, request.to)
            else:
                self._send(name, request)
        self._set_wake(name, done.wake_at_ms)

    def close(self, name: str, timeout_ms: int = 10_000) -> None:
        """Close a consumer in good order."""
        self.give(name, Close(timeout_ms))

    def kill(self, name: str) -> None:
        """End a process at once; its connections end with it."""
        client = self._clients[name]
        client.is_alive = False
        for endpoint in list(client.arrivals):
            self._end(name, endpoint)

    def state_of(self, name: str) -> ClientState:
        """A client's state."""
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
        self._deliver(self.cluster.remove(self.now_ms, group_id, instance))

    def move_coordinator(self, group_id: str, node: int) -> None:
        """Let another broker coordinate the group."""
        self._deliver(self.cluster.move_coordinator(group_id, node))

    def cut_all(self) -> None:
        """End all connections, as a restart of the brokers does."""
        for name, client in list(self._clients.items()):
            for endpoint in list(client.arrivals):
                self._end(name, endpoint)
                self.give(name, ConnectionLost(endpoint))

    # Time.

    def run_for(self, ms: int) -> None:
        """Let time pass, and all that is due in it happen."""
        end = self.now_ms + ms
        while True:
            model_ms = self.cluster.model.next_deadline_ms()
            next_ms = self._due[0][0] if self._due else None
            first = min((t for t in (model_ms, next_ms) if t is not None), default=None)
            if first is None or first > end:
                break
            self.now_ms = max(self.now_ms, first)
            if model_ms is not None and model_ms <= first:
                self._deliver(self.cluster.model.advance_to(self.now_ms))
            else:
                heapq.heappop(self._due)[2]()
        self.now_ms = end
        self._deliver(self.cluster.model.advance_to(end))

    def _later(self, at_ms: int, do: Callable[[], None]) -> None:
        heapq.heappush(self._due, (at_ms, next(self._order), do))

    def _travel_ms(self) -> int:
        return self.now_ms + self._random.randint(*self._latency_ms)

    def _set_wake(self, name: str, at_ms: int | None) -> None:
        client = self._clients[name]
        if at_ms is None or at_ms == client.wake_ms:
            client.wake_ms = at_ms
            return
        client.wake_ms = at_ms

        def wake() -> None:
            if self._clients.get(name) is client and client.wake_ms == at_ms:
                client.wake_ms = None
                self.give(name, Woken())

        self._later(at_ms, wake)

    # Messages on their way.

    def _end(self, name: str, endpoint: Endpoint) -> None:
        """A connection is over, whoever ended it."""
        client = self._clients[name]
        epoch = client.epochs.get(endpoint, 0)
        client.epochs[endpoint] = epoch + 1
        client.arrivals.pop(endpoint, None)
        for request_id in self.cluster.model.drop(_connection(name, endpoint, epoch)):
            self._waiting.pop(request_id, None)

    def _send(self, name: str, asked: Asked) -> None:
        client = self._clients[name]
        arrival = max(self._travel_ms(), client.arrivals.get(asked.to, 0))
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

        self._later(arrival, arrive)

    def _arrive(self, name: str, asked: Asked, epoch: int) -> None:
        exchange = Exchange(self.now_ms, name, asked.to, asked.api, asked.version, asked.message)
        self.history.append(exchange)
        exchange.met = met = self.interfere(exchange) if self.interfere else None
        fault = met.fault if met else None
        if fault is Fault.LOSE_REQUEST:
            return
        waiting = _Waiting(name, asked.to, epoch, asked.correlation_id, exchange)
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

    def _ask_model(self, waiting: _Waiting, message: Message) -> None:
        exchange = waiting.exchange
        client_id = self._clients[waiting.client].settings.client_id or waiting.client
        connection = _connection(waiting.client, waiting.endpoint, waiting.epoch)
        request_id, answers = self.cluster.handle(
            self.now_ms, connection, client_id, exchange.api, exchange.version, message
        )
        self._waiting[request_id] = waiting
        self._deliver(answers)

    def _answer_cluster(self, waiting: _Waiting, message: ClusterRequest) -> None:
        if isinstance(message, FetchRequest) and not self.cluster.has_records(message):
            at_ms = self.now_ms + message.max_wait_ms
            self._later(at_ms, lambda: self._answer(waiting, self.cluster.answer(message)))
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

    def _answer(self, waiting: _Waiting, answer: Message | ClusterResponse) -> None:
        exchange, met = waiting.exchange, waiting.exchange.met
        exchange.answered_ms, exchange.answer = self.now_ms, answer
        if met is not None and met.fault in {Fault.LOSE_ANSWER, Fault.CUT}:
            return
        delay = met.ms if met is not None and met.fault is Fault.DELAY else 0
        client = self._clients[waiting.client]

        def read() -> None:
            if self._clients[waiting.client] is not client:
                return
            if client.epochs.get(waiting.endpoint, 0) == waiting.epoch:
                self.give(waiting.client, AnswerRead(waiting.correlation_id, answer))

        self._later(self._travel_ms() + delay, read)


def _connection(name: str, endpoint: Endpoint, epoch: int) -> str:
    return f"{name}/{endpoint.role.value}/{endpoint.node}/{epoch}"
