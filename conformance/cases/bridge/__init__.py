"""List the cases of mixed groups: conversions, classic members in consumer groups, timers."""

from __future__ import annotations

from fencepost.conformance.cases.bridge import bridge_conversions, bridge_members, bridge_timers
from fencepost.conformance.cases.case_registry import Registry

REGISTRIES: tuple[Registry, ...] = (
    bridge_conversions.CASES,
    bridge_members.CASES,
    bridge_timers.CASES,
    bridge_timers.SHORT,
)
