"""One group of server.log, line by line, where the recorded logs have no such story."""

from __future__ import annotations

from pathlib import Path

from fencepost.traces.audit.operations.operator_report import OperatorReport
from fencepost.traces.audit.operations.operator_rows import Cause, End, Remedy
from fencepost.traces.audit.server_log import audit_server_log
from fencepost.traces.logs.server_log import ServerLog

UUID = "2623169f-271d-4e1f-ae23-2007b27b1{:03}"


def told(folder: Path, *lines: tuple[int, str]) -> OperatorReport:
    """The report on lines of the new coordinator, at seconds after noon."""
    path = folder / "server.log"
    path.write_text(
        "".join(
            f"[2026-11-23 12:{second // 60:02}:{second % 60:02},000] INFO [GroupCoordinator id=1] "
            f"{text} (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
            for second, text in lines
        )
    )
    return audit_server_log(ServerLog([path])).report


def preparing(generation: int, reason: str) -> str:
    state = f"in state PreparingRebalance with old generation {generation}"
    return f"Preparing to rebalance group g {state} (reason: {reason})."


def stable(generation: int, members: int) -> str:
    return f"Stabilized group g generation {generation} with {members} members."


def joins(name: str, number: int, generation: int) -> str:
    member = f"{name}-{UUID.format(number)}"
    return preparing(generation, f"Adding new member {member} with group instance id null")


def left(name: str, number: int, reason: str) -> str:
    member = f"{name}-{UUID.format(number)}"
    said = "has left group through explicit `LeaveGroup` request; client reason:"
    return f"[Group g] Member {member} {said} {reason}"


def leaves(name: str, number: int, generation: int) -> str:
    member = f"{name}-{UUID.format(number)}"
    return preparing(generation, f"explicit `LeaveGroup` request for ({member}) members.")


def test_a_dynamic_member_that_leaves_and_comes_back(tmp_path: Path) -> None:
    report = told(
        tmp_path,
        (0, joins("a", 1, 0)),
        (1, stable(1, 1)),
        (2, joins("b", 2, 1)),
        (3, stable(2, 2)),
        (10, left("b", 2, "the consumer is being closed")),
        (10, leaves("b", 2, 2)),
        (11, stable(3, 1)),
        (18, joins("b", 3, 3)),
        (19, stable(4, 2)),
    )
    rows = report.rebalances.rows
    assert [row.cause for row in rows] == [*2 * [Cause.NEW_MEMBER], Cause.LEAVE, Cause.NEW_MEMBER]
    assert [row.who for row in rows] == ["a", "b", "b", "b"]
    assert [(row.members_before, row.members_after) for row in rows[2:]] == [(2, 1), (1, 2)]
    assert [row.remedy for row in rows[2:]] == 2 * [Remedy.STATIC]
    assert (rows[2].away_ms, rows[2].session_ms) == (8_000, 15_000)
    assert (report.figures["g"].static, report.figures["g"].dynamic) == (0, 2)


def test_a_member_that_was_not_polled_is_a_problem(tmp_path: Path) -> None:
    report = told(
        tmp_path,
        (0, joins("a", 1, 0)),
        (1, stable(1, 1)),
        (9, left("a", 1, "consumer poll timeout has expired.")),
        (9, "Group g with generation 2 is now empty."),
    )
    (problem,) = report.problems
    assert problem.kind == "poll-timeout"
    assert report.rebalances.count == 1  # an empty group has no rebalance


def test_a_log_that_begins_in_the_middle(tmp_path: Path) -> None:
    joined = "Static member with groupInstanceId=i-1 and unknown member id joins group g in Stable"
    replaced = "state. Replacing previously mapped member i-1-old with this groupInstanceId."
    report = told(
        tmp_path,
        (0, f"{joined} {replaced}"),
        (9, f"Member i-1-{UUID.format(7)} in group g has failed, removing it from the group."),
        (9, preparing(5, f"removing member i-1-{UUID.format(7)} on heartbeat expiration.")),
        (9, stable(6, 3)),
    )
    first, second = sorted(report.life_lines.rows, key=lambda line: line.begins)
    assert (first.member_id, first.begins, first.end) == ("i-1-old", False, End.REPLACED)
    assert (second.member_id, second.end) == (f"i-1-{UUID.format(7)}", End.EXPIRED)
    (row,) = report.rebalances.rows
    assert (row.cause, row.members_before, row.members_after) == (Cause.EXPIRY, None, 3)
