"""Write the requests of a walk by reference: to what their senders know when they send them.

A world has names in place of ids and numbers, and a plan has neither.  So a field of a request
refers to its sender's knowledge: its id, generation and protocol, or its epoch and partitions.
Each protocol has its own references, with the settings and times of its cases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from fencepost.conformance.cases.cover.cover import START, ControllableGraph, Stride
from fencepost.conformance.cases.script import subscription
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL, MAX_SIZE, SESSION_TIMEOUT
from fencepost.model.coordinator import Config
from fencepost.model.history.events import Answered
from fencepost.model.messages.messages import JoinProtocol, SyncAssignment
from fencepost.model.messages.shapes import Message, wire_fields
from fencepost.model.plans.bind import Knowledge
from fencepost.model.plans.steps import (
    AssignmentsToAll,
    EpochOf,
    GenerationOf,
    IdOf,
    Ms,
    OwnedOf,
    ProtocolOf,
)
from fencepost.model.plans.times import times_for
from fencepost.properties.worlds.concretise import Unfolding
from fencepost.properties.worlds.consumer_client import makes_ids
from fencepost.properties.worlds.protocol_worlds import Ask, own_answer
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world_client import Client

Fields = Iterator[tuple[str, Any]]


class References(ABC):
    """The references of one walk.  `tick`: a tick of time, as a plan has it."""

    tick: ClassVar[Ms]

    def __init__(self, graph: ControllableGraph) -> None:
        self._graph = graph
        self._worlds = graph.worlds

    @classmethod
    def settings(cls, scope: Scope) -> Config:  # noqa: ARG003  (not all need it)
        """Return the settings that a target which takes settings gets for a case of a scope."""
        return {}

    @classmethod
    def needed(cls, scope: Scope) -> Config:  # noqa: ARG003
        """Return the settings without which a case of a scope is about something else."""
        return {}

    def ask(self, stride: Stride) -> Ask:
        """Return the request of a stride."""
        client = self._graph.states[stride.source].clients[stride.act.client]
        return self._worlds.ask(client, stride.act.kind, stride.act.client)

    @abstractmethod
    def fields(self, stride: Stride, ask: Ask, who: str) -> Fields:
        """Yield the fields of a request that differ from their defaults, by reference."""

    @abstractmethod
    def follow(self, stride: Stride, ask: Ask | None, who: str) -> None:
        """Learn from the answers of a forced stride; `ask`: its request, None if it has none."""


class ClassicReferences(References):
    """The references of the classic protocol: a world shows all that a client knows."""

    tick = Ms("tick of time")

    def fields(self, stride: Stride, ask: Ask, who: str) -> Fields:
        """Yield the fields of a request that differ from their defaults, by reference."""
        client = self._graph.states[stride.source].clients[stride.act.client]
        yield from _classic_fields(ask.message, client, who)

    def follow(self, stride: Stride, ask: Ask | None, who: str) -> None:
        """Learn nothing: the next world shows it."""


_IDS = {"member_id", "member_id_list"}
_TIMES = {"session_timeout_ms": Ms("two ticks"), "rebalance_timeout_ms": Ms("three ticks")}
_OFFERED = {b"a": subscription("t"), b"b": subscription("t", "u")}
"""Subscriptions for the letters of the graph, since a coordinator may read them."""


def _classic_fields(message: Message, client: Client, who: str) -> Fields:
    for name, value in _unlike_defaults(message):
        yield name, _classic_reference(name, value, client, who)


def _classic_reference(name: str, value: Any, client: Client, who: str) -> Any:
    match value:
        case str() if name in _IDS and value and value == client.member_id:
            return IdOf(who)
        case int() if name in _TIMES:
            return _TIMES[name]
        case int() if name == "generation_id":
            return GenerationOf(who)
        case str() if name == "protocol_name":
            return ProtocolOf(who, "name")
        case (SyncAssignment(), *_):
            own = next(row for row in value if row.member_id == client.member_id)
            return AssignmentsToAll(who, own.assignment)
        case JoinProtocol():
            return JoinProtocol(name=value.name, metadata=_OFFERED[value.metadata])
        case tuple():
            return tuple(_classic_reference(name, item, client, who) for item in value)
        case Message():
            return type(value)(**dict(_classic_fields(value, client, who)))
        case _:
            return value


def _unlike_defaults(message: Message) -> Fields:
    for name, form in wire_fields(type(message)):
        value = getattr(message, name)
        if value != form.default:
            yield name, value


_SHORT_SESSION_MS = 6000
_EPOCHS = {"member_epoch", "generation_id"}


class ConsumerReferences(References):
    """The references of the consumer protocol.

    A client that loses an answer says an epoch and partitions that a plan's member was told before
    its last answer.  So the walk is performed: with each answer, lost or not, a member of the plan
    learns as it does in a run, and a reference says how far back it is what the client knows.
    """

    tick = Ms("group tick")

    def __init__(self, graph: ControllableGraph) -> None:
        super().__init__(graph)
        self._run = Unfolding.begin(graph.worlds, graph.states[START])
        self._knowledge = Knowledge(times_for({}, lag_ms=0))

    @classmethod
    def settings(cls, scope: Scope) -> Config:
        """Return the settings that a target which takes settings gets for a case of a scope."""
        short = {SESSION_TIMEOUT: _SHORT_SESSION_MS} if "tick" in scope.acts else {}
        return {ASSIGNMENT_INTERVAL: 0, **short}

    @classmethod
    def needed(cls, scope: Scope) -> Config:
        """Return the settings without which a case of a scope is about something else."""
        return {} if scope.places is None else {MAX_SIZE: scope.places}

    def ask(self, stride: Stride) -> Ask:
        """Return the request of a stride, with real epochs and partitions."""
        index = stride.act.client
        real = self._run.clients[self._run.who[index]]
        return self._worlds.ask(real, stride.act.kind, index)

    def fields(self, stride: Stride, ask: Ask, who: str) -> Fields:
        """Yield the fields of a request that differ from their defaults, by reference."""
        makes_id = makes_ids(self._worlds.seats[stride.act.client])
        known = self._knowledge.of_member(who)
        for name, value in _unlike_defaults(ask.message):
            match value:
                case str() if name == "member_id" and value:
                    yield name, who if makes_id else IdOf(who, _back(known.ids, value))
                case int() if name in _EPOCHS and value > 0:
                    yield name, EpochOf(who, _back(known.epochs, value))
                case int() if name == "rebalance_timeout_ms":
                    yield name, Ms("three group ticks")
                case tuple() if name == "topic_partitions" and value:
                    yield name, OwnedOf(who, _back(known.owned, value))
                case _:
                    yield name, value
            if name == "subscribed_topic_names" and ask.version > 0:
                yield "subscribed_topic_regex", ""  # null aborts librdkafka's mock

    def follow(self, stride: Stride, ask: Ask | None, who: str) -> None:
        """Learn from the answer, also if the client does not read it."""
        before, after = self._graph.states[stride.source], self._graph.states[stride.target]
        lost = self._lost_answer(stride, ask)
        turn = self._run.turn(before, stride.act, after)
        answers = [event.answer.body for event in turn.events if isinstance(event, Answered)]
        for body in (*answers, *lost):
            if ask is not None and body is not None:
                self._knowledge.learn(who, ask.api, body, {})

    def _lost_answer(self, stride: Stride, ask: Ask | None) -> Sequence[Mapping[str, Any]]:
        """Return the body of an answer that the client does not read, if there is one."""
        act, run, protocol = stride.act, self._run, self._worlds.protocol
        if ask is None or act.kind not in protocol.unheard:
            return ()
        world = self._graph.states[stride.source]
        done = self._worlds.transitions(world, act.kind, act.client)[act.choice]
        message, _ = own_answer(done.emissions, done.naming)
        if message is None:
            return ()
        real = protocol.real_answer(message, run.ids, run.numbers, run.makers)
        return (real.to_body(ask.version),)


def _back(values: Sequence[Any], value: Any) -> int:
    """Return how far back a value of a member is.  Raises ValueError for one that it never had."""
    return values[::-1].index(value)


REFERENCES: Mapping[str, type[References]] = {
    "classic": ClassicReferences,
    "consumer": ConsumerReferences,
}
"""Name of a protocol → the references of its walks."""
