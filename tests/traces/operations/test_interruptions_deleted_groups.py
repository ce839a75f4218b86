"""A group that somebody deletes, in the words of both coordinators."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.logs.audits import headline
from support.logs.coordinator_lines import START_MS, CoordinatorLines, Line, audit_text

from fencepost.traces.operations.interruption_words import empty_times
from fencepost.traces.operations.operator_words import (
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
    assert headline(report).startswith("1 group lost its last member, and was deleted later")
    assert (
        "Deleted after the last member was lost: 'workers' (since "
        "2025-03-11 14:00:00 UTC, worker; deleted at 2025-03-11 14:10:00 UTC)."
    ) in text
    together = f" of {len(others) + 1} groups together" if others else ""
    said = f"(at 2025-03-11 14:10:00 UTC, with 12 offsets{together})"
    assert f"Deleted, and not used since: 'workers' {said}." in text
    assert "Set the offsets of such a group before it is used again" in text
    (removed,) = operator_json(report)["removed_offsets"]["rows"]
    assert (removed["offsets"], removed["groups"], removed["used_ms"]) == (
        12,
        len(others) + 1,
        None,
    )
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
    assert "not back before the log ends" not in text
    assert "probably back 12 min later" in text
    assert "1 group is used again after its offsets were deleted" in headline(report)
    assert (
        "'workers' was deleted at 2025-03-11 14:10:00 UTC, with 12 offsets, and it is used again "
        "since 14:12:00 [server.log:"
    ) in text
    assert "A consumer without an offset starts from auto.offset.reset: it skips records" in text
    assert "Look from where it reads (kafka-consumer-groups.sh --describe)" in text


@each_coordinator
def test_a_group_whose_first_line_is_its_deletion(tmp_path: Path, is_new: bool) -> None:
    words = CoordinatorLines("workers", is_new=is_new)
    lines = [*deleted(words, "another")[-1:], *used_again(words, 12)]
    report = audit_text(tmp_path, words.text(lines)).report
    assert "1 group is used again after its offsets were deleted" in headline(report)
    (row,) = report.removed_offsets.rows
    assert (row.groups, row.used_ms) == (2, START_MS + 12 * MINUTE_MS)


@each_coordinator
def test_a_deleted_group_without_offsets_lost_nothing(tmp_path: Path, is_new: bool) -> None:
    words = CoordinatorLines("workers", is_new=is_new)
    lines = words.text([*lost(words), *deleted(words), *used_again(words, 12)])
    report = audit_text(tmp_path, lines.replace("of 12 offsets", "of 0 offsets")).report
    assert "offsets were deleted" not in headline(report)
    assert "auto.offset.reset" not in "\n".join(operator_summary(report))


def test_offsets_that_are_deleted_without_their_group(tmp_path: Path) -> None:
    words = CoordinatorLines("workers")
    says = (
        "The following offsets of the group workers were deleted: a-0, a-1. A total of 2 offsets "
        "were removed."
    )
    lines = [*lost(words), (START_MS + MINUTE_MS, says)]
    report = audit_text(tmp_path, words.text(lines)).report
    text = "\n".join(operator_summary(report))
    assert "2 offsets of 'workers' were deleted at 2025-03-11 14:01:00 UTC [server.log:4]." in text
    assert "starts from auto.offset.reset" in text
    used = audit_text(tmp_path, words.text([*lines, *used_again(words, 5)])).report
    assert "were deleted at 2025-03-11 14:01:00 UTC, and it is used again since 14:05:00" in (
        "\n".join(operator_summary(used))
    )
    alone = audit_text(tmp_path, words.text(lines[-1:]))
    assert not alone.groups


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
