"""The ways to bring a group into the state in which a case begins."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum


class Entering(Enum):
    """How a dynamic member enters a group, where the case is not about that."""

    AT_ONCE = "without an id, in JoinGroup up to version 3"
    ID_FIRST = "with an id that they are given first, in JoinGroup from version 4"
    STATIC = "as static members"


@dataclass(frozen=True, slots=True)
class SetUp:
    """A way to bring a group into the state in which a case begins.

    `older`: in the first versions with instances; `metadata`: with subscriptions of version 3.
    """

    entering: Entering = Entering.AT_ONCE
    older: bool = False
    metadata: bool = False

    def __str__(self) -> str:
        """Return it in words."""
        older = ["in JoinGroup up to 5 and SyncGroup up to 3"] if self.older else []
        metadata = ["with subscriptions of version 3"] if self.metadata else []
        return ", ".join([f"dynamic members enter {self.entering.value}", *older, *metadata])


def subscription(*topics: str) -> bytes:
    """What a consumer offers with a protocol: its subscription, version 0, as a real one sends it.

    Some coordinators parse it, and fail on other bytes.
    """
    listed = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return struct.pack(">hi", 0, len(topics)) + listed + struct.pack(">i", -1)


def newer_subscription(metadata: bytes) -> bytes:
    """The same subscription in version 3: no partitions owned, no generation, no rack."""
    if metadata[:2] != bytes(2):
        return metadata
    return struct.pack(">h", 3) + metadata[2:] + struct.pack(">iih", 0, -1, -1)
