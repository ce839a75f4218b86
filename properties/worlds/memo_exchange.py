"""What one process found out about worlds, in the numbers of another.

Processes that explore worlds together (see `fencepost.properties.worlds.compact_worlds`) hand over
everything that the model was asked, so that no process asks again in a later level what any other
has asked.  What only takes looking up is not handed over.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.model.classic.group import Group
from fencepost.model.classic.work import Emission
from fencepost.properties.worlds.canonical import Naming
from fencepost.properties.worlds.world_client import Client

if TYPE_CHECKING:
    from fencepost.properties.worlds.compact_worlds import CompactWorlds

BITS = 20
"""For the number of what a client knows."""
MASK = (1 << BITS) - 1
NOBODY = -1


class Note(NamedTuple):
    """An act without its client: see `fencepost.properties.worlds.world.Act`."""

    kind: str
    choice: int = 0
    faults: tuple[str, ...] = ()
    about: tuple[str, ...] = ()


class MemoMove(NamedTuple):
    """What an act comes to: its note, the acting client after it, who is renamed how, the group.

    All are numbers; `own` is NOBODY if nobody acts.
    """

    note: int
    own: int
    renaming: int
    group: int


class Learnt(NamedTuple):
    """What a process came to know, in its own numbers, for another one.

    `groups`, `clients`, `notes`, `renamings`: those that are new, numbered on from what both know.
    `pairs`: of a group and a client that acts, each with as many moves as `lengths` says, whose
    numbers are in `moves`.
    """

    groups: list[Group | None]
    clients: list[tuple[Any, ...]]
    notes: list[tuple[Any, ...]]
    renamings: list[tuple[Mapping[str, str], int, tuple[Emission, ...]]]
    pairs: array[int]
    lengths: array[int]
    moves: array[int]


class WorldsTranslation:
    """From the numbers of one worker to those of the process that it was forked from."""

    def __init__(self, owner: CompactWorlds) -> None:
        self._owner = owner
        self._bases = owner.sizes()
        self._groups: list[int] = []
        self._clients: list[int] = []
        self._notes: list[int] = []
        self._renamings: list[int] = []

    def adopt(self, learnt: Learnt) -> None:
        """Take over what the worker learnt."""
        owner = self._owner
        self._groups += [owner.number_of_group(group) for group in learnt.groups]
        self._clients += [owner.number_of_client(Client(*client)) for client in learnt.clients]
        self._notes += [owner.number_of_note(Note(*note)) for note in learnt.notes]
        self._renamings += [
            owner.number_of_renaming(Naming(None, ids, shift), emissions)
            for ids, shift, emissions in learnt.renamings
        ]
        numbers = iter(learnt.moves)
        for pair, length in zip(learnt.pairs, learnt.lengths, strict=True):
            moves = tuple([self._move(numbers) for _ in range(length)])
            group, index = divmod(pair >> BITS, owner.count + 1)
            client = pair & MASK
            if index < owner.count:
                client = self._client(client)
            own = (self._group(group) * (owner.count + 1) + index) << BITS | client
            owner.moves.setdefault(own, moves)

    def state(self, state: int) -> int:
        """Return the world of the worker's number, in one's own."""
        owner = self._owner
        key = self._group(state >> owner.bits)
        for shift in owner.shifts:
            key = key << BITS | self._client((state >> shift) & MASK)
        return key

    def action(self, action: int) -> int:
        """Return the act of the worker's number, in one's own."""
        count = self._owner.count + 1
        note, index = divmod(action, count)
        return self._note(note) * count + index

    def _move(self, numbers: Iterator[int]) -> MemoMove:
        note, own, renaming, group = next(numbers), next(numbers), next(numbers), next(numbers)
        base = self._bases[3]
        return MemoMove(
            self._note(note),
            own if own == NOBODY else self._client(own),
            renaming if renaming < base else self._renamings[renaming - base],
            self._group(group),
        )

    def _group(self, number: int) -> int:
        base = self._bases[0]
        return number if number < base else self._groups[number - base]

    def _client(self, number: int) -> int:
        base = self._bases[1]
        return number if number < base else self._clients[number - base]

    def _note(self, number: int) -> int:
        base = self._bases[2]
        return number if number < base else self._notes[number - base]
