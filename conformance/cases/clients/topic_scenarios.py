"""List the scenarios of topics that come and go while members read."""

from __future__ import annotations

from fencepost.conformance.cases.clients.reading_scenarios import READS, read_all
from fencepost.conformance.cases.clients.scenario import Scenario
from fencepost.conformance.cases.clients.scenario_parts import SILENCE_MS, A, passed, settled
from fencepost.model.plans.steps import CreateTopic, DeleteTopic, Settings, Start

_B = "b"
_BY_PATTERN = Settings(metadata_max_age_ms=500, by_pattern=True)
_PATTERNS = ("pattern", "metadata-age")
_NEW, _OLD = "new", "old"


def _goes(name: str, about: str, settings: Settings, *needs: str) -> Scenario:
    """Delete one of two topics that a member reads."""
    return Scenario(
        name,
        f"{about} Both are read, and one of them is deleted.",
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
        "Two members subscribe by a pattern, and a topic is made that matches it.",
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
    _goes("topic-goes", "A member subscribes to two topics by their names.", Settings()),
    _goes(
        "topic-goes-of-pattern",
        "A member subscribes by a pattern that two topics match.",
        _BY_PATTERN,
        *_PATTERNS,
    ),
)
