"""OffsetCommit, TxnOffsetCommit, OffsetFetch, OffsetDelete: who writes, reads, deletes offsets."""

from __future__ import annotations

from fencepost.model.classic.cells import (
    ABSENT,
    COMPLETING,
    DEAD,
    EMPTY,
    NONE,
    PREPARING,
    STABLE,
    WITH_MEMBERS,
    when,
)
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import common_checks
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import (
    CONSUMERS,
    GENERATION,
    MID,
    REMAINING,
    STATE,
    SUBSCRIBED,
    Generation,
    GroupState,
)
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import coordinator_checks, entry_checks
from fencepost.model.table.expr import all_of, any_of, negate
from fencepost.model.table.shared_features import (
    COORDINATOR,
    GROUP_ID,
    INST,
    METADATA,
    RECORD,
    TOPICS,
    Record,
    version_feature,
)
from fencepost.model.table.table import Level, Rule, Table

COMMIT_VERSION = version_feature(9)
_NOT_NEGATIVE = (Generation.BEFORE, Generation.EQUAL, Generation.AFTER)

_MEMBERLESS = (ABSENT, GroupState.EMPTY)
_ROWS_ALONE = "only offsets with too long metadata are refused"

COMMIT = Table(
    "OffsetCommit",
    (
        COMMIT_VERSION,
        TOPICS,
        GROUP_ID,
        COORDINATOR,
        STATE,
        MID,
        INST,
        GENERATION,
        RECORD,
        METADATA,
    ),
    (
        Rule(
            "COMMIT-TOPICS-UNKNOWN",
            when(topics=True),
            answer=Error.UNKNOWN_TOPIC_OR_PARTITION,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="a partition that doesn't exist is refused before the group is checked",
        ),
        *entry_checks("COMMIT", empty_group_id=True),
        common_checks.dead("COMMIT"),
        Rule(
            "COMMIT-GROUP-NOT-FOUND",
            when(state=ABSENT, generation=_NOT_NEGATIVE, version=COMMIT_VERSION.at_least(9)),
            answer=Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source="KIP-848 (OffsetCommit version 9); seen on Kafka 4.1.1",
            because="from version 9 on a group that doesn't exist has its own error",
        ),
        Rule(
            "COMMIT-GROUP-ABSENT-GENERATION",
            when(state=ABSENT, generation=_NOT_NEGATIVE, version=COMMIT_VERSION.below(9)),
            answer=Error.ILLEGAL_GENERATION,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="a group that doesn't exist has no generation",
        ),
        Rule(
            "COMMIT-OUTSIDE-TOO-LARGE",
            when(state=_MEMBERLESS, generation=Generation.NEGATIVE, record=Record.TOO_LARGE),
            (Do.CREATE_GROUP,),
            Error.UNKNOWN_SERVER_ERROR,
            level=Level.SHOULD,
            source=src.KAFKA_STORING,
            because="a commit that is too large can't be stored",
        ),
        Rule(
            "COMMIT-OUTSIDE-METADATA",
            when(state=_MEMBERLESS, generation=Generation.NEGATIVE, metadata=True),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_METADATA,
            because=_ROWS_ALONE,
        ),
        Rule(
            "COMMIT-GROUP-ABSENT",
            when(state=ABSENT),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="a commit without a generation creates a group with offsets and no members",
        ),
        Rule(
            "COMMIT-EMPTY-GROUP",
            when(state=GroupState.EMPTY, generation=Generation.NEGATIVE),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="the group has no members, so an administrator may set offsets",
        ),
        Rule(
            "COMMIT-ANONYMOUS",
            when(generation=Generation.NEGATIVE, mid=EMPTY, inst=NONE),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=src.KAFKA_COMMIT,
            because="only members may commit to a group that has members",
        ),
        *common_checks.validate("COMMIT"),
        common_checks.illegal_generation("COMMIT"),
        Rule(
            "COMMIT-TOO-LARGE",
            when(state=(PREPARING, STABLE), record=Record.TOO_LARGE),
            (Do.RESTART_SESSION,),
            Error.UNKNOWN_SERVER_ERROR,
            level=Level.SHOULD,
            source=src.KAFKA_STORING,
            because="a commit that is too large can't be stored, but its member is alive",
        ),
        Rule(
            "COMMIT-METADATA",
            when(state=(PREPARING, STABLE), metadata=True),
            (Do.RESTART_SESSION, Do.STORE_OFFSETS),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_METADATA,
            because=_ROWS_ALONE,
        ),
    ),
    (
        Rule(
            "COMMIT-COMPLETING",
            when(state=COMPLETING),
            answer=Error.REBALANCE_IN_PROGRESS,
            level=Level.SHOULD,
            source=f"{src.KAFKA_COMMIT}; {src.KAFKA_8487}",
            because="the member doesn't know its partitions in this generation yet",
        ),
        Rule(
            "COMMIT-PREPARING",
            when(state=PREPARING),
            (Do.RESTART_SESSION, Do.STORE_OFFSETS),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="a member may save its progress before it gives up partitions",
        ),
        Rule(
            "COMMIT-STABLE",
            when(state=STABLE),
            (Do.RESTART_SESSION, Do.STORE_OFFSETS),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="the sender is a member of the current generation",
        ),
    ),
)

_MEMBERLESS_TXN = when(state=_MEMBERLESS, generation=Generation.NEGATIVE)
ANONYMOUS_TXN = when(generation=Generation.NEGATIVE, mid=EMPTY, inst=NONE)
OUTSIDE_TXN = any_of(_MEMBERLESS_TXN, ANONYMOUS_TXN)

TXN_COMMIT = Table(
    "TxnOffsetCommit",
    (TOPICS, GROUP_ID, COORDINATOR, STATE, MID, INST, GENERATION, RECORD, METADATA),
    (
        Rule(
            "TXN-COMMIT-TOPICS-UNKNOWN",
            when(topics=True),
            answer=Error.UNKNOWN_TOPIC_OR_PARTITION,
            level=Level.SHOULD,
            source=src.KAFKA_TXN_COMMIT,
            because="a partition that doesn't exist is refused before the group is checked",
        ),
        *entry_checks("TXN-COMMIT"),
        common_checks.dead("TXN-COMMIT"),
        Rule(
            "TXN-COMMIT-GROUP-ABSENT",
            when(state=ABSENT, generation=_NOT_NEGATIVE),
            answer=Error.ILLEGAL_GENERATION,
            level=Level.SHOULD,
            source=src.KAFKA_TXN_COMMIT,
            because="a group that doesn't exist has no generation",
        ),
        Rule(
            "TXN-COMMIT-OUTSIDE-TOO-LARGE",
            all_of(OUTSIDE_TXN, when(record=Record.TOO_LARGE)),
            (Do.CREATE_GROUP,),
            Error.UNKNOWN_SERVER_ERROR,
            level=Level.SHOULD,
            source=src.KAFKA_STORING,
            because="a commit that is too large can't be stored",
        ),
        Rule(
            "TXN-COMMIT-OUTSIDE-METADATA",
            all_of(OUTSIDE_TXN, when(metadata=True)),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_METADATA,
            because=_ROWS_ALONE,
        ),
        Rule(
            "TXN-COMMIT-NO-MEMBERS",
            _MEMBERLESS_TXN,
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_TXN_COMMIT,
            because="the group has no members, so a producer outside it may set offsets",
        ),
        Rule(
            "TXN-COMMIT-ANONYMOUS",
            ANONYMOUS_TXN,
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=f"{src.KAFKA_447}; {src.KAFKA_TXN_COMMIT}",
            because="a transaction may name no member, since the producer's epoch fences it",
        ),
        *common_checks.validate("TXN-COMMIT"),
        common_checks.illegal_generation("TXN-COMMIT"),
        Rule(
            "TXN-COMMIT-TOO-LARGE",
            when(record=Record.TOO_LARGE),
            answer=Error.UNKNOWN_SERVER_ERROR,
            level=Level.SHOULD,
            source=src.KAFKA_STORING,
            because="a commit that is too large can't be stored",
        ),
        Rule(
            "TXN-COMMIT-METADATA",
            when(metadata=True),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_METADATA,
            because=_ROWS_ALONE,
        ),
    ),
    (
        Rule(
            "TXN-COMMIT-MEMBER",
            when(state=WITH_MEMBERS),
            (Do.STORE_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_TXN_COMMIT,
            because=(
                "the sender is a member of the current generation, with or without an assignment"
            ),
        ),
    ),
)

FETCH_VERSION = version_feature(9)
FETCH = Table(
    "OffsetFetch",
    (FETCH_VERSION, GROUP_ID, COORDINATOR, STATE),
    coordinator_checks("FETCH"),
    (
        Rule(
            "FETCH-ANYBODY",
            negate(when(state=DEAD)),
            (Do.ANSWER_OFFSETS,),
            Error.NONE,
            source=src.KAFKA_COMMIT,
            because="any client may fetch offsets, a fenced one, too",
        ),
        Rule(
            "FETCH-DEAD",
            when(state=DEAD),
            (Do.ANSWER_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_COMMIT,
            because="a group that is being unloaded has no offsets",
            defensive=src.NEVER_DEAD,
        ),
    ),
)

DELETE_OFFSETS = Table(
    "OffsetDelete",
    (GROUP_ID, COORDINATOR, STATE, CONSUMERS, TOPICS, REMAINING, SUBSCRIBED),
    (
        *entry_checks("OFFSET-DELETE"),
        Rule(
            "OFFSET-DELETE-ABSENT",
            when(state=ABSENT),
            answer=Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="only a group that exists has offsets to delete",
        ),
        Rule(
            "OFFSET-DELETE-DEAD",
            when(state=DEAD),
            answer=Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="the group is being unloaded",
            defensive=src.NEVER_DEAD,
        ),
        Rule(
            "OFFSET-DELETE-TYPE",
            when(state=WITH_MEMBERS, consumers=False),
            answer=Error.NON_EMPTY_GROUP,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="the coordinator can't read the subscriptions of another protocol type",
        ),
        Rule(
            "OFFSET-DELETE-TOPIC-UNKNOWN",
            when(topics=True),
            answer=Error.UNKNOWN_TOPIC_OR_PARTITION,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="only topics that exist have offsets to delete",
        ),
    ),
    (
        Rule(
            "OFFSET-DELETE-EMPTY",
            when(state=GroupState.EMPTY, remaining=True),
            (Do.REMOVE_NAMED_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="the group has no members, so none subscribes to the topic",
        ),
        Rule(
            "OFFSET-DELETE-LAST",
            when(state=GroupState.EMPTY, remaining=False),
            (Do.REMOVE_NAMED_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="the group has no offsets left, and the cleaner removes it later",
        ),
        Rule(
            "OFFSET-DELETE-SUBSCRIBED",
            when(state=WITH_MEMBERS, subscribed=True),
            answer=Error.GROUP_SUBSCRIBED_TO_TOPIC,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="a member of the generation, present or absent, subscribes to the topic",
        ),
        Rule(
            "OFFSET-DELETE-UNSUBSCRIBED",
            when(state=WITH_MEMBERS, subscribed=False),
            (Do.REMOVE_NAMED_OFFSETS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_OFFSET_DELETE,
            because="no member of the generation subscribes to the topic",
        ),
    ),
)
