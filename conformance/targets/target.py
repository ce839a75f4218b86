"""Targets: what can be started, asked and ended.

A target is opened once.  Then it has any number of scopes in parallel.  To its case, each scope is
a coordinator of its own, with its own groups, connections and clock.  When the target is closed,
nothing of it is left running.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from fencepost.model.coordinator import Answer, AsyncCoordinator, CoordinatorFailure, Provenance

NO_LIMIT = 2**31 - 1
"""Kafka's way to say that `group.max.size` is unlimited."""

UNASKED = "while no request was open"
"""What each finding says of bytes that nobody had asked for."""


class SpoiledRunError(CoordinatorFailure):
    """What an earlier case had asked spoiled this one, which shows nothing.  `str()` says how."""


@dataclass(frozen=True, slots=True)
class Hints:
    """Times for a target with a real clock.

    `session_ms`: a session timeout that is long enough for a case, and not too slow; it grows with
    the lag.  `patience_ms`: how long to wait for a late answer.  `tick_ms`: the resolution of its
    timers; waits for them must be longer.
    """

    session_ms: int = 60_000
    patience_ms: int = 5_000
    tick_ms: int = 0

    def patience_for(self, session_ms: int) -> int:
        """The patience, in ms, at a session timeout: what outlasts a session goes on doing so."""
        grown = session_ms - self.session_ms if self.patience_ms > self.session_ms else 0
        return self.patience_ms + max(0, grown)


class Target(Protocol):
    """Something that can be tested against the model."""

    name: str
    capacity: int
    """How many scopes may be open at once."""
    hints: Hints

    async def __aenter__(self) -> Self:
        """Start or reach it; raises TargetUnavailableError."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it.  Whatever happened, nothing of ours is left running, or left on it."""
        ...

    def provenance(self) -> Provenance:
        """The versions of its parts; while it is open."""
        ...

    def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AbstractAsyncContextManager[AsyncCoordinator]:
        """A coordinator for one case.

        `isolated`: in a process of its own, which the case may kill; `restarts`: the case lets the
        coordinator fail over.
        """
        ...


@dataclass(frozen=True, slots=True)
class ScopeNeeds:
    """What a case needs of its coordinator; `isolated`, `restarts`: as in `scope`.

    `settings`: the group settings that matter to it, with their values.
    """

    isolated: bool = False
    restarts: bool = False
    settings: Mapping[str, int | None] = field(default_factory=dict)


@runtime_checkable
class Place(Protocol):
    """A server of a target; some targets have several."""

    @property
    def outages(self) -> Sequence[tuple[float, float]]:
        """When it was down on purpose, in seconds of the monotonic clock."""
        ...

    @property
    def is_brief(self) -> bool:
        """Whether it was started for one scope, and ends with it."""
        ...

    def scope(self, label: str) -> AbstractAsyncContextManager[AsyncCoordinator]:
        """A scope on this server."""
        ...


@runtime_checkable
class Placed(Protocol):
    """A scope that knows its server."""

    @property
    def place(self) -> Place:
        """The server."""
        ...


@runtime_checkable
class Clocked(Protocol):
    """A scope that knows when it read an answer, however much later it is asked for it."""

    def read_at(self, answer: Answer) -> float:
        """When an answer was read, in seconds of the monotonic clock."""
        ...


@runtime_checkable
class Configurable(Protocol):
    """A target that can give a case a coordinator with settings of its own."""

    async def prepare(self, needs: Collection[ScopeNeeds]) -> None:
        """Make ready what these cases need.  Raises TargetUnavailableError."""
        ...

    def scope_with(
        self, label: str, needed: ScopeNeeds
    ) -> AbstractAsyncContextManager[AsyncCoordinator]:
        """A coordinator for one case; where the settings can't be had, one with others."""
        ...
