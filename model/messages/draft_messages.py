"""The messages of drafts that never shipped.

MEMBER_NAME in JoinGroup; two lists, or a list of tuples, in LeaveGroup.  Their APIs have names of
their own here, and their errors are written by name instead of number.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from fencepost.model.messages.consumer_messages import CONSUMER_APIS
from fencepost.model.messages.messages import APIS, Api, JoinGroupResponse, JoinProtocol
from fencepost.model.messages.shapes import ERROR, INT32, STRING, ListOf, Message, wire
from fencepost.model.messages.streams_messages import STREAMS_APIS

MEMBER_NAME = "JoinGroup/member-name"
TWO_LIST = "LeaveGroup/two-list"
TUPLE_LIST = "LeaveGroup/tuple-list"


class MemberNameJoinGroupRequest(Message, frozen=True, kw_only=True):
    """A join with MEMBER_NAME; the empty string means a dynamic member."""

    API: ClassVar[str] = MEMBER_NAME
    group_id: Annotated[str, wire("groupId", STRING, "4")]
    session_timeout_ms: Annotated[int, wire("sessionTimeoutMs", INT32, "4")]
    rebalance_timeout_ms: Annotated[int, wire("rebalanceTimeoutMs", INT32, "4")]
    member_id: Annotated[str, wire("memberId", STRING, "4")]
    member_name: Annotated[str, wire("memberName", STRING, "4")] = ""
    protocol_type: Annotated[str, wire("protocolType", STRING, "4")]
    protocols: Annotated[tuple[JoinProtocol, ...], wire("protocols", ListOf(JoinProtocol), "4")]


class TwoListLeaveGroupRequest(Message, frozen=True, kw_only=True):
    """A leave with two lists of equal length, row by row; "" stands for none."""

    API: ClassVar[str] = TWO_LIST
    group_id: Annotated[str, wire("groupId", STRING, "3")]
    group_instance_id_list: Annotated[
        tuple[str, ...], wire("groupInstanceIdList", ListOf(STRING), "3")
    ]
    member_id_list: Annotated[tuple[str, ...], wire("memberIdList", ListOf(STRING), "3")]


class MemberIdentity(Message, frozen=True, kw_only=True):
    """A tuple of instance id and member id; "" stands for none."""

    group_instance_id: Annotated[str, wire("groupInstanceId", STRING, "3")]
    member_id: Annotated[str, wire("memberId", STRING, "3")]


class TupleListLeaveGroupRequest(Message, frozen=True, kw_only=True):
    """A leave with one list of tuples."""

    API: ClassVar[str] = TUPLE_LIST
    group_id: Annotated[str, wire("groupId", STRING, "3")]
    member_identity_list: Annotated[
        tuple[MemberIdentity, ...], wire("memberIdentityList", ListOf(MemberIdentity), "3")
    ]


class DraftLeaveGroupResponse(Message, frozen=True, kw_only=True):
    """An answer to a draft's leave: one error for the whole batch."""

    API: ClassVar[str] = "LeaveGroup"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "3", optional=True)] = 0
    error_code: Annotated[int | str, wire("errorCode", ERROR, "3")]


DRAFT_APIS: dict[str, Api] = {
    api.name: api
    for api in (
        Api(MEMBER_NAME, None, 4, 4, 99, MemberNameJoinGroupRequest, JoinGroupResponse),
        Api(TWO_LIST, None, 3, 3, 99, TwoListLeaveGroupRequest, DraftLeaveGroupResponse),
        Api(TUPLE_LIST, None, 3, 3, 99, TupleListLeaveGroupRequest, DraftLeaveGroupResponse),
    )
}
ALL_APIS: dict[str, Api] = {**APIS, **DRAFT_APIS, **CONSUMER_APIS, **STREAMS_APIS}
"""Those of all protocols and drafts; a draft's has no key."""
