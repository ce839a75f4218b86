"""The messages of drafts that never shipped.

MEMBER_NAME in JoinGroup; two lists, or a list of tuples, in LeaveGroup.  Their APIs have names of
their own here, and their errors are written by name instead of number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fencepost.model.messages.messages import APIS, Api, JoinGroupResponse, JoinProtocol
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.wire_form import ERROR, INT32, STRING, ListOf, wire

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
    """A leave with two lists of equal length, row by row; "" stands for none."""

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
    """A leave with one list of tuples."""

    API: ClassVar[str] = TUPLE_LIST
    group_id: str = wire("groupId", STRING, "3")
    member_identity_list: tuple[MemberIdentity, ...] = wire(
        "memberIdentityList", ListOf(MemberIdentity), "3"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLeaveGroupResponse(Message):
    """An answer to a draft's leave: one error for the whole batch."""

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
