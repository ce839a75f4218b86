"""Classes that a pasted test needs to talk to a broker: kafka-python and the standard library.

The test repeats a recorded conversation.  Ids of members and generations are the broker's own, so
the test uses names for them (`Id("A1")`, `Gen(2)`) and learns their values from the answers.
`fencepost convert --to pytest` writes this file's text, without these lines, above each test;
nobody imports it.
"""
# ruff: noqa: S101  (it is the text of a test)

from __future__ import annotations

import os
import select
import shlex
import socket
import subprocess
import time
import unittest
import uuid
from typing import Any, NamedTuple

import pytest

pytest.importorskip("kafka")
from kafka.protocol import admin, consumer, metadata

SECONDS = 10.0  # so long an answer that is due may take
QUIET = 0.1  # so long nothing must come for a request that waits
FIRST = {"member_id": 0, "members": 1, "leader": 3}  # what is compared first, since it names others
UNSAID = {"throttle_time_ms", "error_message", "client_id", "client_host", "authorized_operations"}
UNSAID |= {"metadata", "member_metadata", "member_assignment"}  # nothing is wrong for these


class Id(NamedTuple):
    """The id of a member, by the member's name."""

    name: str


class Gen(NamedTuple):
    """A generation, by its number in the recording."""

    number: int


class Group(NamedTuple):
    """The name of a group, by its name in the recording."""

    name: str


class Broker:
    """A broker under test: connections by name, and what stands for ids, generations and groups."""

    def __init__(self) -> None:
        host, _, port = os.environ.get("BROKER", "").rpartition(":")
        if not host or not port.isdigit():
            raise unittest.SkipTest("set BROKER=HOST:PORT, the broker to test")
        self.address = (host, int(port))
        self.run = uuid.uuid4().hex[:12]
        self.sockets: dict[str, socket.socket] = {}
        self.open: dict[str, tuple[str, int]] = {}
        self.ids: dict[str, str] = {}
        self.guessed: set[str] = set()  # whose id was seen in somebody else's answer only
        self.generations: dict[int, int] = {}

    def __enter__(self) -> Broker:  # noqa: PYI034  (Self is younger than some Pythons of readers)
        """Find the coordinator; a broker that has just started has none at first."""
        deadline = time.monotonic() + 3 * SECONDS
        while True:
            self.send("coordinator", "FindCoordinator", 1, key=f"g-{self.run}", key_type=0)
            found = self.receive("coordinator", SECONDS)
            if found["error_code"] == 0:
                break
            assert time.monotonic() < deadline, f"no coordinator is to be had: {found}"
            time.sleep(QUIET)
        self.close("coordinator")
        self.address = (found["host"], found["port"])
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        for name in list(self.sockets):
            self.close(name)

    def close(self, name: str) -> None:
        """Drop a connection, and what waits on it."""
        self.open.pop(name, None)
        if name in self.sockets:
            self.sockets.pop(name).close()

    def restart(self) -> None:
        """Let the coordinator fail over: BROKER_RESTART is a command that does it and waits."""
        command = os.environ.get("BROKER_RESTART")
        if not command:
            raise unittest.SkipTest("set BROKER_RESTART, a command that restarts the broker")
        for name in list(self.sockets):
            self.close(name)
        subprocess.run(shlex.split(command), check=True, timeout=6 * SECONDS)  # noqa: S603

    def move(self) -> None:
        """Let another broker coordinate: BROKER_MOVE is a command that does it and waits."""
        command = os.environ.get("BROKER_MOVE")
        if not command:
            raise unittest.SkipTest("set BROKER_MOVE, a command that moves the coordinator")
        subprocess.run(shlex.split(command), check=True, timeout=6 * SECONDS)  # noqa: S603

    def create(self, topics: dict[str, int]) -> None:
        """Create topics with so many partitions each, unless they exist."""
        rows = [
            {
                "name": name,
                "num_partitions": count,
                "replication_factor": 1,
                "assignments": [],
                "configs": [],
            }
            for name, count in topics.items()
        ]
        self.send("topics", "CreateTopics", 2, topics=rows, timeout_ms=int(SECONDS * 1000))
        for row in self.receive("topics", 2 * SECONDS)["topics"]:
            assert row["error_code"] in (0, 36), f"the topic can't be created: {row}"
        self.close("topics")

    def delete(self, topics: list[str]) -> None:
        """Delete topics, and give the coordinator time to remove their offsets."""
        self.send("topics", "DeleteTopics", 1, topic_names=topics, timeout_ms=int(SECONDS * 1000))
        self.receive("topics", 2 * SECONDS)
        self.close("topics")
        time.sleep(10 * QUIET)

    def send(self, name: str, api: str, version: int, **fields: Any) -> None:
        """Send a request; a connection has one at a time."""
        cls = message_class(api + "Request")
        request = cls(version=version, **self.arguments(cls, version, fields))
        request.with_header(1, "fencepost")
        if name not in self.sockets:
            self.sockets[name] = socket.create_connection(self.address, SECONDS)
        self.sockets[name].sendall(bytes(request.encode(header=True, framed=True)))
        self.open[name] = (api, version)

    def arguments(self, cls: Any, version: int, fields: dict[str, Any]) -> dict[str, Any]:
        """Fields with what their names stand for, and rows as kafka-python wants them."""
        made = {}
        for name, value in fields.items():
            row = getattr(cls.fields[name], "data_class", None) if isinstance(value, list) else None
            if row is None:
                made[name] = self.real(value)
            else:
                rows = (self.arguments(row, version, one) for one in value)
                made[name] = [row(version=version, **one) for one in rows]
        return made

    def real(self, value: Any) -> Any:
        """What a name stands for."""
        if isinstance(value, Id):
            return self.ids[value.name]
        if isinstance(value, Gen):
            return self.generations.get(value.number, value.number)
        if isinstance(value, Group):
            return f"{value.name}-{self.run}"
        return [self.real(item) for item in value] if isinstance(value, list) else value

    def receive(self, name: str, seconds: float) -> dict[str, Any]:
        """The answer, whole."""
        api, version = self.open.pop(name)
        deadline = time.monotonic() + seconds
        size = int.from_bytes(self.read(name, 4, deadline), "big")
        frame = self.read(name, size, deadline)
        cls = message_class(api + "Response")
        message = cls.decode(frame, version=version, header=True)
        again = bytes(message.encode(header=True))
        assert len(again) == len(frame), f"{name}: {len(frame)} bytes are not {api} v{version}"
        body: dict[str, Any] = plain(message, version)
        return body

    def read(self, name: str, size: int, deadline: float) -> bytes:
        """So many bytes."""
        data = b""
        while len(data) < size:
            left = max(deadline - time.monotonic(), 0)
            ready = select.select([self.sockets[name]], [], [], left)[0]
            assert ready, f"{name}: no answer in time"
            more = self.sockets[name].recv(size - len(data))
            assert more, f"{name}: the broker closed the connection"
            data += more
        return data

    def waits(self, name: str) -> None:
        """The request is not answered yet."""
        ready = select.select([self.sockets[name]], [], [], QUIET)[0]
        assert not ready, f"{name}: answered too early: {self.receive(name, SECONDS)}"

    def settles(self) -> None:
        """What was sent is handled; time for it."""
        time.sleep(QUIET)

    def answers(
        self, name: str, *right: dict[str, Any], within: float = 0.0, late: float = SECONDS
    ) -> None:
        """The answer is one of these; it comes in so many seconds, or as much later at most."""
        got = self.receive(name, within + late)
        wrong = []
        for body in right:
            problem = self.differs("answer", body, got)
            if not problem:
                return
            wrong.append(problem)
        raise AssertionError(f"{name}: {' or '.join(wrong)}; it was {got}")

    def answers_otherwise(self, name: str, wrong: dict[str, Any], within: float = 0.0) -> None:
        """The answer is any but this one."""
        got = self.receive(name, within + SECONDS)
        assert self.differs("answer", wrong, got), f"{name}: the recorded wrong answer: {got}"

    def differs(self, at: str, right: Any, got: Any) -> str:
        """In which way an answer is another; ids and generations are learnt if it isn't."""
        before = dict(self.ids), set(self.guessed), dict(self.generations)
        problem = self.difference(at, right, got)
        if problem:
            self.ids, self.guessed, self.generations = before
        return problem

    def difference(self, at: str, right: Any, got: Any) -> str:
        """The first one found, "" if there is none."""
        if isinstance(right, Id):
            return self.other_id(at, right.name, got)
        if isinstance(right, dict):
            for key in sorted(right.keys() - UNSAID, key=lambda key: (FIRST.get(key, 2), key)):
                if problem := self.difference(f"{at}.{key}", right[key], got.get(key)):
                    return problem
            return ""
        if isinstance(right, list) and all(isinstance(row, dict) for row in right):
            return self.other_rows(at, right, got)
        if isinstance(right, Gen):
            if right.number not in self.generations and got in self.generations.values():
                return f"{at} is {got!r}, which was returned before, instead of a new one"
            right = self.generations.setdefault(right.number, got)
        right = self.real(right)
        return "" if right == got else f"{at} is {got!r} instead of {right!r}"

    def other_rows(self, at: str, right: list[dict[str, Any]], got: list[Any]) -> str:
        """Rows in any order; those of known members first."""
        rest = list(got)
        if at == "answer.groups":  # there may be others' groups
            names = [self.real(row["group_id"]) for row in right]
            rest = [one for one in rest if one["group_id"] in names]
        if len(right) != len(rest):
            return f"{at} has {len(rest)} rows instead of {len(right)}"

        def is_unknown(row: dict[str, Any]) -> bool:
            who = row.get("member_id")
            return isinstance(who, Id) and who.name not in self.ids

        for row in sorted(right, key=is_unknown):
            problems = []
            for one in rest:
                problem = self.differs(f"{at}[]", row, one)
                if not problem:
                    rest.remove(one)
                    break
                problems.append(problem)
            else:
                return problems[0]
        return ""

    def other_id(self, at: str, name: str, got: Any) -> str:
        """Whether an id is not that of this member, or not a new one."""
        is_told = at == "answer.member_id"
        if is_told and name in self.guessed:
            for other in self.guessed:
                if self.ids[other] == got:
                    self.ids[name], self.ids[other] = got, self.ids[name]
                    break
            self.guessed.discard(name)
        if name in self.ids:
            wanted = self.ids[name]
            return "" if got == wanted else f"{at} is {got!r} instead of {name}'s {wanted!r}"
        if not got or got in self.ids.values():
            return f"{at} is {got!r} instead of a new id"
        self.ids[name] = got
        if not is_told:
            self.guessed.add(name)
        return ""


def message_class(name: str) -> Any:
    """A message of kafka-python."""
    for module in (consumer, metadata, admin):
        if hasattr(module, name):
            return getattr(module, name)
    raise unittest.SkipTest(f"this kafka-python has no {name}")


def plain(value: Any, version: int) -> Any:
    """A message as dicts and lists."""
    if isinstance(value, list):
        return [plain(item, version) for item in value]
    fields = getattr(value, "fields", None)
    if not fields:
        return value
    names = [name for name, field in fields.items() if field.for_version_q(version)]
    return {name: plain(getattr(value, name), version) for name in names}
