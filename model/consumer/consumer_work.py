"""Hold the work of a step of the consumer protocol: the group, and notes of its effects."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.model.consumer.group import ConsumerGroup, Partitions
from fencepost.model.consumer.topics import NO_IDS, PartitionCount, Target
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.work import Incoming, Span, Work

Assign = Callable[[ConsumerGroup, PartitionCount], Target]


class ConsumerWork(Work[ConsumerGroup]):
    """A step in progress.

    `start`: the group before the step; None: there was none.  `owned`: the partitions that the
    caller says it owns; None: it doesn't say.  `count`: returns the partitions of a topic; `ids`:
    the ids of topics.  `assign`: makes a target; None: each legal one is an outcome.  `named`:
    topic and index of the partitions whose offsets are to be stored, or removed.  `is_bumped`: the
    group's epoch grew in this step.  `has_new_target`: the target was made anew.  `copied`: the
    caller was a member and became a copy of another: what the target gave to both, itself first.
    """

    __slots__ = (
        "assign",
        "copied",
        "count",
        "has_new_target",
        "ids",
        "is_bumped",
        "named",
        "owned",
        "start",
    )

    def __init__(
        self, group: ConsumerGroup | None, span: Span, request: Incoming | None = None
    ) -> None:
        super().__init__(group, span, request)
        self.start = group
        self.owned: frozenset[TopicPartition] | None = None
        self.count: PartitionCount = lambda _: 0
        self.ids = NO_IDS
        self.assign: Assign | None = None
        self.named: frozenset[tuple[str, int]] = frozenset()
        self.is_bumped = False
        self.has_new_target = False
        self.copied: tuple[Partitions, Partitions] | None = None

    @staticmethod
    def new_group() -> ConsumerGroup:
        """Make a group without members, of epoch 0."""
        return ConsumerGroup()

    def fork(self) -> ConsumerWork:
        """Return a copy that is changed on its own."""
        other = super().fork()
        other.start = self.start
        other.owned = self.owned
        other.count = self.count
        other.ids = self.ids
        other.assign = self.assign
        other.named = self.named
        other.is_bumped = self.is_bumped
        other.has_new_target = self.has_new_target
        other.copied = self.copied
        return other
