"""Lying clients as data; that each is caught is shown in tests/conformance/simulator."""

from __future__ import annotations

from collections import Counter

import pytest

from fencepost.model.client.behaviour import RIGHT
from fencepost.properties.mutants.client_mutants import CLIENT_MUTANTS, find_client_mutant
from fencepost.properties.requirements.requirements import REQUIREMENTS


def test_each_differs_from_the_right_client_and_from_all_others() -> None:
    conducts = Counter(mutant.conduct for mutant in CLIENT_MUTANTS.values())
    assert RIGHT not in conducts
    assert max(conducts.values()) == 1


def test_each_breaks_a_requirement_and_says_how() -> None:
    assert len(CLIENT_MUTANTS) >= 20
    for name, mutant in CLIENT_MUTANTS.items():
        assert mutant.breaks, name
        assert set(mutant.breaks) <= set(REQUIREMENTS), name
        assert mutant.sentence.strip(), name


def test_a_name_is_found_with_and_without_its_prefix() -> None:
    assert find_client_mutant("mutant:hot-loop") is find_client_mutant("hot-loop")


def test_a_wrong_name_is_answered_with_a_near_one() -> None:
    with pytest.raises(
        KeyError, match=r"no mutant of a client is called 'hotloop' \(did you mean hot-loop\?\)"
    ):
        find_client_mutant("hotloop")
