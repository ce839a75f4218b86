"""A control that sees timers fire, or is silent."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from support.real_clock import RealClockModel
from support.virtual_clock import at_once

from fencepost.conformance.run import latency_monitor
from fencepost.conformance.run.control_group import ClassicControlGroup
from fencepost.conformance.run.latency_monitor import Control
from fencepost.conformance.runtime.lag_meter import LagMeter
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.coordinator import Answer, CoordinatorFailure, Send
from fencepost.model.plans.times import LEAST_LAG_MS

PATIENCE_S = 60


# The control.


async def control(
    quick: RealClockModel, timed: RealClockModel | None = None, session_ms: int = 100
) -> Control:
    group = ClassicControlGroup(await quick.hello(), session_ms)
    return Control(quick, timed or RealClockModel(), group)


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
async def test_a_cut_is_told_from_the_end_of_the_target() -> None:
    measured = await control(RealClockModel())
    task = asyncio.create_task(measured.run())
    assert await measured.meter.recovers(5)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert not await measured.meter.recovers(5)


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
async def test_timers_are_seen_where_each_join_gets_an_id_first() -> None:
    quick, timed = RealClockModel(), RealClockModel()
    hello = await quick.hello()
    hello = dataclasses.replace(hello, apis={**hello.apis, "JoinGroup": (4, 9)})
    meter = await running(
        Control(quick, timed, ClassicControlGroup(hello, 100)), lambda meter: meter.rounds
    )
    assert ({each.fired for each in meter.rounds}, meter.failed_rounds) == ({True}, 0)


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
    assert meter.never_fires() is (len(meter.rounds) >= 3)


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
