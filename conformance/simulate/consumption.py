"""Compute the rebalances of a simulated group, and gaps, overlaps and moves of its partitions.

Each rebalance has its cause, as the coordinator sees it.  Causes have the words that `audit` has
for those in logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from fencepost.conformance.simulate.deployment_scenario import GROUP_ID
from fencepost.conformance.simulate.simulation import (
    ClientEvent,
    CoordinatorEvent,
    SimulatedExchange,
)
from fencepost.model.assignors.assignor_input import Racks
from fencepost.model.classic.group import Group, Member
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.client.client_interface import Assigned, Lost, Revoked
from fencepost.model.messages.messages import JoinGroupRequest
from fencepost.model.messages.subscription import TopicPartition, decode_subscription
from fencepost.traces.operations.operator_rows import Cause

HANDOVER = "joins again, since it gave partitions back"
BY_ADMIN = "removed by an administrator"


@dataclass(slots=True)
class SimulatedRebalance:
    """A rebalance.

    `who`: the member that caused it; `also`: members that did so, too, before its end.

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
    """A list of rebalances, kept by watching a simulation."""

    def __init__(self, groups: Mapping[str, Group]) -> None:
        self.rebalances: list[SimulatedRebalance] = []
        self._groups = groups

    def __call__(
        self, now_ms: int, groups: Mapping[str, Group], about: SimulatedExchange | CoordinatorEvent
    ) -> None:
        """Note an event at the coordinator."""
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
    now_ms: int, before: Group, after: Group, about: SimulatedExchange | CoordinatorEvent
) -> SimulatedRebalance:
    if isinstance(about, CoordinatorEvent):
        who = ", ".join(_come_or_gone(before, after))
        if about is CoordinatorEvent.REMOVAL:
            return SimulatedRebalance(now_ms, Cause.LEAVE, who, BY_ADMIN)
        cause = Cause.FAILOVER if about is CoordinatorEvent.FAILOVER else Cause.EXPIRY
        return SimulatedRebalance(now_ms, cause, who)
    name = place_of(about.client_id or "")
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
    """Return the partitions that a member claims; none, if its metadata is unreadable."""
    try:
        return frozenset(decode_subscription(metadata).owned)
    except ValueError:
        return frozenset()


def _known(group: Group, message: JoinGroupRequest) -> Member | None:
    instance = message.group_instance_id
    holder = None if instance is None else group.holder(instance)
    return group.member(message.member_id or holder or "")


def place_of(process: str) -> str:
    """Return the member that a process of it is called after: `app-1` of `app-1#2`."""
    return process.partition("#")[0]


_EVER = 2**63


class Held(NamedTuple):
    """A time, in ms, for which a member consumed a partition."""

    from_ms: int
    until_ms: int
    member: str


class PartitionTimes(NamedTuple):
    """A partition in a window: its consumers, and its gaps and overlaps, in ms.

    `held`: a member that gave it back just when the window began, or got it just when it ended, is
    there for 0 ms.  `moves`: the number of times that its next consumer was another member,
    whatever its process.
    """

    partition: TopicPartition
    held: tuple[Held, ...]
    unavailable_ms: int
    longest_gap_ms: int
    twice_ms: int
    moves: int


def consumption(
    events: Iterable[ClientEvent],
    ended: Mapping[str, int],
    partitions: Iterable[TopicPartition],
    from_ms: int,
    until_ms: int,
    resume_ms: int = 0,
) -> list[PartitionTimes]:
    """Compute the times of each partition in a window.

    `ended`: when processes were killed, by consumer; others give back what they have.  `resume_ms`:
    how long after it was given, in the window, a member consumes a partition; one that it gives
    back sooner it had for 0 ms.
    """
    held: dict[TopicPartition, list[Held]] = {partition: [] for partition in partitions}
    owned: dict[tuple[str, TopicPartition], int] = {}

    def give_back(at_ms: int, consumer: str, partition: TopicPartition) -> None:
        since = owned.pop((consumer, partition), None)
        if since is not None:
            held[partition].append(Held(min(since, at_ms), at_ms, place_of(consumer)))

    for at_ms, consumer, event in events:
        match event:
            case Assigned(gained):
                since_ms = at_ms + resume_ms if at_ms > from_ms else at_ms
                for partition in gained:
                    owned[consumer, partition] = since_ms
            case Revoked(gone) | Lost(gone):
                for partition in gone:
                    give_back(at_ms, consumer, partition)
            case _:
                pass
    for consumer, partition in list(owned):
        give_back(ended.get(consumer, until_ms), consumer, partition)
    return [_in_window(partition, rows, from_ms, until_ms) for partition, rows in held.items()]


def far_ms(
    times: Iterable[PartitionTimes],
    rack_of: Callable[[str], str | None],
    placements: Sequence[tuple[int, Racks]],
) -> int:
    """Sum up the ms for which partitions were consumed from racks without a replica.

    `placements`: the racks of the replicas, each from a time on, the first from the beginning.
    """
    ends = [*(since_ms for since_ms, _ in placements[1:]), _EVER]
    return sum(
        max(min(row.until_ms, end_ms) - max(row.from_ms, since_ms), 0)
        for (since_ms, racks), end_ms in zip(placements, ends, strict=True)
        for each in times
        for row in each.held
        if rack_of(row.member) not in racks[each.partition]
    )


def _in_window(
    partition: TopicPartition, rows: Sequence[Held], from_ms: int, until_ms: int
) -> PartitionTimes:
    # with its ends: the count of moves needs the member before the first step
    rows_in_window = [
        Held(max(row.from_ms, from_ms), min(row.until_ms, until_ms), row.member)
        for row in sorted(rows)
        if row.from_ms <= until_ms and row.until_ms >= from_ms
    ]
    gaps, twice_ms, end_ms = [], 0, from_ms
    for row in rows_in_window:
        gaps.append(max(row.from_ms - end_ms, 0))
        twice_ms += max(min(row.until_ms, end_ms) - row.from_ms, 0)
        end_ms = max(end_ms, row.until_ms)
    gaps.append(until_ms - end_ms)
    moves = sum(earlier.member != later.member for earlier, later in pairwise(rows_in_window))
    return PartitionTimes(partition, tuple(rows_in_window), sum(gaps), max(gaps), twice_ms, moves)
