"""A target over TCP whose broker is a script: opened, asked, waited for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from support.tcp.liars import Broker, Script, answer, honest, serve

from fencepost.conformance.targets.tcp.cluster_admin import Deadlines
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.conformance.targets.tcp.tcp_coordinator import TcpScope
from fencepost.conformance.wire.codec import API_KEYS, RequestFrame
from fencepost.model.coordinator import Answer, AsyncCoordinator, Send
from fencepost.model.messages.messages import APIS

LONG_MS = 30_000
"""Never waited out: what is waited for comes."""

SHORT = Deadlines(connect_s=5, answer_s=0.1, coordinator_s=0.2, probe_s=0.1, cleanup_s=0.2)
PATIENT = Deadlines(connect_s=30, answer_s=30, coordinator_s=30, probe_s=30, cleanup_s=30)
BEAT: dict[str, Any] = {"groupId": "g", "generationId": 1, "memberId": "m", "groupInstanceId": None}
OK = {"errorCode": 0}


def target(broker: Broker, **options: Any) -> TcpTarget:
    return TcpTarget(
        broker.address, **{"deadlines": PATIENT, "probe": False, "measures": False, **options}
    )


@asynccontextmanager
async def scoped(script: Script = honest, **options: Any) -> AsyncIterator[tuple[TcpScope, Broker]]:
    async with (
        serve(script) as broker,
        target(broker, **options) as opened,
        opened.scope("case", restarts="failovers" in options) as scope,
    ):
        assert isinstance(scope, TcpScope)
        yield scope, broker


def send(api: str, version: int, body: Mapping[str, Any], rid: str = "r1", on: str = "c1") -> Send:
    return Send(rid, on, "app", api, version, body)


def beat(rid: str = "r1", on: str = "c1", group: str = "g") -> Send:
    return send("Heartbeat", 3, {**BEAT, "groupId": group}, rid, on)


async def one(scope: AsyncCoordinator, request: Send) -> Answer:
    answers = await scope.send(request) or await scope.advance(LONG_MS)
    assert [a.id for a in answers] == [request.id]
    return answers[0]


def on(api: str, reply: Any) -> Script:
    """The honest broker but for one API; `reply` is bytes, or makes them of the request."""

    def script(_: Broker, request: RequestFrame) -> bytes | None:
        if request.api != api:
            return None
        return reply(request) if callable(reply) else reply  # type: ignore[no-any-return]

    return script


def advertising(rest: Script = honest, **more: tuple[int, int]) -> Script:
    """The broker of `rest`, with these APIs too, or in these versions."""
    bounds = {"Metadata": (0, 8), "FindCoordinator": (0, 3)}
    bounds |= {name: (api.lowest, api.highest) for name, api in APIS.items()}
    del bounds["DeleteGroups"]  # or the clean-up would ask for it

    def script(broker: Broker, request: RequestFrame) -> bytes | None:
        if request.api != "ApiVersions":
            return rest(broker, request)
        rows = [
            {"apiKey": API_KEYS[name], "minVersion": low, "maxVersion": high}
            for name, (low, high) in (bounds | more).items()
        ]
        return answer(request, {"errorCode": 0, "apiKeys": rows})

    return script


def found(request: RequestFrame, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"coordinators": [row]} if request.version >= 4 else dict(row)
