"""A request log of the model: consumers in virtual time, and the exchanges that a broker would log.

Each consumer heartbeats once a second and does what it is told; a test says who starts, crashes,
freezes, leaves or takes over, and lets time pass.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.conformance.targets.model_coordinator import RunningModel
from fencepost.model.coordinator import Answer, Send
from fencepost.model.machine import Machine
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import APIS
from fencepost.model.revisions.base import KAFKA_4
from fencepost.traces.logs.request_log import LoggedExchange

START_MS = 1_795_243_200_000
TICK_MS = 100
BEAT_MS = 1000
VERSIONS = {"JoinGroup": 9, "SyncGroup": 5, "Heartbeat": 4, "LeaveGroup": 5, "OffsetCommit": 9}

_JOIN_AGAIN = frozenset(
    {
        Error.REBALANCE_IN_PROGRESS.value,
        Error.ILLEGAL_GENERATION.value,
        Error.NOT_COORDINATOR.value,
    }
)


@dataclass
class Consumer:
    """A process; `kind` of its requests as Kafka's own client makes them."""

    log: ModelLog
    client_id: str
    host: str
    instance: str | None = None
    session_ms: int = 10_000
    topics: tuple[str, ...] = ("orders",)
    userdata: bytes = b""
    state: str = "out"
    member_id: str = ""
    generation: int = -1
    beat_at: int = 0
    connection: int = 0

    def start(self) -> Consumer:
        self.connection = self.log.new_connection()
        self.log.consumers.append(self)
        self.join()
        return self

    def again(self, **changed: Any) -> Consumer:
        """The pod's next process."""
        fields = {"instance": self.instance, "session_ms": self.session_ms, "topics": self.topics}
        return Consumer(self.log, self.client_id, self.host, **{**fields, **changed})

    def die(self) -> Consumer:
        self.state = "dead"
        self.log.consumers.remove(self)
        return self

    def restart(self, **changed: Any) -> Consumer:
        return self.die().again(**changed).start()

    def join(self) -> None:
        self.state = "joining"
        self.log.send(self, "JoinGroup", self.join_body())

    def join_body(self) -> dict[str, Any]:
        topics = b"".join(struct.pack(">h", len(t)) + t.encode() for t in self.topics)
        data = struct.pack(">hi", 0, len(self.topics)) + topics + self.userdata
        return {
            "groupId": self.log.group,
            "sessionTimeoutMs": self.session_ms,
            "rebalanceTimeoutMs": 60_000,
            "memberId": self.member_id,
            "groupInstanceId": self.instance,
            "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": base64.b64encode(data).decode()}],
            "reason": None,
        }

    def me(self) -> dict[str, Any]:
        return {
            "groupId": self.log.group,
            "generationId": self.generation,
            "memberId": self.member_id,
            "groupInstanceId": self.instance,
        }

    def beat(self) -> None:
        self.beat_at = self.log.now + BEAT_MS
        self.log.send(self, "Heartbeat", self.me())

    def commit(self) -> None:
        me = self.me()
        me["generationIdOrMemberEpoch"] = me.pop("generationId")
        offset = {"partitionIndex": 0, "committedOffset": 7, "committedLeaderEpoch": -1}
        rows = [{"name": "orders", "partitions": [{**offset, "committedMetadata": ""}]}]
        self.log.send(self, "OffsetCommit", {**me, "topics": rows})

    def leave(self) -> None:
        self.log.leave(self, self.member_id, self.instance)
        self.die()

    def told(self, api: str, body: Mapping[str, Any]) -> None:
        """Do what the answer asks for."""
        code = body.get("errorCode")
        if self.state in {"dead", "frozen", "fenced"} or api == "LeaveGroup":
            return
        if code == Error.FENCED_INSTANCE_ID.value:
            self.state = "fenced"
        elif code == Error.MEMBER_ID_REQUIRED.value:
            self.member_id = body["memberId"]
            self.join()
        elif code == Error.UNKNOWN_MEMBER_ID.value:
            self.member_id = ""
            self.join()
        elif code in _JOIN_AGAIN:
            self.join()
        elif api == "JoinGroup":
            self.member_id, self.generation = body["memberId"], body["generationId"]
            self.sync(body)
        elif api == "SyncGroup":
            self.state, self.beat_at = "stable", self.log.now + BEAT_MS

    def sync(self, told: Mapping[str, Any]) -> None:
        leads = told["leader"] == self.member_id and not told.get("skipAssignment")
        rows = [{"memberId": m["memberId"], "assignment": "YQ=="} for m in told["members"]]
        body = {**self.me(), "protocolType": "consumer", "protocolName": told["protocolName"]}
        self.log.send(self, "SyncGroup", {**body, "assignments": rows if leads else []})


@dataclass
class ModelLog:
    """One group's log; `exchanges` in the order of the answers."""

    group: str = "orders"
    delay_ms: int = 0
    now: int = 0
    consumers: list[Consumer] = field(default_factory=list)
    exchanges: list[LoggedExchange] = field(default_factory=list)
    _open: dict[str, tuple[Consumer, Send, int]] = field(default_factory=dict)
    _connections: int = 0

    def __post_init__(self) -> None:
        config = {"group.initial.rebalance.delay.ms": self.delay_ms}
        config["group.min.session.timeout.ms"] = 100
        self.model = RunningModel(Machine(KAFKA_4, config))

    def pod(self, number: int, **kind: Any) -> Consumer:
        return Consumer(self, f"pod-{number}", f"10.0.0.{number}", **kind)

    def static(self, number: int, **kind: Any) -> Consumer:
        return self.pod(number, instance=f"{self.group}-{number}", **kind)

    def new_connection(self) -> int:
        self._connections += 1
        return self._connections

    def send(self, consumer: Consumer, api: str, body: dict[str, Any]) -> None:
        number = len(self.exchanges) + len(self._open) + 1
        client, request_id = consumer.client_id, f"r{number}-{self.now}"
        connection = f"10.1.1.1:9092-{consumer.host}:4711-{consumer.connection}"
        send = Send(request_id, connection, client, api, VERSIONS[api], body)
        self._open[request_id] = (consumer, send, self.now)
        message = APIS[api].request.from_body(body, send.version)
        self._take(self.model.handle(send, message, self.now))

    def leave(self, by: Consumer, member_id: str, instance: str | None) -> None:
        row = {"memberId": member_id, "groupInstanceId": instance, "reason": None}
        self.send(by, "LeaveGroup", {"groupId": self.group, "members": [row]})

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + int(seconds * 1000)
        while self.now < end:
            self.now = min(end, self.now + TICK_MS)
            self._take(self.model.advance_to(self.now))
            for consumer in list(self.consumers):
                if consumer.state == "stable" and consumer.beat_at <= self.now:
                    consumer.beat()

    def form(self, *consumers: Consumer) -> None:
        """Start them, and let them be at rest."""
        for consumer in consumers:
            consumer.start()
            self.run(3)

    def bounce(self, *consumers: Consumer) -> None:
        """Deploy: each in turn leaves, and a new process of it starts 5 s later."""
        for consumer in consumers:
            consumer.leave()
            self.run(5)
            consumer.again().start()
            self.run(5)

    def fail_over(self) -> None:
        self._take(self.model.fail_over())

    def _take(self, answers: list[Answer]) -> None:
        for answer in answers:
            consumer, send, arrived = self._open.pop(answer.id)
            assert answer.body is not None
            self.exchanges.append(
                LoggedExchange(
                    send.api,
                    send.version,
                    START_MS + arrived,
                    START_MS + self.now,
                    send.body,
                    answer.body,
                    send.client_id,
                    send.connection,
                    source="model.log",
                    line=len(self.exchanges) + 1,
                    broker="model",
                )
            )
            consumer.told(send.api, answer.body)
