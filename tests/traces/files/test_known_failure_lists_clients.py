from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from support.client_results import FAILED, LACKS, UNDECIDED, certificate, result

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS, cases_of
from fencepost.conformance.clients.driver_programs import LIBRARIES
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.judging.report import apply
from fencepost.properties.requirements.requirements import REQUIREMENTS
from fencepost.traces.files.known_failure_lists import (
    CLIENT_FOLDER,
    KnownFailuresError,
    drafted_client_list,
    load,
    read,
)
from fencepost.traces.report.client_certificate import ClientResult
from fencepost.traces.report.report_folder import certificate_document

ENTRY = KnownFailure(
    "lib",
    "*",
    FAILED.case.id,
    FAILED.obligation,
    FAILED.observed,
    "it leaves",
    "https://bugs.example/1",
)


def outcome(judged: ClientResult, *entries: KnownFailure) -> Outcome:
    return apply([judged], entries, KAFKA_4)[0].outcome


def test_a_listed_failure_is_known_and_says_why() -> None:
    (known,) = apply([FAILED], [ENTRY], KAFKA_4)
    assert known.outcome is Outcome.KNOWN_FAILURE
    assert known.all_notes == ("known failure: it leaves (https://bugs.example/1)",)


def test_what_passes_or_fails_otherwise_is_stale() -> None:
    assert outcome(result(), ENTRY) is Outcome.STALE_KNOWN_FAILURE
    assert outcome(replace(FAILED, observed="other"), ENTRY) is Outcome.STALE_KNOWN_FAILURE
    assert outcome(FAILED, structs.replace(ENTRY, case="other")) is Outcome.FAIL


def test_what_comes_now_and_then_may_pass_or_stay_undecided() -> None:
    now_and_then = structs.replace(ENTRY, intermittent=True)
    assert outcome(result(), now_and_then) is Outcome.PASS
    assert outcome(FAILED, now_and_then) is Outcome.KNOWN_FAILURE
    undecided = replace(UNDECIDED, case=FAILED.case)
    assert outcome(undecided, now_and_then) is Outcome.KNOWN_FAILURE
    assert outcome(undecided, ENTRY) is Outcome.UNKNOWN
    assert outcome(LACKS, ENTRY) is Outcome.UNSUPPORTED


def test_a_list_that_was_written_makes_the_failures_known(tmp_path: Path) -> None:
    file = tmp_path / "lib.json"
    failed = certificate_document(certificate(FAILED, LACKS))
    file.write_text(json.dumps(drafted_client_list(failed)), "utf-8")
    (entry,) = load("lib:1.2.3", "1.2.3", [file], folder=CLIENT_FOLDER)
    assert entry.why.startswith("not explained yet")
    assert outcome(FAILED, entry) is Outcome.KNOWN_FAILURE
    assert load("lib:1.3.0", "1.3.0", [file], folder=CLIENT_FOLDER) == []
    explained = structs.replace(entry, why="it leaves")
    assert drafted_client_list(failed, [explained])["entries"][0]["why"] == "it leaves"


def test_a_failure_that_some_runs_did_not_show_is_drafted_as_intermittent() -> None:
    drafts = [
        drafted_client_list(certificate_document(certificate(result)))["entries"][0]
        for result in (FAILED, replace(FAILED, intermittent=True))
    ]
    assert [draft.get("intermittent", False) for draft in drafts] == [False, True]


def test_a_list_that_cant_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "lib.json"
    file.write_text(json.dumps({"format": "something else"}), "utf-8")
    with pytest.raises(KnownFailuresError, match=r"lib\.json"):
        load("lib", "1", [file], folder=CLIENT_FOLDER)


@pytest.mark.parametrize("path", sorted(CLIENT_FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_shipped_list_is_of_a_client_and_of_cases_that_there_are(path: Path) -> None:
    cases = {case for scenario in SCENARIOS.values() for case in cases_of(scenario)}
    assert path.stem in LIBRARIES
    for entry in read(path):
        assert entry.target.partition(":")[0] == path.stem
        assert entry.case in cases
        assert entry.rule in REQUIREMENTS
        assert "not explained yet" not in entry.why
