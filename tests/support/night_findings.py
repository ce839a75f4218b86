"""Sightings and wishes as tests of nights need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.places import ROOT

from fencepost.conformance.search.findings.tracked_bugs import (
    EACH_TIME,
    Sighting,
    TrackedBug,
    track_bugs,
)
from fencepost.properties.oracle.fingerprint import Bug
from tools.nightly.nightly import NightOptions
from tools.nightly.nightly_report import day_of
from tools.nightly.schedule import TARGETS

TONIGHT, BEFORE = "2026-03-02", "2026-03-01"
LONG_S = 300.0
MUTANT = "mutant:empty-group-unlisted"


def shard_finding(shard: str = "mock", **fields: Any) -> Sighting:
    seen = Sighting(
        "mock", "HEARTBEAT-STABLE", "MUST", "a shape", "It is wrong.", 1, EACH_TIME, shard, 7
    )
    return replace(seen, **fields)


def finding(name: str) -> str:
    path = ROOT / "docs" / "findings" / f"{name}.json"
    return path.read_text(encoding="utf-8")


def night_options(folder: Path, **fields: Any) -> NightOptions:
    began = datetime(2026, 3, 2, 23, tzinfo=UTC)
    made = NightOptions(began, 5, LONG_S, folder, folder, (TARGETS,), (MUTANT,), named=True)
    return replace(made, **fields)


def entries_of(
    found: Iterable[Sighting],
    *,
    tonight: str = TONIGHT,
    corpus: Mapping[Bug, str] | None = None,
    before: Sequence[TrackedBug] = (),
) -> list[TrackedBug]:
    """Track bugs from night to night."""
    return track_bugs(found, day_of(tonight), before, corpus)


def statuses(*findings: Sighting, **fields: Any) -> list[str]:
    return [entry.status for entry in entries_of(findings, **fields)]
