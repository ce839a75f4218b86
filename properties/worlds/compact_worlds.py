"""Represent worlds as numbers: the same worlds, acts and order, at a small part of the cost.

A group, and the knowledge of one client, are each kept once and have a number; a world is one
integer made of them.  The effect of an act depends on the group and on the client that acts, so the
model is asked once for each such pair; its effect on the other clients depends on the renaming of
ids and generations, so that is computed once for each renaming and client.  The rest of a step is
looking up.

Results that are not known yet come from `fencepost.properties.worlds.world`, and a test compares
the two.  Numbers are given in the order of discovery, so they differ between processes.

Processes that explore worlds together share memoised transitions: they hand over all answers of the
model, so that no process computes in a later level what another has computed.  Results that only
take looking up are not handed over.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.model.messages.shapes import Message
from fencepost.model.work import Emission
from fencepost.properties.worlds.protocol_worlds import CUT_OFFS, NOW, Ask, Naming, own_answer

if TYPE_CHECKING:
    from fencepost.properties.worlds.world import Act, Transition, World, Worlds


BITS = 20
"""Bits for the number of a client's knowledge."""
MASK = (1 << BITS) - 1
NOBODY = -1


class Note(NamedTuple):
    """An act without its client: see `fencepost.properties.worlds.world.Act`."""

    kind: str
    choice: int = 0
    faults: tuple[str, ...] = ()
    about: tuple[str, ...] = ()


class MemoMove(NamedTuple):
    """The effect of an act: its note, the acting client after it, the renaming, the group.

    All are numbers; `own` is NOBODY if nobody acts.
    """

    note: int
    own: int
    renaming: int
    group: int


class MemoAnswer(NamedTuple):
    """An outcome of a request, for whoever sends it in this group.

    `answer`: to the request; `waits`: the name by which it waits for one, "" if it doesn't.  The
    others are numbers, as in `MemoMove`.
    """

    note: int
    answer: Message | None
    waits: str
    renaming: int
    group: int


class Learnt(NamedTuple):
    """New results of a process, in its own numbers, for another one.

    `groups`, `clients`, `notes`, `renamings`: the new ones, numbered on from those that both know.
    `pairs`: of a group and a client that acts; the numbers of their moves are in `moves`, and
    `lengths` has the number of moves of each.
    """

    groups: list[Any]
    clients: list[tuple[Any, ...]]
    notes: list[tuple[Any, ...]]
    renamings: list[tuple[Mapping[str, str], int, tuple[Emission, ...]]]
    pairs: array[int]
    lengths: array[int]
    moves: array[int]


class WorldsTranslation:
    """A translation from a worker's numbers to those of the process that it was forked from."""

    def __init__(self, owner: CompactWorlds) -> None:
        self._owner = owner
        self._bases = owner.sizes()
        self._groups: list[int] = []
        self._clients: list[int] = []
        self._notes: list[int] = []
        self._renamings: list[int] = []

    def adopt(self, learnt: Learnt) -> None:
        """Adopt the worker's new numbers."""
        owner = self._owner
        self._groups += [owner.number_of_group(group) for group in learnt.groups]
        self._clients += [
            owner.number_of_client(owner.protocol.client(*client)) for client in learnt.clients
        ]
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
        """Return the world of the worker's number as a number of the owner."""
        owner = self._owner
        key = self._group(state >> owner.bits)
        for shift in owner.shifts:
            key = key << BITS | self._client((state >> shift) & MASK)
        return key

    def action(self, action: int) -> int:
        """Return the act of the worker's number as a number of the owner."""
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


class _Renaming(dict[int, int]):
    """The numbers of clients after a step that they did not take, in the new names."""

    __slots__ = ("emissions", "naming", "owner")

    def __init__(
        self, owner: CompactWorlds, naming: Naming, emissions: tuple[Emission, ...]
    ) -> None:
        self.owner = owner
        self.naming = naming
        self.emissions = emissions

    def __missing__(self, number: int) -> int:
        owner = self.owner
        client = owner.protocol.overheard(owner.clients[number], self.emissions)
        known = owner.protocol.known_as(client, self.naming)
        renamed = self[number] = owner.number_of_client(known)
        return renamed


class _Placed(dict[tuple[int, ...], int]):
    """The clients of a world in order, as the low bits of its number."""

    __slots__ = ("owner",)

    def __init__(self, owner: CompactWorlds) -> None:
        self.owner = owner

    def __missing__(self, row: tuple[int, ...]) -> int:
        owner = self.owner
        clients, _, _ = owner.worlds.arranged([owner.clients[number] for number in row])
        packed = 0
        for client in clients:
            packed = packed << BITS | owner.number_of_client(client)
        self[row] = packed
        return packed


class CompactWorlds:
    """Worlds as integers, a system to explore; acts are integers, too."""

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        self.protocol = worlds.protocol
        self.groups: list[Any] = []
        self.clients: list[Any] = []
        self.notes: list[Note] = []
        self.renamings: list[_Renaming] = []
        self._group_numbers: dict[Any, int] = {}
        self._client_numbers: dict[Any, int] = {}
        self._note_numbers: dict[Note, int] = {}
        self._renaming_numbers: dict[object, int] = {}
        self.moves: dict[int, tuple[MemoMove, ...]] = {}
        self._answers: dict[tuple[int, str, Ask], tuple[MemoAnswer, ...]] = {}
        self._placed = _Placed(self)
        count = len(worlds.seats)
        self.count = count
        self.bits = BITS * count
        self.shifts = tuple(BITS * (count - 1 - i) for i in range(count))
        kinds = [(s.instance, tuple(sorted(s.versions.items())), s.patience) for s in worlds.seats]
        self._like = tuple(kinds.index(kind) for kind in kinds)
        """For each client the first one that sends the same requests."""
        self._world = worlds.world
        self._acts: dict[int, Act] = {}
        self._base = (0, 0, 0, 0)
        self._new_moves: dict[int, tuple[MemoMove, ...]] | None = None

    # The system, as the explorer wants it.

    def initial(self) -> Iterable[int]:
        """Yield the initial worlds."""
        for world in self.worlds.initial():
            yield self.closed(world)

    def successors(self, key: int) -> Iterator[tuple[int, int]]:
        """Yield every enabled act and its next world, in the order of `Worlds.successors`."""
        count = self.count
        bits = self.bits
        group = key >> bits
        parts = [(key >> shift) & MASK for shift in self.shifts]
        moves, placed, renamings = self.moves, self._placed, self.renamings
        base = group * (count + 1) << BITS
        for index in range(count):
            like = self._like[index]
            pair = base + (like << BITS) + parts[index]
            choices = moves.get(pair)
            if choices is None:
                choices = self._learn(pair, tuple(self._by_client(group, parts[index], like)))
            for note, own, renaming, after in choices:
                known = renamings[renaming]
                row = [known[part] for part in parts]
                row[index] = own
                yield note * (count + 1) + index, after << bits | placed[tuple(row)]
        pair = base + (count << BITS)
        choices = moves.get(pair)
        if choices is None:
            choices = self._learn(pair, tuple(self._by_nobody(group)))
        for note, _, renaming, after in choices:
            known = renamings[renaming]
            yield (
                note * (count + 1) + count,
                after << bits | placed[tuple([known[part] for part in parts])],
            )

    # Between numbers and what they stand for.

    def opened(self, key: int) -> World:
        """Return the world of a number."""
        clients = tuple([self.clients[(key >> shift) & MASK] for shift in self.shifts])
        return self._world(self.groups[key >> self.bits], clients)

    def closed(self, world: World) -> int:
        """Return the number of a world."""
        key = self.number_of_group(world.group)
        for client in world.clients:
            key = key << BITS | self.number_of_client(client)
        return key

    def act(self, label: int) -> Act:
        """Return the act of a number."""
        act = self._acts.get(label)
        if act is None:
            note, index = divmod(label, self.count + 1)
            index = NOBODY if index == self.count else index
            act = self._acts[label] = self.worlds.act(self.notes[note], index)
        return act

    def number_of_group(self, group: Any) -> int:
        """Return the number of a group."""
        number = self._group_numbers.setdefault(group, len(self.groups))
        if number == len(self.groups):
            self.groups.append(group)
        return number

    def number_of_client(self, client: Any) -> int:
        """Return the number of a client's knowledge.  Raises OverflowError."""
        number = self._client_numbers.setdefault(client, len(self.clients))
        if number == len(self.clients):
            if number > MASK:
                raise OverflowError(f"clients know more than {MASK} different things; bound them")
            self.clients.append(client)
        return number

    def number_of_note(self, note: Note) -> int:
        """Return the number of an act without its client."""
        number = self._note_numbers.setdefault(note, len(self.notes))
        if number == len(self.notes):
            self.notes.append(note)
        return number

    def number_of_renaming(self, naming: Naming, emissions: tuple[Emission, ...]) -> int:
        """Return the number of a step's effect on the others: new names, and their answers."""
        answers = tuple((e.request_id, e.message) for e in emissions)
        key = (tuple(naming.ids.items()), naming.shift, answers)
        number = self._renaming_numbers.setdefault(key, len(self.renamings))
        if number == len(self.renamings):
            naming = Naming(None, naming.ids, naming.shift)
            self.renamings.append(_Renaming(self, naming, emissions))
        return number

    # What one process learns and another can use: see `fencepost.properties.worlds.compact_worlds`.

    def begin(self) -> None:
        """Record new results from now on."""
        self._base = self.sizes()
        self._new_moves = {}

    def learnt(self) -> Learnt:
        """Return the new results since `begin` or the last call."""
        groups, clients, notes, renamings = self._base
        self._base = self.sizes()
        moves, self._new_moves = self._new_moves or {}, {}
        return Learnt(
            self.groups[groups:],
            [tuple(client) for client in self.clients[clients:]],
            [tuple(note) for note in self.notes[notes:]],
            [(r.naming.ids, r.naming.shift, r.emissions) for r in self.renamings[renamings:]],
            array("q", moves),
            array("q", map(len, moves.values())),
            array("q", [n for choices in moves.values() for move in choices for n in move]),
        )

    def translation(self) -> WorldsTranslation:
        """Return a translation for a worker that is forked now."""
        return WorldsTranslation(self)

    def sizes(self) -> tuple[int, int, int, int]:
        """Return the numbers of groups, clients, notes and renamings."""
        return len(self.groups), len(self.clients), len(self.notes), len(self.renamings)

    # What is not known yet.

    def _learn(self, pair: int, choices: tuple[MemoMove, ...]) -> tuple[MemoMove, ...]:
        self.moves[pair] = choices
        if self._new_moves is not None:
            self._new_moves[pair] = choices
        return choices

    def _by_client(self, group: int, part: int, like: int) -> Iterator[MemoMove]:
        worlds, there, client = self.worlds, self.groups[group], self.clients[part]
        for kind in worlds.acts_of(there, client, like):
            if kind in CUT_OFFS:
                naming = worlds.unchanged(there)
                number = self._own(self.protocol.cut_off(client, kind), naming)
                renaming = self.number_of_renaming(naming, ())
                yield MemoMove(self.number_of_note(Note(kind)), number, renaming, group)
                continue
            ask = worlds.ask(client, kind, like)
            asking = worlds.asking(client, kind)
            for note, answer, waits, renaming, after in self._answered(group, kind, ask):
                own = worlds.answered(asking, kind, answer, waits)
                naming = self.renamings[renaming].naming
                yield MemoMove(note, self._own(own, naming), renaming, after)

    def _own(self, client: Any, naming: Naming) -> int:
        return self.number_of_client(self.protocol.known_as(client, naming))

    def _answered(self, group: int, kind: str, ask: Ask) -> tuple[MemoAnswer, ...]:
        """Return the outcomes of a request; cached, since what a client sends is little."""
        key = (group, kind, ask)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = tuple(
                MemoAnswer(
                    self.number_of_note(note),
                    *own_answer(done.emissions, done.naming),
                    *self._effect(done),
                )
                for note, done in self.worlds.answers(self.groups[group], kind, ask)
            )
        return known

    def _by_nobody(self, group: int) -> Iterator[MemoMove]:
        for note, done in self.worlds.moves_of_nobody(self.groups[group]):
            yield MemoMove(self.number_of_note(note), NOBODY, *self._effect(done))

    def _effect(self, done: Transition) -> tuple[int, int]:
        """Return the numbers of an outcome: its renaming with answers to others, and its group."""
        others = tuple(e for e in done.emissions if e.request_id != NOW)
        renaming = self.number_of_renaming(done.naming, others)
        return renaming, self.number_of_group(done.naming.group)
