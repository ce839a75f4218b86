"""Compute walks through a graph of worlds: the cover suite, and the pairs suite.

The tester's part of the graph: a tester sends requests and lets time pass.  The outcome of an act
may be the coordinator's choice (the next leader, the first of two timers that are due together).
An act with one outcome is a forced transition; after an act with several, the next world is
unknown.  So an open act ends a walk: a walk is a sequence of forced transitions with at most one
open act at its end, and it goes the same way on every coordinator that follows the revision.

The cover suite goes over every transition in as few steps as possible.  Every walk begins at the
start and may end anywhere, so an end is a way back to the start at no cost.  Then the walks are a
circulation that carries each transition at least once, and the cheapest one is a minimum-cost flow:
where more transitions arrive in a world than leave it, walks must leave it again or end there.  No
suite has fewer steps than this lower bound, and the flow, taken apart into walks, has just as many.
Such walks are long.  A long walk tells little once it has failed, and takes its time on a real
clock; so each is cut at LENGTH steps, and the rest begins at the start anew.  That is the only cost
above the bound.

The minimum-cost flow: arcs carry any amount and costs are small whole numbers, so there are few
different distances.  For each distance, shortest first, as much as possible is sent along paths of
just that length (a maximum flow among the arcs that lie on them).  Among flows of equal cost the
order of the arcs decides.  The ids of the cover suites' cases come from that choice, so networkx
isn't used here: its `network_simplex` finds the same cost, but another flow, which changes between
its versions.

The pairs suite has short walks in which every rule follows every rule that it can follow.  One rule
follows another if the coordinator decided by the first, and then its next decision was by the
second.  An act without a decision (a client's restart, time in which no timer ends) does not come
between them.  Where timers are due together, nobody outside can know the order of the rules, and no
pair is counted.  To show all pairs with the fewest steps is a hard problem, so the walks are made
greedily: always on to the nearest pair that is missing, and from the start again where that is
nearer.  The lower bound is that of a simpler problem: a suite's walks, seen as sequences of rules,
must go over every pair, so they cost no less than the cheapest walks over pairs alone, if any pair
could follow any other that fits.  A step decides once, or several times where timers end together
or at once; a pair within one step is counted as costing nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from fencepost.model.table.table import Rule
from fencepost.properties.worlds.protocol_worlds import CUT_OFFS, TICK_MS
from fencepost.properties.worlds.views import answers_rows
from fencepost.properties.worlds.world import Act, World, Worlds

_FAR = 1 << 60


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc from node `source` to node `target`, at `cost` ≥ 0 for each unit."""

    source: int
    target: int
    cost: int


def cheapest_flow(arcs: Sequence[Arc], surplus: Sequence[int]) -> tuple[list[int], int]:
    """Return the amount that each arc carries, and the total cost.

    `surplus`: for each node the amount that leaves it (negative: that it must receive); they add up
    to 0.  Raises ValueError if they don't, or if some of it can't get there.
    """
    if sum(surplus):
        raise ValueError(f"the surplus adds up to {sum(surplus)}; what leaves must arrive")
    network = _Network(len(surplus) + 2)
    for arc in arcs:
        network.add(arc.source, arc.target, arc.cost, _FAR)
    source, sink = len(surplus), len(surplus) + 1
    for node, amount in enumerate(surplus):
        if amount > 0:
            network.add(source, node, 0, amount)
        elif amount < 0:
            network.add(node, sink, 0, -amount)
    left = sum(amount for amount in surplus if amount > 0)
    while left:
        sent = network.send_nearest(source, sink)
        if not sent:
            raise ValueError(f"{left} of the surplus can't get to where it is missing")
        left -= sent
    carried = [_FAR - network.room[2 * i] for i in range(len(arcs))]
    return carried, sum(arc.cost * amount for arc, amount in zip(arcs, carried, strict=True))


class _Network:
    """Arcs with the room that is left on them; arc `i ^ 1` is arc `i` backwards.

    `potential`: the distance of each node from the source as it was in the last round, so that no
    arc with room costs less than the difference of its ends.
    """

    def __init__(self, nodes: int) -> None:
        self.leaving: list[list[int]] = [[] for _ in range(nodes)]
        self.target: list[int] = []
        self.cost: list[int] = []
        self.room: list[int] = []
        self.potential = [0] * nodes

    def add(self, source: int, target: int, cost: int, room: int) -> None:
        for ends, price, width in (((source, target), cost, room), ((target, source), -cost, 0)):
            self.leaving[ends[0]].append(len(self.target))
            self.target.append(ends[1])
            self.cost.append(price)
            self.room.append(width)

    def send_nearest(self, source: int, sink: int) -> int:
        """Send all that can go by shortest paths; return the amount, 0 if there is none."""
        distance = self._distances(source)
        if distance[sink] == _FAR:
            return 0
        far = max(d for d in distance if d < _FAR)
        for node, d in enumerate(distance):
            self.potential[node] += min(d, far)
        sent = 0
        while (levels := self._levels(source, sink)) is not None:
            sent += self._blocking(source, sink, levels)
        return sent

    def _distances(self, source: int) -> list[int]:
        distance = [_FAR] * len(self.leaving)
        distance[source] = 0
        heap = [(0, source)]
        target, cost, room, potential = self.target, self.cost, self.room, self.potential
        while heap:
            d, node = heappop(heap)
            if d > distance[node]:
                continue
            base = d + potential[node]
            for arc in self.leaving[node]:
                after = target[arc]
                if room[arc] and (new := base + cost[arc] - potential[after]) < distance[after]:
                    distance[after] = new
                    heappush(heap, (new, after))
        return distance

    def _tight(self, node: int, arc: int) -> bool:
        """Return True if an arc has room and lies on shortest ways."""
        gap = self.potential[self.target[arc]] - self.potential[node]
        return self.room[arc] > 0 and self.cost[arc] == gap

    def _levels(self, source: int, sink: int) -> list[int] | None:
        """Return each node's distance in tight arcs; None if the sink is out of reach."""
        levels = [-1] * len(self.leaving)
        levels[source] = 0
        queue = [source]
        for node in queue:
            for arc in self.leaving[node]:
                after = self.target[arc]
                if levels[after] < 0 and self._tight(node, arc):
                    levels[after] = levels[node] + 1
                    queue.append(after)
        return None if levels[sink] < 0 else levels

    def _blocking(self, source: int, sink: int, levels: list[int]) -> int:
        """Fill every way that leads one level further with each arc."""
        at = [0] * len(self.leaving)
        sent, path, node = 0, list[int](), source
        while True:
            if node == sink:
                amount = min(self.room[arc] for arc in path)
                sent += amount
                for arc in path:
                    self.room[arc] -= amount
                    self.room[arc ^ 1] += amount
                full = next(i for i, arc in enumerate(path) if not self.room[arc])
                node = self.target[path[full] ^ 1]
                del path[full:]
            elif at[node] < len(self.leaving[node]):
                arc = self.leaving[node][at[node]]
                after = self.target[arc]
                if levels[after] == levels[node] + 1 and self._tight(node, arc):
                    path.append(arc)
                    node = after
                else:
                    at[node] += 1
            elif path:
                node = self.target[path.pop() ^ 1]
                at[node] += 1
            else:
                return sent


START = 0
"""Index of the world in which every walk begins: no group, and clients that know nothing."""


class Stride(NamedTuple):
    """One act in a world: from `source` to `target`, by index; START where the act is open.

    `rules`: those that decided, one for each event; () for an open act, and for an act that the
    coordinator doesn't see.  `certain`: no other rules can have decided; timers that are due
    together may have the same outcome by different rules.
    """

    source: int
    act: Act
    target: int
    rules: tuple[str, ...]
    is_open: bool = False
    certain: bool = True


Walk = tuple[Stride, ...]


@dataclass(frozen=True)
class ControllableGraph:
    """A graph of worlds as a tester sees it.

    `strides`: every forced transition and every open act in worlds that can be forced, in the order
    of the search; `transitions`: the number of all in these worlds, forced or not (acts of two
    clients of one kind with the same knowledge are one transition); `beyond`: the number of worlds
    after them that only a choice of the coordinator reaches.
    """

    worlds: Worlds
    states: tuple[World, ...]
    strides: tuple[Stride, ...]
    transitions: int
    beyond: int

    @cached_property
    def forced(self) -> tuple[Stride, ...]:
        """Return the transitions that a tester can walk."""
        return tuple(stride for stride in self.strides if not stride.is_open)

    @cached_property
    def unforced(self) -> int:
        """Count the transitions that the coordinator chooses."""
        return self.transitions - len(self.forced)

    @cached_property
    def nearest(self) -> dict[int, Stride]:
        """Return for each world but the first the last stride of a shortest walk there."""
        return _nearest(self.strides)

    @cached_property
    def depth(self) -> dict[int, int]:
        """Return for each world that can be forced the length of a shortest walk there."""
        depth = {START: 0}
        for target, stride in self.nearest.items():
            depth[target] = depth[stride.source] + 1
        return depth

    def way_to(self, world: int) -> list[Stride]:
        """Return a shortest walk from the start to a world."""
        way: list[Stride] = []
        while world != START:
            way.append(self.nearest[world])
            world = way[-1].source
        return way[::-1]


def controllable_graph(worlds: Worlds) -> ControllableGraph:
    """Explore a scope as far as a tester can force it, and find the transitions there."""
    (start,) = worlds.initial()
    number = {start: START}
    states, strides = [start], list[Stride]()
    chosen = set[World]()
    transitions = 0
    for source, world in enumerate(states):
        outcomes: dict[tuple[str, int], list[tuple[Act, World]]] = {}
        for act, after in worlds.successors(world):
            if act.client < 0 or _is_first_of_its_like(worlds, world, act.client):
                outcomes.setdefault((act.kind, act.client), []).append((act, after))
        for (act, after), *others in outcomes.values():
            transitions += 1 + len(others)
            if others:
                chosen |= {after, *(other for _, other in others)}
                strides.append(Stride(source, act, START, (), is_open=True, certain=False))
                continue
            if after not in number:
                number[after] = len(states)
                states.append(after)
            strides.append(_stride(worlds, world, source, act, number[after]))
    beyond = len(chosen.difference(number))
    return ControllableGraph(worlds, tuple(states), tuple(strides), transitions, beyond)


def _is_first_of_its_like(worlds: Worlds, world: World, client: int) -> bool:
    """Return True if no earlier client has the same kind and knowledge: their acts are one."""
    seats, known = worlds.seats, world.clients
    return not any(seats[i] == seats[client] and known[i] == known[client] for i in range(client))


def _stride(worlds: Worlds, world: World, source: int, act: Act, target: int) -> Stride:
    if act.kind in CUT_OFFS:
        return Stride(source, act, target, ())
    transition = worlds.transitions(world, act.kind, act.client)[act.choice]
    rules = tuple(_deciding(view.rules).id for view in transition.views)
    certain = act.kind != "tick" or not _due_together(world)
    return Stride(source, act, target, rules, certain=certain)


def _deciding(rules: Sequence[Rule]) -> Rule:
    """Return the rule that decided an event; the split of a leave into rows is no decision."""
    return next((rule for rule in rules if not answers_rows(rule)), rules[0])


def _due_together(world: World) -> bool:
    """Return True if two timers end at one instant of the coming tick."""
    timers = () if world.group is None else world.group.timers
    due = [timer.earliest for timer in timers if timer.earliest <= TICK_MS]
    return len(set(due)) < len(due)


def _nearest(strides: Sequence[Stride]) -> dict[int, Stride]:
    """Return the tree of shortest walks, in the order of their lengths."""
    leaving: dict[int, list[Stride]] = {}
    for stride in strides:
        if not stride.is_open:
            leaving.setdefault(stride.source, []).append(stride)
    nearest: dict[int, Stride] = {}
    queue = [START]
    for world in queue:
        for stride in leaving.get(world, ()):
            if stride.target != START and stride.target not in nearest:
                nearest[stride.target] = stride
                queue.append(stride.target)
    return nearest


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
        """Return the number of steps of all walks."""
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
    """Return the cheapest circulation, and its cost."""
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
    """Return all legs, each once, as one way from the start back to it (Hierholzer)."""
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
    """Cut the circuit where it is at the start, where that saves steps, or where it is long."""
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


Pair = tuple[str, str]
NOTHING = ""
"""Stands before the first rule of a walk."""


class _Place(NamedTuple):
    """A world, and the rule that decided last."""

    world: int
    rule: str


_FIRST = _Place(START, NOTHING)


def pairs_of(walk: Iterable[Stride]) -> tuple[Pair, ...]:
    """Return the pairs that a walk shows, in its order."""
    pairs: list[Pair] = []
    last = NOTHING
    for stride in walk:
        pairs += _pairs(last, stride)
        last = _last(last, stride)
    return tuple(pairs)


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
    """Return the rule that decided last, after a stride; `rule`: before it."""
    if not stride.certain:
        return NOTHING
    return stride.rules[-1] if stride.rules else rule


def _pairs(rule: str, stride: Stride) -> tuple[Pair, ...]:
    """Return the pairs that a stride adds after a rule."""
    if not stride.certain:
        return ()
    return tuple(pairwise((rule, *stride.rules) if rule else stride.rules))


class _PlaceSearch:
    """A search breadth first from one place, which goes on where its last call ended.

    `limit`: of the steps to a result.
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
        self.ways: dict[Pair, tuple[_Place, Stride]] = {}
        self.at = 0

    def nearest(self, missing: set[Pair]) -> list[Stride]:
        """Return the way to the nearest missing pair; [] if there is none within the limit."""
        for pair, (place, stride) in self.ways.items():
            if pair in missing:
                return self._way(place, stride)
        while self.at < len(self.queue):
            place = self.queue[self.at]
            if self.limit is not None and self.depth[place] >= self.limit:
                break
            self.at += 1
            last = None
            for stride in self.leaving.get(place.world, ()):
                after = _Place(stride.target, _last(place.rule, stride))
                if after not in self.came:
                    self.came[after] = place, stride
                    self.depth[after] = self.depth[place] + 1
                    self.queue.append(after)
                for pair in _pairs(place.rule, stride):
                    if pair not in self.ways:
                        self.ways[pair] = place, stride
                        last = last or (stride if pair in missing else None)
            if last is not None:
                return self._way(place, last)
        return []

    def _way(self, place: _Place, last: Stride) -> list[Stride]:
        way = [last]
        while (came := self.came[place]) is not None:
            place, stride = came
            way.append(stride)
        return way[::-1]


def _all_pairs(leaving: dict[int, list[Stride]]) -> tuple[set[Pair], set[Pair]]:
    """Return every pair that can be shown, from NOTHING on, and those of single steps."""
    search = _PlaceSearch(leaving, _FIRST)
    search.nearest(set())
    within = {p for strides in leaving.values() for s in strides for p in _pairs(NOTHING, s)}
    return set(search.ways), within


def _bound(feasible: set[Pair], within: set[Pair]) -> int:
    """Return the cost of the cheapest walks over all pairs; each walk's first rule costs a step."""
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
