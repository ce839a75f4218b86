"""Turn a path through worlds into a concrete run: real ids, real times, real answers.

Worlds are folded: names are canonical, equal clients are interchangeable.  A run follows the path
and keeps, beside each world, the meaning of its names: an id that was never used before, a client,
a generation, a time.  The result is a history: it can be judged, replayed, written to a file and
read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Self

from msgspec.structs import replace

from fencepost.model.classic.group import Group
from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Disconnected, Handled, Passed, Restarted, Sent
from fencepost.model.history.events import Event as Entry
from fencepost.model.history.words import with_names
from fencepost.model.messages.messages import (
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.work import Emission
from fencepost.properties.worlds.canonical import FRESH, NOW
from fencepost.properties.worlds.world import STRANGE, Act, Transition, World, Worlds
from fencepost.properties.worlds.world_client import CUT_OFFS, TICK_MS, Client, after_answer


@dataclass(frozen=True, slots=True)
class Turn:
    """A step of a run: the act and its client, the events, the rules, and the world after it."""

    act: Act
    events: tuple[Entry, ...]
    rules: tuple[str, ...]
    world: World


@dataclass(frozen=True, slots=True)
class Run:
    """A concrete run.

    `names`: member id → the first client that read it (`c1`); `senders`: request id → its client;
    `ids`: names before and after the last step → real ids.
    """

    turns: tuple[Turn, ...]
    names: Mapping[str, str]
    senders: Mapping[str, str]
    ids: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def events(self) -> tuple[Entry, ...]:
        """The whole history."""
        return tuple(event for turn in self.turns for event in turn.events)

    def in_real_ids(self, sentence: str) -> str:
        """Return a sentence about the last step, or the world after it, with the ids of the run."""
        return with_names(sentence, self.ids)


def unfold(worlds: Worlds, path: Sequence[tuple[Act | None, World]]) -> Run:
    """Return the run that a path from an initial world stands for."""
    world = path[0][1]
    unfolding = Unfolding.begin(worlds, world)
    turns = []
    ids = unfolding.ids
    for act, after in path[1:]:
        assert act is not None
        before = unfolding.ids
        turns.append(unfolding.turn(world, act, after))
        ids = {**unfolding.ids, **before}
        world = after
    return Run(tuple(turns), unfolding.names, unfolding.senders, ids)


@dataclass(slots=True)
class Unfolding:
    """The meaning of the names in the present world.

    `clients`: the knowledge of each real client, by real index; `who`: index in the world → real
    index; `ids`: name in the world → real id; `offset`: number to add to a generation of the world.
    """

    worlds: Worlds
    clients: list[Client]
    who: tuple[int, ...] = field(init=False)
    incarnations: list[int] = field(init=False)
    open: dict[int, Send] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    senders: dict[str, str] = field(default_factory=dict)
    offset: int = 0
    now: int = 0
    requests: int = 0
    handed_out: int = 0

    def __post_init__(self) -> None:
        count = len(self.worlds.seats)
        self.who = tuple(range(count))
        self.incarnations = [1] * count

    @classmethod
    def begin(cls, worlds: Worlds, world: World) -> Self:
        """Begin in an initial world: ids that clients already know get the form of new ones."""
        begun = cls(worlds, list(world.clients))
        for index, client in enumerate(world.clients):
            if client.member_id:
                real = client.member_id.replace(".", "-")
                begun.ids[client.member_id] = real
                begun.clients[index] = client._replace(member_id=real)
        return begun

    def fork(self) -> Self:
        """Return a copy, which goes on by itself."""
        other = copy(self)
        other.clients, other.incarnations = [*self.clients], [*self.incarnations]
        other.open, other.ids = {**self.open}, {**self.ids}
        other.names, other.senders = {**self.names}, {**self.senders}
        return other

    def group(self, group: Group | None) -> Group | None:
        """Return the group of the present world in real ids, generations and times."""
        if group is None:
            return None
        real = group.renamed(self.ids).shifted(self.now)
        return replace(real, generation_id=real.generation_id + self.offset)

    def turn(self, world: World, act: Act, after: World) -> Turn:
        """Return the act, made real."""
        real = self.who[act.client] if act.client >= 0 else -1
        if act.kind in CUT_OFFS:
            events: tuple[Entry, ...] = (self._disconnected(act.kind, real),)
            who, names = self.worlds.places(world, act, None)
            rules: tuple[str, ...] = ()
        else:
            done = self.worlds.transitions(world, act.kind, act.client)[act.choice]
            events = self._happened(world, act, real, done)
            who, names = self.worlds.places(world, act, done)
            rules = tuple(rule.id for view in done.views for rule in view.rules)
            self.offset -= done.naming.shift
        self.who = tuple(self.who[i] for i in who)
        self.ids = {new: self.ids[old] for old, new in names.items() if old in self.ids}
        return Turn(act._replace(client=real), events, rules, after)

    def _happened(self, world: World, act: Act, real: int, done: Transition) -> tuple[Entry, ...]:
        if act.kind == "tick":
            return self._passed(world, done)
        if act.kind == "failover":
            restarted = Restarted(self.now, self.now, ())
            answers = self._answers(world, done.emissions, -1)
            self.open.clear()
            return (restarted, *answers)
        ask = self.worlds.ask(self.clients[real], act.kind, act.client)
        self.requests += 1
        seat = self.worlds.seats[act.client]
        name = f"c{real + 1}"
        message = ask.message
        if act.kind == "stranger":
            self.ids[STRANGE] = self.strange_id()
            message = replace(message, member_id=self.ids[STRANGE])
        if FRESH in done.naming.ids:
            self.handed_out += 1
            self.ids[FRESH] = self.new_id(seat.instance or name)
        send = Send(
            f"r{self.requests}",
            f"{name}.{self.incarnations[real]}",
            name,
            ask.api,
            ask.version,
            message.to_body(ask.version),
        )
        self.senders[send.id] = name
        self.open[real] = send
        self.clients[real] = self.worlds.asking(self.clients[real], act.kind)
        first, *fired = done.views
        events: list[Entry] = [Sent(self.now, send), *self._answers(world, first.emissions, real)]
        events.append(Handled(self.now))
        for view in fired:
            events += self._answers(world, view.emissions, real)
        return (*events, Passed(self.now)) if fired else tuple(events)

    def new_id(self, whose: str) -> str:
        """Return the id that was just handed out.  `whose`: an instance, or else a client."""
        return f"{whose}-{self.handed_out}"

    def strange_id(self) -> str:
        """Return an id that was never handed out."""
        return f"{STRANGE}-{self.requests}"

    def _passed(self, world: World, done: Transition) -> tuple[Entry, ...]:
        """Let time pass: each timer's answers come at its deadline."""
        began = self.now
        events: list[Entry] = []
        for view in done.views:
            assert isinstance(view.event, tuple)
            self.now = began + view.event.earliest
            events += self._answers(world, view.emissions, -1)
        self.now = began + TICK_MS
        return (*events, Passed(self.now))

    def _disconnected(self, kind: str, real: int) -> Entry:
        client = self.clients[real]
        knows_nothing = Client(offers=client.offers)
        self.clients[real] = knows_nothing if kind == "restart" else client._replace(waits="")
        connection = f"c{real + 1}.{self.incarnations[real]}"
        self.incarnations[real] += 1
        dropped = self.open.pop(real, None)
        return Disconnected(self.now, connection, () if dropped is None else (dropped.id,))

    def _answers(self, world: World, emissions: Sequence[Emission], real: int) -> list[Answered]:
        """Answer the clients that wait; requests whose connection is gone are not answered."""
        answers = []
        for emission in emissions:
            if emission.request_id == NOW:
                whose = [real]
            else:
                whose = [
                    self.who[i]
                    for i, client in enumerate(world.clients)
                    if client.waits == emission.request_id
                ]
            for index in whose:
                send = self.open.pop(index, None)
                if send is None or emission.message is None:
                    continue
                message = self._real(emission.message)
                self.clients[index] = after_answer(self.clients[index], message)
                body = message.to_body(send.version)
                if member_id := body.get("memberId"):
                    self.names.setdefault(member_id, send.client_id)
                answers.append(Answered(Answer(send.id, self.now, body)))
        return answers

    def _real(self, message: Message) -> Message:
        """Return an answer in real ids and generations."""
        match message:
            case JoinGroupResponse():
                generation = message.generation_id
                return replace(
                    message,
                    generation_id=generation + self.offset if generation >= 0 else generation,
                    member_id=self._id(message.member_id),
                    leader=self._id(message.leader),
                    members=tuple(
                        replace(m, member_id=self._id(m.member_id)) for m in message.members
                    ),
                )
            case DescribeGroupsResponse():
                groups = tuple(
                    replace(
                        group,
                        members=tuple(
                            replace(m, member_id=self._id(m.member_id)) for m in group.members
                        ),
                    )
                    for group in message.groups
                )
                return replace(message, groups=groups)
            case LeaveGroupResponse():
                rows = tuple(replace(r, member_id=self._id(r.member_id)) for r in message.members)
                return replace(message, members=rows)
            case _:
                return message

    def _id(self, name: str) -> str:
        return self.ids.get(name, name)
