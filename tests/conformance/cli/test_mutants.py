"""Mutants on the command line: listed, shown, certified, and as a program."""

from __future__ import annotations

import json

import pytest
from support.command import run
from support.in_this_process import invoke

from fencepost.properties.mutants.mutants import ALL_MUTANTS

CASE = "JOIN-STATIC-EMPTY-PREPARING/*"


def test_all_are_listed() -> None:
    ran = invoke("mutants", "--list")
    assert ran.code == 0
    assert all(name in ran.out for name in ALL_MUTANTS)
    assert f"{len(ALL_MUTANTS)} mutants" in ran.out


def test_the_list_as_json_is_complete() -> None:
    rows = json.loads(invoke("mutants", "--list", "--json").out)
    assert [row["name"] for row in rows] == list(ALL_MUTANTS)
    first = rows[0]
    assert (first["target"], first["source"]) == ("mutant:kafka-8500", "KAFKA-8500")
    assert {"change": "changes", "rule": "JOIN-STATIC-EMPTY-PREPARING"} in first["differences"]


def test_one_is_shown_with_what_it_changes() -> None:
    ran = invoke("mutants", "kafka-8715", "--list")
    assert "last change of state" in ran.out
    assert "performs wrongly" in ran.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("mutants", "kafka-850"),
        ("certify", "mutant:kafka-850"),
        ("adapter", "mutant:kafka-850"),
        ("table", "--revision", "mutant:kafka-850"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(
    arguments: tuple[str, ...],
) -> None:
    ran = invoke(*arguments)
    assert ran.code == 64
    assert "did you mean kafka-8500" in ran.err
    assert ran.out == ""


def test_a_mutant_is_a_target_that_fails() -> None:
    assert invoke("certify", "mutant:kafka-8500", "--case", CASE).code == 1


def test_a_mutant_is_a_revision_by_which_it_is_right_and_the_model_wrong() -> None:
    judged = ("--revision", "mutant:kafka-8500", "--case", "JOIN-STATIC-EMPTY-COMPLETING/*")
    assert invoke("certify", "model", *judged).code == 1
    ran = invoke("certify", "mutant:kafka-8500", *judged, "--json")
    outcomes = {result["outcome"] for result in json.loads(ran.out)["cases"]}
    assert "fail" not in outcomes


def test_a_mutant_speaks_the_adapter_protocol() -> None:
    ran = run("adapter", "mutant:kafka-8500", given='{"cmd": "hello", "protocol": 1}\n')
    assert ran.code == 0
    assert json.loads(ran.out)["implementation"] == "fencepost-model:mutant:kafka-8500"
