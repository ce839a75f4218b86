"""A group that somebody deletes, in the words of both coordinators."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.logs.coordinator_lines import START_MS, CoordinatorLines, Line, audit_text

from fencepost.traces.operations.interruption_words import empty_times
from fencepost.traces.operations.operator_words import (
    headline,
    operator_json,
    operator_summary,
)

MINUTE_MS = 60_000
UUID = "2623169f-271d-4e1f-ae23-2007b27b100"

each_coordinator = pytest.mark.parametrize("is_new", [False, True], ids=["old", "new"])


def lost(words: CoordinatorLines) -> list[Line]:
    """Return lines about the only member, which expires."""
    gone = f"worker-{UUID}1"
    return [
        (START_MS, words.expiry(gone)),
        (START_MS, words.preparation(6, words.expiry_reason(gone))),
        (START_MS, words.no_member(7)),
    ]


def deleted(words: CoordinatorLines, *others: str) -> list[Line]:
    """Return lines about the deletion of the group, and of others."""
    names = ", ".join(sorted([words.group, *others]))
    at_ms = START_MS + 10 * MINUTE_MS
    says = f"The following groups were deleted: {names}. A total of 12 offsets were removed."
    dead = [] if words.is_new else [f"Group {words.group} transitioned to Dead in generation 7"]
    return [(at_ms, each) for each in (*dead, says)]


def used_again(words: CoordinatorLines, minute: int) -> list[Line]:
    """Return lines about a new member."""
    came, at_ms = f"worker-{UUID}2", START_MS + minute * MINUTE_MS
    return [
        (at_ms, words.dynamic_join(came, "Empty")),
        (at_ms, words.preparation(0, words.join_reason(came))),
        (at_ms + 3_000, words.generation(1, 1)),
        (at_ms + 3_000, words.assignment(1, came, 1)),
    ]


@each_coordinator
@pytest.mark.parametrize("others", [(), ("another", "worker-group")])
def test_a_deleted_group_is_not_lost(tmp_path: Path, is_new: bool, others: tuple[str, ...]) -> None:
    words = CoordinatorLines("workers", is_new=is_new)
    run = audit_text(tmp_path, words.text([*lost(words), *deleted(words, *others)]))
    report = run.report
    assert report.figures["workers"].lost is None
    assert (report.groups, not run.skipped) == (1, True)
    text = "\n".join([headline(report), *operator_summary(report)])
    assert "Start the process again" not in text
    assert "without a member since" not in text
    assert "Deleted, and not used since: 'workers' (at 2025-03-11 14:10:00 UTC)." in text
    assert "Without a member at the end of the log" not in text
    (row,) = operator_json(report)["empty_spans"]["rows"]
    assert row["deleted_ms"] == START_MS + 10 * MINUTE_MS
    (end,) = operator_json(report)["at_end"]
    assert end["last_expired_ms"] is None


@each_coordinator
def test_a_deleted_group_that_is_used_again(tmp_path: Path, is_new: bool) -> None:
    words = CoordinatorLines("workers", is_new=is_new)
    lines = [*lost(words), *deleted(words), *used_again(words, 12)]
    report = audit_text(tmp_path, words.text(lines)).report
    text = "\n".join(operator_summary(report))
    assert "Deleted, and not used since" not in text
    assert "the last member expired; deleted at 2025-03-11 14:10:00 UTC" in text
    assert "not back until the log ends" not in text


@each_coordinator
def test_the_deletion_of_another_group_changes_nothing(tmp_path: Path, is_new: bool) -> None:
    words = CoordinatorLines("workers", is_new=is_new)
    other = CoordinatorLines("workers-2", is_new=is_new)
    report = audit_text(tmp_path, words.text([*lost(words), *deleted(other)[-1:]])).report
    assert report.figures["workers"].lost is not None
    assert "Start the process again" in "\n".join(empty_times(report))


def test_a_group_that_the_coordinator_removes_was_not_deleted(tmp_path: Path) -> None:
    """It does so with any group that has neither members nor offsets."""
    words = CoordinatorLines("workers")
    report = audit_text(tmp_path, words.text([*lost(words), *deleted(words)[:1]])).report
    assert report.figures["workers"].lost is not None


@each_coordinator
def test_a_member_that_comes_back_after_long_is_back(tmp_path: Path, is_new: bool) -> None:
    """Where the log has the whole group, its client id names it."""
    words = CoordinatorLines("workers", is_new=is_new)
    at_ms, gone = START_MS + MINUTE_MS, f"worker-{UUID}2"
    expires = [
        (at_ms, words.expiry(gone)),
        (at_ms, words.preparation(1, words.expiry_reason(gone))),
        (at_ms, words.no_member(2)),
    ]
    again = [
        (at_ms, message.replace(f"{UUID}2", f"{UUID}3")) for at_ms, message in used_again(words, 40)
    ]
    lines = [*used_again(words, 0), *expires, *again]
    report = audit_text(tmp_path, words.text(lines)).report
    (row,) = report.expirations.rows
    assert (row.back_ms or 0) - row.at_ms == 39 * MINUTE_MS
    assert "back 39 min later" in "\n".join(operator_summary(report))
