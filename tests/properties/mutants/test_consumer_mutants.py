"""Mutants of the consumer protocol change what they say, and properties find them."""

from __future__ import annotations

import pytest
from support.consumer_mutants import SCOPES, first_broken

from fencepost.model.revisions import revisions
from fencepost.properties.claims.property_registry import CONSUMER_PROPERTIES
from fencepost.properties.mutants.consumer_mutants import CONSUMER_BREAKS, CONSUMER_MUTANTS
from fencepost.properties.mutants.mutants import find_mutant

SMALL = SCOPES[:2]


def test_there_are_many_and_each_changes_something() -> None:
    assert len(CONSUMER_MUTANTS) >= 60
    for mutant in CONSUMER_MUTANTS.values():
        assert mutant.revision.protocol.name == "consumer"
        assert mutant.differences or mutant.twists


def test_most_are_found_by_properties_that_there_are() -> None:
    assert len(CONSUMER_BREAKS) >= 60
    assert set(CONSUMER_BREAKS.values()) <= CONSUMER_PROPERTIES.keys()
    assert CONSUMER_BREAKS.keys() <= CONSUMER_MUTANTS.keys()


def test_they_are_found_by_name() -> None:
    mutant = find_mutant("mutant:cg-return-bumps")

    assert mutant.changed_rules() == [("changes", "CG-JOIN-RETURN")]
    assert revisions.find("mutant:cg-return-bumps") is mutant.revision


def test_the_right_model_breaks_nothing_in_the_smallest_scopes() -> None:
    assert first_broken(revisions.find("consumer-4.4"), SMALL) == ""


@pytest.mark.parametrize(
    "name",
    [
        "cg-join-takes-over",
        "cg-return-bumps",
        "cg-heartbeat-keeps-nobody-alive",
        "cg-replaced-told-unknown",
        "cg-bare-release",
        "cg-silent-member-stays",
        "cg-replace-loses-assignment",
        "cg-removal-keeps-mapping",
    ],
)
def test_a_mutant_is_found_by_a_property(name: str) -> None:
    assert first_broken(CONSUMER_MUTANTS[name].revision, SMALL) == CONSUMER_BREAKS[name]
