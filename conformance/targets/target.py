"""Define the interface of targets, which can be started, tested and ended.

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

from msgspec.structs import replace

from fencepost.model.coordinator import (
    Answer,
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
    Provenance,
)
from fencepost.model.plans.steps import Plan, Request

NO_LIMIT = 2**31 - 1
"""Kafka's way to say that `group.max.size` is unlimited."""

UNSOLICITED = "while no request was open"
"""A part of each finding about bytes that no request asked for."""


class SpoiledRunError(CoordinatorFailure):
    """A request of an earlier case spoiled this one, which shows nothing.  `str()` says how."""


class HelperFailedError(CoordinatorFailure):
    """A request that a case needs, but is none of the group protocol, failed: nothing is shown.

    It makes a topic, deletes one, or looks for the coordinator.  `str()` says which, and how.
    """


@dataclass(frozen=True, slots=True)
class Hints:
    """Hints for a target with a real clock.

    `session_ms`: a session timeout that is long enough for a case, and not too slow; it grows with
    the lag.  `patience_ms`: how long to wait for a late answer.  `tick_ms`: the resolution of its
    timers; waits for them must be longer.  `isolates`: a case that may end the target has one of
    its own; False: it ends it for all others.
    """

    session_ms: int = 60_000
    patience_ms: int = 5_000
    tick_ms: int = 0
    isolates: bool = True

    def patience_for(self, session_ms: int) -> int:
        """Return the patience, in ms, for a session timeout: it outlasts the session as before."""
        grown = session_ms - self.session_ms if self.patience_ms > self.session_ms else 0
        return self.patience_ms + max(0, grown)


class Target(Protocol):
    """Something that can be tested against the model."""

    name: str
    capacity: int
    """The number of scopes that may be open at once."""
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
        """Close it, whatever happened: nothing of ours is left running, or left on it."""
        ...

    def provenance(self) -> Provenance:
        """Return the versions of its parts; while it is open."""
        ...

    def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AbstractAsyncContextManager[AsyncCoordinator]:
        """Return a coordinator for one case.

        `isolated`: in a process of its own, which the case may kill; `restarts`: the case lets the
        coordinator fail over.
        """
        ...


@dataclass(frozen=True, slots=True)
class ScopeNeeds:
    """A case's requirements of its coordinator; `isolated`, `restarts`: as in `scope`.

    `settings`: the group settings that matter to it, with their values.
    """

    isolated: bool = False
    restarts: bool = False
    settings: Mapping[str, int | None] = field(default_factory=dict)

    @classmethod
    def of_case(cls, case: Plan, settings: Mapping[str, int | None]) -> Self:
        """Return what a case requires."""
        return cls(case.isolated, case.restarts, settings)


def apart(case: Plan) -> Plan:
    """Return a drawn case, isolated if it names the group whose id is "".

    No prefix keeps that group apart.  Where a coordinator takes members or offsets into it, they
    stay for the cases after this one, and what is seen would depend on the cases before.
    """
    requests = (step for step in case.steps if isinstance(step, Request))
    is_nameless = any(request.fields.get("group_id") == "" for request in requests)
    return replace(case, isolated=True) if is_nameless else case


@runtime_checkable
class Place(Protocol):
    """A server of a target; some targets have several."""

    @property
    def outages(self) -> Sequence[tuple[float, float]]:
        """Return the times when it was down on purpose, in seconds of the monotonic clock."""
        ...

    @property
    def is_brief(self) -> bool:
        """Return True if it was started for one scope, and ends with it."""
        ...

    def scope(self, label: str) -> AbstractAsyncContextManager[AsyncCoordinator]:
        """Return a scope on this server."""
        ...


@runtime_checkable
class Placed(Protocol):
    """A scope that knows its server."""

    @property
    def place(self) -> Place:
        """The server."""
        ...


@runtime_checkable
class Located(Protocol):
    """A scope that can find out if a coordinator moved."""

    async def stays(self) -> bool:
        """Return True if its groups have one possible coordinator, named before and now."""
        ...


@runtime_checkable
class Clocked(Protocol):
    """A scope that knows when it read an answer, even if the case takes it later."""

    def read_at(self, answer: Answer) -> float:
        """Return the time when an answer was read, in seconds of the monotonic clock."""
        ...


@runtime_checkable
class Described(Protocol):
    """A target that says where its settings are from."""

    def sources(self, config: Config) -> tuple[str, ...]:
        """Return sentences about the settings that are in force."""
        ...


@runtime_checkable
class Configurable(Protocol):
    """A target that can give a case a coordinator with settings of its own."""

    async def prepare(self, needs: Collection[ScopeNeeds]) -> None:
        """Start the brokers that these cases need.  Raises TargetUnavailableError."""
        ...

    def scope_with(
        self, label: str, needed: ScopeNeeds
    ) -> AbstractAsyncContextManager[AsyncCoordinator]:
        """Return a coordinator for one case, with other settings where these can't be had."""
        ...
