"""Read the comparisons of the arithmetic of `advise` with the simulator, by `tox -e advice`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: partition-seconds of an event by arithmetic, and simulated on average."""

    facts: dict[str, Any]
    form: str
    session_s: float
    scenario: str
    runs: int
    by_arithmetic_s: float
    simulated_s: float
    is_near: bool

    @property
    def is_overestimated(self) -> bool:
        """True for several processes at a time with slow polls, which are mostly overestimated."""
        is_slow = self.facts.get("processing_s", 0) and self.facts.get("at_a_time", 1) > 1
        return bool(is_slow) and self.scenario == "rolling-bounce"


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """All comparisons: `table`: the rows of the page, `drawn`: settings at random."""

    table: list[Compared] = msgspec.field(name="shown")
    drawn: list[Compared]


def read_agreement(path: Path) -> Agreement:
    """Read the comparisons.  Raises OSError and msgspec.ValidationError."""
    return msgspec.json.decode(path.read_bytes(), type=Agreement)


def group_words(facts: dict[str, Any]) -> str:
    """Describe a group in a row of the table."""
    restart = facts["restart_s"]
    if isinstance(restart, dict):
        times = f"{restart['median']:g} s, p95 {restart['p95']:g} s"
    else:
        times = f"{restart:g} s"
    words = [
        f"{facts['members']} members",
        f"{sum(facts['topics']):,} partitions",
        f"restarts {times}",
    ]
    if facts.get("processing_s"):
        words.append(f"polls {facts['processing_s']:g} s")
    if facts.get("at_a_time", 1) > 1:
        words.append(f"{facts['at_a_time']} at a time")
    return ", ".join(words)
