"""Random steps of the model, each with every outcome: what the bridge and evaluators are shown."""

from __future__ import annotations

import random
from collections.abc import Iterator

from fencepost.model.classic.group import Group
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.coordinator import Config
from fencepost.model.machine import Machine
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision
from fencepost.model.work import Incoming, Outcome, Span
from fencepost.properties.worlds.views import Event, Failover, StepView

SETTINGS: Config = {"group.max.size": 3, "group.initial.rebalance.delay.ms": 0}
_NOW = Span(0, 0)


class Walk:
    """Walks at random through the groups of a revision; the same seed walks the same way."""

    def __init__(self, revision: Revision, seed: int, config: Config | None = None) -> None:
        self.machine = Machine(revision, SETTINGS if config is None else config)
        self._rules = {rule.id: rule for _, rule in revision.rules()}
        self._chance = random.Random(seed)
        self._number = 0
        self._purpose = self._chance.choice([0.0, 0.3, 0.6])

    def views(self, steps: int) -> Iterator[StepView]:
        """Every outcome of so many steps; the walk goes on from one of them."""
        group: Group | None = None
        for _ in range(steps):
            event, outcomes = self._step(group)
            for outcome in outcomes:
                yield StepView(
                    group,
                    event,
                    outcome.group,
                    outcome.emissions,
                    tuple(self._rules[one] for one in outcome.rules),
                )
            group = self._chance.choice(outcomes).group

    def _step(self, group: Group | None) -> tuple[Event, tuple[Outcome, ...]]:
        roll = self._chance.random()
        if group is not None and group.timers and roll < 0.08:
            timer = self._chance.choice(group.timers)
            return timer, self.machine.expire(group, timer, _NOW)
        if roll < 0.09:
            return Failover(), self.machine.failover(group, _NOW)
        self._number += 1
        message, version = self._request(group)
        request = Incoming(
            f"r{self._number}", "c", message.API, version, message, f"id{self._number}"
        )
        return request, self.machine.handle(group, request, _NOW, group_id="g")

    def _ids(self, group: Group | None) -> tuple[str, str | None]:
        """A member id and an instance: often those of one member, as an honest client has them."""
        members = group.members if group is not None else ()
        if members and self._chance.random() < 0.7:
            member = self._chance.choice(members)
            return member.member_id, member.group_instance_id
        known = [m.member_id for m in members] + list(group.pending if group is not None else ())
        member_id = self._chance.choice(["", "", "stranger", *known])
        instance = self._chance.choice([None, None, "A", "B"])
        if self._chance.random() < 0.3 and group is not None and group.pending:
            return self._chance.choice(group.pending), None
        return member_id, instance

    def _forward(self, group: Group) -> tuple[str, str, str | None]:
        """What brings a rebalance to its end; in a group without one, a restart or a newcomer."""
        absent = [m for m in group.members if m.joining is None]
        if group.state is GroupState.PREPARING and absent:
            return "j", absent[0].member_id, absent[0].group_instance_id
        leader = group.member(group.leader or "")
        if group.state is GroupState.COMPLETING and leader is not None:
            member = self._chance.choice([leader, *group.members])
            return "s", member.member_id, member.group_instance_id
        seated = [m for m in group.members if m.is_static]
        if seated and self._chance.random() < 0.5:
            return "j", "", self._chance.choice(seated).group_instance_id
        if group.pending:
            return "j", group.pending[0], None
        return self._chance.choice("jjl"), *self._ids(group)

    def _request(self, group: Group | None) -> tuple[Message, int]:
        kind = self._chance.choice("jjjjjjjjsssssssshllco")
        member_id, instance = self._ids(group)
        if group is not None and self._chance.random() < self._purpose:
            kind, member_id, instance = self._forward(group)
        generation = group.generation_id if group is not None else 0
        if self._chance.random() < 0.1:
            generation += self._chance.choice([-1, 1])
        match kind:
            case "j":
                offers = [("range",), ("range", "sticky"), ("sticky", "range")]
                names = self._chance.choices(offers, (12, 1, 1))[0]
                version = 3 if instance is None and self._chance.random() < 0.4 else 9
                protocols = tuple(JoinProtocol(name=name, metadata=b"m") for name in names)
                return JoinGroupRequest(
                    group_id="g",
                    session_timeout_ms=10_000,
                    rebalance_timeout_ms=60_000,
                    member_id=member_id,
                    group_instance_id=instance,
                    protocol_type="consumer",
                    protocols=protocols,
                ), version
            case "s":
                name = group.protocol_name if group is not None else None
                return SyncGroupRequest(
                    group_id="g",
                    generation_id=generation,
                    member_id=member_id,
                    group_instance_id=instance,
                    protocol_type="consumer",
                    protocol_name=name or "range",
                    assignments=(),
                ), 5
            case "h":
                return HeartbeatRequest(
                    group_id="g",
                    generation_id=generation,
                    member_id=member_id,
                    group_instance_id=instance,
                ), 4
            case "l":
                rows = [(member_id, instance)]
                while self._chance.random() < 0.5 and len(rows) < 3:
                    rows.append(self._ids(group))
                members = tuple(LeavingMember(member_id=m, group_instance_id=i) for m, i in rows)
                return LeaveGroupRequest(group_id="g", members=members), 5
            case _:
                topics = (
                    CommitTopic(
                        name="t",
                        partitions=(
                            CommitPartition(
                                partition_index=0, committed_offset=1, committed_metadata=None
                            ),
                        ),
                    ),
                )
                return OffsetCommitRequest(
                    group_id="g",
                    generation_id=self._chance.choice([generation, -1]),
                    member_id=member_id,
                    group_instance_id=instance,
                    topics=topics,
                ), 8
