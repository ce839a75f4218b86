"""Tasks in workers: they report as they go, and none outlives its time, its stop or us."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from support.tasks import counts, dies, fails, halves, hangs, is_running, waits

from fencepost.properties.workers.processes import (
    Stop,
    Task,
    Tell,
    collect_seldom,
    run_forked,
    run_side_by_side,
    run_task,
    run_tasks,
)

LONG_S = 300.0


async def test_it_tells_as_it_goes_and_ends() -> None:
    told: list[Any] = []
    assert await run_task(Task("count", counts, 5, LONG_S), told.append, Stop()) is None
    assert told == [0, 1, 2, 3, 4]


async def test_at_the_end_of_its_time_it_may_tell_what_it_has() -> None:
    told: list[Any] = []
    assert await run_task(Task("wait", waits, "last words", 0.0), told.append, Stop()) is None
    assert told[1:] == ["last words"]


async def test_an_end_that_is_wished_for_is_passed_on() -> None:
    told: list[Any] = []
    stop = Stop()

    def tell(said: Any) -> None:
        told.append(said)
        stop.ask()

    assert await run_task(Task("wait", waits, "bye", LONG_S), tell, stop) is None
    assert told[1:] == ["bye"]


async def test_one_that_hangs_is_killed() -> None:
    told: list[int] = []
    stop = Stop()

    def tell(process: int) -> None:
        told.append(process)
        stop.ask()

    wrong = await run_task(Task("hang", hangs, None, LONG_S), tell, stop, grace_s=0.1)
    assert "did not end within 0.1 s" in str(wrong)
    (process,) = told
    assert not is_running(process)


async def test_one_that_dies_is_told_of() -> None:
    told: list[Any] = []
    wrong = await run_task(Task("die", dies, 3, LONG_S), told.append, Stop())
    assert told == ["alive"]
    assert "ended before its work did" in str(wrong)


async def test_what_it_raises_is_told_with_its_place() -> None:
    wrong = await run_task(Task("fail", fails, "no such thing", LONG_S), print, Stop())
    assert str(wrong).startswith("ValueError: no such thing (tasks.py, line ")


async def test_a_cancelled_one_is_gone() -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = Task("hang", hangs, None, LONG_S)
    running = asyncio.create_task(run_task(task, started.set_result, Stop()))
    process = await asyncio.wait_for(started, LONG_S)
    assert is_running(process)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_running(process)


async def test_side_by_side_one_that_fails_is_named_and_the_others_go_on() -> None:
    told: list[Any] = []
    tasks = [Task(f"count {n}", counts, n, LONG_S) for n in (1, 2)]
    tasks.insert(1, Task("bad", fails, "no", LONG_S))
    lost = await run_tasks(tasks, told.append, Stop(), jobs=2)
    assert list(lost) == ["bad"]
    assert sorted(told) == [0, 0, 1]


async def test_after_the_wish_of_an_end_none_begins() -> None:
    told: list[Any] = []
    stop = Stop()
    stop.ask()
    assert await run_tasks([Task("c", counts, 3, LONG_S)], told.append, stop, jobs=1) == {}
    assert told == []


def test_results_come_from_workers_and_errors_are_raised_again() -> None:
    assert dict(run_side_by_side(halves, [2, 4, 6], jobs=2)) == {2: 1, 4: 2, 6: 3}
    with pytest.raises(ValueError, match="3 is odd"):
        list(run_side_by_side(halves, [2, 3], jobs=2))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("jobs", [1, 2])
def test_forked_work_may_be_any_function_and_its_results_are_in_order(jobs: int) -> None:
    heard: list[int] = []

    def squared(number: int, tell: Tell) -> int:
        tell(number)
        return number * number

    tasks = (partial(squared, number) for number in range(5))
    assert run_forked(tasks, jobs, heard.append) == [0, 1, 4, 9, 16]
    assert sorted(heard) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_first_forked_task_that_fails_raises_here(jobs: int) -> None:
    def inverse(number: int, _: Tell) -> float:
        return 1 / number

    tasks = [partial(inverse, number) for number in (1, 0, 2, 0)]
    with pytest.raises(ZeroDivisionError) as raised:
        run_forked(tasks, jobs, print)
    assert raised.traceback[-1].name == "inverse"


@pytest.fixture
def pythons_thresholds() -> Iterator[tuple[int, ...]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield gc.get_threshold()
    gc.set_threshold(*before)


@pytest.mark.parametrize("jobs", [1, 2])
def test_garbage_is_collected_seldom_during_forked_work_and_as_before_after_it(
    pythons_thresholds: tuple[int, ...], jobs: int
) -> None:
    def thresholds(_: object) -> tuple[int, ...]:
        with collect_seldom():  # once more: it changes nothing
            pass
        return gc.get_threshold()

    frozen = gc.get_freeze_count()
    for during in run_forked([thresholds], jobs, lambda _: None):
        assert during[0] > 10 * pythons_thresholds[0]
    assert gc.get_threshold() == pythons_thresholds
    assert gc.get_freeze_count() == frozen
