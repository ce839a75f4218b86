"""Define what proofs need of a protocol: abstract effects, abstract steps, and a theory of all.

An abstract effect gives each relation that changes by a formula over the group just before the
effect; the others stay.  A choice that the protocol leaves open (the next leader) is a term of its
own with a condition that it meets.  An abstract step is one way to carry out a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from fencepost.model.messages.errors import Error
from fencepost.model.revision import Revision
from fencepost.model.table import expr
from fencepost.model.table.expr import Expr, Feature
from fencepost.model.table.table import OwnStep, Rule, Table
from fencepost.properties.logic.logic import (
    TRUE,
    Formula,
    Number,
    Property,
    Relation,
    Sort,
    Term,
    all_of,
    any_of,
    is_now,
    negate,
)
from fencepost.properties.logic.structures import Abstraction, AbstractStep

if TYPE_CHECKING:
    from fencepost.properties.proofs.counterexamples import ModelReader


@dataclass(frozen=True, slots=True, eq=False)
class Becomes:
    """Sets a relation: it holds of these terms exactly where the formula held before."""

    relation: Relation
    terms: tuple[Term, ...]
    formula: Formula


@dataclass(frozen=True, slots=True, eq=False)
class AnyThat:
    """Sets a relation to any that meets the condition, which is about the group with it."""

    relation: Relation
    such_that: Formula


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Sets a number to another one (None: 0) plus a constant."""

    number: Number
    source: Number | None
    plus: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Sets the state to the first of these whose condition held before; with none, it stays."""

    feature: Feature
    states: tuple[tuple[Hashable, Formula], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Any thing of the term's sort that meets the condition."""

    term: Term
    such_that: Formula


@dataclass(frozen=True, slots=True, eq=False)
class AbstractEffect:
    """The abstract effect of one effect of the table.

    `condition`: where it does anything at all.  `choices`: picked first, in order.  `leaves_out`:
    the rest of the effect, which no formula speaks of.
    """

    changes: tuple[Becomes | AnyThat | Counts | Moves, ...] = ()
    condition: Formula = field(default_factory=lambda: TRUE)
    choices: tuple[Choice, ...] = ()
    leaves_out: str = ""

    def touched(self) -> frozenset[str]:
        """Return the names of the relations, numbers and questions that it may change."""
        names = set()
        for change in self.changes:
            match change:
                case Becomes(relation, _, _) | AnyThat(relation, _):
                    names.add(relation.name)
                case Counts(number, _, _):
                    names.add(number.name)
                case Moves(feature, _):
                    names.add(feature.name)
        return frozenset(names)

    def without(self, *names: str) -> AbstractEffect:
        """Return the effect with these relations, numbers or questions left as they are."""
        kept = tuple(c for c in self.changes if not AbstractEffect((c,)).touched() & set(names))
        return replace(self, changes=kept)


Effects = Mapping[Enum, AbstractEffect]
"""Verb → its abstract effect."""


def becomes(relation: Relation, *terms_and_formula: Term | Formula) -> Becomes:
    """Set the relation to hold of the terms where the formula, which comes last, held."""
    *terms, formula = terms_and_formula
    assert isinstance(formula, Formula)
    return Becomes(relation, tuple(t for t in terms if isinstance(t, Term)), formula)


NOTHING = AbstractEffect()
AT_THE_END = "rebalance of a batch, at its end"


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """Part of a step: the condition at its beginning, then effects, in order.

    `answers`: features of its guards that have a known value.
    """

    conditions: tuple[Formula, ...]
    effects: tuple[AbstractEffect, ...] = ()
    answers: Mapping[Feature, Hashable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """An abstract step.

    `rule` decides, `settle` checks the join phase after it.  `naming`: it is a request that may
    name an id or an instance.  `put_off`: a row of a batch that rebalances at its end;
    `at_the_end`: that end.  `unknown`: verbs of the step without an abstract effect.
    """

    table: str
    rule: Rule
    settle: Rule | None
    stages: tuple[Stage, ...]
    answer: Error | None
    naming: bool = False
    put_off: bool = False
    at_the_end: bool = False
    unknown: tuple[Enum | OwnStep, ...] = ()

    @property
    def name(self) -> str:
        """Return its name in a report."""
        name = AT_THE_END if self.at_the_end else self.rule.id
        if self.put_off:
            name += " (rebalance put off)"
        return name if self.settle is None else f"{name}, then {self.settle.id}"

    @property
    def is_of_a_batch(self) -> bool:
        """True if it is a row of a batch, or its end."""
        return self.put_off or self.at_the_end

    def touched(self) -> frozenset[str]:
        """Return the names of the relations, numbers and questions that the step may change."""
        effects = [effect for stage in self.stages for effect in stage.effects]
        return frozenset().union(*(effect.touched() for effect in effects))


def features_in(guard: Expr) -> frozenset[Feature]:
    """Return the features of a guard."""
    return frozenset(expr.features_of(guard))


def partly(
    guard: Expr, answer: Callable[[Feature, frozenset[Hashable]], bool | None]
) -> bool | None:
    """Evaluate a guard where only some features are known; None: it depends on others.

    `answer` returns True if a feature has one of these values, None if that is unknown.
    """
    match guard:
        case expr.In(feature, values):
            return answer(feature, values)
        case expr.Conjunction(parts):
            answers = [partly(part, answer) for part in parts]
            return False if False in answers else None if None in answers else True
        case expr.Disjunction(parts):
            answers = [partly(part, answer) for part in parts]
            return True if True in answers else None if None in answers else False
        case expr.Negation(part):
            inner = partly(part, answer)
            return None if inner is None else not inner
        case _:
            raise TypeError(f"no expression of the vocabulary: {type(guard).__name__}")


def never_beside(left: Expr, right: Expr) -> Expr:
    """Return the condition that two expressions never hold together."""
    return expr.negate(expr.all_of(left, right))


def exactly(left: Expr, right: Expr) -> Expr:
    """Return the condition that one expression holds exactly where the other one does."""
    return expr.any_of(expr.all_of(left, right), expr.all_of(expr.negate(left), expr.negate(right)))


@dataclass(frozen=True, slots=True, eq=False)
class Guards:
    """The translation of guards to formulas.

    `meanings`: feature → value → its meaning; a feature without one may have any value.
    `of_state`: features of the group itself.  `conditions`: values that can occur together; each
    applies to tables that have all its features.  `beside`: further conditions on these features.
    """

    meanings: Mapping[Feature, Mapping[Hashable, Formula]]
    conditions: tuple[Expr, ...]
    beside: Callable[[frozenset[Feature]], Iterable[Formula]]
    of_state: frozenset[Feature] = frozenset()

    def formula(self, guard: Expr) -> Formula:
        """Return the guard, each feature by its meaning."""
        match guard:
            case expr.In(feature, values):
                meaning = self.meanings.get(feature)
                if meaning is None:
                    return is_now(feature, *values)
                return any_of(*(meaning[value] for value in feature.domain if value in values))
            case expr.Conjunction(parts):
                return all_of(*map(self.formula, parts))
            case expr.Disjunction(parts):
                return any_of(*map(self.formula, parts))
            case expr.Negation(part):
                return negate(self.formula(part))
            case _:
                raise TypeError(f"no expression of the vocabulary: {type(guard).__name__}")

    def is_meant(self, features: frozenset[Feature]) -> bool:
        """Return True if all features have a meaning, so that nothing needs to be said of them."""
        return features <= self.meanings.keys() | self.of_state

    def feasible(self, features: tuple[Feature, ...]) -> Formula:
        """Return the condition on the free features of a table, beside the others."""
        known = frozenset(features)
        parts = [
            self.formula(condition)
            for condition in self.conditions
            if features_in(condition) <= known and not self.is_meant(features_in(condition))
        ]
        parts += self.beside(known)
        return all_of(*parts) if parts else TRUE

    def decides(self, table: Table, rule: Rule) -> Formula:
        """Return the condition under which a rule decides: its guard, and no check before it."""
        before = []
        for check in table.checks:
            if check is rule:
                break
            before.append(negate(self.formula(check.guard)))
        return all_of(self.formula(rule.guard), *before)


Lookup = tuple[str, Mapping[Feature, Hashable], bool]
"""A lookup in a table: its name, features with a known value, True if the invariants hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Theory:
    """All that proofs need of one protocol.

    `axioms`: the conditions that all groups and events meet.  `runs`: table → the condition under
    which its event occurs.  `lookups`: lists those in a table.  `paths`: makes the abstract steps
    of a revision, with some effects replaced by others.

    Of a path: `event`: returns its event, as formulas name it; `named`: a formula of X, the ids
    that the event of a table names; `begins`: sets the relations of a step in the making;
    `assumes`: yields the conditions that its event meets.  `weaker`: weakens an invariant within a
    batch.

    For counterexamples: `sizes`: universes to try, by the number of things of each sort; `quiet`:
    wishes; `first`: relations by which ids are sorted; `read`: reads the step; `words`: describes
    it.
    """

    abstraction: Abstraction
    guards: Guards
    runs: Mapping[str, Formula]
    lookups: Callable[[Table], Iterable[Lookup]]
    paths: Callable[[Revision, Effects], tuple[Path, ...]]
    event: Callable[[Path], str]
    named: Callable[[str], Formula]
    begins: Callable[[Path], AbstractEffect]
    assumes: Callable[[Path], Iterable[Formula]]
    sizes: tuple[Mapping[Sort, int], ...]
    quiet: tuple[Formula, ...]
    first: tuple[Relation, ...]
    read: Callable[[ModelReader, Path], AbstractStep]
    words: Callable[[AbstractStep, tuple[str, ...]], tuple[str, ...]]
    axioms: tuple[Formula, ...] = ()
    weaker: Callable[[Property, Formula], Formula] = lambda _, formula: formula


def effects_of(
    rule: Rule, effects: Effects, unknown: frozenset[Enum]
) -> tuple[tuple[AbstractEffect, ...], tuple[Any, ...]]:
    """Return the abstract effects of a rule, and its steps without one.

    Nothing is known of a user's own step, so its path isn't proved.
    """
    missing = tuple(do for do in rule.effect if isinstance(do, OwnStep) or do in unknown)
    return tuple(NOTHING if isinstance(d, OwnStep) else effects[d] for d in rule.effect), missing
