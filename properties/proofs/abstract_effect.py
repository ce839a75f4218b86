"""What one effect of the decision table does to an abstract group, as data.

Each relation that changes is given by a formula over the group just before the effect; what isn't
mentioned stays.  A choice that the protocol leaves open (who leads) is a term of its own with a
condition that it meets.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fencepost.model.table.expr import Feature
from fencepost.model.table.vocabulary import GroupState
from fencepost.properties.logic.logic import TRUE, Formula, Number, Relation, Term


@dataclass(frozen=True, slots=True, eq=False)
class Becomes:
    """Sets a relation: it holds of these terms exactly where the formula held before."""

    relation: Relation
    terms: tuple[Term, ...]
    formula: Formula


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
    states: tuple[tuple[GroupState, Formula], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Any id that meets the condition."""

    term: Term
    such_that: Formula


@dataclass(frozen=True, slots=True, eq=False)
class AbstractEffect:
    """The abstract effect of one effect of the table.

    `condition`: where it does anything at all.  `choices`: picked first, in order.  `leaves_out`:
    what the effect does beside this, which no formula speaks of.
    """

    changes: tuple[Becomes | Counts | Moves, ...] = ()
    condition: Formula = field(default_factory=lambda: TRUE)
    choices: tuple[Choice, ...] = ()
    leaves_out: str = ""

    def touched(self) -> frozenset[str]:
        """Return the names of what it may change."""
        names = set()
        for change in self.changes:
            match change:
                case Becomes(relation, _, _):
                    names.add(relation.name)
                case Counts(number, _, _):
                    names.add(number.name)
                case Moves(feature, _):
                    names.add(feature.name)
        return frozenset(names)

    def without(self, *names: str) -> AbstractEffect:
        """Return the same, with these relations, numbers or questions left as they are."""
        kept = tuple(c for c in self.changes if not AbstractEffect((c,)).touched() & set(names))
        return replace(self, changes=kept)


def becomes(relation: Relation, *terms_and_formula: Term | Formula) -> Becomes:
    """From now on the relation holds of the terms where the formula, which comes last, held."""
    *terms, formula = terms_and_formula
    assert isinstance(formula, Formula)
    return Becomes(relation, tuple(t for t in terms if isinstance(t, Term)), formula)


NOTHING = AbstractEffect()
