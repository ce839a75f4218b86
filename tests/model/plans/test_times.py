"""What a plan holds against each other, and how much lag it bears."""

from __future__ import annotations

from functools import cache

import pytest
from support.runs import LEVELS, entries

from fencepost.conformance.targets.brokers.mock import SETTINGS, MockTarget
from fencepost.conformance.targets.target import Hints
from fencepost.model.coordinator import CONFIG_DEFAULTS, Config
from fencepost.model.plans.steps import Ms, Pause, Plan, Request
from fencepost.model.plans.times import (
    LEAST_LAG_MS,
    Contrast,
    Times,
    blurred,
    contrasts_of,
    times_for,
)
from fencepost.model.table.table import Level

DELAY = "group.initial.rebalance.delay.ms"
TARGETS: dict[str, tuple[Config, Hints]] = {
    "kafka": ({**CONFIG_DEFAULTS, DELAY: 0}, Hints()),
    "kafka with a delay": ({**CONFIG_DEFAULTS, DELAY: 3000}, Hints()),
    "short sessions": ({**CONFIG_DEFAULTS, DELAY: 0, "group.min.session.timeout.ms": 100}, Hints()),
    "mock": ({**CONFIG_DEFAULTS, **SETTINGS}, MockTarget.hints),
    "mock without a delay": ({**CONFIG_DEFAULTS, **SETTINGS, DELAY: 0}, MockTarget.hints),
}
LAGS = (300, 450, 1000, 2000, 3000, 5000, 6000, 7500, 10_000, 15_000)
SHORT, LONG = Ms("short session"), Ms("session")


def times(target: str, lag_ms: int) -> Times:
    config, hints = TARGETS[target]
    return times_for(config, lag_ms=lag_ms, session_ms=hints.session_ms, tick_ms=hints.tick_ms)


@cache
def cases(target: str) -> list[Plan]:
    delayed = bool(TARGETS[target][0][DELAY])
    fit = [e for e in entries() if e.delayed in {None, delayed}]
    return [e.case(LEVELS, delayed=delayed) for e in fit]


def plan(*fields: str, pauses: tuple[Pause, ...] = ()) -> Plan:
    asks = [Request(f, "a", "JoinGroup", {"session_timeout_ms": Ms(f)}) for f in fields]
    return Plan("x/y", "", (), Level.MUST, (*asks, *pauses))


@pytest.mark.parametrize("target", TARGETS)
def test_an_idle_target_blurs_nothing(target: str) -> None:
    """Nor does a lag of one and a half times that for which a case was written."""
    sharp = times(target, LEAST_LAG_MS)
    for case in cases(target):
        assert blurred(case, sharp, LEAST_LAG_MS) is None, case.id
        assert blurred(case, sharp, LEAST_LAG_MS * 3 // 2) is None, case.id


@pytest.mark.parametrize("lag_ms", LAGS)
@pytest.mark.parametrize("target", TARGETS)
def test_every_contrast_is_one_or_is_said_to_be_none(target: str, lag_ms: int) -> None:
    """With lag as it was expected, and twice as much.  Short and long are never the same."""
    written = times(target, lag_ms)
    for allowed in (lag_ms, 2 * lag_ms):
        for case in cases(target):
            if blurred(case, written, allowed) is not None:
                continue
            fields = [v for s in case.steps if isinstance(s, Request) for v in s.fields.values()]
            named = {value for value in fields if isinstance(value, Ms)}
            for short in named & {SHORT, Ms("short rebalance")}:
                for long in named & {LONG, Ms("rebalance")}:
                    assert written.of(long) - written.of(short) >= 3 * allowed, case.id


@pytest.mark.parametrize("lag_ms", [lag for lag in LAGS if lag <= 6000])
def test_long_times_grow_where_the_settings_allow(lag_ms: int) -> None:
    for target in ("kafka", "short sessions", "mock without a delay"):
        written = times(target, lag_ms)
        for case in cases(target):
            assert blurred(case, written, lag_ms) is None, (target, case.id)


def test_who_is_waited_for_longer_than_a_session_is_so_when_sessions_grow() -> None:
    assert times("mock", 300).session == MockTarget.hints.session_ms
    grown = times("mock", 600).session
    assert grown > MockTarget.hints.session_ms
    assert MockTarget.hints.patience_for(grown) == grown + 1000
    assert Hints().patience_for(200_000) == Hints().patience_ms


def test_a_session_that_may_not_grow_is_a_blur() -> None:
    config = {**CONFIG_DEFAULTS, DELAY: 0, "group.max.session.timeout.ms": 7000}
    (case,) = [c for c in cases("kafka") if c.id == "SESSION-EXPIRED/silent-member"]
    why = blurred(case, times_for(config, lag_ms=300), 300)
    assert why == "300 ms of lag had to be allowed, which blurs session and short session"


def test_a_rebalance_is_no_group_session() -> None:
    case = plan("rebalance", "group session")
    assert blurred(case, times("mock", 300), 300) is None


def test_a_margin_is_longer_than_the_lag() -> None:
    pause = plan("session", pauses=(Pause(),))
    sharp = times("kafka", 300)
    assert blurred(pause, sharp, 600) is None
    assert blurred(pause, sharp, 601) == (
        "601 ms of lag had to be allowed, more than its margin of 600 ms"
    )


def test_a_plan_without_timers_bears_a_stall() -> None:
    assert blurred(plan("session", "rebalance"), times("kafka", 300), 5000) is None
    assert blurred(plan("session", "rebalance"), times("kafka", 300), 12_000) is not None


def test_all_times_that_differ_are_held_against_each_other() -> None:
    case = plan("session", "short session", pauses=(Pause((SHORT,)),))
    assert list(contrasts_of(case, times("kafka", 300))) == [
        Contrast(None, LONG),
        Contrast(None, SHORT),
        Contrast(LONG, SHORT, paused=True),
    ]
    ticks = plan("two ticks", "three ticks", "session", "formation")
    assert list(contrasts_of(ticks, times("kafka", 300)))[3:] == [
        Contrast(Ms("three ticks"), Ms("two ticks"))
    ]
    assert list(contrasts_of(plan("delay"), times("kafka", 300))) == []
