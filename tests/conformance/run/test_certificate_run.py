"""A certificate from Python is the one that the command writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import run

from fencepost.conformance.run.certificate_run import NoCaseError, run_certificate
from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.conformance.targets.target_registry import (
    TargetOptions,
    UnknownTargetError,
    find_revision,
    find_target,
)
from fencepost.model.table.table import Level
from fencepost.traces.files.known_failure_lists import KnownFailuresError
from fencepost.traces.report.report_folder import certificate_document

ZOMBIE = "JOIN-INSTANCE-FENCED/zombie-joins"


def test_it_is_the_certificate_of_the_command() -> None:
    ran = run("certify", "model:comment-table-1", "--case", "*/zombie-*", "--json")
    certificate = run_certificate("model:comment-table-1", cases=["*/zombie-*"])
    assert certificate.exit_code() == ran.code == 1
    assert certificate_document(certificate) == json.loads(ran.out)


def test_a_target_can_be_given_itself() -> None:
    target = find_target("model", TargetOptions())
    certificate = run_certificate(target, cases=[ZOMBIE], revision="comment-table-1")
    assert certificate.revision == "comment-table-1"
    assert certificate.exit_code() == 1


def test_a_coordinator_in_python_can_be_given() -> None:
    def mine() -> ModelCoordinator:
        return ModelCoordinator(find_revision("mutant:zombie-join-takes-over"))

    certificate = run_certificate(mine, cases=["*/zombie-*"])
    by_name = run_certificate("mutant:zombie-join-takes-over", cases=["*/zombie-*"])
    outcomes = [[r.outcome for r in each.results] for each in (certificate, by_name)]
    assert outcomes[0] == outcomes[1]
    assert (certificate.revision, certificate.exit_code()) == ("kafka-4", 1)


def test_options_are_as_those_of_the_command() -> None:
    certificate = run_certificate(
        "model", cases=["*/zombie-*"], skip=[ZOMBIE], level=Level.MUST, seed=5, jobs=1
    )
    assert certificate.not_selected
    assert (certificate.level, certificate.seed) == (Level.MUST, 5)
    outcomes = {result.case.id: result.outcome.value for result in certificate.results}
    assert outcomes.pop(ZOMBIE) == "skipped"
    assert set(outcomes.values()) == {"pass"}


@pytest.mark.parametrize(
    ("target", "options", "error", "named"),
    [
        ("wat", {}, UnknownTargetError, "'wat'"),
        ("model", {"revision": "nope"}, UnknownTargetError, "'nope'"),
        ("model", {"cases": ["nope*"]}, NoCaseError, "nope*"),
        ("model", {"suite": "nope"}, KeyError, "nope"),
        (
            "model",
            {"cases": [ZOMBIE], "known_failures": [Path("nowhere.json")]},
            KnownFailuresError,
            "nowhere.json",
        ),
    ],
    ids=["target", "revision", "case", "suite", "list"],
)
def test_what_is_wrong_is_named(
    target: str, options: dict[str, object], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named.replace("*", r"\*")):
        run_certificate(target, **options)  # type: ignore[arg-type]


def test_without_lists_no_failure_is_known() -> None:
    assert run_certificate("model", cases=[ZOMBIE], known_failures=None).exit_code() == 0


def test_the_list_of_another_target_applies() -> None:
    for other in ("kfake", "tansu"):  # they fail here, and the model does not
        ran = run("certify", "model", "--as", other, "--case", ZOMBIE, "--json")
        (row,) = (case for case in json.loads(ran.out)["cases"] if case["id"] == ZOMBIE)
        assert row["outcome"] == "stale-known-failure"
    assert run("certify", "model", "--as", "rivine", "--case", ZOMBIE).code == 0


def test_a_kafka_judged_as_such_is_named_with_its_release() -> None:
    ran = run("certify", "model", "--as", "kafka", "--case", ZOMBIE)
    assert ran.code == 64
    assert "kafka:4.3.0" in ran.err
