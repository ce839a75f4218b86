"""Explain why a rule fired and the others did not; derive the state diagram from the table.

For each rule that did not fire, the first false clause of its guard is given, with the actual
value.  A rule whose guard holds, but which comes after a check that fired, was not reached.  Most
steps of a long trace are decided at the same few points, so each point is explained once.

In the state diagram a rule starts in every state in which its guard can hold and no check before it
always answers.  It ends where its effect leads; a rule that changes no state stays.  A failover can
happen in any state, so its rules are no edges.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import Any, cast

from fencepost.model.classic.cells import COLUMNS
from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import MID, OFFER, GroupState
from fencepost.model.revision import Revision
from fencepost.model.table.expr import (
    Conjunction,
    Disjunction,
    Expr,
    Feature,
    In,
    Point,
    compile_closure,
    features_of,
    text,
    word,
)
from fencepost.model.table.shared_features import INST
from fencepost.model.table.table import Rule, Table

REACHED = -1
"""In place of a clause: the whole guard holds."""


class LoggedTable:
    """A table that logs its decisions."""

    def __init__(self, table: Table, log: list[tuple[Table, Point, Rule]]) -> None:
        self._table = table
        self._log = log

    @property
    def name(self) -> str:
        """Name of the table."""
        return self._table.name

    @property
    def features(self) -> tuple[Feature, ...]:
        """Features of the table."""
        return self._table.features

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
        self._points_json: list[dict[str, Any]] = []

    def point(self, table: Table, point: Point, rule: Rule) -> int:
        """Return the number of a decision, adding it if it is new."""
        key = (table.name, point)
        number = self._points.get(key)
        if number is None:
            number = self._points[key] = len(self._points_json)
            rules = list(table.rules())
            self._points_json.append(
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
            "points": self._points_json,
        }


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "features": [feature.name for feature in table.features],
        "checks": len(table.checks),
        "rules": [rule_json(table, rule) for rule in table.rules()],
    }


def rule_json(table: Table, rule: Rule) -> dict[str, Any]:
    """Return a rule for a page."""
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


_LEADS = {
    Do.CREATE_GROUP: GroupState.EMPTY,
    Do.HAND_OUT_PENDING: GroupState.EMPTY,
    Do.REBALANCE: GroupState.PREPARING,
    Do.COMPLETE_JOIN: GroupState.COMPLETING,
    Do.ASSIGN: GroupState.STABLE,
    Do.BECOME_EMPTY: GroupState.EMPTY,
    Do.FORGET: GroupState.ABSENT,
    Do.STORE_OFFSETS: GroupState.EMPTY,
}
_ONLY_FROM_ABSENT = {Do.CREATE_GROUP, Do.HAND_OUT_PENDING, Do.STORE_OFFSETS}
_ANYWHERE = "failover"
_JOIN_PHASE = "join phase"
_CLEANUP = "cleanup"
_DEPENDENT = (MID, INST, OFFER)
"""Features that limit each other, so all are tried, whichever of them a guard has."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from a state to a state, and its rules; an edge to itself: the state stays."""

    start: GroupState
    end: GroupState
    rules: tuple[str, ...]


def edges(revision: Revision) -> tuple[Edge, ...]:
    """Return the edges of a revision, those that stay included, by state."""
    rules: dict[tuple[GroupState, GroupState], list[str]] = {}
    for table, rule in revision.rules():
        if table.name == _ANYWHERE or rule.defensive:
            continue
        for start in _starts(table, rule):
            rules.setdefault((start, _end(rule, start)), []).append(rule.id)
    order = list(GroupState)
    return tuple(
        Edge(start, end, tuple(rules[start, end]))
        for start, end in sorted(rules, key=lambda e: (order.index(e[0]), order.index(e[1])))
    )


def _starts(table: Table, rule: Rule) -> Iterator[GroupState]:
    state = next((feature for feature in table.features if feature.name == "state"), None)
    if state is not None:
        can_hold = _values(table, rule.guard, state)
        before = takewhile(lambda check: check is not rule, table.checks)
        taken = {value for check in before for value in _all_of(check.guard, state)}
        yield from (value for value in GroupState if value in can_hold - taken)
    elif table.name == _JOIN_PHASE:
        yield GroupState.PREPARING
    elif table.name == _CLEANUP:
        yield GroupState.EMPTY
    else:
        yield from GroupState


def _values(table: Table, guard: Expr, feature: Feature) -> set[Hashable]:
    """Return the values of a feature at the points where a guard holds."""
    relevant = {feature, *features_of(guard), *_DEPENDENT}
    features = tuple(feature_ for feature_ in table.features if feature_ in relevant)
    holds, place = compile_closure(guard, features), features.index(feature)
    return {point[place] for point in COLUMNS.points(features) if holds(point)}


def _all_of(guard: Expr, feature: Feature) -> frozenset[Hashable]:
    """Return the values of a feature for which a guard holds, if it asks for nothing else."""
    match guard:
        case In(feature=tested, values=values) if tested is feature:
            return values
        case Disjunction(parts=parts):
            return frozenset().union(*(_all_of(part, feature) for part in parts))
        case _:
            return frozenset()


def _end(rule: Rule, start: GroupState) -> GroupState:
    state = start
    for do in rule.effect:
        if do in _LEADS and (do not in _ONLY_FROM_ABSENT or state is GroupState.ABSENT):
            state = _LEADS[do]
    return state
