"""Each release breaks the expected properties of mixed groups alone; each wrong rule is caught."""

from __future__ import annotations

import pytest
from support.mixed_mutants import MUTANTS, found_in

from fencepost.model.revisions import revisions
from fencepost.properties.checking.checking import PropertyStatus, check_promises, check_revision

BREAKS = {
    "a-classic-join-displaces-no-live-member",
    "a-partition-of-a-mixed-group-is-handed-on-when-it-is-free",
    "who-must-give-up-is-hurried",
    "who-owes-nothing-is-left-alone",
}
EXPECTED = PropertyStatus.EXPECTED
UNCALLED = {"mixed-4.3", "mixed-4.3.1", "mixed-4.4"}
"""Releases in which classic members are not called where downgrades are not allowed."""


@pytest.mark.parametrize("name", revisions.MIXED_NAMES)
def test_a_release_breaks_what_is_expected(name: str) -> None:
    checked = check_revision(revisions.find(name))
    assert {each.property.id for each in checked.results if each.finding is EXPECTED} == BREAKS
    others = [each for each in checked.results if each.property.id not in BREAKS]
    assert {each.finding for each in others} == {PropertyStatus.HOLDS}
    (owned,) = check_promises(revisions.find(name))
    assert (owned.finding is EXPECTED) is (name in UNCALLED)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_rule_is_caught(name: str) -> None:
    assert MUTANTS[name][2] in found_in(name, 20_000)
