"""List the scenarios of a generation that a cooperative member missed.

The served broker forces the order: a member's SyncGroup is held back until the leader has its
assignment and a third member waits to join.
"""

from __future__ import annotations

from fencepost.conformance.cases.clients.provocation import Action, Provocation
from fencepost.conformance.cases.clients.scenario import (
    Answered,
    Calls,
    InjectFaults,
    Parked,
    Scenario,
    Until,
    client_id,
)
from fencepost.conformance.cases.clients.scenario_parts import passed, settled
from fencepost.model.plans.steps import ReleaseHeld, Settings, Start

_A, _B, _C = "a", "b", "c"
_A1, _B1 = client_id(_A, 1), client_id(_B, 1)
_SYNC = "SyncGroup"
_REBALANCE = "REBALANCE_IN_PROGRESS"
_LONG = Settings(session_timeout_ms=30_000)
"""No session ends while a JoinGroup is held back."""

_LATE_MS = 1500
"""Ms by which the member learns late what it has to give back: who has its partitions meanwhile
shares them with it."""

GENERATIONS = (
    Scenario(
        "missed-generation-cooperative",
        "A cooperative member misses a generation, since a new member joins before its "
        "SyncGroup is handled.",
        ("CLIENT-LEADER-MISSED-GENERATION",),
        (
            Start(_A, "i-1", settings=_LONG),
            settled(_A),
            Start(_B, "i-2", settings=_LONG),
            settled(_A, _B),
            InjectFaults(
                (
                    Provocation("Heartbeat", Action.ERROR, _A1, code=_REBALANCE),
                    Provocation(_SYNC, Action.HOLD, _B1),
                    Provocation(_SYNC, Action.DELAY, _B1, first=2, ms=_LATE_MS),
                )
            ),
            Until(Parked(_B, _SYNC), needed=True),
            Until(Calls(_A, _SYNC), needed=True),
            Start(_C, "i-3", settings=_LONG),
            Until(Parked(_C, "JoinGroup"), needed=True),
            ReleaseHeld(),
            Until(Answered(_B, _SYNC, _REBALANCE), needed=True),
            settled(_A, _B, _C, needed=False),
            passed(500),
        ),
        assignor="cooperative",
    ),
)
"""Generations that somebody missed."""
