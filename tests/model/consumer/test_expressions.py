"""An expression that Kafka's library refuses is refused; with a valid one nothing is judged."""

from __future__ import annotations

from typing import Any

import pytest
from support.consumer_bodies import heartbeat_body

from fencepost.model.consumer.expressions import is_refused
from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Handled, Sent
from fencepost.model.messages.errors import Error
from fencepost.model.revisions import revisions
from fencepost.properties.oracle.oracle import Oracle

TAKEN = ["t", "^t$", ".", "(?P<n>t)", "(?<n>t)", "(?i)T", r"\pL", "[[:alpha:]]", "t{,2}", "[*+]"]
"""Expressions that 4.4.0 takes."""
REFUSED = ["[", "t(", "*", "(?=a)", r"\1", "a++", "t{2000}", r"\Z", "t["]
"""Expressions that 4.4.0 refuses."""


@pytest.mark.parametrize("expression", TAKEN)
def test_an_expression_that_kafka_takes(expression: str) -> None:
    assert not is_refused(expression)


@pytest.mark.parametrize("expression", REFUSED)
def test_an_expression_that_kafka_refuses(expression: str) -> None:
    assert is_refused(expression)


def _after_a_join(expression: str, error: int) -> Oracle:
    body = heartbeat_body("m", 0, subscribedTopicNames=None, subscribedTopicRegex=expression)
    answer: dict[str, Any] = {
        "errorCode": error,
        "memberId": "m",
        "memberEpoch": 0 if error else 1,
        "heartbeatIntervalMs": 0 if error else 5000,
        "assignment": None if error else {"topicPartitions": []},
    }
    oracle = Oracle(revisions.find("consumer-4.4"), {}, lag_ms=0)
    oracle.observe(Sent(0, Send("r1", "c1", "app", "ConsumerGroupHeartbeat", 1, body)))
    oracle.observe(Answered(Answer("r1", 0, answer)))
    oracle.observe(Handled(0))
    return oracle


def test_a_verdict_on_a_valid_expression_is_unknown() -> None:
    oracle = _after_a_join("t", 0)
    assert oracle.violation is None
    assert oracle.unknown is not None
    assert "name the topics instead" in oracle.unknown


@pytest.mark.parametrize(
    ("error", "holds"), [(Error.INVALID_REGULAR_EXPRESSION, True), (Error.NONE, False)]
)
def test_a_coordinator_must_refuse_an_invalid_expression(error: Error, holds: bool) -> None:
    oracle = _after_a_join("t[", int(error.value))
    assert oracle.holds() is holds
