"""Areas of the protocol, by which pages sum up the cases: static joins, leaves, sessions, …."""

from __future__ import annotations

from collections.abc import Mapping

AREAS: Mapping[str, tuple[str, ...]] = {
    "static joins": ("JOIN-STATIC-", "JOIN-INSTANCE-", "JOIN-PENDING-INSTANCE"),
    "rebalances": ("JOIN-PHASE-", "SYNC-PHASE-"),
    "size limits": ("JOIN-GROUP-FULL",),
    "other joins": ("JOIN-",),
    "syncs": ("SYNC-",),
    "heartbeats": ("HEARTBEAT-",),
    "leaves": ("LEAVE-",),
    "offsets": ("COMMIT-", "FETCH-"),
    "describe, list": ("DESCRIBE-", "LIST-"),
    "sessions": ("SESSION-",),
    "failovers, cleanup": ("FAILOVER-", "TOPICS-DELETED", "CLEANUP-"),
}
"""Areas by what a case's id begins with; the first that fits."""


def area(case_id: str) -> str:
    """The area of a case.  Raises KeyError for an id that fits none."""
    for name, beginnings in AREAS.items():
        if case_id.startswith(beginnings):
            return name
    raise KeyError(case_id)
