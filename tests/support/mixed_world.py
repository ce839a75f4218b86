"""A small world of mixed groups for tests: members of both protocols in one group.

Scripts have the steps of `consumer_world`, and those of classic members, which begin with `c`:

    form A B; cbeat c1; join m1 A; cjoin c3 C; csync c3; wait 1000

`form` makes a classic group of static members c1, c2, ... that share the partitions.  A member
that the world doesn't know joins without a member id, and gets its name.
"""

from __future__ import annotations

from typing import Any

from support.consumer_world import ConsumerWorld, R, Reply, S, error_name, topic_names

from fencepost.model.classic.group import Group
from fencepost.model.messages.consumer_messages import ConsumerGroupDescribeRequest
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    OffsetCommitRequest,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import (
    Subscription,
    TopicPartition,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from fencepost.model.work import Emission, Outcome, Span, Timer

DELAY = 3_000
PARKED = "parked"
PROTOCOL_SINCE = 5
"""The first version of SyncGroup that names the protocol."""
_CLASSIC = (JoinGroupResponse, SyncGroupResponse, HeartbeatResponse)


class MixedWorld(ConsumerWorld):
    """One coordinator with one group of either protocol, or of both."""

    def __init__(self, revision: str, config: dict[str, int | None] | None = None) -> None:
        super().__init__(revision, {"group.initial.rebalance.delay.ms": DELAY, **(config or {})})
        self.generations: dict[str, int] = {}
        self.instances: dict[str, str | None] = {}
        self.answers: dict[str, Message | None] = {}
        self.fresh = "made"

    @property
    def classic(self) -> Group:
        group: Any = self.group
        assert isinstance(group, Group)
        return group

    def ask(self, message: Message, version: int, client_id: str = "c") -> Reply:
        chosen, outcomes = self._handle(message, version, client_id)
        answer = self.answers.get(str(self.sent))
        if answer is None:
            return Reply(PARKED, message, "", outcomes)
        return self._reply(answer, chosen.rules[0], outcomes)

    def _fresh_id(self) -> str:
        return self.fresh

    def _distance(self, outcome: Outcome) -> tuple[Any, ...]:
        return () if isinstance(outcome.group, Group) else super()._distance(outcome)

    def _take(self, outcome: Outcome) -> None:
        super()._take(outcome)
        emission: Emission
        for emission in outcome.emissions:
            self.answers[emission.request_id] = emission.message

    def _reply(self, message: Message, rule: str, outcomes: int) -> Reply:
        if isinstance(message, _CLASSIC):
            partitions = None
            if isinstance(message, SyncGroupResponse):
                partitions = frozenset(decode_assignment(message.assignment))
            member_id, generation = "", 0
            if isinstance(message, JoinGroupResponse):
                member_id, generation = message.member_id, message.generation_id
            return Reply(
                error_name(message.error_code),
                message,
                rule,
                outcomes,
                member_id,
                generation,
                partitions=partitions,
            )
        return super()._reply(message, rule, outcomes)

    def _fire(self, timer: Timer) -> None:
        outcomes = self.machine.expire(self.group, timer, Span(self.now, self.now))
        self._take(outcomes[0])

    # Classic members.

    def form(self, *instances: str, kind: str = "consumer", user_data: bytes | None = None) -> None:
        """Make a classic group, and share the partitions among its members.

        `user_data`: the assignor's own, in each assignment.
        """
        names = {f"c{number}": name for number, name in enumerate(instances, start=1)}
        for member_id, instance in names.items():
            self.cjoin(member_id, instance, kind=kind)
        self.wait(DELAY * 2)
        share = 4 // len(names)
        rows = tuple(
            SyncAssignment(
                member_id=member_id,
                assignment=encode_assignment(
                    (TopicPartition("t", share * place + n) for n in range(share)),
                    user_data=user_data,
                ),
            )
            for place, member_id in enumerate(names)
        )
        for member_id in names:
            self.generations[member_id] = self.classic.generation_id
        leader = self.classic.leader or ""
        assert self.csync(leader, assignments=rows, kind=kind).error == "NONE"
        for member_id in names.keys() - {leader}:
            assert self.csync(member_id, kind=kind).error == "NONE"

    def cjoin(
        self,
        member_id: str,
        instance: str | None = None,
        *,
        mid: str | None = None,
        topics: str = "t",
        owned: str = "",
        s: int = S,
        r: int = R,
        v: int = 9,
        kind: str = "consumer",
        protocol: str = "range",
        broken: str = "",
    ) -> Reply:
        known = member_id if member_id in self.generations else ""
        partitions = tuple(TopicPartition("t", int(n)) for n in owned.split(",") if n)
        metadata = encode_subscription(Subscription(topic_names(topics) or (), partitions))
        if broken:
            metadata = metadata[:5]
        self.fresh = member_id
        reply = self.ask(
            JoinGroupRequest(
                group_id="g",
                session_timeout_ms=s,
                rebalance_timeout_ms=r,
                member_id=known if mid is None else mid,
                group_instance_id=instance,
                protocol_type=kind,
                protocols=(JoinProtocol(name=protocol, metadata=metadata),),
            ),
            v,
        )
        if reply.error == "NONE":
            self.generations[reply.member_id] = reply.epoch
        if reply.error in {"NONE", PARKED}:
            self.instances[member_id] = instance
        return reply

    def _own(self, member_id: str, instance: str | None) -> str | None:
        return self.instances.get(member_id) if instance == "own" else instance

    def _generation(self, member_id: str, gen: str) -> int:
        return self.generations.get(member_id, 1) if gen == "current" else int(gen)

    def csync(
        self,
        member_id: str,
        instance: str | None = "own",
        *,
        gen: str = "current",
        assignments: tuple[SyncAssignment, ...] = (),
        protocol: str = "range",
        kind: str = "consumer",
        v: int = 5,
    ) -> Reply:
        return self.ask(
            SyncGroupRequest(
                group_id="g",
                generation_id=self._generation(member_id, gen),
                member_id=member_id,
                group_instance_id=self._own(member_id, instance),
                protocol_type=kind if v >= PROTOCOL_SINCE else None,
                protocol_name=protocol if v >= PROTOCOL_SINCE and protocol != "null" else None,
                assignments=assignments,
            ),
            v,
        )

    def cbeat(self, member_id: str, instance: str | None = "own", *, gen: str = "current") -> Reply:
        return self.ask(
            HeartbeatRequest(
                group_id="g",
                generation_id=self._generation(member_id, gen),
                member_id=member_id,
                group_instance_id=self._own(member_id, instance),
            ),
            4,
        )

    def ccommit(self, member_id: str, *, gen: str = "current", v: int = 8) -> Reply:
        part = CommitPartition(partition_index=0, committed_offset=5)
        reply = self.ask(
            OffsetCommitRequest(
                group_id="g",
                generation_id=self._generation(member_id, gen),
                member_id=member_id,
                topics=(CommitTopic(name="t", partitions=(part,)),),
            ),
            v,
        )
        (topic,) = reply.message.topics  # type: ignore[attr-defined]
        return Reply(error_name(topic.partitions[0].error_code), reply.message, reply.rule, 1)

    def _step(self, words: list[str]) -> Reply | None:
        if words[0] == "form":
            names = [word for word in words[1:] if "=" not in word]
            self.form(*names, kind="connect" if "kind=connect" in words else "consumer")
            return None
        return super()._step(words)

    def describe_error(self) -> Reply:
        return self.ask(ConsumerGroupDescribeRequest(group_ids=("g",)), 1)
