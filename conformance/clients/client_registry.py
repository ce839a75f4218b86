"""Clients by name, such as `java:4.3.0`, `franz-go` or `exec:COMMAND`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from fencepost.conformance.clients.driver_programs import (
    Client,
    Program,
    go_program,
    java_program,
    node_program,
    python_program,
)
from fencepost.model.bad_input import BadInputError
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.mutants.client_mutants import find_client_mutant

FORMS = (
    "java[:VERSION], confluent-kafka[:VERSION], kafka-python[:VERSION], aiokafka[:VERSION], "
    "franz-go[:VERSION], sarama[:VERSION], kafka-go[:VERSION], kafkajs[:VERSION], "
    "platformatic[:VERSION], reference, mutant:NAME, exec:COMMAND"
)
_VERSION = re.compile(r"\d[\w.+-]*", re.ASCII)
_REFERENCE = "fencepost.conformance.clients.reference_driver"


class UnknownClientError(BadInputError):
    """No client has such a name.  `str()` names it and the forms that there are."""


@dataclass(frozen=True, slots=True)
class Library:
    """A client library.  `versions`: those it is tried with, the default first."""

    versions: tuple[str, ...]
    program: Callable[[str], Awaitable[Program]]


LIBRARIES = {
    "java": Library(("4.3.0", "3.9.1", "2.4.1"), java_program),
    "confluent-kafka": Library(("2.16.1",), partial(python_program, "confluent-kafka")),
    "kafka-python": Library(("3.0.12",), partial(python_program, "kafka-python")),
    "aiokafka": Library(("0.14.0",), partial(python_program, "aiokafka")),
    "franz-go": Library(("1.22.2",), partial(go_program, "franz-go", "github.com/twmb/franz-go")),
    "sarama": Library(("1.61.1",), partial(go_program, "sarama", "github.com/IBM/sarama")),
    "kafka-go": Library(
        ("0.4.51",), partial(go_program, "kafka-go", "github.com/segmentio/kafka-go")
    ),
    "kafkajs": Library(("2.2.4",), partial(node_program, "kafkajs", "kafkajs")),
    "platformatic": Library(
        ("2.12.1",), partial(node_program, "platformatic", "@platformatic/kafka")
    ),
}
_OTHERS = ("reference", "mutant:NAME", "exec:COMMAND")


def find_client(name: str) -> Client:
    """The client of this name, not yet built.  Raises UnknownClientError."""
    kind, colon, rest = name.partition(":")
    match kind, bool(colon):
        case "reference", False:
            return Client(name, _given(Program(_own())))
        case "mutant", True if rest:
            _check_mutant(rest)
            return Client(name, _given(Program((*_own(), "--mutant", rest))))
        case "exec", True if rest.strip():
            return Client(name, _given(Program(_argv(rest))))
        case _, _ if kind in LIBRARIES:
            return _library(name, kind, rest if colon else None)
    near = did_you_mean(kind, (*LIBRARIES, *_OTHERS))
    raise UnknownClientError(f"no client {name!r}{near}; a client is one of {FORMS}")


def _check_mutant(name: str) -> None:
    try:
        find_client_mutant(name)
    except KeyError as error:
        raise UnknownClientError(str(error.args[0])) from None


def _library(name: str, kind: str, version: str | None) -> Client:
    library = LIBRARIES[kind]
    if version is None:
        version = library.versions[0]
    elif not _VERSION.fullmatch(version):
        raise UnknownClientError(
            f"{version!r} in {name!r} is no version; write one as in {kind}:{library.versions[0]}"
        )
    return Client(f"{kind}:{version}", partial(library.program, version))


def _given(program: Program) -> Callable[[], Awaitable[Program]]:
    async def give() -> Program:
        return program

    return give


def _own() -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", _REFERENCE)


def _argv(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise UnknownClientError(
            f"can't read `{command}` as a command: {error}. Close its quotes."
        ) from error
