"""Know the topics of the cluster: the id of each, its partitions, and legal targets.

Where nobody gave the topics, each name is one: it has `num.partitions` partitions, and its id
follows from its name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, product
from math import prod
from operator import attrgetter
from typing import NamedTuple

from fencepost.model.consumer.group import ConsumerGroup, Partitions
from fencepost.model.coordinator import Topics
from fencepost.model.messages.consumer_messages import TopicPartitions
from fencepost.model.messages.shapes import uuid_text
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.work import TooManyOutcomesError

TOPICS = ("t", "u")
"""The topics that a message may name by ids, where nobody gave the topics."""
MOST_TARGETS = 4096
"""The largest number of legal targets that are listed."""

PartitionCount = Callable[[str], int]
"""Name of a topic → the number of its partitions; 0 if it doesn't exist."""
Target = tuple[tuple[str, Partitions], ...]

_topic = attrgetter("topic")


def topic_id(name: str) -> str:
    """Return the id of a topic that nobody gave one."""
    return uuid_text(hashlib.blake2b(name.encode(), digest_size=16).digest())


@dataclass(frozen=True, slots=True)
class TopicIds:
    """The ids of topics.  `topics`: those that were given; None: each id follows from its name."""

    topics: Topics | None = None

    def of(self, name: str) -> str:
        """Return the id of a topic."""
        topic = None if self.topics is None else self.topics.get(name)
        return topic_id(name) if topic is None else topic.id

    def names(self, known: Iterable[str]) -> Mapping[str, str]:
        """Return each id with its topic: the given ones and the known ones."""
        there = TOPICS if self.topics is None else self.topics
        return {self.of(name): name for name in (*known, *there)}


NO_IDS = TopicIds()


def by_topic(partitions: Iterable[TopicPartition]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each topic with its partitions."""
    for topic, rows in groupby(sorted(partitions), key=_topic):
        yield topic, tuple(row.partition for row in rows)


def rows_of(
    partitions: Iterable[TopicPartition], ids: TopicIds = NO_IDS
) -> tuple[TopicPartitions, ...]:
    """Write partitions as messages do: by the ids of their topics."""
    rows = by_topic(partitions)
    return tuple(TopicPartitions(topic_id=ids.of(name), partitions=where) for name, where in rows)


def partitions_in(
    rows: Iterable[TopicPartitions], names: Iterable[str], ids: TopicIds = NO_IDS
) -> Iterator[TopicPartition]:
    """Read partitions from a message.  `names`: topics that it may mean; another keeps its id."""
    known = ids.names(names)
    for row in rows:
        for partition in row.partitions:
            yield TopicPartition(known.get(row.topic_id, row.topic_id), partition)


class TooManyTargetsError(TooManyOutcomesError):
    """Raised where a group has more legal targets than are listed."""


class Slip(NamedTuple):
    """A mistake of a coordinator in a new target.

    `nobodys`: partitions that it gives to nobody.  `idle`: a member that subscribes to nothing, and
    that it takes for one that subscribes to all topics of the others; "": none.
    """

    nobodys: Partitions = ()
    idle: str = ""


NO_SLIP = Slip()


def readers(
    group: ConsumerGroup, count: PartitionCount, slip: Slip = NO_SLIP
) -> dict[TopicPartition, list[str]]:
    """Return each partition of a subscribed topic, and the members that subscribe to the topic."""
    ids: dict[str, list[str]] = {}
    for member in group.members:
        for topic in member.topics:
            ids.setdefault(topic, []).append(member.member_id)
    if slip.idle:
        ids = {topic: sorted([*whose, slip.idle]) for topic, whose in ids.items()}
    return {
        partition: whose
        for topic, whose in sorted(ids.items())
        for number in range(count(topic))
        if (partition := TopicPartition(topic, number)) not in slip.nobodys
    }


def legal_targets(
    group: ConsumerGroup, count: PartitionCount, slip: Slip = NO_SLIP
) -> Iterator[Target]:
    """Yield every legal target of a group, whatever the assignor, or every one with this slip.

    A target is legal if it gives each partition of each subscribed topic to one member that
    subscribes to the topic.  Raises TooManyTargetsError for more than `MOST_TARGETS`.
    """
    choices = readers(group, count, slip)
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
