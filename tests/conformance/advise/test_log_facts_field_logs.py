"""Read the field logs for advice: a restart counts once; other causes are refused by name."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from support.places import TESTS

from fencepost.conformance.advise.advice import advice_for
from fencepost.conformance.advise.advice_report import (
    advice_words,
    audit_words,
    head_words,
    log_words,
    print_advice,
    settings,
)
from fencepost.conformance.advise.known_facts import AdviceError, Form, known_group
from fencepost.conformance.advise.log_facts import LogFacts, facts_of, log_facts, read_reports
from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.operator_words import operator_summary
from fencepost.traces.operations.problem_words import AIMS

STATIC = Form(is_static=True, strategy="eager")


def log_of(beginning: str, group: str | None = None) -> LogFacts:
    (path,) = (TESTS / "traces" / "field_logs").glob(f"{beginning}-*.log.gz")
    return log_facts(read_reports([path], None), group)


def words(beginning: str, **options: Any) -> str:
    log = log_of(beginning)
    facts = facts_of(log, options)
    advice = advice_for(known_group(facts))
    first = [*head_words(advice, log), *audit_words(advice, log)]
    return " ".join([*first, *advice_words(advice, list(facts)), *log_words(advice, log)])


def refused(beginning: str, group: str | None = None) -> str:
    (path,) = (TESTS / "traces" / "field_logs").glob(f"{beginning}-*.log.gz")
    with pytest.raises(AdviceError) as raised:
        facts_of(log_facts(read_reports([path], None), group), {})
    return str(raised.value)


def test_a_restart_of_two_rebalances_counts_once() -> None:
    log = log_of("11")
    assert len(log.restarts_s) == 6
    assert len(log.rebalances) == 12
    assert (log.session_s, log.facts["session_s"]) == (30.0, 30.0)


def test_a_session_that_is_shorter_than_today_s_is_said_to_be() -> None:
    text = words("11")
    assert "a dead host is noticed 15 s sooner than with today's 30 s. Today's is long" in text
    assert "Keep today's if a live process may be silent for longer than 12 s." in text


@pytest.mark.parametrize("log", ["40a", "40c"])
def test_what_audit_and_advice_differ_in_is_one_sentence_in_both(log: str) -> None:
    text = words(log)
    assert text.count(AIMS) == 1
    assert (
        "Here static membership would have avoided 8 of 8 rebalances with "
        "session.timeout.ms=30000, half as much again as the longest absence, and would lose "
        "1,554 partition-seconds in a week; the advised setting avoids 0, and loses 244 "
        "partition-seconds."
    ) in text
    assert "4 restarts with a rebalance took 16.7 s to 19.7 s" in text
    (path,) = (TESTS / "traces" / "field_logs").glob(f"{log}-*.log.gz")
    summary = operator_summary(audit_server_log(ServerLog([path])).report)
    assert summary.count(AIMS) == 1
    assert "better" not in "\n".join(summary)


@pytest.mark.parametrize("log", ["40a", "40c"])
def test_the_choice_goes_first_with_the_price_of_either(log: str) -> None:
    assert words(log).startswith(
        "Keep dynamic members: 244 partition-seconds a week (dynamic+eager, 15 s), against 1,554 "
        "partition-seconds with static ones (static+cooperative, 30 s). Choose static members only "
        "if rebalances cost you more than waiting partitions: 42.1 rebalances a week with dynamic "
        "members, 0.1 with static ones. "
        "Static members with a shorter session lose less (1,364 partition-seconds with "
        "static+eager, 15 s), but then sessions end before restarts do"
    )


def test_what_the_choice_is_compared_with_is_a_row_of_the_table() -> None:
    log = log_of("40a")
    facts = facts_of(log, {})
    console = Console(record=True, width=200, file=StringIO())
    print_advice("", advice_for(known_group(facts)), log, list(facts), console)
    text = console.export_text()
    assert re.search(
        r"^static\+cooperative \(the other choice\) +30 s .* 1,554 s", text, re.MULTILINE
    )


def test_no_choice_is_named_where_there_is_none() -> None:
    assert "static ones" not in words("45", restart_s=8.0)


def test_of_several_groups_those_with_a_problem_and_with_restarts_are_named() -> None:
    said = "the log has emails, orders (orders has a problem; emails has restarts with their length"
    assert said in refused("50")


def test_another_session_than_the_audit_s_has_its_reason() -> None:
    assert (
        "fencepost audit names session.timeout.ms=6000, enough for the absences in this log. 15000 "
        "is advised because 6 s are shorter than"
    ) in words("11")


def test_the_problems_of_an_audit_go_before_any_setting() -> None:
    text = words("11")
    assert text.startswith(
        "First solve the problems that fencepost audit reports for this group: A loop"
    )
    assert "Check why it closes its consumer each time" in text


def test_settings_have_the_names_of_the_client_library() -> None:
    advice = advice_for(known_group(facts_of(log_of("11"), {})))
    assert settings(advice)[1] == "partition.assignment.strategy=range,roundrobin"
    assert {form.strategy for form in advice.known.forms} == {"eager"}
    assert "librdkafka doesn't offer an eager and a cooperative assignor together" in words("11")


def test_a_library_without_static_members_is_advised_none() -> None:
    text = words("45", restart_s=8.0)
    assert "KafkaJS has no static members" in text
    assert "today, if the session is KafkaJS's 30 s" in text
    advice = advice_for(known_group(facts_of(log_of("45"), {"restart_s": 8.0})))
    assert {str(form) for form in advice.known.forms} == {"dynamic+eager"}
    assert all("instance" not in line for line in settings(advice))
    assert settings(advice)[0].startswith("sessionTimeout: ")
    other = known_group(facts_of(log_of("45"), {"restart_s": 8.0, "only": ("static",)}))
    assert {str(form) for form in other.forms} == {"static+eager"}


def test_poll_timeouts_are_no_restarts() -> None:
    text = refused("23")
    assert "set max.poll.interval.ms above 364000, for example to 600000" in text
    assert "session.timeout.ms" not in text
    text = words("23", restart_s=20.0)
    assert "Live processes that did not call poll() caused 12 of the rebalances" in text


def test_members_that_expired_are_no_restarts_where_their_silence_is_not_known() -> None:
    text = refused("45")
    assert "6 members expired, and came back up to 23.9 s later." in text
    assert "must be longer than their silence (at least today's session timeout) plus these" in text
    assert "23900 ms. The log doesn't show whether their processes were alive" in text
    assert "KafkaJS has no static members" in text


def test_a_session_counts_as_long_enough_only_with_the_silence_before_it() -> None:
    log = log_of("03", "agents-a")
    rows = [row for row in log.rebalances if row["expired_ms"]]
    assert rows
    assert log.session_s is None
    assert log.avoided(STATIC, 1800.0) == []  # how long the silence was isn't shown
    known = replace(log, session_s=30.0)
    assert known.avoided(STATIC, 91.0) == []
    assert len(known.avoided(STATIC, 93.0)) == len(rows)


@pytest.mark.parametrize(
    ("log", "group", "sentence"),
    [
        ("05", "tests", "A loop: "),
        ("07", "events-reader", "joined group 'events-reader' again as its leader 15 times"),
        ("09", "mirror", "1 new member waited for the session of a dead predecessor to end"),
        ("15", "billing-reader", "never joined with it: the broker removed the id"),
        ("17", "tracks", "could not write the assignment to __consumer_offsets"),
        ("20", "wf-authoring", "Its last member expired, and none joined before the log ends"),
        ("24a", "sync", "take sync-0 from each other"),
    ],
)
def test_what_a_log_without_restarts_shows_is_said_in_the_audit_s_words(
    log: str, group: str, sentence: str
) -> None:
    text = refused(log, group)
    assert sentence in text
    assert "--restart-s" in text


def test_members_are_those_that_were_there_at_a_time() -> None:
    assert log_of("50", "emails").facts["members"] == 2
    assert log_of("40c").facts["members"] == 4


def test_connect_workers_get_no_advice_for_consumers() -> None:
    with pytest.raises(AdviceError, match=r"scheduled\.rebalance\.max\.delay\.ms .* up to 49\.2 s"):
        log_of("42")
