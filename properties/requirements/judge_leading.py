"""Judges of the area LEADER: the member that assigns for the group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupRequest
from fencepost.model.messages.subscription import (
    Subscription,
    TopicPartition,
    decode_assignment,
    decode_subscription,
)
from fencepost.model.table.table import Level
from fencepost.properties.requirements.client_verdict import (
    HOLDS,
    Verdict,
    answered,
    first_after,
    is_over,
    joined,
    later,
    member_ids,
    said,
    unknown,
    violated,
)
from fencepost.properties.requirements.driver_messages import Assigned, Partition, Revoked
from fencepost.properties.requirements.evidence import COOPERATIVE, JOIN, SYNC, Evidence, Life
from fencepost.properties.requirements.judge_running import restarts
from fencepost.properties.requirements.requirement import Requirement

_SOON_MS = 2000
"""An assignment that another follows so soon was made before the leader knew its topics."""

_MARGIN_MS = 100
"""What two processes saw within that time is in no certain order."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a leader was told, and what it made of it.

    `members`: member id to what it wants; `given`: member id to its partitions.
    """

    life: Life
    at_ms: float
    protocol: str
    generation: int
    members: Mapping[str, Subscription]
    given: Mapping[str, tuple[TopicPartition, ...]]
    rows: int

    @property
    def is_cooperative(self) -> bool:
        """Whether the assignor gives partitions back one by one."""
        return self.protocol.startswith(COOPERATIVE)


def assignments(evidence: Evidence) -> Iterator[Assignment]:
    """Each assignment that a leader sent and the coordinator took."""
    for life in evidence.lives:
        for join in joined(evidence, life):
            answer = join.answer
            if not isinstance(answer, JoinGroupResponse) or not answer.members:
                continue
            if answer.skip_assignment:
                continue
            sync = first_after(evidence, life, answered(join), SYNC)
            request = None if sync is None else sync.request
            if sync is None or not isinstance(request, SyncGroupRequest) or not sync.went_well:
                continue
            if request.generation_id != answer.generation_id:
                continue
            yield Assignment(
                life,
                sync.at_ms,
                answer.protocol_name or "",
                answer.generation_id,
                {one.member_id: decode_subscription(one.metadata) for one in answer.members},
                {one.member_id: decode_assignment(one.assignment) for one in request.assignments},
                len(request.assignments),
            )


def members(evidence: Evidence) -> Verdict:
    """Judge CLIENT-LEADER-MEMBERS."""
    found = list(assignments(evidence))
    for one in found:
        strangers = one.given.keys() - one.members.keys()
        forgotten = one.members.keys() - one.given.keys()
        if strangers:
            return violated(
                "assigns to who is no member",
                f"{said(one.life)} assigned to {', '.join(sorted(strangers))} in generation "
                f"{one.generation}, which the JoinGroup doesn't name",
                one.at_ms,
            )
        if forgotten:
            return violated(
                "a member is missing in the assignment",
                f"{said(one.life)} left {', '.join(sorted(forgotten))} out of the assignment of "
                f"generation {one.generation}",
                one.at_ms,
            )
    return HOLDS if found else unknown("nobody assigned anything")


def once(evidence: Evidence) -> Verdict:
    """Judge CLIENT-LEADER-ONCE."""
    found = list(assignments(evidence))
    for one in found:
        count = Counter(p for partitions in one.given.values() for p in partitions)
        twice = [p for p, number in sorted(count.items()) if number > 1]
        if twice:
            topic, partition = twice[0]
            return violated(
                "a partition is assigned twice",
                f"{said(one.life)} assigned {topic}-{partition} to {count[twice[0]]} members in "
                f"generation {one.generation}",
                one.at_ms,
            )
    return HOLDS if found else unknown("nobody assigned anything")


def whole(evidence: Evidence) -> Verdict:
    """Judge CLIENT-LEADER-WHOLE."""
    found = list(assignments(evidence))
    for index, one in enumerate(found):
        after = found[index + 1] if index + 1 < len(found) else None
        soon = later(evidence, one.at_ms, _SOON_MS)
        if after is not None and (one.is_cooperative or after.at_ms < soon):
            continue
        topics = {topic for wanted in one.members.values() for topic in wanted.topics}
        wanted = {
            TopicPartition(topic, number)
            for topic in topics
            for number in range(evidence.partitions.get(topic, 0))
        }
        missing = sorted(wanted - {p for partitions in one.given.values() for p in partitions})
        if missing:
            topic, partition = missing[0]
            return violated(
                "a partition is assigned to nobody",
                f"{said(one.life)} assigned {topic}-{partition} to nobody in generation "
                f"{one.generation}, and {len(missing) - 1} more",
                one.at_ms,
            )
    return HOLDS if found else unknown("nobody assigned anything")


def instances(evidence: Evidence) -> Verdict:
    """Judge CLIENT-LEADER-INSTANCES."""
    again = [life for _, life in restarts(evidence)]
    later = [a for a in assignments(evidence) if any(a.at_ms > one.began_ms for one in again)]
    if not later:
        return unknown("no rebalance came after a restart")
    last = min(later, key=lambda one: one.at_ms)
    for life in evidence.lives:
        if life.ended_ms is not None or life.instance is None:
            continue
        before = _owned_before(evidence, life, last.at_ms)
        has = evidence.owned(life)
        if before and has != before:
            return violated(
                "an instance has other partitions after a rebalance",
                f"{said(life)} had {len(before)} partitions before the rebalance of generation "
                f"{last.generation} and has {len(has)} now, not the same: the leader, "
                f"{said(last.life)}, sees it under another member id",
                last.at_ms,
                waited=(last.at_ms, evidence.ended_ms),
            )
    return HOLDS


def _owned_before(evidence: Evidence, life: Life, at_ms: float) -> frozenset[Partition]:
    """What a consumer had before a rebalance, in any life: an eager one revokes all to join."""
    if life.is_cooperative:
        return evidence.owned(life, at_ms)
    lives = [one for one in evidence.lives if one.consumer == life.consumer]
    found: frozenset[Partition] = frozenset()
    for one in lives:
        for seen in evidence.seen_by(one, Assigned):
            if seen.at_ms < at_ms:
                found = evidence.owned(one, seen.at_ms)
    return found


def cooperative(evidence: Evidence) -> Verdict:
    """Judge CLIENT-LEADER-COOPERATIVE."""
    found = [one for one in assignments(evidence) if one.is_cooperative]
    moved = False
    for one in found:
        claims: dict[TopicPartition, str] = {}
        newest = max((w.generation_id for w in one.members.values()), default=-1)
        for member, wanted in one.members.items():
            if wanted.generation_id == newest:
                claims |= dict.fromkeys(wanted.owned, member)
        for member, partitions in one.given.items():
            for partition in partitions:
                owner = claims.get(partition, member)
                if owner != member and owner in one.members:
                    topic, number = partition
                    return violated(
                        "a partition is handed over before it was revoked",
                        f"{said(one.life)} assigned {topic}-{number} to {member} in generation "
                        f"{one.generation}, which {owner} owns",
                        one.at_ms,
                    )
    for life in evidence.lives:
        for seen in evidence.seen_by(life, Assigned):
            if not life.is_cooperative or not isinstance(seen.event, Assigned):
                continue
            margin = later(evidence, seen.at_ms - _MARGIN_MS, 2 * _MARGIN_MS) - seen.at_ms
            for other in evidence.lives:
                if other is life or other.ended_ms is not None or other.instance == life.instance:
                    continue
                had = evidence.owned(other, seen.at_ms - margin)
                has = evidence.owned(other, seen.at_ms + margin)
                both = frozenset(seen.event.partitions) & had & has
                if both and member_ids(evidence, other):
                    topic, number = min(both)
                    return violated(
                        "two users have a partition",
                        f"the user of {said(life)} was assigned {topic}-{number} while that of "
                        f"{said(other)} had it",
                        seen.at_ms,
                    )
                moved = moved or bool(had)
    if (quiet := _keeps_quiet(evidence)) is not None:
        return quiet
    return HOLDS if found and moved else unknown("no partition moved between cooperative members")


def _keeps_quiet(evidence: Evidence) -> Verdict | None:
    """What is wrong if a member that gave partitions back didn't join again; None: nothing."""
    for life in evidence.lives:
        if not life.is_cooperative:
            continue
        for seen in evidence.seen_by(life, Revoked):
            given = seen.event.partitions if isinstance(seen.event, Revoked) else ()
            if not given or is_over(life, seen.at_ms + _MARGIN_MS):
                continue
            synced = evidence.of(life, SYNC, until=seen.at_ms)
            if first_after(evidence, life, synced[-1].at_ms if synced else 0.0, JOIN) is None:
                return violated(
                    "does not join again after it revoked",
                    f"the user of {said(life)} gave {len(given)} partitions back, and no JoinGroup "
                    f"followed for {(evidence.ended_ms - seen.at_ms) / 1000:.1f} s",
                    seen.at_ms,
                    waited=(seen.at_ms, evidence.ended_ms),
                )
    return None


REQUIREMENTS = (
    Requirement(
        "CLIENT-LEADER-MEMBERS",
        Level.SHOULD,
        "The assignment names all members of the answer to the JoinGroup, and nobody else.",
        "Kafka's protocol guide, SyncGroup",
        provoked="three members join, one of them restarted with a new member id",
        judged="the member ids in the leader's SyncGroup",
        judge=members,
    ),
    Requirement(
        "CLIENT-LEADER-ONCE",
        Level.MUST,
        "No partition is assigned to two members.",
        "KIP-345, Background of Consumer Rebalance",
        provoked="members join and go, with each assignor that the library has",
        judged="the partitions in the leader's SyncGroup",
        judge=once,
    ),
    Requirement(
        "CLIENT-LEADER-WHOLE",
        Level.SHOULD,
        "Every partition of the topics is assigned; with a cooperative assignor, those that move "
        "may wait for the next generation.",
        "KIP-345, Background of Consumer Rebalance",
        provoked="members join and go, with each assignor that the library has",
        judged="the partitions in the leader's SyncGroup",
        judge=whole,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-LEADER-INSTANCES",
        Level.SHOULD,
        "Members are told apart by their instance ids: after a restart, a later rebalance gives "
        "each instance the partitions that it had.",
        "KIP-345, Client Behavior Changes, the example of A, B and C",
        provoked="a member restarts, and then the group is made to rebalance",
        judged="the partitions of each instance before and after",
        judge=instances,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-LEADER-COOPERATIVE",
        Level.MUST,
        "With a cooperative assignor a partition is given to another member only when the one that "
        "had it has revoked it, and joined again.",
        "KIP-429",
        provoked="a member joins a group that is stable",
        judged="who claims a partition in the JoinGroup requests, whom the leader gives it, "
        "when users were told, and that a JoinGroup follows what is revoked",
        judge=cooperative,
    ),
)
