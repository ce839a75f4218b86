"""Who held an instance id: life lines, fencings, ping-pongs, leaves, on logs of the model."""

from __future__ import annotations

from support.logs.audit_reports import reported
from support.logs.model_log import START_MS, Consumer, ModelLog

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import End, LifeLine


def of(log: ModelLog, first: int = 0) -> OperatorReport:
    return reported(log.exchanges[first:])


def line_of(report: OperatorReport, consumer: Consumer) -> LifeLine:
    (line,) = [r for r in report.life_lines.rows if r.member_id == consumer.member_id]
    return line


def nothing_wrong(report: OperatorReport) -> bool:
    kinds = (report.chains, report.self_fencings, report.static_leaves, report.thrown_out)
    return not any(kept.count for kept in kinds)


def turns(log: ModelLog, holder: Consumer, others: list[Consumer]) -> None:
    """Each takes the id from the one before it, who is told with its next heartbeat."""
    for other in others:
        other.start()
        log.run(3)
        assert holder.state == "fenced"
        log.consumers.remove(holder)
        holder = other


def test_a_restart_ends_one_life_line_and_begins_the_next() -> None:
    log = ModelLog()
    first, other = log.static(1), log.static(2)
    log.form(first, other)
    restarted_at = log.now
    second = first.restart()
    log.run(3)
    report = of(log)
    before, after = line_of(report, first), line_of(report, second)
    assert (before.end, str(before.by)) == (End.REPLACED, "pod-1 (10.0.0.1)")
    assert before.until_ms == after.from_ms == START_MS + restarted_at
    assert (after.end, after.until_ms, after.begins) == (End.STILL_THERE, None, True)
    assert nothing_wrong(report)


def test_two_pods_with_one_id_are_a_ping_pong() -> None:
    log = ModelLog()
    log.form(log.static(1), holder := log.pod(3, instance="orders-2"))
    rivals = [log.pod(n, instance="orders-2") for n in (7, 3, 7)]
    turns(log, holder, rivals)
    (chain,) = of(log).chains.rows
    assert chain.ping_pong
    assert (chain.instance_id, chain.count) == ("orders-2", 3)
    assert [p.client_id for p in chain.processes] == ["pod-3", "pod-7"]
    assert all(handover.told for handover in chain.handovers)
    lines = [r for r in of(log).life_lines.rows if r.instance_id == "orders-2"]
    assert [line.process.client_id for line in lines] == ["pod-3", "pod-7", "pod-3", "pod-7"]
    assert [line.fenced_ms is not None for line in lines] == [True, True, True, False]


def test_one_pod_that_restarts_often_is_none() -> None:
    log = ModelLog()
    log.form(pod := log.static(1))
    for _ in range(5):
        pod = pod.restart()
        log.run(2)
    assert nothing_wrong(of(log))


def test_one_that_takes_over_for_good_is_a_fencing_but_no_ping_pong() -> None:
    log = ModelLog()
    log.form(old := log.pod(3, instance="orders-2"))
    turns(log, old, [log.pod(7, instance="orders-2")])
    (chain,) = of(log).chains.rows
    assert not chain.ping_pong
    assert (chain.count, chain.handovers[0].told) == (1, True)


def test_a_second_process_with_the_same_name_is_told_from_a_late_join() -> None:
    log = ModelLog()
    log.form(pod := log.static(1))
    second = pod.again().start()
    log.run(3)
    assert (pod.state, second.state) == ("fenced", "stable")
    (row,) = of(log).self_fencings.rows
    assert (row.alive, row.second) == (True, True)
    (found,) = of(log).problems
    assert found.kind == "fenced"


def test_a_heartbeat_that_is_written_after_the_join_that_replaced_it_is_no_return() -> None:
    log = ModelLog()
    log.form(log.static(2), pod := log.static(1))
    pod.beat()
    beat = log.exchanges.pop()
    log.pod(7, instance=pod.instance).start()
    place = next(n for n, x in enumerate(log.exchanges) if x.client_id == "pod-7")
    log.exchanges.insert(place + 1, beat)
    log.run(3)
    lines = [r for r in of(log).life_lines.rows if r.instance_id == pod.instance]
    assert [line.process.client_id for line in lines] == ["pod-1", "pod-7"]


def test_a_heartbeat_that_is_fenced_was_alive_even_if_it_came_before_the_join() -> None:
    log = ModelLog()
    log.form(log.static(1), log.pod(3, instance="orders-2"))
    log.pod(7, instance="orders-2").start()
    log.run(3)
    (fenced,) = [x for x in log.exchanges if x.answer_body.get("errorCode") == 82]
    assert fenced.api == "Heartbeat"
    joined = next(x for x in log.exchanges if x.client_id == "pod-7" and x.api == "JoinGroup")
    fenced.at_ms = joined.at_ms - 16  # in the queue of another thread
    (chain,) = of(log).chains.rows
    assert (chain.count, chain.fenced) == (1, 1)
    fenced.at_ms = joined.at_ms - 3000
    assert [chain.fenced for chain in of(log).chains.rows] in ([], [0])


def test_a_heartbeat_that_is_written_after_the_leave_of_its_member_is_no_new_member() -> None:
    log = ModelLog()
    log.form(log.static(2), pod := log.static(1))
    pod.beat()
    beat = log.exchanges.pop()
    log.leave(log.pod(9), "", pod.instance)
    log.exchanges.append(beat)
    pod.die()
    log.run(3)
    lines = [r for r in of(log).life_lines.rows if r.instance_id == pod.instance]
    assert [line.end for line in lines] == [End.REMOVED]


def test_a_pod_that_moves_to_another_host_is_not_fenced() -> None:
    log = ModelLog()
    log.form(old := log.pod(3, instance="orders-2"))
    old.die()
    log.form(Consumer(log, "pod-3", "10.0.0.99", instance="orders-2"))
    assert nothing_wrong(of(log))


def test_a_late_join_of_its_own_fences_a_live_process() -> None:
    log = ModelLog()
    log.form(pod := log.static(1))
    given_up = pod.again()
    given_up.state = "dead"
    log.send(given_up, "JoinGroup", given_up.join_body())
    log.run(3)
    assert pod.state == "fenced"
    (row,) = of(log).self_fencings.rows
    assert (str(row.process), row.alive, row.api) == ("pod-1 (10.0.0.1)", True, "Heartbeat")
    assert not row.second
    assert not of(log).chains.count


def test_a_join_that_was_given_up_while_it_waited_is_told_apart() -> None:
    log = ModelLog()
    log.form(other := log.static(2))
    other.state = "frozen"
    given_up = log.static(1)
    given_up.state = "dead"
    log.send(given_up, "JoinGroup", given_up.join_body())
    log.now += 300
    pod = given_up.again().start()
    other.state = "stable"
    log.run(5)
    assert pod.state == "stable"
    report = of(log)
    (row,) = report.self_fencings.rows
    assert (row.alive, row.api) == (False, "JoinGroup")
    lines = [r for r in report.life_lines.rows if r.instance_id == "orders-1"]
    assert [line.end for line in lines] == [End.REPLACED, End.STILL_THERE]
    assert lines[0].until_ms == lines[1].from_ms


def test_a_static_member_that_leaves_is_told_from_one_that_is_removed() -> None:
    log = ModelLog()
    log.form(leaver := log.static(1), removed := log.static(2), log.static(3))
    leaver.leave()
    log.run(3)
    removed.die()
    log.leave(log.pod(9), "", removed.instance)
    log.run(3)
    report = of(log)
    by_instance = {row.instance_id: row for row in report.static_leaves.rows}
    assert by_instance["orders-1"].itself is True
    assert by_instance["orders-2"].itself is False
    assert str(by_instance["orders-2"].by) == "pod-9 (10.0.0.9)"
    assert line_of(report, leaver).end is End.LEFT
    assert line_of(report, removed).end is End.REMOVED
    assert str(line_of(report, removed).by) == "pod-9 (10.0.0.9)"


def test_dynamic_members_may_leave() -> None:
    log = ModelLog()
    log.form(log.pod(1), leaver := log.pod(2))
    leaver.leave()
    log.run(3)
    assert nothing_wrong(of(log))


def test_whoever_is_silent_for_its_session_has_expired() -> None:
    log = ModelLog()
    log.form(gone := log.static(1), log.static(2))
    log.run(5)
    last = log.now
    gone.die()
    log.run(20)
    line = line_of(of(log), gone)
    assert line.end is End.EXPIRED
    assert START_MS + last + 8_900 <= (line.until_ms or 0) <= START_MS + last + 10_000


def test_the_last_one_of_a_group_is_silent_nobody_knows_more() -> None:
    log = ModelLog()
    log.form(gone := log.static(1))
    gone.die()
    log.run(20)
    other = ModelLog("payments")
    other.form(other.static(1))
    other.run(40)
    report = reported(sorted([*log.exchanges, *other.exchanges], key=lambda x: x.answered_ms))
    assert [line.end for line in report.life_lines.rows] == [End.SILENT, End.STILL_THERE]


def test_a_log_that_begins_in_the_middle_says_so() -> None:
    log = ModelLog()
    log.form(log.static(1), log.static(2))
    start = len(log.exchanges)
    log.run(5)
    lines = of(log, start).life_lines.rows
    assert [line.instance_id for line in lines] == ["orders-1", "orders-2"]
    assert all(not line.begins and line.end is End.UNKNOWN for line in lines)


def test_a_fencing_by_somebody_who_joined_before_the_log_began_is_seen() -> None:
    log = ModelLog()
    log.form(log.static(1), old := log.pod(3, instance="orders-2"))
    new = log.pod(7, instance="orders-2").start()
    assert new.state == "stable"
    start = len(log.exchanges)
    new.beat()
    old.beat()
    (chain,) = of(log, start).chains.rows
    assert [str(p) for p in chain.processes] == ["pod-3 (10.0.0.3)", "pod-7 (10.0.0.7)"]


def test_a_leave_by_a_stranger_may_be_its_own() -> None:
    log = ModelLog()
    log.form(leaver := log.static(1), log.static(2))
    start = len(log.exchanges)
    leaver.leave()
    (row,) = of(log, start).static_leaves.rows
    assert row.itself is None
    assert row.process is None
