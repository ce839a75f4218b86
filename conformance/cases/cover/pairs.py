"""The pairs suite: short walks in which every rule follows every rule that it can follow.

One rule follows another if the coordinator decided by the first, and then its next decision was by
the second.  What needs no decision (a client that restarts, time in which no timer ends) does not
come between them.  Where timers are due together, nobody outside can know the order of the rules,
and no pair is counted.

To show all pairs with the fewest steps is a hard problem, so the walks are found greedily: always
on to the nearest pair that is missing, and from the start again where that is nearer.  The lower
bound is that of a simpler problem: a suite's walks, seen as sequences of rules, must go over every
pair, so they cost no less than the cheapest walks over pairs alone, if any pair could follow any
other that fits.  A step decides one thing, or several where timers end together or at once; a pair
within one step is counted as costing nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from fencepost.conformance.cases.cover.controllable import START, ControllableGraph, Stride, Walk
from fencepost.conformance.cases.cover.cover import LENGTH, Suite
from fencepost.conformance.cases.cover.min_cost_flow import Arc, cheapest_flow

Pair = tuple[str, str]
NOTHING = ""
"""What comes before the first rule of a walk."""


class _Place(NamedTuple):
    """A world, and the rule that decided last."""

    world: int
    rule: str


_FIRST = _Place(START, NOTHING)


def pairs_of(walk: Iterable[Stride]) -> tuple[Pair, ...]:
    """Return the pairs that a walk shows, in its order."""
    shown: list[Pair] = []
    last = NOTHING
    for stride in walk:
        shown += _shown(last, stride)
        last = _last(last, stride)
    return tuple(shown)


def pairs(graph: ControllableGraph) -> Suite:
    """Make short walks that show every pair that forced transitions can show."""
    leaving: dict[int, list[Stride]] = {}
    for stride in graph.forced:
        leaving.setdefault(stride.source, []).append(stride)
    missing, within = _all_pairs(leaving)
    bound = _bound(missing, within)
    afresh = _PlaceSearch(leaving, _FIRST)
    walks: list[Walk] = []
    walk: list[Stride] = []
    place = _FIRST
    while missing:
        again = afresh.nearest(missing)
        on = _PlaceSearch(leaving, place, len(again) - 1).nearest(missing) if walk else []
        if not on or len(walk) + len(on) > LENGTH:
            if walk:
                walks.append(tuple(walk))
            walk, on = [], again
        walk += on
        missing -= set(pairs_of(walk))
        place = _Place(walk[-1].target, reduce(_last, walk, NOTHING))
    if walk:
        walks.append(tuple(walk))
    return Suite(graph, tuple(walks), bound)


def _last(rule: str, stride: Stride) -> str:
    """The rule that decided last, after a stride; `rule`: before it."""
    if not stride.certain:
        return NOTHING
    return stride.rules[-1] if stride.rules else rule


def _shown(rule: str, stride: Stride) -> tuple[Pair, ...]:
    """The pairs that a stride adds to what was decided before."""
    if not stride.certain:
        return ()
    return tuple(pairwise((rule, *stride.rules) if rule else stride.rules))


class _PlaceSearch:
    """Searches breadth first from one place, and goes on where the last search ended.

    `limit`: how many steps away, at most.
    """

    def __init__(
        self, leaving: dict[int, list[Stride]], begin: _Place, limit: int | None = None
    ) -> None:
        self.leaving = leaving
        self.begin = begin
        self.limit = limit
        self.came: dict[_Place, tuple[_Place, Stride] | None] = {begin: None}
        self.depth = {begin: 0}
        self.queue = [begin]
        self.shown: list[tuple[Pair, _Place, Stride]] = []
        self.seen: set[Pair] = set()
        self.at = 0

    def nearest(self, missing: set[Pair]) -> list[Stride]:
        """Return the way to the nearest missing pair; [] if there is none within the limit."""
        for pair, place, stride in self.shown:
            if pair in missing:
                return self._way(place, stride)
        while self.at < len(self.queue):
            place = self.queue[self.at]
            if self.limit is not None and self.depth[place] >= self.limit:
                break
            self.at += 1
            found = None
            for stride in self.leaving.get(place.world, ()):
                after = _Place(stride.target, _last(place.rule, stride))
                if after not in self.came:
                    self.came[after] = place, stride
                    self.depth[after] = self.depth[place] + 1
                    self.queue.append(after)
                for pair in _shown(place.rule, stride):
                    if pair not in self.seen:
                        self.seen.add(pair)
                        self.shown.append((pair, place, stride))
                        found = found or (stride if pair in missing else None)
            if found is not None:
                return self._way(place, found)
        return []

    def _way(self, place: _Place, last: Stride) -> list[Stride]:
        way = [last]
        while (came := self.came[place]) is not None:
            place, stride = came
            way.append(stride)
        return way[::-1]


def _all_pairs(leaving: dict[int, list[Stride]]) -> tuple[set[Pair], set[Pair]]:
    """Every pair that can be shown, from NOTHING on; and those that a single step can show."""
    search = _PlaceSearch(leaving, _FIRST)
    search.nearest(set())
    within = {p for strides in leaving.values() for s in strides for p in _shown(NOTHING, s)}
    return search.seen, within


def _bound(feasible: set[Pair], within: set[Pair]) -> int:
    """The cost of the cheapest walks over all pairs; the first rule of each is a step, too."""
    rules = sorted({rule for pair in feasible for rule in pair})
    number = {rule: i for i, rule in enumerate(rules, start=1)}
    ways = [(number[a], number[b], int((a, b) not in within)) for a, b in sorted(feasible)]
    surplus = [0] * (len(rules) + 1)
    for source, target, _ in ways:
        surplus[source] -= 1
        surplus[target] += 1
    arcs = [Arc(*way) for way in ways]
    arcs += [Arc(i, 0, 0) for i in number.values()] + [Arc(0, i, 1) for i in number.values()]
    _, cost = cheapest_flow(arcs, surplus)
    return cost + sum(price for _, _, price in ways)
