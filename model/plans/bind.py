"""Replace the references in a plan by values from the last answers to each member.

A client knows its id and generation from the answers that it read, and nothing else; so do the
members of a plan.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from operator import is_
from typing import Any

from msgspec.structs import replace

from fencepost.model.messages.consumer_messages import ConsumerAssignment, TopicPartitions
from fencepost.model.messages.messages import SyncAssignment
from fencepost.model.messages.shapes import Message, ShapeError, wire_fields
from fencepost.model.messages.streams_messages import TaskIds
from fencepost.model.messages.subscription import label_assignment
from fencepost.model.plans.steps import (
    AssignmentsIfLeader,
    AssignmentsToAll,
    EpochOf,
    GenerationOf,
    IdOf,
    Ms,
    OwnedOf,
    ProtocolOf,
)
from fencepost.model.plans.times import Times

_NAMING = frozenset({"ConsumerGroupHeartbeat", "StreamsGroupHeartbeat"})
"""APIs beside joins whose answers name their member."""

_PLAIN = {type(None), bool, int, str, bytes}
"""Types of values that stand for themselves, as nearly all values do."""


@dataclass(slots=True)
class MemberKnowledge:
    """The knowledge of one member: its ids in order, generation, protocol, leader, members.

    In the consumer protocol: its epochs, and the partitions or tasks that it may own, in order.
    """

    ids: list[str] = field(default_factory=list)
    generation: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leads: bool = False
    members: tuple[str, ...] = ()
    epochs: list[int] = field(default_factory=list)
    owned: list[tuple[TopicPartitions, ...] | tuple[TaskIds, ...]] = field(default_factory=list)

    def learn_epoch(self, body: Mapping[str, Any]) -> None:
        """Learn from the answer to a heartbeat of the consumer protocol that was accepted."""
        if (epoch := body.get("memberEpoch", 0)) not in self.epochs[-1:]:
            self.epochs.append(epoch)
        if (assignment := body.get("assignment")) is not None:
            with suppress(ShapeError):
                self.owned.append(ConsumerAssignment.from_body(assignment, 0).topic_partitions)
        if (tasks := body.get("activeTasks")) is not None:
            with suppress(ShapeError, TypeError):
                self.owned.append(tuple(TaskIds.from_body(row, 0) for row in tasks))


class Knowledge:
    """The knowledge of every member of a plan so far, and names for ids, for reports."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._members: defaultdict[str, MemberKnowledge] = defaultdict(MemberKnowledge)
        self.names: dict[str, str] = {}

    def of_member(self, who: str) -> MemberKnowledge:
        """Return the knowledge of this member."""
        return self._members[who]

    def learn(self, who: str, api: str, body: Mapping[str, Any], sent: Mapping[str, Any]) -> None:
        """Learn from an answer that the sender of the request read."""
        if api not in _NAMING and not api.startswith("JoinGroup"):
            return
        known = self.of_member(who)
        member_id = body.get("memberId") or ""
        if member_id and body.get("errorCode") in {0, 79}:
            if member_id not in known.ids[-1:]:
                known.ids.append(member_id)
            if (sent.get("memberId") or member_id) == member_id or api not in _NAMING:
                self.names.setdefault(member_id, who)  # else it is no id of this member
        if body.get("errorCode") == 0 and api in _NAMING:
            known.learn_epoch(body)
        elif body.get("errorCode") == 0:
            known.generation = body.get("generationId", -1)
            known.protocol_type = body.get("protocolType") or sent.get("protocolType")
            known.protocol_name = body.get("protocolName")
            known.leads = body.get("leader") == member_id
            known.members = tuple(m.get("memberId", "") for m in body.get("members") or ())

    def value(self, reference: Any) -> Any:
        """Return the present value of a reference; anything else stands for itself."""
        if type(reference) in _PLAIN:
            return reference
        match reference:
            case IdOf():
                ids = self.of_member(reference.who).ids
                return ids[-1 - reference.back] if len(ids) > reference.back else ""
            case GenerationOf():
                generation = self.of_member(reference.who).generation
                return generation if generation < 0 else generation + reference.plus
            case EpochOf(back=back):
                epochs = self.of_member(reference.who).epochs
                return epochs[-1 - back] + reference.plus if len(epochs) > back else 1
            case OwnedOf(back=back):
                owned = self.of_member(reference.who).owned
                return owned[-1 - back] if len(owned) > back else ()
            case Ms():
                return self._times.of(reference)
            case ProtocolOf():
                known = self.of_member(reference.who)
                return known.protocol_type if reference.part == "type" else known.protocol_name
            case AssignmentsIfLeader():
                if not self.of_member(reference.who).leads:
                    return ()
                return tuple(
                    SyncAssignment(
                        member_id=self.value(member), assignment=label_assignment(assignment)
                    )
                    for member, assignment in reference.by_member
                )
            case AssignmentsToAll():
                return tuple(
                    SyncAssignment(
                        member_id=member, assignment=label_assignment(reference.assignment)
                    )
                    for member in sorted(self.of_member(reference.who).members)
                )
            case tuple():
                items = tuple([self.value(item) for item in reference])
                return reference if all(map(is_, items, reference)) else items
            case SyncAssignment():
                return replace(
                    reference,
                    member_id=self.value(reference.member_id),
                    assignment=label_assignment(reference.assignment),
                )
            case Message():
                changes = {
                    name: value
                    for name, _ in wire_fields(type(reference))
                    if (value := self.value(old := getattr(reference, name))) is not old
                }
                return replace(reference, **changes) if changes else reference
            case _:
                return reference


def printable(value: Any, names: Mapping[str, str]) -> Any:
    """Return a body with member ids replaced by names and readable bytes decoded, for people."""
    match value:
        case dict():
            return {key: printable(item, names) for key, item in value.items()}
        case list():
            return [printable(item, names) for item in value]
        case str():
            return names.get(value, value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return value
