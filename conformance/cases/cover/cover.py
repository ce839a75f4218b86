"""The cover suite: as few steps as possible that walk every transition, each walk from the start.

Every walk begins at the start and may end anywhere, so to end is to be back at the start at no
cost.  Then the walks are a circulation that carries each transition at least once, and the cheapest
one is a minimum-cost flow: where more transitions arrive in a world than leave it, walks must leave
it again or end there.  No suite has fewer steps than this lower bound, and the flow, taken apart
into walks, has just as many.

Such walks are long.  A long walk tells little once it has failed, and takes its time on a real
clock; so each is cut at LENGTH steps, and what follows begins at the start anew.  That is the only
cost above the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fencepost.conformance.cases.cover.controllable import START, ControllableGraph, Stride, Walk
from fencepost.conformance.cases.cover.min_cost_flow import Arc, cheapest_flow

LENGTH = 32
"""The number of steps at which a walk is cut."""
_EARLY = LENGTH // 2
_CHEAP = 3
"""A walk of EARLY steps is cut already where that costs at most this many steps."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Walks over a graph; no suite for the same purpose has fewer than `bound` steps."""

    graph: ControllableGraph
    walks: tuple[Walk, ...]
    bound: int

    @property
    def steps(self) -> int:
        """The steps of all walks."""
        return sum(map(len, self.walks))


def cover(graph: ControllableGraph) -> Suite:
    """Make walks that go over every forced transition, and do every open act, at least once."""
    legs, bound = _legs(graph)
    return Suite(graph, tuple(_walks(graph, _circuit(legs))), bound)


class _Leg(NamedTuple):
    """A piece of the circulation; `stride` None: the walk ends here; `due`: not walked before."""

    source: int
    target: int
    stride: Stride | None
    due: bool


def _legs(graph: ControllableGraph) -> tuple[list[_Leg], int]:
    """The cheapest circulation, and its cost."""
    due = [_Leg(s.source, s.target, s, due=True) for s in graph.strides]
    surplus = [0] * len(graph.states)
    for leg in due:
        surplus[leg.source] -= 1
        surplus[leg.target] += 1
    between: dict[tuple[int, int], Stride] = {}
    for stride in graph.forced:
        if stride.source != stride.target:
            between.setdefault((stride.source, stride.target), stride)
    again = [_Leg(source, target, s, due=False) for (source, target), s in between.items()]
    again += [_Leg(world, START, None, due=False) for world in graph.depth if world != START]
    arcs = [Arc(leg.source, leg.target, int(leg.stride is not None)) for leg in again]
    carried, cost = cheapest_flow(arcs, surplus)
    repeated = [leg for leg, times in zip(again, carried, strict=True) for _ in range(times)]
    return due + repeated, len(due) + cost


def _circuit(legs: Sequence[_Leg]) -> Iterator[_Leg]:
    """All legs, each once, as one way from the start back to it (Hierholzer)."""
    leaving: dict[int, list[_Leg]] = {}
    for leg in reversed(legs):
        leaving.setdefault(leg.source, []).append(leg)
    stack: list[_Leg] = []
    backwards: list[_Leg] = []
    world = START
    while True:
        if leaving.get(world):
            stack.append(leaving[world].pop())
            world = stack[-1].target
        elif stack:
            backwards.append(stack.pop())
            world = backwards[-1].source
        else:
            return reversed(backwards)


def _walks(graph: ControllableGraph, circuit: Iterator[_Leg]) -> Iterator[Walk]:
    """The circuit cut where it is at the start, where that saves steps, and where it gets long."""
    walk: list[Stride] = []
    detour: list[Stride] = []
    for leg in circuit:
        if leg.source == START or leg.stride is None:
            if walk:
                yield tuple(walk)
            walk, detour = [], []
        if leg.stride is None:
            continue
        if not leg.due:
            detour.append(leg.stride)
            continue
        afresh = graph.depth[leg.source] - len(detour)
        if walk and (
            afresh <= 0 or len(walk) >= LENGTH or (len(walk) >= _EARLY and afresh <= _CHEAP)
        ):
            yield tuple(walk)
            walk = []
        walk += detour if walk else graph.way_to(leg.source)
        walk.append(leg.stride)
        detour = []
    if walk:
        yield tuple(walk)
