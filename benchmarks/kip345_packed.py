"""Explore kip345-small with each rule applied once per pair of parts, and states as integers.

The lowest bits of a state are the clients, some bits for each; above them is the number of the
server's part, given out in the order of discovery.  The steps of a client depend on the server and
on that client alone, so the rules are evaluated once for each such pair (on configuration E 151,000
times for 602,727 states), and a state's successors are put together from the results.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.kip345_invariants import SERVER_INVARIANTS, synced_generation
from benchmarks.kip345_small import (
    GONE,
    Action,
    Client,
    Configuration,
    Fault,
    Rules,
    Server,
    State,
    informed,
)
from fencepost.properties.explorer.exploration import Check


class Packing:
    """The places of the parts of a state in its integer."""

    def __init__(self, configuration: Configuration, fault: Fault | None = None) -> None:
        self.rules = Rules(configuration, fault)
        self.instances = configuration.instances
        self.names = configuration.generations + 1
        """A client's value is id * names + generation."""
        self.values = (configuration.ids + 1) * self.names
        self.bits = (self.values - 1).bit_length()
        """Per client."""
        self.shift = self.bits * len(self.instances)
        self.mask = (1 << self.bits) - 1
        self.servers: list[Server] = []
        self._numbers: dict[Server, int] = {}

    def number(self, server: Server) -> int:
        """Return the number of a server's part, a new one if it is new."""
        number = self._numbers.setdefault(server, len(self.servers))
        if number == len(self.servers):
            self.servers.append(server)
        return number

    def value(self, client: Client) -> int:
        """Return the bits of a client."""
        return client.id * self.names + client.generation

    def client(self, value: int) -> Client:
        """Return the client that has these bits."""
        return Client(*divmod(value, self.names))

    def encode(self, state: State) -> int:
        """Return the integer of a state."""
        word = self.number(state.server) << self.shift
        for c, client in enumerate(state.clients):
            word |= self.value(client) << (self.bits * c)
        return word

    def decode(self, word: int) -> State:
        """Return the state of an earlier integer."""
        clients = tuple(
            self.client(word >> (self.bits * c) & self.mask) for c in range(len(self.instances))
        )
        return State(self.servers[word >> self.shift], clients)

    def first(self) -> int:
        """Return the initial state."""
        return self.encode(State(self.rules.first(), (GONE,) * len(self.instances)))


class PackedSystem:
    """The model on integers, in plain Python, for `explore`."""

    def __init__(self, configuration: Configuration, fault: Fault | None = None) -> None:
        self.packing = Packing(configuration, fault)
        self._of_client: list[dict[int, tuple[tuple[Action, int], ...]]] = [
            {} for _ in configuration.instances
        ]
        self._of_server: dict[int, tuple[tuple[Action, int, tuple[int, ...]], ...]] = {}
        bits, mask = self.packing.bits, self.packing.mask
        self._places = [(bits * c, mask << (bits * c)) for c in range(len(self._of_client))]
        self._clients = (1 << self.packing.shift) - 1

    def initial(self) -> Iterator[int]:
        """Yield the state in which nobody has joined."""
        yield self.packing.first()

    def successors(self, word: int) -> list[tuple[Action, int]]:
        """Return the actions of any client or the server."""
        packing = self.packing
        clients = word & self._clients
        server = word ^ clients
        successors: list[tuple[Action, int]] = []
        for c, (place, mask) in enumerate(self._places):
            pair = server | (clients & mask) >> place
            steps = self._of_client[c].get(pair)
            if steps is None:
                steps = self._client_steps(c, pair)
            rest = clients & ~mask
            successors += [(action, rest | part) for action, part in steps]
        of_server = self._of_server.get(server)
        if of_server is None:
            of_server = self._server_steps(server)
        for action, after, ids in of_server:
            if ids:
                state = packing.decode(word)
                generation = packing.servers[after >> packing.shift].generation
                learnt = informed(state.clients, generation, ids)
                values = enumerate(learnt)
                parts = sum(packing.value(client) << (packing.bits * i) for i, client in values)
                successors.append((action, after | parts))
            else:
                successors.append((action, after | clients))
        return successors

    def _client_steps(self, c: int, pair: int) -> tuple[tuple[Action, int], ...]:
        packing = self.packing
        server, client = packing.servers[pair >> packing.shift], packing.client(pair & packing.mask)
        steps = tuple(
            (
                (name, c),
                packing.number(after) << packing.shift | packing.value(then) << (packing.bits * c),
            )
            for name, after, then in packing.rules.client_steps(
                server, packing.instances[c], client
            )
        )
        self._of_client[c][pair] = steps
        return steps

    def _server_steps(self, server: int) -> tuple[tuple[Action, int, tuple[int, ...]], ...]:
        packing = self.packing
        steps = tuple(
            (action, packing.number(after) << packing.shift, ids)
            for action, after, ids in packing.rules.server_steps(
                packing.servers[server >> packing.shift]
            )
        )
        self._of_server[server] = steps
        return steps


def packed_invariants(packing: Packing) -> list[Check[int, Action]]:
    """Return the four invariants; each part, or pair of parts, is judged once."""
    return [
        *(Check(name, state=_Server(packing, name)) for name in SERVER_INVARIANTS),
        Check("I4", state=_Synced(packing)),
    ]


class _Server:
    """An invariant of the server's part."""

    def __init__(self, packing: Packing, name: str) -> None:
        self.packing = packing
        self.holds = SERVER_INVARIANTS[name]
        self.sentences: dict[int, str | None] = {}

    def __call__(self, word: int) -> str | None:
        number = word >> self.packing.shift
        if number not in self.sentences:
            self.sentences[number] = self.holds(self.packing.servers[number])
        return self.sentences[number]


class _Synced:
    """I4."""

    def __init__(self, packing: Packing) -> None:
        self.packing = packing
        self.generations: dict[int, int | None] = {}

    def __call__(self, word: int) -> str | None:
        packing = self.packing
        number = word >> packing.shift
        visited = set()
        for c in range(len(packing.instances)):
            value = word >> (packing.bits * c) & packing.mask
            pair = number << packing.bits | value
            if pair not in self.generations:
                server, client = packing.servers[number], packing.client(value)
                self.generations[pair] = synced_generation(server, client)
            visited.add(self.generations[pair])
        visited.discard(None)
        if len(visited) <= 1:
            return None
        return f"clients of synced members were told different generations: {visited}"
