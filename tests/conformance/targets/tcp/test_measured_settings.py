"""Settings that a broker doesn't report are measured, and said to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.tcp.liars import Broker, answer, serve
from support.tcp.over_tcp import serving
from support.tcp.tcp_scripts import SHORT, target

from fencepost.conformance.targets.tcp import measured_settings
from fencepost.conformance.targets.tcp.measured_settings import DELAY, LEAST, MOST, SIZE
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.conformance.wire.codec import RequestFrame
from fencepost.model.coordinator import CONFIG_DEFAULTS


class _Silent(TcpTarget):
    """A target whose broker reports no settings."""

    async def _reported_settings(self) -> dict[str, int | None]:
        await super()._reported_settings()
        return {}


@pytest.mark.parametrize(
    "settings",
    [
        {DELAY: 0, LEAST: 6_000, MOST: 1_800_000},
        {DELAY: 400, LEAST: 0, MOST: 300_000, SIZE: 3},
        {DELAY: 0, LEAST: 1_234, MOST: 2**31 - 1, SIZE: 1},
        {DELAY: 0, LEAST: 20_000, MOST: 77_777},
    ],
    ids=str,
)
async def test_they_are_those_that_the_broker_was_started_with(
    settings: Mapping[str, int],
) -> None:
    async with serving("model", settings) as address, _Silent(address) as opened:
        assert {key: opened.settings[key] for key in settings} == settings
        sources = {key: opened.settings_source[key] for key in settings}
        assert set(sources.values()) == {"measured"}
        assert opened.settings_source["offsets.retention.check.interval.ms"] == "assumed"
        assert [remark.partition(":")[0] for remark in opened.remarks] == [
            "settings measured",
            "settings assumed",
        ]


async def test_what_the_user_gives_is_not_measured() -> None:
    given = {DELAY: 1, LEAST: 2, MOST: 3, SIZE: 4}
    async with serve() as broker, target(broker, measures=True, settings=given) as opened:
        assert {key: opened.settings[key] for key in given} == given
        assert "JoinGroup" not in [request.api for request in broker.requests]
        said, assumed = opened.remarks
        assert said.startswith("settings given with --set: group.initial.rebalance.delay.ms 1, ")
        assert assumed.startswith("settings assumed: offsets.retention.check.interval.ms 600000, ")


async def test_what_the_broker_reports_is_said_to_be_read() -> None:
    async with serving("model", {LEAST: 1_234}) as address, TcpTarget(address) as opened:
        (read,) = (r for r in opened.remarks if r.startswith("settings read from the broker: "))
    assert f"{LEAST} 1234" in read


async def test_a_broker_that_accepts_no_join_has_the_defaults() -> None:
    async with serve() as broker, target(broker, measures=True) as opened:
        cleans = {"offsets.retention.check.interval.ms": 600_000}
        assert opened.settings == CONFIG_DEFAULTS | cleans
        assert set(opened.settings_source.values()) == {"assumed"}
        remark, assumed = opened.remarks
        assert remark == "no join was accepted, with any session timeout"
        assert assumed == (
            "settings assumed: group.initial.rebalance.delay.ms 3000, group.min.session.timeout.ms "
            "6000, group.max.session.timeout.ms 1800000, group.max.size none, "
            "offsets.retention.check.interval.ms 600000, offset.metadata.max.bytes none, "
            "message.max.bytes none: give --set KEY=VALUE where the broker has another"
        )


async def test_a_delay_that_depends_on_the_session_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """tansu answers after half of the session timeout."""

    async def waited_ms(_: object, session_ms: int) -> int:
        return session_ms // 2

    monkeypatch.setattr(measured_settings._Joins, "waited_ms", waited_ms)
    async with serving("model", {DELAY: 0}) as address, _Silent(address) as opened:
        assert opened.settings_source[DELAY] == "assumed"
        assert opened.remarks[0] == (
            "the first join of a group waits for 5000 ms with a session of 10000 ms, and for 10000 "
            "ms with one of 20000 ms: no initial delay is like that"
        )


async def test_sessions_that_are_no_range_are_no_bounds() -> None:
    def script(_: Broker, request: RequestFrame) -> bytes | None:
        if request.api != "JoinGroup":
            return None
        refused = request.body["sessionTimeoutMs"] % 400
        body: dict[str, Any] = {"errorCode": 26 if refused else 79, "memberId": "m", "members": []}
        return answer(request, body)

    async with serve(script) as broker, target(broker, measures=True, deadlines=SHORT) as opened:
        assert opened.settings_source[LEAST] == opened.settings_source[MOST] == "assumed"
        assert "the session timeouts that it accepts are no range" in opened.remarks
