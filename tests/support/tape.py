"""Histories for the tests of what judges them: a right coordinator's, and the same with a lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import (
    Answered,
    Disconnected,
    Event,
    Handled,
    Passed,
    Restarted,
    Sent,
)
from fencepost.model.revisions import revisions

History = tuple[Event, ...]
SESSION_MS, REBALANCE_MS = 10_000, 9_000


@dataclass
class Tape:
    """Asks the model, one request after the other, and keeps what was sent and answered."""

    revision: str = "kafka-4"
    now: int = 0
    events: list[Event] = field(default_factory=list)
    asked: int = 0

    def __post_init__(self) -> None:
        self.model = ModelCoordinator(revisions.find(self.revision))
        self.model.reset({"group.initial.rebalance.delay.ms": 0})

    def ask(self, who: str, api: str, version: int, **body: Any) -> str:
        self.asked += 1
        said = {"groupId": "g", **body}
        request = Send(f"r{self.asked}", f"{who}.{self.asked}", who, api, version, said)
        self.events.append(Sent(self.now, request))
        self.take(self.model.send(request))
        self.events.append(Handled(self.now))
        self.wait(0)
        return request.id

    def take(self, answers: list[Answer]) -> None:
        self.events += [Answered(answer) for answer in answers]

    def join(self, instance: str | None, mid: str = "", version: int = 9) -> str:
        body: dict[str, Any] = {
            "sessionTimeoutMs": SESSION_MS,
            "rebalanceTimeoutMs": REBALANCE_MS,
            "memberId": mid,
            "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": ""}],
        }
        if version >= 5:
            body["groupInstanceId"] = instance
        if version >= 8:
            body["reason"] = None
        return self.ask(instance or "x", "JoinGroup", version, **body)

    def sync(self, instance: str | None, mid: str, gen: int, *assigned: str) -> str:
        return self.ask(
            instance or "x",
            "SyncGroup",
            5,
            generationId=gen,
            memberId=mid,
            groupInstanceId=instance,
            protocolType="consumer",
            protocolName="range",
            assignments=[{"memberId": m, "assignment": "YQ=="} for m in assigned],
        )

    def beat(self, instance: str | None, mid: str, gen: int) -> str:
        body = {"generationId": gen, "memberId": mid, "groupInstanceId": instance}
        return self.ask(instance or "x", "Heartbeat", 4, **body)

    def wait(self, ms: int) -> None:
        self.take(self.model.advance(ms))
        self.now += ms
        self.events.append(Passed(self.now))

    def failover(self) -> None:
        dropped = self.model.restart()
        self.events.append(Restarted(self.now, self.now, dropped.dropped))
        self.take(list(dropped.answers))

    def drop(self, request_id: str) -> None:
        self.events.append(Disconnected(self.now, "gone", (request_id,)))

    def id_of(self, request_id: str) -> str:
        return str(self.body(request_id)["memberId"])

    def body(self, request_id: str) -> dict[str, Any]:
        for event in self.events:
            if isinstance(event, Answered) and event.answer.id == request_id:
                return dict(event.answer.body or {})
        raise AssertionError(f"{request_id} was not answered")

    @property
    def history(self) -> History:
        return tuple(self.events)


def lie(history: History, request_id: str, change: Callable[[Answer], Answer | None]) -> History:
    """The same history, but for one answer; None takes it away."""
    told: list[Event] = []
    for event in history:
        if isinstance(event, Answered) and event.answer.id == request_id:
            if (other := change(event.answer)) is not None:
                told.append(Answered(other))
        else:
            told.append(event)
    assert told != list(history)
    return tuple(told)


def saying(**fields: Any) -> Callable[[Answer], Answer]:
    """An answer with other fields."""
    return lambda answer: replace(answer, body={**(answer.body or {}), **fields})


def two_stable_members() -> tuple[Tape, str, str]:
    """A and B in generation 2, which is stable: the tape, and their member ids.  A leads."""
    tape = Tape()
    a = tape.id_of(tape.join("A"))
    joined = tape.join("B")
    tape.join("A", a)
    b = tape.id_of(joined)
    tape.sync("B", b, 2)
    tape.sync("A", a, 2, a, b)
    return tape, a, b
