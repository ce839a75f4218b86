"""What is judged beside the event loop: in a thread of its own, and only what can wait."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from support.runs import KAFKA_4, LEVELS
from support.tcp.over_tcp import catalogue, serving
from support.virtual_clock import at_once

from fencepost.conformance.run import certify
from fencepost.conformance.run.certify import Options, open_target
from fencepost.conformance.run.latency_monitor import verdict_of
from fencepost.conformance.runtime import event_loop
from fencepost.conformance.runtime.event_loop import (
    Turns,
    Window,
    aside,
    few_pauses,
    judged,
    shared_task,
    timed,
)
from fencepost.conformance.targets.target_registry import SIDE_BY_SIDE
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.oracle.verdict import Verdict

Beside = Callable[[Callable[[], Any]], Awaitable[tuple[Any, float]]]


@pytest.mark.parametrize(("beside", "thread"), [(aside, "listener"), (judged, "judge")])
async def test_the_loop_goes_on_meanwhile(beside: Beside, thread: str) -> None:
    looped = threading.Event()
    asyncio.get_running_loop().call_soon(looped.set)
    (went_on, name), seconds = await beside(
        lambda: (looped.wait(30), threading.current_thread().name)
    )
    assert went_on  # it would wait for ever in the loop's own thread
    assert name.startswith(thread)
    assert seconds >= 0
    assert timed(lambda: threading.current_thread().name)[0] != name


@pytest.mark.parametrize("other", [aside, judged])
async def test_what_takes_long_to_judge_holds_up_nothing(other: Beside) -> None:
    over = threading.Event()
    long = asyncio.ensure_future(judged(lambda: over.wait(30)))
    await other(over.set)
    assert (await long)[0]


@pytest.mark.parametrize("beside", [aside, judged])
async def test_what_fails_there_fails_here(beside: Beside) -> None:
    with pytest.raises(ZeroDivisionError):
        await beside(lambda: 1 // 0)


async def test_on_a_real_clock_all_is_judged_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = []

    def noted(*given: Any) -> Verdict:
        names.append(threading.current_thread().name)
        return verdict_of(*given)

    monkeypatch.setattr(certify, "verdict_of", noted)
    case = catalogue()["HEARTBEAT-STABLE/in-a-stable-group"].case(LEVELS, delayed=False)
    plan = msgspec.structs.replace(case, rules=())
    async with (
        serving("model") as address,
        open_target(TcpTarget(address, capacity=SIDE_BY_SIDE), KAFKA_4, Options()) as suite,
    ):
        results = [*await suite.try_cases([plan]), *await suite.try_cases([case])]
    assert [result.outcome for result in results] == [Outcome.PASS, Outcome.PASS]
    assert len(names) == 2
    assert all(name.startswith("judge") for name in names)


async def test_what_runs_side_by_side_begins_one_after_the_other() -> None:
    turns, begun = Turns(), []

    async def one(number: int) -> None:
        await turns.turn()
        begun.append((number, asyncio.get_running_loop().time()))

    await asyncio.gather(*(one(number) for number in range(4)))
    assert [number for number, _ in begun] == [0, 1, 2, 3]
    assert len({at for _, at in begun}) == 4


async def test_the_most_urgent_begins_first_and_who_is_cancelled_holds_up_nobody() -> None:
    turns, begun = Turns(), list[int]()

    async def one(urgency: int) -> None:
        await turns.turn(urgency=urgency)
        begun.append(urgency)

    tasks = [asyncio.create_task(one(urgency)) for urgency in (0, 1, 3, 2, 4)]
    await asyncio.sleep(0)
    tasks[2].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert begun == [0, 4, 2, 1]


@at_once
async def test_a_process_that_never_keeps_up_goes_on_after_a_while() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_loop, "_LATE_S", -1.0)
        async with asyncio.timeout(60):
            await event_loop.kept_up()


class _Cyclic:
    def __init__(self) -> None:
        self.itself = self


def test_what_was_there_before_is_not_looked_through_again_and_all_else_is() -> None:
    before = gc.get_threshold()
    with few_pauses():
        assert gc.get_freeze_count() > 1_000
        cyclic = weakref.ref(_Cyclic())
        gc.collect()
        assert cyclic() is None
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == before


def test_more_run_side_by_side_while_the_target_is_quick() -> None:
    window = Window(100)
    first = window.size
    assert not window.heard(500, first, 0)
    shrunk = window.size
    for running in range(shrunk):
        assert window.heard(20, running, 1)
    assert not window.heard(20, shrunk, 1)
    assert window.heard(20, shrunk, 1)
    assert window.size == shrunk + 1 < first


def test_before_it_was_late_each_that_begins_makes_room_for_one_more() -> None:
    window = Window(1000)
    for running in range(500):
        assert window.heard(20, running, running)
    assert window.size > 500


def test_few_run_while_the_target_is_late_and_more_again_when_it_is_not() -> None:
    window = Window(100)
    first = window.size
    for second in range(20):
        assert window.heard(500, 7, second)
        assert not window.heard(500, 8, second)
    assert window.size == 8 < first
    assert window.heard(20, 7, 20)
    for _ in range(1000):
        window.heard(20, 1000, 20)
    assert window.size == 100


def test_one_pause_shrinks_it_once_however_often_it_is_seen() -> None:
    window = Window(100)
    window.heard(500, 100, 10.0)
    once = window.size
    for _ in range(20):
        window.heard(500, 100, 10.9)
    assert window.size == once
    window.heard(500, 100, 11.0)
    assert window.size < once


def test_where_one_runs_at_a_time_it_may() -> None:
    window = Window(1)
    assert window.heard(500, 0, 0)
    assert not window.heard(500, 1, 0)
    assert window.heard(0, 0, 0)
    assert not window.heard(0, 1, 0)


async def test_what_waits_for_nothing_can_be_cancelled_between_two_cases() -> None:
    turns, begun = Turns(), list[int]()

    async def case(number: int) -> None:
        await turns.turn(at_once=True)
        begun.append(number)
        if number == 2:
            all_of_them.cancel()

    async def cases() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(100):
                group.create_task(case(number))

    all_of_them = asyncio.create_task(cases())
    with pytest.raises(asyncio.CancelledError):
        await all_of_them
    assert len(begun) < 10


async def test_a_shared_task_that_fails_after_all_were_cancelled_is_no_traceback() -> None:
    messages: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, message: messages.append(message))
    for run, expected in ((shared_task, 0), (asyncio.create_task, 1)):
        begun = asyncio.Event()

        async def fail(begun: asyncio.Event = begun) -> None:
            await begun.wait()
            raise ConnectionRefusedError

        async def wait(task: asyncio.Task[None]) -> None:
            await asyncio.shield(task)

        task = run(fail())
        waiter = asyncio.create_task(wait(task))
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.wait([waiter])
        begun.set()
        await asyncio.wait([task])
        del task, waiter
        gc.collect()
        assert len(messages) == expected
