"""The schemas of adapter protocol 1: complete, derived, and saying what the model says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fencepost.conformance.targets.stdio.protocol_schemas import (
    BODIES_FILE,
    COMMANDS,
    SchemaError,
    body_schema,
    body_schemas,
    body_schemas_text,
    check_reply,
    envelope_schema,
)
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import JoinGroupRequest
from fencepost.model.messages.shapes import ShapeError

JOIN = {
    "groupId": "g",
    "sessionTimeoutMs": 6000,
    "rebalanceTimeoutMs": 6000,
    "memberId": "",
    "groupInstanceId": None,
    "protocolType": "consumer",
    "protocols": [{"name": "range", "metadata": "AAE="}],
}


def test_the_committed_file_is_the_derived_one() -> None:
    remedy = "run python -m fencepost.conformance.targets.stdio.protocol_schemas"

    assert BODIES_FILE.read_text(encoding="utf-8") == body_schemas_text(), remedy
    assert json.loads(body_schemas_text()) == body_schemas()


def test_every_command_and_reply_has_a_definition() -> None:
    definitions = envelope_schema()["$defs"]

    assert {f"{c}.{what}" for c in COMMANDS for what in ("command", "reply", "done")} <= set(
        definitions
    )


def test_every_message_has_a_definition() -> None:
    expected = {
        f"{api.name}.v{version}.{direction}"
        for api in ALL_APIS.values()
        for version in range(api.lowest, api.highest + 1)
        for direction in ("request", "response")
    }

    assert set(body_schemas()["$defs"]) == expected


@pytest.mark.parametrize(
    "document", [envelope_schema(), body_schemas()], ids=["envelope", "bodies"]
)
def test_the_documents_are_schemas(document: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(document)
    for definition in document["$defs"].values():
        Draft202012Validator.check_schema(definition)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"groupInstanceId": "A"},
        {"groupId": None},
        {"groupId": 1},
        {"reason": None},
        {"sessionTimeoutMs": 2**31},
        {"sessionTimeoutMs": True},
        {"protocols": None},
        {"protocols": [{"name": "range"}]},
        {"protocols": [{"name": "range", "metadata": "AAE"}]},
        {"protocols": [{"name": "range", "metadata": "?"}]},
    ],
    ids=str,
)
def test_the_schema_and_the_model_agree(change: dict[str, Any]) -> None:
    body = {**JOIN, **change}
    validator = Draft202012Validator(body_schema("JoinGroup", 5, "request"))

    try:
        JoinGroupRequest.from_body(body, 5)
    except ShapeError:
        assert not validator.is_valid(body)
    else:
        assert validator.is_valid(body)


def test_what_does_not_exist_has_no_schema() -> None:
    with pytest.raises(KeyError):
        body_schema("ElectLeaders", 0, "request")
    with pytest.raises(ValueError, match="versions 0 to 9"):
        body_schema("JoinGroup", 10, "request")


@pytest.mark.parametrize(
    "reply",
    [
        {"ok": True},
        {"answers": {}},
        {"answers": [], "unsupported": "x"},
        {"answers": [{"id": "r1", "at_ms": 0}]},
        {"answers": [{"id": "r1", "at_ms": 0, "body": {}, "closed": True}]},
        {"answers": [{"id": "r1", "at_ms": 0, "closed": False}]},
        {"answers": [{"id": "r1", "at_ms": 0.5, "body": {}}]},
    ],
    ids=str,
)
def test_a_reply_of_another_shape_is_refused(reply: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        check_reply("send", reply)
