"""Lists of known failures are found by a target; without one the error names the remedy."""

from __future__ import annotations

import pytest

from fencepost.conformance.targets.target_registry import UnknownTargetError, find_known_as


def test_a_target_whose_list_applies() -> None:
    known = find_known_as("kafka:3.9.1+old")
    assert (known.name, known.version) == ("kafka:3.9.1+old", "3.9.1")
    assert known.aliases == {"kafka+old"}
    assert find_known_as("tansu:0.6.0").version == "0.6.0"
    assert find_known_as("kfake").version == ""
    assert find_known_as("rivine").version == "0.2.0"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kafka", "kafka:4.3.0"),
        ("kafak:4.3.0", "kafka, kfake"),
        ("kafka:x", "x"),
        ("nafka:0.2", ">=0.1,<0.2"),
    ],
)
def test_a_target_without_a_list_is_named_with_the_remedy(name: str, words: str) -> None:
    with pytest.raises(UnknownTargetError) as raised:
        find_known_as(name)
    assert words in str(raised.value)
