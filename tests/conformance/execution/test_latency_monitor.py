"""Lag: what is measured, what follows from it, and a control that sees timers fire or is silent."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

import pytest
from support.real_clock import RealClockModel
from support.virtual_clock import at_once

from fencepost.conformance.execution import latency_monitor
from fencepost.conformance.execution.latency_monitor import LEAST_LAG_MS, Control, LagMeter
from fencepost.conformance.targets.registry import find_revision
from fencepost.model.coordinator import Answer, CoordinatorFailure, Send

PATIENCE_S = 60


# Arithmetic.


@pytest.mark.parametrize(
    ("samples", "lag_ms"),
    [
        ([], LEAST_LAG_MS),
        ([0.01], LEAST_LAG_MS),
        ([0.1], LEAST_LAG_MS),
        ([0.101], 303),
        ([0.5, 0.01, 2.0, 0.3], 6000),
    ],
)
def test_three_times_the_worst_but_never_too_little(samples: list[float], lag_ms: int) -> None:
    assert LagMeter([(10.5, seconds) for seconds in samples]).lag_ms(10, 11) == lag_ms


@pytest.mark.parametrize(
    ("at", "counts"), [(8.9, False), (9.0, True), (10.5, True), (12.0, True), (12.1, False)]
)
def test_a_second_before_and_after_counts(at: float, counts: bool) -> None:
    meter = LagMeter([(at, 0.05)])
    assert meter.worst_ms(10, 11) == (50 if counts else 0)


def test_what_is_noted_is_stamped_now() -> None:
    meter = LagMeter()
    began = time.monotonic()
    meter.note(0.5)
    assert meter.worst_ms(began, time.monotonic()) == 500


def test_what_is_still_waited_for_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    meter = LagMeter()
    with meter.measured():
        now[0] = 14.0
        assert meter.worst_ms(10, 14) == 4000
        assert meter.worst_ms(5, 8) == 0  # it had not begun
        now[0] = 15.0
    assert (meter.waiting, meter.samples) == ([], [(15.0, 5.0)])
    assert meter.worst_ms(11, 12) == 5000  # it was under way all the time
    assert meter.worst_ms(5, 8) == 0


def test_what_failed_was_no_measure() -> None:
    meter = LagMeter()
    with pytest.raises(CoordinatorFailure), meter.measured():
        raise CoordinatorFailure("it fell over")
    assert (meter.waiting, meter.samples) == ([], [])


# Trust.


@pytest.mark.parametrize(
    ("worst", "lag_ms", "trusted"), [(0.1, 300, True), (0.101, 300, False), (0.101, 303, True)]
)
def test_a_lag_that_the_control_came_near_to_is_not_trusted(
    worst: float, lag_ms: int, trusted: bool
) -> None:
    assert LagMeter([(10.5, worst)]).trustworthy(10, 11, lag_ms) is trusted


@pytest.mark.parametrize(
    ("expiries", "trusted"),
    [
        ([], True),
        ([(10.5, True)], True),
        ([(10.5, False)], False),
        ([(9.0, False), (10.5, True)], True),
        ([(10.5, False), (50.0, True)], False),
        ([(50.0, False)], True),
    ],
)
def test_timers_that_never_fire_are_not_trusted(
    expiries: list[tuple[float, bool]], trusted: bool
) -> None:
    assert LagMeter(expiries=expiries).trustworthy(10, 11, LEAST_LAG_MS) is trusted


# The control.


async def control(
    quick: RealClockModel, timed: RealClockModel | None = None, session_ms: int = 100
) -> Control:
    return Control(quick, timed or RealClockModel(), await quick.hello(), session_ms)


async def running(measured: Control, seen: Callable[[LagMeter], object]) -> LagMeter:
    """The control's meter, once this was seen in it."""
    task = asyncio.create_task(measured.run())
    async with asyncio.timeout(PATIENCE_S):
        while not seen(measured.meter):
            await asyncio.wait([task], timeout=0.01)
            assert not task.done()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return measured.meter


@at_once
async def test_a_quick_target_is_allowed_the_least() -> None:
    measured = await control(RealClockModel())
    lag_ms = await measured.warm_up()
    assert len(measured.meter.samples) == 10
    assert lag_ms == max(LEAST_LAG_MS, 3 * int(max(s for _, s in measured.meter.samples) * 1000))


@at_once
async def test_a_late_target_is_allowed_more() -> None:
    measured = await control(RealClockModel(late_ms=150))
    assert await measured.warm_up(rounds=2) >= 3 * 150


@at_once
async def test_timers_are_seen_to_fire() -> None:
    meter = await running(await control(RealClockModel()), lambda meter: len(meter.expiries) > 1)
    assert [fired for _, fired in meter.expiries] == [True] * len(meter.expiries)
    assert meter.samples


@at_once
async def test_a_lost_first_timer_is_not_the_controls_business() -> None:
    forgetful = RealClockModel(find_revision("mutant:kafka-9752"))
    measured = await control(RealClockModel(), forgetful)
    meter = await running(measured, lambda meter: meter.expiries)
    assert {fired for _, fired in meter.expiries} == {True}


@at_once
async def test_timers_are_seen_not_to_fire() -> None:
    measured = await control(RealClockModel(), session_ms=60_000)

    async def soon(_: float) -> None:
        await nap(0.001)

    nap = asyncio.sleep
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "sleep", soon)
        meter = await running(measured, lambda meter: meter.expiries)
    assert {fired for _, fired in meter.expiries} == {False}
    assert not meter.trustworthy(0, meter.expiries[-1][0], 10**6)


class Silent(RealClockModel):
    """It takes requests and never answers."""

    async def send(self, request: Send) -> list[Answer]:
        del request
        return []

    async def advance(self, ms: int) -> list[Answer]:
        return await super().advance(min(ms, 1))


class Broken(RealClockModel):
    async def send(self, request: Send) -> list[Answer]:
        raise CoordinatorFailure(f"{request.api}: it fell over")


@pytest.mark.parametrize("kind", [Silent, Broken])
@at_once
async def test_a_target_that_fails_ends_the_control_quietly(
    kind: type[RealClockModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latency_monitor, "_ANSWER_CAP_S", 0.05)
    measured = await control(kind(), kind())
    await measured.warm_up()
    assert measured.meter.expiries == []
    async with asyncio.timeout(PATIENCE_S):
        await measured._beat()
        await measured._expire()
    assert measured.meter.expiries == []
    await running(measured, lambda meter: meter.samples)  # our own loop is watched on


@at_once
async def test_a_connection_that_is_closed_is_no_failure() -> None:
    def closed(_: Send, answer: Answer) -> Answer:
        return Answer(answer.id, answer.at_ms, None)

    measured = await control(RealClockModel(lie=closed), RealClockModel(lie=closed))
    meter = await running(measured, lambda meter: meter.expiries)
    assert {fired for _, fired in meter.expiries} == {False}
