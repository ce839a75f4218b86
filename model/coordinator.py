"""The interface of a coordinator: what every target offers, so that it can be checked.

These are the commands of adapter protocol 1 as Python calls.  The model itself, a program on stdio
and a broker over TCP all implement it.

Times are ms since `reset`.  A `virtual` clock moves only with `advance`; a `real` one runs.
Bodies are JSON objects as in `fencepost.model.messages.messages`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec

Body = Mapping[str, Any]
Config = Mapping[str, int | None]

METADATA_LIMIT, RECORD_LIMIT = "offset.metadata.max.bytes", "message.max.bytes"
CONFIG_DEFAULTS: dict[str, int | None] = {
    "group.initial.rebalance.delay.ms": 3000,
    "group.min.session.timeout.ms": 6000,
    "group.max.session.timeout.ms": 1_800_000,
    "group.max.size": None,
    "offsets.retention.check.interval.ms": None,
    METADATA_LIMIT: None,
    RECORD_LIMIT: None,
}
"""Kafka's settings that the model knows, and their defaults; None: no limit, or never.

`offsets.retention.check.interval.ms` counts only for a coordinator that says it cleans.  The last
two have limits in Kafka, too (4,096 and 1,048,588); here none counts unless a coordinator tells it.
"""


class UnsupportedError(Exception):
    """Raised for what a coordinator doesn't offer; no failure of it.  `str()` says why."""


class CoordinatorFailure(Exception):
    """Raised when the coordinator (or its adapter) itself failed: hung, died, broke protocol."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a certificate's results come from: the target's name, implementation and version."""

    target: str
    implementation: str
    version: str
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Hello:
    """A coordinator's description of itself.  `apis`: name → (lowest, highest version)."""

    implementation: str
    version: str
    clock: Literal["virtual", "real"]
    apis: Mapping[str, tuple[int, int]]
    features: frozenset[str] = frozenset()


class Send(msgspec.Struct, frozen=True):
    """A request: its id, its connection and client, its API and version, and its body.

    A connection has at most one request without an answer.
    """

    id: str
    connection: str
    client_id: str
    api: str
    version: int
    body: Body


class Answer(msgspec.Struct, frozen=True):
    """An answer, or (`body` None) the end of the connection without one.

    `at_ms`: when it was given, on the coordinator's clock; it never goes back.
    `findings`: what is wrong with its bytes, a sentence each; empty where nothing is.
    """

    id: str
    at_ms: int
    body: Body | None
    findings: tuple[str, ...] = ()


def codes_in(body: Body) -> Iterator[int]:
    """Yield all error codes of an answer: at the top and in any row."""
    if isinstance(code := body.get("errorCode"), int):
        yield code
    for value in body.values():
        for row in value if isinstance(value, list) else ():
            if isinstance(row, dict):
                yield from codes_in(row)


@dataclass(frozen=True, slots=True)
class Reset:
    """The configuration in force after a reset, and the ids of the requests that it dropped."""

    config: Config
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """What a disconnect or restart led to: answers, and the ids of requests that get none.

    `outage`: for a restart that did not begin at once (several runs may share one restart, and
    wait for each other): when it began, and when the old coordinator had ended, in seconds of the
    monotonic clock.  The answers came before that; `read` says when, by the same clock.  `late`:
    answers that came after it began, where the old coordinator lives on.
    """

    answers: tuple[Answer, ...]
    dropped: tuple[str, ...]
    outage: tuple[float, float] | None = None
    late: tuple[Answer, ...] = ()
    read: tuple[float, ...] = ()


class Coordinator(Protocol):
    """A coordinator with plain calls.  They raise UnsupportedError or CoordinatorFailure."""

    def hello(self) -> Hello:
        """Tell who this is and what it can do."""
        ...

    def reset(self, config: Config) -> Reset:
        """Forget all groups and take these settings; what is left out has its default."""
        ...

    def send(self, request: Send) -> Sequence[Answer]:
        """Handle a request.  Returned answers may belong to earlier, parked requests."""
        ...

    def advance(self, ms: int) -> Sequence[Answer]:
        """Let so much time pass; a timer that is due exactly at the end fires."""
        ...

    def disconnect(self, connection: str) -> Dropped:
        """Drop a connection, as its client would (feature `disconnect`)."""
        ...

    def restart(self) -> Dropped:
        """Fail over: load what was stored, and nothing else (feature `restart`)."""
        ...

    def delete_topics(self, topics: Sequence[str]) -> Sequence[Answer]:
        """Delete topics, for good (feature `delete-topics`); answers as in `send`."""
        del topics
        raise UnsupportedError("delete-topics")

    def close(self) -> None:
        """Stop; nothing is left running."""
        ...


class AsyncCoordinator(Protocol):
    """The same calls as coroutines.  They raise UnsupportedError or CoordinatorFailure."""

    async def hello(self) -> Hello:
        """Tell who this is and what it can do."""
        ...

    async def reset(self, config: Config) -> Reset:
        """Forget all groups and take these settings; the reply tells which are in force."""
        ...

    async def send(self, request: Send) -> Sequence[Answer]:
        """Send a request; return the answers that have come so far."""
        ...

    async def advance(self, ms: int) -> Sequence[Answer]:
        """Let time pass (virtual clock), or wait so long, and less if answers come (real clock)."""
        ...

    async def disconnect(self, connection: str) -> Dropped:
        """Drop a connection, as its client would (feature `disconnect`)."""
        ...

    async def restart(self) -> Dropped:
        """Fail over: load what was stored, and nothing else (feature `restart`)."""
        ...

    async def delete_topics(self, topics: Sequence[str]) -> Sequence[Answer]:
        """Delete topics, for good (feature `delete-topics`); return when none exists any more."""
        del topics
        raise UnsupportedError("delete-topics")

    async def close(self) -> None:
        """Stop; nothing is left running."""
        ...
