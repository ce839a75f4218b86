"""Run `exec:COMMAND`, any program that speaks adapter protocol 1 on stdin and stdout, as a target.

`reset` is for a whole process, so cases in parallel need processes in parallel: at most `jobs`.
Each process serves one case at a time and is reset for the next.  It is not used again if it
failed, was closed, or if the case required a process of its own.

An answer is valid if it belongs to an open request, and if its time never falls and, on a virtual
clock, is not ahead of the time advanced.  If a reply is invalid, the process is killed at once.
The error names the command, the reply, how the process ended and the last lines of stderr, and
every later call raises it again.  The failure of an adapter is not a failure of the coordinator
behind it.
"""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

import msgspec

from fencepost.conformance.runtime.toolchain.child import how_it_ended
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.stdio.line_process import END_S, LineProcess, LineProcessError
from fencepost.conformance.targets.stdio.protocol_schemas import (
    PROTOCOL,
    LineError,
    SchemaError,
    check_reply,
    decode_line,
    encode_line,
    shortened,
)
from fencepost.conformance.targets.target import Hints
from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    MOVES,
    TOPICS,
    Answer,
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
    Dropped,
    Hello,
    Provenance,
    Reset,
    Send,
    Topic,
    Topics,
    UnsupportedError,
    named,
    numbered,
)
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import Api
from fencepost.model.plans.steps import OperatorStep

_NAME = 100
"""Characters of the names that an adapter gives itself."""


class LedgerError(Exception):
    """An answer that can't be.  `str()` completes the sentence "the adapter …"."""


class Ledger:
    """The requests since the last reset, and the clock."""

    def __init__(self, apis: Mapping[str, Api], *, is_virtual: bool) -> None:
        self._apis = apis
        self._is_virtual = is_virtual
        self.reset()

    def reset(self) -> None:
        """Forget all; the clock starts again."""
        self._open: dict[str, Send] = {}
        self._ended: dict[str, str] = {}
        self._latest = 0
        self._now = 0

    def owes(self, request: Send) -> None:
        """Note that a request was accepted."""
        self._open[request.id] = request

    def knows(self, request_id: str) -> bool:
        """Return True if a request with this id was sent since the last reset."""
        return request_id in self._open or request_id in self._ended

    def take(self, rows: Iterable[dict[str, Any]], ms: int = 0) -> tuple[Answer, ...]:
        """Return the answers of a reply, during which `ms` may have passed.  Raises LedgerError."""
        began = self._now
        self._now += ms
        if self._is_virtual:
            self._latest = max(self._latest, began)
        return tuple(self._answer(row) for row in rows)

    def drop(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Return requests that will never be answered.  Raises LedgerError."""
        return tuple(self._end(request_id, "dropped").id for request_id in ids)

    def _answer(self, row: dict[str, Any]) -> Answer:
        request = self._end(row["id"], "answered")
        at_ms = int(row["at_ms"])
        if at_ms < self._latest:
            raise LedgerError(
                f"went back in time: {request.id!r} is answered at {at_ms} ms, "
                f"but it was {self._latest} ms already"
            )
        if self._is_virtual and at_ms > self._now:
            raise LedgerError(
                f"ran ahead: {request.id!r} is answered at {at_ms} ms, but its virtual clock "
                f"was advanced to {self._now} ms only"
            )
        self._latest = at_ms
        body = row.get("body")
        api = self._apis.get(request.api)
        if body is None or api is None or not api.lowest <= request.version <= api.highest:
            return Answer(request.id, at_ms, body)
        return Answer(request.id, at_ms, *api.readable_answer(body, request.version))

    def _end(self, request_id: str, how: str) -> Send:
        request = self._open.pop(request_id, None)
        if request is None:
            before = self._ended.get(request_id)
            problem = "was never sent" if before is None else f"was {before} before"
            raise LedgerError(f"says that {request_id!r} is {how}, which {problem}")
        self._ended[request_id] = how
        return request


Json = dict[str, Any]
T = TypeVar("T")

_LAST_WORDS = 20
_KILLED = how_it_ended(-signal.SIGKILL)
"""The end, in words, of a process that is killed here, rather than by itself."""


class StdioCoordinator(AsyncCoordinator):
    """One process.  `name`: for messages.

    Every call raises CoordinatorFailure when the adapter fails or sends an invalid reply, and
    UnsupportedError when it replies so.
    """

    def __init__(
        self, process: LineProcess, name: str, apis: Mapping[str, Api], grace_s: float
    ) -> None:
        self.pid = process.pid
        self.is_spent = False
        """True once the process is not to be used by another case."""
        self._process = process
        self._name = name
        self._apis = apis
        self._grace_s = grace_s
        self._hello: Hello | None = None
        self._ledger = Ledger(apis, is_virtual=True)
        self._failure: str | None = None
        self._is_closed = False

    async def hello(self) -> Hello:
        """Return what the program reports about itself; it is asked once."""
        if self._hello is None:
            self._hello = await self._ask("hello", self._greeted, protocol=PROTOCOL)
            self._ledger = Ledger(self._apis, is_virtual=self._hello.clock == "virtual")
        return self._hello

    async def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        """Forget everything; a setting that the reply leaves out has Kafka's default."""
        named_topics = {} if topics is None else {TOPICS: msgspec.to_builtins(topics)}

        def read(reply: Json) -> Reset:
            dropped = self._ledger.drop(reply["dropped"])
            self._ledger.reset()
            repeated = msgspec.convert(reply.get(TOPICS, {}), dict[str, Topic])
            if topics is not None and repeated != topics:
                raise CoordinatorFailure(
                    f"{self._name} was given other topics than its reply to `reset` repeats"
                )
            return Reset({**CONFIG_DEFAULTS, **numbered(reply["config"])}, dropped, repeated)

        try:
            return await self._ask("reset", read, config=named(config), **named_topics)
        except UnsupportedError as error:
            if config or named_topics:
                raise
            raise CoordinatorFailure(
                f"{self._name} answers unsupported to a `reset` without settings, which every "
                f"adapter must carry out: {error}"
            ) from None

    async def send(self, request: Send) -> Sequence[Answer]:
        """Put a request on its way.  Raises ValueError for an id that was used before."""
        if self._ledger.knows(request.id):
            raise ValueError(f"request id {request.id!r} was used before; take a new one")

        def read(reply: Json) -> tuple[Answer, ...]:
            self._ledger.owes(request)
            return self._ledger.take(reply["answers"])

        return await self._ask(
            "send",
            read,
            id=request.id,
            connection=request.connection,
            clientId=request.client_id,
            api=request.api,
            version=request.version,
            body=dict(request.body),
        )

    async def advance(self, ms: int) -> Sequence[Answer]:
        """Let `ms` pass (virtual), or wait up to that long (real)."""

        def read(reply: Json) -> tuple[Answer, ...]:
            return self._ledger.take(reply["answers"], ms)

        return await self._ask("advance", read, grace_s=self._grace_s + ms / 1000, ms=ms)

    async def disconnect(self, connection: str) -> Dropped:
        """Drop the connection of a client."""
        return await self._ask("disconnect", self._dropped, connection=connection)

    async def restart(self) -> Dropped:
        """Fail over."""
        return await self._ask("restart", self._dropped)

    async def move(self) -> Dropped:
        """Move to another broker."""

        def read(reply: Json) -> Dropped:
            return Dropped(self._ledger.take(reply["answers"]), ())

        return await self._ask(MOVES, read)

    async def operate(self, step: OperatorStep) -> Sequence[Answer]:
        """Do what an operator does."""

        def read(reply: Json) -> tuple[Answer, ...]:
            return self._ledger.take(reply["answers"])

        return await self._ask(step.do, read, **step.arguments())

    async def close(self) -> None:
        """End the process: `bye`, then force if needed.  Nothing it started is left."""
        self.is_spent = True
        if self._is_closed:
            return
        self._is_closed = True
        if self._failure is not None:
            await self._process.kill()
            return
        try:
            await self._process.ask(encode_line({"cmd": "bye"}), END_S)
        except LineProcessError:
            await self._process.end(within_s=0)
        except BaseException:
            await self._process.kill()
            raise
        else:
            await self._process.end()

    def _greeted(self, reply: Json) -> Hello:
        """Return the greeting, with only those versions that the judge knows."""
        apis = {}
        for name, (low, high) in reply["apis"].items():
            if low > high:
                raise LedgerError(f"advertises {name} from version {low} down to {high}")
            if (api := self._apis.get(name)) is not None:
                apis[name] = max(int(low), api.lowest), min(int(high), api.highest)
        return Hello(
            shortened(reply["implementation"], _NAME),
            shortened(reply["version"], _NAME),
            reply["clock"],
            {name: bounds for name, bounds in apis.items() if bounds[0] <= bounds[1]},
            frozenset(reply["features"]),
        )

    def _dropped(self, reply: Json) -> Dropped:
        answers = self._ledger.take(reply["answers"])
        return Dropped(answers, self._ledger.drop(reply["dropped"]))

    async def _ask(
        self,
        name: str,
        read: Callable[[Json], T],
        *,
        grace_s: float | None = None,
        **fields: Any,
    ) -> T:
        if self._failure is not None:
            raise CoordinatorFailure(self._failure)
        try:
            line = encode_line({"cmd": name, **fields})
        except LineError as error:
            raise UnsupportedError(f"the command {error}") from None
        raw: bytes | None = None
        spent_before, self.is_spent = self.is_spent, True  # also when cancelled half-way
        try:
            raw = await self._process.ask(line, self._grace_s if grace_s is None else grace_s)
            reply = decode_line(raw)
            if name == "hello":
                _check_protocol(reply)
            check_reply(name, reply)
            if "unsupported" not in reply and "error" not in reply:
                result = read(reply)
                self.is_spent = spent_before
                return result
        except (LineProcessError, LedgerError) as error:
            raise await self._fail(line, f"the program {error}", raw) from None
        except LineError as error:
            raise await self._fail(line, f"the reply {error}", raw) from None
        except SchemaError as error:
            problem = (
                f"the reply is not adapter protocol {PROTOCOL}, at {error}; "
                f"`fencepost schema adapter-protocol {name}.reply` says what it may be"
            )
            raise await self._fail(line, problem, raw) from None
        if "unsupported" in reply:
            self.is_spent = spent_before
            raise UnsupportedError(reply["unsupported"])
        problem, context = shortened(reply["error"]), shortened(reply.get("context", ""))
        problem = f"it reports an error: {problem} {context}"
        raise CoordinatorFailure(self._sentence(line, problem.rstrip(), None))

    async def _fail(self, line: bytes, problem: str, raw: bytes | None) -> CoordinatorFailure:
        self._failure = problem
        await self._process.kill()
        if (how := self._process.how_it_ended()) not in problem:
            problem += f". It {'was killed' if how == _KILLED else how}"
        self._failure = self._sentence(line, problem, raw)
        return CoordinatorFailure(self._failure)

    def _sentence(self, line: bytes, problem: str, raw: bytes | None) -> str:
        parts = [f"{self._name}, asked {shortened(line)}: {problem}."]
        if raw is not None:
            parts.append(f"Received: {shortened(raw)!r}.")
        words = self._process.last_words()[-_LAST_WORDS:]
        if words:
            parts.append("Its stderr ended with:" + "".join(f"\n  {shortened(w)}" for w in words))
        else:
            parts.append("It wrote nothing on stderr.")
        return " ".join(parts)


def _check_protocol(reply: Json) -> None:
    spoken = reply.get("protocol", PROTOCOL)
    if spoken != PROTOCOL:
        raise LedgerError(f"speaks protocol {shortened(spoken)}; this judge speaks {PROTOCOL}")


GRACE_S = 10.0
"""Seconds that a command may take beside the time that it lets pass."""


class ExecTarget:
    """A program, started without a shell.  `apis`: the messages whose answers are checked."""

    hints = Hints()

    def __init__(
        self,
        command: str,
        *,
        jobs: int = 2,
        grace_s: float = GRACE_S,
        apis: Mapping[str, Api] = ALL_APIS,
    ) -> None:
        if jobs < 1:
            raise ValueError(f"jobs is {jobs}; a target needs at least one process")
        self.name = f"exec:{command}"
        self.capacity = jobs
        self._command = command
        self._grace_s = grace_s
        self._apis = apis
        self._slots = asyncio.Semaphore(jobs)
        self._live: list[StdioCoordinator] = []
        self._idle: list[StdioCoordinator] = []
        self._hello: Hello | None = None

    async def __aenter__(self) -> Self:
        """Start the first process.  Raises TargetUnavailableError if it doesn't say hello."""
        try:
            coordinator = await self._start()
        except (CoordinatorFailure, UnsupportedError) as error:
            refusal = isinstance(error, UnsupportedError)
            problem = f"{self.name} answers unsupported to `hello`: {error}" if refusal else error
            raise TargetUnavailableError(
                f"{problem}\nAn adapter must answer `hello` in protocol 1 first; "
                f"run `{self._command}` by hand to see what it does. "
                "One that starts slowly can be given more time: --adapter-timeout SECONDS."
            ) from error
        self._hello = await coordinator.hello()
        self._idle.append(coordinator)
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all processes, and all that they started."""
        self._hello = None
        self._idle.clear()
        await asyncio.gather(*(self._end(c) for c in list(self._live)))

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """Yield a process, reset; `isolated`: a fresh one that is not used afterwards.

        Waits while `capacity` scopes are open.  Raises CoordinatorFailure where the adapter fails,
        TargetUnavailableError where no process can be started.
        """
        del restarts
        self.hello()
        async with self._slots:
            coordinator = await self._taken(isolated=isolated)
            try:
                await coordinator.reset({})
                yield coordinator
            except CoordinatorFailure as error:
                error.add_note(f"in the scope {label!r}")
                raise
            finally:
                if isolated or coordinator.is_spent:
                    await self._end(coordinator)
                else:
                    self._idle.append(coordinator)

    def hello(self) -> Hello:
        """Return what the program reports.  Raises RuntimeError unless the target is open."""
        if self._hello is None:
            raise RuntimeError(f"{self.name} is not open; use it with `async with`")
        return self._hello

    def provenance(self) -> Provenance:
        """Return the program's entry in a certificate.  Raises RuntimeError unless it is open."""
        hello = self.hello()
        return Provenance(self.name, hello.implementation, hello.version)

    def pids(self) -> tuple[int, ...]:
        """Return the processes that are running for this target."""
        return tuple(coordinator.pid for coordinator in self._live)

    async def _taken(self, *, isolated: bool) -> StdioCoordinator:
        if self._idle and not isolated:
            return self._idle.pop()
        while self._idle and len(self._live) >= self.capacity:
            await self._end(self._idle.pop())
        return await self._start()

    async def _start(self) -> StdioCoordinator:
        try:
            process = await LineProcess.start(self._argv())
        except OSError as error:
            raise TargetUnavailableError(
                f"can't start `{self._command}`: {error.strerror or error}. Name a program that is "
                "on PATH or give its path; no shell is used, so write `sh -c '…'` for its syntax."
            ) from error
        coordinator = StdioCoordinator(process, self.name, self._apis, self._grace_s)
        self._live.append(coordinator)
        try:
            await coordinator.hello()
        except BaseException:
            await self._end(coordinator)
            raise
        return coordinator

    async def _end(self, coordinator: StdioCoordinator) -> None:
        try:
            await coordinator.close()
        finally:
            if coordinator in self._live:
                self._live.remove(coordinator)

    def _argv(self) -> list[str]:
        try:
            argv = shlex.split(self._command)
        except ValueError as error:
            raise TargetUnavailableError(
                f"can't read `{self._command}` as a command: {error}. Close its quotes."
            ) from error
        if not argv:
            raise TargetUnavailableError("exec: names no program; write exec:COMMAND")
        return argv
