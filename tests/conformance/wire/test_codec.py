from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import io
import random
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32
from support.message_samples import sample

from fencepost.conformance.wire.codec import (
    API_KEYS,
    MAX_ITEMS,
    decode_message,
    decode_request,
    decode_response,
    encode_message,
    encode_request,
    schema,
)
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.shapes import NO_UUID, ShapeError, uuid_text

APIS = {name: api for name, api in ALL_APIS.items() if api.key is not None}
VERSIONS = [(n, v) for n, a in APIS.items() for v in range(a.lowest, a.highest + 1)]
# kio follows Kafka 4, which has dropped these.
TOO_OLD_FOR_KIO = [("OffsetCommit", 0), ("OffsetCommit", 1), ("OffsetFetch", 0)]
KIO_VERSIONS = [pair for pair in VERSIONS if pair not in TOO_OLD_FOR_KIO]
NULLS = [False, True]

JOIN: dict[str, Any] = {
    "groupId": "g",
    "sessionTimeoutMs": 6000,
    "rebalanceTimeoutMs": 6000,
    "memberId": "",
    "protocolType": "consumer",
    "protocols": [{"name": "range", "metadata": "AAE="}],
}


def values(item: Any) -> Iterator[Any]:
    """What a body or an entity of kio says, field by field, in wire order."""
    match item:
        case dict():
            for inner in item.values():
                yield from values(inner)
        case list() | tuple():
            yield len(item)
            for inner in item:
                yield from values(inner)
        case dt.timedelta():
            yield int(item / dt.timedelta(milliseconds=1))
        case dt.datetime():
            yield int(item.timestamp() * 1000)
        case uuid.UUID():
            yield uuid_text(item.bytes)
        case bytes():
            yield base64.b64encode(item).decode()
        case _ if dataclasses.is_dataclass(item):
            for each in dataclasses.fields(item):
                yield from values(getattr(item, each.name))
        case None | bool() | str() | int():
            yield item if isinstance(item, bool | str | None) else int(item)
        case _:
            yield item


@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_a_request_comes_back_as_it_was(api: str, version: int, nulls: bool) -> None:
    body = sample(APIS[api].request, version, nulls=nulls)
    frame = encode_request(api, version, 77, "client", body)
    assert int.from_bytes(frame[:4]) == len(frame) - 4
    read = decode_request(frame[4:])
    assert (read.api, read.version, read.correlation_id) == (api, version, 77)
    assert read.client_id == "client"
    assert read.body == body
    assert read.findings == ()


@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_an_answer_comes_back_as_it_was(api: str, version: int, nulls: bool) -> None:
    body = sample(APIS[api].response, version, nulls=nulls)
    decoded = decode_response(api, version, encode_message(api, "Response", version, 77, body)[4:])
    assert decoded.correlation_id == 77
    assert decoded.body == body
    assert decoded.findings == ()


@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize(("api", "version"), KIO_VERSIONS)
def test_kio_reads_the_same_in_our_requests(api: str, version: int, nulls: bool) -> None:
    entity = load_request_schema(API_KEYS[api], version)
    body = sample(APIS[api].request, version, nulls=nulls)
    frame = encode_request(api, version, 77, None if nulls else "client", body)
    header, size = entity_reader(entity.__header_schema__)(frame, 4)
    assert header.request_api_key == API_KEYS[api]
    assert header.request_api_version == version
    assert header.correlation_id == 77
    assert header.client_id == (None if nulls else "client")
    said, more = entity_reader(entity)(frame, 4 + size)
    assert 4 + size + more == len(frame)
    assert list(values(said)) == list(values(body))


@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize(("api", "version"), KIO_VERSIONS)
def test_what_kio_writes_we_read(api: str, version: int, nulls: bool) -> None:
    entity = load_response_schema(API_KEYS[api], version)
    body = sample(APIS[api].response, version, nulls=nulls)
    frame = encode_message(api, "Response", version, 77, body)
    header, size = entity_reader(entity.__header_schema__)(frame, 4)
    assert header.correlation_id == 77
    said, more = entity_reader(entity)(frame, 4 + size)
    assert 4 + size + more == len(frame)
    assert list(values(said)) == list(values(body))
    written = io.BytesIO()
    entity_writer(entity.__header_schema__)(
        written, entity.__header_schema__(correlation_id=i32(5))
    )
    entity_writer(entity)(written, said)
    decoded = decode_response(api, version, written.getvalue())
    assert (decoded.correlation_id, decoded.body, decoded.findings) == (5, body, ())


@pytest.mark.parametrize("version", range(5))
def test_a_version_that_cannot_carry_an_instance_refuses_it(version: int) -> None:
    body = {**JOIN, "groupInstanceId": "A"}
    if version == 0:
        del body["rebalanceTimeoutMs"]
    with pytest.raises(ShapeError, match="groupInstanceId"):
        encode_request("JoinGroup", version, 1, "c", body)


def test_a_version_that_can_carries_it() -> None:
    frame = encode_request("JoinGroup", 5, 1, "c", {**JOIN, "groupInstanceId": "A"})
    assert decode_request(frame[4:]).body["groupInstanceId"] == "A"


@pytest.mark.parametrize("text", ["\ud800", "x" * 40_000])
def test_a_text_that_the_wire_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ShapeError, match="can't be written"):
        encode_request("JoinGroup", 5, 1, "c", {**JOIN, "groupInstanceId": text})


def test_throttle_time_may_be_left_out() -> None:
    frame = encode_message("Heartbeat", "Response", 3, 1, {"errorCode": 0})
    assert decode_response("Heartbeat", 3, frame[4:]).body == {"throttleTimeMs": 0, "errorCode": 0}


def test_a_field_that_no_message_has_is_refused() -> None:
    with pytest.raises(ShapeError, match="nonsense"):
        encode_message("Heartbeat", "Response", 3, 1, {"nonsense": 0})


def heartbeat(version: int = 3) -> bytes:
    return encode_message("Heartbeat", "Response", version, 1, {"errorCode": 25})[4:]


def test_leftover_bytes_are_found() -> None:
    decoded = decode_response("Heartbeat", 3, heartbeat() + b"abc")
    assert decoded.body == {"throttleTimeMs": 0, "errorCode": 25}
    assert decoded.leftover == 3
    assert "3 bytes are left over" in decoded.findings[0]


def test_an_unknown_error_code_is_found() -> None:
    body = {"errorCode": 0, "members": [{"memberId": "m", "errorCode": 999}]}
    frame = encode_message("LeaveGroup", "Response", 4, 1, body)[4:]
    (finding,) = decode_response("LeaveGroup", 4, frame).findings
    assert finding.startswith("members[0].errorCode is 999")


def test_an_unknown_tagged_field_is_found() -> None:
    frame = heartbeat(4)
    decoded = decode_response("Heartbeat", 4, frame[:-1] + b"\x01\x05\x02hi")
    assert decoded.body == {"throttleTimeMs": 0, "errorCode": 25}
    assert "tag 5" in decoded.findings[0]


def test_an_unknown_tag_of_the_header_is_found() -> None:
    frame = heartbeat(4)
    decoded = decode_response("Heartbeat", 4, frame[:4] + b"\x01\x00\x01x" + frame[5:])
    assert "header tag 0" in decoded.findings[0]


def test_an_illegal_null_is_found_and_read_as_empty() -> None:
    frame = encode_message("SyncGroup", "Response", 0, 1, {"errorCode": 69})[4:10] + b"\xff" * 4
    decoded = decode_response("SyncGroup", 0, frame)
    assert decoded.body == {"errorCode": 69, "assignment": ""}
    assert "assignment is null" in decoded.findings[0]


def test_a_null_list_is_found_and_read_as_empty() -> None:
    frame = encode_message("LeaveGroup", "Response", 4, 1, {"errorCode": 0})[4:]
    assert frame[-2:] == b"\x01\x00"
    decoded = decode_response("LeaveGroup", 4, frame[:-2] + b"\x00\x00")
    assert decoded.body == {"throttleTimeMs": 0, "errorCode": 0, "members": []}
    assert "members is null" in decoded.findings[0]


@pytest.mark.parametrize(
    "count", [b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xfe", b"\x00\x00\xff\xff"]
)
def test_a_length_that_lies_is_garbage(count: bytes) -> None:
    frame = encode_message("ListGroups", "Response", 0, 1, {"errorCode": 0})[4:10] + count
    decoded = decode_response("ListGroups", 0, frame)
    assert decoded.body is None
    assert "are not ListGroups version 0: groups has " in decoded.findings[0]


def test_a_frame_of_countless_items_is_garbage() -> None:
    count = MAX_ITEMS + 1
    frame = encode_message("ListGroups", "Response", 0, 1, {"errorCode": 0})[4:10]
    decoded = decode_response("ListGroups", 0, frame + count.to_bytes(4) + bytes(4 * count))
    assert decoded.body is None
    assert f"more than {MAX_ITEMS} items" in decoded.findings[0]


def test_a_varint_without_end_is_garbage() -> None:
    assert decode_response("Heartbeat", 4, heartbeat(4)[:-1] + b"\xff" * 9).body is None


def test_text_that_is_not_utf_8_is_garbage() -> None:
    body = {"errorCode": 0, "groups": [{"groupId": "abc", "protocolType": ""}]}
    frame = encode_message("ListGroups", "Response", 0, 1, body)[4:].replace(
        b"abc", b"\xff\xfe\xfd"
    )
    decoded = decode_response("ListGroups", 0, frame)
    assert decoded.body is None
    assert "not UTF-8" in decoded.findings[0]


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_nothing_cut_short_is_taken_for_whole(api: str, version: int) -> None:
    body = sample(APIS[api].response, version)
    frame = encode_message(api, "Response", version, 77, body)[4:]
    for size in range(len(frame)):
        decoded = decode_response(api, version, frame[:size])
        assert decoded.body is None
        assert decoded.findings


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_no_bytes_make_it_raise(api: str, version: int) -> None:
    chance = random.Random(f"{api} {version}")  # repeatable
    frame = encode_message(api, "Response", version, 7, sample(APIS[api].response, version))[4:]
    for _ in range(200):
        changed = bytearray(frame)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF])
        for data in (bytes(changed), chance.randbytes(chance.randrange(60))):
            decoded = decode_response(api, version, data)
            if decoded.body is None:
                assert decoded.findings
            else:
                APIS[api].response.from_body(decoded.body, version)


def test_api_versions_answers_an_unsupported_version_in_the_body_of_version_0() -> None:
    rows = {"errorCode": 35, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 2}]}
    frame = encode_message("ApiVersions", "Response", 0, 1, rows)[4:]
    decoded = decode_message("ApiVersions", 3, frame)
    assert decoded.body == rows
    assert decoded.findings == ()


def test_the_model_knows_each_field_of_each_version() -> None:
    for api, version in VERSIONS:
        for side, cls in (("Request", APIS[api].request), ("Response", APIS[api].response)):
            names = {
                f.name
                for f in schema(f"{api}{side}").fields
                if f.versions and f.versions[0] <= version <= f.versions[1]
            }
            assert names == set(sample(cls, version)), f"{api}{side} {version}"


@pytest.mark.parametrize("frame", [b"", b"\x00\x0b\x00", b"\x7f\xff" + bytes(8), b"\x00\x0c" * 9])
def test_a_request_that_is_none_is_refused(frame: bytes) -> None:
    with pytest.raises(ShapeError):
        decode_request(frame)


ASSIGNED = {
    "errorCode": 0,
    "errorMessage": None,
    "memberId": "m",
    "memberEpoch": 1,
    "heartbeatIntervalMs": 5000,
    "assignment": {"topicPartitions": [{"topicId": NO_UUID, "partitions": [1]}]},
}


def beat_answer(**changed: Any) -> bytes:
    body = {**ASSIGNED, **changed}
    return encode_message("ConsumerGroupHeartbeat", "Response", 1, 7, body)[4:]


def test_a_struct_that_is_neither_there_nor_null_is_garbage() -> None:
    frame = beat_answer(assignment=None)
    assert frame.endswith(b"\xff\0")
    decoded = decode_response("ConsumerGroupHeartbeat", 1, frame[:-2] + b"\x02\0")
    assert decoded.body is None
    assert "assignment begins with 2" in decoded.findings[0]


def test_bytes_and_tags_after_a_message_without_a_schema_of_kafka_python_are_found() -> None:
    whole = beat_answer()
    decoded = decode_response("ConsumerGroupHeartbeat", 1, whole + b"x")
    assert decoded.body == {"throttleTimeMs": 0, **ASSIGNED}
    assert decoded.leftover == 1
    tagged = decode_response("ConsumerGroupHeartbeat", 1, whole[:-1] + b"\x01\x05\x02hi")
    assert "tag 5" in tagged.findings[0]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"memberEpoch": "x"}, "can't be written at version 1"),
        ({"memberEpoch": None}, "memberEpoch: is null"),
        ({"extra": 1}, "extra: is no field of version 1"),
        (
            {"assignment": {"topicPartitions": [{"topicId": "t", "partitions": []}]}},
            r"assignment.topicPartitions\[0\].topicId: 't' is no UUID",
        ),
    ],
)
def test_what_such_a_message_cannot_carry_is_refused(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(ShapeError, match=problem):
        beat_answer(**changed)
    rest = {"errorCode": 0, "errorMessage": None}
    with pytest.raises(ShapeError, match="memberId: is missing"):
        encode_message("ConsumerGroupHeartbeat", "Response", 1, 7, rest)
