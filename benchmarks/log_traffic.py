"""Make traffic for request logs: clients of the model that behave as consumers, in virtual time.

Consumers join, sync, send heartbeats and commits, are restarted (static members without a leave),
crash, come back late, change their subscription, and come and go.  Equal seeds give equal logs.  A
wrong model gives wrong logs.
"""

from __future__ import annotations

import base64
import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from benchmarks.log_oddities import Client, dawdles, happens_oddly, in_old_words
from benchmarks.request_log_writer import request_log_line
from fencepost.conformance.targets.model_coordinator import RunningModel
from fencepost.model.coordinator import Answer, Send
from fencepost.model.machine import Machine
from fencepost.model.messages.messages import APIS
from fencepost.model.revision import Revision

START_MS = 1_795_243_200_000
_ADMIN = "10.0.0.1:9092-10.9.9.9:1-0"
_BEAT_MS = 3_000
_COMMIT_MS = 5_000
REBALANCING = 27
_NEW = {"JoinGroup": 9, "SyncGroup": 5, "Heartbeat": 4, "LeaveGroup": 5, "OffsetCommit": 9}
_OLD = {"JoinGroup": 3, "SyncGroup": 2, "Heartbeat": 2, "LeaveGroup": 2, "OffsetCommit": 5}
_DESCRIBE = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """The traffic to make.

    `lines`: about this number; `members`: the most per group; `unrest_ms`: mean time between events
    of a member; `delay_ms`: the broker's initial rebalance delay; `odd`: the part of the events
    that no good client causes.
    """

    lines: int
    groups: int = 20
    members: int = 5
    brokers: int = 1
    unrest_ms: int = 120_000
    session_ms: int = 10_000
    rebalance_ms: int = 60_000
    delay_ms: int = 0
    seed: int = 0
    odd: float = 0.0


@dataclass(slots=True)
class _Open:
    client: Client
    run: int
    send: Send
    arrived_ms: float


@dataclass(slots=True)
class Traffic:
    """Clients at work.  Iterating gives lines: broker's number, and the line's bytes."""

    plan: Plan
    revision: Revision
    random: Random = field(init=False)
    _model: RunningModel = field(init=False)
    clients: list[Client] = field(init=False)
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
        self.clients = []
        for g in range(plan.groups):
            size = self.random.randint(1, plan.members)
            static = self.random.random() < 0.6
            for m in range(size):
                instance = f"g{g}-pod-{m}" if static and self.random.random() < 0.9 else None
                client = Client(f"group-{g}", f"consumer-{g}-{m}", instance)
                client.old = bool(plan.odd) and instance is None and self.random.random() < plan.odd
                self.clients.append(client)
        for client in self.clients:
            self.later(self.random.uniform(0, 5_000), partial(self.start, client))
            self._unrest(client)
        for g in range(plan.groups):
            self.later(self.random.uniform(0, 60_000), partial(self.describe, f"group-{g}"))

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield lines, in order of their dates."""
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

    def start(self, client: Client) -> None:
        """Begin a new process."""
        client.run += 1
        self._connections += 1
        number = 30_000 + self._connections % 30_000
        client.connection = (
            f"10.0.0.1:9092-10.1.{self._connections % 200}.7:{number}-{self._connections}"
        )
        client.member_id, client.generation_id = "", -1
        self.join(client)

    def join(self, client: Client) -> None:
        """Join, or join again."""
        client.state = "joining"
        names = ["range", "cooperative-sticky"] if client.protocol != "other" else ["other"]
        if client.protocol == "sticky":
            names.reverse()
        metadata = base64.b64encode(b"\0\1" + b"topic" * client.topics).decode()
        body = {
            "groupId": client.group_id,
            "sessionTimeoutMs": self.plan.session_ms,
            "rebalanceTimeoutMs": self.plan.rebalance_ms,
            "memberId": client.member_id,
            "groupInstanceId": client.instance,
            "protocolType": client.kind,
            "protocols": [{"name": name, "metadata": metadata} for name in names],
            "reason": "",
        }
        self.ask(client, "JoinGroup", body)

    def sync(self, client: Client) -> None:
        """Request the assignment; a leader brings it."""
        client.state = "syncing"
        rows = [
            {"memberId": m, "assignment": base64.b64encode(f"for {m}".encode()).decode()}
            for m in client.members
        ]
        body = {
            **_member(client),
            "protocolType": "consumer",
            "protocolName": client.waiting,
            "assignments": rows,
        }
        self.ask(client, "SyncGroup", body)

    def beat(self, client: Client, run: int) -> None:
        """Send a heartbeat, if still alive and at rest."""
        if client.run != run or client.state != "stable":
            return
        self.ask(client, "Heartbeat", _member(client))

    def commit(self, client: Client, run: int) -> None:
        """Commit an offset, if still alive and at rest."""
        if client.run != run or client.state != "stable":
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
        self.ask(client, "OffsetCommit", body)

    def describe(self, group_id: str, *, again: bool = True) -> None:
        """Describe a group, and `again` each minute."""
        admin = Client(group_id, "admin", None, state="admin", connection=_ADMIN)
        body = {"groups": [group_id], "includeAuthorizedOperations": False}
        self.ask(admin, "DescribeGroups", body)
        if again:
            self.later(60_000, lambda: self.describe(group_id))

    def _unrest(self, client: Client) -> None:
        wait = self.random.expovariate(1 / self.plan.unrest_ms)
        self.later(10_000 + wait, lambda: self._happens(client))

    def _happens(self, client: Client) -> None:
        self._unrest(client)
        if client.state != "stable":
            return
        if self.plan.odd and self.random.random() < self.plan.odd:
            happens_oddly(self, client)
            return
        match self.random.choice(["restart", "restart", "crash", "subscribe", "away", "twice"]):
            case "restart":
                if client.instance is None or self.random.random() < 0.1:
                    self.leave(client)
                self.end(client)
                self.later(self.random.uniform(200, 6_000), lambda: self.start(client))
            case "crash":
                self.end(client)
                self.later(self.plan.session_ms * 2, lambda: self.start(client))
            case "subscribe":
                client.topics = 1 + client.topics % 3
                self.join(client)
            case "away":
                self.end(client, begins_run=False)
                self.later(self.plan.session_ms * 1.5, lambda: self._back(client))
            case _ if client.instance is not None:
                twin = Client(client.group_id, client.name + "-twin", client.instance)
                self.start(twin)
                self.later(20_000, lambda: self.end(twin))
            case _:
                pass

    def _back(self, client: Client) -> None:
        if client.state == "down":
            client.state = "stable"
            self.beat(client, client.run)

    def _back_again(self, client: Client) -> None:
        if client.state == "down":
            self.start(client)

    def end(self, client: Client, *, begins_run: bool = True) -> None:
        """End the process, or let it stand still (`begins_run` False)."""
        client.state = "down"
        if begins_run:
            client.run += 1

    def leave(self, client: Client) -> None:
        """Send a LeaveGroup."""
        row = {"memberId": client.member_id, "groupInstanceId": client.instance, "reason": "bye"}
        self.ask(client, "LeaveGroup", {"groupId": client.group_id, "members": [row]})

    # What clients are told.

    def _answered(self, client: Client, send: Send, body: Mapping[str, Any]) -> None:
        if client.deaf:
            return
        match send.api:
            case "JoinGroup":
                self._joined(client, body)
            case "SyncGroup":
                if body["errorCode"] == 0:
                    client.state = "stable"
                    run = client.run
                    self.later(_BEAT_MS, lambda: self.beat(client, run))
                    self.later(_COMMIT_MS, lambda: self.commit(client, run))
                else:
                    self._error(client, body["errorCode"])
            case "Heartbeat":
                if body["errorCode"] == 0:
                    run = client.run
                    wait = _BEAT_MS + self.random.uniform(0, 100)
                    self.later(wait, lambda: self.beat(client, run))
                else:
                    self._error(client, body["errorCode"])
            case "OffsetCommit":
                run = client.run
                self.later(_COMMIT_MS, lambda: self.commit(client, run))

    def _joined(self, client: Client, body: Mapping[str, Any]) -> None:
        code = body["errorCode"]
        if code == 79:
            client.member_id = body["memberId"]
            self._soon(client, lambda: self.join(client))
        elif code == 0:
            client.member_id = body["memberId"]
            client.generation_id = body["generationId"]
            client.waiting = body["protocolName"]
            leads = body["leader"] == body["memberId"] and not body.get("skipAssignment")
            client.members = tuple(m["memberId"] for m in body["members"]) if leads else ()
            self._soon(client, lambda: self.sync(client))
        else:
            self._error(client, code)

    def _error(self, client: Client, code: int) -> None:
        if client.state == "down":
            return
        if code == 82:
            client.state = "down"
            self.later(30_000, partial(self._back_again, client))
            return
        if code in {22, 25}:
            client.member_id = ""
        wait = self.random.uniform(5, 1_500)
        if code == REBALANCING and self.plan.odd and client.state == "stable":
            wait = dawdles(self, client)
        client.state = "joining"
        run = client.run
        self.later(wait, lambda: self._again(client, run))

    def _again(self, client: Client, run: int) -> None:
        if client.run == run and client.state == "joining":
            self.join(client)

    # The wire.

    def ask(self, client: Client, api: str, body: dict[str, Any]) -> None:
        """Send a request in a version of the client's."""
        version = (_OLD if client.old else _NEW).get(api, _DESCRIBE)
        if client.old:
            body = in_old_words(api, body)
        self._count += 1
        request_id = str(self._count)
        send = Send(request_id, client.connection, client.name, api, version, body)
        # No request arrives before the answer that its client acts on has gone out.
        arrived = max(self.now - self.random.uniform(0, 2), min(client.heard, self.now))
        self._open[request_id] = _Open(client, client.run, send, START_MS + arrived)
        message = APIS[api].request.from_body(body, version)
        self._take(self._model.handle(send, message, int(self.now)))

    def _take(self, answers: list[Answer]) -> None:
        for answer in answers:
            open_ = self._open.pop(answer.id, None)
            if open_ is None or answer.body is None:
                continue
            client, send = open_.client, open_.send
            if open_.run != client.run and send.api != "LeaveGroup":
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
            if client.run == open_.run:
                self._answered(client, send, body)

    def _soon(self, client: Client, act: Callable[[], None]) -> None:
        run = client.run
        wait = self.random.uniform(2, 20)
        self.later(wait, lambda: act() if client.run == run else None)

    def later(self, wait_ms: float, act: Callable[[], Any]) -> None:
        """Do something in virtual time."""
        heapq.heappush(self._agenda, (self.now + wait_ms, self._next(), act))

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _new_id(self, name: str, number: int) -> str:
        return f"{name}-{self.random.getrandbits(64):016x}-{number}"


def _member(client: Client) -> dict[str, Any]:
    """Return the fields by which a member identifies itself."""
    return {
        "groupId": client.group_id,
        "generationId": client.generation_id,
        "memberId": client.member_id,
        "groupInstanceId": client.instance,
    }


def hash_of(text: str) -> int:
    """Return a number of a text, equal in every process."""
    return sum(text.encode()) * 2_654_435_761 % 2**32
