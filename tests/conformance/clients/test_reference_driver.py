"""The driver of the reference client against a served model: real sockets, in this process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from support.served import PATIENCE_S, QUICK

from fencepost.conformance.clients.reference_driver import ReferenceDriver
from fencepost.conformance.serve.broker import ModelBroker
from fencepost.model.client.behaviour import RIGHT, Conduct
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.mutants.client_mutants import find_client_mutant
from fencepost.properties.requirements import driver_messages

MODULE = "fencepost.conformance.clients.reference_driver"


class Driven:
    """A driver, and what it said."""

    def __init__(self, conduct: Conduct = RIGHT) -> None:
        self.said: list[dict[str, Any]] = []
        self._news = asyncio.Event()
        self._driver = ReferenceDriver("reference", conduct, self._hear)
        self._next_id = 0

    def _hear(self, message: driver_messages.Message) -> None:
        self.said.append(msgspec.to_builtins(message))
        self._news.set()

    def write(self, line: bytes) -> bool:
        return self._driver.obey(line)

    async def until(self, *wanted: dict[str, Any]) -> dict[str, Any]:
        """Wait until something was said that has all these fields; what was heard is gone then."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for message in self.said:
                    if any(fields.items() <= message.items() for fields in wanted):
                        self.said.remove(message)
                        return message
                self._news.clear()
                await self._news.wait()

    async def __call__(self, cmd: str, **fields: Any) -> dict[str, Any]:
        self._next_id += 1
        line = json.dumps({"id": self._next_id, "cmd": cmd, **fields}).encode()
        self.write(line)
        return await self.until({"id": self._next_id})


@pytest.fixture
async def bootstrap() -> AsyncIterator[str]:
    async with ModelBroker(KAFKA_4, QUICK, topics={"t": 4}) as broker:
        yield str(broker.address)


def consumer(bootstrap: str, **more: Any) -> dict[str, Any]:
    return {
        "consumer": "a",
        "bootstrap": bootstrap,
        "group": "g",
        "topics": ["t"],
        "instance": "i",
        "heartbeat_interval_ms": 50,
        **more,
    }


ALL = [["t", number] for number in range(4)]


async def test_a_consumers_life(bootstrap: str) -> None:
    driver = Driven()
    hello = await driver("hello", protocol=1)
    assert (hello["client"], hello["protocol"]) == ("reference", 1)
    assert set(hello["features"]) <= set(driver_messages.FEATURES)
    assert (await driver("start", **consumer(bootstrap)))["ok"]
    assigned = await driver.until({"event": "assigned"})
    assert json.loads(json.dumps(assigned["partitions"])) == ALL
    assert (await driver("stop-polling", consumer="a"))["ok"]
    assert (await driver("poll-on", consumer="a"))["ok"]
    assert (await driver("unsubscribe", consumer="a"))["ok"]
    await driver.until({"event": "revoked"})
    assert (await driver("subscribe", consumer="a", topics=["t"]))["ok"]
    await driver.until({"event": "assigned"})
    assert (await driver("commit", consumer="a"))["ok"]
    assert (await driver("commit-in-transaction", consumer="a"))["ok"]
    closed = await driver("close", consumer="a")
    assert closed["ok"]
    assert closed["took_ms"] < 10_000
    assert (await driver("start", **consumer(bootstrap)))["ok"], "a name may be used again"
    await driver.until({"event": "assigned"})
    assert not driver.write(b'{"id":99,"cmd":"bye"}')


async def test_the_user_of_a_fenced_process_is_told(bootstrap: str) -> None:
    first, second = Driven(), Driven()
    await first("start", **consumer(bootstrap))
    await first.until({"event": "assigned"})
    await second("start", **consumer(bootstrap))
    error = await first.until({"event": "error"})
    assert (error["code"], error["fatal"]) == ("FENCED_INSTANCE_ID", True)
    await first.until({"event": "lost"})
    commit = await first("commit", consumer="a")
    assert commit["error"]["code"] == "FENCED_INSTANCE_ID"
    commit = await first("commit-in-transaction", consumer="a")
    assert commit["error"]["code"] == "FENCED_INSTANCE_ID"
    await second.until({"event": "assigned"})
    for driver in (first, second):
        assert (await driver("close", consumer="a"))["ok"]


async def test_a_lying_client_lies_over_sockets_too(bootstrap: str) -> None:
    driver = Driven(find_client_mutant("fenced-in-silence").conduct)
    thief = Driven()
    await driver("start", **consumer(bootstrap))
    await driver.until({"event": "assigned"})
    await thief("start", **consumer(bootstrap))
    await driver.until({"event": "lost"})
    assert not [said for said in driver.said if said.get("event") == "error"]
    for each in (driver, thief):
        await each("close", consumer="a")


async def test_a_broker_that_is_not_there_is_tried_until_the_consumer_is_closed() -> None:
    driver = Driven()
    await driver("start", **consumer("127.0.0.1:1"))
    assert (await driver("close", consumer="a", timeout_ms=1000))["ok"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"id":1,"cmd":"dance"}', "dance"),
        (b'{"id":1,"cmd":"close","consumer":"z"}', "there is no consumer z"),
        (b'{"id":1,"cmd":"close"}', "consumer"),
    ],
)
async def test_a_command_that_can_not_be_done_is_answered(line: bytes, words: str) -> None:
    driver = Driven()
    assert driver.write(line)
    assert words in (await driver.until({"id": 1}))["unsupported"]


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"cmd":"hello"}', b"\xff"])
async def test_a_line_that_is_no_command_is_told_of(line: bytes) -> None:
    driver = Driven()
    assert driver.write(line)
    assert (await driver.until({"event": "log"}))["level"] == "error"


async def test_what_can_not_be_started_is_said(bootstrap: str) -> None:
    driver = Driven()
    wrong = await driver("start", **consumer(bootstrap, assignor="best"))
    assert wrong["unsupported"].startswith("there is no assignor best; give one of range, ")
    wrong = await driver("start", **consumer("nowhere"))
    assert "no address" in wrong["unsupported"]
    assert (await driver("start", **consumer(bootstrap)))["ok"]
    assert "consumer a is running" in (await driver("start", **consumer(bootstrap)))["unsupported"]
    await driver("close", consumer="a")


def run(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", MODULE, *arguments],
        input=said,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_as_a_program_it_answers_on_stdout_and_ends_with_bye() -> None:
    done = run("--mutant", "hot-loop", said='{"id":1,"cmd":"hello"}\n{"id":2,"cmd":"bye"}\n')
    hello, bye = map(json.loads, done.stdout.splitlines())
    assert hello["client"] == "mutant:hot-loop"
    assert bye == {"id": 2, "ok": True}
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_name_of_a_lying_client_is_answered_with_a_near_one() -> None:
    done = run("--mutant", "hot-lop")
    assert done.returncode == 64
    assert "did you mean hot-loop?" in done.stderr
