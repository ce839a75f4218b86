"""LeaveGroup: the request, and each row of a batch.

`TABLE` decides the answer at top level, `MEMBER_TABLE` the effect and error of each row.

In the drafts one wrong row of a batch rejects the whole batch.
"""

from __future__ import annotations

from fencepost.model.classic.cells import (
    ABSENT,
    COMPLETING,
    EMPTY,
    MEMBER,
    NONE,
    OTHER,
    OWN,
    PENDING,
    PREPARING,
    STABLE,
    UNKNOWN,
    UNMAPPED,
    when,
)
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import common_checks
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import MID, STATE, GroupState
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import entry_checks
from fencepost.model.table.expr import ALWAYS, Feature
from fencepost.model.table.shared_features import COORDINATOR, GROUP_ID, INST, version_feature
from fencepost.model.table.table import Level, Rule, Table

VERSION = version_feature(5)

CHECKS = (
    *entry_checks("LEAVE"),
    Rule(
        "LEAVE-GROUP-ABSENT-LEGACY",
        when(state=ABSENT, version=VERSION.below(3)),
        answer=Error.UNKNOWN_MEMBER_ID,
        level=Level.SHOULD,
        source=src.KAFKA_CHECKS,
        because="a group that doesn't exist has no members",
    ),
    Rule(
        "LEAVE-GROUP-ABSENT",
        when(state=ABSENT, version=VERSION.at_least(3)),
        (Do.ANSWER_ROWS_UNKNOWN,),
        Error.NONE,
        level=Level.SHOULD,
        source=src.KAFKA_CHECKS,
        because="a group that doesn't exist has no members, so each row fails on its own",
    ),
    common_checks.dead("LEAVE"),
)

ROWS = (
    Rule(
        "LEAVE-ROWS",
        when(state=(GroupState.EMPTY, PREPARING, COMPLETING, STABLE)),
        (Do.ANSWER_ROWS,),
        Error.NONE,
        source=src.KIP_LEAVE,
        because="each row is handled on its own, in order",
    ),
)

TABLE = Table("LeaveGroup", (VERSION, GROUP_ID, COORDINATOR, STATE), CHECKS, ROWS)


MEMBER_TABLE = Table(
    "LeaveGroup member",
    (STATE, MID, INST),
    (),
    (
        Rule(
            "LEAVE-MEMBER-NOBODY",
            when(mid=EMPTY, inst=(NONE, UNMAPPED)),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=src.KIP_LEAVE,
            because="a row must name a member id or an instance",
        ),
        Rule(
            "LEAVE-MEMBER-BY-INSTANCE",
            when(mid=EMPTY, inst=OTHER, state=(COMPLETING, STABLE)),
            (Do.REMOVE_HOLDER, Do.REBALANCE),
            Error.NONE,
            source=f"{src.KIP_LEAVE}; {src.KIP_SCALE_DOWN}",
            because="without a member id the instance id names the member",
        ),
        Rule(
            "LEAVE-MEMBER-BY-INSTANCE-PREPARING",
            when(mid=EMPTY, inst=OTHER, state=PREPARING),
            (Do.REMOVE_HOLDER,),
            Error.NONE,
            source=f"{src.KIP_LEAVE}; {src.KIP_SCALE_DOWN}",
            because="without a member id the instance id names the member",
        ),
        Rule(
            "LEAVE-MEMBER-PENDING",
            when(mid=PENDING),
            (Do.REMOVE_PENDING,),
            Error.NONE,
            source=src.KIP_394,
            because="a pending id can leave",
        ),
        Rule(
            "LEAVE-MEMBER-INSTANCE-UNMAPPED",
            when(mid=(MEMBER, UNKNOWN), inst=UNMAPPED),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=src.KIP_LEAVE,
            because="the instance is unmapped, so no member has it",
        ),
        Rule(
            "LEAVE-MEMBER-INSTANCE-FENCED",
            when(mid=(MEMBER, UNKNOWN), inst=OTHER),
            answer=Error.FENCED_INSTANCE_ID,
            source=src.KIP_LEAVE,
            because=(
                "a leave removes only the member with this id, so a zombie can't remove the holder"
            ),
        ),
        Rule(
            "LEAVE-MEMBER-UNKNOWN",
            when(mid=UNKNOWN, inst=NONE),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=src.KAFKA_VALIDATE,
            because="no member has this id",
        ),
        Rule(
            "LEAVE-MEMBER",
            when(mid=MEMBER, inst=(NONE, OWN), state=(COMPLETING, STABLE)),
            (Do.REMOVE_MEMBER, Do.REBALANCE),
            Error.NONE,
            source=f"{src.KIP_LEAVE}; {src.KIP_SWITCH}",
            because="a member that leaves is removed, and the others rebalance",
        ),
        Rule(
            "LEAVE-MEMBER-PREPARING",
            when(mid=MEMBER, inst=(NONE, OWN), state=PREPARING),
            (Do.REMOVE_MEMBER,),
            Error.NONE,
            source=f"{src.KIP_LEAVE}; {src.KIP_SWITCH}",
            because="a member that leaves is removed, and the rebalance no longer waits for it",
        ),
    ),
)


_YES_NO = (False, True)
ALIGNED = Feature("lists aligned", _YES_NO, "whether the two lists have equal length")
NOBODY = Feature("nobody named", _YES_NO, "whether every row is empty")
NOT_FOUND = Feature("instance not found", _YES_NO, "whether some instance is not mapped")
MISMATCH = Feature("mismatch", _YES_NO, "whether some member id is not the instance's")
_UNKNOWN_ID = Feature(
    "unknown id", _YES_NO, "whether some member id without instance is of no member"
)

PASSAGE = "KIP-345's drafts of LeaveGroup, processing rules"

BATCH = Table(
    "LeaveGroup batch",
    (ALIGNED, NOBODY, NOT_FOUND, MISMATCH, _UNKNOWN_ID),
    (
        Rule(
            "LEAVE-BATCH-LISTS-UNEQUAL",
            ALIGNED.among(False),
            answer=Error.MEMBER_ID_MISMATCH,
            source=PASSAGE,
            because="the two lists must have the same length",
        ),
        Rule(
            "LEAVE-BATCH-NOBODY",
            NOBODY.among(True),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=PASSAGE,
            because="a batch must name a member",
        ),
        Rule(
            "LEAVE-BATCH-NOT-FOUND",
            NOT_FOUND.among(True),
            answer=Error.GROUP_INSTANCE_ID_NOT_FOUND,
            source=PASSAGE,
            because="an instance of the batch is not in the group",
        ),
        Rule(
            "LEAVE-BATCH-MISMATCH",
            MISMATCH.among(True),
            answer=Error.MEMBER_ID_MISMATCH,
            source=PASSAGE,
            because="a member id must be the one of its instance",
        ),
        Rule(
            "LEAVE-BATCH-UNKNOWN",
            _UNKNOWN_ID.among(True),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=PASSAGE,
            because="a dynamic member of the batch is not in the group",
        ),
    ),
    (
        Rule(
            "LEAVE-BATCH",
            ALWAYS,
            answer=Error.NONE,
            source=PASSAGE,
            because="every row of the batch is valid, so all its members are removed",
        ),
    ),
)
