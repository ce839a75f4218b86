"""Messages say what their version can carry, and nothing else: held to kafka-python's schemas."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest
from msgspec.structs import replace

from fencepost.model.messages.draft_messages import ALL_APIS, DRAFT_APIS
from fencepost.model.messages.messages import (
    APIS,
    DescribedMember,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    LeftMember,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from fencepost.model.messages.shapes import NO_UUID, ListOf, Message, ShapeError, wire_fields

# Names of types that differ on purpose: an adapter may tell a draft's error by its name.
SAME_TYPE = {"error": "int16"}

EVERY_VERSION = [
    pytest.param(kind, version, id=f"{api.name}-{side}-v{version}")
    for api in ALL_APIS.values()
    for side, kind in (("request", api.request), ("response", api.response))
    for version in range(api.lowest, api.highest + 1)
]
SHIPPED = [
    pytest.param(f"{api.name}{side}", kind, version, id=f"{api.name}-{side}-v{version}")
    for api in APIS.values()
    for side, kind in (("Request", api.request), ("Response", api.response))
    for version in range(api.lowest, api.highest + 1)
]

Shape = dict[str, tuple[str, bool]]
"""Path of each field: its type, and whether it may be null."""


def schema(name: str) -> dict[str, Any]:
    written = (files("kafka.protocol.schemas") / "resources" / f"{name}.json").read_text()
    loaded: dict[str, Any] = json.loads(re.sub(r"^\s*//.*$", "", written, flags=re.MULTILINE))
    return loaded


def within(version: int, versions: str) -> bool:
    low, dash, high = versions.rstrip("+").partition("-")
    if versions == "none":
        return False
    return int(low) <= version <= int(high if dash else version if "+" in versions else low)


def shape_by_schema(fields: list[dict[str, Any]], version: int, path: str = "") -> Shape:
    shape: Shape = {}
    for field in fields:
        if not within(version, field["versions"]):
            continue
        where = path + field["name"][0].lower() + field["name"][1:]
        nested = field.get("fields")
        null = within(version, field.get("nullableVersions", "none"))
        shape[where] = ("rows" if nested else field["type"], null)
        if nested:
            shape |= shape_by_schema(nested, version, f"{where}.")
    return shape


def shape_by_model(kind: type[Message], version: int, path: str = "") -> Shape:
    shape: Shape = {}
    for _, form in wire_fields(kind):
        if not form.carried_by(version):
            continue
        where, null = path + form.name, form.allows_null(version)
        item = form.type.item if isinstance(form.type, ListOf) else form.type
        if isinstance(item, type):
            shape[where] = ("rows", null)
            shape |= shape_by_model(item, version, f"{where}.")
            continue
        name = SAME_TYPE.get(item.name, item.name)
        shape[where] = (f"[]{name}" if isinstance(form.type, ListOf) else name, null)
    return shape


def body_of(kind: type[Message], version: int, *, null: bool = False) -> dict[str, Any]:
    """A body with a telling value in every field; `null`: null wherever that is allowed."""
    body: dict[str, Any] = {}
    for number, (_, form) in enumerate(wire_fields(kind), start=1):
        if not form.carried_by(version):
            continue
        if null and form.allows_null(version):
            if not form.optional:
                body[form.name] = None
        elif isinstance(form.type, ListOf):
            item = form.type.item
            one = body_of(item, version, null=null) if isinstance(item, type) else scalar(item.name)
            body[form.name] = [one, one]
        elif isinstance(form.type, type):
            body[form.name] = body_of(form.type, version, null=null)
        else:
            body[form.name] = scalar(form.type.name, number)
    return body


def scalar(name: str, number: int = 1) -> object:
    values = {"string": f"text-{number}", "bytes": "AAEC/w==", "bool": True, "uuid": NO_UUID}
    return values.get(name, number)


@pytest.mark.parametrize(("name", "kind", "version"), SHIPPED)
def test_fields_types_and_nulls_are_those_of_the_published_schema(
    name: str, kind: type[Message], version: int
) -> None:
    assert shape_by_model(kind, version) == shape_by_schema(schema(name)["fields"], version)


@pytest.mark.parametrize("name", APIS)
def test_key_flexible_version_and_range_are_those_of_the_published_schema(name: str) -> None:
    api, published = APIS[name], schema(f"{name}Request")
    assert published["apiKey"] == api.key
    flexible = f"{api.flexible}+" if api.flexible <= api.highest else "none"
    assert published["flexibleVersions"] == flexible
    assert within(api.highest, published["validVersions"])


@pytest.mark.parametrize("null", [False, True], ids=["filled", "null"])
@pytest.mark.parametrize(("kind", "version"), EVERY_VERSION)
def test_a_body_becomes_a_message_and_the_same_body_again(
    kind: type[Message], version: int, null: bool
) -> None:
    body = body_of(kind, version, null=null)
    message = kind.from_body(body, version)
    assert message.to_body(version) == body
    assert kind.from_body(json.loads(json.dumps(body)), version) == message


@pytest.mark.parametrize(("kind", "version"), EVERY_VERSION)
def test_every_field_is_missed_by_its_path_unless_it_may_be_left_out(
    kind: type[Message], version: int
) -> None:
    body = body_of(kind, version)
    optional = {form.name for _, form in wire_fields(kind) if form.optional}
    for name in body:
        rest = {key: value for key, value in body.items() if key != name}
        if name in optional:
            assert kind.from_body(rest, version).to_body(version) == rest
            continue
        with pytest.raises(ShapeError, match="is missing") as caught:
            kind.from_body(rest, version)
        assert caught.value.path == name


@pytest.mark.parametrize(("kind", "version"), EVERY_VERSION)
def test_null_is_refused_where_the_version_has_none(kind: type[Message], version: int) -> None:
    body = body_of(kind, version)
    for _, form in wire_fields(kind):
        if form.carried_by(version) and not form.allows_null(version):
            with pytest.raises(ShapeError, match="is null") as caught:
                kind.from_body({**body, form.name: None}, version)
            assert caught.value.path == form.name


@pytest.mark.parametrize(("kind", "version"), EVERY_VERSION)
def test_a_field_of_no_version_is_refused(kind: type[Message], version: int) -> None:
    with pytest.raises(ShapeError, match="doesn't have") as caught:
        kind.from_body({**body_of(kind, version), "groupInstanceID": "a"}, version)
    assert caught.value.path == "groupInstanceID"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"memberId": 7}, "memberId"),
        ({"sessionTimeoutMs": "10"}, "sessionTimeoutMs"),
        ({"sessionTimeoutMs": True}, "sessionTimeoutMs"),
        ({"sessionTimeoutMs": 2**31}, "sessionTimeoutMs"),
        ({"protocols": {}}, "protocols"),
        ({"protocols": ["range"]}, "protocols[0]"),
        ({"protocols": [{"name": "range"}]}, "protocols[0].metadata"),
        ({"protocols": [{"name": "range", "metadata": "?"}]}, "protocols[0].metadata"),
        ({"protocols": [{"name": "range", "metadata": 1}]}, "protocols[0].metadata"),
    ],
)
def test_an_ill_typed_field_is_named_by_its_path(body: dict[str, Any], path: str) -> None:
    good = body_of(JoinGroupRequest, 9)
    with pytest.raises(ShapeError) as caught:
        JoinGroupRequest.from_body({**good, **body}, 9)
    assert caught.value.path == path


def test_a_body_that_is_no_object_is_refused() -> None:
    with pytest.raises(ShapeError, match="is list, not an object"):
        HeartbeatRequest.from_body([], 4)


JOIN = JoinGroupRequest(
    group_id="g",
    session_timeout_ms=10_000,
    member_id="",
    protocol_type="consumer",
    protocols=(JoinProtocol(name="range", metadata=b""),),
)
SYNC = SyncGroupRequest(group_id="g", generation_id=1, member_id="m")
BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
ROW = LeavingMember(member_id="m")


@pytest.mark.parametrize(
    ("message", "carries", "path"),
    [
        (replace(JOIN, group_instance_id="a"), 5, "groupInstanceId"),
        (replace(JOIN, group_instance_id=""), 5, "groupInstanceId"),
        (replace(JOIN, rebalance_timeout_ms=60_000), 1, "rebalanceTimeoutMs"),
        (replace(JOIN, reason="because"), 8, "reason"),
        (replace(SYNC, group_instance_id="a"), 3, "groupInstanceId"),
        (replace(SYNC, protocol_type="consumer"), 5, "protocolType"),
        (replace(BEAT, group_instance_id="a"), 3, "groupInstanceId"),
        (LeaveGroupRequest(group_id="g", members=(ROW,)), 3, "members"),
        (
            LeaveGroupRequest(group_id="g", members=(replace(ROW, reason="because"),)),
            5,
            "members[0].reason",
        ),
        (JoinGroupResponse(error_code=0, skip_assignment=True), 9, "skipAssignment"),
        (
            LeaveGroupResponse(error_code=0, members=(LeftMember(member_id="m", error_code=25),)),
            3,
            "members",
        ),
        (OffsetFetchRequest(group_id="g", topics=None), 2, "topics"),
        (OffsetFetchRequest(group_id="g", require_stable=True), 7, "requireStable"),
    ],
)
def test_what_a_version_cant_carry_is_refused_and_never_dropped(
    message: Message, carries: int, path: str
) -> None:
    message.to_body(carries)
    with pytest.raises(ShapeError) as caught:
        message.to_body(carries - 1)
    assert caught.value.path == path


def test_a_leave_by_member_id_alone_can_not_be_said_as_a_batch() -> None:
    with pytest.raises(ShapeError, match="version 3 can't carry 'm'"):
        LeaveGroupRequest(group_id="g", member_id="m").to_body(3)


def test_answers_leave_out_what_older_clients_never_saw() -> None:
    row = JoinMember(member_id="m", group_instance_id="a", metadata=b"")
    assert row.to_body(4) == {"memberId": "m", "metadata": ""}
    described = DescribedMember(member_id="m", group_instance_id="a")
    assert "groupInstanceId" not in described.to_body(3)
    assert described.to_body(4)["groupInstanceId"] == "a"


def test_no_protocol_is_null_since_version_7_and_empty_before() -> None:
    refused = JoinGroupResponse(error_code=25)
    assert refused.to_body(7)["protocolName"] is None
    assert refused.to_body(6)["protocolName"] == ""
    for version in (6, 7):
        assert JoinGroupResponse.from_body(refused.to_body(version), version) == refused


def test_up_to_version_2_a_leave_is_one_row_without_an_instance() -> None:
    leave = LeaveGroupRequest(group_id="g", member_id="m")
    assert leave.rows(2) == (LeavingMember(member_id="m"),)
    batch = LeaveGroupRequest(group_id="g", members=(ROW, ROW))
    assert batch.rows(3) == (ROW, ROW)


def test_a_drafts_error_travels_by_name() -> None:
    answer = {"errorCode": "MEMBER_ID_MISMATCH"}
    message = DRAFT_APIS["LeaveGroup/two-list"].response.from_body(answer, 3)
    assert message.to_body(3) == answer
