"""What drivers in Python share keeps the protocol, with a toy in place of a library."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from support.places import TESTS

from fencepost.conformance.clients import driver as driver_module
from fencepost.conformance.clients.driver import Driver, DriverEvent, Late
from fencepost.conformance.clients.driver_programs import Client, Program
from fencepost.model.plans.steps import Close, Commit, ResumePolling, StopPolling, Unsubscribe
from fencepost.properties.requirements.driver_messages import (
    ConsumerSettings,
    Done,
    Error,
    Log,
    Records,
    Refused,
    Unsupported,
)

TOY = TESTS / "support" / "clients" / "toy_driver.py"
PATIENCE_S = 60.0
SILENT_S = 0.1


def settings(topic: str = "t", group: str = "g") -> ConsumerSettings:
    return ConsumerSettings(bootstrap="127.0.0.1:1", group=group, topics=(topic,))


async def program() -> Program:
    return Program((sys.executable, str(TOY)))


@pytest_asyncio.fixture
async def toy() -> AsyncIterator[Driver]:
    async with Driver.start(Client("toy", program)) as driver:
        yield driver
        assert driver.fault is None


def of(kind: type) -> Callable[[DriverEvent], bool]:
    return lambda heard: isinstance(heard.event, kind)


async def next_of(toy: Driver, kind: type) -> DriverEvent:
    """The next event of this kind from now on."""
    heard = await toy.wait_for(of(kind), PATIENCE_S, since=len(toy.events))
    assert heard is not None
    return heard


async def test_it_polls_without_end_until_it_is_told(toy: Driver) -> None:
    assert isinstance(await toy.start_consumer("a", settings()), Done)
    for _ in range(3):
        await next_of(toy, Records)
    assert isinstance(await toy.do(StopPolling("a")), Done)
    count = len(toy.events)
    assert isinstance(await toy.do(Commit("a")), Done)
    assert [heard for heard in toy.events[count:] if of(Records)(heard)] == []
    assert isinstance(await toy.do(ResumePolling("a")), Done)
    await next_of(toy, Records)
    assert isinstance(await toy.do(Close("a", 10_000)), Done)
    await toy.bye()


async def test_a_poll_that_is_under_way_ends_by_itself(toy: Driver) -> None:
    await toy.start_consumer("a", settings("slow"))
    await next_of(toy, Records)
    await toy.do(StopPolling("a"))
    assert isinstance(await toy.do(Close("a", 10_000)), Done)
    assert [heard for heard in toy.events if of(Log)(heard)] == []


async def test_a_name_is_started_again_after_a_close(toy: Driver) -> None:
    for _ in range(2):
        await toy.start_consumer("a", settings())
        closed = await toy.do(Close("a", 10_000))
        assert isinstance(closed, Done)
        assert closed.took_ms is not None
    assert await toy.do(Commit("a")) == Unsupported(6, "there is no consumer for commit")


async def test_a_fatal_error_ends_the_users_loop_until_poll_on(toy: Driver) -> None:
    await toy.start_consumer("a", settings("fenced"))
    heard = await toy.wait_for(of(Error), PATIENCE_S)
    assert heard is not None
    error = heard.event
    assert isinstance(error, Error)
    assert (error.where, error.code, error.fatal) == ("poll", "FENCED_INSTANCE_ID", True)
    await toy.do(Commit("a"))
    assert sum(map(of(Error), toy.events)) == 1
    count = len(toy.events)
    await toy.do(ResumePolling("a"))
    assert await toy.wait_for(of(Error), PATIENCE_S, since=count) is not None


async def test_an_error_that_can_be_tried_again_does_not(toy: Driver) -> None:
    await toy.start_consumer("a", settings("busy"))
    error = await toy.wait_for(of(Error), PATIENCE_S)
    assert error is not None
    assert isinstance(error.event, Error)
    assert (error.event.code, error.event.fatal) == ("REBALANCE_IN_PROGRESS", False)
    await next_of(toy, Records)


async def test_what_is_refused_is_told_as_the_library_does(toy: Driver) -> None:
    refused = await toy.start_consumer("a", settings(group="refused"))
    assert isinstance(refused, Refused)
    assert (refused.error.code, refused.error.message) == ("REBALANCE_IN_PROGRESS", "not now")
    assert await toy.do(Commit("a")) == Unsupported(3, "there is no consumer")
    await toy.start_consumer("b", settings())
    assert isinstance(await toy.do(Close("b", timeout_ms=1)), Refused)


async def test_what_is_only_logged_is_told_as_a_log(toy: Driver) -> None:
    await toy.start_consumer("a", settings())
    await toy.do(Commit("a"))
    heard = await toy.wait_for(of(Log), PATIENCE_S)
    assert heard is not None
    assert isinstance(heard.event, Log)
    assert (heard.event.level, heard.event.message[:10]) == ("warning", "committing")


async def test_a_library_that_hangs_holds_up_nobody_else(
    toy: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await toy.start_consumer("a", settings())
    with monkeypatch.context() as patched:
        patched.setattr(driver_module, "REPLY_S", SILENT_S)
        assert isinstance(await toy.do(Unsubscribe("a")), Late)
    assert isinstance(await toy.start_consumer("b", settings()), Done)
    assert isinstance(await toy.do(Close("b", 10_000)), Done)
