"""DescribeGroups and ListGroups: the messages of administration.

Each class declares the shape of every version; see `fencepost.model.messages.messages`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fencepost.model.messages.shapes import Message
from fencepost.model.messages.wire_form import BOOL, BYTES, ERROR, INT32, STRING, ListOf, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsRequest(Message):
    """A request to describe groups, several at once."""

    API: ClassVar[str] = "DescribeGroups"
    groups: tuple[str, ...] = wire("groups", ListOf(STRING), "0+")
    include_authorized_operations: bool = wire(
        "includeAuthorizedOperations", BOOL, "3+", default=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember(Message):
    """A member of a described group.  Metadata and assignment mean something in Stable only."""

    member_id: str = wire("memberId", STRING, "0+")
    group_instance_id: str | None = wire(
        "groupInstanceId", STRING, "4+", nullable="4+", default=None, lossy=True
    )
    client_id: str = wire("clientId", STRING, "0+", default="")
    client_host: str = wire("clientHost", STRING, "0+", default="")
    member_metadata: bytes = wire("memberMetadata", BYTES, "0+", default=b"")
    member_assignment: bytes = wire("memberAssignment", BYTES, "0+", default=b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup(Message):
    """One group's row."""

    error_code: int | str = wire("errorCode", ERROR, "0+")
    error_message: str | None = wire(
        "errorMessage", STRING, "6+", nullable="6+", default=None, lossy=True
    )
    group_id: str = wire("groupId", STRING, "0+")
    group_state: str = wire("groupState", STRING, "0+", default="")
    protocol_type: str = wire("protocolType", STRING, "0+", default="")
    protocol_data: str = wire("protocolData", STRING, "0+", default="")
    members: tuple[DescribedMember, ...] = wire(
        "members", ListOf(DescribedMember), "0+", default=()
    )
    authorized_operations: int = wire("authorizedOperations", INT32, "3+", default=-(2**31))


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsResponse(Message):
    """The answer: a row for each group that was asked for."""

    API: ClassVar[str] = "DescribeGroups"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "1+", default=0, optional=True)
    groups: tuple[DescribedGroup, ...] = wire("groups", ListOf(DescribedGroup), "0+", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsRequest(Message):
    """A request to list groups.  An empty filter lets all pass."""

    API: ClassVar[str] = "ListGroups"
    states_filter: tuple[str, ...] = wire("statesFilter", ListOf(STRING), "4+", default=())
    types_filter: tuple[str, ...] = wire("typesFilter", ListOf(STRING), "5+", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup(Message):
    """One group's row."""

    group_id: str = wire("groupId", STRING, "0+")
    protocol_type: str = wire("protocolType", STRING, "0+")
    group_state: str = wire("groupState", STRING, "4+", default="", lossy=True)
    group_type: str = wire("groupType", STRING, "5+", default="", lossy=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsResponse(Message):
    """The answer: all groups that the broker coordinates."""

    API: ClassVar[str] = "ListGroups"
    throttle_time_ms: int = wire("throttleTimeMs", INT32, "1+", default=0, optional=True)
    error_code: int | str = wire("errorCode", ERROR, "0+")
    groups: tuple[ListedGroup, ...] = wire("groups", ListOf(ListedGroup), "0+", default=())
