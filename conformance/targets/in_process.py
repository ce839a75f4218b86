"""Run the model as a coordinator in this process, with a virtual clock.

Where the protocol leaves a choice, the first outcome of the machine is taken.  Outcomes are ordered
by member id (for a leader) and by name (for a protocol).  A new member id is the instance id or
client id and a number.  So a run is the same each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Self

from fencepost.conformance.targets.model_coordinator import RunningModel, coordinating_machine
from fencepost.conformance.targets.target import Hints
from fencepost.model.coordinator import (
    MOVES,
    TOPICS,
    Answer,
    Config,
    Coordinator,
    CoordinatorFailure,
    Dropped,
    Hello,
    Provenance,
    Reset,
    Send,
    Topics,
    UnsupportedError,
)
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.shapes import ShapeError
from fencepost.model.plans.steps import OPERATIONS, OperatorStep
from fencepost.model.table.table import TableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fencepost.model.coordinator import AsyncCoordinator
    from fencepost.model.revision import Revision


class ModelCoordinator(Coordinator):
    """A revision of the model as a coordinator, with the interface of all coordinators."""

    def __init__(self, revision: Revision, version: str = "0") -> None:
        self._revision = revision
        self._version = version
        self._running = RunningModel(coordinating_machine(revision))
        self._request_ids: set[str] = set()
        self._last: dict[str, str] = {}
        """The last request of each connection."""

    def hello(self) -> Hello:
        """Name the revision and its APIs; all features of its protocol are supported."""
        return Hello(
            f"fencepost-model:{self._revision.name}",
            self._version,
            "virtual",
            dict(self._revision.apis),
            self._features(),
        )

    def _features(self) -> frozenset[str]:
        protocol = self._revision.protocol
        names = {"restart", MOVES, "disconnect", "missing-topics"}
        names |= {TOPICS} if protocol.takes_topics else set()
        return frozenset(names | set(OPERATIONS) if protocol.operations else names)

    def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        """Begin again with the settings of its protocol.  Raises UnsupportedError for another."""
        if topics is not None and not self._revision.protocol.takes_topics:
            raise UnsupportedError(TOPICS)
        machine = coordinating_machine(self._revision, config, topics=topics)
        if unknown := sorted(set(machine.config) - set(self._running.machine.config)):
            raise UnsupportedError(unknown[0])
        dropped = tuple(self._running.open)
        self._running = RunningModel(machine)
        self._request_ids.clear()
        self._last.clear()
        return Reset(dict(machine.config), dropped, topics or {})

    def send(self, request: Send) -> list[Answer]:
        """Handle a request now.  Raises CoordinatorFailure for one that can't be sent."""
        api = ALL_APIS.get(request.api)
        bounds = self._revision.apis.get(request.api)
        if api is None or bounds is None or not bounds[0] <= request.version <= bounds[1]:
            raise UnsupportedError(f"{request.api} version {request.version}")
        if request.id in self._request_ids:
            raise CoordinatorFailure(f"request id {request.id!r} was used before; take a new one")
        if self._last.get(request.connection) in self._running.open:
            raise CoordinatorFailure(f"connection {request.connection!r} has an open request")
        try:
            message = api.request.from_body(dict(request.body), request.version)
        except ShapeError as error:
            raise CoordinatorFailure(f"{request.api} v{request.version}: {error}") from error
        self._request_ids.add(request.id)
        self._last[request.connection] = request.id
        with self._dying(f"{request.api} v{request.version}"):
            return self._running.handle(request, message)

    def advance(self, ms: int) -> list[Answer]:
        """Let time pass; each timer fires at its own deadline."""
        with self._dying("a timer"):
            return self._running.advance_to(self._running.now_ms + ms)

    def disconnect(self, connection: str) -> Dropped:
        """Drop a connection.  The coordinator does not notice; later answers are lost."""
        return Dropped((), self._running.drop(connection))

    def restart(self) -> Dropped:
        """Fail over: answer parked requests NOT_COORDINATOR, then restore groups as stored."""
        with self._dying("a failover"):
            answers = self._running.fail_over()
        dropped = tuple(self._running.open)
        self._running.open.clear()
        return Dropped(tuple(answers), dropped)

    def move(self) -> Dropped:
        """Move: as a failover, but for the connections, which stay with all that is open."""
        with self._dying("a move"):
            return Dropped(tuple(self._running.fail_over()), ())

    def operate(self, step: OperatorStep) -> list[Answer]:
        """Do what an operator does; nothing is answered."""
        with self._dying(step.do):
            self._running.operate(step)
        return []

    @contextmanager
    def _dying(self, event: str) -> Iterator[None]:
        """Raise CoordinatorFailure where the machine stops at an event.

        It does where the revision is wrong, and then the target has died, as another one would.
        The error names the rule or the table where it has one.
        """
        try:
            yield
        except (UnsupportedError, CoordinatorFailure):
            raise
        except Exception as error:
            why = " ".join(str(error).split())
            if not isinstance(error, TableError):
                why = f"{type(error).__name__} {why}".rstrip()
            raise CoordinatorFailure(f"{self._revision.name} stopped at {event}: {why}") from error

    def close(self) -> None:
        """Do nothing: nothing runs."""


class InProcessCoordinator:
    """A coordinator in this process with the asynchronous interface."""

    def __init__(self, inner: Coordinator) -> None:
        self._inner = inner

    async def hello(self) -> Hello:
        """Like the inner one's."""
        return self._inner.hello()

    async def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        """Like the inner one's."""
        if topics is None:  # so that a coordinator without this feature needs no argument for it
            return self._inner.reset(config)
        return self._inner.reset(config, topics)

    async def send(self, request: Send) -> list[Answer]:
        """Like the inner one's."""
        return list(self._inner.send(request))

    async def advance(self, ms: int) -> list[Answer]:
        """Like the inner one's."""
        return list(self._inner.advance(ms))

    async def disconnect(self, connection: str) -> Dropped:
        """Like the inner one's."""
        return self._inner.disconnect(connection)

    async def restart(self) -> Dropped:
        """Like the inner one's."""
        return self._inner.restart()

    async def move(self) -> Dropped:
        """Like the inner one's."""
        return self._inner.move()

    async def operate(self, step: OperatorStep) -> list[Answer]:
        """Like the inner one's."""
        return list(self._inner.operate(step))

    async def close(self) -> None:
        """Like the inner one's."""
        self._inner.close()


class InProcessTarget:
    """`model:REVISION` or `mutant:NAME`: each scope is a coordinator of its own."""

    capacity = 1
    hints = Hints()

    def __init__(self, name: str, revision: Revision, version: str) -> None:
        self.name = name
        self._revision = revision
        self._version = version

    async def __aenter__(self) -> Self:
        """Do nothing: there is nothing to start."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Do nothing: there is nothing to end."""

    def provenance(self) -> Provenance:
        """Return the model and its version."""
        return Provenance(self.name, f"fencepost-model:{self._revision.name}", self._version)

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """Yield a fresh model."""
        del label, isolated, restarts
        yield InProcessCoordinator(ModelCoordinator(self._revision, self._version))


class FactoryTarget:
    """A coordinator in this process, made anew for each program."""

    capacity = 1
    hints = Hints()

    def __init__(self, make: Callable[[], Coordinator]) -> None:
        self.name = getattr(make, "__name__", type(make).__name__)
        self._make = make
        self._hello = ("unknown", "unknown")

    async def __aenter__(self) -> Self:
        """Do nothing: there is nothing to start."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Do nothing: there is nothing to end."""

    def provenance(self) -> Provenance:
        """Return the names in the introduction of the coordinator."""
        return Provenance(self.name, *self._hello)

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """Yield an unused coordinator."""
        del label, isolated, restarts
        inner = self._make()
        try:
            hello = inner.hello()
            self._hello = (hello.implementation, hello.version)
            yield InProcessCoordinator(inner)
        finally:
            inner.close()
