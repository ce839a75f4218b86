"""Compile formulas to fast functions of finite structures.

A quantifier goes over the tuples of a relation that its body asks for, where there is one, since
relations of a group are small; otherwise over everything of its sort that occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from fencepost.properties.logic.logic import (
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
    Same,
    Signature,
    Sort,
    Term,
    UpTo,
    When,
    negate,
)

Structure = Any
Closure = Callable[[Structure, Structure, Any], bool]
"""(group now, group then, event) → True if the formula holds."""

Things = tuple[frozenset[Any], ...]
"""All things of each sort, in the order of `Sort`."""

SetClosure = Callable[[Structure, Structure, Any, Things], Any]
"""(group now, group then, event, all things) → the tuples of which the formula holds."""

_GROUP = {When.NOW: "n", When.THEN: "t"}
_SORTS = tuple(Sort)
_UNIVERSE = {sort: f"everything({place}, n, t, e)" for place, sort in enumerate(_SORTS)}
_VARIABLE = {sort: f"u[{place}]" for place, sort in enumerate(_SORTS)}


def slot(name: str) -> str:
    """Return the attribute in which a structure keeps a number, a question or a fixed term."""
    return name.replace(" ", "_").replace("'", "").replace(".", "_")


def compile_closure(formula: Formula, signature: Signature) -> Closure:
    """Compile a formula to a function.  Raises TypeError for an unknown kind of formula."""
    writer = _Writer(signature)
    body = writer.source(formula, {})
    scope = {"s": writer.sets, "everything": partial(everything, signature)}
    closure: Closure = eval(f"lambda n, t, e: {body}", scope)  # noqa: S307  (our own source)
    return closure


def compile_set(terms: tuple[Term, ...], formula: Formula, signature: Signature) -> SetClosure:
    """Compile a formula to a function that returns the tuples for which it holds.

    Without terms the function returns True or False.
    """
    writer = _Writer(signature)
    names = {term.name: f"x{i}" for i, term in enumerate(terms)}
    body = writer.source(formula, names)
    loops = "".join(f" for {names[t.name]} in {_VARIABLE[t.sort]}" for t in terms)
    tuples = f"frozenset([{_tuple(list(names.values()))}{loops} if {body}])" if terms else body
    scope = {"s": writer.sets, "everything": partial(everything, signature)}
    closure: SetClosure = eval(f"lambda n, t, e, u: {tuples}", scope)  # noqa: S307  (as above)
    return closure


def everything(
    signature: Signature, sort: int, now: Structure, then: Structure, event: Any
) -> frozenset[Any]:
    """Return everything of a sort, given by its place, that occurs in a step."""
    columns, terms, constants = _fields_of(signature, _SORTS[sort])
    values = set(constants)
    for group in (now,) if now is then else (now, then):
        for name, place in columns:
            tuples = getattr(group, name)
            values.update(tuples if place is None else [row[place] for row in tuples])
    if event is not None:
        values.update(filter(None, [getattr(event, name) for name in terms]))
    return frozenset(values)


@cache
def _fields_of(
    signature: Signature, sort: Sort
) -> tuple[tuple[tuple[str, int | None], ...], tuple[str, ...], tuple[int | None, ...]]:
    """Return the fields of a step with things of a sort: of the group, of the event, constants.

    A relation has the place of the things in its tuples; None: it has no tuples, but the things.
    """
    return (
        tuple(
            (relation.name, relation.sorts.index(sort) if len(relation.sorts) > 1 else None)
            for relation in signature.relations
            if sort in relation.sorts
        ),
        tuple(slot(term.name) for term in signature.terms if term.sort is sort),
        tuple(term.constant for term in signature.constants if term.sort is sort),
    )


@dataclass(slots=True)
class _Writer:
    """A writer of one formula as the source of an expression; `sets`: values that it refers to."""

    signature: Signature
    sets: list[frozenset[Hashable]] = field(default_factory=list)
    _bound: int = 0

    def source(self, node: Formula, names: dict[str, str]) -> str:
        match node:
            case Holds(relation, terms, when):
                where = "e" if relation.of_event else _GROUP[when]
                if not terms:
                    return f"{where}.{relation.name}"
                return (
                    f"({_tuple([self._term(t, names) for t in terms])} in {where}.{relation.name})"
                )
            case Is(feature, values, when):
                self.sets.append(values)
                where = _GROUP[when] if feature in self.signature.features else "e"
                return f"({where}.{slot(feature.name)} in s[{len(self.sets) - 1}])"
            case Same(left, right):
                return f"({self._term(left, names)} == {self._term(right, names)})"
            case UpTo(left, right):
                return f"({self._term(left, names)} <= {self._term(right, names)})"
            case AtMost(left, left_when, plus, right, right_when):
                return f"({_number(left, left_when)} + {plus} <= {_number(right, right_when)})"
            case AllOf(parts):
                return "(" + (" and ".join(self.source(p, names) for p in parts) or "True") + ")"
            case AnyOf(parts):
                return "(" + (" or ".join(self.source(p, names) for p in parts) or "False") + ")"
            case Not(part):
                return f"(not {self.source(part, names)})"
            case Implies(premise, conclusion):
                return f"(not {self.source(premise, names)} or {self.source(conclusion, names)})"
            case ForAll(terms, Implies(premise, conclusion)):
                return self._loop("all", terms, _conjuncts(premise), conclusion, names)
            case ForAll(terms, body):
                return self._loop("all", terms, [], body, names)
            case Exists(terms, body):
                return (
                    "(not "
                    + self._loop("all", terms, _conjuncts(body), negate(AllOf(())), names)
                    + ")"
                )
            case _:
                raise TypeError(f"no formula of the language: {type(node).__name__}")

    def _term(self, term: Term, names: dict[str, str]) -> str:
        if term.constant is not None:
            return f"({term.constant})"
        return f"e.{slot(term.name)}" if term.fixed else names[term.name]

    def _loop(
        self,
        word: str,
        terms: tuple[Term, ...],
        premises: list[Formula],
        conclusion: Formula,
        names: dict[str, str],
    ) -> str:
        """Write `word(conclusion for … in … if premises)`, the loops over relations if it can."""
        open_terms = {term.name: term for term in terms}
        names = {name: variable for name, variable in names.items() if name not in open_terms}
        clauses: list[str] = []
        rest = list(premises)
        while open_terms:
            atom = next(
                (
                    p
                    for p in rest
                    if isinstance(p, Holds) and any(t.name in open_terms for t in p.terms)
                ),
                None,
            )
            if atom is None:
                term = open_terms.pop(next(iter(open_terms)))
                names[term.name] = self._fresh()
                clauses.append(f"for {names[term.name]} in {_UNIVERSE[term.sort]}")
                continue
            rest = [p for p in rest if p is not atom]
            clauses.append(self._clause(atom, open_terms, names))
        checks = [self.source(p, names) for p in rest]
        condition = f" if {' and '.join(checks)}" if checks else ""
        return f"{word}({self.source(conclusion, names)} {' '.join(clauses)}{condition})"

    def _clause(self, atom: Holds, open_terms: dict[str, Term], names: dict[str, str]) -> str:
        """Write a loop over the tuples of a relation: it binds open terms, compares the others."""
        targets, checks = [], []
        for term in atom.terms:
            target = self._fresh()
            targets.append(target)
            if not term.fixed and term.name in open_terms:
                del open_terms[term.name]
                names[term.name] = target
            else:
                checks.append(f"{target} == {self._term(term, names)}")
        where = "e" if atom.relation.of_event else _GROUP[atom.when]
        condition = f" if {' and '.join(checks)}" if checks else ""
        return f"for {_tuple(targets)} in {where}.{atom.relation.name}{condition}"

    def _fresh(self) -> str:
        self._bound += 1
        return f"b{self._bound}"


def _conjuncts(formula: Formula) -> list[Formula]:
    if isinstance(formula, AllOf):
        return [inner for part in formula.parts for inner in _conjuncts(part)]
    return [formula]


def _tuple(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _number(number: Number | None, when: When) -> str:
    return "0" if number is None else f"{_GROUP[when]}.{slot(number.name)}"
