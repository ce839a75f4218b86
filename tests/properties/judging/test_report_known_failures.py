from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from support.runs import KAFKA_4, result_of

from fencepost.conformance.cases import ENTRIES
from fencepost.conformance.run.certify import Options, open_target
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.classic.classic_work import ClassicWork
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import Group
from fencepost.model.classic.perform import rebalance
from fencepost.properties.departures.known_departures import DEPARTURES, Departure, departed
from fencepost.properties.departures.mutation_operators import afterwards
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import apply

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
    assert (
        result.all_notes[-1] == "known failure: it follows an early draft (https://example.org/1)"
    )
    assert result.message == FAILS.message


def test_an_intermittent_failure_may_pass_and_says_so() -> None:
    intermittent = structs.replace(listed(), intermittent=True)
    passed, failed = apply([PASSES, FAILS], [intermittent], KAFKA_4)
    assert passed.outcome is Outcome.PASS
    assert passed.notes[-1] == "intermittent failure: it follows an early draft"
    assert failed.outcome is Outcome.KNOWN_FAILURE


def test_an_intermittent_failure_that_did_not_come_each_time_is_known() -> None:
    sometimes = replace(FAILS, outcome=Outcome.UNKNOWN)
    intermittent = structs.replace(listed(), intermittent=True)
    assert apply([sometimes], [intermittent], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    otherwise = structs.replace(intermittent, observed="something else")
    assert apply([sometimes], [listed(), otherwise], KAFKA_4) == (sometimes,)


def test_an_intermittent_failure_that_fails_otherwise_is_stale() -> None:
    intermittent = structs.replace(listed(observed="something else"), intermittent=True)
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
    explains = not same and "#*" in listed_as
    assert ("#* stands for the number of any such request" in result.stale) == explains
    assert (result.outcome is Outcome.KNOWN_FAILURE) is same


def test_a_fault_that_may_come_anywhere_is_known_by_its_look() -> None:
    other = listed(case="X/y", observed="C7 JoinGroup #2: MEMBER_ID_REQUIRED, member id C1")
    general = structs.replace(other, anywhere=True)
    assert apply([FAILS], [other], KAFKA_4) == (FAILS,)
    assert apply([FAILS], [general], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    stale = listed(observed="something else")
    assert apply([FAILS], [stale, general], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    for change in ({"rule": "JOIN-LEADER-STABLE"}, {"observed": "no"}):
        wrong = structs.replace(general, **change)
        assert apply([FAILS], [wrong], KAFKA_4) == (FAILS,)
    assert apply([PASSES], [general], KAFKA_4) == (PASSES,)


def test_of_wrong_bytes_a_list_may_name_the_rule_that_took_the_request_in() -> None:
    assert FAILS.verdict is not None
    assert FAILS.violation is not None
    general = structs.replace(listed(case="X/y", rule="JOIN-PENDING"), anywhere=True)
    for detail, outcome in (
        ("bytes 'too few' instead of 'as the version says'", Outcome.KNOWN_FAILURE),
        ("generationId 7 instead of -1", Outcome.FAIL),
    ):
        taken_in = replace(FAILS.violation, decided_by=("JOIN-PENDING",), observed={"errorCode": 0})
        violation = replace(taken_in, detail=detail)
        failed = replace(FAILS, verdict=replace(FAILS.verdict, violation=violation))
        assert apply([failed], [general], KAFKA_4)[0].outcome is outcome


def shown(case_id: str, *departures: Departure) -> CaseResult:
    """A case of the catalogue, run on a model that has departures."""
    target = InProcessTarget("departed", departed(KAFKA_4, departures), "0")
    (found,) = (entry for entry in ENTRIES if entry.id == case_id)
    levels = {rule.id: rule.level for _, rule in KAFKA_4.rules()}
    case = found.case(levels, delayed=True)

    async def run() -> CaseResult:
        async with open_target(target, KAFKA_4, Options()) as suite:
            (result,) = await suite.try_cases([case])
            return result

    return asyncio.run(run())


def test_an_entry_with_a_cause_covers_what_it_explains_and_nothing_that_looks_like_it() -> None:
    def rebalances(_: Group, work: ClassicWork) -> None:
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
    other = structs.replace(entry, case=alike.case.id, observed=alike.observed)
    own, looks = apply([caused, alike], [entry, other], KAFKA_4)
    assert (own.outcome, looks.outcome) == (Outcome.KNOWN_FAILURE, Outcome.FAIL)
    # It covers any case, and any look; an entry of the case that has no cause covers its look.
    elsewhere = structs.replace(entry, case="X/y", observed="something else")
    assert apply([caused], [elsewhere], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    in_turns = structs.replace(elsewhere, case="X/z", why="now and then", intermittent=True)
    (told,) = apply([caused], [in_turns, elsewhere], KAFKA_4)
    assert told.all_notes[-1].endswith(f"{elsewhere.why} ({elsewhere.link})")
    uncaused = structs.replace(other, cause="")
    assert apply([alike], [uncaused], KAFKA_4)[0].outcome is Outcome.KNOWN_FAILURE
    # What has a known cause that is not listed is not known anywhere by its look.
    anywhere = structs.replace(entry, case="X/y", cause="", anywhere=True)
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
    assert result.all_notes[-1] == (
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
