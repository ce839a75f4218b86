"""A small world for tests: named clients, one model coordinator, a clock that moves when told.

Names of clients say what they are: `A`, `B` are static (the name is the instance id), `x`, `y`
dynamic.  Every request gets a connection of its own.  A reply is looked up when it is asked for,
so the reply to a parked request changes from `PARKED` to what it was answered later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.classic.group import Group
from fencepost.model.coordinator import Answer, Config, Dropped, Send
from fencepost.model.machine import Machine
from fencepost.model.messages.errors import error_name
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    SyncAssignment,
    SyncGroupRequest,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.work import Incoming, Outcome, Span, Timer

S, R, D = 10_000, 60_000, 3_000
PARKED = "parked"
DELAY = "group.initial.rebalance.delay.ms"
MAX_SIZE = "group.max.size"


def instance_of(who: str) -> str | None:
    return who if who.isupper() else None


def offers(*names: str, metadata: bytes = b"") -> tuple[JoinProtocol, ...]:
    return tuple(JoinProtocol(name=n, metadata=metadata or n.encode()) for n in names)


class Reply:
    """The answer to one request, as far as there is one."""

    def __init__(self, world: World, request_id: str) -> None:
        self._world = world
        self._id = request_id

    @property
    def answer(self) -> Answer | None:
        return self._world.answers.get(self._id)

    @property
    def body(self) -> dict[str, Any]:
        assert self.answer is not None, f"{self._id} is parked"
        assert self.answer.body is not None
        return dict(self.answer.body)

    @property
    def error(self) -> str:
        return PARKED if self.answer is None else error_name(self.body["errorCode"])

    @property
    def at_ms(self) -> int:
        assert self.answer is not None
        return self.answer.at_ms

    @property
    def mid(self) -> str:
        return str(self.body["memberId"])

    @property
    def gen(self) -> int:
        return int(self.body["generationId"])

    @property
    def leader(self) -> str:
        return str(self.body["leader"])

    @property
    def members(self) -> list[str]:
        return [row["memberId"] for row in self.body["members"]]

    @property
    def rows(self) -> list[str]:
        """The errors of a leave's rows."""
        return [error_name(row["errorCode"]) for row in self.body["members"]]

    @property
    def partitions(self) -> list[str]:
        """The errors of a commit's partitions."""
        topics = self.body["topics"]
        return [error_name(p["errorCode"]) for t in topics for p in t["partitions"]]


@dataclass(frozen=True)
class Seat:
    """A member as its client knows it."""

    mid: str
    gen: int


class World:
    """One coordinator, one group unless told otherwise."""

    def __init__(self, revision: str | Revision = "kafka-4", config: Config | None = None) -> None:
        named = revisions.find(revision) if isinstance(revision, str) else revision
        self.coordinator = ModelCoordinator(named)
        self.answers: dict[str, Answer] = {}
        self.requests: dict[str, Send] = {}
        self._sent = 0
        self.now = 0
        self.coordinator.reset(config or {})

    # Requests.

    def send(self, who: str, api: str, version: int, body: dict[str, Any]) -> Reply:
        self._sent += 1
        request_id = f"{self._sent}"
        request = self.requests[request_id] = Send(request_id, request_id, who, api, version, body)
        self._take(self.coordinator.send(request))
        return Reply(self, request_id)

    def ask(self, who: str, message: Message, version: int) -> Reply:
        return self.send(who, message.API, version, message.to_body(version))

    def join(
        self,
        who: str,
        mid: str = "",
        *,
        inst: str | None = "?",
        protocols: tuple[JoinProtocol, ...] = offers("range"),
        s: int = S,
        r: int = R,
        version: int = 9,
        group: str = "g",
        kind: str = "consumer",
    ) -> Reply:
        return self.ask(
            who,
            JoinGroupRequest(
                group_id=group,
                session_timeout_ms=s,
                rebalance_timeout_ms=r if version else -1,
                member_id=mid,
                group_instance_id=instance_of(who) if inst == "?" else inst,
                protocol_type=kind,
                protocols=protocols,
            ),
            version,
        )

    def admit(self, who: str, **how: Any) -> Reply:
        """The join that makes somebody a member: for a dynamic one, with the id it is told."""
        first = self.join(who, **how)
        return self.join(who, first.mid, **how) if first.error == "MEMBER_ID_REQUIRED" else first

    def sync(
        self,
        who: str,
        mid: str,
        gen: int,
        assign: dict[str, bytes] | None = None,
        *,
        inst: str | None = "?",
        version: int = 5,
        group: str = "g",
        kind: str | None = "consumer",
        name: str | None = "range",
    ) -> Reply:
        rows = tuple(SyncAssignment(member_id=m, assignment=a) for m, a in (assign or {}).items())
        return self.ask(
            who,
            SyncGroupRequest(
                group_id=group,
                generation_id=gen,
                member_id=mid,
                group_instance_id=instance_of(who) if inst == "?" else inst,
                protocol_type=kind if version >= 5 else None,
                protocol_name=name if version >= 5 else None,
                assignments=rows,
            ),
            version,
        )

    def beat(
        self, who: str, mid: str, gen: int, *, inst: str | None = "?", group: str = "g"
    ) -> str:
        request = HeartbeatRequest(
            group_id=group,
            generation_id=gen,
            member_id=mid,
            group_instance_id=instance_of(who) if inst == "?" else inst,
        )
        return self.ask(who, request, 4).error

    def leave(self, *rows: tuple[str, str | None], group: str = "g") -> Reply:
        """Rows of (mid, inst), version 5."""
        members = tuple(LeavingMember(member_id=m, group_instance_id=i) for m, i in rows)
        return self.ask("admin", LeaveGroupRequest(group_id=group, members=members), 5)

    def leave_alone(self, mid: str, *, version: int = 2, group: str = "g") -> Reply:
        return self.ask("admin", LeaveGroupRequest(group_id=group, member_id=mid), version)

    def commit(
        self,
        mid: str = "",
        gen: int = -1,
        inst: str | None = None,
        *,
        topics: tuple[str, ...] = ("t",),
        metadata: tuple[str | None, ...] = ("",),
        group: str = "g",
        version: int = 9,
    ) -> Reply:
        """A commit of a partition of each topic for each metadata."""
        parts = tuple(
            CommitPartition(partition_index=i, committed_offset=5, committed_metadata=text)
            for i, text in enumerate(metadata)
        )
        request = OffsetCommitRequest(
            group_id=group,
            generation_id=gen,
            member_id=mid,
            group_instance_id=inst,
            topics=tuple(CommitTopic(name=n, partitions=parts) for n in topics),
        )
        return self.ask("admin", request, version)

    def describe(self, group: str = "g", *, version: int = 6) -> dict[str, Any]:
        reply = self.ask("admin", DescribeGroupsRequest(groups=(group,)), version)
        row: dict[str, Any] = reply.body["groups"][0]
        return row

    # The clock and the coordinator.

    def wait(self, ms: int) -> None:
        self.now += ms
        self._take(self.coordinator.advance(ms))

    def restart(self) -> Dropped:
        dropped = self.coordinator.restart()
        self._take(dropped.answers)
        return dropped

    def _take(self, answers: Any) -> None:
        self.answers |= {answer.id: answer for answer in answers}

    # What is behind it.

    @property
    def machine(self) -> Machine:
        return self.coordinator._running.machine

    def group(self, name: str = "g") -> Group:
        group: Group = self.coordinator._running.groups[name]
        return group

    def exists(self, name: str = "g") -> bool:
        return name in self.coordinator._running.groups

    @property
    def state(self) -> str:
        return str(self.group().state.value)

    def timer(self, kind: str, subject: str = "") -> int | None:
        """In how many ms a timer fires; None: it doesn't run."""
        for timer in self.group().timers:
            if (timer.kind, timer.subject) == (kind, subject):
                return timer.earliest - self.now
        return None

    def outcomes(self, message: Message, version: int) -> tuple[Outcome, ...]:
        """Everything that the machine allows, without doing any of it."""
        incoming = Incoming("?", "c", message.API, version, message, "?")
        return self.machine.handle(self.group(), incoming, self.span)

    def expiries(self, kind: str, subject: str = "") -> tuple[Outcome, ...]:
        group = self.group()
        timer: Timer = next(t for t in group.timers if (t.kind, t.subject) == (kind, subject))
        return self.machine.expire(group, timer, Span(timer.earliest, timer.earliest))

    @property
    def span(self) -> Span:
        return Span(self.now, self.now)

    # Whole phases.

    def completing(self, *whos: str, **how: Any) -> dict[str, Seat]:
        """These clients joined from Empty; the first one leads; nobody has synced."""
        replies = {who: self.admit(who, **how) for who in whos}
        for _ in range(2 * len(whos)):
            if replies[whos[0]].error == PARKED:
                self.wait(D)
        assert {reply.error for reply in replies.values()} == {"NONE"}
        return {who: Seat(reply.mid, reply.gen) for who, reply in replies.items()}

    def stable(self, *whos: str, **how: Any) -> dict[str, Seat]:
        """The same, and all have their assignment: their name."""
        seats = self.completing(*whos, **how)
        assign = {seat.mid: who.encode() for who, seat in seats.items()}
        name = (how.get("protocols") or offers("range"))[0].name
        for who in reversed(whos):
            seat = seats[who]
            rows = assign if who == whos[0] else None
            self.sync(who, seat.mid, seat.gen, rows, name=self.group().protocol_name or name)
        assert self.state == "Stable"
        return seats

    def preparing(self, *whos: str, **how: Any) -> dict[str, Seat]:
        """Stable, then a rebalance that a newcomer `z` began; nobody of these has rejoined."""
        seats = self.stable(*whos, **how)
        self.newcomer = self.admit("z")
        assert self.state == "PreparingRebalance"
        return seats
