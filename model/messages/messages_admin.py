"""DescribeGroups and ListGroups: the messages of administration.

Each class declares the shape of every version; see `fencepost.model.messages.messages`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from fencepost.model.messages.shapes import Message
from fencepost.model.messages.wire_form import BOOL, BYTES, ERROR, INT32, STRING, ListOf, wire


class DescribeGroupsRequest(Message, frozen=True, kw_only=True):
    """A request to describe groups, several at once."""

    API: ClassVar[str] = "DescribeGroups"
    groups: Annotated[tuple[str, ...], wire("groups", ListOf(STRING), "0+")]
    include_authorized_operations: Annotated[
        bool, wire("includeAuthorizedOperations", BOOL, "3+")
    ] = False


class DescribedMember(Message, frozen=True, kw_only=True):
    """A member of a described group.  Metadata and assignment mean something in Stable only."""

    member_id: Annotated[str, wire("memberId", STRING, "0+")]
    group_instance_id: Annotated[
        str | None, wire("groupInstanceId", STRING, "4+", nullable="4+", lossy=True)
    ] = None
    client_id: Annotated[str, wire("clientId", STRING, "0+")] = ""
    client_host: Annotated[str, wire("clientHost", STRING, "0+")] = ""
    member_metadata: Annotated[bytes, wire("memberMetadata", BYTES, "0+")] = b""
    member_assignment: Annotated[bytes, wire("memberAssignment", BYTES, "0+")] = b""


class DescribedGroup(Message, frozen=True, kw_only=True):
    """One group's row."""

    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    error_message: Annotated[
        str | None, wire("errorMessage", STRING, "6+", nullable="6+", lossy=True)
    ] = None
    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    group_state: Annotated[str, wire("groupState", STRING, "0+")] = ""
    protocol_type: Annotated[str, wire("protocolType", STRING, "0+")] = ""
    protocol_data: Annotated[str, wire("protocolData", STRING, "0+")] = ""
    members: Annotated[
        tuple[DescribedMember, ...], wire("members", ListOf(DescribedMember), "0+")
    ] = ()
    authorized_operations: Annotated[int, wire("authorizedOperations", INT32, "3+")] = -(2**31)


class DescribeGroupsResponse(Message, frozen=True, kw_only=True):
    """The answer: a row for each group that was asked for."""

    API: ClassVar[str] = "DescribeGroups"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "1+", optional=True)] = 0
    groups: Annotated[tuple[DescribedGroup, ...], wire("groups", ListOf(DescribedGroup), "0+")] = ()


class ListGroupsRequest(Message, frozen=True, kw_only=True):
    """A request to list groups.  An empty filter lets all pass."""

    API: ClassVar[str] = "ListGroups"
    states_filter: Annotated[tuple[str, ...], wire("statesFilter", ListOf(STRING), "4+")] = ()
    types_filter: Annotated[tuple[str, ...], wire("typesFilter", ListOf(STRING), "5+")] = ()


class ListedGroup(Message, frozen=True, kw_only=True):
    """One group's row."""

    group_id: Annotated[str, wire("groupId", STRING, "0+")]
    protocol_type: Annotated[str, wire("protocolType", STRING, "0+")]
    group_state: Annotated[str, wire("groupState", STRING, "4+", lossy=True)] = ""
    group_type: Annotated[str, wire("groupType", STRING, "5+", lossy=True)] = ""


class ListGroupsResponse(Message, frozen=True, kw_only=True):
    """The answer: all groups that the broker coordinates."""

    API: ClassVar[str] = "ListGroups"
    throttle_time_ms: Annotated[int, wire("throttleTimeMs", INT32, "1+", optional=True)] = 0
    error_code: Annotated[int | str, wire("errorCode", ERROR, "0+")]
    groups: Annotated[tuple[ListedGroup, ...], wire("groups", ListOf(ListedGroup), "0+")] = ()
