"""The time line of a log: a lane for each group, with rebalances, expirations and takeovers."""

from __future__ import annotations

from support.logs.audit_reports import reported
from support.logs.model_log import ModelLog

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.ownership_picture import LEFT, WIDTH
from fencepost.traces.operations.time_line import LEGEND, TimeLine, time_line


def drawn(report: OperatorReport) -> TimeLine:
    line = time_line(report, {row.place: f"r-{row.place}" for row in report.rebalances.rows})
    assert line is not None
    return line


def busy() -> OperatorReport:
    log, other = ModelLog("busy"), ModelLog("calm")
    other.form(other.pod(9))
    pods = [log.pod(number) for number in (1, 2, 3)]
    log.form(*pods)
    log.bounce(*pods[:2])
    pods[2].die()
    log.run(60)
    return reported([*log.exchanges, *other.exchanges])


def test_each_rebalance_is_a_mark_with_its_cause_and_a_link_to_its_row() -> None:
    report = busy()
    line = drawn(report)
    assert [lane.name for lane in line.lanes] == ["busy", "calm"]
    marks = line.lanes[0].rebalances
    rows = [row for row in report.rebalances.rows if row.group == "busy"]
    assert [mark.link for mark in marks] == [f"r-{row.place}" for row in rows]
    assert {mark.kind for mark in marks} == {"came", "went", "expired"}
    assert {mark.kind for mark in marks} <= {kind for kind, _ in LEGEND}
    assert all(mark.x >= LEFT and mark.x + 1 <= WIDTH for mark in marks)
    assert "leave pod-1 (10.0.0.1), " in next(m.says for m in marks if m.kind == "went")


def test_members_that_expired_and_takeovers_are_marks_of_their_own() -> None:
    (lane, _) = drawn(busy()).lanes
    (moment,) = lane.expirations
    assert "pod-3 (10.0.0.3) expired" in moment.says
    log = ModelLog()
    log.form(*(pods := [log.static(number) for number in (1, 2)]))
    pods[0].restart()
    log.run(5)
    (lane,) = drawn(reported(log.exchanges)).lanes
    (moment,) = lane.takeovers
    assert "orders-1 went to a new member" in moment.says


def test_a_log_without_events_has_no_line() -> None:
    assert time_line(OperatorReport(), {}) is None
    assert time_line(OperatorReport(from_ms=0, until_ms=9), {}) is None


def test_the_busiest_groups_are_drawn() -> None:
    exchanges = []
    for number in range(40):
        log = ModelLog(f"g-{number:02}")
        log.form(*(log.pod(n) for n in range(1, 3 if number == 7 else 2)))
        exchanges += log.exchanges
    line = drawn(reported(exchanges))
    assert (len(line.lanes), line.count) == (30, 40)
    assert line.lanes[0].name == "g-07"
