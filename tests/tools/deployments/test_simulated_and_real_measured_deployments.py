"""The deployments are scenarios of the simulator, with short times and as many as there are."""

from __future__ import annotations

import pytest

from fencepost.conformance.simulate.deployment_scenario import ScaleStep
from tools.deployments.simulated_and_real import CASES, CASES_BY_NAME, CLIENTS, DeploymentCase


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_a_scenario_with_short_times(case: DeploymentCase) -> None:
    scenario = case.at(12, 60)
    assert (scenario.members, sum(scenario.counts.values())) == (12 // case.share, 60 // case.share)
    assert scenario.settings.session_timeout_ms == 10_000
    for step in scenario.step:
        if isinstance(step, ScaleStep):
            assert abs(step.to - scenario.members) == 2


def test_names_tell_cases_apart() -> None:
    assert len(CASES_BY_NAME) == len(CASES)


def test_who_can_not_take_part_is_told_why() -> None:
    both = CASES_BY_NAME["to-cooperative"]
    assert [bool(both.lacks(client)) for client in CLIENTS] == [False, True]
    assert not CASES_BY_NAME["bounce-eager"].lacks(CLIENTS[1])
