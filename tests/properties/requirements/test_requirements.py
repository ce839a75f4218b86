from __future__ import annotations

import re

import pytest
from support.client_liars import LIARS

from fencepost.model.client.duties import DUTIES
from fencepost.model.table.table import Level
from fencepost.properties.mutants.client_mutants import CLIENT_MUTANTS
from fencepost.properties.requirements.requirements import (
    AREAS,
    OBLIGATIONS,
    Obligation,
    UnknownObligationError,
    find_obligation,
    in_area,
)


def test_ids_are_unique_and_the_areas_are_in_order() -> None:
    rows = [row for area in AREAS for row in in_area(area)]
    assert [row.id for row in rows] == list(OBLIGATIONS)
    assert all(in_area(area) for area in AREAS)


@pytest.mark.parametrize("row", OBLIGATIONS.values(), ids=lambda row: row.id)
def test_a_row_says_what_is_owed_and_how_it_is_judged(row: Obligation) -> None:
    assert re.fullmatch(r"[A-Z].*\.", row.sentence)
    for part in (row.provoked, row.judged):
        assert re.fullmatch(r"[^.]*[^. ]", part.replace(" 2.2", "").replace(" 2.3", ""))
    assert row.source


def test_the_reference_client_has_each_duty_that_is_judged() -> None:
    assert {row.part for row in OBLIGATIONS.values()} == set(DUTIES)


def test_every_obligation_has_a_lying_client_that_fails_it() -> None:
    """`tox -e clients` shows that it does."""
    assert list(LIARS) == list(OBLIGATIONS)
    assert set(LIARS.values()) <= set(CLIENT_MUTANTS)


def test_every_obligation_of_the_kip_is_a_must() -> None:
    must = [row for row in OBLIGATIONS.values() if row.level is Level.MUST]
    assert len(must) > len(OBLIGATIONS) // 3
    assert all("KIP-345" in row.source or "KIP-" in row.source for row in must)


def test_an_id_names_an_area() -> None:
    with pytest.raises(ValueError, match="CLIENT-AREA-WHAT"):
        Obligation("CLIENT-NOTHING-HERE", Level.MUST, "", "", "", "", "")
    assert find_obligation("CLIENT-OLD-BROKER-TOLD").area == "OLD-BROKER"


def test_an_unknown_id_names_what_is_near() -> None:
    with pytest.raises(UnknownObligationError, match="did you mean CLIENT-FENCED-JOIN"):
        find_obligation("CLIENT-FENCED-JOINN")
