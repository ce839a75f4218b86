"""Histories of a coordinator that is right: the model's own, under either clock.

Under a real clock a request takes effect some time after it was sent, and an answer is read some
time after it was given; both times are part of the script, neither exceeds `LAG`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import (
    Answered,
    Event,
    Handled,
    Passed,
    Restarted,
    Sent,
    TopicsDeleted,
)
from fencepost.model.plans.steps import DeleteTopics
from fencepost.model.revisions import revisions

LAG = 50
WHOS = ("A", "B", "x")
REVISION = revisions.find("kafka-4")


@dataclass(frozen=True)
class Act:
    """Who does what, how long after the last one; ms under way, and until the answer is read."""

    who: str
    what: str
    gap: int
    under_way: int
    unread: int


WHATS = (
    "join",
    "join",
    "rejoin",
    "sync",
    "sync",
    "beat",
    "leave",
    "commit",
    "fetch",
    "delete",
    "describe",
    "wait",
    "restart",
)
GAPS = (0, 1, 20, 60, 1_000, 3_000, 6_000, 10_000, 60_000)
lags = st.integers(0, LAG)
acts = st.builds(
    Act, st.sampled_from(WHOS), st.sampled_from(WHATS), st.sampled_from(GAPS), lags, lags
)
scripts = st.lists(acts, min_size=5, max_size=20)


@dataclass
class Known:
    """What a client has read: since when (ms), its id, generation, and whom it leads."""

    since: int = -1
    mid: str = ""
    gen: int = -1
    members: list[str] = field(default_factory=list)


@dataclass
class Recorder:
    """Plays a script against the model; `real` jitters times as a real clock would."""

    real: bool
    coordinator: ModelCoordinator = field(default_factory=lambda: ModelCoordinator(REVISION))
    now: int = 0
    events: list[tuple[int, int, Event]] = field(default_factory=list)
    known: dict[str, list[Known]] = field(default_factory=dict)
    askers: dict[str, Act] = field(default_factory=dict)

    def play(self, script: list[Act]) -> list[Event]:
        self.known = {who: [Known()] for who in WHOS}
        self.wait(LAG)
        for act in script:
            self.wait(act.gap)
            if act.what == "restart":
                self.restart(act)
            elif act.what == "delete":
                self.delete(act)
            elif act.what != "wait":
                self.ask(act)
        self.wait(70_000)
        end = self.now + 2 * LAG
        if self.real:
            self.note(end, Passed(end))
        return [event for _, _, event in sorted(self.events, key=lambda e: e[:2])]

    def note(self, at_ms: int, event: Event) -> None:
        order = len(self.events) + 2
        if self.real and isinstance(event, Sent | Restarted | TopicsDeleted):
            order = int(not isinstance(event, Sent))
        self.events.append((at_ms, order, event))

    def wait(self, ms: int) -> None:
        self.now += ms
        self.read(self.coordinator.advance(ms))
        if not self.real:
            self.note(self.now, Passed(self.now))

    def ask(self, act: Act) -> None:
        sent_ms = self.now - act.under_way if self.real else self.now
        known = [k for k in self.known[act.who] if k.since < sent_ms or not self.real][-1]
        request_id = f"r{len(self.askers)}"
        self.askers[request_id] = act
        api, version, body = request(act, known)
        send = Send(request_id, request_id, act.who, api, version, body)
        self.note(sent_ms, Sent(sent_ms, send))
        self.read(self.coordinator.send(send))
        if not self.real:
            self.note(self.now, Handled(self.now))

    def restart(self, act: Act) -> None:
        dropped = self.coordinator.restart()
        begun_ms = self.now - (act.under_way if self.real else 0)
        self.note(self.now, Restarted(begun_ms, self.now, dropped.dropped))
        self.read(list(dropped.answers))

    def delete(self, act: Act) -> None:
        begun_ms = self.now - (act.under_way if self.real else 0)
        self.read(self.coordinator.operate(DeleteTopics(("t",))))
        self.note(begun_ms, TopicsDeleted(begun_ms, ("t",), self.now))

    def read(self, answers: list[Answer]) -> None:
        for answer in answers:
            act = self.askers[answer.id]
            at_ms = answer.at_ms + (act.unread if self.real else 0)
            self.note(at_ms, Answered(Answer(answer.id, at_ms, answer.body)))
            body = dict(answer.body or {})
            if act.what in {"join", "rejoin"} and body["errorCode"] in {0, 79}:
                rows = [row["memberId"] for row in body["members"]]
                found = Known(at_ms, body["memberId"], body["generationId"], rows)
                self.known[act.who].append(found)
                self.known[act.who].sort(key=lambda k: k.since)


def request(act: Act, known: Known) -> tuple[str, int, dict[str, Any]]:
    instance = act.who if act.who.isupper() else None
    member = {"groupId": "g", "memberId": known.mid, "groupInstanceId": instance}
    match act.what:
        case "join" | "rejoin":
            fresh = act.what == "join" and instance is not None
            return "JoinGroup", 5, {**member, **JOIN, "memberId": "" if fresh else known.mid}
        case "sync":
            rows = [{"memberId": m, "assignment": "AQ=="} for m in known.members]
            return "SyncGroup", 3, {**member, "generationId": known.gen, "assignments": rows}
        case "beat":
            return "Heartbeat", 3, {**member, "generationId": known.gen}
        case "leave":
            row = {"memberId": "" if instance else known.mid, "groupInstanceId": instance}
            return "LeaveGroup", 3, {"groupId": "g", "members": [row]}
        case "commit":
            part = {
                "partitionIndex": 0,
                "committedOffset": 1,
                "committedLeaderEpoch": -1,
                "committedMetadata": "",
            }
            topics = [{"name": "t", "partitions": [part]}]
            body = {**member, "generationIdOrMemberEpoch": known.gen, "topics": topics}
            return "OffsetCommit", 7, body
        case "fetch":
            asked = [{"name": "t", "partitionIndexes": [0]}]
            return "OffsetFetch", 7, {"groupId": "g", "topics": asked, "requireStable": False}
        case _:
            return "DescribeGroups", 4, {"groups": ["g"], "includeAuthorizedOperations": False}


JOIN = {
    "sessionTimeoutMs": 10_000,
    "rebalanceTimeoutMs": 20_000,
    "protocolType": "consumer",
    "protocols": [{"name": "range", "metadata": ""}],
}
