"""Fetch: what a request gets out of the logs, how long it waits for it, and sessions.

A fetch is answered when there are as many bytes as it wants, something to refuse, or its time is
over.  With a session only what changed is told: records, errors, and how far a partition reaches.

Source: Kafka's message definitions, Fetch; KIP-227 (sessions), KIP-516 (topic ids).
"""

from __future__ import annotations

import asyncio
import base64
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fencepost.conformance.serve.topic_log import NO_ID, PartitionLog, Topics
from fencepost.conformance.wire.broker_codes import Code

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


class Wanted(NamedTuple):
    """From which offset on, and how many bytes at most."""

    offset: int
    most_bytes: int


@dataclass(slots=True)
class Session:
    """What a client fetches again and again, and what it was told last of each partition."""

    id: int
    epoch: int
    wanted: dict[Place, Wanted]
    told: dict[Place, tuple[int, int]] = field(default_factory=dict)
    """End and start of the log."""


class Fetches:
    """The fetches of one node.  `leads`: whether it leads a partition."""

    def __init__(self, topics: Topics, leads: Callable[[int], bool]) -> None:
        self._topics = topics
        self._leads = leads
        self._sessions: OrderedDict[int, Session] = OrderedDict()
        self._ids = 0

    def begin(self, body: Mapping[str, Any], answer: Callable[[Json], None]) -> ParkedFetch | None:
        """Call `answer` with what is fetched, once: now (None), or unless what waits is dropped."""
        wanted = _wanted_in(body)
        session: Session | None = None
        epoch = body.get("sessionEpoch", _FINAL)
        if epoch in {_FINAL, _INITIAL}:
            self._sessions.pop(body.get("sessionId", 0), None)
            if epoch == _INITIAL and wanted:
                session = self._new_session(wanted)
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
            session.wanted.update(wanted)
            for place in _forgotten_in(body):
                session.wanted.pop(place, None)
                session.told.pop(place, None)
            wanted = session.wanted
        parked = ParkedFetch(self, session, dict(wanted), body, answer)
        return parked if parked.waits else None

    def log_of(self, place: Place) -> PartitionLog | Code:
        """The log of a partition, or why there is none."""
        topic = {"name": place.topic, "topicId": place.topic_id}
        return self._topics.log_of(topic, place.partition, self._leads)

    def _new_session(self, wanted: Mapping[Place, Wanted]) -> Session:
        self._ids = self._ids % _LAST_EPOCH + 1
        session = Session(self._ids, 1, dict(wanted))
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
        wanted: Mapping[Place, Wanted],
        body: Mapping[str, Any],
        answer: Callable[[Json], None],
    ) -> None:
        self._fetches = fetches
        self._session = session
        self._is_incremental = session is not None and body["sessionEpoch"] > _INITIAL
        self._wanted = wanted
        self._least_bytes = body["minBytes"]
        self._most_bytes = body.get("maxBytes", _LAST_EPOCH)
        self._answer = answer
        self._watched: list[PartitionLog] = []
        self._timer: asyncio.TimerHandle | None = None
        wait_ms = min(body["maxWaitMs"], _MOST_WAIT_MS)
        if wait_ms <= 0 or not wanted or self._is_enough():
            self._finish()
            return
        for place in wanted:
            if isinstance(log := fetches.log_of(place), PartitionLog):
                self._watched.append(log)
                log.watchers[self] = self._look
        self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._finish)

    @property
    def waits(self) -> bool:
        """Whether it isn't answered yet."""
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
        """Whether there are so many bytes, or there is something to refuse."""
        size = 0
        for place, wanted in self._wanted.items():
            log = self._fetches.log_of(place)
            if isinstance(log, Code) or not log.start_offset <= wanted.offset <= log.end_offset:
                return True
            size += len(log.read(wanted.offset, wanted.most_bytes))
            if size >= self._least_bytes:
                return True
        return False

    def _finish(self) -> None:
        self.drop()
        topics: dict[tuple[str, str], list[Json]] = {}
        left = self._most_bytes
        for place, wanted in self._wanted.items():
            row, size = self._row(place, wanted, left)
            left -= size
            if row is not None:
                topics.setdefault((place.topic, place.topic_id), []).append(row)
        responses = [
            {"topic": name, "topicId": topic_id, "partitions": rows}
            for (name, topic_id), rows in topics.items()
        ]
        session_id = 0 if self._session is None else self._session.id
        self._answer({"errorCode": Code.NONE, "sessionId": session_id, "responses": responses})

    def _row(self, place: Place, wanted: Wanted, left: int) -> tuple[Json | None, int]:
        """What is told of a partition, None for nothing, and how many bytes of records it has."""
        log = self._fetches.log_of(place)
        code, records, end, start = Code.NONE, b"", -1, -1
        if isinstance(log, Code):
            code = log
        elif not log.start_offset <= wanted.offset <= log.end_offset:
            code = Code.OFFSET_OUT_OF_RANGE
        else:
            end, start = log.end_offset, log.start_offset
            is_first = left == self._most_bytes
            if left > 0:
                records = log.read(wanted.offset, min(left, wanted.most_bytes))
            if len(records) > left and not is_first:
                records = b""
        if self._session is not None:
            before = self._session.told.get(place)
            self._session.told[place] = end, start
            if self._is_incremental and not code and not records and before == (end, start):
                return None, 0
        row = {
            "partitionIndex": place.partition,
            "errorCode": code,
            "highWatermark": end,
            "lastStableOffset": end,
            "logStartOffset": start,
            "abortedTransactions": None,
            "preferredReadReplica": _NO_REPLICA,
            "records": base64.b64encode(records).decode(),
        }
        return row, len(records)


def _wanted_in(body: Mapping[str, Any]) -> dict[Place, Wanted]:
    return {
        Place(*_topic_of(topic), row["partition"]): Wanted(
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
    return row.get("topic", ""), row.get("topicId", NO_ID)
