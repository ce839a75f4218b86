"""The messages of the consumer protocol: held to kio's schemas, and read and written again."""

from __future__ import annotations

import dataclasses
import typing
from importlib import import_module
from typing import Any

import pytest
from support.message_samples import sample

from fencepost.model.messages.consumer_messages import (
    CONSUMER_APIS,
    ConsumerAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from fencepost.model.messages.shapes import ListOf, Message, ShapeError, wire_fields
from fencepost.model.messages.streams_messages import STREAMS_APIS

ID = "ASNFZ4mrze8BI0VniavN7w"
TYPES = {"timedelta_i32": "int32", "error_code": "error"}
APIS = {**CONSUMER_APIS, **STREAMS_APIS}
EVERY = [
    pytest.param(name, side, version, id=f"{name}-{side}-v{version}")
    for name, api in APIS.items()
    for side in ("request", "response")
    for version in range(api.lowest, api.highest + 1)
]

Shape = dict[str, str]


def kind_of(name: str, side: str) -> type[Message]:
    api = APIS[name]
    return api.request if side == "request" else api.response


def shape_by_model(kind: type[Message], version: int, path: str = "") -> Shape:
    shape: Shape = {}
    for _, form in wire_fields(kind):
        if not form.carried_by(version):
            continue
        where = path + form.name
        many = isinstance(form.type, ListOf)
        item = form.type.item if isinstance(form.type, ListOf) else form.type
        null = "?" if form.allows_null(version) else ""
        named = "struct" if isinstance(item, type) else item.name
        shape[where.lower()] = f"{'[]' * many}{named}{null}"
        if isinstance(item, type):
            shape |= shape_by_model(item, version, f"{where}.")
    return shape


def shape_by_kio(kind: Any, path: str = "") -> Shape:
    shape: Shape = {}
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        parts = typing.get_args(hint)
        null = type(None) in parts
        inner = next((p for p in parts if p is not type(None)), hint) if null else hint
        many = typing.get_origin(inner) is tuple
        item = typing.get_args(inner)[0] if many else inner
        name = field.name.replace("_", "").removesuffix("time") + "time" * field.name.endswith(
            "time"
        )
        wire_type = field.metadata.get("kafka_type")
        if wire_type == "timedelta_i32":
            name += "ms"
        where = f"{path}{name}"
        nested = dataclasses.is_dataclass(item)
        named = "struct" if nested else TYPES.get(str(wire_type), str(wire_type))
        if named == "uuid":
            null = False  # kio reads a UUID of zeros as None
        shape[where] = f"{'[]' * many}{named}{'?' * null}"
        if nested:
            shape |= shape_by_kio(item, f"{where}.")
    return shape


@pytest.mark.parametrize(("name", "side", "version"), EVERY)
def test_fields_types_and_nulls_are_those_of_kio(name: str, side: str, version: int) -> None:
    kio = pytest.importorskip("kio")
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
    module = import_module(f"{kio.__name__}.schema.{snake}.v{version}.{side}")
    schema = getattr(module, f"{name}{side.capitalize()}")
    assert schema.__api_key__ == APIS[name].key
    assert schema.__flexible__
    assert shape_by_model(kind_of(name, side), version) == shape_by_kio(schema)


@pytest.mark.parametrize(
    "bad",
    ["", "t", 7, None, f"{ID}==", ID[:-1], f"{ID[:-1]}x", "01234567-89ab-cdef-0123-456789abcdef"],
)
def test_a_topic_id_is_a_uuid(bad: Any) -> None:
    with pytest.raises(ShapeError, match=r"^topicId: "):
        TopicPartitions.from_body({"topicId": bad, "partitions": []}, 0)


def test_a_field_of_a_struct_has_its_path() -> None:
    body = sample(ConsumerGroupHeartbeatResponse, 1)
    body["assignment"]["topicPartitions"][1]["partitions"] = ["x"]
    with pytest.raises(ShapeError, match=r"^assignment\.topicPartitions\[0\]\.partitions\[0\]: "):
        ConsumerGroupHeartbeatResponse.from_body(body, 1)
    body["assignment"] = []
    with pytest.raises(ShapeError, match=r"^assignment: is list"):
        ConsumerGroupHeartbeatResponse.from_body(body, 1)
    assert "assignment" in ConsumerGroupHeartbeatResponse.readable_part({"assignment": None})


def test_what_version_0_cannot_carry_is_refused() -> None:
    join = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, subscribed_topic_regex="t.*"
    )
    with pytest.raises(ShapeError, match=r"subscribedTopicRegex: version 0 can't carry"):
        join.to_body(0)
    assert join.to_body(1)["subscribedTopicRegex"] == "t.*"
    assert ConsumerAssignment().to_body(1) == {"topicPartitions": []}
