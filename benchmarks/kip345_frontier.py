"""Explore kip345-small by whole frontiers: the rules as tables, looked up with NumPy.

The results of the rules, which are evaluated once per pair of parts as in `kip345_packed`, are kept
as arrays: the steps of a client are one row per server and client, the steps of the server one row
per server.  Applying an action to a million states is then a look-up and some arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.kip345_invariants import (
    SERVER_INVARIANTS,
    synced_generation,
    synced_in_one_generation,
)
from benchmarks.kip345_packed import Packing
from benchmarks.kip345_small import Action, Configuration, Fault, Server, State
from fencepost.properties.explorer.frontier import FrontierCheck, Words

T = TypeVar("T", bound=np.generic)
_CLIENT_ACTIONS = ("join", "sync", "leave", "restart")
_DISABLED, _UNASKED = -1, -2
_CHECKS = len(SERVER_INVARIANTS)


class SmallFrontierSystem:
    """The model for `explore`, many states at once."""

    def __init__(self, configuration: Configuration, fault: Fault | None = None) -> None:
        self.packing = packing = Packing(configuration, fault)
        self.clients = [np.uint64(packing.bits * c) for c in range(len(packing.instances))]
        self.shift = np.uint64(packing.shift)
        self.mask = np.uint64(packing.mask)
        self._kinds = sorted(set(packing.instances))
        """Clients of one kind (instance) do the same."""
        self._kind_of = [self._kinds.index(instance) for instance in packing.instances]
        self._ids = configuration.ids
        # Rows of clients: the server and client after each action, and the generation that I4 is
        # about (or -1).  Rows of servers: the server after each expiry and after completion, the
        # ids that completion tells (as bits), the client's bits of the generation, what is broken.
        self._of_clients = np.full((0, len(_CLIENT_ACTIONS)), _UNASKED, np.int32)
        self._synced = np.full(0, -1, np.int8)
        self._of_servers = np.full((0, self._ids + 1), _UNASKED, np.int32)
        self._informed = np.zeros(0, np.int64)
        self._generation = np.zeros(0, np.int64)
        self._broken = np.zeros((0, _CHECKS), np.bool_)
        self._filled = 0

    def initial_words(self) -> Words:
        """Return the state in which nobody has joined."""
        word = self.packing.first()
        self._grow()
        return np.array([word], np.uint64)

    def decode(self, word: int) -> State:
        """Return the state of a word from an earlier level."""
        return self.packing.decode(word)

    def prepare(self, words: Words) -> None:
        """Evaluate the rules for new parts, and grow the tables."""
        servers = (words >> self.shift).astype(np.int64)
        unasked = np.unique(servers[self._of_servers[servers, -1] == _UNASKED])
        if unasked.size:
            self._of_servers[unasked] = [self._ask_server(number) for number in unasked.tolist()]
        for c in range(len(self.clients)):
            rows = self.rows(words, c)
            missing = np.unique(rows[self._of_clients[rows, 0] == _UNASKED])
            if missing.size:
                self._of_clients[missing] = [self._ask_client(row) for row in missing.tolist()]
        self._grow()

    def expand(self, words: Words) -> Iterator[tuple[Action, NDArray[np.intp], Words]]:
        """Yield the actions of any client or the server."""
        lower = (np.uint64(1) << self.shift) - np.uint64(1)
        for c, place in enumerate(self.clients):
            after = self._of_clients[self.rows(words, c)]
            rest = words & (lower ^ (self.mask << place))
            for a, name in enumerate(_CLIENT_ACTIONS):
                column = after[:, a]
                places = np.flatnonzero(column >= 0)
                entry = column[places].astype(np.uint64)
                server, client = entry >> np.uint64(self.packing.bits), entry & self.mask
                yield (name, c), places, rest[places] | server << self.shift | client << place
        servers = (words >> self.shift).astype(np.int64)
        after = self._of_servers[servers]
        rest = words & lower
        for member_id in range(1, self._ids + 1):
            column = after[:, member_id - 1]
            places = np.flatnonzero(column >= 0)
            entry = column[places].astype(np.uint64)
            yield ("expire", member_id), places, rest[places] | entry << self.shift
        yield ("complete", 0), *self._completed(servers, after[:, -1], rest)

    def rows(self, words: Words, c: int) -> NDArray[np.int64]:
        """Return the rows in the tables of clients for a client of each state."""
        servers = (words >> self.shift).astype(np.int64)
        values = (words >> self.clients[c] & self.mask).astype(np.int64)
        return (servers * len(self._kinds) + self._kind_of[c]) * self.packing.values + values

    def broken(self, check: int, words: Words) -> NDArray[np.bool_]:
        """Return for each state True if its server part breaks an invariant."""
        broken: NDArray[np.bool_] = self._broken[(words >> self.shift).astype(np.int64), check]
        return broken

    def synced(self, words: Words, c: int) -> NDArray[np.int8]:
        """Return a client's generation, if its member is synced, else -1."""
        return self._synced[self.rows(words, c)]

    def _completed(
        self, servers: NDArray[np.int64], column: NDArray[np.int32], rest: Words
    ) -> tuple[NDArray[np.intp], Words]:
        places = np.flatnonzero(column >= 0)
        after = column[places]
        learners, generation = self._informed[servers[places]], self._generation[after]
        words = after.astype(np.uint64) << self.shift
        for place in self.clients:
            values = (rest[places] >> place & self.mask).astype(np.int64)
            ids = values // self.packing.names
            learnt = ids * self.packing.names + generation
            values = np.where(learners >> ids & 1, learnt, values)
            words |= values.astype(np.uint64) << place
        return places, words

    def _ask_server(self, number: int) -> list[int]:
        packing = self.packing
        row = [_DISABLED] * (self._ids + 1)
        for (name, member_id), after, ids in packing.rules.server_steps(packing.servers[number]):
            row[member_id - 1 if name == "expire" else -1] = packing.number(after)
            if ids:
                self._informed[number] = sum(1 << i for i in ids)
        server = packing.servers[number]
        self._broken[number] = [holds(server) is not None for holds in SERVER_INVARIANTS.values()]
        return row

    def _ask_client(self, row: int) -> list[int]:
        packing = self.packing
        pair, value = divmod(row, packing.values)
        number, kind = divmod(pair, len(self._kinds))
        server, client = packing.servers[number], packing.client(value)
        entries = [_DISABLED] * len(_CLIENT_ACTIONS)
        for name, after, then in packing.rules.client_steps(server, self._kinds[kind], client):
            follows = number if after is server else packing.number(after)
            entries[_CLIENT_ACTIONS.index(name)] = follows << packing.bits | packing.value(then)
        generation = synced_generation(server, client)
        if generation is not None:
            self._synced[row] = generation
        return entries

    def _grow(self) -> None:
        """Make room for the servers that have a number, twice the need."""
        size = len(self.packing.servers)
        if size > len(self._of_servers):
            more = 2 * size - len(self._of_servers)
            rows = more * len(self._kinds) * self.packing.values
            self._of_clients = _longer(self._of_clients, rows, _UNASKED)
            self._synced = _longer(self._synced, rows, -1)
            self._of_servers = _longer(self._of_servers, more, _UNASKED)
            self._informed = _longer(self._informed, more, 0)
            self._generation = _longer(self._generation, more, 0)
            self._broken = _longer(self._broken, more, 0)
        for number in range(self._filled, size):
            self._generation[number] = self.packing.servers[number].generation
        self._filled = size


def frontier_invariants(system: SmallFrontierSystem) -> list[FrontierCheck[State]]:
    """Return the four invariants."""
    checks = [
        FrontierCheck(name, _of_server(system, i), _sentence(holds))
        for i, (name, holds) in enumerate(SERVER_INVARIANTS.items())
    ]
    return [*checks, FrontierCheck("I4", _unequal(system), _of_state(synced_in_one_generation))]


def _of_server(system: SmallFrontierSystem, check: int) -> Callable[[Words], NDArray[np.bool_]]:
    return lambda words: system.broken(check, words)


def _sentence(holds: Callable[[Server], str | None]) -> Callable[[State], str]:
    return _of_state(lambda state: holds(state.server))


def _of_state(holds: Callable[[State], str | None]) -> Callable[[State], str]:
    return lambda state: holds(state) or "holds in the state, but not in the tables"


def _unequal(system: SmallFrontierSystem) -> Callable[[Words], NDArray[np.bool_]]:
    """Check I4: the generations of any two clients of synced members are equal."""

    def broken(words: Words) -> NDArray[np.bool_]:
        most = np.full(words.size, -1, np.int8)
        least = np.full(words.size, 127, np.int8)
        for c in range(len(system.clients)):
            generations = system.synced(words, c)
            np.maximum(most, generations, out=most)
            np.minimum(least, np.where(generations < 0, least, generations), out=least)
        return most > least

    return broken


def _longer(table: NDArray[T], rows: int, value: int) -> NDArray[T]:
    return np.concatenate((table, np.full((rows, *table.shape[1:]), value, table.dtype)))
