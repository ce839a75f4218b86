"""Compare answers of the consumer protocol with the model's.

Epochs are compared as generations are: a target may count on by more than one.  The order of
members, topics and partitions means nothing.  An assignment of null says that nothing changed, so
it is another answer than an empty one, and nearly the same as the last assignment again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.consumer.topics import TopicIds
from fencepost.model.messages.consumer_messages import (
    ConsumerAssignment,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedTopic,
    TopicPartitions,
)
from fencepost.model.messages.messages import SyncGroupRequest, SyncGroupResponse
from fencepost.model.messages.streams_messages import (
    DescribedStreamsGroup,
    DescribedStreamsMember,
    DescribedTasks,
    DescribedTopology,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatResponse,
    TaskIds,
)
from fencepost.model.messages.subscription import readable_assignment
from fencepost.model.table.table import Level
from fencepost.properties.oracle.matcher import FRESH, Matcher

_Described = TypeVar("_Described", DescribedConsumerGroup, DescribedStreamsGroup)


def compare_heartbeats(
    m: Matcher, expected: ConsumerGroupHeartbeatResponse, observed: ConsumerGroupHeartbeatResponse
) -> None:
    """Compare the answers to a heartbeat; of an error only its code counts."""
    if not m.error("errorCode", expected.error_code, observed.error_code):
        return
    m.member_id("memberId", expected.member_id or "", observed.member_id or "")
    _epoch(m, "memberEpoch", expected.member_epoch, observed.member_epoch)
    _interval(m, expected.heartbeat_interval_ms, observed.heartbeat_interval_ms)
    last = m.last.assignment if isinstance(m.last, ConsumerGroupHeartbeatResponse) else None
    wants, gets = _assigned(expected.assignment), _assigned(observed.assignment)
    m.news("assignment", wants, gets, _assigned(last))


def compare_tasks(
    m: Matcher, expected: StreamsGroupHeartbeatResponse, observed: StreamsGroupHeartbeatResponse
) -> None:
    """Compare the answers to a heartbeat of a streams group; of an error only its code counts.

    Statuses, and what is for interactive queries, are no part of the group protocol.
    """
    if not m.error("errorCode", expected.error_code, observed.error_code):
        return
    m.member_id("memberId", expected.member_id, observed.member_id)
    _epoch(m, "memberEpoch", expected.member_epoch, observed.member_epoch)
    _interval(m, expected.heartbeat_interval_ms, observed.heartbeat_interval_ms)
    last = m.last.active_tasks if isinstance(m.last, StreamsGroupHeartbeatResponse) else None
    m.news(
        "activeTasks", _tasks(expected.active_tasks), _tasks(observed.active_tasks), _tasks(last)
    )
    for name, want, got in (
        ("standbyTasks", expected.standby_tasks, observed.standby_tasks),
        ("warmupTasks", expected.warmup_tasks, observed.warmup_tasks),
    ):
        m.nearly(name, _tasks(want), _tasks(got), Level.SHOULD)


def compare_descriptions(
    m: Matcher, expected: ConsumerGroupDescribeResponse, observed: ConsumerGroupDescribeResponse
) -> None:
    """Compare descriptions of groups."""
    for row, theirs in _pairs(m, expected.groups, observed.groups):
        _compare_group(m, row, theirs)


def compare_streams_descriptions(
    m: Matcher, expected: StreamsGroupDescribeResponse, observed: StreamsGroupDescribeResponse
) -> None:
    """Compare descriptions of streams groups, without endpoints and offsets of tasks."""
    for row, theirs in _pairs(m, expected.groups, observed.groups):
        _compare_streams_group(m, row, theirs)


def _pairs(
    m: Matcher, expected: Sequence[_Described], observed: Sequence[_Described]
) -> Iterator[tuple[_Described, _Described]]:
    """Yield each expected description with the observed one of the same group."""
    theirs = {row.group_id: row for row in observed}
    m.same("groups", *(sorted(row.group_id for row in rows) for rows in (expected, observed)))
    for row in expected:
        yield row, theirs[row.group_id]


def epochs_in(answer: object) -> Iterable[int]:
    """Return the epochs in an answer that a target counts."""
    match answer:
        case (
            ConsumerGroupHeartbeatResponse(error_code=0, member_epoch=epoch)
            | StreamsGroupHeartbeatResponse(error_code=0, member_epoch=epoch)
        ):
            return (epoch,)
        case (
            ConsumerGroupDescribeResponse(groups=groups)
            | StreamsGroupDescribeResponse(groups=groups)
        ):
            return tuple(row.group_epoch for row in groups)
    return ()


def taken_from(
    request: object, answer: object, groups: Iterable[object], ids: TopicIds
) -> tuple[tuple[str, str], ...]:
    """Return the partitions in an answer that are another member's, each with whose.

    A consumer gets them by a heartbeat, a classic member of a consumer group by a sync.  Leaves out
    the sender's own, also if the answer names it by another id.  `groups`: the group after the
    request in each explanation; all must agree.  `ids`: of topics.  A partition is that of its
    topic's id, such as `AAAAAAAAAAAAAAAAAAAAAQ-0`.
    """
    own: set[str | None]
    match request, answer:
        case ConsumerGroupHeartbeatRequest(), ConsumerGroupHeartbeatResponse(assignment=assignment):
            own = {answer.member_id, request.member_id}
            assigned = _assigned(assignment) or []
        case SyncGroupRequest(), SyncGroupResponse(assignment=data):
            own = {request.member_id}
            assigned = [f"{ids.of(t)}-{number}" for t, number in readable_assignment(data)]
        case _:
            return ()
    owners = [
        {
            f"{ids.of(partition.topic)}-{partition.partition}": member.member_id
            for member in group.members
            if member.member_id not in own
            for partition, _ in (*member.assigned, *member.revoking)
        }
        for group in groups
        if isinstance(group, ConsumerGroup)
    ]
    first = owners[0] if owners else {}
    return tuple(
        (p, first[p]) for p in assigned if all(each.get(p) for each in owners) and p in first
    )


def receiver_of(answer: object) -> str:
    """Return the id of the member to which an answer assigns partitions or tasks, or ""."""
    match answer:
        case ConsumerGroupHeartbeatResponse(error_code=0, member_id=member, assignment=assignment):
            return (member or "") if assignment is not None else ""
        case StreamsGroupHeartbeatResponse(error_code=0, member_id=member, active_tasks=tasks):
            return member if tasks is not None else ""
    return ""


def _epoch(m: Matcher, name: str, expected: int, observed: int) -> None:
    """Compare epochs; those of leaves, and of joins, have one value only."""
    if expected > 0 < observed:
        m.generation(expected, observed, name)
    else:
        m.same(name, expected, observed)


def _interval(m: Matcher, expected: int, observed: int) -> None:
    level = Level.SHOULD if expected > 0 >= observed else Level.MAY
    m.nearly("heartbeatIntervalMs", expected, observed, level)


def _compare_group(
    m: Matcher, expected: DescribedConsumerGroup, observed: DescribedConsumerGroup
) -> None:
    if not m.error("groups.errorCode", expected.error_code, observed.error_code):
        return
    _epoch(m, "groups.groupEpoch", expected.group_epoch, observed.group_epoch)
    _epoch(m, "groups.assignmentEpoch", expected.assignment_epoch, observed.assignment_epoch)
    m.nearly("groups.groupState", expected.group_state, observed.group_state, Level.SHOULD)
    m.nearly("groups.assignorName", expected.assignor_name, observed.assignor_name, Level.MAY)
    theirs = {row.member_id: row for row in observed.members}
    ours = {_described_id(m, row, expected, observed): row for row in expected.members}
    m.same("groups.members", sorted(ours), sorted(row.member_id for row in observed.members))
    for member_id, row in ours.items():
        _compare_member(m, row, theirs[member_id])


def _described_id(
    m: Matcher,
    row: DescribedConsumer,
    expected: DescribedConsumerGroup,
    observed: DescribedConsumerGroup,
) -> str:
    """Return a member's id: one that the model made up is that of an unknown one of its instance.

    Nobody was told it, if its join was parked when the group was converted.
    """
    if not row.member_id.startswith(FRESH):
        return row.member_id
    known = {other.member_id for other in expected.members} | {*m.match.bindings.values()}
    alike = (
        other.member_id
        for other in observed.members
        if other.instance_id == row.instance_id and other.member_id not in known
    )
    observed_id = next(alike, "")
    m.member_id("groups.members.memberId", row.member_id, observed_id)
    return observed_id


def _compare_member(m: Matcher, expected: DescribedConsumer, observed: DescribedConsumer) -> None:
    at = "groups.members"
    m.same(f"{at}.instanceId", expected.instance_id, observed.instance_id)
    _epoch(m, f"{at}.memberEpoch", expected.member_epoch, observed.member_epoch)
    for name, want, got in (
        ("assignment", expected.assignment, observed.assignment),
        ("targetAssignment", expected.target_assignment, observed.target_assignment),
    ):
        parts = _partitions(want.topic_partitions), _partitions(got.topic_partitions)
        m.same(f"{at}.{name}", *parts)
        named = [sorted({row.topic_name for row in a.topic_partitions}) for a in (want, got)]
        has_names = all(named[1])  # without them a client can look its ids up
        level = Level.SHOULD if has_names else Level.MAY
        m.nearly(f"{at}.{name}.topicName", named[0], named[1], level)
    topics = sorted(expected.subscribed_topic_names), sorted(observed.subscribed_topic_names)
    m.nearly(f"{at}.subscribedTopicNames", *topics, Level.SHOULD)
    regexes = expected.subscribed_topic_regex or "", observed.subscribed_topic_regex or ""
    m.nearly(f"{at}.subscribedTopicRegex", *regexes, Level.SHOULD)
    m.nearly(f"{at}.rackId", expected.rack_id or "", observed.rack_id or "", Level.SHOULD)
    m.nearly(f"{at}.clientId", expected.client_id, observed.client_id, Level.SHOULD)
    m.nearly(f"{at}.memberType", expected.member_type, observed.member_type, Level.SHOULD)


def _compare_streams_group(
    m: Matcher, expected: DescribedStreamsGroup, observed: DescribedStreamsGroup
) -> None:
    if not m.error("groups.errorCode", expected.error_code, observed.error_code):
        return
    _epoch(m, "groups.groupEpoch", expected.group_epoch, observed.group_epoch)
    _epoch(m, "groups.assignmentEpoch", expected.assignment_epoch, observed.assignment_epoch)
    m.nearly("groups.groupState", expected.group_state, observed.group_state, Level.SHOULD)
    topologies = _topology(expected.topology), _topology(observed.topology)
    m.nearly("groups.topology", *topologies, Level.SHOULD)
    theirs = {row.member_id: row for row in observed.members}
    both = expected.members, observed.members
    m.same("groups.members", *(sorted(row.member_id for row in rows) for rows in both))
    for row in expected.members:
        got, at = theirs[row.member_id], "groups.members"
        m.same(f"{at}.instanceId", row.instance_id, got.instance_id)
        _epoch(m, f"{at}.memberEpoch", row.member_epoch, got.member_epoch)
        for name, want, tasks in (
            ("assignment", row.assignment, got.assignment),
            ("targetAssignment", row.target_assignment, got.target_assignment),
        ):
            m.same(f"{at}.{name}", _tasks(want.active_tasks), _tasks(tasks.active_tasks))
            standbys = _standbys(want), _standbys(tasks)
            m.nearly(f"{at}.{name} of standbys", *standbys, Level.SHOULD)
        m.nearly(f"{at}.rackId", row.rack_id or "", got.rack_id or "", Level.SHOULD)
        m.nearly(f"{at}.processId", row.process_id, got.process_id, Level.SHOULD)
        m.nearly(f"{at}.clientId", row.client_id, got.client_id, Level.SHOULD)
        m.nearly(f"{at}.topologyEpoch", row.topology_epoch, got.topology_epoch, Level.SHOULD)
        tags = _tags(row), _tags(got)
        m.nearly(f"{at}.clientTags", *tags, Level.SHOULD)


def _standbys(tasks: DescribedTasks) -> list[str] | None:
    return _tasks((*tasks.standby_tasks, *tasks.warmup_tasks))


def _tags(member: DescribedStreamsMember) -> list[tuple[str, str]]:
    return sorted((tag.key, tag.value) for tag in member.client_tags)


def _topology(topology: DescribedTopology | None) -> tuple[int, list[tuple[str, list[str]]]] | None:
    """Return the epoch of a topology, and each part with its source topics."""
    if topology is None or topology.subtopologies is None:
        return None
    parts = sorted((p.subtopology_id, sorted(p.source_topics)) for p in topology.subtopologies)
    return topology.epoch, parts


def _assigned(assignment: ConsumerAssignment | None) -> list[str] | None:
    return None if assignment is None else _partitions(assignment.topic_partitions)


def _partitions(rows: Iterable[TopicPartitions | DescribedTopic]) -> list[str]:
    return sorted(f"{row.topic_id}-{number}" for row in rows for number in row.partitions)


def _tasks(rows: Iterable[TaskIds] | None) -> list[str] | None:
    if rows is None:
        return None
    return sorted(f"{row.subtopology_id}-{number}" for row in rows for number in row.partitions)
