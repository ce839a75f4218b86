"""Groups whose library has no static members are never offered them; one sick process is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.logs.coordinator_lines import START_MS, CoordinatorLines, Line, audit_text

from fencepost.traces.operations.interruption_words import empty_times, expirations
from fencepost.traces.operations.operator_rows import Remedy
from fencepost.traces.operations.operator_words import operator_summary

TURN_MS = 90_000
KAFKA_GO = "ingest@pod-1 (github.com/segmentio/kafka-go)"


def turns(client_id: str, count: int = 5, *, others: int = 2) -> str:
    """Write a log in which one of several processes expires and is back, again and again."""
    group = CoordinatorLines("mail", is_new=True)
    lines: list[Line] = []
    for turn in range(count):
        at_ms, generation = START_MS + turn * TURN_MS, 2 * turn
        old, new = (f"{client_id}-00000000-0000-4000-8000-{n:012}" for n in (turn, turn + 1))
        for after_ms, message in (
            (0, group.expiry(old)),
            (1, group.preparation(generation, group.expiry_reason(old))),
            (2_000, group.generation(generation + 1, others)),
            (2_010, group.assignment(generation + 1, "a", others)),
            (20_000, group.new_id(new)),
            (20_001, group.dynamic_join(new)),
            (20_002, group.preparation(generation + 1, group.join_reason(new))),
            (22_000, group.generation(generation + 2, others + 1)),
            (22_010, group.assignment(generation + 2, "a", others + 1)),
        ):
            lines.append((at_ms + after_ms, message))
    return group.text(lines)


@pytest.mark.parametrize(
    ("client_id", "has_static"), [("kafkajs", False), (KAFKA_GO, False), ("rdkafka", True)]
)
def test_a_library_without_static_members_is_not_offered_them(
    tmp_path: Path, client_id: str, has_static: bool
) -> None:
    report = audit_text(tmp_path, turns(client_id)).report
    text = "\n".join(operator_summary(report))
    assert (report.remedies[Remedy.STATIC] > 0) == has_static
    assert (report.avoidable > 0) == has_static
    assert ("would have avoided all" in text) == has_static
    assert ("has no static members" in text) != has_static
    assert ("longer than today's plus 20.0 s, the longest absence." in text) != has_static


@pytest.mark.parametrize(
    ("others", "says"),
    [
        (1, "It is probably one process in a group of 2: the other member stayed."),
        (3, "It is probably one process in a group of 4: each of the other 3 members stayed."),
        (0, ""),
    ],
)
def test_a_loop_of_one_process_says_that_the_others_stayed(
    tmp_path: Path, others: int, says: str
) -> None:
    report = audit_text(tmp_path, turns("rdkafka", others=others)).report
    text = "\n".join(operator_summary(report))
    assert says in text
    assert ("one process in a group" in text) == bool(says)


def test_a_static_member_that_expired_may_have_been_stopped(tmp_path: Path) -> None:
    group = CoordinatorLines("mail", is_new=True)
    member = "pod-1-00000000-0000-4000-8000-000000000001"
    messages = (
        (0, group.static_join(member, "pod-1", "Empty")),
        (1, group.preparation(0, group.join_reason(member, "pod-1"))),
        (3_000, group.generation(1, 1)),
        (3_010, group.assignment(1, member, 1, 1)),
        (60_000, group.expiry(member)),
        (60_001, group.preparation(1, group.expiry_reason(member))),
        (60_002, group.no_member(2)),
    )
    lines = ((START_MS + after_ms, message) for after_ms, message in messages)
    report = audit_text(tmp_path, group.text(lines)).report
    (line,) = (line for line in expirations(report) if line.startswith("  "))
    assert "not back before the log ends (maybe it was stopped: a static member sends no" in line
    assert any("ignore this if you stopped it" in line for line in empty_times(report))
