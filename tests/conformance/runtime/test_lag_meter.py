"""Lag: what is measured, and what follows from it."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import pytest
from support.control import meter_of
from support.virtual_clock import at_once

from fencepost.conformance.runtime import lag_meter
from fencepost.conformance.runtime.lag_meter import LagMeter, Samples, TimerRound
from fencepost.model.coordinator import CoordinatorFailure
from fencepost.model.plans.times import LEAST_LAG_MS

# Arithmetic.


@pytest.mark.parametrize(
    ("samples", "lag_ms"),
    [
        ([], LEAST_LAG_MS),
        ([0.01], LEAST_LAG_MS),
        ([0.1], LEAST_LAG_MS),
        ([0.101], 303),
        ([1.0], 3000),
        ([1.01], 3010),
        ([0.5, 0.01, 2.0, 0.3], 4000),
    ],
)
def test_well_above_the_worst(samples: list[float], lag_ms: int) -> None:
    assert LagMeter(Samples((10.5, seconds) for seconds in samples)).lag_ms(10, 11) == lag_ms


@pytest.mark.parametrize(
    ("at", "counts"), [(8.9, False), (9.0, True), (10.5, True), (12.0, True), (12.1, False)]
)
def test_a_second_before_and_after_counts(at: float, counts: bool) -> None:
    meter = LagMeter(Samples([(at, 0.05)]))
    assert meter.worst_ms(10, 11) == (50 if counts else 0)


def test_what_is_noted_is_stamped_now() -> None:
    meter = LagMeter()
    began = time.monotonic()
    meter.note(0.5)
    assert meter.worst_ms(began, time.monotonic()) == 500


class EndsMeanwhile(Samples):
    """The event loop's thread goes on: as soon as the samples were read, a request ends."""

    meter: LagMeter

    def since(self, moment: float) -> Iterator[tuple[float, float]]:
        found = list(super().since(moment))
        self.meter.note(5.0)
        self.meter.waiting.clear()
        return iter(found)


def test_what_ends_while_it_is_judged_counts() -> None:
    samples = EndsMeanwhile()
    samples.meter = meter = LagMeter(samples)
    now = time.monotonic()
    meter.waiting.append(now - 5)
    assert meter.worst_ms(now - 1, now) >= 5000


def test_samples_are_read_while_one_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = Samples([(1.0, 0.1), (2.0, 0.2)])

    def adds(*given: Any, **limits: Any) -> int:
        samples.add(3.0, 0.3)
        return bisect_left(*given, **limits)

    monkeypatch.setattr(lag_meter, "bisect_left", adds)
    assert list(samples.since(1.5)) == [(2.0, 0.2)]
    assert len(samples) == 3
    samples._took.append(0.4)  # half of what `add` does
    assert [took for _, took in samples] == [0.1, 0.2, 0.3]


def test_what_is_still_waited_for_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    meter = LagMeter()
    with meter.measured():
        now[0] = 14.0
        assert meter.worst_ms(10, 14) == 4000
        assert meter.worst_ms(5, 8) == 0  # it had not begun
        now[0] = 15.0
    assert (meter.waiting, [*meter.samples]) == ([], [(15.0, 5.0)])
    assert meter.worst_ms(11, 12) == 5000  # it was under way all the time
    assert meter.worst_ms(5, 8) == 0


def test_what_failed_is_bad_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    meter = LagMeter()

    def fall_over() -> None:
        now[0] = 12.0
        raise CoordinatorFailure("it fell over")

    with pytest.raises(CoordinatorFailure), meter.measured():
        fall_over()
    assert (meter.waiting, [*meter.answered]) == ([], [])
    assert [*meter.samples] == [(12.0, 2.0)]  # it took that long at least
    assert meter.lost == [(10.0, 12.0)]
    assert meter.was_cut(10.5, 11)
    assert not meter.was_cut(5, 8)


# Trust: nothing is believed because nothing was seen.


def trusted(meter: LagMeter, lag_ms: int = LEAST_LAG_MS) -> bool:
    return meter.trustworthy(10, 11, lag_ms)


@pytest.mark.parametrize(
    ("worst", "lag_ms", "believed"), [(0.1, 300, True), (0.101, 300, False), (0.101, 303, True)]
)
def test_a_lag_that_the_control_came_near_to_is_not_trusted(
    worst: float, lag_ms: int, believed: bool
) -> None:
    assert trusted(meter_of([worst]), lag_ms) is believed


def test_a_control_that_never_was_answered_shows_nothing() -> None:
    assert not trusted(meter_of(answered=[]))
    assert not trusted(LagMeter())


@pytest.mark.parametrize(
    ("until", "again", "believed"),
    [(10.2, 10.9, True), (9.5, 10.6, False), (9.5, 99.0, False), (10.5, 99.0, True)],
)
def test_a_control_that_was_silent_meanwhile_shows_nothing(
    until: float, again: float, believed: bool
) -> None:
    answered = [t for t in meter_of().answered if t <= until or t >= again]
    assert trusted(meter_of(answered=answered)) is believed


def test_a_control_that_failed_meanwhile_shows_nothing() -> None:
    assert not trusted(meter_of(lost=[(10.4, 10.41)]))
    assert trusted(meter_of(lost=[(5.0, 5.01)]))


def test_a_broker_that_was_down_on_purpose_is_not_late() -> None:
    answered = [t for t in meter_of().answered if t < 10.2 or t > 10.8]
    meter = meter_of([0.6], at=10.7, answered=answered, lost=[(10.2, 10.3)], waiting=[10.25])
    meter.rounds = [TimerRound(4, 10.4, fired=False), TimerRound(10.8, 17, fired=True)]
    assert not trusted(meter)
    meter.outages = [(10.15, 10.7)]
    assert trusted(meter)


@pytest.mark.parametrize(
    ("rounds", "failed", "believed"),
    [
        ([], 0, False),  # not tried yet
        ([], 1, True),  # it can't be tried: this target refuses
        ([(4.5, 10.5, True)], 0, True),
        ([(4.5, 10.5, False)], 0, False),
        ([(4.5, 10.5, True), (10.5, 17.0, False)], 0, False),
        ([(1.0, 7.0, True)], 5, False),  # before, and it failed since
        ([(11.5, 17.0, True)], 0, True),
        ([(12.5, 18.0, True)], 0, False),  # too late to say anything
        ([(1.0, 7.0, False), (7.0, 12.0, True)], 0, True),
    ],
)
def test_timers_are_trusted_that_were_seen_to_fire_then(
    rounds: list[tuple[float, float, bool]], failed: int, believed: bool
) -> None:
    seen = [TimerRound(*each) for each in rounds]
    assert trusted(meter_of(rounds=seen, failed_rounds=failed)) is believed


@at_once
async def test_a_verdict_waits_for_timers_that_run() -> None:
    meter = meter_of(fired=())
    waiting = asyncio.create_task(meter.timers_tried(50.0, 60))
    await asyncio.sleep(1)
    assert not waiting.done()
    meter.rounds.append(TimerRound(45.0, 51.0, fired=True))
    await waiting
    begun = time.monotonic()
    await meter.timers_tried(99.0, 7)
    assert time.monotonic() - begun == pytest.approx(7, abs=0.2)


@at_once
async def test_a_target_is_calm_when_it_was_quick_for_a_while() -> None:
    meter = LagMeter()
    assert await meter.calms_down(300, within_s=20)
    begun = time.monotonic()
    meter.note(0.5)
    assert await meter.calms_down(300, within_s=20)
    assert 2 < time.monotonic() - begun < 5


@at_once
async def test_a_target_that_stays_late_is_not_waited_for() -> None:
    meter = LagMeter(waiting=[time.monotonic() - 1])
    begun = time.monotonic()
    assert not await meter.calms_down(300, within_s=20)
    assert 20 <= time.monotonic() - begun < 21


@pytest.mark.parametrize(
    ("fired", "believed"),
    [
        ([], True),
        ([False], False),
        ([False, False], False),
        ([False, False, False], True),
        ([True, False, False, False], False),
        ([False, False, False, True], False),
    ],
)
def test_timers_that_fire_never_are_no_late_ones(fired: list[bool], believed: bool) -> None:
    """A timer that fired once may be late; one that never did in three tries is not there."""
    meter = meter_of()
    meter.rounds = [TimerRound(9.9, 11.0, each) for each in fired]
    meter.failed_rounds = 1
    assert trusted(meter) is believed
    assert meter.never_fires() is (len(fired) >= 3 and not any(fired))
