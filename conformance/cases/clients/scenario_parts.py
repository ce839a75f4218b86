"""Parts that scenarios have in common: names, and short lists of steps."""

from __future__ import annotations

from fencepost.conformance.cases.clients.scenario import (
    Passed,
    ScenarioStep,
    Settled,
    Until,
    client_id,
)
from fencepost.model.plans.steps import Settings, Start

A = "a"
I1 = "i-1"
A1 = client_id(A, 1)
SILENCE_MS = 1500
"""Ms in which no event must come that should not."""


def settled(*consumers: str, needed: bool = True) -> Until:
    """Wait until these are the whole group."""
    return Until(Settled(consumers), needed=needed)


def begin_static(settings: Settings | None = None) -> tuple[ScenarioStep, ...]:
    """Start one static member in a group of its own."""
    return Start(A, I1, settings=settings or Settings()), settled(A)


def passed(ms: int) -> Until:
    """Wait for this many ms."""
    return Until(Passed(ms), within_ms=ms + 1000)
