"""JoinGroup: the most important table.

Checks in the order in which a coordinator makes them, then rows by member id (`mid`), instance id
(`inst`) and state.  A static member never gets MEMBER_ID_REQUIRED and is never pending.  A join
with an empty member id and a mapped instance replaces the member that held it, in every state.
"""

from __future__ import annotations

from fencepost.model.classic.cells import (
    ABSENT,
    CHANGED,
    COMPLETING,
    EMPTY,
    FOLLOWER,
    LEADER,
    MEMBER,
    NONE,
    OTHER,
    OWN,
    PENDING,
    PREPARING,
    STABLE,
    UNCHANGED,
    UNKNOWN,
    UNMAPPED,
    when,
)
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import common_checks
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import (
    MID,
    OFFER,
    ROLE,
    SELECTION,
    SESSION,
    STATE,
    SUBSCRIPTION,
    Offer,
    Range,
)
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import entry_checks
from fencepost.model.table.shared_features import (
    COORDINATOR,
    GROUP_ID,
    INST,
    RECORD,
    ROOM,
    Record,
    Room,
    version_feature,
)
from fencepost.model.table.table import Echo, Level, Rule, Table

VERSION = version_feature(9)

REJOIN = (Do.UPDATE_MEMBER, Do.REBALANCE, Do.PARK_JOIN)

CHECKS = (
    *entry_checks("JOIN"),
    Rule(
        "JOIN-SESSION-TIMEOUT-INVALID",
        when(session=Range.OUTSIDE),
        answer=Error.INVALID_SESSION_TIMEOUT,
        level=Level.SHOULD,
        source=f"{src.KIP_SERVER_CONFIG}; {src.KAFKA_CHECKS}",
        because="the session timeout must be within the broker's bounds",
    ),
    Rule(
        "JOIN-GROUP-ABSENT",
        when(state=ABSENT, mid=UNKNOWN),
        answer=Error.UNKNOWN_MEMBER_ID,
        source=src.KAFKA_CHECKS,
        because="only a join without a member id creates a group",
    ),
    Rule(
        "JOIN-GROUP-FULL-PENDING",
        when(room=Room.FULL, mid=PENDING),
        (Do.REMOVE_PENDING,),
        Error.GROUP_MAX_SIZE_REACHED,
        level=Level.SHOULD,
        source=src.KIP_389,
        because="the group has group.max.size members, so the pending id is dropped",
        echo=Echo.EMPTY,
    ),
    Rule(
        "JOIN-GROUP-FULL",
        when(room=Room.FULL),
        (Do.REMOVE_CALLER,),
        Error.GROUP_MAX_SIZE_REACHED,
        level=Level.SHOULD,
        source=src.KIP_389,
        because="the group has group.max.size members, and the join would add one",
        echo=Echo.EMPTY,
    ),
    common_checks.dead("JOIN"),
    Rule(
        "JOIN-PROTOCOLS-INCONSISTENT",
        when(offer=Offer.UNSUPPORTED),
        (Do.CREATE_GROUP,),
        Error.INCONSISTENT_GROUP_PROTOCOL,
        level=Level.SHOULD,
        source=src.KAFKA_CHECKS,
        because="all members must share the protocol type and at least one protocol",
    ),
    Rule(
        "JOIN-STATIC-EMPTY-STABLE-TOO-LARGE",
        when(mid=EMPTY, inst=OTHER, state=STABLE, selection=UNCHANGED, record=Record.TOO_LARGE),
        (Do.KEEP_HOLDER,),
        Error.UNKNOWN_SERVER_ERROR,
        level=Level.SHOULD,
        source=src.KAFKA_STORING,
        because="a failover would undo a replacement that can't be stored",
        echo=Echo.EMPTY,
    ),
)

ROWS = (
    Rule(
        "JOIN-DYNAMIC-EMPTY",
        when(mid=EMPTY, inst=NONE, version=VERSION.at_least(4)),
        (Do.HAND_OUT_PENDING,),
        Error.MEMBER_ID_REQUIRED,
        source=src.KIP_394,
        because="a dynamic member first gets a pending id, and then joins with it",
        echo=Echo.NEW,
    ),
    Rule(
        "JOIN-DYNAMIC-EMPTY-LEGACY",
        when(mid=EMPTY, inst=NONE, version=VERSION.below(4)),
        (Do.ADD_DYNAMIC, Do.REBALANCE, Do.PARK_JOIN),
        source=src.KIP_JOIN,
        because="up to version 3 a dynamic process becomes a member without a pending id",
    ),
    Rule(
        "JOIN-STATIC-EMPTY-NEW",
        when(mid=EMPTY, inst=UNMAPPED),
        (Do.ADD_STATIC, Do.REBALANCE, Do.PARK_JOIN),
        source=src.KIP_JOIN,
        because="an unmapped instance becomes a new static member at once, without a pending id",
    ),
    Rule(
        "JOIN-STATIC-EMPTY-PREPARING",
        when(mid=EMPTY, inst=OTHER, state=PREPARING),
        (Do.REPLACE_HOLDER, Do.PARK_JOIN),
        source=src.KIP_JOIN,
        because="a new process of a mapped instance replaces the holder, which is fenced",
    ),
    Rule(
        "JOIN-STATIC-EMPTY-COMPLETING",
        when(mid=EMPTY, inst=OTHER, state=COMPLETING),
        (Do.REPLACE_HOLDER, Do.REBALANCE, Do.PARK_JOIN),
        source=f"{src.KIP_JOIN}; {src.KAFKA_9801}",
        because="the holder is replaced, and the leader would assign to its old id",
    ),
    Rule(
        "JOIN-STATIC-EMPTY-STABLE",
        when(mid=EMPTY, inst=OTHER, state=STABLE, selection=UNCHANGED),
        (Do.REPLACE_HOLDER, Do.PERSIST, Do.ANSWER_RESTARTED),
        source=f"{src.KIP_JOIN}; {src.KIP_NON_GOAL}; {src.KIP_814}",
        because=(
            "a static member that restarts in a stable group keeps its place without a rebalance"
        ),
    ),
    Rule(
        "JOIN-STATIC-EMPTY-STABLE-SELECTION",
        when(mid=EMPTY, inst=OTHER, state=STABLE, selection=CHANGED),
        (Do.REPLACE_HOLDER, Do.REBALANCE, Do.PARK_JOIN),
        level=Level.SHOULD,
        source=src.KAFKA_JOIN,
        because="the restart changes the selected protocol, so the leader must assign again",
    ),
    Rule(
        "JOIN-PENDING",
        when(mid=PENDING, inst=NONE),
        (Do.ADMIT_PENDING, Do.REBALANCE, Do.PARK_JOIN),
        source=src.KIP_394,
        because="a process that joins with its pending id becomes a member",
    ),
    Rule(
        "JOIN-PENDING-INSTANCE",
        when(mid=PENDING, inst=(UNMAPPED, OTHER)),
        answer=Error.UNKNOWN_SERVER_ERROR,
        level=Level.MAY,
        source=src.KAFKA_JOIN,
        because="a pending id is for a dynamic member, and can't join with an instance",
        echo=Echo.EMPTY,
    ),
    Rule(
        "JOIN-INSTANCE-UNMAPPED",
        when(mid=(MEMBER, UNKNOWN), inst=UNMAPPED),
        answer=Error.UNKNOWN_MEMBER_ID,
        source=f"{src.KIP_JOIN}; {src.KAFKA_VALIDATE}",
        because="a member id must be the one of its instance, and the instance is unmapped",
    ),
    Rule(
        "JOIN-INSTANCE-FENCED",
        when(mid=(MEMBER, UNKNOWN), inst=OTHER),
        answer=Error.FENCED_INSTANCE_ID,
        source=src.KIP_JOIN,
        because="the instance is mapped to another member id, so the caller is a zombie",
    ),
    Rule(
        "JOIN-UNKNOWN-MEMBER",
        when(mid=UNKNOWN, inst=NONE),
        answer=Error.UNKNOWN_MEMBER_ID,
        source=src.KAFKA_VALIDATE,
        because="no member of the group has this id",
    ),
    Rule(
        "JOIN-MEMBER-PREPARING",
        when(mid=MEMBER, inst=(NONE, OWN), state=PREPARING),
        REJOIN,
        source=src.KIP_BACKGROUND,
        because="a member that rejoins in the join phase waits for the others",
    ),
    Rule(
        "JOIN-MEMBER-COMPLETING-SAME",
        when(mid=MEMBER, inst=(NONE, OWN), state=COMPLETING, subscription=UNCHANGED),
        (Do.ANSWER_CURRENT,),
        source=src.KAFKA_JOIN,
        because="a member that rejoins unchanged in the sync phase gets the same generation",
    ),
    Rule(
        "JOIN-MEMBER-COMPLETING-CHANGED",
        when(mid=MEMBER, inst=(NONE, OWN), state=COMPLETING, subscription=CHANGED),
        REJOIN,
        level=Level.SHOULD,
        source=src.KAFKA_JOIN,
        because="a changed subscription needs a new assignment",
    ),
    Rule(
        "JOIN-LEADER-STABLE",
        when(mid=MEMBER, inst=(NONE, OWN), role=LEADER, state=STABLE),
        REJOIN,
        source=src.KIP_BACKGROUND,
        because="a leader that rejoins may have seen new topics, so the group must rebalance",
    ),
    Rule(
        "JOIN-FOLLOWER-STABLE-CHANGED",
        when(mid=MEMBER, inst=(NONE, OWN), role=FOLLOWER, state=STABLE, subscription=CHANGED),
        REJOIN,
        level=Level.SHOULD,
        source=src.KAFKA_JOIN,
        because="a changed subscription needs a new assignment",
    ),
    Rule(
        "JOIN-FOLLOWER-STABLE-SAME",
        when(mid=MEMBER, inst=(NONE, OWN), role=FOLLOWER, state=STABLE, subscription=UNCHANGED),
        (Do.ANSWER_CURRENT,),
        source=src.KIP_BACKGROUND,
        because="a follower that rejoins unchanged causes no rebalance",
    ),
)

TABLE = Table(
    "JoinGroup",
    (
        VERSION,
        GROUP_ID,
        COORDINATOR,
        SESSION,
        STATE,
        MID,
        INST,
        ROLE,
        OFFER,
        SUBSCRIPTION,
        SELECTION,
        ROOM,
        RECORD,
    ),
    CHECKS,
    ROWS,
)
