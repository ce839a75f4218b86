"""The messages of drafts that never shipped, and how they are read.

Decides the drafts' wire forms: MEMBER_NAME in JoinGroup, two lists or a list of tuples in
LeaveGroup.  Their APIs have names of their own, and errors that travel by name.  In a drafts' leave
the whole batch is valid or nothing of it is done, and the answer is one error at top level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from fencepost.model import classify
from fencepost.model.group import Group
from fencepost.model.messages import (
    APIS,
    Api,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
)
from fencepost.model.shapes import ERROR, INT32, STRING, ListOf, Message, wire
from fencepost.model.vocabulary import Inst, Mid
from fencepost.model.work import Emission, Incoming, Outcome

if TYPE_CHECKING:
    from fencepost.model.machine import Machine

MEMBER_NAME = "JoinGroup/member-name"
TWO_LIST = "LeaveGroup/two-list"
TUPLE_LIST = "LeaveGroup/tuple-list"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberNameJoinGroupRequest(Message):
    """A join with MEMBER_NAME; the empty string means a dynamic member."""

    API: ClassVar[str] = MEMBER_NAME
    group_id: str = wire("groupId", STRING, "4")
    session_timeout_ms: int = wire("sessionTimeoutMs", INT32, "4")
    rebalance_timeout_ms: int = wire("rebalanceTimeoutMs", INT32, "4")
    member_id: str = wire("memberId", STRING, "4")
    member_name: str = wire("memberName", STRING, "4", default="")
    protocol_type: str = wire("protocolType", STRING, "4")
    protocols: tuple[JoinProtocol, ...] = wire("protocols", ListOf(JoinProtocol), "4")


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoListLeaveGroupRequest(Message):
    """Two lists of equal length, aligned; "" stands for none."""

    API: ClassVar[str] = TWO_LIST
    group_id: str = wire("groupId", STRING, "3")
    group_instance_id_list: tuple[str, ...] = wire("groupInstanceIdList", ListOf(STRING), "3")
    member_id_list: tuple[str, ...] = wire("memberIdList", ListOf(STRING), "3")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberIdentity(Message):
    """A tuple of instance id and member id; "" stands for none."""

    group_instance_id: str = wire("groupInstanceId", STRING, "3")
    member_id: str = wire("memberId", STRING, "3")


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleListLeaveGroupRequest(Message):
    """One list of tuples."""

    API: ClassVar[str] = TUPLE_LIST
    group_id: str = wire("groupId", STRING, "3")
    member_identity_list: tuple[MemberIdentity, ...] = wire(
        "memberIdentityList", ListOf(MemberIdentity), "3"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLeaveGroupResponse(Message):
    """One error for the whole batch."""

    API: ClassVar[str] = "LeaveGroup"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "3", default=0, optional=True)
    error_code: int | str = wire("errorCode", ERROR, "3")


DRAFT_APIS: dict[str, Api] = {
    api.name: api
    for api in (
        Api(MEMBER_NAME, None, 4, 4, 99, MemberNameJoinGroupRequest, JoinGroupResponse),
        Api(TWO_LIST, None, 3, 3, 99, TwoListLeaveGroupRequest, DraftLeaveGroupResponse),
        Api(TUPLE_LIST, None, 3, 3, 99, TupleListLeaveGroupRequest, DraftLeaveGroupResponse),
    )
}
ALL_APIS: dict[str, Api] = {**APIS, **DRAFT_APIS}

Finish = Callable[[tuple[Outcome, ...]], tuple[Outcome, ...]]


def translate(
    machine: Machine, group: Group | None, request: Incoming
) -> tuple[Incoming | None, Finish]:
    """A draft's request as the shipped one that does the same, and how to make its answer.

    None instead of a request: the draft refuses it.  Raises TypeError for a message of no API.
    """
    message = request.message
    match message:
        case MemberNameJoinGroupRequest():
            join = JoinGroupRequest(
                group_id=message.group_id,
                session_timeout_ms=message.session_timeout_ms,
                rebalance_timeout_ms=message.rebalance_timeout_ms,
                member_id=message.member_id,
                group_instance_id=message.member_name or None,
                protocol_type=message.protocol_type,
                protocols=message.protocols,
            )
            return replace(request, message=join), lambda outcomes: outcomes
        case TwoListLeaveGroupRequest():
            aligned = len(message.group_instance_id_list) == len(message.member_id_list)
            pairs = list(zip(message.group_instance_id_list, message.member_id_list, strict=False))
        case TupleListLeaveGroupRequest():
            aligned = True
            pairs = [(row.group_instance_id, row.member_id) for row in message.member_identity_list]
        case _:
            raise TypeError(f"{type(message).__name__} is a message of no API")
    return _leave(machine, group, request, pairs, aligned=aligned)


def _leave(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    pairs: list[tuple[str, str]],
    *,
    aligned: bool,
) -> tuple[Incoming | None, Finish]:
    rows = tuple(
        LeavingMember(member_id=mid, group_instance_id=inst or None) for inst, mid in pairs
    )
    rule = machine.revision.tables["LeaveGroup batch"].decide(
        _batch_point(group, rows, aligned=aligned)
    )
    assert rule.answer is not None
    code: int | str = rule.answer.value

    def refuse(_: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        emission = Emission(request.id, DraftLeaveGroupResponse(error_code=code), rule.id)
        return (Outcome(group, (emission,), (rule.id,)),)

    if code:
        return None, refuse
    group_id = getattr(request.message, "group_id", "")
    base = replace(request, message=LeaveGroupRequest(group_id=group_id, members=rows))

    def finish(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        return tuple(
            replace(
                outcome,
                emissions=tuple(_draft_answer(e) for e in outcome.emissions),
                rules=(rule.id, *outcome.rules),
            )
            for outcome in outcomes
        )

    return base, finish


def _draft_answer(emission: Emission) -> Emission:
    if not isinstance(emission.message, LeaveGroupResponse):
        return emission
    return replace(
        emission, message=DraftLeaveGroupResponse(error_code=emission.message.error_code)
    )


def _batch_point(
    group: Group | None, rows: tuple[LeavingMember, ...], *, aligned: bool
) -> tuple[bool, ...]:
    """Lists aligned; all rows empty; some instance not found, mismatched; some id unknown."""
    kinds = [
        (
            classify.mid(group, row.member_id),
            classify.inst(group, row.group_instance_id, row.member_id),
        )
        for row in rows
    ]
    nobody = all(kind == (Mid.EMPTY, Inst.NONE) for kind in kinds)
    return (
        aligned,
        nobody,
        any(inst is Inst.UNMAPPED for _, inst in kinds),
        any(inst is Inst.OTHER and mid is not Mid.EMPTY for mid, inst in kinds),
        any(mid is Mid.UNKNOWN and inst is Inst.NONE for mid, inst in kinds),
    )
