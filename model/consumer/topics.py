"""Know the topics of the cluster: the id of each, its partitions, and legal targets.

A topic has `num.partitions` partitions.  Its id follows from its name; a target with a real broker
translates ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, product
from math import prod
from operator import attrgetter

from fencepost.model.consumer.group import ConsumerGroup, Partitions
from fencepost.model.messages.consumer_messages import TopicPartitions
from fencepost.model.messages.subscription import TopicPartition

MOST_TARGETS = 4096
"""The largest number of legal targets that are listed."""

PartitionCount = Callable[[str], int]
"""Name of a topic → the number of its partitions; 0 if it doesn't exist."""
Target = tuple[tuple[str, Partitions], ...]

_topic = attrgetter("topic")


def topic_id(name: str) -> str:
    """Return the id of a topic."""
    digits = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def by_topic(partitions: Iterable[TopicPartition]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each topic with its partitions."""
    for topic, rows in groupby(sorted(partitions), key=_topic):
        yield topic, tuple(row.partition for row in rows)


def rows_of(partitions: Iterable[TopicPartition]) -> tuple[TopicPartitions, ...]:
    """Write partitions as messages do: by the ids of their topics."""
    rows = by_topic(partitions)
    return tuple(TopicPartitions(topic_id=topic_id(name), partitions=where) for name, where in rows)


def partitions_in(
    rows: Iterable[TopicPartitions], names: Iterable[str]
) -> Iterator[TopicPartition]:
    """Read partitions from a message.  `names`: topics that it may mean; another keeps its id."""
    known = {topic_id(name): name for name in names}
    for row in rows:
        for partition in row.partitions:
            yield TopicPartition(known.get(row.topic_id, row.topic_id), partition)


class TooManyTargetsError(ValueError):
    """Raised where a group has more legal targets than are listed."""


def legal_targets(group: ConsumerGroup, count: PartitionCount) -> Iterator[Target]:
    """Yield every legal target of a group, whatever the assignor.

    A target is legal if it gives each partition of each subscribed topic to one member that
    subscribes to the topic.  Raises TooManyTargetsError for more than `MOST_TARGETS`.
    """
    readers: dict[str, list[str]] = {}
    for member in group.members:
        for topic in member.topics:
            readers.setdefault(topic, []).append(member.member_id)
    choices: Mapping[TopicPartition, list[str]] = {
        TopicPartition(topic, number): ids
        for topic, ids in sorted(readers.items())
        for number in range(count(topic))
    }
    total = prod(map(len, choices.values()))
    if total > MOST_TARGETS:
        raise TooManyTargetsError(
            f"{len(choices)} partitions of {len(group.members)} members have {total:,} legal "
            f"targets, more than {MOST_TARGETS:,}"
        )
    for owners in product(*choices.values()):
        parts: dict[str, list[TopicPartition]] = {}
        for partition, owner in zip(choices, owners, strict=True):
            parts.setdefault(owner, []).append(partition)
        yield tuple(sorted((owner, tuple(part)) for owner, part in parts.items()))
