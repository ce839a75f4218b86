"""A target with a real clock around the model, so that `certify` can be tested where time runs.

Each scope is a model of its own, whose virtual clock follows the event loop's.  A target may lie,
and its answers may be late in the cases, while its control is quick; or it stands still as a whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Self

from support.runs import KAFKA_4, Lie, honest

from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.conformance.targets.target import Hints
from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    MOVES,
    Answer,
    AsyncCoordinator,
    Config,
    Dropped,
    Hello,
    Provenance,
    Reset,
    Send,
    Topics,
    UnsupportedError,
)
from fencepost.model.revision import Revision

_STEP_S = 0.005
QUICK: dict[str, int | None] = {
    **CONFIG_DEFAULTS,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
}
"""Settings that let cases end soon."""


@dataclass(frozen=True)
class Stalls:
    """A target that stands still now and then, as one that is stopped; times in ms of its life."""

    first_ms: int
    every_ms: int
    for_ms: int

    def until(self, now_ms: int) -> int:
        """When it goes on, if it stands still; else now."""
        within = (now_ms - self.first_ms) % self.every_ms
        stands = now_ms >= self.first_ms and within < self.for_ms
        return now_ms - within + self.for_ms if stands else now_ms


NEVER = Stalls(0, 1, 0)


class RealClockModel(AsyncCoordinator):
    """The model on the event loop's clock.  `late_ms`: how long its answers are on their way.

    `stalls`: when it handles nothing; they are counted from `since`, in seconds of the loop.
    `in_fact`: settings that it doesn't admit.
    """

    def __init__(
        self,
        revision: Revision = KAFKA_4,
        settings: Config = QUICK,
        *,
        late_ms: int = 0,
        lie: Lie = honest,
        stalls: Stalls = NEVER,
        since: float | None = None,
        in_fact: Config | None = None,
    ) -> None:
        self._stalls = stalls
        self._in_fact = in_fact or {}
        self._since = asyncio.get_running_loop().time() if since is None else since
        self._settings = dict(settings)
        self._late_ms = late_ms
        self._lie = lie
        self._inner = ModelCoordinator(revision)
        self._clock = asyncio.get_running_loop().time
        self._begin()

    def _begin(self, topics: Topics | None = None) -> None:
        self._inner.reset({**self._settings, **self._in_fact}, topics)
        self._begun = self._clock()
        self._model_ms = 0
        self._sent: dict[str, Send] = {}
        self._way: list[tuple[int, Answer]] = []
        self._unread: list[Send] = []

    def _now_ms(self) -> int:
        return int((self._clock() - self._begun) * 1000)

    def _stands_still(self) -> bool:
        life_ms = int((self._clock() - self._since) * 1000)
        return self._stalls.until(life_ms) > life_ms

    def _catch_up(self) -> None:
        if self._stands_still():
            return
        now = self._now_ms()
        passed, self._model_ms = now - self._model_ms, now
        self._post(self._inner.advance(passed))
        unread, self._unread = self._unread, []
        for request in unread:
            self._post(self._inner.send(request))

    def _post(self, answers: list[Answer]) -> None:
        for answer in answers:
            said = self._lie(self._sent[answer.id], answer)
            if said is not None:
                self._way.append((said.at_ms + self._late_ms, said))

    def _arrived(self) -> list[Answer]:
        self._catch_up()
        if self._stands_still():
            return []
        there = [answer for at, answer in self._way if at <= self._model_ms]
        self._way = [(at, answer) for at, answer in self._way if at > self._model_ms]
        return there

    async def hello(self) -> Hello:
        """The model's, but its clock runs and nobody can restart it."""
        hello = self._inner.hello()
        return replace(hello, clock="real", features=hello.features - {"restart", MOVES})

    async def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        """Begin again; the settings are fixed, as a broker's."""
        if unknown := sorted(set(config) - set(self._settings)):
            raise UnsupportedError(unknown[0])
        self._begin(topics)
        return Reset(self._settings, topics=topics or {})

    async def send(self, request: Send) -> list[Answer]:
        """Handled now; answered when the answer has arrived."""
        self._sent[request.id] = request
        self._unread.append(request)
        return self._arrived()

    async def advance(self, ms: int) -> list[Answer]:
        """Wait up to `ms`; return as soon as something came in."""
        end = self._clock() + ms / 1000
        there = self._arrived()
        while not there and (left := end - self._clock()) > 0:
            await asyncio.sleep(min(left, _STEP_S))
            there = self._arrived()
        return there

    async def disconnect(self, connection: str) -> Dropped:
        """What is on its way to this connection is lost, too."""
        there = self._arrived()
        mine = {answer.id for _, answer in self._way}
        mine |= {request.id for request in self._unread}
        mine = {r for r in mine if self._sent[r].connection == connection}
        self._unread = [request for request in self._unread if request.id not in mine]
        self._way = [(at, answer) for at, answer in self._way if answer.id not in mine]
        dropped = self._inner.disconnect(connection).dropped
        return Dropped(tuple(there), (*dropped, *sorted(mine)))

    async def restart(self) -> Dropped:
        """It can't be."""
        raise UnsupportedError("restart")

    async def close(self) -> None:
        """Nothing runs."""


class RealClockTarget:
    """Scopes that are models on the real clock; `late_ms` and `lie` are of the cases alone."""

    hints = Hints()

    def __init__(
        self,
        revision: Revision = KAFKA_4,
        *,
        delay_ms: int = 0,
        late_ms: int = 0,
        lie: Lie = honest,
        to_control: Lie = honest,
        settings: Mapping[str, int | None] | None = None,
        stalls: Stalls = NEVER,
        in_fact: Config | None = None,
    ) -> None:
        self._stalls = stalls
        self._in_fact = in_fact
        self._since: float | None = None
        self.name = "real-clock"
        self.capacity = 100
        self.scopes: list[str] = []
        self._revision = revision
        self._late_ms = late_ms
        self._lie = lie
        self._to_control = to_control
        self._settings = {
            **QUICK,
            "group.initial.rebalance.delay.ms": delay_ms,
            **(settings or {}),
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing to end."""

    def provenance(self) -> Provenance:
        return Provenance(self.name, f"fencepost-model:{self._revision.name}", "0")

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del isolated, restarts
        self.scopes.append(label)
        if self._since is None:
            self._since = asyncio.get_running_loop().time()
        in_case = "/" in label
        yield RealClockModel(
            self._revision,
            self._settings,
            late_ms=self._late_ms if in_case else 0,
            lie=self._lie if in_case else self._to_control,
            stalls=self._stalls,
            since=self._since,
            in_fact=self._in_fact,
        )
