from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from support.groups import group, told

from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.properties.assignors.assignor_promises import (
    AssignorInput,
    Quality,
    best_assignment,
    groups,
    quality_of,
)


def every_quality(of: AssignorInput) -> list[Quality]:
    """The quality of every assignment there is."""
    everything = of.partitions()
    takers = [
        [m.member_id for m in of.members if p.topic in m.subscription.topics] for p in everything
    ]
    return [
        quality_of(
            of,
            {
                m.member_id: tuple(
                    p for p, taker in zip(everything, chosen, strict=True) if taker == m.member_id
                )
                for m in of.members
            },
        )
        for chosen in product(*takers)
    ]


@settings(max_examples=60)
@given(groups().filter(lambda one: len(one.members) ** len(one.partitions()) <= 300))
def test_nothing_is_better(of: AssignorInput) -> None:
    assert quality_of(of, best_assignment(of)) == min(every_quality(of))


@settings(max_examples=60)
@given(groups())
def test_no_assignor_is_better(of: AssignorInput) -> None:
    best = quality_of(of, best_assignment(of))
    for assignor in ASSIGNORS.values():
        if not assignor.is_cooperative:
            assert quality_of(of, of.assigned(assignor)) >= best


def test_a_chain_of_moves_is_found() -> None:
    found = best_assignment(
        group("m1: ta | ta0 ta1 ta2 @1", "m2: ta tb | tb0 tb1 @1", "m3: tb | tb2 @1", ta=3, tb=3)
    )
    assert sorted(len(text.split()) for text in told(found).values()) == [2, 2, 2]


@pytest.mark.parametrize(
    ("by_racks", "moves", "far"),
    [(True, 2, 0), (False, 0, 2)],
)
def test_racks_are_worth_moves(by_racks: bool, moves: int, far: int) -> None:
    one = group("m1(ra): ta | ta0 @1", "m2(rb): ta | ta1 @1", ta="rb ra")
    quality = quality_of(one, best_assignment(one, by_racks=by_racks))
    assert (quality.unevenness, quality.moves, quality.far) == (2, moves, far)
