"""The operator's report as a whole: on real logs, interleaved, bounded, as JSON and as text."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.logs.audit_reports import reported
from support.logs.model_log import Consumer, ModelLog
from support.places import TESTS

from fencepost.traces.logs.request_log import LoggedExchange, read_request_log
from fencepost.traces.operations import operator_report
from fencepost.traces.operations.operator_report import LimitedRows, OperatorAudit, OperatorReport
from fencepost.traces.operations.operator_rows import Cause, Process, Remedy, StaticLeave, ThrownOut
from fencepost.traces.operations.operator_words import (
    NO_LINE,
    SCHEMA,
    operator_json,
    operator_summary,
)
from fencepost.traces.operations.problem_words import operator_problems

RECORDED = TESTS / "traces" / "request_logs"
EXAMPLES = RECORDED.parent.parent.parent / "examples" / "request-logs"
LOGS = [*sorted(RECORDED.glob("*.log.gz")), *sorted(EXAMPLES.glob("*.log.gz"))]
HOUR_S = 3600


@pytest.fixture(params=LOGS, ids=lambda path: path.name)
def recorded(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def staged(log: Path) -> list[dict[str, Any]]:
    manifest = log.with_name(log.name.removesuffix(".gz") + ".staged.json")
    found: list[dict[str, Any]] = json.loads(manifest.read_text("utf-8"))["staged"]
    return found


def exchanges(log: Path) -> list[LoggedExchange]:
    return list(read_request_log([log]))


# Real logs


def test_what_was_staged_is_named_and_nothing_else(recorded: Path) -> None:
    report = reported(exchanges(recorded))
    found = {(p.kind, p.group, p.instance_id, p.names) for p in operator_problems(report)}
    wanted = [row for row in staged(recorded) if row.get("by") != "admin"]
    assert len(wanted) == 4
    assert len(found) == len(operator_problems(report)) == len(wanted)
    for row in wanted:
        (names,) = [names for *what, names in found if what == _what(row)]
        assert [name.partition(" ")[0] for name in names] == row["names"]


def _what(row: dict[str, Any]) -> list[Any]:
    return [row["kind"], row["group"], row["instance"]]


def test_three_logs_are_there() -> None:
    assert [log.name for log in LOGS] == [
        "kafka-2.8.0.log.gz",
        "kafka-4.3.0.log.gz",
        "kafka-request.log.gz",
    ]


def test_an_administrators_removals_are_told_and_are_no_problem(recorded: Path) -> None:
    report = reported(exchanges(recorded))
    removed = {(r.group, r.instance_id) for r in report.static_leaves.rows if r.itself is False}
    wanted = {(r["group"], r["instance"]) for r in staged(recorded) if r.get("by") == "admin"}
    assert removed == wanted


@pytest.mark.parametrize("fault", ["ping-pong", "self-fencing", "static-leave", "short-session"])
def test_a_log_without_a_fault_does_not_report_it(recorded: Path, fault: str) -> None:
    groups = {row["group"] for row in staged(recorded) if row["kind"] == fault}
    without = [x for x in exchanges(recorded) if not groups & set(x.group_ids)]
    kinds = {problem.kind for problem in operator_problems(reported(without))}
    everything = {"ping-pong", "self-fencing", "static-leave", "short-session"}
    assert kinds == everything - {fault}


def test_every_rebalance_of_everyday_life_has_a_cause(recorded: Path) -> None:
    report = reported(exchanges(recorded))
    assert report.causes[Cause.UNKNOWN] == 0
    assert {
        Cause.NEW_MEMBER,
        Cause.LEADER_REJOIN,
        Cause.CHANGED_SUBSCRIPTION,
        Cause.LEAVE,
        Cause.EXPIRY,
    } == set(report.causes)
    assert all(r.stable_ms or r.is_emptying or r.is_cut for r in report.rebalances.rows)
    assert report.emptying == sum(r.is_emptying for r in report.rebalances.rows) > 0


def test_deployments_of_static_members_cost_no_rebalance(recorded: Path) -> None:
    report = reported(exchanges(recorded))
    instances = {line.group for line in report.life_lines.rows}
    assert len(report.deployments.rows) >= 2
    for row in report.deployments.rows:
        assert (row.restarts, row.processes) == (3, 3)
        assert row.rebalances == (0 if row.group in instances else 3)


def test_the_report_keeps_to_its_schema(recorded: Path) -> None:
    Draft202012Validator.check_schema(SCHEMA.schema())
    Draft202012Validator(SCHEMA.schema()).validate(operator_json(reported(exchanges(recorded))))


def test_the_schema_would_notice() -> None:
    told = operator_json(reported([]))
    Draft202012Validator(SCHEMA.schema()).validate(told)
    assert list(Draft202012Validator(SCHEMA.schema()).iter_errors({**told, "groups": None}))
    assert list(Draft202012Validator(SCHEMA.schema()).iter_errors({**told, "more": 1}))


# Any order of groups, any size


def interleaved(parts: list[list[LoggedExchange]], how: random.Random) -> list[LoggedExchange]:
    """Each group's exchanges in their order, the groups shuffled."""
    left = [list(reversed(part)) for part in parts]
    mixed = []
    while any(left):
        some = how.choice([part for part in left if part])
        mixed.append(some.pop())
    return mixed


@pytest.mark.parametrize("seed", range(5))
def test_groups_may_be_interleaved_in_any_way(recorded: Path, seed: int) -> None:
    whole = exchanges(recorded)
    by_group: dict[str, list[LoggedExchange]] = {}
    for exchange in whole:
        for group in exchange.group_ids:
            by_group.setdefault(group, []).append(exchange)
    mixed = interleaved(list(by_group.values()), random.Random(seed))
    assert mixed != whole
    told, again = (
        operator_json(reported(whole)),
        operator_json(reported(mixed)),
    )
    assert {**told, "from_ms": 0} == {**again, "from_ms": 0}


def days_of(group: str, number: int) -> ModelLog:
    """A group that lives, falls silent for hours, and is there again."""
    log = ModelLog(group)
    make = log.static if number % 2 else log.pod
    for _ in range(2):
        pods = [make(n) for n in (1, 2, 3)]
        log.form(*pods)
        pods[1] = pods[1].restart()
        log.run(20)
        log.form(log.pod(7, instance=pods[0].instance))
        if number % 3:
            pods[1].leave()
        log.run(5)
        for consumer in list(log.consumers):
            consumer.die()
        log.now += 1000 * HOUR_S * (number + 1)
        log.model.advance_to(log.now)
    return log


def test_what_is_swept_away_meanwhile_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = [days_of(f"group-{n}", n) for n in range(6)]
    whole = sorted((x for log in logs for x in log.exchanges), key=lambda x: x.answered_ms)
    told = operator_json(reported(whole))
    monkeypatch.setattr(operator_report, "_SWEEP_EVERY", 1)
    audit = OperatorAudit()
    alive = []
    for exchange in whole:
        audit.take(exchange)
        alive.append(len(audit._stories))
    assert operator_json(audit.finish()) == told
    assert max(alive) == 6
    assert alive[-1] == 1  # the others are over
    assert told["life_lines"]["count"] > 6


def test_of_many_rows_the_same_ones_are_kept_and_all_are_counted() -> None:
    numbers = list(range(1000))
    for seed in range(3):
        shuffled = numbers[:]
        random.Random(seed).shuffle(shuffled)
        kept: LimitedRows[int] = LimitedRows(lambda n: (n,), most=10)
        for number in shuffled:
            kept.add(number)
        assert (kept.count, kept.rows) == (1000, numbers[:10])


def test_only_the_groups_that_are_asked_for() -> None:
    logs = [days_of(f"group-{n}", n) for n in range(2)]
    audit = OperatorAudit(frozenset({"group-1"}))
    for pair in zip_longest(*(log.exchanges for log in logs)):
        for exchange in filter(None, pair):
            audit.take(exchange)
    assert {r.group for r in audit.finish().rebalances.rows} == {"group-1"}


def test_rebalances_are_counted_by_the_hour() -> None:
    log = days_of("group-0", 0)
    report = reported(log.exchanges)
    assert sum(report.by_hour.values()) == report.rebalances.count
    assert len(report.by_hour) == 2
    assert all(hour % (1000 * HOUR_S) == 0 for hour in report.by_hour)


def test_lines_that_make_no_sense_are_counted() -> None:
    log = ModelLog()
    log.form(log.pod(1))
    beat = log.exchanges[-1]
    assert beat.api == "Heartbeat"
    odd = [
        replace(beat, request_body={**beat.request_body, "memberId": 7}),
        replace(beat, answer_body={}),
        replace(log.exchanges[1], answer_body={"errorCode": 0}),
    ]
    report = reported([*log.exchanges, *odd])
    assert report.unreadable == 3
    assert report.rebalances.count == 1


# Members near their timeouts


def test_who_comes_near_its_session_timeout_is_named_the_nearest_first() -> None:
    log = ModelLog()
    log.form(log.pod(1), slow := log.pod(2), slower := log.static(3))
    for pod, silent in ((slow, 7), (slower, 8.5)):
        pod.beat()
        pod.beat_at = log.now + int(silent * 1000)
        log.run(10)
    rows = reported(log.exchanges).near_timeouts.rows
    assert [row.process.client_id for row in rows] == ["pod-3", "pod-2"]
    assert (rows[0].silent_ms, rows[0].session_ms) == (8500, 10_000)
    assert not reported(log.exchanges).thrown_out.count


def test_steady_members_are_not_near_it() -> None:
    log = ModelLog()
    log.form(log.pod(1), log.static(2))
    log.run(30)
    assert not reported(log.exchanges).near_timeouts.count


# Words


def test_the_summary_names_pods_times_and_remedies() -> None:
    log = ModelLog()
    log.form(log.static(1), holder := log.pod(3, instance="orders-2"))
    for number in (7, 3, 7):
        rival = log.pod(number, instance="orders-2").start()
        log.run(2)
        log.consumers.remove(holder)
        holder = rival
    text = "\n".join(operator_summary(reported(log.exchanges)))
    assert (
        "pod-3 (10.0.0.3) and pod-7 (10.0.0.7) share group.instance.id orders-2 in group 'orders': "
        "it was taken over 3 times between 2026-11-21 06:40:06 UTC and 06:40:10" in text
    )
    assert "Give each process its own group.instance.id" in text
    assert "[model.log:" in text


def test_a_short_session_is_said_once_with_a_timeout_that_is_long_enough() -> None:
    log = ModelLog()
    log.form(log.pod(1), pod := log.static(2))
    for _ in range(3):
        pod.state = "frozen"
        log.run(14)
        pod.state = "stable"
        log.run(5)
    (problem,) = operator_problems(reported(log.exchanges))
    assert problem.kind == "short-session"
    assert "removed from group 'orders' as orders-2 3 times while it was alive" in problem.says
    assert "session timeout is 10.0 s" in problem.says
    assert "session.timeout.ms to 30000 or more" in problem.remedy


def test_a_living_process_that_is_fenced_once_is_told_with_both_names_and_times() -> None:
    log = ModelLog()
    log.form(log.static(1), log.pod(3, instance="orders-2"))
    log.pod(7, instance="orders-2").start()
    log.run(3)
    (problem,) = operator_problems(reported(log.exchanges))
    assert (problem.kind, problem.count) == ("fenced", 1)
    assert problem.names == ("pod-3 (10.0.0.3)", "pod-7 (10.0.0.7)")
    assert problem.says == (
        "pod-3 (10.0.0.3) was fenced while it was alive: pod-7 (10.0.0.7) took its "
        "group.instance.id orders-2 in group 'orders' at 2026-11-21 06:40:06 UTC; the first got "
        "the error at 2026-11-21 06:40:06 UTC."
    )
    assert "end the first before you start the second" in problem.remedy


def test_a_member_that_was_not_polled_is_told_with_its_setting() -> None:
    log = ModelLog()
    log.form(log.pod(1), slow := log.pod(2))
    row = {"memberId": slow.member_id, "groupInstanceId": None}
    reason = "consumer poll timeout has expired."
    log.send(slow, "LeaveGroup", {"groupId": "orders", "members": [{**row, "reason": reason}]})
    log.run(3)
    (problem,) = operator_problems(reported(log.exchanges))
    assert (problem.kind, problem.names) == ("poll-timeout", ("pod-2 (10.0.0.2)",))
    assert "its poll() was not called for max.poll.interval.ms" in problem.says


def test_what_recurs_for_days_is_one_problem_with_its_rhythm() -> None:
    report = OperatorReport()
    day_ms, who = 24 * HOUR_S * 1000, Process("pod-1", "10.0.0.1")
    for day in range(59):
        for turn in range(3):
            at_ms = day * day_ms + turn * HOUR_S * 1000
            report.add(StaticLeave("g", "g-1", "m", who, who, True, at_ms, f"log:{day}"))
    (problem,) = operator_problems(report)
    assert (problem.count, problem.days) == (177, 59)
    assert problem.last_ms == 58 * day_ms + 2 * HOUR_S * 1000
    assert "3 times a day, on 59 days, last on 1970-02-28 02:00:00 UTC" in problem.says


def test_how_often_is_said_although_not_all_rows_are_kept() -> None:
    report = OperatorReport(thrown_out=LimitedRows(lambda row: (row.at_ms,), most=2))
    rows = [
        ThrownOut("g", "pod-1", f"id-{ms}", Process("c", "h"), ms, 9_000 + ms, 6_000, f"l:{ms}")
        for ms in (5, 1, 4, 2, 3)
    ]
    for row in rows:
        report.add(row)
    assert len(report.thrown_out.rows) == 2
    (problem,) = operator_problems(report)
    assert "removed from group 'g' as pod-1 5 times while it was alive" in problem.says
    assert "last at" in problem.says
    assert problem.place == "l:5"


def test_an_empty_log_says_so() -> None:
    assert operator_summary(reported([])) == [NO_LINE]


def test_what_would_have_avoided_rebalances_is_counted() -> None:
    log = ModelLog()
    pods: list[Consumer] = [log.pod(n) for n in (1, 2)]
    log.form(*pods)
    pods[1].leave()
    log.run(2)
    log.form(pods[1].again())
    report = reported(log.exchanges)
    assert report.remedies[Remedy.STATIC] == 2
    text = "\n".join(operator_summary(report))
    assert "This setting would have avoided some: static membership 2." in text
    assert "A session.timeout.ms of 6000 would have been long enough" in text
