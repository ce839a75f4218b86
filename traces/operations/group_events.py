"""The events of a group, as any source shows them: what the one analysis of a group takes.

A reader makes them of a request log, of server.log, or of a simulation.  A source that doesn't show
a fact leaves it None, or empty where it is a text: unknown is a value, and no other way through the
analysis.  Times are ms since 1970; `place` is the `FILE:LINE` of the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.traces.operations.operator_rows import Cause, End, Process


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a request: its process, and its address HOST:PORT and connection if known."""

    process: Process
    address: str = ""
    connection: str = ""


@dataclass(frozen=True, slots=True)
class GroupEvent:
    """An event of a group.

    `at_ms`: a request arrived, or the line was written; `done_ms`: it was answered, the same time
    where the source has one time only.
    """

    at_ms: int
    done_ms: int
    place: str


@dataclass(frozen=True, slots=True)
class Heard(GroupEvent):
    """A member's request that was answered well, or with REBALANCE_IN_PROGRESS (`is_notified`).

    `confirms`: the generation that has begun, as the answer shows; `assigned`: the generation whose
    assignment the answer brought.
    """

    member_id: str
    instance_id: str | None
    sender: Sender
    is_notified: bool
    confirms: int | None = None
    assigned: int | None = None


@dataclass(frozen=True, slots=True)
class Unknown(GroupEvent):
    """A member's request that was answered UNKNOWN_MEMBER_ID."""

    member_id: str
    sender: Sender


@dataclass(frozen=True, slots=True)
class Fenced(GroupEvent):
    """A request that was answered FENCED_INSTANCE_ID.

    `began`: it was the join that made the member id; `holder_id`: the member id that holds the
    instance id, "" where the source doesn't name it.
    """

    instance_id: str
    member_id: str
    sender: Sender
    api: str
    began: bool
    holder_id: str = ""


@dataclass(frozen=True, slots=True)
class Moved(GroupEvent):
    """An answer that the group is at another broker."""


@dataclass(frozen=True, slots=True)
class Unloaded(GroupEvent):
    """The group's coordinator gave it up: it leads the partition no more.

    `generation`: that of the group, None where the source doesn't show it.
    """

    generation: int | None = None


@dataclass(frozen=True, slots=True)
class Loaded(GroupEvent):
    """A coordinator read the group from its log: it leads the partition now.

    `generation`: that of the group, None where the source doesn't show it.
    """

    generation: int | None = None


@dataclass(frozen=True, slots=True)
class MemberLoaded(GroupEvent):
    """A coordinator read a member of the group from its log; `generation`: as in Loaded."""

    member_id: str
    instance_id: str | None
    process: Process
    generation: int | None


@dataclass(frozen=True, slots=True)
class NameUsed(GroupEvent):
    """A dynamic member joined with the id that was handed out to it."""

    member_id: str
    process: Process


@dataclass(frozen=True, slots=True)
class Named(GroupEvent):
    """A member id was handed out, to join with.

    `session_ms`: the session timeout in the request, after which it is removed if it isn't used.
    """

    member_id: str
    process: Process
    session_ms: int | None = None


@dataclass(frozen=True, slots=True)
class NameExpired(GroupEvent):
    """A member id that was handed out, and not used within the session timeout, was removed."""

    member_id: str
    process: Process


@dataclass(frozen=True, slots=True)
class NameReturned(GroupEvent):
    """A client left with a member id that was handed out to it, before it had joined."""

    member_id: str


@dataclass(frozen=True, slots=True)
class Joined(GroupEvent):
    """A member joined.

    `sent_id`: the member id in its request, None where the source doesn't show it; `replaces`: the
    member id that held its instance id, if the source names it.  `generation`, `leads`, `listed`
    (the leader's list of members), `session_ms`, `rebalance_ms`, `protocols`, `protocol` (its
    type): as in the messages.
    """

    member_id: str
    instance_id: str | None
    sender: Sender
    sent_id: str | None = None
    replaces: str | None = None
    generation: int | None = None
    leads: bool = False
    listed: Sequence[Mapping[str, Any]] = ()
    session_ms: int | None = None
    rebalance_ms: int | None = None
    protocols: Sequence[Mapping[str, Any]] = ()
    protocol: str = ""

    @property
    def name(self) -> str:
        """The member's name for people: its instance id, or its process."""
        return self.instance_id or str(self.sender.process)


@dataclass(frozen=True, slots=True)
class Left(GroupEvent):
    """A LeaveGroup removed a member.

    `by`: the process that sent it; `itself`: the member did; both None where not known.  `process`,
    `session_ms`, `rebalance_ms`, `protocols` (names): of the member, where the source has them.
    """

    member_id: str
    instance_id: str | None
    by: Process | None
    itself: bool | None
    reason: str = ""
    process: Process | None = None
    session_ms: int | None = None
    rebalance_ms: int | None = None
    protocols: str = ""


@dataclass(frozen=True, slots=True)
class Removed(GroupEvent):
    """The coordinator removed a member: its session expired, or it did not join in time."""

    member_id: str
    process: Process
    end: End


@dataclass(frozen=True, slots=True)
class Prepared(GroupEvent):
    """A rebalance begins, and the source states its cause.

    `member_id`: of whom the reason tells, `process`: the same; `reason`: its words as they stand,
    `client_reason`: those of the client in it; `generation`: the one before.
    """

    cause: Cause
    member_id: str
    instance_id: str | None
    process: Process | None
    reason: str
    client_reason: str
    generation: int

    @property
    def lived(self) -> bool:
        """True if a new member says that its process lived with a member id that is gone."""
        return self.cause is Cause.NEW_MEMBER and _LIVED.search(self.client_reason) is not None


_LIVED = re.compile(r"UnknownMemberIdException|UNKNOWN_MEMBER_ID")


@dataclass(frozen=True, slots=True)
class Begun(GroupEvent):
    """A generation begins.

    `members`: their number, None where the source doesn't count them; `names_all`: the source names
    each member that joins.
    """

    generation: int
    members: int | None
    names_all: bool


@dataclass(frozen=True, slots=True)
class Assigned(GroupEvent):
    """The leader's assignment of a generation is there, with the members by kind where known."""

    generation: int
    static: int | None = None
    dynamic: int | None = None


@dataclass(frozen=True, slots=True)
class Deleted(GroupEvent):
    """Somebody deleted the group, which had no members, with its offsets.

    `offsets`: how many, of `groups` groups together; None where the source doesn't count them.
    """

    offsets: int | None = None
    groups: int = 1


@dataclass(frozen=True, slots=True)
class OffsetsDeleted(GroupEvent):
    """Somebody deleted offsets of the group, and not the group; None: the source lacks how many."""

    offsets: int | None


@dataclass(frozen=True, slots=True)
class Emptied(GroupEvent):
    """The group has no member any more; `names_gone`: the source names each member that goes."""

    names_gone: bool = False
