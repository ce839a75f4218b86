"""Deployments: who restarted, and what that cost."""

from __future__ import annotations

import pytest
from support.logs.audit_reports import reported
from support.logs.model_log import Consumer, ModelLog

from fencepost.traces.operations.operator_rows import Deployment, Row
from fencepost.traces.operations.operator_words import cut, operator_summary
from fencepost.traces.operations.restarts import GAP_MS, Deployments, LogStart


def deployments(log: ModelLog) -> list[tuple[int, int, int]]:
    rows = reported(log.exchanges).deployments.rows
    return [(row.restarts, row.processes, row.rebalances) for row in rows]


def statics(log: ModelLog) -> list[Consumer]:
    members = [log.static(number) for number in (1, 2, 3)]
    log.form(*members)
    log.run(90)
    return members


def test_static_members_that_restart_in_time_cost_nothing() -> None:
    log = ModelLog()
    for member in statics(log):
        member.restart()
        log.run(5)
    assert deployments(log) == [(3, 3, 0)]


def test_what_a_member_costs_that_never_comes_back_is_no_deployment_s() -> None:
    log = ModelLog()
    members = statics(log)
    log.form(lost := log.static(4))
    log.run(90)
    lost.die()
    for member in members:
        member.restart()
        log.run(5)
    log.run(20)  # the lost one expires meanwhile
    assert deployments(log) == [(3, 3, 0)]


def test_what_a_member_costs_that_comes_back_too_late_is() -> None:
    log = ModelLog()
    members = statics(log)
    for number, member in enumerate(members):
        member.die()
        log.run(12 if number == 1 else 3)
        member.again().start()
        log.run(3)
    assert deployments(log) == [(3, 3, 2)]


def test_a_second_process_on_an_id_is_no_restart() -> None:
    log = ModelLog()
    for number, member in enumerate(statics(log)):
        other = log.pod(7 + number, instance=member.instance).start()
        log.run(5)
        assert (member.state, other.state) == ("fenced", "stable")
    assert deployments(log) == []


def test_dynamic_members_whose_names_are_new_each_time_are_matched_by_time() -> None:
    rows: list[Row] = []
    found = Deployments("g", rows.append, LogStart())
    for number in range(3):
        found.add_departure(f"old-{number}", 10_000 * number)
        found.add_arrival(f"new-{number}", 10_000 * number + 4_000)
        found.add_rebalance(10_000 * number + 1_000, (10_000 * number, f"old-{number}"))
        found.add_rebalance(10_000 * number + 5_000, None)
    found.add_departure("gone-for-good", 30_000)
    found.add_rebalance(31_000, (30_000, "gone-for-good"))
    found.close(30_000 + GAP_MS + 1)
    assert rows == [Deployment("g", 0, 24_000, 3, 3, 6, begins=True, ends=True)]


def test_a_row_waits_until_the_cost_is_known() -> None:
    rows: list[Row] = []
    found = Deployments("g", rows.append, LogStart())
    found.add_restart("a", 0)
    found.add_restart("b", 1_000)
    found.purge(2 * GAP_MS, 5_000)
    assert rows == []
    found.add_rebalance(5_000, None)
    found.purge(2 * GAP_MS, None)
    assert rows == [Deployment("g", 0, 1_000, 2, 2, 1, begins=True, ends=True)]


@pytest.mark.parametrize("whole", [True, False])
def test_a_deployment_that_the_log_cuts_says_that_it_may_have_cost_more(whole: bool) -> None:
    log = ModelLog()
    log.form(*(pods := [log.pod(number) for number in (1, 2, 3)]))
    log.run(90)
    start = len(log.exchanges)  # nothing is missing where each member is restarted
    log.bounce(*pods)
    log.run(60)
    report = reported(log.exchanges[start:] if whole else log.exchanges[start + 1 :])
    (row,) = report.deployments.rows
    assert (row.restarts, row.begins) == (3 if whole else 2, whole)
    said = "It may have cost more: the log begins less than a minute before it"
    assert any(said in line for line in operator_summary(report)) is not whole


def test_a_log_that_ends_in_a_deployment_says_that_it_may_have_cost_more() -> None:
    log = ModelLog()
    log.form(*(pods := [log.pod(number) for number in (1, 2, 3)]))
    log.run(90)
    log.bounce(*pods[:2])
    pods[2].leave()
    log.run(5)
    (row,) = (report := reported(log.exchanges)).deployments.rows
    assert (row.restarts, row.begins, row.ends) == (2, True, False)
    assert cut(row) == "It may have cost more: the log ends before all are back"
    assert any(cut(row) in line for line in operator_summary(report))
    log.run(90)
    (row,) = reported(log.exchanges).deployments.rows
    assert (row.ends, cut(row)) == (True, "")


def test_a_log_that_is_shorter_than_a_deployment_says_both() -> None:
    row = Deployment("g", 0, 1, 2, 2, 0, begins=False, ends=False)
    said = "the log begins less than a minute before it and ends before all are back"
    assert cut(row) == f"It may have cost more: {said}"


def test_a_log_that_begins_long_before_a_deployment_shows_all_of_it() -> None:
    log = ModelLog()
    log.form(*(pods := [log.static(number) for number in (1, 2)]))
    log.run(90)
    start = len(log.exchanges)  # in the middle of the group's life
    log.run(90)
    for pod in pods:
        pod.restart()
        log.run(5)
    (row,) = reported(log.exchanges[start:]).deployments.rows
    assert row == Deployment("orders", row.from_ms, row.until_ms, 2, 2, 0, begins=True, ends=True)
