"""Test the sentences about settings that avoid rebalances, and about session timeouts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.logs.coordinator_lines import START_MS, CoordinatorLines, Line, audit_text

from fencepost.traces.operations.operator_rows import Remedy
from fencepost.traces.operations.remedy_words import remedy_lines

UUID = "2623169f-271d-4e1f-ae23-2007b27b1"


def turn(
    words: CoordinatorLines, number: int, at_ms: int, name: str, client_reason: str = ""
) -> list[Line]:
    """Return lines about a member that expires, and that joins again 15 s later."""
    gone, came = f"{name}-{UUID}{number:03}", f"{name}-{UUID}{number + 1:03}"
    leader, generation = f"other-{UUID}999", 5 + 2 * number
    why = words.join_reason(came) + (f"; client reason: {client_reason}" if client_reason else "")
    return [
        (at_ms, words.expiry(gone)),
        (at_ms, words.preparation(generation, words.expiry_reason(gone))),
        (at_ms + 2_000, words.generation(generation + 1, 2)),
        (at_ms + 2_010, words.assignment(generation + 1, leader, 2)),
        (at_ms + 15_000, words.new_id(came)),
        (at_ms + 15_000, words.preparation(generation + 1, why)),
        (at_ms + 17_000, words.generation(generation + 2, 3)),
        (at_ms + 17_010, words.assignment(generation + 2, leader, 3)),
    ]


def text_of(folder: Path, lines: list[Line]) -> str:
    words = CoordinatorLines("pay")
    return "\n".join(remedy_lines(audit_text(folder, words.text(lines)).report))


def test_an_assignment_before_the_end_of_a_session_limits_it(tmp_path: Path) -> None:
    """The session began anew with it, 73 s before; the absence of 15 s comes on top."""
    words = CoordinatorLines("pay")
    lines = [*turn(words, 0, START_MS, "pay-1"), *turn(words, 1, START_MS + 90_010, "pay-1")]
    assert (
        " 90000 is long enough here: a member expired 73.0 s after an assignment, so its session "
        "is not longer than that. This log doesn't show whether the process was alive. If it was, "
        "a longer session.timeout.ms alone is enough; check why the process was silent. If it "
        "restarted, close the consumer when its process gets SIGTERM"
    ) in text_of(tmp_path, lines)


def test_an_assignment_of_hours_before_says_nothing_of_a_session(tmp_path: Path) -> None:
    words = CoordinatorLines("pay")
    lines = [*turn(words, 0, START_MS, "pay-1"), *turn(words, 1, START_MS + 7_200_000, "pay-1")]
    text = text_of(tmp_path, lines)
    assert "is long enough here" not in text
    assert "the session.timeout.ms must be longer than today's plus this absence" in text


def test_settings_have_the_name_of_the_client_library(tmp_path: Path) -> None:
    words = CoordinatorLines("pay")
    text = text_of(tmp_path, turn(words, 0, START_MS, "aiokafka-0.12.0"))
    assert "the session_timeout_ms must be longer than today's plus this absence" in text


@pytest.mark.parametrize(
    "reason",
    [
        "rebalance failed due to UnknownMemberIdException",
        "encountered UNKNOWN_MEMBER_ID from HEARTBEAT response",
    ],
)
def test_a_process_that_lived_needs_no_static_membership(tmp_path: Path, reason: str) -> None:
    words = CoordinatorLines("pay")
    run = audit_text(tmp_path, words.text(turn(words, 0, START_MS, "pay-1", reason)))
    assert run.report.remedies == {Remedy.LONGER_SESSION: 2}
    assert [row.lived for row in run.report.expirations.rows] == [True]
    dynamic = audit_text(tmp_path, words.text(turn(words, 0, START_MS, "pay-1")))
    assert dynamic.report.remedies == {Remedy.STATIC: 2}
