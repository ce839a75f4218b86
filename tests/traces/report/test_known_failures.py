from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.runs import KAFKA_4, certificate, result_of

from fencepost.conformance.cases import ENTRIES
from fencepost.conformance.run.certify import Options, opened
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.classic.group import Group
from fencepost.model.classic.perform import rebalance
from fencepost.model.classic.work import Work
from fencepost.model.table.effects import Do
from fencepost.properties.departures.known_departures import DEPARTURES, Departure, departed
from fencepost.properties.departures.mutation_operators import afterwards
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.traces.report.known_failures import (
    FOLDER,
    SCHEMA_FILE,
    KnownFailure,
    KnownFailuresError,
    apply,
    drafted_list,
    load,
    matches,
    of_no_use,
    read,
)
from fencepost.traces.report.report_folder import certificate_json

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


def test_the_listed_failure_is_known_and_says_why() -> None:
    (result,) = apply([FAILS], [listed()], KAFKA_4)
    assert result.outcome is Outcome.KNOWN_FAILURE
    assert result.notes[-1] == "known failure: it follows an early draft (https://example.org/1)"
    assert result.message == FAILS.message


def test_an_intermittent_failure_may_pass_and_says_so() -> None:
    intermittent = replace(listed(), intermittent=True)
    passed, failed = apply([PASSES, FAILS], [intermittent], KAFKA_4)
    assert passed.outcome is Outcome.PASS
    assert passed.notes[-1] == "fails now and then: it follows an early draft"
    assert failed.outcome is Outcome.KNOWN_FAILURE


def test_an_intermittent_failure_that_did_not_come_each_time_is_known() -> None:
    sometimes = replace(FAILS, outcome=Outcome.UNKNOWN)
    intermittent = replace(listed(), intermittent=True)
    assert apply([sometimes], [intermittent], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    otherwise = replace(intermittent, observed="something else")
    assert apply([sometimes], [listed(), otherwise], KAFKA_4) == (sometimes,)


def test_an_intermittent_failure_that_fails_otherwise_is_stale() -> None:
    intermittent = replace(listed(observed="something else"), intermittent=True)
    (result,) = apply([FAILS], [intermittent], KAFKA_4)
    assert result.outcome is Outcome.STALE_KNOWN_FAILURE


def test_a_listed_lateness_that_lag_would_hide_is_not_stale() -> None:
    late = listed(observed="B2 JoinGroup: MEMBER_ID_REQUIRED, too late")
    assert PASSES.recording is not None
    behind = replace(PASSES, recording=replace(PASSES.recording, lag_ms=1200))
    (result,) = apply([behind], [late], KAFKA_4)
    assert (result.outcome, "1200 ms of lag" in result.message) == (Outcome.UNKNOWN, True)
    assert apply([behind], [listed()], KAFKA_4)[0].outcome is Outcome.STALE_KNOWN_FAILURE
    assert apply([PASSES], [late], KAFKA_4)[0].outcome is Outcome.STALE_KNOWN_FAILURE


def test_a_listed_answer_that_came_late_is_the_same_failure() -> None:
    late = replace(FAILS, observed=f"{FAILS.observed}, too late")
    assert apply([late], [listed()], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    other = replace(FAILS, observed="B2 JoinGroup: NONE, too late")
    assert apply([other], [listed()], KAFKA_4)[0].outcome is Outcome.STALE_KNOWN_FAILURE


def test_any_of_several_signatures_is_known() -> None:
    (result,) = apply([FAILS], [listed(observed="something else"), listed()], KAFKA_4)
    assert result.outcome is Outcome.KNOWN_FAILURE


@pytest.mark.parametrize(
    ("listed_as", "seen", "same"),
    [
        ("a Heartbeat #*: NONE", "a Heartbeat: NONE", True),
        ("a Heartbeat #*: NONE", "a Heartbeat #12: NONE", True),
        ("a Heartbeat #*: NONE", "a Heartbeat #2: FENCED_INSTANCE_ID", False),
        ("a Heartbeat #*: NONE", "ab Heartbeat #2: NONE", False),
        ("a Heartbeat #2: NONE", "a Heartbeat #3: NONE", False),
        ("a Heartbeat: NONE", "a Heartbeat #2: NONE", False),
    ],
)
def test_an_entry_may_leave_open_which_request_it_was(
    listed_as: str, seen: str, same: bool
) -> None:
    (result,) = apply([replace(FAILS, observed=seen)], [listed(observed=listed_as)], KAFKA_4)
    assert (result.outcome is Outcome.KNOWN_FAILURE) is same


def test_a_fault_that_may_come_anywhere_is_known_by_its_look() -> None:
    other = listed(case="X/y", observed="C7 JoinGroup #2: MEMBER_ID_REQUIRED, member id C1")
    general = replace(other, anywhere=True)
    assert apply([FAILS], [other], KAFKA_4) == (FAILS,)
    assert apply([FAILS], [general], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    stale = listed(observed="something else")
    assert apply([FAILS], [stale, general], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    for wrong in (replace(general, rule="JOIN-LEADER-STABLE"), replace(general, observed="no")):
        assert apply([FAILS], [wrong], KAFKA_4) == (FAILS,)
    assert apply([PASSES], [general], KAFKA_4) == (PASSES,)


def test_of_wrong_bytes_a_list_may_name_the_rule_that_took_the_request_in() -> None:
    assert FAILS.verdict is not None
    assert FAILS.violation is not None
    general = replace(listed(case="X/y", rule="JOIN-PENDING"), anywhere=True)
    for detail, outcome in (
        ("bytes 'too few' instead of 'as the version says'", Outcome.KNOWN_FAILURE),
        ("generationId 7 instead of -1", Outcome.FAIL),
    ):
        violation = replace(FAILS.violation, decided_by=("JOIN-PENDING",), detail=detail)
        failed = replace(FAILS, verdict=replace(FAILS.verdict, violation=violation))
        assert apply([failed], [general], KAFKA_4)[0].outcome is outcome


def shown(case_id: str, *departures: Departure) -> CaseResult:
    """A case of the catalogue, run on a model that has departures."""
    target = InProcessTarget("departed", departed(KAFKA_4, departures), "0")
    (found,) = (entry for entry in ENTRIES if entry.id == case_id)
    levels = {rule.id: rule.level for _, rule in KAFKA_4.rules()}
    case = found.case(levels, delayed=True)

    async def run() -> CaseResult:
        async with opened(target, KAFKA_4, Options()) as suite:
            (result,) = await suite.try_cases([case])
            return result

    return asyncio.run(run())


def test_an_entry_with_a_cause_covers_what_it_explains_and_nothing_that_looks_like_it() -> None:
    def rebalances(_: Group, work: Work) -> None:
        rebalance(work, 0)

    fault = Departure(
        "unlisted", "", twists={Do.STORE_OFFSETS: afterwards(rebalances, "COMMIT-STABLE")}
    )
    caused = shown("LEAVE-MEMBER-PENDING/pending-id", DEPARTURES["pending-leave"])
    alike = shown("COMMIT-STABLE/commits-keep-alive", fault)
    assert caused.observed == "A1 Heartbeat: REBALANCE_IN_PROGRESS"
    assert alike.observed == "B1 Heartbeat: REBALANCE_IN_PROGRESS"
    entry = listed(
        case=caused.case.id,
        rule="HEARTBEAT-STABLE",
        observed=caused.observed,
        cause="pending-leave",
    )
    other = replace(entry, case=alike.case.id, observed=alike.observed)
    own, looks = apply([caused, alike], [entry, other], KAFKA_4)
    assert (own.outcome, looks.outcome) == (Outcome.KNOWN_FAILURE, Outcome.FAIL)
    # It covers any case, and any look; an entry of the case that has no cause covers its look.
    elsewhere = replace(entry, case="X/y", observed="something else")
    assert apply([caused], [elsewhere], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    in_turns = replace(elsewhere, case="X/z", why="now and then", intermittent=True)
    (told,) = apply([caused], [in_turns, elsewhere], KAFKA_4)
    assert told.notes[-1].endswith(f"{elsewhere.why} ({elsewhere.link})")
    assert apply([alike], [replace(other, cause="")], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    # What has a known cause that is not listed is not known anywhere by its look.
    anywhere = replace(entry, case="X/y", cause="", anywhere=True)
    assert apply([caused], [anywhere], KAFKA_4) == (caused,)
    assert apply([alike], [anywhere], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE


def test_a_listed_case_that_passes_is_stale() -> None:
    (result,) = apply([PASSES], [listed()], KAFKA_4)
    assert result.outcome is Outcome.STALE_KNOWN_FAILURE
    assert result.message == (
        'listed as a known failure ("B2 JoinGroup: MEMBER_ID_REQUIRED, member id B1"), '
        "but passes: take it off the list"
    )


def test_another_failure_of_a_listed_case_is_stale_and_says_both() -> None:
    (result,) = apply(
        [FAILS], [listed(observed="B2 JoinGroup: no answer instead of NONE")], KAFKA_4
    )
    assert result.outcome is Outcome.STALE_KNOWN_FAILURE
    assert result.message == FAILS.message, "what is wrong comes first"
    assert result.notes[-1] == (
        'stale: listed as a known failure ("B2 JoinGroup: no answer instead of NONE"), '
        f'but fails in another way ("{FAILS.observed}")'
    )


def test_a_case_that_is_not_listed_stays() -> None:
    assert apply([FAILS, PASSES], [listed(case="X/y")], KAFKA_4) == (FAILS, PASSES)
    assert apply([FAILS], [], KAFKA_4) == (FAILS,)


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.UNSUPPORTED, Outcome.SKIPPED])
def test_what_says_nothing_about_the_list_stays(outcome: Outcome) -> None:
    result = replace(FAILS, outcome=outcome)
    assert apply([result], [listed()], KAFKA_4) == (result,)


@pytest.mark.parametrize(
    ("versions", "version", "holds"),
    [
        (">=2.16,<2.17", "2.16.1", True),
        (">=2.16, <2.17", "v2.16.1", True),
        (">=2.16,<2.17", "2.17.0", False),
        (">=2.16,<2.17", "2.9", False),
        ("==2.16", "2.16.0", True),
        ("!=2.16.1", "2.16.1", False),
        (">2.16", "2.16.0", False),
        ("<=4.1", "4.1.0-rc1", True),
        ("*", "who knows", True),
        (">=0", "who knows", False),
    ],
)
def test_versions_are_compared_as_numbers(versions: str, version: str, holds: bool) -> None:
    assert matches(versions, version) is holds


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
    cases, rules = {entry.id for entry in ENTRIES}, {rule.id for _, rule in KAFKA_4.rules()}
    for entry in read(path):
        assert entry.case in cases
        assert entry.rule in rules, entry.case


@pytest.mark.parametrize("target", ["mock", "kfake"])
def test_there_is_a_list(target: str) -> None:
    assert (FOLDER / f"{target}.json").is_file()


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json.loads(SCHEMA_FILE.read_text("utf-8")))


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


OWN = listed(target="exec", versions=">=0.1", why="a reason")
NOT_RUN, ELSEWHERE = replace(OWN, case="JOIN-A/not-run"), replace(OWN, target="kfake")
COMES_AND_GOES = replace(OWN, observed="another failure", intermittent=True)


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
    made = {**certificate_json(certificate(result)), "version": "0.2"}
    made["cases"][0]["outcome"] = outcome
    entries = drafted_list(made, "exec:./run", (old, old))["entries"]
    assert [KnownFailure(**entry) for entry in entries] == kept
    assert all(("intermittent" in entry) is old.intermittent for entry in entries)


@pytest.mark.parametrize("outcome", ["fail", "stale-known-failure"])
def test_what_fails_in_another_way_is_drafted_anew(outcome: str) -> None:
    made = {**certificate_json(certificate(FAILS)), "version": "0.2"}
    made["cases"][0]["outcome"] = outcome
    (entry,) = drafted_list(made, "exec:./run", (replace(OWN, observed="as of old"),))["entries"]
    assert entry["observed"] == FAILS.observed
    assert entry["why"].startswith("not explained yet: ")


def test_a_list_for_a_program_in_the_making_has_no_last_version() -> None:
    made = {**certificate_json(certificate(FAILS)), "version": "0.1"}
    (draft,) = drafted_list(made, "exec:./run")["entries"]
    assert (draft["target"], draft["versions"]) == ("exec", ">=0.1")
    ended = KnownFailure(**{**draft, "versions": ">=0.1,<0.2", "why": "a reason"})
    *_, new = drafted_list({**made, "version": "0.2"}, "exec:./run", (ended,))["entries"]
    assert (new["versions"], new["why"]) == (">=0.2", "a reason")


def test_entries_are_drafted_from_a_certificate(tmp_path: Path) -> None:
    made = certificate_json(certificate(FAILS, PASSES))
    (draft,) = drafted_list({**made, "version": "2.16.1"}, "mock")["entries"]
    finished = {**draft, "why": ENTRY["why"], "link": ENTRY["link"]}
    assert finished == {**ENTRY, "versions": ">=2.16.1,<2.16.2"}
    (drafted,) = apply([FAILS], read(write(tmp_path / "draft.json", draft)), KAFKA_4)
    assert drafted.outcome is Outcome.KNOWN_FAILURE
    assert drafted.notes[-1] == f"known failure: not explained yet: {FAILS.message}"
    with pytest.raises(KnownFailuresError, match=r"why.*`fencepost schema known-failures` prints"):
        read(write(tmp_path / "draft.json", {**draft, "why": ""}))
    (known,) = apply([FAILS], read(write(tmp_path / "finished.json", finished)), KAFKA_4)
    assert known.outcome is Outcome.KNOWN_FAILURE
