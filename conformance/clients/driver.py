"""Run a client's driver: send commands, and read its replies and its users' events.

A reply that comes too late is attributed to the library if the driver still answers `hello`, and is
a value (`Late`) for the judge.  Any other fault (a line that the protocol doesn't have, a reply
without a command, an exit) is the driver's: it is killed at once, and this and all later commands
raise DriverError.

The start of a virtual machine takes longer than most scenarios, so a process is used again by the
next scenario, but only after all its consumers closed without an error.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import shlex
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self, cast

import msgspec

from fencepost.conformance.clients.driver_programs import Client
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.stdio.line_process import END_S, LineProcess, Pipes
from fencepost.conformance.targets.stdio.protocol_schemas import LineError, decode_line, shortened
from fencepost.model.plans.steps import Close, UserStep
from fencepost.properties.requirements.driver_messages import (
    AnyCommand,
    AnyEvent,
    AnyReply,
    Bye,
    ConsumerSettings,
    Done,
    Hello,
    Introduction,
    Refused,
    Start,
    Unsupported,
    UserCommand,
    command_line,
    command_name,
    event_of,
    reply_of,
)
from fencepost.traces.files.bounded import LINE_LIMIT

REPLY_S = 10.0
"""Seconds that a driver may take to reply."""

HELLO_S = 10.0
"""Seconds that a driver may take to answer `hello` after a late reply."""

CLOSE_MORE_S = 5.0
"""Seconds that a close may take beyond its timeout."""

START_S = 180.0
"""Seconds that a program may take until its first answer: enough for a virtual machine on a busy
host."""

MOST_EVENTS = 500_000
"""Limit of the events of a driver; more are its fault."""

_WORDS = 3
_ERROR = re.compile(r"\s*[\w.]*(Error|Exception)\b.*: ")
"""A line that names an error; Node prints it before the stack."""


class DriverError(Exception):
    """The driver failed, not its library.  `str()` names the fault and the end of its stderr."""


@dataclass(frozen=True, slots=True)
class DriverEvent:
    """An event of a driver; `received_ms`: by this process's monotonic clock."""

    event: AnyEvent
    received_ms: float


@dataclass(frozen=True, slots=True)
class Late:
    """The library did not return in time, while its driver went on.

    `after_ms`: length of the wait; `reply`: the reply that came after it, if one did.
    """

    command: str
    after_ms: float
    reply: AnyReply | None

    def __str__(self) -> str:
        """Return a sentence about the library."""
        return f"the library had not returned from {self.command} after {self.after_ms:,.0f} ms"


Reply = Done | Refused | Unsupported | Late


class _Sent:
    """A command, and its reply once there is one."""

    def __init__(self, command: AnyCommand) -> None:
        self.command = command
        self.name = command_name(command)
        self.reply: asyncio.Future[AnyReply] = asyncio.get_running_loop().create_future()

    async def answer(self, within_s: float) -> AnyReply:
        """Wait for its reply.  Raises TimeoutError, DriverError."""
        async with asyncio.timeout(within_s):
            return await asyncio.shield(self.reply)


class Driver:
    """A running driver; made by `start`.

    `events`: all so far, in the order in which they came.  `introduction`: its answer to `hello`.
    `fault`: the driver's first fault, None if it has none.
    """

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self.name = name
        self.events: list[DriverEvent] = []
        self.fault: str | None = None
        self._clock = clock
        self._ids = itertools.count(1)
        self._open: dict[int, _Sent] = {}
        self._started: set[str] = set()
        self._watchers: list[tuple[Callable[[DriverEvent], bool], asyncio.Future[DriverEvent]]] = []
        self._is_ending = False
        self._process: LineProcess
        self.introduction: Introduction

    @classmethod
    @asynccontextmanager
    async def start(
        cls, client: Client, clock: Callable[[], float] = time.monotonic
    ) -> AsyncIterator[Self]:
        """Start a client's driver; it is killed at the end, with all that it started.

        `clock`: seconds, for `received_ms`.  Raises TargetUnavailableError where it can't be built
        or started, or doesn't say hello in protocol 1.
        """
        program = await client.program()
        driver = cls(client.name, clock)
        try:
            driver._process = await LineProcess.start(
                program.argv, lambda: _EventPipes(driver), program.env
            )
        except OSError as error:
            raise TargetUnavailableError(
                f"can't start `{shlex.join(program.argv)}`: {error.strerror or error}"
            ) from error
        try:
            try:
                driver.introduction = await driver._hello(START_S)
            except DriverError as error:
                raise TargetUnavailableError(str(error)) from error
            yield driver
        finally:
            await driver.crash()

    async def start_consumer(self, consumer: str, settings: ConsumerSettings) -> Reply:
        """Make a consumer that polls.  Raises DriverError, as all commands do."""
        self._started.add(consumer)
        fields = msgspec.structs.asdict(settings)
        return await self._do(Start(id=next(self._ids), consumer=consumer, **fields))

    async def do(self, step: UserStep) -> Reply:
        """Have a consumer's user take a step.  A close may take a bit longer than its timeout."""
        within_s = None
        if isinstance(step, Close):
            times = 2 if step.twice is True else 1
            within_s = times * step.timeout_ms / 1000 + CLOSE_MORE_S
        return await self._do(UserCommand(next(self._ids), step), within_s)

    async def bye(self) -> None:
        """Have the driver exit, and wait until it has."""
        await self._do(Bye(next(self._ids)))
        self._is_ending = True
        match await self._process.exit_code(END_S):
            case 0:
                return
            case None:
                raise self.fail(f"did not exit within {END_S:g} s after `bye`")
            case code:
                raise self.fail(f"exited with code {code} after `bye`, not with 0")

    async def crash(self) -> None:
        """Kill the driver and its processes; return when they are gone."""
        self._is_ending = True
        await self._process.kill()

    async def wait_for(
        self, matches: Callable[[DriverEvent], bool], within_s: float, since: int = 0
    ) -> DriverEvent | None:
        """Return the first event that matches, from index `since` on; None: it didn't come.

        Raises DriverError.
        """
        if (event := next(filter(matches, self.events[since:]), None)) is not None:
            return event
        self._refuse_broken()
        coming: asyncio.Future[DriverEvent] = asyncio.get_running_loop().create_future()
        watcher = (matches, coming)
        self._watchers.append(watcher)
        try:
            async with asyncio.timeout(within_s):
                return await coming
        except TimeoutError:
            return None
        finally:
            self._watchers.remove(watcher)

    def last_words(self) -> list[str]:
        """Return the last lines of its stderr."""
        return self._process.last_words()

    def forget(self) -> None:
        """Drop the events and the stderr of the scenario that is over."""
        self.events.clear()
        self._process.forget_words()

    def take_line(self, line: bytes) -> None:
        """Handle a line of the driver's stdout."""
        if self._is_ending or self.fault is not None:
            return
        try:
            fields = decode_line(line)
            if "event" in fields:
                self._take_event(event_of(fields))
            else:
                self._take_reply(fields)
        except LineError as error:
            self.fail(f"wrote a line that {error}: '{shortened(line)}'")
        except msgspec.ValidationError as error:
            self.fail(f"wrote a line that is not in the protocol: {error}: '{shortened(line)}'")

    def fail(self, how: str) -> DriverError:
        """Note a fault of the driver, kill it, and raise DriverError in all that wait for it."""
        if self.fault is None:
            self.fault = f"the driver of {self.name} {how}{_stderr(self.last_words())}"
            self._process.kill_at_once()
            waiting: list[asyncio.Future[Any]] = [coming for _, coming in self._watchers]
            for future in (*waiting, *(sent.reply for sent in self._open.values())):
                if not future.done():
                    future.set_exception(DriverError(self.fault))
                    future.exception()  # or asyncio warns of one that nobody awaits
        return DriverError(self.fault)

    def end(self, how: str) -> None:
        """Note that the process is gone."""
        if not self._is_ending:
            self.fail(how)

    async def _do(self, command: AnyCommand, within_s: float | None = None) -> Reply:
        begun = self._clock()
        sent = self._send(command)
        try:
            reply = await sent.answer(REPLY_S if within_s is None else within_s)
        except TimeoutError:
            await self._hello(HELLO_S)  # the driver answers, so the library is late
            late_reply = sent.reply.result() if sent.reply.done() else None
            return Late(sent.name, (self._clock() - begun) * 1000, late_reply)
        return cast("Done | Refused | Unsupported", reply)  # an introduction answers `hello` alone

    async def _hello(self, within_s: float) -> Introduction:
        sent = self._send(Hello(next(self._ids)))
        try:
            reply = await sent.answer(within_s)
        except TimeoutError:
            waiting = dict.fromkeys(f"`{command.name}`" for command in self._open.values())
            raise self.fail(
                f"did not answer {' or '.join(waiting)} within {within_s:g} s"
            ) from None
        if not isinstance(reply, Introduction):
            raise self.fail(f"refused `hello`: {shortened(msgspec.json.encode(reply))}")
        return reply

    def _send(self, command: AnyCommand) -> _Sent:
        self._refuse_broken()
        sent = self._open[command.id] = _Sent(command)
        self._process.write(command_line(command))
        return sent

    def _refuse_broken(self) -> None:
        if self.fault is not None:
            raise DriverError(self.fault)
        if self._is_ending:
            raise DriverError(f"the driver of {self.name} has already ended")

    def _take_event(self, event: AnyEvent) -> None:
        if event.consumer is not None and event.consumer not in self._started:
            self.fail(f"sent an event of consumer '{event.consumer}', which was never started")
        elif len(self.events) >= MOST_EVENTS:
            self.fail(f"wrote more than {MOST_EVENTS:,} events")
        else:
            received = DriverEvent(event, self._clock() * 1000)
            self.events.append(received)
            for matches, coming in self._watchers:
                if not coming.done() and matches(received):
                    coming.set_result(received)

    def _take_reply(self, fields: dict[str, Any]) -> None:
        number = fields.get("id")
        sent = self._open.get(number) if isinstance(number, int) else None
        if sent is None:
            self.fail(f"sent a reply to no open command: {shortened(msgspec.json.encode(fields))}")
        else:
            reply = reply_of(fields, type(sent.command))
            del self._open[sent.command.id]
            sent.reply.set_result(reply)


def _stderr(lines: Sequence[str]) -> str:
    """Say what a driver's last words on stderr are, and an error that stands before them."""
    if not lines:
        return ""
    before, last = lines[:-_WORDS], lines[-_WORDS:]
    error = next(filter(_ERROR.match, reversed(before)), None)
    has = ""
    if error is not None and not any(map(_ERROR.match, last)):
        has = f"has: {shortened(error.strip())}, and "
    return f"; its stderr {has}ends: {shortened(' / '.join(last))}"


class _EventPipes(Pipes):
    """Pipes that pass each line to the driver at once."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self._driver = driver

    def take_line(self, line: bytes) -> None:
        """Pass it to the driver."""
        self._driver.take_line(line)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Handle output, as asyncio's protocol."""
        super().pipe_data_received(fd, data)
        if self.is_flooded:
            self._driver.fail(f"wrote a line of more than {LINE_LIMIT} bytes")

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the exit after the end of all pipes, as asyncio's protocol."""
        super().connection_lost(exc)
        self._driver.end(self.how_it_ended())


_SIDE_BY_SIDE = 4
"""Limit of processes that start at once: a virtual machine keeps a processor busy."""


class DriverPool:
    """Drivers of one client, while it is open (`async with`)."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._idle: list[Driver] = []
        self._stacks: dict[int, AsyncExitStack] = {}

    async def __aenter__(self) -> Self:
        """Return the pool; nothing is started yet."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all processes."""
        for stack in list(self._stacks.values()):
            await stack.aclose()
        self._stacks.clear()

    async def take(self) -> Driver:
        """Return a driver that runs no consumer.  Raises TargetUnavailableError."""
        if self._idle:
            return self._idle.pop()
        stack = AsyncExitStack()
        driver = await stack.enter_async_context(Driver.start(self._client))
        self._stacks[id(driver)] = stack
        return driver

    async def warm(self, count: int) -> None:
        """Start drivers until `count` of them run no consumer.  Raises TargetUnavailableError."""
        drivers: list[Driver] = []
        try:
            while len(drivers) < count:
                some = min(count - len(drivers), _SIDE_BY_SIDE)
                drivers += await asyncio.gather(*(self.take() for _ in range(some)))
        finally:
            for driver in drivers:
                await self.give_back(driver, clean=True)

    async def give_back(self, driver: Driver, *, clean: bool) -> None:
        """Take a driver back for another scenario; end it unless it is clean."""
        if clean and driver.fault is None:
            driver.forget()
            self._idle.append(driver)
        elif (stack := self._stacks.pop(id(driver), None)) is not None:
            await stack.aclose()
