"""SyncGroup: hand the leader's assignment out to all members."""

from __future__ import annotations

from fencepost.model.classic.cells import COMPLETING, FOLLOWER, LEADER, PREPARING, STABLE, when
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import common_checks
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import (
    GENERATION,
    MID,
    PROTOCOL_FIELDS,
    PROTOCOL_FIT,
    ROLE,
    STATE,
    Fit,
    Given,
)
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import entry_checks
from fencepost.model.table.shared_features import (
    COORDINATOR,
    GROUP_ID,
    INST,
    RECORD,
    Record,
    version_feature,
)
from fencepost.model.table.table import Level, Rule, Table

VERSION = version_feature(5)

CHECKS = (
    Rule(
        "SYNC-PROTOCOL-NULL",
        when(version=VERSION.at_least(5), protocol_fields=Given.NULL),
        answer=Error.INCONSISTENT_GROUP_PROTOCOL,
        level=Level.SHOULD,
        source=src.KAFKA_CHECKS,
        because="from version 5 on a sync must name the protocol type and name",
    ),
    *entry_checks("SYNC"),
    common_checks.absent("SYNC"),
    common_checks.dead("SYNC"),
    *common_checks.validate("SYNC"),
    common_checks.illegal_generation("SYNC"),
    Rule(
        "SYNC-PROTOCOL-MISMATCH",
        when(protocol_fit=Fit.DIFFERENT),
        answer=Error.INCONSISTENT_GROUP_PROTOCOL,
        level=Level.SHOULD,
        source=src.KAFKA_CHECKS,
        because="the group selected another protocol than the sync names",
    ),
    Rule(
        "SYNC-COMPLETING-LEADER-TOO-LARGE",
        when(state=COMPLETING, role=LEADER, record=Record.TOO_LARGE),
        (Do.PARK_SYNC, Do.REFUSE_SYNCS, Do.REBALANCE),
        level=Level.SHOULD,
        source=src.KAFKA_STORING,
        because="no member gets an assignment that can't be stored, and all must rejoin",
    ),
)

ROWS = (
    Rule(
        "SYNC-PREPARING",
        when(state=PREPARING),
        (),
        Error.REBALANCE_IN_PROGRESS,
        source=src.KAFKA_SYNC,
        because="a new rebalance has begun, so the member must rejoin",
    ),
    Rule(
        "SYNC-COMPLETING-FOLLOWER",
        when(state=COMPLETING, role=FOLLOWER),
        (Do.NOTE_SYNC, Do.PARK_SYNC),
        source=src.KIP_BACKGROUND,
        because="a follower waits for the leader's assignment",
    ),
    Rule(
        "SYNC-COMPLETING-LEADER",
        when(state=COMPLETING, role=LEADER),
        (Do.NOTE_SYNC, Do.PARK_SYNC, Do.ASSIGN, Do.PERSIST, Do.ANSWER_SYNCS),
        source=src.KIP_BACKGROUND,
        because="each member with a parked sync gets its part of the leader's assignment",
    ),
    Rule(
        "SYNC-STABLE",
        when(state=STABLE),
        (Do.NOTE_SYNC, Do.MAYBE_RESTART_SESSION, Do.ANSWER_ASSIGNMENT),
        source=src.KAFKA_SYNC,
        because="the group is assigned already, and a new assignment is ignored",
    ),
)

TABLE = Table(
    "SyncGroup",
    (
        VERSION,
        PROTOCOL_FIELDS,
        GROUP_ID,
        COORDINATOR,
        STATE,
        MID,
        INST,
        ROLE,
        GENERATION,
        PROTOCOL_FIT,
        RECORD,
    ),
    CHECKS,
    ROWS,
)
