"""Lists of known failures are found by a target; without one the error names the remedy."""

from __future__ import annotations

import pytest
from support.in_this_process import invoke

from fencepost.conformance.targets.target_registry import (
    UnknownTargetError,
    find_known_as,
    in_protocol_of,
    judge_for,
    revision_for,
)


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


@pytest.mark.parametrize(
    "arguments",
    [
        ("certify-client", "reference", "--revision", "consumer-4.3"),
        ("fuzz-client", "reference", "--revision", "consumer-4.3"),
        ("simulate", "crash", "--revision", "consumer-4.3"),
        ("corpus", "generate", "--traces", "1", "--revision", "consumer-4.3", "--out", "no-such"),
        ("corpus", "explore", "--revision", "consumer-4.3", "--out", "no-such"),
    ],
    ids=" ".join,
)
def test_a_command_that_knows_one_protocol_refuses_others(arguments: tuple[str, ...]) -> None:
    ran = invoke(*arguments)
    assert ran.code == 64
    said = " ".join(ran.err.split())
    refused = "knows the classic protocol only; use `certify` with its catalogue for targets"
    assert f"{refused}, `check` for rev" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("certify", "model:streams-4.4", "--suite", "cover"),
        ("fuzz", "model:streams-4.4"),
        ("compare", "model:streams-4.4", "model:streams-4.2"),
    ],
    ids=" ".join,
)
def test_a_command_refuses_a_protocol_without_plans_and_walks(arguments: tuple[str, ...]) -> None:
    ran = invoke(*arguments)
    assert ran.code == 64
    said = " ".join(ran.err.split())
    assert "knows the classic and the consumer protocol only; use `certify` with its" in said
    assert "`check`" not in said  # which refuses the protocol, too


def test_a_model_is_judged_by_a_revision_of_its_protocol() -> None:
    assert revision_for("model:consumer-4.4") == "consumer-4.3"
    assert revision_for("model:mixed-4.0") == "mixed-4.4"
    assert revision_for("mutant:cg-return-bumps") == "consumer-4.4"
    assert revision_for("model:kafka-2.3") == revision_for("model") == "kafka-4"


def test_streams_groups_are_judged_by_what_the_release_has() -> None:
    judges = {
        "kafka:4.4.0": "streams-4.4",
        "kafka:4.3.1": "streams-4.2",
        "tcp://h:1": "streams-4.4",
    }
    for target, judge in judges.items():
        assert judge_for("streams", target).name == judge
    assert revision_for("model:streams-4.2") == "streams-4.4"


@pytest.mark.parametrize("protocol", ["consumer", "mixed"])
def test_the_name_of_a_protocol_is_its_revision_for_the_target(protocol: str) -> None:
    for release, number in (
        ("4.4.0", "4.4"),
        ("4.3.1", "4.3.1"),
        ("4.3.0", "4.3"),
        ("4.0.1", "4.0"),
    ):
        assert judge_for(protocol, f"kafka:{release}").name == f"{protocol}-{number}"
    base = judge_for(protocol, "kfake")
    assert in_protocol_of("model", base) == f"model:{base.name}"
    assert in_protocol_of("kfake", base) == "kfake"
