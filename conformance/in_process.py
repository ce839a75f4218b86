"""The model as a coordinator in this process, with a virtual clock.

Decides how open choices are resolved, since a program must answer one thing: always the first of
the machine's outcomes, which are ordered by member id (for a leader) and by name (for a protocol).
New ids are the instance id or client id and a running number, so that a run is the same each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

from fencepost.conformance.target import Hints, Provenance
from fencepost.model.answers import about_nothing, merged
from fencepost.model.coordinator import (
    Answer,
    Config,
    Coordinator,
    CoordinatorFailure,
    Dropped,
    Hello,
    Reset,
    Send,
    UnsupportedError,
)
from fencepost.model.drafts import ALL_APIS
from fencepost.model.group import Group, Timer
from fencepost.model.machine import Machine
from fencepost.model.requests import groups_of
from fencepost.model.shapes import Message, ShapeError
from fencepost.model.work import Emission, Incoming, Outcome, Span

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

    from fencepost.model.coordinator import AsyncCoordinator
    from fencepost.model.revision import Revision


class ModelCoordinator(Coordinator):
    """A revision of the model, held to the interface that everything else is held to."""

    def __init__(self, revision: Revision, version: str = "0") -> None:
        self._revision = revision
        self._version = version
        self._machine = Machine(revision)
        self._clear()

    def _clear(self) -> None:
        self._groups: dict[str, Group] = {}
        self._now = 0
        self._ids = 0
        self._open: dict[str, Send] = {}
        self._seen: set[str] = set()

    def hello(self) -> Hello:
        """The revision by name; both features."""
        return Hello(
            f"fencepost-model:{self._revision.name}",
            self._version,
            "virtual",
            dict(self._revision.apis),
            frozenset({"restart", "disconnect"}),
        )

    def reset(self, config: Config) -> Reset:
        """Any of the four settings; raises UnsupportedError for another, and resets nothing."""
        machine = Machine(self._revision, config)
        if unknown := sorted(set(machine.config) - set(self._machine.config)):
            raise UnsupportedError(unknown[0])
        dropped = tuple(self._open)
        self._machine = machine
        self._clear()
        return Reset(dict(machine.config), dropped)

    def send(self, request: Send) -> list[Answer]:
        """Handle a request now.  Raises CoordinatorFailure for one that can't be sent."""
        api = ALL_APIS.get(request.api)
        bounds = self._revision.apis.get(request.api)
        if api is None or bounds is None or not bounds[0] <= request.version <= bounds[1]:
            raise UnsupportedError(f"{request.api} version {request.version}")
        if request.id in self._seen:
            raise CoordinatorFailure(f"request id {request.id!r} was used before; take a new one")
        if any(o.connection == request.connection for o in self._open.values()):
            raise CoordinatorFailure(f"connection {request.connection!r} has an open request")
        try:
            message = api.request.from_body(dict(request.body), request.version)
        except ShapeError as error:
            raise CoordinatorFailure(f"{request.api} v{request.version}: {error}") from error
        self._seen.add(request.id)
        self._open[request.id] = request
        return self._handle(request, message)

    def _handle(self, request: Send, message: Message) -> list[Answer]:
        instance = getattr(message, "group_instance_id", None) or getattr(
            message, "member_name", None
        )
        fresh = f"{instance or request.client_id}-{self._ids + 1}"
        incoming = Incoming(
            request.id, request.client_id, request.api, request.version, message, fresh
        )
        span = Span(self._now, self._now)
        emissions: list[Emission] = []
        replies: list[Message] = []
        named = groups_of(message, request.version)
        if named is None:  # all groups; the one of no name stands for those that don't exist
            named = list(dict.fromkeys([*sorted(self._groups), ""]))
        for group_id in named:
            group = self._groups.get(group_id)
            outcome = self._machine.handle(group, incoming, span, group_id=group_id)[0]
            self._take(group_id, outcome)
            for emission in outcome.emissions:
                if emission.request_id == request.id and emission.message is not None:
                    replies.append(emission.message)
                else:
                    emissions.append(emission)
        if fresh in self._known_ids(named or []):
            self._ids += 1
        if named == []:
            replies.append(about_nothing(message))
        if replies:
            emissions.append(Emission(request.id, merged(replies), ""))
        return self._answers(emissions)

    def _known_ids(self, named: Iterable[str]) -> set[str]:
        groups = [self._groups[g] for g in named if g in self._groups]
        return {m.member_id for g in groups for m in g.members} | {
            p for g in groups for p in g.pending
        }

    def _take(self, group_id: str, outcome: Outcome) -> None:
        if outcome.group is None:
            self._groups.pop(group_id, None)
        else:
            self._groups[group_id] = outcome.group

    def _answers(self, emissions: Iterable[Emission]) -> list[Answer]:
        answers = []
        for emission in emissions:
            request = self._open.get(emission.request_id)
            if request is None or emission.message is None:
                continue
            del self._open[emission.request_id]
            asked = request.api, request.version
            version = self._revision.answer_versions.get(asked, request.version)
            body = emission.message.to_body(version)
            answers.append(Answer(emission.request_id, self._now, body))
        return answers

    def advance(self, ms: int) -> list[Answer]:
        """Timers fire each at its own deadline; those due together by group, kind and subject."""
        end = self._now + ms
        answers: list[Answer] = []
        while (due := self._next_timer()) is not None and due[1].earliest <= end:
            group_id, timer = due
            self._now = max(self._now, timer.earliest)
            span = Span(self._now, self._now)
            outcome = self._machine.expire(self._groups[group_id], timer, span)[0]
            self._take(group_id, outcome)
            answers += self._answers(outcome.emissions)
        self._now = end
        return answers

    def _next_timer(self) -> tuple[str, Timer] | None:
        timers = [(g, t) for g, group in self._groups.items() for t in group.timers]
        return min(timers, key=lambda due: (due[1].earliest, due[0], due[1]), default=None)

    def disconnect(self, connection: str) -> Dropped:
        """The coordinator does not notice; what it answers later finds nobody."""
        dropped = tuple(r for r, o in self._open.items() if o.connection == connection)
        for request_id in dropped:
            del self._open[request_id]
        return Dropped((), dropped)

    def restart(self) -> Dropped:
        """Fail over: parked requests are told NOT_COORDINATOR, then groups are as stored."""
        span = Span(self._now, self._now)
        answers: list[Answer] = []
        for group_id in sorted(self._groups):
            outcome = self._machine.failover(self._groups[group_id], span)[0]
            self._take(group_id, outcome)
            answers += self._answers(outcome.emissions)
        dropped = tuple(self._open)
        self._open.clear()
        return Dropped(tuple(answers), dropped)

    def close(self) -> None:
        """Nothing runs."""


class InProcessCoordinator:
    """A coordinator in this process behind the interface of those that are waited for."""

    def __init__(self, inner: Coordinator) -> None:
        self._inner = inner

    async def hello(self) -> Hello:
        """As the inner one."""
        return self._inner.hello()

    async def reset(self, config: Config) -> Reset:
        """As the inner one."""
        return self._inner.reset(config)

    async def send(self, request: Send) -> list[Answer]:
        """As the inner one."""
        return list(self._inner.send(request))

    async def advance(self, ms: int) -> list[Answer]:
        """As the inner one."""
        return list(self._inner.advance(ms))

    async def disconnect(self, connection: str) -> Dropped:
        """As the inner one."""
        return self._inner.disconnect(connection)

    async def restart(self) -> Dropped:
        """As the inner one."""
        return self._inner.restart()

    async def close(self) -> None:
        """As the inner one."""
        self._inner.close()


class InProcessTarget:
    """`model:REVISION`: a coordinator of its own for each scope."""

    capacity = 1
    hints = Hints()

    def __init__(self, name: str, revision: Revision, version: str) -> None:
        self.name = name
        self._revision = revision
        self._version = version

    async def __aenter__(self) -> Self:
        """Nothing to start."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to end."""

    def provenance(self) -> Provenance:
        """The model and its version."""
        return Provenance(self.name, f"fencepost-model:{self._revision.name}", self._version)

    @asynccontextmanager
    async def scope(self, label: str, *, isolated: bool = False) -> AsyncIterator[AsyncCoordinator]:
        """A fresh model."""
        del label, isolated
        yield InProcessCoordinator(ModelCoordinator(self._revision, self._version))
