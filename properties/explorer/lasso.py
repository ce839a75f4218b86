"""Find a run that never reaches its goal: liveness on a graph that was kept.

This looks for a fair run that from some moment on never meets a goal.  In a finite graph every
endless run stays, from some moment on, in the states and edges that it visits again and again, and
those are strongly connected.  So the goals are removed, and the rest is divided into strongly
connected components; a run that avoids the goals for ever ends up in one of them.  For each, `fair`
decides if a run could go on in it for ever under the assumptions made about the environment.

The assumptions of the algorithm:

- The graph is complete.  Where a limit cut the exploration, a result of None means nothing, and a
  state that was never expanded looks like one where nothing can happen.
- `fair` is evaluated for whole components, with all their edges.  That is exact for assumptions
  that a larger set of edges can only help to meet: that something happens again and again ("each
  client is scheduled", "an action that is enabled all the time in the component is taken in it, or
  is disabled somewhere in it").  An assumption that something happens only finitely often must be
  put into `allowed`, which removes those edges before the components are formed; otherwise a
  component that breaks it hides a smaller one that does not.  (Strong fairness, "an action that is
  enabled again and again is taken", needs such a removal per component, which is not done here.)
- A state without a way out is a component of its own: the run ends there, or stands still.  So is
  every other state by itself, but those are only evaluated if nothing leads out of them in the
  whole graph, or an allowed self-loop keeps a run there.
- The goal is to be met again and again ("always eventually").  For "once is enough", remove from
  the graph the states behind a goal: `stem_through_goals=False`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from fencepost.properties.explorer.exploration import A, Graph, S

Step = tuple[A | None, S]
_Item = TypeVar("_Item")
_BETWEEN_LOOKS = 256
"""Items between two looks at the clock."""


def unless_over(items: Iterable[_Item], is_over: Callable[[], bool]) -> Iterator[_Item]:
    """Yield items for as long as there is time.  Raises TimeoutError when `is_over` is true."""
    for place, item in enumerate(items):
        if place % _BETWEEN_LOOKS == 0 and is_over():
            raise TimeoutError("the time is over before the search was finished")
        yield item


@dataclass(frozen=True, slots=True)
class Component(Generic[S, A]):
    """States among which a run could stay: strongly connected, without a goal.

    `states` and `edges` (source, action, target) by index in the graph, ascending and in the
    graph's order; all allowed edges between them, self-loops included.
    """

    graph: Graph[S, A]
    states: tuple[int, ...]
    edges: tuple[tuple[int, A, int], ...]

    @property
    def actions(self) -> frozenset[A]:
        """Actions that happen in it."""
        return frozenset(action for _, action, _ in self.edges)

    def members(self) -> list[S]:
        """Return the states themselves."""
        return [self.graph.states[i] for i in self.states]


@dataclass(frozen=True, slots=True)
class Lasso(Generic[S, A]):
    """A run that avoids the goals: the stem once, then the cycle for ever.

    `stem`: (None, initial state), then each action with the state that follows; the cycle begins at
    its last state.  `cycle`: the actions and states from there, back to there; it takes every
    action of the component at least once, but need not pass through all of its states (the run that
    `fair` judged may).  Empty where nothing happens.
    """

    stem: tuple[Step[A, S], ...]
    cycle: tuple[tuple[A, S], ...]
    component: Component[S, A]


def find_lasso(
    graph: Graph[S, A],
    goal: Callable[[S], bool],
    fair: Callable[[Component[S, A]], bool],
    *,
    allowed: Callable[[S, A, S], bool] | None = None,
    stem_through_goals: bool = True,
    is_over: Callable[[], bool] = lambda: False,
) -> Lasso[S, A] | None:
    """Return a fair run that from some moment on never meets a goal, or None if there is none.

    Of several components: the one with the shortest stem, then with the lowest index, at each call.
    `allowed`: edges that may be taken again and again (others only on the stem).  Raises
    TimeoutError when `is_over` returns True before the end.
    """
    goals = {i for i, state in enumerate(graph.states) if goal(state)}
    came = _shortest(graph, set() if stem_through_goals else goals)
    inner: dict[int, list[tuple[int, A, int]]] = defaultdict(list)
    leaves = set()
    import networkx as nx  # noqa: PLC0415  (half a second, and most commands need no graph)

    bare = nx.DiGraph()
    bare.add_nodes_from(i for i in came if i not in goals)
    for edge in unless_over(graph.edges, is_over):
        source, action, target = edge
        if source != target:
            leaves.add(source)
        if source in bare and target in bare:
            states = graph.states
            if allowed is None or allowed(states[source], action, states[target]):
                bare.add_edge(source, target)
                inner[source].append(edge)
    # `came` is in the order of the search, so the first state met of a component is its nearest.
    component_of = {
        i: members for members in nx.strongly_connected_components(bare) for i in members
    }
    judged: set[int] = set()
    for entry in came:
        members = component_of.get(entry)
        if members is None or entry in judged:
            continue
        judged |= members
        states_in = tuple(sorted(members))
        edges = tuple(e for i in states_in for e in inner[i] if e[2] in members)
        component = Component(graph, states_in, edges)
        if (edges or entry not in leaves) and fair(component):
            stem = _stem(graph, came, entry)
            return Lasso(stem, _tour(component, entry), component)
    return None


def _shortest(graph: Graph[S, A], shunned: set[int]) -> dict[int, tuple[int, A] | None]:
    """Return the edge by which a search, breadth first, reaches each state first, in its order."""
    out: dict[int, list[tuple[A, int]]] = defaultdict(list)
    for source, action, target in graph.edges:
        out[source].append((action, target))
    came: dict[int, tuple[int, A] | None] = {
        i: None for i in range(graph.initial) if i not in shunned
    }
    queue = deque(came)
    while queue:
        source = queue.popleft()
        for action, target in out[source]:
            if target not in came and target not in shunned:
                came[target] = (source, action)
                queue.append(target)
    return came


def _stem(
    graph: Graph[S, A], came: dict[int, tuple[int, A] | None], entry: int
) -> tuple[Step[A, S], ...]:
    steps: list[Step[A, S]] = []
    at = entry
    while (before := came[at]) is not None:
        steps.append((before[1], graph.states[at]))
        at = before[0]
    steps.append((None, graph.states[at]))
    return tuple(reversed(steps))


def _tour(component: Component[S, A], entry: int) -> tuple[tuple[A, S], ...]:
    """Return a closed walk from a state that takes every action of its component, nearest first."""
    out: dict[int, list[tuple[int, A, int]]] = defaultdict(list)
    for edge in component.edges:
        out[edge[0]].append(edge)
    walk: list[tuple[int, A, int]] = []
    missing = set(component.actions)
    at = entry
    while missing:
        walk += _way(out, at, lambda i: any(action in missing for _, action, _ in out[i]))
        at = walk[-1][2] if walk else entry
        edge = next(edge for edge in out[at] if edge[1] in missing)
        walk.append(edge)
        missing.difference_update(action for _, action, _ in walk)
        at = edge[2]
    walk += _way(out, at, lambda i: i == entry)
    return tuple((action, component.graph.states[target]) for _, action, target in walk)


def _way(
    out: dict[int, list[tuple[int, A, int]]], start: int, is_goal: Callable[[int], bool]
) -> list[tuple[int, A, int]]:
    """Return the edges of a shortest way, within a component, from `start` to a goal."""
    came: dict[int, tuple[int, A, int] | None] = {start: None}
    queue = deque([start])
    while not is_goal(at := queue.popleft()):
        for edge in out[at]:
            if edge[2] not in came:
                came[edge[2]] = edge
                queue.append(edge[2])
    way = []
    while (last := came[at]) is not None:
        way.append(last)
        at = last[0]
    return way[::-1]
