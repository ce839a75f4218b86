"""The schema of client driver protocol 1 is the types', and takes and refuses what they do."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from fencepost.conformance.cli.schema import schemas
from fencepost.model.plans.steps import (
    Close,
    Commit,
    ResumePolling,
    StopPolling,
    Subscribe,
    Unsubscribe,
)
from fencepost.properties.requirements.driver_messages import (
    AnyCommand,
    Bye,
    ConsumerSettings,
    Hello,
    Start,
    UserCommand,
    command_line,
    command_name,
    command_of,
    event_of,
    protocol_schema,
    reply_of,
)

SCHEMA = protocol_schema()
ERROR = {"code": "FENCED_INSTANCE_ID", "fatal": True, "message": "m"}


def check(kind: str, line: dict[str, Any]) -> None:
    """Raises ValidationError."""
    Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}).validate(line)


def test_the_published_schema_is_that_of_the_types() -> None:
    assert schemas()["client-driver-1"]() == json.dumps(SCHEMA, indent=2) + "\n"


EVENTS: list[dict[str, Any]] = [
    {"event": "assigned", "consumer": "a", "at_ms": 1234, "partitions": [["t", 0], ["t", 3]]},
    {"event": "revoked", "consumer": "a", "at_ms": 1234.5, "partitions": []},
    {"event": "lost", "consumer": "a", "at_ms": 0, "partitions": [["t", 1]]},
    {
        "event": "records",
        "consumer": "a",
        "at_ms": 1,
        "partition": ["t", 0],
        "first": 17,
        "count": 2,
    },
    {"event": "error", "consumer": "a", "at_ms": 1400, "where": "poll", **ERROR},
    {"event": "ended", "consumer": "a"},
    {"event": "log", "level": "warn", "message": "m"},
]
WRONG_EVENTS: list[dict[str, Any]] = [
    {},
    {"event": "nonesuch"},
    {"event": "assigned", "consumer": "a", "at_ms": 1, "partitions": [["t"]]},
    {"event": "assigned", "consumer": "a", "at_ms": 1, "partitions": [["t", -1]]},
    {
        "event": "records",
        "consumer": "a",
        "at_ms": 1,
        "partition": ["t", 0],
        "first": 1,
        "count": 0,
    },
    {"event": "ended", "consumer": "a", "at_ms": "now"},
    {"event": "ended", "consumer": "a", "at_ms": 1, "why": "tired"},
]


@pytest.mark.parametrize("line", EVENTS, ids=lambda line: line["event"])
def test_an_event_is_read(line: dict[str, Any]) -> None:
    check("event", line)
    said = json.loads(msgspec.json.encode(event_of(line)))
    assert {key: said[key] for key in line} == line


@pytest.mark.parametrize("line", WRONG_EVENTS)
def test_a_wrong_event_is_refused(line: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        check("event", line)
    with pytest.raises(msgspec.ValidationError):
        event_of(line)


REPLIES: list[tuple[type[Any], dict[str, Any]]] = [
    (Start, {"id": 2, "ok": True}),
    (Close, {"id": 2, "ok": True, "took_ms": 12.5}),
    (Start, {"id": 2, "unsupported": "why"}),
    (Hello, {"id": 2, "unsupported": "why"}),
    (Start, {"id": 2, "error": ERROR}),
    (
        Hello,
        {
            "id": 1,
            "protocol": 1,
            "client": "c",
            "version": "1",
            "language": "go",
            "features": ["static"],
            "assignors": ["range"],
        },
    ),
]


@pytest.mark.parametrize(("asked", "line"), REPLIES)
def test_a_reply_is_read(asked: type[AnyCommand], line: dict[str, Any]) -> None:
    check("reply", line)
    said = json.loads(msgspec.json.encode(reply_of(line, asked)))
    assert {key: said[key] for key in line} == line


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (Start, {"id": 2}),
        (Start, {"id": 2, "ok": False}),
        (Start, {"id": "2", "ok": True}),
        (Start, {"id": 2, "error": {}}),
        (Start, {"id": 2, "unsupported": None}),
        (Hello, {"id": 2, "protocol": 2}),
    ],
)
def test_a_wrong_reply_is_refused(asked: type[AnyCommand], line: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        check("reply", line)
    with pytest.raises(msgspec.ValidationError):
        reply_of(line, asked)


def test_a_command_carries_all_settings() -> None:
    settings = ConsumerSettings(bootstrap="127.0.0.1:4711", group="g", topics=("t",), instance="i")
    start = Start(id=2, consumer="a", **msgspec.structs.asdict(settings))
    line = json.loads(msgspec.json.encode(start))
    check("command", line)
    assert line == {
        "id": 2,
        "cmd": "start",
        "consumer": "a",
        "bootstrap": "127.0.0.1:4711",
        "group": "g",
        "topics": ["t"],
        "instance": "i",
        "session_timeout_ms": 6000,
        "heartbeat_interval_ms": 500,
        "max_poll_interval_ms": 8000,
        "assignor": "range",
        "auto_offset_reset": "earliest",
        "client_id": "fencepost",
        "rack": None,
        "auto_commit_ms": None,
        "settings": {},
    }


LINES: list[tuple[AnyCommand, str]] = [
    (Hello(1), '{"cmd":"hello","id":1,"protocol":1}'),
    (
        Start(id=2, consumer="a", bootstrap="h:1", group="g", topics=("t",), instance="i"),
        (
            '{"cmd":"start","bootstrap":"h:1","group":"g","topics":["t"],"instance":"i",'
            '"session_timeout_ms":6000,"heartbeat_interval_ms":500,"max_poll_interval_ms":8000,'
            '"assignor":"range","auto_offset_reset":"earliest","client_id":"fencepost","rack":null,'
            '"auto_commit_ms":null,"settings":{},"id":2,"consumer":"a"}'
        ),
    ),
    (UserCommand(3, StopPolling("a")), '{"cmd":"stop-polling","id":3,"consumer":"a"}'),
    (UserCommand(4, ResumePolling("a")), '{"cmd":"poll-on","id":4,"consumer":"a"}'),
    (UserCommand(5, Commit("a")), '{"cmd":"commit","id":5,"consumer":"a"}'),
    (UserCommand(6, Unsubscribe("a")), '{"cmd":"unsubscribe","id":6,"consumer":"a"}'),
    (
        UserCommand(7, Subscribe("a", ("t", "u"))),
        '{"cmd":"subscribe","id":7,"consumer":"a","topics":["t","u"]}',
    ),
    (
        UserCommand(8, Close("a", 10_000)),
        '{"cmd":"close","id":8,"consumer":"a","timeout_ms":10000}',
    ),
    (Bye(9), '{"cmd":"bye","id":9}'),
]


@pytest.mark.parametrize(("command", "line"), LINES, ids=lambda one: type(one).__name__)
def test_a_command_is_written_as_before(command: AnyCommand, line: str) -> None:
    assert command_line(command).decode() == line
    assert command_of(json.loads(line)) == command
    assert command_name(command) == json.loads(line)["cmd"]
