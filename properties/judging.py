"""Properties at work: what each says of a step or a world, and as checks for the explorer.

Decides where each kind is looked at.  Step properties, and state properties that are formulas about
the group, are judged once for each step that a group can take (many worlds share it) and written
down as notes on the act; state properties that need the clients are judged in each world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from fencepost.model.group import Group
from fencepost.properties.abstraction import evaluate
from fencepost.properties.exploration import Check
from fencepost.properties.logic import Formula
from fencepost.properties.property import Engine, Kind, Property
from fencepost.properties.views import StepView, WorldView
from fencepost.properties.worlds import Act, World, Worlds

T = TypeVar("T")
BROKEN, REACHED = "-", "+"
_SAYS = ": "


class Judging:
    """Some properties, ready to look at steps and worlds.  Takes those that exploration checks."""

    def __init__(self, properties: Iterable[Property]) -> None:
        mine = [p for p in properties if Engine.EXPLORATION in p.engines]
        self.of_steps = [p for p in mine if p.kind is Kind.STEP]
        self.of_groups = [p for p in mine if p.kind is Kind.STATE and p.formula is not None]
        self.of_worlds = [p for p in mine if p.kind is Kind.STATE and p.formula is None]
        self._groups: dict[Group | None, tuple[str, ...]] = {}

    def notes(self, view: StepView) -> Iterator[str]:
        """For each property that the step is about: that it was, and if it is broken, how."""
        for one in self.of_steps:
            if premise_holds(one, view):
                yield REACHED + one.id
            if sentence := broken(one, view):
                yield BROKEN + one.id + _SAYS + sentence
        yield from self._of_group(view.after)

    def _of_group(self, group: Group | None) -> tuple[str, ...]:
        notes = self._groups.get(group)
        if notes is None:
            found = []
            for one in self.of_groups:
                if premise_holds(one, group):
                    found.append(REACHED + one.id)
                if sentence := broken(one, group):
                    found.append(BROKEN + one.id + _SAYS + sentence)
            notes = self._groups[group] = tuple(found)
        return notes

    def checks(self, worlds: Worlds) -> list[Check[World, Act]]:
        """All of it as checks for the explorer."""
        noted = [
            Check(
                one.id,
                step=partial(_noted, BROKEN + one.id + _SAYS),
                step_witness=partial(_reached, REACHED + one.id),
            )
            for one in (*self.of_steps, *self.of_groups)
        ]
        seen: list[Check[World, Act]] = [
            Check(
                one.id,
                state=partial(_of_world, worlds, partial(broken, one)),
                witness=partial(_of_world, worlds, partial(premise_holds, one)),
            )
            for one in self.of_worlds
        ]
        return [*noted, *seen]


def broken(one: Property, thing: StepView | WorldView | Group | None) -> str | None:
    """What is wrong, in one sentence, or None.  A formula's sentence is its meaning, denied."""
    if one.formula is not None:
        assert not isinstance(thing, WorldView)
        return None if evaluate(one.formula, thing) else f"it does not hold that: {one.meaning}"
    assert one.holds is not None
    return one.holds(thing)


def premise_holds(one: Property, thing: StepView | WorldView | Group | None) -> bool:
    """Whether the case that the property is about is there."""
    premise = one.premise
    if isinstance(premise, Formula):
        assert not isinstance(thing, WorldView)
        return evaluate(premise, thing)
    assert premise is not None
    return premise(thing)


def sentence_of(notes: Sequence[str], property_id: str) -> str | None:
    """What a step's notes say against a property."""
    prefix = BROKEN + property_id + _SAYS
    return next((n.removeprefix(prefix) for n in notes if n.startswith(prefix)), None)


def _noted(prefix: str, _before: World, act: Act, _after: World) -> str | None:
    for note in act.notes:
        if note.startswith(prefix):
            return note[len(prefix) :]
    return None


def _reached(note: str, _before: World, act: Act, _after: World) -> bool:
    return note in act.notes


def _of_world(worlds: Worlds, say: Callable[[WorldView], T], world: World) -> T:
    return say(WorldView(world.group, world.clients, worlds.seats))
