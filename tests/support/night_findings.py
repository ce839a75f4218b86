"""Sightings and wishes as tests of nights need them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.places import ROOT

from tools.nightly.dedup import EACH_TIME, TARGETS, ShardFinding, entries_of
from tools.nightly.nightly import NightOptions

TONIGHT, BEFORE = "2026-03-02", "2026-03-01"
LONG_S = 300.0
MUTANT = "mutant:empty-group-unlisted"


def shard_finding(shard: str = "mock", **fields: Any) -> ShardFinding:
    seen = ShardFinding(
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


def statuses(*findings: ShardFinding, **fields: Any) -> list[str]:
    whole = {"tonight": TONIGHT, "corpus": {}, "before": ()} | fields
    return [entry.status for entry in entries_of(findings, **whole)]
