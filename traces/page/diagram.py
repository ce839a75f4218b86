"""The state diagram, made from the decision table: which rule can lead from which state to which.

Decides what an edge is.  A rule starts in every state that its guard does not forbid, and ends
where its effect leads; a rule that changes no state stays.  A failover can happen in any state, so
its rules are no edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from fencepost.model.effects import Do
from fencepost.model.expr import AllOf, AnyOf, Expr, Feature, In, Not
from fencepost.model.revision import Revision
from fencepost.model.table import Rule, Table
from fencepost.model.vocabulary import GroupState

_LEADS = {
    Do.CREATE_GROUP: GroupState.EMPTY,
    Do.REBALANCE: GroupState.PREPARING,
    Do.COMPLETE_JOIN: GroupState.COMPLETING,
    Do.ASSIGN: GroupState.STABLE,
    Do.BECOME_EMPTY: GroupState.EMPTY,
    Do.FORGET: GroupState.ABSENT,
    Do.STORE_OFFSETS: GroupState.EMPTY,
}
_ONLY_FROM_ABSENT = {Do.CREATE_GROUP, Do.STORE_OFFSETS}
_ANYWHERE = "failover"
_JOIN_PHASE = "join phase"


@dataclass(frozen=True, slots=True)
class Edge:
    """From a state to a state, by these rules; to itself: they stay."""

    start: GroupState
    end: GroupState
    rules: tuple[str, ...]


def edges(revision: Revision) -> tuple[Edge, ...]:
    """The edges of a revision, those that stay included, by state."""
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
    feature = next((f for f in table.features if f.name == "state"), None)
    for state in GroupState:
        if feature is None:
            if state is GroupState.PREPARING or table.name != _JOIN_PHASE:
                yield state
        elif state in feature.domain and may_hold(rule.guard, feature, state):
            yield state


def _end(rule: Rule, start: GroupState) -> GroupState:
    state = start
    for do in rule.effect:
        if do in _LEADS and (do not in _ONLY_FROM_ABSENT or state is GroupState.ABSENT):
            state = _LEADS[do]
    return state


class _Truth(Enum):
    NO = 0
    OPEN = 1
    YES = 2


def may_hold(guard: Expr, feature: Feature, value: object) -> bool:
    """Whether a guard can hold where this feature has this value, whatever the others have."""
    return _truth(guard, feature, value) is not _Truth.NO


def _truth(expr: Expr, feature: Feature, value: object) -> _Truth:
    match expr:
        case In(feature=asked, values=values):
            if asked is not feature:
                return _Truth.OPEN
            return _Truth.YES if value in values else _Truth.NO
        case AllOf(parts=parts):
            return min((_truth(p, feature, value) for p in parts), key=_rank, default=_Truth.YES)
        case AnyOf(parts=parts):
            return max((_truth(p, feature, value) for p in parts), key=_rank, default=_Truth.NO)
        case Not(part=part):
            return _Truth(2 - _truth(part, feature, value).value)
        case _:
            raise TypeError(f"no expression of the vocabulary: {type(expr).__name__}")


def _rank(truth: _Truth) -> int:
    return truth.value
