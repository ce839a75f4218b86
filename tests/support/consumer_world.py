"""A small world of the consumer protocol for tests: named member ids, one group, a clock.

Scripts are steps with `;` between them, each a verb, a member id, maybe an instance, and options:

    join m1 A v=0 topics=t,u r=2000; beat m1; release m1 A; wait 4000; join m2 A

Where the model leaves the target open, the world takes a balanced one that moves little, or that of
`wants`.  A client sends the epoch and the partitions of its last answer, and its instance.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.model.consumer.group import SESSION, ConsumerGroup, Member
from fencepost.model.consumer.topics import partitions_in, rows_of
from fencepost.model.coordinator import Config
from fencepost.model.machine import Machine
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FetchGroup,
    FetchTopic,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    TxnCommitPartition,
    TxnCommitTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.work import Incoming, Outcome, Span, Timer

S, BEAT, R = 6_000, 1_000, 20_000
CONFIG: Config = {
    "group.consumer.session.timeout.ms": S,
    "group.consumer.heartbeat.interval.ms": BEAT,
    "group.consumer.assignment.interval.ms": 0,
    "num.partitions": 4,
}


@dataclass
class Client:
    """A client: its instance, and the epochs and partitions of its last two answers."""

    instance: str | None = None
    epoch: int = 0
    previous: int = 0
    assigned: frozenset[TopicPartition] = frozenset()
    assigned_before: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True)
class Reply:
    """An answer: its error, and for a heartbeat the rest."""

    error: str
    message: Message
    rule: str
    outcomes: int
    member_id: str = ""
    epoch: int = 0
    interval_ms: int = 0
    partitions: frozenset[TopicPartition] | None = None
    rows: tuple[str, ...] = field(default=())


def error_name(code: int | str) -> str:
    return Error(code).name


class ConsumerWorld:
    """One coordinator with one group."""

    def __init__(
        self,
        revision: str | Revision = "consumer-4.3",
        config: Mapping[str, int | None] | None = None,
    ) -> None:
        named = revisions.find(revision) if isinstance(revision, str) else revision
        self.machine = Machine(named, {**CONFIG, **(config or {})})
        self.group: ConsumerGroup | None = None
        self.clients: dict[str, Client] = {}
        self.wants: dict[str, set[int]] = {}
        self.now = 0
        self.sent = 0
        self.rules: set[str] = set()

    # State.

    def there(self) -> ConsumerGroup:
        assert self.group is not None
        return self.group

    def member(self, member_id: str) -> Member:
        member = self.there().member(member_id)
        assert member is not None
        return member

    def timer(self, kind: str, member_id: str) -> Timer | None:
        return self.there().timer(kind, member_id)

    def left_ms(self, member_id: str, kind: str = SESSION) -> int | None:
        """Return the time until a timer of a member expires, if it runs."""
        timer = self.timer(kind, member_id)
        return None if timer is None else timer.earliest - self.now

    def numbers(self, member_id: str) -> set[int]:
        """Return the partitions that a member may own, without their topic."""
        return {p.partition for p in self.member(member_id).partitions()}

    # Requests.

    def ask(self, message: Message, version: int, client_id: str = "c") -> Reply:
        chosen, outcomes = self._handle(message, version, client_id)
        (emission,) = chosen.emissions
        assert emission.message is not None
        return self._reply(emission.message, emission.rule, outcomes)

    def _handle(self, message: Message, version: int, client_id: str) -> tuple[Outcome, int]:
        """Handle a request; return the outcome that the world takes, and the number of outcomes."""
        self.sent += 1
        fresh = self._fresh_id()
        incoming = Incoming(str(self.sent), client_id, message.API, version, message, fresh)
        outcomes = self.machine.handle(self.group, incoming, Span(self.now, self.now), group_id="g")
        chosen = min(outcomes, key=self._distance)
        self._take(chosen)
        return chosen, len(outcomes)

    def _fresh_id(self) -> str:
        return "made" if self.group is None or self.group.member("made") is None else "made-again"

    def _take(self, outcome: Outcome) -> None:
        self.group = outcome.group
        self.rules.update(outcome.rules)

    def _distance(self, outcome: Outcome) -> tuple[Any, ...]:
        """Measure the distance of a target from `wants`, from balance, and from the one before."""
        group = outcome.group
        if group is None:
            return ()
        parts = {m.member_id: set(group.target_of(m.member_id)) for m in group.members}
        stale = group.epoch > group.target_epoch
        unlike = sum(
            {p.partition for p in parts.get(mid, ())} != wanted
            for mid, wanted in self.wants.items()
        )
        sizes = [len(part) for part in parts.values()]
        held = {m.member_id: {*m.partitions()} for m in group.members}
        moved = sum(len(part - held.get(mid, set())) for mid, part in parts.items())
        spread = max(sizes, default=0) - min(sizes, default=0)
        return unlike, stale, spread, moved, group.target

    def _reply(self, message: Message, rule: str, outcomes: int) -> Reply:
        if not isinstance(message, ConsumerGroupHeartbeatResponse):
            body: Any = message
            if hasattr(body, "members"):
                rows = tuple(error_name(row.error_code) for row in body.members)
                return Reply(error_name(body.error_code), message, rule, outcomes, rows=rows)
            if isinstance(message, OffsetCommitResponse | TxnOffsetCommitResponse):
                return Reply("NONE", message, rule, outcomes)
            (row,) = getattr(body, "groups", ()) or body.results
            return Reply(error_name(row.error_code), message, rule, outcomes)
        assignment = message.assignment
        partitions = (
            None
            if assignment is None
            else frozenset(partitions_in(assignment.topic_partitions, "tuvw"))
        )
        return Reply(
            error_name(message.error_code),
            message,
            rule,
            outcomes,
            message.member_id or "",
            message.member_epoch,
            message.heartbeat_interval_ms,
            partitions,
        )

    def join(
        self,
        member_id: str,
        instance: str | None = None,
        *,
        v: int = 1,
        topics: str | None = "t",
        owned: str | None = "",
        r: int = R,
        assignor: str | None = None,
        rack: str | None = None,
        client: str = "c",
        group: str = "g",
    ) -> Reply:
        reply = self.ask(
            ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id=member_id,
                member_epoch=0,
                instance_id=instance,
                rack_id=rack,
                rebalance_timeout_ms=r,
                subscribed_topic_names=topic_names(topics),
                server_assignor=assignor,
                topic_partitions=self._rows(owned, Client()),
            ),
            v,
            client,
        )
        if reply.error == "NONE":
            self.clients[reply.member_id] = Client(instance)
            self._learn(reply)
        return reply

    def beat(
        self,
        member_id: str,
        instance: str | None = "own",
        *,
        epoch: str | int = "current",
        v: int = 1,
        topics: str | None = None,
        owned: str | None = "assigned",
        r: int = -1,
        assignor: str | None = None,
        learns: bool = True,
    ) -> Reply:
        client = self.clients.get(member_id, Client(epoch=1))
        reply = self.ask(
            ConsumerGroupHeartbeatRequest(
                group_id="g",
                member_id=member_id,
                member_epoch=self._epoch(member_id, epoch),
                instance_id=client.instance if instance == "own" else instance,
                rebalance_timeout_ms=r,
                subscribed_topic_names=topic_names(topics),
                server_assignor=assignor,
                topic_partitions=self._rows(owned, client),
            ),
            v,
        )
        if reply.error == "NONE" and learns:
            self._learn(reply)
        return reply

    def _rows(self, owned: str | None, client: Client) -> Any:
        if owned is None or owned == "null":
            return None
        named = {
            "assigned": client.assigned,
            "stale": client.assigned_before | client.assigned,
        }
        wanted = named.get(owned)
        if wanted is None:
            wanted = frozenset(TopicPartition("t", int(n)) for n in owned.split(",") if n)
        return rows_of(wanted)

    def _learn(self, reply: Reply) -> None:
        client = self.clients.setdefault(reply.member_id, Client())
        if reply.epoch != client.epoch:
            client.previous, client.epoch = client.epoch, reply.epoch
        if reply.partitions is not None:
            client.assigned_before, client.assigned = client.assigned, reply.partitions

    def _go(self, member_id: str, instance: str | None, epoch: int, v: int = 1) -> Reply:
        message = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id=member_id, member_epoch=epoch, instance_id=instance
        )
        return self.ask(message, v)

    def leave(self, member_id: str, instance: str | None = None, *, v: int = 1) -> Reply:
        return self._go(member_id, instance, -1, v)

    def release(
        self, member_id: str, instance: str | None = None, *, v: int = 1, epoch: int = -2
    ) -> Reply:
        return self._go(member_id, instance, epoch, v)

    def remove(self, *rows: tuple[str, str | None]) -> Reply:
        members = tuple(LeavingMember(member_id=m, group_instance_id=i) for m, i in rows)
        return self.ask(LeaveGroupRequest(group_id="g", members=members), 5)

    def describe(self) -> DescribedConsumerGroup:
        reply = self.ask(ConsumerGroupDescribeRequest(group_ids=("g",)), 1)
        row: DescribedConsumerGroup = reply.message.groups[0]  # type: ignore[attr-defined]
        return row

    def classic_describe(self) -> Reply:
        return self.ask(DescribeGroupsRequest(groups=("g",)), 6)

    def delete(self) -> Reply:
        return self.ask(DeleteGroupsRequest(groups_names=("g",)), 2)

    def commit(
        self,
        member_id: str = "",
        instance: str | None = None,
        *,
        epoch: str | int = "current",
        parts: str = "0",
        v: int = 9,
        in_transaction: bool = False,
    ) -> Reply:
        """Commit offset 5; the reply's error is that of the first partition."""
        numbers = [int(n) for n in parts.split(",")]
        ids: dict[str, Any] = {
            "group_id": "g",
            "generation_id": self._epoch(member_id, epoch),
            "member_id": member_id,
            "group_instance_id": instance,
        }
        if in_transaction:
            rows = tuple(TxnCommitPartition(partition_index=n, committed_offset=5) for n in numbers)
            topics = (TxnCommitTopic(name="t", partitions=rows),)
            reply = self.ask(TxnOffsetCommitRequest(transactional_id="x", topics=topics, **ids), 5)
        else:
            commits = tuple(CommitPartition(partition_index=n, committed_offset=5) for n in numbers)
            named = (CommitTopic(name="t", partitions=commits),)
            reply = self.ask(OffsetCommitRequest(topics=named, **ids), v)
        codes = [p.error_code for t in reply.message.topics for p in t.partitions]  # type: ignore[attr-defined]
        errors = tuple(map(error_name, codes))
        return Reply(errors[0], reply.message, reply.rule, 1, rows=errors)

    def txn(self, *names: str, **options: Any) -> Reply:
        return self.commit(*names, in_transaction=True, **options)

    def fetch(self, member_id: str | None = None, *, epoch: str | int = "current") -> Reply:
        group = FetchGroup(
            group_id="g",
            member_id=member_id,
            member_epoch=self._epoch(member_id or "", epoch),
            topics=(FetchTopic(name="t", partition_indexes=(0,)),),
        )
        return self.ask(OffsetFetchRequest(groups=(group,)), 9)

    def _epoch(self, member_id: str, epoch: str | int) -> int:
        client = self.clients.get(member_id, Client(epoch=-1))
        known = {"current": client.epoch, "previous": client.previous, "newer": client.epoch + 7}
        return known[epoch] if isinstance(epoch, str) and epoch in known else int(epoch)

    # Time.

    def wait(self, ms: int) -> None:
        end = self.now + ms
        while self.group is not None and self.group.timers:
            timer = min(self.group.timers, key=lambda t: (t.earliest, t))
            if timer.earliest > end:
                break
            self.now = max(self.now, timer.earliest)
            self._fire(timer)
        self.now = end

    def _fire(self, timer: Timer) -> None:
        (outcome,) = self.machine.expire(self.group, timer, Span(self.now, self.now))
        self.group = outcome.group

    def failover(self) -> None:
        (outcome,) = self.machine.failover(self.group, Span(self.now, self.now))
        self.group = outcome.group

    def settle(self) -> None:
        """Let all live members of this protocol send heartbeats until nothing changes."""
        for _ in range(20):
            before = self.there()
            for member in self.there().members:
                if member.classic is None and not member.is_released:
                    assert self.beat(member.member_id).error == "NONE"
            if self.there() == before:
                return
        raise AssertionError("the group does not settle")

    # Scripts.

    def play(self, script: str) -> Reply | None:
        """Run a script; return the answer to the last step, if that is a request."""
        reply: Reply | None = None
        for step in filter(None, map(str.strip, script.split(";"))):
            reply = self._step(shlex.split(step))
        return reply

    def _step(self, words: list[str]) -> Reply | None:
        verb, *rest = words
        options = dict(word.split("=", 1) for word in rest if "=" in word)
        names: list[str | None] = [None if w == "-" else w for w in rest if "=" not in w]
        typed = {k: int(x) if k in {"v", "r", "s"} else x for k, x in options.items()}
        match verb:
            case "wait":
                self.wait(int(rest[0]))
            case "failover":
                self.failover()
            case "settle":
                self.settle()
            case "remove":
                reply = self.remove((names[0] or "", names[1] if len(names) > 1 else None))
                return Reply(reply.rows[0], reply.message, reply.rule, 1, rows=reply.rows)
            case "delete":
                return self.delete()
            case _:
                if "epoch" in typed and verb == "release":
                    typed["epoch"] = int(typed["epoch"])
                ask: Callable[..., Reply] = getattr(self, verb)
                return ask(*names, **typed)
        return None


def topic_names(names: str | None) -> tuple[str, ...] | None:
    return None if names is None or names == "null" else tuple(filter(None, names.split(",")))
