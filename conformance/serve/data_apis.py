"""The APIs of records: Produce, ListOffsets, OffsetForLeaderEpoch, InitProducerId.

Source: Kafka's message definitions; KIP-98 (producer ids), KIP-320 (leader epochs).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from fencepost.conformance.serve.topic_log import PartitionLog, Topics
from fencepost.conformance.wire.broker_codes import Code
from fencepost.conformance.wire.record_batches import LEADER_EPOCH, RecordsError

Json = dict[str, Any]


class DataApis:
    """What a node answers about records.

    `leads`: whether a node leads a partition; `node`: which one was asked.
    """

    def __init__(self, topics: Topics, leads: Callable[[int, int], bool]) -> None:
        self._topics = topics
        self._leads = leads
        self._producer_ids = count(1)

    def produce(self, body: Mapping[str, Any], node: int) -> Json:
        """Append what was sent, batch by batch."""

        def row(topic: Mapping[str, Any], part: Mapping[str, Any]) -> Json:
            log = self._log(topic, part["index"], node)
            code, offset = Code.NONE, -1
            if isinstance(log, Code):
                code = log
            else:
                try:
                    offset = log.append(base64.b64decode(part["records"] or ""))
                except RecordsError as error:
                    code = error.code
            start = -1 if isinstance(log, Code) else log.start_offset
            return {
                "index": part["index"],
                "errorCode": code,
                "baseOffset": offset,
                "logStartOffset": start,
            }

        responses = [
            {**_named(topic), "partitionResponses": [row(topic, p) for p in topic["partitionData"]]}
            for topic in body["topicData"]
        ]
        return {"responses": responses}

    def list_offsets(self, body: Mapping[str, Any], node: int) -> Json:
        """The first, the last, or the offset at a time, of each partition."""

        def row(topic: Mapping[str, Any], part: Mapping[str, Any]) -> Json:
            log = self._log(topic, part["partitionIndex"], node)
            code, offset, at_ms = Code.NONE, -1, -1
            if isinstance(log, Code):
                code = log
            else:
                offset, at_ms = log.offset_at(part["timestamp"])
            return {
                "partitionIndex": part["partitionIndex"],
                "errorCode": code,
                "timestamp": at_ms,
                "offset": offset,
                "leaderEpoch": LEADER_EPOCH if offset >= 0 else -1,
            }

        return {
            "topics": [
                {"name": topic["name"], "partitions": [row(topic, p) for p in topic["partitions"]]}
                for topic in body["topics"]
            ]
        }

    def offset_for_leader_epoch(self, body: Mapping[str, Any], node: int) -> Json:
        """Where an epoch ends: there was one only, from the beginning to the end."""

        def row(topic: Mapping[str, Any], part: Mapping[str, Any]) -> Json:
            log = self._log({"name": topic["topic"]}, part["partition"], node)
            code, epoch, end = Code.NONE, -1, -1
            if isinstance(log, Code):
                code = log
            elif part["leaderEpoch"] == LEADER_EPOCH:
                epoch, end = LEADER_EPOCH, log.end_offset
            return {
                "errorCode": code,
                "partition": part["partition"],
                "leaderEpoch": epoch,
                "endOffset": end,
            }

        return {
            "topics": [
                {
                    "topic": topic["topic"],
                    "partitions": [row(topic, p) for p in topic["partitions"]],
                }
                for topic in body["topics"]
            ]
        }

    def init_producer_id(self, body: Mapping[str, Any]) -> Json:
        """An id for an idempotent producer; there are no transactions."""
        if body["transactionalId"] is not None:
            return {"errorCode": Code.INVALID_REQUEST, "producerId": -1, "producerEpoch": -1}
        return {
            "errorCode": Code.NONE,
            "producerId": next(self._producer_ids),
            "producerEpoch": 0,
        }

    def _log(self, topic: Mapping[str, Any], partition: int, node: int) -> PartitionLog | Code:
        return self._topics.log_of(topic, partition, lambda number: self._leads(number, node))


def _named(row: Mapping[str, Any]) -> Json:
    return {key: row[key] for key in ("name", "topicId") if key in row}
