from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.client_story import evidence

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS, matching_scenarios
from fencepost.conformance.clients.certify_client import ClientCertifier, _CaseRuns, certificate_of
from fencepost.conformance.clients.driver_programs import find_client
from fencepost.conformance.clients.stage import ServedStage
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirement import (
    HOLDS,
    Verdict,
    unknown,
    unsupported,
    violated,
)

FAKE = Path(__file__).parents[2] / "support" / "clients" / "fake_driver.py"
BAD, OTHER, DARK, LACKS = (
    violated("it", "x"),
    violated("that", "y"),
    unknown("?"),
    unsupported("no"),
)


@pytest.mark.parametrize(
    ("verdicts", "outcome", "note"),
    [
        ([HOLDS], Outcome.PASS, ""),
        ([LACKS], Outcome.UNSUPPORTED, ""),
        ([DARK, HOLDS], Outcome.PASS, ""),
        ([BAD, BAD], Outcome.FAIL, ""),
        ([BAD, HOLDS, BAD], Outcome.FAIL, "seen in 2 of 3 runs"),  # and so it is intermittent
        ([BAD, DARK, OTHER], Outcome.FAIL, "another run showed: that"),
        ([BAD, HOLDS, HOLDS], Outcome.UNKNOWN, "one of 3 runs showed: x"),
        ([DARK, DARK, DARK], Outcome.UNKNOWN, ""),
    ],
)
def test_what_several_runs_decide(verdicts: list[Verdict], outcome: Outcome, note: str) -> None:
    tried = _CaseRuns()
    for index, verdict in enumerate(verdicts):
        assert not tried.is_decided(), index
        tried.verdicts.append((verdict, evidence()))
    assert tried.is_decided() == (outcome is not Outcome.UNKNOWN)
    found, _, _, notes = tried.decision()
    assert found is outcome
    assert note in " ".join(notes)
    failed = [verdict.outcome is Outcome.FAIL for verdict in verdicts]
    assert tried.is_intermittent() == (any(failed) and not all(failed))


async def outcomes(client: str, scenario: str) -> dict[str, Outcome]:
    certifier = ClientCertifier(find_client(client), ServedStage(find_revision("kafka-4")))
    results = await certifier.run([SCENARIOS[scenario]])
    return {result.obligation: result.outcome for result in results}


async def test_the_reference_client_passes() -> None:
    assert set((await outcomes("reference", "static-life")).values()) == {Outcome.PASS}


async def test_a_lying_client_fails_the_obligation_that_it_breaks() -> None:
    found = await outcomes("mutant:no-instance-in-heartbeat", "static-life")
    failed = {name for name, outcome in found.items() if outcome is Outcome.FAIL}
    assert failed == {"CLIENT-IDENTITY-EVERY-REQUEST"}


async def test_what_a_library_has_not_is_not_run() -> None:
    client = find_client(f"exec:{sys.executable} {FAKE}")
    certifier = ClientCertifier(client, ServedStage(find_revision("kafka-4")))
    results = await certifier.run(list(matching_scenarios(["follower-restarts-sticky"]).values()))
    assert {(one.outcome, one.attempts) for one in results} == {(Outcome.UNSUPPORTED, 0)}
    assert {one.message for one in results} == {"fake has no assignor sticky"}


async def test_a_run_of_some_cases_says_how_many_it_left_out() -> None:
    client = find_client(f"exec:{sys.executable} {FAKE}")
    case = ["CLIENT-RESTART-FOLLOWER/follower-restarts-sticky"]
    certificate = await certificate_of(client, "serve", find_revision("kafka-4"), patterns=case)
    every = sum(len(scenario.obligations) for scenario in SCENARIOS.values())
    assert certificate.left_out() == ("1 unsupported", f"{every - 1} cases not selected")


async def test_a_client_that_starts_in_one_way_is_judged() -> None:
    found = await outcomes(f"exec:{sys.executable} {FAKE} starts-static-alone", "dynamic-life")
    assert set(found.values()) == {Outcome.UNSUPPORTED}
