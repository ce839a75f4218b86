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
from typing import Any, Self

from msgspec.structs import replace

from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Disconnected, Handled, Passed, Restarted, Sent
from fencepost.model.history.events import Event as Entry
from fencepost.model.history.words import with_names
from fencepost.model.work import Emission
from fencepost.properties.worlds.protocol_worlds import (
    CUT_OFFS,
    FRESH,
    NOW,
    TICK_MS,
    ProtocolWorlds,
)
from fencepost.properties.worlds.world import Act, Transition, World, Worlds
from fencepost.properties.worlds.world_client import STRANGE


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
    index; `ids`: name in the world → real id; `names`, `senders`: as of a run; `makers`: real id →
    the client that asked for it, or made it; `numbers`: the meaning of the world's numbers.
    """

    worlds: Worlds
    clients: list[Any]
    protocol: ProtocolWorlds = field(init=False)
    who: tuple[int, ...] = field(init=False)
    incarnations: list[int] = field(init=False)
    open: dict[int, Send] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    makers: dict[str, str] = field(default_factory=dict)
    senders: dict[str, str] = field(default_factory=dict)
    numbers: Any = field(init=False)
    now: int = 0
    requests: int = 0
    handed_out: int = 0

    def __post_init__(self) -> None:
        count = len(self.worlds.seats)
        self.who = tuple(range(count))
        self.protocol = self.worlds.protocol
        self.numbers = self.protocol.numbers(None, None)
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
        other.makers = {**self.makers}
        return other

    def group(self, group: Any) -> Any:
        """Return the group of the present world in real ids, numbers and times."""
        if group is None:
            return None
        return self.protocol.real_group(group, self.ids, self.numbers, self.now)

    def turn(self, world: World, act: Act, after: World) -> Turn:
        """Return the act, made real."""
        real = self.who[act.client] if act.client >= 0 else -1
        if act.kind in CUT_OFFS:
            self.clients[real] = self.protocol.cut_off(self.clients[real], act.kind)
            events: tuple[Entry, ...] = (self._disconnected(real),)
            who, names = self.worlds.places(world, act, None)
            rules: tuple[str, ...] = ()
        else:
            done = self.worlds.transitions(world, act.kind, act.client)[act.choice]
            events = self._happened(world, act, real, done)
            who, names = self.worlds.places(world, act, done)
            rules = tuple(rule.id for view in done.views for rule in view.rules)
            self.numbers = self.protocol.numbers(self.numbers, done.naming.shift)
        self.who = tuple(self.who[i] for i in who)
        self.ids = {new: self.ids[old] for old, new in names.items() if old in self.ids}
        return Turn(act._replace(client=real), events, rules, after)

    def _happened(self, world: World, act: Act, real: int, done: Transition) -> tuple[Entry, ...]:
        if act.kind == "tick":
            return self._passed(world, act, done)
        if act.kind == "failover":
            restarted = Restarted(self.now, self.now, ())
            answers = self._answers(world, done.emissions, act)
            self.open.clear()
            return (restarted, *answers)
        ask = self.worlds.ask(self.clients[real], act.kind, act.client)
        self.requests += 1
        seat = self.worlds.seats[act.client]
        name = f"c{real + 1}"
        if act.kind == "stranger":
            self.ids[STRANGE] = self.strange_id()
        message = self._with_real_id(world, act, ask.message, done, seat.instance or name)
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
        asking = self.worlds.asking(self.clients[real], act.kind)
        if asking.member_id == FRESH:
            asking = asking._replace(member_id=self.ids.get(FRESH, ""))
        self.clients[real] = asking
        if act.kind in self.protocol.unheard:
            return Sent(self.now, send), self._disconnected(real), Handled(self.now)
        first, *fired = done.views
        events: list[Entry] = [
            Sent(self.now, send),
            *self._answers(world, first.emissions, act, real),
        ]
        events.append(Handled(self.now))
        for view in fired:
            events += self._answers(world, view.emissions, act, real)
        return (*events, Passed(self.now)) if fired else tuple(events)

    def _with_real_id(
        self, world: World, act: Act, message: Any, done: Transition, whose: str
    ) -> Any:
        """Return a request with a real member id in place of one that is only named in worlds.

        A client that makes its id itself sends it again, as long as the group doesn't know it.
        """
        sent = getattr(message, "member_id", "")
        if FRESH in done.naming.ids or sent == FRESH:
            is_again = bool(sent) and sent not in {FRESH, STRANGE}
            if is_again and not world.clients[act.client].member_id:
                self.ids[FRESH] = sent
            else:
                self.handed_out += 1
                self.ids[FRESH] = self.new_id(whose)
                maker = self.makers[self.ids[FRESH]] = f"c{self.who[act.client] + 1}"
                if sent == FRESH:
                    self.names.setdefault(self.ids[FRESH], maker)
        if sent in {FRESH, STRANGE}:
            return replace(message, member_id=self.ids[sent])
        return message

    def new_id(self, whose: str) -> str:
        """Return the id that was just handed out.  `whose`: an instance, or else a client."""
        return f"{whose}-{self.handed_out}"

    def strange_id(self) -> str:
        """Return an id that was never handed out."""
        return f"{STRANGE}-{self.requests}"

    def _passed(self, world: World, act: Act, done: Transition) -> tuple[Entry, ...]:
        """Let time pass: each timer's answers come at its deadline."""
        began = self.now
        events: list[Entry] = []
        for view in done.views:
            assert isinstance(view.event, tuple)
            self.now = began + view.event.earliest
            events += self._answers(world, view.emissions, act)
        self.now = began + TICK_MS
        return (*events, Passed(self.now))

    def _disconnected(self, real: int) -> Entry:
        connection = f"c{real + 1}.{self.incarnations[real]}"
        self.incarnations[real] += 1
        dropped = self.open.pop(real, None)
        return Disconnected(self.now, connection, () if dropped is None else (dropped.id,))

    def _answers(
        self, world: World, emissions: Sequence[Emission], act: Act, real: int = -1
    ) -> list[Answered]:
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
                message = self.protocol.real_answer(
                    emission.message, self.ids, self.numbers, self.makers
                )
                client = self.clients[index]
                self.clients[index] = self.worlds.answered(client, act.kind, message, "")
                body = message.to_body(send.version)
                if member_id := body.get("memberId"):
                    self.names.setdefault(member_id, send.client_id)
                answers.append(Answered(Answer(send.id, self.now, body)))
        return answers
