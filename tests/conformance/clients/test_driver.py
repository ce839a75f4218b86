"""Our side of client driver protocol 1: honest drivers are heard, lies are the driver's fault."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from support.command import is_gone
from support.places import TESTS

from fencepost.conformance.clients import driver as driver_module
from fencepost.conformance.clients.driver import Driver, DriverError, DriverEvent, Late
from fencepost.conformance.clients.driver_programs import Client, Program
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.model.plans.steps import (
    Close,
    Commit,
    ResumePolling,
    StopPolling,
    Subscribe,
    Unsubscribe,
)
from fencepost.properties.requirements.driver_messages import (
    Assigned,
    ClientError,
    ConsumerSettings,
    Done,
    Log,
    Records,
    Refused,
    Unsupported,
)

FAKE = TESTS / "support" / "clients" / "fake_driver.py"
SETTINGS = ConsumerSettings(bootstrap="127.0.0.1:1", group="g", topics=("t",))
PATIENCE_S = 60.0
SILENT_S = 0.1
"""How long a reply is waited for that never comes."""


def fake(*lies: str) -> Client:
    async def program() -> Program:
        return Program((sys.executable, "-I", str(FAKE), *lies))

    return Client("fake", program)


@asynccontextmanager
async def started(*lies: str) -> AsyncIterator[Driver]:
    async with Driver.start(fake(*lies)) as driver:
        yield driver


async def test_an_honest_driver_is_heard() -> None:
    async with started() as driver:
        assert driver.introduction.client == "fake"
        assert await driver.start_consumer("a", SETTINGS) == Done(2, ok=True)
        second = await driver.wait_for(
            lambda heard: isinstance(heard.event, Records) and heard.event.first == 7, PATIENCE_S
        )
        assert second is driver.events[2]
        assert await driver.do(StopPolling("a")) == Done(3, ok=True)
        assert await driver.do(ResumePolling("a")) == Done(4, ok=True)
        fenced = ClientError("FENCED_INSTANCE_ID", fatal=True, message="another has it")
        assert await driver.do(Commit("a")) == Refused(5, fenced)
        assert await driver.do(Unsubscribe("a")) == Unsupported(6, "it keeps its topics")
        assert await driver.do(Subscribe("a", ("u",))) == Done(7, ok=True)
        assert await driver.do(Close("a", 10_000)) == Done(8, ok=True, took_ms=12.5)
        await driver.bye()
        assert driver.fault is None
    assigned = driver.events[0].event
    assert isinstance(assigned, Assigned)
    assert (assigned.consumer, assigned.partitions) == ("a", (("t", 0), ("t", 1)))


async def test_events_are_heard_on_our_clock() -> None:
    async with Driver.start(fake(), clock=lambda: 17.0) as driver:
        await driver.start_consumer("a", SETTINGS)
        heard = await driver.wait_for(lambda _: True, PATIENCE_S)
    assert heard is not None
    assert heard.received_ms == 17_000


async def test_what_never_comes_is_none() -> None:
    async with started() as driver:
        assert await driver.wait_for(lambda _: True, SILENT_S) is None


async def test_a_driver_that_was_killed_says_no_more() -> None:
    async with started() as driver:
        await driver.start_consumer("a", SETTINGS)
        await driver.crash()
        with pytest.raises(DriverError, match="has already ended"):
            await driver.do(Commit("a"))
        assert driver.fault is None


LIES = {
    "garbage": "wrote a line that is not JSON .*: 'out of luck'",
    "no-object": "wrote a line that is JSON, but an array and not an object",
    "unknown-event": r"not in the protocol: Invalid value 'confused' - at `\$.event`",
    "field-missing": "not in the protocol: Object missing required field `count`",
    "field-too-many": "not in the protocol: Object contains unknown field `why`",
    "no-records": r"not in the protocol: Expected `int` >= 1 - at `\$.count`",
    "ghost": "sent an event of consumer 'ghost', which was never started",
    "wrong-id": 'sent a reply to no open command: .*"id":3',
    "id-no-number": r'sent a reply to no open command: .*"id":\[1\]',
    "not-ok": "not in the protocol: `ok` must be true",
    "answers-twice": 'sent a reply to no open command: .*"id":2',
    "introduces-itself": "not in the protocol: Object (missing required|contains unknown) field",
    "dies": "exited with code 3; its stderr ends: out of luck",
    "dies-like-node": r"its stderr has: Error \[CODE\]: no package, and ends: .*Node.js v22",
    "is-killed": "was ended by SIGKILL",
    "long-line": "wrote a line of more than 16777216 bytes",
    "floods": "wrote more than 20 events",
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_is_the_drivers_fault(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "MOST_EVENTS", 20)
    async with started(lie) as driver:
        with contextlib.suppress(DriverError):
            await driver.start_consumer("a", SETTINGS)
        for _ in range(2):  # a lie may be told after the reply; and once told it stays
            with pytest.raises(DriverError, match=LIES[lie]) as raised:
                await driver.wait_for(lambda _: False, PATIENCE_S)
            assert str(raised.value) == driver.fault
        with pytest.raises(DriverError, match=re.escape(str(driver.fault))):
            await driver.do(Commit("a"))


@pytest.mark.parametrize(
    ("lie", "how"),
    [
        ("wrong-protocol", r"Invalid enum value 2 - at `\$.protocol`|missing required"),
        ("refuses-hello", 'refused `hello`: {"id":1,"unsupported":"no time"}'),
        ("dies-at-once", "exited with code 3; its stderr ends: out of luck"),
    ],
)
async def test_who_does_not_introduce_itself_is_not_available(lie: str, how: str) -> None:
    with pytest.raises(TargetUnavailableError, match=how):
        async with started(lie):
            pass


async def test_a_program_that_is_none_is_not_available() -> None:
    async def program() -> Program:
        return Program(("/nonesuch/driver",))

    with pytest.raises(TargetUnavailableError, match="can't start `/nonesuch/driver`"):
        async with Driver.start(Client("exec:/nonesuch/driver", program)):
            pass


async def test_a_library_that_does_not_return_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    async with started("library-hangs") as driver:
        await driver.start_consumer("a", SETTINGS)
        with monkeypatch.context() as patched:
            patched.setattr(driver_module, "REPLY_S", SILENT_S)
            late = await driver.do(Commit("a"))
        assert isinstance(late, Late)
        assert (late.command, late.reply) == ("commit", None)
        assert "the library had not returned from commit after" in str(late)
        await driver.do(ResumePolling("a"))  # the fake answers the commit now
        assert isinstance(await driver.do(Close("a", 10_000)), Done)
        assert driver.fault is None


async def test_a_driver_that_does_not_answer_is_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    async with started("driver-hangs") as driver:
        await driver.start_consumer("a", SETTINGS)
        monkeypatch.setattr(driver_module, "REPLY_S", SILENT_S)
        monkeypatch.setattr(driver_module, "HELLO_S", SILENT_S)
        with pytest.raises(DriverError, match=r"did not answer `commit` or `hello` within 0\.1 s"):
            await driver.do(Commit("a"))


@pytest.mark.parametrize(
    ("lie", "how"), [("bye-with-code", "exited with code 3"), ("stays", "did not exit within")]
)
async def test_bye_is_an_exit_with_0(lie: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if lie == "stays":
        monkeypatch.setattr(driver_module, "END_S", SILENT_S)
    async with started(lie) as driver:
        with pytest.raises(DriverError, match=how):
            await driver.bye()


async def test_what_a_driver_started_ends_with_it() -> None:
    async with started("leaves-child") as driver:
        await driver.start_consumer("a", SETTINGS)
        heard: DriverEvent | None = await driver.wait_for(
            lambda heard: isinstance(heard.event, Log), PATIENCE_S
        )
        assert heard is not None
        assert isinstance(heard.event, Log)
        child = int(heard.event.message)
    assert is_gone(child)
