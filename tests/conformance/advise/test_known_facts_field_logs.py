"""Read the field logs for advice: a restart counts once; other causes are refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from support.places import TESTS

from fencepost.conformance.advise.advice import advice_for
from fencepost.conformance.advise.advice_report import advice_words, log_words
from fencepost.conformance.advise.known_facts import (
    AdviceError,
    LogFacts,
    facts_of,
    known_group,
    log_facts,
    read_reports,
)


def log_of(beginning: str) -> LogFacts:
    (path,) = (TESTS / "traces" / "field_logs").glob(f"{beginning}-*.log.gz")
    return log_facts(read_reports([path], None), None)


def words(beginning: str, **options: Any) -> str:
    log = log_of(beginning)
    facts = facts_of(log, options)
    advice = advice_for(known_group(facts))
    return " ".join([*advice_words(advice, list(facts)), *log_words(advice, log)])


def test_a_restart_of_two_rebalances_counts_once() -> None:
    log = log_of("11")
    assert len(log.restarts_s) == 6
    assert len(log.rebalances) == 12
    assert (log.session_s, log.facts["session_s"]) == (30.0, 30.0)


def test_a_session_that_is_shorter_than_today_s_is_said_to_be() -> None:
    text = words("11")
    assert "A session of 15 s is shorter than today's 30 s, which is enough for the restarts" in (
        text
    )
    assert "Keep today's if a process that lives may be silent for longer than 12 s." in text


def test_what_audit_and_advice_differ_in_is_said() -> None:
    text = words("40a")
    assert "4 restarts with a rebalance took 16.7 s to 19.7 s" in text
    assert "fencepost audit of this log says that 8 rebalances would have been avoided" in text
    assert "it counts rebalances" in text


def test_poll_timeouts_are_no_restarts() -> None:
    with pytest.raises(AdviceError, match=r"set max\.poll\.interval\.ms above 363907"):
        facts_of(log_of("23"), {})
    text = words("23", restart_s=20.0)
    assert "12 of the rebalances are of live processes that did not call poll()" in text


def test_members_that_expired_are_no_restarts_where_their_silence_is_not_known() -> None:
    with pytest.raises(AdviceError, match="of members that expired"):
        facts_of(log_of("45"), {})


def test_connect_workers_get_no_advice_for_consumers() -> None:
    with pytest.raises(AdviceError, match=r"scheduled\.rebalance\.max\.delay\.ms .* up to 49\.2 s"):
        log_of("42")
