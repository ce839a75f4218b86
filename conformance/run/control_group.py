"""Send what a control group sends: heartbeats of nobody, and a member that joins and falls silent.

A broker may have one protocol alone, so there is a group for each.  A session of the classic
protocol is as long as its join says; one of the consumer protocol is the broker's setting.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from msgspec import structs

from fencepost.conformance.cases.script import subscription
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.model.consumer.settings import SESSION_TIMEOUT
from fencepost.model.coordinator import (
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
    Hello,
    Send,
    UnsupportedError,
)
from fencepost.model.messages.consumer_messages import ConsumerGroupHeartbeatRequest, lone_join
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    SyncGroupRequest,
)
from fencepost.model.plans.times import times_for

NOBODY = "nobody"
"""The member id of a heartbeat that measures latency alone."""


class Probe:
    """Single requests on one connection; after a failure, on a new one.

    `name`: of its connections, and in messages; `within_s`: seconds that an answer may take.
    """

    def __init__(self, coordinator: AsyncCoordinator, name: str, within_s: float) -> None:
        self._coordinator = coordinator
        self._name = name
        self._within_s = within_s
        self._requests = itertools.count(1)
        self._connections = itertools.count(1)
        self._connection = name

    async def ask(self, api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its answer.

        Raises CoordinatorFailure if there is none, or its connection ended.
        """
        request_id = f"{self._name}-{next(self._requests)}"
        send = Send(request_id, self._connection, "fencepost", api, version, body)
        answers = list(await self._coordinator.send(send))
        end = time.monotonic() + self._within_s
        while time.monotonic() < end:
            for answer in answers:
                if answer.id != request_id:
                    continue
                if answer.body is None:
                    raise CoordinatorFailure(
                        f"the connection of the {self._name}'s {api} was closed"
                    )
                return dict(answer.body)
            answers = list(await self._coordinator.advance(1000))
        raise CoordinatorFailure(
            f"the {self._name}'s {api} was not answered within {self._within_s:g} s"
        )

    async def hang_up(self) -> None:
        """End the connection; the next request takes another."""
        with contextlib.suppress(CoordinatorFailure, UnsupportedError):
            await self._coordinator.disconnect(self._connection)
        self._connection = f"{self._name} {next(self._connections)}"


class ControlGroup(Protocol):
    """Requests of a group in one protocol.  `session_ms`: the session timeout of its members.

    Each method raises CoordinatorFailure or UnsupportedError where there is no proper answer.
    """

    session_ms: int

    async def heartbeat(self, probe: Probe, group: str, member_id: str, epoch: int) -> object:
        """Send a heartbeat; return the answer's error code."""
        ...

    async def join(self, probe: Probe, group: str) -> tuple[str, int]:
        """Make a member, and return its id and its epoch, or generation."""
        ...


_NO_ID_FIRST = 3


def _join_version(versions: Sequence[int]) -> int:
    """Return the highest version of a join that hands out no id first, or the lowest."""
    return max((v for v in versions if v <= _NO_ID_FIRST), default=versions[0])


class ClassicControlGroup:
    """A group of the classic protocol."""

    APIS: ClassVar = ("JoinGroup", "SyncGroup", "Heartbeat")

    def __init__(self, hello: Hello, session_ms: int) -> None:
        self.session_ms = session_ms
        self._join_version = _join_version(hello.versions("JoinGroup"))
        self._sync_version = hello.apis["SyncGroup"][0]
        self._beat_version = hello.apis["Heartbeat"][0]

    async def heartbeat(self, probe: Probe, group: str, member_id: str, epoch: int) -> object:
        """Send a heartbeat; return the answer's error code."""
        message = HeartbeatRequest(group_id=group, generation_id=epoch, member_id=member_id)
        version = self._beat_version
        return (await probe.ask("Heartbeat", version, message.to_body(version))).get("errorCode")

    async def join(self, probe: Probe, group: str) -> tuple[str, int]:
        """Make a member, and return its id and its generation.

        It syncs because a coordinator may have lost the timer that a join starts (KAFKA-9752).  A
        case finds that fault; here it would make all other results doubtful.
        """
        message = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.session_ms if self._join_version > 0 else -1,
            member_id="",
            protocol_type="consumer",
            protocols=(JoinProtocol(name="range", metadata=subscription("control")),),
        )
        version = self._join_version
        body = await probe.ask("JoinGroup", version, message.to_body(version))
        if body.get("errorCode") == Error.MEMBER_ID_REQUIRED.value:
            message = structs.replace(message, member_id=str(body.get("memberId", "")))
            body = await probe.ask("JoinGroup", version, message.to_body(version))
        if (code := body.get("errorCode")) != 0:
            raise CoordinatorFailure(f"the control's JoinGroup was refused: {code}")
        member_id = str(body.get("memberId", ""))
        sync = SyncGroupRequest(group_id=group, generation_id=1, member_id=member_id)
        await probe.ask("SyncGroup", self._sync_version, sync.to_body(self._sync_version))
        return member_id, 1


class ConsumerControlGroup:
    """A group of the consumer protocol."""

    APIS: ClassVar = ("ConsumerGroupHeartbeat",)

    def __init__(self, hello: Hello, session_ms: int) -> None:
        self.session_ms = session_ms
        self._version = hello.versions(*self.APIS)[-1]

    async def heartbeat(self, probe: Probe, group: str, member_id: str, epoch: int) -> object:
        """Send a heartbeat; return the answer's error code."""
        message = ConsumerGroupHeartbeatRequest(
            group_id=group, member_id=member_id, member_epoch=epoch
        )
        return (await self._ask(probe, message)).get("errorCode")

    async def join(self, probe: Probe, group: str) -> tuple[str, int]:
        """Make a member, and return its id and its epoch.

        It sends a heartbeat because a coordinator may begin no session at a join, which a case
        finds.
        """
        join = lone_join(group, self._version)
        body = await self._ask(probe, join)
        if (code := body.get("errorCode")) != 0:
            raise CoordinatorFailure(f"the control's join was refused: {code}")
        member_id = str(body.get("memberId") or join.member_id)
        epoch = int(body.get("memberEpoch") or 0)
        await self.heartbeat(probe, group, member_id, epoch)
        return member_id, epoch

    async def _ask(self, probe: Probe, message: ConsumerGroupHeartbeatRequest) -> dict[str, Any]:
        (api,) = self.APIS
        return await probe.ask(api, self._version, message.to_body(self._version))


def control_group(hello: Hello, config: Config) -> ControlGroup:
    """Return the group by which a target is measured: a classic one where it can be.

    Raises TargetUnavailableError for a target that has neither protocol.
    """
    classic, consumer = ClassicControlGroup.APIS, ConsumerControlGroup.APIS
    missing = [api for api in classic if api not in hello.apis]
    if not missing:
        return ClassicControlGroup(hello, times_for(config, lag_ms=1).short_session)
    session_ms = config.get(SESSION_TIMEOUT)
    if session_ms is not None and not set(consumer) - set(hello.apis):
        return ConsumerControlGroup(hello, session_ms)
    raise TargetUnavailableError(
        f"{hello.implementation} has a real clock and no {missing[0]}: how late such a target is, "
        f"is measured by {', '.join(classic)}, or by {', '.join(consumer)} where the revision has "
        "the consumer protocol and topics can be made (Metadata, CreateTopics)"
    )
