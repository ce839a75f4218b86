"""A revision with KIP-394 for static members: a new process is told an id, and joins with it."""

from __future__ import annotations

from enum import Enum

from fencepost.model.classic.cells import when
from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import GroupState, Mid
from fencepost.model.messages.errors import Error
from fencepost.model.revision import DropRule, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.shared_features import Inst
from fencepost.model.table.table import Echo, Rule

_IDEA = "KIP-394, for static members"
_REPLACED = ("PREPARING", "COMPLETING", "STABLE", "STABLE-SELECTION")


def _rule(name: str, *effect: Enum, inst: Inst, state: GroupState | None = None) -> SetRule:
    there = when(mid=Mid.PENDING, inst=inst)
    if state is not None:
        there = when(mid=Mid.PENDING, inst=inst, state=state)
    why = "it comes back under the id that it was given"
    return SetRule("JoinGroup", Rule(name, there, effect, source=_IDEA, because=why), _IDEA)


def _takes_over(state: GroupState, *effect: Enum) -> SetRule:
    steps = (Do.REMOVE_PENDING, Do.REPLACE_HOLDER_AS_SENT, *effect)
    return _rule(f"JOIN-PENDING-STATIC-{state.name}", *steps, inst=Inst.OTHER, state=state)


ID_FIRST = derive(
    KAFKA_4,
    "id-first",
    "static members are told an id first, as dynamic ones are",
    (
        *(DropRule("JoinGroup", f"JOIN-STATIC-EMPTY-{state}", _IDEA) for state in _REPLACED),
        DropRule("JoinGroup", "JOIN-STATIC-EMPTY-NEW", _IDEA),
        DropRule("JoinGroup", "JOIN-PENDING-INSTANCE", _IDEA),
        SetRule(
            "JoinGroup",
            Rule(
                "JOIN-STATIC-EMPTY",
                when(mid=Mid.EMPTY, inst=(Inst.UNMAPPED, Inst.OTHER)),
                (Do.HAND_OUT_PENDING,),
                Error.MEMBER_ID_REQUIRED,
                echo=Echo.NEW,
                source=_IDEA,
                because="a client that never hears of its id is no member",
            ),
            _IDEA,
        ),
        _rule(
            "JOIN-PENDING-STATIC-NEW",
            *(Do.REMOVE_PENDING, Do.ADD_STATIC_AS_SENT, Do.REBALANCE, Do.PARK_JOIN),
            inst=Inst.UNMAPPED,
        ),
        _takes_over(GroupState.PREPARING, Do.PARK_JOIN),
        _takes_over(GroupState.COMPLETING, Do.REBALANCE, Do.PARK_JOIN),
        _takes_over(GroupState.STABLE, Do.PERSIST, Do.ANSWER_RESTARTED),
    ),
)
"""A restart is as quiet as in `kafka-4`."""

LOUD_ID_FIRST = derive(
    ID_FIRST,
    "loud-id-first",
    "a restart begins a rebalance",
    (_takes_over(GroupState.STABLE, Do.REBALANCE, Do.PARK_JOIN),),
)
