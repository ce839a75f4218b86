"""Topics in memory: a log for each partition, and who waits for records of it.

All logs together keep no more than `RETENTION_BYTES`, each its share; then the oldest batches of a
log go, as Kafka's segments do.

Source: Kafka's message definitions, Produce, ListOffsets; KIP-98 (a batch that an idempotent
producer sends twice is appended once).
"""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from fencepost.conformance.wire.broker_codes import Code
from fencepost.conformance.wire.record_batches import Batch, RecordsError, batches_in

RETENTION_BYTES = 64 << 20
"""What all logs of a broker take in memory, where nobody says how much."""

BATCH_BYTES = 300
"""What a batch takes in memory beside its data."""

NO_ID = str(uuid.UUID(int=0))

_LATEST, _EARLIEST, _YOUNGEST, _EARLIEST_LOCAL = -1, -2, -3, -4
_KNOWN_BATCHES = 5
_MOST_PRODUCERS = 1000
_NAMESPACE = uuid.UUID("b1a3b3a9-3c8e-4a43-9d0c-1f6a52c6ad11")


class PartitionLog:
    """The batches of one partition, by offset.

    `retention`: tells how many bytes it may take, the last batch aside.
    """

    def __init__(self, retention: Callable[[], int]) -> None:
        self.start_offset = 0
        self.end_offset = 0
        self.watchers: dict[object, Callable[[], None]] = {}
        """Called after each append, by who added them."""
        self._retention = retention
        self._size = 0
        self._batches: deque[Batch] = deque()
        self._sequences: OrderedDict[int, deque[tuple[int, int, int]]] = OrderedDict()

    def append(self, data: bytes) -> int:
        """Append batches; the offset of the first record.  Raises RecordsError."""
        batches = batches_in(data)
        if not batches:
            raise RecordsError(Code.CORRUPT_MESSAGE)
        if (known := self._known(batches[0])) is not None:
            return known
        first = self.end_offset
        for batch in batches:
            self._remember(batch, self.end_offset)
            kept = batch.at(self.end_offset)
            self._batches.append(kept)
            self._size += len(kept.data) + BATCH_BYTES
            self.end_offset = kept.next_offset
        while len(self._batches) > 1 and self._size > self._retention():
            self._size -= len(self._batches.popleft().data) + BATCH_BYTES
            self.start_offset = self._batches[0].base_offset
        for watcher in list(self.watchers.values()):
            watcher()
        return first

    def read(self, offset: int, most_bytes: int) -> bytes:
        """The batches from an offset on, up to so many bytes, or the first one if it is larger."""
        if offset >= self.end_offset:
            return b""
        parts: list[bytes] = []
        size = 0
        for batch in islice(self._batches, self._index(offset), None):
            size += len(batch.data)
            if parts and size > most_bytes:
                break
            parts.append(batch.data)
        return b"".join(parts)

    def offset_at(self, timestamp: int) -> tuple[int, int]:
        """The offset and time that ListOffsets asks for; (-1, -1): no record is so young.

        By time it is that of a batch, since its inside isn't read.
        """
        if timestamp == _LATEST:
            return self.end_offset, -1
        if timestamp in {_EARLIEST, _EARLIEST_LOCAL}:
            return self.start_offset, -1
        if timestamp == _YOUNGEST and self._batches:
            young = max(self._batches, key=lambda batch: batch.last_ms)
            return young.next_offset - 1, young.last_ms
        if timestamp < 0:
            return -1, -1
        for batch in self._batches:
            if batch.last_ms >= timestamp:
                return batch.base_offset, batch.first_ms
        return -1, -1

    def _index(self, offset: int) -> int:
        return max(0, bisect_right(self._batches, offset, key=lambda b: b.base_offset) - 1)

    def _known(self, batch: Batch) -> int | None:
        """Where this batch of an idempotent producer was appended before."""
        rows = self._sequences.get(batch.producer_id, ())
        key = batch.producer_epoch, batch.base_sequence
        return next((offset for *known, offset in rows if tuple(known) == key), None)

    def _remember(self, batch: Batch, offset: int) -> None:
        if batch.producer_id < 0:
            return
        rows = self._sequences.setdefault(batch.producer_id, deque(maxlen=_KNOWN_BATCHES))
        rows.append((batch.producer_epoch, batch.base_sequence, offset))
        self._sequences.move_to_end(batch.producer_id)
        if len(self._sequences) > _MOST_PRODUCERS:
            self._sequences.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its id, which no topic had before, and its partitions."""

    name: str
    id: str
    partitions: Sequence[PartitionLog]


class Topics(Mapping[str, Topic]):
    """The topics that there are, by name; by id, too.  `retention_bytes`: of all logs together."""

    def __init__(self, retention_bytes: int = RETENTION_BYTES) -> None:
        self._retention_bytes = retention_bytes
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[str, Topic] = {}
        self._made = 0
        self._logs = 0

    def __getitem__(self, name: str) -> Topic:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def make(self, name: str, partitions: int) -> Topic:
        """Make a topic; its id is the same in each run."""
        self._made += 1
        topic_id = str(uuid.uuid5(_NAMESPACE, f"{self._made} {name}"))
        logs = [PartitionLog(self._share) for _ in range(partitions)]
        topic = Topic(name, topic_id, logs)
        self._logs += partitions
        self._by_name[name] = self._by_id[topic_id] = topic
        return topic

    def remove(self, name: str) -> bool:
        """Remove a topic with its records; False: there is none."""
        topic = self._by_name.pop(name, None)
        if topic is None:
            return False
        del self._by_id[topic.id]
        self._logs -= len(topic.partitions)
        return True

    def _share(self) -> int:
        return self._retention_bytes // max(1, self._logs)

    def by_id(self, topic_id: str) -> Topic | None:
        """The topic of an id."""
        return self._by_id.get(topic_id)

    def log_of(
        self, topic: Mapping[str, str], partition: int, leads: Callable[[int], bool]
    ) -> PartitionLog | Code:
        """A partition's log, or why there is none; `topic` has a `name`, or else a `topicId`."""
        name = topic.get("name")
        found = self._by_name.get(name) if name else self.by_id(topic.get("topicId", NO_ID))
        if found is None and not name:
            return Code.UNKNOWN_TOPIC_ID
        if found is None or not 0 <= partition < len(found.partitions):
            return Code.UNKNOWN_TOPIC_OR_PARTITION
        if not leads(partition):
            return Code.NOT_LEADER_OR_FOLLOWER
        return found.partitions[partition]
