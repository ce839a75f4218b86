"""From Z3's model to a counterexample that can be read: few ids, few instances, little else.

Decides what small means: first the fewest ids and instances, then as little else as can be.  What
comes out is a finite step, on which the engine that exploration uses evaluates the same formula;
a test has the two agree.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields
from typing import Any

import z3

from fencepost.model.expr import Feature
from fencepost.model.vocabulary import SELECTION, SUBSCRIPTION, Change, GroupState
from fencepost.properties import signature as sig
from fencepost.properties.abstract_event import AbstractEvent
from fencepost.properties.abstract_steps import Path
from fencepost.properties.abstraction import AbstractGroup, AbstractStep
from fencepost.properties.formula_closure import slot
from fencepost.properties.logic import Formula, Relation, Sort, exists, is_now, negate
from fencepost.properties.proof_paths import Encoded, bound
from fencepost.properties.proof_results import Counterexample
from fencepost.properties.proof_terms import STATES, Scene, Symbols, Z, translate

Ask = Callable[[Z], str]
"""A solver → "sat", "unsat" or "unknown"."""

_SIZES = ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 2), (5, 3))
_QUIET: tuple[Formula, ...] = (
    is_now(sig.STORED_STATE, GroupState.ABSENT),
    negate(sig.OFFSETS.now()),
    negate(sig.DELAYED.now()),
    negate(sig.SYNC_TIMER.now()),
    *(
        negate(exists(sig.X, relation.now(sig.X)))
        for relation in (sig.PENDING, sig.NEW, sig.SYNCING, sig.PARKED, sig.OWES)
    ),
    negate(exists(sig.X, sig.I, sig.SEAT.now(sig.X, sig.I))),
)
_FIELDS = {one.name for one in fields(AbstractGroup)}


def smallest(solver: Z, encoded: Encoded, path: Path, ask: Ask) -> Counterexample | None:
    """The smallest model of what the solver holds, as a step; None if none is found that small."""
    for ids, instances in _SIZES:
        constraints, universe = bound(ids, instances)
        solver.push()
        solver.add(*constraints)
        if ask(solver) == "sat":
            model = _quiet(solver, encoded.scene, ask)
            solver.pop()
            return _read(model, encoded.scene, universe, path)
        solver.pop()
    return None


def is_satisfiable(solver: Z, ask: Ask) -> str:
    """Whether there is a model; where the question stays open, whether there is a small one."""
    answer = ask(solver)
    if answer != "unknown":
        return answer
    for ids, instances in _SIZES:
        constraints, _ = bound(ids, instances)
        solver.push()
        solver.add(*constraints)
        answer = ask(solver)
        solver.pop()
        if answer == "sat":
            return answer
    return "unknown"


def _quiet(solver: Z, scene: Scene, ask: Ask) -> Z:
    """A model in which as little as can be is the case before the step."""
    model = solver.model()
    kept = 0
    for wish in _QUIET:
        solver.push()
        solver.add(translate(wish, scene))
        if ask(solver) == "sat":
            model = solver.model()
            kept += 1
        else:
            solver.pop()
    for _ in range(kept):
        solver.pop()
    return model


def _tuples(relation: Relation, universe: dict[Sort, list[Z]]) -> list[tuple[Z, ...]]:
    found: list[tuple[Z, ...]] = [()]
    for sort in relation.sorts:
        found = [(*front, one) for front in found for one in universe[sort]]
    return found


class _Reader:
    """Reads a model, and names what it finds: members m1, m2…, instances A, B…"""

    def __init__(self, model: Z, universe: dict[Sort, list[Z]]) -> None:
        self._model = model
        self._names: dict[Sort, dict[str, str]] = {Sort.ID: {}, Sort.INSTANCE: {}}
        self.things: dict[Sort, list[Z]] = {}
        for sort, constants in universe.items():
            seen = {str(value): value for value in map(self._value, constants)}
            self.things[sort] = [seen[key] for key in sorted(seen)]
            for number, key in enumerate(sorted(seen)):
                name = f"m{number + 1}" if sort is Sort.ID else chr(ord("A") + number)
                self._names[sort][key] = name

    def _value(self, expression: Z) -> Z:
        return self._model.eval(expression, model_completion=True)

    def true(self, expression: Z) -> bool:
        return bool(z3.is_true(self._value(expression)))

    def name(self, sort: Sort, expression: Z) -> str:
        return self._names[sort][str(self._value(expression))]

    def number(self, expression: Z) -> int:
        return int(self._value(expression).as_long())

    def group(self, symbols: Symbols) -> AbstractGroup:
        found: dict[str, Any] = {}
        for relation in sig.RELATIONS:
            predicate = symbols.relations[relation.name]
            held = [t for t in _tuples(relation, self.things) if self.true(predicate.of(*t))]
            named = [
                tuple(self.name(s, one) for s, one in zip(relation.sorts, t, strict=True))
                for t in held
            ]
            if not relation.sorts:
                found[relation.name] = bool(named)
            elif len(relation.sorts) == 1:
                found[relation.name] = frozenset(one for (one,) in named)
            else:
                found[relation.name] = frozenset(named)
        for feature in sig.GROUP_FEATURES:
            state = str(self._value(symbols.states[feature]))
            found[slot(feature.name)] = next(s for s, z in STATES.items() if str(z) == state)
        for number in sig.NUMBERS:
            found[slot(number.name)] = self.number(symbols.numbers[number.name])
        return AbstractGroup(**{name: value for name, value in found.items() if name in _FIELDS})


def _read(model: Z, scene: Scene, universe: dict[Sort, list[Z]], path: Path) -> Counterexample:
    reader = _Reader(model, universe)
    asked = path.naming and not path.at_the_end
    given = asked and reader.true(scene.event[sig.MID_GIVEN.name].body)
    inst_given = asked and reader.true(scene.event[sig.INST_GIVEN.name].body)
    hole = scene.event[sig.NAMED.name]
    named = frozenset(
        reader.name(Sort.ID, one) for one in reader.things[Sort.ID] if reader.true(hole.of(one))
    )
    timed = path.table == sig.SESSION_END

    def free(feature: Feature) -> Hashable:
        used = scene.used.get(f"{feature.name} (0)")
        return Change.MEANINGLESS if used is None else feature.domain[reader.number(used[0])]

    event = AbstractEvent(
        "LeaveGroup" if path.at_the_end else path.table,
        path.rule.id,
        path.answer,
        reader.name(Sort.ID, scene.terms[sig.MID.name]) if given else "",
        reader.name(Sort.INSTANCE, scene.terms[sig.INST.name]) if inst_given else None,
        reader.name(Sort.ID, scene.terms[sig.FRESH.name]) if asked else "",
        reader.name(Sort.ID, scene.terms[sig.SUBJECT.name]) if timed else "",
        named if asked or timed else frozenset(),
        free(SELECTION),
        free(SUBSCRIPTION),
    )
    step = AbstractStep(reader.group(scene.now), event, reader.group(scene.then))
    rules = (path.rule.id,) if path.settle is None else (path.rule.id, path.settle.id)
    return Counterexample(step, rules)
