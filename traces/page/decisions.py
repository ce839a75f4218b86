"""Why a rule fired and the others did not: the decision table at one point, clause by clause.

Decides what a reader is told of a decision.  Of each rule that did not fire it is the first clause
of its guard that is false, beside what was the case; a rule whose guard holds, but behind a check
that hit first, was not reached.  Most steps of a long trace are decided at the same few points, so
each is told once.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from fencepost.model.revision import Revision
from fencepost.model.table.expr import (
    Conjunction,
    Expr,
    Feature,
    Point,
    compile_closure,
    features_of,
    text,
    word,
)
from fencepost.model.table.table import Rule, Table

REACHED = -1
"""In place of a clause: the whole guard holds."""


class Heard:
    """A table that notes what it is asked."""

    def __init__(self, table: Table, log: list[tuple[Table, Point, Rule]]) -> None:
        self._table = table
        self._log = log

    def decide(self, point: Point) -> Rule:
        """As the table decides."""
        rule = self._table.decide(point)
        self._log.append((self._table, point, rule))
        return rule


def heard(revision: Revision, log: list[tuple[Table, Point, Rule]]) -> dict[str, Table]:
    """The tables of a revision; what they are asked goes to the log."""
    return {name: cast("Table", Heard(table, log)) for name, table in revision.tables.items()}


class Decisions:
    """The tables and points of one revision, each told once; what a page shows of them."""

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self._tables = {table.name: index for index, table in enumerate(revision.tables.values())}
        self._points: dict[tuple[str, Point], int] = {}
        self._told: list[dict[str, Any]] = []

    def point(self, table: Table, point: Point, rule: Rule) -> int:
        """The number under which a decision is told."""
        key = (table.name, point)
        number = self._points.get(key)
        if number is None:
            number = self._points[key] = len(self._told)
            rules = list(table.rules())
            self._told.append(
                {
                    "t": self._tables[table.name],
                    "v": [word(value) for value in point],
                    "r": rules.index(rule),
                    "w": [_first_false(table.features, each, point) for each in rules],
                }
            )
        return number

    def to_json(self) -> dict[str, Any]:
        """Tables with their rules, and the points at which something was decided."""
        return {
            "name": self.revision.name,
            "tables": [_table(table) for table in self.revision.tables.values()],
            "points": self._told,
        }


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "features": [feature.name for feature in table.features],
        "checks": len(table.checks),
        "rules": [_rule(table, rule) for rule in table.rules()],
    }


def _rule(table: Table, rule: Rule) -> dict[str, Any]:
    names = [feature.name for feature in table.features]
    does = [do.value for do in rule.effect] + ([rule.answer.name] if rule.answer else [])
    return {
        "id": rule.id,
        "level": rule.level.value,
        "clauses": [text(clause) for clause in clauses(rule.guard)],
        "asks": [
            sorted({names.index(f.name) for f in features_of(clause)})
            for clause in clauses(rule.guard)
        ],
        "does": "; ".join(does) or "nothing changes",
        "because": rule.because,
        "source": rule.source,
    }


def clauses(guard: Expr) -> tuple[Expr, ...]:
    """What all must hold for a guard to hold."""
    return guard.parts if isinstance(guard, Conjunction) else (guard,)


@cache
def _closures(features: tuple[Feature, ...], rule: Rule) -> tuple[Any, ...]:
    return tuple(compile_closure(clause, features) for clause in clauses(rule.guard))


def _first_false(features: tuple[Feature, ...], rule: Rule, point: Point) -> int:
    for number, holds in enumerate(_closures(features, rule)):
        if not holds(point):
            return number
    return REACHED
