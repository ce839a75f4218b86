"""A program that speaks adapter protocol 1, as an asynchronous coordinator.

If a reply is invalid, the process is killed at once.  The error says what was asked, what came, how
the process ended and the last lines of stderr, and every later call raises it again.  The failure
of an adapter is not a failure of the coordinator behind it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from fencepost.conformance.runtime.toolchain.child import how_it_ended
from fencepost.conformance.targets.stdio.json_lines import (
    LineError,
    decode_line,
    encode_line,
    shortened,
)
from fencepost.conformance.targets.stdio.line_process import END_S, LineProcess, LineProcessError
from fencepost.conformance.targets.stdio.open_requests import Ledger, LedgerError
from fencepost.conformance.targets.stdio.protocol_schemas import PROTOCOL, SchemaError, check_reply
from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    Answer,
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
    Dropped,
    Hello,
    Reset,
    Send,
    UnsupportedError,
)
from fencepost.model.messages.messages import Api

Json = dict[str, Any]
T = TypeVar("T")

_LAST_WORDS = 20
_KILLED = how_it_ended(-signal.SIGKILL)
"""How a process ends that is killed here, rather than by itself."""


class StdioCoordinator(AsyncCoordinator):
    """One process.  `name` is what messages call it.

    Every call raises CoordinatorFailure when the adapter fails or speaks nonsense, and
    UnsupportedError when it says so.
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
        """What the program says of itself; asked once."""
        if self._hello is None:
            self._hello = await self._ask("hello", self._greeted, protocol=PROTOCOL)
            self._ledger = Ledger(self._apis, is_virtual=self._hello.clock == "virtual")
        return self._hello

    async def reset(self, config: Config) -> Reset:
        """Forget everything; a setting that the reply leaves out has Kafka's default."""

        def read(reply: Json) -> Reset:
            dropped = self._ledger.drop(reply["dropped"])
            self._ledger.reset()
            return Reset({**CONFIG_DEFAULTS, **reply["config"]}, dropped)

        try:
            return await self._ask("reset", read, config=dict(config))
        except UnsupportedError as error:
            if config:
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
        """The client drops a connection."""
        return await self._ask("disconnect", self._dropped, connection=connection)

    async def restart(self) -> Dropped:
        """Fail over."""
        return await self._ask("restart", self._dropped)

    async def delete_topics(self, topics: Sequence[str]) -> Sequence[Answer]:
        """Delete topics."""

        def read(reply: Json) -> tuple[Answer, ...]:
            return self._ledger.take(reply["answers"])

        return await self._ask("delete-topics", read, topics=list(topics))

    async def close(self) -> None:
        """End the process: `bye`, then what it takes.  Nothing it started is left."""
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
        """What it says of itself; of its versions those that the judge knows, too."""
        apis = {}
        for name, (low, high) in reply["apis"].items():
            if low > high:
                raise LedgerError(f"advertises {name} from version {low} down to {high}")
            if (api := self._apis.get(name)) is not None:
                apis[name] = max(int(low), api.lowest), min(int(high), api.highest)
        return Hello(
            reply["implementation"],
            reply["version"],
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
        problem = f"it reports an error: {reply['error']} {shortened(reply.get('context', ''))}"
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
            parts.append(f"What came: {shortened(raw)!r}.")
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
