"""The rebalances of a simulated group, each with its cause, as the coordinator sees them.

Causes have the words that `audit` has for those in logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.conformance.simulate.member_settings import GROUP_ID
from fencepost.conformance.simulate.notes import CoordinatorEvent
from fencepost.conformance.simulate.simulation import Exchange
from fencepost.model.classic.group import Group, Member
from fencepost.model.messages.messages import JoinGroupRequest
from fencepost.model.messages.subscription import TopicPartition, decode_subscription
from fencepost.model.table.vocabulary import GroupState
from fencepost.traces.operations.operator_rows import Cause

HANDOVER = "joins again, since it gave partitions back"
BY_ADMIN = "removed by an administrator"


@dataclass(slots=True)
class SimulatedRebalance:
    """A rebalance.  `who`: the member that caused it; `also`: who did more of it before its end.

    `completed_ms`: its joins were answered; `stable_ms`: the assignment was there.  None: it was
    cut off, by another one or a failover.
    """

    at_ms: int
    cause: Cause
    who: str
    note: str = ""
    also: list[str] = field(default_factory=list)
    generation: int | None = None
    members: int | None = None
    completed_ms: int | None = None
    stable_ms: int | None = None


class RebalanceLog:
    """Watches a simulation."""

    def __init__(self, groups: Mapping[str, Group]) -> None:
        self.rebalances: list[SimulatedRebalance] = []
        self._groups = groups

    def __call__(
        self, now_ms: int, groups: Mapping[str, Group], about: Exchange | CoordinatorEvent
    ) -> None:
        """Something happened at the coordinator."""
        before, after = groups.get(GROUP_ID, Group()), self._groups.get(GROUP_ID, Group())
        if before is after or after.state is GroupState.EMPTY:
            return
        was_on = before.state is GroupState.PREPARING
        has_ended = after.generation_id > before.generation_id
        is_on = after.state is GroupState.PREPARING
        if not was_on and (is_on or has_ended):
            self.rebalances.append(_begun(now_ms, before, after, about))
        elif was_on and (who := _come_or_gone(before, after)):
            self.rebalances[-1].also += [name for name in who if name != self.rebalances[-1].who]
        if not self.rebalances:
            return
        last = self.rebalances[-1]
        if has_ended:
            last.generation, last.members = after.generation_id, len(after.members)
            last.completed_ms = now_ms
        if after.state is GroupState.STABLE and last.generation == after.generation_id:
            last.stable_ms = last.stable_ms or now_ms


def _come_or_gone(before: Group, after: Group) -> list[str]:
    if before.members is after.members:
        return []
    old = {member.member_id: member.client_id for member in before.members}
    new = {member.member_id: member.client_id for member in after.members}
    return sorted(name for ids, name in {**old, **new}.items() if (ids in old) != (ids in new))


def _begun(
    now_ms: int, before: Group, after: Group, about: Exchange | CoordinatorEvent
) -> SimulatedRebalance:
    if isinstance(about, CoordinatorEvent):
        who = ", ".join(_come_or_gone(before, after))
        if about is CoordinatorEvent.REMOVAL:
            return SimulatedRebalance(now_ms, Cause.LEAVE, who, BY_ADMIN)
        cause = Cause.FAILOVER if about is CoordinatorEvent.FAILOVER else Cause.EXPIRY
        return SimulatedRebalance(now_ms, cause, who)
    name = place_of(about.client)
    message = about.request
    if not isinstance(message, JoinGroupRequest):
        cause = Cause.LEAVE if about.api == "LeaveGroup" else Cause.UNKNOWN
        return SimulatedRebalance(now_ms, cause, name)
    member = _known(before, message)
    if member is None:
        return SimulatedRebalance(now_ms, Cause.NEW_MEMBER, name)
    leads = member.member_id == before.leader
    known, offered = member.metadata(before.protocol_name), {p.metadata for p in message.protocols}
    cause = Cause.MEMBER_REJOIN if known in offered else Cause.CHANGED_SUBSCRIPTION
    kept = frozenset[TopicPartition]().union(*map(_owned, offered))
    note = HANDOVER if message.member_id and _owned(known) - kept else ""
    return SimulatedRebalance(now_ms, Cause.LEADER_REJOIN if leads else cause, name, note)


def _owned(metadata: bytes) -> frozenset[TopicPartition]:
    """What a member told that it owns; nothing, if nobody can read it."""
    try:
        return frozenset(decode_subscription(metadata).owned)
    except ValueError:
        return frozenset()


def _known(group: Group, message: JoinGroupRequest) -> Member | None:
    instance = message.group_instance_id
    holder = None if instance is None else group.holder(instance)
    return group.member(message.member_id or holder or "")


def place_of(process: str) -> str:
    """The member that a process of it is called after: `app-1` of `app-1#2`."""
    return process.partition("#")[0]
