"""List all cases in one fixed order, and find them by id.

Each id is there once; two cases with one id are an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from fencepost.conformance.cases import (
    bridge,
    check_order,
    consumer,
    describe_cases,
    failover,
    heartbeat_cases,
    joins,
    leaves,
    limits,
    mixed,
    move_cases,
    offset_cases,
    past_bug_cases,
    pending_members,
    rebalance_timers,
    retention_cases,
    sessions,
    storing,
    syncs,
    transaction_cases,
    version_cases,
)
from fencepost.conformance.cases.case_registry import Entry, Registry
from fencepost.model.bridge.mixed_protocol import MIXED
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.model.consumer.streams import STREAMS

_REGISTRIES: tuple[Registry, ...] = tuple(
    module.CASES
    for module in (
        joins,
        syncs,
        heartbeat_cases,
        leaves,
        offset_cases,
        retention_cases,
        describe_cases,
        sessions,
        rebalance_timers,
        limits,
        storing,
        failover,
        mixed,
        move_cases,
        past_bug_cases,
        pending_members,
        check_order,
        version_cases,
        transaction_cases,
    )
)


def collect(registries: tuple[Registry, ...]) -> tuple[Entry, ...]:
    """Collect the cases of these modules, in order.  Raises ValueError if two have the same id."""
    cases: dict[str, Entry] = {}
    for registry in registries:
        for case in registry.entries:
            if case.id in cases:
                raise ValueError(f"two cases have the id {case.id}; rename one of the functions")
            cases[case.id] = case
    return tuple(cases.values())


ENTRIES: tuple[Entry, ...] = collect(_REGISTRIES)
"""The cases of the classic protocol."""
CONSUMER_ENTRIES: tuple[Entry, ...] = collect(consumer.REGISTRIES)
"""The cases of the consumer protocol."""
MIXED_ENTRIES: tuple[Entry, ...] = collect(bridge.REGISTRIES)
"""The cases of mixed groups."""
STREAMS_ENTRIES: tuple[Entry, ...] = collect(consumer.STREAMS_REGISTRIES)
"""The cases of streams groups."""
BY_PROTOCOL: Mapping[str, tuple[Entry, ...]] = {
    CLASSIC.name: ENTRIES,
    CONSUMER.name: CONSUMER_ENTRIES,
    MIXED.name: MIXED_ENTRIES,
    STREAMS.name: STREAMS_ENTRIES,
}
ALL_ENTRIES: tuple[Entry, ...] = tuple(case for cases in BY_PROTOCOL.values() for case in cases)
"""The cases of all protocols; no two have the same id."""


def entries_of(protocol: str) -> tuple[Entry, ...]:
    """Return the cases of a protocol, by its name."""
    return BY_PROTOCOL[protocol]


def entry(case_id: str) -> Entry:
    """Return the case of this id.  Raises KeyError that names it."""
    for case in ALL_ENTRIES:
        if case.id == case_id:
            return case
    raise KeyError(f"the catalogue has no case {case_id}")


def matching(glob: str) -> tuple[Entry, ...]:
    """Return the cases whose id matches, as in `JOIN-STATIC-*`; in the catalogue's order."""
    return tuple(case for case in ENTRIES if fnmatchcase(case.id, glob))
