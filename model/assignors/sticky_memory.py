"""Remember the last assignment of a member of the sticky assignor, in its subscription.

Such a member owns nothing when it joins, so it sends its last assignment, and the generation of
that, in the part of the metadata that is the assignor's own.

Source: Kafka's StickyAssignor, versions 0 and 1 of its user data; the first has no generation.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from fencepost.model.messages.subscription import (
    ProtocolReader,
    Subscription,
    TopicPartition,
    encode_partitions,
)


@dataclass(frozen=True, slots=True)
class Memory:
    """The last assignment, and its generation; -1: there never was one."""

    partitions: tuple[TopicPartition, ...] = ()
    generation_id: int = -1


NO_MEMORY = Memory()


def encode_memory(memory: Memory) -> bytes | None:
    """Encode the user data of a member; None without an assignment."""
    if memory == NO_MEMORY:
        return None
    return encode_partitions(memory.partitions) + struct.pack(">i", memory.generation_id)


def decode_memory(user_data: bytes | None) -> Memory:
    """Decode a member's last assignment; none from unreadable bytes."""
    if not user_data:
        return NO_MEMORY
    reader = ProtocolReader(user_data)
    try:
        partitions = reader.partitions()
    except ValueError:
        return NO_MEMORY
    try:
        return Memory(partitions, reader.number(">i"))
    except ValueError:
        return Memory(partitions)


def recalled(subscription: Subscription) -> Subscription:
    """Return a subscription that owns the member's last partitions."""
    memory = decode_memory(subscription.user_data)
    return replace(subscription, owned=memory.partitions, generation_id=memory.generation_id)
