"""Make the bodies of immediate answers, and estimate the sizes of records.

The effects that release parked requests make the answers to those.

A record holds the texts and bytes of requests, which are counted here, and additions of the
coordinator: numbers, lengths, hosts, and longer names of groups and topics on a shared cluster.
The model assumes at most 1,024 bytes of additions, and 128 for each member or offset: Kafka 4.3.0
adds 150 bytes for a group of one member, and 175 to one offset.  Where the additions decide whether
a record fits, both results are allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from fencepost.model.classic.classic_work import ClassicWork
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import Group
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitRequest,
    CommitResponse,
    CommittedPartition,
    CommittedTopic,
    CommitTopic,
    DeletableTopic,
    DeletedGroup,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsResponse,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    FetchTopic,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeftMember,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnCommitPartition,
    TxnCommitTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.table.table import Echo, Rule
from fencepost.model.work import Incoming

_MOST_OVERHEAD = 1_024
_MOST_OVERHEAD_OF_ROW = 128


def group_fits(group: Group, group_id: str | None, limit: int | None) -> tuple[bool, ...]:
    """Return True if a group of this id can be stored, False if not; both if that is open."""
    if limit is None:
        return (True,)
    name = group.protocol_name
    size = sum(map(_bytes, (group_id, group.protocol_type, name, group.leader)))
    for m in group.members:
        size += len(m.metadata(name)) + len(m.assignment)
        size += sum(map(_bytes, (m.member_id, m.group_instance_id, m.client_id)))
    return _fits(size, len(group.members), limit)


def assign(group: Group, sync: SyncGroupRequest) -> Group:
    """Give the members their assignments in a sync; members without one get an empty one."""
    by_id = {a.member_id: a.assignment for a in sync.assignments}
    members = tuple(replace(m, assignment=by_id.get(m.member_id, b"")) for m in group.members)
    return replace(group, members=members)


def commit_fits(commit: CommitRequest, limit: int | None) -> tuple[bool, ...]:
    """Return True if these offsets fit into one batch, False if not; both if that is open."""
    rows = [(t.name, p) for t in commit.topics for p in t.partitions]
    if limit is None or not rows:
        return (True,)
    texts = sum(_bytes(name) + _bytes(p.committed_metadata) for name, p in rows)
    return _fits(texts + len(rows) * _bytes(commit.group_id), len(rows), limit)


def is_long(row: CommitPartition | TxnCommitPartition, most: int | None) -> bool:
    """Return True if an offset's metadata are longer than `most`; Java counts UTF-16 units."""
    text = row.committed_metadata
    return text is not None and most is not None and len(text.encode("utf-16-le")) > 2 * most


def _bytes(text: str | None) -> int:
    return 0 if text is None else len(text.encode())


def _fits(size: int, rows: int, limit: int) -> tuple[bool, ...]:
    """Return True if `size` bytes for `rows` members or offsets fit, False if not; or both."""
    if size + _MOST_OVERHEAD + _MOST_OVERHEAD_OF_ROW * rows <= limit:
        return (True,)
    return (False,) if size > limit else (True, False)


def _code(rule: Rule) -> int | str:
    assert rule.answer is not None
    code: int | str = rule.answer.value
    return code


def join_error(message: JoinGroupRequest, rule: Rule, work: ClassicWork) -> JoinGroupResponse:
    """Make an error answer to a join: generation -1, no leader, the rule's member id.

    A caller that can't replace the holder of its instance gets the group's current fields.
    """
    echo = {Echo.SENT: message.member_id, Echo.NEW: work.caller, Echo.EMPTY: ""}[rule.echo]
    refused = JoinGroupResponse(error_code=_code(rule), member_id=echo)
    if Do.KEEP_HOLDER not in rule.effect:
        return refused
    group = work.group
    return replace(
        refused,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or "",
    )


def error_alone(request: Incoming, rule: Rule) -> Message:
    """Make an answer to a sync or a heartbeat that holds only an error code, or NONE."""
    if isinstance(request.message, SyncGroupRequest):
        return SyncGroupResponse(error_code=_code(rule))
    return HeartbeatResponse(error_code=_code(rule))


def leave_error(message: LeaveGroupRequest, rule: Rule) -> LeaveGroupResponse:
    """Make the answer to a leave whose rows are not handled."""
    if Do.ANSWER_ROWS_UNKNOWN in rule.effect:
        unknown = Error.UNKNOWN_MEMBER_ID.value
        rows = tuple(_leave_row(r.member_id, r.group_instance_id, unknown) for r in message.members)
        return LeaveGroupResponse(error_code=_code(rule), members=rows)
    return LeaveGroupResponse(error_code=_code(rule))


def leave_answer(request: Incoming, errors: tuple[int | str, ...]) -> LeaveGroupResponse:
    """Make the answer to a leave with an error for each row; up to version 2 one, at top level."""
    message = request.message
    assert isinstance(message, LeaveGroupRequest)
    if request.version < 3:
        return LeaveGroupResponse(error_code=errors[0])
    rows = tuple(
        _leave_row(r.member_id, r.group_instance_id, e)
        for r, e in zip(message.members, errors, strict=True)
    )
    return LeaveGroupResponse(error_code=Error.NONE.value, members=rows)


def _leave_row(member_id: str, group_instance_id: str | None, error: int | str) -> LeftMember:
    return LeftMember(member_id=member_id, group_instance_id=group_instance_id, error_code=error)


Partition = tuple[str, int]
_ROW_ERRORS = frozenset(
    {Error.NONE, Error.OFFSET_METADATA_TOO_LARGE, Error.INVALID_COMMIT_OFFSET_SIZE}
)
"""Errors of single offsets of a commit; other errors are of the whole commit."""


def split_topics(
    message: CommitRequest, missing: Callable[[str, int], bool], most: int | None
) -> tuple[CommitRequest, frozenset[tuple[str, int]]]:
    """Return the commit without partitions that don't exist, and these.

    `missing`: returns True for the topic and the number of one.  A topic of which none is left is
    removed; offsets whose metadata are longer than `most` are, too.
    """
    absent = frozenset(
        (t.name, p.partition_index)
        for t in message.topics
        for p in t.partitions
        if missing(t.name, p.partition_index)
    )
    kept = []
    for t in message.topics:
        known = tuple(p for p in t.partitions if (t.name, p.partition_index) not in absent)
        if known or not (t.partitions or missing(t.name, 0)):
            short = known if most is None else tuple(p for p in known if not is_long(p, most))
            kept.append(replace(t, partitions=short))
    return replace(message, topics=tuple(kept)), absent


def _rows(
    topics: Iterable[CommitTopic | TxnCommitTopic | DeletableTopic],
    code: Callable[[str, Any], int | str],
) -> tuple[CommittedTopic, ...]:
    """Return a row for each partition; `code`: its error, by topic and partition."""
    return tuple(
        CommittedTopic(
            name=t.name,
            partitions=tuple(
                CommittedPartition(partition_index=p.partition_index, error_code=code(t.name, p))
                for p in t.partitions
            ),
        )
        for t in topics
    )


def commit_answer(
    message: CommitRequest, rule: Rule, missing: frozenset[tuple[str, int]], most: int | None
) -> CommitResponse:
    """Make the answer to a commit: the rule's error for each partition that exists.

    `most`: the greatest length of metadata; longer ones have their own error.
    """
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION.value
    by_row = rule.answer in _ROW_ERRORS

    def code(topic: str, row: CommitPartition | TxnCommitPartition) -> int | str:
        if (topic, row.partition_index) in missing:
            return unknown
        long = by_row and is_long(row, most)
        return Error.OFFSET_METADATA_TOO_LARGE.value if long else _code(rule)

    topics = _rows(message.topics, code)
    if isinstance(message, TxnOffsetCommitRequest):
        return TxnOffsetCommitResponse(topics=topics)
    return OffsetCommitResponse(topics=topics)


def fetch_answer(
    group: Group | None, message: OffsetFetchRequest, version: int, group_id: str, rule: Rule
) -> OffsetFetchResponse:
    """Make the answer of stored offsets: -1 for one not stored; all, where topics are null."""
    request_topics = message.topics
    if version >= 8:
        request_topics = next(g.topics for g in message.groups if g.group_id == group_id)
    by_topic: dict[str, list[FetchedPartition]] = {}
    offsets = {} if group is None else {(o.topic, o.partition): o for o in group.offsets}
    if rule.answer is Error.NONE:
        for topic in request_topics if request_topics is not None else _all_topics(group):
            for index in topic.partition_indexes:
                row = FetchedPartition(partition_index=index, committed_offset=-1)
                if (topic.name, index) in offsets:
                    stored = offsets[topic.name, index]
                    row = replace(
                        row, committed_offset=stored.offset, metadata=stored.metadata or ""
                    )
                by_topic.setdefault(topic.name, []).append(row)
    topics = tuple(FetchedTopic(name=n, partitions=tuple(ps)) for n, ps in by_topic.items())
    if version >= 8:
        answer = FetchedGroup(group_id=group_id, topics=topics, error_code=_code(rule))
        return OffsetFetchResponse(groups=(answer,))
    code = _code(rule) if version >= 2 else 0
    return OffsetFetchResponse(topics=topics, error_code=code)


def _all_topics(group: Group | None) -> tuple[FetchTopic, ...]:
    offsets = () if group is None else group.offsets
    names = sorted({o.topic for o in offsets})
    return tuple(
        FetchTopic(
            name=name, partition_indexes=tuple(o.partition for o in offsets if o.topic == name)
        )
        for name in names
    )


def describe_answer(group: Group | None, group_id: str, rule: Rule) -> DescribeGroupsResponse:
    """Make a group's description, with protocol, metadata and assignment only if it is Stable."""
    if group is None or Do.ANSWER_DESCRIPTION not in rule.effect:
        state = "Dead" if rule.answer in {Error.NONE, Error.GROUP_ID_NOT_FOUND} else ""
        row = DescribedGroup(error_code=_code(rule), group_id=group_id, group_state=state)
        return DescribeGroupsResponse(groups=(row,))
    stable = group.state is GroupState.STABLE
    rows = tuple(
        DescribedMember(
            member_id=m.member_id,
            group_instance_id=m.group_instance_id,
            client_id=m.client_id,
            member_metadata=m.metadata(group.protocol_name) if stable else b"",
            member_assignment=m.assignment if stable else b"",
        )
        for m in group.members
    )
    row = DescribedGroup(
        error_code=_code(rule),
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if stable else "",
        members=rows,
    )
    return DescribeGroupsResponse(groups=(row,))


def list_answer(
    group: Group | None, message: ListGroupsRequest, group_id: str, rule: Rule
) -> ListGroupsResponse:
    """Make the row of a group in the list; no row if it doesn't exist or no filter matches it."""
    rows: tuple[ListedGroup, ...] = ()
    if group is not None and Do.ANSWER_LISTED in rule.effect:
        row = ListedGroup(
            group_id=group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type="classic",
        )
        rows = (row,) if message.asks_for(row.group_state, row.group_type) else ()
    return ListGroupsResponse(error_code=_code(rule), groups=rows)


def delete_answer(group_id: str, rule: Rule) -> DeleteGroupsResponse:
    """Make the row of a group that is deleted, or not."""
    row = DeletedGroup(group_id=group_id, error_code=_code(rule))
    return DeleteGroupsResponse(results=(row,))


_DELETION_ROWS = frozenset(
    {Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.GROUP_SUBSCRIBED_TO_TOPIC}
)
"""Errors of single partitions of a deletion; other errors are of the whole."""


def deletion_answer(
    message: OffsetDeleteRequest, rules: Mapping[str, Rule]
) -> OffsetDeleteResponse:
    """Make the answer to an OffsetDelete; `rules`: the rule of each topic."""
    for rule in rules.values():
        if rule.answer not in _DELETION_ROWS:
            return OffsetDeleteResponse(error_code=_code(rule))
    topics = _rows(message.topics, lambda topic, _: _code(rules[topic]))
    return OffsetDeleteResponse(error_code=Error.NONE.value, topics=topics)


def answer_not_coordinator(work: ClassicWork) -> None:
    """Answer all parked requests NOT_COORDINATOR."""
    error = Error.NOT_COORDINATOR.value
    for member in work.group.members:
        if member.joining is not None:
            answer = JoinGroupResponse(error_code=error, member_id=member.member_id)
            work.emit(member.joining.request_id, answer)
        if member.syncing is not None:
            work.emit(member.syncing.request_id, SyncGroupResponse(error_code=error))
