"""ConsumerGroupHeartbeat with an epoch above 0: a member is alive, and says what it owns.

An error restarts no timer.
"""

from __future__ import annotations

from fencepost.model.consumer.cells import EMPTY, UNKNOWN, when
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.rules import common_checks
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.vocabulary import (
    ASSIGNOR,
    BEAT_TABLE,
    BLANK,
    CHANGE,
    EPOCH,
    INST,
    KIND,
    MID,
    OWNED,
    Epoch,
    Owned,
)
from fencepost.model.messages.errors import Error
from fencepost.model.table.shared_features import COORDINATOR, GROUP_ID, ROOM, Room
from fencepost.model.table.table import Level, Rule, Table

_ALIVE = (
    Do.UPDATE_MEMBER,
    Do.RECOMPUTE_TARGET,
    Do.RECONCILE,
    Do.RESTART_SESSION,
    Do.ANSWER_CHANGES,
)

CHECKS = (
    Rule(
        "CG-BEAT-ID-MISSING",
        when(mid=EMPTY),
        answer=Error.INVALID_REQUEST,
        level=Level.SHOULD,
        source=src.KAFKA_VALIDATE,
        because="only a join of version 0 may come without a member id",
    ),
    *common_checks.ids("CG-BEAT"),
    *common_checks.before_group("CG-BEAT"),
    common_checks.absent("CG-BEAT"),
    common_checks.full("CG-BEAT", when(room=Room.FULL, mid=UNKNOWN)),
    *common_checks.sender("CG-BEAT"),
    Rule(
        "CG-BEAT-EPOCH-NEWER",
        when(epoch=Epoch.AFTER),
        answer=Error.FENCED_MEMBER_EPOCH,
        level=Level.SHOULD,
        source=src.KIP_HEARTBEAT,
        because="no member has an epoch that it was not given; every epoch is newer than -2",
    ),
    Rule(
        "CG-BEAT-EPOCH-OLDER",
        when(epoch=Epoch.BEFORE),
        answer=Error.FENCED_MEMBER_EPOCH,
        level=Level.SHOULD,
        source=src.KIP_HEARTBEAT,
        because="the epoch is older than the one whose answer may have been lost",
    ),
    Rule(
        "CG-BEAT-EPOCH-PREVIOUS",
        when(epoch=Epoch.PREVIOUS, owned=(Owned.NULL, Owned.EXCESS)),
        answer=Error.FENCED_MEMBER_EPOCH,
        level=Level.SHOULD,
        source=src.KIP_HEARTBEAT,
        because="the previous epoch passes only with owned partitions that are within the assigned",
    ),
    common_checks.expression("CG-BEAT"),
)

ROWS = (
    *common_checks.with_bump(
        Rule(
            "CG-BEAT-ALIVE",
            when(epoch=Epoch.CURRENT),
            _ALIVE,
            source=src.KIP_HEARTBEAT,
            because="the member is alive, and advances towards its target",
        )
    ),
    *common_checks.with_bump(
        Rule(
            "CG-BEAT-REPEATED",
            when(epoch=Epoch.PREVIOUS, owned=Owned.SUBSET),
            _ALIVE,
            level=Level.SHOULD,
            source=src.KIP_HEARTBEAT,
            because="the answer with the current epoch was lost, and the member says it again",
        )
    ),
)

TABLE = Table(
    BEAT_TABLE,
    (GROUP_ID, BLANK, ASSIGNOR, COORDINATOR, KIND, ROOM, MID, INST, EPOCH, OWNED, CHANGE),
    CHECKS,
    ROWS,
)
