"""Describe faults between a broker and its clients, as data.

A provocation names requests (an API, a client, from which to which number), and their fate.  The
model knows nothing of it: a request whose answer is lost was handled like any other, one that is
answered with an error was not handled at all.

The JSON form is an object with the fields' names: `{"api": "JoinGroup", "who": "i1", "first": 2,
"last": 2, "action": "delay", "ms": 3000}`; a file holds a list of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
from kafka import errors
from msgspec import Meta

from fencepost.conformance.wire.codec import API_KEYS
from fencepost.conformance.wire.refusal import REFUSABLE
from fencepost.model.bad_input import BadInputError
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.errors import KAFKA_ERRORS
from fencepost.model.suggestions import did_you_mean
from fencepost.traces.files.bounded import read_json
from fencepost.traces.files.document_schema import DocumentSchema

ANYBODY = "*"


CODES: Mapping[str, int] = {
    kind.message: kind.errno
    for kind in vars(errors).values()
    if isinstance(getattr(kind, "errno", None), int) and kind.errno
} | {name: code for code, name in KAFKA_ERRORS.items() if code}
"""Kafka's error codes by name; some have an older one, too."""


class Action(StrEnum):
    """The action on a request that a provocation selects."""

    LOSE = "lose"
    """It is handled; when its answer is due, the connection is cut instead."""
    DELAY = "delay"
    """It is handled; its answer is held back for `ms`, and with it all else on its connection."""
    ERROR = "error"
    """It is not handled, and answered with `code`."""
    CUT = "cut"
    """It is handled, and `ms` later the connection is cut, if it still waits for its answer."""
    THROTTLE = "throttle"
    """It is handled and answered; the answer tells of `ms`, for which nothing more is read."""
    HOLD = "hold"
    """It is handled `ms` later (0: when the provocations end), even if its connection is gone by
    then.  What comes on other connections meanwhile is handled before it."""


_TIMED = frozenset({Action.DELAY, Action.CUT, Action.THROTTLE, Action.HOLD})


class Provocation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fault that a served broker injects into the requests that match.

    Raises ValueError (msgspec.ValidationError from JSON) for fields that contradict each other.
    """

    api: Annotated[str, Meta(description="The API of the requests, such as JoinGroup.")]
    action: Annotated[Action, Meta(description="The broker's action on them.")]
    who: Annotated[
        str,
        Meta(description="A member id, instance id or client id in the request; * matches all."),
    ] = ANYBODY
    first: Annotated[
        int,
        Meta(
            description="The number of the first matching request, counted from 1.",
            extra_json_schema={"minimum": 1},
        ),
    ] = 1
    last: Annotated[
        int | msgspec.UnsetType | None,
        Meta(
            description="The number of the last one; by default only the first; null: no last one.",
            extra_json_schema={"minimum": 1},
        ),
    ] = msgspec.UNSET
    ms: Annotated[
        int,
        Meta(
            description="Milliseconds, for delay, cut, throttle and hold.",
            extra_json_schema={"minimum": 0},
        ),
    ] = 0
    code: Annotated[
        str,
        Meta(description="For the action error: Kafka's name of it, such as FENCED_INSTANCE_ID."),
    ] = ""

    def __post_init__(self) -> None:
        """Check the fields against each other."""
        if self.api not in API_KEYS:
            raise ValueError(
                f"`api` {self.api!r} is not an API of this broker{did_you_mean(self.api, API_KEYS)}"
            )
        until = self.until
        if self.first < 1 or (until is not None and until < self.first):
            raise ValueError(f"`first` {self.first} must be at least 1, and at most `last` {until}")
        if self.ms < 0 or (self.ms and self.action not in _TIMED):
            raise ValueError(f"`ms` {self.ms} is not valid for the action {self.action.value!r}")
        if bool(self.code) != (self.action is Action.ERROR):
            raise ValueError(
                f"`code` {self.code!r} is not valid for the action {self.action.value!r}"
            )
        if self.code and self.code not in CODES:
            raise ValueError(
                f"`code` {self.code!r} is not an error of Kafka{did_you_mean(self.code, CODES)}"
            )
        if self.code and self.api not in {*ALL_APIS, *REFUSABLE}:
            raise ValueError(f"`api` {self.api!r} can't be answered with an error here")

    @property
    def until(self) -> int | None:
        """Return the number of the last request that meets it; None: there is no last one."""
        return self.first if isinstance(self.last, msgspec.UnsetType) else self.last

    def is_about(self, api: str, names: Iterable[str]) -> bool:
        """Tell if a request of this API, which bears these names, is counted."""
        return self.api == api and (self.who == ANYBODY or self.who in names)


def fault_words(fault: Provocation) -> str:
    """Describe a provocation for people, in the imperative mood."""
    until = fault.until
    if until is None:
        which = f"each {fault.api}" if fault.first == 1 else f"each {fault.api} from #{fault.first}"
    elif until == fault.first:
        which = f"the {'next' if until == 1 else f'#{until}'} {fault.api}"
    else:
        first = "" if fault.first == 1 else f"#{fault.first} to "
        which = f"the next {until} {fault.api}" if not first else f"{fault.api} {first}#{until}"
    of = "anybody" if fault.who == ANYBODY else fault.who
    match fault.action:
        case Action.LOSE:
            return f"lose the answer to {which} of {of}"
        case Action.DELAY:
            return f"hold the answer to {which} of {of} back for {fault.ms:,} ms"
        case Action.ERROR:
            return f"answer {fault.code} to {which} of {of}"
        case Action.CUT:
            return f"cut the connection {fault.ms:,} ms after {which} of {of}"
        case Action.THROTTLE:
            return f"throttle {of} for {fault.ms:,} ms at {which}"
        case Action.HOLD:
            how_long = f"for {fault.ms:,} ms" if fault.ms else "until faults end"
            return f"hold {which} of {of} back {how_long}, unhandled"


SCHEMA = DocumentSchema(
    "provocations-1",
    "fencepost provocations 1",
    "Faults that a served broker injects: `fencepost serve --provoke`.",
    list[Provocation],
    {"Provocation": "provocation"},
    {
        "Provocation": {
            "if": {"properties": {"action": {"const": Action.ERROR.value}}},
            "then": {"required": ["code"], "properties": {"code": {"minLength": 1}}},
            "else": {"properties": {"code": {"const": ""}}},
        }
    },
)


class ProvocationsError(BadInputError):
    """A file holds no list of provocations.  `str()` names the place and the remedy."""


def read_provocations(path: Path) -> list[Provocation]:
    """Read a file of provocations.  Raises ProvocationsError, DocumentError."""
    try:
        return msgspec.convert(read_json(path), list[Provocation])
    except msgspec.ValidationError as error:
        raise ProvocationsError(
            f"{path}: {error}; give a list such as "
            '[{"api": "JoinGroup", "who": "i1", "action": "lose"}]'
        ) from None


class Provocations:
    """The provocations in force, and how many requests each has counted."""

    def __init__(self, provocations: Iterable[Provocation] = ()) -> None:
        self._counted = [(provocation, 0) for provocation in provocations]

    def add(self, provocation: Provocation) -> None:
        """Count the requests that fit from now on."""
        self._counted.append((provocation, 0))

    def clear(self) -> None:
        """End all provocations."""
        self._counted.clear()

    def meet(self, api: str, names: Iterable[str]) -> Provocation | None:
        """Count a request; return the first provocation whose turn it is."""
        known = frozenset(names)
        met = None
        for index, (provocation, count) in enumerate(self._counted):
            if not provocation.is_about(api, known):
                continue
            self._counted[index] = provocation, count + 1
            first, until = provocation.first, provocation.until
            if met is None and first <= count + 1 and (until is None or count < until):
                met = provocation
        return met


def names_in(client_id: str | None, body: Mapping[str, Any]) -> set[str]:
    """Collect the names that a request bears: its client, its member and its instance."""
    rows = [body, *(body.get("members") or ())]
    names = {row.get(key) for row in rows for key in ("memberId", "groupInstanceId", "instanceId")}
    return {name for name in (client_id, *names) if name}
