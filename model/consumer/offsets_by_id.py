"""Handle commits and fetches that name topics by ids, as if they named them by their names.

From version 10 of OffsetCommit and OffsetFetch on, topics have ids.  An id that no topic has is
refused by itself: in a commit before any look at the group, in a fetch after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from fencepost.model.consumer import features
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.consumer.topics import TopicIds
from fencepost.model.machine import Machine
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    BY_ID_SINCE,
    CommittedPartition,
    CommittedTopic,
    CommitTopic,
    FetchedPartition,
    FetchedTopic,
    FetchTopic,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from fencepost.model.messages.shapes import NO_UUID, Message
from fencepost.model.table.shared_features import Availability
from fencepost.model.work import Incoming, Outcome, Span, unchanged

_Named = OffsetCommitRequest | OffsetFetchRequest
_Topic = CommitTopic | FetchTopic
_Handler = Callable[[Machine, Any, Incoming, Any, Span, Availability, str], tuple[Outcome, ...]]
M = TypeVar("M", bound=Message | None)
_UNKNOWN = Error.UNKNOWN_TOPIC_ID.value


def by_names(handler: _Handler, part: Callable[[Machine], Machine] = lambda same: same) -> _Handler:
    """Make a handler of every version from one of the versions that have names.

    `part`: returns the machine that has the tables of this protocol.
    """

    def handle(
        machine: Machine,
        group: Any,
        request: Incoming,
        message: _Named,
        span: Span,
        here: Availability,
        group_id: str,
    ) -> tuple[Outcome, ...]:
        if request.version < BY_ID_SINCE:
            return handler(machine, group, request, message, span, here, group_id)
        ids = TopicIds(machine.topics)
        names = {
            key: name
            for key, name in ids.names(_topics_of(group)).items()
            if name not in request.deleted and not machine.missing(name)
        }
        sent = _topics_in(message, group_id)
        named = tuple(
            replace(topic, name=names[topic.topic_id], topic_id=NO_UUID)
            for topic in sent
            if topic.topic_id in names
        )
        unknown = tuple(topic for topic in sent if topic.topic_id not in names)
        if unknown and not named and isinstance(message, OffsetCommitRequest):
            point = features.commit_point(None, message, request.version, here, unknown=True)
            rule = part(machine).decide(message.API, point)
            answer = _with_ids(OffsetCommitResponse(), ids, unknown)
            return (unchanged(group, request, answer, rule.id),)
        inner = _with_topics(message, group_id, named)
        request = replace(request, version=BY_ID_SINCE - 1, message=inner)
        outcomes = handler(machine, group, request, inner, span, here, group_id)
        return tuple(
            replace(
                outcome,
                emissions=tuple(
                    replace(e, message=_with_ids(e.message, ids, unknown))
                    for e in outcome.emissions
                ),
            )
            for outcome in outcomes
        )

    return handle


def _topics_of(group: Any) -> set[str]:
    """Return the topics that a group names; a classic one keeps none but of offsets."""
    if group is None:
        return set()
    members = group.members if isinstance(group, ConsumerGroup) else ()
    return {offset.topic for offset in group.offsets} | {
        topic for member in members for topic in member.topics
    }


def _topics_in(message: _Named, group_id: str) -> Sequence[_Topic]:
    """Return the topics of a commit, or of the row of a group in a fetch."""
    if isinstance(message, OffsetCommitRequest):
        return message.topics
    return next((row.topics or () for row in message.groups if row.group_id == group_id), ())


def _with_topics(message: _Named, group_id: str, topics: tuple[Any, ...]) -> _Named:
    """Return the request with these topics; a fetch of all topics stays one."""
    if isinstance(message, OffsetCommitRequest):
        return replace(message, topics=topics)
    rows = tuple(
        row if row.topics is None else replace(row, topics=topics)
        for row in message.groups
        if row.group_id == group_id
    )
    return replace(message, groups=rows)


def _with_ids(answer: M, ids: TopicIds, unknown: Sequence[Any]) -> M:
    """Return the answer with ids of topics, and a row for each partition of an unknown id."""
    match answer:
        case OffsetCommitResponse():
            refused = (
                CommittedTopic(
                    topic_id=topic.topic_id,
                    partitions=tuple(
                        CommittedPartition(
                            partition_index=part.partition_index, error_code=_UNKNOWN
                        )
                        for part in topic.partitions
                    ),
                )
                for topic in unknown
            )
            return replace(answer, topics=(*_by_ids(answer.topics, ids), *refused))
        case OffsetFetchResponse():
            missing = tuple(
                FetchedTopic(
                    topic_id=topic.topic_id,
                    partitions=tuple(
                        FetchedPartition(
                            partition_index=number, committed_offset=-1, error_code=_UNKNOWN
                        )
                        for number in topic.partition_indexes
                    ),
                )
                for topic in unknown
            )
            rows = tuple(
                replace(
                    row,
                    topics=(
                        *_by_ids(row.topics, ids),
                        *(missing if row.error_code == Error.NONE.value else ()),
                    ),
                )
                for row in answer.groups
            )
            return replace(answer, groups=rows)
        case _:
            return answer


def _by_ids(topics: Sequence[Any], ids: TopicIds) -> tuple[Any, ...]:
    return tuple(replace(topic, name="", topic_id=ids.of(topic.name)) for topic in topics)
