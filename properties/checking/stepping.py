"""Step through worlds by hand: what may happen next, one step on, some steps back.

A stepper has the worlds of an exploration, unfolded, and the clients and the machine of these.  So
what it offers is what the explorer visits, in the same order, and a choice has a number.  Each step
is a turn of a concrete run, judged by the properties.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

from fencepost.model.history.events import Event
from fencepost.model.history.words import with_names
from fencepost.model.revision import Revision
from fencepost.properties.checking.checking import stops_of
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, broken, excused_rules
from fencepost.properties.claims.world_properties import DECIDED
from fencepost.properties.logic.logic import Property
from fencepost.properties.worlds.concretise import Run, Turn, Unfolding
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world import Act, World, Worlds


class BrokenProperty(NamedTuple):
    """A property that a step violates, and what is wrong; `is_expected`: known of the revision."""

    id: str
    sentence: str
    is_expected: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """An act that may happen next.

    `turn`: what happens then, and `names`: the meaning of names afterwards; None where the machine
    stops, and `stop` says why.  `faults`: the properties that it violates.
    """

    act: Act
    turn: Turn | None = None
    names: Unfolding | None = None
    stop: str = ""
    faults: tuple[BrokenProperty, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """A world on the way, its names, and what led to it: the choice of this number."""

    world: World
    names: Unfolding
    choice: Choice | None = None
    number: int = 0


class JudgedWorlds:
    """The worlds of a revision within a scope, unfolded, each step judged by properties."""

    def __init__(self, revision: Revision, scope: Scope, properties: Iterable[Property]) -> None:
        judging = Evaluator([p for p in properties if p is not DECIDED], revision)
        self.worlds = Worlds(revision, replace(scope, fold=False), judging.judge)
        self._stops = stops_of(revision)
        self._claims = {c: excused_rules(c, revision) is None for c in judging.of_worlds}
        self._broken: dict[World, tuple[BrokenProperty, ...]] = {}

    def results(self, world: World) -> Iterator[tuple[Act, World | None, str]]:
        """Yield what may happen: the act, and its world, or the reason why the machine stops."""
        for kind, index in self.worlds.enabled(world):
            try:
                for act, after in self.worlds.results(world, kind, index):
                    yield act, after, ""
            except self._stops as error:
                yield Act(kind, index), None, str(error).partition("\n")[0] or "no rule decides"

    def faults(self, before: World, act: Act, after: World) -> tuple[BrokenProperty, ...]:
        """Return what a step violates, and what is violated after it and was not before."""
        faults = []
        for note in act.faults:
            name, _, sentence = note.removeprefix(EXCUSED).partition(": ")
            faults.append(BrokenProperty(name, sentence, note.startswith(EXCUSED)))
        known = {fault.id for fault in self.broken(before)}
        return (*faults, *(fault for fault in self.broken(after) if fault.id not in known))

    def broken(self, world: World) -> tuple[BrokenProperty, ...]:
        """Return the properties of worlds that a world violates."""
        if world not in self._broken:
            view = self.worlds.look(world)
            wrong = ((claim, broken(claim, view)) for claim in self._claims)
            self._broken[world] = tuple(
                BrokenProperty(claim.id, sentence, self._claims[claim])
                for claim, sentence in wrong
                if sentence is not None
            )
        return self._broken[world]


class Stepper:
    """A run in progress: where it is, the way to there, and what may happen next."""

    def __init__(self, judged: JudgedWorlds) -> None:
        self.judged = judged
        self.worlds = judged.worlds
        (world,) = self.worlds.initial()
        self._way = [_Place(world, Unfolding.begin(self.worlds, world))]
        self._choices: tuple[Choice, ...] | None = None

    @property
    def world(self) -> World:
        """The present world."""
        return self._way[-1].world

    @property
    def names(self) -> Unfolding:
        """The meaning of the names in the present world."""
        return self._way[-1].names

    @property
    def taken(self) -> tuple[Choice, ...]:
        """The choices that were taken."""
        return tuple(place.choice for place in self._way if place.choice is not None)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Their numbers, from 1."""
        return tuple(place.number for place in self._way[1:])

    @property
    def repeated(self) -> int:
        """The number of last steps that lead back to the present world; 0 if it is a new one.

        Ids, generations and times may be others: they don't count in worlds.
        """
        before = [place.world for place in self._way[-2::-1]]
        return before.index(self.world) + 1 if self.world in before else 0

    def choices(self) -> tuple[Choice, ...]:
        """Return what may happen next."""
        if self._choices is None:
            self._choices = tuple(self._offered())
        return self._choices

    def _offered(self) -> Iterator[Choice]:
        for act, after, stop in self.judged.results(self.world):
            if after is None:
                yield Choice(act, stop=stop)
                continue
            names = self.names.fork()
            turn = names.turn(self.world, act, after)
            ids = {**names.ids, **self.names.ids}
            faults = (
                fault._replace(sentence=with_names(fault.sentence, ids))
                for fault in self.judged.faults(self.world, act, after)
            )
            yield Choice(act, turn, names, faults=tuple(faults))

    def take(self, number: int) -> Choice:
        """Take and return the choice of this number, from 1.  Raises ValueError with what to do."""
        choices = self.choices()
        if not 1 <= number <= len(choices):
            there = f"choose 1 to {len(choices)}" if choices else "nothing can happen any more"
            raise ValueError(f"there is no choice {number}; {there}")
        chosen = choices[number - 1]
        if chosen.turn is None or chosen.names is None:
            raise ValueError(f"the machine stops in choice {number} ({chosen.stop}); take another")
        self._way.append(_Place(chosen.turn.world, chosen.names, chosen, number))
        self._choices = None
        return chosen

    def go(self, numbers: Sequence[int]) -> None:
        """Go to where these choices lead from the beginning.  Raises ValueError, as `take`."""
        pairs = zip(self.numbers, numbers, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if shared < len(self.numbers):
            del self._way[shared + 1 :]
            self._choices = None
        for number in numbers[shared:]:
            self.take(number)

    def run(self) -> Run:
        """Return the run so far."""
        turns = tuple(choice.turn for choice in self.taken if choice.turn is not None)
        return Run(turns, self.names.names, self.names.senders)


def follow(stepper: Stepper, events: Sequence[Event]) -> int:
    """Take the steps that make these events, and return how many events are made.

    Where the events don't tell choices apart, those are taken that go on the furthest, of these
    the first ones.
    """
    made, way = 0, stepper.numbers
    reached = {(0, stepper.world)}
    untried = [(0, stepper.numbers)]
    while untried and made < len(events):
        done, numbers = untried.pop()
        stepper.go(numbers)
        if done > made:
            made, way = done, numbers
        for number, choice in reversed([*enumerate(stepper.choices(), start=1)]):
            turn = choice.turn
            if turn is None or turn.events != tuple(events[done : done + len(turn.events)]):
                continue
            after = (done + len(turn.events), turn.world)
            if after not in reached:
                reached.add(after)
                untried.append((after[0], (*numbers, number)))
    stepper.go(way)
    return made
