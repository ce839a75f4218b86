"""State the requirements of the area BYTES, and judge them.

They are about what members write for each other: subscriptions in JoinGroup, assignments in
SyncGroup.  The coordinator doesn't look at them, so a member meets what another library wrote.

Source: Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment, versions 0 to 3, and
its ConsumerProtocol, which takes the fields that it knows of a later version, and fails where one
of them is missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.messages.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.subscription import (
    PROTOCOL_TYPE,
    assignment_fault,
    readable_assignment,
    readable_subscription,
    subscription_fault,
    version_of,
)
from fencepost.model.table.table import Level
from fencepost.properties.requirements.evidence import (
    COOPERATIVE,
    JOIN,
    LEAVE,
    SYNC,
    Call,
    ConsumerRun,
    Evidence,
)
from fencepost.properties.requirements.requirement import (
    HOLDS,
    Requirement,
    Verdict,
    unknown,
    unsupported,
    violated,
)

_WITHIN_MS = 3000
"""Time in which a leader that can read all members has assigned, and records have reached a user.

The assignment is made at once, and the records are there before.
"""


def _subscriptions(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        for call in evidence.of(run, JOIN):
            request = call.request
            if not isinstance(request, JoinGroupRequest) or request.protocol_type != PROTOCOL_TYPE:
                continue
            for protocol in request.protocols:
                yield HOLDS
                if fault := subscription_fault(protocol.metadata):
                    yield violated(
                        f"a subscription of {fault}",
                        f"{run.name} offers {protocol.name} with a subscription of {fault}: "
                        f"{protocol.metadata.hex(' ') or 'no bytes'}",
                        call.at_ms,
                    )


def _assignments(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        for call in evidence.of(run, SYNC):
            request = call.request
            for row in request.assignments if isinstance(request, SyncGroupRequest) else ():
                yield HOLDS
                if fault := assignment_fault(row.assignment):
                    yield violated(
                        f"an assignment of {fault}",
                        f"{run.name}, the leader, gives {row.member_id} an assignment of {fault}: "
                        f"{row.assignment.hex(' ') or 'no bytes'}",
                        call.at_ms,
                    )


def _reads_members(evidence: Evidence) -> Iterator[Verdict]:
    """Judge that a leader assigns to members of other clients, whose bytes it could read."""
    for run in evidence.runs:
        own = evidence.member_ids(run)
        for join in evidence.joins_of(run):
            answer = join.answer
            if not isinstance(answer, JoinGroupResponse) or run.is_over(join.end_ms):
                continue
            if (answer.protocol_name or "").startswith(COOPERATIVE):
                continue  # a newcomer gets something in the next generation
            readable = {
                row.member_id: version_of(row.metadata)
                for row in answer.members
                if row.member_id not in own
                and not subscription_fault(row.metadata)
                and readable_subscription(row.metadata).topics
            }
            if readable:
                yield _read(evidence, run, join, readable)


def _read(evidence: Evidence, run: ConsumerRun, join: Call, readable: dict[str, int]) -> Verdict:
    after = evidence.first_after(run, join.end_ms, SYNC, JOIN, LEAVE)
    request = None if after is None else after.request
    versions = " and ".join(f"{version}" for version in sorted(set(readable.values())))
    if not isinstance(request, SyncGroupRequest):
        until = evidence.later(join.end_ms, _WITHIN_MS)
        if after is None and (until > evidence.ended_ms or run.is_over(until)):
            return HOLDS
        instead = "nothing" if after is None else after.api
        return violated(
            f"a leader doesn't assign where a subscription has version {versions}",
            f"{run.name} leads a group with a subscription of version {versions}, and sent "
            f"{instead} where SyncGroup was due",
            join.end_ms,
            waited=(join.end_ms, until) if after is None else None,
        )
    assigned = {row.member_id for row in request.assignments if readable_assignment(row.assignment)}
    members, partitions = len(readable) + 1, sum(evidence.partitions.values())
    if members > partitions or readable.keys() <= assigned:
        return HOLDS
    return violated(
        f"a leader gives nothing to a member with a subscription of version {versions}",
        f"{run.name} leads a group of {members} members, and gave none of its {partitions} "
        f"partitions to the member whose subscription has version {versions}",
        join.end_ms,
    )


def _reads_assignment(evidence: Evidence) -> Iterator[Verdict]:
    """Judge that what a leader of another client assigned reaches the user."""
    for run in evidence.runs:
        for sync in evidence.syncs_of(run):
            answer = sync.answer
            if not isinstance(answer, SyncGroupResponse) or _is_own(sync):
                continue
            own = set(sync.assigned)
            if assignment_fault(answer.assignment) or not own:
                continue
            if own & {row.partition for _, row in evidence.records_of(run)}:
                yield HOLDS
                continue
            until = evidence.later(sync.end_ms, _WITHIN_MS)
            if until > evidence.ended_ms or run.is_over(until):
                continue
            join = evidence.first_after(run, sync.end_ms, JOIN, until=until)
            if join is not None and not _is_uncalled_for(evidence, run, sync, join):
                continue
            again = evidence.first_after(run, sync.end_ms, JOIN, LEAVE, until=until)
            version, seconds = version_of(answer.assignment), f"{_WITHIN_MS / 1000:g} s"
            instead = f"within {seconds}" if again is None else f"before it sent {again.api}"
            yield violated(
                f"reads nothing of an assignment of version {version}",
                f"{run.name} was assigned {len(own)} partitions in an assignment of version "
                f"{version}, and no record of them reached its user {instead}",
                sync.end_ms,
                waited=(sync.end_ms, until) if again is None else None,
            )


def _is_uncalled_for(evidence: Evidence, run: ConsumerRun, sync: Call, join: Call) -> bool:
    """Tell if a member joined again by itself: then its new generation is no excuse.

    A cooperative member joins again to give partitions up; others do so for an error or a user.
    """
    errors = [c for c in evidence.of(run) if sync.end_ms < c.end_ms <= join.at_ms and c.error]
    acts = [a for a in evidence.actions if a.run == run.id and a.began_ms >= sync.end_ms]
    is_user = any(act.began_ms <= join.at_ms for act in acts)
    return not (run.is_cooperative or errors or is_user)


def _is_own(sync: Call) -> bool:
    """Tell if the member assigned for the group itself."""
    return isinstance(sync.request, SyncGroupRequest) and bool(sync.request.assignments)


def _no_neighbour(evidence: Evidence) -> Verdict:
    """Make the verdict where no member of another client was in the group with it."""
    names = {
        protocol.name
        for run in evidence.runs
        for call in evidence.of(run, JOIN)
        if isinstance(call.request, JoinGroupRequest)
        for protocol in call.request.protocols
    }
    if names and names.isdisjoint(ASSIGNORS):
        return unsupported(f"no other client has its assignor {' or '.join(sorted(names))}")
    if evidence.actions_of("guest"):
        return unknown("it was in no generation with the other client for long enough")
    return unknown("no other client was in a group with it")


_OTHER_LEADERS = (
    "Kafka's own consumer, and franz-go's, fail where a field of the version is missing: the "
    "leader can't assign, and the whole group waits"
)

REQUIREMENTS = (
    Requirement(
        "CLIENT-BYTES-SUBSCRIPTION",
        Level.MUST,
        "A member sends a subscription with all fields of the version that it names, so that "
        "leaders of other libraries can read it.",
        "KIP-429, Consumer Protocol; Kafka's ConsumerProtocolSubscription, versions 0 to 3",
        provoked="a member joins with each assignor that the library has",
        judged="the metadata of each protocol in each JoinGroup, field by field",
        dispute=f"{_OTHER_LEADERS}.  Other readers, sarama's among them, take what there is.",
        judge=_subscriptions,
        unseen="no member joined with a subscription",
    ),
    Requirement(
        "CLIENT-BYTES-ASSIGNMENT",
        Level.MUST,
        "A leader sends assignments with all fields of the version that they name, so that "
        "members of other libraries can read them.",
        "KIP-429, Consumer Protocol; Kafka's ConsumerProtocolAssignment, versions 0 to 3",
        provoked="a leader assigns with each assignor that the library has",
        judged="each assignment in each SyncGroup, field by field",
        judge=_assignments,
        unseen="no leader assigned anything",
    ),
    Requirement(
        "CLIENT-BYTES-READS-MEMBERS",
        Level.SHOULD,
        "A leader assigns to members of other clients whose subscriptions have an older "
        "version, a later one, or extra bytes.",
        "Kafka's ConsumerProtocol, which takes the fields that it knows of a later version",
        provoked="another client joins the group that the member leads",
        judged="that a SyncGroup comes, and gives that client partitions",
        judge=_reads_members,
        unseen=_no_neighbour,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-BYTES-READS-ASSIGNMENT",
        Level.SHOULD,
        "A member reads assignments of leaders of other clients that have an older version, a "
        "later one, or extra bytes.",
        "Kafka's ConsumerProtocol, which takes the fields that it knows of a later version",
        provoked="the member joins the group that another client leads",
        judged="that records of these partitions reach its user",
        judge=_reads_assignment,
        unseen=_no_neighbour,
        needs_calm=True,
    ),
)
