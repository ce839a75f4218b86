"""Performs abstract effects on a finite group.

It evaluates the same data that Z3 is given.  Where a choice is open, every outcome is returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import product
from types import SimpleNamespace
from typing import Any

from fencepost.properties.logic.formula_closure import SetClosure, compile_set, everything, slot
from fencepost.properties.logic.logic import TRUE
from fencepost.properties.proofs.abstract_effect import AbstractEffect, Becomes, Counts, Moves
from fencepost.properties.worlds.abstract_event import AbstractEvent
from fencepost.properties.worlds.abstraction import AbstractGroup, compiled

_SETS: dict[int, tuple[Becomes, SetClosure]] = {}
_OTHER = "?"
"""An id that no member has: the other case of a choice."""


@dataclass(frozen=True, slots=True)
class Universe:
    """The ids and instances that a step may speak of."""

    ids: frozenset[str]
    instances: frozenset[str]


def universe(group: AbstractGroup, event: AbstractEvent) -> Universe:
    """Return all ids and instances that occur in the group and in the event."""
    return Universe(
        everything(0, group, group, event) | event.named, everything(1, group, group, event)
    )


def performed(
    effect: AbstractEffect, group: AbstractGroup, event: AbstractEvent, world: Universe
) -> Iterator[AbstractGroup]:
    """Yield every group that the effect may lead to."""
    scratch = SimpleNamespace(
        **{one.name: getattr(event, one.name) for one in fields(event)},
        mid_given=event.mid_given,
        inst_given=event.inst_given,
    )
    if effect.condition is not TRUE and not compiled(effect.condition)(group, group, scratch):
        yield group
        return
    options = sorted(world.ids | {_OTHER, event.the_fresh_id})
    for picked in product(options, repeat=len(effect.choices)):
        for choice, one in zip(effect.choices, picked, strict=True):
            setattr(scratch, slot(choice.term.name), one)
        if all(compiled(c.such_that)(group, group, scratch) for c in effect.choices):
            yield _changed(effect, group, scratch, world)


def _changed(
    effect: AbstractEffect, group: AbstractGroup, event: Any, world: Universe
) -> AbstractGroup:
    found: dict[str, Any] = {}
    for change in effect.changes:
        match change:
            case Becomes(relation, _, _):
                closure = _set_of(change)
                found[relation.name] = closure(group, group, event, world.ids, world.instances)
            case Counts(number, source, plus):
                base = 0 if source is None else getattr(group, slot(source.name))
                found[slot(number.name)] = base + plus
            case Moves(feature, cases):
                for value, formula in cases:
                    if compiled(formula)(group, group, event):
                        found[slot(feature.name)] = value
                        break
    return replace(group, **found)


def _set_of(change: Becomes) -> SetClosure:
    kept = _SETS.get(id(change))
    if kept is None:
        kept = _SETS[id(change)] = (change, compile_set(change.terms, change.formula))
    return kept[1]
