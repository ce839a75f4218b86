"""A wrong name is answered with the names that may be meant."""

from __future__ import annotations

import pytest

from fencepost.model.suggestions import did_you_mean, nearest

KNOWN = ("kafka-4", "kip-345", "JOIN-STATIC-EMPTY-STABLE", "JOIN-INSTANCE-FENCED/zombie-joins")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("KAFKA-4", ["kafka-4"]),
        ("kip345", ["kip-345"]),
        ("join-static-empty-stable", ["JOIN-STATIC-EMPTY-STABLE"]),
        ("JOIN-STATIC-EMTPY-STABLE", ["JOIN-STATIC-EMPTY-STABLE"]),
        ("zombie-joins", ["JOIN-INSTANCE-FENCED/zombie-joins"]),
        ("quite another thing", []),
    ],
)
def test_what_is_near(name: str, near: list[str]) -> None:
    assert nearest(name, KNOWN) == near


def test_in_words() -> None:
    assert did_you_mean("kafka4", KNOWN) == " (did you mean kafka-4?)"
    assert did_you_mean("aaaa", ["aaab", "aaac"]) == " (did you mean aaac or aaab?)"
    assert did_you_mean("xyz", KNOWN) == ""
