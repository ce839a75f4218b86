"""Define the preconditions of each step of the consumer protocol: table, guard, earlier steps."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from enum import Enum

from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.vocabulary import (
    BEAT_TABLE,
    INST,
    JOIN_TABLE,
    LEAVE_TABLE,
    MID,
    REMOVAL_TABLE,
    SUBJECT,
    Inst,
    Mid,
)
from fencepost.model.table.expr import Feature
from fencepost.model.table.step_soundness import Need, Steps

ANSWERS = frozenset(
    {Do.ANSWER_ASSIGNMENT, Do.ANSWER_CHANGES, Do.ANSWER_CHANGED_TASKS, Do.ANSWER_EPOCH}
)
"""Steps that answer the request, so that the rule has no `answer`."""

_ADDS = frozenset({Do.ADD_DYNAMIC, Do.ADD_STATIC})
_JOINS = frozenset(
    {
        Do.CREATE_GROUP,
        Do.CREATE_GROUP_AT_ZERO,
        *_ADDS,
        Do.REPLACE_HOLDER,
        Do.FREE_INSTANCE,
        Do.MAP_CALLER,
        Do.RECONCILE_UNMAPPED,
        Do.RECONCILE_UNMAPPED_LATER,
        Do.ANSWER_ASSIGNMENT,
    }
)
_BOTH = frozenset(
    {
        Do.UPDATE_MEMBER,
        Do.RECOMPUTE_TARGET,
        Do.RECOMPUTE_TARGET_AT_ONCE,
        Do.RECONCILE,
        Do.RECONCILE_UNHEEDING,
        Do.RECONCILE_LATER,
        Do.RESTART_SESSION,
        Do.ANSWER_CHANGES,
        Do.ANSWER_CHANGED_TASKS,
    }
)
TABLES: dict[str, frozenset[Enum]] = {
    JOIN_TABLE: _JOINS | _BOTH,
    BEAT_TABLE: _BOTH,
    LEAVE_TABLE: frozenset({Do.RELEASE, Do.RELEASE_SETTLED, Do.ANSWER_EPOCH}),
    "LeaveGroup": frozenset({Do.ANSWER_ROWS, Do.ANSWER_ROWS_UNKNOWN}),
    REMOVAL_TABLE: frozenset({Do.REMOVE_HOLDER}),
    "ConsumerGroupDescribe": frozenset({Do.ANSWER_DESCRIPTION, Do.ANSWER_DESCRIPTION_KEPT}),
    "DescribeGroups": frozenset({Do.ANSWER_DEAD, Do.ANSWER_STATE}),
    "OffsetCommit": frozenset({Do.STORE_OFFSETS, Do.CREATE_GROUP_AT_ZERO, Do.ANSWER_PARTITIONS}),
    "TxnOffsetCommit": frozenset({Do.STORE_OFFSETS, Do.CREATE_GROUP_AT_ZERO, Do.ANSWER_PARTITIONS}),
    "OffsetCommit partition": frozenset({Do.STORE_OFFSETS, Do.REFUSE_ALL}),
    "TxnOffsetCommit partition": frozenset({Do.STORE_OFFSETS, Do.REFUSE_ALL}),
    "OffsetFetch": frozenset({Do.ANSWER_OFFSETS}),
    "OffsetDelete": frozenset({Do.REMOVE_NAMED_OFFSETS}),
    "ListGroups": frozenset({Do.ANSWER_LISTED, Do.ANSWER_LISTED_CLASSIC, Do.ANSWER_UNLISTED}),
    "failover": frozenset({Do.RELOAD}),
}
"""Steps that read a request of some kinds, or its absence, and belong to these tables alone."""


@dataclass(frozen=True, slots=True)
class Where:
    """State in which a step is done: the guard's values, changed by the steps before.

    A value is None where the table has no such column.  `inst` and `is_member` (the caller is
    surely one) follow the steps.
    """

    inst: Hashable
    is_member: bool

    def after(self, do: Do) -> Where:
        """Return the state for the next step."""
        if do in {Do.ADD_STATIC, Do.REPLACE_HOLDER, Do.MAP_CALLER}:
            return Where(Inst.OWN, is_member=True)
        if do is Do.ADD_DYNAMIC:
            return replace(self, is_member=True)
        if do in {Do.REMOVE_MEMBER, Do.FORGET}:
            mapped = do is Do.REMOVE_MEMBER and self.inst is not Inst.OWN
            return Where(self.inst if mapped else Inst.UNMAPPED, is_member=False)
        if do is Do.REMOVE_HOLDER:
            return Where(Inst.UNMAPPED, is_member=self.is_member and self.inst is not Inst.OWN)
        return self


_MEMBER = Need(
    "the caller is a member",
    "the caller is no member",
    "ask for mid=Mid.MEMBER, or put a step before it that makes the caller one",
    lambda where: where.is_member,
)
_HOLDER = Need(
    "the instance has a holder",
    "nobody holds the instance",
    "ask for inst=Inst.OTHER or Inst.OWN",
    lambda where: where.inst in {Inst.OWN, Inst.OTHER},
)
_INSTANCE = Need(
    "the request names an instance",
    "the request names no instance",
    "ask for inst=Inst.UNMAPPED, or another that is not NONE",
    lambda where: where.inst is not Inst.NONE,
)

NEEDS: dict[Enum, tuple[Need, ...]] = {
    Do.ADD_STATIC: (_INSTANCE,),
    Do.REPLACE_HOLDER: (_HOLDER,),
    Do.MAP_CALLER: (_INSTANCE, _MEMBER),
    Do.UPDATE_MEMBER: (_MEMBER,),
    Do.RELEASE: (_MEMBER,),
    Do.RELEASE_SETTLED: (_MEMBER,),
    Do.REMOVE_MEMBER: (_MEMBER,),
    Do.REMOVE_HOLDER: (_HOLDER,),
    Do.RECONCILE: (_MEMBER,),
    Do.RECONCILE_UNHEEDING: (_MEMBER,),
    Do.RECONCILE_LATER: (_MEMBER,),
    Do.RECONCILE_UNMAPPED: (_MEMBER,),
    Do.RECONCILE_UNMAPPED_LATER: (_MEMBER,),
    Do.ANSWER_ASSIGNMENT: (_MEMBER,),
    Do.ANSWER_CHANGES: (_MEMBER,),
    Do.ANSWER_CHANGED_TASKS: (_MEMBER,),
    Do.RESTART_SESSION: (_MEMBER,),
}
"""Preconditions of a step; a step that isn't here can be done anywhere in its table."""


def _first_place(at: Callable[[Feature], Hashable]) -> Where:
    """Return the state for the first step at a point whose features have these values."""
    return Where(at(INST), is_member=at(MID) is Mid.MEMBER or at(SUBJECT) is not None)


STEPS = Steps(
    Do,
    TABLES,
    NEEDS,
    _first_place,
    ANSWERS,
    example=Do.RESTART_SESSION,
    without_request=frozenset({"session timeout", "rebalance timeout", "failover", "cleanup"}),
    only_answer=frozenset(
        {"LeaveGroup", "ConsumerGroupDescribe", "DescribeGroups", "ListGroups", "OffsetFetch"}
    ),
    welcomes={
        JOIN_TABLE: str(Do.ANSWER_ASSIGNMENT),
        BEAT_TABLE: str(Do.ANSWER_CHANGES),
        LEAVE_TABLE: str(Do.ANSWER_EPOCH),
    },
)
