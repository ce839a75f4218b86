"""Members that expire in a rhythm, alone or together, while others of their groups stay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from support.logs.audits import headline
from support.logs.coordinator_lines import START_MS, CoordinatorLines, audit_text

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_words import operator_summary

HOUR_MS = 3_600_000
GROUPS = ("ads", "bids", "clicks", "deals", "events")


def member(group: str, name: str, number: int) -> str:
    return f"{group}-{name}-2623169f-271d-4e1f-ae23-2007b27b1{number:03}"


def turn(words: CoordinatorLines, number: int, at_ms: int, *, name: str = "w4") -> list[str]:
    """Return the lines of a member that expires and is back 22 s later, while another stays."""
    group, generation = words.group, 12 + 2 * number
    old, new = member(group, name, number), member(group, name, number + 1)
    stays = member(group, "w1", 999)
    lines = [
        (0, words.expiry(old)),
        (1, words.preparation(generation, words.expiry_reason(old))),
        (3_000, words.generation(generation + 1, 1)),
        (3_010, words.assignment(generation + 1, stays, 1)),
        (22_000, words.new_id(new)),
        (22_002, words.preparation(generation + 1, words.join_reason(new))),
        (24_500, words.generation(generation + 2, 2)),
        (24_510, words.assignment(generation + 2, stays, 2)),
    ]
    return [words.line(at_ms + after_ms, message) for after_ms, message in lines]


def report_of(
    folder: Path, times_ms: Sequence[int], groups: Sequence[str] = ("ads",), *, name: str = "w4"
) -> OperatorReport:
    lines = [
        line
        for number, at_ms in enumerate(times_ms)
        for place, group in enumerate(groups)
        for line in turn(CoordinatorLines(group), number, START_MS + at_ms + 30 * place, name=name)
    ]
    return audit_text(folder, "".join(sorted(lines, key=lambda line: line[:25]))).report


def test_one_member_that_expires_every_four_hours_is_told_with_its_rhythm(tmp_path: Path) -> None:
    report = report_of(tmp_path, [0, 4 * HOUR_MS, 8 * HOUR_MS])
    assert headline(report).startswith(
        "1 member expired 3 times, one every 4.0 h (ads-w4 in group 'ads')"
    )
    text = "\n".join(operator_summary(report))
    assert (
        "ads-w4 in 'ads': 3 times from 2025-03-11 14:00:00 UTC to 2025-03-11 22:00:00 UTC, one "
        "every 4.0 h (look for a job that runs at these times: a backup, a snapshot, a "
        "restart), twice 4.0 h after its join, twice 4.0 h after an assignment, back 22.0 s later "
    ) in text


def test_expirations_at_uneven_distances_have_no_rhythm(tmp_path: Path) -> None:
    report = report_of(tmp_path, [0, 4 * HOUR_MS, 5 * HOUR_MS])
    assert "one every" not in "\n".join([headline(report), *operator_summary(report)])


def test_members_of_one_name_that_expire_in_a_rollout_have_no_rhythm(tmp_path: Path) -> None:
    report = report_of(tmp_path, [0, 90_000, 180_000])
    assert "distance is even" not in "\n".join(operator_summary(report))


def test_the_broker_did_not_stand_still_where_others_of_each_group_stayed(tmp_path: Path) -> None:
    report = report_of(tmp_path, [0], GROUPS)
    (row,) = report.together
    assert row.stayed_in == len(row.groups) == 5
    text = "\n".join(operator_summary(report))
    assert "Other members of each of these groups stayed, so the broker did not stand still" in text
    assert "All their names end with '-w4'." in text
    assert "or the broker stood still" not in text


def test_the_broker_may_have_stood_still_where_nobody_stayed_in_a_group(tmp_path: Path) -> None:
    folder, words = tmp_path / "all", CoordinatorLines("jobs")
    folder.mkdir()
    gone = member("jobs", "w4", 0)
    lines = [
        (START_MS + 200, words.expiry(gone)),
        (START_MS + 200, words.preparation(3, words.expiry_reason(gone))),
        (START_MS + 201, words.no_member(4)),
    ]
    others = [
        line
        for place, group in enumerate(GROUPS[:3])
        for line in turn(CoordinatorLines(group), 0, START_MS + 30 * place)
    ]
    text = "".join(sorted([*others, *(words.line(*line) for line in lines)], key=lambda x: x[:25]))
    report = audit_text(folder, text).report
    assert [row.stayed_in for row in report.together] == [3]
    assert "or the broker stood still" in "\n".join(operator_summary(report))
