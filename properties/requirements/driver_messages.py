"""The messages of client driver protocol 1, as types: commands, replies, events.

A driver is a program around one client library.  It reads commands as JSON lines and writes one
reply to each, with its `id`, in any order; events come at any time.  The schema of all this,
`client-driver-1`, is derived from the types below, so nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args

import msgspec
from msgspec import Meta

from fencepost.model.plans.steps import (
    Close,
    Commit,
    CommitInTransaction,
    PausePartitions,
    ResumePartitions,
    ResumePolling,
    StopPolling,
    Subscribe,
    Unsubscribe,
    UserStep,
    dashed,
)

PROTOCOL = 1
FEATURES = (
    "static",
    "cooperative",
    "auto-commit",
    "manual-commit",
    "pause",
    "seek",
    "next-generation",
    "commit-on-revoke",
    "metadata-age",
    "transactions",
    "pattern",
    "close-twice",
    "no-poll-interval",
)

_Count = Annotated[int, Meta(ge=0)]
Partition = tuple[str, _Count]
"""A topic and the number of a partition."""


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object on a line; a field that no type names is an error."""


class Command(Message, tag_field="cmd", frozen=True):
    """A command to a driver; `id` is unique in its process."""

    id: int


class Hello(Command, tag="hello", frozen=True):
    """Name the library and its features.  fencepost also sends it to a driver that seems stuck."""

    protocol: Literal[1] = 1


class ConsumerSettings(Message, kw_only=True, frozen=True):
    """Settings of a consumer, times in ms.

    Fields that may be unset are sent only to drivers that have the feature.
    """

    bootstrap: Annotated[str, Meta(description="HOST:PORT of the broker.")]
    group: str
    topics: Annotated[tuple[str, ...], Meta(description="The topics to subscribe to.")]
    instance: Annotated[
        str | None, Meta(description="The group instance id; null: a dynamic member.")
    ] = None
    session_timeout_ms: int = 6000
    heartbeat_interval_ms: int = 500
    max_poll_interval_ms: Annotated[
        int, Meta(description="Also the rebalance timeout, if the library has one of its own.")
    ] = 8000
    assignor: Annotated[
        str, Meta(description="Kafka's name of an assignor; one of those in the reply to `hello`.")
    ] = "range"
    auto_offset_reset: str = "earliest"
    client_id: Annotated[
        str, Meta(description="The client id, unchanged; the library may append to it.")
    ] = "fencepost"
    rack: Annotated[str | None, Meta(description="Null: the library's default.")] = None
    auto_commit_ms: Annotated[
        int | None, Meta(description="Commit in the background this often; null: never.")
    ] = None
    settings: Annotated[
        dict[str, str | int | float | bool],
        Meta(
            description="Further settings, by the library's own names; fencepost's scenarios send "
            "none."
        ),
    ] = {}
    commit_on_revoke: Annotated[
        bool | msgspec.UnsetType,
        Meta(
            description="Feature `commit-on-revoke`: commit in the callback that revokes "
            "partitions, and wait before it returns.  An error is an event with `where` `commit`."
        ),
    ] = msgspec.UNSET
    metadata_max_age_ms: Annotated[
        int | msgspec.UnsetType,
        Meta(description="Feature `metadata-age`: refresh the metadata of topics this often."),
    ] = msgspec.UNSET
    transactions: Annotated[
        bool | msgspec.UnsetType,
        Meta(description="Feature `transactions`: the user will commit in transactions."),
    ] = msgspec.UNSET
    pattern: Annotated[
        str | msgspec.UnsetType,
        Meta(
            description="Feature `pattern`: subscribe to the topics, now and later, whose whole "
            "name matches this regular expression; `topics` are those that exist."
        ),
    ] = msgspec.UNSET


class Start(ConsumerSettings, tag_field="cmd", tag="start", kw_only=True, frozen=True):
    """Make a consumer, subscribe it, and poll in a loop, as the library's documentation shows."""

    id: int
    consumer: str


class Bye(Command, tag="bye", frozen=True):
    """Reply, and exit with code 0."""


def _command(name: str, step: type[UserStep], **defaults: Any) -> type[Any]:
    """Make the command of a user's step: its fields, after an `id`.

    `defaults`: those of the protocol, where they are not the step's.
    """
    fields: list[Any] = [("id", int)]
    for field in msgspec.structs.fields(step):
        default = defaults.get(field.name, field.default)
        optional = () if default is msgspec.NODEFAULT else (default,)
        fields.append((field.name, field.type, *optional))
    return msgspec.defstruct(
        name,
        fields,
        bases=(Message,),
        namespace={"__doc__": step.__doc__},
        tag_field="cmd",
        tag=dashed(name),
        frozen=True,
    )


_USER_COMMANDS: Mapping[type[UserStep], type[Any]] = {
    StopPolling: _command("StopPolling", StopPolling),
    ResumePolling: _command("PollOn", ResumePolling),
    PausePartitions: _command("Pause", PausePartitions),
    ResumePartitions: _command("Resume", ResumePartitions),
    Commit: _command("Commit", Commit),
    CommitInTransaction: _command("CommitInTransaction", CommitInTransaction),
    Unsubscribe: _command("Unsubscribe", Unsubscribe),
    Subscribe: _command("Subscribe", Subscribe, topics=msgspec.NODEFAULT),
    Close: _command("Close", Close, timeout_ms=10_000),
}
_USER_STEPS = {command: step for step, command in _USER_COMMANDS.items()}
_COMMANDS: Any = Union[(Hello, Start, *_USER_STEPS, Bye)]
COMMAND_NAMES = tuple(str(kind.__struct_config__.tag) for kind in get_args(_COMMANDS))


class UserCommand(NamedTuple):
    """A step of a consumer's user, as a command."""

    id: int
    step: UserStep


AnyCommand = Hello | Start | UserCommand | Bye


def command_name(command: AnyCommand) -> str:
    """Return the name of a command, as its line has it."""
    kind = _USER_COMMANDS[type(command.step)] if isinstance(command, UserCommand) else type(command)
    return str(kind.__struct_config__.tag)


def command_line(command: AnyCommand) -> bytes:
    """Return the line of a command."""
    if isinstance(command, UserCommand):
        kind = _USER_COMMANDS[type(command.step)]
        return msgspec.json.encode(kind(command.id, *msgspec.structs.astuple(command.step)))
    return msgspec.json.encode(command)


def command_of(line: Any) -> AnyCommand:
    """Read a command from its object.  Raises msgspec.ValidationError."""
    command = msgspec.convert(line, _COMMANDS)
    if (step := _USER_STEPS.get(type(command))) is None:
        return command  # type: ignore[no-any-return]
    number, *fields = msgspec.structs.astuple(command)
    return UserCommand(number, step(*fields))


class ClientError(Message, frozen=True):
    """An error that the library reports to its user.

    `code`: Kafka's name of the error if the library knows it, else the library's own name.
    `fatal`: the library calls it fatal, or it ends the loop in the library's documentation.
    """

    code: str
    fatal: bool
    message: str


class Introduction(Message, frozen=True):
    """The reply to `hello`.  `assignors`: the names that `start` may get."""

    id: int
    protocol: Literal[1]
    client: str
    version: str
    language: str
    features: tuple[str, ...]
    assignors: tuple[str, ...]


class Done(Message, frozen=True):
    """The command was successful.  `took_ms`: the duration of a close."""

    id: int
    ok: Annotated[bool, Meta(extra_json_schema={"enum": [True]})]  # older msgspec: no Literal[True]
    took_ms: float | None = None

    def __post_init__(self) -> None:
        """Refuse a reply that isn't ok: that has an error instead."""
        if not self.ok:
            raise ValueError("`ok` must be true")


class Refused(Message, frozen=True):
    """The command ended with an error of the library."""

    id: int
    error: ClientError


class Unsupported(Message, frozen=True):
    """The library or the driver can't do this; the text gives the reason."""

    id: int
    unsupported: str


AnyReply = Introduction | Done | Refused | Unsupported


class Event(Message, tag_field="event", frozen=True):
    """An event that a user observes.  `at_ms`: its time on the driver's monotonic clock."""


class ConsumerEvent(Event, frozen=True):
    """An event that the user of one consumer observes."""

    consumer: str
    at_ms: float


class Assigned(ConsumerEvent, tag="assigned", frozen=True):
    """The listener got these partitions: all with an eager assignor, else only the new ones."""

    partitions: tuple[Partition, ...]


class Revoked(ConsumerEvent, tag="revoked", frozen=True):
    """The listener must give up these partitions."""

    partitions: tuple[Partition, ...]


class Lost(ConsumerEvent, tag="lost", frozen=True):
    """The listener lost these partitions: they may have another owner already."""

    partitions: tuple[Partition, ...]


class Records(ConsumerEvent, tag="records", frozen=True):
    """The library delivered `count` records of a partition, the first at offset `first`."""

    partition: Partition
    first: _Count
    count: Annotated[int, Meta(ge=1)]


class Error(ConsumerEvent, tag="error", frozen=True):
    """The library reported a ClientError; `where`: the call or callback that reported it."""

    where: str
    code: str
    fatal: bool
    message: str


class Ended(Event, tag="ended", frozen=True):
    """The library stopped for good without a command."""

    consumer: str
    at_ms: float | None = None


class Log(Event, tag="log", frozen=True):
    """A line of the library's log that it reports nowhere else."""

    level: str
    message: str
    consumer: str | None = None
    at_ms: float | None = None


AnyEvent = Assigned | Revoked | Lost | Records | Error | Ended | Log


def event_of(line: dict[str, Any]) -> AnyEvent:
    """Read an event from its object.  Raises msgspec.ValidationError."""
    event: AnyEvent = msgspec.convert(line, AnyEvent)
    return event


def reply_of(line: dict[str, Any], command: type[AnyCommand]) -> AnyReply:
    """Read a reply to a command of this type from its object.  Raises msgspec.ValidationError."""
    kind: type[Introduction | Done | Refused | Unsupported]
    if "unsupported" in line:
        kind = Unsupported
    elif "error" in line:
        kind = Refused
    else:
        kind = Introduction if command is Hello else Done
    return msgspec.convert(line, kind)


def protocol_schema() -> dict[str, Any]:
    """Make the JSON Schema of all lines; `$defs` has the types above by their names."""
    replies = get_args(AnyReply)  # they have no tag: the command decides the type
    (command, event, *reply), definitions = msgspec.json.schema_components(
        (_COMMANDS, AnyEvent, *replies), ref_template="#/$defs/{name}"
    )
    kinds = {"command": command, "reply": {"anyOf": reply}, "event": event}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:fencepost:client-driver-1",
        "title": "The lines of client driver protocol 1: commands, replies, events",
        "anyOf": [{"$ref": f"#/$defs/{kind}"} for kind in kinds],
        "$defs": {**kinds, **definitions},
    }
