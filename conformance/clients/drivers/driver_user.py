"""Serve client driver protocol 1 for a Python library: its lines, and a consumer's user.

A user has a thread with an event loop, with a task that polls and a task that carries out commands.
So a library that blocks delays its own consumer alone, and an asyncio library works on in the
background while its user does not poll.

This file is copied to where the library is; it needs nothing but the standard library.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, ClassVar

STATIC, COOPERATIVE = "static", "cooperative"
_POLL_ENDS_S = 2.0
"""The time that the poll under way has to end by itself.  aiokafka takes a cancelled one for one
that goes on for ever."""


class UnsupportedError(Exception):
    """The library lacks what a command needs.  `str()` is the reason."""


def assignors_in(classes: Mapping[str, str]) -> dict[str, Any]:
    """Return the assignors that this release has, by name.  `classes`: of each module, its class.

    A release that lacks one lacks its module, too.
    """
    kinds = []
    for module, kind in classes.items():
        try:
            kinds.append(getattr(importlib.import_module(module), kind))
        except ModuleNotFoundError as error:
            if not module.startswith(str(error.name)):
                raise
    return {kind.name: kind for kind in kinds}


class _Output:
    """The output of lines: the process's stdout, until `take_over`."""

    def __init__(self) -> None:
        self._file = sys.stdout.buffer
        self._lock = threading.Lock()

    def take_over(self) -> None:
        """Keep stdout for the protocol; send a library's own output to stderr."""
        self._file = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)

    def write(self, line: bytes) -> None:
        """Write a line."""
        with self._lock:
            self._file.write(line + b"\n")
            self._file.flush()


_OUTPUT = _Output()


def say(**fields: Any) -> None:
    """Write an object."""
    _OUTPUT.write(json.dumps(fields).encode())


class _LogEvents(logging.Handler):
    """A library's log as events: some errors appear nowhere else."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write an event."""
        say(event="log", level=record.levelname.lower(), message=record.getMessage())


class User(ABC):
    """A consumer and its user.  The methods are called in its thread, one at a time."""

    introduction: ClassVar[dict[str, Any]]
    """Fields of the answer to `hello`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.commits_on_revoke = False
        self.started: dict[str, Any] = {}
        """The command that started it."""
        self._consumer: Any = None
        self._polling: asyncio.Task[None] | None = None
        self._polls_on = False
        self._loop = asyncio.new_event_loop()
        self._commands: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        threading.Thread(target=self._run).start()

    @abstractmethod
    async def start(self, command: dict[str, Any]) -> None:
        """Make the consumer and subscribe it."""

    @abstractmethod
    async def poll(self) -> None:
        """Poll once, for a tenth of a second at most, and write the records or the error."""

    @abstractmethod
    async def commit(self) -> None:
        """Commit the offsets of the records that were read."""

    async def commit_in_transaction(self) -> None:
        """Commit them in a transaction.  Raises UnsupportedError where there is none."""
        raise UnsupportedError("the library has no transactions")

    @abstractmethod
    async def subscribe(self, topics: list[str]) -> None:
        """Subscribe to other topics."""

    @abstractmethod
    async def unsubscribe(self) -> None:
        """Unsubscribe from all topics."""

    async def pause(self, partitions: list[list[Any]]) -> None:
        """Pause partitions."""
        raise UnsupportedError(f"the library can't pause {partitions}")

    async def resume(self, partitions: list[list[Any]]) -> None:
        """Resume partitions."""
        raise UnsupportedError(f"the library can't resume {partitions}")

    @abstractmethod
    async def close(self, timeout_ms: int) -> None:
        """Close the consumer."""

    def error(self, error: Exception) -> dict[str, Any]:
        """Return an exception's fields: code, fatal, message.

        Error classes of kafka-python, and of aiokafka, which began as its copy, hold Kafka's name.
        """
        code = getattr(error, "message", type(error).__name__)
        fatal = not getattr(error, "retriable", False)
        return {"code": str(code), "fatal": fatal, "message": str(error)}

    def refuse_unknown(self, config: Iterable[str], options: Container[str]) -> None:
        """Raise UnsupportedError for a setting that this release doesn't have."""
        lacks = [name for name in config if name not in options]
        if lacks:
            raise UnsupportedError(f"a consumer has no {' and no '.join(lacks)}")

    @property
    def transactional_id(self) -> str:
        """The transactional id of its producer: no other member has it."""
        return f"{self.started['group']}-{self.started['client_id']}"

    def tell(self, event: str, **fields: Any) -> None:
        """Write an event."""
        say(event=event, consumer=self.name, at_ms=round(time.monotonic() * 1000, 1), **fields)

    def tell_records(self, topic: Any, partition: Any, offsets: Sequence[Any]) -> None:
        """Write that records of a partition came."""
        self.tell("records", partition=[topic, partition], first=offsets[0], count=len(offsets))

    def tell_partitions(self, event: str, partitions: Iterable[Any]) -> None:
        """Write that partitions were assigned, revoked or lost."""
        self.tell(event, partitions=sorted([p.topic, p.partition] for p in partitions))

    def put(self, command: dict[str, Any]) -> None:
        """Have the user carry out a command; may be called from another thread."""
        self._loop.call_soon_threadsafe(self._commands.put_nowait, command)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        command: dict[str, Any] = {}
        while command.get("cmd") != "close":
            command = await self._commands.get()
            await self._obey(command)

    def _poll_on(self) -> None:
        self._polls_on = True
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll())

    async def _stop_polling(self) -> None:
        self._polls_on = False
        if self._polling is not None:
            _, late = await asyncio.wait({self._polling}, timeout=_POLL_ENDS_S)
            if late:
                self._polling.cancel()
                await asyncio.wait(late)

    async def _poll(self) -> None:
        fatal = False
        while self._polls_on and not fatal:
            try:
                await self.poll()
            except Exception as error:  # noqa: BLE001  (any error that a user would get)
                fields = self.error(error)
                fatal = fields["fatal"]
                self.tell("error", where="poll", **fields)
            for _ in range(2):  # commands that came meanwhile go first
                await asyncio.sleep(0)

    async def _obey(self, command: dict[str, Any]) -> None:
        begun = time.monotonic()
        took = {}
        try:
            match command["cmd"]:
                case "start":
                    self.started = command
                    self.commits_on_revoke = command.get("commit_on_revoke", False)
                    await self.start(command)
                    self._poll_on()
                case _ if self._consumer is None:
                    return say(id=command["id"], unsupported="there is no consumer")
                case "stop-polling":
                    await self._stop_polling()
                case "poll-on":
                    self._poll_on()
                case "commit":
                    await self.commit()
                case "commit-in-transaction":
                    await self.commit_in_transaction()
                case "subscribe":
                    await self.subscribe(command["topics"])
                case "unsubscribe":
                    await self.unsubscribe()
                case "pause":
                    await self.pause(command["partitions"])
                case "resume":
                    await self.resume(command["partitions"])
                case "close":
                    await self._stop_polling()
                    for _ in range(2 if command.get("twice") else 1):
                        await self.close(command.get("timeout_ms", 10_000))
                    took = {"took_ms": round((time.monotonic() - begun) * 1000, 1)}
                case other:
                    return say(id=command["id"], unsupported=f"there is no command {other}")
        except UnsupportedError as error:
            return say(id=command["id"], unsupported=str(error))
        except Exception as error:  # noqa: BLE001  (as above)
            return say(id=command["id"], error=self.error(error))
        return say(id=command["id"], ok=True, **took)


def drive(kind: type[User]) -> None:
    """Read commands until `bye` or the end of stdin."""
    _OUTPUT.take_over()
    logging.basicConfig(level=logging.WARNING, handlers=[_LogEvents()])
    users: dict[str, User] = {}
    for line in sys.stdin:
        command = json.loads(line)
        match command["cmd"], users.get(command.get("consumer", "")):
            case "hello", _:
                say(id=command["id"], protocol=1, language="python", **kind.introduction)
            case "bye", _:
                say(id=command["id"], ok=True)
                break
            case "start", _:
                user = users[command["consumer"]] = kind(command["consumer"])
                user.put(command)
            case _, None:
                say(id=command["id"], unsupported=f"there is no consumer for {command['cmd']}")
            case "close", User() as user:
                users.pop(user.name).put(command)
            case _, User() as user:
                user.put(command)
    os._exit(0)  # consumers that are open are left as a crash would leave them
