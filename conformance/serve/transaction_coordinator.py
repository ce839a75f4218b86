"""Coordinate transactions that hold offsets of groups; records are in none.

InitProducerId begins a producer's epoch, AddOffsetsToTxn names a group, TxnOffsetCommit holds its
offsets back, and EndTxn stores them, or drops them.  The model decides about each TxnOffsetCommit
as about any commit; the offsets that it stores are taken back until the end.  Meanwhile OffsetFetch
answers UNSTABLE_OFFSET_COMMIT where stable offsets are required, else the offsets before.

A transaction whose time is over is aborted at the next look at it, and its producer is fenced.

Source: KIP-98 (transactions), KIP-447 (groups' members in them, stable offsets), KIP-360 (a
producer that goes on with its epoch), KIP-890 (offsets only in a transaction that is under way);
Kafka's message definitions.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.conformance.serve.group_coordinator import Deliver, GroupCoordinator
from fencepost.conformance.wire.refusal import Code
from fencepost.model.classic.group import Offset
from fencepost.model.coordinator import Send
from fencepost.model.messages.messages import OffsetFetchRequest, TxnOffsetCommitRequest
from fencepost.model.messages.shapes import Message

Json = dict[str, Any]

_LONGEST_MS = 900_000
"""transaction.max.timeout.ms."""
_MOST_PRODUCERS = 10_000
_LAST_EPOCH = 2**15 - 2
_FENCED_SINCE = {"InitProducerId": 4, "AddOffsetsToTxn": 2, "EndTxn": 2}
"""The first version of each API that knows PRODUCER_FENCED."""
_ADDS_GROUP_SINCE = 5
"""TxnOffsetCommit adds its group from this version on."""


@dataclass(slots=True)
class Producer:
    """A transactional id: its producer's id and epoch, and the transaction under way, if any.

    `groups`: those that were added; `offsets`: held back, by group; `due_s`: the end of its time;
    `ended`: whether the last transaction was committed, None before one ended.
    """

    id: int
    epoch: int
    timeout_ms: int
    groups: set[str] = field(default_factory=set)
    offsets: dict[str, dict[tuple[str, int], Offset]] = field(default_factory=dict)
    due_s: float | None = None
    ended: bool | None = None

    def end(self, *, committed: bool | None) -> None:
        """End its transaction, if there is one."""
        self.ended = committed
        self.groups.clear()
        self.offsets.clear()
        self.due_s = None


class TransactionCoordinator:
    """All transactions of a broker.

    `clock`: seconds; `new_id`: makes producer ids; `name_of`: the name of a topic by its id, "" of
    one that there isn't.  A node coordinates its share of the
    transactional ids.
    """

    def __init__(
        self,
        groups: GroupCoordinator,
        nodes: Sequence[int],
        *,
        clock: Callable[[], float],
        new_id: Callable[[], int],
        name_of: Callable[[str], str],
    ) -> None:
        self._groups = groups
        self._nodes = tuple(nodes)
        self._clock = clock
        self._new_id = new_id
        self._name_of = name_of
        self._producers: dict[str, Producer] = {}

    def node_of(self, name: str) -> int:
        """Return the node that coordinates a transactional id."""
        return self._nodes[zlib.crc32(name.encode()) % len(self._nodes)]

    # What producers ask their coordinator.

    def init_producer_id(self, version: int, body: Mapping[str, Any], node: int) -> Json:
        """Abort what is under way, and begin the next epoch."""
        name, timeout_ms = body["transactionalId"], body["transactionTimeoutMs"]
        known = (body.get("producerId", -1), body.get("producerEpoch", -1))
        code = self._here(name, node)
        producer = self._producer(name)
        if not name:
            code = Code.INVALID_REQUEST
        elif code is Code.NONE and not 0 < timeout_ms <= _LONGEST_MS:
            code = Code.INVALID_TRANSACTION_TIMEOUT
        elif code is Code.NONE and producer is not None and known[0] >= 0:
            is_same = known == (producer.id, producer.epoch)
            code = Code.NONE if is_same else _fenced("InitProducerId", version)
        if code is not Code.NONE:
            return {"errorCode": code, "producerId": -1, "producerEpoch": -1}
        if producer is None or producer.epoch >= _LAST_EPOCH:
            producer = self._producers[name] = Producer(self._new_id(), 0, timeout_ms)
            if len(self._producers) > _MOST_PRODUCERS:  # the oldest id expires
                del self._producers[next(iter(self._producers))]
        else:
            producer.end(committed=None)
            producer.epoch, producer.timeout_ms = producer.epoch + 1, timeout_ms
        return {
            "errorCode": code,
            "producerId": producer.id,
            "producerEpoch": producer.epoch,
        }

    def add_offsets(self, version: int, body: Mapping[str, Any], node: int) -> Json:
        """Add a group to the producer's transaction, which begins with it."""
        producer = self._asking(body, "AddOffsetsToTxn", version, node)
        if isinstance(producer, Code):
            return {"errorCode": producer}
        self._add(producer, body["groupId"])
        return {"errorCode": Code.NONE}

    def end(self, version: int, body: Mapping[str, Any], node: int) -> Json:
        """Commit the transaction, so that its offsets are stored, or abort it."""
        producer = self._asking(body, "EndTxn", version, node)
        if isinstance(producer, Code):
            return {"errorCode": producer}
        if producer.due_s is None:
            is_repeated = producer.ended is body["committed"]
            return {"errorCode": Code.NONE if is_repeated else Code.INVALID_TXN_STATE}
        if body["committed"]:
            for group, offsets in producer.offsets.items():
                self._groups.store_offsets(group, offsets.values())
        producer.end(committed=body["committed"])
        return {"errorCode": Code.NONE}

    # What a group's coordinator is asked.

    def ask(self, send: Send, message: Message, deliver: Deliver, node: int) -> None:
        """Ask a group's coordinator, as `GroupCoordinator.ask`, but hold offsets."""
        match message:
            case TxnOffsetCommitRequest():
                self._hold_offsets(send, message, deliver, node)
            case OffsetFetchRequest(require_stable=True):
                self._groups.ask(
                    send,
                    message,
                    lambda version, body: deliver(version, self._stable(message, body)),
                    node,
                )
            case _:
                self._groups.ask(send, message, deliver, node)

    def _hold_offsets(
        self, send: Send, message: TxnOffsetCommitRequest, deliver: Deliver, node: int
    ) -> None:
        group, producer = message.group_id, self._producer(message.transactional_id)
        code = Code.NONE
        if producer is None or producer.id != message.producer_id:
            code = Code.INVALID_PRODUCER_ID_MAPPING
        elif producer.epoch != message.producer_epoch:
            code = Code.INVALID_PRODUCER_EPOCH
        elif group not in producer.groups and send.version < _ADDS_GROUP_SINCE:
            code = Code.INVALID_TXN_STATE
        if producer is None or code is not Code.NONE:
            deliver(*self._groups.refusal(send, message, code))
            return
        self._add(producer, group)
        for offset in self._groups.ask_without_storing(send, message, deliver, node):
            held = producer.offsets.setdefault(group, {})
            held[offset.topic, offset.partition] = offset

    def _stable(self, message: OffsetFetchRequest, body: Json) -> Json:
        """Return the answer to an OffsetFetch with an error for each offset that may change."""
        groups = body.get("groups")
        if groups is None:
            return {**body, "topics": self._stable_topics(message.group_id, body["topics"])}
        rows = [
            {**row, "topics": self._stable_topics(row["groupId"], row["topics"])} for row in groups
        ]
        return {**body, "groups": rows}

    def _name(self, topic: Json) -> str:
        """Return the name of a topic in an answer, which has its id instead from version 10 on."""
        return topic["name"] if "name" in topic else self._name_of(topic["topicId"])

    def _stable_topics(self, group: str, topics: Sequence[Json]) -> list[Json]:
        held = {place for offsets in self._held(group) for place in offsets}

        def row(topic: str, part: Json) -> Json:
            if (topic, part["partitionIndex"]) not in held:
                return part
            return {**part, "committedOffset": -1, "errorCode": Code.UNSTABLE_OFFSET_COMMIT}

        return [
            {**topic, "partitions": [row(self._name(topic), part) for part in topic["partitions"]]}
            for topic in topics
        ]

    def _held(self, group: str) -> Iterator[Mapping[tuple[str, int], Offset]]:
        for name in list(self._producers):
            producer = self._producer(name)
            if producer is not None and group in producer.offsets:
                yield producer.offsets[group]

    # Producers.

    def _producer(self, name: str) -> Producer | None:
        """Return the producer of a transactional id, if any; end its transaction when it is due."""
        producer = self._producers.get(name)
        if producer is not None and producer.due_s is not None and self._clock() > producer.due_s:
            producer.end(committed=False)
            producer.epoch += 1
        return producer

    def _add(self, producer: Producer, group: str) -> None:
        if producer.due_s is None:
            producer.ended = None
            producer.due_s = self._clock() + producer.timeout_ms / 1000
        producer.groups.add(group)

    def _here(self, name: str | None, node: int) -> Code:
        is_elsewhere = bool(name) and self.node_of(name or "") != node
        return Code.NOT_COORDINATOR if is_elsewhere else Code.NONE

    def _asking(
        self, body: Mapping[str, Any], api: str, version: int, node: int
    ) -> Producer | Code:
        """Return the producer that a request names, or why it isn't let in."""
        name = body["transactionalId"]
        if (code := self._here(name, node)) is not Code.NONE:
            return code
        producer = self._producer(name)
        if producer is None or producer.id != body["producerId"]:
            return Code.INVALID_PRODUCER_ID_MAPPING
        if producer.epoch != body["producerEpoch"]:
            return _fenced(api, version)
        return producer


def _fenced(api: str, version: int) -> Code:
    is_known = version >= _FENCED_SINCE[api]
    return Code.PRODUCER_FENCED if is_known else Code.INVALID_PRODUCER_EPOCH
