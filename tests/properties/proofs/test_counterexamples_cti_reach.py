"""Whether a run gets to a step that a proof could not exclude."""

from __future__ import annotations

from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.claims.property_registry import find_property
from fencepost.properties.proofs.counterexamples import reach
from fencepost.properties.worlds.scope import find_check_scope

ZOMBIE = (find_check_scope("zombie"),)
ONE_MEMBER = find_property("one-live-member-per-instance")


def test_a_step_that_some_run_gets_to_is_given_with_the_run() -> None:
    found = reach(find_revision("mutant:kafka-8500"), ONE_MEMBER, "JOIN-STATIC-EMPTY-COMPLETING")

    assert found.run is not None
    assert found.question is not None
    assert "JOIN-STATIC-EMPTY-COMPLETING" in found.run.turns[-1].rules


def test_a_step_by_another_rule_does_not_count() -> None:
    mutant = find_revision("mutant:kafka-8500")

    found = reach(mutant, ONE_MEMBER, "JOIN-GROUP-FULL", ZOMBIE)

    assert found.run is None
    assert found.complete


def test_a_search_that_was_cut_off_says_so() -> None:
    found = reach(find_revision("kafka-4"), ONE_MEMBER, "JOIN-PENDING", ZOMBIE, max_states=5)

    assert found.run is None
    assert not found.complete
