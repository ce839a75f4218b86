"""Define the preconditions of each step of the classic protocol: table, guard, earlier steps.

`STEPS` holds them for the soundness check of rules; the page of steps is made of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import (
    DELAY,
    MID,
    STATE,
    SUBJECT,
    Delay,
    GroupState,
    Mid,
    Subject,
)
from fencepost.model.history.events import OPERATED
from fencepost.model.messages.errors import Error
from fencepost.model.table.expr import Feature
from fencepost.model.table.shared_features import INST, Inst
from fencepost.model.table.step_soundness import Need, Steps
from fencepost.model.table.table import Echo, Rule, Table

SEATS = frozenset({Do.ADD_DYNAMIC, Do.ADMIT_PENDING, Do.ADD_STATIC, Do.ADD_STATIC_AS_SENT})
"""Steps that add a member, which is the caller in the steps after."""
REPLACES = frozenset({Do.REPLACE_HOLDER, Do.REPLACE_HOLDER_AS_SENT, Do.REPLACE_ID})
"""Steps that put the caller in the place of an instance's holder."""
HANDS_OUT = frozenset({Do.HAND_OUT_PENDING, Do.HAND_OUT_HOLDER})
"""Steps that find an id for a join that brought none."""
MAKES_CALLER = SEATS | REPLACES | HANDS_OUT
"""Steps that determine the caller: one of them for each request."""
NEW_IDS = MAKES_CALLER - {Do.ADMIT_PENDING, Do.ADD_STATIC_AS_SENT, Do.REPLACE_HOLDER_AS_SENT}
"""Steps that give the caller an id that it did not send, so that an answer must carry it."""
ANSWERS = frozenset(
    {
        Do.ANSWER_CURRENT,
        Do.ANSWER_RESTARTED,
        Do.PARK_JOIN,
        Do.PARK_SYNC,
        Do.ANSWER_ASSIGNMENT,
    }
)
"""Steps that answer the request or let it wait, so that the rule has no `answer`."""
_FILL = frozenset(
    {
        Do.ANSWER_ROWS,
        Do.ANSWER_ROWS_UNKNOWN,
        Do.ANSWER_OFFSETS,
        Do.ANSWER_DESCRIPTION,
        Do.ANSWER_LISTED,
        Do.ANSWER_UNLISTED,
    }
)
"""Steps that fill the rule's `answer`."""

TABLES: dict[str, frozenset[Enum]] = {
    "JoinGroup": frozenset(
        {
            Do.MAP_CALLER,
            Do.SEAT_IDLE,
            Do.KEEP_HOLDER,
            Do.UPDATE_MEMBER,
            Do.PARK_JOIN,
            Do.ANSWER_CURRENT,
            Do.ANSWER_RESTARTED,
            *MAKES_CALLER,
        }
    ),
    "SyncGroup": frozenset(
        {
            Do.PARK_SYNC,
            Do.NOTE_SYNC,
            Do.ASSIGN,
            Do.ANSWER_SYNCS,
            Do.REFUSE_SYNCS,
            Do.ANSWER_ASSIGNMENT,
        }
    ),
    "OffsetCommit": frozenset({Do.STORE_OFFSETS}),
    "TxnOffsetCommit": frozenset({Do.STORE_OFFSETS}),
    "OffsetFetch": frozenset({Do.ANSWER_OFFSETS}),
    "OffsetDelete": frozenset({Do.REMOVE_NAMED_OFFSETS}),
    "LeaveGroup": frozenset({Do.ANSWER_ROWS, Do.ANSWER_ROWS_UNKNOWN}),
    "DescribeGroups": frozenset({Do.ANSWER_DESCRIPTION}),
    "ListGroups": frozenset({Do.ANSWER_LISTED, Do.ANSWER_UNLISTED}),
    "offset retention": frozenset({Do.REMOVE_EXPIRED_OFFSETS}),
    "join phase": frozenset({Do.EXTEND_DELAY, Do.POSTPONE, Do.COMPLETE_JOIN}),
}
"""Steps that read a request of some kinds, or a wait, and belong to these tables alone."""
HOME: dict[Enum, tuple[str, ...]] = {
    do: tuple(table for table, steps in TABLES.items() if do in steps)
    for do in Do
    if any(do in steps for steps in TABLES.values())
}
"""Step → the tables that it belongs to."""


@dataclass(frozen=True, slots=True)
class Where:
    """State in which a step is done: the guard's values, changed by the steps before.

    A value is None where the table has no such column.  `mid` is the id of the request and doesn't
    change.  `inst`, `state`, `is_member` (the caller is surely one), `is_pending` (its id is) and
    `is_delayed` (the initial delay runs) follow the steps.
    """

    mid: Hashable
    inst: Hashable
    state: Hashable
    is_member: bool
    is_pending: bool
    is_delayed: bool
    before: frozenset[Do] = frozenset()

    def after(self, do: Do) -> Where:
        """Return the state for the next step; a member that may be gone is assumed gone."""
        done = replace(self, before=self.before | {do})
        match do:
            case Do.REBALANCE:
                opens = self.is_delayed or self.state is GroupState.EMPTY
                return replace(done, state=GroupState.PREPARING, is_delayed=opens)
            case Do.ASSIGN:
                return replace(done, state=GroupState.STABLE)
            case Do.COMPLETE_JOIN:
                return replace(done, state=GroupState.COMPLETING, is_delayed=False)
            case Do.BECOME_EMPTY:
                return replace(done, state=GroupState.EMPTY, is_delayed=False)
            case Do.POSTPONE:
                return replace(done, is_delayed=False)
            case Do.REMOVE_PENDING:
                return replace(done, is_pending=False)
            case Do.RELOAD | Do.FORGET:
                done = replace(done, is_pending=False, is_delayed=False)
        if do in _TAKES_INSTANCE:
            return replace(done, is_member=True, is_pending=False, inst=Inst.OWN)
        if do in SEATS or do is Do.HAND_OUT_PENDING:
            inst = Inst.OTHER if self.inst is Inst.OWN else self.inst
            seated = do in SEATS
            return replace(done, is_member=seated, is_pending=not seated, inst=inst)
        is_static = self.inst is Inst.OWN
        goes = _REMOVES_CALLER[do](is_static) if do in _REMOVES_CALLER else False
        if (goes and is_static) or (do in _FREES_INSTANCE and self.inst is Inst.OTHER):
            done = replace(done, inst=Inst.UNMAPPED)
        return replace(done, is_member=False) if goes else done


_TAKES_INSTANCE = REPLACES | {
    Do.ADD_STATIC,
    Do.ADD_STATIC_AS_SENT,
    Do.HAND_OUT_HOLDER,
    Do.MAP_CALLER,
}
_REMOVES_CALLER: dict[Do, Callable[[bool], bool]] = {
    Do.REMOVE_MEMBER: lambda _: True,
    Do.REMOVE_CALLER: lambda _: True,
    Do.REMOVE_HOLDER: lambda is_holder: is_holder,
    Do.REMOVE_UNSYNCED: lambda _: True,
    Do.REMOVE_UNSYNCED_DYNAMIC: lambda is_static: not is_static,
    Do.REMOVE_ABSENT_DYNAMIC: lambda is_static: not is_static,
    Do.RELOAD: lambda _: True,
    Do.FORGET: lambda _: True,
}
"""Step → True if the caller may be gone after it; the argument: if it holds the instance sent."""
_FREES_INSTANCE = frozenset({Do.REMOVE_HOLDER, Do.REMOVE_UNSYNCED, Do.RELOAD, Do.FORGET})


_MEMBER = Need(
    "the caller is a member",
    "the caller is no member",
    "ask for mid=Mid.MEMBER, or put a step before it that makes the caller one",
    lambda where: where.is_member,
)
_HOLDER = Need(
    "the instance has a holder",
    "nobody holds the instance",
    "ask for inst=Inst.OTHER",
    lambda where: where.inst in {Inst.OWN, Inst.OTHER},
)
_INSTANCE = Need(
    "the request names an instance",
    "the request names no instance",
    "ask for inst=Inst.UNMAPPED, or another that is not NONE",
    lambda where: where.inst is not Inst.NONE,
)
_PENDING = Need(
    "the member id is pending",
    "the member id is not pending",
    "ask for mid=Mid.PENDING, or for subject=Subject.PENDING in table session timeout",
    lambda where: where.is_pending,
    possible=True,
)
_UNKNOWN_ID = Need(
    "the request brings a member id that is nobody's",
    "there is no id that was sent and is nobody's",
    "ask for mid=Mid.UNKNOWN",
    lambda where: where.mid is Mid.UNKNOWN,
    possible=True,
)
_SENT_ID = Need(
    "the request brings a member id",
    "no member id was sent",
    "ask for mid=Mid.UNKNOWN, or use Do.REPLACE_HOLDER",
    lambda where: where.mid is not Mid.EMPTY,
    possible=True,
)
_REPLACED = Need(
    "Do.REPLACE_HOLDER before it: below version 9 the answer has the old leader's id",
    "nobody was replaced before",
    "put Do.REPLACE_HOLDER before it, or use Do.ANSWER_CURRENT",
    lambda where: bool(where.before & REPLACES),
)
_REBALANCE = Need(
    "a rebalance is prepared, whose end answers the join",
    "no rebalance is prepared, so nothing would ever answer the join",
    "put Do.REBALANCE before it, or ask for state=GroupState.PREPARING",
    lambda where: where.state is GroupState.PREPARING,
    possible=True,
)
_STABLE = Need(
    "the group is stable",
    "the group is not stable",
    "ask for state=GroupState.STABLE",
    lambda where: where.state is GroupState.STABLE,
)
_SEATED = Need(
    "a step before it that adds a member",
    "nobody was added before",
    "put Do.ADD_STATIC or Do.ADMIT_PENDING before it",
    lambda where: bool(where.before & SEATS),
)
_AWAITED = Need(
    "the leader's assignment is awaited, which answers the sync",
    "no assignment is awaited, so nothing would ever answer the sync",
    "ask for state=GroupState.COMPLETING",
    lambda where: where.state is GroupState.COMPLETING,
    possible=True,
)
_DELAYED = Need(
    "the initial delay of a rebalance runs",
    "no initial delay runs",
    "ask for delay=Delay.EXTENDABLE",
    lambda where: where.is_delayed,
)
_NOBODY = Need(
    "nobody is a member any more",
    "somebody is a member",
    "put a step before it that removes the member, or use Do.REBALANCE",
    lambda where: not where.is_member and where.inst not in {Inst.OWN, Inst.OTHER},
    possible=True,
)

NEEDS: dict[Enum, tuple[Need, ...]] = {
    Do.HAND_OUT_HOLDER: (_HOLDER,),
    Do.ADMIT_PENDING: (_PENDING,),
    Do.ADD_STATIC: (_INSTANCE,),
    Do.ADD_STATIC_AS_SENT: (_INSTANCE, _UNKNOWN_ID),
    Do.REPLACE_HOLDER: (_HOLDER,),
    Do.REPLACE_HOLDER_AS_SENT: (_HOLDER, _SENT_ID),
    Do.REPLACE_ID: (_HOLDER,),
    Do.REMOVE_HOLDER: (_HOLDER,),
    Do.KEEP_HOLDER: (_HOLDER,),
    Do.MAP_CALLER: (_MEMBER, _INSTANCE),
    Do.SEAT_IDLE: (_MEMBER, _SEATED, _STABLE),
    Do.UPDATE_MEMBER: (_MEMBER,),
    Do.REMOVE_MEMBER: (_MEMBER,),
    Do.REMOVE_PENDING: (_PENDING,),
    Do.EXTEND_DELAY: (_DELAYED,),
    Do.BECOME_EMPTY: (_NOBODY,),
    Do.REBALANCE_FROM_TARGET: (_STABLE,),
    Do.REBALANCE_UP_TO_TARGET: (_STABLE,),
    Do.REBALANCE_BELOW_TARGET: (_STABLE,),
    Do.PARK_JOIN: (_MEMBER, _REBALANCE),
    Do.ANSWER_CURRENT: (_MEMBER,),
    Do.ANSWER_RESTARTED: (_MEMBER, _REPLACED),
    Do.PARK_SYNC: (_MEMBER, _AWAITED),
    Do.NOTE_SYNC: (_MEMBER,),
    Do.ANSWER_ASSIGNMENT: (_MEMBER,),
    Do.RESTART_SESSION: (_MEMBER,),
    Do.MAYBE_RESTART_SESSION: (_MEMBER,),
}
"""Preconditions of a step; a step that isn't here can be done anywhere in its table."""


def rule_needs(do: Do) -> tuple[str, ...]:
    """List the clauses of a step's needs in the fields of its rule."""
    clauses = []
    if do in HANDS_OUT:
        clauses.append("`answer=Error.MEMBER_ID_REQUIRED` with `echo=Echo.NEW`")
    elif do in NEW_IDS:
        clauses.append("a step that answers or parks the join, or `echo=Echo.NEW`")
    if do is Do.HAND_OUT_HOLDER:
        clauses[0] += ", or a step that answers or parks the join"
    if do in MAKES_CALLER:
        clauses.append("no other step that says who the caller is")
    if do in ANSWERS:
        clauses.append("no `answer`: it is one")
    if do in _FILL:
        clauses.append("an `answer`")
    return tuple(clauses)


_WELCOMES = {
    "JoinGroup": f"{Do.ANSWER_CURRENT} or {Do.PARK_JOIN}",
    "SyncGroup": f"{Do.ANSWER_ASSIGNMENT} or {Do.PARK_SYNC}",
}
_WITHOUT_REQUEST = frozenset(
    {
        "session timeout",
        "join phase",
        "sync phase",
        "failover",
        *OPERATED,
        "cleanup",
        "offset retention",
    }
)
_ONLY_ANSWER = frozenset({"LeaveGroup", "OffsetFetch", "DescribeGroups", "ListGroups"})
"""Tables whose rules define the answer; each row of a leave has its own table."""


def _first_place(at: Callable[[Feature], Hashable]) -> Where:
    """Return the state for the first step at a point whose features have these values."""
    mid, subject = at(MID), at(SUBJECT)
    return Where(
        mid,
        at(INST),
        at(STATE),
        is_member=mid is Mid.MEMBER or subject not in {None, Subject.PENDING},
        is_pending=mid is Mid.PENDING or subject is Subject.PENDING,
        is_delayed=at(DELAY) not in {None, Delay.NONE},
    )


def _of_ids(table: Table, rule: Rule) -> Iterator[str]:
    """Yield faults of ids: new ids that no answer carries, and an `echo` without an id."""
    making = [do for do in rule.effect if do in MAKES_CALLER]
    telling = [do for do in making if do in NEW_IDS]
    if len(making) > 1:
        first, second = making[:2]
        yield (f"{rule.id}: {first} and {second} both say who the caller is; leave one of them out")
    if telling and rule.answer is not None and rule.echo is not Echo.NEW:
        yield (
            f'{rule.id}: after the step "{telling[0].value}" the answer {rule.answer.name} carries '
            f"{rule.echo.value} as id, so no client gets the right one; give it echo=Echo.NEW"
        )
    handing = [do for do in making if do in HANDS_OUT]
    if handing and rule.answer not in {None, Error.MEMBER_ID_REQUIRED}:
        yield (
            f'{rule.id}: the step "{handing[0].value}" needs answer=Error.MEMBER_ID_REQUIRED: '
            "clients take an id from no other error"
        )
    if rule.echo is Echo.SENT:
        return
    if table.name != "JoinGroup" or rule.answer is None:
        yield (
            f"{rule.id}: echo={rule.echo} says which id an error answer to a join carries, and "
            "this rule gives none; leave it out"
        )
    elif rule.echo is Echo.NEW and not telling:
        yield (
            f"{rule.id}: echo=Echo.NEW returns a new id, and no step makes one; add one, such as "
            f"{Do.HAND_OUT_PENDING}, or leave it out"
        )


STEPS = Steps(
    Do,
    TABLES,
    NEEDS,
    _first_place,
    ANSWERS,
    example=Do.PARK_JOIN,
    without_request=_WITHOUT_REQUEST,
    only_answer=_ONLY_ANSWER,
    welcomes=_WELCOMES,
    rule_faults=_of_ids,
)
