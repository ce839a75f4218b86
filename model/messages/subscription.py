"""Encode and decode the consumer protocol: subscriptions of members, assignments of the leader.

A subscription is a join's metadata, an assignment a sync's bytes.  A version number comes first; a
reader of a later version than it knows reads the fields that it knows and leaves the rest.

Source: Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment, versions 0 to 3.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
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
_LATER_FIELD = b"\0\0\0\1\0"
"""A field that a version to come might add: some bytes."""


def encode_subscription(subscription: Subscription, version: int = _VERSION) -> bytes:
    """Encode the metadata of a join; in a later version than there is with a field more."""
    topics, rack = sorted(subscription.topics), subscription.rack_id
    fields = (
        b"".join((struct.pack(">i", len(topics)), *map(encode_string, topics)))
        + _bytes(subscription.user_data),
        encode_partitions(subscription.owned),
        struct.pack(">i", subscription.generation_id),
        struct.pack(">h", -1) if rack is None else encode_string(rack),
        _LATER_FIELD,
    )
    return struct.pack(">h", version) + b"".join(fields[: version + 1])


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


def readable_subscription(metadata: bytes) -> Subscription:
    """Decode as many fields as can be read; of none, a subscription to nothing."""
    try:
        return decode_subscription(metadata)
    except ValueError:
        pass
    try:
        return Subscription(subscribed_topics(metadata))
    except ValueError:
        return Subscription(())


def subscription_fault(metadata: bytes) -> str:
    """Return why Kafka's consumer can't read a subscription, as a leader; "" if it can.

    Bytes after the last field that it knows are left unread, as those of a later version.
    """
    fields: tuple[_FieldOf, ...] = (
        ("topics", lambda reader: [reader.text() for _ in range(reader.items())]),
        ("user data", ProtocolReader.bytes_or_none),
        ("owned partitions", _StrictReader.partitions),
        ("generation", lambda reader: reader.number(">i")),
        ("rack", ProtocolReader.string),
    )
    return _fault(metadata, fields[: 2 + max(version_of(metadata), 0)])


def assignment_fault(assignment: bytes) -> str:
    """Return why Kafka's consumer can't read an assignment; "" if it can."""
    return _fault(
        assignment,
        (
            ("partitions", _StrictReader.partitions),
            ("user data", ProtocolReader.bytes_or_none),
        ),
    )


def subscribed_topics(metadata: bytes) -> tuple[str, ...]:
    """Decode the topics alone, of any version.  Raises ValueError for other bytes."""
    reader = ProtocolReader(metadata)
    if reader.number(">h") < 0:
        raise ValueError("a version can't be negative")
    topics = tuple(reader.string() or "" for _ in range(reader.count()))
    reader.bytes_or_none()
    return topics


def encode_assignment(
    partitions: Iterable[TopicPartition],
    version: int = _ASSIGNMENT_VERSION,
    user_data: bytes | None = None,
) -> bytes:
    """Encode a member's assignment; in a later version than there is with a field more.

    `user_data`: data of the assignor itself; None: nothing.
    """
    return b"".join(
        (
            struct.pack(">h", version),
            encode_partitions(partitions),
            _bytes(user_data),
            _LATER_FIELD if is_later(version) else b"",
        )
    )


def is_later(version: int) -> bool:
    """Tell if no release of Kafka has this version yet."""
    return version > _VERSION


def named_version(version: int, data: bytes) -> bytes:
    """Return these bytes under the number of another version."""
    return struct.pack(">h", version) + data[2:]


def version_of(data: bytes) -> int:
    """Return the version that a subscription or an assignment names; -1: it names none."""
    return int.from_bytes(data[:2], signed=True) if len(data) > 1 else -1


def label_assignment(label: bytes) -> bytes:
    """Encode a label as an assignment that each broker may read: one partition of a topic so named.

    Some brokers decode assignments, and encode them anew: these bytes are then still the same.  An
    empty label is an empty assignment; one that can't name a topic is the assignment's user data.
    A label that is an assignment already stays as it is: no text begins with a version's number.
    """
    is_encoded = 0 <= version_of(label) <= _VERSION and not assignment_fault(label)
    if not label or is_encoded:
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
    return tuple(dict.fromkeys(reader.partitions()))


def assign_alike(first: bytes, second: bytes) -> bool:
    """Return True if two assignments differ in nothing but the order of topics and partitions."""
    if first == second:
        return True
    if assignment_fault(first) or assignment_fault(second):
        return False
    return _unordered(first) == _unordered(second)


def _unordered(assignment: bytes) -> tuple[object, ...]:
    reader = ProtocolReader(assignment)
    return reader.number(">h"), reader.partitions(), reader.bytes_or_none()


def readable_assignment(assignment: bytes) -> tuple[TopicPartition, ...]:
    """Decode a member's partitions, in order; none from bytes that are no assignment."""
    try:
        return decode_assignment(assignment)
    except ValueError:
        return ()


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


class _StrictReader(ProtocolReader):
    """A reader that takes null for nothing where Kafka's consumer fails at it."""

    def items(self) -> int:
        """Read a count of elements that must be there."""
        if (number := self.number(">i")) < 0:
            raise ValueError("an array is null")
        return number

    def text(self) -> str:
        """Read a string that must be there."""
        if (text := self.string()) is None:
            raise ValueError("a string is null")
        return text

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Read partitions by topic."""
        partitions = []
        for _ in range(self.items()):
            topic = self.text()
            partitions += [TopicPartition(topic, self.number(">i")) for _ in range(self.items())]
        return tuple(partitions)

    @property
    def is_at_end(self) -> bool:
        """Tell if nothing is left."""
        return self._at >= len(self._data)


_FieldOf = tuple[str, Callable[[_StrictReader], object]]
"""A field's name, and what reads it."""


def _fault(data: bytes, fields: tuple[_FieldOf, ...]) -> str:
    """Return which of the fields after the version can't be read first; "" for none."""
    version = version_of(data)
    if version < 0:
        return "no version" if len(data) < 2 else f"version {version}"
    reader = _StrictReader(data[2:])
    for name, read in fields:
        is_missing = reader.is_at_end
        try:
            read(reader)
        except ValueError:
            return f"version {version} {'without' if is_missing else 'with unreadable'} {name}"
    return ""
