from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import all_client_scenarios as simulations

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS
from fencepost.model.table.table import Level
from fencepost.properties.mutants.client_mutants import CLIENT_MUTANTS
from fencepost.properties.requirements.requirement import AREAS, Requirement
from fencepost.properties.requirements.requirements import (
    REQUIREMENTS,
    UnknownRequirementError,
    find_requirement,
    in_area,
)

TESTS_OF_JUDGES = [
    path.read_text("utf-8") for path in Path(__file__).parent.glob("test_judge_*.py")
]


def test_ids_are_unique_and_the_areas_are_in_order() -> None:
    rows = [row for area in AREAS for row in in_area(area)]
    assert [row.id for row in rows] == list(REQUIREMENTS)
    assert all(in_area(area) for area in AREAS)


@pytest.mark.parametrize("row", REQUIREMENTS.values(), ids=lambda row: row.id)
def test_a_row_says_what_is_owed_and_how_it_is_judged(row: Requirement) -> None:
    assert re.fullmatch(r"[A-Z].*\.", row.sentence)
    for part in (row.provoked, row.judged):
        assert re.fullmatch(r"[^.]*[^. ]", part.replace(" 2.2", "").replace(" 2.3", ""))
    assert row.source


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_a_requirement_has_all_that_shows_it(name: str) -> None:
    """`tox -e clients` runs each lying client on a served broker, and sees it fail there."""
    assert any(f'"{name}"' in text for text in TESTS_OF_JUDGES), "a judge that is tested"
    assert any(name in one.obligations for one in SCENARIOS.values()), "a scenario that provokes it"
    liars = [mutant for mutant in CLIENT_MUTANTS.values() if name in mutant.breaks]
    assert liars, "a lying client that breaks it"
    assert simulations.SCENARIOS[name], "a simulated run that such a client fails"


def test_nothing_is_judged_or_broken_that_is_no_requirement() -> None:
    assert {name for one in SCENARIOS.values() for name in one.obligations} == set(REQUIREMENTS)
    assert {name for mutant in CLIENT_MUTANTS.values() for name in mutant.breaks} == set(
        REQUIREMENTS
    )
    assert set(simulations.SCENARIOS) == set(REQUIREMENTS)


def test_every_obligation_of_the_kip_is_a_must() -> None:
    must = [row for row in REQUIREMENTS.values() if row.level is Level.MUST]
    assert len(must) > len(REQUIREMENTS) // 3
    assert all("KIP-345" in row.source or "KIP-" in row.source for row in must)


def test_an_id_names_an_area() -> None:
    with pytest.raises(ValueError, match="CLIENT-AREA-WHAT"):
        Requirement("CLIENT-NOTHING-HERE", Level.MUST, "", "", "", "", lambda _: iter(()))
    assert find_requirement("CLIENT-OLD-BROKER-TOLD").area == "OLD-BROKER"


def test_an_unknown_id_names_what_is_near() -> None:
    with pytest.raises(UnknownRequirementError, match="did you mean CLIENT-FENCED-JOIN"):
        find_requirement("CLIENT-FENCED-JOINN")
