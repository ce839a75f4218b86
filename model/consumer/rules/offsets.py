"""OffsetCommit, TxnOffsetCommit, OffsetFetch, OffsetDelete: who writes, reads, deletes offsets.

Commits and fetches go by member epoch.  Neither looks at the instance: a wrong one commits.  Nor
does either restart a timer.
"""

from __future__ import annotations

from fencepost.model.consumer.cells import (
    DANGLING,
    EMPTY,
    MEMBER,
    NONE,
    OTHER,
    OWN,
    UNKNOWN,
    UNMAPPED,
    when,
)
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.vocabulary import (
    CALLER,
    INST,
    KIND,
    MEMBER_EPOCH,
    MID,
    SINCE,
    SUBSCRIBED,
    TOPIC_IDS,
    Caller,
    Kind,
    MemberEpoch,
    Since,
)
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import coordinator_checks, entry_checks
from fencepost.model.table.expr import all_of, negate
from fencepost.model.table.shared_features import (
    COORDINATOR,
    GROUP_ID,
    TOPICS,
    version_feature,
)
from fencepost.model.table.table import Level, Rule, Table

VERSION = version_feature(10)

_NEGATIVE, _POSITIVE = (MemberEpoch.NEGATIVE, MemberEpoch.BELOW), MemberEpoch.POSITIVE
_PRESENT = (Caller.DYNAMIC, Caller.STATIC)


def _entry(prefix: str, checks: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Make the first checks of a commit; `checks`: of the group id and the coordinator."""
    return (
        Rule(
            f"{prefix}-TOPICS-UNKNOWN",
            when(topics=True),
            answer=Error.UNKNOWN_TOPIC_OR_PARTITION,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="a partition that doesn't exist is refused before the group is checked",
        ),
        *checks,
    )


def _memberless(prefix: str) -> tuple[Rule, ...]:
    """Make the checks of commits to groups without members."""
    return (
        Rule(
            f"{prefix}-GROUP-ABSENT",
            when(kind=Kind.ABSENT, member_epoch=_NEGATIVE),
            (Do.CREATE_GROUP_AT_ZERO, Do.STORE_OFFSETS),
            Error.NONE,
            level=Level.MAY,
            source=src.KAFKA_COMMIT,
            because="a commit without an epoch creates a group with offsets and no members",
        ),
        Rule(
            f"{prefix}-EMPTY-GROUP",
            when(kind=(Kind.SIMPLE, Kind.EMPTY), member_epoch=_NEGATIVE),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="the group has no members, so an administrator may set offsets",
        ),
    )


def _unknown(prefix: str) -> Rule:
    return Rule(
        f"{prefix}-UNKNOWN-MEMBER",
        when(mid=(EMPTY, UNKNOWN)),
        answer=Error.UNKNOWN_MEMBER_ID,
        source=src.KIP_OFFSETS,
        because="only a member commits while there is one, and a replaced id is none",
    )


def _rows(prefix: str, stale: Error) -> tuple[Rule, ...]:
    """Make the rows of a member's commit."""
    return (
        Rule(
            f"{prefix}-MEMBER",
            when(member_epoch=MemberEpoch.EQUAL, caller=_PRESENT, inst=(NONE, OWN)),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KIP_OFFSETS,
            because="the commit has the member's epoch",
        ),
        Rule(
            f"{prefix}-INSTANCE-IGNORED",
            when(member_epoch=MemberEpoch.EQUAL, caller=_PRESENT, inst=(UNMAPPED, OTHER, DANGLING)),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.MAY,
            source=src.KAFKA_COMMIT,
            because="the commit has the member's epoch, and nobody looks at its instance",
        ),
        Rule(
            f"{prefix}-RELEASED",
            when(member_epoch=MemberEpoch.EQUAL, caller=Caller.RELEASED),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.MAY,
            source=src.KAFKA_COMMIT,
            because="-2 is the epoch of a released member, so a commit with it passes",
        ),
        Rule(
            f"{prefix}-EPOCH-NEWER",
            when(member_epoch=MemberEpoch.AFTER),
            answer=stale,
            level=Level.SHOULD,
            source=src.KIP_OFFSETS,
            because="no member has an epoch that it was not given",
        ),
        Rule(
            f"{prefix}-EPOCH-OLDER",
            when(member_epoch=MemberEpoch.BEFORE),
            (Do.ANSWER_PARTITIONS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KIP_1251,
            because="the commit passes if each partition was the member's at its epoch already",
        ),
    )


COMMIT = Table(
    "OffsetCommit",
    (VERSION, TOPIC_IDS, TOPICS, COORDINATOR, KIND, MID, INST, CALLER, MEMBER_EPOCH),
    (
        Rule(
            "CG-COMMIT-TOPIC-IDS-UNKNOWN",
            when(topic_ids=True),
            answer=Error.UNKNOWN_TOPIC_ID,
            level=Level.SHOULD,
            source=src.KAFKA_TOPIC_IDS,
            because="an id that no topic has is refused before the group is checked",
        ),
        *_entry("CG-COMMIT", coordinator_checks("CG-COMMIT")),
        Rule(
            "CG-COMMIT-GROUP-NOT-FOUND",
            when(kind=Kind.ABSENT, member_epoch=_POSITIVE, version=VERSION.at_least(9)),
            answer=Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="from version 9 on a group that doesn't exist has its own error",
        ),
        Rule(
            "CG-COMMIT-GROUP-ABSENT-GENERATION",
            when(kind=Kind.ABSENT, member_epoch=_POSITIVE, version=VERSION.below(9)),
            answer=Error.ILLEGAL_GENERATION,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="a group that doesn't exist has no generation",
        ),
        *_memberless("CG-COMMIT"),
        _unknown("CG-COMMIT"),
        Rule(
            "CG-COMMIT-VERSION",
            when(version=VERSION.below(9)),
            answer=Error.UNSUPPORTED_VERSION,
            level=Level.SHOULD,
            source=src.KIP_OFFSETS,
            because="below version 9 there is no member epoch",
        ),
    ),
    _rows("CG-COMMIT", Error.STALE_MEMBER_EPOCH),
)

TXN_COMMIT = Table(
    "TxnOffsetCommit",
    (TOPICS, GROUP_ID, COORDINATOR, KIND, MID, INST, CALLER, MEMBER_EPOCH),
    (
        *_entry("CG-TXN-COMMIT", entry_checks("CG-TXN-COMMIT")),
        Rule(
            "CG-TXN-COMMIT-GROUP-ABSENT-GENERATION",
            when(kind=Kind.ABSENT, member_epoch=_POSITIVE),
            answer=Error.ILLEGAL_GENERATION,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="a group that doesn't exist has no generation",
        ),
        *_memberless("CG-TXN-COMMIT"),
        Rule(
            "CG-TXN-COMMIT-ANONYMOUS",
            when(mid=EMPTY, inst=NONE, member_epoch=MemberEpoch.NEGATIVE),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KIP_447,
            because="a commit in a transaction needs no member, and this one names none",
        ),
        _unknown("CG-TXN-COMMIT"),
    ),
    _rows("CG-TXN-COMMIT", Error.ILLEGAL_GENERATION),
)


def _partitions(name: str, prefix: str, stale: Error) -> Table:
    """Make the table of one partition of a commit with an older epoch."""
    return Table(
        f"{name} partition",
        (SINCE,),
        (),
        (
            Rule(
                f"{prefix}-HELD",
                when(since=Since.BEFORE),
                (Do.STORE_OFFSETS,),
                Error.NONE,
                level=Level.SHOULD,
                source=src.KIP_1251,
                because="the partition was the member's already at the epoch of the commit",
            ),
            Rule(
                f"{prefix}-STALE",
                when(since=(Since.AFTER, Since.NEVER)),
                (Do.REFUSE_ALL,),
                stale,
                level=Level.SHOULD,
                source=src.KIP_1251,
                because=(
                    "the partition is another's, or was at the epoch of the commit: all of it is "
                    "refused"
                ),
            ),
        ),
    )


COMMIT_PARTITION = _partitions("OffsetCommit", "CG-COMMIT-PARTITION", Error.STALE_MEMBER_EPOCH)
TXN_COMMIT_PARTITION = _partitions(
    "TxnOffsetCommit", "CG-TXN-COMMIT-PARTITION", Error.ILLEGAL_GENERATION
)

FETCH = Table(
    "OffsetFetch",
    (COORDINATOR, KIND, MID, MEMBER_EPOCH),
    coordinator_checks("CG-FETCH"),
    (
        Rule(
            "CG-FETCH-GROUP-ABSENT",
            when(kind=Kind.ABSENT),
            (Do.ANSWER_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="a group that doesn't exist has no offsets",
        ),
        Rule(
            "CG-FETCH-SIMPLE",
            when(kind=Kind.SIMPLE),
            (Do.ANSWER_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_SIMPLE,
            because="a group of offsets alone asks nobody for an id or an epoch",
        ),
        Rule(
            "CG-FETCH-ANYBODY",
            when(kind=(Kind.EMPTY, Kind.CONSUMER), mid=EMPTY, member_epoch=_NEGATIVE),
            (Do.ANSWER_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KIP_OFFSETS,
            because="who names no member may read",
        ),
        Rule(
            "CG-FETCH-UNKNOWN-MEMBER",
            all_of(
                when(kind=(Kind.EMPTY, Kind.CONSUMER), mid=(EMPTY, UNKNOWN)),
                negate(when(mid=EMPTY, member_epoch=_NEGATIVE)),
            ),
            answer=Error.UNKNOWN_MEMBER_ID,
            level=Level.SHOULD,
            source=src.KIP_OFFSETS,
            because="no member has this id",
        ),
        Rule(
            "CG-FETCH-MEMBER",
            when(mid=MEMBER, member_epoch=MemberEpoch.EQUAL),
            (Do.ANSWER_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KIP_OFFSETS,
            because="the fetch has the member's epoch; -2 is that of a released one",
        ),
        Rule(
            "CG-FETCH-STALE",
            when(mid=MEMBER, member_epoch=(MemberEpoch.BEFORE, MemberEpoch.AFTER)),
            answer=Error.STALE_MEMBER_EPOCH,
            level=Level.SHOULD,
            source=src.KIP_OFFSETS,
            because="the fetch has another epoch than the member",
        ),
    ),
)

DELETE_OFFSETS = Table(
    "OffsetDelete",
    (GROUP_ID, COORDINATOR, KIND, TOPICS, SUBSCRIBED),
    (
        *entry_checks("CG-OFFSET-DELETE"),
        Rule(
            "CG-OFFSET-DELETE-ABSENT",
            when(kind=Kind.ABSENT),
            answer=Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="only a group that exists has offsets to delete",
        ),
        Rule(
            "CG-OFFSET-DELETE-TOPIC-UNKNOWN",
            when(topics=True),
            answer=Error.UNKNOWN_TOPIC_OR_PARTITION,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="only topics that exist have offsets to delete",
        ),
    ),
    (
        Rule(
            "CG-OFFSET-DELETE-EMPTY",
            when(kind=(Kind.SIMPLE, Kind.EMPTY)),
            (Do.REMOVE_NAMED_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="the group has no members, so none subscribes to the topic",
        ),
        Rule(
            "CG-OFFSET-DELETE-SUBSCRIBED",
            when(kind=Kind.CONSUMER, subscribed=True),
            answer=Error.GROUP_SUBSCRIBED_TO_TOPIC,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="a member, live or released, subscribes to the topic",
        ),
        Rule(
            "CG-OFFSET-DELETE-UNSUBSCRIBED",
            when(kind=Kind.CONSUMER, subscribed=False),
            (Do.REMOVE_NAMED_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="no member subscribes to the topic",
        ),
    ),
)
