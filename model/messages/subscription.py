"""The consumer protocol: how members tell the leader what they want, and the leader what they get.

A subscription is a join's metadata, an assignment a sync's bytes.  A version number comes first;
whoever reads a later version than it knows reads what it knows and leaves the rest.

Source: Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment, versions 0 to 3.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

PROTOCOL_TYPE = "consumer"
_VERSION = 3
_ASSIGNMENT_VERSION = 1


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member wants: topics; what it owns since which generation; where it is (rack).

    `user_data`: what an assignor adds for itself; None: nothing.
    """

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation_id: int = -1
    rack_id: str | None = None
    user_data: bytes | None = None


def encode_subscription(subscription: Subscription) -> bytes:
    """The metadata of a join, version 3."""
    topics = sorted(subscription.topics)
    return b"".join(
        (
            struct.pack(">hi", _VERSION, len(topics)),
            *map(_string, topics),
            _bytes(subscription.user_data),
            encode_partitions(subscription.owned),
            struct.pack(">i", subscription.generation_id),
            struct.pack(">h", -1)
            if subscription.rack_id is None
            else _string(subscription.rack_id),
        )
    )


def decode_subscription(metadata: bytes) -> Subscription:
    """What a member wants.  Raises ValueError for bytes that are no subscription."""
    reader = ProtocolReader(metadata)
    version = reader.number(">h")
    topics = tuple(reader.string() or "" for _ in range(reader.count()))
    user_data = reader.bytes_or_none()
    owned = reader.partitions() if version >= 1 else ()
    generation = reader.number(">i") if version >= 2 else -1
    rack = reader.string() if version >= 3 else None
    return Subscription(topics, owned, generation, rack, user_data)


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """The bytes of a member's assignment, version 1."""
    return b"".join(
        (
            struct.pack(">h", _ASSIGNMENT_VERSION),
            encode_partitions(partitions),
            _bytes(None),  # no user data
        )
    )


def decode_assignment(assignment: bytes) -> tuple[TopicPartition, ...]:
    """A member's partitions, in order; none in empty bytes, which a coordinator may hand out.

    Raises ValueError for bytes that are no assignment.
    """
    if not assignment:
        return ()
    reader = ProtocolReader(assignment)
    reader.number(">h")
    return reader.partitions()


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded


def _bytes(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """Topics in order, each with its partitions."""
    topics = [
        (t, [p.partition for p in of]) for t, of in groupby(sorted(partitions), lambda p: p[0])
    ]
    rows = (
        _string(topic) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
        for topic, numbers in topics
    )
    return struct.pack(">i", len(topics)) + b"".join(rows)


class ProtocolReader:
    """Reads from the front of the bytes.  Raises ValueError where they end too soon."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, form: str) -> int:
        """A number in a form of `struct`."""
        size = struct.calcsize(form)
        (value,) = struct.unpack(form, self._take(size))
        return int(value)

    def count(self) -> int:
        """How many elements follow."""
        return max(self.number(">i"), 0)

    def string(self) -> str | None:
        """A string; None: it is null."""
        size = self.number(">h")
        return None if size < 0 else self._take(size).decode()

    def bytes_or_none(self) -> bytes | None:
        """Bytes; None: they are null."""
        size = self.number(">i")
        return None if size < 0 else self._take(size)

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Partitions by topic, in order."""
        found = []
        for _ in range(self.count()):
            topic = self.string() or ""
            found += [TopicPartition(topic, self.number(">i")) for _ in range(self.count())]
        return tuple(sorted(found))

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ValueError(f"the bytes end at {len(self._data)}, in the middle of a field")
        self._at += size
        return taken
