"""Measure how late a target is right now, by a control group beside the cases.

One member of a group of our own sends heartbeats all the time, and another one falls silent again
and again.  This shows how long a request takes, how late our own event loop is, and whether session
timers fire.  A missing answer counts as a violation only while the control group's requests are
quick and its timers fire.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fencepost.model.coordinator import (
    AsyncCoordinator,
    CoordinatorFailure,
    Hello,
    Send,
    UnsupportedError,
)
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    SyncGroupRequest,
)

LEAST_LAG_MS = 300
_FACTOR = 3
_BEAT_S = 0.05
_ANSWER_CAP_S = 30.0
_UNKNOWN_MEMBER_ID = 25


@dataclass(slots=True)
class LagMeter:
    """Samples of latency, each with its time, in seconds of the monotonic clock.

    `samples`: when something ended, and how long it took; `waiting`: the start of what is still
    under way, which says as much about a target that stalls.
    """

    samples: list[tuple[float, float]] = field(default_factory=list)
    expiries: list[tuple[float, bool]] = field(default_factory=list)
    waiting: list[float] = field(default_factory=list)

    def note(self, seconds: float) -> None:
        """Add a sample of so many seconds, which ends now."""
        self.samples.append((time.monotonic(), seconds))

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Add a sample of the time that the body takes; none if it fails."""
        begun = time.monotonic()
        self.waiting.append(begun)
        try:
            yield
            self.note(time.monotonic() - begun)
        finally:
            self.waiting.remove(begun)

    def worst_ms(self, began: float, ended: float) -> int:
        """The longest sample between two times, or just before and after, in ms."""
        first = bisect_left(self.samples, (began - 1,))
        near = [s for at, s in itertools.islice(self.samples, first, None) if at - s <= ended + 1]
        now = time.monotonic()
        near += [now - begun for begun in self.waiting if begun <= ended + 1]
        return int(max(near, default=0.0) * 1000)

    def lag_ms(self, began: float, ended: float) -> int:
        """The lag, in ms, to allow for what happened between two times."""
        return max(LEAST_LAG_MS, _FACTOR * self.worst_ms(began, ended))

    def trustworthy(self, began: float, ended: float, lag_ms: int) -> bool:
        """Whether the allowed lag was well above the control's latency, and its timers fired."""
        fired = [fired for at, fired in self.expiries if at <= ended + 30]
        return lag_ms >= _FACTOR * self.worst_ms(began, ended) and (not fired or any(fired))


class Control:
    """The control groups: one scope for requests that are answered at once, one for timers."""

    def __init__(
        self, quick: AsyncCoordinator, timed: AsyncCoordinator, hello: Hello, session_ms: int
    ) -> None:
        self._quick = _Asker(quick)
        self._timed = _Asker(timed)
        self._join_version = min(hello.apis["JoinGroup"][1], 3)
        self._sync_version = hello.apis["SyncGroup"][0]
        self._beat_version = hello.apis["Heartbeat"][0]
        self._session_ms = session_ms
        self.meter = LagMeter()

    async def run(self) -> None:
        """Measure until cancelled; a target that fails here fails in the cases too."""
        await asyncio.gather(self._watch_loop(), self._beat(), self._expire())

    async def warm_up(self, rounds: int = 10) -> int:
        """Take some first samples; returns the lag to allow, in ms."""
        began = time.monotonic()
        with contextlib.suppress(CoordinatorFailure, UnsupportedError):
            for _ in range(rounds):
                await self._measured_beat()
                await asyncio.sleep(0.01)
        return self.meter.lag_ms(began, time.monotonic())

    async def _watch_loop(self) -> None:
        while True:
            begun = time.monotonic()
            await asyncio.sleep(_BEAT_S)
            self.meter.note(max(0.0, time.monotonic() - begun - _BEAT_S))

    async def _beat(self) -> None:
        with contextlib.suppress(CoordinatorFailure, UnsupportedError):
            while True:
                await self._measured_beat()
                await asyncio.sleep(_BEAT_S)

    async def _measured_beat(self) -> None:
        with self.meter.measured():
            await self._heartbeat(self._quick, "control", "nobody", -1)

    async def _expire(self) -> None:
        """A member joins, syncs, falls silent, and checks whether it was removed; again and again.

        It syncs because a coordinator may have lost the timer that a join starts (KAFKA-9752).  A
        case finds that fault; here it would make all other results doubtful.
        """
        with contextlib.suppress(CoordinatorFailure, UnsupportedError):
            for number in itertools.count(1):
                group = f"silent-{number}"
                member_id = await self._join(group)
                await self._sync(group, member_id)
                await asyncio.sleep((self._session_ms + LEAST_LAG_MS) / 1000)
                body = await self._heartbeat(self._timed, group, member_id, 1)
                fired = body is not None and body["errorCode"] == _UNKNOWN_MEMBER_ID
                self.meter.expiries.append((time.monotonic(), fired))

    async def _join(self, group: str) -> str:
        message = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=self._session_ms,
            rebalance_timeout_ms=self._session_ms if self._join_version > 0 else -1,
            member_id="",
            protocol_type="consumer",
            protocols=(JoinProtocol(name="range", metadata=b""),),
        )
        version = self._join_version
        body = await self._timed.ask("JoinGroup", version, message.to_body(version))
        return "" if body is None else str(body.get("memberId", ""))

    async def _sync(self, group: str, member_id: str) -> None:
        message = SyncGroupRequest(group_id=group, generation_id=1, member_id=member_id)
        version = self._sync_version
        await self._timed.ask("SyncGroup", version, message.to_body(version))

    async def _heartbeat(
        self, asker: _Asker, group: str, member_id: str, generation: int
    ) -> dict[str, Any] | None:
        message = HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id)
        version = self._beat_version
        return await asker.ask("Heartbeat", version, message.to_body(version))


class _Asker:
    """Sends one request after the other on one connection."""

    def __init__(self, coordinator: AsyncCoordinator) -> None:
        self._coordinator = coordinator
        self._asked = itertools.count(1)

    async def ask(self, api: str, version: int, body: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None if the connection ended.  Raises CoordinatorFailure on timeout."""
        request_id = f"control-{next(self._asked)}"
        send = Send(request_id, "control", "fencepost", api, version, body)
        answers = list(await self._coordinator.send(send))
        end = time.monotonic() + _ANSWER_CAP_S
        while time.monotonic() < end:
            for answer in answers:
                if answer.id == request_id:
                    return None if answer.body is None else dict(answer.body)
            answers = list(await self._coordinator.advance(1000))
        raise CoordinatorFailure(f"the control's {api} was not answered within {_ANSWER_CAP_S:g} s")
