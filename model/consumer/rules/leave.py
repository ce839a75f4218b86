"""ConsumerGroupHeartbeat with an epoch below 0, and LeaveGroup, with which others remove members.

-1 leaves for good.  -2 leaves for a while: the member is released, and whoever brings its instance
within its session gets its place.  The epoch that the caller had doesn't matter.
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
from fencepost.model.consumer.rules import common_checks
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.vocabulary import (
    ASSIGNOR,
    BLANK,
    CALLER,
    INST,
    KIND,
    LEAVE,
    LEAVE_TABLE,
    MID,
    REMOVAL_TABLE,
    Caller,
    Kind,
    Leave,
)
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import entry_checks
from fencepost.model.table.shared_features import (
    COORDINATOR,
    GROUP_ID,
    version_feature,
)
from fencepost.model.table.table import Level, Rule, Table

VERSION = version_feature(1)

GONE = (Do.REMOVE_MEMBER, Do.BUMP_EPOCH)
SETTLED = "; a group that is left empty has nothing to assign"
"""The words for `Do.SETTLE_EMPTY` in the reason of a rule."""

CHECKS = (
    Rule(
        "CG-LEAVE-ID-MISSING",
        when(mid=EMPTY, version=VERSION.at_least(1)),
        answer=Error.INVALID_REQUEST,
        level=Level.SHOULD,
        source=src.KIP_IDS,
        because="from version 1 on the client makes its member id",
    ),
    Rule(
        "CG-LEAVE-ID-MISSING-LEGACY",
        when(mid=EMPTY, version=VERSION.below(1), leave=(Leave.FOR_GOOD, Leave.BELOW)),
        answer=Error.INVALID_REQUEST,
        level=Level.SHOULD,
        source=src.KAFKA_VALIDATE,
        because="a leave for good must have a member id",
    ),
    *common_checks.ids("CG-LEAVE"),
    Rule(
        "CG-LEAVE-EPOCH-INVALID",
        when(leave=Leave.BELOW),
        answer=Error.INVALID_REQUEST,
        level=Level.SHOULD,
        source=src.KAFKA_VALIDATE,
        because="no epoch below -2 has a meaning",
    ),
    Rule(
        "CG-LEAVE-RELEASE-BARE",
        when(leave=Leave.RELEASE, inst=NONE),
        answer=Error.INVALID_REQUEST,
        source=f"KAFKA-16147; {src.KIP_LEAVE}",
        because="-2 must name the instance, and without it nobody is released",
    ),
    *common_checks.before_group("CG-LEAVE"),
    common_checks.absent("CG-LEAVE"),
    *common_checks.sender("CG-LEAVE"),
)

ROWS = (
    Rule(
        "CG-LEAVE-RELEASE",
        when(leave=Leave.RELEASE, inst=OWN, caller=(Caller.STATIC, Caller.DYNAMIC)),
        (Do.RELEASE, Do.ANSWER_EPOCH),
        source=src.KIP_LEAVE,
        because="the member goes for a while, and keeps its place until its session ends",
    ),
    Rule(
        "CG-LEAVE-RELEASE-AGAIN",
        when(leave=Leave.RELEASE, inst=OWN, caller=Caller.RELEASED),
        (Do.ANSWER_EPOCH,),
        level=Level.SHOULD,
        source=src.KIP_LEAVE,
        because="the member is released already; its session isn't prolonged",
    ),
    Rule(
        "CG-LEAVE-FOR-GOOD",
        when(leave=Leave.FOR_GOOD, mid=MEMBER, inst=(NONE, OWN)),
        (*GONE, Do.ANSWER_EPOCH),
        source=src.KIP_LEAVE,
        because="a member that leaves for good is removed, static or not, released or not",
    ),
)

TABLE = Table(
    LEAVE_TABLE,
    (VERSION, GROUP_ID, BLANK, LEAVE, ASSIGNOR, COORDINATOR, KIND, MID, INST, CALLER),
    CHECKS,
    ROWS,
)

REMOVAL_VERSION = version_feature(5)

REMOVAL = Table(
    "LeaveGroup",
    (REMOVAL_VERSION, GROUP_ID, COORDINATOR, KIND),
    (
        *entry_checks("CG-REMOVE"),
        Rule(
            "CG-REMOVE-GROUP-ABSENT-LEGACY",
            when(kind=Kind.ABSENT, version=REMOVAL_VERSION.below(3)),
            answer=Error.UNKNOWN_MEMBER_ID,
            level=Level.SHOULD,
            source=src.KAFKA_CHECKS,
            because="a group that doesn't exist has no members",
        ),
        Rule(
            "CG-REMOVE-GROUP-ABSENT",
            when(kind=Kind.ABSENT, version=REMOVAL_VERSION.at_least(3)),
            (Do.ANSWER_ROWS_UNKNOWN,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_CHECKS,
            because="a group that doesn't exist has no members, so each row fails on its own",
        ),
    ),
    (
        Rule(
            "CG-REMOVE-ROWS",
            when(kind=(Kind.SIMPLE, Kind.EMPTY, Kind.CONSUMER)),
            (Do.ANSWER_ROWS,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_REMOVAL,
            because="each row is judged by the group as it was; the epoch grows once for all",
        ),
    ),
)

MEMBER_REMOVAL = Table(
    REMOVAL_TABLE,
    (KIND, MID, INST),
    (),
    (
        Rule(
            "CG-REMOVE-NOBODY",
            when(mid=EMPTY, inst=NONE),
            answer=Error.UNKNOWN_MEMBER_ID,
            level=Level.SHOULD,
            source=src.KAFKA_REMOVAL,
            because="a row must name a member id or an instance",
        ),
        Rule(
            "CG-REMOVE-BY-INSTANCE",
            when(mid=EMPTY, inst=OTHER),
            (Do.REMOVE_HOLDER, Do.BUMP_EPOCH),
            Error.NONE,
            source=src.KAFKA_REMOVAL,
            because="without a member id the instance names the member, live or released",
        ),
        Rule(
            "CG-REMOVE-INSTANCE-UNMAPPED",
            when(inst=UNMAPPED),
            answer=Error.UNKNOWN_MEMBER_ID,
            level=Level.SHOULD,
            source=src.KAFKA_REMOVAL,
            because="the instance is unmapped, so no member has it",
        ),
        Rule(
            "CG-REMOVE-INSTANCE-DANGLING",
            when(inst=DANGLING),
            answer=Error.UNKNOWN_MEMBER_ID,
            level=Level.SHOULD,
            source=src.KAFKA_DANGLING,
            because="the instance is mapped to an id that is gone",
        ),
        Rule(
            "CG-REMOVE-INSTANCE-FENCED",
            when(mid=(MEMBER, UNKNOWN), inst=OTHER),
            answer=Error.FENCED_INSTANCE_ID,
            source=src.KAFKA_REMOVAL,
            because="the instance is mapped to another member id than the row names",
        ),
        Rule(
            "CG-REMOVE-UNKNOWN",
            when(mid=UNKNOWN, inst=NONE),
            answer=Error.UNKNOWN_MEMBER_ID,
            level=Level.SHOULD,
            source=src.KAFKA_REMOVAL,
            because="no member has this id",
        ),
        Rule(
            "CG-REMOVE-MEMBER",
            when(mid=MEMBER, inst=(NONE, OWN)),
            GONE,
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_REMOVAL,
            because="the member of this id is removed, static or not",
        ),
    ),
)
