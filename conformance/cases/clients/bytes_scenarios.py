"""List the scenarios about the bytes that members write for each other.

Another client, our own, is in the group, and writes in an older version, in the newest, or in one
that no release has yet.
"""

from __future__ import annotations

from fencepost.conformance.cases.clients.scenario import (
    Calls,
    Read,
    Scenario,
    Settled,
    Until,
)
from fencepost.model.plans.steps import JoinGuest, Produce, Settings, Start

_A = "a"
_OLDEST, _USUAL, _LATER = ("older", 0), ("usual", None), ("later", 9)
_VERSIONS: tuple[tuple[str, int | None], ...] = (_OLDEST, _USUAL, _LATER)
_WORDS = {"older": "version 0", "usual": "the newest version", "later": "a version to come"}
_LONG_MS = 8000
"""Longer than an assignment, and the first records, may take."""
_SESSION_MS = 25_000
"""Longer than a member may take to join again, and go on leading: kafka-go takes some seconds."""


def _leads(name: str, version: int | None) -> Scenario:
    return Scenario(
        f"leads-{name}-subscription",
        f"A member leads a group that another client joins, with a subscription of {_WORDS[name]}.",
        ("CLIENT-BYTES-READS-MEMBERS",),
        (
            Start(_A, settings=Settings(session_timeout_ms=_SESSION_MS)),
            Until(Settled((_A,)), needed=True),
            JoinGuest(version),
            Until(Calls(_A, "JoinGroup"), within_ms=_SESSION_MS, needed=True),
            Until(Calls(_A, "SyncGroup"), within_ms=_LONG_MS),
        ),
        needs=(),
    )


def _follows(name: str, version: int | None) -> Scenario:
    return Scenario(
        f"follows-{name}-assignment",
        f"A member joins a group that another client leads, with assignments of {_WORDS[name]}.",
        ("CLIENT-BYTES-READS-ASSIGNMENT",),
        (
            Produce(),
            JoinGuest(version),
            Start(_A),
            Until(Read(_A), within_ms=_LONG_MS),
        ),
        needs=(),
    )


BYTES = (
    *(_leads(name, version) for name, version in _VERSIONS),
    *(_follows(name, version) for name, version in _VERSIONS),
)
