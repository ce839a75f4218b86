"""Requests and answers: Kafka's field names, and the exact shape of every version.

Each class is one message.  Each field declares its name on the wire, its type, and the versions
that carry it; `to_body` and `from_body` are derived from that.  A value that a version can't carry
is refused, never dropped: without its `groupInstanceId` a static member would turn into a dynamic
one.

Bodies are the JSON objects of the adapter protocol: camelCase names as in Kafka's message
definitions, bytes as base64, a field present exactly when its version has it.

Source: Kafka's message definitions up to 4.3, for the classic group protocol; the drafts' messages
are in `fencepost.model.classic.draft_translation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.model.messages.messages_admin import (
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from fencepost.model.messages.messages_members import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    LeftMember,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.messages_offsets import (
    CommitPartition,
    CommittedPartition,
    CommittedTopic,
    CommitTopic,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    FetchGroup,
    FetchTopic,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from fencepost.model.messages.shapes import Message, wire_fields
from fencepost.model.messages.wire_form import ListOf, Wire

__all__ = [
    "APIS",
    "Api",
    "CommitPartition",
    "CommitTopic",
    "CommittedPartition",
    "CommittedTopic",
    "DescribeGroupsRequest",
    "DescribeGroupsResponse",
    "DescribedGroup",
    "DescribedMember",
    "FetchGroup",
    "FetchTopic",
    "FetchedGroup",
    "FetchedPartition",
    "FetchedTopic",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "JoinGroupRequest",
    "JoinGroupResponse",
    "JoinMember",
    "JoinProtocol",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "LeavingMember",
    "LeftMember",
    "ListGroupsRequest",
    "ListGroupsResponse",
    "ListedGroup",
    "OffsetCommitRequest",
    "OffsetCommitResponse",
    "OffsetFetchRequest",
    "OffsetFetchResponse",
    "SyncAssignment",
    "SyncGroupRequest",
    "SyncGroupResponse",
    "carried_fields",
    "groups_of",
]


@dataclass(frozen=True, slots=True)
class Api:
    """An API: name, Kafka's key (None for a draft), versions, and the first flexible one."""

    name: str
    key: int | None
    lowest: int
    highest: int
    flexible: int
    request: type[Message]
    response: type[Message]


APIS: dict[str, Api] = {
    api.name: api
    for api in (
        Api("JoinGroup", 11, 0, 9, 6, JoinGroupRequest, JoinGroupResponse),
        Api("SyncGroup", 14, 0, 5, 4, SyncGroupRequest, SyncGroupResponse),
        Api("Heartbeat", 12, 0, 4, 4, HeartbeatRequest, HeartbeatResponse),
        Api("LeaveGroup", 13, 0, 5, 4, LeaveGroupRequest, LeaveGroupResponse),
        Api("OffsetCommit", 8, 0, 9, 8, OffsetCommitRequest, OffsetCommitResponse),
        Api("OffsetFetch", 9, 0, 9, 6, OffsetFetchRequest, OffsetFetchResponse),
        Api("DescribeGroups", 15, 0, 6, 5, DescribeGroupsRequest, DescribeGroupsResponse),
        Api("ListGroups", 16, 0, 5, 3, ListGroupsRequest, ListGroupsResponse),
    )
}

_SEVERAL_SINCE = 8
"""From this version on OffsetFetch may name several groups."""


_CARRIED: dict[tuple[type[Message], int], frozenset[str]] = {}


def carried_fields(cls: type[Message], version: int) -> frozenset[str]:
    """Return the attributes of a message class that a version has."""
    names = _CARRIED.get((cls, version))
    if names is None:
        names = frozenset(name for name, form in wire_fields(cls) if form.carried_by(version))
        _CARRIED[cls, version] = names
    return names


def carried_forms(cls: type[Message], version: int) -> Iterator[tuple[str, Wire]]:
    """Yield what a version carries of a message class and of its rows: attribute, form."""
    for name, form in wire_fields(cls):
        if form.carried_by(version):
            yield name, form
            if isinstance(form.type, ListOf) and isinstance(form.type.item, type):
                yield from carried_forms(form.type.item, version)


def groups_of(message: Message, version: int) -> list[str] | None:
    """List the groups that a request names, in its order; None: it asks for all that there are."""
    match message:
        case DescribeGroupsRequest():
            return list(dict.fromkeys(message.groups))
        case ListGroupsRequest():
            return None
        case OffsetFetchRequest() if version >= _SEVERAL_SINCE:
            return list(dict.fromkeys(g.group_id for g in message.groups))
        case _:
            return [getattr(message, "group_id", "")]
