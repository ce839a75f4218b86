"""Make the answers of the consumer protocol, and of the APIs that act on its groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.group import ConsumerGroup, GroupState, Member, Partitions
from fencepost.model.consumer.topics import TopicIds, by_topic, rows_of
from fencepost.model.messages.consumer_messages import (
    ConsumerAssignment,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedAssignment,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedTopic,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommitRequest,
    CommitResponse,
    CommittedPartition,
    CommittedTopic,
    DeletedGroup,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsResponse,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    FetchTopic,
    LeaveGroupResponse,
    LeftMember,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.table.table import Rule

HeartbeatAnswer = ConsumerGroupHeartbeatResponse

_SEVERAL_SINCE = 8
"""From this version on OffsetFetch may name several groups."""
_CLASSIC, _CONSUMER = 0, 1
"""The types of members in a description, by their protocol."""


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return True if a heartbeat gives all that a join gives, so that it is answered in full."""
    has_subscription = (
        request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    )
    return (
        has_subscription
        and request.rebalance_timeout_ms != -1
        and request.topic_partitions is not None
    )


def heartbeat_error(rule: Rule) -> HeartbeatAnswer:
    """Answer a heartbeat with the error of a rule."""
    assert rule.answer is not None
    return HeartbeatAnswer(error_code=rule.answer.value)


def welcome(
    member: Member, interval_ms: int, assignment: Partitions | None, ids: TopicIds
) -> HeartbeatAnswer:
    """Answer a heartbeat of a member; `assignment` None: nothing new."""
    partitions = (
        None
        if assignment is None
        else ConsumerAssignment(topic_partitions=rows_of(assignment, ids))
    )
    return HeartbeatAnswer(
        error_code=0,
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=partitions,
    )


def farewell(request: ConsumerGroupHeartbeatRequest) -> HeartbeatAnswer:
    """Answer a leave."""
    return HeartbeatAnswer(
        error_code=0, member_id=request.member_id, member_epoch=request.member_epoch
    )


def _assignment(partitions: Iterable[TopicPartition], ids: TopicIds) -> DescribedAssignment:
    return DescribedAssignment(
        topic_partitions=tuple(
            DescribedTopic(topic_id=ids.of(name), topic_name=name, partitions=where)
            for name, where in by_topic(partitions)
        )
    )


def describe_answer(
    group: ConsumerGroup | None, group_id: str, rule: Rule, default_assignor: str, ids: TopicIds
) -> ConsumerGroupDescribeResponse:
    """Describe a group, or answer that it isn't there."""
    assert rule.answer is not None
    if group is None or not rule.effect:
        row = DescribedConsumerGroup(error_code=rule.answer.value, group_id=group_id)
        return ConsumerGroupDescribeResponse(groups=(row,))
    counts_revoking = Do.ANSWER_DESCRIPTION in rule.effect
    members = tuple(
        DescribedConsumer(
            member_id=m.member_id,
            instance_id=m.instance_id,
            rack_id=m.rack_id or None,
            member_epoch=m.epoch,
            client_id=m.client_id,
            subscribed_topic_names=m.topics,
            subscribed_topic_regex=m.regex,
            assignment=_assignment(
                (p for p, _ in (*m.assigned, *(m.revoking if counts_revoking else ()))), ids
            ),
            target_assignment=_assignment(group.target_of(m.member_id), ids),
            member_type=_CONSUMER if m.classic is None else _CLASSIC,
        )
        for m in group.members
    )
    row = DescribedConsumerGroup(
        error_code=rule.answer.value,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=default_assignor,
        members=members,
    )
    return ConsumerGroupDescribeResponse(groups=(row,))


def observed_target(
    answer: Message | None, group_id: str, names: Mapping[str, str]
) -> dict[TopicPartition, set[str]] | None:
    """Return the target that a description shows, as partition → member ids; None without one.

    `names`: the topics that it may mean, by their ids; a coordinator may leave the names out.
    """
    if not isinstance(answer, ConsumerGroupDescribeResponse):
        return None
    observed: dict[TopicPartition, set[str]] = {}
    for row in answer.groups:
        for member in row.members if row.group_id == group_id else ():
            for topic in member.target_assignment.topic_partitions:
                name = names.get(topic.topic_id, topic.topic_name)
                for number in topic.partitions:
                    observed.setdefault(TopicPartition(name, number), set()).add(member.member_id)
    return observed


def classic_describe_answer(
    group: ConsumerGroup | None, group_id: str, rule: Rule
) -> DescribeGroupsResponse:
    """Answer a DescribeGroups: for that API there is no group of this protocol."""
    assert rule.answer is not None
    state = "Dead"
    if group is not None and Do.ANSWER_STATE in rule.effect:
        state = group.state.value
    row = DescribedGroup(error_code=rule.answer.value, group_id=group_id, group_state=state)
    return DescribeGroupsResponse(groups=(row,))


_STATE_FILTERS = {GroupState.NOT_READY: "not_ready"}
"""States that a list is not asked for by their own names; seen on 4.2.0 and 4.4.0."""


def list_answer(
    group: ConsumerGroup | None,
    message: ListGroupsRequest,
    group_id: str,
    rule: Rule,
    kind: str = "consumer",
    state: GroupState | None = None,
) -> ListGroupsResponse:
    """Make the row of a group in the list; no row if it doesn't exist or no filter matches it.

    `kind`: the type of the group.  `state`: None is the group's own.
    """
    assert rule.answer is not None
    code = rule.answer.value
    if group is None or Do.ANSWER_UNLISTED in rule.effect or rule.answer is not Error.NONE:
        return ListGroupsResponse(error_code=code)
    is_classic = Do.ANSWER_LISTED_CLASSIC in rule.effect
    listed_state = state or group.state
    row = ListedGroup(
        group_id=group_id,
        protocol_type="" if is_classic else kind,
        group_state=listed_state.value,
        group_type="classic" if is_classic else kind,
    )
    called = _STATE_FILTERS.get(listed_state, listed_state.value)
    rows = (row,) if message.asks_for(called, row.group_type) else ()
    return ListGroupsResponse(error_code=code, groups=rows)


def delete_answer(group_id: str, rule: Rule) -> DeleteGroupsResponse:
    """Answer a DeleteGroups for one of its groups."""
    assert rule.answer is not None
    row = DeletedGroup(group_id=group_id, error_code=rule.answer.value)
    return DeleteGroupsResponse(results=(row,))


def rows_answer(
    request: CommitRequest | OffsetDeleteRequest, codes: Mapping[tuple[str, int], int | str]
) -> CommitResponse | OffsetDeleteResponse:
    """Answer a commit, or a deletion of offsets; `codes`: the error of each partition."""
    topics = tuple(
        CommittedTopic(
            name=topic.name,
            partitions=tuple(
                CommittedPartition(
                    partition_index=p.partition_index,
                    error_code=codes[topic.name, p.partition_index],
                )
                for p in topic.partitions
            ),
        )
        for topic in request.topics
    )
    if isinstance(request, TxnOffsetCommitRequest):
        return TxnOffsetCommitResponse(topics=topics)
    if isinstance(request, OffsetDeleteRequest):
        return OffsetDeleteResponse(error_code=Error.NONE.value, topics=topics)
    return OffsetCommitResponse(topics=topics)


def deletion_error(rule: Rule) -> OffsetDeleteResponse:
    """Answer an OffsetDelete with the error of a rule, which is of the whole."""
    assert rule.answer is not None
    return OffsetDeleteResponse(error_code=rule.answer.value)


def fetch_answer(
    group: ConsumerGroup | None,
    topics: tuple[FetchTopic, ...] | None,
    group_id: str,
    version: int,
    rule: Rule,
) -> OffsetFetchResponse:
    """Answer a fetch: -1 for an offset that is not stored; `topics` None: all that are."""
    assert rule.answer is not None
    stored = {} if group is None else {(o.topic, o.partition): o for o in group.offsets}
    named = (
        [(topic.name, index) for topic in topics for index in topic.partition_indexes]
        if topics is not None
        else sorted(stored)
    )
    rows: dict[str, list[FetchedPartition]] = {}
    for place in named if rule.answer is Error.NONE else ():
        offset = stored.get(place)
        row = FetchedPartition(
            partition_index=place[1],
            committed_offset=-1 if offset is None else offset.offset,
            metadata="" if offset is None else offset.metadata or "",
        )
        rows.setdefault(place[0], []).append(row)
    fetched = tuple(FetchedTopic(name=name, partitions=tuple(row)) for name, row in rows.items())
    code = rule.answer.value
    if version >= _SEVERAL_SINCE:
        answer = FetchedGroup(group_id=group_id, topics=fetched, error_code=code)
        return OffsetFetchResponse(groups=(answer,))
    return OffsetFetchResponse(topics=fetched, error_code=code if version >= 2 else 0)


def removal_answer(rows: Sequence[LeftMember], version: int) -> LeaveGroupResponse:
    """Answer a LeaveGroup row by row; versions 0 to 2 have one row, and its error alone."""
    if version < 3:
        return LeaveGroupResponse(error_code=rows[0].error_code)
    return LeaveGroupResponse(error_code=0, members=tuple(rows))


def removal_row(member_id: str, instance_id: str | None, error: Error) -> LeftMember:
    """Answer one row of a LeaveGroup."""
    return LeftMember(member_id=member_id, group_instance_id=instance_id, error_code=error.value)


def removal_error(rule: Rule) -> LeaveGroupResponse:
    """Answer a LeaveGroup with the error of a rule."""
    assert rule.answer is not None
    return LeaveGroupResponse(error_code=rule.answer.value)
