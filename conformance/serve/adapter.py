"""Serve a coordinator of this process as a program on stdio, in adapter protocol 1.

There is one reply for each command, in order, whatever comes in.  A mistake of the judge (bad JSON,
an unknown command, an id used twice) is answered `error`, and the next command is read.  What the
coordinator cannot do is answered `unsupported`.

Commands and replies are both checked, so that neither a wrong judge nor a wrong coordinator can
make this adapter break the protocol.  `Answer.findings` are the judge's own and are not sent.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import msgspec

from fencepost.conformance.targets.stdio.protocol_schemas import (
    PROTOCOL,
    LineError,
    SchemaError,
    check_command,
    check_reply,
    decode_line,
    encode_line,
    shortened,
)
from fencepost.model.consumer.settings import ALL_SETTINGS
from fencepost.model.coordinator import (
    MOVES,
    TOPICS,
    Answer,
    Coordinator,
    CoordinatorFailure,
    Dropped,
    Hello,
    Send,
    Topic,
    UnsupportedError,
    named,
    numbered,
)
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import Api
from fencepost.model.messages.shapes import ShapeError
from fencepost.model.plans.steps import OPERATIONS
from fencepost.traces.files.bounded import LINE_LIMIT, bounded_lines, is_too_long

Json = dict[str, Any]


def serve(
    coordinator: Coordinator,
    commands: BinaryIO,
    replies: BinaryIO,
    *,
    apis: Mapping[str, Api] = ALL_APIS,
) -> int:
    """Answer commands until `bye` or the end of input, then close the coordinator; returns 0.

    `apis` are the messages whose request bodies are checked before the coordinator sees them.
    """
    session = _Session(coordinator, apis)
    try:
        for line in _lines(commands):
            replies.write(session.reply_to(line) + b"\n")
            replies.flush()
            if session.is_over:
                break
    except BrokenPipeError:
        pass  # the judge is gone: the same as the end of input
    finally:
        coordinator.close()
    return 0


class _Refused(Exception):
    """A command that can't be carried out; becomes an `error` reply with this context."""

    def __init__(self, problem: str, **context: Any) -> None:
        super().__init__(problem)
        self.context = context


class _Session:
    """The requests seen since the last reset, and the calls."""

    def __init__(self, coordinator: Coordinator, apis: Mapping[str, Api]) -> None:
        self.is_over = False
        self._coordinator = coordinator
        self._apis = apis
        self._hello: Hello | None = None
        self._used: set[str] = set()
        self._open: dict[str, str] = {}
        """Request id to connection."""

    def reply_to(self, line: bytes | None) -> bytes:
        """Return the reply line; None stands for a line over the limit."""
        name = "none"
        try:
            command = _read(line)
            name = check_command(command)
            reply = self._perform(name, command)
            check_reply(name, reply)
            return encode_line(reply)
        except UnsupportedError as error:
            return encode_line({"unsupported": str(error) or f"{name} is not supported"})
        except _Refused as error:
            problem, context = str(error), error.context
        except LineError as error:
            problem, context = f"the line {error}", {}
        except SchemaError as error:
            problem, context = (
                f"not a command of adapter protocol {PROTOCOL}: {error}",
                {"path": error.path},
            )
        except ShapeError as error:
            problem, context = f"the body is not valid: {error}", {"path": error.path}
        except CoordinatorFailure as error:
            problem, context = str(error) or "the coordinator failed", {}
        except Exception as error:  # noqa: BLE001 - one bad command must not end the session
            traceback.print_exc(file=sys.stderr)
            problem, context = f"{type(error).__name__}: {error}", {}
        context = {"cmd": name, "line": shortened(line or b""), **context}
        return encode_line({"error": problem, "context": context})

    def _perform(self, name: str, command: Json) -> Json:
        match name:
            case "hello":
                return self._greet(command["protocol"])
            case "reset":
                return self._reset(command["config"], command.get(TOPICS))
            case "send":
                return self._send(command)
            case "advance":
                return {"answers": self._answers(self._coordinator.advance(command["ms"]))}
            case "disconnect":
                self._require(name)
                return self._dropped(self._coordinator.disconnect(command["connection"]))
            case "restart":
                self._require(name)
                return self._dropped(self._coordinator.restart())
            case _ if name == MOVES:
                self._require(name)
                return {"answers": self._answers(self._coordinator.move().answers)}
            case _ if (kind := OPERATIONS.get(name)) is not None:
                self._require(name)
                step = msgspec.convert({f: command[f] for f in kind.__struct_fields__}, kind)
                return {"answers": self._answers(self._coordinator.operate(step))}
            case _:
                self.is_over = True
                return {"ok": True}

    def _known(self) -> Hello:
        if self._hello is None:
            self._hello = self._coordinator.hello()
        return self._hello

    def _require(self, feature: str) -> None:
        if feature not in self._known().features:
            raise UnsupportedError(feature)

    def _greet(self, protocol: int) -> Json:
        if protocol != PROTOCOL:
            raise UnsupportedError(f"protocol {protocol}; this adapter speaks {PROTOCOL}")
        hello = self._known()
        return {
            "protocol": PROTOCOL,
            "implementation": hello.implementation,
            "version": hello.version,
            "clock": hello.clock,
            "apis": {name: list(versions) for name, versions in hello.apis.items()},
            "features": sorted(hello.features),
        }

    def _reset(self, command: Json, topics: Json | None) -> Json:
        for key in command:
            if key not in ALL_SETTINGS:
                raise UnsupportedError(key)
        config = numbered(command)
        if topics is None:
            reset = self._coordinator.reset(config)
        else:
            self._require(TOPICS)
            read = msgspec.convert(topics, dict[str, Topic])
            reset = self._coordinator.reset(config, read)
        self._used.clear()
        self._open.clear()
        repeated = {} if topics is None else {TOPICS: msgspec.to_builtins(reset.topics)}
        return {
            "ok": True,
            "config": named(reset.config),
            **repeated,
            "dropped": list(reset.dropped),
        }

    def _send(self, command: Json) -> Json:
        request = Send(
            id=command["id"],
            connection=command["connection"],
            client_id=command["clientId"],
            api=command["api"],
            version=command["version"],
            body=command["body"],
        )
        self._check_send(request)
        self._used.add(request.id)
        answers = self._coordinator.send(request)
        self._open[request.id] = request.connection
        return {"answers": self._answers(answers)}

    def _check_send(self, request: Send) -> None:
        if request.id in self._used:
            raise _Refused(f"request id {request.id!r} was used before", id=request.id)
        for request_id, connection in self._open.items():
            if connection == request.connection:
                raise _Refused(
                    f"connection {connection!r} still waits for the answer to {request_id!r}",
                    id=request.id,
                    open=request_id,
                )
        versions = self._known().apis.get(request.api)
        if versions is None or not versions[0] <= request.version <= versions[1]:
            raise UnsupportedError(f"{request.api} version {request.version}")
        api = self._apis.get(request.api)
        if api is not None and api.lowest <= request.version <= api.highest:
            api.request.from_body(request.body, request.version)

    def _answers(self, answers: Sequence[Answer]) -> list[Json]:
        for answer in answers:
            self._open.pop(answer.id, None)
        return [_answer(answer) for answer in answers]

    def _dropped(self, outcome: Dropped) -> Json:
        answers = self._answers(outcome.answers)
        for request_id in outcome.dropped:
            self._open.pop(request_id, None)
        return {"answers": answers, "dropped": list(outcome.dropped)}


def _read(line: bytes | None) -> Json:
    if line is None:
        raise LineError(f"has more than {LINE_LIMIT} bytes")
    return decode_line(line)


def _answer(answer: Answer) -> Json:
    ending: Json = {"closed": True} if answer.body is None else {"body": dict(answer.body)}
    return {"id": answer.id, "at_ms": answer.at_ms, **ending}


def _lines(commands: BinaryIO) -> Iterator[bytes | None]:
    """Yield the lines of the input; None for one over the limit, which is skipped."""
    for line in bounded_lines(commands):
        yield None if is_too_long(line) else line
