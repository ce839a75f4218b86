from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec import structs
from support.consumer_cases import BASE as CONSUMER_4_3
from support.runs import KAFKA_4, certificate, result_of

from fencepost.conformance.cases import ALL_ENTRIES
from fencepost.model.table.table import Level
from fencepost.properties.judging.answer_diff import signature
from fencepost.properties.judging.known_failures import OF_PLANS, KnownFailure
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import apply
from fencepost.traces.files.known_failure_lists import (
    FOLDER,
    SCHEMA,
    KnownFailuresError,
    drafted_list,
    load,
    of_no_use,
    read,
)
from fencepost.traces.files.run_trace import recording_of
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.report.report_folder import certificate_document

FOLLOWER = "JOIN-STATIC-EMPTY-STABLE/follower"
FAILS = result_of(FOLLOWER, "comment-table-1")
PASSES = result_of(FOLLOWER)
ENTRY: dict[str, str] = {
    "target": "mock",
    "versions": ">=2.16,<2.17",
    "case": FOLLOWER,
    "rule": "JOIN-STATIC-EMPTY-STABLE",
    "observed": "B2 JoinGroup: MEMBER_ID_REQUIRED, member id B1",
    "why": "it follows an early draft",
    "link": "https://example.org/1",
}


def listed(**changes: str) -> KnownFailure:
    said: dict[str, Any] = {**ENTRY, **changes}
    return KnownFailure(**said)


def write(path: Path, *entries: Any) -> Path:
    document = {"format": "fencepost-known-failures", "version": 1, "entries": entries}
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_entries_of_the_target_and_version_are_loaded(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.json",
        ENTRY,
        {**ENTRY, "target": "kafka:4.1.0+old"},
        {**ENTRY, "target": "kafka", "versions": "*"},
        {**ENTRY, "versions": ">=3"},
    )
    assert load("mock", "2.16.1", [path])[-1:] == [listed()]
    assert [e.target for e in load("kafka:4.1.0+old", "2.16", [path])] == [
        "kafka:4.1.0+old",
        "kafka",
    ]
    assert load("tcp://localhost:9092", "2.16", [path]) == []
    assert load("../conformance/known-failures/mock", "2.16") == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda p: p.name)
def test_the_shipped_lists_can_be_read_and_name_their_target(path: Path) -> None:
    assert {re.split("[:+]", entry.target)[0] for entry in read(path)} <= {path.stem}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda p: p.name)
def test_the_shipped_lists_are_about_the_catalogue_s_cases(path: Path) -> None:
    cases = {entry.id for entry in ALL_ENTRIES}
    rules = {rule.id for base in (KAFKA_4, CONSUMER_4_3) for _, rule in base.rules()}
    for entry in read(path):
        assert entry.case in cases or entry.case == f"{entry.rule}{OF_PLANS}"
        assert entry.rule in rules, entry.case


@pytest.mark.parametrize("target", ["mock", "kfake"])
def test_there_is_a_list(target: str) -> None:
    assert (FOLDER / f"{target}.json").is_file()


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA.schema())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"why": ""}, "entry 2 (case JOIN-STATIC-EMPTY-STABLE/follower) why"),
        ({"versions": "~=2"}, "entry 2 (case JOIN-STATIC-EMPTY-STABLE/follower) versions"),
        ({"more": "x"}, "entry 2 (case JOIN-STATIC-EMPTY-STABLE/follower): "),
    ],
)
def test_a_bad_entry_is_named(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    path = write(tmp_path / "mine.json", ENTRY, {**ENTRY, **changes})
    with pytest.raises(KnownFailuresError) as raised:
        load("mock", "2.16.1", [path])
    assert str(raised.value).startswith(f"{path}: {said}")


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"{", "line 1, column 2"), (b"[]", "the whole: "), (b"\xff", "byte 0: isn't UTF-8")],
)
def test_a_bad_file_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(data)
    with pytest.raises(KnownFailuresError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}: {said}")
    with pytest.raises(KnownFailuresError, match="can't be read"):
        read(tmp_path / "none.json")


def test_a_list_of_no_use_is_told(tmp_path: Path) -> None:
    later, other = {**ENTRY, "versions": ">=9"}, {**ENTRY, "target": "kfake", "versions": "*"}
    file = write(tmp_path / "mine.json", later, other)
    said = f"{file} lists 2 known failures, none for mock (version 2.16.1); it is for mock >=9, "
    assert list(of_no_use([file], "mock", "2.16.1")) == [f"{said}kfake *"]
    assert not list(of_no_use([file], "mock", "9.0"))
    assert not list(of_no_use([file], "tcp://host", "unknown", frozenset({"kfake"})))
    assert not list(of_no_use([write(tmp_path / "empty.json")], "mock", "9.0"))


def test_an_entry_whose_case_does_not_exist_is_named(tmp_path: Path) -> None:
    typo = {**ENTRY, "case": f"{FOLLOWER}s"}
    file = write(tmp_path / "mine.json", ENTRY, typo, {**typo, "target": "kfake"})
    sentence = f"{file} lists the case '{FOLLOWER}s', and there is none of that name"
    sentence += f" (did you mean {FOLLOWER}?)"
    assert list(of_no_use([file], "mock", "2.16.1", cases={FOLLOWER, "A/b"})) == [sentence]
    of_plans = write(tmp_path / "plans.json", ENTRY, {**ENTRY, "case": f"A{OF_PLANS}"})
    assert not list(of_no_use([of_plans], "mock", "2.16.1", cases={FOLLOWER}))
    assert not list(of_no_use([file], "mock", "2.16.1"))


OWN = listed(target="exec", versions=">=0.1", why="a reason")
NOT_RUN, ELSEWHERE = (
    structs.replace(OWN, case="JOIN-A/not-run"),
    structs.replace(OWN, target="kfake"),
)
COMES_AND_GOES = structs.replace(OWN, observed="another failure", intermittent=True)


@pytest.mark.parametrize(
    ("result", "outcome", "old", "kept"),
    [
        (FAILS, "fail", OWN, [OWN]),  # where the list was not applied
        (FAILS, "known-failure", OWN, [OWN]),
        (FAILS, "unknown", OWN, [OWN]),
        (PASSES, "pass", OWN, []),
        (PASSES, "stale-known-failure", OWN, []),
        (PASSES, "pass", COMES_AND_GOES, [COMES_AND_GOES]),
        (PASSES, "pass", NOT_RUN, [NOT_RUN]),
        (PASSES, "pass", ELSEWHERE, [ELSEWHERE]),
    ],
)
def test_a_list_is_kept_up_and_keeps_its_reasons(
    result: CaseResult, outcome: str, old: KnownFailure, kept: list[KnownFailure]
) -> None:
    made = {**certificate_document(certificate(result)), "version": "0.2"}
    made["cases"][0]["outcome"] = outcome
    entries = drafted_list(made, "exec:./run", (old, old))["entries"]
    assert [KnownFailure(**entry) for entry in entries] == kept
    assert all(("intermittent" in entry) is old.intermittent for entry in entries)


@pytest.mark.parametrize("outcome", ["fail", "stale-known-failure"])
def test_what_fails_in_another_way_is_drafted_anew(outcome: str) -> None:
    made = {**certificate_document(certificate(FAILS)), "version": "0.2"}
    made["cases"][0]["outcome"] = outcome
    (entry,) = drafted_list(made, "exec:./run", (structs.replace(OWN, observed="as of old"),))[
        "entries"
    ]
    assert entry["observed"] == FAILS.observed
    assert entry["why"].startswith("not explained yet: ")


def test_a_list_for_a_program_in_the_making_has_no_last_version() -> None:
    made = {**certificate_document(certificate(FAILS)), "version": "0.1"}
    (draft,) = drafted_list(made, "exec:./run")["entries"]
    assert (draft["target"], draft["versions"]) == ("exec", ">=0.1")
    ended = KnownFailure(**{**draft, "versions": ">=0.1,<0.2", "why": "a reason"})
    *_, new = drafted_list({**made, "version": "0.2"}, "exec:./run", (ended,))["entries"]
    assert (new["versions"], new["why"]) == (">=0.2", "a reason")


def test_entries_are_drafted_from_a_certificate(tmp_path: Path) -> None:
    made = certificate_document(certificate(FAILS, PASSES))
    (draft,) = drafted_list({**made, "version": "2.16.1"}, "mock")["entries"]
    finished = {**draft, "why": ENTRY["why"], "link": ENTRY["link"]}
    assert finished == {**ENTRY, "versions": ">=2.16.1,<2.16.2"}
    (drafted,) = apply([FAILS], read(write(tmp_path / "draft.json", draft)), KAFKA_4)
    assert drafted.outcome is Outcome.KNOWN_FAILURE
    assert drafted.all_notes[-1] == f"known failure: not explained yet: {FAILS.message}"
    with pytest.raises(KnownFailuresError, match=r"why.*`fencepost schema known-failures` prints"):
        read(write(tmp_path / "draft.json", {**draft, "why": ""}))
    (known,) = apply([FAILS], read(write(tmp_path / "finished.json", finished)), KAFKA_4)
    assert known.outcome is Outcome.KNOWN_FAILURE


FORMS = sorted(Path(__file__).with_name("kfake").glob("*.json"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_fault_that_shows_in_the_order_of_a_map_is_listed_in_each_form(path: Path) -> None:
    """Who is said to lead first depends on the order in which kfake iterates over its members."""
    trace = TraceFile.read(path)
    recording, verdict = recording_of(trace, "kfake"), trace.judge()
    result = CaseResult(
        recording.case,
        Outcome.FAIL,
        Level.MUST,
        observed=signature(verdict, recording),
        verdict=verdict,
        recording=recording,
    )
    known = load("kfake", str(trace.provenance["implementation_version"]), (), frozenset())
    (applied,) = apply([result], known, KAFKA_4)
    assert applied.outcome is Outcome.KNOWN_FAILURE
