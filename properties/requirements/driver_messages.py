"""The messages of client driver protocol 1, as types: commands, replies, events.

A driver is a program around one client library.  It reads commands as JSON lines and writes one
reply to each, with its `id`, in any order; events come at any time.  The schema of all this,
`client-driver-1.schema.json`, is derived from the types below, so nothing is written twice.

`python -m fencepost.properties.requirements.driver_messages` writes the derived file anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

PROTOCOL = 1
FEATURES = (
    "static",
    "cooperative",
    "auto-commit",
    "manual-commit",
    "pause",
    "seek",
    "next-generation",
)
SCHEMA_FILE = Path(__file__).with_name("client-driver-1.schema.json")

_Count = Annotated[int, Meta(ge=0)]
Partition = tuple[str, _Count]
"""A topic and the number of a partition."""


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object on a line; a field that no type names is an error."""


class Command(Message, tag_field="cmd", frozen=True):
    """What a driver is told; `id` is unique in its process."""

    id: int


class Hello(Command, tag="hello", frozen=True):
    """Say what you are; also the question whether a driver is still there."""

    protocol: Literal[1] = 1


class ConsumerSettings(Message, kw_only=True, frozen=True):
    """How a consumer is made, subscribed and polled.  Times in ms.

    `instance`: the group instance id; None: a dynamic member.  `auto_commit_ms`: None: no automatic
    commits.  `settings`: the library's own names, for what stands nowhere else.
    """

    bootstrap: str
    group: str
    topics: tuple[str, ...]
    instance: str | None = None
    session_timeout_ms: int = 6000
    heartbeat_interval_ms: int = 500
    max_poll_interval_ms: int = 8000
    assignor: str = "range"
    auto_offset_reset: str = "earliest"
    client_id: str = "fencepost"
    rack: str | None = None
    auto_commit_ms: int | None = None
    settings: dict[str, str | int | float | bool] = {}


class ConsumerCommand(Command, frozen=True):
    """What one consumer is told."""

    consumer: str


class Start(ConsumerSettings, tag_field="cmd", tag="start", kw_only=True, frozen=True):
    """Make a consumer, subscribe it, and poll without end, as the documentation shows it."""

    id: int
    consumer: str


class StopPolling(ConsumerCommand, tag="stop-polling", frozen=True):
    """The user stops polling."""


class PollOn(ConsumerCommand, tag="poll-on", frozen=True):
    """The user polls on, also after an error that the library calls fatal."""


class Commit(ConsumerCommand, tag="commit", frozen=True):
    """Commit what was read, and wait for the answer."""


class Unsubscribe(ConsumerCommand, tag="unsubscribe", frozen=True):
    """Give up all topics."""


class Subscribe(ConsumerCommand, tag="subscribe", frozen=True):
    """Ask for other topics."""

    topics: tuple[str, ...]


class Close(ConsumerCommand, tag="close", frozen=True):
    """Close the consumer cleanly."""

    timeout_ms: int = 10_000


class Bye(Command, tag="bye", frozen=True):
    """Answer, and exit with 0."""


AnyCommand = Hello | Start | StopPolling | PollOn | Commit | Unsubscribe | Subscribe | Close | Bye


class ClientError(Message, frozen=True):
    """An error as the library tells its user.

    `code`: Kafka's name of the error where the library has one, else the library's own.  `fatal`:
    the library calls it fatal, or the user's loop can't go on after it.
    """

    code: str
    fatal: bool
    message: str


class Introduction(Message, frozen=True):
    """The reply to `hello`.  `features`: some of FEATURES; `assignors`: names for `start`."""

    id: int
    protocol: Literal[1]
    client: str
    version: str
    language: str
    features: tuple[str, ...]
    assignors: tuple[str, ...]


class Done(Message, frozen=True):
    """It is done; `took_ms`: of a close."""

    id: int
    ok: Literal[True]
    took_ms: float | None = None


class Refused(Message, frozen=True):
    """The library answered with an error."""

    id: int
    error: ClientError


class Unsupported(Message, frozen=True):
    """The library has no such thing; the sentence says why."""

    id: int
    unsupported: str


AnyReply = Introduction | Done | Refused | Unsupported


class Event(Message, tag_field="event", frozen=True):
    """What a user saw.  `at_ms` is the driver's monotonic clock."""


class ConsumerEvent(Event, frozen=True):
    """What the user of one consumer saw."""

    consumer: str
    at_ms: float


class Assigned(ConsumerEvent, tag="assigned", frozen=True):
    """The listener was told of these partitions: with an eager assignor all, else the new ones."""

    partitions: tuple[Partition, ...]


class Revoked(ConsumerEvent, tag="revoked", frozen=True):
    """The listener is to give up these partitions."""

    partitions: tuple[Partition, ...]


class Lost(ConsumerEvent, tag="lost", frozen=True):
    """The listener was told that these partitions are gone."""

    partitions: tuple[Partition, ...]


class Records(ConsumerEvent, tag="records", frozen=True):
    """Records of one partition were delivered: `count` of them, the first at offset `first`."""

    partition: Partition
    first: _Count
    count: Annotated[int, Meta(ge=1)]


class Error(ConsumerEvent, tag="error", frozen=True):
    """A ClientError that the user was told of; `where`: the call or callback that told it."""

    where: str
    code: str
    fatal: bool
    message: str


class Ended(Event, tag="ended", frozen=True):
    """The library gave up by itself."""

    consumer: str
    at_ms: float | None = None


class Log(Event, tag="log", frozen=True):
    """What is told nowhere but in the library's log."""

    level: str
    message: str
    consumer: str | None = None
    at_ms: float | None = None


AnyEvent = Assigned | Revoked | Lost | Records | Error | Ended | Log


def event_of(line: dict[str, Any]) -> AnyEvent:
    """The event that an object says.  Raises msgspec.ValidationError."""
    event: AnyEvent = msgspec.convert(line, AnyEvent)
    return event


def reply_of(line: dict[str, Any], asked: type[AnyCommand]) -> AnyReply:
    """The reply that an object says to a command of this type.  Raises msgspec.ValidationError."""
    kind: type[Introduction | Done | Refused | Unsupported]
    if "unsupported" in line:
        kind = Unsupported
    elif "error" in line:
        kind = Refused
    else:
        kind = Introduction if asked is Hello else Done
    return msgspec.convert(line, kind)


def protocol_schema() -> dict[str, Any]:
    """The JSON Schema of all lines; `$defs` has each type of above by its name."""
    replies = get_args(AnyReply)  # they have no tag: which one it is depends on the command
    (command, event, *reply), definitions = msgspec.json.schema_components(
        (AnyCommand, AnyEvent, *replies), ref_template="#/$defs/{name}"
    )
    kinds = {"command": command, "reply": {"anyOf": reply}, "event": event}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:fencepost:client-driver-1",
        "title": "The lines of client driver protocol 1: commands, replies, events",
        "anyOf": [{"$ref": f"#/$defs/{kind}"} for kind in kinds],
        "$defs": {**kinds, **definitions},
    }


def main() -> int:
    """Write the derived file anew."""
    SCHEMA_FILE.write_text(json.dumps(protocol_schema(), indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(f"{SCHEMA_FILE}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
