"""Random runs of a consumer group whose assignor is random, each answer given to an oracle."""

from __future__ import annotations

import random
from typing import Any

from msgspec.structs import replace

from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.coordinator import Answer, Config, Send
from fencepost.model.history.events import Answered, Handled, Passed, Sent
from fencepost.model.machine import Machine
from fencepost.model.messages.consumer_messages import (
    ConsumerAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions import revisions
from fencepost.model.work import Incoming, Span
from fencepost.properties.oracle.oracle import Oracle

CONFIG: Config = {
    "group.consumer.session.timeout.ms": 6_000,
    "group.consumer.heartbeat.interval.ms": 1_000,
    "num.partitions": 4,
}
_ACTS = {
    "join": 6,
    "beat": 10,
    "acknowledge": 8,
    "release": 4,
    "leave": 2,
    "wait": 4,
    "describe": 2,
}


class RandomRun:
    """A group of three ids and two instances, on a virtual clock; `most`: the most candidates."""

    def __init__(self, target: str, judge: str, seed: int, *, interval_ms: int = 0) -> None:
        config = {**CONFIG, "group.consumer.assignment.interval.ms": interval_ms}
        self.machine = Machine(revisions.find(target), config)
        self.oracle = Oracle(revisions.find(judge), config, lag_ms=0)
        self.group: ConsumerGroup | None = None
        self.now = self.sent = 0
        self.most = 1
        self.loses_partitions = False
        self._random = random.Random(seed)
        self._clients: dict[str, dict[str, Any]] = {}

    def go(self, steps: int) -> None:
        for _ in range(steps):
            if not self.oracle.open():
                return
            self._step()

    def _ask(self, message: Message) -> Message:
        self.sent += 1
        name = str(self.sent)
        body = message.to_body(1)
        self.oracle.observe(Sent(self.now, Send(name, "c", "c", message.API, 1, body)))
        incoming = Incoming(name, "c", message.API, 1, message, f"made-{name}")
        span = Span(self.now, self.now)
        outcome = self._random.choice(self.machine.handle(self.group, incoming, span, group_id="g"))
        self.group = outcome.group
        (emission,) = outcome.emissions
        answer = emission.message
        assert answer is not None
        if self.loses_partitions and isinstance(answer, ConsumerGroupHeartbeatResponse):
            answer = replace(answer, assignment=ConsumerAssignment())
        read = ALL_APIS[message.API].response.from_body(answer.to_body(1), 1)
        self.oracle.observe(Answered(Answer(name, self.now, read.to_body(1))))
        self.oracle.observe(Handled(self.now))
        self.most = max(self.most, len(self.oracle.explanations()))
        return read

    def join(self, member_id: str, instance: str | None = None) -> None:
        answer = self._ask(
            ConsumerGroupHeartbeatRequest(
                group_id="g",
                member_id=member_id,
                member_epoch=0,
                instance_id=instance,
                rebalance_timeout_ms=self._random.choice([2_000, 20_000]),
                subscribed_topic_names=("t",),
                topic_partitions=(),
            )
        )
        self._clients.setdefault(member_id, {"epoch": 1, "owned": (), "instance": instance})
        self._learn(member_id, answer, instance)

    def _beat(self, member_id: str, epoch: int, instance: str | None, owned: Any) -> None:
        answer = self._ask(
            ConsumerGroupHeartbeatRequest(
                group_id="g",
                member_id=member_id,
                member_epoch=epoch,
                instance_id=instance,
                topic_partitions=owned,
            )
        )
        if epoch > 0:
            self._learn(member_id, answer, self._clients[member_id]["instance"])

    def _learn(self, member_id: str, answer: Message, instance: str | None) -> None:
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        if answer.error_code == 0:
            client = self._clients[member_id]
            client |= {"epoch": answer.member_epoch, "instance": instance}
            if answer.assignment is not None:
                client["owned"] = answer.assignment.topic_partitions

    def _step(self) -> None:
        act = self._random.choices(list(_ACTS), list(_ACTS.values()))[0]
        member_id = self._random.choice(["m1", "m2", "m3"])
        instance = self._random.choice([None, "A", "B"])
        client = self._clients.setdefault(
            member_id, {"epoch": 1, "owned": (), "instance": instance}
        )
        match act:
            case "join":
                self.join(member_id, instance)
            case "wait":
                self._wait(self._random.choice([500, 1_000, 3_500]))
            case "describe":
                self._ask(ConsumerGroupDescribeRequest(group_ids=("g",)))
            case "beat":
                epoch = self._random.choice([client["epoch"]] * 9 + [1, 2, 3])
                self._beat(member_id, max(1, epoch), client["instance"], None)
            case "acknowledge":
                self._beat(member_id, client["epoch"], client["instance"], client["owned"])
            case _:
                epoch = -2 if act == "release" else -1
                self._beat(member_id, epoch, client["instance"], None)

    def _wait(self, ms: int) -> None:
        end = self.now + ms
        while self.group is not None and self.group.timers:
            timer = min(self.group.timers, key=lambda t: (t.earliest, t))
            if timer.earliest > end:
                break
            self.now = max(self.now, timer.earliest)
            span = Span(self.now, self.now)
            self.group = self._random.choice(self.machine.expire(self.group, timer, span)).group
        self.now = end
        self.oracle.observe(Passed(self.now))
