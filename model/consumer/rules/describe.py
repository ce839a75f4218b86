"""Describe, list and delete groups: ConsumerGroupDescribe and the APIs of classic groups."""

from __future__ import annotations

from fencepost.model.consumer.cells import when
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.vocabulary import KIND, Kind
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import coordinator_checks, entry_checks
from fencepost.model.table.shared_features import (
    COORDINATOR,
    GROUP_ID,
    Availability,
    version_feature,
)
from fencepost.model.table.table import Level, Rule, Table

DESCRIBE = Table(
    "ConsumerGroupDescribe",
    (GROUP_ID, COORDINATOR, KIND),
    entry_checks("CG-DESCRIBE"),
    (
        Rule(
            "CG-DESCRIBE-ABSENT",
            when(kind=(Kind.ABSENT, Kind.SIMPLE)),
            answer=Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source=src.KAFKA_ADMIN,
            because="a group that doesn't exist, or is none of this protocol, can't be described",
        ),
        Rule(
            "CG-DESCRIBE-GROUP",
            when(kind=(Kind.EMPTY, Kind.CONSUMER)),
            (Do.ANSWER_DESCRIPTION,),
            Error.NONE,
            level=Level.SHOULD,
            source="KIP-848 (describing groups); KAFKA-20431, since 4.3; seen on 4.3.0 to 4.4.0",
            because="a group is described as it is, and what a member has not given up is its own",
        ),
    ),
)

_OF_CONSUMERS = (Kind.ABSENT, Kind.EMPTY, Kind.CONSUMER)
_CLASSIC_VERSION = version_feature(6)
CLASSIC_DESCRIBE = Table(
    "DescribeGroups",
    (_CLASSIC_VERSION, COORDINATOR, KIND),
    coordinator_checks("CG-DESCRIBE-CLASSIC"),
    (
        Rule(
            "CG-DESCRIBE-CLASSIC-LEGACY",
            when(version=_CLASSIC_VERSION.below(6), kind=_OF_CONSUMERS),
            (Do.ANSWER_DEAD,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KIP_1043,
            because="for this API the group doesn't exist, which up to version 5 is no error",
        ),
        Rule(
            "CG-DESCRIBE-CLASSIC",
            when(version=_CLASSIC_VERSION.at_least(6), kind=_OF_CONSUMERS),
            (Do.ANSWER_DEAD,),
            Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source=src.KIP_1043,
            because="for this API the group doesn't exist, since it is none of that protocol",
        ),
        Rule(
            "CG-DESCRIBE-CLASSIC-SIMPLE",
            when(kind=Kind.SIMPLE),
            (Do.ANSWER_STATE,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_SIMPLE,
            because="a group of offsets alone is of no protocol, and this API has it",
        ),
    ),
)

LIST = Table(
    "ListGroups",
    (COORDINATOR, KIND),
    (
        Rule(
            "CG-LIST-COORDINATOR-LOADING",
            when(coordinator=Availability.LOADING),
            answer=Error.COORDINATOR_LOAD_IN_PROGRESS,
            level=Level.SHOULD,
            source=src.KAFKA_CHECKS,
            because="the coordinator has not loaded its groups yet",
        ),
    ),
    (
        Rule(
            "CG-LIST-GROUP",
            when(kind=(Kind.EMPTY, Kind.CONSUMER)),
            (Do.ANSWER_LISTED,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_LISTING,
            because="a coordinator lists each of its groups, with its type and state",
        ),
        Rule(
            "CG-LIST-SIMPLE",
            when(kind=Kind.SIMPLE),
            (Do.ANSWER_LISTED_CLASSIC,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_SIMPLE,
            because="a group of offsets alone is an Empty classic group of no protocol",
        ),
        Rule(
            "CG-LIST-NO-GROUP",
            when(kind=Kind.ABSENT),
            (Do.ANSWER_UNLISTED,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_LISTING,
            because="a coordinator lists only groups that exist",
        ),
    ),
)

DELETE = Table(
    "DeleteGroups",
    (GROUP_ID, COORDINATOR, KIND),
    entry_checks("CG-DELETE", empty_group_id=True),
    (
        Rule(
            "CG-DELETE-ABSENT",
            when(kind=Kind.ABSENT),
            answer=Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source=src.KAFKA_DELETING,
            because="only a group that exists can be deleted",
        ),
        Rule(
            "CG-DELETE-EMPTY",
            when(kind=(Kind.SIMPLE, Kind.EMPTY)),
            (Do.FORGET,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_DELETING,
            because="a group without members is deleted with its offsets",
        ),
        Rule(
            "CG-DELETE-MEMBERS",
            when(kind=Kind.CONSUMER),
            answer=Error.NON_EMPTY_GROUP,
            level=Level.SHOULD,
            source=src.KAFKA_DELETING,
            because="a released member is a member, too, so its group isn't empty",
        ),
    ),
)
