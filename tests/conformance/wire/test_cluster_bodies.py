from __future__ import annotations

import base64
from typing import Any

import pytest
from kafka.record.memory_records import MemoryRecordsBuilder

from fencepost.conformance.wire.cluster_bodies import batches, request_body, response
from fencepost.conformance.wire.codec import (
    API_KEYS,
    decode_message,
    decode_request,
    encode_message,
)
from fencepost.model.messages.cluster_messages import (
    CLUSTER_VERSIONS,
    AddOffsetsRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    Batch,
    BrokerNode,
    ClusterRequest,
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

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("u", 3)
PRODUCER = ProducerIdentity("x", 7, 3)
ASKED: dict[str, ClusterRequest] = {
    "ApiVersions": ApiVersionsRequest(),
    "FindCoordinator": FindCoordinatorRequest("g"),
    "Metadata": MetadataRequest(("t", "u")),
    "ListOffsets": ListOffsetsRequest((SECOND, FIRST), earliest=True),
    "Fetch": FetchRequest(((FIRST, 7), (SECOND, 0)), 500),
    "InitProducerId": InitProducerIdRequest("x", 1000),
    "AddOffsetsToTxn": AddOffsetsRequest(PRODUCER, "g"),
    "EndTxn": EndTransactionRequest(PRODUCER, committed=True),
}
VERSIONS = [(a, v) for a, (low, high) in CLUSTER_VERSIONS.items() for v in range(low, high + 1)]


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_each_request_is_written_in_each_version(api: str, version: int) -> None:
    body = request_body(version, ASKED[api])
    frame = encode_message(api, "Request", version, 1, body, client_id="c")[4:]
    read = decode_request(frame)
    assert (read.api, read.version, read.findings) == (api, version, ())
    for name, value in body.items():
        if not isinstance(value, list):
            assert read.body.get(name, value) == value
    rows = [str(row) for row in read.body.get("topics", [])]
    assert len(rows) == (2 if "topics" in body else 0)


def logged(first: int, *values: bytes, magic: int = 2, compression: int = 0) -> bytes:
    """A batch as a log holds it."""
    builder = MemoryRecordsBuilder(magic=magic, compression_type=compression, batch_size=2**16)
    for number, value in enumerate(values):
        builder.append(timestamp=number, key=None, value=value, headers=[])
    builder.close()
    data = bytes(builder.buffer())
    return first.to_bytes(8) + data[8:] if magic == 2 else data


BATCH = logged(7, b"a", b"b", b"c")
BODIES: dict[str, dict[str, Any]] = {
    "ApiVersions": {"errorCode": 0, "apiKeys": [{"apiKey": 11, "minVersion": 2, "maxVersion": 9}]},
    "Metadata": {
        "brokers": [{"nodeId": 1, "host": "h", "port": 9, "rack": "ra"}],
        "controllerId": 1,
        "topics": [
            {
                "errorCode": 0,
                "name": "t",
                "partitions": [
                    {"errorCode": 0, "partitionIndex": n, "leaderId": leader, "replicaNodes": on}
                    for n, leader, on in ((1, -1, [2]), (0, 1, [1, 2]))
                ],
            }
        ],
    },
    "ListOffsets": {
        "topics": [
            {"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 0, "offset": 7}]}
        ]
    },
    "InitProducerId": {"errorCode": 0, "producerId": 7, "producerEpoch": 3},
    "AddOffsetsToTxn": {"errorCode": 47},
    "EndTxn": {"errorCode": 90},
    "Fetch": {
        "responses": [
            {
                "topic": "t",
                "partitions": [{"partitionIndex": 0, "errorCode": 0, "highWatermark": 10}],
            }
        ],
    },
}
SAID = {
    "ApiVersions": ApiVersionsResponse(0, (VersionRange("JoinGroup", 2, 9),)),
    "Metadata": MetadataResponse(
        (BrokerNode(1, "h", 9),),
        (TopicLeaders("t", 0, (1, -1), (frozenset({"ra"}), frozenset())),),
    ),
    "ListOffsets": ListOffsetsResponse((OffsetRow(FIRST, 0, 7),)),
    "InitProducerId": TransactionResponse(0, 7, 3),
    "AddOffsetsToTxn": TransactionResponse(47),
    "EndTxn": TransactionResponse(90),
    "Fetch": FetchResponse(0, (FetchedLog(FIRST, 0, ()),)),
}


@pytest.mark.parametrize(("api", "version"), [v for v in VERSIONS if v[0] in BODIES])
def test_each_answer_is_read_in_each_version(api: str, version: int) -> None:
    frame = encode_message(api, "Response", version, 1, BODIES[api])[4:]
    decoded = decode_message(api, version, frame)
    assert decoded.body is not None, decoded.findings
    assert response(api, decoded.body) == SAID[api]


@pytest.mark.parametrize("version", range(1, 5))
def test_the_coordinator_of_a_transaction_is_asked_for(version: int) -> None:
    body = request_body(version, FindTransactionCoordinatorRequest("x"))
    assert body["keyType"] == 1
    assert "x" in str(body)
    frame = encode_message("FindCoordinator", "Request", version, 1, body, client_id="c")[4:]
    assert decode_request(frame).findings == ()


@pytest.mark.parametrize("version", range(5))
def test_a_coordinator_is_read_in_each_version(version: int) -> None:
    row = {"errorCode": 15, "nodeId": 1, "host": "h", "port": 9}
    body = {"coordinators": [{"key": "g", **row}]} if version == 4 else row
    decoded = decode_message(
        "FindCoordinator",
        version,
        encode_message("FindCoordinator", "Response", version, 1, body)[4:],
    )
    assert decoded.body is not None
    expected = FindCoordinatorResponse(15, BrokerNode(1, "h", 9))
    assert response("FindCoordinator", decoded.body) == expected


def test_fetched_bytes_become_batches() -> None:
    row = {"partitionIndex": 0, "errorCode": 0, "records": base64.b64encode(BATCH).decode()}
    body = {"responses": [{"topic": "t", "partitions": [row]}]}
    assert response("Fetch", body) == FetchResponse(0, (FetchedLog(FIRST, 0, (Batch(7, 9, 3),)),))


@pytest.mark.parametrize("compression", [0, 1])
def test_compression_does_not_matter(compression: int) -> None:
    data = logged(0, b"a" * 100, b"b" * 100, compression=compression)
    assert list(batches(data)) == [Batch(0, 1, 2)]


def test_a_batch_that_is_cut_off_is_passed_over() -> None:
    data = BATCH + logged(10, b"d")
    for end in range(len(BATCH), len(data)):
        assert list(batches(data[:end])) == [Batch(7, 9, 3)]
    assert list(batches(data)) == [Batch(7, 9, 3), Batch(10, 10, 1)]


def test_control_batches_have_no_records_for_a_user() -> None:
    control = bytearray(BATCH)
    control[22] |= 0x20  # the lower byte of the attributes
    assert list(batches(bytes(control))) == [Batch(7, 9, 0)]


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_from_before_batches_are_one_record_each(magic: int) -> None:
    assert list(batches(logged(0, b"a", b"b", magic=magic))) == [Batch(0, 0, 1), Batch(1, 1, 1)]


@pytest.mark.parametrize("data", [b"", b"\0" * 40, b"\xff" * 60])
def test_other_bytes_are_no_batches(data: bytes) -> None:
    assert list(batches(data)) == []


def test_every_api_that_a_client_asks_can_be_encoded() -> None:
    assert set(CLUSTER_VERSIONS) <= set(API_KEYS)
