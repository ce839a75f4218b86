"""Explain why a rule fired and the others did not, clause by clause.

For each rule that did not fire, the first false clause of its guard is given, with the actual
value.  A rule whose guard holds, but which comes after a check that fired, was not reached.  Most
steps of a long trace are decided at the same few points, so each point is explained once.
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


class LoggedTable:
    """A table that logs its decisions."""

    def __init__(self, table: Table, log: list[tuple[Table, Point, Rule]]) -> None:
        self._table = table
        self._log = log

    def decide(self, point: Point) -> Rule:
        """Decide as the table does, and log the decision."""
        rule = self._table.decide(point)
        self._log.append((self._table, point, rule))
        return rule


def logged_tables(revision: Revision, log: list[tuple[Table, Point, Rule]]) -> dict[str, Table]:
    """Return the tables of a revision, which write their decisions to the log."""
    return {name: cast("Table", LoggedTable(table, log)) for name, table in revision.tables.items()}


class Decisions:
    """The tables of one revision, and the points of its decisions, for a page."""

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self._tables = {table.name: index for index, table in enumerate(revision.tables.values())}
        self._points: dict[tuple[str, Point], int] = {}
        self._told: list[dict[str, Any]] = []

    def point(self, table: Table, point: Point, rule: Rule) -> int:
        """Return the number of a decision, adding it if it is new."""
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
        """Return tables with their rules, and the points at which something was decided."""
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
    """Return the clauses of a guard."""
    return guard.parts if isinstance(guard, Conjunction) else (guard,)


@cache
def _closures(features: tuple[Feature, ...], rule: Rule) -> tuple[Any, ...]:
    return tuple(compile_closure(clause, features) for clause in clauses(rule.guard))


def _first_false(features: tuple[Feature, ...], rule: Rule, point: Point) -> int:
    for number, holds in enumerate(_closures(features, rule)):
        if not holds(point):
            return number
    return REACHED
