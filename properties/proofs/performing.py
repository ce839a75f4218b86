"""Perform abstract effects on a finite group: the same data as Z3 gets, evaluated.

Where a choice is open, every outcome is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from types import SimpleNamespace
from typing import Any

from fencepost.model.table.table import Rule
from fencepost.properties.logic.formula_closure import (
    SetClosure,
    Things,
    compile_set,
    everything,
    slot,
)
from fencepost.properties.logic.logic import TRUE, Sort
from fencepost.properties.logic.structures import Abstraction
from fencepost.properties.proofs.theory import (
    AbstractEffect,
    AnyThat,
    Becomes,
    Counts,
    Moves,
)

_OTHER = "?"
"""An id that no member has: the other case of a choice."""


@dataclass(frozen=True, slots=True)
class Performer:
    """Performs effects on the structures of one protocol."""

    abstraction: Abstraction
    _sets: dict[int, tuple[Becomes, SetClosure]] = field(default_factory=dict)

    def things(self, group: Any, then: Any, event: Any) -> Things:
        """Return everything that occurs in a step, by sort."""
        signature = self.abstraction.signature
        ids, *others = (
            everything(signature, place, group, then, event) for place in range(len(Sort))
        )
        return (ids | event.named, *others)

    def performed(
        self, effect: AbstractEffect, group: Any, event: Any, things: Things, then: Any = None
    ) -> Iterator[Any]:
        """Yield every group that an effect may lead to.

        `then`: the group after the step, from which a relation is taken that may be any.
        """
        signature, compiled = self.abstraction.signature, self.abstraction.compiled
        known = {thing.name: getattr(event, thing.name) for thing in fields(event)}
        for relation in signature.event_relations:
            known[relation.name] = getattr(event, relation.name)
        scratch = SimpleNamespace(**known)
        condition = None if effect.condition is TRUE else compiled(effect.condition)
        sent = {known[slot(term.name)] for term in signature.terms if term.sort is Sort.ID}
        by_sort = dict(zip(Sort, things, strict=True))
        by_sort[Sort.ID] = frozenset({*things[0], *sent, _OTHER})
        options = (sorted(by_sort[choice.term.sort]) for choice in effect.choices)
        for picked in product(*options):
            for choice, thing in zip(effect.choices, picked, strict=True):
                setattr(scratch, slot(choice.term.name), thing)
            if condition is not None and not condition(group, group, scratch):
                yield group
            elif all(compiled(c.such_that)(group, group, scratch) for c in effect.choices):
                yield from self._changed(effect, group, scratch, things, then)

    def _changed(
        self, effect: AbstractEffect, group: Any, event: Any, things: Things, then: Any
    ) -> Iterator[Any]:
        compiled = self.abstraction.compiled
        changes: dict[str, Any] = {}
        for change in effect.changes:
            match change:
                case Becomes(relation, _, _):
                    closure = self._set_of(change)
                    changes[relation.name] = closure(group, group, event, things)
                case AnyThat(relation, such_that):
                    made = replace(group, **{relation.name: getattr(then, relation.name)})
                    if not compiled(such_that)(made, made, event):
                        return
                    changes[relation.name] = getattr(then, relation.name)
                case Counts(number, source, plus):
                    base = 0 if source is None else getattr(group, slot(source.name))
                    changes[slot(number.name)] = base + plus
                case Moves(feature, cases):
                    for value, formula in cases:
                        if compiled(formula)(group, group, event):
                            changes[slot(feature.name)] = value
                            break
        yield replace(group, **changes)

    def _set_of(self, change: Becomes) -> SetClosure:
        kept = self._sets.get(id(change))
        if kept is None:
            closure = compile_set(change.terms, change.formula, self.abstraction.signature)
            kept = self._sets[id(change)] = (change, closure)
        return kept[1]


def compared(groups: Sequence[Any], after: Any, rules: Iterable[Rule]) -> str | None:
    """Return the fewest differences of abstract groups to the one that there is; None: it is one.

    `rules`: those of the step, for the sentence.
    """
    differences = [group.differences(after) for group in groups]
    if not differences or () in differences:
        return None if differences else "no abstract step follows"
    fewest = min(range(len(groups)), key=lambda i: len(differences[i]))
    names = " then ".join(rule.id for rule in rules) or "no rule"
    parts = [
        f"{name} should be {_text_of(getattr(groups[fewest], name))} and is "
        f"{_text_of(getattr(after, name))}"
        for name in differences[fewest]
    ]
    return f"after {names}, {'; '.join(parts)}"


def _text_of(value: object) -> str:
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(getattr(value, "value", value))
