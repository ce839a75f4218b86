"""The part of a graph of worlds that a tester can walk: where the coordinator has no choice.

A tester sends requests and lets time pass.  Which outcome an act has may be the coordinator's
choice (who leads next, which of two timers that are due together fires first).  Where there is one
outcome, the transition can be forced; where there are several, the act can be done, and nobody
knows which world follows.  So an open act ends a walk: a walk is a sequence of forced transitions
with at most one open act at its end, and it goes the same way on every coordinator that follows the
revision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from fencepost.model.table.effects import Do
from fencepost.model.table.table import Rule
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.properties.worlds.world_client import TICK_MS

START = 0
"""The world in which every walk begins: no group, and clients that know nothing."""


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
    found; `transitions`: all there are, whoever chooses (where two clients are of one kind and know
    the same, what either does is one transition); `beyond`: worlds that are reached only if the
    coordinator chooses so.
    """

    worlds: Worlds
    states: tuple[World, ...]
    strides: tuple[Stride, ...]
    transitions: int
    beyond: int

    @cached_property
    def forced(self) -> tuple[Stride, ...]:
        """The transitions that a tester can walk."""
        return tuple(stride for stride in self.strides if not stride.is_open)

    @cached_property
    def unforced(self) -> int:
        """How many transitions are the coordinator's to choose, or begin where only that leads."""
        return self.transitions - len(self.forced)

    @cached_property
    def nearest(self) -> dict[int, Stride]:
        """For each world but the first, the last stride of a shortest walk there."""
        return _nearest(self.strides)

    @cached_property
    def depth(self) -> dict[int, int]:
        """For each world that can be forced, the steps of a shortest walk there."""
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
    """Explore a scope, and find what a tester can force there."""
    graph = explore(worlds, keep_graph=True).graph
    assert graph is not None
    edges = [
        (source, act, target)
        for source, act, target in graph.edges
        if act.client < 0 or _speaks_for_its_like(worlds, graph.states[source], act.client)
    ]
    outcomes = Counter((source, act.kind, act.client) for source, act, _ in edges)
    every = [
        _stride(worlds, graph.states[source], (source, act, target), outcomes)
        for source, act, target in edges
        if act.choice == 0
    ]
    reached = {START, *_nearest(every)}
    strides = tuple(stride for stride in every if stride.source in reached)
    beyond = len(graph.states) - len(reached)
    return ControllableGraph(worlds, tuple(graph.states), strides, len(edges), beyond)


def _speaks_for_its_like(worlds: Worlds, world: World, client: int) -> bool:
    """Whether no earlier client is of its kind and knows the same; what either does is one."""
    seats, known = worlds.seats, world.clients
    return not any(seats[i] == seats[client] and known[i] == known[client] for i in range(client))


def _stride(
    worlds: Worlds,
    world: World,
    edge: tuple[int, Act, int],
    outcomes: Counter[tuple[int, str, int]],
) -> Stride:
    source, act, target = edge
    if act.kind in {"restart", "drop"}:
        return Stride(source, act, target, ())
    if outcomes[source, act.kind, act.client] > 1:
        return Stride(source, act, START, (), is_open=True, certain=False)
    done = worlds.transitions(world, act.kind, act.client)[act.choice]
    rules = tuple(_deciding(view.rules).id for view in done.views)
    certain = act.kind != "tick" or not _due_together(world)
    return Stride(source, act, target, rules, certain=certain)


def _deciding(rules: Sequence[Rule]) -> Rule:
    """The rule that decided an event; that a leave is answered row by row decides nothing yet."""
    return next((rule for rule in rules if Do.ANSWER_ROWS not in rule.effect), rules[0])


def _due_together(world: World) -> bool:
    """Whether two timers end at one instant of the coming tick."""
    timers = () if world.group is None else world.group.timers
    due = [timer.earliest for timer in timers if timer.earliest <= TICK_MS]
    return len(set(due)) < len(due)


def _nearest(strides: Sequence[Stride]) -> dict[int, Stride]:
    """The tree of shortest walks, in the order of their lengths."""
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
