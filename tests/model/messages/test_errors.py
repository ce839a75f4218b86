from __future__ import annotations

import pytest
from kafka import errors

from fencepost.model.messages.errors import KAFKA_ERRORS, Error, kafka_error

RENAMED = {-1, 6, 10, 17, 39}
"""Codes that kafka-python names as it does its classes, or as an older Kafka did."""


@pytest.mark.parametrize("error", [e for e in Error if isinstance(e.value, int)])
def test_an_error_of_the_group_protocol_has_its_name_among_all(error: Error) -> None:
    assert kafka_error(error.value) == error.name


def test_the_names_are_those_that_others_have() -> None:
    theirs = {
        kind.errno: kind.message
        for kind in vars(errors).values()
        if isinstance(getattr(kind, "errno", None), int)
    }
    differ = {code for code, name in theirs.items() if KAFKA_ERRORS[code] != name}
    assert len(theirs) > 120
    assert differ <= RENAMED | {0}


def test_a_code_of_no_release_is_told_by_its_number() -> None:
    assert kafka_error(6) == "NOT_LEADER_OR_FOLLOWER"
    assert kafka_error(999) == "error 999"
