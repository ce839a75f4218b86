"""State the requirements of the area LEADER, the member that assigns for the group; judge them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupRequest
from fencepost.model.messages.subscription import (
    Subscription,
    TopicPartition,
    assignment_fault,
    decode_assignment,
    readable_subscription,
)
from fencepost.model.table.table import Level
from fencepost.properties.requirements.driver_messages import Assigned, Partition, Revoked
from fencepost.properties.requirements.evidence import (
    COOPERATIVE,
    JOIN,
    SYNC,
    ConsumerRun,
    Evidence,
)
from fencepost.properties.requirements.judge_running import restarts
from fencepost.properties.requirements.requirement import (
    HOLDS,
    Members,
    Requirement,
    Verdict,
    violated,
)

_SOON_MS = 2000
"""Longest time between two assignments of which the first was made before the leader knew its
topics."""

_MARGIN_MS = 100
"""Time within which the order of events in two processes is uncertain."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The answer to a leader's join, and the assignment that it made of it.

    `members`: member id to its subscription; `partitions`: member id to its partitions.
    """

    run: ConsumerRun
    at_ms: float
    protocol: str
    generation: int
    members: Mapping[str, Subscription]
    partitions: Mapping[str, tuple[TopicPartition, ...]]

    @property
    def is_cooperative(self) -> bool:
        """Tell if the assignor gives partitions back one by one."""
        return self.protocol.startswith(COOPERATIVE)

    def assigned(self) -> Iterator[TopicPartition]:
        """Yield the partitions of all members."""
        for partitions in self.partitions.values():
            yield from partitions


def assignments(evidence: Evidence) -> Iterator[Assignment]:
    """Yield each assignment that a leader sent, members can read, and the coordinator took."""
    for run in evidence.runs:
        for join in evidence.joins_of(run):
            answer = join.answer
            if not isinstance(answer, JoinGroupResponse) or not answer.members:
                continue
            if answer.skip_assignment:
                continue
            sync = evidence.first_after(run, join.end_ms, SYNC)
            request = None if sync is None else sync.request
            if sync is None or not isinstance(request, SyncGroupRequest) or not sync.went_well:
                continue
            if request.generation_id != answer.generation_id:
                continue
            assigned = [row.assignment for row in request.assignments if row.assignment]
            if any(map(assignment_fault, assigned)):
                continue  # CLIENT-BYTES-ASSIGNMENT judges these, and they give nobody anything
            yield Assignment(
                run,
                sync.at_ms,
                answer.protocol_name or "",
                answer.generation_id,
                {row.member_id: readable_subscription(row.metadata) for row in answer.members},
                {row.member_id: decode_assignment(row.assignment) for row in request.assignments},
            )


def _names_members(evidence: Evidence) -> Iterator[Verdict]:
    for made in assignments(evidence):
        yield HOLDS
        strangers = made.partitions.keys() - made.members.keys()
        forgotten = made.members.keys() - made.partitions.keys()
        if strangers:
            yield violated(
                "assigns to who is no member",
                f"{made.run.name} assigned to {', '.join(sorted(strangers))} in generation "
                f"{made.generation}, which the JoinGroup doesn't name",
                made.at_ms,
            )
        if forgotten:
            yield violated(
                "a member is missing in the assignment",
                f"{made.run.name} left {', '.join(sorted(forgotten))} out of the assignment of "
                f"generation {made.generation}",
                made.at_ms,
            )


def _once(evidence: Evidence) -> Iterator[Verdict]:
    for made in assignments(evidence):
        yield HOLDS
        count = Counter(made.assigned())
        twice = [p for p, number in sorted(count.items()) if number > 1]
        if twice:
            topic, partition = twice[0]
            yield violated(
                "a partition is assigned twice",
                f"{made.run.name} assigned {topic}-{partition} to {count[twice[0]]} members in "
                f"generation {made.generation}",
                made.at_ms,
            )


def _whole(evidence: Evidence) -> Iterator[Verdict]:
    all_made = list(assignments(evidence))
    for made, after in zip(all_made, [*all_made[1:], None], strict=False):
        yield HOLDS
        soon = evidence.later(made.at_ms, _SOON_MS)
        if after is not None and (made.is_cooperative or after.at_ms < soon):
            continue
        topics = {topic for subscription in made.members.values() for topic in subscription.topics}
        every = {
            TopicPartition(topic, number)
            for topic in topics
            for number in range(evidence.partitions.get(topic, 0))
        }
        missing = sorted(every - set(made.assigned()))
        if missing:
            topic, partition = missing[0]
            yield violated(
                "a partition is assigned to nobody",
                f"{made.run.name} assigned {topic}-{partition} to nobody in generation "
                f"{made.generation}, and {len(missing) - 1} more",
                made.at_ms,
            )


def _keeps_instances(evidence: Evidence) -> Iterator[Verdict]:
    again = [run for _, run in restarts(evidence)]
    later = [a for a in assignments(evidence) if any(a.at_ms > run.began_ms for run in again)]
    if not later:
        return
    yield HOLDS
    last = min(later, key=lambda made: made.at_ms)
    for run in evidence.static_runs:
        if run.ended_ms is not None:
            continue
        before = _owned_before(evidence, run, last.at_ms)
        has = evidence.owned(run)
        if before and has != before:
            yield violated(
                "an instance has other partitions after a rebalance",
                f"{run.name} had {len(before)} partitions before the rebalance of generation "
                f"{last.generation} and has {len(has)} now, not the same: the leader, "
                f"{last.run.name}, sees it under another member id",
                last.at_ms,
                waited=(last.at_ms, evidence.ended_ms),
            )


def _owned_before(evidence: Evidence, run: ConsumerRun, at_ms: float) -> frozenset[Partition]:
    """Return a consumer's partitions before a rebalance, also those that an eager one revokes."""
    if run.is_cooperative:
        return evidence.owned(run, at_ms)
    owned: frozenset[Partition] = frozenset()
    for own in evidence.runs:
        if own.consumer != run.consumer:
            continue
        for event in evidence.events_of(own, Assigned):
            if event.at_ms < at_ms:
                owned = evidence.owned(own, event.at_ms)
    return owned


def _hands_over(evidence: Evidence) -> Iterator[Verdict]:
    cooperative = [made for made in assignments(evidence) if made.is_cooperative]
    for made in cooperative:
        yield from _handed_early(made)
    has_moved = False
    for run in evidence.runs:
        for event in evidence.events_of(run, Assigned):
            if not run.is_cooperative or not isinstance(event.event, Assigned):
                continue
            margin = evidence.later(event.at_ms - _MARGIN_MS, 2 * _MARGIN_MS) - event.at_ms
            for other in evidence.runs:
                is_same = run.instance is not None and other.instance == run.instance
                if other is run or other.ended_ms is not None or is_same:
                    continue
                had = evidence.owned(other, event.at_ms - margin)
                has = evidence.owned(other, event.at_ms + margin)
                both = frozenset(event.event.partitions) & had & has
                if both and evidence.member_ids(other):
                    topic, number = min(both)
                    yield violated(
                        "two users have a partition",
                        f"the user of {run.name} was assigned {topic}-{number} while that of "
                        f"{other.name} had it",
                        event.at_ms,
                    )
                has_moved = has_moved or bool(had)
    yield from _keeps_quiet(evidence)
    if cooperative and has_moved:
        yield HOLDS


def _handed_early(made: Assignment) -> Iterator[Verdict]:
    """Yield violations of an assignment that gives away partitions of another member."""
    claims: dict[TopicPartition, str] = {}
    newest = max((s.generation_id for s in made.members.values()), default=-1)
    for member, subscription in made.members.items():
        if subscription.generation_id == newest:
            claims |= dict.fromkeys(subscription.owned, member)
    for member, partitions in made.partitions.items():
        for partition in partitions:
            owner = claims.get(partition, member)
            if owner != member and owner in made.members:
                topic, number = partition
                yield violated(
                    "a partition is handed over before it was revoked",
                    f"{made.run.name} assigned {topic}-{number} to {member} in generation "
                    f"{made.generation}, which {owner} owns",
                    made.at_ms,
                )


def _missed(evidence: Evidence, member_id: str, until: float) -> tuple[ConsumerRun, float] | None:
    """Return the run of a member whose last sync was refused, and the time of its join after that.

    None for a member that has missed no generation.
    """
    for run in evidence.runs:
        if member_id not in evidence.member_ids(run):
            continue
        joins = [c.at_ms for c in evidence.of(run, JOIN, until=until)]
        since = joins[-1] if joins else until
        syncs = evidence.of(run, SYNC, until=since)
        if syncs and syncs[-1].is_answered(Code.REBALANCE_IN_PROGRESS):
            return run, since
    return None


def _older_claims(evidence: Evidence) -> Iterator[Verdict]:
    for made in assignments(evidence):
        if not made.is_cooperative:
            continue
        for member in made.members:
            missed = _missed(evidence, member, made.at_ms)
            if missed is None:
                continue
            run, joined_ms = missed
            has = {TopicPartition(*p) for p in evidence.owned(run, joined_ms)}
            if has:
                yield HOLDS
                yield from _passed_over(made, member, run, has)


def _passed_over(
    made: Assignment, member: str, run: ConsumerRun, has: set[TopicPartition]
) -> Iterator[Verdict]:
    """Yield violations of an assignment that gives others what a member still has."""
    claimed = set(made.members[member].owned)
    others = {p for m, s in made.members.items() if m != member for p in s.owned}
    for other, partitions in made.partitions.items():
        taken = sorted(has.intersection(partitions) - others) if other != member else []
        if not taken:
            continue
        topic, number = taken[0]
        if taken[0] in claimed:
            how, who = "the claim of an older generation is passed over", made.run.name
            detail = f"{run.name} claimed it"
        else:
            how, who = "a member that missed a generation claims nothing", run.name
            detail = f"{run.name} did not claim it"
        yield violated(
            how,
            f"{made.run.name} assigned {topic}-{number} to {other} in generation "
            f"{made.generation} while the user of {run.name}, which had missed a generation, had "
            f"it; {detail}, so {who} is at fault",
            made.at_ms,
        )


def _keeps_quiet(evidence: Evidence) -> Iterator[Verdict]:
    """Yield violations of a member that gave partitions back and didn't join again."""
    for run in evidence.runs:
        if not run.is_cooperative:
            continue
        for event in evidence.events_of(run, Revoked):
            revoked = event.event.partitions if isinstance(event.event, Revoked) else ()
            if not revoked or run.is_over(event.at_ms + _MARGIN_MS):
                continue
            syncs = evidence.of(run, SYNC, until=event.at_ms)
            if evidence.first_after(run, syncs[-1].at_ms if syncs else 0.0, JOIN) is None:
                yield violated(
                    "does not join again after it revoked",
                    f"the user of {run.name} gave {len(revoked)} partitions back, and no JoinGroup "
                    f"followed for {(evidence.ended_ms - event.at_ms) / 1000:.1f} s",
                    event.at_ms,
                    waited=(event.at_ms, evidence.ended_ms),
                )


REQUIREMENTS = (
    Requirement(
        "CLIENT-LEADER-MEMBERS",
        Level.SHOULD,
        "A leader assigns to all members of its JoinGroup answer, and to no others.",
        "Kafka's protocol guide, SyncGroup",
        provoked="three members join, one of them restarted with a new member id",
        judged="the member ids in the leader's SyncGroup",
        judge=_names_members,
        unseen="no leader assigned anything",
    ),
    Requirement(
        "CLIENT-LEADER-ONCE",
        Level.MUST,
        "A leader assigns no partition to two members.",
        "KIP-345, Background of Consumer Rebalance",
        provoked="members join and go, with each assignor that the library has",
        judged="the partitions in the leader's SyncGroup",
        judge=_once,
        unseen="no leader assigned anything",
    ),
    Requirement(
        "CLIENT-LEADER-WHOLE",
        Level.SHOULD,
        "A leader assigns each partition of the topics; with a cooperative assignor a partition "
        "that moves may wait for the next generation.",
        "KIP-345, Background of Consumer Rebalance",
        provoked="members join and go, with each assignor that the library has",
        judged="the partitions in the leader's SyncGroup",
        judge=_whole,
        unseen="no leader assigned anything",
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-LEADER-INSTANCES",
        Level.SHOULD,
        "A leader identifies static members by instance id: a rebalance after a restart gives "
        "each instance its old partitions.",
        "KIP-345, Client Behavior Changes, the example of A, B and C",
        provoked="a member restarts, and then the group is made to rebalance",
        judged="the partitions of each instance before and after",
        judge=_keeps_instances,
        unseen="no rebalance came after a restart",
        needs_calm=True,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-LEADER-COOPERATIVE",
        Level.MUST,
        "A leader with a cooperative assignor moves a partition only after its old member has "
        "revoked it and rejoined.",
        "KIP-429",
        provoked="a member joins a group that is stable",
        judged="who claims a partition in the JoinGroup requests, whom the leader gives it, "
        "the time of the users' events, and that a JoinGroup follows what is revoked",
        judge=_hands_over,
        unseen="no partition moved between cooperative members",
    ),
    Requirement(
        "CLIENT-LEADER-MISSED-GENERATION",
        Level.MUST,
        "A leader gives no partition to another member while a cooperative member that missed a "
        "generation still has it, unless a newer claim exists.",
        "KIP-429; KIP-792, generations of claims; KAFKA-14639",
        provoked="a new member joins before a member's SyncGroup is handled, so that is answered "
        "REBALANCE_IN_PROGRESS",
        judged="what its user has when it joins again, its claims, and whom the leader gives it",
        judge=_older_claims,
        unseen="no cooperative member missed a generation",
    ),
)
