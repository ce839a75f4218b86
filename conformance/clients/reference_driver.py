"""Drive the reference client, or a faulty one: `python -m ...reference_driver`.

It speaks client driver protocol 1 on stdin and stdout.  All its consumers run in one event loop,
which never blocks.  A consumer carries out the requests of the pure client with real sockets; a
connection is made at the first request for its endpoint.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable
from functools import partial

import click
import msgspec
from msgspec.structs import replace

from fencepost.conformance.targets.tcp.broker_connection import (
    Connection,
    Event,
    Reply,
    Stray,
    is_readable,
)
from fencepost.conformance.targets.tcp.security import Address, AddressError, parse_address
from fencepost.conformance.wire.cluster_bodies import request_body, response
from fencepost.conformance.wire.codec import encode_message, encode_request
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.client.behaviour import RIGHT, ClientSettings, Conduct
from fencepost.model.client.client import step
from fencepost.model.client.client_interface import (
    AnswerRead,
    Assigned,
    Closed,
    Committed,
    ConnectionLost,
    Endpoint,
    ErrorReported,
    HangUp,
    Input,
    Lost,
    Outgoing,
    Records,
    Revoked,
    Role,
    Transacted,
    UserEvent,
    Woken,
)
from fencepost.model.client.client_state import ClientState
from fencepost.model.messages.cluster_messages import ClusterResponse
from fencepost.model.messages.messages import APIS
from fencepost.model.messages.shapes import Message
from fencepost.model.plans.steps import Close, Commit, CommitInTransaction, Start, UserStep
from fencepost.properties.mutants.client_mutants import find_client_mutant
from fencepost.properties.requirements import driver_messages
from fencepost.traces.files.bounded import own_version

_CONNECT_S = 10.0


def now_ms() -> int:
    """Return the time of the monotonic clock, in ms."""
    return time.monotonic_ns() // 1_000_000


class _Line:
    """A connection to an endpoint.  `waiting`: the request that came while it was being made."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.opening: asyncio.Task[None] | None = None
        self.waiting: Outgoing | None = None

    def close(self) -> None:
        if self.opening is not None:
            self.opening.cancel()
        if self.connection is not None:
            self.connection.close()


class ReferenceConsumer:
    """A consumer in this event loop.  `tell` gets each event of its user, in order."""

    def __init__(
        self, settings: ClientSettings, bootstrap: Address, tell: Callable[[UserEvent], None]
    ) -> None:
        self._settings = settings
        self._bootstrap = bootstrap
        self._tell = tell
        self._state = ClientState()
        self._lines: dict[Endpoint, _Line] = {}
        self._inputs: deque[Input] = deque()
        self._is_stepping = False
        self._timer: asyncio.TimerHandle | None = None

    def give(self, client_input: Input) -> None:
        """Give the client an input, and carry out its requests and events before returning."""
        self._inputs.append(client_input)
        if self._is_stepping:
            return
        self._is_stepping = True
        try:
            while self._inputs:
                self._step(self._inputs.popleft())
        finally:
            self._is_stepping = False

    def kill(self) -> None:
        """End all connections and timers, and so the client."""
        if self._timer is not None:
            self._timer.cancel()
        for line in self._lines.values():
            line.close()
        self._lines.clear()

    def _step(self, client_input: Input) -> None:
        result = step(self._settings, self._state, client_input, now_ms())
        self._state = result.state
        for request in result.requests:
            if isinstance(request, HangUp):
                if line := self._lines.pop(request.to, None):
                    line.close()
            else:
                self._ask(request)
        for event in result.events:
            self._tell(event)
        self._set_timer(result.wake_at_ms)

    def _set_timer(self, at_ms: int | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if at_ms is not None:
            loop = asyncio.get_running_loop()
            delay = max(at_ms - now_ms(), 1) / 1000
            self._timer = loop.call_later(delay, self.give, Woken())

    def _ask(self, request: Outgoing) -> None:
        line = self._lines.get(request.to)
        if line is None:
            line = self._lines[request.to] = _Line()
            line.waiting = request
            line.opening = asyncio.ensure_future(self._open(request.to, line))
        elif line.connection is None:
            line.waiting = request
        else:
            self._send(line.connection, request)

    async def _open(self, endpoint: Endpoint, line: _Line) -> None:
        at = self._bootstrap
        if endpoint.role is not Role.BOOTSTRAP:
            at = Address(endpoint.host, endpoint.port)
        hear = partial(self._hear, endpoint, line)
        try:
            connection = await Connection.open(at.host, at.port, hear, timeout_s=_CONNECT_S)
        except OSError:
            self._lose(endpoint, line)
            return
        line.connection, request, line.waiting = connection, line.waiting, None
        if request is not None:
            self._send(connection, request)

    def _send(self, connection: Connection, request: Outgoing) -> None:
        api, version, message = request.api, request.version, request.message

        def write(correlation_id: int) -> bytes:
            client_id = self._settings.client_id
            if isinstance(message, Message):
                body = message.to_body(version)
                return encode_request(api, version, correlation_id, client_id, body)
            body = request_body(version, message)
            return encode_message(
                api, "Request", version, correlation_id, body, client_id=client_id
            )

        connection.send(str(request.correlation_id), api, version, write)

    def _hear(self, endpoint: Endpoint, line: _Line, event: Event) -> None:
        if self._lines.get(endpoint) is not line or isinstance(event, Stray):
            return
        if isinstance(event, Reply) and is_readable(event.decoded):
            self.give(AnswerRead(int(event.request.id), _message(event)))
        else:
            self._lose(endpoint, line)

    def _lose(self, endpoint: Endpoint, line: _Line) -> None:
        if self._lines.get(endpoint) is line:
            del self._lines[endpoint]
            line.close()
            self.give(ConnectionLost(endpoint))


def _message(reply: Reply) -> Message | ClusterResponse:
    body, request = reply.decoded.body or {}, reply.request
    if request.api in APIS:
        return APIS[request.api].response.from_body(body, request.version)
    return response(request.api, body)


_FEATURES = (
    "static",
    "cooperative",
    "auto-commit",
    "manual-commit",
    "commit-on-revoke",
    "metadata-age",
    "transactions",
    "pattern",
    "pause",
    "close-twice",
)
_LONGEST_LINE = 2**20
_NONE = "NONE"

Say = Callable[[driver_messages.Message], None]


class _UnknownMutantError(click.UsageError):
    exit_code = 64


class _User:
    """A consumer, and the commands that wait for its commits and its close."""

    def __init__(self, name: str, start: driver_messages.Start, conduct: Conduct, say: Say) -> None:
        self.name = name
        self._say = say
        self._commits: list[int] = []
        self._transactions: list[int] = []
        self._close: tuple[int, int] | None = None
        self._closes_again: Close | None = None
        self.is_closed = False
        settings = _settings(start, conduct)
        self.consumer = ReferenceConsumer(settings, parse_address(start.bootstrap), self._see)
        self.consumer.give(Start(name))

    def do(self, number: int, step: UserStep) -> None:
        """Give the client a step; commits and a close are answered when they have ended."""
        if isinstance(step, Commit):
            self._commits.append(number)
        elif isinstance(step, CommitInTransaction):
            self._transactions.append(number)
        elif isinstance(step, Close):
            self._close = number, now_ms()
            self._closes_again = step if step.twice is True else None
        self.consumer.give(step)
        if not isinstance(step, Commit | CommitInTransaction | Close):
            self._say(driver_messages.Done(id=number, ok=True))

    def _see(self, event: UserEvent) -> None:
        name, at_ms = self.name, now_ms()
        match event:
            case Assigned(partitions):
                self._say(driver_messages.Assigned(name, at_ms, partitions))
            case Revoked(partitions):
                self._say(driver_messages.Revoked(name, at_ms, partitions))
            case Lost(partitions):
                self._say(driver_messages.Lost(name, at_ms, partitions))
            case Records(partition, first, count):
                self._say(driver_messages.Records(name, at_ms, partition, first, count))
            case ErrorReported(code, fatal, where):
                self._say(
                    driver_messages.Error(name, at_ms, "poll", code, fatal, _why(code, where))
                )
            case Committed(error):
                for number in self._commits[:1]:
                    self._say(_commit_reply(number, error))
                del self._commits[:1]
            case Transacted(error):
                self._say(_commit_reply(self._transactions.pop(0), error))
            case Closed() if self._closes_again is not None:
                again, self._closes_again = self._closes_again, None
                self.consumer.give(again)
            case Closed():
                self.is_closed = True
                if self._close is not None:
                    number, begun_ms = self._close
                    took = float(now_ms() - begun_ms)
                    self._say(driver_messages.Done(id=number, ok=True, took_ms=took))


def _why(code: str, where: str) -> str:
    if code == "UNSUPPORTED_VERSION":
        return f"the broker has no version of {where} that this consumer can use"
    return f"the broker answered {where} with {code}"


def _commit_reply(number: int, error: str) -> driver_messages.Done | driver_messages.Refused:
    if error == _NONE:
        return driver_messages.Done(id=number, ok=True)
    client_error = driver_messages.ClientError(
        code=error, fatal=error == "FENCED_INSTANCE_ID", message=f"the commit failed: {error}"
    )
    return driver_messages.Refused(id=number, error=client_error)


_OWN_NAMES = (
    "retry_backoff_ms",
    "retry_backoff_max_ms",
    "request_timeout_ms",
    "join_slack_ms",
    "commit_timeout_ms",
    "fetch_max_wait_ms",
    "metadata_max_age_ms",
)


def _settings(start: driver_messages.Start, conduct: Conduct) -> ClientSettings:
    """Return the client's settings; `settings` of the command may name some of its numbers."""
    settings = ClientSettings(
        group_id=start.group,
        topics=start.topics,
        client_id=start.client_id,
        group_instance_id=start.instance,
        assignors=(start.assignor,),
        rack_id=start.rack,
        session_timeout_ms=start.session_timeout_ms,
        heartbeat_interval_ms=start.heartbeat_interval_ms,
        max_poll_interval_ms=start.max_poll_interval_ms,
        auto_offset_reset=start.auto_offset_reset,
        auto_commit_ms=start.auto_commit_ms,
        commits_on_revoke=bool(start.commit_on_revoke),
        conduct=conduct,
    )
    if not isinstance(start.metadata_max_age_ms, msgspec.UnsetType):
        settings = replace(settings, metadata_max_age_ms=start.metadata_max_age_ms)
    if not isinstance(start.pattern, msgspec.UnsetType):
        settings = replace(settings, pattern=start.pattern)
    own = {name: int(start.settings[name]) for name in _OWN_NAMES if name in start.settings}
    return replace(settings, **own)


class ReferenceDriver:
    """A driver that obeys commands; `say` writes replies and events."""

    def __init__(self, name: str, conduct: Conduct, say: Say) -> None:
        self._name = name
        self._conduct = conduct
        self._say = say
        self._users: dict[str, _User] = {}

    def obey(self, line: bytes) -> bool:
        """Carry out the command of a line; return False after `bye`."""
        try:
            command = driver_messages.command_of(msgspec.json.decode(line))
        except msgspec.ValidationError as error:
            self._refuse_line(line, str(error))
            return True
        except msgspec.DecodeError as error:
            self._say(driver_messages.Log(level="error", message=f"a line is not JSON: {error}"))
            return True
        match command:
            case driver_messages.Hello():
                self._introduce(command.id)
            case driver_messages.Bye():
                for user in self._users.values():
                    user.consumer.kill()
                self._say(driver_messages.Done(id=command.id, ok=True))
                return False
            case driver_messages.Start():
                self._start(command)
            case _:
                self._tell_user(command)
        return True

    def _introduce(self, number: int) -> None:
        self._say(
            driver_messages.Introduction(
                id=number,
                protocol=1,
                client=self._name,
                version=own_version(),
                language="python",
                features=_FEATURES,
                assignors=tuple(ASSIGNORS),
            )
        )

    def _start(self, command: driver_messages.Start) -> None:
        user = self._users.get(command.consumer)
        if user is not None and not user.is_closed:
            self._unsupported(command.id, f"consumer {command.consumer} is running; close it first")
        elif command.assignor not in ASSIGNORS:
            known = ", ".join(ASSIGNORS)
            self._unsupported(
                command.id, f"there is no assignor {command.assignor}; give one of {known}"
            )
        else:
            try:
                user = _User(command.consumer, command, self._conduct, self._say)
            except AddressError as error:
                self._unsupported(command.id, str(error))
                return
            self._users[command.consumer] = user
            self._say(driver_messages.Done(id=command.id, ok=True))

    def _tell_user(self, command: driver_messages.UserCommand) -> None:
        consumer = command.step.consumer
        user = self._users.get(consumer)
        if user is None or user.is_closed:
            self._unsupported(command.id, f"there is no consumer {consumer}; start it first")
        else:
            user.do(command.id, command.step)

    def _refuse_line(self, line: bytes, why: str) -> None:
        """Answer a line that is no command by its id if it has one, else by a log line."""
        value = msgspec.json.decode(line)
        number = value.get("id") if isinstance(value, dict) else None
        if isinstance(number, int):
            self._unsupported(number, why)
        else:
            self._say(driver_messages.Log(level="error", message=f"a line is not a command: {why}"))

    def _unsupported(self, number: int, why: str) -> None:
        self._say(driver_messages.Unsupported(id=number, unsupported=why))


def _write(message: driver_messages.Message) -> None:
    fields = {
        name: value for name, value in msgspec.to_builtins(message).items() if value is not None
    }
    sys.stdout.buffer.write(msgspec.json.encode(fields) + b"\n")
    sys.stdout.buffer.flush()


async def drive(name: str, conduct: Conduct) -> None:
    """Obey the lines of stdin until `bye`, or its end."""
    driver = ReferenceDriver(name, conduct, _write)
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        if line.strip() and not driver.obey(line):
            return


@click.command()
@click.option(
    "--mutant", metavar="NAME", help="Run this faulty client instead of the reference client."
)
def main(mutant: str | None) -> None:
    """Drive the reference client by client driver protocol 1."""
    name, conduct = "reference", RIGHT
    if mutant is not None:
        try:
            faulty = find_client_mutant(mutant)
        except KeyError as error:
            raise _UnknownMutantError(str(error.args[0])) from error
        name, conduct = f"mutant:{faulty.name}", faulty.conduct
    asyncio.run(drive(name, conduct))


if __name__ == "__main__":
    main()
