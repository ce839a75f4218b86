"""Attempts that begin before their turn."""

from __future__ import annotations

import asyncio

import pytest
from support.runs import KAFKA_4, LEVELS

from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run import attempts
from fencepost.conformance.run.attempts import FurtherAttempts, RunningAttempts
from fencepost.properties.judging.outcome import CaseResult, Outcome

CASE = find_suite("catalogue", KAFKA_4).entries[0].case(LEVELS, delayed=False)


class Runs:
    """Attempts that end when the test says so."""

    def __init__(self) -> None:
        self.begun = 0
        self.cancelled = 0
        self.end = asyncio.Event()

    async def __call__(self) -> CaseResult:
        self.begun += 1
        number = self.begun
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return CaseResult(CASE, Outcome.FAIL, CASE.level, f"attempt {number}")


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "APART_S", 0.0)


async def test_they_run_side_by_side_and_come_in_order() -> None:
    runs = Runs()
    async with FurtherAttempts(runs, asyncio.Semaphore(5)) as further:
        further.begin(2)
        further.begin(2)  # they are there
        await turns()
        assert runs.begun == 2
        runs.end.set()
        results = [await further.next(), await further.next(), await further.next()]
    assert [result and result.message for result in results] == ["attempt 1", "attempt 2", None]


async def test_those_that_are_not_needed_are_cancelled() -> None:
    runs = Runs()
    async with FurtherAttempts(runs, asyncio.Semaphore(5)) as further:
        further.begin(2)
        await turns()
    assert runs.cancelled == 2


async def test_there_may_be_no_place_for_one() -> None:
    runs = Runs()
    places = asyncio.Semaphore(1)
    async with places, FurtherAttempts(runs, places) as further:
        further.begin(2)
        assert await further.next() is None
        assert runs.begun == 0


async def test_a_violation_in_one_that_is_not_needed_is_not_lost() -> None:
    runs = Runs()
    async with FurtherAttempts(runs, asyncio.Semaphore(5)) as further:
        further.begin(1)
        assert further.contradiction(lambda _: True) is None
        runs.end.set()
        await turns()
        found = further.contradiction(lambda result: result.outcome is Outcome.FAIL)
        assert found is not None
        assert further.contradiction(lambda result: result.outcome is Outcome.PASS) is None


def test_progress_says_what_is_being_waited_for() -> None:
    now = 100.0
    running = RunningAttempts(lambda: now)
    assert running.words() == ""
    with running.until_broker(), running.for_s(20.4), running.for_s(7):
        assert running.words() == (
            "2 cases wait for timeouts, about 20 s, 1 case waits for the target to start"
        )
        now = 110.0
        with running.until_broker() as begins:
            begins()
            begins()
            assert running.words() == (
                "1 case waits for timeouts, about 10 s, 1 case waits for the target to start"
            )
    assert running.words() == ""
