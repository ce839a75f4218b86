"""The time line of a log: all groups, and a lane for each, in columns of equal time."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import pytest
from support.logs.audit_reports import reported
from support.logs.busy_server_log import SPAN_MS, START_MS, busy_report
from support.logs.model_log import ModelLog

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, Rebalance, Remedy
from fencepost.traces.operations.time_line import (
    DRAWN,
    LEGEND,
    NARROW,
    WIDE,
    Column,
    Lane,
    TimeLine,
    chosen,
    time_line,
)


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


@cache
def many(groups: int = 20, rebalances: int = 500) -> OperatorReport:
    return busy_report(groups, rebalances)


def number(column: Column) -> int:
    return int(column.label or 1)


def test_each_rebalance_is_in_a_bar_with_its_cause_and_a_link() -> None:
    report = busy()
    line = drawn(report)
    assert [lane.name for lane in line.lanes] == ["busy", "calm"]
    rows = {f"r-{row.place}" for row in report.rebalances.rows if row.group == "busy"}
    for columns in (line.lanes[0].wide, line.lanes[0].narrow):
        assert {column.link for column in columns} <= rows
        assert sum(map(number, columns)) == len(rows)
        assert {part.kind for column in columns for part in column.parts} == {
            *("came", "went", "expired")
        }
    alone = [column for column in line.lanes[0].wide if not column.label]
    assert any("leave pod-1 (10.0.0.1), " in column.says for column in alone)
    assert {kind for kind, _ in LEGEND} >= {"came", "went", "expired", "again", "other"}


def test_members_that_expired_and_takeovers_are_marks_with_their_number() -> None:
    (lane, _) = drawn(busy()).lanes
    (mark,) = lane.expirations
    assert mark.label == "1"
    assert "pod-3 (10.0.0.3) of 'busy' expired" in mark.says
    log = ModelLog()
    log.form(*(pods := [log.static(number) for number in (1, 2)]))
    pods[0].restart()
    log.run(5)
    (lane,) = drawn(reported(log.exchanges)).lanes
    (mark,) = lane.takeovers
    assert "orders-1 of 'orders' went to a new member" in mark.says


@pytest.mark.parametrize(("groups", "rebalances"), [(20, 500), (200, 5_000)])
def test_nothing_of_a_busy_log_is_lost_and_nothing_overlaps(groups: int, rebalances: int) -> None:
    report = many(groups, rebalances)
    line = drawn(report)
    assert (line.count, line.overall.rebalances, len(line.lanes)) == (groups, rebalances, groups)
    assert not line.left_out
    assert sum(lane.rebalances for lane in line.lanes) == line.overall.rebalances == rebalances
    assert sum(lane.expired for lane in line.lanes) == report.expirations.count > 0
    taken = sum(figures.replaced for figures in report.figures.values())
    assert sum(lane.taken for lane in line.lanes) == taken > 0
    for lane in (line.overall, *line.lanes):
        check_lane(lane)


def check_lane(lane: Lane) -> None:
    for columns, count in ((lane.wide, WIDE), (lane.narrow, NARROW)):
        numbers = [column.number for column in columns]
        assert numbers == sorted(set(numbers))
        assert set(numbers) <= set(range(count))
        if lane.name:
            assert sum(map(number, columns)) == lane.rebalances
        for column in columns:
            heights = sum(part.height for part in column.parts)
            assert column.y >= 0
            assert abs(column.y + heights - lane.bottom) < 1
    for marks, total in ((lane.expirations, lane.expired), (lane.takeovers, lane.taken)):
        if all("+" not in mark.label for mark in marks):
            assert sum(int(mark.label) for mark in marks) == total
        places = [mark.x for mark in marks]
        assert all(after - before >= 2.2 for before, after in pairwise(places))
        assert all(1 <= place <= 99 for place in places), "cut off at an edge"


def test_the_largest_bar_is_as_tall_as_its_lane_allows_and_the_smallest_is_seen() -> None:
    line = drawn(many())
    columns = [column for lane in line.lanes for column in lane.wide]
    tallest = max(columns, key=number)
    heights = {number(each): sum(part.height for part in each.parts) for each in columns}
    assert heights[number(tallest)] == pytest.approx(18, abs=0.5)
    assert min(heights.values()) >= 7
    assert max(number(each) for each in line.overall.wide) > number(tallest)


def test_where_numbers_would_touch_the_largest_are_there() -> None:
    line = drawn(many(200, 5_000))
    for columns, width in ((line.overall.wide, 8.5), (line.overall.narrow, 13.5)):
        spans = [
            (each.number * width - len(each.label) * 3, each.number * width + len(each.label) * 3)
            for each in columns
            if each.label
        ]
        assert len(spans) > 8
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
        all_of_them = [int(number_in_words(each).replace(",", "")) for each in columns]
        assert sum(all_of_them) == 5_000, "those without room are said, too"
        assert max(map(number, columns)) == max(all_of_them)


def number_in_words(column: Column) -> str:
    """Find the number of rebalances in a column's words; a single one has its own words."""
    several = re.search(r": ([\d,]+) rebalances \(", column.says)
    return several[1] if several else "1"


def test_a_rebalance_longer_than_a_column_is_a_stretch() -> None:
    line = drawn(many())
    (emails,) = (lane for lane in line.lanes if lane.name == "emails")
    assert emails.stretches == ()
    report = OperatorReport(from_ms=START_MS, until_ms=START_MS + SPAN_MS)
    for n, begin in enumerate((0, 600_000, 9_000_000)):
        report.add(of_ms(START_MS + begin, 700_000, f"log:{n}"))
    report.add(of_ms(START_MS + 2_000_000, 10, "log:9"))
    (lane,) = drawn(report).lanes
    assert [round(each.width) for each in lane.stretches] == [6, 3], "two that touch are one"
    assert "rebalancing for 22 min" in lane.stretches[0].says


def of_ms(start_ms: int, took_ms: int, place: str) -> Rebalance:
    end_ms = start_ms + took_ms
    about = (Cause.LEAVE, "pod-1", (), 2, 1, Remedy.NOTHING, None, None, "", place, took_ms)
    return Rebalance("slow", 1, start_ms, end_ms, end_ms, *about)


def test_a_page_with_little_room_has_a_rebalance_for_each_column_first() -> None:
    report = many()
    assert chosen(report, 500) == report.rebalances.rows
    some = chosen(report, 100)
    assert len(some) == 100
    assert some == [row for row in report.rebalances.rows if row in some]
    most = chosen(report, 420)
    line = time_line(report, {row.place: row.place for row in most})
    assert line is not None
    assert all(column.link for lane in line.lanes for column in lane.wide)


def test_of_more_events_than_are_kept_the_line_says_how_many_it_has() -> None:
    report = busy_report(20, 500)
    for kept, most in ((report.rebalances, 400), (report.expirations, 3)):
        assert kept.count > most
        kept.most = most
    assert drawn(report).left_out == (
        f"Drawn are the first 400 of {report.rebalances.count:,} rebalances; the first 3 of "
        f"{report.expirations.count:,} members that expired. The figures above count all."
    )


def test_a_log_without_events_has_no_line() -> None:
    assert time_line(OperatorReport(), {}) is None
    assert time_line(OperatorReport(from_ms=0, until_ms=9), {}) is None


def test_a_log_of_one_moment_has_a_line() -> None:
    report = OperatorReport(from_ms=START_MS, until_ms=START_MS)
    report.add(of_ms(START_MS, 0, "log:1"))
    (lane,) = drawn(report).lanes
    assert [column.number for column in lane.wide] == [0]


def test_the_busiest_groups_come_first() -> None:
    exchanges = []
    for number_ in range(40):
        log = ModelLog(f"g-{number_:02}")
        log.form(*(log.pod(n) for n in range(1, 3 if number_ == 7 else 2)))
        exchanges += log.exchanges
    line = drawn(reported(exchanges))
    assert (len(line.lanes), line.count) == (40, 40)
    assert DRAWN < 40
    assert line.lanes[0].name == "g-07"
