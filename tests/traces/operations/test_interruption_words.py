"""Members that expire together: once, and in a rhythm."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from support.logs.audits import headline
from support.logs.coordinator_lines import START_MS, CoordinatorLines, audit_text

from fencepost.traces.operations.interruption_words import expirations
from fencepost.traces.operations.operator_report import OperatorReport

HOUR_MS = 3_600_000


def expiry(group: str, at_ms: int, generation: int, member_id: str) -> Iterable[str]:
    """Yield the lines of a member that expires, and of its successor 22 s later."""
    lines = CoordinatorLines(group)
    new_id = f"{member_id[:-1]}f"
    yield lines.line(at_ms, lines.expiry(member_id))
    expired, joined = lines.expiry_reason(member_id), lines.join_reason(new_id)
    yield lines.line(at_ms + 1, lines.preparation(generation, expired))
    yield lines.line(at_ms + 2_000, lines.generation(generation + 1, 2))
    yield lines.line(at_ms + 2_010, lines.assignment(generation + 1, "a", 2))
    yield lines.line(at_ms + 22_000, lines.dynamic_join(new_id))
    yield lines.line(at_ms + 22_001, lines.preparation(generation + 1, joined))
    yield lines.line(at_ms + 24_000, lines.generation(generation + 2, 3))
    yield lines.line(at_ms + 24_010, lines.assignment(generation + 2, "a", 3))


def audited(folder: Path, times_ms: Iterable[int]) -> OperatorReport:
    """Audit a log of three groups, each with a member that expires at these times."""
    lines = [
        line
        for turn, at_ms in enumerate(times_ms)
        for number, group in enumerate(("ads", "bids", "clicks"))
        for line in expiry(
            group,
            START_MS + at_ms + 30 * number,
            12 + 2 * turn,
            f"{group}-w4-c7a2ea20-b2f1-4c94-ae05-319acb5c74{turn}0",
        )
    ]
    return audit_text(folder, "".join(sorted(lines))).report


def test_members_of_several_groups_that_expire_together_are_in_the_first_line(
    tmp_path: Path,
) -> None:
    assert headline(audited(tmp_path, [0])).startswith("3 members of 3 groups expired together")


@pytest.mark.parametrize(
    ("times_ms", "rhythm"),
    [
        ([0, 4 * HOUR_MS, 8 * HOUR_MS], ", one every 4.0 h"),
        ([0, 1 * HOUR_MS, 8 * HOUR_MS], ""),
    ],
)
def test_members_that_expire_together_again_are_one_item_with_their_rhythm(
    tmp_path: Path, times_ms: list[int], rhythm: str
) -> None:
    report = audited(tmp_path, times_ms)
    assert headline(report).startswith(f"Members expired together 3 times{rhythm}")
    (line,) = (line for line in expirations(report) if "together" in line)
    assert f"together 3 times from 2025-03-11 14:00:00 UTC to 2025-03-11 22:00:00 UTC{rhythm}," in (
        line
    )
    assert ("look for a backup" in line) == bool(rhythm)
    assert "all came back, the last 22.0 s later" in line
