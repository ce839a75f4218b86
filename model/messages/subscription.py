"""Encode and decode the consumer protocol: subscriptions of members, assignments of the leader.

A subscription is a join's metadata, an assignment a sync's bytes.  A version number comes first; a
reader of a later version than it knows reads the fields that it knows and leaves the rest.

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
    """A member's subscription: topics, owned partitions with their generation, rack.

    `user_data`: data of the assignor itself; None: nothing.
    """

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation_id: int = -1
    rack_id: str | None = None
    user_data: bytes | None = None


_LONGEST_TOPIC = 249


def encode_subscription(subscription: Subscription) -> bytes:
    """Encode the metadata of a join, version 3."""
    topics = sorted(subscription.topics)
    return b"".join(
        (
            struct.pack(">hi", _VERSION, len(topics)),
            *map(encode_string, topics),
            _bytes(subscription.user_data),
            encode_partitions(subscription.owned),
            struct.pack(">i", subscription.generation_id),
            struct.pack(">h", -1)
            if subscription.rack_id is None
            else encode_string(subscription.rack_id),
        )
    )


def decode_subscription(metadata: bytes) -> Subscription:
    """Decode a subscription.  Raises ValueError for other bytes."""
    reader = ProtocolReader(metadata)
    version = reader.number(">h")
    topics = tuple(reader.string() or "" for _ in range(reader.count()))
    user_data = reader.bytes_or_none()
    owned = reader.partitions() if version >= 1 else ()
    generation = reader.number(">i") if version >= 2 else -1
    rack = reader.string() if version >= 3 else None
    return Subscription(topics, owned, generation, rack, user_data)


def subscribed_topics(metadata: bytes) -> tuple[str, ...]:
    """Decode the topics alone, of any version.  Raises ValueError for other bytes."""
    reader = ProtocolReader(metadata)
    if reader.number(">h") < 0:
        raise ValueError("a version can't be negative")
    topics = tuple(reader.string() or "" for _ in range(reader.count()))
    reader.bytes_or_none()
    return topics


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """Encode a member's assignment, version 1."""
    return b"".join(
        (
            struct.pack(">h", _ASSIGNMENT_VERSION),
            encode_partitions(partitions),
            _bytes(None),  # no user data
        )
    )


def label_assignment(label: bytes) -> bytes:
    """Encode a label as an assignment that each broker may read: one partition of a topic so named.

    Some brokers decode assignments, and encode them anew: these bytes are then still the same.  An
    empty label is an empty assignment; one that can't name a topic is the assignment's user data.
    """
    if not label:
        return label
    is_topic = len(label) <= _LONGEST_TOPIC and label.isascii()
    return _labelled(label) if is_topic else _labelled(b"", label)


def assignment_label(assignment: bytes) -> str | None:
    """Return the label in an assignment of `label_assignment`; None for any other, or no text."""
    reader = ProtocolReader(assignment)
    try:
        reader.number(">h")
        partitions, user_data = reader.partitions(), reader.bytes_or_none()
        label = partitions[0].topic if partitions else (user_data or b"").decode()
    except ValueError:
        return None
    return label if label and label_assignment(label.encode()) == assignment else None


def _labelled(topic: bytes, user_data: bytes = b"") -> bytes:
    row = struct.pack(">h", len(topic)) + topic + struct.pack(">ii", 1, 0) if topic else b""
    return struct.pack(">hi", _ASSIGNMENT_VERSION, bool(topic)) + row + _bytes(user_data)


def decode_assignment(assignment: bytes) -> tuple[TopicPartition, ...]:
    """Decode a member's partitions, in order; none from empty bytes, which a coordinator may send.

    Raises ValueError for bytes that are no assignment.
    """
    if not assignment:
        return ()
    reader = ProtocolReader(assignment)
    reader.number(">h")
    return reader.partitions()


def encode_string(text: str) -> bytes:
    """Encode a text with the length of its bytes before it."""
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded


def _bytes(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """Encode topics in order, each with its partitions."""
    topics = [
        (t, [p.partition for p in of]) for t, of in groupby(sorted(partitions), lambda p: p[0])
    ]
    rows = (
        encode_string(topic) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
        for topic, numbers in topics
    )
    return struct.pack(">i", len(topics)) + b"".join(rows)


class ProtocolReader:
    """A reader from the front of the bytes.  Raises ValueError where they end too soon."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, form: str) -> int:
        """Read a number in a form of `struct`."""
        size = struct.calcsize(form)
        (value,) = struct.unpack(form, self._take(size))
        return int(value)

    def count(self) -> int:
        """Read a count of elements."""
        return max(self.number(">i"), 0)

    def string(self) -> str | None:
        """Read a string; None: it is null."""
        size = self.number(">h")
        return None if size < 0 else self._take(size).decode()

    def bytes_or_none(self) -> bytes | None:
        """Read bytes; None: they are null."""
        size = self.number(">i")
        return None if size < 0 else self._take(size)

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Read partitions by topic, in order."""
        partitions = []
        for _ in range(self.count()):
            topic = self.string() or ""
            partitions += [TopicPartition(topic, self.number(">i")) for _ in range(self.count())]
        return tuple(sorted(partitions))

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ValueError(f"the bytes end at {len(self._data)}, in the middle of a field")
        self._at += size
        return taken
