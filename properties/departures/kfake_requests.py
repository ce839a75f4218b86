"""Change descriptions, lists and checks of requests of the consumer protocol as kfake has them.

For `known_departures`; see `kfake_consumer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec.structs import replace

from fencepost.model.consumer.cells import (
    DANGLING,
    EMPTY,
    MEMBER,
    OTHER,
    UNMAPPED,
    when,
)
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.group import GroupState
from fencepost.model.consumer.rules import offsets
from fencepost.model.consumer.vocabulary import (
    BEAT_TABLE,
    JOIN_TABLE,
    LEAVE_TABLE,
    Caller,
    Kind,
    Leave,
    MemberEpoch,
    Since,
)
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeResponse,
    DescribedConsumer,
    DescribedConsumerGroup,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    FetchedGroup,
    FetchedPartition,
    ListGroupsResponse,
    OffsetFetchResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Twist
from fencepost.model.table.expr import Column, all_of, any_of, negate
from fencepost.model.table.table import OwnStep, Rule
from fencepost.properties.departures.kfake_consumer import IS_NAMED, STRANGER
from fencepost.properties.departures.mutation_operators import (
    Change,
    after,
    beforehand,
    chained,
    first,
    last,
    otherwise,
    with_column,
)

# Descriptions.


def described_by_the_live(message: Message) -> Message:
    """Describe the state of a group by its live members alone."""
    if not isinstance(message, ConsumerGroupDescribeResponse):
        return message
    rows = tuple(
        row if row.error_code else replace(row, group_state=_state(row).value)
        for row in message.groups
    )
    return replace(message, groups=rows)


def _state(row: DescribedConsumerGroup) -> GroupState:
    live = [member for member in row.members if member.member_epoch >= 0]
    if not live:
        return GroupState.EMPTY
    settled = all(_has_all(m) and m.member_epoch == row.assignment_epoch for m in live)
    return GroupState.STABLE if settled else GroupState.RECONCILING


def _has_all(member: DescribedConsumer) -> bool:
    has, gets = (
        {(topic.topic_id, number) for topic in a.topic_partitions for number in topic.partitions}
        for a in (member.assignment, member.target_assignment)
    )
    return gets <= has


KEPT_ALONE: Mapping[str, Change] = {
    "ConsumerGroupDescribe": otherwise("CG-DESCRIBE-GROUP", effect=(Do.ANSWER_DESCRIPTION_KEPT,))
}
"""Partitions that a member must give up are not shown."""


def untyped(message: Message) -> Message:
    """List a group of this protocol without the type of its protocol."""
    if not isinstance(message, ListGroupsResponse):
        return message
    return replace(message, groups=tuple(replace(g, protocol_type="") for g in message.groups))


def _count_the_live(work: ConsumerWork) -> None:
    """Let the group's state be that of its live members."""
    live = tuple(m for m in work.group.members if not m.is_released)
    work.group = replace(work.group, members=live, epoch=work.group.target_epoch)


LISTED_BY_THE_LIVE: Mapping[Enum, Twist] = {Do.ANSWER_LISTED: beforehand(_count_the_live)}
DESCRIBED_AS_CLASSIC: Mapping[str, Change] = {
    "DescribeGroups": last(
        Rule(
            "CG-DESCRIBE-CLASSIC-OF-CONSUMERS",
            when(kind=(Kind.EMPTY, Kind.CONSUMER)),
            (
                OwnStep("COUNT_THE_LIVE", "released members don't count", _count_the_live),
                Do.ANSWER_STATE,
            ),
            Error.NONE,
        )
    )
}
"""DescribeGroups shows the state of a group of this protocol, without its members."""

# Checks of requests.

IDS_UNCHECKED: Mapping[str, Change] = {
    JOIN_TABLE: chained(
        otherwise("CG-JOIN-ID-MISSING"),
        otherwise("CG-JOIN-ID-BLANK"),
        otherwise("CG-JOIN-GROUP-ID-INVALID", answer=Error.INVALID_GROUP_ID),
    ),
    BEAT_TABLE: otherwise("CG-BEAT-GROUP-ID-INVALID", answer=Error.INVALID_GROUP_ID),
    LEAVE_TABLE: chained(
        otherwise("CG-LEAVE-GROUP-ID-INVALID", answer=Error.INVALID_GROUP_ID),
        otherwise(
            "CG-LEAVE-EPOCH-INVALID",
            guard=when(leave=Leave.BELOW, mid=MEMBER),
            answer=Error.FENCED_MEMBER_EPOCH,
        ),
        with_column(IS_NAMED),
        after(
            "CG-LEAVE-GROUP-ABSENT",
            Rule(
                "CG-LEAVE-BELOW-FENCED",
                all_of(
                    when(leave=Leave.BELOW, inst=(OTHER, DANGLING)),
                    STRANGER,
                    IS_NAMED.among(False),
                ),
                answer=Error.FENCED_INSTANCE_ID,
            ),
        ),
    ),
}
"""The ids of a heartbeat are not validated, and an epoch below -2 is one that is not current."""

_OF_NOBODY = (MemberEpoch.NEGATIVE, MemberEpoch.BELOW)
_POSITIVE = MemberEpoch.POSITIVE
_OLD_COMMIT = when(version=offsets.VERSION.below(9))
_WITHOUT_MEMBERS = (Kind.SIMPLE, Kind.EMPTY)


def _is_led(group: Any, _: str, __: str | None) -> bool:
    return group is not None and any(not member.is_released for member in group.members)


_LED = Column("live", (False, True), "whether the group has a live member", _is_led)
_LED_GROUP = all_of(when(kind=Kind.CONSUMER), _LED.among(True))
_UNLED = all_of(when(kind=Kind.CONSUMER), _LED.among(False))
_WITHOUT_LIVE = any_of(when(kind=_WITHOUT_MEMBERS), _UNLED)
_AT_RELEASE = when(caller=Caller.RELEASED, member_epoch=MemberEpoch.EQUAL)
_BEFORE_RELEASE = when(caller=Caller.RELEASED, member_epoch=MemberEpoch.BEFORE)
_UNLED_COMMIT = all_of(_UNLED, any_of(when(member_epoch=_OF_NOBODY), _AT_RELEASE, _BEFORE_RELEASE))
"""A commit with a generation below 0; -1 of a released member is listed by its kind."""


_PASSES = any_of(
    when(kind=(Kind.ABSENT, *_WITHOUT_MEMBERS), member_epoch=_OF_NOBODY),
    when(mid=MEMBER, member_epoch=(MemberEpoch.EQUAL, MemberEpoch.BEFORE)),
)
_TOO_OLD = all_of(_OLD_COMMIT, when(mid=MEMBER))
_OF_NO_MEMBER = when(kind=(Kind.ABSENT, Kind.SIMPLE), inst=UNMAPPED)
"""A commit to a group of no protocol that names an instance."""

COMMITS: Mapping[str, Change] = {
    "OffsetCommit": chained(
        with_column(_LED),
        otherwise(
            "CG-COMMIT-TOPICS-UNKNOWN",
            guard=all_of(
                when(topics=True),
                any_of(all_of(_PASSES, negate(_TOO_OLD)), _UNLED_COMMIT),
                negate(_OF_NO_MEMBER),
            ),
        ),
        first(Rule("CG-COMMIT-UNMAPPED", _OF_NO_MEMBER, answer=Error.UNKNOWN_MEMBER_ID)),
        otherwise("CG-COMMIT-GROUP-NOT-FOUND", answer=Error.ILLEGAL_GENERATION),
        otherwise("CG-COMMIT-MEMBER", effect=(Do.ANSWER_PARTITIONS,)),
        otherwise(
            "CG-COMMIT-EMPTY-GROUP",
            guard=any_of(when(kind=_WITHOUT_MEMBERS, member_epoch=_OF_NOBODY), _UNLED_COMMIT),
        ),
        after(
            "CG-COMMIT-EMPTY-GROUP",
            Rule(
                "CG-COMMIT-SIMPLE",
                when(kind=Kind.SIMPLE, member_epoch=_POSITIVE),
                answer=Error.ILLEGAL_GENERATION,
            ),
            Rule("CG-COMMIT-VERSION", _OLD_COMMIT, answer=Error.UNSUPPORTED_VERSION),
            Rule(
                "CG-COMMIT-RELEASED-AT-ITS-EPOCH",
                all_of(_AT_RELEASE, _LED.among(True)),
                (Do.ANSWER_PARTITIONS,),
                Error.NONE,
            ),
        ),
    ),
    "OffsetCommit partition": chained(
        otherwise("CG-COMMIT-PARTITION-HELD", guard=when(since=(Since.BEFORE, Since.NEVER))),
        otherwise("CG-COMMIT-PARTITION-STALE", guard=when(since=Since.AFTER), effect=()),
    ),
}
TRANSACTIONS: Mapping[str, Change] = {
    "TxnOffsetCommit": chained(
        otherwise("CG-TXN-COMMIT-GROUP-ID-INVALID"),
        otherwise("CG-TXN-COMMIT-TOPICS-UNKNOWN", guard=all_of(when(topics=True), _PASSES)),
        otherwise(
            "CG-TXN-COMMIT-EMPTY-GROUP",
            guard=when(kind=_WITHOUT_MEMBERS, mid=EMPTY, member_epoch=MemberEpoch.NEGATIVE),
        ),
        with_column(IS_NAMED),
        otherwise(
            "CG-TXN-COMMIT-ANONYMOUS", guard=when(mid=EMPTY, member_epoch=MemberEpoch.NEGATIVE)
        ),
        after(
            "CG-TXN-COMMIT-ANONYMOUS",
            Rule(
                "CG-TXN-COMMIT-UNMAPPED",
                when(inst=UNMAPPED),
                answer=Error.UNKNOWN_MEMBER_ID,
            ),
            Rule(
                "CG-TXN-COMMIT-FENCED",
                all_of(when(inst=(OTHER, DANGLING)), IS_NAMED.among(False)),
                answer=Error.FENCED_INSTANCE_ID,
            ),
            Rule(
                "CG-TXN-COMMIT-OF-NOBODY",
                when(mid=EMPTY),
                answer=Error.ILLEGAL_GENERATION,
            ),
        ),
        otherwise("CG-TXN-COMMIT-EPOCH-OLDER", effect=(), answer=Error.ILLEGAL_GENERATION),
    )
}
FETCHES: Mapping[str, Change] = {
    "OffsetFetch": otherwise("CG-FETCH-GROUP-ABSENT", effect=(), answer=Error.GROUP_ID_NOT_FOUND)
}


def unknown_topics_unstored(message: Message) -> Message:
    """Fetch nothing, without an error, for a topic id that no topic has."""
    if not isinstance(message, OffsetFetchResponse):
        return message
    return replace(message, groups=tuple(map(_without_unknown, message.groups)))


def _without_unknown(group: FetchedGroup) -> FetchedGroup:
    def known(partition: FetchedPartition) -> FetchedPartition:
        is_unknown = partition.error_code == Error.UNKNOWN_TOPIC_ID.value
        return replace(partition, error_code=0) if is_unknown else partition

    topics = (replace(t, partitions=tuple(map(known, t.partitions))) for t in group.topics)
    return replace(group, topics=tuple(topics))


NAMELESS: Mapping[str, Change] = {
    api: otherwise(f"{prefix}-GROUP-ID-INVALID", answer=Error.GROUP_ID_NOT_FOUND)
    for api, prefix in (("LeaveGroup", "CG-REMOVE"), ("OffsetDelete", "CG-OFFSET-DELETE"))
}
"""All groups of that name are one, whoever made it."""
REMOVALS: Mapping[str, Change] = {
    "LeaveGroup": chained(
        otherwise("CG-REMOVE-GROUP-ABSENT-LEGACY", answer=Error.GROUP_ID_NOT_FOUND),
        otherwise("CG-REMOVE-GROUP-ABSENT", effect=(), answer=Error.GROUP_ID_NOT_FOUND),
    )
}
DELETIONS: Mapping[str, Change] = {
    "DeleteGroups": chained(
        with_column(_LED),
        otherwise("CG-DELETE-EMPTY", guard=_WITHOUT_LIVE),
        otherwise("CG-DELETE-MEMBERS", guard=_LED_GROUP),
    )
}


def _is_moving(group: Any, _: str, __: str | None) -> bool:
    return group is not None and any(
        not (member.is_released or group.is_reconciled(member)) for member in group.members
    )


_MOVING = Column("moving", (False, True), "whether partitions of a live member move", _is_moving)

OFFSET_DELETIONS: Mapping[str, Change] = {
    "OffsetDelete": chained(
        with_column(_LED),
        with_column(_MOVING),
        otherwise("CG-OFFSET-DELETE-TOPIC-UNKNOWN"),
        otherwise("CG-OFFSET-DELETE-EMPTY", guard=_WITHOUT_LIVE),
        otherwise(
            "CG-OFFSET-DELETE-SUBSCRIBED",
            guard=all_of(_LED_GROUP, _MOVING.among(True)),
            answer=Error.GROUP_ID_NOT_FOUND,
        ),
        otherwise(
            "CG-OFFSET-DELETE-UNSUBSCRIBED",
            guard=all_of(_LED_GROUP, _MOVING.among(False)),
            effect=(),
            answer=Error.NON_EMPTY_GROUP,
        ),
    )
}
"""Only a group without live members has offsets to delete; one that moves partitions is absent."""
