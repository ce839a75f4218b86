"""List the scenarios of a generation that a cooperative member missed.

The served broker forces the order: a member's SyncGroup is held back until the leader has its
assignment and a third member waits to join.
"""

from __future__ import annotations

from fencepost.conformance.cases.clients.scenario import (
    Answered,
    AnyCondition,
    Calls,
    InjectFaults,
    Parked,
    Scenario,
    Settled,
    Until,
    client_id,
)
from fencepost.conformance.cases.clients.scenario_parts import passed, settled
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.plans.steps import ReleaseHeld, Settings, Start

_A, _B, _C = "a", "b", "c"
_A1, _B1 = client_id(_A, 1), client_id(_B, 1)
_SYNC = "SyncGroup"
_REBALANCE = "REBALANCE_IN_PROGRESS"
_LONG = Settings(session_timeout_ms=60_000, max_poll_interval_ms=60_000)
"""No session ends while a request is held back, on a busy machine either.  librdkafka wants no poll
interval that is shorter."""

_PATIENCE_MS = 30_000

_LATE_MS = 1500
"""Ms by which the member learns late what it has to give back: who has its partitions meanwhile
shares them with it."""


def _needs(condition: AnyCondition) -> Until:
    """Wait for a condition without which the scenario shows nothing."""
    return Until(condition, _PATIENCE_MS, needed=True)


def _all_of(*consumers: str) -> Until:
    return _needs(Settled(consumers))


GENERATIONS = (
    Scenario(
        "missed-generation-cooperative",
        "A new member joins before the SyncGroup of a cooperative member is handled, which misses "
        "the generation.",
        ("CLIENT-LEADER-MISSED-GENERATION",),
        (
            Start(_A, "i-1", settings=_LONG),
            _all_of(_A),
            Start(_B, "i-2", settings=_LONG),
            _all_of(_A, _B),
            InjectFaults(
                (
                    Provocation("Heartbeat", Action.ERROR, _A1, code=_REBALANCE),
                    Provocation(_SYNC, Action.HOLD, _B1),
                    Provocation(_SYNC, Action.DELAY, _B1, first=2, ms=_LATE_MS),
                )
            ),
            _needs(Parked(_B, _SYNC)),
            _needs(Calls(_A, _SYNC)),
            Start(_C, "i-3", settings=_LONG),
            _needs(Parked(_C, "JoinGroup")),
            ReleaseHeld(),
            _needs(Answered(_B, _SYNC, _REBALANCE)),
            settled(_A, _B, _C, needed=False),
            passed(500),
        ),
        assignor="cooperative",
    ),
)
"""Generations that somebody missed."""
