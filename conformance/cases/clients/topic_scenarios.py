"""List the scenarios of topics that come and go while members read."""

from __future__ import annotations

from fencepost.conformance.cases.clients.reading_scenarios import READS, read_all
from fencepost.conformance.cases.clients.scenario import Calls, InjectFaults, Scenario, Until
from fencepost.conformance.cases.clients.scenario_parts import A1, SILENCE_MS, A, passed, settled
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.plans.steps import CreateTopic, DeleteTopic, Settings, Start

_B = "b"
_BY_PATTERN = Settings(metadata_max_age_ms=500, by_pattern=True)
_PATTERNS = ("pattern", "metadata-age")
_NEW, _OLD = "new", "old"
_LATE_MS = 1500
"""Delay of an answer: longer than a call of poll takes in any driver."""


def _goes(name: str, about: str, settings: Settings, *needs: str) -> Scenario:
    """Delete one of two topics that a member reads."""
    return Scenario(
        name,
        f"{about} It reads both, and one of them is deleted.",
        ("CLIENT-READ-DELETED-TOPIC", *READS),
        (
            CreateTopic(_OLD),
            Start(A, settings=settings),
            settled(A),
            *read_all(A),
            DeleteTopic(_OLD),
            passed(SILENCE_MS),
            settled(A, needed=False),
            *read_all(A),
        ),
        needs=needs,
        reads=True,
    )


TOPICS = (
    Scenario(
        "topic-appears",
        "Two members subscribe by a pattern, and a topic that matches it is created.",
        ("CLIENT-READ-NEW-TOPIC", *READS),
        (
            Start(A, settings=_BY_PATTERN),
            Start(_B, settings=_BY_PATTERN),
            settled(A, _B),
            *read_all(A, _B),
            CreateTopic(_NEW),
            settled(A, _B, needed=False),
            *read_all(A, _B),
        ),
        needs=_PATTERNS,
        reads=True,
    ),
    Scenario(
        "topic-appears-sync-late",
        "A member subscribes by a pattern, a topic that matches it is created, and the answer to "
        "SyncGroup is late.",
        ("CLIENT-READ-NEW-TOPIC", *READS),
        (
            Start(A, settings=_BY_PATTERN),
            settled(A),
            *read_all(A),
            InjectFaults((Provocation("SyncGroup", Action.DELAY, A1, ms=_LATE_MS),)),
            CreateTopic(_NEW),
            Until(Calls(A, "SyncGroup"), needed=True),
            settled(A, needed=False),
            *read_all(A),
        ),
        needs=_PATTERNS,
        reads=True,
    ),
    _goes("topic-goes", "A member subscribes to two topics by their names.", Settings()),
    _goes(
        "topic-goes-of-pattern",
        "A member subscribes by a pattern that two topics match.",
        _BY_PATTERN,
        *_PATTERNS,
    ),
)
