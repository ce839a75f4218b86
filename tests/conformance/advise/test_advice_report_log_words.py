"""What is told of a log: its session, its silences, and what it doesn't show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fencepost.conformance.advise.advice import advice_for
from fencepost.conformance.advise.advice_report import log_words
from fencepost.conformance.advise.known_facts import known_group
from fencepost.conformance.advise.log_facts import facts_of, log_facts, read_reports

REQUESTS = Path(__file__).resolve().parents[3] / "examples/request-logs/kafka-request.log.gz"


def told(group: str, **said: Any) -> str:
    log = log_facts(read_reports([REQUESTS], group), group)
    return " ".join(log_words(advice_for(known_group(facts_of(log, said))), log))


def test_a_session_that_these_brokers_allow_is_today_s() -> None:
    text = told("payments-1")
    assert "session.timeout.ms is 3000 there. By default brokers allow 6000 or more" in text
    assert "This is too little to know the longest restarts" in text
    assert "The log shows no live process with a long silence" in text
    other = told("payments-1", session_s=45.0)
    assert "3000 in the log, but the comparison uses --session-timeout-ms" in other
    assert "these brokers allow" not in other


def test_a_shared_instance_id_and_a_silence_are_told() -> None:
    assert "take orders-2 from each other" in told("orders", restart_s=4.0)
    assert "no live process with a long silence" not in told("shipping", restart_s=4.0)


def test_restarts_of_static_members_without_a_rebalance_are_held_against_the_session() -> None:
    text = told("orders-1")
    assert (
        "3 restarts of static members without a rebalance took 445 ms to 466 ms, less than the "
        "session timeout, 6 s."
    ) in text
