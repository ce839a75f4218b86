"""Turn Z3's model into a readable counterexample: few ids, few instances, little else.

The smallest has the fewest ids and instances, then as little else as can be.  The result is a
finite step, on which the evaluator of exploration evaluates the same formula; a test checks that
the two agree.

Exploration then searches for a run to a step by the same rule that breaks the same property.  A
proof starts from any group that its invariants allow, so it may fail on a group that no run
reaches; then an invariant is missing, and the rule is not wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import z3

from fencepost.model.classic.vocabulary import SELECTION, SUBSCRIPTION, Change, GroupState
from fencepost.model.revision import Revision
from fencepost.model.table.expr import Feature
from fencepost.properties.checking.checking import stops_of
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.explorer.exploration import Check
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.logic import classic_signature as sig
from fencepost.properties.logic.formula_closure import slot
from fencepost.properties.logic.logic import (
    Formula,
    Property,
    Relation,
    Sort,
    exists,
    is_now,
    negate,
)
from fencepost.properties.proofs.abstract_steps import Path
from fencepost.properties.proofs.paths import (
    STATES,
    Scene,
    Symbols,
    Universe,
    Z,
    after,
    assumed,
    encode,
    small_universe,
    translate,
    within,
)
from fencepost.properties.proofs.proof_results import Counterexample
from fencepost.properties.worlds.abstraction import AbstractEvent, AbstractGroup, AbstractStep
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.scope import CHECK_SCOPES, NamedScope
from fencepost.properties.worlds.world import Act, World, Worlds

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
_FIELDS = {each.name for each in fields(AbstractGroup)}


def smallest(
    path: Path,
    invariants: Iterable[Property],
    goal: Property | None,
    solver: Callable[[], Z],
    ask: Ask,
) -> Counterexample | None:
    """Return the smallest step of this kind that meets the invariants and misses the goal.

    Without a goal: any step.  None if there is none in a small universe.
    """
    known = tuple(invariants)
    batch = path.put_off or path.at_the_end
    for ids, instances in _SIZES:
        universe = small_universe(ids, instances)
        encoded = encode(path, assumed(known, batch=batch, universe=universe), universe)
        small = solver()
        small.add(*encoded.constraints, *within(encoded, universe))
        if goal is not None:
            small.add(z3.Not(after(goal, encoded, path)))
        if ask(small) == "sat":
            return _read(_quiet(small, encoded.scene, ask), encoded.scene, universe, path)
    return None


def _quiet(solver: Z, scene: Scene, ask: Ask) -> Z:
    """Return a model in which as few relations as can be hold before the step."""
    model = solver.model()
    for wish in _QUIET:
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


class _Z3ModelReader:
    """Reads a model, and gives names: ids m1, m2, members first; instances A, B.

    Things are sorted by what is true of them, not by Z3's own names, whose order means nothing.
    """

    def __init__(self, model: Z, scene: Scene, universe: Universe) -> None:
        self._model = model
        self._scene = scene
        self._names: dict[Sort, dict[str, str]] = {Sort.ID: {}, Sort.INSTANCE: {}}
        self.things: Universe = {}
        for sort in sorted(universe, key=lambda sort: sort is not Sort.ID):  # ids first
            values = {str(value): value for value in map(self._value, universe[sort])}
            traits = {key: self._traits(sort, value) for key, value in values.items()}
            ordered = sorted(values, key=lambda key: (traits[key], key))
            self.things[sort] = [values[key] for key in ordered]
            for number, key in enumerate(ordered):
                name = f"m{number + 1}" if sort is Sort.ID else chr(ord("A") + number)
                self._names[sort][key] = name

    def _traits(self, sort: Sort, value: Z) -> list[bool]:
        """List for each fact about a thing, or about an instance's members, if it is false."""
        scene = self._scene
        held = [
            symbols.relations[relation.name].of(value)
            for symbols in (scene.now, scene.then)
            for relation in (sig.MEMBER, sig.PENDING, *sig.RELATIONS)
            if relation.sorts == (sort,)
        ]
        held += [term == value for term in scene.terms.values() if term.sort() == value.sort()]
        held += [
            symbols.relations[relation.name].of(*(value if s is sort else other for s in sorts))
            for symbols in (scene.now, scene.then)
            for relation in sig.RELATIONS
            if len(sorts := relation.sorts) == 2 and set(sorts) == {Sort.ID, Sort.INSTANCE}
            for other in self.things.get(Sort.ID, ())
            if sort is Sort.INSTANCE
        ]
        return [not self.true(fact) for fact in held]

    def _value(self, expression: Z) -> Z:
        return self._model.eval(expression, model_completion=True)

    def true(self, expression: Z) -> bool:
        return bool(z3.is_true(self._value(expression)))

    def name(self, sort: Sort, expression: Z) -> str:
        return self._names[sort][str(self._value(expression))]

    def number(self, expression: Z) -> int:
        return int(self._value(expression).as_long())

    def group(self, symbols: Symbols) -> AbstractGroup:
        group: dict[str, Any] = {}
        for relation in sig.RELATIONS:
            predicate = symbols.relations[relation.name]
            held = [t for t in _tuples(relation, self.things) if self.true(predicate.of(*t))]
            named = [
                tuple(self.name(s, thing) for s, thing in zip(relation.sorts, t, strict=True))
                for t in held
            ]
            if not relation.sorts:
                group[relation.name] = bool(named)
            elif len(relation.sorts) == 1:
                group[relation.name] = frozenset(thing for (thing,) in named)
            else:
                group[relation.name] = frozenset(named)
        for feature in sig.GROUP_FEATURES:
            state = str(self._value(symbols.states[feature]))
            group[slot(feature.name)] = next(s for s, z in STATES.items() if str(z) == state)
        for number in sig.NUMBERS:
            group[slot(number.name)] = self.number(symbols.numbers[number.name])
        return AbstractGroup(**{name: value for name, value in group.items() if name in _FIELDS})


def _read(model: Z, scene: Scene, universe: Universe, path: Path) -> Counterexample:
    reader = _Z3ModelReader(model, scene, universe)
    by_name = path.naming and not path.at_the_end
    with_id = by_name and reader.true(scene.event[sig.MID_GIVEN.name].body)
    with_instance = by_name and reader.true(scene.event[sig.INST_GIVEN.name].body)
    hole = scene.event[sig.NAMED.name]
    named = frozenset(
        reader.name(Sort.ID, thing)
        for thing in reader.things[Sort.ID]
        if reader.true(hole.of(thing))
    )
    timed = path.table == sig.SESSION_END

    def free(feature: Feature) -> Hashable:
        used = scene.used.get(f"{feature.name} (0)")
        return Change.MEANINGLESS if used is None else feature.domain[reader.number(used[0])]

    event = AbstractEvent(
        "LeaveGroup" if path.at_the_end else path.table,
        path.rule.id,
        path.answer,
        reader.name(Sort.ID, scene.terms[sig.MID.name]) if with_id else "",
        reader.name(Sort.INSTANCE, scene.terms[sig.INST.name]) if with_instance else None,
        reader.name(Sort.ID, scene.terms[sig.FRESH.name]) if by_name else "",
        reader.name(Sort.ID, scene.terms[sig.SUBJECT.name]) if timed else "",
        named if by_name or timed else frozenset(),
        free(SELECTION),
        free(SUBSCRIPTION),
    )
    step = AbstractStep(reader.group(scene.now), event, reader.group(scene.then))
    rules = (path.rule.id,) if path.settle is None else (path.rule.id, path.settle.id)
    return Counterexample(step, rules)


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
    questions: Sequence[NamedScope] = CHECK_SCOPES,
    *,
    max_states: int = MAX_STATES,
) -> Reached:
    """Find the shortest run, in the first scope that has one, to such a step by this rule."""
    judging = Evaluator([claim], revision)
    states = 0
    complete = True
    for question in questions:
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
