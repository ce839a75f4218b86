"""Walks of the consumer protocol find broken models, and leave the right ones alone.

More mutants and longer walks: `big_walks.py`.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.stateful import run_state_machine_as_test

from fencepost.model.history.events import Event
from fencepost.model.revisions import revisions
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.checking.evaluator import Coverage
from fencepost.properties.checking.random_walk import WalkChoice, simpler
from fencepost.properties.claims.property_registry import CONSUMER_PROPERTIES
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.stateful.machines import find_violation, world_machine
from fencepost.properties.stateful.strategies import histories
from fencepost.properties.worlds.consumer_worlds import CONSUMER_WORLDS

KAFKA = revisions.find("consumer-4.4")
PROPERTIES = tuple(CONSUMER_PROPERTIES.values())
DRAWING = CONSUMER_WORLDS.drawing
QUIET = settings(
    max_examples=10,
    stateful_step_count=15,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)

BY_PROPERTIES = (
    "cg-join-takes-over",
    "cg-unreleased-told-unknown",
    "cg-heartbeat-bumps",
    "cg-leave-ignored",
    "cg-removal-no-epoch",
    "cg-commit-refused",
)
BY_COMPARISON = ("cg-join-stays-behind", "cg-unreleased-told-fenced")
SCOPES = DRAWING.scopes[1:2]


@pytest.mark.parametrize("name", BY_PROPERTIES)
def test_a_broken_model_is_found_by_properties_alone(name: str) -> None:
    mutant = find_revision(f"mutant:{name}")
    found = find_violation(mutant, PROPERTIES, scopes=SCOPES, max_examples=200)

    assert found is not None
    assert found.finding.property_id in CONSUMER_PROPERTIES
    assert len(found) <= 6


@pytest.mark.parametrize("name", BY_COMPARISON)
def test_a_broken_model_is_found_by_comparison(name: str) -> None:
    mutant = find_revision(f"mutant:{name}")
    found = find_violation(mutant, reference=KAFKA, scopes=SCOPES, max_examples=200)

    assert found is not None
    verdict = judge(KAFKA, found.scope.config(), list(found.run.events), lag_ms=0).verdict()
    assert verdict.violation == found.finding.violation is not None


def test_a_machine_of_rules_fails_too() -> None:
    mutant = find_revision("mutant:cg-join-without-session")
    machine = world_machine(mutant, PROPERTIES, scope=SCOPES[0])
    with pytest.raises(AssertionError, match="a-member-is-watched"):
        run_state_machine_as_test(machine, settings=QUIET)


def test_a_machine_of_rules_passes_and_says_what_it_did_not_use() -> None:
    coverage = Coverage()
    machine = world_machine(KAFKA, PROPERTIES, scope=SCOPES[0], coverage=coverage)

    run_state_machine_as_test(machine, settings=settings(QUIET, phases=[Phase.generate]))

    assert "CG-JOIN-STATIC-NEW" in coverage.fired
    assert "CG-REBALANCE-EXPIRED" in coverage.unfired(KAFKA)


@QUIET
@given(histories(KAFKA, scope=SCOPES[0]))
def test_a_drawn_history_is_the_right_models(events: tuple[Event, ...]) -> None:
    """Also one with lost answers and descriptions."""
    verdict = judge(KAFKA, SCOPES[0].config(), list(events), lag_ms=0).verdict()

    assert verdict.violation is None
    assert verdict.unknown is None


def test_an_act_gives_way_to_simpler_ones_only() -> None:
    kinds = DRAWING.kinds
    for kind in kinds:
        for plain in simpler(WalkChoice(kind, 1, 1), kinds, clients=2):
            place = (kinds.index(plain.kind), plain.client, plain.outcome)
            assert place < (kinds.index(kind), 1, 1)


def test_all_kinds_of_acts_are_searched() -> None:
    assert set(DRAWING.kinds) == CONSUMER_WORLDS.acts.keys()
    assert set(DRAWING.kinds) == {act for scope in DRAWING.scopes for act in scope.acts}
