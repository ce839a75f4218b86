"""Turn Z3's model into a readable counterexample: few ids, few instances, little else.

The smallest has the fewest ids and instances, then as little else as can be.  The result is a
finite step, on which the evaluator of exploration evaluates the same formula; a test checks that
the two agree.

Exploration then searches for a run to a step by the same rule that breaks the same property.  A
proof starts from any group that its invariants allow, so it may fail on a group that no run
reaches; then an invariant is missing, and the rule is not wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.revision import Revision
from fencepost.model.table.expr import Feature
from fencepost.properties.checking.checking import stops_of
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.explorer.exploration import Check
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.logic.formula_closure import slot
from fencepost.properties.logic.logic import Formula, Property, Relation, Sort, Term
from fencepost.properties.proofs.paths import (
    Predicate,
    Scene,
    Symbols,
    Universe,
    Z,
    after,
    assumed,
    encode,
    is_up_to,
    small_universe,
    states_of,
    translate,
    within,
)
from fencepost.properties.proofs.proof_results import Counterexample
from fencepost.properties.proofs.theory import Path, Theory
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.scope import NamedScope
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.properties.worlds.worlds_by_protocol import worlds_of

Ask = Callable[[Z], str]
"""A solver → "sat", "unsat" or "unknown"."""


def smallest(
    path: Path,
    known: Sequence[Property],
    goal: Property | None,
    theory: Theory,
    solver: Callable[[], Z],
    ask: Ask,
) -> Counterexample | None:
    """Return the smallest step of this kind that meets the invariants and misses the goal.

    Without a goal: any step.  None if there is none in a small universe.
    """
    for sizes in theory.sizes:
        universe = small_universe(sizes)
        invariants = assumed(known, theory, batch=path.is_of_a_batch, universe=universe)
        encoded = encode(path, invariants, theory, universe)
        small = solver()
        small.add(*encoded.constraints, *within(encoded, universe))
        if goal is not None:
            small.add(z3.Not(after(goal, encoded, path, theory)))
        if ask(small) == "sat":
            model = _quiet(small, encoded.scene, theory.quiet, ask)
            step = theory.read(ModelReader(model, encoded.scene, universe, theory), path)
            rules = (path.rule.id,) if path.settle is None else (path.rule.id, path.settle.id)
            return Counterexample(step, rules, theory.words(step, rules))
    return None


def _quiet(solver: Z, scene: Scene, wishes: Iterable[Formula], ask: Ask) -> Z:
    """Return a model in which as few relations as can be hold before the step."""
    model = solver.model()
    for wish in wishes:
        solver.push()
        solver.add(translate(wish, scene))
        if ask(solver) == "sat":
            model = solver.model()
        else:
            solver.pop()
    return model


def _tuples(relation: Relation, universe: Universe) -> list[tuple[Z, ...]]:
    tuples: list[tuple[Z, ...]] = [()]
    for sort in relation.sorts:
        tuples = [(*front, thing) for front in tuples for thing in universe[sort]]
    return tuples


class ModelReader:
    """Reads a model, and gives names: ids m1, m2, members first; instances A, B; partitions t-0.

    Things are sorted by what is true of them, not by Z3's own names, whose order means nothing.
    Epochs are numbers in their order.
    """

    def __init__(self, model: Z, scene: Scene, universe: Universe, theory: Theory) -> None:
        self._model = model
        self.scene = scene
        self._signature = theory.abstraction.signature
        self._first = theory.first
        self._names: dict[Sort, dict[str, Any]] = {}
        self.things: Universe = {}
        for sort in sorted(universe, key=lambda sort: sort is not Sort.ID):  # ids first
            values = {str(value): value for value in map(self._value, universe[sort])}
            if sort is Sort.EPOCH:
                self._names[sort] = self._numbers(values)
                self.things[sort] = list(values.values())
                continue
            traits = {key: self._traits(sort, value) for key, value in values.items()}
            ordered = sorted(values, key=lambda key: (traits[key], key))
            self.things[sort] = [values[key] for key in ordered]
            self._names[sort] = {key: _NAMES[sort](n) for n, key in enumerate(ordered)}

    def _numbers(self, values: dict[str, Z]) -> dict[str, int]:
        """Return each epoch as a number: the constants' own, and the others above them."""
        numbers = {
            str(self._value(self.scene.terms[term.name])): term.constant
            for term in self._signature.constants
            if term.constant is not None
        }
        others = [key for key in values if key not in numbers]
        others.sort(key=lambda k: sum(self.true(is_up_to(v, values[k])) for v in values.values()))
        return {**numbers, **{key: number for number, key in enumerate(others, start=1)}}

    def _traits(self, sort: Sort, value: Z) -> list[bool]:
        """List for each fact about a thing, or about an instance's members, if it is false."""
        scene, signature = self.scene, self._signature
        relations = (*signature.relations, *signature.step_relations)
        held = [
            symbols.relations[relation.name].of(value)
            for symbols in (scene.now, scene.then)
            for relation in (*self._first, *relations)
            if relation.sorts == (sort,)
        ]
        held += [term == value for term in scene.terms.values() if term.sort() == value.sort()]
        held += [
            symbols.relations[relation.name].of(*(value if s is sort else other for s in sorts))
            for symbols in (scene.now, scene.then)
            for relation in relations
            if len(sorts := relation.sorts) == 2 and set(sorts) == {Sort.ID, sort}
            for other in self.things.get(Sort.ID, ())
            if sort is not Sort.ID
        ]
        return [not self.true(fact) for fact in held]

    def _value(self, expression: Z) -> Z:
        return self._model.eval(expression, model_completion=True)

    def true(self, expression: Z) -> bool:
        """Return True if an expression is true."""
        return bool(z3.is_true(self._value(expression)))

    def flag(self, relation: Relation) -> bool:
        """Return True if a relation of the event, of no terms, holds."""
        return self.true(self.scene.event[relation.name].body)

    def term(self, term: Term) -> Any:
        """Return the name of a term of the event."""
        return self.name(term.sort, self.scene.terms[term.name])

    def name(self, sort: Sort, expression: Z) -> Any:
        """Return the name of a thing."""
        return self._names[sort][str(self._value(expression))]

    def held(self, relation: Relation, predicate: Predicate) -> Any:
        """Return the tuples of which a relation holds, in names; True or False without terms."""
        held = [t for t in _tuples(relation, self.things) if self.true(predicate.of(*t))]
        named = [
            tuple(self.name(s, thing) for s, thing in zip(relation.sorts, t, strict=True))
            for t in held
        ]
        if not relation.sorts:
            return bool(named)
        return (
            frozenset(thing for (thing,) in named) if len(relation.sorts) == 1 else frozenset(named)
        )

    def group(self, symbols: Symbols) -> dict[str, Any]:
        """Return the fields of a group's structure."""
        signature = self._signature
        fields = {
            relation.name: self.held(relation, symbols.relations[relation.name])
            for relation in (*signature.relations, *signature.step_relations)
        }
        for feature in signature.features:
            state = str(self._value(symbols.states[feature]))
            named = states_of(feature.domain)[1]
            fields[slot(feature.name)] = next(s for s, z in named.items() if str(z) == state)
        for number in signature.numbers:
            value = self._value(symbols.numbers[number.name])
            fields[slot(number.name)] = int(value.as_long())
        return fields

    def free(self, feature: Feature, default: Hashable = None) -> Hashable:
        """Return the value of a feature of the first guard; `default` where it says nothing."""
        used = self.scene.used.get(f"{feature.name} (0)")
        if used is None or used[1] is not feature:
            return default
        return feature.domain[int(self._value(used[0]).as_long())]


_NAMES: Mapping[Sort, Callable[[int], Any]] = {
    Sort.ID: lambda place: f"m{place + 1}",
    Sort.INSTANCE: lambda place: chr(ord("A") + place),
    Sort.PARTITION: lambda place: TopicPartition("t", place),
}


MAX_STATES = 3_000
"""The most worlds to explore in each scope."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The run to the counterexample, and its scope; None where there is no run.

    `states`: number of explored worlds; `complete`: true if these were all that the scopes have.
    """

    states: int
    complete: bool
    question: NamedScope | None = None
    run: Run | None = None
    worlds: Worlds | None = None


def reach(
    revision: Revision,
    claim: Property,
    rule_id: str,
    questions: Sequence[NamedScope] = (),
    *,
    max_states: int = MAX_STATES,
) -> Reached:
    """Find the shortest run, in the first scope that has one, to such a step by this rule.

    `questions`: the scopes; by default all that `check` explores.
    """
    judging = Evaluator([claim], revision)
    states = 0
    complete = True
    for question in questions or worlds_of(revision).check_scopes:
        worlds = Worlds(revision, question.scope, judging.judge)
        check = Check(claim.id, step=_Broken(worlds, rule_id))
        exploration = explore(
            worlds,
            [check],
            max_states=max_states,
            stop_at_first=True,
            quiet=is_quiet,
            stops=stops_of(revision),
        )
        states += exploration.states
        violation = exploration.violations.get(claim.id)
        if violation is not None:
            run = unfold(worlds, violation.trace)
            return Reached(states, complete, question, run, worlds)
        complete = complete and exploration.complete
    return Reached(states, complete)


@dataclass(frozen=True, slots=True)
class _Broken:
    """A check: a step by the rule that breaks the property."""

    worlds: Worlds
    rule_id: str

    def __call__(self, before: World, act: Act, _after: World) -> str | None:
        done = self.worlds.transitions(before, act.kind, act.client)[act.choice]
        rules = {rule.id for view in done.views for rule in view.rules}
        if self.rule_id not in rules:
            return None
        return next((fault for fault in act.faults if not fault.startswith(EXCUSED)), None)
