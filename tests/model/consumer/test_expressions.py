"""Expressions are read as Kafka's library reads them: each answer was seen on Kafka 4.4.0."""

from __future__ import annotations

import pytest

from fencepost.model.consumer.expressions import is_readable


@pytest.mark.parametrize("expression", ["t", "^t$", ".", "(?P<n>t)", "(?<n>t)", "[tu]", "t{2,3}"])
def test_an_expression_that_kafka_takes(expression: str) -> None:
    assert is_readable(expression)


@pytest.mark.parametrize(
    "expression", ["[", "t(", "*", "(?=a)", r"\1", "a++", "t{2000}", r"\Z", "t[", "(?=t)"]
)
def test_an_expression_that_kafka_refuses(expression: str) -> None:
    assert not is_readable(expression)
