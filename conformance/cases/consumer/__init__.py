"""List the cases of the consumer protocol, a module for each request, in one fixed order."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.consumer import (
    consumer_admin,
    consumer_batches,
    consumer_beats,
    consumer_joins,
    consumer_leaves,
    consumer_offsets,
    consumer_timers,
    streams_cases,
    streams_timers,
)

REGISTRIES: tuple[Registry, ...] = (
    consumer_joins.CASES,
    consumer_beats.CASES,
    consumer_leaves.CASES,
    consumer_timers.CASES,
    consumer_timers.FAILOVERS,
    consumer_batches.BATCHED,
    consumer_offsets.CASES,
    consumer_admin.CASES,
)
STREAMS_REGISTRIES: tuple[Registry, ...] = (
    streams_cases.CASES,
    streams_timers.CASES,
    streams_timers.FAILOVERS,
)
"""The cases of streams groups."""
