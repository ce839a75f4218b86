"""The lines and the members of one rebalance."""

from __future__ import annotations

from functools import cache

import pytest
from support.logs.busy_server_log import busy_report
from support.places import TESTS

from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.log_audit import audit_log
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.operations import group_lines
from fencepost.traces.operations.group_lines import GroupLines, RebalanceLines
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, Rebalance, Remedy


@cache
def busy() -> OperatorReport:
    return busy_report(20, 500)


def lines_of(report: OperatorReport, row: Rebalance) -> RebalanceLines:
    assert report.lines is not None
    return report.lines.of(row)


def test_a_rebalance_has_its_lines_from_the_cause_to_the_assignment() -> None:
    report = busy()
    for row in report.rebalances.rows:
        lines = [line.says for line in lines_of(report, row).lines]
        assert lines
        assert all(f" {row.group} " in says or f"[Group {row.group}]" in says for says in lines)
        assert sum("Preparing to rebalance" in says for says in lines) == 1
        assert f"for generation {row.generation}." in lines[-1]
        if row.cause is Cause.LEAVE:
            assert "has left group" in lines[0]
        if row.cause is Cause.EXPIRY:
            assert "has failed, removing it" in lines[0]
    assert {
        line.place for row in report.rebalances.rows for line in lines_of(report, row).lines
    } >= {row.place for row in report.rebalances.rows}


def test_a_rebalance_has_its_members_and_those_who_came_and_went() -> None:
    report = busy()
    seen = set()
    for row in report.rebalances.rows:
        story = lines_of(report, row)
        assert len(story.members) == row.members_after
        if row.cause is Cause.LEAVE:
            assert (story.came, len(story.gone or ())) == ((), 1)
            assert row.who.startswith((story.gone or ("",))[0])
        if row.cause is Cause.NEW_MEMBER and row.generation > 1:
            assert len(story.came or ()) == 1
        seen.add(row.cause)
    assert seen >= {Cause.LEAVE, Cause.NEW_MEMBER, Cause.EXPIRY, Cause.LEADER_REJOIN}


def test_a_request_log_has_requests_as_lines() -> None:
    log = RequestLog([TESTS / "traces" / "request_logs" / "kafka-2.8.0.log.gz"])
    report = audit_log(log, AuditSettings(), lines=GroupLines()).report
    rows = report.rebalances.rows
    assert rows
    stable = [row for row in rows if row.stable_ms is not None]
    for row in stable:
        story = lines_of(report, row)
        says = [line.says for line in story.lines]
        assert any(f"no error, generation {row.generation}" in each for each in says)
        assert len(story.members) == row.members_after
    everything = [line.says for row in stable for line in lines_of(report, row).lines]
    assert any(says.startswith("JoinGroup v") for says in everything)
    assert any("MEMBER_ID_REQUIRED" in says for says in everything)


def rebalance(start_ms: int, end_ms: int, generation: int, place: str) -> Rebalance:
    about = (Cause.LEAVE, "", (), 2, 1, Remedy.NOTHING, None, None, "", place, end_ms - start_ms)
    return Rebalance("g", generation, start_ms, end_ms, end_ms, *about)


def test_rebalances_that_follow_within_a_millisecond_are_told_apart() -> None:
    lines = GroupLines()
    for number in range(4):
        lines.add("g", 10, f"log:{number}0", f"Preparing {number}", ends=False)
        lines.add("g", 10, f"log:{number}1", f"Assignment {number}", ends=True)
    found = [lines.of(rebalance(10, 10, n, f"log:{n}0")).lines for n in range(4)]
    assert [[line.says for line in each] for each in found] == [
        [f"Preparing {n}", f"Assignment {n}"] for n in range(4)
    ]


def test_of_many_lines_the_first_and_the_last_are_shown() -> None:
    lines = GroupLines()
    for number in range(100):
        lines.add("g", number, f"log:{number}", f"line {number} {'x' * 900}", ends=number == 99)
    story = lines.of(rebalance(0, 99, 1, "log:0"))
    assert (len(story.lines), story.more) == (12, 88)
    assert [line.place for line in story.lines[-2:]] == ["log:98", "log:99"]
    assert max(len(line.says) for line in story.lines) == 500


def test_members_of_one_name_are_counted() -> None:
    lines = GroupLines()
    lines.add_members("g", 1, 5, [("id-1", "consumer-g-1"), ("id-2", "consumer-g-1")])
    lines.add_members("g", 2, 9, [("id-2", "consumer-g-1"), ("id-3", "pod-3")])
    assert lines.of(rebalance(0, 5, 1, "log:1")).members == ("consumer-g-1 (2)",)
    story = lines.of(rebalance(6, 9, 2, "log:2"))
    assert (story.came, story.gone) == (("pod-3",), ("consumer-g-1",))


def test_a_long_log_costs_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_lines, "_MOST", 5)
    lines = GroupLines()
    for number in range(9):
        lines.add("g", number, f"log:{number}", "a line", ends=False)
        lines.add_members("g", number, number, [("id", "pod")])
    assert len(lines.of(rebalance(0, 9, 1, "log:0")).lines) == 5
    assert lines.of(rebalance(0, 9, 8, "log:8")).members == ()
