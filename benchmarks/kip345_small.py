"""Define kip345-small: a small finite model of static membership, to compare explorers by.

It is not a model of Kafka: it simplifies on purpose, so that the same state space can be written
for many tools, and its counts are published.  The rules are written once, here, on two parts of a
state: the server, and each client.  `SmallSystem` puts the parts together one state at a time;
`kip345_packed` and `kip345_frontier` are quicker ways to explore the same rules.

A client takes part as one instance, or as a dynamic member.  The phases are those of a group; ids
and generations are bounded by refusing joins and completions beyond the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

DYNAMIC = -1
NONE = 0
"""No member id: ids count from 1."""


class Phase(IntEnum):
    """The phase of the group."""

    EMPTY = 0
    PREPARING = 1
    COMPLETING = 2
    STABLE = 3


class Fault(Enum):
    """A mistake that can be put into the rules; each breaks one invariant."""

    KEEP_OLD = "a replaced member stays"
    KEEP_STATIC = "a removed member stays mapped"
    KEEP_LEADER = "a replaced leader goes on leading"
    ANY_GENERATION = "a sync of any generation is taken"


@dataclass(frozen=True, slots=True)
class Configuration:
    """One bounded instance, and its published counts.

    `instances`: of each client, or DYNAMIC; `ids`: the most member ids ever allocated;
    `generations`: the highest one; then distinct states, transitions with self-loops, levels.
    """

    instances: tuple[int, ...]
    ids: int
    generations: int
    states: int
    transitions: int
    levels: int


CONFIGURATIONS = {
    "A": Configuration((0, 0), 3, 2, 411, 2_802, 12),
    "B": Configuration((0, 0, DYNAMIC), 4, 2, 64_211, 629_302, 19),
    "C": Configuration((0, 0, DYNAMIC), 5, 2, 326_795, 3_438_943, 22),
    "D": Configuration((0, 0, 1), 5, 2, 39_069, 413_312, 17),
    "E": Configuration((0, 0, DYNAMIC), 5, 3, 602_727, 6_485_695, 25),
    "F": Configuration((0, 0, DYNAMIC), 6, 3, 2_733_155, 31_169_086, 28),
    "G": Configuration((0, 0, 1, DYNAMIC), 5, 2, 2_809_854, 36_805_176, 22),
}


class Member(NamedTuple):
    """A member: its id, its instance or DYNAMIC, true if a join or a sync of it is held."""

    id: int
    instance: int
    parked: bool
    synced: bool


class Server(NamedTuple):
    """The server's state.  `members` and `pending` ascend by id; `static`: id per instance."""

    phase: Phase
    generation: int
    next_id: int
    leader: int
    members: tuple[Member, ...]
    pending: tuple[int, ...]
    static: tuple[int, ...]


class Client(NamedTuple):
    """The memory of a client: its member id or NONE, and its generation."""

    id: int
    generation: int


class State(NamedTuple):
    """A state of the whole."""

    server: Server
    clients: tuple[Client, ...]


Action = tuple[str, int]
"""("join", client), ("sync", client), ("leave", client), ("restart", client), ("expire", id) or
("complete", 0)."""

GONE = Client(NONE, 0)


@dataclass(frozen=True, slots=True)
class Rules:
    """The steps of the parts of a state, with a fault or without."""

    configuration: Configuration
    fault: Fault | None = None

    def first(self) -> Server:
        """Return the server at the beginning."""
        instances = max(self.configuration.instances) + 1
        return Server(Phase.EMPTY, 0, 1, NONE, (), (), (NONE,) * instances)

    def client_steps(
        self, server: Server, instance: int, client: Client
    ) -> Iterator[tuple[str, Server, Client]]:
        """Yield the actions of a client, and both parts after each."""
        if client.id or server.next_id <= self.configuration.ids:
            yield "join", *self._join(server, instance, client)
        if client.id:
            yield "sync", self._sync(server, client), client
        if instance != DYNAMIC:
            yield "leave", self._drop(server, server.static[instance]), GONE
        elif client.id:
            yield "leave", self._drop(server, client.id), GONE
        if client.id:
            yield "restart", server, GONE

    def server_steps(self, server: Server) -> Iterator[tuple[Action, Server, tuple[int, ...]]]:
        """Yield the actions of the server, with the ids that learn its generation then."""
        idle = [m.id for m in server.members if not m.parked]
        for member_id in sorted((*server.pending, *idle)):
            yield ("expire", member_id), self._drop(server, member_id), ()
        if server.phase is Phase.PREPARING and server.generation < self.configuration.generations:
            yield ("complete", 0), *self._complete(server)

    def _join(self, server: Server, instance: int, client: Client) -> tuple[Server, Client]:
        if instance == DYNAMIC:
            if client.id == NONE:
                pending = (*server.pending, server.next_id)
                after = server._replace(next_id=server.next_id + 1, pending=pending)
                return after, Client(server.next_id, 0)
            if client.id in server.pending:
                rest = tuple(p for p in server.pending if p != client.id)
                return self._enter(server._replace(pending=rest), client.id, DYNAMIC), client
            is_member = any(m.id == client.id for m in server.members)
        else:
            holder = server.static[instance]
            if client.id == NONE:
                return self._fresh(server, instance, holder)
            is_member = client.id == holder
        if not is_member:
            return server, client  # unknown or fenced
        rejoins = server.phase is Phase.STABLE and server.leader == client.id
        if server.phase is Phase.PREPARING or rejoins:
            members = tuple(
                m._replace(parked=True) if m.id == client.id else m for m in server.members
            )
            return _prepared(server._replace(members=members)), client
        return server, Client(client.id, server.generation)

    def _fresh(self, server: Server, instance: int, holder: int) -> tuple[Server, Client]:
        """Let an instance join without an id: it gets one, and takes the place of the holder's."""
        new = server.next_id
        static = (*server.static[:instance], new, *server.static[instance + 1 :])
        server = server._replace(next_id=new + 1, static=static)
        if holder:
            if self.fault is not Fault.KEEP_OLD:
                others = tuple(m for m in server.members if m.id != holder)
                server = server._replace(members=others)
            if server.leader == holder and self.fault is not Fault.KEEP_LEADER:
                server = server._replace(leader=new)
            if server.phase is Phase.STABLE:
                member = Member(new, instance, parked=False, synced=False)
                after = server._replace(members=(*server.members, member))
                return after, Client(new, server.generation)
        return self._enter(server, new, instance), Client(new, 0)

    def _enter(self, server: Server, member_id: int, instance: int) -> Server:
        """Add a member, and hold its join."""
        member = Member(member_id, instance, parked=True, synced=False)
        members = tuple(sorted((*server.members, member)))
        leader = server.leader or member_id
        return _prepared(server._replace(members=members, leader=leader))

    def _sync(self, server: Server, client: Client) -> Server:
        current = client.generation == server.generation or self.fault is Fault.ANY_GENERATION
        if not current or server.phase not in {Phase.COMPLETING, Phase.STABLE}:
            return server
        members = tuple(m._replace(synced=True) if m.id == client.id else m for m in server.members)
        if all(m.id != client.id for m in members):
            return server
        leads = server.leader == client.id
        return server._replace(members=members, phase=Phase.STABLE if leads else server.phase)

    def _drop(self, server: Server, member_id: int) -> Server:
        """Remove a pending id or a member, if it is one."""
        if member_id in server.pending:
            return server._replace(pending=tuple(p for p in server.pending if p != member_id))
        rest = tuple(m for m in server.members if m.id != member_id)
        if len(rest) == len(server.members):
            return server
        static = server.static
        if self.fault is not Fault.KEEP_STATIC:
            static = tuple(NONE if i == member_id else i for i in static)
        after = server._replace(members=rest, static=static)
        if not rest:
            return after._replace(phase=Phase.EMPTY, leader=NONE)
        if server.leader == member_id:
            after = after._replace(leader=rest[0].id)
        return _prepared(after)

    def _complete(self, server: Server) -> tuple[Server, tuple[int, ...]]:
        kept = tuple(m for m in server.members if m.parked or m.instance != DYNAMIC)
        generation = server.generation + 1
        if not kept:
            empty = server._replace(
                phase=Phase.EMPTY, generation=generation, leader=NONE, members=()
            )
            return empty, ()
        joined = tuple(m.id for m in kept if m.parked)
        able = joined or tuple(m.id for m in kept)
        leader = server.leader if server.leader in able else able[0]
        if not joined:
            return server._replace(leader=leader, members=kept), ()
        members = tuple(m._replace(parked=False, synced=False) for m in kept)
        after = server._replace(
            phase=Phase.COMPLETING, generation=generation, leader=leader, members=members
        )
        return after, joined


def _prepared(server: Server) -> Server:
    members = tuple(m._replace(synced=False) if m.synced else m for m in server.members)
    return server._replace(phase=Phase.PREPARING, members=members)


class SmallSystem:
    """The model one state at a time, for `explore`."""

    def __init__(self, configuration: Configuration, fault: Fault | None = None) -> None:
        self.rules = Rules(configuration, fault)

    def initial(self) -> Iterator[State]:
        """Yield the state in which nobody has joined."""
        yield State(self.rules.first(), (GONE,) * len(self.rules.configuration.instances))

    def successors(self, state: State) -> Iterator[tuple[Action, State]]:
        """Yield the actions of any client or the server."""
        server, clients = state
        for c, instance in enumerate(self.rules.configuration.instances):
            steps = self.rules.client_steps(server, instance, clients[c])
            for name, after, client in steps:
                yield (name, c), State(after, (*clients[:c], client, *clients[c + 1 :]))
        for action, after, ids in self.rules.server_steps(server):
            yield action, State(after, informed(clients, after.generation, ids))


def informed(
    clients: tuple[Client, ...], generation: int, ids: tuple[int, ...]
) -> tuple[Client, ...]:
    """Return the clients after those with these ids have learnt a generation."""
    return tuple(Client(c.id, generation) if c.id in ids else c for c in clients)
