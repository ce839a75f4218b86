"""What a client owes holds for the reference client, and each lying client fails at its own duty."""

from __future__ import annotations

import pytest
from support.client_scenarios import (
    SCENARIOS,
    Scenario,
    group_of,
    joins,
    nth,
    owned,
    produce,
    seen,
    settings,
    shared,
    simulation,
)

from fencepost.conformance.simulator.simulation import Fault, Interference, Simulation
from fencepost.model.client.conduct import RIGHT
from fencepost.model.client.duties import DUTIES
from fencepost.model.client.interface import (
    Assigned,
    Closed,
    Commit,
    Committed,
    ErrorTold,
    Lost,
    Records,
    Revoked,
    Subscribe,
)
from fencepost.properties.mutants.clients import CLIENT_MUTANTS, ClientMutant

RUNS = sorted({run for runs in SCENARIOS.values() for run in runs}, key=lambda run: run.__name__)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_the_reference_client_does_its_duty(run: Scenario) -> None:
    run(RIGHT)


@pytest.mark.parametrize("mutant", CLIENT_MUTANTS.values(), ids=lambda mutant: mutant.name)
def test_a_lying_client_fails_at_its_duty(mutant: ClientMutant) -> None:
    failed = []
    for run in SCENARIOS[mutant.breaks]:
        try:
            run(mutant.conduct)
        except AssertionError:
            failed.append(run.__name__)
    assert failed


def test_every_duty_has_a_scenario_and_a_client_that_breaks_it() -> None:
    assert set(SCENARIOS) == set(DUTIES)
    assert {mutant.breaks for mutant in CLIENT_MUTANTS.values()} == set(DUTIES)
