"""DescribeGroups, ListGroups and DeleteGroups: a group as administrators see and delete it."""

from __future__ import annotations

from fencepost.model.classic.cells import (
    ABSENT,
    COMPLETING,
    DEAD,
    PREPARING,
    STABLE,
    WITH_MEMBERS,
    when,
)
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import STATE, GroupState
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import coordinator_checks, entry_checks
from fencepost.model.table.expr import negate
from fencepost.model.table.shared_features import (
    COORDINATOR,
    GROUP_ID,
    Availability,
    version_feature,
)
from fencepost.model.table.table import Level, Rule, Table

DESCRIBE_VERSION = version_feature(6)

DESCRIBE = Table(
    "DescribeGroups",
    (DESCRIBE_VERSION, COORDINATOR, STATE),
    coordinator_checks("DESCRIBE"),
    (
        Rule(
            "DESCRIBE-ABSENT-LEGACY",
            when(state=ABSENT, version=DESCRIBE_VERSION.below(6)),
            (Do.ANSWER_DESCRIPTION,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_ADMIN,
            because="up to version 5 a group that doesn't exist is described as Dead",
        ),
        Rule(
            "DESCRIBE-ABSENT",
            when(state=ABSENT, version=DESCRIBE_VERSION.at_least(6)),
            (Do.ANSWER_DESCRIPTION,),
            Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source="KIP-1043 (administration of groups)",
            because="from version 6 on a group that doesn't exist is an error",
        ),
        Rule(
            "DESCRIBE-DEAD",
            when(state=DEAD),
            (Do.ANSWER_DESCRIPTION,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_ADMIN,
            because="the group is being unloaded",
            defensive=src.NEVER_DEAD,
        ),
        Rule(
            "DESCRIBE-STABLE",
            when(state=STABLE),
            (Do.ANSWER_DESCRIPTION,),
            Error.NONE,
            level=Level.SHOULD,
            source=f"{src.KIP_PUBLIC}; {src.KAFKA_ADMIN}",
            because=(
                "a stable group is described with each member's instance, metadata and assignment"
            ),
        ),
        Rule(
            "DESCRIBE-UNSTABLE",
            when(state=(GroupState.EMPTY, PREPARING, COMPLETING)),
            (Do.ANSWER_DESCRIPTION,),
            Error.NONE,
            level=Level.SHOULD,
            source=f"{src.KIP_PUBLIC}; {src.KAFKA_ADMIN}",
            because="a group that isn't stable is described with its members alone",
        ),
    ),
)

LIST_VERSION = version_feature(5)
LIST = Table(
    "ListGroups",
    (LIST_VERSION, COORDINATOR, STATE),
    (
        Rule(
            "LIST-COORDINATOR-LOADING",
            when(coordinator=Availability.LOADING),
            answer=Error.COORDINATOR_LOAD_IN_PROGRESS,
            level=Level.SHOULD,
            source=src.KAFKA_CHECKS,
            because="the coordinator has not loaded its groups yet",
        ),
    ),
    (
        Rule(
            "LIST-GROUP",
            negate(when(state=(ABSENT, DEAD))),
            (Do.ANSWER_LISTED,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_ADMIN,
            because="a coordinator lists each of its groups",
        ),
        Rule(
            "LIST-NO-GROUP",
            when(state=(ABSENT, DEAD)),
            (Do.ANSWER_UNLISTED,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_ADMIN,
            because="a coordinator lists only groups that exist",
        ),
    ),
)

DELETE = Table(
    "DeleteGroups",
    (GROUP_ID, COORDINATOR, STATE),
    entry_checks("DELETE", empty_group_id=True),
    (
        Rule(
            "DELETE-ABSENT",
            when(state=ABSENT),
            answer=Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source=src.KAFKA_DELETING,
            because="only a group that exists can be deleted",
        ),
        Rule(
            "DELETE-DEAD",
            when(state=DEAD),
            answer=Error.GROUP_ID_NOT_FOUND,
            level=Level.SHOULD,
            source=src.KAFKA_DELETING,
            because="the group is being unloaded",
            defensive=src.NEVER_DEAD,
        ),
        Rule(
            "DELETE-EMPTY",
            when(state=GroupState.EMPTY),
            (Do.FORGET,),
            Error.NONE,
            level=Level.SHOULD,
            source=src.KAFKA_DELETING,
            because="an Empty group is deleted with its offsets and pending ids",
        ),
        Rule(
            "DELETE-MEMBERS",
            when(state=WITH_MEMBERS),
            answer=Error.NON_EMPTY_GROUP,
            level=Level.SHOULD,
            source=src.KAFKA_DELETING,
            because=(
                "a group with members can't be deleted, and an absent static member is a member"
            ),
        ),
    ),
)
