"""The cheapest flow: against every way there is, on networks small enough to try them all."""

from __future__ import annotations

import random
from itertools import product

import pytest

from fencepost.conformance.cases.cover.cover import Arc, cheapest_flow

NODES = 4
MOST = 2


def leaves_as_it_should(
    arcs: list[Arc], carried: tuple[int, ...] | list[int], surplus: list[int]
) -> bool:
    left = list(surplus)
    for arc, amount in zip(arcs, carried, strict=True):
        left[arc.source] -= amount
        left[arc.target] += amount
    return not any(left)


def cheapest_of_all(arcs: list[Arc], surplus: list[int]) -> int | None:
    """No cheapest flow carries more than is to be moved in all, here at most MOST."""
    costs = [
        sum(arc.cost * amount for arc, amount in zip(arcs, carried, strict=True))
        for carried in product(range(MOST + 1), repeat=len(arcs))
        if leaves_as_it_should(arcs, carried, surplus)
    ]
    return min(costs, default=None)


def network(seed: int) -> tuple[list[Arc], list[int]]:
    chance = random.Random(seed)
    pairs = chance.sample([(a, b) for a in range(NODES) for b in range(NODES) if a != b], 7)
    arcs = [Arc(a, b, chance.randint(0, 3)) for a, b in pairs]
    surplus = [0] * NODES
    for _ in range(MOST):
        surplus[chance.randrange(NODES)] += 1
        surplus[chance.randrange(NODES)] -= 1
    return arcs, surplus


def test_nothing_is_cheaper() -> None:
    possible = 0
    for seed in range(40):
        arcs, surplus = network(seed)
        least = cheapest_of_all(arcs, surplus)
        if least is None:
            with pytest.raises(ValueError, match="can't get"):
                cheapest_flow(arcs, surplus)
            continue
        possible += 1
        carried, cost = cheapest_flow(arcs, surplus)
        assert cost == least, seed
        assert leaves_as_it_should(arcs, carried, surplus)
    assert possible > 10


def test_what_is_sent_one_way_first_goes_another_where_that_is_cheaper_in_all() -> None:
    arcs = [Arc(0, 2, 1), Arc(0, 3, 2), Arc(1, 2, 1), Arc(1, 3, 9)]

    carried, cost = cheapest_flow(arcs, [1, 1, -1, -1])

    assert (carried, cost) == ([0, 1, 1, 0], 3)


def test_what_leaves_must_arrive() -> None:
    with pytest.raises(ValueError, match="adds up to 1"):
        cheapest_flow([Arc(0, 1, 1)], [2, -1])
