"""Read and write the client's plain messages about the cluster, as bodies of Kafka's protocol.

The group's messages have bodies of their own; here are those of ApiVersions, FindCoordinator,
Metadata, ListOffsets and Fetch, and of a producer of transactions.  Of record batches only the
headers are read, so compression doesn't matter.

Source: Kafka's message definitions; the protocol guide, "Record Batch".
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from fencepost.conformance.wire.codec import API_KEYS
from fencepost.model.messages.cluster_messages import (
    AddOffsetsRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    Batch,
    BrokerNode,
    ClusterRequest,
    ClusterResponse,
    EndTransactionRequest,
    FetchedLog,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    FindTransactionCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetRow,
    ProducerIdentity,
    TopicLeaders,
    TransactionResponse,
    VersionRange,
)
from fencepost.model.messages.subscription import TopicPartition
from fencepost.traces.files.bounded import own_version

_NAMES = {key: name for name, key in API_KEYS.items()}
_EARLIEST, _LATEST = -2, -1
_CONSUMER = -1
_SEVERAL_SINCE = 4
_TRANSACTION = 1
_MOST_BYTES = 8 * 2**20
_MOST_OF_PARTITION = 2**20

_START = struct.Struct(">qi")
"""The beginning of each log entry: its first offset, and the size of the rest."""

_BATCH = struct.Struct(">qiibIhiqqqhii")
"""A batch's header, from the first offset to the number of records."""

_MAGIC_AT = 16
_CONTROL = 0x20


def request_body(version: int, message: ClusterRequest) -> dict[str, Any]:
    """Return the body of a request; what is left out has Kafka's default."""
    match message:
        case ApiVersionsRequest():
            names = {"clientSoftwareName": "fencepost", "clientSoftwareVersion": own_version()}
            return names if version >= 3 else {}
        case FindCoordinatorRequest(group_id) if version >= _SEVERAL_SINCE:
            return {"keyType": 0, "coordinatorKeys": [group_id]}
        case FindCoordinatorRequest(group_id):
            return {"key": group_id, "keyType": 0} if version else {"key": group_id}
        case FindTransactionCoordinatorRequest(name):
            if version >= _SEVERAL_SINCE:
                return {"keyType": _TRANSACTION, "coordinatorKeys": [name]}
            return {"key": name, "keyType": _TRANSACTION}
        case InitProducerIdRequest(name, timeout_ms):
            return {"transactionalId": name, "transactionTimeoutMs": timeout_ms}
        case AddOffsetsRequest(producer, group_id):
            return {**_producer(producer), "groupId": group_id}
        case EndTransactionRequest(producer, committed):
            return {**_producer(producer), "committed": committed}
        case MetadataRequest(topics):
            rows = None if topics is None else [{"name": topic} for topic in topics]
            return (
                {"topics": rows, "allowAutoTopicCreation": False}
                if version >= 4
                else {"topics": rows}
            )
        case ListOffsetsRequest(partitions, earliest):
            timestamp = _EARLIEST if earliest else _LATEST
            return {
                "replicaId": _CONSUMER,
                "topics": [
                    {
                        "name": topic,
                        "partitions": [
                            {"partitionIndex": p.partition, "timestamp": timestamp} for p in rows
                        ],
                    }
                    for topic, rows in groupby(sorted(partitions), lambda p: p.topic)
                ],
            }
        case FetchRequest(positions, max_wait_ms):
            return {
                "replicaId": _CONSUMER,
                "maxWaitMs": max_wait_ms,
                "minBytes": 1,
                "maxBytes": _MOST_BYTES,
                "topics": [
                    {"topic": topic, "partitions": [_fetched_from(*row) for row in rows]}
                    for topic, rows in groupby(sorted(positions), lambda row: row[0].topic)
                ],
            }


def _producer(producer: ProducerIdentity) -> dict[str, Any]:
    return {
        "transactionalId": producer.transactional_id,
        "producerId": producer.producer_id,
        "producerEpoch": producer.epoch,
    }


def _fetched_from(partition: TopicPartition, offset: int) -> dict[str, Any]:
    return {
        "partition": partition.partition,
        "fetchOffset": offset,
        "partitionMaxBytes": _MOST_OF_PARTITION,
    }


def response(api: str, body: Mapping[str, Any]) -> ClusterResponse:
    """Read the body of an answer.  Raises KeyError for an API that isn't of the cluster."""
    match api:
        case "ApiVersions":
            rows = body["apiKeys"]
            return ApiVersionsResponse(body["errorCode"], tuple(_ranges(rows)))
        case "FindCoordinator":
            row = body["coordinators"][0] if "coordinators" in body else body
            node = BrokerNode(row["nodeId"], row["host"], row["port"])
            return FindCoordinatorResponse(row["errorCode"], node)
        case "InitProducerId":
            return TransactionResponse(body["errorCode"], body["producerId"], body["producerEpoch"])
        case "AddOffsetsToTxn" | "EndTxn":
            return TransactionResponse(body["errorCode"])
        case "Metadata":
            brokers = (BrokerNode(b["nodeId"], b["host"], b["port"]) for b in body["brokers"])
            racks = {b["nodeId"]: b["rack"] for b in body["brokers"] if b.get("rack")}
            return MetadataResponse(
                tuple(brokers), tuple(_topic(topic, racks) for topic in body["topics"])
            )
        case "ListOffsets":
            return ListOffsetsResponse(
                tuple(
                    OffsetRow(
                        TopicPartition(topic["name"], row["partitionIndex"]),
                        row["errorCode"],
                        row["offset"],
                    )
                    for topic in body["topics"]
                    for row in topic["partitions"]
                )
            )
        case "Fetch":
            return FetchResponse(
                body.get("errorCode", 0),
                tuple(
                    FetchedLog(
                        TopicPartition(topic["topic"], row["partitionIndex"]),
                        row["errorCode"],
                        tuple(batches(base64.b64decode(row["records"] or ""))),
                    )
                    for topic in body["responses"]
                    for row in topic["partitions"]
                ),
            )
        case _:
            raise KeyError(api)


def _ranges(rows: Iterable[Mapping[str, Any]]) -> Iterator[VersionRange]:
    for row in rows:
        if name := _NAMES.get(row["apiKey"]):
            yield VersionRange(name, row["minVersion"], row["maxVersion"])


def _topic(row: Mapping[str, Any], racks: Mapping[int, str]) -> TopicLeaders:
    partitions = sorted(row["partitions"], key=lambda p: p["partitionIndex"])
    leaders = tuple(p["leaderId"] for p in partitions)
    racks_of = (frozenset(racks[n] for n in p["replicaNodes"] if n in racks) for p in partitions)
    return TopicLeaders(row["name"], row["errorCode"], leaders, tuple(racks_of) if racks else ())


def batches(data: bytes) -> Iterator[Batch]:
    """Yield the batches of fetched bytes; the last may be cut off, and is passed over then.

    Control batches have no records for a user.  A message of the formats before batches (magic 0
    and 1) is one record, whatever is packed in it.
    """
    at = 0
    while at + _START.size + 5 <= len(data):
        first, size = _START.unpack_from(data, at)
        end = at + _START.size + max(size, 0)
        if size <= 0 or end > len(data):
            return
        if data[at + _MAGIC_AT] < 2 or end - at < _BATCH.size:
            yield Batch(first, first, 1)
        else:
            header = _BATCH.unpack_from(data, at)
            attributes, last_delta, count = header[5], header[6], header[12]
            yield Batch(first, first + last_delta, 0 if attributes & _CONTROL else count)
        at = end
