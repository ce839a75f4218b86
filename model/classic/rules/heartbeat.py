"""Heartbeat: restart the session timer, report fencing and a rebalance in progress."""

from __future__ import annotations

from fencepost.model.classic.cells import COMPLETING, PREPARING, STABLE, when
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import common_checks
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import GENERATION, MID, STATE
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import entry_checks
from fencepost.model.table.shared_features import COORDINATOR, GROUP_ID, INST
from fencepost.model.table.table import Rule, Table

CHECKS = (
    *entry_checks("HEARTBEAT", while_loading=Error.NONE),
    common_checks.absent("HEARTBEAT"),
    common_checks.dead("HEARTBEAT"),
    *common_checks.validate("HEARTBEAT"),
    common_checks.illegal_generation("HEARTBEAT"),
)

ROWS = (
    Rule(
        "HEARTBEAT-PREPARING",
        when(state=PREPARING),
        (Do.RESTART_SESSION,),
        Error.REBALANCE_IN_PROGRESS,
        source=src.KAFKA_HEARTBEAT,
        because="the group is in its join phase, so the member must rejoin",
    ),
    Rule(
        "HEARTBEAT-COMPLETING",
        when(state=COMPLETING),
        (Do.RESTART_SESSION,),
        Error.NONE,
        source=src.KAFKA_HEARTBEAT,
        because="the sender is a member of the current generation",
    ),
    Rule(
        "HEARTBEAT-STABLE",
        when(state=STABLE),
        (Do.RESTART_SESSION,),
        Error.NONE,
        source=src.KAFKA_HEARTBEAT,
        because="the sender is a member of the current generation",
    ),
)

TABLE = Table("Heartbeat", (GROUP_ID, COORDINATOR, STATE, MID, INST, GENERATION), CHECKS, ROWS)
