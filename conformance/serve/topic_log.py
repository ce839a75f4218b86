"""Keep topics in memory: a log for each partition, and the fetches that wait for its records.

All logs together keep no more than `RETENTION_BYTES`, each its share; then the oldest batches of a
log go, as Kafka's segments do.

A fetch is answered when there are as many bytes as it requires, something to refuse, or its time is
over.  With a session the answer has only what changed: records, errors, and the end of a partition.

Source: Kafka's message definitions, Produce, ListOffsets, Fetch; KIP-98 (a batch that an idempotent
producer sends twice is appended once); KIP-227 (sessions), KIP-516 (topic ids).
"""

from __future__ import annotations

import asyncio
import base64
import uuid
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from fencepost.conformance.wire.record_batches import Batch, RecordsError, batches_in
from fencepost.conformance.wire.refusal import Code
from fencepost.model import coordinator
from fencepost.model.messages.shapes import NO_UUID, uuid_text

RETENTION_BYTES = 64 << 20
"""Default memory of all logs of a broker together."""

BATCH_BYTES = 300
"""Memory of a batch beside its data."""

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
        """Called after each append, by the key of their owner."""
        self._retention = retention
        self._size = 0
        self._batches: deque[Batch] = deque()
        self._sequences: OrderedDict[int, deque[tuple[int, int, int]]] = OrderedDict()

    def append(self, data: bytes) -> int:
        """Append batches; return the offset of the first record.  Raises RecordsError."""
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
        """Return the batches from an offset on: up to `most_bytes`, or one larger batch."""
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
        """Return the offset and time that ListOffsets asks for; (-1, -1): no record is so young.

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
        """Return the offset at which this batch of an idempotent producer was appended before."""
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
        self.deleted: dict[str, str] = {}
        """The last id of each topic that was deleted."""
        self._made = 0
        self._logs = 0

    def __getitem__(self, name: str) -> Topic:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def grow(self, name: str, partitions: int) -> None:
        """Give a topic more partitions: it has this many then; never fewer."""
        topic = self[name]
        more = [PartitionLog(self._share) for _ in range(partitions - len(topic.partitions))]
        grown = replace(topic, partitions=[*topic.partitions, *more])
        self._by_name[name] = self._by_id[topic.id] = grown
        self._logs += len(more)

    def make(self, name: str, partitions: int) -> Topic:
        """Make a topic; its id is the same in each run."""
        self._made += 1
        topic_id = uuid_text(uuid.uuid5(_NAMESPACE, f"{self._made} {name}").bytes)
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
        self.deleted[name] = topic.id
        self._logs -= len(topic.partitions)
        return True

    def _share(self) -> int:
        return self._retention_bytes // max(1, self._logs)

    def by_id(self, topic_id: str) -> Topic | None:
        """Return the topic of an id."""
        return self._by_id.get(topic_id)

    def log_of(
        self, topic: Mapping[str, str], partition: int, leads: Callable[[int], bool]
    ) -> PartitionLog | Code:
        """Return a partition's log, or an error; `topic` has a `name`, or else a `topicId`."""
        name = topic.get("name")
        topic_ = self._by_name.get(name) if name else self.by_id(topic.get("topicId", NO_UUID))
        if topic_ is None and not name:
            return Code.UNKNOWN_TOPIC_ID
        if topic_ is None or not 0 <= partition < len(topic_.partitions):
            return Code.UNKNOWN_TOPIC_OR_PARTITION
        if not leads(partition):
            return Code.NOT_LEADER_OR_FOLLOWER
        return topic_.partitions[partition]


Json = dict[str, Any]

_MOST_SESSIONS = 1000
_LAST_EPOCH = 2**31 - 1
_FINAL, _INITIAL = -1, 0
_MOST_WAIT_MS = 60_000
_NO_REPLICA = -1


class Place(NamedTuple):
    """A partition as a request names it: by its topic's name, or by its id."""

    topic: str
    topic_id: str
    partition: int


class FetchRange(NamedTuple):
    """The first offset to fetch, and the most bytes."""

    offset: int
    most_bytes: int


@dataclass(slots=True)
class Session:
    """A client's repeated fetch, and the last answer about each partition."""

    id: int
    epoch: int
    ranges: dict[Place, FetchRange]
    reported: dict[Place, tuple[int, int]] = field(default_factory=dict)
    """End and start of the log."""


class ServedTopics(Mapping[str, coordinator.Topic]):
    """The topics as the model needs them: without their records, and with the deleted ones."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def __getitem__(self, name: str) -> coordinator.Topic:
        topic = self._topics.get(name)
        if topic is None:
            return coordinator.Topic(self._topics.deleted[name], 0)
        return coordinator.Topic(topic.id, len(topic.partitions))

    def __iter__(self) -> Iterator[str]:
        return iter({**self._topics, **self._topics.deleted})

    def __len__(self) -> int:
        return len({*self._topics, *self._topics.deleted})


class Fetches:
    """The fetches of one node.  `leads`: returns True if it leads a partition."""

    def __init__(self, topics: Topics, leads: Callable[[int], bool]) -> None:
        self._topics = topics
        self._leads = leads
        self._sessions: OrderedDict[int, Session] = OrderedDict()
        self._ids = 0

    def begin(self, body: Mapping[str, Any], answer: Callable[[Json], None]) -> ParkedFetch | None:
        """Call `answer` once: now (returns None), or later unless the fetch is dropped."""
        ranges = _ranges_in(body)
        session: Session | None = None
        epoch = body.get("sessionEpoch", _FINAL)
        if epoch in {_FINAL, _INITIAL}:
            self._sessions.pop(body.get("sessionId", 0), None)
            if epoch == _INITIAL and ranges:
                session = self._new_session(ranges)
        else:
            session = self._sessions.get(body["sessionId"])
            code = Code.NONE
            if session is None:
                code = Code.FETCH_SESSION_ID_NOT_FOUND
            elif session.epoch != epoch:
                code = Code.INVALID_FETCH_SESSION_EPOCH
            if session is None or code is not Code.NONE:
                answer({"errorCode": code, "sessionId": 0, "responses": []})
                return None
            self._sessions.move_to_end(session.id)
            session.epoch = 1 if epoch == _LAST_EPOCH else epoch + 1
            session.ranges.update(ranges)
            for place in _forgotten_in(body):
                session.ranges.pop(place, None)
                session.reported.pop(place, None)
            ranges = session.ranges
        parked = ParkedFetch(self, session, dict(ranges), body, answer)
        return parked if parked.waits else None

    def refuse(self, body: Mapping[str, Any], code: int) -> Json:
        """Return the answer that has this error for each partition, also those of the session."""
        session = self._sessions.get(body.get("sessionId", 0))
        places = dict(_ranges_in(body))
        if session is not None and body["sessionEpoch"] == session.epoch:
            session.epoch += 1
            session.ranges.update(places)
            places = session.ranges
        rows = [(place, _row_of(place, code)) for place in places]
        return _fetched(rows, 0 if session is None else session.id)

    def log_of(self, place: Place) -> PartitionLog | Code:
        """Return the log of a partition, or an error."""
        topic = {"name": place.topic, "topicId": place.topic_id}
        return self._topics.log_of(topic, place.partition, self._leads)

    def _new_session(self, ranges: Mapping[Place, FetchRange]) -> Session:
        self._ids = self._ids % _LAST_EPOCH + 1
        session = Session(self._ids, 1, dict(ranges))
        self._sessions[session.id] = session
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session


class ParkedFetch:
    """A fetch that may wait; `drop` it when its connection ends."""

    def __init__(
        self,
        fetches: Fetches,
        session: Session | None,
        ranges: Mapping[Place, FetchRange],
        body: Mapping[str, Any],
        answer: Callable[[Json], None],
    ) -> None:
        self._fetches = fetches
        self._session = session
        self._is_incremental = session is not None and body["sessionEpoch"] > _INITIAL
        self._ranges = ranges
        self._least_bytes = body["minBytes"]
        self._most_bytes = body.get("maxBytes", _LAST_EPOCH)
        self._answer = answer
        self._watched: list[PartitionLog] = []
        self._timer: asyncio.TimerHandle | None = None
        wait_ms = min(body["maxWaitMs"], _MOST_WAIT_MS)
        if wait_ms <= 0 or not ranges or self._is_enough():
            self._finish()
            return
        for place in ranges:
            if isinstance(log := fetches.log_of(place), PartitionLog):
                self._watched.append(log)
                log.watchers[self] = self._look
        self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._finish)

    @property
    def waits(self) -> bool:
        """Return True if it isn't answered yet."""
        return self._timer is not None

    def drop(self) -> None:
        """Wait no longer, and answer nobody."""
        for log in self._watched:
            log.watchers.pop(self, None)
        self._watched.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self.waits and self._is_enough():
            self._finish()

    def _is_enough(self) -> bool:
        """Return True if there are enough bytes, or there is something to refuse."""
        size = 0
        for place, range_ in self._ranges.items():
            log = self._fetches.log_of(place)
            if isinstance(log, Code) or not log.start_offset <= range_.offset <= log.end_offset:
                return True
            size += len(log.read(range_.offset, range_.most_bytes))
            if size >= self._least_bytes:
                return True
        return False

    def _finish(self) -> None:
        self.drop()
        rows: list[tuple[Place, Json]] = []
        left = self._most_bytes
        for place, range_ in self._ranges.items():
            row, size = self._row(place, range_, left)
            left -= size
            if row is not None:
                rows.append((place, row))
        self._answer(_fetched(rows, 0 if self._session is None else self._session.id))

    def _row(self, place: Place, range_: FetchRange, left: int) -> tuple[Json | None, int]:
        """Return a partition's row, None if nothing changed, and the bytes of its records."""
        log = self._fetches.log_of(place)
        code, records, end, start = Code.NONE, b"", -1, -1
        if isinstance(log, Code):
            code = log
        elif not log.start_offset <= range_.offset <= log.end_offset:
            code = Code.OFFSET_OUT_OF_RANGE
        else:
            end, start = log.end_offset, log.start_offset
            is_first = left == self._most_bytes
            if left > 0:
                records = log.read(range_.offset, min(left, range_.most_bytes))
            if len(records) > left and not is_first:
                records = b""
        if self._session is not None:
            before = self._session.reported.get(place)
            self._session.reported[place] = end, start
            if self._is_incremental and not code and not records and before == (end, start):
                return None, 0
        return _row_of(place, code, end, start, records), len(records)


def _row_of(place: Place, code: int, end: int = -1, start: int = -1, records: bytes = b"") -> Json:
    return {
        "partitionIndex": place.partition,
        "errorCode": code,
        "highWatermark": end,
        "lastStableOffset": end,
        "logStartOffset": start,
        "abortedTransactions": None,
        "preferredReadReplica": _NO_REPLICA,
        "records": base64.b64encode(records).decode(),
    }


def _fetched(rows: Iterable[tuple[Place, Json]], session_id: int) -> Json:
    """Return an answer with these rows of partitions."""
    topics: dict[tuple[str, str], list[Json]] = {}
    for place, row in rows:
        topics.setdefault((place.topic, place.topic_id), []).append(row)
    responses = [
        {"topic": name, "topicId": topic_id, "partitions": parts}
        for (name, topic_id), parts in topics.items()
    ]
    return {"errorCode": Code.NONE, "sessionId": session_id, "responses": responses}


def _ranges_in(body: Mapping[str, Any]) -> dict[Place, FetchRange]:
    return {
        Place(*_topic_of(topic), row["partition"]): FetchRange(
            row["fetchOffset"], row["partitionMaxBytes"]
        )
        for topic in body["topics"]
        for row in topic["partitions"]
    }


def _forgotten_in(body: Mapping[str, Any]) -> Iterable[Place]:
    for topic in body.get("forgottenTopicsData", ()):
        for partition in topic["partitions"]:
            yield Place(*_topic_of(topic), partition)


def _topic_of(row: Mapping[str, Any]) -> tuple[str, str]:
    return row.get("topic", ""), row.get("topicId", NO_UUID)
