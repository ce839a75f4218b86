"""What a recorded Kafka's requests and answers tell of one group: its generations, who has what."""

from __future__ import annotations

import re
from typing import NamedTuple

from fencepost.conformance.serve.broker_history import History, RecordedExchange
from fencepost.model.messages.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.subscription import TopicPartition, decode_assignment

_DETAILS = re.compile(r"[:(]")
"""What begins the names and numbers in a reason of the Java client."""


class Synced(NamedTuple):
    """What a consumer's last sync gave it."""

    generation_id: int
    partitions: frozenset[TopicPartition]


class GroupOnWire:
    """A group, as far as the history was read; consumers are known by their client ids.

    `generation_id`: the newest that a join was answered with.  `completed`: when the first join of
    each generation was answered, in ms of the history.  `synced`: by consumer.  `first_join_ms`:
    when each consumer first asked to join.  `reasons`: when a consumer told why it joins again, and
    why, without names and numbers (KIP-800; librdkafka tells nothing).  `beats_ms`: from each
    heartbeat of a consumer to its next, where it asked nothing else of the group between them.
    """

    def __init__(self, history: History, group_id: str) -> None:
        self.generation_id = 0
        self.completed: dict[int, float] = {}
        self.synced: dict[str, Synced] = {}
        self.first_join_ms: dict[str, float] = {}
        self.reasons: list[tuple[float, str]] = []
        self.beats_ms: list[float] = []
        self._beat_ms: dict[str, float] = {}
        self._history = history
        self._group_id = group_id
        self._read = len(history.exchanges)
        self._open: list[RecordedExchange] = []

    def read(self) -> None:
        """Read what came since the last time."""
        exchanges = self._history.exchanges
        new, self._read = exchanges[self._read :], len(exchanges)
        for exchange in new:
            if not self._is_ours(exchange):
                continue
            self._note_beat(exchange)
            if exchange.api == "JoinGroup":
                self.first_join_ms.setdefault(_consumer(exchange), exchange.received_ms)
                if reason := exchange.request.get("reason"):
                    words = _DETAILS.split(reason, maxsplit=1)[0].strip()
                    self.reasons.append((exchange.received_ms, words))
            if exchange.api != "Heartbeat":
                self._open.append(exchange)
        still = []
        for exchange in self._open:
            if exchange.answered_ms is not None:
                self._take(exchange, exchange.answered_ms)
            elif self._history.connections[exchange.connection].closed_ms is None:
                still.append(exchange)
        self._open = still

    def joining(self) -> set[str]:
        """The consumers that wait for an answer to a join or a sync."""
        return {_consumer(exchange) for exchange in self._open}

    def _is_ours(self, exchange: RecordedExchange) -> bool:
        if exchange.api not in {"JoinGroup", "SyncGroup", "Heartbeat"}:
            return False
        return exchange.request.get("groupId") == self._group_id

    def _note_beat(self, exchange: RecordedExchange) -> None:
        consumer, at_ms = _consumer(exchange), exchange.received_ms
        before_ms = self._beat_ms.pop(consumer, None)
        if exchange.api == "Heartbeat":
            if before_ms is not None:
                self.beats_ms.append(at_ms - before_ms)
            self._beat_ms[consumer] = at_ms

    def _take(self, exchange: RecordedExchange, answered_ms: float) -> None:
        match exchange.message, exchange.reply:
            case JoinGroupRequest(), JoinGroupResponse(error_code=0) as joined:
                self.generation_id = max(self.generation_id, joined.generation_id)
                self.completed.setdefault(joined.generation_id, answered_ms)
            case SyncGroupRequest() as asked, SyncGroupResponse(error_code=0) as given:
                partitions = frozenset(decode_assignment(given.assignment))
                self.synced[_consumer(exchange)] = Synced(asked.generation_id, partitions)
            case _:
                pass


def _consumer(exchange: RecordedExchange) -> str:
    return exchange.client_id or ""
