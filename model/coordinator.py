"""What can be held to the model: the interface of a coordinator.

Decides nothing about groups; it is the boundary of adapter protocol 1 as Python calls.  The model
itself, a program on stdio and a broker over TCP all stand behind it.

Times are ms since `reset`.  A `virtual` clock moves only with `advance`; a `real` one runs.
Bodies are JSON objects as in `fencepost.model.messages.messages`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Body = Mapping[str, Any]
Config = Mapping[str, int | None]

CONFIG_DEFAULTS: dict[str, int | None] = {
    "group.initial.rebalance.delay.ms": 3000,
    "group.min.session.timeout.ms": 6000,
    "group.max.session.timeout.ms": 1_800_000,
    "group.max.size": None,
}


class UnsupportedError(Exception):
    """The coordinator can't do what was asked; not counted against it.  `str()` says why."""


class CoordinatorFailure(Exception):
    """The coordinator (or its adapter) itself failed: it hung, died, or spoke nonsense."""


@dataclass(frozen=True, slots=True)
class Hello:
    """What a coordinator says of itself.  `apis`: name → (lowest, highest version)."""

    implementation: str
    version: str
    clock: Literal["virtual", "real"]
    apis: Mapping[str, tuple[int, int]]
    features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Send:
    """A request: its id, the connection and client that it comes from, and what it asks.

    A connection has at most one open request.
    """

    id: str
    connection: str
    client_id: str
    api: str
    version: int
    body: Body


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, or (`body` None) the end of the connection without one.

    `at_ms`: when it was given, on the coordinator's clock; never falls.
    `findings`: what was wrong with its bytes, each a sentence; empty where nothing was.
    """

    id: str
    at_ms: int
    body: Body | None
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reset:
    """The configuration in force after a reset, and the requests that were dropped by it."""

    config: Config
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """What a disconnect or restart led to: answers, and requests that will never get one.

    `spell`: of a restart that did not begin at once (many may share one, and wait for each other),
    when it began and when the old coordinator had ended, in seconds of the monotonic clock.  The
    answers had come before.
    """

    answers: tuple[Answer, ...]
    dropped: tuple[str, ...]
    spell: tuple[float, float] | None = None


class Coordinator(Protocol):
    """A coordinator in this process.  Calls raise UnsupportedError or CoordinatorFailure."""

    def hello(self) -> Hello:
        """Who this is and what it can do."""
        ...

    def reset(self, config: Config) -> Reset:
        """Forget everything; take these settings."""
        ...

    def send(self, request: Send) -> Sequence[Answer]:
        """Handle a request now.  The answers may belong to earlier, parked requests."""
        ...

    def advance(self, ms: int) -> Sequence[Answer]:
        """Let time pass; a timer due at the end exactly fires."""
        ...

    def disconnect(self, connection: str) -> Dropped:
        """The client drops a connection (feature `disconnect`)."""
        ...

    def restart(self) -> Dropped:
        """Fail over to what was stored (feature `restart`)."""
        ...

    def close(self) -> None:
        """End; nothing is left running."""
        ...


class AsyncCoordinator(Protocol):
    """The same calls for coordinators that are waited for."""

    async def hello(self) -> Hello:
        """Who this is and what it can do."""
        ...

    async def reset(self, config: Config) -> Reset:
        """Forget everything; the reply tells the settings in force."""
        ...

    async def send(self, request: Send) -> Sequence[Answer]:
        """Put a request on its way; answers that are there already."""
        ...

    async def advance(self, ms: int) -> Sequence[Answer]:
        """Let time pass (virtual), or wait so long, returning early with what came in (real)."""
        ...

    async def disconnect(self, connection: str) -> Dropped:
        """The client drops a connection (feature `disconnect`)."""
        ...

    async def restart(self) -> Dropped:
        """Fail over to what was stored (feature `restart`)."""
        ...

    async def close(self) -> None:
        """End; nothing is left running."""
        ...
