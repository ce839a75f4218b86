"""Encode one abstract step for Z3: the group before it, the event, the group after it.

A step assumes the invariants before it, that the fresh id is new, and that a timer that fires was
running.

Formulas are translated to Z3's: sorts without a size, relations as predicates.  A group before a
step is one uninterpreted predicate for each relation; each later one is an expression over it, so a
step needs no further predicates and no quantifier that its formulas don't have.  This stays close
to the fragment that Z3 decides (EPR).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count, product
from typing import Any

import z3

from fencepost.model.table.expr import Feature
from fencepost.properties.logic.logic import (
    EVENT_FEATURES,
    TRUE,
    AllOf,
    AnyOf,
    AtMost,
    Exists,
    ForAll,
    Formula,
    Holds,
    Implies,
    Is,
    Not,
    Number,
    Property,
    PropertyKind,
    Relation,
    Same,
    Signature,
    Sort,
    Term,
    UpTo,
    When,
    an_id,
)
from fencepost.properties.proofs.theory import (
    AbstractEffect,
    AnyThat,
    Becomes,
    Counts,
    Moves,
    Path,
    Theory,
)

Z = Any
"""An expression of Z3's, which has no types."""

Universe = dict[Sort, list[Z]]
"""All ids and all instances."""

SORTS: dict[Sort, Z] = {
    Sort.ID: z3.DeclareSort("Id"),
    Sort.INSTANCE: z3.DeclareSort("Instance"),
    Sort.PARTITION: z3.DeclareSort("Partition"),
    Sort.EPOCH: z3.DeclareSort("Epoch"),
}
_ORDER = z3.Function("up to", SORTS[Sort.EPOCH], SORTS[Sort.EPOCH], z3.BoolSort())
_fresh = count()


@dataclass(frozen=True, slots=True)
class Predicate:
    """A relation as it stands: a body with holes for the terms."""

    holes: tuple[Z, ...]
    body: Z

    def of(self, *terms: Z) -> Z:
        """Return the body with the terms put in."""
        return z3.substitute(self.body, *zip(self.holes, terms, strict=True))


def _holes(relation: Relation) -> tuple[Z, ...]:
    return tuple(z3.Const(f"hole!{i}", SORTS[s]) for i, s in enumerate(relation.sorts))


@dataclass(frozen=True, slots=True)
class Symbols:
    """A group as expressions over the group before the step."""

    relations: dict[str, Predicate]
    states: dict[Feature, Z]
    numbers: dict[str, Z]


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a formula may refer to: the group now and then, and the event.

    `terms`: of the event, by name; `answers`: features with a known value (the deciding rule);
    `stage`: the check that a free feature belongs to; `used`: the free ones so far. `universe`: all
    ids and instances, where quantifiers are to be written out.
    """

    now: Symbols
    then: Symbols
    event: dict[str, Predicate]
    terms: dict[str, Z]
    answers: dict[Feature, Hashable]
    used: dict[str, tuple[Z, Feature]]
    stage: int = 0
    universe: Universe | None = None


@cache
def states_of(states: tuple[Hashable, ...]) -> tuple[Z, dict[Hashable, Z]]:
    """Return Z3's sort of these states, and each of them in it."""
    sort, values = z3.EnumSort("State", [str(getattr(state, "name", state)) for state in states])
    return sort, dict(zip(states, values, strict=True))


def _predicate(relation: Relation, mark: str = "") -> Predicate:
    """Return a relation of which nothing is known."""
    holes, name = _holes(relation), relation.name + mark
    if not holes:
        return Predicate((), z3.Bool(name))
    function = z3.Function(name, *(SORTS[s] for s in relation.sorts), z3.BoolSort())
    return Predicate(holes, function(*holes))


def first_group(signature: Signature) -> Symbols:
    """Return a group without any constraint."""
    known = (*signature.relations, *signature.step_relations)
    return Symbols(
        {relation.name: _predicate(relation) for relation in known},
        {f: z3.Const(f.name, states_of(f.domain)[0]) for f in signature.features},
        {number.name: z3.Int(number.name) for number in signature.numbers},
    )


def is_up_to(left: Z, right: Z) -> Z:
    """Return the expression that an epoch is another one, or before it."""
    return _ORDER(left, right)


def domains(scene: Scene) -> Z:
    """Return the constraint that each free feature has one of its values."""
    ranges = [z3.And(v >= 0, v < len(feature.domain)) for v, feature in scene.used.values()]
    return z3.And(*ranges)


def translate(formula: Formula, scene: Scene, bound: dict[str, Z] | None = None) -> Z:
    """Translate a formula to Z3.  Raises TypeError for an unknown kind of formula."""
    names = bound or {}
    match formula:
        case Holds(relation, terms, when):
            group = scene.now if when is When.NOW else scene.then
            known = scene.event if relation.of_event else group.relations
            return known[relation.name].of(*(_term(t, scene, names) for t in terms))
        case Is(feature, values, when):
            return _answered(feature, values, scene, when)
        case Same(left, right):
            return _term(left, scene, names) == _term(right, scene, names)
        case UpTo(left, right):
            return is_up_to(_term(left, scene, names), _term(right, scene, names))
        case AtMost(left, left_when, plus, right, right_when):
            return _number(left, left_when, scene) + plus <= _number(right, right_when, scene)
        case AllOf(parts):
            return z3.And(*(translate(part, scene, names) for part in parts))
        case AnyOf(parts):
            return z3.Or(*(translate(part, scene, names) for part in parts))
        case Not(part):
            return z3.Not(translate(part, scene, names))
        case Implies(premise, conclusion):
            return z3.Implies(translate(premise, scene, names), translate(conclusion, scene, names))
        case ForAll(terms, body):
            return _quantified(z3.ForAll, terms, body, scene, names)
        case Exists(terms, body):
            return _quantified(z3.Exists, terms, body, scene, names)
        case _:
            raise TypeError(f"no formula of the language: {type(formula).__name__}")


def _quantified(
    quantifier: Z, terms: tuple[Term, ...], body: Formula, scene: Scene, names: dict[str, Z]
) -> Z:
    if scene.universe is not None:
        cases = product(*(scene.universe[t.sort] for t in terms))
        instances = [
            translate(
                body, scene, {**names, **dict(zip((t.name for t in terms), case, strict=True))}
            )
            for case in cases
        ]
        return z3.And(*instances) if quantifier is z3.ForAll else z3.Or(*instances)
    constants = {t.name: z3.Const(f"{t.name}!{next(_fresh)}", SORTS[t.sort]) for t in terms}
    return quantifier(list(constants.values()), translate(body, scene, {**names, **constants}))


def _term(term: Term, scene: Scene, names: dict[str, Z]) -> Z:
    return scene.terms[term.name] if term.fixed else names[term.name]


def _number(number: Number | None, when: When, scene: Scene) -> Z:
    if number is None:
        return z3.IntVal(0)
    group = scene.now if when is When.NOW else scene.then
    return group.numbers[number.name]


def _answered(feature: Feature, answers: frozenset[Hashable], scene: Scene, when: When) -> Z:
    # Z3's model depends on the order of its input, and a set has another one in each process.
    values = sorted(answers, key=repr)
    if feature in scene.now.states:
        group = scene.now if when is When.NOW else scene.then
        named = states_of(feature.domain)[1]
        return z3.Or(*(group.states[feature] == named[value] for value in values))
    if feature in scene.answers:
        return z3.BoolVal(scene.answers[feature] in values)
    name = f"{feature.name} ({scene.stage})"
    variable, _ = scene.used.setdefault(name, (z3.Int(name), feature))
    return z3.Or(*(variable == feature.domain.index(value) for value in values))


def perform(effect: AbstractEffect, scene: Scene, mark: str) -> tuple[Scene, list[Z], list[Z]]:
    """Return the scene after an effect (its `now` moves on), its choices and their conditions.

    `mark` distinguishes the choices of several effects of one step.
    """
    chosen: dict[str, Z] = {}
    terms = dict(scene.terms)
    met = []
    for choice in effect.choices:
        terms[choice.term.name] = z3.Const(f"{choice.term.name} {mark}", SORTS[choice.term.sort])
        chosen[choice.term.name] = terms[choice.term.name]
        met.append(translate(choice.such_that, replace(scene, terms=terms)))
    here = replace(scene, terms=terms)
    condition = None if effect.condition is TRUE else translate(effect.condition, here)
    relations, states = dict(scene.now.relations), dict(scene.now.states)
    numbers = dict(scene.now.numbers)

    def unless(new: Z, old: Z) -> Z:
        return new if condition is None else z3.If(condition, new, old)

    for change in effect.changes:
        match change:
            case Becomes(relation, variables, formula):
                holes = _holes(relation)
                names = {v.name: hole for v, hole in zip(variables, holes, strict=True)}
                body = translate(formula, here, names)
                old = scene.now.relations[relation.name].of(*holes)
                relations[relation.name] = Predicate(holes, unless(body, old))
            case AnyThat(relation, such_that):
                made = _predicate(relation, f" {mark}")
                known = {**scene.now.relations, relation.name: made}
                now = replace(scene.now, relations=known)
                met.append(translate(such_that, replace(here, now=now)))
                old = scene.now.relations[relation.name].of(*made.holes)
                relations[relation.name] = Predicate(made.holes, unless(made.body, old))
            case Counts(number, source, plus):
                base = z3.IntVal(0) if source is None else scene.now.numbers[source.name]
                numbers[number.name] = unless(base + plus, scene.now.numbers[number.name])
            case Moves(feature, cases):
                state = scene.now.states[feature]
                for value, formula in reversed(cases):
                    held = translate(formula, here)
                    state = z3.If(held, states_of(feature.domain)[1][value], state)
                states[feature] = unless(state, scene.now.states[feature])
    after = Symbols(relations, states, numbers)
    return replace(scene, now=after), met, list(chosen.values())


@dataclass(slots=True)
class Encoded:
    """A step: its assumptions, and the scene in which its properties are read."""

    constraints: list[Z]
    scene: Scene
    picked: list[Z] = field(default_factory=list)


_X = an_id("x")


def event_scene(
    theory: Theory,
    answers: dict[Feature, Hashable],
    *,
    table: str = "",
    universe: Universe | None = None,
) -> Scene:
    """Return a scene of one group and an event of which only `answers` and its table are known."""
    signature = theory.abstraction.signature
    group = first_group(signature)
    terms = {
        term.name: z3.Const(term.name, SORTS[term.sort])
        for term in (*signature.terms, *signature.constants)
    }
    event = {relation.name: _predicate(relation) for relation in signature.event_relations}
    scene = Scene(group, group, event, terms, answers, {}, universe=universe)
    hole = z3.Const("hole!0", SORTS[Sort.ID])
    event[NAMED] = Predicate((hole,), translate(theory.named(table), scene, {_X.name: hole}))
    return scene


NAMED = "named"
"""The name of the relation of those who an event names: a protocol's theory defines it."""


def assumed(
    invariants: Iterable[Property],
    theory: Theory,
    *,
    batch: bool,
    universe: Universe | None = None,
) -> list[Z]:
    """Return the axioms, and the invariants before a step: equal for every step."""
    scene = event_scene(theory, {}, universe=universe)
    axioms = [translate(axiom, scene) for axiom in theory.axioms]
    return axioms + [before(claim, scene, theory, batch=batch) for claim in invariants]


def encode(
    path: Path, invariants: Iterable[Z], theory: Theory, universe: Universe | None = None
) -> Encoded:
    """Return the step as constraints: the assumptions before it, guard, effects, choices."""
    values = (theory.event(path), path.rule.id, path.answer)
    answers: dict[Feature, Hashable] = dict(zip(EVENT_FEATURES, values, strict=True))
    scene = event_scene(theory, answers, table=path.table, universe=universe)
    constraints = [*invariants, *(translate(each, scene) for each in theory.assumes(path))]
    begun = perform(theory.begins(path), scene, "")[0].now
    scene = replace(scene, now=begun, then=begun)
    here = scene
    picked: list[Z] = []
    for number, stage in enumerate(path.stages):
        here = replace(here, stage=number, answers={**answers, **stage.answers})
        constraints += [translate(condition, here) for condition in stage.conditions]
        for place, effect in enumerate(stage.effects):
            here, met, choices = perform(effect, here, f"{number}.{place}")
            constraints += met
            picked += choices
    constraints.append(domains(scene))
    return Encoded(constraints, replace(scene, then=here.now), picked)


def before(claim: Property, scene: Scene, theory: Theory, *, batch: bool) -> Z:
    """Return an invariant as it holds before the step; in a batch some hold only at its start."""
    formula = claim.statement
    return translate(theory.weaker(claim, formula) if batch else formula, scene)


def after(claim: Property, encoded: Encoded, path: Path, theory: Theory) -> Z:
    """Return the goal of a step: the invariant after it, or the step property."""
    assert claim.formula is not None
    if claim.kind is PropertyKind.STEP:
        return translate(claim.formula, encoded.scene)
    then = replace(encoded.scene, now=encoded.scene.then)
    return before(claim, then, theory, batch=path.put_off)


def is_untouched(claim: Property, path: Path) -> bool:
    """Return True if the step changes nothing in an invariant's formula: it still holds."""
    is_invariant = claim.kind is PropertyKind.STATE or claim.invariant is not None
    if not is_invariant or path.is_of_a_batch or claim.formula is None:
        return False
    return not (_mentioned(claim.statement) & path.touched())


def _mentioned(formula: Formula) -> frozenset[str]:
    """Return the names of the relations, numbers and questions in a formula."""
    match formula:
        case Holds(relation, _, _):
            return frozenset({relation.name})
        case Is(feature, _, _):
            return frozenset({feature.name})
        case AtMost(left, _, _, right, _):
            return frozenset(number.name for number in (left, right) if number is not None)
        case AllOf(parts) | AnyOf(parts):
            return frozenset().union(*map(_mentioned, parts))
        case Not(part) | ForAll(_, part) | Exists(_, part):
            return _mentioned(part)
        case Implies(left_part, right_part):
            return _mentioned(left_part) | _mentioned(right_part)
        case _:
            return frozenset()


def premise(claim: Property, scene: Scene) -> Z:
    """Return the premise of the property."""
    assert isinstance(claim.premise, Formula)
    return translate(claim.premise, scene)


def small_universe(sizes: Mapping[Sort, int]) -> Universe:
    """Return names for this many things of each sort; two names may stand for one thing."""
    return {
        sort: [z3.Const(f"{sort.value}{i}", SORTS[sort]) for i in range(size)]
        for sort, size in sizes.items()
    }


def within(encoded: Encoded, universe: Universe) -> list[Z]:
    """Return the constraint that all terms of the step are in the universe."""
    terms = [*encoded.scene.terms.values(), *encoded.picked]
    return [z3.Or(*(term == thing for thing in universe[_sort(term)])) for term in terms]


def _sort(term: Z) -> Sort:
    return next(sort for sort, z in SORTS.items() if z == term.sort())
