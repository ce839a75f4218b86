"""A claim is held to what happened; one that isn't so is called that."""

from __future__ import annotations

import msgspec
import pytest
from support.real_figures import FIGURES, case_result

from tools.deployments import deployment_promises
from tools.deployments.deployment_promises import Claim, Verdict, all_claims, pooled, simulated_only
from tools.deployments.simulated_and_real import ALL_FIGURES, CASES_BY_NAME

TWICE_EACH = Claim(
    says="It costs two rebalances each.",
    source="nowhere",
    case="bounce-eager",
    figure="rebalances",
    promised="8",
    within=(8, 8),
)
ONLY_WHAT_MOVES = Claim(
    says="Only what moves stops.",
    source="nowhere",
    case="bounce-eager",
    figure="partitions_stopped",
    promised="what moves",
    at_most="partitions_moved",
)


@pytest.mark.parametrize(
    ("claim", "happened", "verdict"),
    [
        (TWICE_EACH, {}, Verdict.HOLDS),
        (TWICE_EACH, {"rebalances": 7}, Verdict.NOT_ALWAYS),
        (TWICE_EACH, {"rebalances": 9}, Verdict.NOT_ALWAYS),
        (ONLY_WHAT_MOVES, {}, Verdict.HOLDS),
        (ONLY_WHAT_MOVES, {"partitions_moved": 11}, Verdict.FAILS),
    ],
)
def test_a_claim_is_held_to_each_run(
    claim: Claim, happened: dict[str, int], verdict: Verdict
) -> None:
    results = [case_result(FIGURES, msgspec.structs.replace(FIGURES, **happened))]
    assert claim.verdict(pooled(results, claim.case)) is verdict


@pytest.mark.parametrize("rebalances", [7, 9])
def test_a_claim_that_never_holds_fails(rebalances: int) -> None:
    results = [case_result(msgspec.structs.replace(FIGURES, rebalances=rebalances))]
    assert TWICE_EACH.verdict(pooled(results, "bounce-eager")) is Verdict.FAILS


def test_what_was_not_run_is_not_known() -> None:
    assert TWICE_EACH.verdict(pooled([], "bounce-eager")) is Verdict.UNKNOWN


def test_only_what_was_not_performed_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        deployment_promises, "simulated", lambda scenario, _: {scenario.name: (0.0, 0.0)}
    )
    found = simulated_only([case_result(FIGURES)])
    assert found.keys() == {claim.case for claim in all_claims()} - {"bounce-eager"}
    assert found["crash-eager"] == {"crash-eager": (0.0, 0.0)}


def test_each_claim_is_about_a_figure_of_a_case_and_says_what_it_may_be() -> None:
    for claim in all_claims():
        assert claim.case in CASES_BY_NAME
        assert claim.figure in ALL_FIGURES
        assert (claim.at_most is None) != (claim.within == (0, float("inf")))
        assert bool(claim.why) == bool(claim.title)
