"""Errands: they tell as they go, and none outlives its time, its wish or us."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.night_errands import counts, dies, fails, hangs, is_running, waits

from fencepost.properties.workers.cancellation import Stop
from fencepost.properties.workers.pool import Errand, run_errand, run_errands

LONG_S = 300.0


async def test_it_tells_as_it_goes_and_ends() -> None:
    told: list[Any] = []
    assert await run_errand(Errand("count", counts, 5, LONG_S), told.append, Stop()) is None
    assert told == [0, 1, 2, 3, 4]


async def test_at_the_end_of_its_time_it_may_tell_what_it_has() -> None:
    told: list[Any] = []
    assert await run_errand(Errand("wait", waits, "last words", 0.0), told.append, Stop()) is None
    assert told[1:] == ["last words"]


async def test_an_end_that_is_wished_for_is_passed_on() -> None:
    told: list[Any] = []
    stop = Stop()

    def tell(said: Any) -> None:
        told.append(said)
        stop.ask()

    assert await run_errand(Errand("wait", waits, "bye", LONG_S), tell, stop) is None
    assert told[1:] == ["bye"]


async def test_one_that_hangs_is_killed() -> None:
    told: list[int] = []
    stop = Stop()

    def tell(process: int) -> None:
        told.append(process)
        stop.ask()

    wrong = await run_errand(Errand("hang", hangs, None, LONG_S), tell, stop, grace_s=0.1)
    assert "did not end within 0.1 s" in str(wrong)
    (process,) = told
    assert not is_running(process)


async def test_one_that_dies_is_told_of() -> None:
    told: list[Any] = []
    wrong = await run_errand(Errand("die", dies, 3, LONG_S), told.append, Stop())
    assert told == ["alive"]
    assert "ended before its work did" in str(wrong)


async def test_what_it_raises_is_told_with_its_place() -> None:
    wrong = await run_errand(Errand("fail", fails, "no such thing", LONG_S), print, Stop())
    assert str(wrong).startswith("ValueError: no such thing (night_errands.py, line ")


async def test_a_cancelled_one_is_gone() -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    errand = Errand("hang", hangs, None, LONG_S)
    running = asyncio.create_task(run_errand(errand, started.set_result, Stop()))
    process = await asyncio.wait_for(started, LONG_S)
    assert is_running(process)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_running(process)


async def test_side_by_side_one_that_fails_is_named_and_the_others_go_on() -> None:
    told: list[Any] = []
    errands = [Errand(f"count {n}", counts, n, LONG_S) for n in (1, 2)]
    errands.insert(1, Errand("bad", fails, "no", LONG_S))
    lost = await run_errands(errands, told.append, Stop(), jobs=2)
    assert list(lost) == ["bad"]
    assert sorted(told) == [0, 0, 1]


async def test_after_the_wish_of_an_end_none_begins() -> None:
    told: list[Any] = []
    stop = Stop()
    stop.ask()
    assert await run_errands([Errand("c", counts, 3, LONG_S)], told.append, stop, jobs=1) == {}
    assert told == []
