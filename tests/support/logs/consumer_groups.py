"""Groups of real consumers on a real Kafka: what was done to each process, what each wrote."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from dataclasses import dataclass, field

from support.places import ROOT

WAIT_S = 120.0


@dataclass
class Process:
    """A consumer's process.  `told`: what it wrote, with when; `did`: what was done to it."""

    client_id: str
    child: asyncio.subprocess.Process
    told: list[dict[str, object]] = field(default_factory=list)
    did: list[tuple[int, str]] = field(default_factory=list)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)
    _reader: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.child.stdout is not None
        async for line in self.child.stdout:
            async with self._news:
                self.told.append(json.loads(line))
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()

    async def wait(self, event: str, beyond: int = 0) -> None:
        """Until it has written this event more often than that.  Raises TimeoutError."""
        async with asyncio.timeout(WAIT_S), self._news:
            await self._news.wait_for(lambda: self.count(event) > beyond)

    def count(self, event: str) -> int:
        return sum(row["event"] == event for row in self.told)

    def send(self, number: signal.Signals) -> None:
        self.did.append((int(time.time() * 1000), number.name))
        self.child.send_signal(number)

    async def end(self) -> None:
        if self.child.returncode is None:
            self.child.kill()
        await self.child.wait()
        if self._reader is not None:
            await self._reader

    @property
    def story(self) -> list[tuple[int, str]]:
        """What was done to it and what it wrote, each with when."""
        told = (
            (int(str(row["at_ms"])), " ".join(str(v) for k, v in row.items() if k != "at_ms"))
            for row in self.told
        )
        return sorted((*self.did, *told))

    @property
    def fatal(self) -> str:
        """The error that ended it, or ""."""
        return next((str(row["error"]) for row in self.told if row["event"] == "fatal"), "")

    @property
    def says(self) -> str:
        """What it was told, in a word or two."""
        how = "raised" if "fenced" in self.fatal.lower() else "only logged"
        return "no error" if self.fenced_ms is None else f"FENCED_INSTANCE_ID, {how}"

    @property
    def fenced_ms(self) -> int | None:
        """When it was told that it is fenced, by an error or in its log only."""
        told = (row for row in self.told if "fenced" in str(row.get("error")).lower())
        return next((int(str(row["at_ms"])) for row in told), None)


@dataclass
class Stage:
    """A group of one scenario, with one library.

    `hung`: one of its processes came to nothing within WAIT_S.
    """

    address: str
    library: str
    scenario: str
    attempt: int = 1
    hung: bool = False
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def group(self) -> str:
        again = f"-{self.attempt}" if self.attempt > 1 else ""
        return f"{self.library}-{self.scenario}{again}"

    @property
    def story(self) -> str:
        """What was done to each of its processes and what each wrote, in order."""
        rows = (
            (at_ms, name, what)
            for name, process in self.processes.items()
            for at_ms, what in process.story
        )
        return "\n".join(f"{at_ms} {name}: {what}" for at_ms, name, what in sorted(rows))

    async def start(self, number: int, name: str = "") -> Process:
        """Start a consumer that is static member NUMBER, and wait until it has an assignment."""
        client_id = name or f"{self.group}-pod-{number}"
        words = (self.library, self.address, self.group, client_id, self.instance(number))
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "support.logs.real_consumer", *words,
            cwd=ROOT / "tests", stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        process = Process(client_id, child)
        process.begin()
        key = client_id
        while key in self.processes:
            key += "'"
        self.processes[key] = process
        await process.wait("assigned")
        return process

    @property
    def away_ms(self) -> int:
        """From the first signal to a process until the last process had an assignment."""
        signals = [at_ms for process in self.processes.values() for at_ms, _ in process.did]
        told = [row for row in list(self.processes.values())[-1].told if row["event"] == "assigned"]
        return int(str(told[0]["at_ms"])) - min(signals)

    def instance(self, number: int) -> str:
        return f"{self.group}-{number}"

    async def pair(self) -> tuple[Process, Process]:
        first = await self.start(1)
        alone = first.count("assigned")
        second = await self.start(2)
        await first.wait("assigned", alone)
        return first, second
