"""A long trace that the model itself made: two processes take turns on an instance, others beat."""

from __future__ import annotations

from typing import Any

from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Event, Handled, Passed, Sent
from fencepost.model.messages.messages import APIS
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.judging.trace_verdict import TraceVerdict
from fencepost.traces.files.trace_file import TraceFile

CONFIG = {
    "group.initial.rebalance.delay.ms": 0,
    "group.max.session.timeout.ms": 1_800_000,
    "group.max.size": None,
    "group.min.session.timeout.ms": 6000,
}
_JOIN: dict[str, Any] = {
    "groupId": "g",
    "sessionTimeoutMs": 30_000,
    "rebalanceTimeoutMs": 60_000,
    "protocolType": "consumer",
    "protocols": [{"name": "range", "metadata": ""}],
    "reason": None,
}


class Group:
    """What is sent to the model, and all that was seen."""

    def __init__(self) -> None:
        self.model = ModelCoordinator(find_revision("kafka-4"))
        self.model.reset(CONFIG)
        self.now = 0
        self.events: list[Event] = []
        self.senders: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.generation = 1

    def seen(self, answers: list[Answer]) -> None:
        self.events += [Answered(answer) for answer in answers]
        for answer in answers:
            who, told = self.senders[answer.id], (answer.body or {}).get("memberId")
            if told:
                self.ids[who] = told
                self.names.setdefault(told, who)
            self.generation = (answer.body or {}).get("generationId", self.generation)

    def ask(self, who: str, api: str, body: dict[str, Any]) -> None:
        request = Send(f"r{len(self.senders) + 1}", who, who, api, APIS[api].highest, body)
        self.senders[request.id] = who
        self.events.append(Sent(self.now, request))
        self.seen(self.model.send(request))
        self.events.append(Handled(self.now))

    def wait(self, ms: int) -> None:
        self.seen(self.model.advance(ms))
        self.now += ms
        self.events.append(Passed(self.now))

    def join(self, who: str, member_id: str = "") -> None:
        self.ask(who, "JoinGroup", {**_JOIN, "memberId": member_id, "groupInstanceId": who[0]})

    def caller(self, who: str) -> dict[str, Any]:
        return {
            "groupId": "g",
            "generationId": self.generation,
            "memberId": self.ids[who],
            "groupInstanceId": who[0],
        }

    def sync(self, who: str) -> None:
        own = {"protocolType": "consumer", "protocolName": "range", "assignments": []}
        self.ask(who, "SyncGroup", {**self.caller(who), **own})

    def beat(self, who: str) -> None:
        self.ask(who, "Heartbeat", self.caller(who))

    def trace(self) -> TraceFile:
        return TraceFile(
            revision="kafka-4",
            case="long",
            clock="virtual",
            lag_ms=0,
            config=CONFIG,
            plan=None,
            events=tuple(self.events),
            senders=self.senders,
            names=self.names,
            verdict=TraceVerdict("holds", message="Every answer is one that the model gives."),
            provenance={"tool": "test", "target": "model:kafka-4", "seed": 0},
        )


def long_trace(steps: int) -> TraceFile:
    """A trace of about so many steps, which the model explains."""
    group = Group()
    group.join("A1")
    group.wait(1)
    group.sync("A1")
    group.join("B1")
    group.join("A1", group.ids["A1"])
    group.sync("A1")
    group.sync("B1")
    turn = 1
    while len(group.senders) * 3 // 2 < steps:
        group.beat("B1")
        group.beat(f"A{turn}")
        group.wait(1000)
        if len(group.senders) % 60 < 2:
            turn += 1
            group.join(f"A{turn}")
    return group.trace()
