"""Settings that a broker doesn't report are measured, and said to be."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from support.tcp.liars import Broker, answer, serve
from support.tcp.over_tcp import serving
from support.tcp.tcp_scripts import SHORT, target
from support.virtual_clock import run_at_once

from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.targets.tcp import measured_settings
from fencepost.conformance.targets.tcp.broker_connection import Door
from fencepost.conformance.targets.tcp.measured_settings import DELAY, LEAST, MOST, SIZE
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.conformance.wire.codec import RequestFrame
from fencepost.model.consumer.settings import (
    ASSIGNMENT_INTERVAL,
    HEARTBEAT_INTERVAL,
    SESSION_TIMEOUT,
)
from fencepost.model.coordinator import CONFIG_DEFAULTS, MIGRATION_POLICY, Topic
from fencepost.model.plans.times import LEAST_LAG_MS
from fencepost.model.revisions.revisions import find


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
        assert opened.remarks == ()
        said = opened.sources(opened.settings)
        assert [each.partition(":")[0] for each in said] == [
            "settings measured",
            "settings assumed",
        ]


async def test_what_the_user_gives_is_not_measured() -> None:
    given = {DELAY: 1, LEAST: 2, MOST: 3, SIZE: 4}
    async with serve() as broker, target(broker, measures=True, settings=given) as opened:
        assert {key: opened.settings[key] for key in given} == given
        assert "JoinGroup" not in [request.api for request in broker.requests]
        said, assumed = opened.sources(opened.settings)
        assert said.startswith("settings given with --set: group.initial.rebalance.delay.ms 1, ")
        assert assumed.startswith("settings assumed: offsets.retention.check.interval.ms 600000, ")


async def test_what_the_broker_reports_is_said_to_be_read() -> None:
    async with serving("model", {LEAST: 1_234}) as address, TcpTarget(address) as opened:
        (read,) = opened.sources({LEAST: 1_234})
    assert read == f"settings read from the broker: {LEAST} 1234"


async def test_a_broker_that_accepts_no_join_has_the_defaults() -> None:
    async with serve() as broker, target(broker, measures=True) as opened:
        cleans = {"offsets.retention.check.interval.ms": 600_000}
        assert opened.settings == CONFIG_DEFAULTS | cleans
        assert set(opened.settings_source.values()) == {"assumed"}
        assert opened.remarks == ("no join was accepted, with any session timeout",)
        (assumed,) = opened.sources(opened.settings)
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


TOPICS = {"t": Topic("AAAAAAAAAAAAAAAAAAAAAQ", 4)}


async def test_settings_of_the_consumer_protocol_are_measured() -> None:
    """The clock of the machine decides how exact the timeout is; the next test bounds the error."""
    settings = {SESSION_TIMEOUT: 1_000, HEARTBEAT_INTERVAL: 300, ASSIGNMENT_INTERVAL: 0}
    async with (
        ModelBroker(find("consumer-4.4"), settings) as broker,
        _Silent(str(broker.address)) as opened,
        opened.scope("a case") as scope,
    ):
        assert SESSION_TIMEOUT not in (await scope.reset({})).config
        config = (await scope.reset({}, TOPICS)).config
        assert config[HEARTBEAT_INTERVAL] == 300
        session_ms = config[SESSION_TIMEOUT]
        assert session_ms is not None
        assert session_ms <= 1_000
        assert (await scope.reset({}, TOPICS)).config == config
        measured, assumed = opened.sources(config)
    assert measured == (
        f"settings measured: {SESSION_TIMEOUT} {session_ms}, {HEARTBEAT_INTERVAL} 300"
    )
    assert "group.consumer.migration.policy bidirectional" in assumed
    assert not broker.groups.running.groups


class _Lagging:
    """A broker of the consumer protocol whose timers lag; `code`: it refuses every join."""

    def __init__(self, session_ms: int, lag_ms: int = 0, code: int = 0) -> None:
        self.until_s = (session_ms + lag_ms) / 1000
        self.code = code
        self.last_s: dict[str, float] = {}

    async def ask(self, *args: Any, timeout_s: float) -> SimpleNamespace:
        del timeout_s
        return SimpleNamespace(decoded=SimpleNamespace(body=self.answer(args[-1]["groupId"])))

    def answer(self, group_id: str) -> dict[str, Any]:
        now = time.monotonic()
        if self.code:
            return {"errorCode": self.code}
        if now - self.last_s.get(group_id, now) > self.until_s:
            return {"errorCode": 25}
        self.last_s[group_id] = now
        return {"errorCode": 0, "memberEpoch": 1, "heartbeatIntervalMs": 300}

    def measured(self) -> measured_settings.Measurement:
        door = Door(Address("127.0.0.1", 1), "")
        numbers = map(str, itertools.count())
        unknown = frozenset({SESSION_TIMEOUT, HEARTBEAT_INTERVAL})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(measured_settings, "ask", self.ask)
            measuring = measured_settings.measured_session(
                door, (0, 1), lambda: next(numbers), unknown
            )
            return run_at_once(measuring)


@pytest.mark.parametrize("lag_ms", [0, 100])
@pytest.mark.parametrize("session_ms", [300, 1_000, 5_500, 6_240, 6_000, 10_000, 45_000])
def test_a_session_is_measured_to_less_than_the_least_lag(session_ms: int, lag_ms: int) -> None:
    measured = _Lagging(session_ms, lag_ms).measured()
    assert measured.remarks == []
    assert measured.settings[HEARTBEAT_INTERVAL] == 300
    seen_ms = measured.settings[SESSION_TIMEOUT]
    assert seen_ms is not None
    assert session_ms - LEAST_LAG_MS < seen_ms <= session_ms + lag_ms
    if session_ms % 500 == 0:
        assert seen_ms == session_ms


def test_a_session_that_never_ends_is_not_measured() -> None:
    measured = _Lagging(10**9).measured()
    assert measured.settings == {HEARTBEAT_INTERVAL: 300}
    (remark,) = measured.remarks
    assert remark == "no silent member of the consumer protocol was removed within 46000 ms"


def test_a_join_that_is_refused_measures_nothing() -> None:
    measured = _Lagging(1_000, code=42).measured()
    assert measured.settings == {}
    assert measured.remarks == ["no join of the consumer protocol was accepted"]


async def test_settings_of_the_consumer_protocol_are_given() -> None:
    given = {SESSION_TIMEOUT: 7_000, HEARTBEAT_INTERVAL: 300, MIGRATION_POLICY: 1}
    async with (
        ModelBroker(find("consumer-4.4")) as broker,
        TcpTarget(str(broker.address), settings=given) as opened,
        opened.scope("a case") as scope,
    ):
        config = (await scope.reset({}, TOPICS)).config
        assert config.items() >= given.items()
        (said,) = (s for s in opened.sources(config) if "--set" in s)
    assert said.endswith("migration.policy upgrade")
