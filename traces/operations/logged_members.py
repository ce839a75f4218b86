"""The members of a group, as far as the log shows them.

Of a member only this is remembered while it lives: when it was last heard, its longest silence, its
subscription.  A log that begins in the middle of a group's life shows members one by one;
`complete` says whether all are known.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from fencepost.model.messages.errors import MOVING, Error
from fencepost.traces.logs.logged_exchange import LoggedExchange
from fencepost.traces.operations.operator_rows import NearTimeout, Process

NEAR = 0.6
"""The part of a session timeout that a silence must reach to be near it: two heartbeats of three
are lost, with the intervals that are usual."""

_OF_MEMBERS = frozenset(
    {
        Error.UNKNOWN_MEMBER_ID.value,
        Error.REBALANCE_IN_PROGRESS.value,
        Error.FENCED_INSTANCE_ID.value,
    }
)

Offers = tuple[tuple[str, Any], ...]


@dataclass(slots=True)
class LogMember:
    """A member id that is known to the group.

    `begins`: its join was seen; `heard_ms`: when its session timer was last restarted.
    """

    member_id: str
    instance_id: str | None
    process: Process
    from_ms: int
    begins: bool
    heard_ms: int
    place: str
    session_ms: int | None = None
    rebalance_ms: int = 0
    offers: Offers = ()
    synced: int = -1
    """The generation that it has its assignment of."""
    longest_ms: int = 0
    longest_at_ms: int = 0
    longest_place: str = ""
    fenced_ms: int | None = None
    address: str = ""
    """HOST:PORT of its first request; "" where the log doesn't tell it."""
    connection: str = ""
    """That of its last request, as in a request log; no other process has it."""

    @classmethod
    def of(cls, x: LoggedExchange, member_id: str, *, begins: bool, heard_ms: int) -> Self:
        """Make the member that a request is of."""
        instance_id = x.request_body.get("groupInstanceId")
        row = (member_id, instance_id, Process(x.client_id, x.host), x.arrived_ms)
        made = cls(*row, begins=begins, heard_ms=heard_ms, place=x.place, address=x.address)
        made.connection = x.connection
        return made

    @property
    def deadline_ms(self) -> int | None:
        """When its session ends, if nothing more is heard; None where its timeout is unknown."""
        return None if self.session_ms is None else self.heard_ms + self.session_ms

    def heard(self, x: LoggedExchange) -> None:
        """Note a request that restarts the member's session timer."""
        silent_ms = x.arrived_ms - self.heard_ms
        if silent_ms > self.longest_ms:
            self.longest_ms, self.longest_at_ms = silent_ms, x.arrived_ms
            self.longest_place = x.place
        self.heard_ms = max(self.heard_ms, x.answered_ms)
        self.connection = x.connection

    def near(self, group: str) -> NearTimeout | None:
        """Return the row of a member that was once close to its session timeout, if it was."""
        if self.session_ms is None or self.longest_ms < NEAR * self.session_ms:
            return None
        return NearTimeout(
            group,
            self.instance_id,
            self.member_id,
            self.process,
            self.longest_at_ms,
            self.longest_ms,
            self.session_ms,
            self.longest_place,
        )


@dataclass(slots=True)
class Roster:
    """The members of a group."""

    members: dict[str, LogMember] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    complete: bool = False

    def holder(self, instance_id: str | None) -> LogMember | None:
        """Return the member that holds an instance id."""
        member_id = None if instance_id is None else self.instances.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def settings(self) -> tuple[int | None, tuple[str, ...]]:
        """Return the longest session timeout of the members, and the assignors that all offer."""
        sessions = [m.session_ms for m in self.members.values() if m.session_ms is not None]
        offered = [tuple(name for name, _ in m.offers) for m in self.members.values() if m.offers]
        shared = set(offered[0]).intersection(*offered) if offered else set()
        return max(sessions, default=None), tuple(sorted(shared))

    def add(self, member: LogMember) -> None:
        """Add a member."""
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.instances[member.instance_id] = member.member_id

    def remove(self, member: LogMember) -> None:
        """Remove a member."""
        self.members.pop(member.member_id, None)
        instance_id = member.instance_id
        if instance_id is not None and self.instances.get(instance_id) == member.member_id:
            del self.instances[instance_id]


def offers_of(protocols: Iterable[Mapping[str, Any]]) -> Offers:
    """Return the protocols of a join, to be compared with a later one's."""
    return tuple((row["name"], row["metadata"]) for row in protocols)


def subscription(offers: Offers) -> Offers:
    """Return only the topics of offered protocols, without the assignors' own data."""
    return tuple((name, _topics(metadata)) for name, metadata in offers)


def _topics(metadata: str) -> object:
    """Return the topics of a consumer's metadata; other metadata is returned as it is."""
    try:
        raw = base64.b64decode(metadata, validate=True)
        (count,) = struct.unpack_from(">i", raw, 2)
        at, topics = 6, []
        for _ in range(count):
            (size,) = struct.unpack_from(">h", raw, at)
            if size < 0:
                return metadata
            topics.append(raw[at + 2 : at + 2 + size])
            at += 2 + size
    except (binascii.Error, struct.error):
        return metadata
    return frozenset(topics) if at <= len(raw) and count >= 0 else metadata


def commit_code(body: Mapping[str, Any]) -> int:
    """Return the error code of a commit for the member; NONE if only partitions had errors."""
    for topic in body["topics"]:
        for partition in topic["partitions"]:
            code: int = partition["errorCode"]
            if code in _OF_MEMBERS or code in MOVING:
                return code
    return Error.NONE.value
