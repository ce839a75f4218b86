"""What a request is about: the groups that it names."""

from __future__ import annotations

from fencepost.model.messages.messages import (
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetFetchRequest,
)
from fencepost.model.messages.shapes import Message

_SEVERAL_SINCE = 8


def groups_of(message: Message, version: int) -> list[str] | None:
    """The groups that a request names, in its order; None: it asks for all that there are."""
    match message:
        case DescribeGroupsRequest():
            return list(dict.fromkeys(message.groups))
        case ListGroupsRequest():
            return None
        case OffsetFetchRequest() if version >= _SEVERAL_SINCE:
            return list(dict.fromkeys(g.group_id for g in message.groups))
        case _:
            return [getattr(message, "group_id", "")]
