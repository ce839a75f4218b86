"""ConsumerGroupHeartbeat with epoch 0: a join.

Checks in the order in which a coordinator makes them, then rows by member id (`mid`), instance
(`inst`) and its holder.  Unlike in the classic protocol, a live holder is never displaced: who
brings its instance is refused, even the holder itself.  Only a released holder is replaced.
"""

from __future__ import annotations

from fencepost.model.consumer.cells import (
    CHANGED,
    CLASSIC,
    DANGLING,
    EMPTY,
    LIVE,
    MEMBER,
    NONE,
    OTHER,
    OWN,
    RELEASED,
    UNCHANGED,
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
    CHANGE,
    FIELDS,
    HOLDER,
    INST,
    JOIN_TABLE,
    KIND,
    MID,
    RECONCILED,
    Caller,
    Fields,
)
from fencepost.model.messages.errors import Error
from fencepost.model.table.expr import any_of
from fencepost.model.table.shared_features import COORDINATOR, GROUP_ID, ROOM, Room, version_feature
from fencepost.model.table.table import Level, Rule, Table

VERSION = version_feature(1)

_IN = (Do.RECOMPUTE_TARGET, Do.RECONCILE, Do.RESTART_SESSION, Do.ANSWER_ASSIGNMENT)
IN_PLACE = (Do.UPDATE_MEMBER, *_IN)
REPLACED = (Do.REPLACE_HOLDER, Do.UPDATE_MEMBER, *_IN)
_MAPPED = (Do.MAP_CALLER, Do.UPDATE_MEMBER, *_IN)
_LOST = tuple(Do.RECONCILE_UNMAPPED if do is Do.RECONCILE else do for do in _MAPPED)

CHECKS = (
    Rule(
        "CG-JOIN-ID-MISSING",
        when(mid=EMPTY, version=VERSION.at_least(1)),
        answer=Error.INVALID_REQUEST,
        level=Level.SHOULD,
        source=src.KIP_IDS,
        because="from version 1 on the client makes its member id",
    ),
    *common_checks.ids("CG-JOIN"),
    Rule(
        "CG-JOIN-FIELDS-MISSING",
        when(fields=(Fields.INCOMPLETE, Fields.OWNING)),
        answer=Error.INVALID_REQUEST,
        level=Level.SHOULD,
        source=src.KAFKA_VALIDATE,
        because="a join gives its rebalance timeout and subscription, and owns nothing",
    ),
    *common_checks.before_group("CG-JOIN"),
    common_checks.full("CG-JOIN", when(room=Room.FULL, mid=(EMPTY, UNKNOWN))),
    common_checks.expression("CG-JOIN"),
)

ROWS = (
    Rule(
        "CG-JOIN-DYNAMIC-NEW",
        when(mid=(EMPTY, UNKNOWN), inst=NONE, change=CHANGED),
        (Do.CREATE_GROUP, Do.ADD_DYNAMIC, Do.BUMP_EPOCH, *_IN),
        level=Level.SHOULD,
        source=src.KIP_JOIN,
        because="an unknown id without an instance becomes a dynamic member at once",
    ),
    Rule(
        "CG-JOIN-STATIC-NEW",
        when(mid=(EMPTY, UNKNOWN), inst=UNMAPPED, change=CHANGED),
        (Do.CREATE_GROUP, Do.ADD_STATIC, Do.BUMP_EPOCH, *_IN),
        level=Level.SHOULD,
        source=src.KIP_STATIC,
        because="an unmapped instance becomes a new static member at once",
    ),
    Rule(
        "CG-JOIN-DYNAMIC-NEW-IDLE",
        when(mid=(EMPTY, UNKNOWN), inst=NONE, change=UNCHANGED),
        (Do.CREATE_GROUP, Do.ADD_DYNAMIC, *_IN),
        level=Level.MAY,
        source=src.KAFKA_IDLE,
        because="a new member that subscribes to nothing changes no target",
    ),
    Rule(
        "CG-JOIN-STATIC-NEW-IDLE",
        when(mid=(EMPTY, UNKNOWN), inst=UNMAPPED, change=UNCHANGED),
        (Do.CREATE_GROUP, Do.ADD_STATIC, *_IN),
        level=Level.MAY,
        source=src.KAFKA_IDLE,
        because="a new static member that subscribes to nothing changes no target",
    ),
    Rule(
        "CG-JOIN-UNRELEASED",
        when(inst=OTHER, holder=LIVE),
        answer=Error.UNRELEASED_INSTANCE_ID,
        source=src.KIP_STATIC,
        because="the instance is a live member's, which no join displaces",
    ),
    Rule(
        "CG-JOIN-AGAIN-UNRELEASED",
        when(inst=OWN, holder=LIVE),
        answer=Error.UNRELEASED_INSTANCE_ID,
        level=Level.MAY,
        source=src.KIP_STATIC,
        because=(
            "the holder is live, though it is the caller itself: a retried join is refused until "
            "its own session ends"
        ),
    ),
    *common_checks.with_bump(
        Rule(
            "CG-JOIN-RETURN",
            when(mid=(EMPTY, UNKNOWN), inst=OTHER, holder=RELEASED),
            REPLACED,
            source=src.KIP_STATIC,
            because="the holder was released, so the newcomer gets its place and its partitions",
        )
    ),
    *common_checks.with_bump(
        Rule(
            "CG-JOIN-RETURN-SELF",
            when(inst=OWN, holder=RELEASED),
            REPLACED,
            level=Level.SHOULD,
            source=src.KIP_STATIC,
            because="the holder was released and returns under its own id",
        )
    ),
    *common_checks.with_bump(
        Rule(
            "CG-JOIN-COPY",
            when(mid=MEMBER, inst=OTHER, holder=RELEASED),
            REPLACED,
            level=Level.MAY,
            source=src.KAFKA_STATIC,
            because=(
                "a member that brings a released instance becomes a copy of its holder; its own "
                "partitions have no owner until the next epoch"
            ),
        )
    ),
    *common_checks.with_bump(
        Rule(
            "CG-JOIN-TAKE-CLASSIC",
            when(any_of(when(mid=(EMPTY, UNKNOWN), inst=OTHER), when(inst=OWN)), holder=CLASSIC),
            REPLACED,
            level=Level.SHOULD,
            source=src.KAFKA_17228,
            because="the holder is a classic member, which any join replaces, released or not",
        )
    ),
    *common_checks.with_bump(
        Rule(
            "CG-JOIN-COPY-CLASSIC",
            when(mid=MEMBER, inst=OTHER, holder=CLASSIC),
            REPLACED,
            level=Level.MAY,
            source=src.KAFKA_STATIC,
            because=(
                "a member that brings a classic member's instance becomes a copy of its holder; "
                "its own partitions have no owner until the next epoch"
            ),
        )
    ),
    *common_checks.with_bump(
        Rule(
            "CG-JOIN-REJOIN",
            when(mid=MEMBER, inst=NONE, caller=(Caller.DYNAMIC, Caller.STATIC)),
            IN_PLACE,
            level=Level.MAY,
            source=src.KAFKA_19233,
            because="a member that joins again keeps its place and its instance, and owns nothing",
        )
    ),
    *common_checks.with_bump(
        Rule(
            "CG-JOIN-RESUME",
            when(mid=MEMBER, inst=NONE, caller=Caller.RELEASED),
            IN_PLACE,
            level=Level.MAY,
            source=src.KAFKA_19233,
            because="a released member that joins by its id alone resumes, with its instance",
        )
    ),
    *common_checks.with_bump(
        Rule(
            "CG-JOIN-BECOME-STATIC",
            when(mid=MEMBER, inst=UNMAPPED, caller=Caller.DYNAMIC, reconciled=True),
            _MAPPED,
            level=Level.MAY,
            source=src.KAFKA_STATIC,
            because="a dynamic member that brings an unmapped instance becomes static",
        )
    ),
    *common_checks.with_bump(
        Rule(
            "CG-JOIN-CHANGE-INSTANCE",
            when(mid=MEMBER, inst=UNMAPPED, caller=Caller.STATIC, reconciled=True),
            _MAPPED,
            level=Level.MAY,
            source=src.KAFKA_DANGLING,
            because=(
                "a static member that brings an unmapped instance has that from now on; the entry "
                "of its old one stays as long as nobody frees it"
            ),
        )
    ),
    *common_checks.with_bump(
        Rule(
            "CG-JOIN-TARGET-LOST",
            when(mid=MEMBER, inst=UNMAPPED, reconciled=False),
            _LOST,
            level=Level.MAY,
            source=src.KAFKA_STATIC,
            because=(
                "the target is looked up under the new instance, which nobody had, so a member "
                "that is not reconciled is left without partitions"
            ),
        )
    ),
    Rule(
        "CG-JOIN-INSTANCE-DANGLING",
        when(inst=DANGLING),
        answer=Error.UNKNOWN_MEMBER_ID,
        level=Level.MAY,
        source=src.KAFKA_DANGLING,
        because="the instance is mapped to an id that is gone, and nobody can have it",
    ),
)

TABLE = Table(
    JOIN_TABLE,
    (
        VERSION,
        GROUP_ID,
        BLANK,
        FIELDS,
        ASSIGNOR,
        COORDINATOR,
        KIND,
        ROOM,
        MID,
        INST,
        HOLDER,
        CALLER,
        RECONCILED,
        CHANGE,
    ),
    CHECKS,
    ROWS,
)
