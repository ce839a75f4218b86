"""A driver that runs: commands to it, its replies, and the events that its users saw.

A reply that comes too late is put down to the library if the driver still answers `hello`, and is a
value (`Late`) for whoever judges.  Whatever else is wrong (a line that the protocol doesn't have, a
reply that nobody asked for, an exit) is the driver's fault: it is killed at once, and this and all
later commands raise DriverError.

Processes of drivers: those that are done with a scenario are used again by another.

To start a virtual machine takes longer than most scenarios.  Only a process whose consumers have
all been closed well is used again.
"""

from __future__ import annotations

import asyncio
import itertools
import shlex
import time
from collections.abc import AsyncIterator, Callable
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
"""How long a driver may take to reply."""
HELLO_S = 10.0
"""How long it may take then to say that it is still there."""
CLOSE_MORE_S = 5.0
"""How much longer than its timeout a close may take."""
START_S = 60.0
"""How long a program may take until it says hello: a virtual machine starts in that time, on a
machine that has much to do, too."""
MOST_EVENTS = 500_000
"""More are not kept: the driver is at fault then."""
_WORDS = 3


class DriverError(Exception):
    """The driver failed, not its library.  `str()` says how; its stderr's end is with it."""


@dataclass(frozen=True, slots=True)
class Heard:
    """An event, and when it came, in ms of this process's monotonic clock."""

    event: AnyEvent
    heard_ms: float


@dataclass(frozen=True, slots=True)
class Late:
    """The library did not return in time, while its driver went on.

    `command`: what it was asked; `after_ms`: how long was waited; `reply`: what came meanwhile.
    """

    command: str
    after_ms: float
    reply: AnyReply | None

    def __str__(self) -> str:
        """A sentence about the library."""
        return f"the library had not returned from {self.command} after {self.after_ms:,.0f} ms"


Reply = Done | Refused | Unsupported | Late


class _Sent:
    """A command, and its reply once there is one."""

    def __init__(self, command: AnyCommand) -> None:
        self.command = command
        self.name = command_name(command)
        self.reply: asyncio.Future[AnyReply] = asyncio.get_running_loop().create_future()

    async def answer(self, within_s: float) -> AnyReply:
        """Its reply.  Raises TimeoutError, DriverError."""
        async with asyncio.timeout(within_s):
            return await asyncio.shield(self.reply)


class Driver:
    """A running driver; made by `start`.

    `events`: all so far, in the order in which they came.  `introduction`: what it said it is.
    """

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self.name = name
        self.events: list[Heard] = []
        self.fault: str | None = None
        """What the driver did wrong, if anything."""
        self._clock = clock
        self._ids = itertools.count(1)
        self._open: dict[int, _Sent] = {}
        self._started: set[str] = set()
        self._watchers: list[tuple[Callable[[Heard], bool], asyncio.Future[Heard]]] = []
        self._is_ending = False
        self._process: LineProcess
        self.introduction: Introduction

    @classmethod
    @asynccontextmanager
    async def start(
        cls, client: Client, clock: Callable[[], float] = time.monotonic
    ) -> AsyncIterator[Self]:
        """Start a client's driver; it is killed at the end, with all that it started.

        `clock`: seconds, for `heard_ms`.  Raises TargetUnavailableError where it can't be built or
        started, or doesn't say hello in protocol 1.
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
        """Have a consumer's user do something.  A close may take a bit longer than its timeout."""
        within_s = step.timeout_ms / 1000 + CLOSE_MORE_S if isinstance(step, Close) else None
        return await self._do(UserCommand(next(self._ids), step), within_s)

    async def bye(self) -> None:
        """Have the driver exit, and wait until it has."""
        await self._do(Bye(next(self._ids)))
        self._is_ending = True
        match await self._process.exit_code(END_S):
            case 0:
                return
            case None:
                raise self.failed(f"did not exit within {END_S:g} s after `bye`")
            case code:
                raise self.failed(f"exited with code {code} after `bye`, not with 0")

    async def crash(self) -> None:
        """Kill the driver and all that it started; returns when they are gone."""
        self._is_ending = True
        await self._process.kill()

    async def wait_for(
        self, wanted: Callable[[Heard], bool], within_s: float, since: int = 0
    ) -> Heard | None:
        """The first event that is wanted, of those from index `since` on; None: it didn't come.

        Raises DriverError.
        """
        if (had := next(filter(wanted, self.events[since:]), None)) is not None:
            return had
        self._refuse_broken()
        coming: asyncio.Future[Heard] = asyncio.get_running_loop().create_future()
        watcher = (wanted, coming)
        self._watchers.append(watcher)
        try:
            async with asyncio.timeout(within_s):
                return await coming
        except TimeoutError:
            return None
        finally:
            self._watchers.remove(watcher)

    def last_words(self) -> list[str]:
        """The last lines of its stderr."""
        return self._process.last_words()

    def take_line(self, line: bytes) -> None:
        """Take a line of the driver's stdout."""
        if self._is_ending or self.fault is not None:
            return
        try:
            said = decode_line(line)
            if "event" in said:
                self._take_event(event_of(said))
            else:
                self._take_reply(said)
        except LineError as error:
            self.failed(f"wrote a line that {error}: {shortened(line)!r}")
        except msgspec.ValidationError as error:
            self.failed(f"wrote what the protocol doesn't have: {error}: {shortened(line)!r}")

    def failed(self, how: str) -> DriverError:
        """Put down to the driver what is wrong, and kill it; whoever waits for it is told."""
        if self.fault is None:
            words = self.last_words()[-_WORDS:]
            said = f"; its stderr ends: {shortened(' / '.join(words))}" if words else ""
            self.fault = f"the driver of {self.name} {how}{said}"
            self._process.kill_at_once()
            waiting: list[asyncio.Future[Any]] = [coming for _, coming in self._watchers]
            for future in (*waiting, *(sent.reply for sent in self._open.values())):
                if not future.done():
                    future.set_exception(DriverError(self.fault))
                    future.exception()  # whether anybody asks for it or not
        return DriverError(self.fault)

    def ended(self, how: str) -> None:
        """Take note that the process is gone."""
        if not self._is_ending:
            self.failed(how)

    async def _do(self, command: AnyCommand, within_s: float | None = None) -> Reply:
        begun = self._clock()
        sent = self._send(command)
        try:
            reply = await sent.answer(REPLY_S if within_s is None else within_s)
        except TimeoutError:
            await self._hello(HELLO_S)  # it answers: so it is the library that doesn't return
            came = sent.reply.result() if sent.reply.done() else None
            return Late(sent.name, (self._clock() - begun) * 1000, came)
        return cast("Done | Refused | Unsupported", reply)  # an introduction answers `hello` alone

    async def _hello(self, within_s: float) -> Introduction:
        sent = self._send(Hello(next(self._ids)))
        try:
            reply = await sent.answer(within_s)
        except TimeoutError:
            waiting = dict.fromkeys(f"`{one.name}`" for one in self._open.values())
            raise self.failed(f"answered no {' nor '.join(waiting)} for {within_s:g} s") from None
        if not isinstance(reply, Introduction):
            raise self.failed(f"refused `hello`: {reply}")
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
            raise DriverError(f"the driver of {self.name} was ended before")

    def _take_event(self, event: AnyEvent) -> None:
        if event.consumer is not None and event.consumer not in self._started:
            self.failed(f"told of a consumer {event.consumer!r}, which was never started")
        elif len(self.events) >= MOST_EVENTS:
            self.failed(f"wrote more than {MOST_EVENTS:,} events")
        else:
            heard = Heard(event, self._clock() * 1000)
            self.events.append(heard)
            for wanted, coming in self._watchers:
                if not coming.done() and wanted(heard):
                    coming.set_result(heard)

    def _take_reply(self, said: dict[str, Any]) -> None:
        number = said.get("id")
        sent = self._open.get(number) if isinstance(number, int) else None
        if sent is None:
            self.failed(f"answered what nobody asked: {shortened(said)}")
        else:
            reply = reply_of(said, type(sent.command))
            del self._open[sent.command.id]
            sent.reply.set_result(reply)


class _EventPipes(Pipes):
    """Gives each line to the driver at once."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self._driver = driver

    def take_line(self, line: bytes) -> None:
        """Give it on."""
        self._driver.take_line(line)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Called by asyncio with output."""
        super().pipe_data_received(fd, data)
        if self.is_flooded:
            self._driver.failed(f"wrote a line of more than {LINE_LIMIT} bytes")

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio after the exit and the end of all pipes."""
        super().connection_lost(exc)
        self._driver.ended(self.how_it_ended())


_SIDE_BY_SIDE = 4
"""So many processes are started at once: a virtual machine keeps a processor busy."""


class DriverPool:
    """Drivers of one client, while it is open (`async with`)."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._idle: list[Driver] = []
        self._stacks: dict[int, AsyncExitStack] = {}

    async def __aenter__(self) -> Self:
        """Nothing is started yet."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all processes."""
        for stack in list(self._stacks.values()):
            await stack.aclose()
        self._stacks.clear()

    async def take(self) -> Driver:
        """A driver that runs no consumer.  Raises TargetUnavailableError."""
        if self._idle:
            return self._idle.pop()
        stack = AsyncExitStack()
        driver = await stack.enter_async_context(Driver.start(self._client))
        self._stacks[id(driver)] = stack
        return driver

    async def warm(self, count: int) -> None:
        """Have so many drivers that run no consumer.  Raises TargetUnavailableError."""
        drivers: list[Driver] = []
        try:
            while len(drivers) < count:
                some = min(count - len(drivers), _SIDE_BY_SIDE)
                drivers += await asyncio.gather(*(self.take() for _ in range(some)))
        finally:
            for driver in drivers:
                await self.give_back(driver, clean=True)

    async def give_back(self, driver: Driver, *, clean: bool) -> None:
        """Take a driver back; one that isn't clean is ended."""
        if clean and driver.fault is None:
            driver.events.clear()
            self._idle.append(driver)
        elif (stack := self._stacks.pop(id(driver), None)) is not None:
            await stack.aclose()
