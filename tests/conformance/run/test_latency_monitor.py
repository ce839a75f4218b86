"""Lag: what is measured, what follows from it, and a control that sees timers fire or is silent."""

from __future__ import annotations

import asyncio
import contextlib
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from support.control import meter_of
from support.real_clock import RealClockModel
from support.virtual_clock import at_once

from fencepost.conformance.run import latency_monitor
from fencepost.conformance.run.latency_monitor import Control, LagMeter, Samples, TimerRound
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.coordinator import Answer, CoordinatorFailure, Send
from fencepost.model.plans.times import LEAST_LAG_MS

PATIENCE_S = 60


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

    monkeypatch.setattr(latency_monitor, "bisect_left", adds)
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
    waiting = asyncio.create_task(meter.timers_seen(50.0, 60))
    await asyncio.sleep(1)
    assert not waiting.done()
    meter.rounds.append(TimerRound(45.0, 51.0, fired=True))
    await waiting
    begun = time.monotonic()
    await meter.timers_seen(99.0, 7)
    assert time.monotonic() - begun == pytest.approx(7, abs=0.2)


@at_once
async def test_a_cut_is_told_from_the_end_of_the_target() -> None:
    measured = await control(RealClockModel())
    task = asyncio.create_task(measured.run())
    assert await measured.meter.recovers(5)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert not await measured.meter.recovers(5)


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
    meter = await running(await control(RealClockModel()), lambda meter: len(meter.rounds) > 1)
    assert {each.fired for each in meter.rounds} == {True}
    assert meter.samples


@at_once
async def test_a_lost_first_timer_is_not_the_controls_business() -> None:
    forgetful = RealClockModel(find_revision("mutant:kafka-9752"))
    measured = await control(RealClockModel(), forgetful)
    meter = await running(measured, lambda meter: meter.rounds)
    assert {each.fired for each in meter.rounds} == {True}


@at_once
async def test_timers_are_seen_not_to_fire() -> None:
    measured = await control(RealClockModel(), session_ms=60_000)

    async def soon(_: float) -> None:
        await nap(0.001)

    nap = asyncio.sleep
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "sleep", soon)
        meter = await running(measured, lambda meter: meter.rounds)
    assert {each.fired for each in meter.rounds} == {False}
    assert not meter.trustworthy(0, meter.rounds[-1].ended, 10**6)


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
async def test_a_control_that_fails_is_noted_and_tried_again(
    kind: type[RealClockModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latency_monitor, "_ANSWER_CAP_S", 0.05)
    measured = await control(kind(), kind())
    await measured.warm_up(rounds=1)
    meter = await running(measured, lambda meter: len(meter.lost) > 3 and meter.failed_rounds > 1)
    assert ([*meter.answered], meter.rounds) == ([], [])
    assert len(meter.samples) > len(meter.lost)  # our own loop is watched on
    assert not meter.trustworthy(meter.lost[0][0], meter.lost[-1][1], 10**6)


def closed(_: Send, answer: Answer) -> Answer:
    return Answer(answer.id, answer.at_ms, None)


@at_once
async def test_a_connection_that_is_closed_is_a_failure() -> None:
    measured = await control(RealClockModel(lie=closed), RealClockModel(lie=closed))
    meter = await running(measured, lambda meter: len(meter.lost) > 3)
    assert ([*meter.answered], meter.rounds) == ([], [])


@at_once
async def test_after_a_cut_the_control_goes_on() -> None:
    cuts = [True] * 3

    def sometimes(send: Send, answer: Answer) -> Answer:
        return closed(send, answer) if cuts and cuts.pop() else answer

    measured = await control(RealClockModel(lie=sometimes))
    meter = await running(measured, lambda meter: len(meter.answered) > 3)
    assert len(meter.lost) == 3


@at_once
async def test_a_refused_member_shows_no_timer() -> None:
    def refused(send: Send, answer: Answer) -> Answer:
        body = {**(answer.body or {}), "errorCode": 26}
        return replace(answer, body=body) if send.api == "JoinGroup" else answer

    measured = await control(RealClockModel(), RealClockModel(lie=refused))
    meter = await running(measured, lambda meter: meter.failed_rounds > 1)
    assert meter.rounds == []


def beats(*codes: int) -> Callable[[Send, Answer], Answer]:
    """The control's heartbeats are answered with these codes, and then as usual."""
    left = list(codes)

    def answered(send: Send, answer: Answer) -> Answer:
        if send.api != "Heartbeat" or not left:
            return answer
        return replace(answer, body={**(answer.body or {}), "errorCode": left.pop(0)})

    return answered


@pytest.mark.parametrize("code", [14, 15, 16, 0])
@at_once
async def test_a_coordinator_that_moves_by_itself_is_noted(code: int) -> None:
    measured = await control(RealClockModel(lie=beats(25, code)))
    meter = await running(measured, lambda meter: len(meter.answered) > 5)
    (moved,) = meter.moves
    assert meter.has_moved(moved - 0.5, moved + 0.5)
    assert not meter.has_moved(moved + 2, moved + 3)
    meter.outages = [(moved - 2, moved - 1)]
    assert not meter.has_moved(moved - 3, moved + 1), "it was ended on purpose just before"


@at_once
async def test_a_target_that_takes_everybody_for_a_member_moves_nowhere() -> None:
    measured = await control(RealClockModel(lie=beats(*[0] * 100)))
    meter = await running(measured, lambda meter: len(meter.answered) > 5)
    assert meter.moves == []
