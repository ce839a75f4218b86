"""Logs as operators have them, made from public reports: each tells what hurt."""

from __future__ import annotations

from functools import cache
from itertools import takewhile

import pytest
from support.places import TESTS

from fencepost.traces.audit.server_log_audit import ServerLogRun, audit_server_log
from fencepost.traces.logs.server_log import STORAGE, ServerLog
from fencepost.traces.operations.open_metrics import metrics_text
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, GroupKind, Loop, Remedy
from fencepost.traces.operations.operator_words import operator_json, operator_summary
from fencepost.traces.operations.problem_words import operator_problems
from fencepost.traces.report.audit_folder import audit_lines
from fencepost.traces.report.audit_page import audit_page

FOLDER = TESTS / "traces" / "field_logs"


@cache
def audited(beginning: str) -> ServerLogRun:
    (path,) = FOLDER.glob(f"{beginning}-*.log.gz")
    return audit_server_log(ServerLog([path]))


def reported(beginning: str) -> OperatorReport:
    return audited(beginning).report


def text_of(beginning: str) -> str:
    return "\n".join(operator_summary(reported(beginning)))


def headline(beginning: str) -> str:
    """Return the verdict and the sentences for which its line has no room."""
    return " ".join(takewhile(bool, audit_lines(audited(beginning))))


def the_loop(beginning: str) -> Loop:
    (problem,) = reported(beginning).problems
    assert isinstance(problem.first, Loop)
    return problem.first


def test_a_connect_worker_that_joins_each_five_ms_is_one_loop() -> None:
    report, loop = reported("01"), the_loop("01")
    assert report.causes == {Cause.MEMBER_REJOIN: 12}
    assert (loop.process.client_id, loop.count, loop.every_ms) == ("connect-1", 12, 5)
    assert report.figures["etl-connect"].kind is GroupKind.CONNECT
    assert report.avoidable == 0
    text = text_of("01")
    assert "one every 5 ms" in text
    assert "scheduled.rebalance.max.delay.ms" in text
    assert "would have avoided" not in text


def test_members_of_several_groups_that_expire_at_once_are_one_event() -> None:
    report = reported("03")
    (series,) = report.together
    assert (series.count, len(series.groups), series.back) == (12, 3, 12)
    assert series.until_ms - series.from_ms <= 20
    text = text_of("03")
    assert text.count("They probably have one cause") == 1
    assert "all came back, the last 62.1 s later" in text
    assert "consumer-agents-b-34 in" not in text  # the one line names it


def test_groups_that_had_no_member_for_a_while_are_named_first() -> None:
    report, said = reported("03"), "from 2021-05-04 16:41:31 UTC to 16:42:33 (62.0 s)"
    together = "12 members of 3 groups expired together"
    assert headline("03").startswith(f"3 groups had no member {said}; 3 groups read. ")
    assert together in headline("03")
    assert (
        "3 gave members a generation, 3 of these without an assignment when the log ends"
        in text_of("03")
    )
    assert f"  'agents-a', 'agents-b', 'agents-c': {said}; the last member expired" in text_of("03")
    rows = operator_json(report)["empty_spans"]["rows"]
    assert [row["until_ms"] - row["from_ms"] for row in rows] == [62_000, 62_020, 62_045]
    assert {row["end"] for row in rows} == {"expired"}
    figures = metrics_text(report, is_open=False)
    assert 'fencepost_empty_spans{group="agents-a"} 1' in figures
    assert 'fencepost_empty_seconds{group="agents-a"} 62' in figures


def test_a_duration_that_the_log_does_not_show_is_not_0() -> None:
    report = reported("03")
    assert {row.duration_ms for row in report.rebalances.rows} == {None}
    assert "  'agents-a': 2 (new member 1, expiry 1)" in text_of("03")
    assert "0.0 s" not in text_of("03")
    assert 'fencepost_rebalancing_seconds{group="agents-a"}' not in metrics_text(
        report, is_open=False
    )
    assert 'fencepost_failed_rebalances{group="agents-a"} 0' in metrics_text(report, is_open=False)
    assert "The longest took 2 ms" in text_of("01")


@pytest.mark.parametrize(
    ("log", "count", "last"),
    [
        (
            "07",
            15,
            "15 gave members a generation, 1 of these without an assignment when the log ends",
        ),
        ("17", 8, "1 was not over when the log ends"),
    ],
)
def test_a_rebalance_in_which_the_log_begins_is_not_counted(
    log: str, count: int, last: str
) -> None:
    report = reported(log)
    (group,) = report.figures
    assert (report.rebalances.count, the_loop(log).count) == (count, count)
    assert report.causes[Cause.UNKNOWN] == 0
    assert f"Not counted: the rebalance of '{group}' in which the log begins." in text_of(log)
    assert last in text_of(log)


def test_a_problem_of_brokers_is_not_counted_as_one_of_clients() -> None:
    assert headline("17").startswith("1 problem of the brokers shown in this log")
    assert headline("05").startswith("1 problem of the brokers shown in this log")
    assert headline("07").startswith("1 problem with clients shown in this log")
    (problem,) = operator_json(reported("17"))["problems"]
    assert problem["of_broker"] is True


def test_a_remedy_of_all_rebalances_is_not_one_of_some() -> None:
    assert "This setting would have avoided all 12: static membership." in text_of("11")
    assert "This setting would have avoided some: static membership 2." in text_of("50")
    longer = (
        "This setting would have avoided all 6: static membership with a longer session timeout."
    )
    assert longer in text_of("03")
    assert "avoidable" not in headline("03")
    assert "12 of 12 rebalances were avoidable" in headline("11")


def test_members_that_join_again_and_again_in_turn_are_one_loop_with_the_known_fault() -> None:
    report = reported("05")
    assert report.causes == {Cause.NEW_MEMBER: 15}
    (problem,) = report.problems
    assert (problem.kind, problem.count, len(problem.names)) == ("loop", 15, 3)
    text = text_of("05")
    assert "A generation ended 3 ms after its assignment." in text
    assert "the group never had a second member" in text
    assert "KAFKA-8653" in text


def test_a_leader_that_joins_again_every_8_6_s() -> None:
    loop = the_loop("07")
    assert (loop.cause, loop.count) == (Cause.LEADER_REJOIN, 15)
    assert 8_200 <= loop.every_ms <= 9_000
    assert "15 times between" in text_of("07")


def test_a_new_member_that_waits_for_its_dead_predecessor() -> None:
    (row,) = reported("09").rebalances.rows
    assert (row.cause, row.remedy, row.expired_ms) == (Cause.NEW_MEMBER, Remedy.STATIC, 0)
    assert "waited for the session of its dead predecessor to end" in text_of("09")
    assert "for 42.3 s from" in text_of("09")


@pytest.mark.parametrize("log", ["11", "28", "29", "31", "32", "33", "36", "38"])
def test_going_and_coming_are_one_restart(log: str) -> None:
    report = reported(log)
    assert (report.restarts.count, report.rebalances.count) == (6, 12)
    assert report.remedies == {Remedy.STATIC: 12}
    assert {row.session_ms for row in report.restarts.rows} == {30_000}
    text = text_of(log)
    assert (
        "A session.timeout.ms of 6000 would have been long enough for all of these. Today" in text
    )
    assert "30000 is long enough, too." in text
    assert "Restarts in group 'spans': 6, away for 2.0 s (probably: several processes may" in text


def test_members_that_expire_some_time_after_the_assignment() -> None:
    rows = reported("13").expirations.rows
    assert [row.at_ms - (row.assigned_ms or 0) for row in rows] == 3 * [16_100]
    assert [row.back_ms is None for row in rows] == [False, False, True]
    assert "16.1 s after an assignment" in text_of("13")


def test_ids_that_were_not_used_hold_the_group() -> None:
    rows = reported("15").pending_ids.rows
    assert len(rows) == 3
    assert all(44_900 < row.held_ms < 45_100 for row in rows)
    (problem,) = reported("15").problems
    assert (problem.kind, problem.count) == ("pending-id", 3)
    assert "A rebalance waited for it for up to 45.0 s." in text_of("15")


def test_an_assignment_that_could_not_be_stored_is_the_cause_with_the_reason_as_it_stands() -> None:
    loop = the_loop("17")
    assert (loop.cause, loop.count) == (Cause.NOT_STORED, 8)  # the last one goes on
    assert '"error when storing group assignment during SyncGroup (member: ' in text_of("17")


def test_the_brokers_own_lines_are_evidence_beside_their_problem() -> None:
    text = text_of("17")
    shrank = "[Partition __consumer_offsets-25 broker=3] Shrinking ISR from 3,1 to 3. "
    assert f'Other lines of the brokers about these partitions: "{shrank}' in text
    assert "NotEnoughReplicasException: The size of the current ISR Set(3) is insufficient" in text
    assert '__consumer_offsets-25" 8 times (the first is 17-assignment-not-stored.log.gz:5)' in text
    assert audited("17").skipped[STORAGE] == (17, "17-assignment-not-stored.log.gz:1")
    assert not reported("11").storage


@pytest.mark.parametrize(
    ("log", "groups"), [("20", {"wf-authoring", "wf-enrichment"}), ("m2", {"g"})]
)
def test_groups_that_lost_their_last_member(log: str, groups: set[str]) -> None:
    report = reported(log)
    lost = {group for group, figures in report.figures.items() if figures.lost is not None}
    assert lost == groups
    text = text_of(log)
    assert all(f"'{group}' (since " in text for group in groups)
    rows = operator_json(report)["at_end"]
    assert {row["group"] for row in rows if row["last_expired_ms"] is not None} == groups
    figures = metrics_text(report, is_open=False)
    assert all(f'fencepost_group_lost{{group="{group}"}} 1' in figures for group in groups)
    spans = {row["group"]: row for row in operator_json(report)["empty_spans"]["rows"]}
    assert all(spans[group]["until_ms"] is None for group in groups)
    assert report.figures[min(groups)].causes == {Cause.EXPIRY: 1}  # it ended in an empty group
    assert f"{len(groups)} group{'s' * (len(groups) > 1)} without a member since" in headline(log)


def test_poll_timeouts_are_told_once_with_a_value_that_is_long_enough() -> None:
    report = reported("23")
    (problem,) = report.problems
    assert (problem.kind, problem.count) == ("poll-timeout", 6)
    assert 361_000 <= problem.longest_ms < 365_000
    assert report.remedies == {Remedy.LONGER_POLL: 12}
    text = text_of("23")
    assert "set max.poll.interval.ms above 364000" in text
    assert "session.timeout.ms" not in text


def test_takeovers_of_living_processes_have_a_rhythm() -> None:
    (problem,) = reported("24a").problems
    assert (problem.kind, problem.count) == ("fenced", 10)
    assert "Two or more consumers share group.instance.id sync-0 in group 'sync':" in text_of("24a")
    assert "can't tell" not in text_of("24a")
    (row,) = operator_problems(reported("24a"))
    assert row.shared
    assert row.longest_ms == 1505
    assert "gets the error, here for up to 1.5 s." in row.says
    assert "This log doesn't show whether processes share the id, or restarts" in text_of("50")
    assert "10 times between 2025-09-12 08:00:00 UTC and 08:01:43, one every 11.5 s" in text_of(
        "24a"
    )


@pytest.mark.parametrize("log", ["40a", "40c"])
def test_a_rolling_deployment_is_four_restarts_however_the_processes_are_called(log: str) -> None:
    report = reported(log)
    away = [row.away_ms for row in report.restarts.rows]
    assert len(away) == 4
    assert 16_600 < min(away) <= max(away) < 19_800
    assert {row.session_ms for row in report.rebalances.rows} == {30_000}
    (deployment,) = report.deployments.rows
    assert (deployment.restarts, deployment.processes, deployment.rebalances) == (4, 4, 8)
    assert "It may have cost more" not in text_of(log)
    assert report.problems == []


def test_a_rolling_restart_of_connect_workers() -> None:
    report = reported("42")
    assert report.figures["etl"].kind is GroupKind.CONNECT
    assert report.restarts.count == 3
    assert report.avoidable == 0
    text = text_of("42")
    assert "scheduled.rebalance.max.delay.ms" in text
    assert "The longest absence here was 49.2 s, shorter than the default, so nothing" in text
    said = "3 restarts of Connect workers cost 9 rebalances (they can't be static members: see"
    assert said in headline("42")
    assert report.problems == []


def test_what_an_expired_member_needs_of_static_membership_is_said() -> None:
    report, loop = reported("45"), the_loop("45")
    assert report.expirations.count == 6
    assert (loop.cause, loop.count) == (Cause.EXPIRY, 6)
    assert {row.lived for row in report.expirations.rows} == {None}
    text = text_of("45")
    assert (
        "need a sessionTimeout longer than today's plus 23.9 s, the longest absence. This" in text
    )
    assert "would have avoided" not in text  # KafkaJS has no static members
    assert (report.avoidable, report.remedies) == (0, {Remedy.NOTHING: 12})
    assert "It is probably one process in a group of 2: the other member stayed." in text
    assert "doesn't show whether the process was alive" in text
    assert report.restarts.count == 0


def test_a_real_broker_of_2_4() -> None:
    report = reported("50")
    (problem,) = report.problems
    assert (problem.kind, problem.first.instance_id, problem.count) == ("fenced", "orders-2", 2)
    rows = [row for row in report.rebalances.rows if row.group == "emails"]
    causes = [row.cause for row in rows]
    new, leave = Cause.NEW_MEMBER, Cause.LEAVE
    assert causes == [new, new, leave, new, leave]
    assert [row.members_after for row in rows][-1] == 0


def test_an_assignment_from_before_its_join_is_not_a_members_own() -> None:
    text = text_of("50")
    assert "orders-2 in 'orders': at 2026-11-28 12:19:52 UTC, 38.2 s after its join, not" in text
    assert "58.0 s after its join, 57.8 s after an assignment, not back" in text


def test_pairs_of_processes_with_one_client_id_are_said_to_be_a_guess() -> None:
    assert (
        "Restarts in group 'payments': 4, away for 16.7 s to 19.7 s (probably: several processes "
        "may have the client id consumer-payments-1, and each that left is paired with the next "
        "that joined)."
    ) in text_of("40a")
    assert "Restarts in group 'payments': 4, away for 16.7 s to 19.7 s." in text_of("40c")
    assert "It was probably back 23.9 s later. It is probably one process in a group" in (
        text_of("45")
    )
    page = "\n".join(audit_lines(audited("40a")))
    assert "which process came back, where several have one client id" in page


def test_what_is_known_of_some_turns_is_told_of_these_only() -> None:
    text = text_of("45")
    assert "It expired 66.9 s after its join (5 times; the log lacks the other joins" in text
    assert "5 times 66.9 s after its join, 5 times 64.0 s after an assignment" in text


def test_settings_have_the_names_of_the_client_library() -> None:
    text = text_of("45")
    assert "session.timeout.ms" not in text
    assert "A longer sessionTimeout helps only" in text
    assert "KafkaJS sends heartbeats between messages only (heartbeatInterval is" in text


def test_several_members_of_one_name_are_not_told_as_one() -> None:
    assert "A loop: rdkafka (8 member ids) got no assignment in group" in text_of("17")
    assert "member ids)" not in text_of("01") + text_of("07")


def test_a_loop_that_is_older_than_the_log_is_told_by_its_generation() -> None:
    text = text_of("07")
    assert "The group has no other member." in text
    assert "The group is at generation 138,911: at this rhythm that takes about 14 days." in text
    assert "client library" not in text


def test_what_static_membership_costs_stands_beside_what_it_avoids() -> None:
    assert (
        "The 8 rebalances that static membership alone would have avoided took 20.8 s together. "
        "The partitions of a static member would have waited for its restart instead, 16.7 s to "
        "19.7 s each time."
    ) in text_of("40a")


@pytest.mark.parametrize("log", ["51", "53"])
def test_a_real_broker_of_4_3(log: str) -> None:
    report = reported(log)
    assert report.rebalances.count - report.emptying == 19
    assert (
        "22 rebalances in 3 groups (19 gave members a generation, 3 left a group empty)"
        in text_of(log)
    )
    assert report.figures["crashing"].remedies[Remedy.STATIC] == 1
    assert {row.session_ms for row in report.rebalances.rows} <= {None, 10_000}


def test_a_log_that_begins_in_a_deployment_says_so_of_the_group_of_which_it_lacks_a_restart() -> (
    None
):
    whole = {row.group: (row.begins, row.ends) for row in reported("52").deployments.rows}
    assert whole == {"rolling": (True, True), "named": (False, False)}
    assert "It may have cost more" not in text_of("51")
    assert "It may have cost more" not in text_of("42")


def test_a_log_that_begins_in_the_middle_guesses_no_pairs() -> None:
    rows = reported("52").rebalances.rows
    assert {row.session_ms for row in rows} <= {None, 6_000, 10_000}


def test_four_lines_are_a_leave_and_a_rebalance() -> None:
    (row,) = reported("m1").rebalances.rows
    assert (row.cause, row.who) == (Cause.LEAVE, "rdkafka (172.18.0.1)")


def test_the_page_has_what_hurt() -> None:
    page = audit_page(reported("45"))
    assert "Members that expired" in page
    assert "kafkajs in &#39;mailer&#39;: 6 times from" in page
    assert "<td>66.9 s</td><td>64.0 s</td><td>23.9 s later</td>" in page
    assert "A loop: kafkajs expired in group &#39;mailer&#39;" in page
    assert "Without a member until the log ends, since the last one expired" in audit_page(
        reported("20")
    )
    assert "scheduled.rebalance.max.delay.ms" in audit_page(reported("42"))
