"""Derive the state diagram from the decision table: which rule can lead from which state to which.

A rule starts in every state in which its guard can hold and no check before it always answers.  It
ends where its effect leads; a rule that changes no state stays.  A failover can happen in any
state, so its rules are no edges.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from fencepost.model.revision import Revision
from fencepost.model.table.effects import Do
from fencepost.model.table.expr import Disjunction, Expr, Feature, In, compile_closure, features_of
from fencepost.model.table.table import Rule, Table
from fencepost.model.table.vocabulary import INST, MID, OFFER, GroupState, points

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
"""Features that limit each other, so all are tried whatever a guard asks for."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from a state to a state, and its rules; an edge to itself: the state stays."""

    start: GroupState
    end: GroupState
    rules: tuple[str, ...]


def edges(revision: Revision) -> tuple[Edge, ...]:
    """Return the edges of a revision, those that stay included, by state."""
    found: dict[tuple[GroupState, GroupState], list[str]] = {}
    for table, rule in revision.rules():
        if table.name == _ANYWHERE or rule.defensive:
            continue
        for start in _starts(table, rule):
            found.setdefault((start, _end(rule, start)), []).append(rule.id)
    order = list(GroupState)
    return tuple(
        Edge(start, end, tuple(found[start, end]))
        for start, end in sorted(found, key=lambda e: (order.index(e[0]), order.index(e[1])))
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
    asked = {feature, *features_of(guard), *_DEPENDENT}
    features = tuple(one for one in table.features if one in asked)
    holds, place = compile_closure(guard, features), features.index(feature)
    return {point[place] for point in points(features) if holds(point)}


def _all_of(guard: Expr, feature: Feature) -> frozenset[Hashable]:
    """Return the values of a feature for which a guard holds, if it asks for nothing else."""
    match guard:
        case In(feature=asked, values=values) if asked is feature:
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
