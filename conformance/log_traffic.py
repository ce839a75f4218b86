"""Traffic for request logs: clients of the model, as consumers behave, in virtual time.

Decides what happens in a log that nobody recorded: consumers join, sync, send heartbeats and
commits, are restarted (static members without a leave), crash, come back late, change their
subscription, and come and go.  The same seed gives the same log.  A wrong model gives wrong logs.
"""

from __future__ import annotations

import base64
import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from fencepost.conformance.running import RunningModel
from fencepost.model.coordinator import Answer, Send
from fencepost.model.machine import Machine
from fencepost.model.messages import APIS
from fencepost.model.revision import Revision
from fencepost.traces.request_log_writer import request_log_line

START_MS = 1_795_243_200_000
_ADMIN = "10.0.0.1:9092-10.9.9.9:1-0"
_BEAT_MS = 3_000
_COMMIT_MS = 5_000
_JOIN, _SYNC, _BEAT, _LEAVE, _COMMIT, _DESCRIBE = 9, 5, 4, 5, 9, 5


@dataclass(frozen=True, slots=True)
class Plan:
    """What traffic to make.

    `lines`: about how many; `members`: the most per group; `unrest_ms`: how often, on average,
    something happens to a member; `delay_ms`: the broker's initial rebalance delay.
    """

    lines: int
    groups: int = 20
    members: int = 5
    brokers: int = 1
    unrest_ms: int = 120_000
    session_ms: int = 10_000
    delay_ms: int = 0
    seed: int = 0


@dataclass(slots=True)
class _Client:
    group_id: str
    name: str
    instance: str | None
    topics: int = 1
    member_id: str = ""
    generation_id: int = -1
    leader: bool = False
    members: tuple[str, ...] = ()
    state: str = "down"
    life: int = 0
    connection: str = ""
    waiting: str = ""
    heard: float = 0.0


@dataclass(slots=True)
class _Open:
    client: _Client
    life: int
    send: Send
    arrived_ms: float


@dataclass(slots=True)
class Traffic:
    """Clients at work.  Iterating gives lines: broker's number, and the line's bytes."""

    plan: Plan
    revision: Revision
    random: Random = field(init=False)
    _model: RunningModel = field(init=False)
    _clients: list[_Client] = field(init=False)
    _agenda: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _open: dict[str, _Open] = field(default_factory=dict)
    _out: list[tuple[float, int, int, bytes]] = field(default_factory=list)
    _count: int = 0
    _connections: int = 0
    now: float = 0.0

    def __post_init__(self) -> None:
        plan = self.plan
        self.random = Random(plan.seed)  # noqa: S311 - no secret
        config = {
            "group.initial.rebalance.delay.ms": plan.delay_ms,
            "group.min.session.timeout.ms": 100,
        }
        self._model = RunningModel(Machine(self.revision, config), new_id=self._new_id)
        self._clients = []
        for g in range(plan.groups):
            size = self.random.randint(1, plan.members)
            static = self.random.random() < 0.6
            for m in range(size):
                instance = f"g{g}-pod-{m}" if static and self.random.random() < 0.9 else None
                self._clients.append(_Client(f"group-{g}", f"consumer-{g}-{m}", instance))
        for client in self._clients:
            self._later(self.random.uniform(0, 5_000), partial(self._start, client))
            self._unrest(client)
        for g in range(plan.groups):
            self._later(self.random.uniform(0, 60_000), partial(self._describe, f"group-{g}"))

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Lines, in order of their dates."""
        written = 0
        while written < self.plan.lines:
            at, _, act = heapq.heappop(self._agenda)
            due = self._model.next_deadline_ms()
            while due is not None and due <= at:
                self.now = max(self.now, float(due))
                self._take(self._model.advance_to(due))
                due = self._model.next_deadline_ms()
                if self._agenda and self._agenda[0][0] < at:
                    heapq.heappush(self._agenda, (at, self._next(), act))
                    at, _, act = heapq.heappop(self._agenda)
            self.now = max(self.now, at)
            act()
            while self._out and self._out[0][0] < self.now - 10 and written < self.plan.lines:
                _, _, broker, line = heapq.heappop(self._out)
                written += 1
                yield broker, line

    # Clients.

    def _start(self, client: _Client) -> None:
        client.life += 1
        self._connections += 1
        number = 30_000 + self._connections % 30_000
        client.connection = (
            f"10.0.0.1:9092-10.1.{self._connections % 200}.7:{number}-{self._connections}"
        )
        client.member_id, client.generation_id = "", -1
        self._join(client)

    def _join(self, client: _Client) -> None:
        client.state = "joining"
        names = ["range", "cooperative-sticky"]
        metadata = base64.b64encode(b"\0\1" + b"topic" * client.topics).decode()
        body = {
            "groupId": client.group_id,
            "sessionTimeoutMs": self.plan.session_ms,
            "rebalanceTimeoutMs": 60_000,
            "memberId": client.member_id,
            "groupInstanceId": client.instance,
            "protocolType": "consumer",
            "protocols": [{"name": name, "metadata": metadata} for name in names],
            "reason": "",
        }
        self._ask(client, "JoinGroup", _JOIN, body)

    def _sync(self, client: _Client) -> None:
        client.state = "syncing"
        rows = [
            {"memberId": m, "assignment": base64.b64encode(f"for {m}".encode()).decode()}
            for m in client.members
        ]
        body = {
            "groupId": client.group_id,
            "generationId": client.generation_id,
            "memberId": client.member_id,
            "groupInstanceId": client.instance,
            "protocolType": "consumer",
            "protocolName": client.waiting,
            "assignments": rows,
        }
        self._ask(client, "SyncGroup", _SYNC, body)

    def _beat(self, client: _Client, life: int) -> None:
        if client.life != life or client.state != "stable":
            return
        body = {
            "groupId": client.group_id,
            "generationId": client.generation_id,
            "memberId": client.member_id,
            "groupInstanceId": client.instance,
        }
        self._ask(client, "Heartbeat", _BEAT, body)

    def _commit(self, client: _Client, life: int) -> None:
        if client.life != life or client.state != "stable":
            return
        part = {
            "partitionIndex": 0,
            "committedOffset": int(self.now),
            "committedLeaderEpoch": 0,
            "committedMetadata": "",
        }
        body = {
            "groupId": client.group_id,
            "generationIdOrMemberEpoch": client.generation_id,
            "memberId": client.member_id,
            "groupInstanceId": client.instance,
            "topics": [{"name": "orders", "partitions": [part]}],
        }
        self._ask(client, "OffsetCommit", _COMMIT, body)

    def _describe(self, group_id: str) -> None:
        admin = _Client(group_id, "admin", None, state="admin", connection=_ADMIN)
        body = {"groups": [group_id], "includeAuthorizedOperations": False}
        self._ask(admin, "DescribeGroups", _DESCRIBE, body)
        self._later(60_000, lambda: self._describe(group_id))

    def _unrest(self, client: _Client) -> None:
        wait = self.random.expovariate(1 / self.plan.unrest_ms)
        self._later(10_000 + wait, lambda: self._happens(client))

    def _happens(self, client: _Client) -> None:
        self._unrest(client)
        if client.state != "stable":
            return
        match self.random.choice(["restart", "restart", "crash", "subscribe", "away", "twice"]):
            case "restart":
                if client.instance is None or self.random.random() < 0.1:
                    self._leave(client)
                self._end(client)
                self._later(self.random.uniform(200, 6_000), lambda: self._start(client))
            case "crash":
                self._end(client)
                self._later(self.plan.session_ms * 2, lambda: self._start(client))
            case "subscribe":
                client.topics = 1 + client.topics % 3
                self._join(client)
            case "away":
                self._end(client, life=False)
                self._later(self.plan.session_ms * 1.5, lambda: self._back(client))
            case _ if client.instance is not None:
                twin = _Client(client.group_id, client.name + "-twin", client.instance)
                self._start(twin)
                self._later(20_000, lambda: self._end(twin))
            case _:
                pass

    def _back(self, client: _Client) -> None:
        if client.state == "down":
            client.state = "stable"
            self._beat(client, client.life)

    def _back_again(self, client: _Client) -> None:
        if client.state == "down":
            self._start(client)

    def _end(self, client: _Client, *, life: bool = True) -> None:
        client.state = "down"
        if life:
            client.life += 1

    def _leave(self, client: _Client) -> None:
        row = {"memberId": client.member_id, "groupInstanceId": client.instance, "reason": "bye"}
        self._ask(client, "LeaveGroup", _LEAVE, {"groupId": client.group_id, "members": [row]})

    # What clients are told.

    def _told(self, client: _Client, send: Send, body: Mapping[str, Any]) -> None:
        match send.api:
            case "JoinGroup":
                self._joined(client, body)
            case "SyncGroup":
                if body["errorCode"] == 0:
                    client.state = "stable"
                    life = client.life
                    self._later(_BEAT_MS, lambda: self._beat(client, life))
                    self._later(_COMMIT_MS, lambda: self._commit(client, life))
                else:
                    self._error(client, body["errorCode"])
            case "Heartbeat":
                if body["errorCode"] == 0:
                    life = client.life
                    wait = _BEAT_MS + self.random.uniform(0, 100)
                    self._later(wait, lambda: self._beat(client, life))
                else:
                    self._error(client, body["errorCode"])
            case "OffsetCommit":
                life = client.life
                self._later(_COMMIT_MS, lambda: self._commit(client, life))

    def _joined(self, client: _Client, body: Mapping[str, Any]) -> None:
        code = body["errorCode"]
        if code == 79:
            client.member_id = body["memberId"]
            self._soon(client, lambda: self._join(client))
        elif code == 0:
            client.member_id = body["memberId"]
            client.generation_id = body["generationId"]
            client.waiting = body["protocolName"]
            leads = body["leader"] == body["memberId"] and not body.get("skipAssignment")
            client.members = tuple(m["memberId"] for m in body["members"]) if leads else ()
            self._soon(client, lambda: self._sync(client))
        else:
            self._error(client, code)

    def _error(self, client: _Client, code: int) -> None:
        if client.state == "down":
            return
        if code == 82:
            client.state = "down"
            self._later(30_000, partial(self._back_again, client))
            return
        if code in {22, 25}:
            client.member_id = ""
        client.state = "joining"
        wait = self.random.uniform(5, 1_500)
        life = client.life
        self._later(wait, lambda: self._again(client, life))

    def _again(self, client: _Client, life: int) -> None:
        if client.life == life and client.state == "joining":
            self._join(client)

    # The wire.

    def _ask(self, client: _Client, api: str, version: int, body: dict[str, Any]) -> None:
        self._count += 1
        request_id = str(self._count)
        send = Send(request_id, client.connection, client.name, api, version, body)
        # No request arrives before the answer that its client acts on has gone out.
        arrived = max(self.now - self.random.uniform(0, 2), min(client.heard, self.now))
        self._open[request_id] = _Open(client, client.life, send, START_MS + arrived)
        message = APIS[api].request.from_body(body, version)
        self._take(self._model.handle(send, message, int(self.now)))

    def _take(self, answers: list[Answer]) -> None:
        for answer in answers:
            open_ = self._open.pop(answer.id, None)
            if open_ is None or answer.body is None:
                continue
            client, send = open_.client, open_.send
            if open_.life != client.life and send.api != "LeaveGroup":
                continue  # its connection is closed: no line
            client.heard = self.now + self.random.uniform(0, 2)
            answered = START_MS + client.heard
            body = dict(answer.body)
            body = {"throttleTimeMs": 0, **body}
            line = request_log_line(
                send.api,
                send.version,
                send.client_id,
                send.connection,
                open_.arrived_ms,
                answered,
                send.body,
                body,
                correlation_id=int(send.id),
            )
            broker = hash_of(client.group_id) % self.plan.brokers
            heapq.heappush(self._out, (client.heard, self._next(), broker, line))
            if client.life == open_.life:
                self._told(client, send, body)

    def _soon(self, client: _Client, act: Callable[[], None]) -> None:
        life = client.life
        wait = self.random.uniform(2, 20)
        self._later(wait, lambda: act() if client.life == life else None)

    def _later(self, wait_ms: float, act: Callable[[], Any]) -> None:
        heapq.heappush(self._agenda, (self.now + wait_ms, self._next(), act))

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _new_id(self, name: str, number: int) -> str:
        return f"{name}-{self.random.getrandbits(64):016x}-{number}"


def hash_of(text: str) -> int:
    """A number of a text, the same in every process."""
    return sum(text.encode()) * 2_654_435_761 % 2**32
