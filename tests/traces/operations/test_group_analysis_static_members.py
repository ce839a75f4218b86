"""Static members of which a log shows the end before their first join, in both coordinators."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.logs.coordinator_lines import START_MS, CoordinatorLines, Line, audit_text

from fencepost.traces.operations.operator_rows import End, Remedy
from fencepost.traces.operations.operator_words import operator_summary

MINUTE_MS = 60_000
BACK_MS = 15_000

each_coordinator = pytest.mark.parametrize("is_new", [False, True], ids=["old", "new"])


def member_id(name: str, number: int) -> str:
    return f"{name}-2623169f-271d-4e1f-ae23-2007b27b{number:04}"


def restarts(words: CoordinatorLines, *, joins: bool, static: bool = True) -> list[Line]:
    """Return a log in which three members expire and come back, one after the other.

    `joins`: the coordinator names them as static when they join, and not in its reasons alone.
    """
    lines: list[Line] = []
    for place, name in enumerate(("pay-0", "pay-1", "pay-2")):
        at_ms, generation = START_MS + place * MINUTE_MS, 5 + 2 * place
        old, new = member_id(name, place), member_id(name, 10 + place)
        others = member_id("pay-9", 9)
        count = 3 if static else 0
        lines += [
            (at_ms, words.expiry(old)),
            (at_ms, words.preparation(generation, words.expiry_reason(old))),
            (at_ms + 2_000, words.generation(generation + 1, 2)),
            (at_ms + 2_010, words.assignment(generation + 1, others, 2, max(count - 1, 0))),
        ]
        at_ms += BACK_MS
        if joins:
            came = words.static_join(new, name) if static else words.dynamic_join(new)
            lines.append((at_ms, came))
        reason = words.join_reason(new, name if static else None)
        lines += [
            (at_ms, words.preparation(generation + 1, reason)),
            (at_ms + 2_000, words.generation(generation + 2, 3)),
            (at_ms + 2_010, words.assignment(generation + 2, others, 3, count)),
        ]
    return lines


@each_coordinator
@pytest.mark.parametrize("joins", [True, False], ids=["join", "reason"])
def test_static_members_that_expire_before_their_first_join_come_back(
    tmp_path: Path, is_new: bool, joins: bool
) -> None:
    words = CoordinatorLines("pay", is_new=is_new)
    report = audit_text(tmp_path, words.text(restarts(words, joins=joins))).report
    rows = report.expirations.rows
    assert [row.instance_id for row in rows] == ["pay-0", "pay-1", "pay-2"]
    assert [(row.back_ms or 0) - row.at_ms for row in rows] == 3 * [BACK_MS]
    assert [row.remedy for row in report.rebalances.rows] == 6 * [Remedy.LONGER_SESSION]
    assert [row.end for row in report.life_lines.rows][::2] == 3 * [End.EXPIRED]
    text = "\n".join(operator_summary(report))
    assert "unknown" not in text
    assert "not back before the log ends" not in text
    assert "pay-0 in 'pay': at 2025-03-11 14:00:00 UTC, back 15.0 s later" in text
    assert "This setting would have avoided all 6: a longer session timeout." in text
    assert "static membership alone is not enough" not in text


@each_coordinator
def test_dynamic_members_with_such_names_stay_dynamic(tmp_path: Path, is_new: bool) -> None:
    words = CoordinatorLines("pay", is_new=is_new)
    report = audit_text(tmp_path, words.text(restarts(words, joins=True, static=False))).report
    assert [row.instance_id for row in report.expirations.rows] == 3 * [None]
    assert not report.life_lines.count


@each_coordinator
def test_a_member_of_a_group_without_dynamic_ones_is_static(tmp_path: Path, is_new: bool) -> None:
    """Also if it does not come back."""
    words = CoordinatorLines("pay", is_new=is_new)
    gone, leader = member_id("pay-3", 3), member_id("pay-9", 9)
    lines = [
        (START_MS, words.assignment(5, leader, 3, 3)),
        (START_MS + MINUTE_MS, words.expiry(gone)),
        (START_MS + MINUTE_MS, words.preparation(5, words.expiry_reason(gone))),
        (START_MS + MINUTE_MS + 3_000, words.generation(6, 2)),
        (START_MS + MINUTE_MS + 3_010, words.assignment(6, leader, 2, 2)),
    ]
    report = audit_text(tmp_path, words.text(lines)).report
    (row,) = report.expirations.rows
    assert (row.instance_id, row.back_ms, row.is_unclear) == ("pay-3", None, False)


@each_coordinator
def test_a_takeover_of_a_member_that_was_loaded_without_its_kind(
    tmp_path: Path, is_new: bool
) -> None:
    words = CoordinatorLines("pay", is_new=is_new)
    old, new = member_id("pay-0", 0), member_id("pay-0", 1)
    kind = "classic " if is_new else ""
    lines = [
        (
            START_MS,
            f"Loaded member {old} in {kind}group pay{'.' if is_new else ' with generation 5.'}",
        ),
        (
            START_MS + MINUTE_MS,
            (
                "Static member with groupInstanceId=pay-0 and unknown member id joins group pay in "
                f"Stable state. Replacing previously mapped member {old} with this groupInstanceId."
            ),
        ),
        (
            START_MS + MINUTE_MS,
            words.preparation(5, f"Updating metadata for member {new} during x"),
        ),
        (START_MS + MINUTE_MS + 10, words.generation(6, 1)),
    ]
    report = audit_text(tmp_path, words.text(lines)).report
    first, *_ = report.life_lines.rows
    assert (first.member_id, first.end) == (old, End.REPLACED)
    assert report.figures["pay"].replaced == 1
