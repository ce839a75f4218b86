"""Write properties as first-order formulas over a group before and after a step.

Exploration evaluates formulas, and Z3 proves them.  As with the guards of the table, a formula is
data: its truth value and equality raise.  Terms have sorts: member ids, instances, partitions,
epochs, which have an order; the relations between them are a protocol's `Signature`, each of a
group *now* (before the step) or *then* (after it).

A property is defined by a formula or by a function; never by both, so that two engines can't
disagree about its meaning.  Where it fails on purpose is part of it: an expected violation is a
result, not a weaker property.

Kinds: a *state* property speaks of one group (or of one world: a group and the answers that its
clients read), a *step* property of a group before and after one event, a *history* property of
answers alone, which is all that can be observed of a real coordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NoReturn

from fencepost.model.messages.errors import Error
from fencepost.model.table.expr import Feature, word


class Sort(Enum):
    """The kind of thing a term stands for; the value is its word in a text."""

    ID = "id"
    INSTANCE = "instance"
    PARTITION = "partition"
    EPOCH = "epoch"


class When(Enum):
    """The group that a relation speaks of: before the step, or after it."""

    NOW = "now"
    THEN = "then"


class Formula:
    """A statement about an abstract group, or about one step of it."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError(f"a formula has no truth value; evaluate it over a group or a step: {self}")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError(f"formulas aren't compared; use `same` for their terms: {self}")

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return text(self)


@dataclass(frozen=True, slots=True)
class Term:
    """An id, say.  `fixed`: of the step (the request's, say), else bound by a formula.

    `constant`: the value of a fixed term that is the same in all steps; None: it has none.
    """

    name: str
    sort: Sort
    fixed: bool = False
    constant: int | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that may hold between terms.

    `words`: its text, with {0} and {1} for the terms.  `of_event`: it belongs to the event, not to
    a group, so it is the same now and then.
    """

    name: str
    sorts: tuple[Sort, ...]
    words: str
    of_event: bool = False

    def now(self, *terms: Term) -> Formula:
        """Return the formula that it holds of the group before the step (or of the only group)."""
        return self._of(terms, When.NOW)

    def then(self, *terms: Term) -> Formula:
        """Return the formula that it holds of the group after the step."""
        return self._of(terms, When.THEN)

    def _of(self, terms: tuple[Term, ...], when: When) -> Formula:
        if tuple(term.sort for term in terms) != self.sorts:
            sorts = ", ".join(sort.value for sort in self.sorts)
            raise ValueError(f"{self.name} is about ({sorts}), not of {terms}")
        return Holds(self, terms, When.NOW if self.of_event else when)


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The language in which formulas describe the groups and the events of one protocol.

    `relations`, `features`, `numbers`: of a group; `step_relations`: of a step in the making;
    `event_relations`: of an event, of which other features are, too; `terms`: the terms that an
    event fixes; `constants`: those that are the same in all.
    """

    relations: tuple[Relation, ...]
    features: tuple[Feature, ...]
    terms: tuple[Term, ...]
    step_relations: tuple[Relation, ...]
    event_relations: tuple[Relation, ...]
    numbers: tuple[Number, ...] = ()
    constants: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a group, now or then."""

    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Holds(Formula):
    """A relation holds of these terms."""

    relation: Relation
    terms: tuple[Term, ...]
    when: When


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Is(Formula):
    """A feature, one of the decision table say, has one of these values."""

    feature: Feature
    values: frozenset[Hashable]
    when: When


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Same(Formula):
    """Two terms stand for one thing."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UpTo(Formula):
    """An epoch is another one, or before it."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AtMost(Formula):
    """A number, plus a constant, is at most another one; None stands for 0."""

    left: Number | None
    left_when: When
    plus: int
    right: Number | None
    right_when: When


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AllOf(Formula):
    """Every part holds; with no parts, true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnyOf(Formula):
    """Some part holds; with no parts, false."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Formula):
    """The part does not hold."""

    part: Formula


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Implies(Formula):
    """If the premise holds, so does the conclusion."""

    premise: Formula
    conclusion: Formula


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ForAll(Formula):
    """The body holds for all things of the terms' sorts."""

    terms: tuple[Term, ...]
    body: Formula


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exists(Formula):
    """The body holds for some things of the terms' sorts."""

    terms: tuple[Term, ...]
    body: Formula


def an_id(name: str) -> Term:
    """Return a variable for a member id."""
    return Term(name, Sort.ID)


def an_instance(name: str) -> Term:
    """Return a variable for an instance."""
    return Term(name, Sort.INSTANCE)


def a_partition(name: str) -> Term:
    """Return a variable for a partition."""
    return Term(name, Sort.PARTITION)


def an_epoch(name: str) -> Term:
    """Return a variable for an epoch."""
    return Term(name, Sort.EPOCH)


def all_of(*parts: Formula) -> Formula:
    """Return a formula that holds if every part holds."""
    return parts[0] if len(parts) == 1 else AllOf(parts)


def any_of(*parts: Formula) -> Formula:
    """Return a formula that holds if some part holds."""
    return parts[0] if len(parts) == 1 else AnyOf(parts)


def negate(part: Formula) -> Formula:
    """Return a formula that holds if the part does not."""
    return Not(part)


def implies(premise: Formula, conclusion: Formula) -> Formula:
    """Return a formula: if the premise holds, so does the conclusion."""
    return Implies(premise, conclusion)


def iff(left: Formula, right: Formula) -> Formula:
    """Return a formula that holds if both parts hold, or neither."""
    return AllOf((Implies(left, right), Implies(right, left)))


def same(left: Term, right: Term) -> Formula:
    """Return a formula: the two terms stand for one thing."""
    return Same(left, right)


def up_to(left: Term, right: Term) -> Formula:
    """Return a formula: an epoch is another one, or before it."""
    return UpTo(left, right)


def below(left: Term, right: Term) -> Formula:
    """Return a formula: an epoch is before another one."""
    return all_of(up_to(left, right), negate(same(left, right)))


def for_all(*terms_and_body: Term | Formula) -> Formula:
    """Return a formula: for all of these terms, if any, the formula, which comes last, holds."""
    terms, body = _split(terms_and_body)
    return ForAll(terms, body) if terms else body


def exists(*terms_and_body: Term | Formula) -> Formula:
    """Return a formula: for some of these terms, if any, the formula, which comes last, holds."""
    terms, body = _split(terms_and_body)
    return Exists(terms, body) if terms else body


def _split(parts: tuple[Term | Formula, ...]) -> tuple[tuple[Term, ...], Formula]:
    *front, body = parts
    terms = tuple(term for term in front if isinstance(term, Term) and not term.fixed)
    if not isinstance(body, Formula) or len(terms) != len(front):
        raise TypeError("a quantifier takes variables, and a formula last")
    return terms, body


def is_now(feature: Feature, *values: Hashable) -> Formula:
    """Return a formula: the feature has one of these values before the step."""
    return Is(feature, frozenset(values), When.NOW)


def is_then(feature: Feature, *values: Hashable) -> Formula:
    """Return a formula: the feature has one of these values after the step."""
    return Is(feature, frozenset(values), When.THEN)


TRUE = AllOf(())
FALSE = AnyOf(())

EVENT_FEATURES = (
    Feature("event", (), "the table that decides what happens"),
    Feature("deciding rule", (), "the rule that decides what happens"),
    Feature("answer", (None, *Error), "the error (or NONE) that is answered at once"),
)
"""Finite questions about an event of any protocol."""


def afterwards(formula: Formula) -> Formula:
    """Return what a formula says of a group before the step, of the group after it."""
    match formula:
        case Holds(relation, terms, _):
            return Holds(relation, terms, When.NOW if relation.of_event else When.THEN)
        case Is(feature, values, _):
            return Is(feature, values, When.THEN)
        case AtMost(left, _, plus, right, _):
            return AtMost(left, When.THEN, plus, right, When.THEN)
        case AllOf(parts) | AnyOf(parts):
            return type(formula)(tuple(map(afterwards, parts)))
        case Not(part):
            return Not(afterwards(part))
        case Implies(premise, conclusion):
            return Implies(afterwards(premise), afterwards(conclusion))
        case ForAll(terms, body) | Exists(terms, body):
            return type(formula)(terms, afterwards(body))
        case _:
            return formula


def text(formula: Formula) -> str:
    """Return the formula in words; a relation of the group after the step begins with "then"."""
    match formula:
        case Holds(relation, terms, when):
            return _at(when) + relation.words.format(*(term.name for term in terms))
        case Is(feature, values, when):
            domain = [value for value in feature.domain if value in values]
            listed = domain or sorted(values, key=str)
            return f"{_at(when)}{feature.name} is {' or '.join(map(word, listed))}"
        case Same(left, right):
            return f"{left.name} is {right.name}"
        case UpTo(left, right):
            return f"{left.name} ≤ {right.name}"
        case AtMost(left, left_when, plus, right, right_when):
            more = f" + {plus}" if plus else ""
            return f"{_number(left, left_when)}{more} ≤ {_number(right, right_when)}"
        case AllOf(parts):
            return " and ".join(map(_inner, parts)) or "always"
        case AnyOf(parts):
            return " or ".join(map(_inner, parts)) or "never"
        case Not(part):
            return f"not ({text(part)})"
        case Implies(premise, conclusion):
            return f"if {_inner(premise)}, then it follows that {_inner(conclusion)}"
        case ForAll(terms, body):
            return f"for every {_terms(terms)}: {text(body)}"
        case Exists(terms, body):
            return f"for some {_terms(terms)}: {text(body)}"
        case _:
            raise TypeError(f"no formula of the language: {type(formula).__name__}")


def _inner(part: Formula) -> str:
    return (
        text(part)
        if isinstance(part, Holds | Is | Same | UpTo | AtMost | Not)
        else f"({text(part)})"
    )


def _at(when: When) -> str:
    return "then " if when is When.THEN else ""


def _number(number: Number | None, when: When) -> str:
    return "0" if number is None else _at(when) + number.name


def _terms(terms: tuple[Term, ...]) -> str:
    return " and ".join(f"{term.sort.value} {term.name}" for term in terms)


class PropertyKind(Enum):
    """The kind of thing a property speaks of."""

    STATE = "state"
    STEP = "step"
    HISTORY = "history"


class Engine(Enum):
    """An engine that can check properties."""

    EXPLORATION = "exploration"
    HYPOTHESIS = "hypothesis"
    PROOF = "proof"
    ANSWERS = "answers"


class PropertyClass(Enum):
    """The weight of a property: the loss that a violation causes.

    *Safety*: two consumers, lost partitions, a lost id, a request that is never answered.
    *Promise*: which answer clients get, and when.  *Cost*: a rebalance without need.
    """

    SAFETY = "safety"
    PROMISE = "promise"
    COST = "cost"


@dataclass(frozen=True, slots=True, eq=False)
class Property:
    """Something that must hold.

    `PROPERTIES`, a tuple of them in the file of a revision, adds properties to `check`.

    `id`: its name in all commands.  `meaning`: one sentence.  `source`: KIP section or Kafka
    behaviour, in our words.  `kind`: state, step or history.  `scope`: the part of the protocol
    that it is about, and the parts that it leaves out.

    `engines`: the engines that check it.  `not_by`: for each other engine, the reason why it can't.

    `formula`: the definition, if it is a formula: it is explored and proved.  `holds`: the
    definition, if it is a function: it takes a `StepView` for a property of steps, a `WorldView`
    for one of states, and returns None or the violation in one sentence.  It is called at every
    step, and returns None where the property doesn't apply.  `premise`: a formula or function that
    must be true in some state or step; else the property fails, because nothing tested it.
    `premise_guards`: True if `holds` need not be called where the premise is false.

    `invariant`: the formula that each step keeps, if the property says that: a proof assumes it
    before each step.

    `expected`: revision → the reason why the property fails there.  `expected_rules`: revision →
    exactly the rules that break a formula.  `property_class`: the damage of a violation; safety by
    default.  `harm`: the damage in words.  `api`, `version`: the request that the
    property needs, and its lowest version; "": none.
    """

    id: str
    meaning: str
    source: str
    kind: PropertyKind
    scope: str
    engines: frozenset[Engine]
    formula: Formula | None = None
    holds: Callable[[Any], str | None] | None = None
    premise: Formula | Callable[[Any], bool] | None = None
    premise_guards: bool = False
    invariant: Formula | None = None
    not_by: Mapping[Engine, str] = field(default_factory=dict)
    expected: Mapping[str, str] = field(default_factory=dict)
    expected_rules: Mapping[str, frozenset[str]] = field(default_factory=dict)
    property_class: PropertyClass = PropertyClass.SAFETY
    harm: str = ""
    api: str = ""
    version: int = 0

    def __post_init__(self) -> None:
        """Check the fields.  Raises ValueError if something is missing."""
        if (self.formula is None) is (self.holds is None):
            raise ValueError(f"{self.id}: give a formula or a function, one of them")
        if self.premise is None:
            raise ValueError(f"{self.id}: without a premise nobody sees whether it is vacuous")
        silent = set(Engine) - self.engines - set(self.not_by)
        if silent:
            names = ", ".join(sorted(engine.value for engine in silent))
            raise ValueError(f"{self.id}: say why it is not checked by {names}")

    @property
    def statement(self) -> Formula:
        """The formula that is evaluated: the invariant that a step keeps, else the definition."""
        formula = self.formula if self.invariant is None else self.invariant
        assert formula is not None
        return formula

    def why_not_by(self, engine: Engine) -> str:
        """Say in a sentence why an engine doesn't check it, and which do."""
        others = " and ".join(other.value for other in Engine if other in self.engines)
        return f"{self.id} is not checked by {engine.value}, but by {others}: {self.not_by[engine]}"
